#!/usr/bin/env bash
# An event type that no stream takes while others are sent: it is told once, and
# flows again as soon as a stream takes it
. "${srcdir:-$(dirname "$0")/../..}/tests/lib/lib.sh"

start_servers
LOG=$DIR/log

# streams SUBJECTS: the stream takes these from now on
streams() { "$LAB" stream --nats "$URL" --name EVENTS --subjects "$1" \
    --dup-window 600; }
here() { "$OUTBOXCTL" -c "$CONF" --json status | jq -rc ".this_host$1"; }
is_here() { [ "$(here "$1")" = "$2" ]; }
blocked() { sql "SELECT COUNT(*) FROM outbox_blocked_keys
    WHERE reason = 'refused' AND order_key LIKE '$1%'"; }
are_blocked() { [ "$(blocked "$1")" -eq "$2" ]; }
told() { grep -c "no stream takes subject .*$1" "$LOG"; }

# flows NAME KEYS: all rows of these keys are sent soon: the next probe is due
# within 2 s, and what it held follows.  An idle machine takes 1 to 3 s.
flows() {
	local start
	start=$(now_ms)
	within 20 "$1: all is sent" is_waiting "$2" 0
	say "it took $(($(now_ms) - start)) ms"
}

streams events.order.paid
WORKERS=2 write_conf
start_fleet
enqueue_keys ship 40 order.shipped
enqueue_keys paid 40 order.paid
within 10 'a type that no stream takes: the log names subject and type' has_line \
    "$LOG" 'warn master.*no stream takes subject "events.order.shipped" \(type order.shipped\): add it to a stream'
within 10 'the other type is sent' is_waiting "LIKE 'paid%'" 0
within 10 'outboxctl shows it, of both workers' \
    is_here '.refused | map([.type, .subject, .class, .workers])' \
    '[["order.shipped","events.order.shipped","no_stream",2]]'
like "$(here '.refused[0] | "\(.why) \(.since)"')" \
    '^no stream takes subject "events.order.shipped" .* 2[0-9-]+T[0-9:]+Z$' \
    'outboxctl shows why and since when'
is "$(here '| [.workers[] | [.paused, .state, .types_refused]] | unique')" \
    '[[null,"running",1]]' 'no worker is paused'
within 10 'its keys are blocked as refused' are_blocked ship 40
is "$(blocked paid)" 0 'keys of the other type are not'
enqueue_keys more 200 order.paid
drains_others() { is_waiting "LIKE 'more%'" 0; }
within 10 'the other type is sent still' drains_others
kill -HUP "$MASTER"
within 15 'a reload during the outage' is_here '.reload.renewed_at != null' true
within 10 'the new workers meet it as well' is_here '.refused[0].workers' 2
is "$(told order.shipped)" 1 'the log tells it once, of both workers and the new'
is "$(sql 'SELECT MAX(attempts) FROM outbox')" 0 'no attempt is counted'

streams 'events.>'
flows 'a stream takes it again' "LIKE 'ship%'"
within 10 'outboxctl shows it no more' is_here .refused '[]'
within 10 'no key is blocked any more' are_blocked '' 0
within 10 'the log tells that it is over' \
    has_line "$LOG" 'order.shipped\) is no longer refused, after'
check_stream 'the stream is complete and in order, nothing twice' --wait 10

# Many keys: they are held in memory, and all are sent within the same time.
streams events.order.paid
for key in {a..e}; do
	enqueue_keys "many$key" 300 order.shipped
done
within 10 'many keys: the log tells it again' eval '[ "$(told shipped)" -eq 2 ]'
within 60 'many keys: all are blocked' are_blocked many 1500
streams 'events.>'
flows 'many keys, and a stream takes them again' "LIKE 'many%'"
check_stream 'many keys: complete and in order, nothing twice' --wait 10

# Its messages are discarded: nothing waits that could be refused.
streams events.order.paid
enqueue_keys gone 3 order.gone
enqueue_keys flow 20 order.paid
within 10 'another type is refused' is_here '.refused[0].type' order.gone
# shellcheck disable=SC2046
"$OUTBOXCTL" -c "$CONF" messages discard --wait 5 $(sql "SELECT
    global_sequence FROM outbox WHERE published_at IS NULL") > "$DIR/discarded"
within 12 'its messages are discarded: outboxctl shows it no more' \
    is_here .refused '[]'

# No stream takes any of many types: publishing pauses.
within 10 'the other messages are sent' is_drained
STREAM='' SUBJECT='nowhere.{event_type}' WORKERS=2 write_conf
kill -HUP "$MASTER"
for i in {1..20}; do
	enqueue_keys "none$i." 2 "none.$i"
done
within 15 'no stream takes anything: the workers are paused' \
    is_here '| [.workers[].paused.class]' '["no_stream","no_stream"]'
pause 6000
has_line "$LOG" 'publishing paused.*subject "nowhere.none.[0-9]+"'
ok $? 'the log names a subject'
lines=$(grep -c 'publishing paused' "$LOG")
check "it does not tell each subject of each worker ($lines lines in 6 s)" \
    [ "$lines" -le 5 ]

# They are discarded, and no message is due: the pause is over.
for i in {1..40}; do
	event_row "later$i" 1 "'p$(printf %02d $((i % 16)))'" \
	    'NOW(6) + INTERVAL 1 HOUR' none.later
done > "$DIR/later.sql"
sql "START TRANSACTION; $(cat "$DIR/later.sql") COMMIT"
# shellcheck disable=SC2046
"$OUTBOXCTL" -c "$CONF" messages discard --wait 5 $(sql "SELECT
    global_sequence FROM outbox WHERE published_at IS NULL
    AND available_at < NOW(6) + INTERVAL 30 MINUTE") > "$DIR/discarded"
is "$(pending)" 40 'the messages are discarded, but those for later'
within 10 'no worker is shown as paused any more' \
    is_here '| [.workers[] | [.paused, .state]] | unique' '[[null,"running"]]'

# An audit that the database refuses, and a column that goes away, stop nobody.
sql "DELETE FROM outbox;
    CREATE TRIGGER obstacle BEFORE UPDATE ON outbox_streams FOR EACH ROW
	SIGNAL SQLSTATE '45000' SET MESSAGE_TEXT = 'not this'"
WORKERS=2 write_conf
kill -HUP "$MASTER"
enqueue_keys audit 20 order.paid
within 20 'the audit of the stream is refused: messages go' is_drained
within 10 'and the log tells it' has_line "$LOG" \
    'the stream is not checked for lost messages.*not this'
sql "DROP TRIGGER obstacle; ALTER TABLE outbox DROP COLUMN message_hash"
enqueue_keys gone 20 order.paid
within 20 'a column is gone: messages go' is_drained
has_line "$LOG" 'tables have changed and are read again.*message_hash'
ok $? 'and the log tells why the tables are read again'

# So does one that waits for a lock, as it seems: of a worker that has audited
# before at once, of one that connects after half a minute.
if [ "${OUTBOX_CHECK:-full}" != short ]; then
	wait_for 15 is_here '| [.workers[].state] | unique' '["running"]'
	sql "CREATE TRIGGER obstacle BEFORE UPDATE ON outbox_streams
	    FOR EACH ROW SIGNAL SQLSTATE 'HY000' SET MYSQL_ERRNO = 1205,
	    MESSAGE_TEXT = 'Lock wait timeout exceeded'"
	pause 11000
	enqueue_keys locked 20 order.paid
	within 5 'the audit of a stream waits for a lock: messages go' \
	    is_drained
	kill -HUP "$MASTER"
	enqueue_keys anew 20 order.paid
	within 50 'also of workers that connect, after a while' is_drained
	within 5 'and the log tells it' has_line "$LOG" \
	    'the stream is not checked for lost messages.*Lock wait'
	sql 'DROP TRIGGER obstacle'
fi

stops 'the master stops with status 0'
done_testing
