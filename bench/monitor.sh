# monitor.sh - do those who watch a fleet slow it down?
#
# Tabs of the dashboard and a scraper ask the monitor while a backlog is drained,
# between two drains that nobody watches.  The table has as many delivered rows
# as the last of AGES.

# shellcheck shell=bash disable=SC1091,SC2034,SC2154

ask() { curl -sS --max-time 10 --unix-socket "${MONITOR:?}" "http://localhost$1"; }

# What a tab asks for: the stream of events, and now and then what is not in it.
tab() {
	exec curl -sSN --unix-socket "$MONITOR" http://localhost/api/events \
	    > /dev/null 2>&1
}
scraper() {
	while [ -e "$DIR/watched" ]; do
		ask /metrics
		[ $((++n % 5)) -ne 0 ] || { ask /api/partitions
		    ask /api/throughput; }
		nap 1
	done > /dev/null 2>> "$DIR/scraper.err"
}

watch_fleet() {
	local n=0 i
	MONITOR=$DIR/run/outbox.monitor.sock
	: > "$DIR/watched"
	for ((i = 0; i < TABS; i++)); do
		tab &
		HELPERS+=($!)
	done
	scraper &
	SCRAPER=$!
	wait_for 20 is_watched || die 'the monitor does not answer'
}
is_watched() { [ "$(ask /metrics | grep -c '^outbox_up 1')" -eq 1 ]; }

# The scraper ends after its request, so that none is cut off.
leave_fleet() {
	rm "$DIR/watched"
	wait "$SCRAPER"
	kill "${HELPERS[@]}"
	wait "${HELPERS[@]}" 2> /dev/null
	HELPERS=()
	[ ! -s "$DIR/scraper.err" ] || die "$(cat "$DIR/scraper.err")"
}

# watched TABS: a drain that so many tabs and a scraper watch, or none
watched() {
	TABS=$1 PREPARE=: RELEASE=:
	[ "$1" -eq 0 ] || PREPARE=watch_fleet RELEASE=leave_fleet
	age_table "${AGES##* }"
	wait_until_quiet
	describe monitor "tabs=$1" "delivered=${AGES##* }" "rows=$ROWS" \
	    "run=$((++watched_run))"
	drain "$ROWS" "$FLEETSIZE" 200 2000 1000
}

# The statements of an idle fleet's database, with as many tabs.
idle_statements() {
	local before after
	fleet_as_shipped "$FLEETSIZE"
	pause 3
	[ "$1" -eq 0 ] || TABS=$1 watch_fleet
	describe monitor_idle "tabs=$1"
	before=$(server_status Questions)
	pause "$IDLE_SECONDS"
	after=$(server_status Questions)
	figure statements "$(calc "($after - $before) / $IDLE_SECONDS" 1)" /s
	[ "$1" -eq 0 ] || leave_fleet
	fleet_stop
	judge 0
	reset
}

section_monitor() {
	local watched_run=0 before between this
	. "$here/age.sh"
	command -v curl > /dev/null || die 'curl is not installed'
	watched 0
	before=$RATE
	watched 50
	between=$RATE this=$PARAMS
	watched 0
	PARAMS=$this
	figure of_alone "$(calc "2 * $between / ($before + $RATE)" 3)" ratio
	idle_statements 0
	idle_statements 1
	idle_statements 50
}
