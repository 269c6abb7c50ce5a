#!/usr/bin/env bash
# Bad input and servers away: one clear line each, no crash, nothing lost
. "${srcdir:-$(dirname "$0")/../..}/tests/lib/lib.sh"

start_servers
WORKERS=1

# once CONF...: run one tick; sets RC and ERR
once() {
	"$OUTBOX_MASTER" -c "$CONF" --once --json > "$DIR/once" 2> "$DIR/err"
	RC=$?
	ERR=$(cat "$DIR/err")
}

# fails REGEX NAME: one tick fails, with exactly one line about it
fails() {
	once
	is "$RC" 1 "$2: exit status 1"
	like "$ERR" "$1" "$2: the log says what to do"
	is "$(printf '%s\n' "$ERR" | grep -cv ' info ')" 1 "$2: one line of log"
}

# The configuration.
"$OUTBOX_MASTER" -c "$DIR/none.yml" > "$DIR/err" 2>&1
is $? 78 'a configuration that does not exist: exit status 78'
like "$(cat "$DIR/err")" 'none.yml: No such file' \
    'a configuration that does not exist: the error names it'

# The database.
OUTBOX_PW=wrong
write_conf
fails 'Access denied for user' 'wrong password'
OUTBOX_PW=relay-secret
sed 's/database: app/database: nowhere/' "$CONF" > "$DIR/c" && mv "$DIR/c" "$CONF"
fails '(Access denied|Unknown database)' 'wrong database'
unset OUTBOX_PW
write_conf
once
is "$RC" 78 'no password: exit status 78'
like "$ERR" 'mysql.password_env: environment variable OUTBOX_PW is not set' \
    'no password: the error says so'
export OUTBOX_PW=relay-secret

sql 'RENAME TABLE outbox TO outbox_gone'
fails 'table app.outbox is missing.*outboxctl setup --no-event' 'missing table'
sql 'RENAME TABLE outbox_gone TO outbox;
    ALTER TABLE outbox CHANGE claim_token token VARCHAR(64)'
fails 'column outbox.claim_token is missing' 'missing column'
sql 'ALTER TABLE outbox CHANGE token claim_token VARCHAR(64)'
sql 'UPDATE outbox_settings SET schema_version = 99'
fails 'schema version 99 is newer' 'newer schema'
sql 'UPDATE outbox_settings SET schema_version = 2'
sql 'SET GLOBAL binlog_format = STATEMENT'
fails 'binlog_format=STATEMENT.*set it to ROW or MIXED' 'binlog_format'
sql 'SET GLOBAL binlog_format = ROW; SET GLOBAL read_only = 1'
fails 'the server is read-only' 'read-only server'
sql 'SET GLOBAL read_only = 0'

once
is "$RC" 0 'after these faults: exit status 0'
sql 'DELETE FROM outbox_partitions'
once
rows_are 16 outbox_partitions 'missing lease rows are made'

# The broker.
URL=nats://127.0.0.1:1 write_conf
fails 'nats nats://127.0.0.1:1: ' 'broker away'
write_conf
attempts() { sql 'SELECT GROUP_CONCAT(attempts) FROM outbox
    WHERE published_at IS NULL'; }
SUBJECT='nowhere.{event_type}' write_conf
fails 'stream EVENTS: has no subject that matches nats.subject' \
    'stream and subject do not fit'
STREAM='' SUBJECT='nowhere.{event_type}' write_conf
call_enqueue "'a', NULL, 'first', 1, NULL, NULL, 'x'"
fails 'no stream takes subject "nowhere.first" .type first.: add it' \
    'no stream for the subject'
is "$(attempts)" 0 'no stream for the subject: no attempt is counted'
call_enqueue "'b', NULL, 'second', 1, NULL, NULL, 'x'"
STREAM=OTHER write_conf
fails 'stream OTHER: cannot be used: stream not found' 'no such stream'
"$LAB" stream --nats "$URL" --name OTHER --subjects 'other.>'
fails 'stream OTHER: has no subject that matches' 'another stream than expected'
"$LAB" stream --nats "$URL" --name OTHER --subjects 'other.>' --delete
is "$(attempts)" 0,0 'another stream than expected: no attempt is counted'
write_conf
wait_for 3 is_sql 'SELECT COUNT(*) FROM outbox WHERE published_at IS NULL
    AND available_at > NOW(6)' 0
once
is "$RC" 0 'after the faults of the broker: exit status 0'

# A subject without a stream must not keep the route down for the others.
SUBJECT='{event_type}' write_conf
start_master
for i in {1..40}; do
	call_enqueue "'u$i', NULL, 'uncovered', 1, NULL, NULL, 'x'"
done
within 10 'a subject without a stream: the log says so' \
    has_line "$LOG" 'master.*no stream takes subject "uncovered"'
call_enqueue "'v', NULL, 'events.covered', 1, NULL, NULL, 'x'"
wait_for 15 is_sql "SELECT published_at IS NOT NULL FROM outbox
    WHERE global_sequence = $(sql 'SELECT MAX(sequence) FROM events')" 1
ok $? '40 refused heads do not delay another key'
is "$(sql 'SELECT MAX(attempts) FROM outbox')" 0 \
    'a subject without a stream: no attempt is counted'
write_conf
kill -HUP "$MASTER"
drains 15 'a reload with the right subject: all rows are sent'
stop_master "$MASTER"
: > "$LOG"

# A stream that is unsafe: one warning, with the remedy.
"$LAB" stream --nats "$URL" --name EVENTS --subjects 'events.>' --dup-window 60
WORKERS=2 write_conf
start_master
within 5 'a short duplicate window: the log warns' \
    has_line "$LOG" 'duplicate window of 1 min.*make the window longer'
wait_for 5 all_owned
is "$(grep -c 'duplicate window' "$LOG")" 1 \
    'a short duplicate window: one warning for two workers'
stop_master "$MASTER"
: > "$LOG"
"$LAB" stream --nats "$URL" --name EVENTS --subjects 'events.>' --dup-window 600
WORKERS=1 write_conf

# Messages that can never be sent: dead, and the rest goes on.
last() { sql 'SELECT MAX(sequence) FROM events'; }

# poison REGEX NAME ARGUMENTS: dies, and a later one of its key goes on
poison() {
	call_enqueue "'poison', NULL, $3"
	local seq
	seq=$(last)
	call_enqueue "'poison', NULL, 'good', 1, NULL, NULL, 'after'"
	once
	is "$RC" 1 "$2: exit status 1"
	like "$(died "$seq")" "^message: $1" "$2: dead letter with the reason"
	is "$(sql "SELECT published_at IS NOT NULL FROM outbox
	    WHERE global_sequence = $(last)")" 1 \
	    "$2: the next one is sent"
}
poison 'subject .* is not legal.*blank' 'illegal subject' \
    "'two words', 1, NULL, NULL, 'x'"
poison 'subject .* is not legal.*wildcard' 'wildcard' \
    "'all.>', 1, NULL, NULL, 'x'"
poison 'header size exceeds maximum' 'more headers than a stream takes' \
    "'wide', 1, NULL, CONCAT('{\"a\":\"', REPEAT('x', 70000), '\"}'), 'x'"
poison 'metadata is not a JSON object' 'metadata of the wrong shape' \
    "'shape', 1, NULL, '[1,2]', 'x'"
# Perhaps the broker took more before this worker began: see run_metadata.sh.
call_enqueue "'long', NULL, 'big', 1, NULL, NULL, REPEAT('x', 1100000)"
once
like "$ERR" "more than this server's max_payload of 1048576" \
    'larger than the broker takes: it is told'
is "$(died "$(last)")" '' 'larger than the broker takes: it waits'
sql "DELETE FROM outbox WHERE global_sequence = $(last)"
call_enqueue "'lost', NULL, 'lost', 1, NULL, NULL, 'x'"
sql "DELETE FROM events WHERE sequence = $(last)"
gone=$(sql 'SELECT MAX(global_sequence) FROM outbox')
once
like "$ERR" 'points at an event that does not exist: insert it within 10 min' \
    'an outbox row without its event: it is told'
is "$(died "$gone")" '' 'an outbox row without its event: it waits'
sql "DELETE FROM outbox WHERE global_sequence = $gone"

# Odd but deliverable.
call_enqueue "'odd', NULL, 'odd', 1, NULL, '[]', CONCAT('a', CHAR(0), X'FF80')"
once
is "$RC" 0 'NUL and invalid UTF-8 in a payload, [] as metadata: exit status 0'
"$LAB" show --nats "$URL" --stream EVENTS --last > "$DIR/shown"
like "$(tail -c 5 "$DIR/shown" | head -c 4 | od -An -tx1)" '61 00 ff 80' \
    'NUL and invalid UTF-8 arrive as they are'

# Labels without leases.
sql "START TRANSACTION; $(event_row s1 1 NULL) $(event_row s2 1 "'zone-7'")
    $(event_row s3 1 "''") COMMIT"
once
like "$ERR" 'labels?.*no lease row.*created' 'a label without a lease is logged'
check 'rows with NULL, empty and unknown labels are sent' is_drained

# Servers that go and come back.
start_fleet
"$SANDBOX" kill "$DIR/nats" >/dev/null
produce --events 200 --keys 20 --payload 100
wait_for 5 has_line "$LOG" 'nats://.*'
lines=$(wc -l < "$LOG")
ok $? 'no broker: the log says so'
"$SANDBOX" restart "$DIR/nats" >/dev/null
drains 15 'no broker: all rows are sent when it is back'
check 'no broker: fewer than 10 lines of log' \
    [ $(($(wc -l < "$LOG") - lines)) -lt 10 ]
"$SANDBOX" kill "$DIR/db" >/dev/null
within 10 'no database: the log says so' \
    has_line "$LOG" '(connect|server has gone|Lost connection)'
is_gone "$MASTER"
is $? 1 'no database: the master stays'
"$SANDBOX" restart "$DIR/db" >/dev/null
produce --events 200 --keys 20 --payload 100
drains 20 'no database: all rows are sent when it is back'
is "$(sql 'SELECT COALESCE(MAX(attempts), 0) FROM outbox')" 0 \
    'servers away: no attempt is counted'
before=$(sql 'SELECT COUNT(*) FROM outbox_dead_letters')
is "$before" 4 'servers away: no further message is dead'

# A burst of nothing to do must not be a burst of statements.
# For a second after work more of it is expected.
wait_for 5 is_drained
wait_for 5 is_later $(($(now_ms) + 1500))
a=$(server_status Questions)
pause 3000
b=$(server_status Questions)
check "an idle worker sends fewer than 90 statements in 3 s ($((b - a)))" \
    [ $((b - a)) -lt 90 ]
stops 'the master stops with status 0'

done_testing
