#!/usr/bin/env bash
# Another partition count: no key gets out of order, also if rows wait or
# producers learn of it late, and no producer waits for the change.
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
# The counts and their leases.
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
RATE=600
! is_short || RATE=200
wait_for_rows() { wait_for 20 has_rows \
    $(($(sql 'SELECT COUNT(*) FROM outbox') + 2 * RATE)); }

# A producer with one transaction, which runs the statements of in_transaction.
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
# Labels without leases.  The first worker searches for such every few seconds;
# the producer begins right after such a search.
#
sql "$(event_row vip 1 "'vip'")"
wait_for 10 is_sql "SELECT COUNT(*) FROM outbox_partitions
    WHERE partition_key = 'vip'" 1
FEW=450
! is_short || FEW=150
produce --events $((5 * FEW)) --keys 500 --rate $FEW --payload 50 \
    --producers-by fixed:64 &
PRODUCER=$!
wait "$PRODUCER"
drains 15 'rows under 48 labels without leases are sent'
is "$(sql "SELECT COUNT(DISTINCT partition_key) FROM outbox
    WHERE partition_key BETWEEN 'p16' AND 'p63'")" 48 \
    '48 labels have leases'
worst=$(sql 'SELECT MAX(TIMESTAMPDIFF(MICROSECOND, created_at, published_at))
    DIV 1000 FROM outbox')
check "a row under an unknown label is sent within 9 s ($worst ms)" \
    [ "$worst" -lt 9000 ]
like "$(grep -c 'a partition count that is not declared' "$LOG")" '^[1-3]$' \
    'the log names the undeclared count, at most three times'

#
# A refused count changes nothing.
#
before=$(counts)
reload 17
wait_for 10 has_line "$LOG" 'the partition count stays 16, 17 is refused: .*take a multiple or a divisor'
ok $? 'a reload with a coprime count is refused, with advice'
sync_to 17
is "$RC" 1 'partitions sync with a coprime count: exit status 1'
like "$ERR" 'take a multiple or a divisor of the former count' \
    'partitions sync with a coprime count: the error has advice'
is "$(counts)" "$before" 'a refused count changes nothing'
enqueue refused
drains 10 'messages are sent after a refused count'
set_count 16
ctl -c "$OP" partitions sync --prune
rows_are 16 outbox_partitions '--prune removes leases of undeclared counts'

#
# Changes under load, of three kinds of producers, while much waits, some of it
# for long: keys that are scheduled, that halt, and with many rows behind their
# head; and while a transaction is open that has enqueued.
#
fill "CONCAT('later', n % 20)" 20 'NOW(6) + INTERVAL 1 HOUR'
fill "CONCAT('halt', n % 20)" 20 'NOW(6)' 'two words'
fill "'slow'" 1 'NOW(6) + INTERVAL 1 HOUR'
SLOW=4000
! is_short || SLOW=2500
more() {
	fill "CONCAT('later', n % 20)" 40
	fill "CONCAT('halt', n % 20)" 40
	fill "'slow'" "${1:-20}"
}
more $SLOW
within 20 'rows behind a delayed head are parked' is_parked $((SLOW / 2))
open_transaction
in_transaction former "$(call open)"
produce_forever --keys 120 --rate $RATE --per-txn 3 --payload 50 --producers 6 \
    --producers-by procedure,fixed:16,late:3
CHANGES=('reload 48' 'sync_to 32')
is_short || CHANGES+=('reload 64' 'sync_to 8' 'reload 16' 'sync_to 48'
    'reload 32')
for change in "${CHANGES[@]}"; do
	$change
	within 20 "under load: $change" is_count "${change#* }"
	more
	wait_for_rows
	# Rows of a key that are to be sent at once, under several labels.
	ctl -c "$OP" partitions pause --all --yes
	wait_for_rows
	ctl -c "$OP" partitions resume --all
done
check 'a transaction that was open during all changes is not blocked' \
    in_transaction latter "$(call open)"
wait_for_rows
ok $? 'other producers are not blocked'
close_transaction
enqueue open
kill -TERM "$PRODUCER"
check 'no producer failed' wait "$PRODUCER"
is_short && want=32,16,48 || want=32,64,8,16,48
is "$(declared)" "$want" 'all former counts are declared'
within 30 'all rows of these producers are sent' \
    is_waiting "REGEXP '^(k|open)'" 0
check "$(moved_keys) keys, more than 40, have had several labels" \
    [ "$(moved_keys)" -gt 40 ]
rows=$((20 + 40 + 40 * ${#CHANGES[@]}))
is "$(waiting "LIKE 'halt%'") $(waiting "LIKE 'later%'")" \
    "$((rows - 20)) $rows" 'halted and delayed keys wait under all their labels'
is "$(waiting "= 'slow'")" $((1 + SLOW + 20 * ${#CHANGES[@]})) \
    'the rows behind a delayed head wait'
sql "UPDATE outbox SET available_at = NOW(6) WHERE published_at IS NULL AND
	available_at > NOW(6) + INTERVAL 30 MINUTE;
    UPDATE outbox_partitions SET lease_epoch = lease_epoch + 1"
within 30 'delayed rows are sent when they are due' \
    is_waiting "REGEXP '^(later|slow)'" 0
is "$(waiting "LIKE 'halt%'")" $((rows - 20)) 'halted rows still wait'
sql "UPDATE events SET event_type = 'ok' WHERE event_type = 'two words'"
ctl -c "$OP" dead retry --all
like "$OUT" '^20 dead' '20 repaired dead letters are put back'
drains 20 'they are sent, and the halted rows behind them'
check_stream 'the stream is complete and in order, nothing twice' --wait 10

#
# A client locks the row of settings: the change waits, and no producer does.
#
is_told_often() { [ "$(grep -c 'cannot be changed yet' "$LOG")" -eq "$1" ]; }
open_transaction
in_transaction locked 'SELECT partition_count FROM outbox_settings FOR UPDATE'
reload 64
wait_for 15 has_line "$LOG" 'cannot be changed yet: an open transaction locks the row of settings or a lease: counts: Lock wait timeout'
ok $? 'a locked settings row delays the change: the log says so'
enqueue producer
drains 10 'a locked settings row: messages are enqueued and sent'
check 'the count is not changed while the row is locked' is_count 32
check 'one line of log says so' is_told_often 1
# The worker that was to make the change is replaced, or dies.
reload 64
within 15 'another reload asks for the change again' is_told_often 2
for pid in $(worker_pids "$MASTER"); do kill -KILL "$pid"; done
within 15 'new workers ask for the change again' is_told_often 3
close_transaction
within 15 'the count is changed when the lock is released' is_count 64

#
# A worker of another program would own labels, not classes.
#
before=$(counts)
sql "INSERT INTO outbox_workers (id, heartbeat_until)
    VALUES ('stranger', NOW(6) + INTERVAL 1 HOUR)"
sync_to 32
is "$RC" 1 'partitions sync beside a worker of another program: exit status 1'
like "$ERR" 'worker stranger of another program' 'the error names that worker'
reload 32
wait_for 15 has_line "$LOG" 'count stays 64, 32 is refused: worker stranger of another program'
ok $? 'a reload beside a worker of another program is refused'
is "$(counts)" "$before" 'a refused count changes nothing, with another program'
is "$(grep -c '64, 32 is refused' "$LOG")" 1 'one worker is asked, and no other'
reload 64
sql "DELETE FROM outbox_workers WHERE id = 'stranger'"

#
# The end: all producers use the new count.
#
produce --events $((3 * FEW)) --keys 100 --rate $FEW --per-txn 3 --payload 50 \
    --producers 2 &
PRODUCER=$!
ctl -c "$OP" partitions sync --finish
is "$RC" 1 'sync --finish during the first ten minutes: exit status 1'
like "$ERR" 'again in .*, or use --force' '--finish: the error says when to retry'
ctl -c "$OP" partitions sync --finish --force
is "$RC $(declared)" '0 64' 'sync --finish --force: no former count is declared'
check 'no producer failed after --finish' wait "$PRODUCER"
reload 16
wait_for 15 is_count 16
wait_for 10 is_drained
ctl -c "$OP" partitions sync --finish --force
is "$RC $(declared)" '0 16' 'a smaller count: --finish --force'
is "$(sql "SELECT COUNT(*), SUM(partition_key > 'p15' AND partition_key < 'q')
    FROM outbox_partitions" | tr '\t' ' ')" '16 0' \
    'old leases are removed'

# A producer that still uses a former count.
produce --events 600 --keys 100 --rate 400 --payload 50 --key-prefix old \
    --producers-by fixed:64
drains 15 'messages under labels of an undeclared count are sent'
is_told() {
	ctl doctor
	grep -Eq '^fail +undeclared_count: a producer uses a partition count that is not declared: .*labels of no declared count: p16' <<< "$OUT"
}
within 15 'doctor reports the undeclared count' is_told
check 'the log reports the undeclared count' \
    [ "$(grep -c 'a partition count that is not declared' "$LOG")" -gt 1 ]
check_stream 'the stream is complete and in order' --wait 10

stops 'the master stops with status 0'
done_testing
