# damage.sh - the broker's store is damaged, and leaders change; sourced by
# run.sh
#
# What the stream has lost is told by itself: its messages before and after.
# Those have to come again, and may come late.  DIR/lost has them for the
# checker: the sequence, and the number of the loss.

# shellcheck shell=bash disable=SC2034,SC2154

# Half of the seeds with these faults have three brokers and three replicas.
WITH_CLUSTER=''
NLOSSES=0

# A damaged store has to keep what it has.  A replica of nats-server 2.9 may be
# different for good after its leader stood still.
choose_cluster() {
	local name rest=''
	planned damage || planned step_down || return
	[ $((SEED / 4 % 2)) -eq 0 ] || WITH_CLUSTER=1
	for name in $FAULTS; do
		case $name:$WITH_CLUSTER in
		purge:*|step_down:) ;;
		*) rest+="$name " ;;
		esac
	done
	FAULTS=$rest
	[ -z "$WITH_CLUSTER" ] || [[ $(nats-server --version) != *v2.9.* ]] ||
	    FAULTS=${FAULTS/nats_stop /}
}

plan_damage() {
	is_busy nats "$1" && return 1
	[ "$1" -ge 10000 ] || return 1
	below 4
	local how=bit
	[ "$R" -ne 0 ] || how=bytes
	below 100
	occupy nats $(($1 + 12000))
	PLAN+=("$1 damage $how $R")
}

plan_step_down() { plan_pause step_down leader 0 0 2000 "$1"; }

#
# Three brokers: nats, nats2 and nats3
#

# The others, before anything is made.
cluster_lines() {
	printf '%s\n' "server_name: $1" \
	    "cluster {name: chaos, listen: \"127.0.0.1:${CLUSTER_PORTS[$1]}\"
	    routes: [$CLUSTER_ROUTES]}"
}

declare -A CLUSTER_PORTS=()
CLUSTER_ROUTES=''
cluster_start() {
	local name port lines
	for name in nats nats2 nats3; do
		port=$(free_port)
		CLUSTER_PORTS[$name]=$port
		CLUSTER_ROUTES+="${CLUSTER_ROUTES:+, }\"nats://127.0.0.1:$port\""
	done
	for name in nats nats2 nats3; do
		mapfile -t lines < <(cluster_lines "$name")
		"$SANDBOX" start nats "$DIR/$name" "${lines[@]}" >/dev/null ||
		    return
	done
	wait_for 30 has_meta_leader
}

broker_field() { sed -n "s/^$2=//p" "$DIR/$1/env"; }

# jsz BROKER FILTER: of what its monitor tells
jsz() {
	local web
	exec {web}<> "/dev/tcp/127.0.0.1/$(broker_field "$1" HTTP_PORT)" ||
	    return
	printf 'GET /jsz?streams=true HTTP/1.0\r\n\r\n' >&"$web"
	timeout 5 sed '1,/^\r$/d' <&"$web" | jq -er "$2"
	local rc=$?
	exec {web}>&-
	return "$rc"
}

has_meta_leader() {
	local name
	for name in nats nats2 nats3; do
		jsz "$name" '.meta_cluster.leader // empty' > "$DIR/jsz" ||
		    return 1
	done 2>/dev/null
}

stream_leader() {
	local name
	for name in nats nats2 nats3; do
		jsz "$name" '.account_details[].stream_detail[] |
		    select(.name == "EVENTS") | .cluster.leader // empty' &&
		    return
	done 2>/dev/null | head -n 1
}

# Three replicas of what start_servers has made with one.
cluster_stream() {
	URL=$(broker_field nats URL)
	"$LAB" stream --nats "$URL" --name EVENTS --replicas 3 \
	    --subjects 'events.>' --dup-window "$WINDOW_SECONDS" \
	    2>> "$DIR/stderr"
}

broker_servers() {
	local name list=''
	[ -n "$WITH_CLUSTER" ] || { printf '"%s"' "$URL"; return; }
	for name in nats nats2 nats3; do
		list+="${list:+, }\"$(broker_field "$name" URL)\""
	done
	printf '%s' "$list"
}

# any_url: of a broker that runs
any_url() {
	local name
	for name in nats nats2 nats3; do
		[ -e "$DIR/$name/env" ] &&
		    "$SANDBOX" status "$DIR/$name" >/dev/null &&
		    { broker_field "$name" URL; return; }
	done
}

# step_down: the stream gets another leader
step_down() {
	local line bus
	bus=$(any_url)
	exec {bus}<> "/dev/tcp/127.0.0.1/${bus##*:}" || return
	printf '%s\r\n' 'CONNECT {"verbose":false}' 'SUB r 1' \
	    "PUB \$JS.API.STREAM.LEADER.STEPDOWN.EVENTS r 0" '' >&"$bus"
	while read -rt 3 line <&"$bus" && [[ $line != *'"success"'* ]]; do :; done
	exec {bus}>&-
}

do_step_down() {
	! is_running damage && ! is_running nats &&
	    in_background step step_down
}

#
# Damage
#

# list FILE [URL]: number and event of each message of the stream
list() {
	timeout 60 "$LAB" list --nats "${2:-$(any_url)}" --stream EVENTS \
	    > "$1.new" && sort "$1.new" > "$1"
}

# spoil BROKER HOW PERCENT: an old block, there
spoil() {
	local blocks block size at
	mapfile -t blocks < <(ls -v "$DIR/$1"/js/jetstream/*/streams/EVENTS/msgs/*.blk)
	[ "${#blocks[@]}" -gt 0 ] || return
	# Of several not the last one.
	block=${blocks[$3 % (${#blocks[@]} > 1 ? ${#blocks[@]} - 1 : 1)]}
	size=$(stat -c %s "$block")
	at=$((size * (10 + $3 * 7 % 60) / 100))
	echo "damage: $2 of $block at $at of $size, ${#blocks[@]} blocks"
	if [ "$2" = bytes ]; then
		head -c 100 /dev/zero | tr '\0' '\377'
	else
		printf "\\x$(printf %02x $((0x$(od -An -tx1 -j "$at" -N 1 \
		    "$block" | tr -d ' ') ^ 4)))"
	fi | dd of="$block" bs=1 seek="$at" conv=notrunc status=none
	rm -f "${block%/*}/index.db"
}

# What is delivered becomes old: beyond the time that a daemon doubts anyway.
age() {
	local try
	for ((try = 0; try < 5; try++)); do
		sql "START TRANSACTION;
		    UPDATE outbox_streams SET known_since =
			known_since - INTERVAL 2 HOUR
			WHERE known_since > NOW() - INTERVAL 30 MINUTE;
		    UPDATE outbox SET published_at =
			published_at - INTERVAL 1 HOUR WHERE published_at
			BETWEEN NOW() - INTERVAL 30 MINUTE AND
			NOW() - INTERVAL 3 SECOND;
		    COMMIT" && return
	done
	return 1
}

# What was stored to the last moment is told by a broker with a copy of it.
damage_alone() {
	local rc=1
	age && "$SANDBOX" stop "$DIR/nats" || return
	rm -rf "$DIR/whole"
	mkdir -p "$DIR/whole"
	cp -a "$DIR/nats/js" "$DIR/whole"
	spoil nats "$1" "$2"
	"$SANDBOX" start nats "$DIR/whole" &&
	    list "$DIR/before" "$(broker_field whole URL)" && rc=0
	"$SANDBOX" kill "$DIR/whole"
	"$SANDBOX" restart "$DIR/nats" && wait_for 20 list "$DIR/after" &&
	    return "$rc"
}

leads() { [ "$(stream_leader)" = "$1" ]; }
leads_at_last() { leads "$1" || { step_down; nap 1; leads "$1"; }; }
is_current() {
	jsz "$(stream_leader)" ".account_details[].stream_detail[] |
	    select(.name == \"EVENTS\") | .cluster.replicas[] |
	    select(.name == \"$1\") | select(.current)" > "$DIR/jsz" 2>&1
}

damage_replica() {
	local leader name victims=()
	# What comes later it gets from the others.
	age && list "$DIR/before" || return
	leader=$(stream_leader)
	[ -n "$leader" ] || return
	for name in nats nats2 nats3; do
		[ "$name" = "$leader" ] || victims+=("$name")
	done
	name=${victims[$2 % 2]}
	"$SANDBOX" stop "$DIR/$name" && spoil "$name" "$1" "$2"
	"$SANDBOX" restart "$DIR/$name" || return
	wait_for 20 is_current "$name" || echo "damage: $name stays behind"
	wait_for 30 leads_at_last "$name" || {
		echo "damage: $name does not become the leader, it is $(
		    stream_leader)"
		return 0
	}
	wait_for 20 list "$DIR/after"
}

do_damage() {
	! is_running nats && server_is_free nats &&
	    [ -z "${STOPPED[$PID]:-}" ] || return 1
	rm -f "$DIR/before" "$DIR/after"
	if [ -n "$WITH_CLUSTER" ]; then
		in_background damage damage_replica "$@"
	else
		in_background damage damage_alone "$@"
	fi
}

ended_damage() {
	local n
	[ "$1" -eq 0 ] || { violation "damage: status $1"; return; }
	[ -e "$DIR/after" ] || return
	NLOSSES=$((NLOSSES + 1))
	n=$(comm -23 "$DIR/before" "$DIR/after" | awk -v n="$NLOSSES" \
	    '$2 != "-" { print $2, n }' | tee -a "$DIR/lost" | wc -l)
	note "the stream has lost $n messages"
}

# Are all there again?
is_recovered() {
	[ ! -e "$DIR/lost" ] || {
		list "$DIR/after" && awk 'FNR == NR { there[$2] = 1; next }
		    !($1 in there) { print; n++ } END { exit n > 0 }' \
		    "$DIR/after" "$DIR/lost" > "$DIR/missing"
	}
}
