#!/usr/bin/env bash
# Rows that stand in the way of the first worker's duties stop nothing else
. "${srcdir:-$(dirname "$0")/../..}/tests/lib/lib.sh"
. "$srcdir/tests/lib/inline.sh"

start_servers
WORKERS=1 write_conf
inline_tables
start_fleet

# insert ID [LABEL [SCHEDULED_AT]], both as SQL
insert() {
	echo "INSERT INTO outbox_messages (message_id, topic, order_key,
	    partition_key, payload, scheduled_at)
	    VALUES ('$1', 't', '$1', ${2:-"'p05'"}, 'x', ${3:-NULL});"
}
in_seconds() { echo "SET @at = NOW(6) + INTERVAL $1 SECOND;"; }
is_sent() { is_sql "SELECT published_at IS NOT NULL FROM outbox_messages
    WHERE message_id = '$1'" 1; }
id_of_message() { sql "SELECT id FROM outbox_messages
    WHERE message_id = '$1'"; }
is_set_apart() { is_sql "SELECT COUNT(*) FROM outbox_messages
    WHERE message_id LIKE '$1-%' AND partition_key LIKE '!@%'" "$2"; }

# A message for each partition, and whether all of them are sent.
everywhere() {
	local i all=''
	for i in 00 01 02 03 04 05 06 07 08 09 10 11 12 13 14 15; do
		all+=$(insert "$1-$i" "'p$i'")
	done
	sql "$all"
}
are_sent() { is_sql "SELECT COUNT(published_at) FROM outbox_messages
    WHERE message_id LIKE '$1-__'" 16; }

coproc SESSION { "$SANDBOX" sql "$DIR/db" -N -n app; }
# tell WORD SQL: and WORD is the answer, soon
tell() {
	echo "$2; SELECT '$1';" >&"${SESSION[1]}"
	local answer
	while read -r -t 5 answer <&"${SESSION[0]}"; do
		[ "$answer" != "$1" ] || return 0
	done
	return 1
}
lock() { tell locked "START TRANSACTION; SELECT 1 FROM $1 FOR UPDATE"; }

# A row that is locked when its time comes, and one that is not.
sql "$(in_seconds 5) $(insert locked-1 '' @at) $(insert locked-2 '' @at)"
wait_for 5 is_set_apart locked 2
lock "outbox_messages WHERE id = $(id_of_message locked-1)"
within 15 'a scheduled message is sent while another is locked' is_sent locked-2
everywhere locked
within 3 'and so are the messages of all partitions' are_sent locked
within 8 'it is logged' has_line "$LOG" \
    'warn .*1 message.* scheduled_at has come .*transaction.* locks '
tell over COMMIT
within 3 'then the locked one is sent' is_sent locked-1

# A row that the database refuses to move away: its key waits, no other one.
sql "DELIMITER //
    CREATE TRIGGER stay BEFORE UPDATE ON outbox_messages FOR EACH ROW
    IF OLD.message_id = 'stuck' AND NEW.partition_key LIKE '!@%' THEN
	SIGNAL SQLSTATE '45000' SET MESSAGE_TEXT = 'stays by the test';
    END IF//"
sql "START TRANSACTION; $(in_seconds 60) $(insert away-1 '' @at)
    $(insert stuck '' @at) $(insert away-2 '' @at) COMMIT"
within 5 'rows are moved away while one of them is refused' is_set_apart away 2
sql "$(in_seconds 60) $(insert away-3 '' @at)"
within 5 'and later ones as well' is_set_apart away 3
check 'it is logged once' \
    [ "$(grep -c 'cannot be moved out of the way.*stays by' "$LOG")" -eq 1 ]
sql "DROP TRIGGER stay; DELETE FROM outbox_messages
    WHERE message_id = 'stuck' OR message_id LIKE 'away-%'"

# Rows that the database refuses to move back.  The tries outlive the rollback.
sql "CREATE TABLE tries (n INT) ENGINE = MyISAM;
    DELIMITER //
    CREATE TRIGGER refuse BEFORE UPDATE ON outbox_messages FOR EACH ROW
    IF OLD.message_id LIKE 'bad%' AND OLD.partition_key LIKE '!@%' THEN
	INSERT INTO tries VALUES (1);
	SIGNAL SQLSTATE '45000' SET MESSAGE_TEXT = 'refused by the test';
    END IF//"
sql "$(in_seconds 5) $(insert bad-1 '' @at) $(insert bad-2 '' @at)
    $(insert bad-3 '' @at) $(insert good-1 '' @at)
    $(insert good-2 '' '@at + INTERVAL 1500000 MICROSECOND')"
wait_for 5 is_set_apart bad 3
within 15 'a scheduled message is sent while others are refused' is_sent good-1
tries=$(sql 'SELECT COUNT(*) FROM tries')
everywhere bad
within 3 'and so are the messages of all partitions' are_sent bad
within 4 'later scheduled messages are sent as well' is_sent good-2
check 'the others are logged' has_line "$LOG" \
    'error .*3 message.* scheduled_at has come .*refused by the test'
check 'and are not tried again each second' \
    is_sql 'SELECT COUNT(*) FROM tries' "$tries"
bad=$(id_of_message bad-1)
check 'what the log says takes one out' \
    inline_ctl messages discard "$bad" --yes
# More than the list of them holds, and one behind them.
if ! is_short; then
	sql "SET @at = NOW(6) - INTERVAL 1 SECOND;
	    INSERT INTO outbox_messages (message_id, topic, order_key,
	    partition_key, payload, scheduled_at)
	    SELECT IF(n < 1100, CONCAT('bad-many-', n), 'good-3'), 't', n,
	    CONCAT('!@', DATE_FORMAT(@at, '%Y%m%d%H%i%s%f'), 'p05'), 'x', @at
	    FROM $(numbers 1101) ORDER BY n"
	within 90 'a message behind 1,100 that are refused is sent' \
	    is_sent good-3
	check 'the log has few lines on them' \
	    [ "$(grep -c 'refused by the test' "$LOG")" -lt 10 ]
	sql "DELETE FROM outbox_messages WHERE message_id LIKE 'bad-many-%'"
fi
sql 'DROP TRIGGER refuse'
for pid in $(worker_pids "$MASTER"); do kill "$pid"; done
within 10 'the others are sent when the table is repaired' is_sent bad-2

# A deadlock takes no time, so the next try is soon: five of them are over before
# three waits of five seconds.  The count outlives the rollback.
sql "CREATE TABLE clashes (n INT) ENGINE = MyISAM;
    DELIMITER //
    CREATE TRIGGER clash BEFORE UPDATE ON outbox_messages FOR EACH ROW
    IF OLD.message_id = 'clash-1' AND OLD.partition_key LIKE '!@%' AND
	(SELECT COUNT(*) FROM clashes) < 5 THEN
	INSERT INTO clashes VALUES (1);
	SIGNAL SQLSTATE '40001' SET MYSQL_ERRNO = 1213,
	    MESSAGE_TEXT = 'Deadlock by the test';
    END IF//"
clashed() { is_sql 'SELECT COUNT(*) FROM clashes' "$1"; }
sql "$(in_seconds 5) $(insert clash-1 '' @at)"
wait_for 5 is_set_apart clash 1
wait_for 15 not clashed 0
within 15 'a scheduled message is tried again soon after a deadlock' \
    is_sent clash-1
check 'after five deadlocks' clashed 5
sql 'DROP TRIGGER clash'

# The row that says under which labels rows come back.
sql "$(in_seconds 5) $(insert settings-1 '' @at)"
wait_for 5 is_set_apart settings 1
lock outbox_settings
within 15 'it is logged that scheduled messages wait' has_line "$LOG" \
    'warn .*scheduled_at has come .*transaction locks .*Lock wait timeout'
everywhere settings
within 3 'the messages of all partitions are sent' are_sent settings
tell over COMMIT
within 8 'then the scheduled one is sent' is_sent settings-1

# Labels that no worker can lease: status has what mends them.
sql "$(insert stray-1 "CONCAT('a', CHAR(1))") $(insert stray-2 "'!7'")
    $(insert new "'new'")"
within 10 'a label that nobody knew gets its lease' is_sent new
strays() { "$OUTBOXCTL" -c "$CONF" --json status | jq -r ".strays$1"; }
is "$(strays '|.labels, .first')" $'2\n0x6101' 'status names the others'
wait_for 5 has_line "$LOG" 'warn .*under labels that no worker can lease'
ok $? 'and so does the log'
check 'which stay' not is_sent stray-1
sql "$(strays .sql)"
within 4 'with the statement of status their messages are sent' is_sent stray-1
check 'all of them' wait_for 4 is_sent stray-2
is "$(strays '')" null 'then there are none'

# None can be moved away: the worker does not try it for each of them.
sql "DELIMITER //
    CREATE TRIGGER stay BEFORE UPDATE ON outbox_messages FOR EACH ROW
    IF NEW.partition_key LIKE '!@%' THEN
	SIGNAL SQLSTATE '45000' SET MESSAGE_TEXT = 'none by the test';
    END IF//"
sql "START TRANSACTION; $(in_seconds 60)
    $(for i in {1..20}; do insert "none-$i" '' @at; done) COMMIT"
within 5 'no scheduled row can be moved away: it is logged' has_line "$LOG" \
    'error .* messages that are scheduled cannot be moved .*none by the test'
check 'in few lines' [ "$(grep -c 'none by the test' "$LOG")" -eq 9 ]
sql "$(insert after)"
within 5 'and other messages are sent' is_sent after

check 'no connection was given up' not has_line "$LOG" '(warn|error) .*database: '
stops 'the master stops with status 0'
done_testing
