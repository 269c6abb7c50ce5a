#!/usr/bin/env bash
# Workers killed, configuration reloaded and broken while events flow
. "${srcdir:-$(dirname "$0")/../..}/tests/lib/lib.sh"

EVENTS=${EVENTS:-50000}
start_servers
WORKERS=3
write_conf
start_fleet
ok $? 'three workers share the partitions'

# Owned by nobody, or by somebody whose process is gone.
dead_owner() {
	sql "SELECT COUNT(*) FROM outbox_partitions WHERE lease_owner IS NULL
	    OR lease_owner = '$1' OR lease_until < NOW(6)"
}
moved_from() { [ "$(dead_owner "$1")" -eq 0 ]; }
id_of() { sql "SELECT id FROM outbox_workers WHERE pid = $1"; }
layout() { sql "SELECT partition_key, SUBSTRING_INDEX(lease_owner, ':', 2)
    FROM outbox_partitions ORDER BY 1"; }

produce --events "$EVENTS" --keys 500 --payload 200 --producers 4 \
    --per-txn 5 --rate 4000 &
PRODUCER=$!

slow=0 kills=0
while [ "$kills" -lt 8 ]; do
	mapfile -t pids < <(worker_pids "$MASTER")
	victim=${pids[$((kills % ${#pids[@]}))]}
	id=$(id_of "$victim")
	kill -KILL "$victim"
	kills=$((kills + 1))
	next=$(($(now_ms) + 1000))
	wait_for 2 moved_from "$id" || slow=$((slow + 1))
	while [ "$(now_ms)" -lt "$next" ]; do read -rt 0.05 <> <(:) || :; done
done
is "$slow" 0 "after each of $kills kill -9 the partitions move within 2 s"

running() {
	[ "$(worker_pids "$MASTER" | wc -l)" -eq "$1" ] && all_owned &&
	    is_sql 'SELECT COUNT(*) FROM outbox_workers' "$1"
}
wait_for 5 running 3
ok $? 'all workers are back'

before=$(layout)
kill -HUP "$MASTER"
wait_for 5 has_line "$LOG" 'reload: generation 2'
turned() { [ "$(grep -c 'handed over to its' "$LOG")" -eq 3 ]; }
wait_for 15 turned
ok $? 'a reload replaces every worker'
wait_for 5 running 3
is "$(layout)" "$before" \
    'a reload that changes nothing moves no partition to another slot'

WORKERS=2
write_conf
kill -HUP "$MASTER"
wait_for 10 running 2
ok $? 'a reload with fewer workers shrinks the fleet'

sed -i 's/lease_ttl/lease_tttl/' "$CONF"
kill -HUP "$MASTER"
wait_for 5 has_line "$LOG" 'reload: .*lease_tttl.*; keeping the old .*generation 3'
ok $? 'a broken configuration is refused in one line'
running 2
ok $? 'and changes nothing'

PARTITIONS=24
write_conf
kill -HUP "$MASTER"
wait_for 10 is_sql 'SELECT partition_count FROM outbox_settings' 24
ok $? 'a changed partition_count is written to the database'
wait_for 10 is_sql 'SELECT COUNT(*) FROM outbox_partitions' 24
ok $? 'and its lease rows are made'

kill -TERM "$MASTER"
start=$(now_ms)
wait "$MASTER"
is $? 0 'SIGTERM under load ends with status 0'
[ $(($(now_ms) - start)) -lt 15000 ]
ok $? 'within stop_timeout'
is "$(sql 'SELECT COUNT(*) FROM outbox_partitions
    WHERE lease_owner IS NOT NULL')" 0 'all leases are released'
is "$(sql 'SELECT COUNT(*) FROM outbox WHERE claim_token IS NOT NULL')" 0 \
    'no claim is left'

start_master
wait "$PRODUCER"
ok $? 'the producers committed everything'
drains 60 'a new master drains the rest'
check_stream 'complete, in order per key, nothing twice' --wait 10
is "$(sql 'SELECT COUNT(*) FROM outbox_dead_letters')" 0 'nothing is dead'
stop_master "$MASTER"
ok $? 'stopped'
grep -E 'fenced|error' "$LOG" | head -5 | sed 's/^/# /'

done_testing
