#!/usr/bin/env bash
# Workers stopped for longer than their leases and claims, then let go on: the
# hung-worker kill is off, so that only fence, deadline and ids can help.
. "${srcdir:-$(dirname "$0")/../..}/tests/lib/lib.sh"

start_servers
HANG_TIMEOUT=0 LEASE_TTL=2 LEASE_RENEW=0.5 HEARTBEAT_TTL=2 CLAIM_TTL=4 \
    TIMEOUT_MS=1000 WORKERS=3 BATCH=200 write_conf
start_fleet
RATE=2500 ROUNDS=2
! is_short || RATE=600 ROUNDS=1
produce --events $((RATE * (2 + 5 * ROUNDS))) --keys 60 --payload 200 --producers 4 --per-txn 5 \
    --rate $RATE &
PRODUCER=$!

moved() { [ "$(sql "SELECT COUNT(*) FROM outbox_partitions
    WHERE lease_owner = '$1'")" -eq 0 ]; }
pause_one() {
	local pid=$1 id
	id=$(id_of "$pid")
	kill -STOP "$pid"
	wait_for 6 moved "$id" || return 1
	pause 3000	# its claims expire as well, and others send its rows
	kill -CONT "$pid"
}

failed=0
for ((round = 1; round <= ROUNDS; round++)); do
	mapfile -t pids < <(worker_pids "$MASTER")
	pause_one "${pids[$((round % ${#pids[@]}))]}" || failed=$((failed + 1))
done
is "$failed" 0 'other workers take the leases of a stopped one'

check 'the producers committed all events' wait "$PRODUCER"
drains 30 'all messages are sent'
check_stream 'the stream is complete and in order, nothing twice' --wait 10
rows_are 0 outbox_dead_letters 'no message is dead'
check 'the master killed no worker' \
    not has_line "$LOG" 'was killed|no sign of life'
within 5 'workers that went on are registered again' \
    is_sql 'SELECT COUNT(*) FROM outbox_workers' 3
stops 'the master stops with status 0'
grep -E 'fenced|gone' "$LOG" | head -3 | sed 's/^/# /'
done_testing
