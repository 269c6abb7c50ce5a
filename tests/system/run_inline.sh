#!/usr/bin/env bash
# outbox.mode: inline: one row has the message and its state
. "${srcdir:-$(dirname "$0")/../..}/tests/lib/lib.sh"
. "$srcdir/tests/lib/inline.sh"

start_servers
write_conf
inline_tables
check 'outboxctl schema print prints tables that a server takes' \
    is_sql 'SELECT COUNT(*) FROM outbox_messages' 0
check 'workers own all partitions' start_fleet

# show N: headers and payload of message N of the stream
show() { "$LAB" show --nats "$URL" --stream EVENTS --seq "$1"; }

# A plain INSERT, without any procedure.
sql "INSERT INTO outbox_messages (message_id, topic, order_key, partition_key,
	headers, payload, content_type)
    VALUES ('m-1', 'order.paid', 'order-17', 'p03', '{\"tenant\": \"t1\"}',
	'{\"order\": 17}', 'application/json')"
drains 10 'a message that was inserted is delivered'
message=$(show 1)
like "$message" '^Nats-Msg-Id: m-1$' 'its Nats-Msg-Id is message_id'
like "$message" "^Outbox-Id: [0-9a-f]{16}-1-[0-9a-f]{16}$" \
    'the id of the daemon is in Outbox-Id'
like "$message" '^Content-Type: application/json$' 'content_type is a header'
like "$message" '^tenant: t1$' 'members of headers are headers'
like "$message" '^Outbox-Type: order.paid$' 'the topic is its type'
like "$message" '^Outbox-Key: order-17$' 'its order_key is its key'

sql "INSERT INTO outbox_messages (topic, order_key, partition_key, payload)
    VALUES ('order.paid', 'order-17', 'p03', 'x')"
drains 10 'a message without message_id is delivered'
like "$(show 2)" '^Nats-Msg-Id: [0-9a-f]{16}-2-[0-9a-f]{16}$' \
    'its Nats-Msg-Id is the id of the daemon'

produce --inline --events 3000 --keys 50 --producers 3 --per-txn 5
produce --inline --events 3000 --keys 50 --key-prefix q --producers-by late
kill -KILL "$(worker_pids "$MASTER" | head -1)"
drains 30 'all are delivered, with a worker killed'
check_stream 'the stream is complete and in order, nothing twice' --inline \
    --wait 10
stops 'the master stops with status 0'
done_testing
