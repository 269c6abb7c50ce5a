#!/usr/bin/env bash
# Metadata of 4 MiB that takes eighty times as much when it is parsed: its
# message is a dead letter, the worker stays small, later messages go on
. "${srcdir:-$(dirname "$0")/../..}/tests/lib/lib.sh"

MIB=$((1024 * 1024))
start_servers "max_allowed_packet=$((64 * MIB))"

# enqueue BYTES: an event of the key k with metadata of about that length
enqueue() {
	sql "START TRANSACTION; CALL outbox_enqueue('k', NULL, 'lab.event',
	    NULL, NULL, CONCAT('{\"a\":[', REPEAT('{},', $1 DIV 3), '{}]}'),
	    '{}'); COMMIT"
}
peak() { awk '/^VmHWM/ { print int($2 / 1024) }' "/proc/$1/status"; }
fits() {
	say "peak: $1 MiB, allowed: $2 MiB"
	[ "$1" -le "$2" ]
}
letters() {
	sql "SELECT GROUP_CONCAT(CONCAT_WS(' ', reason, last_error)
	    ORDER BY global_sequence SEPARATOR '|') FROM outbox_dead_letters"
}

# One with its row if the memory allows, one that is too long for that as well.
sql 'UPDATE outbox_settings SET partition_count = 1'
enqueue 1000
enqueue $((4 * MIB))
enqueue $((40 * MIB))
enqueue 1000
WORKERS=1 PARTITIONS=1 write_conf
start_master
drains 30 'the other messages are sent'
is "$(stored)" 2 'there are two of them'
like "$(letters)" '^message metadata of 41943.. bytes is longer than 1048576\|message metadata of 419430.. bytes is longer than 1048576$' \
    'two dead letters give the reason'
check 'the worker did not parse it' \
    fits "$(peak "$(worker_pids "$MASTER" | head -1)")" 60
like "$("$OUTBOXCTL" -c "$CONF" messages show --payload 2 2>&1)" \
    'cannot be sent as it is: metadata of 41943.. bytes' \
    'outboxctl messages show says so'
stops 'the master stops with status 0'

# A smaller max_payload is the limit, too.
"$SANDBOX" kill "$DIR/nats" >/dev/null
echo 'max_payload: 65536' >> "$DIR/nats/nats.conf"
"$SANDBOX" restart "$DIR/nats" >/dev/null
enqueue 100000
enqueue 1000
RETRY='blame_after: 2s' WORKERS=1 PARTITIONS=1 write_conf
start_master
wait_for 10 is_sql "SELECT COUNT(*) FROM outbox WHERE published_at IS NULL
    AND last_error LIKE '%this server''s max_payload of 65536%'" 1
ok $? 'at first it waits: the limit may have been larger before'
is "$(letters | tr '|' '\n' | wc -l)" 2 'it is no dead letter yet'
drains 30 'the message after it is sent'
like "$(letters)" "message 1000.. bytes are more than the server's max_payload of 65536\$" \
    'metadata that is longer than max_payload is a dead letter'
stops 'the master stops with status 0'
done_testing
