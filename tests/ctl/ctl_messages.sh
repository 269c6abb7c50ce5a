#!/usr/bin/env bash
# outboxctl messages: list, show, retry and discard
. "${srcdir:-$(dirname "$0")/../..}/tests/lib/ctl.sh"

# events KEY FROM COUNT TYPE: key and type may be expressions of n
events() {
	sql "INSERT INTO events (stream_id, stream_sequence, event_type,
	    event_data, occurred_at)
	    SELECT $1, $2 + n, $4, 'x', '2026-01-01' + INTERVAL n SECOND
	    FROM $(numbers "$3") ORDER BY n"
}

of_sql() { sql "SELECT $1" | tr '\n' ' ' | sed 's/ $//'; }

start_servers
PARTITIONS=4 write_conf
sql "INSERT INTO outbox_partitions (partition_key) VALUES
    ('p00'), ('p01'), ('p02'), ('p03')"

ctl messages list
is "$RC$OUT$ERR" 0 'messages list of an empty outbox prints nothing'
ctl --json messages list
is "$OUT" '{"rows":[],"looked_at":0,"next":null}' \
    'messages list --json of an empty outbox: no row'
for state in delivering delivered dead; do
	ctl --json messages list --state "$state"
	shows '.rows | length' 0 "an empty outbox: no row with --state $state"
done
ctl --json messages list --key nobody
is "$RC $(field '.rows | length')" '0 0' \
    'messages list --key of an empty outbox: exit status 0, no row'

#
# Many rows: two thirds are delivered, the others wait.
#
MANY=300000
! is_short || MANY=36000
SENT=$((MANY * 2 / 3))
events "CONCAT('k', n % 1000)" 0 $MANY "IF(n % 1000 = 7, 'rare.made', 'ok')"
sql "INSERT INTO outbox (global_sequence, partition_key, published_at,
    ack_sequence)
    SELECT sequence, CONCAT('p0', CRC32(stream_id) % 4),
	IF(stream_sequence < $SENT, '2026-02-01' + INTERVAL
	    stream_sequence DIV 1500 SECOND, NULL),
	IF(stream_sequence < $SENT, sequence, NULL) FROM events"
# Strays, rows without a label, an empty one, and parked ones.
sql "SET @first = (SELECT MIN(global_sequence) FROM outbox
	WHERE published_at IS NULL);
    UPDATE outbox SET partition_key = CASE global_sequence % 5 WHEN 0 THEN NULL
	WHEN 1 THEN '' WHEN 2 THEN 'stray' ELSE CONCAT('!', @first) END
	WHERE published_at IS NULL AND global_sequence < @first + 50;
    INSERT INTO outbox_blocked_keys (first_sequence, partition_key, order_key,
	reason, head_sequence) VALUES (@first, 'p03', 'k0', 'failed', @first)"

WAITING='global_sequence AS s FROM outbox WHERE published_at IS NULL'
ctl --json messages list
is "$(sequences)" "$(of_sql "$WAITING ORDER BY s LIMIT 100")" \
    'messages list: the first 100 that wait, in order, of all labels'
shows '.rows[0] | [.state, .partition, .key, .parked]' \
    "$(sql "SELECT CONCAT('[\"pending\",', IF(partition_key LIKE '!%',
    '\"p03\"', COALESCE(CONCAT('\"', partition_key, '\"'), 'null')), ',\"k0\",',
    IF(partition_key LIKE '!%', 'true', 'false'), ']')
    FROM outbox WHERE published_at IS NULL ORDER BY global_sequence LIMIT 1")" \
    'messages list: a parked row has the partition of its record'
ctl --json messages list --limit 30
shows .next "$(field '.rows[29].sequence')" 'list --limit: next is the last one'
ctl --json messages list --limit 30 --after "$(field .next)"
is "$(sequences)" "$(of_sql "$WAITING ORDER BY s LIMIT 30, 30")" \
    'messages list --after: the next rows'
ctl messages list --limit 3
is "$(grep -c . <<< "$OUT")" 4 \
    'messages list --limit 3: heading and three lines'
like "$ERR" '^outboxctl: there may be more; to continue: --after [0-9]+$' \
    'messages list: the message says how to go on'
is "$(tail -n 1 <<< "$OUT" | cut -d' ' -f1)" "${ERR##* }" \
    'messages list: --after is the sequence of the last line'

ctl --json messages list --partition p03 --limit 60
is "$(sequences)" "$(of_sql "$WAITING AND partition_key IN ('p03',
    CONCAT('!', (SELECT first_sequence FROM outbox_blocked_keys)))
    ORDER BY s LIMIT 60")" \
    '--partition: its rows and its parked ones'
ctl --json messages list --partition ''
is "$(sequences)" "$(of_sql "$WAITING AND COALESCE(partition_key, '') = ''
    ORDER BY s")" "--partition '': rows without a label"
shows .next null "--partition '': next is null behind the last row"

DELIVERED='global_sequence AS s FROM outbox WHERE published_at IS NOT NULL
    ORDER BY published_at DESC, partition_key DESC, s DESC'
ctl --json messages list --state delivered --limit 40
is "$(sequences)" "$(of_sql "$DELIVERED LIMIT 40")" \
    'delivered: the latest first'
all=$(sequences)
# On over the borders of a label and of a second.
for _ in 1 2 3 4 5; do
	ctl --json messages list --state delivered --limit 400 \
	    --after "$(field .next)"
	all+=" $(sequences)"
done
is "$(printf %s "$all" | md5sum)" "$(of_sql "$DELIVERED LIMIT 2040" | md5sum)" \
    '--state delivered --after: all pages, in order'
# Labels with a NUL in them, a page each.
sql "UPDATE outbox SET partition_key = CONCAT('a', CHAR(0), IF(global_sequence
    % 2 = 0, 'b', 'c')), published_at = '2026-03-01' WHERE published_at IS NOT
    NULL ORDER BY global_sequence LIMIT 6"
ctl --json messages list --state delivered --limit 1
all=$(sequences)
for _ in 1 2 3 4 5 6 7; do
	ctl --json messages list --state delivered --limit 1 \
	    --after "$(field .next)"
	all+=" $(sequences)"
done
is "$all" "$(of_sql "$DELIVERED LIMIT 8")" \
    '--state delivered: labels with a NUL, page by page'
fails 1 '--after' '--state delivered --after an unknown sequence' \
    messages list --state delivered --after 999999999
ctl --json messages list --state delivered --until 2026-02-01T00:00:01Z \
    --since 2026-02-01 --limit 5
shows '[(.rows | length), .looked_at]' '[5,6]' \
    '--since, --until: no row outside these times is read'
ctl --json messages list --key k12
is "$(sequences)" "$(of_sql "global_sequence AS s FROM outbox JOIN events
    ON sequence = global_sequence WHERE stream_id = 'k12'
    AND published_at IS NULL ORDER BY stream_sequence DESC")" \
    '--key: all that wait, the latest first'
ctl --json messages list --key k12 --state delivered --limit 7
is "$(sequences)" "$(of_sql "global_sequence AS s FROM outbox JOIN events
    ON sequence = global_sequence WHERE stream_id = 'k12'
    AND published_at IS NOT NULL ORDER BY stream_sequence DESC LIMIT 7")" \
    '--key --state delivered: the latest seven'
ctl --json messages list --type 'rare.*'
shows '.looked_at' 10000 '--type: at most 10000 rows are read'
shows '.rows | length' 10 '--type: those of them that match'
ctl messages list --type 'rare.*'
like "$ERR" '^outboxctl: 10,000 rows were searched, there may be more; to continue: --after [0-9]+$' \
    '--type: the message says how to go on'
n=0 pages=0 next=0
while [ "$next" != null ] && [ "$pages" -lt 20 ]; do
	ctl --json messages list --type 'rare.*' --after "$next"
	next=$(field .next)
	n=$((n + $(field '.rows | length')))
	pages=$((pages + 1))
done
is "$n" $(((MANY - SENT) / 1000)) '--type: all pages together have each match once'
ctl --json messages list --type 'r_re.*'
shows '.rows | length' 0 '--type: only * is a wildcard'
# at SECONDS: the time of the event with this number
at() { date -u -d @$(($(date -u -d 2026-01-01 +%s) + $1)) +%FT%T; }
ctl --json messages list --since "$(at $((SENT + 9)))Z" \
    --until "$(at $((SENT + 11)))Z"
shows '[.rows[].occurred_at]' \
    "[\"$(at $((SENT + 9))).000000Z\",\"$(at $((SENT + 10))).000000Z\"]" \
    '--since, --until: by the time of the event'
sql "UPDATE outbox SET claim_token = 'abc-1', available_at = NOW(6) +
    INTERVAL 1 HOUR WHERE global_sequence = (SELECT $((SENT + 100)))"
ctl --json messages list --state delivering
is "$(sequences)" $((SENT + 100)) '--state delivering: the claimed row'
ctl --json messages list --after $((SENT + 98)) --limit 2
is "$(sequences)" "$((SENT + 99)) $((SENT + 101))" 'a claimed row is not in the pending list'

sql "UPDATE outbox SET partition_key = CONCAT('w', global_sequence % 1024)
    WHERE published_at IS NULL"
for after in 0 $((SENT + 500)); do
	ctl --json messages list --after "$after" --limit 3000
	is "$(sequences)" "$(of_sql "$WAITING AND claim_token IS NULL
	    AND global_sequence > $after ORDER BY s LIMIT 3000")" \
	    "1024 labels: all in order behind sequence $after"
done
# Labels that differ in case only, in a column that ignores case.
sql "ALTER TABLE outbox MODIFY partition_key VARCHAR(64)
	COLLATE utf8mb4_general_ci NULL;
    UPDATE outbox SET partition_key = IF(global_sequence % 100 > 0, 'zz',
	CONCAT(IF(global_sequence % 200 = 0, 'x', 'X'), global_sequence DIV 400))
    WHERE published_at IS NULL"
ctl --json messages list --limit 3000
is "$(sequences)" "$(of_sql "$WAITING AND claim_token IS NULL ORDER BY s
    LIMIT 3000")" 'labels that differ in case only: each row once, in order'
sql "ALTER TABLE outbox MODIFY partition_key VARCHAR(64)
    COLLATE utf8mb4_bin NULL"

#
# Without the index, as Pillar's tables are, and without our own tables.
#
sql 'DROP INDEX outbox_claim ON outbox'
hide_tables
ctl --json messages list
is "$RC $(field '[(.rows | length), .looked_at, .next]')" \
    '0 [0,10000,10000]' 'no index: 10000 rows are read, none of them waits'
ctl --json messages list --after $((SENT - 10)) --limit 5
shows '.rows | length' 5 'no index: --after goes on from there'
ctl --json messages show $((SENT + 5000))
shows .state pending 'no index: messages show has the state'
fails 1 '^outboxctl: outbox_dead_letters: no such table' \
    'messages discard without dead letters' messages discard $((SENT + 5000))
show_tables
sql 'CREATE INDEX outbox_claim ON outbox (published_at, partition_key,
    global_sequence)'

#
# One message
#
# The daemon compares keys as bytes, also in a column that ignores case.
sql "ALTER TABLE events MODIFY stream_id VARCHAR(255)
    COLLATE utf8mb4_unicode_ci NOT NULL"
ctl --json messages list --key K12
shows '.rows | length' 0 '--key compares bytes, whatever the collation'
fails 1 '^outboxctl: 99999999: no such message' \
    'messages show of an unknown sequence' messages show 99999999
shows '[.state, .waits_for, .ack_sequence]' '["delivered",null,1]' \
    'messages show: a delivered message' messages show 1
sql 'DELETE FROM outbox; DELETE FROM outbox_blocked_keys'
ctl --json messages show 1
shows .state missing 'messages show: an event without an outbox row is missing'
like "$(field .waits_for)" 'no row' 'messages show says that there is no row'
put_row a 1 ok "available_at = NOW(6) + INTERVAL 1 HOUR, attempts = 3,
    last_error = 'no answer'"
A=$SEQ
put_row a 2
B=$SEQ
ctl --json messages show "$A"
shows '[.state, .waits_for, .attempts, .error, .key, .payload_bytes]' \
    '["pending","its next attempt, at available_at",3,"no answer","a",7]' \
    'messages show: state, attempts and error of one that failed'
check 'messages show: the time until its next attempt' \
    [ "$(field .due_in_ms)" -gt 3500000 ]
ctl --json messages show "$B"
shows .waits_for "message $A, an earlier one of its key" \
    'messages show: it waits for an earlier message of its key'
sql "UPDATE outbox SET claim_token = '0123456789abcdef-7'
	WHERE global_sequence = $A;
    INSERT INTO outbox_workers (id, heartbeat_until)
	VALUES ('host:01:0123456789abcdef', NOW(6) + INTERVAL 1 HOUR)"
ctl --json messages show "$A"
shows '[.state, .waits_for, .claimed_by]' \
'["delivering","the answer of the broker to host:01:0123456789abcdef","host:01:0123456789abcdef"]' \
    'messages show: it is being delivered, and by which worker'
sql "INSERT INTO outbox_blocked_keys (first_sequence, partition_key, order_key,
    reason, head_sequence) VALUES (900017, 'p01', 'a', 'halted', 17)"
ctl --json messages show "$B"
shows '[.waits_for, .blocked, .blocked_by]' \
    '["its key, halted by message 17: see outboxctl keys blocked","halted",17]' \
    'messages show: its key is halted'
ctl messages retry "$B"
is "$RC $OUT" '0 1 message due now' 'messages retry under a halted key: done'
is "$ERR" 'outboxctl: key a stays halted by dead message 900017: "dead retry 900017" sends that first, "keys release a" goes on without it' \
    'messages retry: it says that the key stays halted, and what releases it'
ctl --json messages retry "$B"
shows '[.changed, .halted]' '[1,[{"by":900017,"key":"a"}]]' \
    'messages retry --json: the key that stays halted'
sql 'DELETE FROM outbox_blocked_keys; DELETE FROM outbox_workers'
put_row lonely 1
ctl --json messages show "$SEQ"
shows .waits_for 'a worker: none owns its partition' \
    'messages show: it waits for a worker to own its partition'
ctl partitions pause --all --yes
ctl --json messages show "$SEQ"
like "$(field .waits_for)" \
    '^its partition, which is paused: outboxctl partitions resume p0[0-3]$' \
    'messages show: its partition is paused'
shows '[.lease_owner, .lease_live]' '["paused",false]' \
    'messages show: a paused partition has no live lease'
sql "INSERT INTO outbox_partitions (partition_key, lease_owner, lease_until)
	VALUES ('--all; touch x', 'paused', '2037-12-31');
    UPDATE outbox SET partition_key = '--all; touch x'
	WHERE global_sequence = $SEQ"
ctl --json messages show "$SEQ"
like "$(field .waits_for)" "outboxctl partitions resume -- '--all; touch x'\$" \
    'messages show: a label that a producer chose is one word of the remedy'
ctl partitions resume --all
sql "DELETE FROM outbox_partitions WHERE partition_key = '--all; touch x';
    UPDATE outbox SET partition_key = 'p00' WHERE global_sequence = $SEQ"
ctl messages show "$SEQ"
like "$OUT" '^key +lonely$' 'messages show, no --json: a line for each value'
is "$(grep -c payload <<< "$OUT")" 1 \
    'messages show: the size of the payload only'

#
# Messages in doubt: an operator knows more than the daemon.
#
DOUBT="in_doubt_since = NOW(6) - INTERVAL 1 HOUR, available_at = NOW(6) +
    INTERVAL 1 HOUR, last_error = 'may be stored already'"
put_row x 1 ok "$DOUBT"
X=$SEQ
put_row x 2 ok "$DOUBT"
Y=$SEQ
put_row y 1 ok "claim_token = '0123456789abcdef-7-30000', available_at = NOW(6)"
Z=$SEQ
doubts() {
	sql "SELECT CONCAT_WS(' ', published_at IS NOT NULL, in_doubt_since IS
	    NOT NULL, claim_token IS NOT NULL, available_at <= NOW(6)) FROM
	    outbox WHERE global_sequence IN ($X, $Y, $Z) ORDER BY
	    global_sequence" | paste -sd,
}
fails 2 'give --sent or --unsent' 'messages resolve: which of the two?' \
    messages resolve "$X"
fails 2 'give --sent or --unsent' 'messages resolve: not both' \
    messages resolve --sent --unsent "$X"
fails 2 'give either SEQUENCE' 'messages resolve: of which?' messages resolve --sent
fails 1 "^outboxctl: $B: no such message, or it is not in doubt" \
    'messages resolve: the message is not in doubt' messages resolve --sent "$B"
ctl --json messages resolve --unsent "$X" --dry-run
shows '[.changed, .dry_run]' '[1,true]' 'messages resolve --dry-run: one row'
is "$(doubts)" '0 1 0 0,0 1 0 0,0 0 1 1' 'messages resolve --dry-run: no change'
epochs=$(sql 'SELECT SUM(lease_epoch) FROM outbox_partitions')
ctl messages resolve --unsent "$X"
is "$RC $OUT" '0 1 message taken for unsent' 'messages resolve --unsent'
is "$(doubts)" '0 0 0 1,0 1 0 0,0 0 1 1' \
    'messages resolve --unsent: the message is due, and not in doubt'
check 'messages resolve: its owner looks at it again' [ "$epochs" -lt \
    "$(sql 'SELECT SUM(lease_epoch) FROM outbox_partitions')" ]
is "$(audited)" "outbox@localhost messages resolve --unsent $X 1" \
    'messages resolve: it is in the audit, with the number'
ctl messages resolve --sent --all
is "$RC $OUT" '0 2 messages taken for sent' \
    'messages resolve --sent --all: also one whose claim has ended'
is "$(doubts)" '0 0 0 1,1 1 0 0,1 0 0 1' 'messages resolve --sent: delivered'
sql "UPDATE outbox SET in_doubt_since = NOW(6), claim_token = 'racer-1',
    available_at = NOW(6) + INTERVAL 1 HOUR WHERE global_sequence = $X"
fails 1 '1 skipped: a worker has them' 'messages resolve: a worker has it' \
    messages resolve --sent "$X"
sql "DELETE FROM outbox WHERE global_sequence IN ($X, $Y, $Z)"

#
# A claimed message is neither retried nor discarded.
#
before=$(tables)
fails 1 "^outboxctl: $A: not changed, a worker is sending it" \
    'messages discard of a claimed message' messages discard "$A" --wait 0
exits 1 'messages retry of a claimed message: exit status 1' messages retry "$A"
ctl messages discard 99999999
like "$RC $ERR" '^1 outboxctl: 99999999: no such message' \
    'messages discard of an unknown sequence: exit status 1, and why'
is "$(tables)" "$before" 'refused commands change no table'
(wait_for 1 false || sql "UPDATE outbox SET claim_token = NULL
    WHERE global_sequence = $A") &
ctl messages discard "$A" --wait 20
is "$RC" 0 'messages discard --wait: waits until the claim is released'
wait $!
is "$(sql "SELECT CONCAT_WS(' ', reason, order_key, event_type, attempts,
    last_error) FROM outbox_dead_letters WHERE global_sequence = $A")" \
    'discarded a ok 3 no answer' \
    'messages discard: the dead letter is complete'
rows_are 0 "outbox WHERE global_sequence = $A" \
    'messages discard: no row is left'
ctl messages discard "$A"
like "$ERR" 'it is dead' 'messages discard of a dead message: the error says so'
ctl --json messages show "$A"
shows '[.state, .reason]' '["dead","discarded"]' \
    'messages show of a discarded message: dead, with the reason'
# A message that is claimed between check and statement: no row matches.
put_row raced 1
sql "START TRANSACTION; UPDATE outbox SET claim_token = 'racer-1',
    available_at = NOW(6) + INTERVAL 1 HOUR WHERE global_sequence = $SEQ;
    DO SLEEP(1); COMMIT" &
wait_for 5 is_sql "SELECT COUNT(*) FROM information_schema.processlist
    WHERE info LIKE 'DO SLEEP%'" 1
ctl messages discard "$SEQ" --wait 0
wait $!
like "$RC $ERR" "^1 outboxctl: $SEQ: not changed, a worker is sending it" \
    'a message that is claimed during the discard is refused'
is "$(sql "SELECT claim_token FROM outbox WHERE global_sequence = $SEQ")" \
    racer-1 'a message that is claimed during the discard stays claimed'
put_row claimed 1 ok "claim_token = 'gone-1', available_at = NOW(6) - INTERVAL 1 HOUR"
ctl messages discard "$SEQ" --wait 0
is "$RC" 0 'messages discard of an expired claim: exit status 0'

#
# Retry and discard
#
put_row slow 1 ok 'available_at = NOW(6) + INTERVAL 1 HOUR, attempts = 5'
before=$(tables)
ctl messages retry "$SEQ" --dry-run
is "$RC $OUT" '0 1 message would be due now' \
    'messages retry --dry-run: says what it would do'
prints '1 message would be due now' \
    'messages retry: one that is named twice counts once' \
    messages retry "$SEQ" "$SEQ" --dry-run
ctl --json messages discard "$SEQ" --dry-run
shows '[.changed, .dry_run]' '[1,true]' 'messages discard --dry-run: one row'
is "$(tables)" "$before" 'dry runs change no table'
put_row due 1 ok 'attempts = 2'
DUE=$SEQ
prints '0 messages would be due now' 'messages retry --key: only delayed ones' \
    messages retry --key due --dry-run
prints '1 message would be due now' \
    'messages retry --reset-attempts: those that have failed, too' \
    messages retry --key due --reset-attempts --dry-run
sql "DELETE FROM outbox WHERE global_sequence = $DUE"
SEQ=$((DUE - 1))
before=$(epochs)
ctl messages retry "$SEQ"
is "$RC $OUT" '0 1 message due now' 'messages retry: one message is due'
is "$(sql "SELECT CONCAT(available_at <= NOW(6), attempts) FROM outbox
    WHERE global_sequence = $SEQ")" 15 \
    'messages retry: due now, attempts kept'
is "$(epochs)" $((before + 1)) \
    'messages retry raises the epoch'
is "$(audited)" "outbox@localhost messages retry $SEQ 1" \
    'messages retry is audited'
ctl messages retry "$SEQ" --reset-attempts
is "$(sql "SELECT attempts FROM outbox WHERE global_sequence = $SEQ")" 0 \
    'messages retry --reset-attempts: the attempts are 0'
shows .changed 2 'messages discard of two messages' messages discard "$SEQ" "$B"
is "$(audited)" "outbox@localhost messages discard $SEQ $B 2" \
    'messages discard: it is in the audit, with the number'
is "$(sql "SELECT partition_key FROM outbox_dead_letters
    WHERE global_sequence = $B")" "$(sql "SELECT CONCAT('p0', CRC32('a') % 4)")" \
    'messages discard: the dead letter has the partition of its key'
put_row parked 1
sql "UPDATE outbox SET partition_key = '!$SEQ' WHERE global_sequence = $SEQ;
    INSERT INTO outbox_blocked_keys (first_sequence, partition_key, order_key,
	reason, head_sequence) VALUES ($SEQ, 'p02', 'parked', 'failed', $SEQ)"
ctl messages discard "$SEQ"
is "$(sql "SELECT partition_key FROM outbox_dead_letters
    WHERE global_sequence = $SEQ")" p02 \
    'messages discard of a parked row: the partition of its record'
sql 'DELETE FROM outbox_blocked_keys'

refuses <<'END'
is_missing messages show
unexpected messages show 1 2
not_a_sequence messages show x1
or_--all messages retry
or_--all messages retry --until 1h
or_a_filter messages retry 1 --key a
--raw_goes_with_--payload messages show --raw 1
not_a_sequence messages discard 1 x1
not_an_option messages retry 1 --wait 3
not_pending messages list --state asleep
neither_a_time messages list --since yesterday
END

#
# Under a running daemon
#
sql 'DELETE FROM outbox; DELETE FROM events; DELETE FROM outbox_dead_letters'
start_fleet
put_row one 1 ok 'available_at = NOW(6) + INTERVAL 1 HOUR, attempts = 2'
ONE=$SEQ
put_row one 2
put_row two 1 ok 'available_at = NOW(6) + INTERVAL 1 HOUR'
TWO=$SEQ
put_row two 2
put_row other 1
wait_for 10 is_sent "$SEQ"
rows_are 4 'outbox WHERE published_at IS NULL' 'two keys wait for their heads'
ctl --json messages show "$ONE"
like "$(field .lease_owner)" ':[0-9a-f]{16}$' \
    'messages show: the id of the worker that owns the partition'
shows .lease_live true 'messages show: the lease is live'
ctl --json messages show "$SEQ"
like "$("$LAB" show --nats "$URL" --stream EVENTS \
    --seq "$(field .ack_sequence)")" "^Nats-Msg-Id: $(field .message_id)\$" \
    'messages show: message_id is the one in the stream'
# The daemon's own subject and headers, and the bytes of the payload.
sql "INSERT INTO events (stream_id, stream_sequence, event_type, event_version,
	correlation_id, metadata, event_data) VALUES (CONCAT('k', CHAR(9 USING utf8mb4), 'y'), 1, 'ok', 3,
	'c-1', '{\"trace\": \"t 1\", \"Bad\": {}}', X'00ff0a'),
	('text', 1, 'ok', 1, NULL, NULL, 'grüße\n\tdone');
    INSERT INTO outbox (global_sequence, partition_key)
	SELECT sequence, 'p01' FROM events WHERE stream_id LIKE 'k_y' OR stream_id = 'text'"
TEXT=$(sql 'SELECT MAX(sequence) FROM events')
BYTES=$((TEXT - 1))
for sequence in $BYTES $TEXT; do
	ctl --json messages show --payload "$sequence"
	before=$(field '.headers | to_entries[] | .key + ": " + .value' | sort)
	wait_for 10 is_sent "$sequence"
	shown=$("$LAB" show --nats "$URL" --stream EVENTS --seq \
	    "$(sql "SELECT ack_sequence FROM outbox
	    WHERE global_sequence = $sequence")")
	# All but the server that has sent it.
	is "$before" "$(sed '1,2d; /^Outbox-Source/d; /^$/,$d' <<< "$shown" |
	    sort)" \
	    "messages show --payload $sequence: the headers in the stream"
	like "$before" '^Outbox-Key: (0x6b0979|text)$' \
	    "messages show --payload $sequence: its key is among them"
done
ctl --json messages show --payload "$BYTES"
shows '[.subject, .payload, .payload_is_hex, .metadata_skipped]' \
    '["events.ok","0x00ff0a",true,1]' 'messages show --payload: bytes in hex'
ctl --json messages show --payload "$TEXT"
shows '[.payload, .payload_is_hex]' '["grüße\n\tdone",false]' \
    'messages show --payload: text as it is'
ctl messages show --payload "$TEXT"
is "$RC $(tail -n 3 <<< "$OUT")" $'0 \ngrüße\n\tdone' \
    'messages show --payload, no --json: the text at the end'
like "$OUT" '^subject: events.ok$' 'messages show --payload: the subject'
sed 's|^publish: {|&type_case: kebab, type_aliases: {ok: fine}, envelope: cloudevents, |' \
    "$CONF" > "$DIR/event.yml"
OUT=$("$OUTBOXCTL" -c "$DIR/event.yml" --json messages show --payload "$BYTES")
is "$(field '.subject, (.payload | fromjson | .data_base64)' | tr '\n' ' ')" \
    'events.fine AP8K ' 'messages show --payload: alias and envelope'
is "$("$OUTBOXCTL" -c "$DIR/event.yml" messages show --payload --raw "$BYTES" |
    od -An -tx1 | tr -d ' ')" 00ff0a \
    'messages show --payload --raw: as it is stored'
"$OUTBOXCTL" -c "$CONF" messages show --payload --raw "$BYTES" > "$DIR/raw"
is "$? $(od -An -tx1 "$DIR/raw" | tr -d ' ')" '0 00ff0a' \
    'messages show --payload --raw: its bytes and nothing else'
# A payload and a header that would move the cursor, or turn the writing.
TRICK=$(printf 'a\302\2332Jb\342\200\256c\tü\nd')
sql "INSERT INTO events (stream_id, stream_sequence, event_type, event_data)
	VALUES (CONCAT('n', X'C29B'), 1, 'ok', '$TRICK');
    INSERT INTO outbox (global_sequence, partition_key)
	VALUES (LAST_INSERT_ID(), 'p01')"
SEQ=$(sql 'SELECT MAX(sequence) FROM events')
ctl messages show --payload "$SEQ"
is "$RC $(tail -n 2 <<< "$OUT")" $'0 a?2Jb?c\tü\nd' \
    'messages show --payload: nothing in it moves the cursor'
like "$OUT" '^Outbox-Key: n\?$' 'messages show --payload: nor in a header'
shows ".payload | @json" "$(jq -Rsc . <<< "$TRICK" | sed 's/\\n"$/"/')" \
    'messages show --payload --json: the payload as it is' \
    messages show --payload "$SEQ"
like "$OUT" '"payload":"a\\u009B2Jb\\u202Ec\\tü' \
    'messages show --payload --json: with escapes'
"$OUTBOXCTL" -c "$CONF" messages show --payload --raw "$SEQ" > "$DIR/raw"
is "$(od -c "$DIR/raw")" "$(printf %s "$TRICK" | od -c)" \
    'messages show --payload --raw: exact, also on a terminal'
put_row never 1 'never a subject' 'available_at = NOW(6) + INTERVAL 1 HOUR'
fails 1 '^outboxctl: [0-9]+: it cannot be sent as it is: subject .* holds a blank' \
    'messages show --payload of a message that is not legal' \
    messages show --payload "$SEQ"
ctl messages discard "$SEQ"
ctl --json dead show --payload "$SEQ"
shows '[.status, .payload, (.cannot_be_sent | startswith("subject"))]' \
    '[1,"payload",true]' \
    'dead show --payload: the payload, and that it cannot be sent'
sql "UPDATE events SET event_type = 'ok' WHERE sequence = $SEQ"
ctl --json dead show --payload "$SEQ"
shows '.headers["Outbox-Partition"]' "$(sql "SELECT CONCAT('p0', CRC32('never') % 4)")" \
    'dead show --payload: the label after dead retry'
sql "DELETE FROM outbox WHERE global_sequence = $TEXT"
fails 1 "^outboxctl: $TEXT: it has no row in the outbox, .*: see reconcile$" \
    'messages show --payload of an event without a row' \
    messages show --payload "$TEXT"

ctl messages retry "$ONE"
within 5 'messages retry of a head: the next of its key is sent as well' \
    is_sent $((ONE + 1))
ctl messages discard "$TWO"
drains 5 'the message behind a discarded head is sent'

# All that are delayed, by filters.
for key in f1 f2 f3; do
	put_row "$key" 1 "$key.made" \
	    'available_at = NOW(6) + INTERVAL 1 HOUR, attempts = 2'
done
prints '1 message would be due now' 'messages retry --type --dry-run' \
    messages retry --type 'f1.*' --dry-run
prints '1 message due now' 'messages retry --type: one message' \
    messages retry --type 'f1.*'
prints '1 message due now' 'messages retry --key: one message' \
    messages retry --key f2
within 10 'the messages of the type and of the key are sent' \
    is_sql 'SELECT COUNT(*) FROM outbox WHERE published_at IS NULL' 1
prints '1 message due now' 'messages retry --all: the delayed one' \
    messages retry --all
drains 5 'messages retry --all: it is sent'
prints '0 messages due now' 'messages retry --all: nothing is delayed' \
    messages retry --all
stop_master "$MASTER"

#
# Missing rights and servers
#
put_row last 1
sql "REVOKE DELETE ON outbox FROM 'outbox'@'localhost'"
before=$(tables)
ctl messages discard "$SEQ"
is "$RC" 1 'messages discard without the right: exit status 1'
like "$ERR" "^outboxctl: .*DELETE.*outbox'.*: sql/operator.sql grants it$" \
    'the error names the right and the file that grants it'
is "$(grep -c . <<< "$ERR")" 1 'the error is one line'
is "$(tables)" "$before" 'messages discard without the right changes no table'
without_server 'messages list' "messages show $SEQ" "messages retry $SEQ" \
    "messages discard $SEQ"
done_testing
