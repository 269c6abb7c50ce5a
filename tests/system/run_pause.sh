#!/usr/bin/env bash
# Workers stopped for longer than their leases and claims, then let go on: the
# hung-worker kill is off, so that only fence, deadline and ids can help.
. "${srcdir:-$(dirname "$0")/../..}/tests/lib/lib.sh"

start_servers
HANG_TIMEOUT=0 LEASE_TTL=2 LEASE_RENEW=0.5 HEARTBEAT_TTL=2 CLAIM_TTL=4 \
    TIMEOUT_MS=1000 WORKERS=3 BATCH=200 write_conf
start_fleet
produce --events 30000 --keys 60 --payload 200 --producers 4 --per-txn 5 \
    --rate 2500 &
PRODUCER=$!

moved() { [ "$(sql "SELECT COUNT(*) FROM outbox_partitions
    WHERE lease_owner = '$1'")" -eq 0 ]; }
pause_one() {
	local pid=$1 id
	id=$(sql "SELECT id FROM outbox_workers WHERE pid = $pid")
	kill -STOP "$pid"
	wait_for 6 moved "$id" || return 1
	# Until its claims are over as well, and others have sent its rows.
	local until=$(($(now_ms) + 3000))
	while [ "$(now_ms)" -lt "$until" ]; do read -rt 0.1 <> <(:) || :; done
	kill -CONT "$pid"
}

failed=0
for round in 1 2; do
	mapfile -t pids < <(worker_pids "$MASTER")
	pause_one "${pids[$((round % ${#pids[@]}))]}" || failed=$((failed + 1))
done
is "$failed" 0 'others take over what a stopped worker held'

wait "$PRODUCER"
ok $? 'the producers committed everything'
drains 30 'everything is delivered'
check_stream 'complete, in order per key, nothing twice' --wait 10
is "$(sql 'SELECT COUNT(*) FROM outbox_dead_letters')" 0 'nothing is dead'
! has_line "$LOG" 'was killed|no sign of life'
ok $? 'and nobody had to be killed'
wait_for 5 is_sql 'SELECT COUNT(*) FROM outbox_workers' 3
ok $? 'the stopped ones are members again'
stops 'stops'
grep -E 'fenced|gone' "$LOG" | head -3 | sed 's/^/# /'
done_testing
