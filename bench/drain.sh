# drain.sh - a backlog and a fleet that is ready: how fast is it gone?

# shellcheck shell=bash disable=SC2034

# drain ROWS WORKERS PAYLOAD KEYS BATCH: sets RATE (rows a second, from the
# go to the last settle), SECS and STREAM_RATE (from the first message to the
# last, by the stream's clock); with figures of CPU and memory.
drain() {
	local go
	fleet_start "$2" "$5"
	fleet_hold
	fill "$1" "$3" "$4"
	wait_until_quiet
	peak_reset
	cpu_mark
	go=$(now_us)
	fleet_go
	wait_stored "$1"
	wait_for 60 is_drained || die 'rows stay in the outbox'
	wait_until_quiet
	cpu_since
	memory_mark
	fleet_stop
	drain_figures "$1" "$go"
}

# drain_figures ROWS GO
drain_figures() {
	local rows=$1 end
	end=$(sql "SELECT CAST(1000000 * UNIX_TIMESTAMP(MAX(published_at))
	    AS UNSIGNED) FROM outbox")
	SECS=$(calc "($end - $2) / 1000000" 3)
	RATE=$(calc "$rows / $SECS")
	DB_US=$(calc "$CPU_DB * 1000 / $rows" 1)
	judge "$rows"
	STREAM_RATE=$(field rate)
	figure rate "$RATE" msg/s
	figure rate_stream "$STREAM_RATE" msg/s
	figure rate_first_quarter "$(field rate_first_quarter)" msg/s
	figure rate_last_quarter "$(field rate_last_quarter)" msg/s
	figure relay_cpu "$(calc "$CPU_RELAY * 1000 / $rows" 1)" us/msg
	figure db_cpu "$DB_US" us/msg
	figure broker_cpu "$(calc "$CPU_NATS * 1000 / $rows" 1)" us/msg
	memory_figures
	reset
}

# drain_run WHAT ROWS WORKERS PAYLOAD KEYS BATCH: what is varied comes first
drain_run() {
	local run
	for ((run = 1; run <= REPEAT; run++)); do
		describe drain "vary=$1" "rows=$2" "workers=$3" "payload=$4" \
		    "keys=$5" "batch=$6" "run=$run"
		drain "${@:2}"
	done
}

# One thing at a time is varied; the rest is as in the middle.
section_drain() {
	local n
	for n in $BACKLOGS; do
		drain_run backlog "$n" "$FLEETSIZE" 200 2000 1000
	done
	for n in $FLEETS; do
		drain_run workers "$ROWS" "$n" 200 2000 1000
	done
	for n in $PAYLOADS; do
		drain_run payload "$((n > 4096 ? BIG_ROWS : ROWS))" \
		    "$FLEETSIZE" "$n" 2000 1000
	done
	for n in $KEYS; do
		drain_run keys "$((n < 100 ? FEW_KEYS_ROWS : ROWS))" \
		    "$FLEETSIZE" 200 "$n" 1000
	done
	for n in $BATCHES; do
		drain_run batch "$ROWS" "$FLEETSIZE" 200 2000 "$n"
	done
}
