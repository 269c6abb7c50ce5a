#!/usr/bin/env bash
# outboxctl enqueue: events from lines of JSON, with the procedure and without
. "${srcdir:-$(dirname "$0")/../..}/tests/lib/ctl.sh"

start_with_operator

# enqueue: the lines on standard input
enqueue() {
	cat > "$DIR/lines"
	ctl -c "$OP" enqueue "$DIR/lines"
}

columns="stream_id, stream_sequence, event_type, event_version, correlation_id,
    CAST(JSON_EXTRACT(metadata, '$.a') AS CHAR), HEX(event_data), partition_key"
events() { sql "SELECT CONCAT_WS('|', $columns) FROM events JOIN outbox
    ON global_sequence = sequence WHERE $1 ORDER BY sequence"; }
no_orphans() { is_sql 'SELECT COUNT(*) FROM events LEFT JOIN outbox
    ON global_sequence = sequence WHERE global_sequence IS NULL' 0; }
hex() { printf %s "$1" | od -An -vtx1 | tr -d ' \n' | tr a-f A-F; }

check_values() {
	sql 'DELETE FROM outbox; DELETE FROM events'
	enqueue <<-'X'
	{"key": "order-1", "type": "order.paid", "payload": {"sum": 19.99, "id": 12345678901234567890}, "metadata": {"a": 1}, "version": 2, "correlation_id": "c-7"}

	{"stream_id": "Grüße", "type": "t", "payload": "it's \\ \"text\"", "stream_sequence": 7}
	{"key": "order-1", "type": "t", "payload_base64": "AP/+Jw=="}
	{"key": "order 42", "type": "t", "payload": [1,{"payload": "}"}], "metadata": null}
	X
	is "$RC $OUT" '0 Enqueued 4 events.' "$1: four lines make four events"
	is "$(events "stream_id = 'order-1' AND stream_sequence = 1")" \
	    "order-1|1|order.paid|2|c-7|1|$(hex '{"sum": 19.99, "id": 12345678901234567890}')|p15" \
	    "$1: all columns, and a JSON payload byte by byte"
	is "$(events "stream_id = 'Grüße'")" \
	    "Grüße|7|t|1|$(hex "it's \\ \"text\"")|p01" \
	    "$1: a string payload"
	is "$(events "stream_id = 'order-1' AND stream_sequence = 2")" \
	    'order-1|2|t|1|00FFFE27|p15' "$1: payload_base64 is decoded"
	is "$(events "stream_id = 'order 42'")" \
	    "order 42|1|t|1|$(hex '[1,{"payload": "}"}]')|p13" \
	    "$1: an array"
	check "$1: each event has its outbox row" no_orphans
}

check_refused() {
	sql 'DELETE FROM outbox; DELETE FROM events'
	enqueue <<-'X'
	{"key": "a", "type": "t", "payload": 1, "stream_sequence": 1}
	{"key": "b", "type": "t", "payload": 2}
	{"key": "a", "type": "t", "payload": 3, "stream_sequence": 1}
	{"key": "c", "type": "t", "payload": 4}
	X
	is "$RC" 1 "$1: the first error of the database ends the command"
	like "$ERR" '^outboxctl: line 3: enqueue: Duplicate entry' \
	    "$1: the error names the line"
	like "$ERR" '^outboxctl: lines 1 to 2 are enqueued$' \
	    "$1: the message says which lines are enqueued"
	is "$(events 1 | cut -d'|' -f1 | xargs)" 'a b' \
	    "$1: only these are enqueued"
	ctl -c "$OP" enqueue --skip-bad --json "$DIR/lines"
	is "$RC $(field '[.changed, .skipped, .last_line]')" \
	    '0 [2,2,4]' "$1: --skip-bad skips bad lines and counts them"
	is "$(events 1 | cut -d'|' -f1,2 | xargs)" 'a|1 b|1 b|2 c|1' \
	    "$1: --skip-bad enqueues the other lines"
	check "$1: no event is without its outbox row" no_orphans
}

check_values procedure
check_refused procedure
sql 'DROP PROCEDURE outbox_enqueue'
check_values inserts
check_refused inserts
sql 'UPDATE outbox_settings SET partition_count = NULL'
enqueue <<< '{"key": "none", "type": "t", "payload": 1}'
rows_are 1 "outbox WHERE partition_key IS NULL" \
    'without a partition count the row has no label'
sql 'UPDATE outbox_settings SET partition_count = 16'

#
# Bad lines
#
sql 'DELETE FROM outbox; DELETE FROM events'
while IFS=' ' read -r text line; do
	enqueue < <(printf '%s\n' '{"key":"k","type":"t","payload":1}' "$line")
	is "$RC" 1 "bad line $line: exit status 1"
	like "$ERR" "^outboxctl: line 2: .*${text//_/ }" \
	    "bad line $line: the error has the number and the reason"
done <<'EOF2'
not_JSON {"key":"k",
not_JSON {"key":"k","key":"k","type":"t","payload":1}
not_a_JSON_object [1]
"key"_is_missing {"type":"t","payload":1}
"type"_is_missing {"key":"k","payload":1}
"payload"_is_missing {"key":"k","type":"t"}
"key"_is_empty_or_not_a_text {"key":7,"type":"t","payload":1}
"key"_is_empty_or_not_a_text {"key":"","type":"t","payload":1}
NUL {"key":"a\u0000b","type":"t","payload":1}
mean_the_same {"key":"k","stream_id":"k","type":"t","payload":1}
not_a_whole_number_from_1 {"key":"k","type":"t","payload":1,"version":0}
not_a_whole_number_from_1 {"key":"k","type":"t","payload":1,"stream_sequence":1.5}
not_base64 {"key":"k","type":"t","payload_base64":"A"}
not_base64 {"key":"k","type":"t","payload_base64":"A?=="}
not_both {"key":"k","type":"t","payload_base64":"","payload":1}
not_a_member_of_an_event {"key":"k","type":"t","payload":1,"tpye":1}
without_escapes {"key":"k","type":"t","pay\u006coad":1}
EOF2
for value in '1\0' '[1\0]' '1.5\0' '[1.5\0 ]' '\0' '"a\0"'; do
	printf '{"key":"k","type":"t","payload":'"$value"'}\n' |
	    timeout 10 "$OUTBOXCTL" -c "$OP" enqueue 2> "$DIR/ctl.err" \
	    > "$DIR/ctl.out"
	is "$? $(grep -c 'not JSON: it has a NUL' "$DIR/ctl.err")" '1 1' \
	    "a NUL byte in the payload $value is an error"
done
rows_are 17 events 'the lines before the bad ones are enqueued'

#
# Batches
#
for n in {1..25}; do
	echo "{\"key\":\"batch-$((n % 3))\",\"type\":\"t\",\"payload\":$n}"
done > "$DIR/many"
sed '21s/type/typ/' "$DIR/many" > "$DIR/holed"
before=$(tables)
ctl -c "$OP" enqueue --dry-run "$DIR/many"
is "$RC $OUT" '0 Would enqueue 25 events.' '--dry-run: the number of events'
ctl -c "$OP" enqueue --dry-run --json "$DIR/holed"
is "$RC $(field .changed)" '1 20' '--dry-run: a bad line ends it with status 1'
like "$ERR" '^outboxctl: lines 1 to 20 are valid$' \
    '--dry-run: the message says which lines are good'
is "$(tables)" "$before" '--dry-run changes no table'
sql 'DELETE FROM outbox; DELETE FROM events; DELETE FROM outbox_audit'
n=$(server_status Com_commit)
"$OUTBOXCTL" -c "$OP" enqueue --batch 10 < "$DIR/holed" > "$DIR/ctl.out" \
    2> "$DIR/ctl.err"
is $? 1 'a bad line on standard input: exit status 1'
is "$(($(server_status Com_commit) - n))" 2 '--batch 10: a commit for 10 lines'
rows_are 20 events '--batch 10: the lines before the bad one are enqueued'
is "$(sql "SELECT CONCAT_WS('|', login, command, arguments, changed)
    FROM outbox_audit")" 'operator@localhost|enqueue|--batch 10|20' \
    '--batch 10: one row in the audit, with the number of lines'
is "$(sql "SELECT GROUP_CONCAT(stream_sequence ORDER BY sequence) FROM events
    WHERE stream_id = 'batch-0'")" 1,2,3,4,5,6 \
    'the events of each stream are numbered without gaps'

#
# Several that number the same stream
#
yes '{"key": "one", "type": "t", "payload": 1}' | head -n 300 > "$DIR/same"
for i in 1 2 3; do
	"$OUTBOXCTL" -c "$OP" enqueue --batch 10 "$DIR/same" > "$DIR/$i.out" \
	    2>&1 &
	pids[i]=$!
done
for i in 1 2 3; do
	wait "${pids[i]}"
	is "$? $(cat "$DIR/$i.out")" '0 Enqueued 300 events.' \
	    "enqueue $i of three at once: all its events are enqueued"
done
is "$(sql "SELECT CONCAT_WS(' ', COUNT(*), MIN(stream_sequence),
    MAX(stream_sequence)) FROM events WHERE stream_id = 'one'")" '900 1 900' \
    'three at once: each event has a number of its own'
check 'three at once: each event has its outbox row' no_orphans

#
# Missing files, rights, settings and servers
#
fails 1 'none: No such file' 'a file that does not exist' \
    -c "$OP" enqueue "$DIR/none"
misused enqueue '--batch 0' '--batch x' '--yes' '--limit 3' 'a b'
before=$(tables)
ctl enqueue --skip-bad "$DIR/many"
is "$RC" 1 "enqueue as the daemon's account: exit status 1"
like "$ERR" '^outboxctl: enqueue: .*denied.*outbox.*: sql/operator.sql grants it' \
    "enqueue as the daemon's account: the error names the file of grants"
like "$ERR" 'nothing was enqueued' \
    "enqueue as the daemon's account: nothing was enqueued, it says"
is "$(tables)" "$before" "enqueue as the daemon's account changes no table"
sql 'CREATE PROCEDURE outbox_enqueue() BEGIN END'
hide_tables
enqueue <<< '{"key": "order-1", "type": "t", "payload": 1}'
like "$ERR" 'outbox_audit: no such table' 'no audit table: a warning says so'
is "$RC $(sql 'SELECT partition_key FROM outbox ORDER BY global_sequence DESC
    LIMIT 1')" '0 p15' 'no settings table: the count of the file'
without_server "-c $OP enqueue $DIR/many"
done_testing
