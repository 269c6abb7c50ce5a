#!/usr/bin/env bash
# cluster.sh - run.sh --cluster galera|group|nats: two hosts with a daemon each
# on a cluster, of which one member at a time is killed, frozen or cut off
#
# SEED, DURATION, RATE, KEEP and LOGS as for run.sh, CLUSTER the kind, PLAN_ONLY
# to print the schedule.  Root gets links that can be cut.

srcdir=${srcdir:-$(dirname "$0")/../..}
KEEP=${KEEP-1}
SEED=${SEED:-$((RANDOM << 15 | RANDOM))}
DURATION=${DURATION:-60} RATE=${RATE:-300}

# The schedule: what, which of the three, for how long, and a daemon's fault in
# the middle of it.
NODE_FAULTS=(kill kill freeze freeze stop)
case $CLUSTER in
galera) NODE_FAULTS+=(isolate isolate) ;;
nats) NODE_FAULTS+=(step_down) ;;
esac
NETNS=''
[ "$(id -u)" -ne 0 ] || NETNS=--netns
[ -z "$NETNS" ] || NODE_FAULTS+=(cut cut peers peers)
HOST_FAULTS=(none none none worker_kill worker_stop host_kill host_stop
    host_term)
PLAN=()
# Drawn in pairs: the low bits of one number repeat.
below() { R=$((((RANDOM << 15 | RANDOM) >> 3) % $1)); }
make_plan() {
	local t=0 fault node ms host
	RANDOM=$((SEED % 32768))
	while [ $t -lt $((DURATION * 1000)) ]; do
		below ${#NODE_FAULTS[@]}; fault=${NODE_FAULTS[R]}
		below 3; node=n$((R + 1))
		below 5
		if [ "$R" -eq 0 ]; then below 12000; ms=$((R + 8000))
		else below 6000; ms=$((R + 1000)); fi
		below ${#HOST_FAULTS[@]}; host=${HOST_FAULTS[R]}
		below 2
		PLAN+=("$fault $node $ms $host $((R + 1))")
		t=$((t + ms + 5000))	# it takes as long to come back
	done
}
make_plan

. "$srcdir/tests/lib/lib.sh"
. "$srcdir/tests/lib/nodes.sh"
say "seed $SEED, $DURATION s, $RATE events/s, two hosts, cluster of $CLUSTER" \
    "${NETNS:+, links can be cut}"
for entry in "${PLAN[@]}"; do say "    $entry"; done
[ -z "${PLAN_ONLY:-}" ] || exit 0

START=$(now_ms)
note() { printf '%7d %s\n' $(($(now_ms) - START)) "$*" >> "$DIR/faults"; }
exec 2>> "$DIR/stderr"	# the shell tells of each job that was killed
HPID=()

clean_up() {
	local node
	for node in "${NODES[@]}"; do node_thaw "$node"; done
	for node in "${HPID[@]}"; do
		worker_pids "$node" | xargs kill -CONT "$node"
	done
	[ -z "${LOGS:-}" ] || {
		mkdir -p "$LOGS"
		cp "$DIR"/faults "$DIR"/h?.log "$LOGS"
	}
	cleanup
} 2> /dev/null
trap clean_up EXIT

# Half of the seeds have the default times.
host_up() {
	if [ $((SEED % 2)) -eq 0 ]; then
		WORKERS=2 LEASE_TTL=4 LEASE_RENEW=1 HEARTBEAT_TTL=4 \
		    CLAIM_TTL=8 TIMEOUT_MS=2000 WAKE='binlog: true' \
		    host_conf "$1" "$1"
	else
		WORKERS=2 host_conf "$1" "$1"
	fi
	host_start "$1"
	HPID[$1]=$MASTER
	note "host $1 started as $MASTER"
}

# Workers of a killed master may hold its lock for two seconds.
host_again() {
	local until
	wait "${HPID[$1]}"
	host_up "$1"
	until=$(($(now_ms) + 1000))
	until is_later "$until"; do
		is_gone "${HPID[$1]}" && { wait "${HPID[$1]}"; host_up "$1"; }
		nap 0.2
	done
}

# A daemon's fault, of the host $2, in the middle of a member's.
host_none() { :; }
host_worker_kill() { kill -KILL "$(worker_pids "${HPID[$1]}" | head -n 1)"; }
host_worker_stop() {
	local pid
	pid=$(worker_pids "${HPID[$1]}" | head -n 1)
	kill -STOP "$pid"
	pause 3000
	kill -CONT "$pid"
}
host_host_kill() { kill -KILL "${HPID[$1]}"; host_again "$1"; }
host_host_stop() {
	local pids
	pids="${HPID[$1]} $(worker_pids "${HPID[$1]}")"
	# shellcheck disable=SC2086
	kill -STOP $pids
	pause 9000
	# shellcheck disable=SC2086
	kill -CONT $pids
}
host_host_term() {
	kill -TERM "${HPID[$1]}"
	wait "${HPID[$1]}"
	is $? 0 "host $1 stops with status 0"
	host_up "$1"
}

# hold MS FAULT HOST: so long does it last
hold() {
	local until=$(($(now_ms) + $1))
	pause $(($1 / 3))
	note "host $3: $2"
	"host_$2" "$3"
	until is_later "$until"; do nap 0.1; done
}

# Does a server of 2.9 forget what it has, if it leads and stands still?
may_freeze() {
	[ "$CLUSTER" != nats ] || [[ $(nats-server --version) != *v2.9.* ]] ||
	    ! leads "$1"
}

fault_kill() { node_kill "$1"; hold "${@:2}"; node_start "$1"; }
fault_stop() { node_stop "$1"; hold "${@:2}"; node_start "$1"; }
fault_freeze() {
	may_freeze "$1" || { fault_kill "$@"; return; }
	node_freeze "$1"
	hold "${@:2}"
	node_thaw "$1"
}
fault_isolate() { node_isolate "$1"; hold "${@:2}"; node_return "$1"; }
fault_cut() { "$SANDBOX" cut "$DIR/$1"; mend "$@"; }
fault_peers() { "$SANDBOX" cut "$DIR/$1" peers; mend "$@"; }
fault_step_down() { step_down; hold 1000 "${@:3}"; }
mend() { hold "${@:2}"; "$SANDBOX" join "$DIR/$1"; }

# A node that leaves while the others lose each other takes the majority along:
# Galera stands still until an operator names the node that is furthest.
choose_primary() {
	local node furthest
	for node in "${NODES[@]}"; do
		[ "$(wsrep "$node" cluster_status)" != Primary ] || return
	done
	furthest=$(for node in "${NODES[@]}"; do
		echo "$(wsrep "$node" last_committed || echo 0) $node"
	done | sort -n | tail -n 1 | cut -d' ' -f2)
	note "$furthest is made the primary component"
	node_sql "$furthest" \
	    "SET GLOBAL wsrep_provider_options = 'pc.bootstrap=1'"
}

# One that does not come back by itself is started again, by an operator.
whole_again() {
	local node
	wait_for 60 nodes_are_whole && return
	[ "$CLUSTER" != galera ] || {
		choose_primary
		wait_for 60 nodes_are_whole && return
	}
	for node in "${NODES[@]}"; do
		note "$node is started again"
		node_stop "$node"
		node_start "$node"
		wait_for 60 nodes_are_whole && return
	done
	return 1
}

# Members other than the one that it happens to can be asked.
ask_another() {
	local node
	[ "$CLUSTER" != nats ] || return
	for node in "${NODES[@]}"; do
		[ "$node" = "$1" ] || SQL_NODE=$DIR/$node
	done
}

nodes_start "$CLUSTER" $NETNS
host_up 1
host_up 2
check 'all partitions have owners before the faults' wait_for 40 all_owned || {
	tail -n 3 "$DIR"/h?.log | sed 's/^/# /'
	echo 'Bail out! the daemons do not work with the cluster'
	exit 1
}
PRODUCERS=()
for i in 1 2; do
	# A key has one writer, which waits for what others committed.
	WRITERS=$([ "$CLUSTER" = galera ] && turned "$i" "$HOSTS" ||
	    echo "$HOSTS") node_produce --keys 50 --key-prefix "w$i-" \
	    --producers 2 --per-txn 2 --rollback 5 --rate $((RATE / 2))
	PRODUCERS+=("$PRODUCER")
done
check 'messages are sent before the faults' wait_for 30 has_published 500
START=$(now_ms)
injected=0 broken=0
for entry in "${PLAN[@]}"; do
	is_later $((START + DURATION * 1000)) && break
	read -r fault node ms host of <<<"$entry"
	note "$fault $entry"
	ask_another "$node"
	"fault_$fault" "$node" "$ms" "$host" "$of"
	injected=$((injected + 1))
	whole_again || { broken=1; break; }
	note 'the cluster is whole'
	is_gone "${HPID[1]}" || is_gone "${HPID[2]}" || continue
	broken=2
	break
done
is "$broken" 0 "the cluster and both hosts are there after $injected faults"
kill -TERM "${PRODUCERS[@]}"
for i in "${PRODUCERS[@]}"; do
	wait "$i"
	is $? 0 'a producer ends with status 0'
done
drained=$(now_ms)
wait_for 120 is_drained
ok $? "every row is published ($(($(now_ms) - drained)) ms)"
wait_for 60 all_owned
ok $? 'all partitions have owners after the faults'
for i in 1 2; do
	kill -TERM "${HPID[i]}"
	wait "${HPID[i]}"
	is $? 0 "host $i stops with status 0"
done
is "$(sql 'SELECT COALESCE(MAX(attempts), 0) FROM outbox')" 0 \
    'no attempt was used'
[ "$CLUSTER" != nats ] || URL=$(any_url)
"$LAB" check --json --host "$(of_node "$SQL_NODE" HOST):$(of_node "$SQL_NODE" \
    PORT)" --user plain --password-env PRODUCER_PW --database app \
    --nats "$URL" --stream EVENTS --wait 10 > "$DIR/checked" 2>&1
ok $? 'the stream is complete and in order, nothing twice or dead'
sed 's/^/# checked /' "$DIR/checked"
rows_are 0 'outbox_partitions
    WHERE lease_owner IS NOT NULL' 'no partition has an owner'
is "$(grep -hE 'phantom|went back|lost [0-9,]+ ack' "$DIR"/h?.log | head -n 3)" \
    '' 'no host tells of lost commits or messages'
# 9 is sent by this test, 14 is the alarm of an orphan; 10 a hand-over.
is "$(grep -hE 'was killed by signal|exited with status|panic' \
    "$DIR"/h?.log | grep -vE 'signal (9|14) |status (0|10) ' | head -n 3)" '' \
    'no worker crashed'
[ "$FAILED" -eq 0 ] || say "replay: tests/chaos/run.sh --cluster $CLUSTER" \
    "--seed $SEED --seconds $DURATION --events-rate $RATE"
done_testing
