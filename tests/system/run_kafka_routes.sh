#!/usr/bin/env bash
# One outbox, two brokers: the messages of a key go to NATS and to Kafka in turn,
# and keep their order while either of them is away
. "${srcdir:-$(dirname "$0")/../..}/tests/lib/lib.sh"
. "$srcdir/tests/lib/kafka.sh"

is_short && skip_all 'a long test'
need_kafka
start_servers
start_kafka
# By the time at which the broker has stored a message, as in the stream.
topic events 4 message.timestamp.type=LogAppendTime
export WORKERS=2 TIMEOUT_MS=2000 CLAIM_TTL=10 IDLE=100 MAX_BACKOFF=2
write_conf
sed -i '/^publish:/d' "$CONF"
cat >> "$CONF" <<END
kafka: {brokers: ["$BROKER"], topic: events}
publish:
  timeout_ms: $TIMEOUT_MS
  routes: [{name: kafka, type: kafka.*, driver: kafka}]
END

KEYS=40
ROUND=0
# round: an event of each key, to the other destination than its last one
round() {
	ROUND=$((ROUND + 1))
	sql "START TRANSACTION;
	INSERT INTO events (stream_id, stream_sequence, event_type, event_data)
	    SELECT CONCAT('key', n), $ROUND,
	    IF((n + $ROUND) % 2, 'kafka.paid', 'order.paid'), '{}'
	    FROM $(numbers $KEYS);
	INSERT INTO outbox (global_sequence, partition_key)
	    SELECT sequence, CONCAT('p', LPAD(CRC32(stream_id) % 16, 2, '0'))
	    FROM events WHERE stream_sequence = $ROUND AND stream_id LIKE 'key%';
	COMMIT"
}
# load SECONDS
load() {
	local until=$((SECONDS + $1))
	while [ "$SECONDS" -lt "$until" ]; do
		round
		nap 0.1
	done
}
waits() { sql "SELECT COUNT(*) FROM outbox JOIN events
    ON sequence = global_sequence WHERE published_at IS NULL
    AND stream_id LIKE '$1' AND event_type = '$2'"; }
is_through() { [ "$(waits "$@")" = 0 ]; }
is_told() { "$OUTBOXCTL" -c "$CONF" status | grep -q "$1"; }
pid_of() { cut -d' ' -f1 "$DIR/$1/process"; }
# stored: of each message in either its number, destination and time (ms)
stored() {
	"$LAB" list --nats "$URL" --stream EVENTS |
	    awk '{ printf "%d order.paid %.0f\n", $2, int($3 / 1000000) }'
	"$LAB" list --kafka "$ADMIN" --topic events |
	    awk '{ printf "%d kafka.paid %.0f\n", $3, int($4 / 1000000) }'
}
# compare NAME: what both have with the events
compare() {
	stored | sort -n > "$DIR/stored"
	cut -d' ' -f1,2 "$DIR/stored" > "$DIR/have"
	sql 'SELECT sequence, event_type FROM events ORDER BY sequence' |
	    tr '\t' ' ' > "$DIR/want"
	is "$(diff "$DIR/want" "$DIR/have" | head -n 5)" '' \
	    "$1: each event once, where it belongs"
	sql 'SELECT sequence, stream_id FROM events' | tr '\t' ' ' |
	    awk 'NR == FNR { key[$1] = $2; next }
	    $3 < last[key[$1]] { print key[$1], $0, "before", last[key[$1]] }
	    { last[key[$1]] = $3 }' - "$DIR/stored" > "$DIR/overtaken"
	is "$(head -n 5 "$DIR/overtaken")" '' "$1: in order per key across both"
}

start_fleet
load 2
drains 20 'all is delivered'
compare 'both work'

# --- Kafka is away: a key whose next message is for it waits, others do not ----

"$SANDBOX" stop "$DIR/kafka" > /dev/null
sql "$(event_row w 1 "'p00'" 'NOW(6)' kafka.paid)
    $(event_row w 2 "'p00'" 'NOW(6)' order.paid)
    $(event_row v 1 "'p00'" 'NOW(6)' order.paid)"
within 15 'stopped: a key without messages for Kafka does not wait' \
    is_through v order.paid
load 5
within 10 'stopped: status names the route' \
    is_told 'route kafka'
is "$(waits w order.paid) $(waits w kafka.paid)" '1 1' \
    'stopped: the later message of a key waits, although it is for NATS'
"$SANDBOX" restart "$DIR/kafka" > /dev/null
drains 60 'stopped: all is delivered when it is back'
compare stopped

# fault NAME COMMAND... : under load, and the server is back after it
fault() {
	load 12 &
	local loader=$!
	MASTERS+=("$loader")
	nap 1
	"${@:2}"
	wait "$loader"
	ROUND=$(sql "SELECT MAX(stream_sequence) FROM events")
	drains 90 "$1: all is delivered"
	compare "$1"
}
killed() {
	"$SANDBOX" kill "$DIR/$1" > /dev/null
	nap 3
	"$SANDBOX" restart "$DIR/$1" > /dev/null
}
frozen() {
	kill -STOP "$(pid_of "$1")"
	nap 5
	kill -CONT "$(pid_of "$1")"
}
fault 'Kafka killed' killed kafka
fault 'Kafka stands still' frozen kafka
fault 'NATS killed' killed nats
fault 'NATS stands still' frozen nats
workers_killed() {
	local i
	for i in {1..5}; do
		nap 1
		worker_pids "$MASTER" | xargs kill -KILL
	done
}
fault 'workers killed' workers_killed

is "$(sql 'SELECT COALESCE(MAX(attempts), 0) FROM outbox')" 0 'no attempt is used'
rows_are 0 outbox_dead_letters 'no dead letter'
check 'neither destination misses what the other has' \
    not has_line "$LOG" '(lost|lacks) [0-9]* acknowledged'
stops 'the daemon stops'
done_testing
