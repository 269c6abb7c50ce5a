#!/usr/bin/env bash
# Workers killed, configuration reloaded and broken while events flow
. "${srcdir:-$(dirname "$0")/../..}/tests/lib/lib.sh"

RATE=4000 KILLS=8
! is_short || RATE=400 KILLS=2
EVENTS=${EVENTS:-$((12 * RATE))}
start_servers
WORKERS=3
write_conf
check 'three workers own all partitions' start_fleet

# dead_owner ID: partitions without an owner, or with this one, which is dead
dead_owner() {
	sql "SELECT COUNT(*) FROM outbox_partitions WHERE lease_owner IS NULL
	    OR lease_owner = '$1' OR lease_until < NOW(6)"
}
moved_from() { [ "$(dead_owner "$1")" -eq 0 ]; }
layout() { sql "SELECT partition_key, SUBSTRING_INDEX(lease_owner, ':', 2)
    FROM outbox_partitions ORDER BY 1"; }

produce --events "$EVENTS" --keys 500 --payload 200 --producers 4 \
    --per-txn 5 --rate $RATE &
PRODUCER=$!

slow=0 kills=0 killed="''"
while [ "$kills" -lt $KILLS ]; do
	mapfile -t pids < <(worker_pids "$MASTER")
	victim=${pids[$((kills % ${#pids[@]}))]}
	id=$(id_of "$victim")
	kill -KILL "$victim"
	killed+=",'${id: -16}'"
	kills=$((kills + 1))
	next=$(($(now_ms) + 1000))
	wait_for 2 moved_from "$id" || slow=$((slow + 1))
	wait_for 1 is_later "$next"
done
is "$slow" 0 "after each of $kills kill -9 partitions have new owners in 2 s"

running() {
	[ "$(worker_pids "$MASTER" | wc -l)" -eq "$1" ] && all_owned &&
	    is_sql 'SELECT COUNT(*) FROM outbox_workers' "$1"
}
within 5 'all workers are running again' running 3

before=$(layout)
kill -HUP "$MASTER"
wait_for 5 has_line "$LOG" 'reload: generation 2'
turned() { [ "$(grep -c 'handed over to its' "$LOG")" -eq 3 ]; }
within 15 'a reload replaces each worker' turned
wait_for 5 running 3
is "$(layout)" "$before" 'a reload without a change moves no partition'

WORKERS=2
write_conf
kill -HUP "$MASTER"
within 10 'a reload with fewer workers ends one' running 2

sed -i 's/lease_ttl/lease_tttl/' "$CONF"
kill -HUP "$MASTER"
within 5 'a reload of a bad file is refused in one line' \
    has_line "$LOG" 'reload: .*lease_tttl.*; keeping the old .*generation 3'
check 'a refused reload changes no worker' running 2

PARTITIONS=24
write_conf
kill -HUP "$MASTER"
within 10 'a new partition_count is written to the database' \
    is_sql 'SELECT partition_count FROM outbox_settings' 24
within 10 'a new partition_count: its lease rows are made' \
    is_sql 'SELECT COUNT(*) FROM outbox_partitions' 24

kill -TERM "$MASTER"
start=$(now_ms)
wait "$MASTER"
is $? 0 'SIGTERM under load: exit status 0'
check 'SIGTERM under load: within stop_timeout' \
    [ $(($(now_ms) - start)) -lt 15000 ]
rows_are 0 'outbox_partitions
    WHERE lease_owner IS NOT NULL' 'SIGTERM: all leases are released'
# Claims of a killed worker expire, if a partition moved in the same moment.
rows_are 0 "outbox WHERE claim_token IS NOT NULL
    AND LEFT(claim_token, 16) NOT IN ($killed)" 'SIGTERM: no row is claimed'

start_master
check 'the producers committed all events' wait "$PRODUCER"
drains 60 'a new master sends the rest'
check_stream 'the stream is complete and in order, nothing twice' --wait 10
rows_are 0 outbox_dead_letters 'no message is dead'
check 'the new master stops with status 0' stop_master "$MASTER"
grep -E 'fenced|error' "$LOG" | head -5 | sed 's/^/# /'

done_testing
