#!/usr/bin/env bash
# replica_test.sh - does replica.sh keep what it promises?

# shellcheck source=tests/lib/lib.sh
. "${srcdir:-$(dirname "$0")/../..}/tests/lib/lib.sh"
# shellcheck source=tests/lib/replica.sh
. "$srcdir/tests/lib/replica.sh"

put() { call_enqueue "'$1', NULL, 't', 1, NULL, NULL, '{}'"; }
keys='SELECT GROUP_CONCAT(stream_id ORDER BY sequence) FROM events'

start_servers "${REPLICA_LINES[@]}"
sql 'UPDATE outbox_settings SET partition_count = 16'
put a
t0=$(now_ms)
replica_start
ok $? 'there is a replica'
say "after $(($(now_ms) - t0)) ms"
put b
replica_wait
ok $? 'it catches up'
is "$(replica_sql "$keys")" a,b 'and has all'
is "$(replica_sql 'SELECT @@read_only')" 1 'it is read_only'
"$SANDBOX" restart "$REPLICA" >/dev/null
is "$(replica_sql 'SELECT @@read_only')" 1 'also after a restart'
put c
replica_wait
is "$(replica_sql "$keys")" a,b,c 'and then it follows again'
replica_cut
put d
replica_wait 1
is $? 1 'not while the link is cut'
replica_join
replica_wait
ok $? 'but afterwards'

for round in 1 2 3; do
	replica_cut
	put "lost$round"
	had=$(replica_sql "$keys")
	replica_promote
	ok $? "round $round: it is promoted"
	is "$(sql "$keys")" "$had" 'without what it had not received'
	put "kept$round"
	is "$(sql 'SELECT @@read_only')" 0 'it takes writes'
	"$SANDBOX" restart "$PRIMARY" >/dev/null
	is "$(sql 'SELECT @@read_only')" 0 'also after a restart'
	replica_again
	ok $? 'the dead one is its replica'
	put "more$round"
	replica_wait
	is "$(replica_sql "$keys")" "$(sql "$keys")" 'and has all of it'
done

write_conf
replica_conf
start_master
drains 20 'a daemon finds the writable one'
check_stream 'and what it has is delivered' --wait 5
replica_wait
replica_promote
put last
drains 30 'and the next one after a fail-over'
check_stream 'whose event comes as well' --wait 5
stops 'it stops'

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
wait_for 10 has_events "$before"
ok $? 'a producer follows'
kill -TERM "$producer"
wait "$producer"
is $? 0 'and did not fail'
like "$(cat "$DIR/followed")" '^committed [1-9]' 'it says what was answered'

replica_again
replica_semisync AFTER_SYNC 400
t0=$(now_ms)
put quick
[ $(($(now_ms) - t0)) -lt 400 ]
ok $? 'semi-synchronous: a commit has its answer'
replica_is_sql "SELECT COUNT(*) FROM events WHERE stream_id = 'quick'" 1 ||
    replica_wait
replica_cut
t0=$(now_ms)
put slow
[ $(($(now_ms) - t0)) -ge 400 ]
ok $? 'and waits for it while the link is cut'
done_testing
