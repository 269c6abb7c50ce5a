#!/usr/bin/env bash
# Rows with every awkward content, on tables that an application owns: all that
# can be sent is, in order; what dies is buried; no row stops the others.
. "${srcdir:-$(dirname "$0")/../..}/tests/lib/lib.sh"

ctl() { "$OUTBOXCTL" -c "$CONF" "$@" 2>&1; }

# put KEY TYPE [LABEL]: SQL each; LABEL may speak of the events row e
put() {
	printf '%s\n' "INSERT INTO events (stream_id, stream_sequence,
	    event_type, event_data) SELECT $1, COALESCE(MAX(stream_sequence),
	    0) + 1, $2, CONCAT('x', COUNT(*)) FROM events WHERE stream_id = $1;
	INSERT INTO outbox (global_sequence, partition_key)
	    SELECT sequence, ${3:-CONCAT('p0', CRC32(stream_id) % 4)}
	    FROM events WHERE sequence = LAST_INSERT_ID();"
}
# All of one session, so that a failure is seen.
load() { "$SANDBOX" sql "$DIR/db" app; }
dead() { sql 'SELECT COUNT(*) FROM outbox_dead_letters'; }
is_pending() { [ "$(pending)" = "$1" ]; }

# app_tables KEYTYPE: events as somebody else has them, outbox tables of today
# or, with OLD, as narrow as they were once
# Its events have the numbers from B + 1 on: message ids must not come again.
B=0
app_tables() {
	B=$((B + 1000))
	sql 'DROP TABLE IF EXISTS events; DELETE FROM outbox;
	    DELETE FROM outbox_dead_letters; DELETE FROM outbox_blocked_keys;
	    DELETE FROM outbox_partitions'
	sql "CREATE TABLE events (
	    sequence BIGINT UNSIGNED NOT NULL AUTO_INCREMENT PRIMARY KEY,
	    stream_id $1 NOT NULL, stream_sequence BIGINT UNSIGNED NOT NULL,
	    correlation_id VARBINARY(64) NULL,
	    event_type ${2:-VARCHAR(1000) COLLATE utf8mb4_bin} NOT NULL,
	    event_version INT UNSIGNED NOT NULL DEFAULT 1,
	    metadata JSON NULL, event_data LONGBLOB NOT NULL,
	    occurred_at TIMESTAMP(6) NOT NULL DEFAULT CURRENT_TIMESTAMP(6),
	    KEY (stream_id(16), stream_sequence))
	    ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 AUTO_INCREMENT=$((B + 1))"
	sql "GRANT SELECT ON events TO 'outbox'@'localhost'"
	"$LAB" purge --nats "$URL" --stream EVENTS
}
narrow() {
	sql 'DELETE FROM outbox_dead_letters; DELETE FROM outbox_blocked_keys;
	    ALTER TABLE outbox_dead_letters
	    MODIFY order_key VARCHAR(255) COLLATE utf8mb4_bin NULL,
	    MODIFY event_type VARCHAR(255) COLLATE utf8mb4_bin NULL;
	    ALTER TABLE outbox_blocked_keys
	    MODIFY order_key VARCHAR(1000) COLLATE utf8mb4_bin NULL'
}

POISON="'never a subject'"
LONG="CONCAT(REPEAT('long ', 199), 'x')"		# 996 characters

start_servers
WORKERS=2 PARTITIONS=4 IDLE=50 MAX_ATTEMPTS=3 write_conf

# feed KEY...: of each three good ones, two that die, three good ones
feed() {
	local k i
	for k; do
		for i in 1 2 3; do put "$k" "'ok'"; done
		put "$k" "$POISON"
		put "$k" "$LONG"
		for i in 1 2 3; do put "$k" "'ok'"; done
	done | load
}

# story NAME KEYS...: they all arrive, and the poison is on record
story() {
	local name=$1 n=$(($# - 1)) left
	shift
	feed "$@"
	start_master
	drains 30 "$name: all but the poison are delivered"
	is "$(pending)" 0 "$name: none waits"
	is "$(dead)" $((2 * n)) "$name: the poison is on record"
	is "$(sql "SELECT COUNT(DISTINCT CAST(stream_id AS BINARY))
	    FROM outbox_dead_letters JOIN events
	    ON sequence = global_sequence")" "$n" "$name: of each key"
	left=$(grep -c 'tried again\|no database' "$LOG")
	is "$left" 0 "$name: no statement failed"
	stop_master "$MASTER"
	start_master
	put "$1" "'ok'" | load
	wait_for 20 is_drained
	is "$(dead)" $((2 * n)) "$name: a restart changes nothing"
	stop_master "$MASTER"
	check_stream "$name: complete, in order, nothing twice" \
	    --expect-dead $((2 * n))
	: > "$LOG"
}

BINARY16=("X'00000000000000000000000000000000'"
    "X'000102030405060708090A0B0C0D0E0F'" "X'FFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFF'"
    "X'F09F9087C328610D0A00202020202020'" "X'2A2E3E202A2E3E202A2E3E202A2E3E20'"
    "'order-1234567890'")
VARBINARY=("X'00'" "X'0000'" "'a'" "'a '" "X'610D0A62'" "X'FF'" "X'FFFE2700'"
    "X'C328'" "X'EDA080'" "X'F09F9087'" "''" "'x''y\\\\\\\\z'" "X'7F'"
    "REPEAT(X'FF', 1000)")
TEXT=("REPEAT('k', 1000)" "REPEAT(CONVERT(X'F09F9087' USING utf8mb4), 1000)"
    "''" "'a'" "'A'" "'a '" "'a\\0b'" "CONVERT(X'F09F9087' USING utf8mb4)"
    "'0x00'")

app_tables 'BINARY(16)'
story 'BINARY(16)' "${BINARY16[@]}"
app_tables 'VARBINARY(1000)'
story 'VARBINARY' "${VARBINARY[@]}"
app_tables 'VARCHAR(1000) COLLATE utf8mb4_bin'
story 'text' "${TEXT[@]}"
narrow
app_tables 'VARBINARY(1000)' 'VARBINARY(1000)'
story 'VARBINARY on narrow tables' "${VARBINARY[@]}"
app_tables 'VARCHAR(1000) COLLATE utf8mb4_bin'
story 'text on narrow tables' "${TEXT[@]}"
like "$(sql 'SELECT MAX(event_type) FROM outbox_dead_letters
    WHERE event_type LIKE "long%"')" '^long .*\.\.\.$' 'what is cut has a mark'

# A halted binary key, and outboxctl; still on the narrow tables.
sed 's/^retry: {/&on_dead: halt, /' "$CONF" > "$DIR/halt" && mv "$DIR/halt" "$CONF"
app_tables 'BINARY(16)'
K="X'00FF0102030405060708090A0B0C0D0E'"
{ put "$K" "'ok'"; put "$K" "$POISON"; put "$K" "'ok'"; put "$K" "'ok'"
  put "X'FF'" "'ok'"; } | load
start_master
wait_for 20 is_pending 2
ok $? 'halt: what is behind the dead one waits'
wait_for 10 is_sql 'SELECT COUNT(*) FROM outbox_blocked_keys' 1
stop_master "$MASTER"
start_fleet
put "X'FE'" "'ok'" | load
wait_for 10 is_pending 2
ok $? 'halt: it lasts over a restart'
hex=0x00ff0102030405060708090a0b0c0d0e
like "$(ctl keys blocked)" "$hex *halted" 'keys blocked shows the key as hex'
like "$(ctl keys blocked --json)" "\"key\":\"$hex\"" 'and as JSON'
# A new owner claims the rows once before it knows that their key is halted, and
# gives them back; until then they are not in the state that the list shows.
lists_two() { [ "$(ctl messages list --key "$hex" --json |
    grep -o '"sequence"' | wc -l)" = 2 ]; }
wait_for 10 lists_two
ok $? 'messages list finds the key'
like "$(ctl dead list)" "$hex" 'dead list shows it'
like "$(ctl dead list --key "$hex")" "$hex" 'and finds it'
like "$(ctl messages show $((B + 3)))" "$hex" 'messages show shows it'
like "$(ctl messages show $((B + 3)))" "halted by message $((B + 2))" 'and that it is halted'
like "$(ctl keys release "$hex" --yes)" '1 key' 'keys release finds it'
drains 20 'and it goes on'
sql "UPDATE events SET event_type = 'ok' WHERE sequence = $((B + 2))"
like "$(ctl dead retry $((B + 2)) --yes)" '1 dead letter' 'the dead one is put back'
drains 20 'and delivered'
stop_master "$MASTER"
sed -i 's/on_dead: halt, //' "$CONF"
: > "$LOG"

# A row that the database never lets be buried, one that it does not let be
# claimed, and one whose write-back it refuses.
app_tables 'VARBINARY(1000)'
{ for i in 1 2 3 4 5 6 7 8; do
	put "'k$i'" "'ok'"; put "'k$i'" "$POISON"; put "'k$i'" "'ok'"
done; } | load
"$SANDBOX" sql "$DIR/db" app <<-SQL
	DELIMITER //
	CREATE TRIGGER unburied BEFORE INSERT ON outbox_dead_letters FOR EACH ROW
	IF NEW.global_sequence = $((B + 5)) THEN
	    SIGNAL SQLSTATE '23000' SET MESSAGE_TEXT = 'not this one'; END IF//
	CREATE TRIGGER unclaimed BEFORE UPDATE ON outbox FOR EACH ROW
	IF NEW.global_sequence = $((B + 10)) AND NEW.claim_token IS NOT NULL THEN
	    SIGNAL SQLSTATE '23000' SET MESSAGE_TEXT = 'no claim';
	ELSEIF NEW.global_sequence = $((B + 16)) AND NEW.published_at IS NOT NULL
	THEN SIGNAL SQLSTATE '23000' SET MESSAGE_TEXT = 'no mark'; END IF//
SQL
start_master
settled() { is_sql "SELECT COUNT(*) FROM outbox WHERE published_at IS NULL
    AND global_sequence - $B NOT IN (5, 6, 10, 11, 12, 16, 17, 18)" 0; }
wait_for 30 settled
ok $? 'one that cannot be buried stops no other'
wait_for 10 is_sql 'SELECT COUNT(*) FROM outbox_dead_letters' 6
is "$(dead)" 6 'the others are buried'
is "$(sql "SELECT COUNT(*) FROM outbox WHERE published_at IS NULL
    AND global_sequence - $B IN (5, 10, 16)")" 3 'the three wait'
is "$(sql "SELECT attempts FROM outbox WHERE global_sequence = $((B + 5))")" 0 \
    'its attempts are as they were'
like "$(sql "SELECT last_error FROM outbox
    WHERE global_sequence = $((B + 5))")" \
    'cannot be moved to the dead letters.*not this one' 'the row says why'
for what in "$((B + 5)) cannot be moved to the dead letters" \
    "$((B + 10)) cannot be claimed" "$((B + 16)) cannot be marked"; do
	n=$(grep -c "error.*sequence $what" "$LOG")
	[ "$n" -ge 1 ] && [ "$n" -le 2 ]
	ok $? "said once by a worker: ${what#* }"
done
put "'k9'" "'ok'" | load
wait_for 10 settled
ok $? 'and others go on'
is "$(grep -c 'database: works again' "$LOG")" 0 'without another connection'
stop_master "$MASTER"
sql 'DROP TRIGGER unburied; DROP TRIGGER unclaimed'
if ! is_short; then
	start_master
	drains 45 'without the triggers the rest goes'
	is "$(dead)" 8 'and the poison is on record'
	stop_master "$MASTER"
fi
: > "$LOG"

# Labels of the application's own.
app_tables 'VARBINARY(1000)'
{ put "'l1'" "'ok'" "'!'"; put "'l2'" "'ok'" "'!x'"; put "'l3'" "'ok'" "'!998'"
  put "'l4'" "'ok'" "CONCAT('a', CHAR(0), 'b')"; put "'l5'" "'ok'" "'!12x'"
  put "'l6'" "'ok'" "'!012'"; put "'l7'" "'ok'" "'it''s \\\\ '"
  put "'l8'" "'ok'" "CONVERT(X'F09F9087' USING utf8mb4)"
  put "'l4'" "'ok'" "CONCAT('a', CHAR(0), 'b')"; } | load
# And one like those of rows that are parked behind a halted key.
sql "INSERT INTO outbox_blocked_keys (first_sequence, partition_key, order_key,
    reason, head_sequence) VALUES (9999, 'p00', 'halted', 'halted', 9999)"
{ put "'halted'" "'ok'" "'!9999'"; put "'l9'" "'ok'" "'!9999'"; } | load
start_master
within 30 'labels: those that can have a lease are served' is_pending 9
strays() { "$OUTBOXCTL" -c "$CONF" --json status | jq -r ".strays$1"; }
is "$(strays .labels)" 6 'labels: status counts the others'
like "$(cat "$LOG")" 'warn .*under labels that no worker can lease' \
    'labels: and the log tells them'
sql "$(strays .sql)"
within 20 'labels: with the statement of status they are served' is_pending 2
is "$(sql "SELECT GROUP_CONCAT(stream_id ORDER BY stream_id) FROM outbox
    JOIN events ON sequence = global_sequence WHERE published_at IS NULL")" \
    halted,l9 'labels: what is parked stays'
is "$(sql "SELECT COUNT(*) FROM outbox_partitions
    WHERE partition_key LIKE '!%'")" 0 'labels: none of ours has a lease'
put "'l4'" "'ok'" "CONCAT('a', CHAR(0), 'b')" | load
timeout 20 "$OUTBOXCTL" -c "$CONF" messages list --limit 50 > "$DIR/list"
ok $? 'labels: messages list ends'
sql "$(strays .sql)"
within 20 'labels: a later one, too' is_pending 2
sql "DELETE FROM outbox WHERE published_at IS NULL;
    DELETE FROM events WHERE stream_id IN ('halted', 'l9')"
stop_master "$MASTER"
check_stream 'labels: complete, in order, nothing twice'
done_testing
