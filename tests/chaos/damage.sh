# damage.sh - the broker's store is damaged, and leaders change; sourced by
# run.sh
#
# What the stream has lost is told by itself: its messages before and after.
# Those have to come again, and may come late.  DIR/lost has them for the
# checker: the sequence, the number of the loss, the stream's last sequence
# before it, and whether the daemon still had no answer shortly before the loss.
# Where that cannot be told the run has failed: nothing may be said of what came
# of it.

# shellcheck shell=bash disable=SC2034,SC2154

# Half of the seeds with these faults have three brokers and three replicas.
WITH_CLUSTER=''
NLOSSES=0

# A damaged store has to keep what it has.  A replica of nats-server 2.9 may be
# different for good after its leader stood still or was killed.
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
	    FAULTS=$(sed -E 's/nats_(stop|kill) //g' <<< "$FAULTS")
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
	    > "$1.new" || {
		echo "damage: no list for ${1##*/}: status $?"
		return 1
	}
	sort "$1.new" > "$1"
}

# Rows whose message may be stored and is not known to be.
list_unanswered() {
	sql 'SELECT global_sequence FROM outbox WHERE published_at IS NULL' \
	    > "$DIR/unanswered"
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

# In odd seeds what is delivered becomes old: beyond the time that a daemon
# doubts anyway, and that in which the stream knows an id.  A few rows at a time,
# or the daemon waits for their locks.
is_aged() { [ $((SEED % 2)) -eq 1 ]; }
age_some() {
	local n
	n=$(sql "UPDATE outbox SET published_at = published_at - INTERVAL 1 HOUR
	    WHERE published_at BETWEEN NOW() - INTERVAL 30 MINUTE AND
	    NOW() - INTERVAL $((WINDOW_SECONDS + 1)) SECOND
	    ORDER BY published_at LIMIT 1000;
	    SELECT ROW_COUNT()") && [ -n "$n" ] && echo "$n" > "$DIR/aged"
}
age() {
	is_aged || return 0
	wait_for 30 sql "UPDATE outbox_streams SET known_since =
	    known_since - INTERVAL 2 HOUR
	    WHERE known_since > NOW() - INTERVAL 30 MINUTE" || return
	while wait_for 30 age_some; do
		[ "$(<"$DIR/aged")" -gt 0 ] || return 0
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
	    wait_for 20 list "$DIR/before" "$(broker_field whole URL)" &&
	    wait_for 20 list_unanswered && rc=0
	"$SANDBOX" kill "$DIR/whole"
	sort -n "$DIR/before" | tail -n 1 | cut -d ' ' -f 1 > "$DIR/above"
	"$SANDBOX" restart "$DIR/nats" && wait_for 20 list "$DIR/after" &&
	    return "$rc"
}

has_last() { stream_of "$(stream_leader)" .state.last_seq > "$DIR/above"; }

damage_replica() {
	local name victims=()
	# What comes later it gets from the others.
	age && wait_for 20 list "$DIR/before" &&
	    wait_for 20 list_unanswered && wait_for 20 has_leader || return
	for name in "${BROKERS[@]}"; do
		[ "$name" = "$LEADER" ] || victims+=("$name")
	done
	name=${victims[$2 % 2]}
	"$SANDBOX" stop "$DIR/$name" && spoil "$name" "$1" "$2"
	"$SANDBOX" restart "$DIR/$name" || return
	wait_for 20 is_current "$name" || echo "damage: $name stays behind"
	wait_for 20 has_last || return
	wait_for 60 list_of_leader "$name" || {
		echo "damage: $name does not become the leader, it is $(
		    stream_leader)"
		return 1
	}
}

# list_of_leader NAME: the stream as this replica has it
list_of_leader() {
	leads_at_last "$1" && list "$DIR/after" && leads "$1"
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
	local n above
	[ "$1" -eq 0 ] && [ -e "$DIR/after" ] || {
		violation "damage: status $1, what is lost cannot be told"
		return
	}
	NLOSSES=$((NLOSSES + 1))
	above=$(<"$DIR/above")
	n=$(comm -23 "$DIR/before" "$DIR/after" | awk -v n="$NLOSSES" \
	    -v above="$above" '!listed { unanswered[$1]; next }
	    $2 != "-" { print $2, n, above, ($2 in unanswered) }' \
	    "$DIR/unanswered" listed=1 - | tee -a "$DIR/lost" | wc -l)
	note "the stream has lost $n messages, above $above it is again"
}

# find_missing: of what was lost; fails if that cannot be told
find_missing() {
	[ -e "$DIR/lost" ] || { : > "$DIR/missing"; return; }
	list "$DIR/after" >> "$DIR/jobs" 2>&1 || return
	awk 'FNR == NR { there[$2] = 1; next } !($1 in there) { print $1 }' \
	    "$DIR/after" "$DIR/lost" | sort -u > "$DIR/missing"
}

# The daemon has said that nothing is missing: it has no reason to look, all
# messages were looked up once more after the last fault, and sent.
FAULTS_ENDED=''
has_looked() {
	[ "$(sql "SELECT COALESCE(suspicion, '') <> 'lost' AND
	    scrub_for IS NULL AND scrub_whole > '$FAULTS_ENDED' AND
	    NOT EXISTS (SELECT 1 FROM outbox WHERE published_at IS NULL)
	    FROM outbox_streams WHERE name = 'EVENTS'")" = 1 ]
}

# Are all there again?  To read the stream takes the daemon's time, so not all
# the time.
NEXT_LOOK=0
is_recovered() {
	[ "$NOW" -ge "$NEXT_LOOK" ] || return
	find_missing && [ ! -s "$DIR/missing" ] && return
	ms
	NEXT_LOOK=$((NOW + 5000))
	has_looked
}

# How long a round takes is in status, and the daemon's choice: it reads for a
# tenth of the time.  So the end is when it says so, and the bound is only
# against a round that never ends.
check_recovered() {
	local start=$NOW
	FAULTS_ENDED=$(sql 'SELECT NOW(6)')
	tick_until 400 is_recovered
	wait_for 20 find_missing ||
	    violation 'damage: the stream cannot be listed'
	[ -e "$DIR/missing" ] && [ ! -s "$DIR/missing" ]
	ok $? 'what the stream has lost is there again'
	sed -n "s|$DIR/||; s/^damage: /# damage: /p" "$DIR/jobs"
	ms
	say "lost by the stream:" \
	    "$(cut -d ' ' -f 1 "$DIR/lost" 2>/dev/null | sort -u | wc -l)," \
	    "not there: $(wc -l < "$DIR/missing")," \
	    "$((NOW - start)) ms after the last fault"
}
