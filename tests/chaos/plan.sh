# plan.sh - the schedule: all of it from the seed, before anything runs;
# sourced by run.sh

# shellcheck shell=bash disable=SC2034,SC2154

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
# In a third of the seeds the application has the trigger make its rows.
WITH_TRIGGER=''
case $TABLES in own|inline) [ $((SEED % 3)) -ne 2 ] || WITH_TRIGGER=1 ;; esac

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

# plan_master NAME LOW HIGH REST AT: of one of the masters
plan_master() {
	any_master
	is_busy "m$M" "$5" && return 1
	between "$2" "$3"
	occupy "m$M" $(($5 + R + $4))
	PLAN+=("$5 $1 $M $R")
}

plan_master_kill() { plan_master master_kill 0 1500 7000 "$1"; }
plan_master_term() { plan_master master_term 0 1500 8000 "$1"; }
# All its workers as well, for longer than leases and claims.
plan_host_stop() { plan_master host_stop 4000 12000 1000 "$1"; }

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
	[ "$R" -eq 0 ] || SIDE=$BUS
}

plan_cut() {
	any_side
	is_busy "p$SIDE" "$1" && return 1
	below 8
	PLAN+=("$1 cut $SIDE $R")
}

# plan_proxy NAME HIGH REST AT: of the proxy of one side
plan_proxy() {
	any_side
	is_busy "p$SIDE" "$4" && return 1
	between 500 "$2"
	occupy "p$SIDE" $(($4 + R + $3))
	PLAN+=("$4 $1 $SIDE $R")
}

plan_stall() { plan_proxy stall 5000 0 "$1"; }
plan_refuse() { plan_proxy refuse 4000 500 "$1"; }

make_plan() {
	local t=1500 try
	fill_bag
	[ "${#BAG[@]}" -gt 0 ] || planned count_change ||
	    skip_all 'no fault to inject'
	! planned server_vars || plan_server_vars 0
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
