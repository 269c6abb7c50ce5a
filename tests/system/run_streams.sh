#!/usr/bin/env bash
# Two streams behind one connection, and one of them does not answer for a
# while: its messages wait, nothing dies, and those of the other one flow
. "${srcdir:-$(dirname "$0")/../..}/tests/lib/lib.sh"

start_servers
WORKERS=2 STREAM='' TIMEOUT_MS=1000 MAX_ATTEMPTS=2 write_conf
stream() { "$LAB" stream --nats "$URL" --name "$@"; }
stream_of() { # NAME SUBJECTS
	stream "$1" --subjects "$2" --dup-window 600
}
# events NAME N: of the stream of that name, with keys of its own
events() { produce --events "$2" --keys 40 --type "$1.done" --key-prefix "$1"; }
# left NAME: of them still waiting
left() {
	sql "SELECT COUNT(*) FROM outbox JOIN events
	    ON sequence = global_sequence
	    WHERE published_at IS NULL AND event_type = '$1.done'"
}
flowed() { [ "$(left "$1")" -eq 0 ]; }

# speak LINE...: to the server, until it has read all of it
speak() {
	local line
	exec {NATS}<> "/dev/tcp/127.0.0.1/${URL##*:}"
	printf '%s\r\n' 'CONNECT {"verbose":false}' "$@" PING >&"$NATS"
	while read -rt 10 line <&"$NATS"; do
		[ "$line" = $'PONG\r' ] && return 0
	done
	return 1
}
hang_up() { exec {NATS}>&-; }

# A subscriber that answers nothing takes the place of the stream, so that the
# server does not say that nobody is there.
silence() {
	speak "SUB events.$1.> 1" && stream_of "${1^^}" 'elsewhere.>'
}

stream EVENTS --delete
stream_of A 'events.a.>'
stream_of B 'events.b.>'
start_fleet
events a 100
events b 100
drains 15 'both streams take their messages'

silence b
ok $? 'one of them falls silent'
events b 60
for round in 1 2 3; do
	events b 20
	events a 500
	wait_for 10 flowed a
	ok $? "the other one flows ($round)"
done
blamed() {
	[ "$(sql 'SELECT COALESCE(MAX(attempts), 0) FROM outbox')" -gt 0 ] ||
	    [ "$(sql 'SELECT COUNT(*) FROM outbox_dead_letters')" -gt 0 ]
}
! wait_for 6 blamed
ok $? 'no attempt is used up, none dies'
is "$(left b)" 120 'they wait'

stream_of B 'events.b.>'
hang_up
drains 60 'all goes on by itself when it answers again'
is "$(sql 'SELECT MAX(attempts) FROM outbox')$(sql 'SELECT COUNT(*)
    FROM outbox_dead_letters')" 00 'as if nothing had happened'

# What both have, as one stream that can be checked.
all='{"name":"ALL","sources":[{"name":"A"},{"name":"B"}]}'
speak "PUB \$JS.API.STREAM.CREATE.ALL ${#all}" "$all"
hang_up
STREAM=ALL check_stream 'complete, in order per key, nothing twice' --wait 10
stops 'stops'
done_testing
