#!/usr/bin/env bash
# A replica takes over that lacks the last transactions: what is new under an
# old number is sent, what was delivered already is not, and phantoms are told
. "${srcdir:-$(dirname "$0")/../..}/tests/lib/lib.sh"
. "$srcdir/tests/lib/replica.sh"

# enqueue KEY N: events that their keys alone tell apart
enqueue() {
	local i
	for ((i = 0; i < $2; i++)); do
		call_enqueue "'$1-$i', NULL, 'order.paid', 1, NULL, NULL, '{}'"
	done
}
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
is "$(stored)" 10 'events are published'
replica_wait
ok $? 'and replicated'

# Five more, which the replica never gets.  Whoever the daemon asks is gone.
replica_cut
enqueue lost 5
wait_for 10 is_stored 15
ok $? 'events are published that the replica lacks'
replica_promote
ok $? 'the replica takes over'
enqueue new 5
wait_for 20 is_drained
wait_for 5 is_stored 20
ok $? 'new events under the numbers of the lost ones are published'
is "$(sql 'SELECT COUNT(*) FROM outbox WHERE ack_sequence > 15')" 5 \
    'each with the place of its own message'
wait_for 10 has_line "$LOG" 'error .*the database went back in time: 5 messages in the stream have no event .*phantoms, stream sequences 11 to 15'
ok $? 'and the phantoms are told'
is "$(sql 'SELECT phantoms, phantom_first, phantom_last FROM outbox_streams')" \
    $'5\t11\t15' 'and kept'
check_stream 'complete, in order per key, nothing twice' --allow-phantoms \
    --wait 10

# The replica has the rows, but neither claims nor settles.  The broker has
# forgotten the ids when it takes over.
replica_again
ok $? 'the dead one follows the new primary'
stop_master "$MASTER"
window 1
produce --events 300 --keys 30 --payload 100 --bulk
replica_wait
replica_cut
: > "$LOG"
configure
start_master
wait_for 20 is_drained
wait_for 5 is_stored 320
ok $? 'rows are delivered that wait on the replica'
pause 2500
replica_promote
is "$(sql 'SELECT COUNT(*) FROM outbox WHERE published_at IS NULL')" 300 \
    'the replica takes over, and they wait again'
drains 20 'they count as delivered'
wait_for 10 has_line "$LOG" 'warn .*300 waiting rows are in the stream already'
ok $? 'since they are in the stream, which is told'
is "$(stored)" 320 'and not sent again'
check_stream 'complete, in order per key, nothing twice' --allow-phantoms \
    --wait 10
stop_master "$MASTER"

done_testing
