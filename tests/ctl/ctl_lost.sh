#!/usr/bin/env bash
# outboxctl: the answer to COMMIT is lost.  What was done is not done again,
# and what was not is; where nobody can know, that is said.
#
# Needs an outboxctl that was configured with --enable-fault-points
# (src/util/fault.h): OUTBOXCTL or the directory OUTBOX_FAULTS names it.
[ -z "${OUTBOX_FAULTS:-}" ] || OUTBOXCTL=$OUTBOX_FAULTS/outboxctl
. "${srcdir:-$(dirname "$0")/../..}/tests/lib/ctl.sh"

grep -q OUTBOX_FAULT "$OUTBOXCTL" ||
    skip_all 'built without --enable-fault-points'

start_with_operator
export OUTBOX_FAULT=$DIR/fault
mkdir -p "$OUTBOX_FAULT/passed"

# strike ORDER ARG...: run it; sets FIRED
strike() {
	echo "$1" > "$OUTBOX_FAULT/armed"
	shift
	ctl -c "$OP" "$@"
	FIRED=$(find "$OUTBOX_FAULT" -name 'armed.*' | wc -l)
	rm -f "$OUTBOX_FAULT"/armed*
}

# lines FROM COUNT
lines() {
	seq "$1" $(($1 + $2 - 1)) | sed 's/.*/{"key":"k&","type":"t","payload":1}/'
}
count() { sql "SELECT COUNT(*) FROM $1"; }
audited() { sql 'SELECT changed FROM outbox_audit ORDER BY id DESC LIMIT 1'; }

#
# Five batches; the answer to one of them does not arrive.
#
total=0
for order in commit.sent:1:lost commit.sent:3:lost commit.sent:5:lost \
    commit.before:1:lost commit.before:3:lost; do
	lines $((total + 1)) 500 > "$DIR/lines"
	total=$((total + 500))
	strike "$order" enqueue --batch 100 "$DIR/lines"
	is "$FIRED$RC$ERR" 10 "$order: enqueue goes on"
	is "$(count events) $(count outbox)" "$total $total" \
	    'each line is there, and once'
	is "$(audited)" 500 'and the audit is right'
done

#
# The same for what changes rows.
#
sql "INSERT INTO outbox_dead_letters (global_sequence, partition_key, reason)
    SELECT global_sequence, partition_key, 'message' FROM outbox
	WHERE global_sequence <= 1200;
    DELETE FROM outbox WHERE global_sequence <= 1200"
strike commit.sent:2:lost dead retry --all --yes
is "$FIRED$RC$OUT" '101200 dead letter(s) put back' 'dead retry'
is "$(count outbox) $(count outbox_dead_letters)" "$total 0" 'all are back'
is "$(audited)" 1200 'and the audit is right'
# shellcheck disable=SC2046
strike commit.before:1:lost messages discard $(seq 1 300) --yes
is "$FIRED$RC$OUT" '10300 message(s) discarded' 'messages discard'
is "$(count outbox_dead_letters) $(audited)" '300 300' 'once each'

#
# Nobody knows.
#
lines 10001 100 > "$DIR/lines"
sql 'RENAME TABLE outbox_audit TO away'
strike commit.sent:1:lost enqueue "$DIR/lines"
is "$FIRED$RC" 169 'without the audit it cannot be found out: status 69'
like "$ERR" 'commit: .*: it is not known whether this was done' 'it is said'
like "$ERR" 'lines 1 to 100 are in doubt' 'and of which lines'
sql 'RENAME TABLE away TO outbox_audit'

# Lost elsewhere: it is known.
strike commit.after:2:lost enqueue --batch 40 "$DIR/lines"
is "$FIRED$RC" 169 'lost between two batches: status 69'
like "$ERR" 'lines 1 to 80 are enqueued$' 'and it is said which are done'
strike enqueue.after:7:lost enqueue "$DIR/lines"
is "$FIRED$RC" 169 'lost in the middle: status 69'
like "$ERR" 'nothing was enqueued$' 'nothing was done, and it is said so'

# The server is away for good.
before=$(count events)
echo commit.before:1:stop > "$OUTBOX_FAULT/armed"
"$OUTBOXCTL" -c "$OP" enqueue "$DIR/lines" 2> "$DIR/err" &
pid=$!
is_stopped() { [ "$(ps -o stat= -p "$pid" | cut -c1)" = T ]; }
wait_for 20 is_stopped
ok $? 'stopped before its COMMIT'
"$SANDBOX" kill "$DIR/db" >/dev/null
kill -CONT "$pid"
wait "$pid"
is $? 69 'the server is gone: status 69'
has_line "$DIR/err" 'it is not known whether this was done'
ok $? 'it is said that nobody knows'
"$SANDBOX" restart "$DIR/db" >/dev/null
is "$(count events)" "$before" 'which was not done'
done_testing
