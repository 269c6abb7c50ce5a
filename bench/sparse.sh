# sparse.sh - single events with long pauses, and the default configuration

# shellcheck shell=bash disable=SC1091,SC2034,SC2154

# sparse_run YES|NO: with or without the right to follow the binlog
sparse_run() {
	local p
	describe sparse workers=1 "may_follow_binlog=$1" "events=$SPARSE_EVENTS"
	fleet_as_shipped 1
	idle_figures
	load $((SPARSE_EVENTS * 3)) --every 3000 --nats "$URL"
	for p in p50 p90 max; do
		figure "$p" "$(calc "$(load_value "latency_$p") / 1000" 2)" ms
	done
	all_delivered
	reset
}

section_sparse() {
	. "$here/steady.sh"
	. "$here/idle.sh"
	allow_listener
	sparse_run yes
	forbid_listener
	sparse_run no
}
