#!/usr/bin/env bash
# outboxctl schema: what sql/schema.sql says, printed, made, compared and mended
. "${srcdir:-$(dirname "$0")/../..}/tests/lib/ctl.sh"

start_servers
write_conf

# The tables, their columns and indexes, the procedure and the settings
structure() {
	sql "SELECT table_name, column_name, ordinal_position, column_type,
		is_nullable, column_default, extra, collation_name
	    FROM information_schema.columns WHERE table_schema = 'app'
	    ORDER BY 1, 3;
	SELECT table_name, index_name, seq_in_index, column_name, non_unique
	    FROM information_schema.statistics WHERE table_schema = 'app'
	    ORDER BY 1, 2, 3;
	SELECT routine_name, security_type, routine_comment, sql_mode
	    FROM information_schema.routines WHERE routine_schema = 'app'"
}
drop_tables() {
	sql "SELECT CONCAT('DROP TABLE ', GROUP_CONCAT(CONCAT('\`', table_name,
	    '\`'))) FROM information_schema.tables WHERE table_schema = 'app'" | {
		read -r drop
		sql "SET foreign_key_checks = 0; $drop"
	}
	sql 'DROP PROCEDURE IF EXISTS outbox_enqueue'
}

# The owner of the tables, who may make and alter them
sql "CREATE USER 'owner'@'localhost' IDENTIFIED BY '$OUTBOX_PW';
    GRANT ALL ON app.* TO 'owner'@'localhost'"
OWNER=$DIR/owner.yml
sed 's/user: outbox,/user: owner,/' "$CONF" > "$OWNER"

#
# print
#
ctl schema print
is "$RC" 0 'print needs no server'
is "$OUT" "$(cat "$srcdir/sql/schema.sql")" 'it is the file'
ctl --json schema print
is "$(field .sql)" "$(cat "$srcdir/sql/schema.sql")" 'in JSON too'
NAMES='tables: {outbox: shop-out, events: order, partitions: shop_parts, workers: shop_workers, settings: shop_settings, dead_letters: shop_dead, blocked_keys: shop_blocked, streams: shop_streams, audit: shop_audit}'
sed "s/ordering:/$NAMES, ordering:/" "$OWNER" > "$DIR/shop.yml"
ctl -c "$DIR/shop.yml" schema print
is "$RC" 0 'other names'
is "$(sed 's/`shop-out_enqueue`/outbox_enqueue/g; s/`shop-out_claim`/outbox_claim/
    s/`shop-out`/outbox/g; s/`order\(_stream\)\?`/events\1/g
    s/`shop_settings\([a-z_]*\)`/outbox_settings\1/g
    s/`shop_workers\([a-z_]*\)`/outbox_workers\1/g
    s/`shop_blocked\([a-z_]*\)`/outbox_blocked_keys\1/g
    s/`shop_parts`/outbox_partitions/g; s/`shop_dead`/outbox_dead_letters/g
    s/`shop_streams`/outbox_streams/g; s/`shop_audit`/outbox_audit/g' \
    <<< "$OUT")" "$(cat "$srcdir/sql/schema.sql")" 'change them and nothing else'
sed "s/shop_settings/$(printf '%60s' '' | tr ' ' s)/" "$DIR/shop.yml" \
    > "$DIR/long.yml"
ctl -c "$DIR/long.yml" schema print
is "$RC" 1 'a name that leaves no room for what is made of it'
like "$ERR" 'outbox.tables.settings: s+_one_row would be longer than 64' \
    'and it is said which'

#
# install
#
BEFORE=$(structure | cksum)
drop_tables
ctl -c "$OWNER" schema install --dry-run
is "$RC" 0 'install, dry'
like "$OUT" '^Would create outbox, events, .*outbox_audit\.$' 'says what it would do'
is "$(structure)" '' 'and does nothing'
ctl schema install
is "$RC" 1 'install without the right to create'
like "$ERR" '^outboxctl: schema install: .*denied' 'and that is said'
is "$(wc -l <<< "$ERR")" 1 'in one line'
ctl -c "$OWNER" schema install
is "$RC$ERR" 0 'install'
like "$OUT" '^Created outbox, events, .*outbox_audit\.$' 'says what it has made'
is "$(structure | cksum)" "$BEFORE" 'it is what the client program makes of the file'
is "$(sql 'SELECT command, login, changed FROM outbox_audit')" \
    "schema install	owner@localhost	9" 'the audit has it'
BEFORE=$(structure; sql 'SELECT * FROM outbox_settings')
ctl -c "$OWNER" --json schema install
is "$RC$(field .changed)" 00 'once more'
is "$(structure; sql 'SELECT * FROM outbox_settings')" "$BEFORE" \
    'and nothing is changed'
ctl -c "$DIR/shop.yml" schema install
is "$RC$ERR" 0 'another outbox beside it'
is "$(sql "SELECT GROUP_CONCAT(routine_name ORDER BY 1)
    FROM information_schema.routines WHERE routine_schema = 'app'")" \
    'outbox_enqueue,shop-out_enqueue' 'with a procedure of its own'
sql "UPDATE shop_settings SET partition_count = 4; START TRANSACTION;
    CALL \`shop-out_enqueue\`('a', NULL, 't', 1, NULL, NULL, 'x'); COMMIT"
is "$(sql 'SELECT COUNT(*) FROM `shop-out` JOIN `order` ON sequence =
    global_sequence')$(sql 'SELECT COUNT(*) FROM outbox')" 10 \
    'that fills its tables'
is "$(sql 'SELECT COUNT(DISTINCT outbox_id) FROM (SELECT outbox_id FROM
    outbox_settings UNION SELECT outbox_id FROM shop_settings) t')" 2 \
    'and an id of its own'
ctl -c "$DIR/shop.yml" schema check
is "$RC$OUT$ERR" 0 'nothing is missing there'
sql 'DROP TABLE `shop-out`, `order`, shop_parts, shop_workers, shop_settings,
    shop_dead, shop_blocked, shop_streams, shop_audit;
    DROP PROCEDURE `shop-out_enqueue`'

#
# check: one difference at a time, found, and mended by its remedy
#
ctl schema check
is "$RC$OUT$ERR" 0 'check, as the daemon: nothing to say'
BEFORE=$(tables)
ctl --json schema check
is "$RC$OUT" '0[]' 'in JSON, too'
is "$(tables)" "$BEFORE" 'and nothing was changed'
while IFS='|' read -r rc level text damage; do
	sql "$damage"
	ctl --json schema check
	is "$RC $(field '.[0].level')" "$rc $level" "$damage: $level"
	like "$(field '.[0].what + ": " + .[0].cost')" "$text" 'it is told'
	sql "$(field '.[0].remedy')"
	ctl schema check
	is "$RC$OUT$ERR" 0 'and the remedy is one'
done <<'EOF'
0|warn|^outbox: no index.*every claim sorts|ALTER TABLE outbox DROP KEY outbox_claim
0|warn|^outbox: no column ack_sequence: .*are not found|ALTER TABLE outbox DROP COLUMN ack_sequence
0|warn|^outbox: no column replay_no: .*replay does not work|ALTER TABLE outbox DROP COLUMN replay_no
1|fail|^outbox_dead_letters: no column replay_no: .*cannot run|ALTER TABLE outbox_dead_letters DROP COLUMN replay_no
0|warn|^outbox_partitions: no column in_doubt_upto: .*is on disk|ALTER TABLE outbox_partitions DROP COLUMN in_doubt_upto
0|warn|^outbox_partitions: no column former_label_at: .*--finish cannot tell|ALTER TABLE outbox_partitions DROP COLUMN former_label_at
1|fail|^outbox_settings: no column counts_since: .*cannot run|ALTER TABLE outbox_settings DROP COLUMN counts_since
0|warn|^outbox: no column created_at|ALTER TABLE outbox DROP COLUMN created_at
1|fail|^outbox: no column attempts: .*cannot run|ALTER TABLE outbox DROP COLUMN attempts
0|warn|^outbox: claim_token is varchar.20. NULL.*too long|ALTER TABLE outbox MODIFY claim_token VARCHAR(20) CHARACTER SET ascii COLLATE ascii_bin NULL
1|fail|^outbox: claim_token .*writes NULL|ALTER TABLE outbox MODIFY claim_token VARCHAR(64) CHARACTER SET ascii COLLATE ascii_bin NOT NULL DEFAULT ''
0|warn|^outbox: available_at is datetime.*time zone|ALTER TABLE outbox MODIFY available_at DATETIME(6) NOT NULL DEFAULT CURRENT_TIMESTAMP(6)
0|note|^outbox: available_at: coarser|ALTER TABLE outbox MODIFY available_at TIMESTAMP NOT NULL DEFAULT CURRENT_TIMESTAMP
0|note|^outbox: attempts is smallint.*too large|ALTER TABLE outbox MODIFY attempts SMALLINT UNSIGNED NOT NULL DEFAULT 0
0|note|^outbox: attempts is .* NULL, not|ALTER TABLE outbox MODIFY attempts INT UNSIGNED NULL DEFAULT 0
1|fail|^outbox_dead_letters: reason is int|ALTER TABLE outbox_dead_letters MODIFY reason INT NOT NULL
0|note|^outbox: index spare .claim_token.|ALTER TABLE outbox ADD KEY spare (claim_token)
0|note|^outbox: foreign key outbox_event|ALTER TABLE outbox ADD CONSTRAINT outbox_event FOREIGN KEY (global_sequence) REFERENCES events (sequence)
0|note|^events: no unique index|ALTER TABLE events DROP KEY events_stream
1|fail|^outbox_workers: its engine is MyISAM|ALTER TABLE outbox_workers ENGINE=MyISAM
0|warn|^outbox_workers: no index .heartbeat_until|ALTER TABLE outbox_workers DROP KEY outbox_workers_heartbeat
1|fail|^outbox_workers: column x has no default|ALTER TABLE outbox_workers ADD COLUMN x INT NOT NULL
1|fail|^outbox_streams: no primary key|ALTER TABLE outbox_streams DROP PRIMARY KEY
0|warn|^outbox_partitions: partition_key is utf8mb4_general_ci, but that of outbox is utf8mb4_bin|ALTER TABLE outbox_partitions MODIFY partition_key VARCHAR(64) COLLATE utf8mb4_general_ci NOT NULL
0|warn|^outbox_dead_letters: no such table.*retried for ever|DROP TABLE outbox_dead_letters
0|warn|^outbox_settings: no such table|DROP TABLE outbox_settings
1|fail|^outbox_settings: has no row|DELETE FROM outbox_settings
0|warn|^outbox_settings: schema version 0 is older|UPDATE outbox_settings SET schema_version = 0
1|fail|^outbox_partitions: no such table.*cannot run|DROP TABLE outbox_partitions
1|fail|^outbox: 'outbox'@'localhost' may not DELETE:|REVOKE DELETE ON outbox FROM 'outbox'@'localhost'
1|fail|^events: no such table, or no right to see it|REVOKE SELECT ON events FROM 'outbox'@'localhost'
1|fail|^outbox_workers: 'outbox'@'localhost' may not INSERT, UPDATE:|REVOKE INSERT, UPDATE ON outbox_workers FROM 'outbox'@'localhost'
0|warn|^outbox: 'outbox'@'localhost' may not INSERT: reconcile.at_start|REVOKE INSERT ON outbox FROM 'outbox'@'localhost'
0|warn|^outbox_dead_letters: .* may not DELETE: retention.dead_days|REVOKE DELETE ON outbox_dead_letters FROM 'outbox'@'localhost'
0|warn|^outbox_audit: 'outbox'@'localhost' may not UPDATE .changed.:|REVOKE UPDATE (changed) ON outbox_audit FROM 'outbox'@'localhost'
EOF
sql 'ALTER TABLE outbox_partitions MODIFY partition_key VARCHAR(64)
    COLLATE utf8mb4_general_ci NOT NULL; ALTER TABLE outbox MODIFY
    partition_key VARCHAR(64) COLLATE utf8mb4_unicode_ci NULL'
ctl schema check
is "$RC" 1 'two collations that cannot be compared'
like "$OUT" '^fail: outbox_partitions: .*; remedy: ALTER TABLE' 'for people, a line'
ctl -c "$OWNER" schema upgrade
is "$RC$ERR" 0 'are mended'
ctl schema check
is "$OUT" '' 'those of the blocked keys, too'
sql "ALTER PROCEDURE outbox_enqueue COMMENT 'of my own'"
ctl -c "$OWNER" schema check
is "$RC" 0 'another procedure'
like "$OUT" '^note: procedure outbox_enqueue: it is not of this version' 'is told'
[ "$KIND" != mysql ] || sql 'DROP PROCEDURE outbox_enqueue'
ctl -c "$OWNER" schema install
ctl -c "$OWNER" schema check
is "$RC$OUT" 0 'and replaced by install'

# Somebody keeps a table for six seconds, and a producer comes.
sql 'ALTER TABLE outbox DROP KEY outbox_claim'
sql 'START TRANSACTION; SELECT COUNT(*) FROM outbox; DO SLEEP(6); COMMIT' \
    > /dev/null &
KEEPER=$!
wait_for 10 is_sql "SELECT COUNT(*) FROM information_schema.processlist
    WHERE info = 'DO SLEEP(6)'" 1
ctl -c "$OWNER" schema upgrade > /dev/null &
UPGRADER=$!
wait_for 10 is_sql "SELECT COUNT(*) FROM information_schema.processlist
    WHERE info LIKE 'ALTER TABLE%' AND state LIKE 'Waiting for%'" 1
ok $? 'an upgrade waits for whoever uses the table'
START=$(now_ms)
sql 'SELECT COUNT(*) FROM outbox' > /dev/null
[ $(($(now_ms) - START)) -lt 3000 ]
ok $? 'and others do not wait behind it for longer than a second'
wait "$KEEPER" "$UPGRADER"
ctl schema check
is "$RC$OUT" 0 'it is mended when the table is free'

sql 'UPDATE outbox_settings SET schema_version = 99'
ctl schema check
is "$RC" 1 'a newer schema'
like "$OUT" '^fail: .*version 99 is newer.*install a newer one$' 'is told, without a remedy'
for command in install upgrade; do
	ctl -c "$OWNER" schema "$command" --yes
	is "$RC" 1 "$command refuses it"
	like "$ERR" "^outboxctl: schema $command: schema version 99 is newer" \
	    'and says why'
done
sql 'UPDATE outbox_settings SET schema_version = 0; DROP TABLE outbox_blocked_keys'
sed 's/retry: {/retry: {on_dead: halt, /' "$CONF" > "$DIR/halt.yml"
ctl -c "$DIR/halt.yml" schema check
is "$RC" 1 'halt cannot do without the table of blocked keys'
like "$OUT" '^fail: outbox_blocked_keys: no such table' 'and that is told'

#
# The version rule: the one before its own
#
start_fleet
ok $? 'a daemon works on the schema before its own'
stop_master "$MASTER"

#
# A database of Pillar, relayed while it is upgraded
#
drop_tables
sql 'ALTER DATABASE app CHARACTER SET utf8mb4 COLLATE utf8mb4_unicode_ci'
"$SANDBOX" sql "$DIR/db" app < "$srcdir/tests/lib/pillar.sql"
# fill FROM: 200 rows of 20 keys
fill() {
	sql "INSERT INTO events (stream_id, stream_sequence, event_type,
		event_data)
	    SELECT CONCAT('key', n % 20), $1 + n, 'pillar.event', '{}'
	    FROM $(numbers 200) ORDER BY n;
	INSERT INTO outbox (global_sequence, partition_key)
	    SELECT sequence, CONCAT('p', LPAD(CRC32(stream_id) % 16, 2, '0'))
	    FROM events WHERE stream_sequence >= $1"
}
fill 1000
sql 'ANALYZE TABLE outbox' > /dev/null
ctl schema check
is "$RC" 0 'Pillar: the daemon runs there as it is'
is "$(grep -c '^fail' <<< "$OUT")" 0 'nothing fails'
is "$(grep -c '^warn' <<< "$OUT")" 16 'some things could be better'
is "$(grep -c 'is not read by the daemon' <<< "$OUT")" 3 'three indexes are not needed'
is "$(grep -c 'coarser than' <<< "$OUT")" 4 'moments are whole seconds'
is "$(grep -c 'partition_key is' <<< "$OUT")" 1 'labels of new tables will be compared'
like "$OUT" '^note: outbox: foreign key' 'the foreign key costs'
sql "CREATE USER 'relay'@'localhost' IDENTIFIED BY '$OUTBOX_PW';
    GRANT SELECT ON events TO 'relay'@'localhost';
    GRANT SELECT, INSERT, UPDATE, DELETE ON outbox TO 'relay'@'localhost';
    GRANT SELECT, INSERT, UPDATE ON outbox_partitions TO 'relay'@'localhost';
    GRANT SELECT, INSERT, UPDATE, DELETE ON outbox_workers
	TO 'relay'@'localhost'"
sed 's/user: outbox,/user: relay,/' "$CONF" > "$DIR/relay.yml"
WITH=$OUT
ctl -c "$DIR/relay.yml" schema check
is "$RC $(sed 's/; remedy.*//' <<< "$OUT")" "0 $(sed 's/; remedy.*//' <<< "$WITH")" \
    'an account with rights on these tables only is told the same'
like "$OUT" "no such table.*; GRANT SELECT, INSERT, UPDATE ON .outbox_dead_letters. TO 'relay'@'localhost'; GRANT DELETE ON" \
    'and which rights it needs on the others'
BEFORE=$(structure | cksum)$(tables)
ctl -c "$OWNER" schema upgrade --dry-run
is "$RC" 0 'upgrade, dry'
is "$(cut -d: -f1 <<< "$OUT" | sort -u)" warn 'tells what it would do'
like "$(head -1 <<< "$OUT")" 'ADD KEY `outbox_claim`.*ALGORITHM=INPLACE, LOCK=NONE$' \
    'the index first, online'
is "$(structure | cksum)$(tables)" "$BEFORE" 'and changes nothing'
ctl -c "$OWNER" schema upgrade
is "$RC" 1 'many rows: it does not go on unasked'
like "$ERR" 'confirm it with --yes' 'and says how'
is "$(structure | cksum)$(tables)" "$BEFORE" 'nothing is changed'
ctl schema upgrade --yes
is "$RC" 1 'without the right to alter'
like "$ERR" 'denied' 'that is said'
is "$(structure | cksum)$(tables)" "$BEFORE" 'nothing is changed'

LOG=$DIR/pillar.log
start_master
drains 30 'the daemon relays'
for from in 2000 3000 4000 5000 6000; do
	fill "$from"
done &
FILLER=$!
ctl -c "$OWNER" schema upgrade --yes
is "$RC$ERR" 0 'upgraded meanwhile'
like "$OUT" '^16 changes made' 'and told'
wait "$FILLER"
drains 30 'the daemon relays on'
is "$(sql "SELECT outbox_id FROM outbox_settings")" app \
    'message ids begin as before'
is "$(sql "SELECT command, changed FROM outbox_audit")" "schema upgrade	16" \
    'the audit has it'
ctl schema check
is "$RC $(cut -d: -f1 <<< "$OUT" | sort -u)" '0 note' 'what is left is a note'
ctl -c "$OWNER" schema upgrade
is "$RC$OUT" '0Nothing to upgrade.' 'once more: nothing to do'
ctl -c "$OWNER" schema upgrade --dry-run
is "$RC$OUT" '0Nothing to upgrade.' 'which a dry run says, too'
is "$(sql "SELECT COUNT(DISTINCT index_name) FROM
    information_schema.statistics WHERE table_schema = 'app' AND
    table_name = 'outbox'")" 5 'no index is dropped'
: > "$LOG"
OLD=$(worker_pids "$MASTER")
all_new() { ! worker_pids "$MASTER" | grep -qFx "$OLD"; }
kill -HUP "$MASTER"
wait_for 30 all_new && wait_for 30 all_owned
fill 7000
drains 30 'reloaded, it relays on'
wait_for 30 is_sql 'SELECT COUNT(*) > 0 FROM outbox WHERE ack_sequence IS NOT NULL' 1
ok $? 'and uses what is new'
! has_line "$LOG" 'remedy|no such table'
ok $? 'it misses nothing any more'
check_stream 'complete, nothing twice' --wait 10
stop_master "$MASTER"

# Columns that keep keys and types of events, and are narrower.
column() { sql "SELECT LOWER(column_type) FROM information_schema.columns
    WHERE table_schema = 'app' AND table_name = '$1' AND column_name = '$2'"; }
sql 'ALTER TABLE events MODIFY event_type VARCHAR(2000) NOT NULL;
    ALTER TABLE outbox_dead_letters MODIFY order_key VARCHAR(20) NULL,
	MODIFY event_type VARBINARY(100) NULL;
    ALTER TABLE outbox_blocked_keys MODIFY order_key VARBINARY(30) NULL'
ctl schema check
is "$(grep -c 'event_type has room for 100 bytes, and event_type of events for 8000' \
    <<< "$OUT")" 1 'a type that is longer than its copy may be'
like "$OUT" 'order_key has room for 30 bytes, and stream_id of events for' \
    'and a key'
like "$OUT" 'order_key is varchar\(20\)' 'a copy that is text is found once'
is "$(grep -c 'outbox_dead_letters.*order_key' <<< "$OUT")" 1 'and no more'
ctl -c "$OWNER" schema upgrade --yes
is "$RC$ERR" 0 'they are widened'
is "$(column outbox_dead_letters event_type)" 'varbinary(8000)' \
    'as wide as the event, or wider'
is "$(column outbox_dead_letters order_key)" 'varbinary(4000)' 'text is bytes'
ctl -c "$OWNER" schema upgrade
is "$RC$OUT" '0Nothing to upgrade.' 'and that is all'
sql 'ALTER TABLE events MODIFY event_type LONGTEXT NOT NULL'
ctl -c "$OWNER" schema upgrade --yes
is "$(column outbox_dead_letters event_type)" longblob 'whatever that is'
ctl -c "$OWNER" schema upgrade
is "$RC$OUT" '0Nothing to upgrade.' 'nor is it found for ever'

"$SANDBOX" stop "$DIR/db" >/dev/null
for command in install check upgrade; do
	ctl schema "$command"
	is "$RC" 69 "$command: the server is away"
done
done_testing
