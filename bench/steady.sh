# steady.sh - latency of events and of commits at a fixed load

# shellcheck shell=bash disable=SC2034

# load SECONDS OPTIONS...: run steady and measure until all is delivered and the
# database is quiet; sets COMMITTED and CPU_*, and $DIR/steady has the values
load() {
	local end
	rm -f "$DIR/end" "$DIR/steady"
	mkfifo "$DIR/end"
	: > "$DIR/steady"
	cpu_mark
	"$STEADY" --socket "$SOCKET" --seconds "$@" < "$DIR/end" \
	    > "$DIR/steady" &
	HELPERS=($!)
	exec {end}> "$DIR/end"
	wait_for "$PATIENCE" is_over "${HELPERS[0]}"
	wait_until_quiet
	cpu_since
	exec {end}>&-
	wait "${HELPERS[0]}" || die "steady $* failed"
	HELPERS=()
	COMMITTED=$(load_value committed)
}
is_over() { has_line "$DIR/steady" '^stored ' || is_gone "$1"; }

# load_value NAME: of the last load
load_value() { sed -n "s/^$1 //p" "$DIR/steady"; }

# reached LOAD: the rate that the producers reached; says if it is less
reached() {
	local value
	value=$(load_value reached)
	figure reached "$value" msg/s
	[ "$value" -ge $(($1 * 95 / 100)) ] ||
	    note "only $value of $1 commits a second: this machine has no more"
}

# per_message AMOUNT [DIGITS]: of the last load
per_message() { calc "$1 / $COMMITTED" "${2:-1}"; }

# steady LOAD [options]: commit at this rate; sets COMMITTED and the median
# LATENCY, us
steady() {
	local name value
	load "$STEADY_SECONDS" --rate "$@"
	reached "$1"
	while read -r name value; do
		case $name in
		committed|stored|reached) ;;
		*) figure "$name" "$value" us ;;
		esac
	done < "$DIR/steady"
	LATENCY=$(load_value latency_p50)
	figure db_cpu "$(per_message "$CPU_DB")" us/msg
	[ ${#FLEET[@]} -gt 0 ] || return 0
	figure relay_cpu "$(per_message "$CPU_RELAY")" us/msg
	figure broker_cpu "$(per_message "$CPU_NATS")" us/msg
}

# all_delivered: end the fleet, and check what it delivered
all_delivered() {
	wait_for 60 is_drained || die 'rows stay in the outbox'
	fleet_stop
	judge "$COMMITTED"
}

steady_relayed() {
	fleet_as_shipped "$FLEETSIZE"
	steady "$1" --nats "$URL"
	all_delivered
}

# with_floor PROCESSES LINGER COMMAND...: run it, with a floor that gets each
# commit at no cost from its descriptor 9: the least possible; see floor.c
with_floor() {
	local i
	FLEET=()
	rm -f "$DIR"/{told,sent}
	mkfifo "$DIR"/{told,sent}
	for ((i = 0; i < $1; i++)); do
		"$FLOOR" follow --socket "$SOCKET" --database app \
		    --nats "$URL" --subject events.lab.event --linger "$2" \
		    < "$DIR/told" > "$DIR/sent" &
		FLEET+=($!)
	done
	"$FLOOR" settle --socket "$SOCKET" --database app --linger "$2" \
	    < "$DIR/sent" &
	FLEET+=($!)
	"${@:3}" 9> "$DIR/told"
	for i in "${FLEET[@]}"; do
		wait "$i" || die 'floor failed'
	done
	FLEET=()
	is_drained || die 'floor left rows'
}

# The rights of the binlog listener; see sql/grants.sql.  A section that needs
# them gives them back.
listener_right() {
	sql "$1 REPLICATION SLAVE ON *.* $2 'outbox'@'localhost'"
	[ "$KIND" != mysql ] ||
	    sql "$1 REPLICATION CLIENT ON *.* $2 'outbox'@'localhost'"
}
allow_listener() { listener_right GRANT TO; }
forbid_listener() { listener_right REVOKE FROM; }

# Floor and binlog listener follow each other, to see the same machine.
section_steady() {
	local load floor
	allow_listener
	for load in $LOADS; do
		describe steady "load=$load" relay=no
		steady "$load"
		reset
		describe steady "load=$load" relay=polls "workers=$FLEETSIZE"
		WAKE='binlog: false' steady_relayed "$load"
		reset
		describe steady "load=$load" relay=floor "workers=$FLEETSIZE"
		with_floor "$FLEETSIZE" "$LINGER" steady "$load" --nats "$URL" --tell 9
		floor=$LATENCY
		reset
		describe steady "load=$load" relay=listener "workers=$FLEETSIZE"
		WAKE='binlog: true' steady_relayed "$load"
		figure p50_of_floor "$(calc "$LATENCY / $floor" 2)" ratio
		reset
	done
	forbid_listener
}
