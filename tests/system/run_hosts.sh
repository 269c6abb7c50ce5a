#!/usr/bin/env bash
# Three hosts of one fleet, each with its own way to the destinations: one leaves
# in order and comes again, under load; one that loses its way gives its
# partitions to those that have theirs, in lease_ttl and 2 s; if all have lost it,
# or each another one, nothing moves.  A host that vanished is a problem until it
# is forgotten
. "${srcdir:-$(dirname "$0")/../..}/tests/lib/http.sh"

# Not short: most of it waits for leases to end.
is_short && skip_all 'a long test'
command -v socat > /dev/null || skip_all 'no socat'
unshare --uts true 2> /dev/null || skip_all 'unshare --uts is not allowed'

start_servers
start_receiver
HOSTS=(alpha beta gamma)
declare -A NATS_PORT HOOK_PORT PID
PROXIES=$DIR/proxies
mkdir "$PROXIES"

# way FROM TO: a way from the port of a host to the server's; cut_way FROM ends
# it and its connections
way() {
	setsid socat "TCP-LISTEN:$1,bind=127.0.0.1,fork,reuseaddr" \
	    "TCP:127.0.0.1:$2" 2> /dev/null < "$DIR/db/env" &
	echo $! > "$PROXIES/$1"
	MASTERS+=($!)
	disown
}
cut_way() { kill -KILL -- -"$(< "$PROXIES/$1")"; } 2> /dev/null
open_nats() { way "${NATS_PORT[$1]}" "${URL##*:}"; }
open_hook() { way "${HOOK_PORT[$1]}" "$RPORT"; }
cut_nats() { cut_way "${NATS_PORT[$1]}"; }
cut_hook() { cut_way "${HOOK_PORT[$1]}"; }

# configure HOST: with a route for events of type hook
configure() {
	PIDFILE=$DIR/run-$1/outbox.pid LEASE_TTL=4 LEASE_RENEW=1 \
	    HEARTBEAT_TTL=4 CLAIM_TTL=6 TIMEOUT_MS=1000 BACKOFF=0.2 \
	    MAX_BACKOFF=1 URL=nats://127.0.0.1:${NATS_PORT[$1]} \
	    write_conf "$DIR/$1.yml"
	sed -i "s|^publish: {|&routes: [{name: hook, type: hook, driver: http, endpoint: \"http://127.0.0.1:${HOOK_PORT[$1]}/e\"}], |" \
	    "$DIR/$1.yml"
	echo 'http: {allow_private: true}' >> "$DIR/$1.yml"
}
start_host() {
	unshare --uts sh -c 'hostname "$1"; shift; exec "$@"' - "$1" \
	    "$OUTBOX_MASTER" -c "$DIR/$1.yml" --silent >> "$DIR/out" \
	    2>> "$DIR/$1.log" < /dev/null &
	PID[$1]=$!
	MASTERS+=($!)
}
ctl_of() { "$OUTBOXCTL" -c "$DIR/$1.yml" "${@:2}"; }

# The partitions of each host, "6 5 5"
shares() { sql "SELECT COUNT(*) FROM outbox_partitions WHERE lease_owner
    LIKE '$1:%' AND lease_until > NOW(6)"; }
all_shares() { sql "SELECT GROUP_CONCAT((SELECT COUNT(*) FROM
    outbox_partitions WHERE lease_owner LIKE CONCAT(host, ':%') AND
    lease_until > NOW(6)) ORDER BY host SEPARATOR ' ') FROM (SELECT 'alpha'
    AS host UNION SELECT 'beta' UNION SELECT 'gamma') AS hosts"; }
are_shares() { [ "$(all_shares)" = "$1" ]; }
# Nothing is away or in doubt, and all have their shares.
is_settled() { is_sql "SELECT COUNT(*) FROM outbox_workers WHERE away <> ''" 0 &&
    are_shares '6 5 5'; }
epochs() { sql 'SELECT SUM(lease_epoch) FROM outbox_partitions'; }

for h in "${HOSTS[@]}"; do
	NATS_PORT[$h]=$(free_port)
	HOOK_PORT[$h]=$(free_port)
	open_nats "$h"
	open_hook "$h"
	configure "$h"
	start_host "$h"
done
CONF=$DIR/alpha.yml LOG=$DIR/alpha.log
within 20 'shares of 6 workers are even over the hosts' are_shares '6 5 5'

# problems HOST: as its status has them
problems() { ctl_of "$1" status > "$DIR/status.out" 2>&1; cat "$DIR/status.out"; }
has_problem() { problems "$1" | grep -Eq -- "$2"; }
hook_event() { call_enqueue "'$1', NULL, 'hook', 1, NULL, NULL, 'x'"; }
# Events for the endpoint of each partition's worker
hook_events() {
	local i
	for ((i = 0; i < 60; i++)); do hook_event "hook-$1-$i"; done
}

#
# A host leaves in order, and comes again
#
produce_forever --keys 60 --payload 100 --rate 300
within 10 'messages are sent' has_published 300
for ((round = 1; round <= 2; round++)); do
	kill -TERM "${PID[gamma]}"
	wait "${PID[gamma]}"
	is $? 0 'a host leaves in order'
	rows_are 0 "outbox_partitions WHERE lease_owner LIKE 'gamma:%'" \
	    'it gave all its partitions back'
	at=$(now_ms)
	within 4 'the others have them, in even shares' are_shares '8 8 0'
	say "after $(($(now_ms) - at)) ms"
	check 'a host that left is no problem' not has_problem alpha gamma
	start_host gamma
	at=$(now_ms)
	within 10 'it comes, and has its share' are_shares '6 5 5'
	say "after $(($(now_ms) - at)) ms"
done
kill "$PRODUCER"; wait "$PRODUCER" 2> /dev/null
within 10 'all is sent' is_drained
check_stream 'the stream is complete and in order, nothing twice' --wait 10

#
# One host without its broker
#
produce_forever --keys 60 --payload 100 --rate 100
within 10 'messages are sent' has_published $(($(published) + 100))
at=$(now_ms)
cut_nats beta
within 6 'a host without its broker gives its partitions back' \
    are_shares '8 0 8'
say "after $(($(now_ms) - at)) ms"
kill "$PRODUCER"; wait "$PRODUCER" 2> /dev/null
within 3 'its keys flow elsewhere' is_drained
check 'status of another host names it and why' has_problem alpha \
    'beta does not reach NATS, and others do: 2 of its workers stand back'
check 'so does its log' has_line "$DIR/beta.log" \
    'stands back: others reach what this worker does not reach any more \(NATS\)'
open_nats beta
within 16 'it takes its share again when it reaches it' are_shares '6 5 5'
check 'status is content' not has_problem alpha 'stand back'

# While nothing is sent.
cut_nats gamma
within 6 'an idle host notices it as well' are_shares '8 8 0'
open_nats gamma
within 16 'and takes its share again' are_shares '6 5 5'

#
# All without the broker: nothing moves
#
before=$(epochs)
for h in "${HOSTS[@]}"; do cut_nats "$h"; done
produce --events 60 --keys 60
pause 8000
is "$(all_shares) $(($(epochs) - before))" '6 5 5 0' \
    'all without the broker: nothing moves'
for h in "${HOSTS[@]}"; do open_nats "$h"; done
within 15 'its messages are sent when it is back' is_drained
within 40 'and then all have their shares' is_settled

# It comes and goes, for all.
before=$(epochs)
for ((i = 0; i < 6; i++)); do
	for h in "${HOSTS[@]}"; do cut_nats "$h"; done
	produce --events 20 --keys 20
	pause 1500
	for h in "${HOSTS[@]}"; do open_nats "$h"; done
	pause 1500
done
is "$(all_shares) $(($(epochs) - before))" '6 5 5 0' \
    'the broker comes and goes: nothing moves'
within 15 'its messages are sent' is_drained
within 40 'and then all have their shares' is_settled

#
# An endpoint
#
hook_events before
within 20 'messages to the endpoint are sent' is_drained
for h in "${HOSTS[@]}"; do cut_hook "$h"; done
hook_events during
pause 6000
is "$(all_shares)" '6 5 5' 'an endpoint that nobody reaches: nothing moves'
cut_nats beta
within 8 'but a host that lacks the broker, too, stands back' \
    are_shares '8 0 8'
open_hook gamma
within 20 'one host reaches all: it has all' are_shares '0 0 16'
within 15 'and sends all' is_drained
open_nats beta
open_hook alpha
open_hook beta
# They send nothing, and try to connect.
within 60 'hosts that stand back notice that it is back' are_shares '6 5 5'
wait_for 40 is_settled

# Hosts with different ones down.
cut_nats alpha
cut_hook beta
cut_hook gamma
hook_events different
pause 8000
is "$(shares alpha) $(($(shares beta) + $(shares gamma)))" '6 10' \
    'hosts that lack different ones keep their partitions'
open_nats alpha
open_hook beta
open_hook gamma
within 40 'all is sent' is_drained
within 60 'shares are as before' is_settled

#
# A host that vanishes
#
kill -KILL "${PID[beta]}"
wait "${PID[beta]}" 2> "$DIR/wait"
within 6 'a host vanishes: others have its partitions' are_shares '8 0 8'
within 3 'status says so' has_problem alpha 'beta vanished'
like "$(cat "$DIR/status.out")" 'workers forget beta' 'and how it is forgotten'
is "$(ctl_of alpha --json workers forget --dry-run beta | jq -c '[.changed, .dry_run]')" \
    '[2,true]' 'forget --dry-run says how many'
check 'a host that is alive is not forgotten' not \
    ctl_of alpha workers forget gamma 2> /dev/null
ctl_of alpha workers forget beta > "$DIR/forgot"
is $? 0 'the host is forgotten'
rows_are 0 "outbox_workers WHERE hostname = 'beta'" 'its workers are deleted'
like "$(ctl_of alpha audit list --limit 1)" 'workers forget.*beta' \
    'the audit has it'
check 'status is content' not has_problem alpha 'vanished'
# Those for the endpoint are in no stream.
sql "DELETE FROM outbox WHERE global_sequence IN (SELECT sequence FROM events
    WHERE event_type = 'hook'); DELETE FROM events WHERE event_type = 'hook'"
check_stream 'the stream is complete and in order, nothing twice' --wait 10
done_testing
