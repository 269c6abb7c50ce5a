# scrub.sh - the cost of reading the stream again and again

# shellcheck shell=bash disable=SC2034

# By routine, after the rounds for what the start of the daemon has changed.
is_scrubbing() { is_sql "SELECT scrub_rows > 0 AND scrub_began IS NOT NULL
    AND scrub_for IS NULL AND suspicion IS NULL FROM outbox_streams" 1; }
scrub_is_over() { is_sql "SELECT scrub_began IS NULL AND suspicion IS NULL
    FROM outbox_streams" 1; }

# scrub_figures RATE: of the idle fleet, whose janitor reads so many rows
scrub_figures() {
	local before us start rows
	SCRUB=$1 fleet_as_shipped 4
	mapfile -t FLEET < <(pgrep -P "$MASTER" -f 'outbox-master: janitor')
	if [ "$1" -eq 0 ]; then
		wait_for 900 scrub_is_over || die 'the first round does not end'
	else
		wait_for 900 is_scrubbing || die 'no round begins'
	fi
	pause 3
	describe scrub rows="$ROWS" scrub="$1"
	before=$(sql 'SELECT scrub_rows FROM outbox_streams')
	cpu_mark
	start=$(now_us)
	pause "$IDLE_SECONDS"
	us=$(($(now_us) - start))
	cpu_since
	rows=$(($(sql 'SELECT scrub_rows FROM outbox_streams') - before))
	figure rows_read "$(calc "$rows * 1000000 / $us")" /s
	figure janitor_cpu "$(calc "$CPU_RELAY * 1000 / $us" 2)" ms/s
	figure db_cpu "$(calc "$CPU_DB * 1000 / $us" 2)" ms/s
	figure broker_cpu "$(calc "$CPU_NATS * 1000 / $us" 2)" ms/s
	FLEET=("$MASTER")
	fleet_stop
}

section_scrub() {
	local rate
	describe scrub rows="$ROWS"
	fleet_start 4 1000
	fill "$ROWS" 200 1000
	wait_for "$PATIENCE" is_drained || die 'the rows are not delivered'
	fleet_stop
	for rate in 0 "$(default_of scrub)"; do
		# The start of the daemon is no reason to read all now.
		sql "UPDATE outbox_streams SET suspicion = NULL,
		    scrub_for = NULL, scrub_began = NULL"
		scrub_figures "$rate"
	done
	judge "$ROWS"
	reset
}
