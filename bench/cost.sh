# cost.sh - what a message costs at each load, and how long it takes
#
# Net figures are those without the share of the producers, which a run without
# a relay has measured just before at the same load.

# shellcheck shell=bash disable=SC1091,SC2034,SC2154

# The daemon's statements so far, by name; nothing without curl.
named_statements() {
	! command -v curl > /dev/null ||
	    curl -sS --max-time 10 --unix-socket "$DIR/run/outbox.monitor.sock" \
	    http://localhost/metrics 2>> "$DIR/curl.err" | sed -n \
	    's/^outbox_statements_total{.*statement="\([^"]*\)".* /\1\t/p'
}
has_named() { [ -n "$(named_statements)" ]; }

# by_name: the five most frequent, how many a message: "claim 0.98, ..."
by_name() {
	awk -F '\t' -v n="$COMMITTED" 'NR == FNR { before[$1] = $2; next }
	    ($2 - before[$1]) / n >= 0.005 {
		printf "%.2f\t%s %.2f\n", ($2 - before[$1]) / n, $1,
		    ($2 - before[$1]) / n
	    }' "$DIR/named.before" "$DIR/named.after" | sort -rn |
	    head -n 5 | cut -f 2 | paste -sd , | sed 's/,/, /g'
}

# cost LOAD [options]: run it with its statements counted; figures that all have
cost() {
	local p
	count_mark
	load "$COST_SECONDS" --rate "$@"
	count_since
	reached "$1"
	for p in ${2:+p50 p99}; do
		figure "$p" "$(calc "$(load_value "latency_$p") / 1000" 2)" ms
	done
	figure db_cpu "$(per_message "$CPU_DB")" us/msg
}

# Sets ALONE_*: of the producers, per message.
cost_alone() {
	describe cost "load=$1" relay=no "linger=$2" workers=0 "run=$3"
	cost "$1"
	figure statements "$(calc "${COUNTED[0]} / $COMMITTED" 2)" /msg
	ALONE_DB=$(calc "$CPU_DB / $COMMITTED" 3)
	ALONE_NATS=$(calc "$CPU_NATS / $COMMITTED" 3)
	ALONE_STATEMENTS=$(calc "${COUNTED[0]} / $COMMITTED" 4)
	reset
}

cost_net() {
	cost "$@"
	figure db_net "$(calc "$CPU_DB / $COMMITTED - $ALONE_DB" 1)" us/msg
	figure relay_cpu "$(per_message "$CPU_RELAY")" us/msg
	figure broker_net "$(calc "$CPU_NATS / $COMMITTED - $ALONE_NATS" 1)" \
	    us/msg
	figure statements_net "$(calc \
	    "${COUNTED[0]} / $COMMITTED - $ALONE_STATEMENTS" 2)" /msg
}

# One process is the least.
cost_floor() {
	local ms=$2
	[ "$ms" != default ] || ms=$(default_of linger_ms)
	describe cost "load=$1" relay=floor "linger=$2" workers=1 "run=$3"
	with_floor 1 "${ms:-0}" cost_net "$1" --nats "$URL" --tell 9
	reset
}

# cost_relay LOAD LINGER RUN WORKERS NAME WAKE
cost_relay() {
	local LINGER=$2
	[ "$2" != default ] || LINGER=''
	describe cost "load=$1" "relay=$5" "linger=$2" "workers=$4" "run=$3"
	WAKE=$6 fleet_as_shipped "$4"
	! command -v curl > /dev/null || wait_for 20 has_named ||
	    die 'the monitor does not answer'
	named_statements > "$DIR/named.before"
	cost_net "$1" --nats "$URL"
	named_statements > "$DIR/named.after"
	figure by_name "$(by_name)" /msg
	all_delivered
	reset
}

# cost_runs LOAD LINGER RUN: all that is compared with the same producers
cost_runs() {
	local n
	cost_alone "$@"
	cost_floor "$@"
	for n in $COST_FLEETS; do
		cost_relay "$@" "$n" polls 'binlog: false'
		cost_relay "$@" "$n" listener 'binlog: true'
	done
}

section_cost() {
	local load linger run
	. "$here/steady.sh"
	allow_listener
	for load in $COST_LOADS; do
		for linger in $LINGERS; do
			for ((run = 1; run <= REPEAT; run++)); do
				cost_runs "$load" "$linger" "$run"
			done
		done
	done
}
