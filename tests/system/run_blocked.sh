#!/usr/bin/env bash
# Keys that wait: halted ones, and many rows behind one head
. "${srcdir:-$(dirname "$0")/../..}/tests/lib/lib.sh"

# fill KEY FROM COUNT [AVAILABLE_AT [TYPE]]: KEY may be an expression of n
fill() {
	sql "START TRANSACTION;
	INSERT INTO events (stream_id, stream_sequence, event_type, event_data)
	    SELECT $1, $2 + n, '${5:-ok}', 'x' FROM $(numbers "$3") ORDER BY n;
	SET @last = (SELECT COALESCE(MAX(global_sequence), 0) FROM outbox);
	INSERT INTO outbox (global_sequence, partition_key, available_at)
	    SELECT sequence, CONCAT('p0', CRC32(stream_id) % 4), ${4:-NOW(6)}
	    FROM events WHERE sequence > @last;
	COMMIT"
}
blocked() { sql 'SELECT GROUP_CONCAT(reason, " ", order_key ORDER BY order_key)
    FROM outbox_blocked_keys'; }
ring() { sql "UPDATE outbox_partitions SET lease_epoch = lease_epoch + 1"; }
clear_tables() { clear_rows; "$LAB" purge --nats "$URL" --stream EVENTS; }

start_servers
WORKERS=2 PARTITIONS=4 write_conf

# A message dies in the middle of a busy key, and the key halts.
sed 's/^retry: {/&on_dead: halt, /' "$CONF" > "$DIR/halt" && mv "$DIR/halt" "$CONF"
start_fleet
fill "'busy'" 0 20
fill "'busy'" 20 1 'NOW(6)' 'never a subject'
fill "'busy'" 21 50
fill "CONCAT('other', n)" 0 100
within 10 'rows of other keys are sent' is_waiting "<> 'busy'" 0
wait_for 5 is_sql "SELECT COUNT(*) FROM outbox_dead_letters" 1
is "$(sql 'SELECT stream_sequence FROM events JOIN outbox_dead_letters
    ON global_sequence = sequence')" 20 'the bad message is a dead letter'
is "$(waiting "= 'busy'")" 50 'later messages of a halted key wait'
is "$(blocked)" 'halted busy' 'the halted key is on record'
stop_master "$MASTER"
start_fleet
fill "'busy'" 71 10
fill "CONCAT('more', n)" 0 100
wait_for 10 is_waiting "LIKE 'more%'" 0
is "$(waiting "= 'busy'")" 60 'the key stays halted after a restart'

# The dead one is put back, repaired, in its place; the key is released.
sql "UPDATE events SET event_type = 'ok' WHERE event_type = 'never a subject';
    START TRANSACTION;
    INSERT INTO outbox (global_sequence, partition_key)
	SELECT global_sequence, partition_key FROM outbox_dead_letters;
    DELETE FROM outbox_dead_letters;
    UPDATE outbox_blocked_keys SET reason = 'released' WHERE order_key = 'busy';
    UPDATE outbox_partitions SET lease_epoch = lease_epoch + 1;
    COMMIT"
wait_for 10 is_drained
within 5 'a released key is not on record any more' \
    is_sql 'SELECT COUNT(*) FROM outbox_blocked_keys' 0
check_stream 'released: the stream is complete and in order' --wait 5
clear_tables

# Many rows behind one head that is delayed: they get out of the way.
MANY=30000
! is_short || MANY=6000
fill "'slow'" 0 1 'NOW(6) + INTERVAL 1 HOUR'
fill "'slow'" 1 $MANY
within 30 'rows behind a delayed head are parked' is_parked $((MANY - 1000))
like "$(blocked)" '^delayed slow$' 'the delayed key is on record'
before=$(server_status Handler_read_next)
fill "CONCAT('quick', n % 500)" 0 $((MANY / 6))
wait_for 20 is_waiting "LIKE 'quick%'" 0
cost=$(($(server_status Handler_read_next) - before))
check "$((MANY / 6)) rows of other keys cost few index steps ($cost)" \
    [ "$cost" -lt $((MANY * 5)) ]
is "$(waiting "= 'slow'")" $((MANY + 1)) 'no row passes the delayed head of its key'

# The rows stay behind without the worker's memory: kill it, and stop it.
kill -KILL "$(worker_pids "$MASTER" | head -n 1)"
fill "'slow'" $((MANY + 1)) 100
fill "CONCAT('after', n % 50)" 0 500
within 20 'rows of other keys are sent after a worker was killed' \
    is_waiting "LIKE 'after%'" 0
stop_master "$MASTER"
is "$(waiting "= 'slow'")" $((MANY + 101)) 'the delayed key waits after a restart as well'
start_fleet

# A statement of a lost connection must find an older epoch.
wait_for 10 is_sql 'SELECT COUNT(*) FROM (SELECT lease_owner
    FROM outbox_partitions GROUP BY lease_owner HAVING COUNT(*) = 2) AS t' 2
sql 'CREATE TABLE epochs AS SELECT partition_key, lease_epoch
    FROM outbox_partitions'
for id in $(sql "SELECT id FROM information_schema.processlist
    WHERE user = 'outbox'"); do sql "KILL $id"; done
wait_for 10 is_sql 'SELECT COUNT(*) FROM outbox_partitions AS p
    JOIN epochs AS b USING (partition_key)
    WHERE p.lease_epoch > b.lease_epoch' 4
ok $? 'a worker that connects again raises the epochs of its leases'
fill "CONCAT('again', n % 50)" 0 500
wait_for 20 is_waiting "LIKE 'again%'" 0
is "$(waiting "= 'slow'")" $((MANY + 101)) 'no row passes the delayed head after that'

# Its time comes: they return, and new ones of the key stay behind them.
sql "UPDATE outbox SET available_at = NOW(6) WHERE global_sequence IN
    (SELECT head_sequence FROM outbox_blocked_keys)"
ring
for i in 1 2 3; do
	fill "'slow'" $((MANY + 1 + i * 1000)) 200
	fill "CONCAT('while', n % 50)" $((i * 1000)) 200
done
drains 60 'parked rows are sent when their head was sent'
within 5 'the record is deleted' \
    is_sql 'SELECT COUNT(*) FROM outbox_blocked_keys' 0
check_stream 'parked rows: the stream is complete and in order' --wait 5
clear_tables

# Heads alone, far from due, are parked as well, and come in time.
LATER=$((MANY / 10))
is_short && LATER=1500
fill "CONCAT('later', n)" 0 $LATER 'NOW(6) + INTERVAL 6 SECOND'
fill "CONCAT('later', n)" $LATER $LATER
within 10 'heads that are due much later are parked' is_parked $((LATER / 3 * 2))
drains 60 'parked heads are sent when they are due'
check_stream 'delayed rows: the stream is complete and in order' --wait 5
wait_for 5 is_sql 'SELECT COUNT(*) FROM outbox_blocked_keys' 0
clear_tables

# A partition that has only parked rows left may lose its lease row.
fill "'lost'" 0 1 'NOW(6) + INTERVAL 1 HOUR'
fill "'lost'" 1 5000
wait_for 20 is_parked 3000
stop_master "$MASTER"
sql "UPDATE outbox SET partition_key = CONCAT('!', (SELECT first_sequence
	FROM outbox_blocked_keys)), available_at = NOW(6)
	WHERE published_at IS NULL;
    UPDATE outbox_blocked_keys SET partition_key = 'gone'"
start_master
drains 30 'parked rows without a lease row are sent'
stop_master "$MASTER"

# Parked rows whose record was deleted: status has what mends them.
fill "'orphan'" 0 300
sql "UPDATE outbox SET partition_key = '!4711' WHERE published_at IS NULL"
start_master
strays() { "$OUTBOXCTL" -c "$CONF" --json status | jq -r '.strays.sql // ""'; }
tells_strays() { [ -n "$(strays)" ]; }
within 10 'status names parked rows without a record' tells_strays
sql "$(strays)"
drains 30 'with the statement of status they are sent'
check_stream 'the stream is complete and in order' --wait 5
stops 'the master stops with status 0'
done_testing
