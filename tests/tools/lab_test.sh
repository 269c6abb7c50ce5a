#!/bin/sh
#
# lab_test.sh - does the checker find each kind of fault?
#
# Fills a stream by hand from rows of the events table, well and with one
# fault at a time; "lab check" must find each of them.

# shellcheck source=tests/lib/result.sh
. "${srcdir:-.}/tests/lib/result.sh"
if [ "${OUTBOX_CHECK:-full}" = short ]; then
	echo '1..0 # SKIP a long test'
	exit 0
fi
lab=${LAB:-./lab}
sandbox=$top/tools/sandbox
round=0
broker=

sql() {
	"$sandbox" sql "$dir/db" -N -B app -e "$1"
}

db() {
	cmd=$1
	shift
	"$lab" "$cmd" --socket "$SOCKET" --database app "$@"
}

bus() {
	cmd=$1
	shift
	"$lab" "$cmd" --nats "$URL" "$@"
}

# judge [OPTION...]: the stream; or the topics, once there is a broker of Kafka
judge() {
	if [ -n "$broker" ]; then
		db check --kafka "$broker" --topic 'events.*' "$@"
	else
		db check --nats "$URL" --stream EVENTS "$@"
	fi
}

# Make stream and tables empty.
fresh() {
	round=$((round + 1))
	bus stream --stream EVENTS --delete
	bus stream --stream EVENTS --subjects 'events.>'
	sql "DELETE FROM outbox; DELETE FROM events;
	    DELETE FROM outbox_dead_letters;"
}

# Eight events of two keys: a0 b0 a0 b0 ...
eight() {
	fresh
	sql "ALTER TABLE events AUTO_INCREMENT = 1"
	for i in 1 2 3 4; do
		for key in a0 b0; do
			echo "START TRANSACTION; CALL outbox_enqueue('$key',
			    NULL, 'test.made', 1, NULL, NULL,
			    '{\"key\": \"$key\", \"i\": $i}'); COMMIT;"
		done
	done | "$sandbox" sql "$dir/db" app
}

# send SEQUENCE [ID [KEY [TYPE [DATA]]]]: as the daemon would, or not
send() {
	key=a0
	[ $(($1 % 2)) -eq 1 ] || key=b0
	bus publish --subject events.test.made \
	    --id "${2:-r$round-$1}" --header "Outbox-Sequence=$1" \
	    --header "Outbox-Key=${3:-$key}" \
	    --header "Outbox-Type=${4:-test.made}" \
	    --data "${5-{\"key\": \"$key\", \"i\": $((($1 + 1) / 2))\}}"
}

# is_stored SEQUENCE ID: the server has forgotten this id
is_stored() { send "$@" | grep -q duplicate=no; }

send_all() {
	for seq; do
		send "$seq" >/dev/null
	done
}

# finds NAME EXIT COUNTS [OPTION...]: counts are delivered, lost, duplicated,
# out of order, foreign, damaged, dead, and phantom where there may be some
finds() {
	name=$1 code=$2 counts=$3
	shift 3
	out=$(judge --json "$@" 2>"$dir/err")
	got=$?
	found=$(printf '%s\n' "$out" | sed 's/"[a-z_]*"://g' |
	    cut -d, -f3-10 | tr , ' ')
	[ "${counts#* * * * * * * }" != "$counts" ] || counts="$counts 0"
	is "$name" "$got: $found" "$code: $counts"
}

# says NAME TEXT: the output of the last check has the text
says() {
	grep -q "$2" "$dir/err"
	result "$1" $? "$(cat "$dir/err")"
}

test_good() {
	eight
	send_all 1 2 3 4 5 6 7 8
	finds 'a complete stream: no fault' 0 "8 0 0 0 0 0 0"
	is 'a complete stream: no complaint' "$(cat "$dir/err")" \
	    ''
	is 'the table ends with the verdict' "$(judge | tail -n 1)" OK
	eight
	send_all 2 4 6 8 1 3 5 7
	finds 'keys in another order: no fault' 0 "8 0 0 0 0 0 0"
	eight
	finds 'an empty stream: eight are lost' 1 "0 8 0 0 0 0 0"
	fresh
	finds 'no events and no messages: no fault' 0 "0 0 0 0 0 0 0"
}

test_loss() {
	eight
	send_all 1 2 3 5 6 7 8
	finds 'a missing message is lost' 1 "7 1 0 0 0 0 0"
	says 'a lost message: the output has its key and state' \
	    "sequence 4, key b0: waits"
	sql "UPDATE outbox SET published_at = NOW(6)"
	finds 'a missing message of a published row is lost' 1 "7 1 0 0 0 0 0"
	says 'a lost message: the output says that the row is published' \
	    "sequence 4, key b0: is marked as published"
	is 'the table ends with the verdict' \
	    "$(judge 2>/dev/null | tail -n 1)" \
	    "NOT OK"
	send_all 4
	finds 'a message that comes late is out of order' 1 "8 0 0 1 0 0 0"
	bus delete-msg --stream EVENTS --seq 2
	finds 'a message deleted from the stream is lost' 1 "7 1 0 1 0 0 0"
}

test_duplicates() {
	eight
	send_all 1 2 3 4 5 6 7 8
	send 3 other >/dev/null
	finds 'a message sent with two ids: a duplicate' 1 "8 0 1 0 0 0 0"
	says "is named" "sequence 3 (message 9, id other)"
	eight
	send_all 1 2 3 4 5 6 7 8
	is 'the server drops a message with the same id' "$(send 3)" \
	    "stream=EVENTS seq=3 duplicate=yes"
	finds 'a message that the server dropped: no fault' 0 "8 0 0 0 0 0 0"
	eight
	bus stream --stream EVENTS --subjects 'events.>' --dup-window 1
	send_all 1 2 3 4 5 6 7
	wait_for 10 is_stored 8 "r$round-7"
	finds 'another message with a used id is a duplicate' 1 "8 0 1 0 0 0 0"
}

test_order() {
	eight
	send_all 1 2 5 3 4 6 7 8
	finds 'two messages of a key in the wrong order' 1 "8 0 0 1 0 0 0"
	says "is named" "key a0: sequence 3 after 5 (message 4)"
	eight
	send_all 7 5 3 1 2 4 6 8
	finds 'three messages of a key in the wrong order' 1 "8 0 0 3 0 0 0"
}

# What a stream loses is sent again, behind what came since.
test_recovered() {
	eight
	send_all 1 2 4 7 8 3 5 6
	printf '%s\n' '3 1 5 0' '5 1 5 0' '6 1 5 0' >"$dir/lost"
	finds 'lost ones come late: no fault' \
	    0 "8 0 0 0 0 0 0" --recovered "$dir/lost"
	finds 'nobody has said that they were lost' 1 "8 0 0 3 0 0 0"
	send 3 again-3 >/dev/null
	finds 'a replica had it: no fault' \
	    0 "8 0 0 0 0 0 0" --recovered "$dir/lost"
	send 3 again-3b >/dev/null
	finds 'once more is too often' \
	    1 "8 0 1 0 0 0 0" --recovered "$dir/lost"
	sed 's/5 0$/8 0/' "$dir/lost" >"$dir/later"
	finds 'they came late before they were lost' \
	    1 "8 0 1 3 0 0 0" --recovered "$dir/later"
	eight
	send_all 1 2 4 7 8 5 3
	finds 'lost ones among themselves in the wrong order, one missing' \
	    1 "7 1 0 1 0 0 0" --recovered "$dir/lost"
	printf '%s\n' '3 2 5 0' '5 1 5 0' '6 1 5 0' >"$dir/lost"
	finds 'they are of two losses: no order' \
	    1 "7 1 0 0 0 0 0" --recovered "$dir/lost"
	echo '3 2' >"$dir/lost"
	judge --recovered "$dir/lost" >"$dir/out" 2>"$dir/err"
	is 'a list of losses that is cut off: exit status' $? 1
	says 'and the reason' 'not four numbers in a line'
	eight
	send_all 1 2 3 4 5 6 7 8
	send 3 again-3 >/dev/null
	send 5 again-5 >/dev/null
	send 3 again-3b >/dev/null
	printf '%s\n' '3 1 8 0' '5 1 8 0' '3 2 10 0' >"$dir/lost"
	finds 'those of another replica are in their place' \
	    0 "8 0 0 0 0 0 0" --recovered "$dir/lost"
	for seq in 3 5; do
		bus delete-msg --stream EVENTS --seq "$seq"
	done
	finds 'one was lost and sent again twice: no order' \
	    0 "8 0 0 0 0 0 0" --recovered "$dir/lost"
	is 'list has numbers, events and times' "$(bus list --stream EVENTS |
	    sed -n '1p;$p' | sed -E 's/ [0-9]{19}$/ ns/' | tr '\n' ,)" \
	    '1 1 ns,11 3 ns,'
}

# Nobody had an answer for 5 when the stream lost it: it is sent again in its
# turn, and those with an answer when they are missed.
test_lost_in_doubt() {
	printf '%s\n' '1 1 4 0' '3 1 4 0' '5 1 4 1' >"$dir/lost"
	sed 's/1$/0/' "$dir/lost" >"$dir/answered"
	eight
	send_all 2 4 6 8 5 7 1 3
	finds 'one in doubt comes in its turn, before lost ones: no fault' \
	    0 "8 0 0 0 0 0 0" --recovered "$dir/lost"
	finds 'it had an answer: out of order' \
	    1 "8 0 0 2 0 0 0" --recovered "$dir/answered"
	eight
	send_all 2 4 6 8 7 1 3 5
	finds 'one in doubt comes with the lost ones: no fault' \
	    0 "8 0 0 0 0 0 0" --recovered "$dir/lost"
	eight
	send_all 2 4 6 8 7 5 1 3
	finds 'one in doubt comes neither in its turn nor with them' \
	    1 "8 0 0 2 0 0 0" --recovered "$dir/lost"
}

test_foreign() {
	eight
	send_all 1 2 3 4 5 6 7 8
	bus publish --subject events.other --data hello >/dev/null
	bus publish --subject events.other --header Outbox-Sequence=1x \
	    --data hello >/dev/null
	finds 'two messages without a sequence are foreign' 1 "8 0 0 0 2 0 0"
	says 'foreign messages: the output has number and subject' \
	    "message 9, subject events.other: has no sequence"
	finds 'foreign ones are no phantoms' 1 "8 0 0 0 2 0 0" --allow-phantoms
}

test_damage() {
	eight
	send_all 1 2 3 4 5
	bus publish --subject events.test.made --header Outbox-Sequence=6 \
	    --header Outbox-Key=b0 --header Outbox-Type=test.made \
	    --data '{"key": "b0", "i": 3}' >/dev/null
	send_all 7 8
	finds 'a message without an id is damaged' 1 "8 0 0 0 0 1 0"
	says "is named" "sequence 6 (message 6) has no Nats-Msg-Id"
}

# Sequences may be used again: the whole message tells which event it is of.
test_phantoms() {
	eight
	send_all 1 2 3 4 5 6 7 8
	send 4711 >/dev/null
	finds 'a message without an event is a phantom' 1 "8 0 0 0 0 0 0 1"
	says "is named" "message 9, sequence 4711, .*: no such event"
	finds '--allow-phantoms: no fault' 0 "8 0 0 0 0 0 0 1" --allow-phantoms
	finds 'one phantom is allowed' 0 "8 0 0 0 0 0 0 1" --max-phantoms 1
	send 4712 >/dev/null
	finds 'two phantoms, and one is allowed' \
	    1 "8 0 0 0 0 0 0 2" --max-phantoms 1
	eight
	send_all 1 2
	send 3 lost-3 '' '' '{"key": "a0", "i": 3}' >/dev/null
	send 6 lost-6 '' '' '{}' >/dev/null
	send_all 3 4 5 6
	send 6 lost-6b b0 other >/dev/null
	send_all 7 8
	finds 'three messages of one sequence: two are phantoms' 0 \
	    "8 0 0 0 0 0 0 3" --allow-phantoms
	says 'phantoms: the output says how they differ from the event' \
	    "id lost-3: the event has another payload"
	bus delete-msg --stream EVENTS --seq 5
	finds 'a sequence with phantoms only: lost' 1 "7 1 0 0 0 0 0 3" \
	    --allow-phantoms
}

test_phantom_kinds() {
	eight
	send_all 1 2
	send 3 lost-3 '' '' '' >/dev/null
	send 4 lost-4 b1 >/dev/null
	send 5 lost-5 '' test.Made >/dev/null
	send_all 6 7 8
	finds 'another payload, key or type: lost' 1 "5 3 0 0 0 0 0 3" \
	    --allow-phantoms
	send_all 3 4 5
	finds 'messages after phantoms of their sequence are out of order' 1 \
	    "8 0 0 3 0 0 0 3" --allow-phantoms
	eight
	send_all 7 8
	send 9 >/dev/null
	sql "DELETE FROM events WHERE sequence IN (7, 8)"
	send_all 1 2 3 4 5 6
	finds 'phantoms do not count for the order' 0 "6 0 0 0 0 0 0 3" \
	    --allow-phantoms
	send 1 again >/dev/null
	finds 'a duplicate is no phantom' 1 "6 0 1 0 0 0 0 3" --allow-phantoms
	eight
	bus stream --stream EVENTS --subjects 'events.>' --dup-window 1
	send_all 1 2 3 4 5 6 7 8
	send 4711 same >/dev/null
	wait_for 10 is_stored 4711 same
	finds 'a phantom that is sent twice is one, and a duplicate' 1 \
	    "8 0 1 0 0 0 0 1" --allow-phantoms
}

test_others() {
	eight
	for seq in 1 2 3 4 5 6 7 8; do
		send $seq "mine-$seq" >/dev/null
		send $seq "them-$seq" k other '{}' >/dev/null
	done
	send 1 mine >/dev/null
	bus publish --subject events.other --data hello >/dev/null
	finds '--outbox-id: messages of other outboxes are left out' 0 \
	    "8 0 0 0 0 0 0 0" --outbox-id mine
	is '--outbox-id counts others' "$(judge --outbox-id mine | grep others |
	    tr -s ' ')" "others 10"
	finds 'no --outbox-id: others are phantoms' 1 "8 0 1 0 1 0 0 8"
	bus stream --stream COPY --subjects 'COPY.>'
	bus purge --stream EVENTS --into COPY
	is '--outbox-id of a copied stream' "$(db check --nats "$URL" \
	    --stream COPY --outbox-id mine | tail -n 1)" OK
	bus stream --stream COPY --delete
}

test_binary() {
	fresh
	sql "START TRANSACTION; CALL outbox_enqueue('k', 1, 't', 1, NULL, NULL,
	    x'00FF0A0D00'); COMMIT;"
	seq=$(sql "SELECT sequence FROM events")
	printf '\000\377\012\015\000' | bus publish --subject events.t \
	    --id "b$round" --header "Outbox-Sequence=$seq" \
	    --header Outbox-Key=k --header Outbox-Type=t >/dev/null
	finds 'NUL and invalid UTF-8: no fault' 0 "1 0 0 0 0 0 0"
	is 'show prints NUL and invalid UTF-8 as they are' \
	    "$(bus show --stream EVENTS --last | tail -c 6 | od -An -tx1)" \
	    " 00 ff 0a 0d 00 0a"
}

test_dead() {
	eight
	send_all 1 2 3 4 5 6 7
	sql "DELETE FROM outbox WHERE global_sequence = 8;
	    INSERT INTO outbox_dead_letters
	    (global_sequence, reason, attempts, last_error)
	    VALUES (8, 'message', 1, 'too large');"
	finds 'a dead letter is a lost message' 1 "7 1 0 0 0 0 1"
	says 'a dead letter: the output has its reason' \
	    "sequence 8, message, attempts 1: too large"
	finds 'one dead letter is expected' 0 "7 0 0 0 0 0 1" --expect-dead 1
	finds 'one dead letter of two expected' \
	    1 "7 0 0 0 0 0 1" --expect-dead 2
	sql "DELETE FROM outbox_dead_letters"
	send_all 8
	finds 'no dead letter of one expected' 1 "8 0 0 0 0 0 0" --expect-dead 1
}

test_since() {
	eight
	send_all 2 1 5 6 7 8
	finds '--since 4: not sequences up to 4' 0 "4 0 0 0 0 0 0" --since 4
	finds '--since 3 includes sequence 4' 1 "4 1 0 0 0 0 0" --since 3
}

test_wait() {
	eight
	send_all 1 2 3 4 5 6 7
	judge --json --wait 30 >"$dir/out" 2>/dev/null &
	pid=$!
	send_all 8
	sql "UPDATE outbox SET published_at = NOW(6)"
	wait $pid
	is '--wait waits for a message that comes late' $? 0
	eight
	send_all 1 2 3 4 5 6 7
	sql "UPDATE outbox SET published_at = NOW(6)"
	start=$(date +%s)
	finds '--wait ends when all are published' 1 "7 1 0 0 0 0 0" \
	    --wait 60
	[ $(($(date +%s) - start)) -lt 30 ]
	result '--wait ends early: less than 30 of 60 s' $? ''
	sql "UPDATE outbox SET published_at = NULL"
	finds "--wait ends at the deadline" 1 "7 1 0 0 0 0 0" --wait 1
}

stored() {
	db count --nats "$URL" --stream EVENTS |
	    sed 's/.* messages //'
}

# frozen DIRECTORY COMMAND...: once the command prints a number above 0, its
# server stands still for 1.5 s
frozen() {
	pid=$(cut -d' ' -f1 "$dir/$1/process")
	shift
	tries=100
	until [ "$("$@" 2>/dev/null || :)" -gt 0 ] 2>/dev/null ||
	    [ $((tries -= 1)) -eq 0 ]; do
		sleep 0.05
	done
	kill -STOP "$pid"
	sleep 1.5
	kill -CONT "$pid"
}

# pauses NAME: the output of plain has one of about that length
pauses() {
	ms=$(sed -n 's/.* longest_ms \([0-9]*\) .*/\1/p' "$dir/out")
	[ "${ms:-0}" -ge 1400 ] && [ "$ms" -lt 6000 ]
	result "$1" $? "$(cat "$dir/out")"
}

test_plain() {
	fresh
	sql "CREATE USER 'plain'@'127.0.0.1'; GRANT ALL ON app.*
	    TO 'plain'@'127.0.0.1'"
	db plain --seconds 5 >"$dir/out" &
	pid_plain=$!
	frozen db sql 'SELECT COUNT(*) FROM lab_plain'
	wait $pid_plain
	pauses 'plain: the longest pause between two commits'
	is 'plain: its rows are there' "$(sql 'SELECT COUNT(*) FROM lab_plain')" \
	    "$(sed 's/done \([0-9]*\) .*/\1/' "$dir/out")"
	port=$(sed -n 's/^PORT=//p' "$dir/db/env")
	"$lab" plain --host "127.0.0.1:1,127.0.0.1:$port" --user plain \
	    --database app --seconds 1 >"$dir/out"
	is 'plain: goes to the server of its list that is there' \
	    "$(sed 's/ .*//' "$dir/out") $(grep -c 'done [1-9]' "$dir/out")" \
	    'done 1'
	bus plain --subject events.plain --seconds 5 >"$dir/out" &
	pid_plain=$!
	frozen nats stored
	wait $pid_plain
	pauses 'plain: the longest pause between two messages'
}

test_produce() {
	fresh
	is 'produce prints its number' "$(db produce --events 300 --keys 7 \
	    --producers 3 --per-txn 4 --rollback 30)" "committed 300"
	is 'produce: events, rows and keys' "$(sql "SELECT COUNT(*),
	    COUNT(global_sequence), COUNT(DISTINCT stream_id) FROM events
	    LEFT JOIN outbox ON sequence = global_sequence")" \
	    "$(printf '300\t300\t7')"
	is '--bulk prints its number' \
	    "$(db produce --events 3000 --keys 50 --bulk \
	    --producers 2 --per-txn 1100 --rollback 20 --key-prefix bulk-)" \
	    "committed 3000"
	is 'produce --bulk: events and rows' "$(sql "SELECT COUNT(*),
	    COUNT(global_sequence) FROM events LEFT JOIN outbox
	    ON sequence = global_sequence WHERE stream_id LIKE 'bulk-%'")" \
	    "$(printf '3000\t3000')"
	is 'produce --bulk: labels as of the procedure' "$(sql "SELECT COUNT(*)
	    FROM outbox JOIN events ON sequence = global_sequence
	    WHERE partition_key <> CONCAT('p', IF(CRC32(stream_id) MOD 16 < 10,
	    '0', ''), CRC32(stream_id) MOD 16)")" 0
	is "streams are numbered without gaps" "$(sql "SELECT COUNT(*) FROM
	    (SELECT 1 FROM events GROUP BY stream_id
	    HAVING COUNT(*) <> MAX(stream_sequence)) AS t")" 0
	is "payloads are JSON of the wanted size" "$(sql "SELECT
	    MIN(LENGTH(event_data)), MAX(LENGTH(event_data)),
	    MIN(JSON_VALID(CONVERT(event_data USING utf8mb4)))
	    FROM events")" "$(printf '200\t200\t1')"
	is 'some events have metadata' "$(sql "SELECT COUNT(*) > 0 FROM events
	    WHERE metadata IS NOT NULL")" 1
	db produce --events 6 --key-prefix types- --type a.x,b.y,b.y >/dev/null
	is 'produce: types in turns' "$(sql "SELECT GROUP_CONCAT(event_type
	    ORDER BY sequence) FROM events WHERE stream_id LIKE 'types-%'")" \
	    a.x,b.y,b.y,a.x,b.y,b.y
	db produce --events 5 --same --key-prefix same- >/dev/null
	is '--same: equal payloads' "$(sql "SELECT COUNT(*), COUNT(DISTINCT
	    event_data) FROM events WHERE stream_id LIKE 'same-%'")" \
	    "$(printf '5\t1')"
	sql "DELETE outbox, events FROM outbox JOIN events
	    ON sequence = global_sequence WHERE stream_id LIKE 'same-%'
	    OR stream_id LIKE 'types-%'"
	is 'count prints all numbers in one line' \
	    "$(db count --nats "$URL" --stream EVENTS)" \
	    "committed 3300 waiting 3300 messages 0"
}

# astray PREFIX KEYS COUNT: how many rows of the keys whose number KEYS is true
# of (an expression of n) have another label than COUNT (of n as well) gives
astray() {
	sql "SELECT COUNT(*) FROM (SELECT partition_key, stream_id,
	    CAST(SUBSTRING(stream_id, ${#1} + 1) AS UNSIGNED) AS n
	    FROM outbox JOIN events ON sequence = global_sequence
	    WHERE stream_id LIKE '$1%') AS t WHERE ($2) AND NOT
	    partition_key <=> IF(($3) = 1, NULL, CONCAT('p',
	    IF(CRC32(stream_id) MOD ($3) < 10, '0', ''),
	    CRC32(stream_id) MOD ($3)))"
}

test_kinds() {
	fresh
	sql "UPDATE outbox_settings SET partition_count = 64"
	is "kinds of producers take turns" "$(db produce --events 600 \
	    --keys 30 --producers 6 --per-txn 3 --rollback 20 --key-prefix by \
	    --producers-by procedure,fixed:16,late:0)" "committed 600"
	is '--producers-by: each key has labels of one kind' \
	    "$(astray by 1 'IF(n MOD 3 = 1, 16, 64)')" 0
	is '--producers-by: all kinds, all rows' "$(sql "SELECT
	    COUNT(*), COUNT(global_sequence),
	    COUNT(DISTINCT SUBSTRING(stream_id, 3) MOD 3)
	    FROM events LEFT JOIN outbox ON sequence = global_sequence")" \
	    "$(printf '600\t600\t3')"
	db produce --events 400 --keys 40 --producers 2 --key-prefix wide \
	    --producers-by fixed:1,fixed:1000 >/dev/null
	is "with one partition there is no label, with many a longer one" \
	    "$(astray wide 1 'IF(n MOD 2, 1000, 1)') $(sql "SELECT
	    COUNT(DISTINCT LENGTH(partition_key)) > 1 FROM outbox")" "0 1"
	db produce --bulk --events 400 --keys 40 --producers 2 \
	    --producers-by fixed:8,late:0 --key-prefix many >/dev/null
	is '--producers-by with --bulk: labels of each kind' \
	    "$(astray many 1 'IF(n MOD 2, 64, 8)')" 0
	for list in fixed fixed:0 late:x procedure:1 other '' \
	    'procedure --bulk' 'fixed:1,fixed:2 --keys 1'; do
		# shellcheck disable=SC2086
		db produce --producers 2 --producers-by $list >/dev/null 2>&1
		is "--producers-by $list: exit status 2" $? 2
	done
	sql "UPDATE outbox_settings SET partition_count = 16"
}

# has_events PREFIX COUNT: the keys of this prefix have so many events
has_events() {
	[ "$(sql "SELECT COUNT(*) FROM events
	    WHERE stream_id LIKE '$1%'")" -ge "$2" ]
}
committed() { wait_for 20 has_events "$@"; }

# The producer of key 0 reads the count before each transaction, that of key 1
# has read it once.
test_late() {
	fresh
	"$lab" produce --socket "$SOCKET" --database app --forever --rate 100 \
	    --keys 2 --producers 2 --key-prefix late \
	    --producers-by late:0,late:86400 >"$dir/out" &
	pid=$!
	committed late 10
	is 'late: at first one count for all' "$(astray late 1 16)" 0
	sql "UPDATE outbox_settings SET partition_count = 9973"
	more=$(sql "SELECT COUNT(*) FROM events")
	committed late $((more + 20))
	kill -TERM $pid
	wait $pid
	is 'late:0 learns of another count, late:86400 does not' \
	    "$(sql "SELECT stream_id, COUNT(DISTINCT partition_key) FROM outbox
	    JOIN events ON sequence = global_sequence GROUP BY 1 ORDER BY 1" |
	    tr '\n\t' '  ')$(astray late 'n = 1' 16)" "late0 2 late1 1 0"
	# late:1 reads the count at random moments, at least each second.
	"$lab" produce --socket "$SOCKET" --database app --forever --rate 100 \
	    --keys 4 --producers 4 --key-prefix soon --producers-by late:1 \
	    >"$dir/out" &
	pid=$!
	committed soon 20
	last=$(sql "UPDATE outbox_settings SET partition_count = 16; DO SLEEP(2);
	    SELECT MAX(sequence) FROM events")
	more=$(sql "SELECT COUNT(*) FROM events WHERE stream_id LIKE 'soon%'")
	committed soon $((more + 20))
	kill -TERM $pid
	wait $pid
	sql "DELETE FROM outbox WHERE global_sequence <= $last"
	is 'late:1 has learned of another count within two seconds' \
	    "$(astray soon 1 16) $(astray soon 1 9973)" \
	    "0 $(sql "SELECT COUNT(*) FROM outbox")"
}

# While a transaction locks the row of settings, as a change of the count does.
test_no_lock() {
	fresh
	mkfifo "$dir/fifo"
	"$sandbox" sql "$dir/db" -n -N app <"$dir/fifo" >"$dir/out" &
	pid=$!
	exec 3>"$dir/fifo"
	echo "START TRANSACTION; SELECT 'held' FROM outbox_settings FOR UPDATE;" >&3
	wait_for 10 grep -q held "$dir/out"
	out=$(timeout 20 "$lab" produce --socket "$SOCKET" --database app \
	    --events 90 --keys 9 --producers 3 --producers-by \
	    late:0,late:5,fixed:16)
	is 'a locked settings row does not block plain INSERTs' "$out" \
	    "committed 90"
	out=$(timeout 20 "$lab" produce --socket "$SOCKET" --database app \
	    --events 90 --bulk)
	is 'a locked settings row does not block --bulk' "$out" "committed 90"
	exec 3>&-
	wait $pid
	rm "$dir/fifo"
}

# On the tables of another application, without ours.
test_pillar() {
	"$sandbox" sql "$dir/db" -e "CREATE DATABASE pillar
	    CHARACTER SET utf8mb4 COLLATE utf8mb4_unicode_ci"
	"$sandbox" sql "$dir/db" pillar <"$top/tests/lib/pillar.sql"
	echo 48 >"$dir/count"
	is '--count-file with Pillar' "$("$lab" produce --socket "$SOCKET" \
	    --database pillar --events 300 --keys 30 --producers 3 \
	    --count-file "$dir/count" --producers-by fixed:16,late:0,late)" \
	    "committed 300"
	is '--count-file: the right labels' "$(sql "SELECT COUNT(*),
	    SUM(partition_key <=> CONCAT('p', LPAD(CRC32(stream_id) MOD
	    IF(SUBSTRING(stream_id, 2) MOD 3 = 0, 16, 48), 2, '0')))
	    FROM pillar.outbox JOIN pillar.events
	    ON sequence = global_sequence")" "$(printf '300\t300')"
	"$lab" produce --socket "$SOCKET" --database pillar --events 3 \
	    --producers-by late --count-file "$dir/none" >/dev/null 2>&1
	is '--count-file that does not exist: exit status 1' $? 1
	"$lab" produce --socket "$SOCKET" --database pillar --events 3 \
	    --producers-by late >/dev/null 2>&1
	is 'no --count-file and no settings table: exit status 1' $? 1
}

test_stopping() {
	# Not by a function: the signal must not end a shell in between.
	"$lab" produce --socket "$SOCKET" --database app --forever \
	    --rate 200 --key-prefix f >"$dir/out" &
	pid=$!
	committed f 20
	kill -TERM $pid
	wait $pid
	is 'produce --forever: exit status 0 at SIGTERM' $? 0
	is '--forever prints its number' \
	    "$(cat "$dir/out")" "committed $(sql "SELECT
	    COUNT(*) FROM events WHERE stream_id LIKE 'f%'")"
	sql "RENAME TABLE outbox TO aside"
	db produce --events 3 >/dev/null 2>&1
	is "produce that cannot commit: exit status 1" $? 1
	sql "RENAME TABLE aside TO outbox"
	db produce --events x >/dev/null 2>&1
	is "--events x: exit status 2" $? 2
	db produce --json >/dev/null 2>&1
	is "an option of another command: exit status 2" $? 2
}

test_stream() {
	bus stream --stream T --subjects t.a,t.b --max-msgs 1 --discard-new \
	    --max-msg-size 100 --memory
	is 'publish prints stream, sequence and duplicate' \
	    "$(bus publish --subject t.b --id i --header X=y=z --data hi)" \
	    "stream=T seq=1 duplicate=no"
	bus publish --subject t.a --data hi >/dev/null 2>&1
	is 'publish to a full stream: exit status 1' $? 1
	is 'show prints all of a message' "$(bus show --stream T --seq 1)" \
	    "Subject: t.b
Sequence: 1
Nats-Msg-Id: i
X: y=z

hi"
	bus purge --stream T
	bus publish --subject t.a --data "$(printf '%0200d' 0)" \
	    >/dev/null 2>&1
	is 'publish above --max-msg-size: exit status 1' $? 1
	bus publish --subject t.a --header X=y --data hi >/dev/null
	bus stream --stream C --subjects 'C.>'
	bus purge --stream T --into C
	bus show --stream T --last >/dev/null 2>&1
	is 'purge --into copies all messages' "$? $(bus show --stream C --last |
	    sed -n '1p;/^X/p' | tr '\n' ' ')" "1 Subject: C.t.a X: y "
	bus stream --stream C --delete
	bus stream --stream T --delete && bus stream --stream T --delete
	is 'stream --delete twice: exit status 0' $? 0
	bus show --stream T --last >/dev/null 2>&1
	is 'show of a deleted stream: exit status 1' $? 1
}

# topic COMMAND [OPTION...]: of the lab, with the topic that all events go to
topic() {
	cmd=$1
	shift
	"$lab" "$cmd" --kafka "$broker" --topic events.test "$@"
}

# record SEQUENCE [ID [KEY [PARTITION]]]: a0 in partition 1, b0 in 0
record() {
	key=a0
	[ $(($1 % 2)) -eq 1 ] || key=b0
	topic publish --id "${2:-r$round-$1}" --header "Outbox-Sequence=$1" \
	    --header "Outbox-Key=${3:-$key}" --key "${3:-$key}" \
	    --header Outbox-Type=test.made --partition "${4:-$(($1 % 2))}" \
	    --data "{\"key\": \"$key\", \"i\": $((($1 + 1) / 2))}"
}

# eight_records [SEQUENCE...]: eight events, and a new topic with these
eight_records() {
	eight
	for name in events.test gone.1.events.test gone.2.events.test; do
		"$lab" topic --kafka "$broker" --topic $name --delete
	done
	topic topic --partitions 2
	for seq; do record "$seq"; done
}

test_records() {
	eight_records 1 2 3 4 5 6 7 8
	finds 'Kafka: complete topics: no fault' 0 "8 0 0 0 0 0 0"
	is 'count has the number of records' "$(db count --kafka "$broker" \
	    --topic events.test | sed 's/.* messages //')" 8
	record 3 other
	finds 'Kafka: a record with two ids: a duplicate' 1 "8 0 1 0 0 0 0"
	says "is named" 'sequence 3 (events.test/1 at 4, id other)'
	record 2
	finds 'Kafka: the same record twice: a duplicate' 1 "8 0 2 0 0 0 0"
	eight_records 2 4 6 8 1 3 7
	finds 'Kafka: a missing record is lost' 1 "7 1 0 0 0 0 0"
	record 5
	finds 'Kafka: a record that comes late is out of order' \
	    1 "8 0 0 1 0 0 0"
	says "is named" 'key a0: sequence 5 after 7 (events.test/1 at 3)'
	eight_records 1 3 5 7 2 4 6
	record 8 '' '' 1
	finds 'Kafka: a key in two partitions has no order' 1 "8 0 0 1 0 0 0"
	says "is named" 'key b0: is in events.test/1 at 4, and in partition 0'
	finds '--moved: no fault' 0 "8 0 0 0 0 0 0" --moved
	topic publish --data hello
	record 6 odd b1
	finds 'Kafka: a foreign record, and one with another key' \
	    1 "8 0 0 0 1 0 0 1" --moved
}

# What was in a topic before it is made anew counts, and may be sent again.
test_recreated() {
	eight_records 1 2 3 4
	topic recreate --into gone.1
	is 'a topic that is made anew has no records' "$(topic list |
	    grep -vc '^gone')" 0
	for seq in 3 5 6; do record $seq; done
	topic recreate --into gone.2
	for seq in 1 2 3 7 8; do record $seq; done
	finds 'Kafka: what was lost with topics counts, or is sent again' \
	    0 "8 0 0 0 0 0 0"
	is 'and is counted' "$(judge --json | grep -o '"gone.*again":[0-9]*')" \
	    '"gone":7,"sent_again":4'
	record 3
	record 7
	finds 'Kafka: sent again too often, or without a loss' 1 "8 0 2 0 0 0 0"
	eight_records 1 2 3 6
	topic recreate --into gone.1
	for seq in 5 7 4; do record $seq; done
	finds 'Kafka: order goes on in a topic that is made anew' \
	    1 "7 1 0 1 0 0 0"
}

test_topic() {
	"$lab" topic --kafka "$broker" --topic events.more --partitions 2
	"$lab" topic --kafka "$broker" --topic events.more --partitions 3 \
	    --config max.message.bytes=1000
	"$lab" publish --kafka "$broker" --topic events.more --partition 2 \
	    --id i --header X=y=z --key k --data hi
	"$lab" publish --kafka "$broker" --topic events.more \
	    --data "$(printf '%01000d' 0)" >"$dir/out" 2>&1
	is 'publish above max.message.bytes: exit status 1' $? 1
	is 'show prints all of a record' "$("$lab" show --kafka "$broker" \
	    --topic events.more --partition 2 --seq 0 | sed '/^Time: /d')" \
	    "Topic: events.more
Partition: 2
Offset: 0
Key: k
Outbox-Id: i
X: y=z

hi"
	is 'topic --delete twice: exit status 0' "$(
	    "$lab" topic --kafka "$broker" --topic events.more --delete &&
	    "$lab" topic --kafka "$broker" --topic events.more --delete
	    echo $?)" 0
}

# Where there is Java, and the libraries can be had.
test_kafka() {
	"$sandbox" kafka-tree >"$dir/out" 2>&1 &&
	    "$sandbox" start kafka "$dir/kafka" >"$dir/out" 2>&1 || {
		echo "# no Kafka: $(tail -n 1 "$dir/out")"
		return
	}
	broker=$(. "$dir/kafka/env" && echo "$HOST:$PORT")
	test_records
	test_recreated
	test_topic
}

run() {
	# shellcheck source=/dev/null
	. "$dir/db/env" && . "$dir/nats/env"
	"$sandbox" sql "$dir/db" -e "CREATE DATABASE app"
	"$sandbox" sql "$dir/db" app <"$top/sql/schema.sql"
	sql "UPDATE outbox_settings SET partition_count = 16"
	test_good
	test_loss
	test_duplicates
	test_order
	test_recovered
	test_lost_in_doubt
	test_foreign
	test_damage
	test_phantoms
	test_phantom_kinds
	test_others
	test_binary
	test_dead
	test_since
	test_wait
	test_plain
	test_produce
	test_kinds
	test_late
	test_no_lock
	test_pillar
	test_stopping
	test_stream
	test_kafka
}

dir=$(mktemp -d "${TMPDIR:-/tmp}/labt.XXXXXX") || exit 99
trap '"$sandbox" stop "$dir/db" "$dir/nats" "$dir/kafka" 2>/dev/null; rm -rf "$dir"' EXIT
trap 'exit 1' HUP INT PIPE TERM

out=$({ "$sandbox" start mariadb "$dir/db" &&
    "$sandbox" start nats "$dir/nats"; } 2>&1)
case $? in
0)	run ;;
77)	echo "1..0 # SKIP $out"
	exit 0 ;;
*)	result "the servers start" 1 "$out" ;;
esac
results
