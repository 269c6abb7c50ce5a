# idle.sh - the cost of an idle fleet

# shellcheck shell=bash disable=SC2034

counters='Questions Com_select Com_update Com_insert Com_delete Com_commit'

# The values of the counters, one a line.
status() {
	sql 'SHOW GLOBAL STATUS' | awk -v names="$counters" '
	    { value[$1] = $2 }
	    END { n = split(names, name, " ")
		for (i = 1; i <= n; i++) print value[name[i]] }'
}

section_idle() {
	local names i before own after start us
	read -ra names <<< "$counters"
	describe idle workers=4 "partitions=$PARTITIONS" \
	    "idle_backoff_ms=$IDLE"
	fleet_as_shipped 4
	pause 3			# the pauses between ticks have grown
	mapfile -t before < <(status)
	mapfile -t own < <(status)
	cpu_mark
	start=$(now_us)
	pause "$IDLE_SECONDS"
	us=$(($(now_us) - start))
	cpu_since
	mapfile -t after < <(status)
	for i in "${!names[@]}"; do
		# own - before is the cost of reading: subtract it.
		figure "${names[i]}" "$(calc "(${after[i]} - 2 * ${own[i]} \
		    + ${before[i]}) * 1000000 / $us" 2)" /s
	done
	figure db_cpu "$(calc "$CPU_DB * 1000000 / $us" 2)" ms/s
	figure relay_cpu "$(calc "$CPU_RELAY * 1000000 / $us" 2)" ms/s
	figure broker_cpu "$(calc "$CPU_NATS * 1000000 / $us" 2)" ms/s
	fleet_stop
	judge 0
	reset
}
