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
	    FROM (SELECT a.n + 10 * b.n + 100 * c.n AS n FROM $digits a,
		$digits b, $digits c) t ORDER BY n;
	INSERT INTO outbox (global_sequence, partition_key)
	    SELECT sequence, IF(CRC32(stream_id) % 3 = 0, NULL, CONCAT('p',
		LPAD(CRC32(stream_id) % 16, 2, '0')))
	    FROM events WHERE stream_sequence >= $1"
}
digits='(SELECT 0 n UNION SELECT 1 UNION SELECT 2 UNION SELECT 3 UNION SELECT 4
    UNION SELECT 5 UNION SELECT 6 UNION SELECT 7 UNION SELECT 8 UNION SELECT 9)'

fill 1000
write_conf
start_master
drains 30 'the backlog is drained, rows without a label among them'
is "$(sql 'SELECT COUNT(*) FROM outbox WHERE claim_token IS NOT NULL
    OR published_at > NOW(6)')" 0 'and no moment lies ahead'
has_line "$LOG" 'no index \(published_at, partition_key'
ok $? 'the missing index is said, with its remedy'
has_line "$LOG" 'outbox_dead_letters: no such table' &&
    has_line "$LOG" 'outbox_blocked_keys: no such table'
ok $? 'and the missing dead letters'
has_line "$LOG" 'outbox_streams: no such table'
ok $? 'and of what is known of the streams'
has_line "$LOG" 'no column ack_sequence: .*ALTER TABLE outbox ADD COLUMN'
ok $? 'and the missing column for what the stream said'
like "$("$LAB" show --nats "$URL" --stream EVENTS --seq 1)" \
    '^Nats-Msg-Id: app-[0-9]+-' 'ids begin with the name of the database'

# What can never be sent stays, is told and kills nobody.
sql "INSERT INTO events (stream_id, stream_sequence, event_type, event_data)
	VALUES ('bad', 1, 'two words', '{}');
    INSERT INTO outbox (global_sequence) VALUES (LAST_INSERT_ID())"
wait_for 10 is_sql "SELECT COUNT(*) FROM outbox WHERE attempts = 1
    AND published_at IS NULL AND last_error LIKE '%not legal%'" 1
ok $? 'without dead letters a bad message waits'
sql "DELETE FROM outbox WHERE published_at IS NULL;
    DELETE FROM events WHERE stream_id = 'bad'"

fill 3000
kill -KILL "$(worker_pids "$MASTER" | head -1)"
drains 30 'a kill changes nothing'
sql 'ALTER TABLE outbox ADD KEY outbox_claim (published_at, partition_key,
    global_sequence)'
stop_master "$MASTER"
: > "$LOG"
start_master
fill 5000
wait_for 30 is_drained
! has_line "$LOG" 'no index'
ok $? 'with the index there is nothing to say'
stop_master "$MASTER"
check_pillar() {
	sql "CREATE TABLE outbox_dead_letters (global_sequence BIGINT UNSIGNED,
	    attempts INT, reason TEXT, last_error TEXT, order_key TEXT)"
	check_stream 'complete, nothing twice' --wait 10
}
check_pillar
done_testing
