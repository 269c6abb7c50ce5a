# floor.sh - the relay compared with the least possible work

# shellcheck shell=bash disable=SC2034

# floor_start MODE [options]: start one, which waits for the end of $DIR/go
floor_start() {
	"$FLOOR" "$@" --rows "$ROWS" < "$DIR/go" > "$DIR/floor.$1" &
	HELPERS+=($!)
}

# floor MODE PAYLOAD: run sql, publish or both; sets FLOOR_RATE
floor() {
	local go pid sql='' publish='' wanted=0
	case $1 in
	sql) sql=1 ;;
	publish) publish=1 ;;
	both) sql=1 publish=1 ;;
	esac
	[ -z "$sql" ] || fill "$ROWS" "$2" 2000
	wait_until_quiet
	rm -f "$DIR/go" "$DIR"/floor.*
	mkfifo "$DIR/go"
	cpu_mark
	[ -z "$sql" ] || floor_start sql --socket "$SOCKET" --database app
	[ -z "$publish" ] || floor_start publish --nats "$URL" \
	    --subject events.lab.event --payload "$2"
	exec {go}> "$DIR/go"
	pause 0.2		# both are connected by now
	exec {go}>&-
	for pid in "${HELPERS[@]}"; do
		wait "$pid" || die "floor $1 failed"
	done
	HELPERS=()
	wait_until_quiet
	cpu_since
	floor_figures "$sql" "$publish"
}

# floor_figures SQL PUBLISH: not empty: was running.  The rate is from the first
# start to the last end.
floor_figures() {
	FLOOR_RATE=$(awk -v n="$ROWS" '{ if (!s || $1 < s) s = $1
	    if ($2 > e) e = $2 }
	    END { printf "%.0f", n * 1e9 / (e - s) }' "$DIR"/floor.*)
	[ -z "$1" ] || is_drained || die 'floor left rows'
	[ -z "$2" ] || [ "$(stored)" = "$ROWS" ] ||
	    die "floor: $(stored) messages of $ROWS"
	figure rate "$FLOOR_RATE" msg/s
	FLOOR_DB_US=$(calc "$CPU_DB / $ROWS" 1)
	[ -z "$1" ] || figure db_cpu "$FLOOR_DB_US" us/msg
	[ -z "$2" ] || figure broker_cpu "$(calc "$CPU_NATS / $ROWS" 1)" \
	    us/msg
	reset
}

# floor_both PAYLOAD RUN
floor_both() {
	describe floor mode=both "payload=$1" "rows=$ROWS" "run=$2"
	floor both "$1"
}

# Floor, relay, floor, relay, floor: each relay is compared with the mean of its
# neighbours, so that a machine that gets slower does not matter.
section_floor() {
	local payload n ROWS=$ROWS before run sql_us relay
	for payload in $FLOOR_PAYLOADS; do
		[ "$payload" -le 4096 ] || ROWS=$BIG_ROWS
		describe floor mode=publish "payload=$payload" "rows=$ROWS" run=1
		floor publish "$payload"
		describe floor mode=sql "payload=$payload" "rows=$ROWS" run=1
		floor sql "$payload"
		sql_us=$FLOOR_DB_US run=1
		floor_both "$payload" 1
		for n in $FLEETS; do
			before=$FLOOR_RATE
			describe floor mode=relay "payload=$payload" \
			    "rows=$ROWS" "workers=$n" run=1
			relay=$PARAMS
			drain "$ROWS" "$n" "$payload" 2000 1000
			floor_both "$payload" $((++run))
			PARAMS=$relay
			figure of_both "$(calc \
			    "2 * $RATE / ($before + $FLOOR_RATE)" 3)" ratio
			figure db_cpu_of_sql "$(calc "$DB_US / $sql_us" 2)" ratio
		done
	done
}
