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

produce --shape inline --events 3000 --keys 50 --producers 3 --per-txn 5
produce --shape inline --events 3000 --keys 50 --key-prefix q --producers-by late
kill -KILL "$(worker_pids "$MASTER" | head -1)"
drains 30 'all are delivered, with a worker killed'
check_stream 'the stream is complete and in order, nothing twice' --shape inline \
    --wait 10

# The broker loses acknowledged messages: they are found by Outbox-Id.
STORE=$DIR/nats/js
before=$(sql "SELECT servers FROM outbox_streams WHERE name = 'EVENTS'")
cp -a "$STORE" "$DIR/saved"
produce --shape inline --events 500 --keys 50 --key-prefix lost
drains 20 'more are delivered'
"$SANDBOX" kill "$DIR/nats" > /dev/null
rm -rf "$STORE" && mv "$DIR/saved" "$STORE"
"$SANDBOX" restart "$DIR/nats" > /dev/null
was_checked() { not is_sql "SELECT servers FROM outbox_streams
    WHERE name = 'EVENTS'" "$before"; }
wait_for 20 was_checked
within 10 'what the broker lost is found' \
    has_line "$LOG" 'warn .*lost 500 acknowledged messages'
drains 20 'and sent again'
check_stream 'the stream is complete and in order again' --shape inline --wait 10

# A column that each write to its row changes is no part of the id.  What was
# sent before the daemon left it out is found by the id of before.
own_ids() { # COUNT: messages without an id of their author
	sql "INSERT INTO outbox_messages (topic, order_key, partition_key,
	    payload) SELECT 'own', CONCAT('o', n % 20), 'p07', n
	    FROM $(numbers "$1")"
}
# As after a crash: they were sent, and nothing says so.
forget_acks() {
	sql "UPDATE outbox_messages SET published_at = NULL,
	    ack_sequence = NULL, message_hash = NULL, in_doubt_since = NOW(6),
	    available_at = NOW(6) WHERE topic = 'own' ORDER BY id DESC LIMIT $1;
	UPDATE outbox_partitions SET lease_epoch = lease_epoch + 1"
}
in_stream() {
	"$LAB" count --socket "$SOCKET" --user root --database app \
	    --nats "$URL" --stream EVENTS --shape inline |
	    sed -n 's/.*messages \([0-9]*\).*/\1/p'
}
MOMENT='TIMESTAMP(6) NOT NULL DEFAULT CURRENT_TIMESTAMP(6)'
own_ids 100
drains 10 'messages with ids of the daemon are sent'
stop_master "$MASTER"
sql "ALTER TABLE outbox_messages MODIFY created_at $MOMENT
    ON UPDATE CURRENT_TIMESTAMP(6)"
start_fleet
stored=$(in_stream)
check "the stream has messages ($stored)" [ "$stored" -gt 100 ]
forget_acks 100
drains 10 'in doubt, with ids of before: all are delivered'
is "$(in_stream)" "$stored" 'and none is in the stream twice'
own_ids 100
drains 10 'others are sent with ids that leave the time out'
stored=$(in_stream)
forget_acks 100
drains 10 'in doubt, and with another time: all are delivered'
is "$(in_stream)" "$stored" 'and none is in the stream twice'
has_warned() { has_line "$LOG" 'warn .*column created_at has ON UPDATE '; }
check 'the log says that ids leave it out' has_warned
like "$(inline_ctl schema check)" 'fail: outbox_messages: created_at has ON UPDATE CURRENT_TIMESTAMP.*remedy: ALTER TABLE `outbox_messages` MODIFY `created_at` TIMESTAMP.6. NOT NULL DEFAULT CURRENT_TIMESTAMP.6.$' \
    'schema check refuses it, and names the ALTER'
like "$(inline_ctl doctor)" 'created_at has ON UPDATE.*ids leave it out' \
    'doctor, too'
sql "$(inline_ctl --json schema check |
    jq -r '.[] | select(.what | contains("ON UPDATE")) | .remedy')"
is "$(inline_ctl schema check | grep 'ON UPDATE')" '' \
    'a server takes the ALTER, and then it is fine'

# Scheduled: the later message of the key passes the one with a time.
insert() {	# KEY PAYLOAD [SCHEDULED_AT, as SQL]
	sql "INSERT INTO outbox_messages (message_id, topic, order_key,
	    partition_key, payload, scheduled_at)
	    VALUES ('$1-$2', 'at', '$1', 'p05', '$2', ${3:-NULL})"
}
is_sent() { is_sql "SELECT published_at IS NOT NULL FROM outbox_messages
    WHERE message_id = '$1'" 1; }
insert pass 1 'NOW(6) + INTERVAL 4 SECOND'
insert pass 2
within 3 'a later message passes one that is scheduled' is_sent pass-2
check 'the scheduled one waits' not is_sent pass-1
within 10 'it is sent when its time has come' is_sent pass-1
is "$(sql "SELECT published_at >= scheduled_at AND
    published_at < scheduled_at + INTERVAL 3 SECOND AND partition_key = 'p05'
    AND attempts = 0 FROM outbox_messages WHERE message_id = 'pass-1'")" 1 \
    'not before it and not much later, under its own label'

# Many of them at the head of a partition.
sql "INSERT INTO outbox_messages (topic, order_key, partition_key, payload,
	scheduled_at)
    SELECT 'later', CONCAT('s', n % 100), 'p05', n, NOW(6) + INTERVAL 1 DAY +
	INTERVAL n SECOND FROM $(numbers "${SCHEDULED:-20000}")"
insert behind 1
within 30 'a message behind thousands of scheduled ones is sent' \
    is_sent behind-1
moved() { is_sql "SELECT COUNT(*) FROM outbox_messages WHERE published_at
    IS NULL AND partition_key = 'p05'" 0; }
within 20 'all of them are moved out of the way' moved
# A tick that reads them claims them in vain, by an UPDATE; leases are renewed
# every five seconds.
before=$(server_status Com_update)
pause 3000
claims=$(($(server_status Com_update) - before))
check "then no tick reads them again: $claims UPDATEs in 3 s" \
    [ "$claims" -lt 15 ]
is "$(sql "SELECT COUNT(*) FROM outbox_messages WHERE topic = 'later' AND
    partition_key LIKE '!@%p05'")" "${SCHEDULED:-20000}" \
    'each has the label of its time'
sql "UPDATE outbox_messages SET scheduled_at = NULL WHERE topic = 'later';
    DELETE FROM outbox_messages WHERE topic = 'later'"

# The binlog listener finds the label in the column of this table.
stops 'the master stops with status 0'
sql "GRANT REPLICATION SLAVE, REPLICATION CLIENT ON *.* TO
    'outbox'@'localhost'"
WAKE='binlog: true' IDLE=20000 write_conf
start_fleet
wait_for 20 has_listener
sql 'DO SLEEP(2)'	# the workers have no work, and pause
insert wake 1
within 2 'a worker is woken by the binlog' is_sent wake-1
stops 'the master stops with status 0'

# hold: the key waits.
export OUTBOX='mode: inline, scheduled: hold'
write_conf
start_fleet
insert hold 1 'NOW(6) + INTERVAL 4 SECOND'
insert hold 2
insert other 1
within 3 'other keys go on' is_sent other-1
check 'scheduled: hold: a later message of the key waits' not is_sent hold-2
within 10 'then the scheduled one is sent' is_sent hold-1
within 10 'and the one behind it' is_sent hold-2
is "$(sql "SELECT GROUP_CONCAT(message_id ORDER BY ack_sequence)
    FROM outbox_messages WHERE order_key = 'hold'")" hold-1,hold-2 \
    'in their order'
stops 'the master stops with status 0'

# Rows in another character set: a letter has the bytes that are sent.
sql "ALTER TABLE outbox_messages
    MODIFY payload TEXT CHARACTER SET latin1 NOT NULL, MODIFY headers TEXT;
INSERT INTO outbox_messages (message_id, topic, order_key, partition_key,
	headers, payload)
    VALUES ('latin', 't', 'latin', 'p03', 'no JSON',
	CONVERT(X'C3A9' USING utf8mb4))"
start_fleet
letter() { is_sql "SELECT HEX(payload) FROM outbox_dead_letters
    WHERE message_id = 'latin'" C3A9; }
within 10 'a dead letter has the payload in UTF-8' letter
sql 'UPDATE outbox_dead_letters SET headers = NULL'
check 'such a letter can be put back' inline_ctl dead retry --all --yes
within 10 'and is sent' is_sent latin
is "$(sql "SELECT HEX(payload) FROM outbox_messages
    WHERE message_id = 'latin'")" E9 'the row is as it was'

# Another program's message has the message_id of a row, or another outbox's.
theirs() { "$LAB" publish --nats "$URL" --subject events.other --data theirs \
    --id "$@" | sed 's/.*seq=\([0-9]*\).*/\1/'; }
message_of() { show "$(sql "SELECT ack_sequence FROM outbox_messages
    WHERE message_id = '$1'")"; }
last() { "$LAB" show --nats "$URL" --stream EVENTS --last; }
theirs dup-1 > /dev/null
theirs dup-2 --header Outbox-Id=fedcba9876543210-1-0123456789abcdef > /dev/null
gone=$(theirs dup-3)
"$LAB" delete-msg --nats "$URL" --stream EVENTS --seq "$gone" > /dev/null
insert dup 1
insert dup 2
within 10 'rows whose message_id another program has used count as sent' \
    is_sent dup-2
like "$(message_of dup-1)" '^Nats-Msg-Id: [0-9a-f]{16}-[0-9]+-[0-9a-f]{16}$' \
    "another program's message: the row goes under the daemon's id"
like "$(message_of dup-1)" '^Outbox-Message-Id: dup-1$' \
    'message_id goes along'
like "$(message_of dup-2)" '^Outbox-Message-Id: dup-2$' \
    "so does one that another outbox has used"
within 5 'the log says whose id it was' \
    has_line "$LOG" 'warn .*dup-[12]: .*has that id in the stream.*own is in'
insert dup 3
within 10 'a duplicate that nobody can read counts as sent' is_sent dup-3
within 5 'the log says that it was not read' \
    has_line "$LOG" 'warn .*dup-3: .*cannot be read'

# The author's own: the same message again is one, another one is not lost.
again() { sql "DELETE FROM outbox_messages WHERE message_id = '$1';
    INSERT INTO outbox_messages (message_id, topic, order_key, partition_key,
	payload) VALUES ('$1', 'at', 'dup', 'p05', '$2')"; }
insert dup 4
within 10 'a message is sent' is_sent dup-4
before=$(last)
again dup-4 4
within 10 'its row, made again, counts as sent' is_sent dup-4
is "$(last)" "$before" 'and is the message that is there'
again dup-4 other
within 10 'a row with another message under this id is sent' is_sent dup-4
like "$(message_of dup-4)" '^Outbox-Message-Id: dup-4$' \
    "as its own message, under the daemon's id"
stops 'the master stops with status 0'
done_testing
