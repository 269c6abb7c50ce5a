#!/usr/bin/env bash
# All that reads for long, through restarts of both servers, with and without a
# second route: serve, top and the monitor say what a fresh status says, worker,
# listener and janitor go on, and no reader needs a hand.
. "${srcdir:-$(dirname "$0")/../..}/tests/lib/ctl.sh"
. "$srcdir/tests/lib/tmux.sh"
OUTBOXCTL=$(readlink -f "$OUTBOXCTL")

# Seconds for which they are compared after each restart.
WATCH=5
! is_short || WATCH=1

# ids: of the problems but PASSING, from a status or from a list of problems
ids() { jq -r --arg not "${PASSING:-}" \
    '[(if type == "object" then .problems else . end)[].id] - [$not] |
    sort | join(" ")' 2>&1; }
fresh() { "$OUTBOXCTL" -c "$CONF" --json status; }
from_serve() {
	local line
	echo '["status"]' >&8
	read -rt 20 -u 9 line
	jq -c .result <<< "$line"
}
get() { curl -s -m 9 --unix-socket "$DIR/run/outbox.monitor.sock" \
    "http://localhost/$1" "${@:2}"; }

# What each says: the ids of its problems; of some only whether there are any.
says() {
	case $1 in
	serve) from_serve | ids ;;
	api) get api/problems | ids ;;
	readyz) [ "$(get readyz -o "$DIR/ready" -w '%{http_code}')" = 200 ] ||
	    echo some ;;
	top) sees 'state +healthy' || echo some ;;
	esac
}
# differs [READER...]: those that say something else than status before and after
differs() {
	local before after reader said
	before=$(fresh | ids)
	[ $# -gt 0 ] || set -- serve api readyz top
	for reader; do
		said=$(says "$reader")
		[ "$said" != "$before" ] || continue
		after=$(fresh | ids)
		[ "$said" = "$after" ] || { [ "$said" = some ] &&
		    [ -n "$before$after" ]; } || echo "$reader: $said, status: $after"
	done
}
agree() { [ -z "$(differs)" ]; }
states() { fresh | jq -r '.this_host | [.listener.state, .janitor.state,
    .workers[].state] | unique | join(" ")'; }
run() { [ "$(states)" = running ]; }
is_healthy() { [ -z "$(fresh | ids)" ]; }

# all_go_on NAME: within ten seconds each reader and each process of the daemon
# is as before, and stays so
all_go_on() {
	local end
	within 10 "$1: healthy" is_healthy
	within 10 "$1: worker, listener and janitor run" run
	within 10 "$1: all say what status says" agree
	end=$((SECONDS + WATCH))
	OUT=
	while [ "$SECONDS" -lt "$end" ]; do
		wait_for 3 agree || OUT+=$(differs)	# they have rounds
		pause 1000
	done
	is "$OUT" '' "$1: and go on to"
	enqueue_keys "${1//[^a-z]/}" 1 paid
	within 10 "$1: a message is sent" is_drained
}

restarts() {
	local server
	for server in nats db; do
		"$SANDBOX" restart "$DIR/$server" > /dev/null
		# A worker's wait may come and go between two looks.
		is "$(PASSING=waiting_worker differs serve)" '' \
		    "$1, restart of $server: the first answer of serve is right"
		all_go_on "$1, restart of $server"	# asks serve
	done
	! is_short || return
	"$SANDBOX" stop "$DIR/nats" > /dev/null
	is "$(differs serve)" '' \
	    "$1, no broker: the first answer of serve is right"
	within 10 "$1, no broker: status tells it" not is_healthy
	within 10 "$1, no broker: all tell it" agree
	"$SANDBOX" restart "$DIR/nats" > /dev/null
	all_go_on "$1, the broker is back"
}

start_servers
sql "GRANT REPLICATION SLAVE ON *.* TO 'outbox'@'localhost'"
conf() { WORKERS=1 PARTITIONS=4 WAKE='binlog: true' write_conf; }
export OUTBOX_IDLE_ROUTE=yes
conf
start_fleet
coproc SERVE { exec "$OUTBOXCTL" -c "$CONF" serve 2> "$DIR/serve.err"; }
exec 8>&"${SERVE[1]}" 9<&"${SERVE[0]}"
window 100 30
run_there "$OUTBOXCTL -c $CONF top"
within 20 'all are there' agree
restarts 'two destinations'

# Without a route, then with nats.core, where nothing but a connect is answered:
# the files change under those that read them.
if ! is_short; then
	unset OUTBOX_IDLE_ROUTE
	conf
	kill -HUP "$MASTER"
	all_go_on 'one destination'
	restarts 'one destination'

	STREAM='' conf
	sed 's/^nats: {/&core: true, /' "$CONF" > "$DIR/c" && mv "$DIR/c" "$CONF"
	kill -HUP "$MASTER"
	all_go_on 'nats.core'
	read -r nats _ < "$DIR/nats/process"
	kill -STOP "$nats"
	within 10 'nats.core, the broker stands still: status tells it' \
	    not is_healthy
	within 10 'nats.core, the broker stands still: all tell it' agree
	within 15 'nats.core, the broker stands still: the worker notices' \
	    not run
	kill -CONT "$nats"
	all_go_on 'nats.core, the broker goes on'
fi
exec 8>&- 9<&-
stops 'the master stops with status 0'
done_testing
