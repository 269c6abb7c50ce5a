#!/bin/sh
#
# sql_test.sh - the tables, the grants and the procedure, on real servers
#
# Loads sql/ as an operator would and uses it as an application would: with
# the client program, as the accounts that grants.sql is for.

# shellcheck source=tests/lib/result.sh
. "${srcdir:-.}/tests/lib/result.sh"
sandbox=$top/tools/sandbox
nl='
'

# has NAME TEXT PART
has() {
	case $2 in
	*"$3"*) result "$1" 0 ;;
	*) result "$1" 1 "got: $2${nl}without: $3" ;;
	esac
}

# Statements as root, as the producer, as the daemon.  Errors are output, and
# the first one ends them.
as() {
	as_user=$1
	shift
	printf '%s\n' "$@" | "$sandbox" sql "$dir/$kind" -u "$as_user" -N -B \
	    --default-character-set=utf8mb4 app 2>&1
}

root() { as root "$@"; }
producer() { as outbox_producer "$@"; }
daemon() { as outbox "$@"; }
operator() { as outbox_operator "$@"; }

load() {
	"$sandbox" sql "$dir/$kind" "$@" 2>&1
}

# The whole structure and the settings row, as text.
state() {
	root "SELECT table_name, column_name, ordinal_position, column_type,
	    is_nullable, column_default, extra, collation_name
	    FROM information_schema.columns WHERE table_schema = 'app'
	    ORDER BY 1, 3;" \
	    "SELECT table_name, index_name, seq_in_index, column_name,
	    non_unique FROM information_schema.statistics
	    WHERE table_schema = 'app' ORDER BY 1, 2, 3;" \
	    "SELECT routine_name, security_type, routine_comment,
	    SHA2(routine_definition, 256) FROM information_schema.routines
	    WHERE routine_schema = 'app';" \
	    "SELECT * FROM outbox_settings;" \
	    "SHOW GRANTS FOR 'outbox_producer'@'localhost';" \
	    "SHOW GRANTS FOR 'outbox'@'localhost';"
}

empty_tables() {
	root "DELETE FROM outbox;" "DELETE FROM events;"
}

set_count() {
	root "UPDATE outbox_settings SET partition_count = $1;"
}

test_load() {
	is "schema.sql loads" "$(load app <"$top/sql/schema.sql")" ''
	root "CREATE USER 'outbox'@'localhost';" \
	    "CREATE USER 'outbox_producer'@'localhost';"
	is "grants.sql loads" "$(load app <"$top/sql/grants.sql")" ''
	is 'the settings row has no partition count yet' "$(root "SELECT id,
	    schema_version, outbox_id REGEXP '^[0-9a-f]{16}\$',
	    partition_count IS NULL FROM outbox_settings;")" \
	    "1${tab}2${tab}1${tab}1"
	is 'the other tables are empty' "$(root "SELECT
	    (SELECT COUNT(*) FROM outbox_partitions) +
	    (SELECT COUNT(*) FROM outbox_workers) +
	    (SELECT COUNT(*) FROM outbox_dead_letters);")" 0
	is "outbox has one secondary index" "$(root "SELECT index_name,
	    GROUP_CONCAT(column_name ORDER BY seq_in_index)
	    FROM information_schema.statistics WHERE table_schema = 'app'
	    AND table_name = 'outbox' AND index_name <> 'PRIMARY'
	    GROUP BY index_name;")" \
	    "outbox_claim${tab}published_at,partition_key,global_sequence"
	is 'only updated_at of the settings changes by itself' \
	    "$(root "SELECT table_name, column_name
	    FROM information_schema.columns WHERE table_schema = 'app'
	    AND extra LIKE '%on update%';")" \
	    "outbox_settings${tab}updated_at"
}

test_load_again() {
	before=$(state)
	has "the state can be read to its end" "$before" outbox_dead_letters
	is 'no error in the state' "$(echo "$before" | grep ERROR)" ''
	is 'schema.sql loads again' "$(load app <"$top/sql/schema.sql")" ''
	is 'schema.sql again: no change, also of grants' "$(state)" "$before"
	is 'grants.sql loads again' "$(load app <"$top/sql/grants.sql")" ''
	is 'grants.sql again: no change' "$(state)" "$before"
	is "the session keeps its sql_mode" "$({
	    echo "SET SESSION sql_mode = 'ANSI_QUOTES';"
	    cat "$top/sql/schema.sql"
	    echo "SELECT @@SESSION.sql_mode;"
	} | load -N -B app)" ANSI_QUOTES
}

test_no_count() {
	out=$(producer "START TRANSACTION;" \
	    "CALL outbox_enqueue('a', 1, 't', 1, NULL, NULL, 'x');")
	has 'no partition count: outbox_enqueue fails, with the remedy' "$out" \
"outbox_settings.partition_count is not set: start outbox-master once, or \
set it to 16"
	is 'no partition count: no row' \
	    "$(root "SELECT COUNT(*) FROM events;")" 0
}

# The labels are those of PHP's crc32().
test_labels() {
	col=1
	for count in 1 16 99 100 1000; do
		set_count $count
		while read -r hex labels; do
			# shellcheck disable=SC2086 # a list of five
			set -- $labels
			shift $((col - 1))
			label "$hex" "$count" "$1"
		done <<-E
		- p00 p00 p00 p00 p00
		6F726465722D31 p00 p15 p73 p79 p79
		4772C3BCC39F65 p00 p01 p39 p97 p97
		E697A5E69CACE8AA9E p00 p05 p28 p05 p405
		F09F9A802D37 p00 p11 p46 p67 p467
		6F72646572203432 p00 p13 p45 p97 p997
		E
		col=$((col + 1))
	done
	set_count 16
	producer "START TRANSACTION;" "CALL outbox_enqueue(_latin1
	    x'4772FCDF65', NULL, 't', 1, NULL, NULL, 'x');" "COMMIT;"
	is 'a label is made of UTF-8 in any character set' \
	    "$(root "SELECT partition_key, HEX(stream_id) FROM outbox JOIN
	    events ON sequence = global_sequence;")" \
	    "p01${tab}4772C3BCC39F65"
	empty_tables
}

# label HEX COUNT WANT: by the procedure and by the plain form
label() {
	hex=$1
	[ "$hex" != - ] || hex=
	producer "START TRANSACTION;" "CALL outbox_enqueue(_utf8mb4 x'$hex',
	    NULL, 't', 1, NULL, NULL, 'x');" \
	    "$(plain "_utf8mb4 x'$hex'" 2)" "COMMIT;"
	is "label of x'$hex' modulo $2, both ways" \
	    "$(root "SELECT GROUP_CONCAT(partition_key) FROM outbox;")" "$3,$3"
	empty_tables
}

# plain KEY NUMBER: the statements of an application without the procedure
plain() {
	echo "SELECT partition_count INTO @count FROM outbox_settings
	    WHERE id = 1;
	    INSERT INTO events (stream_id, stream_sequence, event_type,
	    event_data) VALUES ($1, $2, 't', 'x');
	    INSERT INTO outbox (global_sequence, partition_key)
	    SELECT LAST_INSERT_ID(), CONCAT('p', IF(n < 10, '0', ''), n)
	    FROM (SELECT CRC32(CONVERT($1 USING utf8mb4)) MOD @count AS n)
	    AS label;"
}

# A change of the count does not wait for transactions that have enqueued, and
# producers do not wait for it: one a second, beside the same open transactions.
test_count_is_free() {
	root "INSERT INTO outbox_partitions (partition_key) VALUES ('p00');"
	sed "s/LIKE '%'/LIKE 'triggered'/" "$top/sql/trigger.sql" | load app
	changes=60
	[ "${OUTBOX_CHECK:-full}" != short ] || changes=2
	for format in ROW MIXED; do
		root "SET GLOBAL binlog_format = $format;"
		stay "call-$format" outbox_producer "$(call "c$format")"
		stay "plain-$format" outbox_producer "$(plain "'p$format'" 1)"
		[ $format = MIXED ] ||
		    stay "trigger-$format" outbox_producer "$(event "$format")"
	done
	is 'a change of the count does not wait for open transactions' \
	    "$(root "$(for _ in $(seq $changes); do
	    echo "$change COMMIT; DO SLEEP(1);"
	    done)" | sort | uniq -c | tr -s ' ')" " $changes changed"
	stay change root "$change"
	for format in ROW MIXED; do
		root "SET GLOBAL binlog_format = $format;"
		is "producers do not wait for a change of the count, $format" \
		    "$(producer "$patience" "$(call "d$format")" \
		    "$(plain "'q$format'" 1)")" ''
	done
	root "SET GLOBAL binlog_format = ROW;"
	is 'the trigger does not wait' "$(producer "$patience" "$(event d)")" \
	    ''
	go_on "open transactions commit after changes of the count"
	is 'each event has a row, labelled by the count that was read' \
	    "$(root "SELECT COUNT(*), SUM(partition_key = CONCAT('p', LPAD(
	    CRC32(CONVERT(stream_id USING utf8mb4)) % 16, 2, '0')))
	    FROM outbox JOIN events ON sequence = global_sequence;")" \
	    "5${tab}5"
	empty_tables
}

# The trigger with a binlog that has statements in it, as in the manual.
test_server_locks_by_itself() {
	root "SET GLOBAL binlog_format = MIXED;"
	stay open outbox_producer "$(event open)"
	has "with MIXED the server locks what the trigger reads" \
	    "$(root "$change")" "ERROR 1205"
	is 'MIXED: producers do not wait' "$(producer "$patience" \
	    "$(event beside)" "$(call beside2)")" ''
	go_on "with MIXED: the transaction of the trigger commits"
	is 'MIXED: then the count can be changed' "$(root "$change")" changed
	stay change root "$change"
	has 'MIXED: the trigger waits' \
	    "$(producer "$patience" "$(event late)")" \
	    "ERROR 1205"
	go_on "with MIXED: the change of the count commits"
	root "SET GLOBAL binlog_format = ROW;" \
	    "DROP TRIGGER outbox_after_event;" "DELETE FROM outbox_partitions;"
	set_count 16
	empty_tables
}

# patience: wait one second for a lock; change: another partition count
patience="SET innodb_lock_wait_timeout = 1; START TRANSACTION;"
change="$patience SELECT partition_count INTO @count FROM outbox_settings
    WHERE id = 1 FOR UPDATE;
    UPDATE outbox_settings SET partition_count = 80 - @count,
    former_counts = @count, counts_since = NOW(6);
    UPDATE outbox_partitions SET lease_epoch = lease_epoch + 1;
    SELECT 'changed';"

call() { echo "CALL outbox_enqueue('$1', 1, 't', 1, NULL, NULL, 'x');"; }
event() {
	echo "INSERT INTO events (stream_id, stream_sequence, event_type,
	    event_data) VALUES ('$1', 1, 'triggered', 'x');"
}

# stay NAME ACCOUNT STATEMENTS: in a transaction that stays open until go_on
stay() {
	trap '' PIPE	# if it has given up
	{
		echo "START TRANSACTION; $3 SELECT 'open';"
		wait_for 120 grep -qs on "$dir/go"
		echo "COMMIT; SELECT 'committed';"
	} | "$sandbox" sql "$dir/$kind" -u "$2" -n -N -B app \
	    >"$dir/$1.open" 2>&1 &
	pids="${pids:-} $!"
	wait_for 10 grep -qs open "$dir/$1.open" ||
	    result "open: $3" 1 "$(cat "$dir/$1.open")"
}

# go_on NAME: all that stayed commit
go_on() {
	echo on >"$dir/go"
	# shellcheck disable=SC2086 # a list
	wait $pids
	pids=
	trap 'exit 1' PIPE
	is "$1" "$(grep -L committed "$dir"/*.open)" ''
	rm -f "$dir/go" "$dir"/*.open
}

test_transactions() {
	is "LAST_INSERT_ID() after the CALL is the event" \
	    "$(producer "START TRANSACTION;" "CALL outbox_enqueue('tx', NULL,
	    't', NULL, 'corr', '{\"a\": 1}', 'x');" \
	    "SELECT LAST_INSERT_ID() > 0;" "COMMIT;")" 1
	is 'and is that of the outbox row' "$(producer "START TRANSACTION;" \
	    "CALL outbox_enqueue('tx', NULL, 't', 7, NULL, NULL, 'x');" \
	    "SET @id = LAST_INSERT_ID();" "COMMIT;" \
	    "SELECT @id;")" "$(root "SELECT MAX(global_sequence) FROM outbox;")"
	is 'the arguments are in their columns' "$(root "SELECT stream_id,
	    stream_sequence, event_type, event_version, correlation_id,
	    metadata IS NOT NULL FROM events ORDER BY sequence;")" \
	    "$(printf 'tx\t1\tt\t1\tcorr\t1\ntx\t2\tt\t7\tNULL\t0')"
	producer "START TRANSACTION;" "CALL outbox_enqueue('tx', NULL, 't', 1,
	    NULL, NULL, 'x');" "ROLLBACK;"
	is "a rollback leaves neither row" "$(counts)" "2 2"
	# The client goes away without a commit.
	producer "SET autocommit = 0;" "CALL outbox_enqueue('tx', NULL, 't',
	    1, NULL, NULL, 'x');" \
	    "CALL outbox_enqueue('tx', NULL, 't', 1, NULL, NULL, 'x');"
	is "the procedure does not commit" "$(counts)" "2 2"
	out=$(producer "CALL outbox_enqueue('tx', NULL, 't', 1, NULL, NULL,
	    'x');")
	has 'no transaction: outbox_enqueue fails, with the remedy' "$out" \
	    "needs a transaction: START TRANSACTION first"
	is 'no transaction: no row is written' "$(counts)" "2 2"
	empty_tables
}

# Projections are replayed: their events do not happen again.
test_replaying() {
	is "with @outbox_replaying = 1 nothing is stored" \
	    "$(producer "START TRANSACTION;" "CALL outbox_enqueue('r', NULL,
	    't', 1, NULL, NULL, 'x');" "SET @outbox_replaying = 1;" \
	    "CALL outbox_enqueue('r', NULL, 't', 1, NULL, NULL, 'x');" \
	    "SELECT LAST_INSERT_ID();" "COMMIT;" \
	    "CALL outbox_enqueue('r', NULL, 't', 1, NULL, NULL, 'x');")" 0
	is '@outbox_replaying: rows that were stored before stay' "$(counts)" \
	    "1 1"
	producer "SET @outbox_replaying = 0;" "START TRANSACTION;" \
	    "CALL outbox_enqueue('r', NULL, 't', 1, NULL, NULL, 'x');" \
	    "COMMIT;"
	is '@outbox_replaying = 0: the event is stored' "$(counts)" "2 2"
	empty_tables
}

counts() {
	root "SELECT CONCAT((SELECT COUNT(*) FROM events), ' ',
	    (SELECT COUNT(*) FROM outbox));"
}

# fails NAME CODE ARGUMENTS: the CALL fails with this error
fails() {
	out=$(producer "START TRANSACTION;" \
	    "CALL outbox_enqueue('ok', NULL, 't', 1, NULL, NULL, 'x');" \
	    "CALL outbox_enqueue($3);")
	has "$1" "$out" "ERROR $2"
}

test_errors() {
	root "START TRANSACTION;" \
	    "CALL outbox_enqueue('k', 1, 't', 1, NULL, NULL, 'x');" "COMMIT;"
	fails "the same stream_sequence again: 1062" 1062 \
	    "'k', 1, 't', 1, NULL, NULL, 'x'"
	fails "no stream_id: 1048" 1048 "NULL, 1, 't', 1, NULL, NULL, 'x'"
	fails "no type: 1048" 1048 "'k', 2, NULL, 1, NULL, NULL, 'x'"
	fails "no data: 1048" 1048 "'k', 2, 't', 1, NULL, NULL, NULL"
	fails "a stream_id that is too long: 1406, not cut" 1406 \
	    "REPEAT('k', 256), 1, 't', 1, NULL, NULL, 'x'"
	out=$(producer "START TRANSACTION;" "CALL outbox_enqueue('k', 2, 't',
	    1, NULL, 'not json', 'x');")
	case $out in
	*"ERROR 4025"*|*"ERROR 3140"*)
		result "metadata that is not JSON: refused" 0 ;;
	*)	result "metadata that is not JSON: refused" 1 "$out" ;;
	esac
	is 'failed calls leave no row' "$(counts)" "1 1"
	# An application that catches the error and commits all the same.
	root "RENAME TABLE outbox TO aside;"
	out=$(printf '%s\n' "DELIMITER //" "CREATE PROCEDURE catcher() BEGIN
	    DECLARE CONTINUE HANDLER FOR SQLEXCEPTION BEGIN END;
	    CALL outbox_enqueue('k', 2, 't', 1, NULL, NULL, 'x'); END//" \
	    "DELIMITER ;" "START TRANSACTION;" "CALL catcher();" "COMMIT;" |
	    load -N -B app)
	root "DROP PROCEDURE catcher;" "RENAME TABLE aside TO outbox;"
	is "no outbox row, no event, even if the error is caught" \
	    "$out$(counts)" "1 1"
	empty_tables
}

# Two open transactions that number new streams must not wait for each other.
test_independent() {
	trap '' PIPE	# if the first one has given up
	mkfifo "$dir/first"
	"$sandbox" sql "$dir/$kind" -u outbox_producer -n -N -B app \
	    <"$dir/first" >"$dir/first.out" 2>&1 &
	pid=$!
	exec 3>"$dir/first"
	echo "SET SESSION TRANSACTION ISOLATION LEVEL REPEATABLE READ;
	    START TRANSACTION;
	    CALL outbox_enqueue('s1', NULL, 't', 1, NULL, NULL, 'x');
	    SELECT 'enqueued';" >&3
	if wait_for 10 grep -qs enqueued "$dir/first.out"; then
		out=$(producer "SET innodb_lock_wait_timeout = 1;" \
		    "START TRANSACTION;" "CALL outbox_enqueue('s2', NULL, 't',
		    1, NULL, NULL, 'x');" "COMMIT;")
		is 'streams do not wait for each other' "$out" \
		    ''
	else
		result 'streams do not wait for each other' 1 \
		    "$(cat "$dir/first.out")"
	fi
	echo "COMMIT;" >&3
	exec 3>&-
	trap 'exit 1' PIPE
	wait "$pid"
	rm -f "$dir/first" "$dir/first.out"
	is 'both events are stored' "$(counts)" "2 2"
	empty_tables
}

test_numbering() {
	producer "START TRANSACTION;" \
	    "CALL outbox_enqueue('n', NULL, 't', 1, NULL, NULL, 'x');" \
	    "CALL outbox_enqueue('n', NULL, 't', 1, NULL, NULL, 'x');" \
	    "CALL outbox_enqueue('n', 41, 't', 1, NULL, NULL, 'x');" \
	    "CALL outbox_enqueue('n', NULL, 't', 1, NULL, NULL, 'x');" \
	    "CALL outbox_enqueue('N', NULL, 't', 1, NULL, NULL, 'x');" \
	    "COMMIT;"
	is 'stream_sequence NULL: the next number of the stream' \
	    "$(root "SELECT GROUP_CONCAT(CONCAT(stream_id, stream_sequence)
	    ORDER BY sequence) FROM events;")" n1,n2,n41,n42,N1
	empty_tables
}

test_data() {
	producer "SET time_zone = '+13:00';" "START TRANSACTION;" \
	    "CALL outbox_enqueue('d', NULL, 't', 1, NULL, NULL,
	    x'00FF80C3285C27220D0A00');" "COMMIT;"
	is "NUL, quotes and invalid UTF-8 are kept" \
	    "$(root "SELECT HEX(event_data) FROM events;")" \
	    00FF80C3285C27220D0A00
	is "the time zone of a producer changes no time" "$(root \
	    "SET time_zone = '+00:00';" "SELECT
	    ABS(TIMESTAMPDIFF(SECOND, occurred_at, UTC_TIMESTAMP())) < 60,
	    ABS(TIMESTAMPDIFF(SECOND, available_at, UTC_TIMESTAMP())) < 60,
	    ABS(TIMESTAMPDIFF(SECOND, created_at, UTC_TIMESTAMP())) < 60
	    FROM events JOIN outbox ON sequence = global_sequence;")" \
	    "1${tab}1${tab}1"
	empty_tables
}

# may ACCOUNT STATEMENT / may_not ACCOUNT STATEMENT
may() {
	is "$1 may: $2" "$("$1" "START TRANSACTION;" "$2;" "ROLLBACK;" |
	    grep ERROR)" ''
}

may_not() {
	has "$1 may not: $2" "$("$1" "START TRANSACTION;" "$2;" "ROLLBACK;")" \
	    "command denied to user"
}

test_daemon_grants() {
	may daemon "SELECT * FROM events"
	may daemon "UPDATE outbox FORCE INDEX (PRIMARY)
SET claim_token = 'x', available_at = NOW(6) WHERE global_sequence = 1
AND (SELECT COUNT(*) FROM outbox_partitions LOCK IN SHARE MODE) = 1"
	may daemon "DELETE FROM outbox WHERE global_sequence = 0"
	may daemon "INSERT IGNORE INTO outbox (global_sequence, partition_key)
SELECT sequence, 'p00' FROM events WHERE FALSE"
	may daemon "DELETE FROM outbox_dead_letters WHERE global_sequence = 0"
	may daemon "INSERT INTO outbox_partitions (partition_key)
VALUES ('p00') ON DUPLICATE KEY UPDATE lease_epoch = lease_epoch + 1"
	may daemon "SELECT * FROM outbox_partitions WHERE partition_key = 'p00'
FOR UPDATE"
	may daemon "INSERT INTO outbox_workers (id) VALUES ('w')"
	may daemon "UPDATE outbox_workers SET heartbeat_until = NOW(6)
WHERE id = 'w'"
	may daemon "DELETE FROM outbox_workers WHERE heartbeat_until < NOW(6)"
	may daemon "UPDATE outbox_settings SET updated_at = NOW(6),
partition_count = 16, former_counts = NULL, counts_since = NOW(6),
reconcile_watermark = 0"
	may daemon "SELECT * FROM outbox_settings WHERE id = 1 FOR UPDATE"
	may daemon "SELECT * FROM outbox_settings WHERE id = 1
LOCK IN SHARE MODE"
	may_not daemon "INSERT IGNORE INTO outbox_settings (schema_version,
outbox_id) VALUES (1, '0')"
	for column in partition_by types fan_out outbox_id schema_version id; do
		may_not daemon "UPDATE outbox_settings SET $column = NULL"
	done
	may daemon "SELECT * FROM outbox_registry"
	may_not daemon "UPDATE outbox_registry SET settings = 'x'"
	may_not daemon "INSERT INTO outbox_registry (name, source, settings)
VALUES ('a', 'b', 'c')"
	may_not daemon "CALL outbox_enqueue('a', 1, 't', 1, NULL, NULL, 'x')"
	may_not daemon "CREATE TABLE t (a INT)"
	may_not daemon "SELECT * FROM secret"
	may daemon "INSERT INTO outbox_dead_letters (global_sequence, reason)
VALUES (0, 'message')"
	may daemon "INSERT IGNORE INTO outbox_streams (name) VALUES ('EVENTS')"
	may daemon "UPDATE outbox_streams SET checker = 'w' WHERE name = 'EVENTS'
AND (checker IS NULL OR checker NOT IN (SELECT id FROM outbox_workers))"
	may_not daemon "DELETE FROM outbox_streams"
	may daemon "SELECT * FROM outbox_audit"
	may_not daemon "INSERT INTO outbox_audit (login, unix_user, command,
arguments) VALUES ('l', 'u', 'c', 'a')"
	may_not daemon "UPDATE outbox_audit SET changed = 2 WHERE id = 1"
	may_not daemon "DELETE FROM outbox_audit"
	may_not daemon "UPDATE events SET event_type = 't'"
	may_not daemon "DELETE FROM events"
	may_not daemon "DELETE FROM outbox_partitions"
	may_not daemon "DELETE FROM outbox_settings"
	may_not daemon "DROP TABLE outbox"
}

# The tests above show that the producer may enqueue.
test_producer_grants() {
	may producer "SELECT MAX(stream_sequence) FROM events
WHERE stream_id = 'a'"
	may producer "INSERT INTO outbox (global_sequence, partition_key)
VALUES (0, 'p00')"
	may_not producer "INSERT INTO outbox (global_sequence, attempts)
VALUES (0, 9)"
	may_not producer "INSERT INTO outbox (global_sequence, published_at)
VALUES (0, NOW())"
	may_not producer "INSERT INTO outbox (global_sequence, claim_token)
VALUES (0, 'x')"
	may_not producer "DELETE FROM outbox"
	may_not producer "UPDATE outbox SET published_at = NULL"
	may_not producer "SELECT * FROM outbox"
	for table in partitions workers streams blocked_keys dead_letters \
	    audit; do
		may_not producer "SELECT 1 FROM outbox_$table"
		may_not producer "DELETE FROM outbox_$table"
	done
	may producer "SELECT partition_count FROM outbox_settings
WHERE id = 1"
	may_not producer "SELECT outbox_id FROM outbox_settings"
	for column in partition_count partition_by types; do
		may_not producer "UPDATE outbox_settings SET $column = 1"
	done
	may_not producer "UPDATE outbox_registry SET settings = 'x'"
	may_not producer "INSERT INTO outbox_registry (name, source, settings)
VALUES ('a', 'b', 'c')"
	may_not producer "INSERT INTO events (sequence, stream_id,
stream_sequence, event_type, event_data) VALUES (99, 'a', 1, 't', 'x')"
	may_not producer "SELECT * FROM outbox_audit"
	may_not producer "CREATE TABLE t (a INT)"
	may_not producer "UPDATE events SET event_type = 't'"
	may_not producer "DELETE FROM events"
	may_not producer "INSERT INTO outbox_dead_letters
(global_sequence, reason) VALUES (0, 'x')"
	has "producer may not: read what others sent" "$(producer \
	    "SELECT event_data FROM events;")" "ERROR 1143"
}

test_operator_grants() {
	root "CREATE USER 'outbox_operator'@'localhost';"
	is 'operator.sql loads' "$(load app <"$top/sql/operator.sql")" ''
	may operator "UPDATE outbox_settings SET partition_count = 16"
	may operator "SELECT * FROM outbox_settings FOR UPDATE"
	may operator "INSERT INTO outbox_audit (login, unix_user, command,
arguments) VALUES ('l', 'u', 'c', 'a')"
	may operator "DELETE FROM outbox_dead_letters"
	may_not operator "UPDATE outbox_settings SET partition_by = 'x'"
	may_not operator "UPDATE outbox_settings SET types = 'x'"
	may_not operator "UPDATE outbox_registry SET settings = 'x'"
	may_not operator "UPDATE outbox_audit SET command = 'x'"
	may_not operator "DELETE FROM outbox_audit"
	may_not operator "UPDATE events SET event_type = 't'"
	may_not operator "DELETE FROM events"
	may_not operator "CREATE TABLE t (a INT)"
	may_not operator "SELECT * FROM secret"
}

# None of the three, see the last row of the table in SECURITY.md
test_server_grants() {
	for account in producer daemon operator; do
		may_not $account "SELECT * FROM mysql.user"
		may_not $account "SELECT * FROM other.t"
		has "$account may not: follow the binlog" \
		    "$($account "SHOW BINARY LOGS;")" "Access denied"
		has "$account may not: grant" "$($account "GRANT SELECT ON
		    events TO 'outbox'@'localhost';")" "ERROR 1142"
		has "$account may not: replace a procedure" \
		    "$($account "DROP PROCEDURE outbox_put;")" "ERROR 1370"
		has "$account may not: make a trigger" "$($account "CREATE
		    TRIGGER t BEFORE INSERT ON events FOR EACH ROW SET @x = 1;
		    ")" "ERROR 1"
	done
}

# What others write into tables becomes SQL in outbox_put, with the rights of
# whoever enqueues.  stolen SESSION: what a CALL reads of a table of its own.
evil="stream_id\`) = 'x', 1, 1)), s.t INTO @outbox_hash, @stolen "
evil="${evil}FROM events, secret AS s LIMIT 1 -- "
stolen() {
	producer "$1" "START TRANSACTION;" "$(call e)" "ROLLBACK;"
	printf '%s\n' "$1" "START TRANSACTION;" "$(call e)" \
	    "SELECT CONCAT('got ', @stolen); ROLLBACK;" |
	    "$sandbox" sql "$dir/$kind" -u outbox_producer --force -N -B app \
	    2>&1 | grep '^got'
}

by() { root "UPDATE outbox_settings SET partition_by = $1;"; }

test_names() {
	root "CREATE TABLE secret (t TEXT); INSERT INTO secret VALUES ('s');" \
	    "GRANT SELECT ON secret TO 'outbox_producer'@'localhost';" \
	    "GRANT SELECT (sequence, event_type) ON events TO
	    'outbox_producer'@'localhost';"
	for by in 'a`b' 'a b' 'a;b' '"' "''" '\n' '\0' 'ü'; do
		like_constraint "partition_by, $by," "$(by "'$by'")"
	done
	like_constraint 'a name in the registry' "$(root "INSERT INTO
	    outbox_registry (name, source, settings) VALUES ('a', 'b', '\`')")"
	is 'a column and a path may be there' \
	    "$(by "'a-b_\$C9'"; by "'\$.a-b.c'")" ''
	root "ALTER TABLE outbox_settings DROP CONSTRAINT outbox_settings_by;"
	by "'$(printf %s "$evil" | sed "s/'/''/g")'"
	for session in "DO 0;" "SET SESSION sql_mode = 'ANSI_QUOTES';" \
	    "SET SESSION sql_mode = 'NO_BACKSLASH_ESCAPES';" \
	    "SET NAMES gbk;" "SET @outbox_sql = 'x', @outbox_by = 'x';"; do
		out=$(stolen "$session")
		has "a name of SQL is a column that is not there: $session" \
		    "$out" "ERROR 1143"
		is "and reads nothing: $session" \
		    "$(echo "$out" | grep '^got' | grep -v NULL)" ''
	done
	by "'event_type'"
	for session in "DO 0;" "SET SESSION sql_mode = 'ANSI';" \
	    "SET NAMES gbk;"; do
		producer "$session" "START TRANSACTION;" "$(call e)" "COMMIT;"
		is "a column is one in each session: $session" \
		    "$(root "SELECT partition_key = CONCAT('p', LPAD(
		    CRC32(event_type) MOD 16, 2, '0')) FROM outbox
		    JOIN events ON sequence = global_sequence;")" 1
		empty_tables
	done
	by NULL
}

# like_constraint NAME OUTPUT
like_constraint() {
	has "$1 is refused" "$(printf '%s\n' "$2" | tr 'A-Z' 'a-z')" constraint
}

# With the trigger a producer needs no right on the outbox, and takes no number.
test_distrust() {
	load app <"$top/sql/trigger.sql"
	root "REVOKE INSERT (global_sequence, partition_key) ON outbox
	    FROM 'outbox_producer'@'localhost';"
	is 'with the trigger: outbox_enqueue without a right on the outbox' \
	    "$(producer "START TRANSACTION;" "$(call a)" "COMMIT;"; rows)" a1:1
	is 'and a plain event' "$(producer "$(event b)"; rows)" a1:1,b1:1
	may_not producer "INSERT INTO outbox (global_sequence, partition_key)
VALUES (99, 'p00')"
	root "DROP TRIGGER outbox_after_event;"
	load app <"$top/sql/grants.sql"
	empty_tables
}

# A driver's time-out or an operator kills the statement: no handler of the
# procedure runs on MySQL.  It stops where a hook sleeps: in the INSERT of the
# event, or of its row.
hooks() {
	root "DELIMITER //" "CREATE TRIGGER hook_event BEFORE INSERT ON events
	    FOR EACH ROW IF @hook = 'event' THEN SET @hook = NULL,
	    @slept = SLEEP(30); END IF//" \
	    "CREATE TRIGGER hook_row BEFORE INSERT ON outbox
	    FOR EACH ROW IF @hook = 'row' THEN SET @hook = NULL,
	    @slept = SLEEP(30); END IF//"
}
sleeper() { root "SELECT id FROM information_schema.processlist
    WHERE state = 'User sleep';"; }
has_sleeper() { [ -n "$(sleeper)" ]; }

# killed HOOK STATEMENTS: what a pooled session does after its CALL was killed
killed() {
	printf '%s\n' "SET @hook = '$1';" "START TRANSACTION;" "$(call k)" \
	    "SET @hook = NULL;" "$2" | "$sandbox" sql "$dir/$kind" \
	    -u outbox_producer --force -N -B app >"$dir/killed" 2>&1 &
	wait_for 10 has_sleeper
	root "KILL QUERY $(sleeper);"
	wait $!
	grep -q 'ERROR 1317' "$dir/killed" ||
	    result "the CALL is killed at the $1" 1 "$(cat "$dir/killed")"
}
# Each event, and how many rows it has
rows() { root "SELECT COALESCE(GROUP_CONCAT(CONCAT(stream_id,
    stream_sequence, ':', (SELECT COUNT(*) FROM outbox
    WHERE global_sequence = sequence)) ORDER BY sequence), 'none')
    FROM events;"; }

test_killed() {
	hooks
	for hook in event row; do
		killed $hook "ROLLBACK; START TRANSACTION; $(call k) COMMIT;"
		is "killed at the $hook and rolled back: the next CALL" \
		    "$(rows)" k1:1
		empty_tables
		killed $hook "ROLLBACK TO SAVEPOINT outbox_enqueue; COMMIT;"
		is "killed at the $hook: its savepoint undoes it" \
		    "$(rows)" none
		empty_tables
	done
	load app <"$top/sql/trigger.sql"
	for hook in event row; do
		killed $hook "ROLLBACK; $(event k)"
		is "trigger, killed at the $hook: the same event, plain" \
		    "$(rows)" k1:1
		empty_tables
		killed $hook "$(event k) $(event l) COMMIT;"
		is "trigger, killed at the $hook, and not rolled back" \
		    "$(rows)" k1:1,l1:1
		empty_tables
		killed $hook "ROLLBACK; START TRANSACTION; $(call k)
		    $(event l) $(call m) COMMIT;"
		is "trigger, killed at the $hook: CALLs and plain ones" \
		    "$(rows)" k1:1,l1:1,m1:1
		empty_tables
	done
	root "DROP TRIGGER hook_event;" "DROP TRIGGER hook_row;" \
	    "DROP TRIGGER outbox_after_event;"
}

# What outboxctl schema check compares with is committed; a server that makes
# something else of the tables shows it.
test_wanted() {
	is 'sql/wanted.c is what sql/make_wanted.sh makes of sql/' \
	    "$("$top/sql/make_wanted.sh" "$dir/$kind" 2>&1 |
	    diff "$top/sql/wanted.c" -)" ''
}

suite() {
	load -e 'CREATE DATABASE app'
	test_wanted
	test_load
	test_no_count
	set_count 16
	test_load_again
	test_labels
	test_count_is_free
	test_server_locks_by_itself
	test_transactions
	test_errors
	test_independent
	test_killed
	test_numbering
	test_replaying
	test_data
	test_names
	test_daemon_grants
	test_producer_grants
	test_operator_grants
	test_server_grants
	test_distrust
}

# with KIND: run the suite on it, or skip it when it is not installed
with() {
	kind=$1
	out=$("$sandbox" start "$kind" "$dir/$kind" 2>&1)
	case $? in
	0)	suite
		"$sandbox" stop "$dir/$kind" ;;
	77)	n=$((n + 1))
		echo "ok $n - $kind # SKIP $out" ;;
	*)	result "the server starts" 1 "$out" ;;
	esac
}

tab=$(printf '\t')
dir=$(mktemp -d "${TMPDIR:-/tmp}/sqlt.XXXXXX") || exit 99
trap '"$sandbox" stop "$dir/mariadb" "$dir/mysql" 2>/dev/null; rm -rf "$dir"' \
    EXIT
trap 'exit 1' HUP INT PIPE TERM

with mariadb
[ "${OUTBOX_CHECK:-full}" = short ] || with mysql
results
