# idle.sh - the cost of an idle fleet

# shellcheck shell=bash disable=SC2034

# Of the fleet that runs.
idle_figures() {
	local i start us
	pause 3			# the pauses between ticks have grown
	count_mark
	cpu_mark
	start=$(now_us)
	pause "$IDLE_SECONDS"
	us=$(($(now_us) - start))
	cpu_since
	count_since
	for i in "${!COUNTERS[@]}"; do
		figure "${COUNTERS[i]}" \
		    "$(calc "${COUNTED[i]} * 1000000 / $us" 2)" /s
	done
	figure db_cpu "$(calc "$CPU_DB * 1000 / $us" 2)" ms/s
	figure relay_cpu "$(calc "$CPU_RELAY * 1000 / $us" 2)" ms/s
	figure broker_cpu "$(calc "$CPU_NATS * 1000 / $us" 2)" ms/s
}

section_idle() {
	describe idle workers=1 "partitions=$PARTITIONS" \
	    "idle_backoff_ms=$IDLE"
	fleet_as_shipped 1
	idle_figures
	fleet_stop
	judge 0
	reset
}
