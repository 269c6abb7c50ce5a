# faults.sh - the faults: 1 when there is nothing to do it to; sourced by run.sh

# shellcheck shell=bash disable=SC2034,SC2154

#
# The proxy of each side, with a child for each connection
#

# proxy SIDE PORT TARGET: begin it
proxy() {
	local with=(socat
	    "TCP-LISTEN:$2,bind=127.0.0.1,fork,reuseaddr,nodelay"
	    "TCP:127.0.0.1:$3,nodelay")
	[ "$1" != nats ] || with=("$LIAR" "$2" "$3" "$LIES")
	"${with[@]}" </dev/null >/dev/null 2>>"$DIR/socat" &
}

proxy_start() {
	local -n port=PROXY_PORT_$1 pid=PROXY_$1
	local target try
	case $1 in
	nats) target=${URL##*:} ;;
	*) target=$(replica_port "$DIR/$1") ;;
	esac
	for ((try = 0; try < 20; try++)); do
		[ -n "$port" ] || port=$((20000 + RANDOM % 12000))
		proxy "$1" "$port" "$target"
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
do_stall() { is_let "$1" && stall_side "$(side "$1")" "$2"; }
do_refuse() { is_let "$1" && refuse_side "$(side "$1")" "$2"; }
is_let() { [ "$1" != kafka ] || ! is_running recreate; }

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
# Another partition count.  Former ones stay declared.
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
	in_background count "count_$COUNT_BY" "$1"
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
	[ "$1" != nats ] || ! is_running damage || return 1
	[ "$1" != kafka ] || ! is_running recreate || return 1
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

# A server that starts again reads its message ids from the stored messages, at
# the first publish: ids that were purged shortly before or after are unknown.
# So all messages in flight must have had their answer by then.
do_nats_kill() {
	[ $((NOW - PURGED)) -ge 30000 ] && server_kill nats "$1" &&
	    NATS_KILLED=$NOW
}
do_nats_stop() { server_stop nats "$1"; }
do_db_kill() { server_kill db "$1"; }
do_db_stop() { server_stop db "$1"; }

# sever [USERS]
sever() {
	timeout 5 "$SANDBOX" sql "$PRIMARY" -N -e "SELECT CONCAT('KILL ', id,
	    ';') FROM information_schema.processlist
	    WHERE FIND_IN_SET(user, '${1:-outbox}')" |
	    timeout 5 "$SANDBOX" sql "$PRIMARY" --force
	forget_tables
}
do_db_sever() { ! is_running db && in_background sever sever; }

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
