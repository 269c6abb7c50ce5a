#!/usr/bin/env bash
# outbox.partition_by: procedure, trigger and daemon compute the same label of a
# path of the metadata or a column; a change of the count keeps keys in order
. "${srcdir:-$(dirname "$0")/../..}/tests/lib/ctl.sh"

EACH=20
[ "${OUTBOX_CHECK:-full}" = short ] && EACH=3
# by VALUE: the configuration with it, and the same for an administrator
by() {
	sed "s/^outbox: {/&partition_by: '$1', /" "$DIR/plain.yml" > "$CONF"
	sed 's/user: outbox,/user: admin,/; s/OUTBOX_PW/ADMIN_PW/' "$CONF" \
	    > "$ADMIN"
}
ADMIN=$DIR/admin.yml
admin() { ctl -c "$ADMIN" "$@"; }
labels() { sql 'SELECT GROUP_CONCAT(COALESCE(partition_key, "-") ORDER BY
    global_sequence) FROM outbox'; }
# A row's metadata for each kind of value; SQL.  MySQL stores JSON in a form of
# its own, so spaces and escapes are among them.
VALUES=("'{\"tenant\":\"acme\"}'" "'{ \"tenant\" : \"acme\", \"x\": 1 }'"
    "'{\"tenant\":\"grün\"}'" "'{\"tenant\":\"gr\\\\u00fcn\"}'"
    "'{\"tenant\":\"\"}'" "'{\"tenant\":null}'" "'{\"tenant\":\"null\"}'"
    "'{\"x\":1}'" NULL "'{\"tenant\":17}'" "'{\"tenant\":true}'"
    "'{\"tenant\":\"a\\\\\\\"b\"}'" "'[1]'")
call_all() {
	local value n=0
	for value in "${VALUES[@]}"; do
		echo "CALL outbox_enqueue('key$((++n))', NULL, 'order.a', 1,
		    'corr', $value, 'x');"
	done
}
insert_all() {
	local value n=0
	for value in "${VALUES[@]}"; do
		echo "INSERT INTO events (stream_id, stream_sequence,
		    correlation_id, event_type, metadata, event_data) VALUES
		    ('key$((++n))', 1, 'corr', 'order.a', $value, 'x');"
	done
}
# run_sql: what is on standard input, in one transaction
run_sql() { { echo 'START TRANSACTION;'; cat; echo 'COMMIT;'; } |
    "$SANDBOX" sql "$DIR/db" --default-character-set=utf8mb4 app; }
of() { sql "SELECT CONCAT('p', LPAD(CRC32($1) % 16, 2, '0'))"; }
# agree NAME: procedure, reconcile, outboxctl enqueue's statement and trigger
agree() {
	local want
	clear_rows
	call_all | run_sql
	want=$(labels)
	sql 'DELETE FROM outbox; UPDATE outbox_settings SET reconcile_watermark = 0'
	admin reconcile --all --yes
	is "$(labels)" "$want" "$1: reconcile makes the labels of the procedure"
	admin schema install --trigger
	clear_rows
	insert_all | run_sql
	is "$(labels)" "$want" "$1: the trigger makes the labels of the procedure"
	sql 'DROP TRIGGER outbox_after_event'
}

start_servers
sql "ALTER TABLE events ADD COLUMN tenant VARCHAR(64) COLLATE utf8mb4_bin AS
	(JSON_UNQUOTE(JSON_EXTRACT(metadata, '$.tenant'))) STORED;
    CREATE USER 'admin'@'localhost' IDENTIFIED BY 'admin-secret';
    GRANT ALL ON app.* TO 'admin'@'localhost' WITH GRANT OPTION;
    GRANT SUPER ON *.* TO 'admin'@'localhost'"
export ADMIN_PW=admin-secret
LEASE_TTL=6 LEASE_RENEW=1 HEARTBEAT_TTL=6 write_conf "$DIR/plain.yml"
# renewed: all leases were renewed since; a use of former labels is noted then
renewed() {
	local since
	since=$(sql 'SELECT MAX(lease_until) FROM outbox_partitions')
	wait_for 20 is_sql "SELECT MIN(lease_until) > '$since'
	    FROM outbox_partitions" 1
}

#
# Producers and the daemon must agree
#
by '$.tenant'
start_master
check 'the daemon refuses to run before producers know of it' wait_for 15 \
    has_line "$LOG" 'producers compute partitions of the order key .outbox_settings.partition_by., and outbox.partition_by is \$\.tenant'
admin schema check
like "$OUT" '^fail: outbox_settings: partition_by is "", and outbox.partition_by "\$\.tenant"' \
    'schema check says so'
is "$RC" 1 'schema check: exit status 1'
admin schema install
is "$RC$ERR" 0 'schema install writes it: exit status 0'
admin schema check
is "$RC$OUT" 0 'schema check is silent then'
is "$(sql 'SELECT partition_by FROM outbox_settings')" '$.tenant' \
    'the settings have it'
check 'the daemon runs then, and owns the partitions' wait_for 30 all_owned
stops 'the master stops with status 0'

#
# The labels
#
call_all | run_sql
is "$(labels)" "$(of "'acme'"),$(of "'acme'"),$(of "_utf8mb4 x'6772c3bc6e'"),$(of "_utf8mb4 x'6772c3bc6e'"),$(of "''"),$(of "'key6'"),$(of "'null'"),$(of "'key8'"),$(of "'key9'"),$(of "'17'"),$(of "'true'"),$(of "'a\"b'"),$(of "'key13'")" \
    'a label is of the value, or of the key where that is missing or null'
agree '$.tenant'
clear_rows
echo '{"key": "k", "type": "order.a", "payload": "x", "metadata": {"tenant": "acme"}}' > "$DIR/line"
admin enqueue "$DIR/line"
sql 'DROP PROCEDURE outbox_enqueue'
admin enqueue "$DIR/line"
is "$RC $(labels)" "0 $(of "'acme'"),$(of "'acme'")" \
    'outboxctl enqueue, with the procedure and without'
admin schema install
sql "GRANT EXECUTE ON PROCEDURE outbox_enqueue TO 'outbox_producer'@'localhost'"

#
# Another value: not while the rows have labels of the first
#
by tenant
admin schema install
is "$RC" 1 'another value with 16 partitions and rows: exit status 1'
like "$ERR" 'keys would lose their order: change to one partition first' \
    'it says what to do'
is "$(sql 'SELECT partition_by FROM outbox_settings')" '$.tenant' \
    'the value stays'
sql 'UPDATE outbox_settings SET partition_count = 1'
by nothing
fails 1 'outbox.partition_by: events has no column nothing' \
    'a column that is not there' -c "$ADMIN" schema install
by tenant
admin schema install
is "$RC$(sql 'SELECT partition_by FROM outbox_settings')" 0tenant \
    'with one partition the value can change'
sql 'UPDATE outbox_settings SET partition_count = 16'
agree tenant
by correlation_id
sql 'UPDATE outbox_settings SET partition_count = 1'
admin schema install
sql 'UPDATE outbox_settings SET partition_count = 16'
agree correlation_id
is "$(sql 'SELECT COUNT(DISTINCT partition_key) FROM outbox')" 1 \
    'one value, one partition'

#
# Two counts: keys in order, and the daemon knows a label of the present one
#
by '$.tenant'
sql 'UPDATE outbox_settings SET partition_count = 1'
admin schema install
sql 'UPDATE outbox_settings SET partition_count = 16'
clear_rows
# write FROM: events of 200 keys of 10 tenants
write() {
	local i round
	for ((round = 0; round < EACH; round++)); do
		for ((i = 0; i < 200; i++)); do
			echo "CALL outbox_enqueue('key$i', NULL, 'order.a', 1,
			    NULL, '{\"tenant\": \"tenant$((i % 10))\"}', 'x');"
		done
	done | run_sql
}
start_fleet
write
write &
WRITER=$!
sed -i 's/partition_count: 16/partition_count: 48/' "$ADMIN"
admin partitions sync --yes
is "$RC$ERR" 0 'another count under load: exit status 0'
wait "$WRITER"
write
drains 60 'all is delivered'
check_stream 'the stream is complete and in order' --wait 20
is "$(sql "SELECT COUNT(*) FROM (SELECT 1 FROM outbox JOIN events ON
    sequence = global_sequence WHERE partition_key = CONCAT('p', LPAD(
    CRC32(tenant) % 48, 2, '0')) GROUP BY tenant) AS t")" 10 \
    'rows have labels of their tenants by the new count'
check 'what was sent before is noted' renewed
check 'on both workers' renewed
sql 'UPDATE outbox_partitions SET former_label_at = NULL'
write
drains 60 'all is delivered again'
check 'the leases are renewed' renewed
check 'and again' renewed
is "$(sql 'SELECT COUNT(former_label_at) FROM outbox_partitions')" 0 \
    'labels of the present count are not taken for former ones'
sql "UPDATE outbox_partitions SET former_label_at = NULL; $(event_row old 1 "CONCAT(
    'p', LPAD((CRC32('old') + 1) % 16, 2, '0'))" NOW\(6\) order.a)"
drains 30 'a row under another label is delivered'
check 'and noted as one of a former count' wait_for 20 is_sql \
    'SELECT COUNT(former_label_at) FROM outbox_partitions' 1

#
# The change can be finished: waiting rows have labels by the new count
#
sql "$(event_row key1 9000 "'$(sql "SELECT CONCAT('p', LPAD(CRC32('tenant1') % 16,
    2, '0'))")'" 'NOW(6) + INTERVAL 1 HOUR' order.a)"
sql "UPDATE events SET metadata = '{\"tenant\": \"tenant1\"}'
    WHERE stream_sequence = 9000"
admin partitions sync --finish --force --yes
is "$RC" 1 'a waiting row with a label of the former count: not finished'
sql "UPDATE outbox SET partition_key = CONCAT('p', LPAD(CRC32('tenant1') % 48,
    2, '0')) WHERE published_at IS NULL"
admin partitions sync --finish --force --yes
is "$RC" 0 'with one of its tenant by the new count: finished'
# As retry does: a worker that knows the row would look again in an hour.
sql 'UPDATE outbox SET available_at = NOW(6);
    UPDATE outbox_partitions SET lease_epoch = lease_epoch + 1'
drains 30 'all is delivered after the change'

#
# doctor: the value must be the same for all events of a key
#
ctl doctor
like "$OUT" 'ok.*outbox.partition_by: in the newest 1000 events each key has one partition' \
    'doctor: each key has one partition'
call_enqueue "'split', NULL, 'order.a', 1, NULL, '{\"tenant\":\"a\"}', 'x'" \
    "'split', NULL, 'order.a', 1, NULL, '{\"tenant\":\"b\"}', 'x'"
ctl doctor
like "$OUT" 'fail.*outbox.partition_by: \$\.tenant has several values within each of 1 keys' \
    'doctor: a key has two'
stops 'the master stops with status 0'

#
# Mode inline: the procedure, the trigger and the daemon
#
sql "DROP TABLE outbox, events, outbox_partitions, outbox_workers,
    outbox_settings, outbox_dead_letters, outbox_blocked_keys, outbox_streams,
    outbox_audit, outbox_registry"
sed -i 's/^outbox: {/&mode: inline, /' "$DIR/plain.yml"
messages() {
	local value n=0
	for value in "${VALUES[@]}"; do
		n=$((n + 1))
		if [ "$1" = call ]; then
			echo "CALL outbox_enqueue_message('m$n', 'order.a',
			    'key$n', $value, 'x', NULL, NULL);"
		else
			echo "INSERT INTO outbox_messages (message_id, topic,
			    order_key, headers, payload) VALUES ('m$n',
			    'order.a', 'key$n', $value, 'x');"
		fi
	done | run_sql
	sql 'SELECT GROUP_CONCAT(partition_key ORDER BY id) FROM outbox_messages;
	    DELETE FROM outbox_messages'
}
by '$.tenant'
admin schema install --trigger
is "$RC$ERR" 0 'inline: schema install: exit status 0'
sql "UPDATE outbox_settings SET partition_count = 16;
    GRANT SELECT, INSERT, UPDATE, DELETE ON app.* TO 'outbox'@'localhost'"
WANT="$(of "'acme'"),$(of "'acme'"),$(of "_utf8mb4 x'6772c3bc6e'"),$(of "_utf8mb4 x'6772c3bc6e'"),$(of "''"),$(of "'key6'"),$(of "'null'"),$(of "'key8'"),$(of "'key9'"),$(of "'17'"),$(of "'true'"),$(of "'a\"b'"),$(of "'key13'")"
is "$(messages call)" "$WANT" 'inline: labels of the procedure'
is "$(messages insert)" "$WANT" 'inline: labels of the trigger'
LOG=$DIR/inline.log
start_master
check 'inline: the daemon runs' wait_for 20 all_owned
sql "START TRANSACTION; CALL outbox_enqueue_message('n1', 'order.a', 'k',
    '{\"tenant\": \"acme\"}', 'x', NULL, NULL); COMMIT"
check 'inline: a message is delivered' wait_for 20 is_sql \
    'SELECT COUNT(published_at) FROM outbox_messages' 1
ctl doctor
like "$OUT" 'ok.*outbox.partition_by: in the newest 1000 events each key' \
    'inline: doctor looks for keys in several partitions'
stops 'inline: the master stops with status 0'
done_testing
