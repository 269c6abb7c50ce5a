#!/usr/bin/env bash
# The stream is in another JetStream than that of the server and account that
# the daemon logs in to: in another domain, behind a leaf node or in front of
# one, or in another account, whose API and subjects are imported
. "${srcdir:-$(dirname "$0")/../..}/tests/lib/ctl.sh"

start_servers
export WORKERS=2 CLAIM_TTL=6 TIMEOUT_MS=1000 LEASE_TTL=3 LEASE_RENEW=1 \
    HEARTBEAT_TTL=3

trap 'for server in "$DIR"/{one,hub,leaf}; do resume "$server" 2> /dev/null; done
    cleanup' EXIT
pid_of() { (. "$1/env" && cat "$PIDFILE"); }
url_of() { (. "$1/env" && echo "$URL"); }
freeze() { kill -STOP "$(pid_of "$1")"; }
resume() { [ ! -e "$1/env" ] || kill -CONT "$(pid_of "$1")"; }
nats() { "$SANDBOX" start nats "$@" > /dev/null || bail "no ${1##*/}"; }
bail() { echo "Bail out! $*"; exit 1; }

# located SETTING [LOGIN]: a configuration with these lines of nats
located() {
	write_conf
	sed -i "s|^nats: {|&$1, ${2:+$2, }|" "$CONF"
}
# new_setup SETTING DATABASE [LOGIN]: one for setup, of which nothing exists
new_setup() {
	cat > "$CONF" <<-END
	master: {user: $(id -un), pidfile: $DIR/run/outbox.pid}
	mysql:
	  socket: $SOCKET
	  user: $2
	  password_file: $DIR/$2.password
	  database: $2
	  operator: {user: "", password_file: ""}
	nats: {servers: ["$URL"], stream: EVENTS, $1${3:+, $3}}
	END
	chmod 640 "$CONF"
}
said() { field ".steps[] | select(.step == \"$1\") | .text"; }
problem() {
	ctl --json status
	field ".problems[] | select(.id == \"$1\") | \"\(.text)\(.remedy)\""
}
has_problem() { [[ $(problem "$1") =~ $2 ]]; }
seen() { URL=$(url_of "$1") check_stream "${@:2}" --wait 10; }
searched_for() { is_sql "SELECT COUNT(*) > 0 FROM outbox
    WHERE in_doubt_since IS NOT NULL
    AND last_error LIKE '%cannot be searched%STREAM.INFO.EVENTS%'" 1; }
are_out() { is_sql "SELECT COUNT(*) >= $1 FROM outbox
    WHERE claim_token IS NOT NULL" 1; }
checked() { sql 'SELECT checked_at FROM outbox_streams'; }
is_checked() { [ "$(checked)" != "$1" ]; }
clear_all() {
	clear_rows
	sql 'DELETE FROM outbox_streams'
}

# made NAME SETTING [LOGIN]: setup makes the stream, and sees its first event;
# then the stream is made anew by stream add, empty
made() {
	new_setup "$2" "$1" "${3:-}"
	ctl --json setup --yes
	is "$RC" 0 "$1: setup succeeds" || say "$ERR"
	is "$(said stream)" 'EVENTS created, for events.>' \
	    "$1: setup makes the stream"
	like "$(said event | tail -n 1)" 'EVENTS has it as message 1, ' \
	    "$1: setup sees its event in the stream"
	stream_of "$1" --delete
}
stream_of() { # SERVER [OPTION...]
	"$LAB" stream --nats "$(url_of "$DIR/$1")" --name EVENTS "${@:2}"
}

# relays NAME SERVER: to the stream EVENTS of that server, from beginning to end
relays() {
	clear_all
	exits 0 "$1: stream add" stream add
	exits 0 "$1: stream info" stream info
	ctl doctor
	like "$OUT" '^ok +broker rights: the account may ask' \
	    "$1: doctor can ask what is in the stream"
	start_fleet
	produce --events 300 --keys 30 --payload 100
	drains 20 "$1: all messages are sent"
	seen "$2" "$1: the stream is complete and in order, nothing twice"
	is "$(sql 'SELECT MIN(ack_sequence), MAX(ack_sequence) FROM outbox')" \
	    '1	300' "$1: the sequences are those of the stream"
}

# finds NAME SERVER: what the stream has lost, and what it has already
finds() {
	"$LAB" delete-msg --nats "$(url_of "$2")" --stream EVENTS --seq 7
	within 40 "$1: a message that somebody has erased is missing" \
	    has_problem missing_messages 'EVENTS lacks 1 messages?.* 7,'
	ctl stream republish --dry-run
	like "$OUT" ', 1 (is|are) not$' "$1: stream republish would send it"
	ctl stream forget
	is "$RC" 0 "$1: stream forget accepts it"

	# Longer than the window no answer comes; then all are stored.  Just
	# behind a check, or nothing would be sent before the next one.
	URL=$(url_of "$2") window 2
	wait_for 30 is_checked "$(checked)"
	freeze "$2"
	produce --events 400 --keys 200 --payload 100 --bulk
	wait_for 5 are_out 200
	within 20 "$1: its server stands still: some are in doubt" searched_for
	resume "$2"
	drains 30 "$1: it goes on: all messages are sent"
	sql 'DELETE FROM outbox WHERE ack_sequence = 7'
	sql 'DELETE events FROM events LEFT JOIN outbox
	    ON global_sequence = sequence WHERE global_sequence IS NULL'
	seen "$2" "$1: none of them twice" --wait 10
}

# loses NAME SERVER: its store goes back by some acknowledged messages
loses() {
	rm -rf "$DIR/copy"
	cp -r "$2/js" "$DIR/copy"
	produce --events 50 --keys 10 --payload 100
	drains 20 "$1: 50 more messages are sent"
	: > "$LOG"
	"$SANDBOX" kill "$2" > /dev/null
	rm -rf "$2/js"
	mv "$DIR/copy" "$2/js"
	"$SANDBOX" restart "$2" > /dev/null
	within 60 "$1: the stream has gone back: it is told" \
	    has_line "$LOG" "EVENTS: lost 50 acknowledged messages"
	drains 30 "$1: they are sent again"
	seen "$2" "$1: the stream is complete again" --wait 10
}

#
# An account import.  Tools that do not log in are in the account A, which has
# the stream.
#
imports() {
	local request exports='' imports=''
	for request in STREAM.INFO STREAM.MSG.GET STREAM.CREATE; do
		exports+=", {service: \"\$JS.API.$request.EVENTS\"}"
		imports+=", {service: {account: A, subject: \"\$JS.API.$request.EVENTS\"}, to: \"from.A.API.$request.EVENTS\"}"
	done
	echo "accounts {
	  A: { jetstream: enabled, users: [{user: a, password: a}],
	    exports: [{service: \"events.>\"}$exports] }
	  B: { users: [{user: b, password: b}],
	    imports: [{service: {account: A, subject: \"events.>\"}}$imports] } }"
}
keep_secret "$DIR/b.password" b
LOGIN="user: b, password_file: \"$DIR/b.password\""
PREFIX='api_prefix: from.A.API'
nats "$DIR/one" "$(imports)" 'no_auth_user: a'
URL=$(url_of "$DIR/one")
is_short || made one "$PREFIX" "$LOGIN"
located "$PREFIX" "$LOGIN"
relays 'imported' "$DIR/one"
if ! is_short; then
	finds 'imported' "$DIR/one"
	loses 'imported' "$DIR/one"
fi
stops 'imported: the master stops with status 0'
matches "nats stream add EVENTS .* --js-api-prefix from.A.API\$" \
    'imported: setup --dry-run prints the prefix' setup --dry-run
! is_short || done_testing

# What it may not ask is named as it is called in its account.
cp "$DIR/one/nats.conf" "$DIR/whole.conf"
RIGHT=from.A.API.STREAM.MSG.GET.EVENTS
sed -i "s/{user: b, password: b/&, permissions: {publish: {deny: \"$RIGHT\"}}/" \
    "$DIR/one/nats.conf"
kill -HUP "$(pid_of "$DIR/one")"
lacks_right() {
	ctl doctor
	[[ $OUT == *"Publish to \"$RIGHT\""*"publish to from.A.API.STREAM.INFO.EVENTS and $RIGHT"* ]]
}
within 10 'imported: doctor names the right that is missing' lacks_right
located 'api_prefix: from.nowhere' "$LOGIN"
fails 3 'JetStream behind from.nowhere does not answer' \
    'an API that is not imported' stream info
located "$LOGIN"
matches 'JetStream not enabled for account' 'no prefix' stream info
"$SANDBOX" stop "$DIR/one" > /dev/null

#
# Domains: first the stream is behind the leaf node, then the daemon is.
#
LEAF_PORT=$(free_port)
nats "$DIR/hub" 'server_name: hub' 'jetstream {domain: hub}' \
    "leafnodes {port: $LEAF_PORT}"
nats "$DIR/leaf" 'server_name: leaf' 'jetstream {domain: leaf}' \
    "leafnodes {reconnect: 1, remotes: [{url: \"nats://127.0.0.1:$LEAF_PORT\"}]}"
answers() {
	ctl stream info
	[ "$RC" -ne 3 ]
}
for pair in 'hub leaf' 'leaf hub'; do
	read -r here there <<< "$pair"
	URL=$(url_of "$DIR/$here")
	located "domain: $there"
	within 20 "from $here: the domain $there answers" answers
	made "$there" "domain: $there"
	located "domain: $there"
	relays "from $here" "$DIR/$there"
	shows .domain "$there" "from $here: stream info has the domain" \
	    stream info
	like "$(ctl stream info; echo "$OUT")" 'settings are safe|advice' \
	    "from $here: and what it finds"
	is "$(field '[.findings[] | select(.text | test("cluster"))] | length')" \
	    0 "from $here: a leaf node is not taken for a cluster"
	finds "from $here" "$DIR/$there"
	loses "from $here" "$DIR/$there"
	matches "nats stream add EVENTS .* --js-domain $there\$" \
	    "from $here: setup --dry-run prints the domain" setup --dry-run

	# Away, and back.
	"$SANDBOX" stop "$DIR/$there" > /dev/null
	produce --events 100 --keys 10 --payload 100
	within 30 "from $here: the domain is away: status tells it" \
	    has_problem broker "domain $there does not answer.*leaf node"
	is "$(sql 'SELECT MAX(attempts) FROM outbox')" 0 \
	    "from $here: that uses no attempt"
	"$SANDBOX" restart "$DIR/$there" > /dev/null
	drains 40 "from $here: it is back: all messages are sent"
	seen "$DIR/$there" "from $here: none of them is lost or twice"
	stops "from $here: the master stops with status 0"
	stream_of "$there" --delete

	# Without the setting the server's own JetStream is meant.
	write_conf
	exits 1 "from $here: without nats.domain there is no such stream" \
	    stream info
done

# A stream of the leaf node takes the same messages and answers first: one of
# another name refuses them, one of the same name is full.
URL=$(url_of "$DIR/leaf")
for other in LOCAL EVENTS; do
	clear_all
	stream_of hub --subjects 'events.>' --dup-window 2
	js_api "STREAM.CREATE.$other" '{"name":"'"$other"'","subjects":
	    ["events.>"],"storage":"file","max_msgs":2,"discard":"new"}' \
	    > "$DIR/js.out"
	located 'domain: hub'
	start_fleet
	produce --events 200 --keys 20 --payload 100 --rate 25
	[ "$other" = LOCAL ] ||
	    js_api STREAM.DELETE.EVENTS '' > "$DIR/js.out"
	drains 60 "$other of the leaf node answers first: all messages are sent"
	seen "$DIR/hub" "$other of the leaf node answers first: none is twice"
	stops 'the master stops with status 0'
	js_api STREAM.DELETE.LOCAL '' > "$DIR/js.out"
	stream_of hub --delete
done

done_testing
