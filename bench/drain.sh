# drain.sh - the time that a ready fleet takes for a backlog

# shellcheck shell=bash disable=SC2034

# Set by age.sh: PREPARE runs when the fleet is ready, RELEASE when the rows are
# delivered; BEFORE: other messages delivered before the drain; OTHERS: other
# rows that wait until RELEASE.
PREPARE=: RELEASE=: BEFORE=0 OTHERS=0

is_left() { is_sql "SELECT COUNT(*) FROM outbox WHERE published_at IS NULL" "$1"; }

# drain ROWS WORKERS PAYLOAD KEYS BATCH: sets RATE, rows per second from the
# start to the last settle, and DB_US, the database's CPU per row
drain() {
	local go end
	fleet_start "$2" "$5"
	"$PREPARE"
	fleet_hold
	fill "$1" "$3" "$4"
	wait_until_quiet
	peak_reset
	cpu_mark
	go=$(now_us)
	fleet_go
	wait_stored $(($1 + BEFORE))
	wait_for 60 is_left "$OTHERS" || die 'rows stay in the outbox'
	end=$(sql "SELECT CAST(1000000 * UNIX_TIMESTAMP(MAX(published_at))
	    AS UNSIGNED) FROM outbox")
	wait_until_quiet
	cpu_since
	memory_mark
	"$RELEASE"
	wait_for "$PATIENCE" is_left 0 || die 'rows stay in the outbox'
	fleet_stop
	RATE=$(calc "$1 * 1000000 / ($end - $go)")
	judge $(($1 + BEFORE + OTHERS))
	drain_figures "$1"
	reset
}

# owned_fleet_start WORKERS: by $CONF; each has its share of leases
owned_fleet_start() {
	start_master
	FLEET=("$MASTER")
	wait_for 30 owns_all "$1" || die 'the workers do not get ready'
	mapfile -t -O 1 FLEET < <(worker_pids "$MASTER")
}

owns_all() {
	is_sql "SELECT COUNT(*) = $1 AND MAX(n) - MIN(n) <= 1
	    AND SUM(live) = (SELECT COUNT(*) FROM outbox_partitions)
	    FROM (SELECT COUNT(*) AS n, SUM(lease_until > NOW(6)) AS live
		FROM outbox_partitions GROUP BY lease_owner) AS shares" 1
}

# settled_drain ROWS: of a fleet that is ready, to another destination than a
# stream, seen in the database alone; sets RATE
settled_drain() {
	local go end
	fleet_hold
	fill "$1" 200 2000
	wait_until_quiet
	cpu_mark
	go=$(now_us)
	fleet_go
	wait_for "$PATIENCE" is_left 0 || die 'rows stay in the outbox'
	end=$(sql "SELECT CAST(1000000 * UNIX_TIMESTAMP(MAX(published_at))
	    AS UNSIGNED) FROM outbox")
	wait_until_quiet
	cpu_since
	fleet_stop
	RATE=$(calc "$1 * 1000000 / ($end - $go)")
	figure rate "$RATE" msg/s
	figure relay_cpu "$(calc "$CPU_RELAY / $1" 1)" us/msg
	figure db_cpu "$(calc "$CPU_DB / $1" 1)" us/msg
}

# drain_figures ROWS
drain_figures() {
	DB_US=$(calc "$CPU_DB / $1" 1)
	figure rate "$RATE" msg/s
	[ "$OTHERS" -gt 0 ] || stream_figures
	figure relay_cpu "$(calc "$CPU_RELAY / $1" 1)" us/msg
	figure db_cpu "$DB_US" us/msg
	figure broker_cpu "$(calc "$CPU_NATS / $1" 1)" us/msg
	memory_figures
}

# Rates from the first message to the last, by the stream's clock.
stream_figures() {
	figure rate_stream "$(field rate)" msg/s
	figure rate_first_quarter "$(field rate_first_quarter)" msg/s
	figure rate_last_quarter "$(field rate_last_quarter)" msg/s
}

# drain_run NAME ROWS WORKERS PAYLOAD KEYS BATCH: NAME is of the varied value
drain_run() {
	local run
	for ((run = 1; run <= REPEAT; run++)); do
		describe drain "vary=$1" "rows=$2" "workers=$3" "payload=$4" \
		    "keys=$5" "batch=$6" "run=$run"
		drain "${@:2}"
	done
}

# Vary one value at a time; the others have their middle value.
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
