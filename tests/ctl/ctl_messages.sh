#!/usr/bin/env bash
# outboxctl messages: what waits, why, and what an operator does about it.
. "${srcdir:-$(dirname "$0")/../..}/tests/lib/ctl.sh"

# events KEY FROM COUNT TYPE: key and type may be expressions of n
events() {
	sql "INSERT INTO events (stream_id, stream_sequence, event_type,
	    event_data, occurred_at)
	    SELECT $1, $2 + n, $4, 'x', '2026-01-01' + INTERVAL n SECOND
	    FROM $(numbers "$3") ORDER BY n"
}

of_sql() { sql "SELECT $1" | tr '\n' ' ' | sed 's/ $//'; }
audited() { sql "SELECT CONCAT_WS(' ', command, arguments, changed)
    FROM outbox_audit ORDER BY id DESC LIMIT 1"; }

start_servers
PARTITIONS=4 write_conf
sql "INSERT INTO outbox_partitions (partition_key) VALUES
    ('p00'), ('p01'), ('p02'), ('p03')"

ctl messages list
is "$RC$OUT$ERR" 0 'nothing waits: nothing is printed'
ctl --json messages list
is "$OUT" '{"rows":[],"looked_at":0,"next":null}' 'and an empty list as JSON'
for state in delivering delivered dead; do
	ctl --json messages list --state "$state"
	is "$(field '.rows | length')" 0 "nor is anything $state"
done
ctl --json messages list --key nobody
is "$RC $(field '.rows | length')" '0 0' 'nor of a key'

#
# Many rows: 200,000 delivered ones and 100,000 that wait.
#
events "CONCAT('k', n % 1000)" 0 300000 "IF(n % 1000 = 7, 'rare.made', 'ok')"
sql "INSERT INTO outbox (global_sequence, partition_key, published_at,
    ack_sequence)
    SELECT sequence, CONCAT('p0', CRC32(stream_id) % 4),
	IF(stream_sequence < 200000, '2026-02-01' + INTERVAL
	    stream_sequence DIV 1500 SECOND, NULL),
	IF(stream_sequence < 200000, sequence, NULL) FROM events"
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
    'what waits, in sequence order, whatever its label'
is "$(field '.rows[0] | [.state, .partition, .key, .parked] | tostring')" \
    "$(sql "SELECT CONCAT('[\"pending\",', IF(partition_key LIKE '!%',
    '\"p03\"', COALESCE(CONCAT('\"', partition_key, '\"'), 'null')), ',\"k0\",',
    IF(partition_key LIKE '!%', 'true', 'false'), ']')
    FROM outbox WHERE published_at IS NULL ORDER BY global_sequence LIMIT 1")" \
    'with the partition of a parked one'
ctl --json messages list --limit 30
is "$(field .next)" "$(field '.rows[29].sequence')" 'and where to go on'
ctl --json messages list --limit 30 --after "$(field .next)"
is "$(sequences)" "$(of_sql "$WAITING ORDER BY s LIMIT 30, 30")" 'on from there'
ctl messages list --limit 3
is "$(grep -c . <<< "$OUT")" 4 'for people a line each, and a head'
like "$ERR" '^outboxctl: read [0-9]+ rows; to continue: --after [0-9]+$' \
    'and how to go on'
is "$(tail -n 1 <<< "$OUT" | cut -d' ' -f1)" "${ERR##* }" 'behind the last one'

ctl --json messages list --partition p03 --limit 60
is "$(sequences)" "$(of_sql "$WAITING AND partition_key IN ('p03',
    CONCAT('!', (SELECT first_sequence FROM outbox_blocked_keys)))
    ORDER BY s LIMIT 60")" 'a partition, and what it has parked'
ctl --json messages list --partition ''
is "$(sequences)" "$(of_sql "$WAITING AND COALESCE(partition_key, '') = ''
    ORDER BY s")" 'rows without a label'
is "$(field .next)" null 'and that is all'

DELIVERED='global_sequence AS s FROM outbox WHERE published_at IS NOT NULL
    ORDER BY published_at DESC, partition_key DESC, s DESC'
ctl --json messages list --state delivered --limit 40
is "$(sequences)" "$(of_sql "$DELIVERED LIMIT 40")" 'delivered, the latest first'
all=$(sequences)
# On over the borders of a label and of a second.
for _ in 1 2 3 4 5; do
	ctl --json messages list --state delivered --limit 400 \
	    --after "$(field .next)"
	all+=" $(sequences)"
done
is "$(printf %s "$all" | md5sum)" "$(of_sql "$DELIVERED LIMIT 2040" | md5sum)" \
    'and on, page by page'
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
is "$all" "$(of_sql "$DELIVERED LIMIT 8")" 'labels with a NUL, too'
ctl messages list --state delivered --after 999999999
is "$RC" 1 'not behind one that is not there'
like "$ERR" '--after' 'and it is said'
ctl --json messages list --state delivered --until 2026-02-01T00:00:01Z \
    --since 2026-02-01 --limit 5
is "$(field '[(.rows | length), .looked_at] | tostring')" '[5,6]' \
    'by when they were delivered, and no others are looked at'
ctl --json messages list --key k12
is "$(sequences)" "$(of_sql "global_sequence AS s FROM outbox JOIN events
    ON sequence = global_sequence WHERE stream_id = 'k12'
    AND published_at IS NULL ORDER BY stream_sequence DESC")" 'of a key'
ctl --json messages list --key k12 --state delivered --limit 7
is "$(sequences)" "$(of_sql "global_sequence AS s FROM outbox JOIN events
    ON sequence = global_sequence WHERE stream_id = 'k12'
    AND published_at IS NOT NULL ORDER BY stream_sequence DESC LIMIT 7")" \
    'of a key, delivered'
ctl --json messages list --type 'rare.*'
is "$(field '.looked_at')" 10000 'of a type: no more than so many are looked at'
is "$(field '.rows | length')" 10 'those among them are shown'
ctl messages list --type 'rare.*'
like "$ERR" '^outboxctl: read 10000 rows; to continue: --after [0-9]+$' \
    'and it is said'
n=0 pages=0 next=0
while [ "$next" != null ] && [ "$pages" -lt 20 ]; do
	ctl --json messages list --type 'rare.*' --after "$next"
	next=$(field .next)
	n=$((n + $(field '.rows | length')))
	pages=$((pages + 1))
done
is "$n" 100 'page by page all of them'
ctl --json messages list --type 'r_re.*'
is "$(field '.rows | length')" 0 'nothing but * stands for anything'
ctl --json messages list --since 2026-01-03T07:33:29Z \
    --until 2026-01-03T07:33:31Z
is "$(field '[.rows[].occurred_at] | tostring')" \
    '["2026-01-03T07:33:29.000000Z","2026-01-03T07:33:30.000000Z"]' \
    'by when it happened'
sql "UPDATE outbox SET claim_token = 'abc-1', available_at = NOW(6) +
    INTERVAL 1 HOUR WHERE global_sequence = (SELECT 200100)"
ctl --json messages list --state delivering
is "$(sequences)" 200100 'what is being delivered'
ctl --json messages list --after 200098 --limit 2
is "$(sequences)" '200099 200101' 'is not pending'

sql "UPDATE outbox SET partition_key = CONCAT('w', global_sequence % 1024)
    WHERE published_at IS NULL"
for after in 0 200500; do
	ctl --json messages list --after "$after" --limit 3000
	is "$(sequences)" "$(of_sql "$WAITING AND claim_token IS NULL
	    AND global_sequence > $after ORDER BY s LIMIT 3000")" \
	    "1024 labels: all in order behind $after"
done
# Labels that are spelled in two ways, in a column that does not tell.
sql "ALTER TABLE outbox MODIFY partition_key VARCHAR(64)
	COLLATE utf8mb4_general_ci NULL;
    UPDATE outbox SET partition_key = IF(global_sequence % 100 > 0, 'zz',
	CONCAT(IF(global_sequence % 200 = 0, 'x', 'X'), global_sequence DIV 400))
    WHERE published_at IS NULL"
ctl --json messages list --limit 3000
is "$(sequences)" "$(of_sql "$WAITING AND claim_token IS NULL ORDER BY s
    LIMIT 3000")" 'each once, whatever its label is like'
sql "ALTER TABLE outbox MODIFY partition_key VARCHAR(64)
    COLLATE utf8mb4_bin NULL"

#
# Without the index, as Pillar's tables are, and without our own tables.
#
sql 'DROP INDEX outbox_claim ON outbox;
    RENAME TABLE outbox_blocked_keys TO away1, outbox_dead_letters TO away2'
ctl --json messages list
is "$RC $(field '[(.rows | length), .looked_at, .next] | tostring')" \
    '0 [0,10000,10000]' 'without the index: all rows, as far as the budget goes'
ctl --json messages list --after 199990 --limit 5
is "$(field '.rows | length')" 5 'and on from there'
ctl --json messages show 250000
is "$(field .state)" pending 'one is shown all the same'
ctl messages discard 250000
is "$RC" 1 'without dead letters nothing is discarded'
like "$ERR" '^outboxctl: outbox_dead_letters: no such table' 'and it is said'
sql 'RENAME TABLE away1 TO outbox_blocked_keys, away2 TO outbox_dead_letters;
    CREATE INDEX outbox_claim ON outbox (published_at, partition_key,
	global_sequence)'

#
# One message
#
# The daemon compares keys as bytes, whatever the column does.
sql "ALTER TABLE events MODIFY stream_id VARCHAR(255)
    COLLATE utf8mb4_unicode_ci NOT NULL"
ctl --json messages list --key K12
is "$(field '.rows | length')" 0 'another key is none that differs in case'
ctl messages show 99999999
is "$RC" 1 'no such message'
like "$ERR" '^outboxctl: 99999999: no such message' 'and it is said'
ctl --json messages show 1
is "$(field '[.state, .waits_for, .ack_sequence] | tostring')" \
    '["delivered",null,1]' 'a delivered one'
sql 'DELETE FROM outbox; DELETE FROM outbox_blocked_keys'
ctl --json messages show 1
is "$(field .state)" missing 'one without a row in the outbox'
like "$(field .waits_for)" 'no row' 'which waits for nothing'
put_row a 1 ok "available_at = NOW(6) + INTERVAL 1 HOUR, attempts = 3,
    last_error = 'no answer'"
A=$SEQ
put_row a 2
B=$SEQ
ctl --json messages show "$A"
is "$(field '[.state, .waits_for, .attempts, .error, .key, .payload_bytes]
    | tostring')" '["pending","its next attempt, at available_at",3,"no answer","a",7]' \
    'one that failed'
[ "$(field .due_in_ms)" -gt 3500000 ]
ok $? 'with the time to its next attempt'
ctl --json messages show "$B"
is "$(field .waits_for)" "message $A, an earlier one of its key" \
    'one behind another'
sql "UPDATE outbox SET claim_token = '0123456789abcdef-7'
	WHERE global_sequence = $A;
    INSERT INTO outbox_workers (id, heartbeat_until)
	VALUES ('host:01:0123456789abcdef', NOW(6) + INTERVAL 1 HOUR)"
ctl --json messages show "$A"
is "$(field '[.state, .waits_for, .claimed_by] | tostring')" \
'["delivering","the answer of the broker to host:01:0123456789abcdef","host:01:0123456789abcdef"]' \
    'one that is being delivered, and who does it'
sql "INSERT INTO outbox_blocked_keys (first_sequence, partition_key, order_key,
    reason, head_sequence) VALUES (900017, 'p01', 'a', 'halted', 17)"
ctl --json messages show "$B"
is "$(field '[.waits_for, .blocked, .blocked_by] | tostring')" \
    '["its key, halted by message 17: keys release, or dead retry","halted",17]' 'one of a halted key'
sql 'DELETE FROM outbox_blocked_keys; DELETE FROM outbox_workers'
put_row lonely 1
ctl --json messages show "$SEQ"
is "$(field .waits_for)" 'a worker: none owns its partition' \
    'one whose partition nobody has'
ctl partitions pause
ctl --json messages show "$SEQ"
is "$(field .waits_for)" 'its partition, which is paused: partitions resume' \
    'one of a paused partition'
ctl partitions resume
ctl messages show "$SEQ"
like "$OUT" '^key +lonely$' 'for people a line for each thing'
is "$(grep -c payload <<< "$OUT")" 1 'and the payload itself is not shown'

#
# What is being delivered is left alone.
#
before=$(tables)
ctl messages discard "$A" --wait 0
is "$RC" 1 'a claimed message is not discarded'
like "$ERR" "^outboxctl: $A: not changed, a worker is sending it" \
    'and it is said'
ctl messages retry "$A"
is "$RC" 1 'nor sent again'
ctl messages discard 99999999
like "$RC $ERR" '^1 outboxctl: 99999999: no such message' \
    'nor is one that is not there'
is "$(tables)" "$before" 'nothing was changed'
(wait_for 1 false || sql "UPDATE outbox SET claim_token = NULL
    WHERE global_sequence = $A") &
ctl messages discard "$A" --wait 20
is "$RC" 0 'it is waited for until it is free'
wait $!
is "$(sql "SELECT CONCAT_WS(' ', reason, order_key, event_type, attempts,
    last_error) FROM outbox_dead_letters WHERE global_sequence = $A")" \
    'discarded a ok 3 no answer' 'then it is among the dead'
is "$(sql "SELECT COUNT(*) FROM outbox WHERE global_sequence = $A")" 0 \
    'and nowhere else'
ctl messages discard "$A"
like "$ERR" 'it is dead' 'and not discarded twice'
ctl --json messages show "$A"
is "$(field '[.state, .reason] | tostring')" '["dead","discarded"]' \
    'and shown as dead'
# A claim that comes while we look: the statement itself does not match.
put_row raced 1
sql "START TRANSACTION; UPDATE outbox SET claim_token = 'racer-1',
    available_at = NOW(6) + INTERVAL 1 HOUR WHERE global_sequence = $SEQ;
    DO SLEEP(1); COMMIT" &
wait_for 5 is_sql "SELECT COUNT(*) FROM information_schema.processlist
    WHERE info LIKE 'DO SLEEP%'" 1
ctl messages discard "$SEQ" --wait 0
wait $!
like "$RC $ERR" "^1 outboxctl: $SEQ: not changed, a worker is sending it" \
    'one that is claimed while we look is refused'
is "$(sql "SELECT claim_token FROM outbox WHERE global_sequence = $SEQ")" \
    racer-1 'and stays'
put_row claimed 1 ok "claim_token = 'gone-1', available_at = NOW(6) - INTERVAL 1 HOUR"
ctl messages discard "$SEQ" --wait 0
is "$RC" 0 'a claim that has ended holds nothing'

#
# Retry and discard, and what they do not do.
#
put_row slow 1 ok 'available_at = NOW(6) + INTERVAL 1 HOUR, attempts = 5'
before=$(tables)
ctl messages retry "$SEQ" --dry-run
is "$RC $OUT" '0 1 message(s) would be due now' 'a dry run of retry'
ctl --json messages discard "$SEQ" --dry-run
is "$(field '[.changed, .dry_run] | tostring')" '[1,true]' 'and of discard'
is "$(tables)" "$before" 'change nothing'
before=$(epochs)
ctl messages retry "$SEQ"
is "$RC $OUT" '0 1 message(s) due now' 'retry'
is "$(sql "SELECT CONCAT(available_at <= NOW(6), attempts) FROM outbox
    WHERE global_sequence = $SEQ")" 15 'it is due, its attempts are kept'
is "$(epochs)" $((before + 1)) 'and its owner will look'
is "$(audited)" "messages retry $SEQ 1" 'somebody did it'
ctl messages retry "$SEQ" --reset-attempts
is "$(sql "SELECT attempts FROM outbox WHERE global_sequence = $SEQ")" 0 \
    'or begin with the first attempt'
ctl --json messages discard "$SEQ" "$B"
is "$(field .changed)" 2 'several are discarded'
is "$(audited)" "messages discard $SEQ $B 2" 'and on record'
is "$(sql "SELECT partition_key FROM outbox_dead_letters
    WHERE global_sequence = $B")" "$(sql "SELECT CONCAT('p0', CRC32('a') % 4)")" \
    'each with its partition'
put_row parked 1
sql "UPDATE outbox SET partition_key = '!$SEQ' WHERE global_sequence = $SEQ;
    INSERT INTO outbox_blocked_keys (first_sequence, partition_key, order_key,
	reason, head_sequence) VALUES ($SEQ, 'p02', 'parked', 'failed', $SEQ)"
ctl messages discard "$SEQ"
is "$(sql "SELECT partition_key FROM outbox_dead_letters
    WHERE global_sequence = $SEQ")" p02 'a parked one with that of its record'
sql 'DELETE FROM outbox_blocked_keys'

refuses <<'END'
2 is_missing messages show
2 unexpected messages show 1 2
2 not_a_sequence messages show x1
2 is_missing messages retry
2 not_a_sequence messages discard 1 x1
2 not_an_option messages retry 1 --wait 3
2 not_pending messages list --state asleep
2 neither_a_time messages list --since yesterday
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
is "$(sql 'SELECT COUNT(*) FROM outbox WHERE published_at IS NULL')" 4 \
    'two keys wait for their heads'
ctl --json messages show "$ONE"
like "$(field .lease_owner)" ':[0-9a-f]{16}$' 'their worker is told'
is "$(field .lease_live)" true 'which is alive'
ctl --json messages show "$SEQ"
like "$("$LAB" show --nats "$URL" --stream EVENTS \
    --seq "$(field .ack_sequence)")" "^Nats-Msg-Id: $(field .message_id)\$" \
    'its id is the one in the stream'
ctl messages retry "$ONE"
wait_for 5 is_sent $((ONE + 1))
ok $? 'a head that is retried goes at once, and what is behind it'
ctl messages discard "$TWO"
drains 5 'what was behind a discarded one goes at once'
stop_master "$MASTER"

#
# What is not as it should be.
#
put_row last 1
sql "REVOKE DELETE ON outbox FROM 'outbox'@'localhost'"
before=$(tables)
ctl messages discard "$SEQ"
is "$RC" 1 'no right to discard'
like "$ERR" "^outboxctl: .*DELETE.*outbox'.*: sql/operator.sql grants it$" \
    'and it is said which, and where to get it'
is "$(grep -c . <<< "$ERR")" 1 'in one line'
is "$(tables)" "$before" 'and nothing was changed'
"$SANDBOX" stop "$DIR/db" >/dev/null
for args in 'list' "show $SEQ" "retry $SEQ" "discard $SEQ"; do
	# shellcheck disable=SC2086
	ctl messages $args
	is "$RC" 69 "messages $args: the server is away"
done
done_testing
