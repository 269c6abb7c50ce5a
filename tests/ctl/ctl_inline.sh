#!/usr/bin/env bash
# outboxctl with outbox.mode: inline: tables, messages, dead letters, doctor
. "${srcdir:-$(dirname "$0")/../..}/tests/lib/ctl.sh"
. "$srcdir/tests/lib/inline.sh"

start_servers
PARTITIONS=4 MAX_ATTEMPTS=2 write_conf
sed 's/user: outbox,/user: boss,/' "$CONF" > "$DIR/root.yml"
sql "CREATE USER 'boss'@'localhost' IDENTIFIED BY '$OUTBOX_PW';
    GRANT ALL ON *.* TO 'boss'@'localhost'"
drop_tables
DAEMON=$CONF CONF=$DIR/root.yml

#
# schema
#
prints "Created outbox_messages, outbox_partitions, outbox_workers, outbox_settings, outbox_dead_letters, outbox_blocked_keys, outbox_streams, outbox_audit." \
    'schema install creates the tables of the mode' schema install
prints '' 'schema check finds nothing' schema check
exits 0 'schema install again' schema install
inline_grants | "$SANDBOX" sql "$DIR/db" app
CONF=$DAEMON
prints '' 'nor with the rights of the daemon' schema check
sql 'CREATE TABLE outbox_registry (name VARCHAR(64) PRIMARY KEY,
    source VARCHAR(64) NOT NULL)'
prints '' 'nor in a registry, which outboxes of the other mode have' schema check
sql 'DROP TABLE outbox_registry'
sql "REVOKE DELETE ON outbox_messages FROM 'outbox'@'localhost'"
matches 'fail: outbox_messages: .* may not DELETE.*remedy: GRANT DELETE ON .app...outbox_messages. TO' \
    'schema check finds a right that is missing' schema check
sql "GRANT DELETE ON outbox_messages TO 'outbox'@'localhost'"
CONF=$DIR/root.yml
while IFS='|' read -r what broken; do
	sql "$broken"
	matches "$what" "schema check after $broken" schema check
	exits 0 'schema upgrade mends it' schema upgrade --yes
	prints '' 'then it finds nothing' schema check
done <<'EOF'
warn: outbox_messages: no column headers: messages have no headers of their own|ALTER TABLE outbox_messages DROP COLUMN headers
warn: outbox_messages: no column scheduled_at: no message can be scheduled|ALTER TABLE outbox_messages DROP COLUMN scheduled_at
fail: outbox_dead_letters: no column payload: the daemon cannot run|ALTER TABLE outbox_dead_letters DROP COLUMN payload
fail: outbox_messages: no column claim_token: the daemon cannot run: several workers would send the same message|ALTER TABLE outbox_messages DROP COLUMN claim_token
warn: outbox_messages: no index .published_at, partition_key, id.: every claim sorts the backlog|ALTER TABLE outbox_messages DROP KEY outbox_messages_claim
EOF
is "$("$OUTBOXCTL" -c "$CONF" schema print --grants | grep -c events)" 0 \
    'schema print --grants names no table of events'

# The trigger completes what an INSERT leaves out.
exits 0 'schema install --trigger' schema install --trigger
sql 'UPDATE outbox_settings SET partition_count = 4'
sql "INSERT INTO outbox_messages (topic, order_key, payload)
    VALUES ('t', 'order-17', 'x')"
is "$(sql "SELECT partition_key = CONCAT('p0', CRC32('order-17') MOD 4) AND
    CHAR_LENGTH(message_id) = 36 FROM outbox_messages")" 1 \
    'the trigger fills label and message_id'
prints '' 'schema check knows the trigger' schema check --trigger
sql 'DROP TRIGGER outbox_messages_before; DELETE FROM outbox_messages'

#
# enqueue
#
cat > "$DIR/lines" <<'EOF'
{"key": "k1", "type": "a.made", "payload": {"n": 1}, "metadata": {"tenant": "t1"}, "message_id": "m1", "content_type": "application/json"}
{"key": "k1", "type": "a.made", "payload": "two"}
{"type": "a.made", "payload_base64": "AAEC"}
EOF
ctl enqueue "$DIR/lines"
is "$RC $OUT" '0 Enqueued 3 events.' 'enqueue' || say "$ERR"
is "$(sql "SELECT GROUP_CONCAT(CONCAT_WS('/', COALESCE(order_key, '-'), topic,
	CHAR_LENGTH(message_id), HEX(LEFT(payload, 3)), COALESCE(content_type,
	'-'), partition_key = CONCAT('p0', CRC32(COALESCE(order_key,
	message_id)) MOD 4)) ORDER BY id SEPARATOR ' ') FROM outbox_messages")" \
    'k1/a.made/2/7B226E/application/json/1 k1/a.made/36/74776F/-/1 -/a.made/36/000102/-/1' \
    'each has its columns, and the label of its key'
echo '{"key": "k1", "type": "a", "payload": "x", "version": 2}' > "$DIR/bad"
fails 1 'line 1: "version" is not a member of an event: outbox.mode is inline' \
    'a member of the other mode' enqueue "$DIR/bad"
echo '{"key": "k1", "type": "a", "payload": "x", "message_id": "m1"}' \
    > "$DIR/bad"
fails 1 'line 1: .*Duplicate' 'a message_id that is there' enqueue "$DIR/bad"

#
# list, show, and what a worker makes of them
#
CONF=$DAEMON
shows '[.rows[] | [.key, .type, .state] | join(" ")] | join(", ")' \
    'k1 a.made pending, k1 a.made pending,  a.made pending' \
    'messages list' messages list
first=$(field '.rows[0].sequence')
ctl --json messages show "$first" --payload
is "$(field '.message_id, .headers["Nats-Msg-Id"], .headers.tenant, .payload,
    (.outbox_id == .headers["Outbox-Id"])' | paste -sd' ')" \
    'm1 m1 t1 {"n": 1} true' 'messages show: ids, headers and payload'
shows .behind "$first" 'messages show: it waits behind an earlier one' \
    messages show $((first + 1))
start_fleet
drains 20 'all are delivered'
exits 0 'status finds nothing' status
shows '[.rows[] | .state] | join(" ")' 'delivered delivered delivered' \
    'messages list --state delivered' messages list --state delivered
shows '.rows | length' 2 'messages list --key' messages list --key k1 \
    --state delivered
ctl --json doctor
is "$(field '[.[] | select(.level == "fail") | "\(.check): \(.text)"] | join("; ")')" '' \
    'doctor finds nothing that fails'
like "$(field '[.[] | select(.check == "plans")] | tostring')" '"ok"' \
    'doctor: plans are good'

# replay: the same message, with a new id
CONF=$DIR/root.yml
exits 0 'messages replay' messages replay "$first" --yes
drains 20 'it is sent again'
like "$("$LAB" show --nats "$URL" --stream EVENTS --last)" \
    '^Nats-Msg-Id: m1-r1$' 'with -r1 behind its id'

# Dead letters have the whole message.
id=$(sql "INSERT INTO outbox_messages (message_id, topic, order_key, partition_key,
	headers, payload, content_type)
    VALUES ('dead', 'two words', 'k2', 'p01', '{\"tenant\": \"t2\"}',
	UNHEX('00FF10'), 'application/x'); SELECT LAST_INSERT_ID()")
is_dead() { is_sql "SELECT COUNT(*) FROM outbox_dead_letters
    WHERE global_sequence = $id" 1; }
within 20 'a message that cannot be sent is dead' is_dead
rows_are 0 "outbox_messages WHERE id = $id" 'its row is gone'
is "$(sql "SELECT CONCAT_WS('/', message_id, order_key, event_type,
    HEX(payload), content_type, JSON_VALUE(CONVERT(headers USING utf8mb4),
    '$.tenant')) FROM outbox_dead_letters")" \
    'dead/k2/two words/00FF10/application/x/t2' \
    'its letter has all of the message'
shows '[.state, .key, .message_id] | join(" ")' 'dead k2 dead' 'dead show' \
    dead show "$id"
created=$(sql 'SELECT created_at FROM outbox_dead_letters')
ctl --json dead show "$id" --payload
is "$(field .payload)" 0x00ff10 'dead show --payload'
stop_master "$MASTER"
exits 0 'dead retry' dead retry "$id"
is "$(sql "SELECT CONCAT_WS('/', message_id, order_key, topic, HEX(payload),
    content_type, JSON_VALUE(headers, '$.tenant'), attempts, created_at)
    FROM outbox_messages WHERE id = $id")" \
    "dead/k2/two words/00FF10/application/x/t2/0/$created" \
    'dead retry puts the whole message back'
rows_are 0 outbox_dead_letters 'and the letter is gone'
exits 0 'messages discard' messages discard "$id" --yes
is "$(sql 'SELECT HEX(payload) FROM outbox_dead_letters')" 00FF10 \
    'a discarded message is kept whole, too'
exits 0 'dead purge' dead purge "$id" --yes
rows_are 0 outbox_dead_letters 'dead purge deletes it'

prints 'Nothing to reconcile: with outbox.mode: inline the message is the row.' \
    'reconcile' reconcile
sql "UPDATE outbox_messages SET published_at = NOW(6) - INTERVAL 30 DAY;
    REPLACE INTO outbox_streams (name, known_since, checked_at)
    VALUES ('EVENTS', NOW(6) - INTERVAL 90 DAY, NOW(6))"
matches '^Deleted 3 delivered rows' 'prune' prune --days 7 --yes
rows_are 0 outbox_messages 'prune deletes what was delivered long ago'

# A scheduled message is shown under its own partition, and reasons are given.
sql "INSERT INTO outbox_messages (message_id, topic, order_key, partition_key,
	payload, scheduled_at)
    VALUES ('later', 't', 'k3', '!@20380101000000000000p02', 'x',
	'2038-01-01')"
id=$(sql "SELECT id FROM outbox_messages WHERE message_id = 'later'")
shows '[.partition, .waits_for, .state] | join(", ")' \
    'p02, available_at or scheduled_at, pending' \
    'messages show of a scheduled message' messages show "$id"
shows '.rows[0].partition' p02 'messages list of it' messages list
shows '[.rows[].sequence] | join(" ")' "$id" 'messages list --partition' \
    messages list --partition p02

# The view of the Open Outbox specification.
is "$(sql "SELECT CONCAT_WS('/', event_id, event_type, partition_key, payload,
    status, available_at) FROM outbox_open_events")" \
    'later/t/k3/x/PENDING/2038-01-01 00:00:00.000000' \
    'outbox_open_events shows a waiting message'
sql "UPDATE outbox_messages SET published_at = NOW(6), partition_key = 'p02'"
is "$(sql "SELECT CONCAT_WS('/', status, delivered_at IS NOT NULL)
    FROM outbox_open_events")" DELIVERED/1 'and a delivered one'
sql "UPDATE outbox_messages SET published_at = NULL, scheduled_at = NULL,
    claim_token = '0123456789abcdef-1-30000',
    available_at = NOW(6) + INTERVAL 30 SECOND"
is "$(sql "SELECT CONCAT_WS('/', status, locked_by,
    ABS(TIMESTAMPDIFF(SECOND, locked_at, NOW(6))) < 5)
    FROM outbox_open_events")" \
    'DELIVERING/0123456789abcdef-1-30000/1' 'and one on its way'
sql "DELETE FROM outbox_messages; INSERT INTO outbox_dead_letters
    (global_sequence, event_type, order_key, reason, payload, message_id)
    VALUES (9, 't', 'k', 'message', 'x', 'm9')"
is "$(sql "SELECT CONCAT_WS('/', event_id, event_type, payload, status)
    FROM outbox_open_events")" m9/t/x/DEAD 'and a dead one'

# setup, from nothing to the first message
cat > "$DIR/bare.yml" <<EOC
master: {user: $(id -un), pidfile: $DIR/run/bare.pid}
mysql:
  socket: $SOCKET
  user: relay
  password_file: $DIR/relay.password
  database: shop
  operator: {user: "", password_file: ""}
outbox: {mode: inline}
nats: {servers: ["$URL"], stream: "NONE", subject: "shop.{topic}"}
EOC
ctl -c "$DIR/bare.yml" --json setup --yes --stream SHOP
is "$RC" 0 'setup succeeds' || say "$ERR"
like "$(field '.steps[] | select(.step == "event") | .text' | tail -1)" \
    'seen: stream SHOP has it as message 1, subject shop.outbox.setup' \
    'its first message is seen in the stream'
is "$(sql 'SELECT CONCAT(topic, CHAR_LENGTH(message_id)) FROM
    shop.outbox_messages')" outbox.setup36 'it is a row of the one table'
done_testing
