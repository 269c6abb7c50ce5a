#!/usr/bin/env bash
# When the stream has forgotten its ids, messages that it may have already are
# looked up before they are sent again: workers killed with messages in flight,
# and a broker that does not answer for longer than its duplicate window
. "${srcdir:-$(dirname "$0")/../..}/tests/lib/lib.sh"

NATS_LINES=('authorization: {users: [{user: any, password: any}]}'
    'no_auth_user: any')
start_servers
NATS_PID=$(cat "$(. "$DIR/nats/env" && echo "$PIDFILE")")
out() { sql 'SELECT COUNT(*) FROM outbox WHERE claim_token IS NOT NULL'; }
are_out() { [ "$(out)" -ge "$1" ]; }
in_doubt() { sql 'SELECT COUNT(*) FROM outbox WHERE in_doubt_since IS NOT NULL'; }
freeze() { kill -STOP "$NATS_PID"; }
thaw() { kill -CONT "$NATS_PID"; }
trap 'thaw; cleanup' EXIT
window 2
WORKERS=2 CLAIM_TTL=6 TIMEOUT_MS=1000 LEASE_TTL=3 LEASE_RENEW=1 HEARTBEAT_TTL=3
write_conf
start_fleet
produce --events 300 --keys 300 --payload 100 --bulk
wait_for 10 is_drained

# Killed with messages in flight, which the broker stores when it goes on.
freeze
produce --events 400 --keys 200 --payload 100 --bulk
wait_for 5 are_out 200
pause 300
disown "$MASTER"
kill -KILL "$MASTER"
for pid in $(worker_pids "$MASTER"); do kill -KILL "$pid"; done
wait_for 5 is_gone "$MASTER"
thaw
pause 3000
start_master
drains 20 'workers killed with messages in flight: all rows are sent'
doubts=$(in_doubt)
check "at least 20 rows of killed workers were in doubt ($doubts)" \
    [ "$doubts" -ge 20 ]
check_stream 'the stream is complete and in order, nothing twice' --wait 10

# A broker that is silent for longer than its window, and then stores all that
# was written to it.
sql 'UPDATE outbox SET in_doubt_since = NULL'
RATE=2000
! is_short || RATE=500
produce --events $((8 * RATE)) --keys $RATE --payload 100 --rate $RATE \
    --per-txn 10 &
PRODUCER=$!
pause 1000
freeze
pause 6000
thaw
wait "$PRODUCER"
drains 30 'a broker that was stopped: all rows are sent'
say "in doubt were $(in_doubt)"
check_stream 'the stream is complete and in order, nothing twice' --wait 10

# A broker that is killed with messages in its ears: they are not there.
sql 'UPDATE outbox SET in_doubt_since = NULL'
freeze
produce --events 400 --keys 200 --payload 100 --bulk
wait_for 5 are_out 200
pause 300
"$SANDBOX" kill "$DIR/nats" > /dev/null
pause 3000
"$SANDBOX" restart "$DIR/nats" > /dev/null
NATS_PID=$(cat "$(. "$DIR/nats/env" && echo "$PIDFILE")")
drains 20 'a broker that was killed: all rows are sent'
check_stream 'the stream is complete and in order, nothing twice' --wait 10
is "$(sql 'SELECT MAX(attempts) FROM outbox')" 0 'no attempt is counted'

# Questions about the stream are answered with an error for a while: that says
# nothing of what is in it.  A subscriber takes them, and answers instead.
NATS_CONF=$(. "$DIR/nats/env" && echo "$CONF")
ERROR='{"error":{"code":503,"err_code":10008,"description":"away for now"}}'
answer_with_errors() {
	local line reply nats
	exec {nats}<> "/dev/tcp/127.0.0.1/${URL##*:}"
	printf '%s\r\n' 'CONNECT {"verbose":false}' 'SUB away 1' >&"$nats"
	while read -r line <&"$nats"; do
		line=${line%$'\r'}
		case $line in
		PING) printf 'PONG\r\n' >&"$nats" ;;
		MSG*)	read -r _ _ _ reply _ <<< "$line"
			printf 'PUB %s %d\r\n%s\r\n' "$reply" "${#ERROR}" \
			    "$ERROR" >&"$nats" ;;
		esac
	done
}
unsolved() {
	sql "SELECT COUNT(*) FROM outbox WHERE in_doubt_since IS NOT NULL
	    AND last_error LIKE '%cannot be searched%away for now%'"
}
are_unsolved() { [ "$(unsolved)" -ge 1 ]; }
if ! is_short; then
	sql 'UPDATE outbox SET in_doubt_since = NULL'
	answer_with_errors &
	ANSWERS=$!
	cp "$NATS_CONF" "$DIR/whole.conf"
	echo 'mappings { "$JS.API.STREAM.INFO.EVENTS": "away" }' >> "$NATS_CONF"
	freeze
	produce --events 400 --keys 200 --payload 100 --bulk
	wait_for 5 are_out 200
	pause 1100
	kill -HUP "$NATS_PID"
	thaw
	within 15 'a question that is answered with an error: the doubt stays' \
	    are_unsolved
	in_doubt_problem() {
		"$OUTBOXCTL" -c "$DIR/outbox.yml" status --json |
		    jq -e '.problems[] | select(.id == "in_doubt")' > /dev/null
	}
	within 25 'status tells it as a problem' in_doubt_problem
	one=$(sql "SELECT MIN(global_sequence) FROM outbox WHERE
	    last_error LIKE '%away for now%' AND published_at IS NULL")
	resolved() {
		"$OUTBOXCTL" -c "$DIR/outbox.yml" messages resolve \
		    --sent "$1" > /dev/null
	}
	within 10 'an operator says that one was sent' resolved "$one"
	cp "$DIR/whole.conf" "$NATS_CONF"
	kill -HUP "$NATS_PID"
	drains 30 'the stream is told of again: all rows are sent'
	kill "$ANSWERS"
	check_stream 'the stream is complete and in order, nothing twice' \
	    --wait 10

	# The account may not ask any more: nothing is sent, however long.
	sql 'UPDATE outbox SET in_doubt_since = NULL'
	sed -i 's/password: any/&, permissions: {publish: {deny: "$JS.API.STREAM.MSG.GET.EVENTS"}}/' \
	    "$NATS_CONF"
	freeze
	produce --events 400 --keys 200 --payload 100 --bulk
	wait_for 5 are_out 200
	pause 1100
	kill -HUP "$NATS_PID"
	thaw
	right_is_named() {
		"$OUTBOXCTL" -c "$DIR/outbox.yml" status --json |
		    jq -e '.problems[] | select(.id == "in_doubt" and (.why |
		    test("Permissions Violation.*MSG.GET")) and (.remedy |
		    test("allow the user.*messages resolve")))' > /dev/null
	}
	within 40 'status names the right that is missing' right_is_named
	pause 35000
	check 'it stays so' right_is_named
	cp "$DIR/whole.conf" "$NATS_CONF"
	kill -HUP "$NATS_PID"
	drains 30 'the right is there again: all rows are sent'
	check_stream 'the stream is complete and in order, nothing twice' \
	    --wait 10
fi
stop_master "$MASTER"

done_testing
