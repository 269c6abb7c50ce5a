#!/usr/bin/env bash
# A change of the partition count: no key out of order, whatever waits, and it
# comes to an end.
. "${srcdir:-$(dirname "$0")/..}/tests/lib.sh"
. "$srcdir/tests/ctl.sh"

start_servers
DIGITS='(SELECT 0 AS n UNION ALL SELECT 1 UNION ALL SELECT 2 UNION ALL SELECT 3
    UNION ALL SELECT 4 UNION ALL SELECT 5 UNION ALL SELECT 6 UNION ALL SELECT 7
    UNION ALL SELECT 8 UNION ALL SELECT 9)'

# halting CONF: retry.on_dead: halt
halting() { sed -i 's/^retry: {/&on_dead: halt, /' "$CONF"; }

# sync COUNT: as an operator does it, with the daemon's account
sync_to() {
	sed "s/partition_count: [0-9]*/partition_count: $1/" "$CONF" > "$DIR/wish.yml"
	ctl -c "$DIR/wish.yml" partitions sync
	say "$OUT$ERR"
}

# reload COUNT: the other way
reload() {
	sed -i "s/partition_count: [0-9]*/partition_count: $1/" "$CONF"
	kill -HUP "$MASTER"
}

# fill KEY COUNT [AVAILABLE_AT [TYPE]]: rows as a producer makes them; KEY may
# be an expression of n.  Numbers of a key go on.
fill() {
	sql "START TRANSACTION;
	SELECT partition_count INTO @count FROM outbox_settings
	    LOCK IN SHARE MODE;
	SELECT COALESCE(MAX(stream_sequence), 0), COALESCE(MAX(sequence), 0)
	    INTO @from, @last FROM events;
	INSERT INTO events (stream_id, stream_sequence, event_type, event_data)
	    SELECT $1, @from + 1 + n, '${4:-ok}', 'x' FROM (
		SELECT a.n + 10 * b.n + 100 * c.n + 1000 * d.n AS n
		FROM $DIGITS a, $DIGITS b, $DIGITS c, $DIGITS d) t
	    WHERE n < $2 ORDER BY n;
	INSERT INTO outbox (global_sequence, partition_key, available_at)
	    SELECT sequence, CONCAT('p', IF(n < 10, '0', ''), n), ${3:-NOW(6)}
	    FROM (SELECT sequence, CRC32(stream_id) % @count AS n
		FROM events WHERE sequence > @last) t;
	COMMIT"
}
waiting() { sql "SELECT COUNT(*) FROM outbox JOIN events
    ON sequence = global_sequence WHERE published_at IS NULL
    AND stream_id $1"; }
is_waiting() { [ "$(waiting "$1")" = "$2" ]; }
boundary() { sql 'SELECT boundary IS NOT NULL FROM outbox_settings'; }
is_over() { is_sql 'SELECT partition_count, boundary, wanted_count
    FROM outbox_settings' "$1"$'\tNULL\tNULL'; }
is_count() { is_sql 'SELECT partition_count FROM outbox_settings' "$1"; }
held_up() { has_line "$LOG" 'waits for an open transaction'; }
# later rows of a key that went before earlier ones of it
passed() {
	sql "SELECT COUNT(*) FROM events a
	    JOIN outbox x ON x.global_sequence = a.sequence
	    JOIN events b ON b.stream_id = a.stream_id
		AND b.stream_sequence > a.stream_sequence
	    JOIN outbox y ON y.global_sequence = b.sequence
	    WHERE a.stream_id $1 AND (y.published_at < x.published_at
		OR (x.published_at IS NULL AND y.published_at IS NOT NULL))"
}
empty() { sql 'DELETE FROM outbox; DELETE FROM events; DELETE FROM
    outbox_blocked_keys; DELETE FROM outbox_dead_letters'
	"$LAB" purge --nats "$URL" --stream EVENTS; }

WORKERS=2 BACKOFF=2 write_conf
halting
as_operator
start_master
wait_for 10 all_owned
stop_master "$MASTER"

# Much waits when the count changes, some of it for long: keys that are
# scheduled, that halt, and that come from a producer who commits late.
fill "CONCAT('later', n % 20)" 20 'NOW(6) + INTERVAL 9 SECOND'
fill "CONCAT('later', n % 20)" 100
fill "CONCAT('halt', n % 20)" 20 'NOW(6)' 'never a subject'
fill "CONCAT('halt', n % 20)" 100
fill "CONCAT('busy', n % 300)" 6000
sync_to 64
is "$RC $(boundary)" '0 1' 'a change of the count waits for what waits'
like "$OUT" 'from 16 to 64 is under way: 6240 row' 'and says so'
like "$OUT" 'in its way: nobody is alive' 'and what would help'
is "$(sql 'SELECT COUNT(*) FROM outbox_partitions')" 64 'leases are made'
fill "CONCAT('later', n % 20)" 100
fill "CONCAT('halt', n % 20)" 100
fill "CONCAT('busy', n % 300)" 300
fill "CONCAT('new', n)" 300
sed -i 's/partition_count: 16/partition_count: 64/' "$CONF"
start_master
wait_for 30 is_over 64
ok $? 'it ends while keys are halted and scheduled'
wait_for 20 is_waiting "REGEXP '^(new|busy)'" 0
ok $? 'other keys go on'
wait_for 20 is_sql "SELECT COUNT(*) FROM outbox_dead_letters" 20
is "$(waiting "LIKE 'halt%'")" 200 'what is halted waits, old and new'
wait_for 20 is_waiting "LIKE 'later%'" 0
ok $? 'what was scheduled goes when it is due'
is "$(passed "LIKE 'later%'") $(passed "LIKE 'busy%'")" '0 0' 'and in order'
is "$(sql "SELECT COUNT(*) FROM outbox_blocked_keys WHERE partition_key <>
    CONCAT('p', LPAD(CRC32(order_key) % 64, 2, '0'))")" 0 \
    'records are where their keys are'
sql "UPDATE events SET event_type = 'ok'"
ctl -c "$OP" dead retry --all
like "$OUT" '^20 dead' 'the dead are put back, repaired'
wait_for 20 is_drained
ok $? 'and go, and what was halted behind them'
is "$(passed "LIKE 'halt%'")" 0 'in order'
check_stream 'all there, in order, nothing twice' --wait 5
empty

# A producer that has enqueued under the former count and commits late.
"$SANDBOX" sql "$DIR/db" -n -N app > "$DIR/slow.out" < <(echo "START TRANSACTION;
    CALL outbox_enqueue('slow', NULL, 'ok', 1, NULL, NULL, 'x');
    SELECT 'enqueued';"; wait_for 20 [ -e "$DIR/go" ]
    echo "COMMIT;") &
SLOW=$!
wait_for 10 has_line "$DIR/slow.out" enqueued
reload 8
wait_for 10 held_up
ok $? 'an open producer holds the change up'
sql "START TRANSACTION; CALL outbox_enqueue('other', NULL, 'ok', 1, NULL, NULL,
    'x'); COMMIT"
wait_for 10 is_waiting "= 'other'" 0
ok $? 'while others go on'
is_count 64
ok $? 'under the former count'
touch "$DIR/go"
wait "$SLOW"
wait_for 20 is_over 8
ok $? 'it is made when he has committed'
wait_for 10 is_drained
check_stream 'nothing of him is lost' --wait 5
empty

# Live producers while it changes, with two changes wished at once.
produce --events 6000 --keys 200 --rate 1000 --payload 50 &
PRODUCER=$!
more=0
for count in 16 64 8 32; do
	more=$((more + 1000))
	wait_for 20 is_sql "SELECT COUNT(*) > $more FROM outbox" 1
	reload "$count"
	wait_for 20 is_count "$count"
	ok $? "to $count under load"
done
wait "$PRODUCER"
ok $? 'the producer has not noticed'
wait_for 30 is_over 32
wait_for 30 is_drained
ok $? 'all is sent'
check_stream 'in order, nothing lost, nothing twice' --wait 5
ctl -c "$CONF" partitions list
is "$(awk '$NF == "yes" && $6 != 0' <<< "$OUT")" '' \
    'partitions that nobody writes to are empty'
stop_master "$MASTER"
is $? 0 'stops'
done_testing
