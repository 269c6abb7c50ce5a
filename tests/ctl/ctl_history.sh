#!/usr/bin/env bash
# the history in outboxctl messages show and dead show
. "${srcdir:-$(dirname "$0")/../..}/tests/lib/ctl.sh"

start_servers
write_conf
sql "INSERT INTO outbox_workers (id, heartbeat_until)
    VALUES ('host:01:0123456789abcdef', NOW(6) + INTERVAL 1 HOUR)"

# at SECONDS: a time as SQL, with the date on which all this happened
at() { printf "TIMESTAMP '2026-01-31 12:00:00' + INTERVAL %d SECOND" "$1"; }
# told [COMMAND]: the history of $SEQ, its times as seconds
told() {
	ctl --json "${@:-messages}" show "$SEQ"
	field '.history[] | "\(.at // "-" | sub(".*T12:00:(?<s>..).*"; "\(.s)"))
	\(.what)" | sub("\\s+"; " ")'
}
put() {
	put_row "$1" 1 ok "$2"
	sql "UPDATE events SET occurred_at = $(at 1) WHERE sequence = $SEQ"
}

put a "created_at = $(at 2)"
is "$(told)" '01 its event occurred
02 its row was made' 'a new message'
put b "created_at = $(at 2), attempts = 3, last_error = 'no answer',
    available_at = TIMESTAMP '2037-01-31 12:00:09'"
sql "INSERT INTO outbox_blocked_keys (first_sequence, partition_key, order_key,
    reason, since, head_sequence) VALUES ($SEQ, 'p01', 'b', 'parked',
    $(at 3), $SEQ)"
is "$(told)" "01 its event occurred
02 its row was made
- 3 attempts failed, the last one with: no answer
03 its key was parked, by message $SEQ
09 to be sent from this time on" 'one that failed, and will be tried again'
put c "created_at = $(at 2), claim_token = '0123456789abcdef-7',
    available_at = NOW(6) + INTERVAL 1 HOUR, in_doubt_since = $(at 4)"
is "$(told)" '01 its event occurred
02 its row was made
04 in doubt: it may be in the stream
- claimed by host:01:0123456789abcdef' 'one that is being sent'
put d "created_at = $(at 0), published_at = $(at 8), ack_sequence = 4711,
    replay_no = 2, attempts = 1"
is "$(told)" '00 its row was made
01 its event occurred
- 1 attempt failed
- sent again on purpose, 2 times
08 delivered, with sequence 4711 in the stream' \
    'a delivered one, whose row is older than its event'
put e ''
sql "DELETE FROM outbox WHERE global_sequence = $SEQ;
    INSERT INTO outbox_dead_letters (global_sequence, partition_key, order_key,
	event_type, attempts, reason, last_error, created_at, died_at)
	VALUES ($SEQ, 'p01', 'e', 'ok', 25, 'attempts', 'no ''way''\n\0',
	$(at 2), $(at 30))"
dead=$(told dead)
like "$dead" "^01 its event occurred
02 its row was made
- 25 attempts failed, the last one with: .*
30 given up: a dead letter \(attempts\)$" 'a dead letter'
is "$(told)" "$dead" 'messages show has the same'
sql "DELETE FROM events WHERE sequence = $SEQ"
is "$(told dead | head -1)" '02 its row was made' 'and without its event'
ctl messages show "$((SEQ - 1))"
like "$OUT" 'history +2026-01-31T12:00:00.000000Z its row was made; .*delivered' \
    'without --json: one text'
put f ''
sql "DELETE FROM outbox WHERE global_sequence = $SEQ"
is "$(told)" '01 its event occurred' 'a message without a row'
done_testing
