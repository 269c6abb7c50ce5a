#!/usr/bin/env bash
# outboxctl schema: what sql/schema.sql says, printed, made, compared and mended
. "$(dirname "$0")/lib.sh"
. "$srcdir/tests/ctl.sh"

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
	SELECT routine_name, SHA2(routine_definition, 256)
	    FROM information_schema.routines WHERE routine_schema = 'app'"
}
drop_tables() {
	sql "SELECT CONCAT('DROP TABLE ', GROUP_CONCAT(CONCAT('\`', table_name,
	    '\`'))) FROM information_schema.tables WHERE table_schema = 'app'" | {
		read -r drop
		sql "$drop"
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
sed "s/shop_settings/$(printf '%60s' | tr ' ' s)/" "$DIR/shop.yml" \
    > "$DIR/long.yml"
ctl -c "$DIR/long.yml" schema print
is "$RC" 1 'a name that leaves no room for what is made of it'
like "$ERR" 'outbox.tables.settings: s+_one_row would be longer than 64' \
    'and it is said which'

#
# install
#
BEFORE=$(structure)
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
is "$(structure)" "$BEFORE" 'it is what the client program makes of the file'
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

done_testing
