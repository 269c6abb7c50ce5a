#!/usr/bin/env bash
# run.sh - everything fails all the time, and the checker has the last word
#
#   tests/chaos/run.sh [--seed N] [--seconds S] [--events-rate R]
#       [--masters 1|2] [--kind mariadb|mysql]
#       [--tables any|own|inline|laravel|debezium|pillar]
#       [--broker nats|kafka] [--faults "NAME..."] [--list] [--plan]
#   tests/chaos/run.sh --cluster galera|group|nats [--seed N] [--seconds S]
#       [--events-rate R] [--plan]
#
# See README beside it.  Among the names of --faults, "back" means all after
# which the database knows less than before, "counts" another partition count
# while processes are killed, "routes" an HTTP endpoint beside the stream, "plain"
# all but those of "back", "all" everything.  Without it, and without --tables,
# both are the seed's choice.  --list prints the names of the faults, --plan the
# schedule of a seed without running it.  The environment does as well: SEED,
# DURATION, RATE, NMASTERS, KIND, TABLES, FAULTS; KEEP= (empty) keeps nothing of a
# run that failed, LOGS=DIR gets a copy of the logs in any case; LAB and
# OUTBOX_MASTER are the programs.

# Name, weight, and need: the proxy or, like all below, a second database server
# or access by TCP.  Weight 0 is load or surroundings, or has its own schedule.
ALL_FAULTS='
	worker_kill	4
	worker_stop	4
	worker_term	2
	master_kill	2
	master_term	2
	hup_storm	2
	nats_kill	2
	nats_stop	2
	db_kill		2
	db_stop		2
	db_sever	2
	cut		3	proxy
	stall		2	proxy
	refuse		1	proxy
	burst		2
	host_stop	1
	purge		1
	server_vars	2
	query_kill	1
	api_lie		3	proxy
	damage		2
	step_down	2
	endpoint_refuse	3
	endpoint_kill	1
	endpoint_stop	1
	scheduled	0
	ddl		2
	clock_step	1
	count_change	0
	kafka_kill	2	kafka
	kafka_stop	2	kafka
	topic_recreate	2	kafka
	failover	3	replica
	failover_settles 3	replica
	semisync_commit	1	replica
	semisync_sync	1	replica
	restore		2	back
	stream_full	2	back
	awkward		0	back
	neighbour	0	back
'

usage() {
	sed -n '2,/^$/s/^# \{0,1\}//p' "$0"
	exit "$1"
}

fault_names() { awk 'NF { print $1 }' <<<"$ALL_FAULTS"; }

# expand NAME...: with the names of groups replaced
expand() {
	local name back='$3 == "replica" || $3 == "back"'
	local kafka='$3 == "kafka"'
	for name; do
		case $name in
		all) awk "NF && !($kafka) { print \$1 }" <<<"$ALL_FAULTS" ;;
		kafka) printf '%s\n' worker_kill worker_stop worker_term \
		    master_kill master_term host_stop hup_storm db_kill \
		    db_stop db_sever cut stall refuse burst
		    awk "NF && $kafka { print \$1 }" <<<"$ALL_FAULTS" ;;
		counts) printf '%s\n' worker_kill worker_stop worker_term \
		    master_kill master_term host_stop burst count_change ;;
		routes) printf '%s\n' worker_kill worker_stop master_kill \
		    nats_kill nats_stop db_kill burst endpoint_refuse \
		    endpoint_kill endpoint_stop scheduled ddl clock_step ;;
		back) awk "NF && ($back) { print \$1 }" <<<"$ALL_FAULTS" ;;
		plain) awk "NF && !($back || $kafka) { print \$1 }" <<<"$ALL_FAULTS" ;;
		*) echo "$name" ;;
		esac
	done
}

PLAN_ONLY=''
while [ $# -gt 0 ]; do
	case $1 in
	--list) fault_names; exit 0 ;;
	--plan) PLAN_ONLY=1; shift; continue ;;
	-h|--help) usage 0 ;;
	esac
	[ $# -ge 2 ] || usage 2 >&2
	case $1 in
	--seed) SEED=$2 ;;
	--seconds) DURATION=$2 ;;
	--events-rate) RATE=$2 ;;
	--masters) NMASTERS=$2 ;;
	--kind) KIND=$2 ;;
	--tables) TABLES=$2 ;;
	--broker) BUS=$2 ;;
	--faults) FAULTS=$2 ;;
	--cluster) CLUSTER=$2 ;;
	*) usage 2 >&2 ;;
	esac
	shift 2
done
case ${CLUSTER:-} in
'') ;;
galera|group|nats)
	export CLUSTER SEED DURATION RATE PLAN_ONLY
	exec "$(dirname "$0")/cluster.sh" ;;
*) usage 2 >&2 ;;
esac
SEED=${SEED:-$((RANDOM << 15 | RANDOM))}
DURATION=${DURATION:-60}
RATE=${RATE:-1200}
NMASTERS=${NMASTERS:-1}
BUS=${BUS:-nats}
[ "$BUS" != kafka ] || FAULTS=${FAULTS:-kafka}
# Whose tables, if nobody says it, is the seed's choice as well.
NAMED=${FAULTS:-}
[ -n "${TABLES:-}$NAMED" ] || TABLES=any
TABLES=${TABLES:-own}
[ "$TABLES" != any ] || {
	SHAPES=(own inline laravel debezium own)
	TABLES=${SHAPES[SEED * 7 / 3 % 5]}
}
# shellcheck disable=SC2086
FAULTS=$(expand ${FAULTS:-plain} | tr '\n' ' ')
for n in "$SEED" "$DURATION" "$RATE" "$NMASTERS"; do
	[[ $n =~ ^[0-9]{1,9}$ ]] || usage 2 >&2
done
for n in $FAULTS; do
	fault_names | grep -qxF -- "$n" || {
		echo "$0: $n: no such fault" >&2
		exit 2
	}
done
((NMASTERS == 1 || NMASTERS == 2)) || usage 2 >&2
[[ $BUS =~ ^(nats|kafka)$ ]] || usage 2 >&2
case $TABLES in
own) ;;
pillar|inline|laravel|debezium)
	for n in $FAULTS; do
		! expand back | grep -qxF -- "$n" || {
			echo "$0: $n: not with --tables $TABLES" >&2
			exit 2
		}
	done ;;
*) usage 2 >&2 ;;
esac

srcdir=${srcdir:-$(dirname "$0")/../..}
KEEP=${KEEP-1}
# shellcheck source=tests/lib/http.sh
. "$srcdir/tests/lib/http.sh"
[ -x "$RECEIVER" ] || RECEIVER=${LAB%/*}/receiver
# shellcheck source=tests/lib/pillar.sh
. "$srcdir/tests/lib/pillar.sh"
case $TABLES in inline|laravel|debezium)
	. "$srcdir/tests/lib/inline.sh"
	. "$srcdir/tests/lib/shapes.sh" ;;
esac
# shellcheck source=tests/lib/replica.sh
. "$srcdir/tests/lib/replica.sh"
# shellcheck source=tests/chaos/back.sh
. "$srcdir/tests/chaos/back.sh"
# shellcheck source=tests/chaos/servers.sh
. "$srcdir/tests/chaos/servers.sh"
# shellcheck source=tests/chaos/kafka.sh
. "$srcdir/tests/chaos/kafka.sh"
choose_streams
# shellcheck source=tests/lib/cluster.sh
. "$srcdir/tests/lib/cluster.sh"
# shellcheck source=tests/chaos/damage.sh
. "$srcdir/tests/chaos/damage.sh"
# shellcheck source=tests/chaos/endpoint.sh
. "$srcdir/tests/chaos/endpoint.sh"
[ -n "$NAMED" ] || choose_weather
choose_window
choose_endpoint
choose_cluster

# shellcheck source=tests/chaos/plan.sh
. "$srcdir/tests/chaos/plan.sh"

make_plan
NALL=$NMASTERS		# with the one of the neighbour
planned neighbour && NALL=$((NMASTERS + 1))
say "seed $SEED, $DURATION s, $RATE events/s, $NMASTERS master(s)" \
    "of $FIRST_WORKERS workers, hang_timeout $HANG_TIMEOUT," \
    "batches of $BATCH, $KIND, $TABLES tables"
text="duplicate window $WINDOW_SECONDS s${WITH_CLUSTER:+, three brokers}"
! has_endpoint || text+=', an endpoint'
[ "$BUS" = nats ] || text="a broker of $BUS"
say "$text${WITH_TRIGGER:+, the trigger makes rows}"
say "schedule, ${#PLAN[@]} entries: milliseconds, fault, target, how"
for entry in "${PLAN[@]}"; do say "    $entry"; done
[ -z "$PLAN_ONLY" ] || exit 0

#
# State of the run
#

STOP_TIMEOUT=6
ms() {
	local t=${EPOCHREALTIME/[.,]/}
	NOW=$((t / 1000))
}

declare -A QUEUE=()	# number -> "at command...": later steps of faults
QUEUED=0
declare -A STOPPED=()	# pids that sleep
declare -A JOBS=()	# pid -> name of a background job
declare -A COUNT=()	# of injected faults
SKIPPED=0 STARTS=0
NATS_KILLED=-1000000 PURGED=-1000000	# when, for the last time
WANT=() MPID=() STATE=() NEXT=() TERM_BY=() NWORKERS=()
LOG_AT=() TOLD=()	# when the count was changed: lines of log, and pid
PARTITIONS=16
FORMER=()		# the counts before it
PROXY_PORT_db='' PROXY_PORT_db2='' PROXY_PORT_nats='' PROXY_PORT_kafka=''
PROXY_db='' PROXY_db2='' PROXY_nats='' PROXY_kafka=''
COLD_TYPE=lab.event
COUNT_BY=own
[ "$TABLES" != pillar ] || COUNT_BY=pillar
LIAR=${LIAR:-${LAB%/*}/liar}
VIOLATIONS=()
PRODUCERS=() SLOW=()

# The shell reports each job that a signal ended: not on the terminal.
exec {ERR}>&2 2>>"$DIR/stderr"

violation() {
	VIOLATIONS+=("$*")
	say "VIOLATION: $*"
}

# note TEXT: log a fault, with its time in the run
note() { printf '%7d %s\n' $((NOW - START)) "$*" >> "$DIR/faults"; }

after() {
	local wait=$1
	shift
	QUEUE[$((QUEUED++))]="$((NOW + wait)) $*"
}

run_queue() {
	local i at rest
	for i in "${!QUEUE[@]}"; do
		read -r at rest <<<"${QUEUE[$i]}"
		[ "$NOW" -ge "$at" ] || continue
		unset "QUEUE[$i]"
		# shellcheck disable=SC2086
		$rest
	done
}

# in_background NAME COMMAND...
in_background() {
	local name=$1
	shift
	"$@" >> "$DIR/jobs" 2>&1 </dev/null &
	JOBS[$!]=$name
}

is_running() {
	local pid
	for pid in "${!JOBS[@]}"; do
		[ "${JOBS[$pid]}" != "$1" ] || return 0
	done
	return 1
}

reap_jobs() {
	local pid rc name
	for pid in "${!JOBS[@]}"; do
		is_gone "$pid" || continue
		wait "$pid"
		rc=$?
		name=${JOBS[$pid]}
		unset "JOBS[$pid]"
		case $name in
		# May meet a server that just went.
		sever|purge|full|vars|kill|step|ddl|clock) ;;
		takeover|clone|cut|semisync|dump|restore|stream|damage|recreate)
			"ended_$name" "$rc" ;;
		*)
			[ "$rc" -eq 0 ] || violation "$name: status $rc"
			[ "$name" != db ] || vars_again ;;
		esac
	done
}

is_outbox() {
	local comm
	read -r comm 2>/dev/null < "/proc/$1/comm" && [ "$comm" = outbox-master ]
}

pause() {
	kill -STOP "$1" && STOPPED[$1]=1
}

resume() {
	[ -n "${STOPPED[$1]:-}" ] || return 0
	unset "STOPPED[$1]"
	kill -CONT "$1"
	note "resumed $1"
}

# shellcheck source=tests/chaos/masters.sh
. "$srcdir/tests/chaos/masters.sh"
# shellcheck source=tests/chaos/faults.sh
. "$srcdir/tests/chaos/faults.sh"
# shellcheck source=tests/chaos/load.sh
. "$srcdir/tests/chaos/load.sh"

#
# The end
#

calm_down() {
	local pid
	for pid in "${!STOPPED[@]}"; do kill -CONT "$pid"; done
	STOPPED=()
}

clean_up() {
	local pid
	calm_down
	release
	stop_load
	stop_children "${!JOBS[@]}"
	for pid in "${PRODUCERS[@]}" "${SLOW[@]}" "${!JOBS[@]}"; do
		wait_for 25 is_gone "$pid" || ! is_ours "$pid" ||
		    kill -KILL "$pid"
	done
	[ -z "${LOGS:-}" ] || {
		mkdir -p "$LOGS"
		cp "$DIR"/faults "$DIR"/m*.log "$LOGS"
	}
	for pid in $PROXY_db $PROXY_db2 $PROXY_nats $PROXY_kafka ${RPID:-}; do
		mapfile -t children < <(worker_pids "$pid")
		kill -KILL "$pid" "${children[@]}"
	done
	cleanup
}
trap clean_up EXIT

# A run that hangs is ended, by its trap.
watchdog() {
	timeout $((DURATION + 500)) tail --pid=$$ -f /dev/null
	[ $? -ne 124 ] || kill -TERM $$
}

sql() { timeout 30 "$SANDBOX" sql "$PRIMARY" -N app -e "$1"; }

# Processes of ours, known by where their complaints go.
left_over() {
	local p
	for p in /proc/[0-9]*; do
		is_outbox "${p#/proc/}" &&
		    [[ $(readlink "$p/fd/2") == "$DIR"/* ]] && echo "${p#/proc/}"
	done
}

# tick: one round of the driver
tick() {
	ms
	run_queue
	reap_jobs
	supervise
	nap 0.03
}

# tick_until SECONDS COMMAND...
tick_until() {
	local until
	ms
	until=$((NOW + $1 * 1000))
	shift
	until "$@"; do
		[ "$NOW" -lt "$until" ] || return 1
		tick
	done
}

# all_are STATE: are all masters?
all_are() {
	local m
	for ((m = 0; m < NALL; m++)); do
		[ "${STATE[m]}" = "$1" ] || return 1
	done
}

all_up() { [ "${#QUEUE[@]}" -eq 0 ] && [ "${#JOBS[@]}" -eq 0 ] && all_are up; }

# Former counts stay declared until an operator ends them, and none does here.
check_counts() {
	local n
	[ "${COUNT[count_change]:-0}" -gt 0 ] || return
	if [ "$TABLES" = pillar ]; then
		is "$(cat "$DIR/count")" "$PARTITIONS" \
		    'count changes: the producers have the last count'
	else
		(count_own "$PARTITIONS") >> "$DIR/jobs" 2>&1
		ok $? 'count changes: the last one was made'
		may_have_phantoms || is "$(sql 'SELECT former_counts
		    FROM outbox_settings' | tr , '\n' | sort -n |
		    paste -sd,)" "$(former)" \
		    'count changes: all are declared'
	fi
	n=$(moved_keys)
	check "count changes: keys have messages under several labels ($n)" \
	    [ "$n" -gt 0 ]
}

#
# Run
#

# Our own sessions are as if the server had its defaults.
export OUTBOX_SANDBOX_SESSION="SET SESSION sql_mode = 'STRICT_TRANS_TABLES',
    autocommit = 1, sql_select_limit = 18446744073709551615,
    sql_safe_updates = 0, sql_big_selects = 1, sql_auto_is_null = 0,
    completion_type = 0, time_zone = 'SYSTEM', group_concat_max_len = 1048576,
    innodb_lock_wait_timeout = 50, lock_wait_timeout = 60, wait_timeout = 600
    /*M! , max_statement_time = 0, tx_read_only = 0 */
    /*!80000 , max_execution_time = 0, transaction_read_only = 0 */"
[ -z "$WITH_CLUSTER" ] || {
	# shellcheck disable=SC2034
	NATS_LINES=(cluster)		# none of a pool
	start_own_servers() {
		"$SANDBOX" start "$KIND" "$DIR/db" "$@" >/dev/null &&
		    cluster_start 3 && ln -s n1 "$DIR/nats" && return
		echo 'Bail out! no database, or no three brokers'
		exit 1
	}
}
start_servers "${REPLICA_LINES[@]}" 2>&"$ERR"
vars_start
! planned query_kill || query_kill_start
window "$WINDOW_SECONDS"
ln -s "$PRIMARY" "$DIR/now"
"$LAB" stream --nats "$URL" --name COPY --subjects 'COPY.>' --dup-window 86400
[ -z "$WITH_CLUSTER" ] || wait_for 20 cluster_stream "$WINDOW_SECONDS" || {
	echo 'Bail out! no stream with three replicas'
	exit 1
}
watchdog >/dev/null 2>&1 </dev/null &
if [ -n "$HAVE_PROXY" ]; then
	sql "CREATE USER 'outbox'@'127.0.0.1' IDENTIFIED BY '$OUTBOX_PW'"
	sed "s/'outbox'@'localhost'/'outbox'@'127.0.0.1'/" \
	    "$srcdir/sql/grants.sql" | "$SANDBOX" sql "$DIR/db" app
fi
back_start
if [ -n "$HAVE_PROXY" ]; then
	proxy_start db && { [ "$BUS" = kafka ] || proxy_start nats; } &&
	    { [ -z "$WITH_REPLICA" ] || proxy_start db2; } || PROXY_PORT_db=''
fi
[ "$BUS" != kafka ] || kafka_start || {
	echo 'Bail out! no topics of Kafka'
	exit 1
}
# The comma: also of one the producers ask whether it takes writes.
HOSTS=''
[ -z "$WITH_TCP" ] || HOSTS=127.0.0.1:$DB_PORT,
[ -z "$WITH_REPLICA" ] || HOSTS=$(replica_hosts | tr -d '" ')
# No line break in the text: the client would print it as a command of its own.
sql "$(sql "SELECT CONCAT('GRANT REPLICATION SLAVE, REPLICATION CLIENT ',
    'ON *.* TO ''outbox''@''', host, ''';') FROM mysql.user
    WHERE user = 'outbox'")"
case $TABLES in
pillar) pillar_tables ;;
inline)
	HANG_TIMEOUT=0 inline_tables && inline_views
	[ -z "$HAVE_PROXY" ] || inline_grants |
	    sed "s/'outbox'@'localhost'/'outbox'@'127.0.0.1'/" |
	    "$SANDBOX" sql "$DIR/db" app ;;
laravel|debezium)
	(shape_tables "$TABLES") > "$DIR/shape" 2>&1 || {
		sed 's/^/# /' "$DIR/shape"
		echo "Bail out! no tables for $TABLES"
		exit 1
	}
	shape_conf "$TABLES"
	shape_views "$TABLES"
	[ -z "$HAVE_PROXY" ] || shape_grants |
	    sed "s/'outbox'@'localhost'/'outbox'@'127.0.0.1'/" |
	    "$SANDBOX" sql "$DIR/db" app ;;
esac
[ -z "$WITH_TRIGGER" ] || {
	[ "$TABLES" = own ] || TRIGGER=inline_
	"$SANDBOX" sql "$DIR/db" app < "$srcdir/sql/${TRIGGER:-}trigger.sql"
}
echo "$PARTITIONS" > "$DIR/count"
! has_endpoint || { start_receiver; endpoint_orders; }
ms
START=$NOW
# What the server is set to before the first session of the daemon.
[[ ${PLAN[0]:-} != '0 server_vars '* ]] || {
	# shellcheck disable=SC2086
	inject ${PLAN[0]#0 }
	while is_running vars; do reap_jobs; nap 0.05; done
}
for ((m = 0; m < NALL; m++)); do
	WANT[m]=1 STATE[m]=down NEXT[m]=0 NWORKERS[m]=$FIRST_WORKERS
	conf_write "$m"
	master_start "$m"
done
check 'all partitions have owners before the faults' tick_until 15 all_owned
start_load
ms
START=$NOW
for entry in "${PLAN[@]}"; do
	read -r at name args <<<"$entry"
	[ "$at" -gt 0 ] || continue
	while ((NOW < START + at)); do tick; done
	# shellcheck disable=SC2086
	inject "$name" $args
done
while ((NOW < START + DURATION * 1000)); do tick; done

# The later steps of faults: processes are resumed and started again.
say 'faults are over'
check 'servers and masters run again after the faults' tick_until 80 all_up
calm_down
planned count_change && tick_until "$LATE" false	# the last one comes to all
! has_endpoint || endpoint_end
stop_load
check 'the producers end' tick_until 70 are_gone "${PRODUCERS[@]}" "${SLOW[@]}"
is "$(cat "$DIR/failed" 2>/dev/null)" '' 'no producer failed'
! planned damage || check_recovered
ms
drain_start=$NOW
check 'every row is published or dead' tick_until 240 is_drained
planned neighbour && {
	check 'every row of the neighbour is published or dead' \
	    tick_until 60 neighbour_is_drained
}
ms
drain_ms=$((NOW - drain_start))
check 'all partitions have owners after the faults' tick_until 15 all_owned
check_counts
check 'workers run after the faults' [ "$(left_over | wc -l)" -gt "$NMASTERS" ]

ms
for ((m = 0; m < NALL; m++)); do
	WANT[m]=''
	master_leave "$m"
done
check 'the masters stop in time' tick_until $((STOP_TIMEOUT + 5)) all_are down
is "$(left_over | tr '\n' ' ')" '' 'no process is left'

! has_endpoint || endpoint_times
[ "$BUS" = kafka ] || {
	move && { ! planned stream_full || move SLOW; }
	ok $? 'all messages are moved to the stream COPY'
}
DEADLY="(e.event_type LIKE '% %' OR e.stream_id LIKE 'awkward-dead-%')"
poison=$(sql "SELECT COUNT(*) FROM events AS e WHERE $DEADLY")
OWN=app
! has_endpoint || {
	endpoint_views
	check_endpoint
	OWN=seen DEADLY="($DEADLY OR $REFUSED)"
}
MINE=()
for ((m = 0; m < NMASTERS; m++)); do MINE+=("$m"); done
check_own 'the stream is complete and in order, only poison is dead' \
    "$OWN" --wait 10 --expect-dead "$poison"
check_told app "${MINE[@]}"
planned neighbour && {
	check_own "the neighbour's messages are complete and in order" app2 --expect-dead 0
	check_told app2 "$NMASTERS"
}
check_answered
[ "$BUS" != kafka ] || check_recreated
# A wrong word is a fault, too: an operator might believe it.
may_have_phantoms || is "$(told "${MINE[@]}" | head -1)" '' \
    'the log has no phantoms where there are none'
planned damage || planned topic_recreate ||
    is "$(grep -hE ': lost [0-9]+ acknowledged' "$DIR"/m*.log |
    head -1)" '' 'the log has no loss of the stream where there is none'
[ "$TABLES" = pillar ] || {
	rows_are 0 "outbox_dead_letters AS d LEFT JOIN events AS e
	    ON e.sequence = d.global_sequence WHERE e.event_type IS NULL
	    OR NOT $DEADLY OR d.reason <> 'message'" \
	    "the dead letters are the poison rows"
	rows_are 0 outbox_blocked_keys 'no key is blocked'
}
! planned scheduled || check_scheduled
! planned clock_step || check 'no row waited because the clock was put back' \
    [ ! -e "$DIR/late" ]
rows_are 0 'outbox WHERE claim_token IS NOT NULL' 'no row is claimed'
rows_are 0 'outbox_partitions
    WHERE lease_owner IS NOT NULL' 'no partition has an owner'
rows_are 0 'outbox_workers
    WHERE heartbeat_until > NOW(6)' 'no live worker is registered'
# 9 is sent by this test, 14 is the alarm of an orphan; 10 a hand-over.
is "$(grep -hE 'was killed by signal|exited with status|panic' \
    "$DIR"/m*.log | grep -vE 'signal (9|14) |status (0|10) ' | head -3)" '' \
    'no worker crashed'
is "${#VIOLATIONS[@]}" 0 'masters and servers ended and started as they should'

say "events $(sql 'SELECT COUNT(*) FROM events'), poison $poison," \
    "retried $(sql 'SELECT COUNT(*) FROM outbox WHERE attempts > 0')" \
    "(at most $(sql 'SELECT MAX(attempts) FROM outbox') times)," \
    "drained in $drain_ms ms"
say "fenced rows $(grep -hoE 'fenced: [0-9]+' "$DIR"/m*.log |
    awk '{ n += $2 } END { print n + 0 }')," \
    "hung workers killed $(cat "$DIR"/m*.log | grep -c 'no sign of life')," \
    "master starts $STARTS"
injected=0
for name in "${!COUNT[@]}"; do
	injected=$((injected + COUNT[$name]))
done
say "injected $injected, skipped $SKIPPED:" "$(for name in "${!COUNT[@]}"; do
	echo "$name ${COUNT[$name]}"
done | sort | paste -sd, | sed 's/,/, /g')"
grep -vE 'Killed|Terminated|Alarm clock|Stopped|No such process' \
    "$DIR/stderr" | head -5 | sed 's/^/# stderr: /'
if [ "$FAILED" -ne 0 ]; then
	say "replay: tests/chaos/run.sh --seed $SEED --seconds $DURATION" \
	    "--events-rate $RATE --masters $NMASTERS --kind $KIND" \
	    "--broker $BUS" \
	    "--tables $TABLES --faults '${FAULTS% }'"
fi
done_testing
