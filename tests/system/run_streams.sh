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

# A subscriber that never answers takes the place of the stream, so that the
# server does not answer "no responders".
silence() {
	speak "SUB events.$1.> 1" && stream_of "${1^^}" 'elsewhere.>'
}

stream EVENTS --delete
stream_of A 'events.a.>'
stream_of B 'events.b.>'
start_fleet
events a 100
events b 100
drains 15 'all messages of both streams are sent'

check 'stream B stops answering' silence b
events b 60
for round in 1 2 3; do
	events b 20
	events a 500
	within 10 "messages of stream A are sent (round $round)" flowed a
done
blamed() {
	[ "$(sql 'SELECT COALESCE(MAX(attempts), 0) FROM outbox')" -gt 0 ] ||
	    [ "$(sql 'SELECT COUNT(*) FROM outbox_dead_letters')" -gt 0 ]
}
check 'no attempt is counted, no message is dead' not wait_for 6 blamed
is "$(left b)" 120 'the messages of stream B wait'

stream_of B 'events.b.>'
hang_up
drains 60 'all messages are sent when stream B answers again'
is "$(sql 'SELECT MAX(attempts) FROM outbox')$(sql 'SELECT COUNT(*)
    FROM outbox_dead_letters')" 00 'no attempt was counted, no message is dead'

# The messages of both as one stream, for the checker.
all='{"name":"ALL","sources":[{"name":"A"},{"name":"B"}]}'
speak "PUB \$JS.API.STREAM.CREATE.ALL ${#all}" "$all"
hang_up
STREAM=ALL check_stream \
    'the stream is complete and in order, nothing twice' --wait 10
stops 'the master stops with status 0'
done_testing
