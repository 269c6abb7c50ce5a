#!/usr/bin/env bash
# run.sh - everything fails all the time, and the checker has the last word
#
#   tests/chaos/run.sh [--seed N] [--seconds S] [--events-rate R]
#       [--masters 1|2] [--kind mariadb|mysql] [--tables own|pillar]
#       [--faults "NAME..."] [--list] [--plan]
#
# See README beside it.  Among the names of --faults, "back" means all after
# which the database knows less than before, "counts" another partition count
# while processes are killed, "all" everything; without it all but those of
# "back" are meant.  --list prints the names of the faults, --plan the
# schedule of a seed without running it.  The environment does as well: SEED,
# DURATION, RATE, NMASTERS, KIND, TABLES, FAULTS; KEEP= (empty) keeps nothing of a
# run that failed, LOGS=DIR gets a copy of the logs in any case; LAB and
# OUTBOX_MASTER are the programs.

# Name, weight, and what it needs: the proxy or, like all below, more than one
# database server has.  Weight 0 is load or surroundings, not a fault, or has
# moments of its own.
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
	count_change	0
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
	for name; do
		case $name in
		all) fault_names ;;
		counts) printf '%s\n' worker_kill worker_stop worker_term \
		    master_kill master_term host_stop burst count_change ;;
		back) awk "NF && ($back) { print \$1 }" <<<"$ALL_FAULTS" ;;
		plain) awk "NF && !($back) { print \$1 }" <<<"$ALL_FAULTS" ;;
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
	--faults) FAULTS=$2 ;;
	*) usage 2 >&2 ;;
	esac
	shift 2
done
SEED=${SEED:-$((RANDOM << 15 | RANDOM))}
DURATION=${DURATION:-60}
RATE=${RATE:-1200}
NMASTERS=${NMASTERS:-1}
TABLES=${TABLES:-own}
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
case $TABLES in
own) ;;
pillar)
	for n in $FAULTS; do
		! expand back | grep -qxF -- "$n" || {
			echo "$0: $n: not with the tables of Pillar" >&2
			exit 2
		}
	done ;;
*) usage 2 >&2 ;;
esac

srcdir=${srcdir:-$(dirname "$0")/../..}
if [ ! -e ./lab ] && [ -e "$srcdir/_build/main/lab" ]; then
	LAB=${LAB:-$srcdir/_build/main/lab}
	OUTBOX_MASTER=${OUTBOX_MASTER:-$srcdir/_build/main/outbox-master}
fi
OUTBOXCTL=${OUTBOXCTL:-$(dirname "${OUTBOX_MASTER:-./outbox-master}")/outboxctl}
KEEP=${KEEP-1}
# shellcheck source=tests/lib/lib.sh
. "$srcdir/tests/lib/lib.sh"
# shellcheck source=tests/lib/pillar.sh
. "$srcdir/tests/lib/pillar.sh"
# shellcheck source=tests/lib/replica.sh
. "$srcdir/tests/lib/replica.sh"
# shellcheck source=tests/chaos/back.sh
. "$srcdir/tests/chaos/back.sh"
choose_streams

#
# The schedule: all of it from the seed, before anything runs
#

# Set R to one of 0..$1-1: a generator of our own, the same on every bash.
PRNG=$((SEED * 2654435761 + 88172645463325252))
below() {
	PRNG=$((PRNG * 6364136223846793005 + 1442695040888963407))
	R=$(((PRNG >> 33 & 0x7fffffff) % $1))
}

between() {
	below $(($2 - $1 + 1))
	R=$((R + $1))
}

for _ in 1 2 3 4 5; do below 2; done
between 2 4
FIRST_WORKERS=$R
below 2
HANG_TIMEOUT=$((R * 10))
below 2
BATCH=$((R == 0 ? 60 : 500))
HAVE_PROXY=''
[ -n "$(command -v socat)" ] && HAVE_PROXY=1

WITH_REPLICA='' WITH_TCP=''	# is a fault planned that needs them?
BAG=()			# each name as often as its weight
fill_bag() {
	local name weight needs
	while read -r name weight needs; do
		[[ -n $name && " $FAULTS " == *" $name "* ]] || continue
		[ "$needs" != proxy ] || [ -n "$HAVE_PROXY" ] || continue
		[ "$needs" != replica ] || WITH_REPLICA=1
		case $needs in replica|back) WITH_TCP=1 ;; esac
		for ((; weight > 0; weight--)); do BAG+=("$name"); done
	done <<<"$ALL_FAULTS"
}

declare -A BUSY=()	# a target is left alone until then
PLAN=()			# "offset name arguments"

# is_busy TARGET AT; occupy TARGET UNTIL
is_busy() { [ "${BUSY[$1]:-0}" -gt "$2" ]; }
occupy() { BUSY[$1]=$2; }

any_master() {
	below "$NMASTERS"
	M=$R
}

plan_worker_kill() { any_master; below 12; PLAN+=("$1 worker_kill $M $R"); }
plan_worker_term() { any_master; below 12; PLAN+=("$1 worker_term $M $R"); }

# Every fourth is longer than leases and claims.
plan_worker_stop() {
	local n
	any_master
	below 12
	n=$R
	below 4
	if [ "$R" -eq 0 ]; then between 7000 13000; else between 1000 4000; fi
	PLAN+=("$1 worker_stop $M $n $R")
}

# The whole family of a master, for longer than leases and claims.
plan_host_stop() {
	any_master
	is_busy "m$M" "$1" && return 1
	between 4000 12000
	occupy "m$M" $(($1 + R + 1000))
	PLAN+=("$1 host_stop $M $R")
}

plan_master_kill() {
	any_master
	is_busy "m$M" "$1" && return 1
	between 0 1500
	occupy "m$M" $(($1 + R + 7000))
	PLAN+=("$1 master_kill $M $R")
}

plan_master_term() {
	any_master
	is_busy "m$M" "$1" && return 1
	between 0 1500
	occupy "m$M" $(($1 + R + 8000))
	PLAN+=("$1 master_term $M $R")
}

# A storm is numbers of workers, and "bad" for a broken file.
plan_hup_storm() {
	local n gap list='' bad
	any_master
	is_busy "m$M" "$1" && return 1
	between 3 8
	n=$R
	between 30 300
	gap=$R
	below "$n"
	bad=$R
	for ((i = 0; i < n; i++)); do
		between 1 4
		if ((i == bad)); then list+=bad,; else list+=$R,; fi
	done
	between 2 4
	occupy "m$M" $(($1 + (n + 1) * gap + 1000))
	PLAN+=("$1 hup_storm $M $gap $list$R")
}

# plan_pause NAME TARGET LOW HIGH REST AT: a fault that lasts
plan_pause() {
	is_busy "$2" "$6" && return 1
	between "$3" "$4"
	occupy "$2" $(($6 + R + $5))
	PLAN+=("$6 $1 $R")
}

plan_nats_kill() { plan_pause nats_kill nats 0 2500 3000 "$1"; }
plan_nats_stop() { plan_pause nats_stop nats 1000 6000 500 "$1"; }
plan_db_kill() { plan_pause db_kill db 0 1500 6000 "$1"; }
plan_db_stop() { plan_pause db_stop db 1000 4000 500 "$1"; }
plan_db_sever() { plan_pause db_sever db 0 0 300 "$1"; }
plan_purge() { plan_pause purge nats 0 0 20000 "$1"; }
plan_burst() { plan_pause burst burst 500 4000 3000 "$1"; }

# In a run of up to two minutes four times: 16 -> 64 -> 8 -> 32 -> 48.
COUNTS=(64 8 32 48 16)
PERIOD=$((DURATION < 120 ? DURATION * 200 : 24000))
LATE=$((PERIOD < 10000 ? PERIOD / 1000 : 10))	# seconds, of some producers
NCOUNTS=0 COUNT_AT=''

next_count_at() {
	below $((PERIOD / 2))
	COUNT_AT=$((PERIOD * (NCOUNTS + 1) + R))
}

# plan_counts UNTIL: those whose moment comes before that
plan_counts() {
	planned count_change || return
	[ -n "$COUNT_AT" ] || next_count_at
	while ((COUNT_AT < $1)); do
		PLAN+=("$COUNT_AT count_change ${COUNTS[NCOUNTS++ % 5]}")
		next_count_at
	done
}

any_side() {
	below 2
	SIDE=db
	[ "$R" -eq 0 ] || SIDE=nats
}

plan_cut() {
	any_side
	is_busy "p$SIDE" "$1" && return 1
	below 8
	PLAN+=("$1 cut $SIDE $R")
}

plan_stall() {
	any_side
	is_busy "p$SIDE" "$1" && return 1
	between 500 5000
	occupy "p$SIDE" $(($1 + R))
	PLAN+=("$1 stall $SIDE $R")
}

plan_refuse() {
	any_side
	is_busy "p$SIDE" "$1" && return 1
	between 500 4000
	occupy "p$SIDE" $(($1 + R + 500))
	PLAN+=("$1 refuse $SIDE $R")
}

make_plan() {
	local t=1500 try
	fill_bag
	[ "${#BAG[@]}" -gt 0 ] || planned count_change ||
	    skip_all 'no fault to inject'
	while ((t < DURATION * 1000)); do
		plan_counts "$t"
		for ((try = 0; try < 5 && ${#BAG[@]} > 0; try++)); do
			below "${#BAG[@]}"
			"plan_${BAG[R]}" "$t" && break
		done
		between 300 2100
		t=$((t + R))
	done
	plan_counts $((DURATION * 1000))
}

make_plan
NALL=$NMASTERS		# with the one of the neighbour
planned neighbour && NALL=$((NMASTERS + 1))
say "seed $SEED, $DURATION s, $RATE events/s, $NMASTERS master(s)" \
    "of $FIRST_WORKERS workers, hang_timeout $HANG_TIMEOUT," \
    "batches of $BATCH, $KIND, $TABLES tables"
say "schedule, ${#PLAN[@]} entries: milliseconds, fault, target, how"
for entry in "${PLAN[@]}"; do say "    $entry"; done
[ -z "$PLAN_ONLY" ] || exit 0

#
# State of the run
#

STOP_TIMEOUT=6
exec {NAP}<> <(:)
nap() { read -rt "$1" -u "$NAP" || :; }
ms() {
	local t=${EPOCHREALTIME/[.,]/}
	NOW=$((t / 1000))
}

declare -A QUEUE=()	# number -> "at command...": what follows a fault
QUEUED=0
declare -A STOPPED=()	# pids that sleep
declare -A JOBS=()	# pid -> what runs in the background
declare -A COUNT=()	# of injected faults
SKIPPED=0 STARTS=0
NATS_KILLED=-1000000 PURGED=-1000000	# when, for the last time
WANT=() MPID=() STATE=() NEXT=() TERM_BY=() NWORKERS=()
LOG_AT=() TOLD=()	# when the count was changed: lines of log, and pid
PARTITIONS=16
FORMER=()		# the counts before it
PROXY_PORT_db='' PROXY_PORT_db2='' PROXY_PORT_nats=''
PROXY_db='' PROXY_db2='' PROXY_nats=''
COLD_TYPE=lab.event
VIOLATIONS=()
PRODUCERS=() SLOW=()

# The shell tells of each job that a signal ended: not on the terminal.
exec {ERR}>&2 2>>"$DIR/stderr"

violation() {
	VIOLATIONS+=("$*")
	say "VIOLATION: $*"
}

# In which second of the run it really happened, and to whom.
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
		sever|purge|full) ;;	# may meet a server that just went
		takeover|clone|cut|semisync|dump|restore|stream)
			"ended_$name" "$rc" ;;
		*) [ "$rc" -eq 0 ] || violation "$name: status $rc" ;;
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

#
# Masters, kept alive as an init system would
#

conf_of() { echo "$DIR/m$1.yml"; }
former() { printf '%s\n' "${FORMER[@]}" | sort -n | paste -sd,; }

# The servers that a master knows, as its file lists them.
hosts_of() {
	if [ "$1" -eq 0 ] && [ -n "$PROXY_PORT_db" ]; then
		printf '"127.0.0.1:%s"' "$PROXY_PORT_db"
		[ -z "$WITH_REPLICA" ] ||
		    printf ', "127.0.0.1:%s"' "$PROXY_PORT_db2"
	elif [ -n "$WITH_REPLICA" ]; then
		replica_hosts
	fi
}

# Only the first master sits behind the proxy.  Odd seeds have a doorbell.
conf_write() {
	local file url=$URL edit='' wake='' hosts
	file=$(conf_of "$1")
	hosts=$(hosts_of "$1")
	[ -z "$hosts" ] || edit="s/socket: \"[^\"]*\"/hosts: [$hosts]/;"
	[ "$1" -ne 0 ] || [ -z "$PROXY_PORT_db" ] ||
	    url=nats://127.0.0.1:$PROXY_PORT_nats
	[ "$1" -lt "$NMASTERS" ] || edit+='s/database: app/&2/'
	[ $((SEED % 2)) -eq 0 ] || wake='binlog: true'
	WAKE=$wake PIDFILE=$DIR/run/m$1.pid WORKERS=${NWORKERS[$1]} LEASE_TTL=3 \
	    LEASE_RENEW=1 HEARTBEAT_TTL=3 CLAIM_TTL=6 TIMEOUT_MS=1500 \
	    IDLE=100 MAX_BACKOFF=4 URL=$url write_conf "$file.new"
	[ "$TABLES" = own ] || [ "${#FORMER[@]}" -eq 0 ] ||
	    edit+="s/partition_count: [0-9]*/&, former_counts: [$(former)]/;"
	sed -i "$edit" "$file.new"
	[ "${2:-}" != bad ] || sed -i 's/lease_ttl/lease_tttl/' "$file.new"
	mv "$file.new" "$file"
}

master_start() {
	"$OUTBOX_MASTER" -c "$(conf_of "$1")" --silent \
	    >> "$DIR/out" 2>> "$DIR/m$1.log" </dev/null {NAP}>&- &
	MPID[$1]=$!
	STATE[$1]=up
	STARTS=$((STARTS + 1))
	# shellcheck disable=SC2034
	MASTERS=("${MPID[@]}")	# cleanup ends them
	note "master $1 started as ${MPID[$1]}"
}

# 73: the workers of a killed one still hold the pid file; 78: a broken file.
# 143: asked to leave before it could listen.
master_ended() {
	local rc
	wait "${MPID[$1]}"
	rc=$?
	note "master $1, ${MPID[$1]}, ended with status $rc, was ${STATE[$1]}"
	case ${STATE[$1]}:$rc in
	killed:*|leaving:0|leaving:73|leaving:78|leaving:143) ;;
	up:73|up:78) NEXT[$1]=$((NOW + 300)) ;;
	*) violation "master $1, pid ${MPID[$1]}: status $rc when ${STATE[$1]}" ;;
	esac
	STATE[$1]=down
}

supervise() {
	local m
	for ((m = 0; m < NALL; m++)); do
		if [ "${STATE[m]}" = down ]; then
			[ -z "${WANT[m]}" ] || [ "$NOW" -lt "${NEXT[m]}" ] ||
			    master_start "$m"
		elif is_gone "${MPID[m]}"; then
			master_ended "$m"
		elif [ "${STATE[m]}" = leaving ] &&
		    [ "$NOW" -ge "${TERM_BY[m]}" ]; then
			violation "master $m, pid ${MPID[m]}: still there" \
			    "long after SIGTERM"
			STATE[m]=killed
			kill -KILL "${MPID[m]}"
		fi
	done
}

master_leave() {
	[ "${STATE[$1]}" = up ] || return 1
	kill -TERM "${MPID[$1]}"
	STATE[$1]=leaving
	TERM_BY[$1]=$((NOW + STOP_TIMEOUT * 1000 + 3000))
}

# Set PID to the n-th worker of a master, if there is one.
find_worker() {
	local pids
	[ "${STATE[$1]}" != down ] || return 1
	mapfile -t pids < <(worker_pids "${MPID[$1]}" | sort -n)
	[ "${#pids[@]}" -gt 0 ] || return 1
	PID=${pids[$2 % ${#pids[@]}]}
	is_outbox "$PID"
}

#
# The proxy: a socat for each side, with a child for each connection
#

proxy_start() {
	local -n port=PROXY_PORT_$1 pid=PROXY_$1
	local target=${URL##*:} try
	[ "$1" = nats ] || target=$(replica_port "$DIR/$1")
	for ((try = 0; try < 20; try++)); do
		[ -n "$port" ] || port=$((20000 + RANDOM % 12000))
		socat "TCP-LISTEN:$port,bind=127.0.0.1,fork,reuseaddr,nodelay" \
		    "TCP:127.0.0.1:$target,nodelay" </dev/null {NAP}>&- \
		    >/dev/null 2>>"$DIR/socat" &
		pid=$!
		nap 0.1
		is_gone "$pid" || return 0
		wait "$pid"
		[ -n "${2:-}" ] || port=''
	done
	pid=''
	return 1
}

proxy_children() {
	local -n pid=PROXY_$1
	[ -z "$pid" ] || worker_pids "$pid" | sort -n
}

# Of the databases the one that takes writes has a proxy to be disturbed.
side() { if [ "$1" = db ]; then echo "${PRIMARY##*/}"; else echo "$1"; fi; }

# All, or for 2 and more one of them.
do_cut() { cut_side "$(side "$1")" "$2"; }
do_stall() { stall_side "$(side "$1")" "$2"; }
do_refuse() { refuse_side "$(side "$1")" "$2"; }

cut_side() {
	local pids
	mapfile -t pids < <(proxy_children "$1")
	[ "${#pids[@]}" -gt 0 ] || return 1
	[ "$2" -lt 2 ] || pids=("${pids[$2 % ${#pids[@]}]}")
	kill -KILL "${pids[@]}"
}

stall_side() {
	local pids pid
	mapfile -t pids < <(proxy_children "$1")
	[ "${#pids[@]}" -gt 0 ] || return 1
	for pid in "${pids[@]}"; do
		pause "$pid"
		after "$2" resume "$pid"
	done
}

refuse_side() {
	local -n pid=PROXY_$1
	local children
	[ -n "$pid" ] || return 1
	mapfile -t children < <(proxy_children "$1")
	kill -KILL "$pid"
	wait "$pid"
	pid=''
	[ "${#children[@]}" -eq 0 ] || kill -KILL "${children[@]}"
	after "$2" proxy_again "$1"
}

proxy_again() {
	proxy_start "$1" again || violation "no proxy for $1 any more"
}

#
# The faults: 1 when there is nothing to do it to
#

do_worker_kill() {
	find_worker "$1" "$2" || return 1
	note "kill -9 worker $PID"
	kill -KILL "$PID"
}

do_worker_term() {
	find_worker "$1" "$2" || return 1
	note "kill -TERM worker $PID"
	kill -TERM "$PID"
}

do_worker_stop() {
	find_worker "$1" "$2" || return 1
	note "stop worker $PID"
	pause "$PID"
	after "$3" resume "$PID"
}

do_host_stop() {
	local pid
	[ "${STATE[$1]}" = up ] || return 1
	note "stop master ${MPID[$1]} and its workers"
	for pid in "${MPID[$1]}" $(worker_pids "${MPID[$1]}"); do
		pause "$pid"
		after "$2" resume "$pid"
	done
}

do_master_kill() {
	[ "${STATE[$1]}" = up ] || return 1
	note "kill -9 master ${MPID[$1]}"
	STATE[$1]=killed
	NEXT[$1]=$((NOW + $2))
	kill -KILL "${MPID[$1]}"
}

do_master_term() {
	NEXT[$1]=$((NOW + $2))
	note "kill -TERM master ${MPID[$1]}"
	master_leave "$1"
}

do_hup_storm() {
	local m=$1 gap=$2 at=0 n
	[ "${STATE[m]}" = up ] || return 1
	for n in ${3//,/ }; do
		after "$at" hup "$m" "$n"
		at=$((at + gap))
	done
}

hup() {
	if [ "$2" = bad ]; then
		conf_write "$1" bad
	else
		NWORKERS[$1]=$2
		conf_write "$1"
	fi
	[ "${STATE[$1]}" != up ] || kill -HUP "${MPID[$1]}"
}

#
# Another partition count.  Nobody ever takes a former one away.
#

# One at a time: all that is to follow a change is done before the next.
do_count_change() {
	local m n kept=()
	is_running count && {
		after 300 do_count_change "$1"
		return
	}
	for n in "${FORMER[@]}" "$PARTITIONS"; do
		[ "$n" = "$1" ] || kept+=("$n")
	done
	FORMER=("${kept[@]}") PARTITIONS=$1
	for ((m = 0; m < NMASTERS; m++)); do
		touch "$DIR/m$m.log"
		LOG_AT[m]=$(wc -l < "$DIR/m$m.log") TOLD[m]=${MPID[m]:-0}
		conf_write "$m"
		[ "${STATE[m]}" != up ] || kill -HUP "${MPID[m]}"
	done
	note "the count becomes $1"
	in_background count "count_$TABLES" "$1"
}

is_made() {
	[ "$(timeout 5 "$SANDBOX" sql "$DIR/now" -N app -e \
	    'SELECT partition_count FROM outbox_settings')" = "$1" ]
}

# Masters make it.  Where all of them die before that, an operator does.
count_own() {
	local try
	wait_for 5 is_made "$1" && return
	conf_of() { echo "$DIR/sync.yml"; }
	PROXY_PORT_db='' conf_write 0
	for ((try = 0; try < 4; try++)); do
		timeout 60 "$OUTBOXCTL" -c "$DIR/sync.yml" partitions sync --yes
		wait_for 10 is_made "$1" && return
	done
	return 1
}

# workers_before M: pids of workers that a master started before it read the
# file of this change, or "all" if none has read it yet
workers_before() {
	awk -v from="${LOG_AT[$1]}" -v told="[${TOLD[$1]}]:" '
	/ master\[[0-9]*\]: worker [0-9]+: pid [0-9]+ started/ {
		for (i = 1; $i != "pid"; i++) ;
		before[$(i + 1)] = !fresh
	}
	NR > from && / master\[[0-9]*\]: (reload: generation|started with) / {
		if ($4 == "reload:" || index($3, told) == 0)
			fresh = 1
	}
	END {
		if (!fresh)
			print "all"
		for (pid in before)
			if (before[pid])
				print pid
	}' "$DIR/m$1.log"
}

is_declared() {
	local m pid
	for ((m = 0; m < NMASTERS; m++)); do
		for pid in $(workers_before "$m"); do
			[ "$pid" != all ] && ! is_outbox "$pid" || return 1
		done
	done
}

# Without a settings table no producer may use it before all workers know it.
count_pillar() {
	local try
	for ((try = 0; try < 300; try++)); do
		is_declared && {
			echo "$1" > "$DIR/count.new"
			mv "$DIR/count.new" "$DIR/count"
			return
		}
		nap 0.2
	done
	return 1
}

server_dir() { if [ "$1" = db ]; then echo "$PRIMARY"; else echo "$DIR/$1"; fi; }

server_pid() {
	read -r PID _ < "$(server_dir "$1")/process" && ! is_gone "$PID"
}

# Not one that is about to die in another way.
server_is_free() {
	! is_running "$1" && server_pid "$1" || return 1
	[ "$1" != db ] || [ -z "$BACK_BUSY" ]
}

server_kill() {
	server_is_free "$1" || return 1
	note "kill -9 $1 $PID"
	kill -KILL "$PID"
	after "$2" in_background "$1" timeout 70 "$SANDBOX" restart \
	    "$(server_dir "$1")"
}

server_stop() {
	server_is_free "$1" || return 1
	note "stop $1 $PID"
	pause "$PID"
	after "$2" resume "$PID"
}

# A server that starts anew makes its memory of ids from what is stored, the
# first time that something is published: nobody knows an id that was purged
# shortly before or after. What was out by then must have had its answer.
do_nats_kill() {
	[ $((NOW - PURGED)) -ge 30000 ] && server_kill nats "$1" &&
	    NATS_KILLED=$NOW
}
do_nats_stop() { server_stop nats "$1"; }
do_db_kill() { server_kill db "$1"; }
do_db_stop() { server_stop db "$1"; }

sever() {
	timeout 5 "$SANDBOX" sql "$PRIMARY" -N -e "SELECT CONCAT('KILL ', id,
	    ';') FROM information_schema.processlist WHERE user = 'outbox'" |
	    timeout 5 "$SANDBOX" sql "$PRIMARY" --force
}
do_db_sever() { ! is_running db && in_background sever sever; }

# By the address where there may be several.
produce() {
	local where=(--socket "$SOCKET")
	[ -z "$HOSTS" ] || where=(--host "$HOSTS")
	[ "$TABLES" = own ] || where+=(--count-file "$DIR/count")
	"$LAB" produce "${where[@]}" --user outbox_producer \
	    --password-env PRODUCER_PW --database app "$@" \
	    >> "${PRODUCED:-$DIR/produced}"
}

# It begins again where the database is away at its start.  Its keys are new
# ones: a number that is given twice never comes with the same event.
burst() {
	local try
	for ((try = 0; try < 10; try++)); do
		produce --bulk --events "$1" --keys 300 --key-prefix "$2" \
		    --per-txn 500 --payload 150 --producers 2 && return
		nap 1
	done
	return 1
}
# The checker reads the copy.
move() {
	timeout 300 "$LAB" purge --nats "$URL" --stream "${1:-EVENTS}" \
	    --into COPY
}
do_purge() {
	[ $((NOW - NATS_KILLED)) -ge 90000 ] && ! is_running nats || return 1
	PURGED=$NOW
	in_background purge move
}
do_burst() {
	[ ! -e "$DIR/hold" ] && in_background burst burst "$1" "burst-$NOW-"
}

inject() {
	local name=$1
	shift
	if "do_$name" "$@"; then
		COUNT[$name]=$((${COUNT[$name]:-0} + 1))
		note "$name $*"
	else
		SKIPPED=$((SKIPPED + 1))
		note "skipped $name $*"
	fi
}

#
# Load
#

# enqueue KEY TYPE PAYLOAD: the statements for it
enqueue() {
	[ "$TABLES" = pillar ] || {
		echo "CALL outbox_enqueue('$1', NULL, '$2', 1, NULL, NULL,
		    '$3');"
		return
	}
	echo "SELECT COALESCE(MAX(stream_sequence), 0) + 1 INTO @next
		FROM events WHERE stream_id = '$1';
	    INSERT INTO events (stream_id, stream_sequence, event_type,
		event_data) VALUES ('$1', @next, '$2', '$3');
	    INSERT INTO outbox (global_sequence, partition_key)
		VALUES (LAST_INSERT_ID(), CONCAT('p',
		LPAD(CRC32('$1') MOD $(<"$DIR/count"), 2, '0')));"
}

# What no message can hold.  Without a table of dead letters it would wait for
# ever.
poison() { [ "$TABLES" = pillar ] || enqueue "$@"; }

# Transactions that stay open for a while; among their rows delayed ones and
# poison, whose type makes no subject.  What came of a lost connection does
# not matter: the tables tell.
slow_producer() {
	local i=0 key end sleep
	while [ ! -e "$DIR/enough" ]; do
		i=$((i + 1))
		key=slow-$1-$((i % 3))
		end=COMMIT
		((i % 6)) || end=ROLLBACK
		sleep=0.$((1 + i * 7 % 5))
		wait_for 60 is_not_held
		{
			echo "START TRANSACTION;"
			enqueue "$key" chaos.slow "{\"i\": $i}"
			echo "DO SLEEP($sleep);"
			((i % 4)) ||
			    poison "$key" 'chaos. poison' "{\"p\": $i}"
			enqueue "$key" chaos.slow "{\"i\": $i.5}"
			((i % 5)) ||
			    echo "UPDATE outbox SET available_at = NOW(6) +
				INTERVAL 1500000 MICROSECOND WHERE
				global_sequence = LAST_INSERT_ID();"
			enqueue "$key-b" chaos.slow "{\"b\": $i}"
			# A hot key waits, and much comes behind it.
			((i % 9)) || {
				enqueue "hot-$((i % 8))" chaos.slow \
				    "{\"s\": \"$1 $i\"}"
				echo "UPDATE outbox SET available_at = NOW(6) +
				    INTERVAL 3 SECOND WHERE
				    global_sequence = LAST_INSERT_ID();"
			}
			echo "$end;"
			# In the middle of a busy key.
			((i % 7)) || {
				echo 'START TRANSACTION;'
				poison "hot-$((i % 8))" 'hot. poison' \
				    "{\"p\": \"$1 $i\"}"
				echo 'COMMIT;'
			}
		} | timeout 20 "$SANDBOX" sql "$DIR/now" app ||
		    read -rt 0.3 <> <(:) || :
	done
}

# Each key has one kind of producers, of which not all hear of another count at
# once.  A database that goes back may not know a count any more that is used.
choose_kinds() {
	KINDS=procedure,fixed:16,late:$LATE
	[ "$TABLES" = own ] || KINDS=late:0,fixed:16,late:$LATE
	[ -z "$WITH_TCP" ] || KINDS=procedure,fixed:16
}

start_load() {
	local i
	choose_kinds
	produce --forever --keys 8 --key-prefix hot- --payload 120 \
	    --producers 4 --producers-by "$KINDS" --per-txn 2 --rollback 5 \
	    --rate $((RATE * 45 / 100)) &
	PRODUCERS+=($!)
	produce --forever --keys 5000 --key-prefix cold- --payload 300 \
	    --producers 3 --producers-by "$KINDS" --per-txn 5 --rollback 10 \
	    --type "$COLD_TYPE" --rate $((RATE * 45 / 100)) &
	PRODUCERS+=($!)
	# Of what has the same number again only the key is another one.
	[ -z "$WITH_TCP" ] || {
		produce --forever --keys 100000 --key-prefix same- --same \
		    --producers 2 --rate $((RATE / 5)) &
		PRODUCERS+=($!)
	}
	planned neighbour && {
		PRODUCED=$DIR/next produce --database app2 --forever --keys 50 --payload 100 \
		    --producers 2 --type chaos.next --rate 50 \
		    --key-prefix next- &
		PRODUCERS+=($!)
	}
	planned awkward && {
		awkward_producer >/dev/null 2>>"$DIR/slow" &
		SLOW+=($!)
	}
	for i in 1 2 3; do
		slow_producer "$i" >/dev/null 2>>"$DIR/slow" &
		SLOW+=($!)
	done
}

# A function in the background is a shell with the program as its child.
stop_children() {
	local pid
	for pid in "$@"; do
		worker_pids "$pid" | while read -r child; do
			kill -TERM "$child"
		done
	done
}

stop_load() {
	: > "$DIR/enough"
	stop_children "${PRODUCERS[@]}"
}

are_gone() {
	local pid
	for pid in "$@"; do is_gone "$pid" || return 1; done
}

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
		wait_for 25 is_gone "$pid" || kill -KILL "$pid"
	done
	[ -z "${LOGS:-}" ] || {
		mkdir -p "$LOGS"
		cp "$DIR"/faults "$DIR"/m*.log "$LOGS"
	}
	for pid in $PROXY_db $PROXY_db2 $PROXY_nats; do
		mapfile -t children < <(worker_pids "$pid")
		kill -KILL "$pid" "${children[@]}"
	done
	cleanup
}
trap clean_up EXIT

# Whatever hangs: the shell ends, and the trap with it.
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

all_up() {
	local m
	[ "${#QUEUE[@]}" -eq 0 ] && [ "${#JOBS[@]}" -eq 0 ] || return 1
	for ((m = 0; m < NALL; m++)); do
		[ "${STATE[m]}" = up ] || return 1
	done
}

# Former counts are kept until a person says otherwise, and nobody does.
check_counts() {
	local n
	[ "${COUNT[count_change]:-0}" -gt 0 ] || return
	if [ "$TABLES" = pillar ]; then
		is "$(cat "$DIR/count")" "$PARTITIONS" \
		    'each change of the count came to the producers'
	else
		(count_own "$PARTITIONS") >> "$DIR/jobs" 2>&1
		ok $? 'each change of the count is made'
		may_have_phantoms || is "$(sql 'SELECT former_counts
		    FROM outbox_settings' | tr , '\n' | sort -n |
		    paste -sd,)" "$(former)" 'and the former ones are kept'
	fi
	n=$(sql 'SELECT COUNT(*) FROM (SELECT 1 FROM events JOIN outbox
	    ON global_sequence = sequence GROUP BY stream_id
	    HAVING COUNT(DISTINCT partition_key) > 1) AS several')
	[ "$n" -gt 0 ]
	ok $? "keys have messages under several labels ($n keys)"
}

all_down() {
	local m
	for ((m = 0; m < NALL; m++)); do
		[ "${STATE[m]}" = down ] || return 1
	done
}

#
# Run
#

start_servers "${REPLICA_LINES[@]}" 2>&"$ERR"
ln -s "$PRIMARY" "$DIR/now"
"$LAB" stream --nats "$URL" --name COPY --subjects 'COPY.>' --dup-window 86400
watchdog >/dev/null 2>&1 </dev/null &
if [ -n "$HAVE_PROXY" ]; then
	sql "CREATE USER 'outbox'@'127.0.0.1' IDENTIFIED BY '$OUTBOX_PW'"
	sed "s/'outbox'@'localhost'/'outbox'@'127.0.0.1'/" \
	    "$srcdir/sql/grants.sql" | "$SANDBOX" sql "$DIR/db" app
fi
back_start
if [ -n "$HAVE_PROXY" ]; then
	proxy_start db && proxy_start nats &&
	    { [ -z "$WITH_REPLICA" ] || proxy_start db2; } || PROXY_PORT_db=''
fi
# The comma: also of one the producers ask whether it takes writes.
HOSTS=''
[ -z "$WITH_TCP" ] || HOSTS=127.0.0.1:$DB_PORT,
[ -z "$WITH_REPLICA" ] || HOSTS=$(replica_hosts | tr -d '" ')
# No line break in the text: the client would print it as a command of its own.
sql "$(sql "SELECT CONCAT('GRANT REPLICATION SLAVE, REPLICATION CLIENT ',
    'ON *.* TO ''outbox''@''', host, ''';') FROM mysql.user
    WHERE user = 'outbox'")"
[ "$TABLES" = own ] || pillar_tables
echo "$PARTITIONS" > "$DIR/count"
ms
START=$NOW
for ((m = 0; m < NALL; m++)); do
	WANT[m]=1 STATE[m]=down NEXT[m]=0 NWORKERS[m]=$FIRST_WORKERS
	conf_write "$m"
	master_start "$m"
done
tick_until 15 all_owned
ok $? 'all partitions are owned before it begins'
start_load
ms
START=$NOW
for entry in "${PLAN[@]}"; do
	read -r at name args <<<"$entry"
	while ((NOW < START + at)); do tick; done
	# shellcheck disable=SC2086
	inject "$name" $args
done
while ((NOW < START + DURATION * 1000)); do tick; done

# What was to follow follows: resumed and started again.
say 'faults are over'
tick_until 80 all_up
ok $? 'servers and masters are up again'
calm_down
planned count_change && tick_until "$LATE" false	# the last one comes to all
stop_load
tick_until 70 are_gone "${PRODUCERS[@]}" "${SLOW[@]}"
ok $? 'the producers end'
failed=0
for pid in "${PRODUCERS[@]}"; do
	wait "$pid" || failed=$((failed + 1))
done
is "$failed" 0 'none of them failed'
ms
drain_start=$NOW
tick_until 240 is_drained
ok $? 'everything is delivered or dead'
planned neighbour && {
	tick_until 60 neighbour_is_drained
	ok $? "the neighbour's events are"
}
ms
drain_ms=$((NOW - drain_start))
tick_until 15 all_owned
ok $? 'all partitions are owned afterwards'
check_counts
[ "$(left_over | wc -l)" -gt "$NMASTERS" ]
ok $? 'workers are at work'

ms
for ((m = 0; m < NALL; m++)); do
	WANT[m]=''
	master_leave "$m"
done
tick_until $((STOP_TIMEOUT + 5)) all_down
ok $? 'the masters stop'
is "$(left_over | tr '\n' ' ')" '' 'no process is left'

move && { ! planned stream_full || move SLOW; }
ok $? 'the checker has a copy of all messages'
DEADLY="(e.event_type LIKE '% %' OR e.stream_id LIKE 'awkward-dead-%')"
poison=$(sql "SELECT COUNT(*) FROM events AS e WHERE $DEADLY")
MINE=()
for ((m = 0; m < NMASTERS; m++)); do MINE+=("$m"); done
check_own 'complete, in order per key, nothing twice, nothing else dead' \
    app --wait 10 --expect-dead "$poison"
check_told app "${MINE[@]}"
planned neighbour && {
	check_own "the neighbour's messages as well" app2 --expect-dead 0
	check_told app2 "$NMASTERS"
}
check_answered
[ "$TABLES" = pillar ] || {
	is "$(sql "SELECT COUNT(*) FROM outbox_dead_letters AS d LEFT JOIN events AS e
	    ON e.sequence = d.global_sequence WHERE e.event_type IS NULL
	    OR NOT $DEADLY OR d.reason <> 'message'")" 0 \
	    "the dead letters are the $poison poison rows"
	is "$(sql 'SELECT COUNT(*) FROM outbox_blocked_keys')" 0 \
	    'no key is blocked'
}
is "$(sql 'SELECT COUNT(*) FROM outbox WHERE claim_token IS NOT NULL')" 0 \
    'no claim is left'
is "$(sql 'SELECT COUNT(*) FROM outbox_partitions
    WHERE lease_owner IS NOT NULL')" 0 'no lease is left'
is "$(sql 'SELECT COUNT(*) FROM outbox_workers
    WHERE heartbeat_until > NOW(6)')" 0 'no live worker is registered'
# 9 is ours, 14 the alarm of an orphan; 10 leaves its place to a successor.
is "$(grep -hE 'was killed by signal|exited with status|panic' \
    "$DIR"/m*.log | grep -vE 'signal (9|14) |status (0|10) ' | head -3)" '' \
    'no worker crashed'
is "${#VIOLATIONS[@]}" 0 'masters did as they were told, servers came back'

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
	    "--tables $TABLES --faults '${FAULTS% }'"
fi
done_testing
