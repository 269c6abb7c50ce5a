# steady.sh - latency of events and of commits at a fixed load

# shellcheck shell=bash disable=SC2034

# steady LOAD [options]: commit at this rate; sets COMMITTED and the median
# LATENCY, us
steady() {
	local name value
	cpu_mark
	"$STEADY" --socket "$SOCKET" --rate "$1" --seconds "$STEADY_SECONDS" \
	    "${@:2}" > "$DIR/steady" &
	HELPERS=($!)
	wait "${HELPERS[0]}" || die "steady $1 failed"
	HELPERS=()
	wait_until_quiet
	cpu_since
	while read -r name value; do
		case $name in
		committed) COMMITTED=$value ;;
		latency_p50) LATENCY=$value; figure "$name" "$value" us ;;
		reached)
			figure "$name" "$value" msg/s
			[ "$value" -ge $(($1 * 95 / 100)) ] ||
			    note "only $value of $1 commits a second: this" \
			    'machine has no more'
			;;
		*) figure "$name" "$value" us ;;
		esac
	done < "$DIR/steady"
	figure db_cpu "$(calc "$CPU_DB * 1000 / $COMMITTED" 1)" us/msg
	[ ${#FLEET[@]} -gt 0 ] || return 0
	figure relay_cpu "$(calc "$CPU_RELAY * 1000 / $COMMITTED" 1)" us/msg
	figure broker_cpu "$(calc "$CPU_NATS * 1000 / $COMMITTED" 1)" us/msg
}

steady_relayed() {
	fleet_as_shipped "$FLEETSIZE"
	steady "$1" --nats "$URL"
	wait_for 60 is_drained || die 'rows stay in the outbox'
	fleet_stop
	judge "$COMMITTED"
}

# The lowest possible latency: floor gets each commit at no cost; see floor.c.
steady_floor() {
	local i
	FLEET=()
	rm -f "$DIR"/{told,sent}
	mkfifo "$DIR"/{told,sent}
	for ((i = 0; i < FLEETSIZE; i++)); do
		"$FLOOR" follow --socket "$SOCKET" --database app \
		    --nats "$URL" --subject events.lab.event \
		    < "$DIR/told" > "$DIR/sent" &
		FLEET+=($!)
	done
	"$FLOOR" settle --socket "$SOCKET" --database app < "$DIR/sent" &
	FLEET+=($!)
	steady "$1" --nats "$URL" --tell 9 9> "$DIR/told"
	for i in "${FLEET[@]}"; do
		wait "$i" || die 'floor failed'
	done
	FLEET=()
	is_drained || die 'floor left rows'
}

# Grant the rights of the binlog listener; see sql/grants.sql.
allow_listener() {
	sql "GRANT REPLICATION SLAVE ON *.* TO 'outbox'@'localhost'"
	[ "$KIND" != mysql ] ||
	    sql "GRANT REPLICATION CLIENT ON *.* TO 'outbox'@'localhost'"
}

# Floor and binlog listener follow each other, to see the same machine.
section_steady() {
	local load floor
	allow_listener
	for load in $LOADS; do
		describe steady "load=$load" relay=no
		steady "$load"
		reset
		describe steady "load=$load" relay=polls "workers=$FLEETSIZE"
		steady_relayed "$load"
		reset
		describe steady "load=$load" relay=floor "workers=$FLEETSIZE"
		steady_floor "$load"
		floor=$LATENCY
		reset
		describe steady "load=$load" relay=listener "workers=$FLEETSIZE"
		WAKE='binlog: true' steady_relayed "$load"
		figure p50_of_floor "$(calc "$LATENCY / $floor" 2)" ratio
		reset
	done
}
