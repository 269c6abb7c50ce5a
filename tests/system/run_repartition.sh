#!/usr/bin/env bash
# Another partition count: no key out of order, whatever waits and whenever its
# producers learn of it, and nobody waits for it.
. "${srcdir:-$(dirname "$0")/../..}/tests/lib/ctl.sh"

start_servers
PARTITIONS=16 BACKOFF=2 write_conf
sed -i 's/^retry: {/&on_dead: halt, /' "$CONF"
as_operator

#
# Counts
#

reload() {
	set_count "$1"
	kill -HUP "$MASTER"
}
sync_to() {
	set_count "$1"
	ctl -c "$OP" partitions sync --wait 10
}
declared() { sql "SELECT CONCAT_WS(',', partition_count, former_counts)
    FROM outbox_settings"; }
is_count() { is_sql 'SELECT partition_count FROM outbox_settings' "$1"; }
# What a change changes.
counts() { sql 'SELECT partition_count, former_counts, counts_since,
    (SELECT COUNT(*) FROM outbox_partitions) FROM outbox_settings'; }
LABEL="CONCAT('p', LPAD(CRC32(stream_id) % @count, 2, '0'))"

#
# Rows
#

# fill KEY COUNT [AVAILABLE_AT [TYPE]]: rows as a producer makes them, under
# the present count; KEY may be an expression of n.  Numbers of a key go on.
fill() {
	sql "SET SESSION TRANSACTION ISOLATION LEVEL READ COMMITTED;
	START TRANSACTION;
	SELECT partition_count INTO @count FROM outbox_settings;
	SELECT COALESCE(MAX(stream_sequence), 0) INTO @from FROM events;
	INSERT INTO events (stream_id, stream_sequence, event_type, event_data)
	    SELECT $1, @from + 1 + n, '${4:-ok}', 'x' FROM $(numbers "$2")
	    ORDER BY n;
	INSERT INTO outbox (global_sequence, partition_key, available_at)
	    SELECT sequence, $LABEL, ${3:-NOW(6)} FROM events
	    WHERE stream_sequence > @from;
	COMMIT"
}
call() { echo "CALL outbox_enqueue('$1', NULL, 'ok', 1, NULL, NULL, 'x')"; }
enqueue() { sql "START TRANSACTION; $(call "$1"); COMMIT"; }
has_rows() { is_sql "SELECT COUNT(*) >= $1 FROM outbox" 1; }
# As many as come in two seconds.
wait_for_rows() { wait_for 20 has_rows \
    $(($(sql 'SELECT COUNT(*) FROM outbox') + 1200)); }

# A producer of one transaction, which obeys what is written to it.
open_transaction() {
	: > "$DIR/open"
	exec {OPEN}> >("$SANDBOX" sql "$DIR/db" -n -N app > "$DIR/open" 2>&1)
	in_transaction begun 'START TRANSACTION'
}
# in_transaction WORD SQL: and WORD is the answer, soon
in_transaction() {
	echo "$2; SELECT '$1';" >&"$OPEN"
	wait_for 3 has_line "$DIR/open" "^$1\$"
}
close_transaction() {
	in_transaction committed COMMIT
	local rc=$?
	exec {OPEN}>&-
	return "$rc"
}

start_fleet

#
# Labels that nobody knows.  The first worker looks for such each few seconds;
# the producer begins when it has just been.
#
sql "INSERT INTO events (stream_id, stream_sequence, event_type, event_data)
	VALUES ('vip', 1, 'ok', 'x');
    INSERT INTO outbox (global_sequence, partition_key)
	SELECT MAX(sequence), 'vip' FROM events"
wait_for 10 is_sql "SELECT COUNT(*) FROM outbox_partitions
    WHERE partition_key = 'vip'" 1
produce --events 2250 --keys 500 --rate 450 --payload 50 \
    --producers-by fixed:64 &
PRODUCER=$!
wait "$PRODUCER"
drains 15 '48 labels that nobody knew are served'
is "$(sql "SELECT COUNT(DISTINCT partition_key) FROM outbox
    WHERE partition_key BETWEEN 'p16' AND 'p63'")" 48 'so many they were'
worst=$(sql 'SELECT MAX(TIMESTAMPDIFF(MICROSECOND, created_at, published_at))
    DIV 1000 FROM outbox')
[ "$worst" -lt 9000 ]
ok $? "none of them waited for long: at most $worst ms"
like "$(grep -c 'a partition count that is not declared' "$LOG")" '^[1-3]$' \
    'the log says what it is, and not again and again'

#
# What is refused changes nothing.
#
before=$(counts)
reload 17
wait_for 10 has_line "$LOG" 'the partition count stays 16, 17 is refused: .*take a multiple or a divisor'
ok $? 'a count that does not go with the others is refused, with advice'
sync_to 17
is "$RC" 1 'partitions sync refuses it as well'
like "$ERR" 'take a multiple or a divisor of the former count' 'with advice'
is "$(counts)" "$before" 'all is as it was'
enqueue refused
drains 10 'and goes on'
set_count 16
ctl -c "$OP" partitions sync --prune
is "$(sql 'SELECT COUNT(*) FROM outbox_partitions')" 16 \
    'what nobody declared can be pruned'

#
# Changes under load, of three kinds of producers, while much waits, some of it
# for long: keys that are scheduled, that halt, and with many rows behind their
# head; and while a transaction is open that has enqueued.
#
fill "CONCAT('later', n % 20)" 20 'NOW(6) + INTERVAL 1 HOUR'
fill "CONCAT('halt', n % 20)" 20 'NOW(6)' 'two words'
fill "'slow'" 1 'NOW(6) + INTERVAL 1 HOUR'
more() {
	fill "CONCAT('later', n % 20)" 40
	fill "CONCAT('halt', n % 20)" 40
	fill "'slow'" "${1:-20}"
}
more 4000
wait_for 20 is_parked 2000
ok $? 'rows behind a waiting head are parked'
open_transaction
in_transaction former "$(call open)"
"$LAB" produce --socket "$SOCKET" --user outbox_producer \
    --password-env PRODUCER_PW --database app --forever --keys 120 --rate 600 \
    --per-txn 3 --payload 50 --producers 6 \
    --producers-by procedure,fixed:16,late:3 > "$DIR/produced" &
PRODUCER=$!
MASTERS+=("$PRODUCER")		# to be ended with us
CHANGES=('reload 48' 'sync_to 32')
is_short || CHANGES+=('reload 64' 'sync_to 8' 'reload 16' 'sync_to 48'
    'reload 32')
for change in "${CHANGES[@]}"; do
	$change
	wait_for 20 is_count "${change#* }"
	ok $? "under load: $change"
	more
	wait_for_rows
	# Rows of a key that are to be sent at once, under several labels.
	ctl -c "$OP" partitions pause
	wait_for_rows
	ctl -c "$OP" partitions resume
done
in_transaction latter "$(call open)"
ok $? 'a producer that is open all the while does not wait'
wait_for_rows
ok $? 'others go on as well'
close_transaction
enqueue open
kill -TERM "$PRODUCER"
wait "$PRODUCER"
ok $? 'to their end'
is_short && want=32,16,48 || want=32,64,8,16,48
is "$(declared)" "$want" 'the former counts are declared'
wait_for 30 is_waiting "REGEXP '^(k|open)'" 0
ok $? 'all of theirs is sent'
[ "$(moved_keys)" -gt 40 ]
ok $? "and $(moved_keys) keys have had several labels"
rows=$((20 + 40 + 40 * ${#CHANGES[@]}))
is "$(waiting "LIKE 'halt%'") $(waiting "LIKE 'later%'")" \
    "$((rows - 20)) $rows" 'what is halted or scheduled waits, old and new'
is "$(waiting "= 'slow'")" $((4001 + 20 * ${#CHANGES[@]})) \
    'so does what is behind a head with very many'
sql "UPDATE outbox SET available_at = NOW(6) WHERE published_at IS NULL AND
	available_at > NOW(6) + INTERVAL 30 MINUTE;
    UPDATE outbox_partitions SET lease_epoch = lease_epoch + 1"
wait_for 30 is_waiting "REGEXP '^(later|slow)'" 0
ok $? 'it goes when it is due'
is "$(waiting "LIKE 'halt%'")" $((rows - 20)) 'what is halted does not'
sql "UPDATE events SET event_type = 'ok' WHERE event_type = 'two words'"
ctl -c "$OP" dead retry --all
like "$OUT" '^20 dead' 'the dead are put back, repaired'
drains 20 'they go, and what was halted behind them'
check_stream 'all is there, in order, nothing twice' --wait 10

#
# Somebody locks the row of settings: a change waits, and no producer does.
#
is_told_often() { [ "$(grep -c 'cannot be changed yet' "$LOG")" -eq "$1" ]; }
open_transaction
in_transaction locked 'SELECT partition_count FROM outbox_settings FOR UPDATE'
reload 64
wait_for 15 has_line "$LOG" 'cannot be changed yet: an open transaction locks the row of settings or a lease: counts: Lock wait timeout'
ok $? 'a change waits for who locks the count, and says so'
enqueue producer
drains 10 'producers and messages do not'
is_count 32
ok $? 'it is not made yet'
is_told_often 1
ok $? 'one line told of it'
# Whoever was to make it is replaced, or dies.
reload 64
wait_for 15 is_told_often 2
ok $? 'it is not forgotten with another reload'
for pid in $(worker_pids "$MASTER"); do kill -KILL "$pid"; done
wait_for 15 is_told_often 3
ok $? 'nor when workers die'
close_transaction
wait_for 15 is_count 64
ok $? 'it is made when the lock is gone'

#
# A worker of another program would own labels, not classes.
#
before=$(counts)
sql "INSERT INTO outbox_workers (id, heartbeat_until)
    VALUES ('stranger', NOW(6) + INTERVAL 1 HOUR)"
sync_to 32
is "$RC" 1 'no change with a worker of another program: partitions sync'
like "$ERR" 'worker stranger of another program' 'which says it'
reload 32
wait_for 15 has_line "$LOG" 'count stays 64, 32 is refused: worker stranger of another program'
ok $? 'nor by a reload'
is "$(counts)" "$before" 'all is as it was'
sql "DELETE FROM outbox_workers WHERE id = 'stranger'"
set_count 64

#
# The end: all producers use the new count.
#
produce --events 1500 --keys 100 --rate 400 --per-txn 3 --payload 50 \
    --producers 2 &
PRODUCER=$!
ctl -c "$OP" partitions sync --finish
is "$RC" 1 'former counts are not given up at once'
like "$ERR" 'again in .*, or use --force' 'but in ten minutes'
ctl -c "$OP" partitions sync --finish --force
is "$RC $(declared)" '0 64' 'or with --force'
wait "$PRODUCER"
ok $? 'producers have not noticed'
reload 16
wait_for 15 is_count 16
wait_for 10 is_drained
ctl -c "$OP" partitions sync --finish --force
is "$RC $(declared)" '0 16' 'after a change to a smaller count, too'
is "$(sql "SELECT COUNT(*), SUM(partition_key > 'p15' AND partition_key < 'q')
    FROM outbox_partitions" | tr '\t' ' ')" '16 0' 'obsolete leases are gone'

# Who has not heard of it.
produce --events 600 --keys 100 --rate 400 --payload 50 --key-prefix old \
    --producers-by fixed:64
drains 15 'messages under labels of a count that is gone are sent'
is_told() {
	ctl doctor
	grep -Eq '^fail +settings: a producer uses a partition count that is not declared: .*labels of no declared count: p16' <<< "$OUT"
}
wait_for 15 is_told
ok $? 'and doctor tells of the producer'
[ "$(grep -c 'a partition count that is not declared' "$LOG")" -gt 1 ]
ok $? 'so does the log'
check_stream 'all of it is in order' --wait 10

stops 'stops'
done_testing
