#!/usr/bin/env bash
# outboxctl: the answer to COMMIT is lost.  A batch that was committed is not
# sent again; one that was not is.  If that cannot be known, an error says so.
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
changed() { sql 'SELECT changed FROM outbox_audit ORDER BY id DESC LIMIT 1'; }

#
# Five batches; the answer to one of them does not arrive.
#
total=0
for order in commit.sent:1:lost commit.sent:3:lost commit.sent:5:lost \
    commit.before:1:lost commit.before:3:lost; do
	lines $((total + 1)) 500 > "$DIR/lines"
	total=$((total + 500))
	strike "$order" enqueue --batch 100 "$DIR/lines"
	is "$FIRED$RC$ERR" 10 "$order: enqueue goes on, exit status 0"
	is "$(count events) $(count outbox)" "$total $total" \
	    "$order: each line is enqueued once"
	is "$(changed)" 500 "$order: the audit has the number of lines"
done

#
# The same for commands that change rows.
#
sql "INSERT INTO outbox_dead_letters (global_sequence, partition_key, reason)
    SELECT global_sequence, partition_key, 'message' FROM outbox
	WHERE global_sequence <= 1200;
    DELETE FROM outbox WHERE global_sequence <= 1200"
strike commit.sent:2:lost dead retry --all --yes
is "$FIRED$RC$OUT" '101,200 dead letters put back' \
    'dead retry, the answer to COMMIT lost: exit status 0'
is "$(count outbox) $(count outbox_dead_letters)" "$total 0" \
    'dead retry: all rows are in the outbox'
is "$(changed)" 1200 'dead retry: the audit has the number of rows'
# shellcheck disable=SC2046
strike commit.before:1:lost messages discard $(seq 1 300) --yes
is "$FIRED$RC$OUT" '10300 messages discarded' \
    'messages discard, COMMIT not executed: exit status 0'
is "$(count outbox_dead_letters) $(changed)" '300 300' \
    'messages discard: each message is discarded once'

# A row of the audit for each chunk
sql 'UPDATE outbox SET published_at = NOW(6) WHERE global_sequence > 2000
    AND global_sequence <= 2300'
strike commit.sent:2:lost messages replay --all --rate 100 --yes
is "$FIRED$RC" 10 'messages replay, the answer to a COMMIT lost: exit status 0'
is "$(sql 'SELECT SUM(replay_no), MAX(replay_no), SUM(published_at IS NOT NULL)
    FROM outbox')" '300	1	0' 'messages replay: each message is replayed once'

#
# Without the audit the outcome cannot be found out.
#
lines 10001 100 > "$DIR/lines"
hide_tables
strike commit.sent:1:lost enqueue "$DIR/lines"
is "$FIRED$RC" 13 'no audit table, the answer to COMMIT lost: exit status 3'
like "$ERR" 'commit: .*: it is not known whether this was done' \
    'no audit table: the error says that the outcome is not known'
like "$ERR" 'lines 1 to 100 are in doubt' \
    'no audit table: it names the lines'
show_tables

# Lost elsewhere: it is known.
strike commit.after:2:lost enqueue --batch 40 "$DIR/lines"
is "$FIRED$RC" 13 'the connection is lost between two batches: exit status 3'
like "$ERR" 'lines 1 to 80 are enqueued$' 'the error names the enqueued lines'
strike enqueue.after:7:lost enqueue "$DIR/lines"
is "$FIRED$RC" 13 'the connection is lost inside a transaction: exit status 3'
like "$ERR" 'nothing was enqueued$' 'the error says that nothing was enqueued'

# The server is away for good.
before=$(count events)
echo commit.before:1:stop > "$OUTBOX_FAULT/armed"
"$OUTBOXCTL" -c "$OP" enqueue "$DIR/lines" 2> "$DIR/err" &
pid=$!
is_stopped() { [ "$(ps -o stat= -p "$pid" | cut -c1)" = T ]; }
within 20 'enqueue is stopped before its COMMIT' is_stopped
"$SANDBOX" kill "$DIR/db" >/dev/null
kill -CONT "$pid"
wait "$pid"
is $? 3 'the server is killed before the COMMIT: exit status 3'
check 'the error says that the outcome is not known' \
    has_line "$DIR/err" 'it is not known whether this was done'
"$SANDBOX" restart "$DIR/db" >/dev/null
is "$(count events)" "$before" 'killed before the COMMIT: no event is stored'
done_testing
