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
	is "$RC $OUT" '0 Enqueued 4 event(s).' "$1: lines become events"
	is "$(events "stream_id = 'order-1' AND stream_sequence = 1")" \
	    "order-1|1|order.paid|2|c-7|1|$(hex '{"sum": 19.99, "id": 12345678901234567890}')|p15" \
	    "$1: with all that was given, and the payload as it stood there"
	is "$(events "stream_id = 'Grüße'")" \
	    "Grüße|7|t|1|$(hex "it's \\ \"text\"")|p01" "$1: a text is its bytes"
	is "$(events "stream_id = 'order-1' AND stream_sequence = 2")" \
	    'order-1|2|t|1|00FFFE27|p15' "$1: base64 is what it stands for"
	is "$(events "stream_id = 'order 42'")" \
	    "order 42|1|t|1|$(hex '[1,{"payload": "}"}]')|p13" "$1: a list"
	no_orphans
	ok $? "$1: each has its outbox row"
}

check_refused() {
	sql 'DELETE FROM outbox; DELETE FROM events'
	enqueue <<-'X'
	{"key": "a", "type": "t", "payload": 1, "stream_sequence": 1}
	{"key": "b", "type": "t", "payload": 2}
	{"key": "a", "type": "t", "payload": 3, "stream_sequence": 1}
	{"key": "c", "type": "t", "payload": 4}
	X
	is "$RC" 1 "$1: what the database refuses ends it"
	like "$ERR" '^outboxctl: line 3: enqueue: Duplicate entry' \
	    "$1: its line is named"
	like "$ERR" '^outboxctl: lines 1 to 2 are enqueued$' "$1: and what was done"
	is "$(events 1 | cut -d'|' -f1 | xargs)" 'a b' "$1: which is true"
	ctl -c "$OP" enqueue --skip-bad --json "$DIR/lines"
	is "$RC $(field '[.changed, .skipped, .last_line] | tostring')" \
	    '0 [2,2,4]' "$1: --skip-bad goes on and counts"
	is "$(events 1 | cut -d'|' -f1,2 | xargs)" 'a|1 b|1 b|2 c|1' \
	    "$1: with the others"
	no_orphans
	ok $? "$1: and no event without its row"
}

check_values procedure
check_refused procedure
sql 'RENAME TABLE outbox_audit TO audit_hidden'
sql 'DROP PROCEDURE outbox_enqueue'
check_values inserts
check_refused inserts
like "$ERR" 'outbox_audit: no such table' 'without an audit table it is said'
sql 'RENAME TABLE audit_hidden TO outbox_audit'
sql 'UPDATE outbox_settings SET partition_count = NULL'
enqueue <<< '{"key": "none", "type": "t", "payload": 1}'
is "$(sql "SELECT COUNT(*) FROM outbox WHERE partition_key IS NULL")" 1 \
    'without a count there is no label'
sql 'UPDATE outbox_settings SET partition_count = 16'

#
# Bad lines
#
sql 'DELETE FROM outbox; DELETE FROM events'
while IFS=' ' read -r text line; do
	enqueue < <(printf '%s\n' '{"key":"k","type":"t","payload":1}' "$line")
	is "$RC" 1 "bad: $line"
	like "$ERR" "^outboxctl: line 2: .*${text//_/ }" 'is told with its line'
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
is "$(sql 'SELECT COUNT(*) FROM events')" 17 'the lines before were enqueued'

#
# Batches
#
for n in {1..25}; do
	echo "{\"key\":\"batch-$((n % 3))\",\"type\":\"t\",\"payload\":$n}"
done > "$DIR/many"
sed '21s/type/typ/' "$DIR/many" > "$DIR/holed"
before=$(tables)
ctl -c "$OP" enqueue --dry-run "$DIR/many"
is "$RC $OUT" '0 Would enqueue 25 event(s).' 'a dry run counts'
ctl -c "$OP" enqueue --dry-run --json "$DIR/holed"
is "$RC $(field .changed)" '1 20' 'and finds bad lines'
like "$ERR" '^outboxctl: lines 1 to 20 are valid$' 'and says where'
is "$(tables)" "$before" 'and changes nothing'
sql 'DELETE FROM outbox; DELETE FROM events; DELETE FROM outbox_audit'
n=$(server_status Com_commit)
"$OUTBOXCTL" -c "$OP" enqueue --batch 10 < "$DIR/holed" > "$DIR/ctl.out" \
    2> "$DIR/ctl.err"
is $? 1 'standard input'
is "$(($(server_status Com_commit) - n))" 2 'is committed in batches'
is "$(sql 'SELECT COUNT(*) FROM events')" 20 'up to the bad line'
is "$(sql "SELECT CONCAT_WS('|', login, command, arguments, changed)
    FROM outbox_audit")" 'operator@localhost|enqueue|--batch 10|20' \
    'and stands in the audit'
is "$(sql "SELECT GROUP_CONCAT(stream_sequence ORDER BY sequence) FROM events
    WHERE stream_id = 'batch-0'")" 1,2,3,4,5,6 'each stream is numbered'

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
	is "$? $(cat "$DIR/$i.out")" '0 Enqueued 300 event(s).' \
	    "number $i of three beside each other"
done
is "$(sql "SELECT CONCAT_WS(' ', COUNT(*), MIN(stream_sequence),
    MAX(stream_sequence)) FROM events WHERE stream_id = 'one'")" '900 1 900' \
    'each event has its own number'
no_orphans
ok $? 'and its row'

#
# What is not as it should be
#
ctl -c "$OP" enqueue "$DIR/none"
is "$RC" 1 'no such file'
like "$ERR" 'none: No such file' 'is told'
for wrong in '--batch 0' '--batch x' '--yes' '--limit 3' 'a b'; do
	# shellcheck disable=SC2086
	ctl -c "$OP" enqueue $wrong
	is "$RC" 2 "enqueue $wrong: wrong use"
done
before=$(tables)
ctl enqueue --skip-bad "$DIR/many"
is "$RC" 1 'the daemon may not write events'
like "$ERR" '^outboxctl: enqueue: .*denied.*outbox.*: sql/operator.sql grants it' \
    'which ends it at once'
like "$ERR" 'nothing was enqueued' 'with nothing done'
is "$(tables)" "$before" 'which is true'
sql 'DROP TABLE outbox_settings; CREATE PROCEDURE outbox_enqueue() BEGIN END'
enqueue <<< '{"key": "order-1", "type": "t", "payload": 1}'
is "$RC $(sql 'SELECT partition_key FROM outbox ORDER BY global_sequence DESC
    LIMIT 1')" '0 p15' 'without settings the configuration has the count'
"$SANDBOX" stop "$DIR/db" >/dev/null
ctl -c "$OP" enqueue "$DIR/many"
is "$RC" 69 'the server is away'
done_testing
