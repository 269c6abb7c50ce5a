# steady.sh - a fixed load: how long does an event take, and a commit?

# shellcheck shell=bash disable=SC2034

# steady LOAD [options]: commit at that rate; sets COMMITTED
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
}

steady_relayed() {
	fleet_as_shipped "$FLEETSIZE"
	steady "$1" --nats "$URL"
	figure relay_cpu "$(calc "$CPU_RELAY * 1000 / $COMMITTED" 1)" us/msg
	figure broker_cpu "$(calc "$CPU_NATS * 1000 / $COMMITTED" 1)" us/msg
	wait_for 60 is_drained || die 'rows stay in the outbox'
	fleet_stop
	judge "$COMMITTED"
}

# The rights that the doorbell wants; see sql/grants.sql.
allow_doorbell() {
	sql "GRANT REPLICATION SLAVE ON *.* TO 'outbox'@'localhost'"
	[ "$KIND" != mysql ] ||
	    sql "GRANT REPLICATION CLIENT ON *.* TO 'outbox'@'localhost'"
}

section_steady() {
	local load
	allow_doorbell
	for load in $LOADS; do
		describe steady "load=$load" relay=no
		steady "$load"
		reset
		describe steady "load=$load" relay=polls "workers=$FLEETSIZE"
		steady_relayed "$load"
		reset
		describe steady "load=$load" relay=doorbell "workers=$FLEETSIZE"
		WAKE='binlog: true' steady_relayed "$load"
		reset
	done
}
