#!/usr/bin/env bash
# A replica takes over that lacks the last transactions: new events under old
# sequences are sent, delivered ones are not, and phantoms are reported; a
# daemon that starts does not use the old primary, unless it is alone
. "${srcdir:-$(dirname "$0")/../..}/tests/lib/lib.sh"
. "$srcdir/tests/lib/replica.sh"

# enqueue KEY N: events that differ in their keys only
enqueue() { enqueue_keys "$1-" "$2" order.paid "'{}'"; }
configure() {
	WORKERS=2 LEASE_TTL=3 LEASE_RENEW=1 HEARTBEAT_TTL=3 CLAIM_TTL=6 \
	    TIMEOUT_MS=1000 write_conf
	replica_conf
}

start_servers "${REPLICA_LINES[@]}"
replica_start
window 600
configure
start_fleet
enqueue old 10
wait_for 10 is_drained
is "$(stored)" 10 'ten events are published'
check 'the replica has them' replica_wait

# Five more, which the replica never gets.  The server that has them is killed.
replica_cut
enqueue lost 5
within 10 'five events are published that the replica does not have' \
    is_stored 15
check 'the replica takes over' replica_promote
enqueue new 5
wait_for 20 is_drained
within 5 'new events under the same sequences are published' is_stored 20
rows_are 5 'outbox WHERE ack_sequence > 15' \
    'each row has the stream sequence of its own message'
wait_for 10 has_line "$LOG" 'error .*the database went back in time: 5 messages in the stream have no event .*phantoms, stream sequences 11 to 15'
ok $? 'the log names the phantoms'
within 10 'outbox_streams has the phantoms' is_sql \
    'SELECT phantoms, phantom_first, phantom_last FROM outbox_streams' \
    $'5\t11\t15'
check_stream 'the stream is complete and in order, nothing twice' \
    --allow-phantoms --wait 10

# The old primary is back and writable, and the first of mysql.hosts.  The new
# one goes on with its phantoms, which are compared again: they do not count.
OLD=127.0.0.1:$(replica_port "$REPLICA") NEW=127.0.0.1:$DB_PORT
# restart NAME: the daemon, and five events
restart() {
	stop_master "$MASTER"
	sql 'UPDATE outbox_streams SET tail_sequence = 10'
	: > "$LOG"
	start_master
	enqueue "$1" 5
	wait_for 20 is_drained
}
"$SANDBOX" restart "$REPLICA" > /dev/null
restart back
within 5 'a restart uses the new primary' is_stored 25
check 'and says so' has_line "$LOG" \
    "warn .*mysql $OLD: lacks the event of message 20, the newest"
within 5 'and names it' has_line "$LOG" "database: $NEW is used"
check 'which is not behind, as it has newer ones' has_line "$LOG" \
    'error .*went back in time: 5 messages .*sequences 11 to 15:'
is "$(replica_sql 'SELECT phantoms, tail_sequence < 16 FROM outbox_streams')" \
    $'0\t1' 'no phantom is recorded in the old one'
"$OUTBOXCTL" -c "$CONF" doctor > "$DIR/doctor"
check 'doctor warns of the two' has_line "$DIR/doctor" \
    "warn +database host: $OLD and $NEW accept writes, and are not"

# A worker that has lost the new one does not use the old one while another one
# uses the new one: that stands still, so its line says so.
read -r _ two <<< "$(worker_pids "$MASTER" | xargs)"
sql "ALTER USER 'outbox'@'127.0.0.1' ACCOUNT LOCK"
kill -STOP "$two"
: > "$LOG"
for id in $(sql "SELECT id FROM information_schema.processlist
    WHERE user = 'outbox'"); do
	sql "KILL $id"
done
within 20 'it waits for the new primary' has_line "$LOG" \
    "$OLD: it lacks events of messages in the stream, and other workers use $NEW"
sql "ALTER USER 'outbox'@'127.0.0.1' ACCOUNT UNLOCK"
kill -CONT "$two"
enqueue more 5
within 20 'and uses it again' is_stored 30

sed -i "s|hosts: \[[^]]*\]|hosts: [\"$NEW\", \"$OLD\"]|" "$CONF"
restart again
within 5 'as the first it is used, too' is_stored 35
check 'and is not left' not has_line "$LOG" 'lacks the event'

# Nothing else is there: the old one is used, with an alarm.
stop_master "$MASTER"
"$SANDBOX" kill "$PRIMARY" > /dev/null
: > "$LOG"
start_master
within 20 'alone the old one is used, and its phantoms are logged' \
    has_line "$LOG" 'error .*the database went back in time: 20 messages'
check 'it was left before' has_line "$LOG" "$OLD: lacks the event"
pause 3000
is "$(grep -c 'lacks the event of' "$LOG")" 1 'only once'
check 'and is used' replica_is_sql 'SELECT COUNT(*) > 0 FROM outbox_partitions
    WHERE lease_until > NOW(6)' 1
"$SANDBOX" restart "$PRIMARY" > /dev/null

# The replica has the rows, but neither claims nor settles.  The broker has
# forgotten the ids when it takes over.
check 'the old primary follows the new one' replica_again
stop_master "$MASTER"
window 1
produce --events 300 --keys 30 --payload 100 --bulk
replica_wait
replica_cut
: > "$LOG"
configure
start_master
wait_for 20 is_drained
within 5 '300 messages are published' is_stored 335
pause 2500
is "$("$SANDBOX" sql "$REPLICA" -N app -e 'SELECT COUNT(*) FROM outbox
    WHERE published_at IS NULL')" 300 'in the replica their rows still wait'
check 'the replica takes over from the server that delivered them' \
    replica_promote
drains 20 'the rows are marked as published'
within 10 'the log says that their messages are in the stream' \
    has_line "$LOG" 'warn .*300 waiting rows are in the stream already'
is "$(stored)" 335 'no message is sent again'
check_stream 'the stream is complete and in order, nothing twice' \
    --allow-phantoms --wait 10
stop_master "$MASTER"

done_testing
