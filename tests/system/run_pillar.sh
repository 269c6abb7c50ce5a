#!/usr/bin/env bash
# On the tables of the PHP package Pillar, as its migrations make them: whole
# seconds, a collation that ignores case, other indexes, nothing of ours
. "${srcdir:-$(dirname "$0")/../..}/tests/lib/lib.sh"
. "$srcdir/tests/lib/pillar.sh"

start_servers
pillar_tables

# Keys that differ in case only are two keys; a third of the keys has no label.
fill() {
	sql "INSERT INTO events (stream_id, stream_sequence, event_type,
		metadata, event_data)
	    SELECT CONCAT(IF(n % 2, 'Key', 'key'), n DIV 2 % 50),
		$1 + n, 'pillar.event', '[]', JSON_OBJECT('n', n)
	    FROM $(numbers 1000) ORDER BY n;
	INSERT INTO outbox (global_sequence, partition_key)
	    SELECT sequence, IF(CRC32(stream_id) % 3 = 0, NULL, CONCAT('p',
		LPAD(CRC32(stream_id) % 16, 2, '0')))
	    FROM events WHERE stream_sequence >= $1"
}

fill 1000
write_conf
start_master
drains 30 'all rows are sent, also those without a label'
rows_are 0 'outbox WHERE claim_token IS NOT NULL
    OR published_at > NOW(6)' 'no row is claimed or published in the future'
check 'the log names the missing index' \
    has_line "$LOG" 'no index \(published_at, partition_key'
has_line "$LOG" 'outbox_dead_letters: no such table' &&
    has_line "$LOG" 'outbox_blocked_keys: no such table'
ok $? 'the log names the missing tables of dead letters and blocked keys'
check 'the log names the missing table of streams' \
    has_line "$LOG" 'outbox_streams: no such table'
check 'the log names the missing column and its ALTER TABLE' \
    has_line "$LOG" 'no column ack_sequence: .*ALTER TABLE `outbox` ADD COLUMN'
like "$("$LAB" show --nats "$URL" --stream EVENTS --seq 1)" \
    '^Nats-Msg-Id: app-[0-9]+-' \
    'the message id begins with the database'

# A message that can never be sent waits, with its error, and stops no worker.
sql "INSERT INTO events (stream_id, stream_sequence, event_type, event_data)
	VALUES ('bad', 1, 'two words', '{}');
    INSERT INTO outbox (global_sequence) VALUES (LAST_INSERT_ID())"
wait_for 10 is_sql "SELECT COUNT(*) FROM outbox WHERE attempts = 1
    AND published_at IS NULL AND last_error LIKE '%not legal%'" 1
ok $? 'a message that cannot be sent waits, with its error'
sql "DELETE FROM outbox WHERE published_at IS NULL;
    DELETE FROM events WHERE stream_id = 'bad'"

fill 3000
kill -KILL "$(worker_pids "$MASTER" | head -1)"
drains 30 'all rows are sent after a worker was killed'
sql 'ALTER TABLE outbox ADD KEY outbox_claim (published_at, partition_key,
    global_sequence)'
stop_master "$MASTER"
: > "$LOG"
start_master
fill 5000
wait_for 30 is_drained
check 'with the index the log does not name it' not has_line "$LOG" 'no index'
stop_master "$MASTER"
check_pillar 'the stream is complete and in order, nothing twice'

#
# Tables of ours, all of which go while a daemon serves them: it waits, as what is
# left is not Pillar's.  One that starts then cannot know, unless rows are parked.
#
ours='settings dead_letters blocked_keys streams'
move_ours() { sql "RENAME TABLE $(for t in $ours; do
    echo "$1$t TO $2$t"; done | paste -sd,)"; }
lacks() { has_line "$LOG" 'worker.* table app.outbox_'"$1"' is missing'; }
parked() { sql "INSERT INTO events (stream_id, stream_sequence, event_type,
	event_data) VALUES ('k', $1, 'ok', '{}');
    INSERT INTO outbox (global_sequence, partition_key)
	VALUES (LAST_INSERT_ID(), '$2')"; }
sql 'SET foreign_key_checks = 0; DROP TABLE outbox, events, outbox_partitions,
    outbox_workers, outbox_dead_letters'
"$SANDBOX" sql "$DIR/db" app < "$srcdir/sql/schema.sql"
: > "$LOG"
start_fleet
move_ours outbox_ away_
wait_for 10 lacks settings
ok $? 'all of our tables go: the log names one'
parked 1 p00
"$OUTBOXCTL" -c "$CONF" status > "$DIR/out" 2>&1
check 'status tells that the workers wait' has_line "$DIR/out" \
    'no database: .*outbox_settings is missing'
is "$(sql 'SELECT COUNT(*) FROM outbox WHERE published_at IS NOT NULL')" 0 \
    'nothing is sent as if they were the tables of Pillar'
move_ours away_ outbox_
drains 20 'when they are back, it goes on'
stop_master "$MASTER"
move_ours outbox_ away_
parked 2 '!1'
: > "$LOG"
start_master
wait_for 10 lacks blocked_keys
ok $? 'a parked row, and none of our tables: a new daemon waits, too'
"$OUTBOXCTL" -c "$CONF" status > "$DIR/out" 2>&1
is "$? $(grep -c 'table outbox_.* is missing' "$DIR/out")" '1 4' \
    'status names all that are missing'
move_ours away_ outbox_
stop_master "$MASTER"
done_testing
