#!/usr/bin/env bash
# outboxctl schema: prints, makes, compares and mends the tables of schema.sql
. "${srcdir:-$(dirname "$0")/../..}/tests/lib/ctl.sh"

start_servers
write_conf
as_operator

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
	sql 'DROP PROCEDURE IF EXISTS outbox_enqueue;
	    DROP PROCEDURE IF EXISTS outbox_put'
}

#
# print
#
exits 0 'schema print: exit status 0' schema print
is "$OUT" "$(cat "$srcdir/sql/schema.sql")" 'schema print prints schema.sql'
ctl --json schema print
shows .sql "$(cat "$srcdir/sql/schema.sql")" 'schema print --json: the same'
NAMES='tables: {outbox: shop-out, events: order, partitions: shop_parts, workers: shop_workers, settings: shop_settings, dead_letters: shop_dead, blocked_keys: shop_blocked, streams: shop_streams, audit: shop_audit, registry: shop_registry}'
sed "s/ordering:/$NAMES, ordering:/" "$OP" > "$DIR/shop.yml"
ctl -c "$DIR/shop.yml" schema print
is "$RC" 0 'schema print with other names of tables: exit status 0'
is "$(sed 's/`shop-out_\(enqueue\|put\)`/outbox_\1/g; s/`shop-out_claim`/outbox_claim/
    s/`shop-out`/outbox/g; s/`order\(_stream\)\?`/events\1/g
    s/`shop_settings\([a-z_]*\)`/outbox_settings\1/g
    s/`shop_workers\([a-z_]*\)`/outbox_workers\1/g
    s/`shop_blocked\([a-z_]*\)`/outbox_blocked_keys\1/g
    s/`shop_parts`/outbox_partitions/g; s/`shop_dead`/outbox_dead_letters/g
    s/`shop_streams`/outbox_streams/g; s/`shop_audit`/outbox_audit/g
    s/`shop_registry\([a-z_]*\)`/outbox_registry\1/g' \
    <<< "$OUT")" "$(cat "$srcdir/sql/schema.sql")" \
    'schema print: other names are the only difference'
sed "s/shop_settings/$(printf '%60s' '' | tr ' ' s)/" "$DIR/shop.yml" \
    > "$DIR/long.yml"
fails 1 'outbox.tables.settings: s+_one_row would be longer than 64' \
    'schema print with a name that is too long for its constraint' \
    -c "$DIR/long.yml" schema print

#
# install
#
BEFORE=$(structure | cksum)
drop_tables
ctl -c "$OP" schema install --dry-run
is "$RC" 0 'schema install --dry-run: exit status 0'
like "$OUT" '^Would create outbox, events, .*outbox_registry\.$' \
    'schema install --dry-run: says what it would do'
is "$(structure)" '' 'schema install --dry-run makes nothing'
ctl schema install
is "$RC" 1 'schema install without the right to CREATE: exit status 1'
like "$ERR" '^outboxctl: schema install: .*denied' \
    'schema install without the right: the error says so'
is "$(wc -l <<< "$ERR")" 1 'schema install, no right: the error is one line'
ctl -c "$OP" schema install
is "$RC$ERR" 0 'schema install: exit status 0'
like "$OUT" '^Created outbox, events, .*outbox_registry\.$' \
    'schema install: says what it has made'
is "$(structure | cksum)" "$BEFORE" \
    'schema install makes what the client program makes of the file'
is "$(sql 'SELECT command, login, changed FROM outbox_audit')" \
    "schema install	operator@localhost	10" \
    'schema install is audited'
BEFORE=$(structure; sql 'SELECT * FROM outbox_settings')
ctl -c "$OP" --json schema install
is "$RC$(field .changed)" 00 'schema install again: no change'
is "$(structure; sql 'SELECT * FROM outbox_settings')" "$BEFORE" \
    'schema install again changes neither tables nor settings'
ctl -c "$DIR/shop.yml" schema install
is "$RC$ERR" 0 'schema install of a second outbox: exit status 0'
is "$(sql "SELECT GROUP_CONCAT(routine_name ORDER BY 1)
    FROM information_schema.routines WHERE routine_schema = 'app'")" \
    'outbox_enqueue,outbox_put,shop-out_enqueue,shop-out_put' \
    'the second outbox has its own procedures'
sql "UPDATE shop_settings SET partition_count = 4; START TRANSACTION;
    CALL \`shop-out_enqueue\`('a', NULL, 't', 1, NULL, NULL, 'x'); COMMIT"
rows_are 1 '`shop-out` JOIN `order` ON sequence = global_sequence' \
    'its procedure writes to its own tables'
rows_are 0 outbox 'its procedure writes nothing to the usual tables'
is "$(sql 'SELECT COUNT(DISTINCT outbox_id) FROM (SELECT outbox_id FROM
    outbox_settings UNION SELECT outbox_id FROM shop_settings) t')" 2 \
    'it has an outbox_id of its own'
ctl -c "$DIR/shop.yml" schema check
like "$OUT" '^warn: shop_registry: the outbox of outbox_settings is not in it' \
    'another registry does not have the usual outbox'
sql "INSERT INTO shop_registry (name, source, settings)
    VALUES ('outbox', 'events', 'outbox_settings')"
ctl -c "$DIR/shop.yml" schema check
is "$RC$OUT$ERR" 0 'schema check of the second outbox prints nothing'
sql 'ALTER TABLE `shop-out` DROP KEY `shop-out_claim`, DROP COLUMN ack_sequence;
    ALTER TABLE shop_workers ENGINE = MyISAM'
ctl -c "$DIR/shop.yml" doctor
ALTERS=$(grep -o 'ALTER TABLE .*' <<< "$OUT" | sort -u)
is "$(wc -l <<< "$ALTERS")" 3 'doctor has three statements for it'
is "$(sql "$(sed 's/$/;/' <<< "$ALTERS")" 2>&1)" '' \
    'they can be run as they are, with any name of a table'
ctl -c "$DIR/shop.yml" schema check
not has_line <(echo "$OUT") '^(warn|fail)'
ok $? 'and mend it'
sql 'DROP TABLE `shop-out`, `order`, shop_parts, shop_workers, shop_settings,
    shop_dead, shop_blocked, shop_streams, shop_audit, shop_registry;
    DROP PROCEDURE `shop-out_enqueue`; DROP PROCEDURE `shop-out_put`'

#
# check: one difference at a time, found, and mended by its remedy
#
ctl schema check
is "$RC$OUT$ERR" 0 "schema check with the daemon's account prints nothing"
BEFORE=$(tables)
ctl --json schema check
is "$RC$OUT" '0[]' 'schema check --json: an empty list'
is "$(tables)" "$BEFORE" 'schema check changes no table'
while IFS='|' read -r rc level text damage; do
	sql "$damage"
	ctl --json schema check
	is "$RC $(field '.[0].level')" "$rc $level" "$damage: $level"
	like "$(field '.[0].what + ": " + .[0].cost')" "$text" \
	    "$damage: the text says what is wrong"
	sql "$(field '.[0].remedy')"
	ctl schema check
	is "$RC$OUT$ERR" 0 "$damage: the remedy mends it"
done <<'EOF'
0|warn|^outbox: no index.*every claim sorts|ALTER TABLE outbox DROP KEY outbox_claim
0|warn|^outbox: no column ack_sequence: .*are not found|ALTER TABLE outbox DROP COLUMN ack_sequence
0|warn|^outbox: no column replay_no: .*replay does not work|ALTER TABLE outbox DROP COLUMN replay_no
1|fail|^outbox_dead_letters: no column replay_no: .*cannot run|ALTER TABLE outbox_dead_letters DROP COLUMN replay_no
1|fail|^outbox_partitions: no column former_label_at: .*cannot run|ALTER TABLE outbox_partitions DROP COLUMN former_label_at
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
0|warn|^outbox_streams: no column accepted: .*checked once|ALTER TABLE outbox_streams DROP COLUMN accepted
0|warn|^outbox_workers: no column away: a worker that reaches no destination keeps its partitions|ALTER TABLE outbox_workers DROP COLUMN away
0|warn|^outbox_partitions: partition_key is utf8mb4_general_ci, but that of outbox is utf8mb4_bin|ALTER TABLE outbox_partitions MODIFY partition_key VARCHAR(64) COLLATE utf8mb4_general_ci NOT NULL
1|fail|^outbox_dead_letters: no such table.*cannot run|DROP TABLE outbox_dead_letters
1|fail|^outbox_settings: no such table.*cannot run|DROP TABLE outbox_settings
1|fail|^outbox_settings: has no row|DELETE FROM outbox_settings
0|warn|^outbox_settings: schema version 0 is older|UPDATE outbox_settings SET schema_version = 0
1|fail|^outbox_partitions: no such table.*cannot run|DROP TABLE outbox_partitions
1|fail|^outbox: 'outbox'@'localhost' may not DELETE:|REVOKE DELETE ON outbox FROM 'outbox'@'localhost'
1|fail|^events: no such table, or no right to see it|REVOKE SELECT ON events FROM 'outbox'@'localhost'
1|fail|^outbox_workers: 'outbox'@'localhost' may not INSERT, UPDATE:|REVOKE INSERT, UPDATE ON outbox_workers FROM 'outbox'@'localhost'
0|warn|^outbox: 'outbox'@'localhost' may not INSERT: reconcile.at_start|REVOKE INSERT ON outbox FROM 'outbox'@'localhost'
0|warn|^outbox_dead_letters: .* may not DELETE: retention.dead_days|REVOKE DELETE ON outbox_dead_letters FROM 'outbox'@'localhost'
0|warn|^outbox_audit: 'outbox'@'localhost' may not SELECT:|REVOKE SELECT ON outbox_audit FROM 'outbox'@'localhost'
EOF
sql 'ALTER TABLE outbox_partitions MODIFY partition_key VARCHAR(64)
    COLLATE utf8mb4_general_ci NOT NULL; ALTER TABLE outbox MODIFY
    partition_key VARCHAR(64) COLLATE utf8mb4_unicode_ci NULL'
ctl schema check
is "$RC" 1 'labels with collations that cannot be compared: exit status 1'
like "$OUT" '^fail: outbox_partitions: .*; remedy: ALTER TABLE' \
    'schema check without --json: one line with the remedy'
ctl -c "$OP" schema upgrade
is "$RC$ERR" 0 'schema upgrade mends the collation: exit status 0'
ctl schema check
is "$OUT" '' 'schema upgrade mends the blocked keys as well'
sql "ALTER PROCEDURE outbox_enqueue COMMENT 'of my own'"
exits 0 'a changed procedure: exit status 0' -c "$OP" schema check
like "$OUT" '^note: procedure outbox_enqueue: it is not of this version' \
    'a changed procedure: a note'
[ "$KIND" != mysql ] || sql 'DROP PROCEDURE outbox_enqueue'
ctl -c "$OP" schema install
ctl -c "$OP" schema check
is "$RC$OUT" 0 'schema install replaces a changed procedure'
sql "ALTER PROCEDURE outbox_enqueue COMMENT 'outbox-master, procedures 2'"
ctl -c "$OP" schema check
like "$OUT" '^warn: procedure outbox_enqueue: it is not of this version' \
    'an older procedure: a warning'
if [ "$KIND" = mysql ]; then
	sql 'DROP PROCEDURE outbox_enqueue'
	ctl -c "$OP" schema install
else
	ctl -c "$OP" schema upgrade
	is "$RC$ERR" 0 'schema upgrade of an older procedure: exit status 0'
fi
ctl -c "$OP" schema check
is "$RC$OUT" 0 'schema upgrade replaces an older procedure'

# What enqueuing makes SQL of: constraints.
sql 'ALTER TABLE outbox_settings DROP CONSTRAINT outbox_settings_by;
    ALTER TABLE outbox_registry DROP CONSTRAINT outbox_registry_names'
ctl -c "$OP" schema check
is "$(grep -c '^warn: outbox_.*: no constraint outbox_' <<< "$OUT")" 2 \
    'constraints that are missing: warnings'
ctl -c "$OP" schema upgrade
ctl -c "$OP" schema check
is "$RC$OUT" 0 'schema upgrade adds them'

# A transaction uses the table for six seconds, and a producer needs it.
sql 'ALTER TABLE outbox DROP KEY outbox_claim'
sql 'START TRANSACTION; SELECT COUNT(*) FROM outbox; DO SLEEP(6); COMMIT' \
    > /dev/null &
KEEPER=$!
wait_for 10 is_sql "SELECT COUNT(*) FROM information_schema.processlist
    WHERE info = 'DO SLEEP(6)'" 1
ctl -c "$OP" schema upgrade > /dev/null &
UPGRADER=$!
wait_for 10 is_sql "SELECT COUNT(*) FROM information_schema.processlist
    WHERE info LIKE 'ALTER TABLE%' AND state LIKE 'Waiting for%'" 1
ok $? 'schema upgrade waits for a transaction that uses the table'
START=$(now_ms)
sql 'SELECT COUNT(*) FROM outbox' > /dev/null
check 'other statements do not wait behind it for more than a second' \
    [ $(($(now_ms) - START)) -lt 3000 ]
wait "$KEEPER" "$UPGRADER"
ctl schema check
is "$RC$OUT" 0 'the upgrade is done when the table is free'

sql 'UPDATE outbox_settings SET schema_version = 99'
exits 1 'schema check of a newer schema: exit status 1' schema check
like "$OUT" '^fail: .*version 99 is newer.*install a newer one$' \
    'schema check of a newer schema: the only remedy is a newer program'
for command in install upgrade; do
	ctl -c "$OP" schema "$command" --yes
	is "$RC" 1 "schema $command of a newer schema: exit status 1"
	like "$ERR" "^outboxctl: schema $command: schema version 99 is newer" \
	    "schema $command of a newer schema: the error says why"
done
sql 'UPDATE outbox_settings SET schema_version = 0; DROP TABLE outbox_blocked_keys'
sed 's/retry: {/retry: {on_dead: halt, /' "$CONF" > "$DIR/halt.yml"
ctl -c "$DIR/halt.yml" schema check
is "$RC" 1 'on_dead halt without the table of blocked keys: exit status 1'
like "$OUT" '^fail: outbox_blocked_keys: no such table' \
    'on_dead halt without the table: the line says so'
for file in debian/outbox-master.postinst packaging/outbox-master.spec.in; do
	pattern=$(sed -n "s/.*grep -E '\(.*\)' >&2$/\1/p" "$srcdir/$file")
	like "$OUT" "${pattern:?}" "$file: the daemon is not restarted then"
	like 'fail: events: no column sequence: ' "$pattern" \
	    "$file: nor without a column"
done

#
# The version rule: the one before its own, and nothing between them
#
like "$("$OUTBOX_MASTER" -c "$CONF" --once --silent 2>&1)" \
    'table app.outbox_blocked_keys is missing or not granted: run outboxctl schema upgrade' \
    'the daemon refuses a database with some of our tables'
exits 0 'schema upgrade makes the others' -c "$OP" schema upgrade
sql 'UPDATE outbox_settings SET schema_version = 1;
    ALTER TABLE outbox_streams DROP COLUMN leader, DROP COLUMN gaps,
	DROP COLUMN damage, DROP COLUMN gaps_since, DROP COLUMN scrub_whole,
	DROP COLUMN suspicion, DROP COLUMN suspected_at,
	DROP COLUMN look_after, DROP COLUMN scrubber, DROP COLUMN scrubber_until,
	DROP COLUMN scrub_for, DROP COLUMN scrub_began, DROP COLUMN scrub_at,
	DROP COLUMN scrub_rows, DROP COLUMN scrub_ended, DROP COLUMN scrub_ms,
	DROP COLUMN missing, DROP COLUMN missing_at, DROP COLUMN holes,
	DROP COLUMN accepted, DROP COLUMN server_since, DROP COLUMN rival,
	DROP COLUMN rival_at;
    ALTER TABLE outbox_workers DROP COLUMN instance, DROP COLUMN server,
	DROP COLUMN away'
check 'the daemon works with the schema version before its own' start_fleet
stop_master "$MASTER"
sql 'ALTER TABLE outbox_settings DROP COLUMN reconcile_watermark'
fails 1 'reconcile_watermark.* \(1054\): outboxctl schema upgrade adds' \
    'schema install on older tables: it names schema upgrade' -c "$OP" \
    schema install
exits 0 'schema upgrade adds what they lack' -c "$OP" schema upgrade
exits 0 'then schema install succeeds' -c "$OP" schema install

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
exits 0 'Pillar: schema check exits with 0' schema check
is "$(grep -c '^fail' <<< "$OUT")" 0 'Pillar: no failure'
is "$(grep -c '^warn' <<< "$OUT")" 17 'Pillar: 17 warnings'
is "$(grep -c 'is not read by the daemon' <<< "$OUT")" 3 \
    'Pillar: notes on three indexes that are not used'
is "$(grep -c 'coarser than' <<< "$OUT")" 4 'Pillar: four columns of seconds'
is "$(grep -c 'partition_key is' <<< "$OUT")" 1 \
    'Pillar: a line on the collation of new tables'
like "$OUT" '^note: outbox: foreign key' 'Pillar: a note on the foreign key'
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
    'Pillar: an account with rights on these tables gets the same lines'
like "$OUT" "no such table.*; GRANT SELECT, INSERT, UPDATE ON .app...outbox_dead_letters. TO 'relay'@'localhost'; GRANT DELETE ON" \
    'Pillar: the remedy has the rights on the missing tables'
BEFORE=$(structure | cksum)$(tables)
ctl -c "$OP" schema upgrade --dry-run
is "$RC" 0 'Pillar: schema upgrade --dry-run exits with 0'
is "$(cut -d: -f1 <<< "$OUT" | sort -u)" warn \
    'Pillar: schema upgrade --dry-run prints the warnings'
like "$(head -1 <<< "$OUT")" 'ADD KEY `outbox_claim`.*ALGORITHM=INPLACE, LOCK=NONE$' \
    'Pillar: the first change is the index, made online'
is "$(structure | cksum)$(tables)" "$BEFORE" \
    'Pillar: schema upgrade --dry-run changes nothing'
ctl -c "$OP" schema upgrade
is "$RC" 1 'Pillar: schema upgrade of many rows without --yes: exit status 1'
like "$ERR" 'confirm it with --yes' 'Pillar: the error names --yes'
is "$(structure | cksum)$(tables)" "$BEFORE" 'Pillar: refused, nothing changes'
ctl schema upgrade --yes
is "$RC" 1 'Pillar: schema upgrade without the right to ALTER: exit status 1'
like "$ERR" 'denied' 'Pillar: the error says so'
is "$(structure | cksum)$(tables)" "$BEFORE" \
    'Pillar: an upgrade without the right changes nothing'

LOG=$DIR/pillar.log
start_master
drains 30 'Pillar: the daemon delivers all rows'
for from in 2000 3000 4000 5000 6000; do
	fill "$from"
done &
FILLER=$!
ctl -c "$OP" schema upgrade --yes
is "$RC$ERR" 0 'Pillar: schema upgrade beside a daemon: exit status 0'
like "$OUT" '^17 changes made' 'Pillar: upgrade prints the number of changes'
wait "$FILLER"
drains 30 'Pillar: the daemon delivers all rows after the upgrade'
is "$(sql "SELECT outbox_id FROM outbox_settings")" app \
    'Pillar: message ids go on with the name of the database'
is "$(sql "SELECT command, changed FROM outbox_audit")" "schema upgrade	17" \
    'Pillar: schema upgrade is in the audit'
ctl schema check
is "$RC $(cut -d: -f1 <<< "$OUT" | sort -u)" '0 note' \
    'Pillar: schema check has only notes afterwards'
ctl -c "$OP" schema upgrade
is "$RC$OUT" '0Nothing to upgrade.' 'Pillar: a second upgrade does nothing'
ctl -c "$OP" schema upgrade --dry-run
is "$RC$OUT" '0Nothing to upgrade.' \
    'Pillar: upgrade --dry-run: nothing to do'
is "$(sql "SELECT COUNT(DISTINCT index_name) FROM
    information_schema.statistics WHERE table_schema = 'app' AND
    table_name = 'outbox'")" 5 'Pillar: schema upgrade drops no index'
: > "$LOG"
OLD=$(worker_pids "$MASTER")
all_new() { ! worker_pids "$MASTER" | grep -qFx "$OLD"; }
kill -HUP "$MASTER"
wait_for 30 all_new && wait_for 30 all_owned
fill 7000
drains 30 'Pillar: the daemon delivers all rows after a reload'
within 30 'Pillar: after a reload ack_sequence is written' \
    is_sql 'SELECT COUNT(*) > 0 FROM outbox WHERE ack_sequence IS NOT NULL' 1
check 'Pillar: after a reload no table is reported as missing' \
    not has_line "$LOG" 'remedy|no such table'
check_stream 'the stream is complete, nothing twice' --wait 10
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
    <<< "$OUT")" 1 'event_type of events is longer than its copies: one line'
like "$OUT" 'order_key has room for 30 bytes, and stream_id of events for' \
    'stream_id of events is longer than its copy: a line'
like "$OUT" 'order_key is varchar\(20\)' 'a copy that is text: a line'
is "$(grep -c 'outbox_dead_letters.*order_key' <<< "$OUT")" 1 \
    'a copy that is text: one line, not two'
ctl -c "$OP" schema upgrade --yes
is "$RC$ERR" 0 'schema upgrade widens the copies: exit status 0'
is "$(column outbox_dead_letters event_type)" 'varbinary(8000)' \
    'event_type of dead letters is as wide as that of events'
is "$(column outbox_dead_letters order_key)" 'varbinary(4000)' \
    'order_key of dead letters is bytes, and wide enough'
ctl -c "$OP" schema upgrade
is "$RC$OUT" '0Nothing to upgrade.' 'another upgrade has nothing to do'
sql 'ALTER TABLE events MODIFY event_type LONGTEXT NOT NULL'
ctl -c "$OP" schema upgrade --yes
is "$(column outbox_dead_letters event_type)" longblob \
    'a LONGTEXT gets a LONGBLOB as its copy'
ctl -c "$OP" schema upgrade
is "$RC$OUT" '0Nothing to upgrade.' 'the next upgrade has nothing to do'

without_server 'schema install' 'schema check' 'schema upgrade'
done_testing
