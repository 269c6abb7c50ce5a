# back.sh - faults after which the database knows less than before; sourced by
# run.sh
#
# A fail-over to a replica that lags, or an older dump loaded back.  Each of
# them has several steps in the background, one of them at a time (BACK_BUSY);
# ended_NAME runs at the end of the job NAME.

# shellcheck shell=bash disable=SC2034,SC2154

BACK_BUSY=''		# the fault that is under way
HELD_PIDS=()		# stand still while a fault is prepared
RESTORE_HOW=''
FAULT_AFTER=''		# how long a fault waits for its last step

#
# Plans
#

# plan_back NAME LOW HIGH REST AT [HOW]: the database is taken that long
plan_back() {
	is_busy db "$5" && return 1
	between "$2" "$3"
	occupy db $(($5 + R + $4))
	PLAN+=("$5 $1 $R${6:+ $6}")
}

plan_failover() { plan_back failover 500 5000 5000 "$1"; }
plan_failover_settles() { plan_back failover_settles 800 2500 7000 "$1"; }
plan_semisync_commit() { plan_back semisync_commit 800 2500 6000 "$1"; }
plan_semisync_sync() { plan_back semisync_sync 800 2500 6000 "$1"; }

plan_restore() {
	local how=go
	is_busy db "$1" && return 1
	below 2
	[ "$R" -eq 0 ] || how=stop
	plan_back restore 1500 6000 6000 "$1" "$how"
}

plan_stream_full() {
	plan_pause stream_full stream 2000 6000 4000 "$1"
}

#
# What the faults have in common
#

planned() { [[ " $FAULTS " == *" $1 "* ]]; }

# With several streams nats.stream is empty, and then nothing can be held
# against the events.  So a run has either these or a database that goes back:
# each fourth seed the first.
FAULTS_BACK='failover failover_settles semisync_commit semisync_sync restore'
choose_streams() {
	local name rest='' drop=stream_full
	[ $((SEED % 4)) -ne 0 ] || drop=$FAULTS_BACK
	for name in $FAULTS; do
		[[ " $drop " == *" $name "* ]] || rest+="$name "
	done
	[[ ! " $FAULTS " =~ \ (${FAULTS_BACK// /|})\  ]] ||
	    ! planned stream_full || FAULTS=$rest
}

# Is the database's turn, and does it run?
back_begin() {
	[ -z "$BACK_BUSY" ] && ! is_running db && server_pid db &&
	    [ -z "${STOPPED[$PID]:-}" ] || return 1
	BACK_BUSY=$1
}

back_end() {
	[ "$2" -eq 0 ] || violation "$1: status $2"
	release
	BACK_BUSY=''
}

# Nothing more is committed: producers stand still, or wait to begin.
hold_producers() {
	local shell pid
	: > "$DIR/hold"
	for shell in "${PRODUCERS[@]}"; do
		for pid in $(worker_pids "$shell"); do
			kill -STOP "$pid" && HELD_PIDS+=("$pid")
		done
	done
}

release() {
	rm -f "$DIR/hold"
	[ "${#HELD_PIDS[@]}" -eq 0 ] || kill -CONT "${HELD_PIDS[@]}"
	HELD_PIDS=()
}

# disconnect SERVER USER...: all sessions of these accounts
disconnect() {
	local server=$1 user list="''"
	shift
	for user; do list+=", '$user'"; done
	"$SANDBOX" sql "$server" -N -e "SELECT CONCAT('KILL ', id, ';')
	    FROM information_schema.processlist WHERE user IN ($list)
	    AND id <> CONNECTION_ID()" | "$SANDBOX" sql "$server" --force
}

#
# Fail-over: the link is cut, the primary dies, the replica is promoted, and
# the old primary becomes its replica
#

fail_over() {
	note "kill -9 the primary ${PRIMARY##*/} ($BACK_BUSY)"
	in_background takeover replica_take_over
}

ended_takeover() {
	[ "$1" -eq 0 ] || {
		tail -n 50 "$DIR/jobs" | sed 's/^/# /'
		echo 'Bail out! the replica is not promoted'
		exit 1
	}
	replica_swap
	ln -sfn "$PRIMARY" "$DIR/now"
	note "${PRIMARY##*/} is promoted"
	release
	in_background clone replica_again
}

ended_clone() { back_end clone "$1"; }

# The fault is off; the log of faults has the reason.
replica_lags() {
	replica_trouble >> "$DIR/faults"
	replica_join
	back_end 'the replica lags' "$1"
}

# The replica lacks the last events and the last changes of the daemon.
do_failover() {
	back_begin failover || return 1
	replica_cut
	after "$1" fail_over
}

#
# Without claims and settles alone: workers stand still, so that rows wait,
# then producers, until the replica has all of it.  With the link cut the
# workers go on and deliver, and then the primary dies.
#

do_failover_settles() {
	local m pid
	! is_running burst && back_begin failover_settles || return 1
	FAULT_AFTER=$1
	for ((m = 0; m < NALL; m++)); do
		[ "${STATE[m]}" = up ] || continue
		for pid in $(worker_pids "${MPID[m]}"); do pause "$pid"; done
	done
	after 700 settles_hold
}

settles_hold() {
	hold_producers
	after 700 in_background cut settles_cut
}

# Of the slow ones, which only ever wait to begin, too.
settles_cut() {
	disconnect "$PRIMARY" root
	replica_wait 10 && replica_cut
}

ended_cut() {
	local pid
	for pid in "${!STOPPED[@]}"; do
		is_outbox "$pid" && resume "$pid"
	done
	ended_semisync "$1"
}

# The link is cut, so the primary dies next.
ended_semisync() {
	if [ "$1" -eq 0 ]; then
		after "$FAULT_AFTER" fail_over
	else
		replica_lags "$1"
	fi
}

#
# Semi-synchronous: commits wait for an answer that does not come.  The
# timeout is longer than any of these faults: none of them gives up waiting.
#

do_semisync_commit() { semisync semisync_commit AFTER_COMMIT "$1"; }
do_semisync_sync() { semisync semisync_sync AFTER_SYNC "$1"; }

semisync() {
	back_begin "$1" || return 1
	FAULT_AFTER=$3
	in_background semisync semisync_cut "$2"
}

semisync_cut() {
	replica_semisync "$1" 60000 && replica_wait 10 && replica_cut
}

#
# An older dump is loaded back, with or without stopping the daemon before
#

# dump_columns TABLE: an expression that makes one row's values.  Text as
# bytes, since not even the client can be trusted with its line breaks.
dump_columns() {
	"$SANDBOX" sql "$PRIMARY" -N -r app -e "
	    SET SESSION group_concat_max_len = 100000;
	    SELECT GROUP_CONCAT(CASE
		WHEN data_type IN ('char', 'varchar', 'longtext', 'json') THEN
		    CONCAT('IF(', column_name, ' IS NULL, ''NULL'', CONCAT(',
		    '''_utf8mb4 X'''''', HEX(CAST(', column_name,
		    ' AS CHAR)), ''''''''))')
		WHEN data_type LIKE '%blob' THEN
		    CONCAT('CONCAT(''X'''''', HEX(', column_name,
		    '), '''''''')')
		ELSE CONCAT('QUOTE(', column_name, ')') END
	    ORDER BY ordinal_position SEPARATOR ', '', '', ')
	    FROM information_schema.columns
	    WHERE table_schema = 'app' AND table_name = '$1'"
}

# The way of a dump program: one snapshot, then all the rows.
dump() {
	local tables table
	tables=$(sql 'SHOW TABLES')
	{
		echo 'SET SESSION TRANSACTION ISOLATION LEVEL REPEATABLE READ;
		    START TRANSACTION WITH CONSISTENT SNAPSHOT;'
		for table in $tables; do
			echo "SELECT '$table', CONCAT('(',
			    $(dump_columns "$table"), ')') FROM $table;"
		done
	} > "$DIR/dump.ask"
	{
		# The rows are in the dump: no trigger makes them again.
		echo 'SET autocommit = 0, @outbox_enqueuing = 1;'
		echo "LOCK TABLES $(sed 's/$/ WRITE/' <<<"$tables" |
		    paste -sd,);"
		for table in $tables; do echo "TRUNCATE TABLE $table;"; done
		"$SANDBOX" sql "$PRIMARY" -N -r app < "$DIR/dump.ask" |
		    awk -F '\t' '
		    $1 != t || n == 200 {
			printf "%sINSERT INTO %s VALUES ", s, $1
			t = $1; n = 0; s = ";\n"
		    }
		    { printf "%s%s", n++ ? "," : "", $2 }
		    END { print ";" }'
		echo 'COMMIT; UNLOCK TABLES;'
	} > "$DIR/dump"
	grep -q 'INSERT INTO outbox_settings' "$DIR/dump"
}

do_restore() {
	back_begin restore || return 1
	FAULT_AFTER=$1 RESTORE_HOW=$2
	in_background dump dump
}

ended_dump() {
	if [ "$1" -eq 0 ]; then
		after "$FAULT_AFTER" restore_begin
	else
		back_end dump "$1"
	fi
}

restore_begin() {
	local m
	: > "$DIR/hold"
	if [ "$RESTORE_HOW" = stop ]; then
		for ((m = 0; m < NMASTERS; m++)); do
			WANT[m]=''
			master_leave "$m"
		done
	fi
	after 100 restore_go
}

restore_go() {
	local m
	for ((m = 0; m < NMASTERS; m++)); do
		[ "$RESTORE_HOW" = stop ] && [ "${STATE[m]}" != down ] ||
		    continue
		after 100 restore_go
		return
	done
	note "an older dump is loaded"
	in_background restore restore
}

# No client may write meanwhile, or go on with data that it read before.
restore() {
	local rc
	"$SANDBOX" sql "$PRIMARY" -e 'SET GLOBAL read_only = 1' &&
	    disconnect "$PRIMARY" root outbox outbox_producer
	"$SANDBOX" sql "$PRIMARY" app < "$DIR/dump"
	rc=$?
	"$SANDBOX" sql "$PRIMARY" -e 'SET GLOBAL read_only = 0' && return "$rc"
}

ended_restore() {
	local m
	for ((m = 0; m < NMASTERS; m++)); do WANT[m]=1; done
	note "the older dump is there"
	back_end restore "$1"
}

#
# Several streams, one of them slow: for a while it takes little more
#

slow_stream() {
	"$LAB" stream --nats "$URL" --name SLOW --subjects 'events.cold.>' \
	    --dup-window 600 --discard-new "$@"
}

# Not less than it has, also a second later on a busy machine: it would throw
# messages away.
fill_slow_stream() {
	local n
	n=$("$LAB" count --socket "$SOCKET" --database app --nats "$URL" \
	    --stream SLOW | sed 's/.* messages //') &&
	    [ -n "$n" ] && slow_stream --max-msgs $((n + 2 * RATE))
}

do_stream_full() {
	! is_running nats && server_pid nats &&
	    [ -z "${STOPPED[$PID]:-}" ] || return 1
	in_background full fill_slow_stream
	after "$1" stream_again
}

# As often as it takes: its server may be away.
stream_again() { in_background stream slow_stream; }
ended_stream() { [ "$1" -eq 0 ] || after 300 stream_again; }

#
# Load and surroundings
#

# awkward_row LIST N: the n-th of a list of rows, each of them legal or dead
awkward_row() {
	local -n rows=$1
	local row=${rows[$2 % ${#rows[@]}]} key type correlation metadata data
	IFS='|' read -r key type correlation metadata data <<<"$row"
	echo "START TRANSACTION; CALL outbox_enqueue($key, NULL, $type, 1,
	    $correlation, $metadata, CONCAT($data, '#$2-', CONNECTION_ID()));
	    COMMIT;"
}

# Rows that both the tables and a message can hold: stream_id, event_type,
# correlation_id, metadata, event_data, each as SQL.
AWKWARD=(
	"CONCAT('awkward', CHAR(1, 2, 9, 27, 127))|'chaos.a'|NULL|NULL|''"
	"CONCAT(REPEAT('😀', 248), 'awkward')|'chaos.a'|'😀'|NULL|'😀'"
	"'awkward\"\\\\''%_;--'|'chaos.\"\\\\'''|NULL|'{}'|X'00FF0A0D00'"
	"'awkward.*.>'|'chaos.😀'|'c'|'[]'|REPEAT(X'00', 70000)"
	"'awkwärd: x'|CONCAT('chaos.', REPEAT('t', 249))|NULL|NULL|X'FE'"
	"REPEAT('awkward', 36)|CONCAT('chaos.', REPEAT('😀', 249))|NULL|NULL|''"
	"'AWKWARD'|'chaos.A'|REPEAT('c', 64)|'{\"a\": {\"b\": 1}, \"x\": 12345678901234567890123}'|''"
	"CONCAT('awkward', _utf8mb4 X'E280A8EFBBBF')|'chaos.a'|NULL|'{\"nats-x\": 1, \"Outbox-Key\": \"x\", \"y\": \"a\\\\nb\"}'|''"
	"''|'chaos.a'|NULL|'null'|'no key'"
	"CONCAT('awkward-', CHAR(10), 'x')|'chaos.a'|NULL|NULL|''"
	"CONCAT('awkward-', CHAR(13))|'chaos.a'|NULL|NULL|''"
	"CONCAT('awkward-', CHAR(0), 'x')|'chaos.a'|NULL|NULL|''"
	"'awkward-e'|'chaos.a'|CONCAT('c', CHAR(10))|NULL|''"
)

# Rows that no message can hold: dead letters.
AWKWARD_DEAD=(
	"'awkward-dead-a'|''|NULL|NULL|''"
	"'awkward-dead-b'|'chaos.*'|NULL|NULL|''"
	"'awkward-dead-c'|'chaos..a'|NULL|NULL|''"
	"'awkward-dead-d'|CONCAT('chaos.a', CHAR(7))|NULL|NULL|''"
	"'awkward-dead-f'|'chaos.a'|NULL|'[1]'|''"
)

awkward_producer() {
	local i=0
	while [ ! -e "$DIR/enough" ]; do
		i=$((i + 1))
		wait_for 60 is_not_held
		{
			awkward_row AWKWARD "$i"
			((i % 3)) || awkward_row AWKWARD_DEAD $((i / 3))
		} | timeout 20 "$SANDBOX" sql "$DIR/now" app || :
		nap 0.15
	done
}

is_not_held() { [ ! -e "$DIR/hold" ]; }

# Another application on the same servers, with a relay of its own and
# another outbox id: the last master of all, which no fault is aimed at.
neighbour_start() {
	"$SANDBOX" sql "$PRIMARY" -e 'CREATE DATABASE app2'
	"$SANDBOX" sql "$PRIMARY" app2 < "$srcdir/sql/schema.sql"
	neighbour_sql 'UPDATE outbox_settings SET partition_count = 16'
	"$SANDBOX" sql "$PRIMARY" app2 < "$srcdir/sql/grants.sql"
	sed "s/@'localhost'/@'127.0.0.1'/" "$srcdir/sql/grants.sql" |
	    "$SANDBOX" sql "$PRIMARY" app2
}

neighbour_sql() {
	timeout 30 "$SANDBOX" sql "$PRIMARY" -N app2 -e "$1"
}

neighbour_is_drained() {
	[ "$(neighbour_sql 'SELECT COUNT(*) FROM outbox
	    WHERE published_at IS NULL')" = 0 ]
}

# Set up what the planned faults need, before any master starts.
back_start() {
	[ -z "$WITH_TCP" ] || replica_accounts
	planned neighbour && neighbour_start
	if planned stream_full; then
		"$LAB" stream --nats "$URL" --name EVENTS --dup-window 600 \
		    --subjects 'events.lab.>,events.chaos.>'
		slow_stream
		STREAM=''
		COLD_TYPE=cold.event
	fi
	[ -z "$WITH_REPLICA" ] || replica_clone
}

#
# The end
#

# May the stream have messages of events that the database lost?
may_have_phantoms() {
	local name
	for name in failover semisync_commit restore; do
		[ "${COUNT[$name]:-0}" -eq 0 ] || return 0
	done
	return 1
}

# check_own NAME DATABASE OPTIONS...: run the checker; sets PHANTOMS
check_own() {
	local name=$1 database=$2 out rc id=''
	shift 2
	planned neighbour && id=$("$SANDBOX" sql "$PRIMARY" -N "$database" \
	    -e 'SELECT outbox_id FROM outbox_settings')
	[ -z "$id" ] || set -- "$@" --outbox-id "$id"
	[ ! -e "$DIR/lost" ] || set -- "$@" --recovered "$DIR/lost"
	may_have_phantoms && set -- "$@" --allow-phantoms
	case $TABLES in
	laravel|debezium) set -- "$@" --shape "$TABLES" ;;
	esac
	if [ "$BUS" = kafka ]; then
		set -- "$@" --kafka "$ADMIN" --topic 'events.*'
	else
		set -- "$@" --nats "$URL" --stream COPY
	fi
	out=$("$LAB" check --socket "$SOCKET" --user root \
	    --database "$database" --json "$@" 2>&1)
	rc=$?
	ok "$rc" "$name"
	printf '%s\n' "$out" | if [ "$rc" -eq 0 ]; then tail -n 1; else cat; fi |
	    sed "s/^/# checked $database: /"
	PHANTOMS=$(sed -n 's/.*"phantom":\([0-9]*\).*/\1/p' <<<"$out")
}

# told MASTER...: the lines of these masters on phantoms
told() {
	local m
	for m in "$@"; do grep -h ' error .*phantom' "$DIR/m$m.log"; done
}

check_told() {
	local text
	text=$(told "${@:2}")
	[ "$PHANTOMS" = 0 ] || [ -n "$text" ]
	ok $? "the log has phantoms if the checker found any ($1: $PHANTOMS)"
	[ -z "$text" ] || tail -n 5 <<<"$text" | sed 's/^/# told: /'
}

# Committed events are stored, unless a fail-over or restore may lose them.
check_answered() {
	local answered there
	answered=$(awk '/^committed/ { n += $2 } END { print n + 0 }' \
	    "$DIR/produced")
	there=$(sql "SELECT COUNT(*) FROM events WHERE event_type IN
	    ('lab.event', 'cold.event') OR (event_type = 'hook.event'
	    AND event_data LIKE '%\"pad\"%') OR ('$TABLES' = 'laravel'
	    AND event_data LIKE '%\"pad\"%')")
	say "answered $answered, there $there"
	may_have_phantoms || {
		[ "$there" -ge "$answered" ]
		ok $? 'every event that a producer had an answer for is stored'
	}
}
