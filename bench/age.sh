# age.sh - effects that slow a table down: age, a snapshot, blocked keys
#
# Each drain with an effect runs between two plain drains, and the figure is the
# ratio to their mean, so that a machine that gets slower does not matter.

# shellcheck shell=bash disable=SC2034

# --- delivered rows ---------------------------------------------------------

# age_table N: add N rows delivered a month ago, without events
age_table() {
	local have part
	for ((have = 0; have < $1; have += part)); do
		part=$(($1 - have < 500000 ? $1 - have : 500000))
		sql "SET SESSION sql_log_bin = 0;
		    SET @then = NOW() - INTERVAL 30 DAY;
		    INSERT INTO outbox (global_sequence, available_at,
			published_at, ack_sequence, partition_key, created_at)
		    SELECT $have + n + 1, @then, @then, $have + n + 1,
			CONCAT('p', IF(n % $PARTITIONS < 10, '0', ''),
			n % $PARTITIONS), @then
		    FROM $(numbers "$part") ORDER BY n" ||
		    die 'the old rows could not be written'
	done
	sql "ALTER TABLE events AUTO_INCREMENT = $(($1 + 1))"
}

# --- a snapshot -------------------------------------------------------------

snapshot_open() {
	rm -f "$DIR/snapshot"
	mkfifo "$DIR/snapshot"
	"$SANDBOX" sql "$DIR/db" -N --unbuffered app < "$DIR/snapshot" \
	    > "$DIR/snapshot.out" &
	HELPERS=($!)
	exec {snapshot}> "$DIR/snapshot"
	echo 'START TRANSACTION WITH CONSISTENT SNAPSHOT;
	    SELECT COUNT(*) FROM outbox;' >&"$snapshot"
	wait_for 60 test -s "$DIR/snapshot.out" || die 'no snapshot'
}

# Check that the snapshot stayed open: it still sees no rows.
snapshot_close() {
	echo 'SELECT COUNT(*) FROM outbox;' >&"$snapshot"
	exec {snapshot}>&-
	wait "${HELPERS[0]}"
	HELPERS=()
	[ "$(sort -u "$DIR/snapshot.out")" = 0 ] || die 'the snapshot was lost'
}

# --- keys that wait ---------------------------------------------------------

# The head of each key has a subject that no stream takes, with four rows behind
# it.  Other rows are delivered meanwhile: without any delivery the worker would
# pause instead of parking keys.
block_keys() {
	sql "INSERT INTO events (stream_id, stream_sequence, event_type,
		event_data)
	    SELECT CONCAT('blocked-', n % $BLOCKED), n DIV $BLOCKED + 1,
		IF(n < $BLOCKED, 'refused', 'lab.event'), 'x'
	    FROM $(numbers "$OTHERS") ORDER BY n;
	    INSERT INTO outbox (global_sequence, partition_key)
	    SELECT sequence, CONCAT('p', IF(p < 10, '0', ''), p) FROM (
		SELECT sequence, CRC32(stream_id) % $PARTITIONS AS p
		FROM events) AS labels ORDER BY sequence" ||
	    die 'the blocked keys could not be written'
	fill "$BEFORE" 200 1000 --key-prefix before-
	wait_stored "$BEFORE"
	wait_for 120 all_refused || die 'not all of the heads were refused'
	pause "$((BLOCKED > 1000 ? 5 : 1))"	# the rows behind are parked
}
all_refused() {
	is_sql "SELECT COUNT(*) FROM outbox WHERE published_at IS NULL
	    AND last_error IS NOT NULL" "$BLOCKED"
}

release_keys() {
	"$LAB" stream --nats "$URL" --name EVENTS --subjects 'events.>' \
	    --dup-window 600
}

# --- one after the other ----------------------------------------------------

plain() {
	describe age effect=none "rows=$ROWS" "run=$((++plain_run))"
	drain "$ROWS" "$FLEETSIZE" 200 2000 1000
}

# against NAME=VALUE...: a drain with the prepared effect, then one without
against() {
	local before=$RATE with this
	describe age "$@" "rows=$ROWS" run=1
	this=$PARAMS
	drain "$ROWS" "$FLEETSIZE" 200 2000 1000
	with=$RATE PREPARE=: RELEASE=: BEFORE=0 OTHERS=0
	plain
	PARAMS=$this
	figure of_plain "$(calc "2 * $with / ($before + $RATE)" 3)" ratio
}

section_age() {
	local n plain_run=0
	plain
	PREPARE=snapshot_open RELEASE=snapshot_close
	against effect=snapshot
	if [ "$BLOCKED" -gt 0 ]; then
		new_stream 'events.lab.>'
		PREPARE=block_keys RELEASE=release_keys
		BEFORE=2000 OTHERS=$((BLOCKED * 5))
		against effect=blocked "blocked=$BLOCKED"
	fi
	for n in $AGES; do
		age_table "$n"
		wait_until_quiet
		against effect=aged "delivered=$n"
	done
}
