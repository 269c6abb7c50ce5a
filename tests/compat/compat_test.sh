#!/usr/bin/env bash
# compat_test.sh - what stays within 1.x is there, as 1.0 had it
#
#	tests/compat/compat_test.sh			compare
#	tests/compat/compat_test.sh --record 1.0	write tests/compat/1.0
#
# doc/compatibility.md is the promise.  Each kind of name has a file of facts, a
# line for each, which are gathered anew: from the program's tables, from its
# description of the API, and from a fleet at work.  A fact that is recorded and
# not there any more is a failure, and so is a new demand of what is recorded, a
# line that begins with "!".  What is new else is named.
# shellcheck disable=SC2016	# filters of jq have variables
. "${srcdir:-$(dirname "$0")/../..}/tests/lib/ctl.sh"
. "$srcdir/tests/lib/http.sh"

HERE=$srcdir/tests/compat
NAMES=${NAMES:-${OUTBOX_MASTER%/*}/names}
[ -x "$NAMES" ] || skip_all "no $NAMES: make check TESTS="
RECORD=
[ "${1:-}" != --record ] || RECORD=$2
OLD=$HERE/${RECORD:-1.0} NOW=$DIR/now
mkdir -p "$NOW" "$OLD"

# demanded OLD: those demands of standard input that are made of what OLD has, such
# as a field of its records; a new record may demand what it likes
demanded() {
	local line within
	while read -r line; do
		within=$(sed -E 's/^! //; s/( a body|[. ?][^. ]*) needed$//' \
		    <<< "$line")
		! awk -v w="$within" 'index($0, w) == 1 { found = 1 }
		    END { exit !found }' "$1" || echo "$line"
	done
}

# kind NAME COMMAND...: the facts of a kind, which the command prints
kind() {
	local lost more
	"${@:2}" < /dev/null | LC_ALL=C sort -u > "$NOW/$1"
	if [ -n "$RECORD" ]; then
		cp "$NOW/$1" "$OLD/$1"
		say "$1: $(wc -l < "$OLD/$1") facts of $RECORD"
		return
	fi
	check "$1: there are facts" [ -s "$NOW/$1" ]
	lost=$(LC_ALL=C comm -23 <(grep -v '^!' "$OLD/$1") "$NOW/$1")
	is "$lost" '' "$1: what 1.0 has is there"
	lost=$(LC_ALL=C comm -13 "$OLD/$1" <(grep '^!' "$NOW/$1") |
	    demanded "$OLD/$1")
	is "$lost" '' "$1: nothing is demanded that 1.0 does not"
	more=$(LC_ALL=C comm -13 "$OLD/$1" <(grep -v '^!' "$NOW/$1"))
	[ -z "$more" ] || say "$1: new:" "$more"
}

#
# From the program's tables, and its description
#
[ -z "$RECORD" ] || touch "$OLD/keys" "$OLD/columns" "$OLD/json"
kind keys "$NAMES" keys "$OLD/keys"
kind columns "$NAMES" columns "$OLD/columns"
# Commands and options, by the help of each
facts_commands() {
	local command options='s/^ *\(-., \)\{0,1\}\(--[a-z-]*\).*/\2/p'
	"$OUTBOX_MASTER" --help | sed -n "$options" | sed 's/^/outbox-master /'
	"$OUTBOXCTL" --help | sed -n "$options" | sed 's/^/outboxctl /'
	grep -Eo 'words = "[a-z -]+"' "$srcdir/src/ctl/main.c" |
	    cut -d'"' -f2 | while read -r command; do
		echo "outboxctl $command"
		# shellcheck disable=SC2086
		"$OUTBOXCTL" $command --help | sed -n "$options" |
		    sed "s/^/outboxctl $command /"
	done
}
kind commands facts_commands
kind api jq -r -f "$HERE/api.jq" "$srcdir/doc/openapi.json"
if is_short && [ -z "$RECORD" ]; then
	say 'the short form goes without servers'
	done_testing
fi

#
# From a fleet at work
#
[ -x "$RECEIVER" ] || skip_all "no $RECEIVER: make check TESTS="

# A member whose name is not one word is a value, such as a key.
MEMBERS='def facts($at): "\($at) \(type)",
    (objects | to_entries[] | (.key | if test("^[a-z][a-z0-9_]*$") then .
	else "*" end) as $name | .value | facts("\($at).\($name)")),
    (arrays[] | facts("\($at)[]"));
    facts($command + " ")'

# looks COMMAND: the members of its answer, with their types, to $DIR/json
looks() {
	local words=$1
	[[ ! ${2:-} =~ ^[a-z]+$ ]] || words="$1 $2"
	ctl -c "$OP" --json "$@"
	jq -r --arg command "$words" "$MEMBERS" <<< "$OUT" >> "$DIR/json"
}

# facts_json: a member that is null now and has been a value in 1.0, or the
# other way, is there; "null" is told only of what was nothing else
facts_json() {
	sort -u "$DIR/json" > "$DIR/members"
	sort -u "$OLD/json" > "$DIR/former"
	awk '{ type = $NF; member = $0; sub(/ [a-z]*$/, "", member) }
	    FILENAME ~ /members$/ { has[member] = has[member] " " type; next }
	    FILENAME ~ /former$/ && member in has && (type == "null" ||
		has[member] ~ / null/) { print }
	    END { for (m in has) { n = split(has[m], t, " ")
		for (i = 1; i <= n; i++) if (t[i] != "null" || n == 1)
		    print m, t[i] } }' "$DIR/members" \
	    "$DIR/former"
}

# facts_metrics: name and type of each, and the labels of its series
facts_metrics() {
	awk '/^# TYPE/ { print $3, $4 }
	    /^outbox_[a-z_]*\{/ { name = $0; sub(/\{.*/, "", name)
		labels = $0; sub(/^[^{]*\{/, "", labels)
		gsub(/="[^"]*"/, "", labels); sub(/\}.*/, "", labels)
		print name " {" labels "}" }' "$DIR/metrics"
}

# ended STATUS WHAT: what it was is a fact
ended() { echo "$2: exit status $1" >> "$DIR/exits"; }
ctl_ends() {
	ctl "${@:2}"
	ended "$RC" "outboxctl $1"
}
master_ends() {
	timeout 20 "$OUTBOX_MASTER" "${@:2}" > /dev/null 2>&1
	ended $? "outbox-master $1"
}

# event_of_1_0: the same in each run, so that its id is the same
event_of_1_0() {
	sql "INSERT INTO events (sequence, stream_id, stream_sequence, event_type,
	    event_version, correlation_id, metadata, occurred_at, event_data)
	    VALUES (4711, 'order-1', 11, 'order.paid', 2, 'c-1',
		'{\"tenant\": \"a\", \"traceparent\": \"00-1-2-01\"}',
		'2026-01-31 12:00:00.123456', '{\"total\": 5}');
	    INSERT INTO outbox (global_sequence, partition_key)
	    VALUES (4711, 'p03')"
}

# relays FILE: one tick sends the event, which is new again
relays() {
	clear_rows
	event_of_1_0
	"$OUTBOX_MASTER" -c "$1" --once --silent > "$DIR/relayed" \
	    2> "$DIR/err" || say "$(cat "$DIR/err")"
}

# stored SUBJECT: headers and payload of the last message there, a line each;
# which server the database is differs
stored() {
	js_api STREAM.MSG.GET.EVENTS "{\"last_by_subj\": \"$1\"}" |
	    jq -r '.message | (.hdrs | @base64d), (.data | @base64d)' |
	    tr -d '\r' | grep . | grep -v '^NATS/1.0' |
	    sed 's/^Outbox-Source: .*/Outbox-Source/'
}

facts_messages() {
	sed 's/^/nats: /' "$DIR/nats.txt"
	sed 's/^/nats, replayed: /' "$DIR/replay.txt"
	sed 's/^/nats, inline: /' "$DIR/inline.txt"
	sed 's/^/http: /' "$DIR/http.txt"
	for envelope in json cloudevents cloudevents-binary; do
		sed "s/^/stdout, $envelope: /" "$DIR/$envelope.txt"
	done
}

# procedures: of the tables that are there, with their arguments
procedures() {
	sql "SELECT CONCAT(specific_name, '(', GROUP_CONCAT(CONCAT_WS(' ',
	    parameter_mode, parameter_name, dtd_identifier)
	    ORDER BY ordinal_position SEPARATOR ', '), ')')
	    FROM information_schema.parameters WHERE specific_schema = 'app'
	    GROUP BY specific_name" >> "$DIR/procedures"
}

start_with_operator
procedures
start_receiver
order
sed -i 's/^nats: {/&msg_id_prefix: compat, /' "$CONF" "$OP"

# Messages
relays "$CONF"
stored events.order.paid > "$DIR/nats.txt"
ctl -c "$OP" messages replay 4711
"$OUTBOX_MASTER" -c "$CONF" --once --silent > /dev/null 2>&1
stored events.order.paid | grep '^Nats-Msg-Id' > "$DIR/replay.txt"
sed '/^nats:/d; /^publish:/d' "$CONF" > "$DIR/base.yml"
{
	cat "$DIR/base.yml"
	echo 'publish: {driver: http}'
	echo "http: {endpoint: 'http://127.0.0.1:$RPORT/e'}"
	echo 'nats: {msg_id_prefix: compat}'
} > "$DIR/http.yml"
relays "$DIR/http.yml"
tr -d '\r' < "$RDIR/last" | grep . | grep -vE '^(User-Agent|Host|Accept)' \
    > "$DIR/http.txt"
for envelope in json cloudevents cloudevents-binary; do
	{
		cat "$DIR/base.yml"
		echo "publish: {driver: stdout, envelope: $envelope, source: /shop}"
		echo 'nats: {msg_id_prefix: compat}'
	} > "$DIR/$envelope.yml"
	relays "$DIR/$envelope.yml"
	jq -r 'paths(scalars) as $p | ($p | join(".")) + ": " +
	    (getpath($p) | tojson)' "$DIR/relayed" > "$DIR/$envelope.txt"
done

# Exit statuses, with servers: nothing runs yet
cp "$CONF" "$DIR/good.yml"
echo 'nonsense: 1' > "$DIR/bad.yml"
master_ends '-t, all is well' -c "$CONF" -t
master_ends '-T' -c "$CONF" -T
master_ends '-V' -V
master_ends 'with an unknown option' --frobnicate
master_ends 'with a bad configuration' -c "$DIR/bad.yml"
master_ends '--once, all is well' -c "$CONF" --once --silent
(ulimit -n 64; "$OUTBOX_MASTER" -c "$CONF") > /dev/null 2>&1
ended $? 'outbox-master with too few descriptors'
ctl_ends '--help' --help
ctl_ends 'without a command'
ctl_ends 'with an unknown command' frobnicate
ctl_ends 'with an unknown option' status --frobnicate
ctl_ends 'with a bad configuration' -c "$DIR/bad.yml" messages list
ctl_ends 'messages list' messages list
ctl_ends 'messages show of none' messages show 99999999
ctl_ends 'status, no daemon' status
ctl_ends 'probe healthz, no daemon' probe healthz

# A fleet that is well, has done something, and one that has a problem
clear_rows
sql 'DELETE FROM outbox_audit'
IDLE=50 write_conf
echo "monitor: {socket: $DIR/run/monitor.sock}" >> "$CONF"
sed 's/user: outbox,/user: operator,/' "$CONF" > "$OP"
start_fleet
produce --events 20 --keys 5 --socket "$SOCKET"
wait_for 30 is_drained
is_well() { ctl -c "$OP" status; [ "$RC" -eq 0 ]; }
within 30 'the fleet is well' is_well
ended "$RC" 'outboxctl status, all is well'
ctl_ends 'doctor, all is well' -c "$OP" doctor
ctl_ends 'probe readyz, all is well' -c "$OP" probe readyz
C=$(sql 'SELECT MAX(global_sequence) FROM outbox')
for command in status doctor workers 'partitions list' 'stream info' config \
    retry-plan reload 'probe readyz' 'schema check' 'schema print' \
    'messages list' "messages show $C" 'setup --dry-run' logs; do
	# shellcheck disable=SC2086
	looks $command
done
curl -sf -m 5 --unix-socket "$DIR/run/monitor.sock" \
    http://localhost/metrics > "$DIR/metrics"
is $? 0 'the metrics'
stop_master "$MASTER"

put_row a 1
A=$SEQ
put_row b 1
B=$SEQ
put_row f 1 ok 'in_doubt_since = NOW(6)'
F=$SEQ
sql "INSERT INTO events (stream_id, stream_sequence, event_type, event_data)
    VALUES ('d', 1, 'ok', 'x'), ('e', 1, 'ok', 'x');
    INSERT INTO outbox_dead_letters (global_sequence, partition_key, order_key,
	event_type, reason, attempts, last_error, died_at)
	SELECT sequence, 'p01', stream_id, 'ok', 'message', 1, 'why', NOW(6)
	FROM events WHERE stream_id IN ('d', 'e');
    INSERT INTO outbox_blocked_keys (first_sequence, partition_key, order_key,
	reason, head_sequence) VALUES (900001, 'p01', 'h', 'halted', 900001)"
D=$(sql "SELECT sequence FROM events WHERE stream_id = 'd'")
E=$(sql "SELECT sequence FROM events WHERE stream_id = 'e'")
echo '{"key":"k","type":"ok","payload":{}}' > "$DIR/lines"
for command in status doctor 'messages list' "messages show $A" 'dead groups' \
    'dead list' "dead show $D" 'keys blocked' "messages retry $A" \
    "messages discard $B" "messages resolve --sent $F" "messages replay $C" \
    'keys release h' "dead retry $D" "dead purge $E" 'dead bury --all' \
    'keys bury --all' 'keys retry --all' 'partitions sync --dry-run' \
    'partitions pause p00' 'partitions resume p00' 'stream republish --dry-run' \
    'stream forget' 'phantoms forget' 'stream add --dry-run' \
    'workers forget --all --dry-run' "enqueue $DIR/lines" 'prune --dry-run' \
    'reconcile --dry-run' 'schema install --dry-run' 'schema upgrade --dry-run' \
    stop 'audit list' 'messages show 99999999'; do
	# shellcheck disable=SC2086
	looks $command
done
ctl_ends 'status, a problem' -c "$OP" status

# Inline mode, the id of its author
. "$srcdir/tests/lib/inline.sh"
OUTBOX='mode: inline' write_conf
sed -i 's/^nats: {/&msg_id_prefix: compat, /' "$CONF"
inline_tables
procedures
sql "INSERT INTO outbox_messages (id, message_id, topic, order_key, partition_key,
    headers, payload, content_type, created_at) VALUES (4712, 'm-1', 'order.sent',
    'order-1', 'p03', '{\"tenant\": \"a\"}', '{\"total\": 5}',
    'application/json', '2026-01-31 12:00:00.123456')"
"$OUTBOX_MASTER" -c "$CONF" --once --silent > /dev/null 2> "$DIR/err"
stored events.order.sent > "$DIR/inline.txt"

# Servers that are away
"$SANDBOX" stop "$DIR/db" > /dev/null
ctl_ends 'messages list, no database' messages list
ctl_ends 'status, no database' status
ctl_ends 'doctor, no database' doctor

kind exits cat "$DIR/exits"
kind messages facts_messages
kind procedures cat "$DIR/procedures"
kind metrics facts_metrics
kind json facts_json
[ -z "$RECORD" ] || exit 0
done_testing
