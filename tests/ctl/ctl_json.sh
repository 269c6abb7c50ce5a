#!/usr/bin/env bash
# outboxctl --json: every command prints one JSON document, also when it fails
. "${srcdir:-$(dirname "$0")/../..}/tests/lib/ctl.sh"

start_with_operator
sql "INSERT INTO outbox_partitions (partition_key) VALUES
    ('p00'), ('p01'), ('p02'), ('p03')"

# read_out: by one process, which is slow to start: sets NDOCUMENTS, and of the
# first document of OUT STATUS, HAS_REMEDY, ERROR and REMEDY
read_out() {
	NDOCUMENTS='' STATUS='' HAS_REMEDY='' ERROR='' REMEDY=''
	{
		read -r NDOCUMENTS
		read -r STATUS
		read -r HAS_REMEDY
		read -r ERROR
		read -r REMEDY
	} < <(jq -rs 'length, ((.[0] | objects) // {} | .status,
	    has("remedy"), (.error, .remedy | tostring | gsub("\n"; " ")))' \
	    <<< "$OUT" 2> /dev/null)
}

# one STATUS ARGUMENT...: the command ends with it, and prints one document
one() {
	ctl -c "$OP" --json "${@:2}"
	read_out
	is "$RC" "$1" "${*:2}: exit status $1"
	is "$NDOCUMENTS" 1 "${*:2}: one JSON document"
}

# fails_json STATUS REGEX ARGUMENT...: its error is on both outputs
fails_json() {
	one "$1" "${@:3}"
	is "$STATUS" "$1" "${*:3}: the document has the status"
	like "$ERROR" "$2" "${*:3}: the document has the error"
	is "$HAS_REMEDY" true "${*:3}: the document has a remedy"
	like "$ERR" '^outboxctl: ' "${*:3}: a line on standard error"
}

# The rows: one waits, one is delivered, one is in doubt, four are dead, and two keys are halted.
put_row a 1
A=$SEQ
put_row b 1
B=$SEQ
put_row c 1 ok 'published_at = NOW(6)'
C=$SEQ
put_row f 1 ok 'in_doubt_since = NOW(6)'
F=$SEQ
sql "INSERT INTO events (stream_id, stream_sequence, event_type, event_data)
    VALUES ('d', 1, 'ok', 'x'), ('e', 1, 'ok', 'x');
    INSERT INTO outbox_dead_letters (global_sequence, partition_key, order_key,
	event_type, reason, attempts, died_at)
	SELECT sequence, 'p01', stream_id, 'ok', 'message', 1, NOW(6)
	FROM events WHERE stream_id IN ('d', 'e');
    INSERT INTO outbox_blocked_keys (first_sequence, partition_key, order_key,
	reason, head_sequence) VALUES (900001, 'p01', 'h', 'halted', 900001)"
D=$(sql "SELECT sequence FROM events WHERE stream_id = 'd'")
E=$(sql "SELECT sequence FROM events WHERE stream_id = 'e'")
echo '{"key":"k","type":"ok","payload":{}}' > "$DIR/lines"
echo '{"key":"k"}' > "$DIR/bad"

# How each command of the table succeeds; reload and probe need a daemon, topic
# a broker (run_kafka_operator.sh), top a terminal, and status and doctor have a problem to report here.  serve is left out: it prints a line for
# each of its commands.
declare -A good=(
	[workers]='' [workers forget]='--all --dry-run'
	[partitions list]='' [partitions sync]=--dry-run
	[partitions pause]=p00 [partitions resume]=p00 [messages list]=''
	[messages show]=$A [messages retry]=$A [messages discard]=$B
	[messages resolve]="--sent $F" [messages replay]=$C [dead groups]='' [dead list]='' [dead show]=$D [dead retry]=$D
	[dead purge]=$E [dead bury]=--all [keys blocked]='' [keys release]=h
	[keys bury]=--all [keys retry]=--all
	[stream info]='' [stream add]='--dry-run --duplicate-window 10m'
	[setup]=--dry-run [stop]='' [logs]='' [audit list]='' [config]=''
	[stream republish]=--dry-run [stream forget]='' [phantoms forget]=''
	[enqueue]=$DIR/lines [prune]=--dry-run [reconcile]=--dry-run
	[retry-plan]='' [topic info]=t [topic add]=t [schema print]='' [schema install]=--dry-run
	[schema check]='' [schema upgrade]=--dry-run [probe]=healthz
)
mapfile -t commands < <(grep -Eo 'words = "[a-z -]+"' \
    "$srcdir/src/ctl/main.c" | cut -d'"' -f2 | grep -vx serve)
one 1 status
one 1 doctor
for command in "${commands[@]}"; do
	case $command in
	status|doctor|reload|top|probe|topic*) continue ;;
	esac
	check "$command: has a line here" [ -n "${good[$command]+there}" ]
	# shellcheck disable=SC2086
	one 0 $command ${good[$command]}
	is "$HAS_REMEDY" false "$command: no error"
done

#
# Wrong usage
#
one 2
is "$(field '[.error, .status, .remedy]')" \
    '["no command was given",2,"see outboxctl --help"]' 'no command: JSON'
fails_json 2 'frobnicate: unknown command' frobnicate
fails_json 2 'known: schema print' schema
ctl --frobnicate --json status
like "$RC $(field .error)" '^2 --frobnicate: unknown option' \
    'an unknown option before --json'
for command in "${commands[@]}"; do
	# shellcheck disable=SC2086
	fails_json 2 'not an option' $command --frobnicate
	is "$REMEDY" "see outboxctl $command --help" \
	    "$command: the remedy is its help"
done
fails_json 2 'raw goes with --payload, and not with --json' \
    messages show --payload --raw "$A"
ctl -c "$OP" dead list --frobnicate
is "$OUT" '' 'without --json: no document'

#
# Refused, in part or as a whole
#
fails_json 1 '^99999999: no such message$' messages show 99999999
fails_json 1 '^99999999: no such dead letter$' dead show 99999999
fails_json 1 '^99999998: no such message; 99999999: no such message$' \
    messages retry 99999998 99999999 "$A"
is "$(field .changed)" 1 'a part was done: the number is beside the error'
fails_json 1 'it is dead$' messages discard "$B"
is "$REMEDY" 'see dead retry' 'the remedy of a dead message'
fails_json 1 'this key is not halted$' keys release nobody
fails_json 1 'does not run on this host' reload
fails_json 1 'the monitor of this host does not answer' probe healthz
fails_json 1 'other settings: duplicate_window' stream add
fails_json 1 'no such partition' partitions pause p99
fails_json 1 'line 1: .*; nothing was enqueued$' enqueue "$DIR/bad"
is "$(field .changed)" 0 'enqueue of a bad line: the number is beside the error'
fails_json 1 'No such file' enqueue "$DIR/none"
sed 's/partition_count: 16/partition_count: 8/' "$OP" > "$DIR/other.yml"
fails_json 1 'present count is 16' -c "$DIR/other.yml" partitions sync --finish
sql "INSERT INTO outbox_dead_letters (global_sequence, reason, died_at)
    SELECT n + 1000000, 'message', NOW(6) FROM $(numbers 101)"
fails_json 1 'nothing was done$' dead purge --all
is "$REMEDY" 'confirm it with --yes' 'the remedy of a question'
fails_json 1 'command denied' -c "$CONF" enqueue "$DIR/lines"
like "$REMEDY" 'sql/operator.sql' 'the remedy of a missing right'

#
# Bad configurations
#
echo 'nonsense: 1' > "$DIR/bad.yml"
for command in "${commands[@]}"; do
	# shellcheck disable=SC2086
	ctl -c "$DIR/bad.yml" --json $command ${good[$command]-}
	like "$RC $(field '[.status, .error]')" '^78 \[78,".*bad.yml: .*nonsense' \
	    "$command with a bad configuration: status 78, as JSON"
done
"$OUTBOX_MASTER" -c "$DIR/bad.yml" > "$DIR/out" 2>&1
is $? 78 'outbox-master with a bad configuration: exit status 78'
"$OUTBOX_MASTER" -c "$DIR/none.yml" -t > "$DIR/out" 2>&1
is $? 78 'outbox-master -t without a configuration: exit status 78'

#
# A signal
#
hold "SELECT 1 FROM outbox WHERE global_sequence = $A FOR UPDATE"
"$OUTBOXCTL" -c "$OP" --json messages retry "$A" > "$DIR/out" 3>&- &
pid=$!
wait_for 10 is_sql "SELECT COUNT(*) FROM information_schema.processlist
    WHERE info LIKE 'SELECT o.global_sequence%FOR UPDATE'" 1
kill -TERM "$pid"
wait "$pid"
is $? 143 'a command that is ended by SIGTERM: exit status 143'
is "$(cat "$DIR/out")" '' 'a command that is ended by SIGTERM: no document'
release

# What was done until then: a transaction has 500 rows.
sql "DELETE FROM outbox_audit; DELETE FROM outbox_dead_letters;
    INSERT INTO outbox_dead_letters (global_sequence, reason, last_error,
	died_at) SELECT n, 'message', REPEAT('x', 500), NOW(6)
	FROM $(numbers 1000 1)"
hold "SELECT 1 FROM outbox_dead_letters WHERE global_sequence = 1000 FOR UPDATE"
"$OUTBOXCTL" -c "$OP" --json dead purge --all --yes > "$DIR/out" 3>&- &
pid=$!
wait_for 10 is_sql "SELECT COUNT(*) FROM outbox_dead_letters
    WHERE reason = 'message'" 500
kill -INT "$pid"	# ignored: as all of a shell's background commands
kill -TERM "$pid"
wait "$pid"
is "$? $(sql 'SELECT SUM(changed) FROM outbox_audit')" '143 500' \
    'a signal after 500 of 1000 rows: the number is in the audit'
release
rows_are 500 "outbox_dead_letters WHERE reason = 'message'" 'and it is right'
sql "UPDATE outbox_dead_letters SET reason = 'message'"

#
# A signal, and nobody reads
#
mkfifo "$DIR/pipe"
exec 4<> "$DIR/pipe"
echo line > "$DIR/log.txt"
sed "s|log: {|log: {target: $DIR/log.txt, |" "$OP" > "$DIR/log.yml"
fill_pipe() { dd if=/dev/zero of="$DIR/pipe" bs=4096 oflag=nonblock \
    2>/dev/null; }
# drain_pipe: what it has, without the zeros
drain_pipe() { dd if="$DIR/pipe" bs=65536 iflag=nonblock 2>/dev/null |
    tr -d '\0'; }
# $pid sleeps in a write to the pipe; not all kernels tell, and then time does
is_stuck() { grep -q pipe_write "/proc/$pid/wchan"; }
for command in 'dead list --limit 1000' 'status --watch 1' config \
    'logs --follow'; do
	drain_pipe > /dev/null
	fill_pipe
	# shellcheck disable=SC2086
	"$OUTBOXCTL" -c "$DIR/log.yml" --json $command >&4 2> "$DIR/err" &
	pid=$!
	wait_for 5 is_stuck
	kill -TERM "$pid"
	within 5 "$command into a full pipe: a signal ends it" is_gone "$pid"
	kill -KILL "$pid" 2>/dev/null
	wait "$pid"
	is $? 143 "$command into a full pipe: the exit status is of the signal"
	is "$(drain_pipe)" '' "$command into a full pipe: nothing is printed"
done
exec 4>&-

#
# Unreachable servers
#
"$SANDBOX" stop "$DIR/nats" >/dev/null
for command in republish info add; do
	fails_json 3 'nats' stream "$command"
	like "$REMEDY" 'section nats' "no broker: the remedy of $command"
done
"$SANDBOX" stop "$DIR/db" >/dev/null
for command in "${commands[@]}"; do
	case $command in
	doctor|status|config|retry-plan|setup|'schema print') continue ;;
	'stream info'|'stream add'|topic*|reload|stop|logs|top|probe)
		continue ;;
	esac
	# shellcheck disable=SC2086
	fails_json 3 'connect' $command ${good[$command]}
	like "$REMEDY" 'section mysql' "$command: the remedy"
done
one 3 doctor
for json in '' --json; do
	# shellcheck disable=SC2086
	"$OUTBOXCTL" -c "$OP" $json config > /dev/full 2> "$DIR/err"
	is "$? $(grep -c 'cannot be written' "$DIR/err")" '1 1' \
	    "standard output on a full disk $json: exit status 1"
done
"$OUTBOXCTL" -c "$OP" --json status --watch 1 > "$DIR/out" 2>/dev/null &
pid=$!
within 10 'status --watch without servers: an object a line' \
    has_line "$DIR/out" '^\{.*\}$'
kill "$pid"
wait "$pid"
are_objects() { jq -e 'type == "object"' "$DIR/out" > /dev/null; }
check 'status --watch without servers: each line is JSON' are_objects
done_testing
