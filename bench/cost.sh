# cost.sh - what a message costs at each load, and how long it takes
#
# Net figures are those without the share of the producers: the mean of two runs
# without a relay at the same load, just before and just after.

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

# cost LOAD [options]: run it with its statements counted; sets SHARE, per
# message: CPU time of database and broker, statements
cost() {
	local p
	count_mark
	load "$COST_SECONDS" --rate "$@"
	count_since
	SHARE=$(per_message "$CPU_DB" 3)$'\t'$(per_message "$CPU_NATS" 3)
	SHARE=$SHARE$'\t'$(per_message "${COUNTED[0]}" 4)
	reached "$1"
	for p in ${2:+p50 p99}; do
		figure "$p" "$(calc "$(load_value "latency_$p") / 1000" 2)" ms
	done
	figure db_cpu "$(per_message "$CPU_DB")" us/msg
}

# cost_alone LOAD RUN: the producers; sets BEFORE and ALONE, their last two shares
cost_alone() {
	describe cost "load=$1" relay=no linger=none workers=0 "run=$2"
	cost "$1"
	figure statements "$(per_message "${COUNTED[0]}" 2)" /msg
	BEFORE=${ALONE-} ALONE=$SHARE
	reset
}

# cost_relayed LOAD [options]: the net figures wait for the next cost_alone
cost_relayed() {
	cost "$@"
	figure relay_cpu "$(per_message "$CPU_RELAY")" us/msg
}
cost_waits() { printf '%s\t%s\t%s\n' "$PARAMS" "$SHARE" "$1" >> "$DIR/waiting"; }

# The net figures of all that was measured between the last two cost_alone.
cost_net() {
	awk -F '\t' -v before="$BEFORE" -v after="$ALONE" '
	    function put(name, form, value, unit) {
		printf "cost\t%s\t%s\t" form "\t%s\n", $1, name, value, unit
	    }
	    function net(i) { return $(i + 1) - (b[i] + a[i]) / 2 }
	    BEGIN { split(before, b, "\t"); split(after, a, "\t") }
	    {
		put("db_net", "%.1f", net(1), "us/msg")
		put("broker_net", "%.1f", net(2), "us/msg")
		put("statements_net", "%.2f", net(3), "/msg")
		if ($5 != "")
			put("by_name", "%s", $5, "/msg")
	    }' "$DIR/waiting" >> "$OUT/bench.tsv"
	rm "$DIR/waiting"
}

# cost_floor LOAD LINGER RUN: one process is the least
cost_floor() {
	describe cost "load=$1" relay=floor "linger=$2" workers=1 "run=$3"
	with_floor 1 "$2" cost_relayed "$1" --nats "$URL" --tell 9
	cost_waits ''
	reset
}

# cost_relay LOAD LINGER RUN WORKERS NAME WAKE
cost_relay() {
	describe cost "load=$1" "relay=$5" "linger=$2" "workers=$4" "run=$3"
	WAKE=$6 LINGER=$2 fleet_as_shipped "$4"
	! command -v curl > /dev/null || wait_for 20 has_named ||
	    die 'the monitor does not answer'
	named_statements > "$DIR/named.before"
	cost_relayed "$1" --nats "$URL"
	named_statements > "$DIR/named.after"
	cost_waits "$(by_name)"
	all_delivered
	reset
}

# cost_runs LOAD LINGER RUN: all that is compared with the same producers
cost_runs() {
	local n
	cost_floor "$@"
	for n in $COST_FLEETS; do
		cost_relay "$@" "$n" polls 'binlog: false'
		cost_relay "$@" "$n" listener 'binlog: true'
	done
}

section_cost() {
	local load linger run n
	. "$here/steady.sh"
	allow_listener
	for load in $COST_LOADS; do
		n=0
		cost_alone "$load" "$((++n))"
		for linger in $LINGERS; do
			for ((run = 1; run <= REPEAT; run++)); do
				cost_runs "$load" "$linger" "$run"
				cost_alone "$load" "$((++n))"
				cost_net
			done
		done
	done
	forbid_listener
}
