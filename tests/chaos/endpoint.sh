# endpoint.sh - a second destination, an HTTP endpoint, and what it refuses;
# sourced by run.sh
#
# Events of type hook.* go there, the others to the stream, in the same keys.
# The receiver logs what it gets; that log is held against the events, and
# against the times of the stream.

# shellcheck shell=bash disable=SC2034,SC2154

BLAME_AFTER=8		# seconds: retry.blame_after
POISON_MARGIN=40	# and so much later a poison message must be dead
REFUSAL=()		# what the receiver is told just now
CALM=0			# when the faults were over

has_endpoint() { [[ " $FAULTS " == *" endpoint_"* ]]; }

# Only where nothing of the database is lost, with the tables whose types the
# producers choose.  A purge would take the times of the stream away.  The clock
# is put back by moving what the tables have, and in one table the moment of a
# message is part of its id.  One that goes ahead lets two workers send the same
# for a moment, which a window of 2 s may not outlast.
choose_endpoint() {
	local name rest='' drop='' back
	back=$(expand back | tr '\n' ' ')
	for name in $FAULTS; do
		[[ " $back " != *" $name "* ]] ||
		    drop=' endpoint_refuse endpoint_kill endpoint_stop scheduled
			ddl clock_step '
	done
	case $TABLES:$(type -t "$RECEIVER") in own:file|inline:file) ;; *)
		drop+=' endpoint_refuse endpoint_kill endpoint_stop ' ;;
	esac
	[ "$TABLES" != pillar ] || drop+=' scheduled ddl '
	[ "$TABLES" = own ] && [ "$WINDOW_SECONDS" -gt 2 ] ||
	    drop+=' clock_step '
	! has_endpoint || [[ $drop == *" endpoint_refuse "* ]] ||
	    drop+=' purge '
	for name in $FAULTS; do
		[[ $drop == *[[:space:]]"$name"[[:space:]]* ]] || rest+="$name "
	done
	FAULTS=$rest
}

#
# Plans
#

# Each is over before what was refused can count as its own fault, and what
# uses attempts is rare, so that no message is spent by several of them.
plan_endpoint_refuse() {
	local how scope=all rest=3000
	is_busy endpoint "$1" && return 1
	local hows=(404 405 410 413 403 500 503 429 408 close cut hang)
	below "${#hows[@]}"
	how=${hows[R]}
	case $how in
	404|405|410|413)
		below 2
		[ "$R" -eq 0 ] || scope=hook.event ;;
	500|503|429|408|hang) rest=20000 ;;
	esac
	between 500 4000
	occupy endpoint $(($1 + R + rest))
	PLAN+=("$1 endpoint_refuse $how $scope $R")
}

plan_endpoint_kill() { plan_pause endpoint_kill endpoint 0 2500 8000 "$1"; }
plan_endpoint_stop() { plan_pause endpoint_stop endpoint 1000 6000 8000 "$1"; }

#
# The faults
#

# Some messages are refused for ever, whatever happens; of each kind of answer.
endpoint_orders() {
	order "${REFUSAL[@]}" '*"bad" 0 400' '*"long" 0 413' '*"gone" 0 404'
}

do_endpoint_refuse() {
	local path=/ how=$1
	[ "$2" = all ] || path=/e/$2
	[ "$how" != 429 ] || how='429 Retry-After:1'
	REFUSAL=("$path 0 $how")
	endpoint_orders
	after "$3" endpoint_takes
}

endpoint_takes() {
	REFUSAL=()
	endpoint_orders
	note 'the endpoint takes everything'
}

do_endpoint_kill() {
	stop_receiver
	after "$1" start_receiver
}

do_endpoint_stop() {
	pause "$RPID"
	after "$1" resume "$RPID"
}

#
# Configuration and load
#

# endpoint_conf FILE
endpoint_conf() {
	local route='name: hooks, type: hook.*, driver: http, max_attempts: 3,'
	route+=' backoff: 200ms, max_backoff: 1s, path: "{event_type}/{stream_id}"'
	sed -i "s|^publish: {|&routes: [{$route}], |
	    s|^retry: {|&blame_after: $BLAME_AFTER, |" "$1"
	echo "http: {endpoint: \"http://127.0.0.1:$RPORT/e\"}" >> "$1"
}

# A third of each hot key goes to the endpoint, and keys of its own.
endpoint_load() {
	start_producer --forever --keys 500 --key-prefix hook- --payload 200 \
	    --producers 3 --producers-by "$KINDS" --per-txn 5 \
	    --type hook.event --rate $((RATE / 10))
	HOOKS=$!
}

# endpoint_rows NAME I: of a slow producer, at its I-th transaction.  What has
# to be refused for long is in a key of its own, with others around it.
endpoint_rows() {
	local hows=(bad long gone) how
	how=${hows[($2 / 8 + $1) % 3]}
	enqueue "slow-$1-$(($2 % 3))" hook.slow "{\"h\": $2}"
	(($2 % 8)) || {
		enqueue "sick-$1-$2" hook.event "{\"h\": $2}"
		enqueue "sick-$1-$2" hook.event "{\"$how\": \"$1 $2\"}"
		enqueue "sick-$1-$2" chaos.slow "{\"h\": $2.5}"
	}
}

# The same in the middle of a busy key, whose numbers others use as well.
endpoint_poison() {
	(($2 % 3)) || printf '%s\n' 'START TRANSACTION;' \
	    "$(enqueue "hot-$(($2 % 8))" hook.event \
	    "{\"bad\": \"$1 $2\"}") COMMIT;"
}

#
# What is checked
#

REFUSED="e.event_type LIKE 'hook.%' AND (e.event_data LIKE '{\"bad\"%' OR
    e.event_data LIKE '{\"long\"%' OR e.event_data LIKE '{\"gone\"%')"

no_poison_waits() {
	is_sql "SELECT COUNT(*) FROM events AS e JOIN outbox AS o
	    ON o.global_sequence = e.sequence
	    WHERE o.published_at IS NULL AND $REFUSED" 0
}

# While others are sent there, as in life: two messages that are refused without
# any that is taken tell nothing of each other.  Only these: a busy machine has
# enough to do with what waits.
endpoint_end() {
	local pid
	CALM=${EPOCHREALTIME/,/.}
	: > "$DIR/enough"
	for pid in "${PRODUCERS[@]}"; do
		[ "$pid" = "$HOOKS" ] || stop_children "$pid"
	done
	tick_until 30 are_gone "${SLOW[@]}"
	tick_until 240 no_poison_waits
	ok $? 'endpoint: no poison message waits' ||
	    sql "SELECT e.sequence, e.stream_id, e.event_data, o.attempts,
		o.partition_key, o.last_error FROM events AS e JOIN outbox AS o
		ON o.global_sequence = e.sequence
		WHERE o.published_at IS NULL AND $REFUSED LIMIT 10" |
	    sed 's/^/# /'
}

# The checker of the stream sees what belongs there.
endpoint_views() {
	"$SANDBOX" sql "$PRIMARY" -e "CREATE DATABASE seen;
	CREATE VIEW seen.events AS SELECT * FROM app.events
	    WHERE event_type NOT LIKE 'hook.%';
	CREATE VIEW seen.outbox AS SELECT * FROM app.outbox;
	CREATE VIEW seen.outbox_dead_letters AS SELECT *
	    FROM app.outbox_dead_letters WHERE event_type NOT LIKE 'hook.%'"
}

# The stream's messages with their times, before they are moved.
endpoint_times() {
	"$LAB" list --nats "$(any_url)" --stream EVENTS |
	    awk '$2 != "-" && !($2 in t) { t[$2] = 1; printf "%s %.6f\n",
		$2, $3 / 1e9 }' > "$DIR/stored"
}

# endpoint_faults CROSS LATE TIME: a line for each fault, the kind first, and the
# counts.  CROSS 1: also the order across both destinations; LATE: so many
# seconds after it was settled nothing may be sent again (0: any).  A repeat with
# the same id is no fault before that: whoever sent it may not have lived to know.
# TIME: so many seconds after its first refusal, or the last fault, poison is dead.
endpoint_faults() {
	awk -F '\t' -v cross="$1" -v late="$2" -v time="$3" -v calm="$CALM" '
	function fault(kind, text) {
		n[kind]++
		if (n[kind] <= 10)
			print kind ": " text
	}
	# sequence, key, type, is dead, is poison, when it was settled
	FILENAME ~ /rows$/ {
		seq[++rows] = $1; key[$1] = $2; hook[$1] = $3 ~ /^hook[.]/
		dead[$1] = $4; poison[$1] = $5; settled[$1] = $6
		next
	}
	FILENAME ~ /stored$/ {
		split($0, f, " ")
		at[f[1]] = f[2]
		next
	}
	# status, path, id, key, sequence, overlap, time
	poison[$5] && $1 >= 400 && $1 < 500 {
		if (!($5 in began))
			began[$5] = $7 > calm ? $7 : calm
		lives = $7 - began[$5]
		if (lives > longest)
			longest = lives
		if (lives > time && !($5 in told))
			fault("late", $5 ", key " $4 ", since " began[$5])
		if (lives > time)
			told[$5] = 1
	}
	$1 == 200 {
		if (!($5 in hook) || !hook[$5] || key[$5] != $4)
			fault("foreign", $0)
		if (($5 in id) && id[$5] != $3 || ($3 in by) && by[$3] != $5)
			fault("twice", $5 ", ids " id[$5] " and " $3)
		id[$5] = $3; by[$3] = $5
		if ($5 in got) {
			repeats++
			if (late && settled[$5] > 0 && $7 > settled[$5] + late)
				fault("twice", $5 " at " $7 ", settled at " \
				    settled[$5])
			next
		}
		got[$5] = 1; taken++
		at[$5] = $7
		if ($5 + 0 < last[$4])
			fault("order", "key " $4 ": " $5 " after " last[$4])
		last[$4] = $5 + 0
	}
	END {
		for (i = 1; i <= rows; i++) {
			s = seq[i]
			if (hook[s] && dead[s] && (s in got))
				fault("dead", s " is dead and was taken")
			if (hook[s] && !dead[s] && !(s in got))
				fault("lost", s ", key " key[s])
			if (hook[s] && dead[s] && !poison[s])
				fault("wrongly", s ", key " key[s])
			if (!(s in at))
				continue
			k = key[s]
			if (cross && (k in when) && at[s] < when[k]) {
				fault("order", "key " k ": " s " at " at[s] \
				    ", " before[k] " at " when[k])
			}
			when[k] = at[s]; before[k] = s
		}
		split("lost twice order wrongly dead foreign late", kinds, " ")
		for (i = 1; i in kinds; i++) {
			printf "%s%s %d", (i > 1 ? ", " : ""), kinds[i],
			    n[kinds[i]]
			bad += n[kinds[i]]
		}
		printf ", taken %d, repeated %d, poison lived %.1f s\n", taken,
		    repeats, longest
		exit bad > 0
	}' "$DIR/rows" "$DIR/stored" "$RDIR/log"
}

check_endpoint() {
	local cross=1 late=20 time=$((BLAME_AFTER + POISON_MARGIN)) out rc
	# What the stream had lost came later than what was behind it, and what
	# is delivered was made older.
	[ "${COUNT[damage]:-0}" -eq 0 ] || cross=0 late=0
	# Nor is that so after the clock has changed, and what was put off when
	# it goes back waits for a minute longer.
	[ "${COUNT[clock_step]:-0}" -eq 0 ] || late=0 time=$((time + 60))
	sql "SELECT e.sequence, e.stream_id, e.event_type,
	    d.global_sequence IS NOT NULL, $REFUSED,
	    COALESCE(UNIX_TIMESTAMP(o.published_at), 0) FROM events AS e
	    LEFT JOIN outbox AS o ON o.global_sequence = e.sequence
	    LEFT JOIN outbox_dead_letters AS d ON d.global_sequence = e.sequence
	    WHERE e.stream_id NOT LIKE 'sched-%'
	    ORDER BY e.sequence" > "$DIR/rows"
	out=$(endpoint_faults "$cross" "$late" "$time")
	rc=$?
	[ "$(wc -l < "$DIR/rows")" -gt 0 ] || rc=1
	ok "$rc" 'endpoint: each event once and in order, only poison is dead'
	sed 's/^/# endpoint: /' <<<"$out"
}
