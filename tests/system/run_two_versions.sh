#!/usr/bin/env bash
# An upgrade from the version before: it leaves rows in every state, then both
# work side by side while their workers are killed, also while the tables are
# upgraded.  Nothing is lost, twice or out of order.
#
# OUTBOX_BEFORE is a tree of that version with its build in _build/main; else
# it is built from git.
# shellcheck disable=SC2034
. "${srcdir:-$(dirname "$0")/../..}/tests/lib/lib.sh"

is_short && skip_all 'a long test'
VERSION=f6fd605			# the last one with schema version 1
BEFORE=${OUTBOX_BEFORE:-$DIR/before}

die() { echo "Bail out! $*"; exit 1; }
build_before() {
	git -C "$srcdir" archive --output "$DIR/before.tar" "$VERSION" \
	    2> "$DIR/git" || skip_all "no git with commit $VERSION"
	mkdir "$BEFORE"
	tar -xf "$DIR/before.tar" -C "$BEFORE"
	local top=$BEFORE cc
	CCACHE_DIR=${CCACHE_DIR:-$(cd "$srcdir" && pwd)/_build/ccache}
	. "$srcdir/tools/build.sh"
	use_ccache
	build_in "$BEFORE/_build/main" "${cc[@]}" CFLAGS=-O1 -- \
	    outbox-master outboxctl
}
[ -n "${OUTBOX_BEFORE:-}" ] || build_before

# old COMMAND...: with the programs and files of the version before
old() {
	local srcdir=$BEFORE OUTBOX_MASTER=$BEFORE/_build/main/outbox-master \
	    OUTBOXCTL=$BEFORE/_build/main/outboxctl CONF=$DIR/old.yml \
	    LOG=$DIR/old.log
	"$@"
}
old_master() {
	old start_master
	OLD=$MASTER
}
as_admin() {
	sed 's/user: outbox,/user: admin,/' "$CONF" > "$DIR/admin.yml"
	"$OUTBOXCTL" -c "$DIR/admin.yml" "$@" > "$DIR/said" 2>&1 && return
	sed 's/^/# /' "$DIR/said"
	return 1
}

freeze() { kill -STOP "$NATS_PID"; }
thaw() { kill -CONT "$NATS_PID"; }

# kill_one MASTER: one of its workers
kill_one() {
	local pids
	mapfile -t pids < <(worker_pids "$1")
	[ "${#pids[@]}" -eq 0 ] || kill -KILL "${pids[RANDOM % ${#pids[@]}]}"
}

# put KEY COUNT SECONDS: messages of a key, the first of them due so much later;
# inline that one alone
put() {
	local label="CONCAT('p', LPAD(CRC32('$1') % 16, 2, '0'))"
	local due="NOW(6) + INTERVAL $3 SECOND"
	if [ "$TABLES" = inline ]; then
		sql "INSERT INTO outbox_messages (message_id, topic, order_key,
		    partition_key, payload, scheduled_at)
		    VALUES ('$1.1', 'ok', '$1', $label, 'x', $due)"
	else
		sql "START TRANSACTION;
		INSERT INTO events (stream_id, stream_sequence, event_type,
		    event_data) SELECT '$1', n, 'ok', 'x'
		    FROM $(numbers "$2" 1) ORDER BY n;
		INSERT INTO outbox (global_sequence, partition_key,
		    available_at) SELECT sequence, $label,
		    IF(stream_sequence = 1, $due, NOW(6)) FROM events
		    WHERE stream_id = '$1';
		COMMIT"
	fi
}

rows() { sql "SELECT COUNT(*) FROM outbox WHERE published_at IS NULL AND $1"; }
has_rows() { [ "$(rows "$1")" -ge "$2" ]; }

# owns MASTER: so many partitions are its workers'
owns() {
	sql "SELECT COUNT(*) FROM outbox_partitions JOIN outbox_workers
	    ON id = lease_owner WHERE lease_until > NOW(6)
	    AND pid IN ($(worker_pids "$1" | sed 's/$/,/') 0)"
}
both_work() { [ "$(owns "$OLD")" -gt 0 ] && [ "$(owns "$NEW")" -gt 0 ]; }
owned_by_new() {
	is_sql 'SELECT COUNT(*) FROM outbox_partitions' "$(owns "$NEW")"
}

load() { produce_forever --keys 50 --payload 200 --rate 50 "${SHAPE[@]}"; }
unload() {
	kill -TERM "$PRODUCER"
	wait "$PRODUCER"
}

# kill_old: all of the version before, with messages on their way
kill_old() {
	local workers
	old_master
	wait_for 20 all_owned
	freeze
	produce --events 90 --keys 90 --bulk "${SHAPE[@]}"
	wait_for 2 has_rows 'claim_token IS NOT NULL' 30
	pause 500
	mapfile -t workers < <(worker_pids "$OLD")
	disown "$OLD"
	kill -KILL "$OLD" "${workers[@]}"
	thaw
	pause 3000		# the stream has them, and knows no id any more
	has_rows 'claim_token IS NOT NULL' 9
}

# leave_rows "STATE|CONDITION"...: what the version before leaves, rows in these
# states among it
leave_rows() {
	local i
	window 2
	old_master
	wait_for 20 all_owned
	for i in 1 2 3; do put "later$i" 1 90; done
	[ "$TABLES" = inline ] || {
		put late 400 7200
		call_enqueue "'dead', NULL, 'no subject', 1, NULL, NULL, 'x'"
		within 10 'one is dead' is_sql \
		    'SELECT COUNT(*) FROM outbox_dead_letters' 1
	}
	wait_for 20 has_rows "${1#*|}" 1
	stop_master "$OLD"
	for i in 1 2 3 4 5; do kill_old && break; done
	# Some were found by another worker that was killed then.
	sql "UPDATE outbox SET claim_token = NULL,
	    in_doubt_since = available_at - INTERVAL 6 SECOND,
	    available_at = NOW(6) - INTERVAL 9 SECOND
	    WHERE claim_token IS NOT NULL AND global_sequence % 3 = 0"
	load
	for i in 'claimed|claim_token IS NOT NULL' \
	    'in doubt|in_doubt_since IS NOT NULL' "$@" \
	    'waiting|claim_token IS NULL AND available_at <= NOW(6)'; do
		check "$TABLES: rows that are ${i%%|*}: $(rows "${i#*|}")" \
		    has_rows "${i#*|}" 1
	done
}

# upgrade: beside the version before, then without it
upgrade() {
	local i left
	left=$(sql 'SELECT MAX(global_sequence) FROM outbox')
	start_master
	NEW=$MASTER
	within 60 "$TABLES: what may be in the stream is settled" \
	    is_sql "SELECT COUNT(*) FROM outbox WHERE published_at IS NULL AND
	    (claim_token IS NOT NULL OR in_doubt_since IS NOT NULL) AND
	    global_sequence <= $left" 0
	window 60	# the version before sends while its claims commit
	old_master
	within 20 "$TABLES: both versions have partitions" both_work
	for i in 1 2 3 4; do
		pause 1500
		kill_one "$OLD"
		pause 1500
		kill_one "$NEW"
	done
	freeze
	pause 3000
	thaw
	wait_for 20 both_work
	check "$TABLES: the tables are upgraded" as_admin schema upgrade --yes
	[ "$TABLES" = inline ] || sql 'UPDATE outbox SET available_at = NOW(6)
	    WHERE available_at > NOW(6) + INTERVAL 1 HOUR;
	    UPDATE outbox_partitions SET lease_epoch = lease_epoch + 1'
	is "$(sql 'SELECT schema_version FROM outbox_settings')" 2 \
	    "$TABLES: to the next version"
	pause 1500
	for i in $(worker_pids "$OLD"); do kill -KILL "$i"; done
	within 15 "$TABLES: this version has all partitions" owned_by_new
	within 15 "$TABLES: the one before says why it does not work" \
	    has_line "$DIR/old.log" 'schema version 2 is newer than 1'
	stop_master "$OLD"
	is $? 0 "$TABLES: it stops"
	kill_one "$NEW"
	pause 1500
	unload
	drains 120 "$TABLES: all is delivered"
	check_stream "$TABLES: nothing is lost, twice or out of order" \
	    --wait 10 --expect-dead "$1"
	within 10 "$TABLES: no key is blocked" \
	    is_sql 'SELECT COUNT(*) FROM outbox_blocked_keys' 0
	stop_master "$NEW"
}

old start_servers sync_binlog=1 innodb_flush_log_at_trx_commit=1
NATS_PID=$(cat "$(. "$DIR/nats/env" && echo "$PIDFILE")")
trap 'thaw; cleanup' EXIT
sql "GRANT REPLICATION SLAVE, REPLICATION CLIENT ON *.* TO 'outbox'@'localhost';
    CREATE USER 'admin'@'localhost' IDENTIFIED BY '$OUTBOX_PW';
    GRANT ALL ON *.* TO 'admin'@'localhost' WITH GRANT OPTION"
write_confs() {
	WORKERS=2 BATCH=60 LEASE_TTL=3 LEASE_RENEW=1 HEARTBEAT_TTL=3 \
	    CLAIM_TTL=6 TIMEOUT_MS=2000 WAKE='binlog: true' write_conf
	sed 's|run/outbox.pid|run/old.pid|' "$CONF" > "$DIR/old.yml"
	: > "$DIR/old.log"
}

TABLES=own SHAPE=()
write_confs
leave_rows "parked|partition_key LIKE '!%'"
upgrade 1

# The same with one table, where messages have a time.
. "$srcdir/tests/lib/inline.sh"
TABLES=inline SHAPE=(--shape inline)
js_api STREAM.DELETE.EVENTS '' > "$DIR/js.out"
write_confs
old inline_tables
inline_views
sql "CREATE OR REPLACE VIEW outbox AS SELECT id AS global_sequence,
    partition_key, attempts, available_at, published_at, claim_token,
    last_error, in_doubt_since FROM outbox_messages"
leave_rows "scheduled|partition_key LIKE '!@%'"
upgrade 0
rows_are 0 'outbox_messages WHERE published_at < scheduled_at' \
    'no message is sent before its time'
done_testing
