#!/usr/bin/env bash
# Outboxes of other programs, relayed from their own tables: schema check says
# what they lack, its ALTERs add that, and every message is delivered in order
# while workers are killed.  (Pillar's tables: run_pillar.sh.)
. "${srcdir:-$(dirname "$0")/../..}/tests/lib/lib.sh"
. "$srcdir/tests/lib/inline.sh"

start_servers
sql "CREATE USER 'boss'@'localhost' IDENTIFIED BY '$OUTBOX_PW';
    GRANT ALL ON *.* TO 'boss'@'localhost'"
drop_tables
"$SANDBOX" sql "$DIR/db" app < "$srcdir/tests/lib/shapes.sql"

boss() { "$OUTBOXCTL" -c "$DIR/boss.yml" "$@"; }

# shape TABLE COLUMNS: a configuration for it, and our tables beside it
shape() {
	OUTBOX="mode: inline, tables: {messages: $1}, columns: {$2}"
	TABLE=$1
	write_conf
	sed 's/user: outbox,/user: boss,/' "$CONF" > "$DIR/boss.yml"
	boss schema install > /dev/null 2>&1	# of our tables
	FOUND=$(boss schema check)
}

# lacks REGEX NAME: schema check says so
lacks() { like "$FOUND" "$1" "$2"; }

# mend NAME: run the ALTERs of schema check, those by hand as well, and the
# trigger
mend() {
	boss --json schema check | jq -r '.[] | select(.level != "note") |
	    .remedy + ";"' > "$DIR/mend.sql"
	"$SANDBOX" sql "$DIR/db" app < "$DIR/mend.sql"
	ok $? "$1: the server takes the ALTERs of schema check"
	FOUND=$(boss schema check | grep -v '^note: ')
	is "$FOUND" '' "$1: then nothing fails and nothing is lost"
	boss schema install --trigger > /dev/null
	is $? 0 "$1: the trigger can be made"
	sql 'UPDATE outbox_settings SET partition_count = 16'
	boss schema print --grants | awk 'BEGIN { RS = ORS = ";" }
	    !/outbox_operator/' | "$SANDBOX" sql "$DIR/db" app
}

left() { sql "SELECT COUNT(*) FROM $TABLE WHERE $DONE IS NULL"; }
is_drained() { [ "$(left)" = 0 ]; }

# relay NAME EVENTS: 3 rounds of fill, with a worker killed in each; EVENTS is
# the SELECT of what the checker calls events
relay() {
	local i
	sql "CREATE OR REPLACE VIEW events AS $2;
	    CREATE OR REPLACE VIEW outbox AS SELECT outbox_seq AS
	    global_sequence, $DONE AS published_at, attempts, last_error
	    FROM $TABLE"
	STREAM=$1
	"$LAB" stream --nats "$URL" --name "$1" --subjects "$1.>" \
	    --dup-window 600
	SUBJECT="$1.{topic}" write_conf
	start_fleet
	for ((i = 0; i < 3; i++)); do
		fill "$i"
		kill -KILL "$(worker_pids "$MASTER" | head -1)"
	done
	drains 60 "$1: all are delivered"
	stop_master "$MASTER"
	is $? 0 "$1: the master stops with status 0"
	check_stream "$1: 0 lost, 0 twice, 0 out of order" --wait 10
	is "$(sql "SELECT COUNT(DISTINCT partition_key) > 4 FROM $TABLE")" 1 \
	    "$1: several partitions share the work"
}

#
# Laravel: no key, so that messages of a topic are in order; available_at is a
# time of the application's own, and sent_at is our published_at.
#
shape outbox_messages "id: outbox_seq, message_id: id, order_key: topic,
    scheduled_at: available_at, available_at: outbox_available_at,
    published_at: sent_at, headers: outbox_headers,
    content_type: outbox_content_type"
lacks 'fail: outbox_messages: no column outbox_seq: the daemon cannot run: messages have no order; rows that are there are numbered by created_at, .*; ALTER TABLE `outbox_messages` MODIFY `outbox_seq` BIGINT UNSIGNED NOT NULL AUTO_INCREMENT UNIQUE' \
    'laravel lacks an order'
lacks 'fail: outbox_messages: no column claim_token: .*several workers would send the same' \
    'and claims'
lacks 'fail: outbox_messages: no column partition_key: ' 'and partitions'
lacks 'warn: outbox_messages: no column outbox_headers: messages have no headers' \
    'and headers, which costs less'
lacks 'warn: outbox_messages: no column ack_sequence: acknowledged messages that the broker loses are not found' \
    'and the place in the stream'
lacks 'warn: outbox_messages: no index .sent_at, partition_key, outbox_seq.: every claim sorts' \
    "and the claim's index"
err=$("$OUTBOX_MASTER" -c "$DIR/boss.yml" --once --silent 2>&1)
like "$err" 'column outbox_messages.[a-z_]+ is missing or not granted: run outboxctl schema check' \
    'the daemon refuses it, and says what to run'
mend laravel
DONE=sent_at
fill() {
	sql "INSERT INTO outbox_messages (id, topic, payload)
	    SELECT UUID(), CONCAT('t', n % 30), JSON_OBJECT('n', $1 * 1000 + n)
	    FROM $(numbers 1000) ORDER BY n"
}
relay laravel "SELECT outbox_seq AS sequence, topic AS stream_id, topic AS
    event_type, payload AS event_data FROM outbox_messages"
is "$(sql "SELECT COUNT(*) FROM outbox_messages WHERE available_at IS NOT NULL
    OR status <> 'pending'")" 0 'the columns of the application are as before'
id=$(sql 'SELECT id FROM outbox_messages WHERE ack_sequence = 1')
like "$("$LAB" show --nats "$URL" --stream laravel --seq 1)" \
    "^Nats-Msg-Id: $id$" 'its uuid is the Nats-Msg-Id'

# A dead message goes, and comes back as it was.
sql "INSERT INTO outbox_messages (id, topic, payload, available_at)
    VALUES ('dead', 'two words', '{\"a\": 1}', NOW() - INTERVAL 1 DAY)"
start_master
is_dead() { is_sql 'SELECT COUNT(*) FROM outbox_dead_letters' 1; }
within 20 'a message that cannot be sent is dead' is_dead
stop_master "$MASTER"
out=$(boss dead retry --all --yes 2>&1)
is "$out" '1 dead letter put back' 'dead retry'
is "$(sql "SELECT CONCAT_WS(' ', id, topic, JSON_EXTRACT(payload, '$.a'),
    available_at < NOW()) FROM outbox_messages WHERE sent_at IS NULL")" \
    'dead two words 1 1' 'dead retry puts it back into the table, JSON and all'
sql 'DELETE FROM outbox_messages WHERE sent_at IS NULL;
    DELETE FROM outbox_dead_letters'

#
# Debezium: its router takes rows from the binlog and needs no state; we add it.
#
sql 'DROP TABLE outbox_messages; DELETE FROM outbox_partitions;
    DELETE FROM outbox_streams'
shape outboxevent "id: outbox_seq, message_id: id, topic: type,
    order_key: aggregateid"
lacks 'fail: outboxevent: no column published_at: .*nothing says what was delivered' \
    'debezium lacks the time of a delivery'
lacks 'fail: outboxevent: no column attempts: ' 'and attempts'
lacks 'warn: outboxevent: no column scheduled_at: no message can be scheduled' \
    'and schedules'
mend debezium
DONE=published_at
fill() {
	sql "INSERT INTO outboxevent (id, aggregatetype, aggregateid, type,
	    payload) SELECT UUID(), 'order', CONCAT('o', n % 50), 'made',
	    JSON_OBJECT('n', $1 * 1000 + n)
	    FROM $(numbers 1000) ORDER BY n"
}
relay debezium "SELECT outbox_seq AS sequence, aggregateid AS stream_id, type AS
    event_type, payload AS event_data FROM outboxevent"

# Its users insert and delete the row in one transaction, as its extensions do:
# no poller sees it.
# come_and_go N: transactions, in a session that SQL prepares
come_and_go() {
	local i
	for ((i = 0; i < $1; i++)); do
		printf '%s' "START TRANSACTION; INSERT INTO outboxevent (id,
		    aggregatetype, aggregateid, type, payload) VALUES
		    ('$2-$i', 'order', 'o', 'made', '{}');
		    DELETE FROM outboxevent WHERE id = '$2-$i'; COMMIT;"
	done > "$DIR/come.sql"
	{ echo "${3:-}"; cat "$DIR/come.sql"; } | "$SANDBOX" sql "$DIR/db" app
}
# told LIST: the text of rows that vanish, among the problems or the advice
told() { "$OUTBOXCTL" -c "$CONF" --json status | jq -r ".$1"'[] |
    select(.id == "rows_vanish" or .id == "rows_unseen") | .text' \
    > "$DIR/told"; }
tells() { told problems; has_line "$DIR/told" "$1"; }
advises() { told advice; has_line "$DIR/told" "$1"; }
says_nothing() { not tells . && not advises .; }
follows() { [ "$("$OUTBOXCTL" -c "$CONF" --json status |
    jq -r .this_host.listener.state)" = running ]; }
sql "GRANT REPLICATION SLAVE, REPLICATION CLIENT ON *.* TO 'outbox'@'localhost'"
SUBJECT='debezium.{topic}' STREAM=debezium WAKE='binlog: true' write_conf
start_fleet
wait_for 20 follows
fill 9
drains 60 'a listener beside rows that stay'
check 'rows that stay are no problem' says_nothing
counts() { [ "$("$OUTBOXCTL" -c "$CONF" --json status |
    jq .this_host.listener.vanished)" = "$1" ]; }
come_and_go 19 back
within 10 'the listener sees some messages that are taken back' counts 19
check 'which is nothing to tell' says_nothing
come_and_go 100 full
within 10 'rows that come and go: status tells it, from the binlog' tells \
    'inserted and deleted in one transaction: 119, 100 .*not sent: let the app'
come_and_go 20 minimal 'SET SESSION binlog_row_image = MINIMAL;'
within 10 'and with a minimal row image' tells 'one transaction: 139, '
check 'the log says so, once' [ "$(grep -c ' warn listener.*inserted and deleted' \
    "$LOG")" = 1 ]
fill 10
within 10 'and not once rows come that stay' says_nothing
stop_master "$MASTER"
if ! is_short; then
	SUBJECT='debezium.{topic}' STREAM=debezium write_conf
	start_fleet
	has_sampled() { "$OUTBOXCTL" -c "$CONF" --json status |
	    jq -e '.backlog.growth_per_second != null' >/dev/null; }
	within 20 'the janitor takes samples' has_sampled
	come_and_go 100 poll
	within 20 'without the binlog: a burst is advice' advises \
	    '100 numbers of the outbox were given since .*not one row'
	check 'and no problem' not tells .
	fill 11
	within 20 'and nothing when rows come' says_nothing
	stop_master "$MASTER"
fi
done_testing
