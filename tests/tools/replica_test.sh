#!/usr/bin/env bash
# replica_test.sh - does replica.sh keep what it promises?

# shellcheck source=tests/lib/lib.sh
. "${srcdir:-$(dirname "$0")/../..}/tests/lib/lib.sh"
# shellcheck source=tests/lib/replica.sh
. "$srcdir/tests/lib/replica.sh"

is_short && skip_all 'a long test'

put() { call_enqueue "'$1', NULL, 't', 1, NULL, NULL, '{}'"; }
keys='SELECT GROUP_CONCAT(stream_id ORDER BY sequence) FROM events'

start_servers "${REPLICA_LINES[@]}"
sql 'UPDATE outbox_settings SET partition_count = 16'
put a
t0=$(now_ms)
check 'replica_start makes a replica' replica_start
say "after $(($(now_ms) - t0)) ms"
put b
check 'replica_wait succeeds' replica_wait
is "$(replica_sql "$keys")" a,b 'the replica has all rows'
is "$(replica_sql 'SELECT @@read_only')" 1 'the replica is read_only'
"$SANDBOX" restart "$REPLICA" >/dev/null
is "$(replica_sql 'SELECT @@read_only')" 1 'read_only after a restart'
put c
replica_wait
is "$(replica_sql "$keys")" a,b,c 'the replica follows after a restart'
replica_cut
put d
replica_wait 1
is $? 1 'replica_wait fails while the link is cut'
replica_join
check 'replica_wait succeeds after replica_join' replica_wait

for round in 1 2 3; do
	replica_cut
	put "lost$round"
	had=$(replica_sql "$keys")
	check "round $round: the replica is promoted" replica_promote
	is "$(sql "$keys")" "$had" "round $round: no row that it did not get"
	put "kept$round"
	is "$(sql 'SELECT @@read_only')" 0 "round $round: it takes writes"
	"$SANDBOX" restart "$PRIMARY" >/dev/null
	is "$(sql 'SELECT @@read_only')" 0 "round $round: also after a restart"
	check "round $round: the old primary becomes a replica" replica_again
	put "more$round"
	replica_wait
	is "$(replica_sql "$keys")" "$(sql "$keys")" \
	    "round $round: the new replica has all rows"
done

write_conf
replica_conf
start_master
drains 20 'the daemon finds the server that takes writes'
check_stream 'the stream is complete' --wait 5
replica_wait
replica_promote
put last
drains 30 'the daemon finds the new primary after a fail-over'
check_stream 'the stream is complete after a fail-over' --wait 5
stops 'the master stops with status 0'

has_events() { [ "$(sql "SELECT COUNT(*) FROM events WHERE stream_id LIKE
    'f%'")" -gt "$1" ]; }
replica_again
"$LAB" produce --host "$(replica_hosts | tr -d '" ')" --database app \
    --user outbox_producer --password-env PRODUCER_PW --forever --rate 200 \
    --per-txn 2 --producers 2 --key-prefix f > "$DIR/followed" &
producer=$!
wait_for 10 has_events 20
replica_wait
replica_promote
before=$(sql "SELECT COUNT(*) FROM events WHERE stream_id LIKE 'f%'")
within 10 'a producer finds the new primary' has_events "$before"
kill -TERM "$producer"
wait "$producer"
is $? 0 'the producer ends with status 0'
like "$(cat "$DIR/followed")" '^committed [1-9]' \
    'the producer prints the number of committed events'

replica_again
replica_semisync AFTER_SYNC 400
t0=$(now_ms)
put quick
check 'semi-synchronous: a commit returns in less than 400 ms' \
    [ $(($(now_ms) - t0)) -lt 400 ]
replica_is_sql "SELECT COUNT(*) FROM events WHERE stream_id = 'quick'" 1 ||
    replica_wait
replica_cut
t0=$(now_ms)
put slow
check 'semi-synchronous: a commit waits while the link is cut' \
    [ $(($(now_ms) - t0)) -ge 400 ]
done_testing
