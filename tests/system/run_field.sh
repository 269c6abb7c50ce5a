#!/usr/bin/env bash
# What befalls a database in the field: rights that go and come back, tables that
# are locked, emptied, converted, or loaded from a backup without the others.
# Nothing is lost, twice, or out of order.  By hand also with KIND=mysql.
. "${srcdir:-$(dirname "$0")/../..}/tests/lib/lib.sh"
. "$srcdir/tests/lib/ctl.sh"
is_short && skip_all 'a long test'

start_servers
# Shorter than all that happens here: a second copy would be stored.
window 2
WORKERS=2 CLAIM_TTL=6 TIMEOUT_MS=1000 LEASE_TTL=3 LEASE_RENEW=1 HEARTBEAT_TTL=3
RETRY='on_dead: halt'
write_conf
as_operator
start_fleet
ACCOUNT="'outbox'@'localhost'"

sever() { sql "SELECT CONCAT('KILL ', id, ';')
    FROM information_schema.processlist WHERE user = 'outbox'" |
    client "$DIR/db" --force; }

# meanwhile NAME SQL [MS SQL]: under load, and undone after that time.  Sessions
# with the word sever in the SQL end.
meanwhile() {
	local producer
	produce --events 600 --keys 40 --payload 100 --rate 200 --per-txn 4 &
	producer=$!
	pause 700
	sql "${2%sever}" > /dev/null
	[ "$2" = "${2%sever}" ] || sever
	pause "${3:-0}"
	sql "${4:-DO 0}"
	wait "$producer"
	drains 25 "$1: all messages are sent"
	check_stream "$1: complete, in order, nothing twice" --wait 10
}

# Rights
meanwhile 'no right to claim and settle' "REVOKE UPDATE ON outbox FROM $ACCOUNT" \
    8000 "GRANT UPDATE ON outbox TO $ACCOUNT"
meanwhile 'no right to read events' "REVOKE SELECT ON events FROM $ACCOUNT" \
    3000 "GRANT SELECT ON events TO $ACCOUNT"
meanwhile 'no right to read leases' \
    "REVOKE SELECT ON outbox_partitions FROM $ACCOUNT" \
    4000 "GRANT SELECT ON outbox_partitions TO $ACCOUNT"
meanwhile 'the account is locked' "ALTER USER $ACCOUNT ACCOUNT LOCK; sever" \
    4000 "ALTER USER $ACCOUNT ACCOUNT UNLOCK"
meanwhile 'its password expires' "ALTER USER $ACCOUNT PASSWORD EXPIRE; sever" \
    4000 "ALTER USER $ACCOUNT IDENTIFIED BY '$OUTBOX_PW'"

# Locks, for longer than leases and claims
meanwhile 'all is locked for a backup' \
    'FLUSH TABLES WITH READ LOCK; DO SLEEP(7); UNLOCK TABLES'
[ "$KIND" != mariadb ] || meanwhile 'no commit, for a backup' 'BACKUP STAGE START;
    BACKUP STAGE BLOCK_COMMIT; DO SLEEP(7); BACKUP STAGE END'
for table in outbox_partitions outbox_workers outbox_streams; do
	meanwhile "$table is locked" \
	    "LOCK TABLES $table WRITE; DO SLEEP(7); UNLOCK TABLES"
done

# Tables
meanwhile 'the leases are emptied twice' 'TRUNCATE outbox_partitions' 1500 \
    'TRUNCATE outbox_partitions'
meanwhile 'and the workers' 'TRUNCATE outbox_workers' 1500 \
    'TRUNCATE outbox_workers'
meanwhile 'and what is known of the stream' 'TRUNCATE outbox_streams' 1500 \
    'TRUNCATE outbox_streams'
meanwhile 'all tables get another collation' "$(printf 'ALTER TABLE %s CONVERT TO
    CHARACTER SET utf8mb4 COLLATE utf8mb4_general_ci;' events outbox \
    outbox_{partitions,workers,settings,streams,blocked_keys,dead_letters})"
[ "$KIND" != mariadb ] || meanwhile 'tables get versions' "$(printf 'ALTER TABLE
    %s ADD SYSTEM VERSIONING;' outbox outbox_partitions outbox_workers)"
[ "$KIND" != mariadb ] || sql "$(printf 'ALTER TABLE %s DROP SYSTEM VERSIONING;' \
    outbox outbox_partitions outbox_workers)"

# event KEY TYPE SEQUENCE: SQL of an event and its row; 0: the next sequence
event() { echo "INSERT INTO events (sequence, stream_id, stream_sequence,
    event_type, event_data) VALUES ($3, '$1', $3 + 1, '$2', 'x');
    INSERT INTO outbox (global_sequence, partition_key)
    VALUES (IF($3 = 0, LAST_INSERT_ID(), $3),
    CONCAT('p', LPAD(CRC32('$1') MOD 16, 2, '0')));"; }

# Low sequences come after high ones, and a prepared transaction needs nobody.
sql "XA START 'late'; $(event prepared events.x 0)
    XA END 'late'; XA PREPARE 'late'"
meanwhile 'a transaction is prepared' "$(event after events.x 0)"
sql "XA COMMIT 'late'"
drains 5 'and sent when it commits'
check_stream 'with messages of later sequences before it' --wait 10

# The end of the stream is compared every ten seconds.  Then the outbox forgets
# what was delivered, and nobody but the stream knows it.
is_refilled() { is_sql 'SELECT COUNT(*) > 0 AND COUNT(*) = COUNT(published_at)
    FROM outbox' 1; }
is_compared() { is_sql "SELECT tail_sequence FROM outbox_streams" "$1"; }
# forgets NAME SQL COMMAND...: the daemon is stopped meanwhile, and started or not
forgets() {
	local n
	n=$(stored)
	within 25 "$1: the stream is compared up to its end" is_compared "$n"
	stop_master "$MASTER"
	sql "$2"
	"${@:3}"
	pause 2100
	start_fleet
	within 20 "$1: the rows are there, and none waits" is_refilled
	is "$(stored)" "$n" "$1: nothing is sent twice"
}
sql "CREATE TABLE saved LIKE outbox; INSERT INTO saved SELECT * FROM outbox;
    UPDATE saved SET published_at = NULL, ack_sequence = NULL,
	message_hash = NULL ORDER BY ack_sequence DESC LIMIT 20"
forgets 'the outbox alone is loaded from a backup' 'DROP TABLE outbox;
    CREATE TABLE outbox LIKE saved; INSERT INTO outbox SELECT * FROM saved' true
missing() { ctl -c "$OP" reconcile --all --yes; say "$OUT"; }
forgets 'a backup that lacks rows, and reconcile' 'DELETE FROM outbox
    ORDER BY global_sequence DESC LIMIT 300' missing
sed -i 's/^publish: {/publish: {types: ["*"], /' "$CONF"
forgets 'a TRUNCATE, and reconcile at the start' 'TRUNCATE outbox' true

# A backup is loaded by several threads: rows are there before their events.
N=$(stored)
sql "CREATE TABLE loaded LIKE events; INSERT INTO loaded (sequence, stream_id,
	stream_sequence, event_type, event_data)
	SELECT 1000000 + n, CONCAT('k', n MOD 37), 1000000 + n, 'events.x', 'x'
	FROM $(numbers 300);
    INSERT INTO outbox (global_sequence, partition_key) SELECT sequence,
	CONCAT('p', LPAD(CRC32(stream_id) MOD 16, 2, '0')) FROM loaded"
within 10 'rows wait for their events' has_line "$LOG" 'insert it within 10 min'
pause 3000
sql 'INSERT INTO events SELECT * FROM loaded'
drains 20 'they are sent when these are there'
is "$(($(stored) - N)) $(sql 'SELECT COUNT(*) FROM outbox_dead_letters')" \
    '300 0' 'each once, and none is dead'

# Sequences that are used again: what is recorded under them is of other keys.
record() { sql "SELECT d.order_key, d.event_type, b.order_key
    FROM outbox_dead_letters AS d JOIN outbox_blocked_keys AS b
    ON first_sequence = global_sequence WHERE global_sequence = $1"; }
is_recorded() { [ "$(record "$1")" = "$2" ]; }
sql "$(event old 'a b' 2000000)"
within 10 'a key is halted' is_recorded 2000000 $'old\ta b\told'
stop_master "$MASTER"
write_conf
sql 'TRUNCATE outbox; DELETE FROM events WHERE sequence >= 2000000'
sql "$(event good events.x 2000000)
    $(event good events.x 2000001)"
start_fleet
drains 10 'a key whose sequence a halted one had is sent'
sql "DELETE FROM events WHERE sequence >= 2000000; TRUNCATE outbox;
    $(event new 'c d' 2000000)
    $(event new events.x 2000001)"
within 10 'another key is halted under this sequence' is_recorded 2000000 \
    $'new\tc d\tnew'
like "$(ctl keys blocked; echo "$OUT")" '^new *halted' 'keys blocked shows it'
pause 1000
is "$(pending)" 1 'its next message waits'

stops 'the master stops with status 0'
done_testing
