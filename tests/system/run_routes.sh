#!/usr/bin/env bash
# Destinations that take no message: the route is paused, no attempt is counted,
# and all messages are sent when the cause is gone
. "${srcdir:-$(dirname "$0")/../..}/tests/lib/lib.sh"

start_servers
WORKERS=2 write_conf
keep_secret "$DIR/nats.password" relay-pw
sed -i "s|^nats: {|&user: relay, password_file: $DIR/nats.password, |" "$CONF"
NATS_CONF=$DIR/nats/nats.conf
cp "$NATS_CONF" "$DIR/nats.plain"
URL_ADMIN=${URL/\/\//\/\/admin:admin@}

# server PASSWORD PERMISSIONS: the account of the relay, from now on
server() {
	cat "$DIR/nats.plain" - > "$NATS_CONF" <<-EOF2
	authorization {users: [{user: admin, password: admin},
	    {user: relay, password: "$1"$2}]}
	EOF2
}
reload() { kill -HUP "$(cut -d' ' -f1 "$DIR/nats/process")"; }
is_pending() { [ "$(pending)" -le "$1" ]; }
mark() { MARK=$(wc -l < "$LOG"); }
said() { tail -n "+$((MARK + 1))" "$LOG" | grep -E " warn | error "; }
has_said() { said | grep -Eq "$1"; }

# The error classes of the workers that are paused, as outboxctl shows them.
# Beside another destination none is: the types are refused.
classes() {
	"$OUTBOXCTL" -c "$CONF" --json status | jq -r '[.this_host
	    | .workers[].paused, .refused[] | select(. != null) | .class]
	    | unique | join(" ")'
}
has_class() { classes | grep -Eqx "$1"; }

# paused NAME REGEX [CLASS]: it is logged in few lines, and no attempt is
# counted; CLASS, a regex, is on the scoreboard, and later nothing
paused() {
	within 15 "$1: the log says that the destination is paused, and why" \
	    has_said "$2"
	check "$1: at most 12 lines of trouble ($(said | wc -l))" \
	    [ "$(said | wc -l)" -le 12 ]
	is "$(sql 'SELECT COALESCE(MAX(attempts), 0) FROM outbox
	    WHERE published_at IS NULL')$(sql 'SELECT COUNT(*)
	    FROM outbox_dead_letters')" 00 \
	    "$1: no attempt counted, none dead"
	[ -z "${3:-}" ] || within 5 "$1: the error class is $3" has_class "$3"
}
# resumes NAME
resumes() {
	drains 15 "$1: all messages are sent afterwards"
	within 10 "$1: no worker is paused afterwards" has_class ''
	mark
}

server relay-pw ''
reload
start_fleet
mark

# A stream that is full and refuses new messages.
"$LAB" stream --nats "$URL_ADMIN" --name EVENTS --subjects 'events.>' \
    --dup-window 600 --max-msgs 10 --discard-new
produce --events 50 --keys 50
wait_for 10 is_pending 40
is "$(pending)" 40 'a full stream takes 10 messages'
paused 'a full stream' '(paused|refused).*maximum messages exceeded' full
"$LAB" stream --nats "$URL_ADMIN" --name EVENTS --subjects 'events.>' \
    --dup-window 600 --max-msgs 1000000
resumes 'a full stream'

# No permission for the subject.
server relay-pw ', permissions: {publish: {deny: "events.>"}}'
reload
produce --events 50 --keys 50
paused 'no permission' '(paused|refused).*(ermissions Violation|no answer)' \
    'permission( timeout)?'
server relay-pw ''
reload
resumes 'no permission'

# The password is changed on the server first, and in the file later.
server another-pw ''
reload
produce --events 50 --keys 50
paused 'a changed password' 'Authorization Violation'
echo another-pw > "$DIR/nats.password"
resumes 'a changed password'

# JetStream is off, and on again.
"$SANDBOX" kill "$DIR/nats" >/dev/null
server another-pw ''
sed -i 's/^jetstream: enabled/jetstream: disabled/' "$NATS_CONF"
"$SANDBOX" restart "$DIR/nats" >/dev/null
produce --events 50 --keys 50
paused 'JetStream off' 'paused|refused|JetStream|no answer'
"$SANDBOX" kill "$DIR/nats" >/dev/null
server another-pw ''
"$SANDBOX" restart "$DIR/nats" >/dev/null
resumes 'JetStream off'

# The stream is gone, and is made anew.
"$LAB" stream --nats "$URL_ADMIN" --name EVENTS --delete
produce --events 50 --keys 50
paused 'a stream that is gone' \
    '(paused|refused).*(no stream takes|cannot be used)' \
    "no_stream${OUTBOX_IDLE_ROUTE:+|(audit )?no_stream|audit}"
"$LAB" stream --nats "$URL_ADMIN" --name EVENTS --subjects 'events.>' \
    --dup-window 600
resumes 'a stream that is gone'

# A server that takes less than it did: another node, or a default.
"$SANDBOX" kill "$DIR/nats" >/dev/null
echo 'max_payload: 2048' >> "$NATS_CONF"
"$SANDBOX" restart "$DIR/nats" >/dev/null
produce --events 50 --keys 50 --payload 5000
paused 'a smaller max_payload' 'message.s. failed.*max_payload of 2048'
check 'a smaller max_payload: the log has both sizes' \
    has_said 'max_payload is 2048 and was 1048576 before'
is "$(pending)" 50 'a smaller max_payload: messages that fitted before wait'
"$SANDBOX" kill "$DIR/nats" >/dev/null
server another-pw ''
"$SANDBOX" restart "$DIR/nats" >/dev/null
resumes 'a smaller max_payload'

# The same by a reload; that it is raised the server tells only who connects.
if ! is_short; then
	echo 'max_payload: 2048' >> "$NATS_CONF"
	reload
	produce --events 50 --keys 50 --payload 5000
	paused 'max_payload lowered by a reload' \
	    'message.s. failed.*max_payload of 2048'
	server another-pw ''
	reload
	drains 90 'max_payload raised by a reload: all messages are sent'
fi

stops 'the master stops with status 0'
done_testing
