#!/usr/bin/env bash
# A replica takes over that lacks the last transactions: new events under old
# sequences are sent, delivered ones are not, and phantoms are reported
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
is "$(sql 'SELECT phantoms, phantom_first, phantom_last FROM outbox_streams')" \
    $'5\t11\t15' 'outbox_streams has the phantoms'
check_stream 'the stream is complete and in order, nothing twice' \
    --allow-phantoms --wait 10

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
within 5 '300 messages are published' is_stored 320
pause 2500
is "$("$SANDBOX" sql "$REPLICA" -N app -e 'SELECT COUNT(*) FROM outbox
    WHERE published_at IS NULL')" 300 'in the replica their rows still wait'
check 'the replica takes over from the server that delivered them' \
    replica_promote
drains 20 'the rows are marked as published'
within 10 'the log says that their messages are in the stream' \
    has_line "$LOG" 'warn .*300 waiting rows are in the stream already'
is "$(stored)" 320 'no message is sent again'
check_stream 'the stream is complete and in order, nothing twice' \
    --allow-phantoms --wait 10
stop_master "$MASTER"

done_testing
