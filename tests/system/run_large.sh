#!/usr/bin/env bash
# Messages of 16 MiB among small ones of the same keys: all arrive, in order,
# and no worker ever holds more of them than it may
. "${srcdir:-$(dirname "$0")/../..}/tests/lib/lib.sh"

MIB=$((1024 * 1024))
LARGE=$((16 * MIB))
NATS_LINES=("max_payload: $((LARGE + MIB))")
case $KIND in
mariadb) binlog=skip_log_bin=1 ;;
*) binlog=disable_log_bin=1 ;;
esac
start_servers "max_allowed_packet=$((4 * LARGE))" "$binlog" \
    innodb_flush_log_at_trx_commit=0

# enqueue KEYS BYTES: one event of each key k1 to kKEYS
enqueue() {
	local i
	for ((i = 1; i <= $1; i++)); do
		echo "START TRANSACTION; CALL outbox_enqueue('k$i', NULL,
		    'lab.event', 1, NULL, NULL, REPEAT('${i: -1}', $2)); COMMIT;"
	done | "$SANDBOX" sql "$DIR/db" app
}
round() {
	enqueue 60 200
	enqueue 8 "$LARGE"
	enqueue 30 20000
	enqueue 4 "$MIB"
}

# peak PID: the most memory that it ever had, in MiB
peak() { awk '/^VmHWM/ { print int($2 / 1024) }' "/proc/$1/status"; }
fits() {
	local most=$2
	say "peak: $1 MiB, allowed: $most MiB"
	[ "$1" -le "$most" ]
}

sql 'UPDATE outbox_settings SET partition_count = 4'
rounds=5
! is_short || rounds=2
for ((i = 0; i < rounds; i++)); do round; done
is "$(sql "SELECT SUM(LENGTH(event_data) = $LARGE) FROM events")" \
    $((8 * rounds)) "$((8 * rounds)) of 16 MiB wait among others"
WORKERS=1 PARTITIONS=4 BATCH_BYTES=$((2 * MIB)) write_conf
start_master
drains 120 'everything is delivered'
"$SANDBOX" kill "$DIR/nats" >/dev/null
"$SANDBOX" restart "$DIR/nats" >/dev/null
wait_for 60 has_line "$LOG" 'messages were checked, none is lost'
ok $? 'a server that was started anew is asked for all of them'
fits "$(peak "$(worker_pids "$MASTER" | head -1)")" $((10 + 3 + 6 * 16))
ok $? 'in no more memory than the manual says'
check_stream 'complete, in order per key, nothing twice' --wait 10
is "$(sql 'SELECT SUM(attempts) FROM outbox')" 0 'no attempt failed'
is "$(sql 'SELECT COUNT(*) FROM outbox_dead_letters')" 0 'nothing is dead'
stops 'stops'
done_testing
