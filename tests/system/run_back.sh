#!/usr/bin/env bash
# A database that goes back, as after a restored backup: sequences are used
# again, and new events under old sequences are sent
. "${srcdir:-$(dirname "$0")/../..}/tests/lib/ctl.sh"

start_servers

# go_back SEQUENCE TAIL: delete all later events, and use their sequences again;
# the stream was compared up to TAIL
go_back() {
	sql "DELETE FROM outbox WHERE global_sequence > $1;
	    DELETE FROM events WHERE sequence > $1;
	    ALTER TABLE events AUTO_INCREMENT = $(($1 + 1));
	    UPDATE outbox_streams SET tail_sequence = $2"
}

# Equal type and payload: the key alone tells these events apart.
WORKERS=1 write_conf
start_fleet
enqueue_keys old- 10 order.paid "'{}'"
wait_for 10 is_drained
is "$(stored)" 10 'ten events are published'
matches '^ok +problems: none' 'doctor: no phantoms' doctor
stop_master "$MASTER"
go_back 5 0
enqueue_keys new- 5 order.paid "'{}'"
start_master
wait_for 10 is_drained
within 5 'events with other keys under the same sequences are published' \
    is_stored 15
like "$(cat "$LOG")" 'error .*database went back in time: 5 messages .*sequences 6 to 10' \
    'the log names the phantoms after the start'
ctl status
is $RC 1 'status with phantoms: exit status 1'
like "$OUT" '^! critical: stream EVENTS: 5 phantoms' 'status names the phantoms'
shows '.streams[0] | [.phantoms, .phantom_first, .phantom_last] | @csv' 5,6,10 \
    'status --json has their number and sequences' status --json
matches 'fail +phantoms: stream EVENTS: 5 phantoms, .* 6 to 10: restore' \
    'doctor says what phantoms are' doctor
ctl phantoms forget --dry-run
is "$OUT" '5 phantoms would be forgotten' \
    'phantoms forget --dry-run: the number of phantoms'
ctl status --json
shows '.streams[0].phantoms' 5 'phantoms forget --dry-run changes nothing'
as_operator
ctl -c "$OP" phantoms forget --yes
is "$RC $OUT" '0 5 phantoms forgotten' 'phantoms forget: status 0, number'
ctl status --json
shows '.streams[0].phantoms' 0 'status after phantoms forget: none'
is "$(sql "SELECT changed FROM outbox_audit WHERE command LIKE 'phantoms%'")" 1 \
    'phantoms forget is in the audit'
stop_master "$MASTER"

# Rows that are in doubt are looked up in the stream, where messages of other
# events have their sequences.
window 1
go_back 5 15
enqueue_keys newer- 5 order.sent "'{\"a\": 1}'"
sql 'UPDATE outbox SET in_doubt_since = NOW(6) - INTERVAL 1 HOUR
    WHERE published_at IS NULL'
CLAIM_TTL=10 TIMEOUT_MS=1000 write_conf
start_master
wait_for 10 is_drained
within 5 'a message of another event does not count as published' is_stored 20
rows_are 5 'outbox WHERE ack_sequence > 15' 'each row has its own sequence'
stop_master "$MASTER"

done_testing
