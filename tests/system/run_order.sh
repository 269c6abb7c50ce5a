#!/usr/bin/env bash
# Schedules in which a later row of a key once passed an earlier one
. "${srcdir:-$(dirname "$0")/../..}/tests/lib/lib.sh"

start_servers
WORKERS=1 PARTITIONS=1 LEASE_TTL=6 LEASE_RENEW=1 HEARTBEAT_TTL=6 CLAIM_TTL=10 \
    TIMEOUT_MS=1500 write_conf

# ins KEY NUMBER [AVAILABLE_AT]: the two INSERTs
ins() { event_row "$1" "$2" "'p00'" "${3:-}"; }
passed() {
	sql "SELECT COUNT(*) FROM events a
	    JOIN outbox x ON x.global_sequence = a.sequence
	    JOIN events b ON b.stream_id = a.stream_id
		AND b.stream_sequence = a.stream_sequence + 1
	    JOIN outbox y ON y.global_sequence = b.sequence
	    WHERE a.stream_id LIKE '$1%' AND (y.published_at < x.published_at
		OR (x.published_at IS NULL AND y.published_at IS NOT NULL))"
}

# A row commits late, below ids that were seen, in a partition where another
# row waits.  Its successor must not be first.
start_fleet
sql "START TRANSACTION; $(ins Z 1 'NOW(6) + INTERVAL 20 SECOND') COMMIT"
for i in 1 2 3 4; do
	sql "START TRANSACTION; $(ins "K$i" 1) SELECT SLEEP(0.4) INTO @x; COMMIT;
	    START TRANSACTION; $(ins "K$i" 2) COMMIT" &
	slow=$!
	pause 150
	sql "START TRANSACTION; $(ins O "$i") COMMIT"
	wait "$slow"
done
wait_for 10 is_sql "SELECT COUNT(*) FROM outbox WHERE published_at IS NULL" 1
is "$(passed K)" 0 'a row that commits late is sent before the next of its key'
stop_master "$MASTER"
sql 'DELETE FROM outbox; DELETE FROM events'

# Another client publishes the head of a waiting lane.  The rows behind it are
# sent before new ones.
sql "START TRANSACTION; $(ins H 1 'NOW(6) + INTERVAL 1500000 MICROSECOND')
    $(ins H 2) $(ins H 3) COMMIT"
start_fleet --interval-ms=300
pause 700
sql "START TRANSACTION; UPDATE outbox SET published_at = NOW(6)
    WHERE global_sequence = (SELECT MIN(sequence) FROM events);
    $(ins H 4) $(ins H 5) COMMIT"
wait_for 10 is_drained
is "$(passed H)" 0 'a head that another client published: order is kept'
stop_master "$MASTER"
sql 'DELETE FROM outbox; DELETE FROM events'

# Rows in front of a delayed one come back unsent because the broker dies;
# when it is back, the delayed one is due.
start_fleet
"$LAB" purge --nats "$URL" --stream EVENTS
read -r nats _ < "$DIR/nats/process"
kill -STOP "$nats"
{
	echo 'START TRANSACTION;'
	for i in {1..100}; do ins "other$i" 1; done
	ins A 1
	ins A 2 'NOW(6) + INTERVAL 2 SECOND'
	echo 'COMMIT;'
} | "$SANDBOX" sql "$DIR/db" app
pause 700
"$SANDBOX" kill "$DIR/nats" >/dev/null
pause 2000
"$SANDBOX" restart "$DIR/nats" >/dev/null
wait_for 20 is_drained
is "$(passed A)" 0 'a due row waits for one before it that was given back'
check_stream 'the stream is complete and in order, nothing twice' --wait 5
stops 'the master stops with status 0'
done_testing
