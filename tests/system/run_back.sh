#!/usr/bin/env bash
# A database that goes back, as after a restored backup: numbers are given
# again, and what is new under an old number is sent
. "${srcdir:-$(dirname "$0")/../..}/tests/lib/ctl.sh"

start_servers

# enqueue KEY TYPE BODY FIRST LAST: an event a key, KEY and its number
enqueue() {
	local i
	for ((i = $4; i <= $5; i++)); do
		call_enqueue "'$1-$i', NULL, '$2', 1, NULL, NULL, '$3'"
	done
}

# go_back SEQUENCE TAIL: everything later is gone, and its numbers come again;
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
enqueue old order.paid '{}' 1 10
wait_for 10 is_drained
is "$(stored)" 10 'events are published'
stop_master "$MASTER"
ctl doctor
like "$OUT" 'ok +phantoms: ' 'no phantoms yet'
go_back 5 0
enqueue new order.paid '{}' 1 5
start_master
wait_for 10 is_drained
wait_for 5 is_stored 15
ok $? 'other keys under the same numbers: JetStream takes them for new'
like "$(cat "$LOG")" 'error .*database went back in time: 5 messages .*sequences 6 to 10' \
    'the phantoms are told at the start'
ctl status
is $RC 1 'status asks for a human'
like "$OUT" '! stream EVENTS: 5 phantoms' 'and says why'
ctl status --json
is "$(field '.streams[0] | [.phantoms, .phantom_first, .phantom_last] | @csv')" \
    5,6,10 'also as JSON'
ctl doctor
like "$OUT" 'fail +phantoms: stream EVENTS has 5 messages .* 6 to 10' \
    'doctor tells what they are'
ctl phantoms forget --dry-run
is "$OUT" '5 phantom(s) would be forgotten' 'they can be forgotten'
ctl status --json
is "$(field '.streams[0].phantoms')" 5 'which --dry-run does not do'
as_operator
ctl -c "$OP" phantoms forget --yes
is "$RC $OUT" '0 5 phantom(s) forgotten' 'phantoms forget'
ctl status --json
is "$(field '.streams[0].phantoms')" 0 'does it'
is "$(sql "SELECT changed FROM outbox_audit WHERE command LIKE 'phantoms%'")" 1 \
    'and is in the audit'
stop_master "$MASTER"

# Looked for in the stream because their leases say that somebody may have sent
# them: those under their numbers are not these.
window 1
go_back 5 15
enqueue newer order.sent '{"a": 1}' 1 5
sql 'UPDATE outbox_partitions SET in_doubt_since = NOW(6) - INTERVAL 1 HOUR,
    in_doubt_upto = 1000000, in_doubt_epoch = 0'
CLAIM_TTL=10 TIMEOUT_MS=1000 write_conf
start_master
wait_for 10 is_drained
wait_for 5 is_stored 20
ok $? 'what is looked for is not taken for the message of another event'
is "$(sql 'SELECT COUNT(*) FROM outbox WHERE ack_sequence > 15')" 5 \
    'and each has the place of its own message'
stop_master "$MASTER"

done_testing
