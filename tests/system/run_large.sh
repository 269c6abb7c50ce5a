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
enqueue() { enqueue_keys k "$1" lab.event "REPEAT('#', $2)"; }
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
! is_short || rounds=1
for ((i = 0; i < rounds; i++)); do round; done
is "$(sql "SELECT SUM(LENGTH(event_data) = $LARGE) FROM events")" \
    $((8 * rounds)) "$((8 * rounds)) messages of 16 MiB wait among others"
WORKERS=1 PARTITIONS=4 BATCH_BYTES=$((2 * MIB)) write_conf
start_master
drains 120 'all messages are sent'
"$SANDBOX" kill "$DIR/nats" >/dev/null
"$SANDBOX" restart "$DIR/nats" >/dev/null
within 60 'after a restart of the broker all messages are looked up' \
    has_line "$LOG" 'messages were checked, none is lost'
check 'the worker uses no more memory than the manual says' \
    fits "$(peak "$(worker_pids "$MASTER" | head -1)")" $((10 + 3 + 6 * 16))
check_stream 'the stream is complete and in order, nothing twice' --wait 10
is "$(sql 'SELECT SUM(attempts) FROM outbox')" 0 'no attempt failed'
rows_are 0 outbox_dead_letters 'no message is dead'
stops 'the master stops with status 0'
done_testing
