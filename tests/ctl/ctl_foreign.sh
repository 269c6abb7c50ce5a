#!/usr/bin/env bash
# outboxctl schema with outbox.columns and a table of another program: what it
# proposes, what it leaves to the operator, and what it never does
. "${srcdir:-$(dirname "$0")/../..}/tests/lib/ctl.sh"
. "$srcdir/tests/lib/inline.sh"

start_servers
sql "CREATE USER 'boss'@'localhost' IDENTIFIED BY '$OUTBOX_PW';
    GRANT ALL ON *.* TO 'boss'@'localhost'"
drop_tables
"$SANDBOX" sql "$DIR/db" app < "$srcdir/tests/lib/shapes.sql"

# mapped COLUMNS: the table with this outbox.columns
mapped() {
	export OUTBOX="mode: inline, columns: {$1}"
	PARTITIONS=4 write_conf
	sed -i 's/user: outbox,/user: boss,/' "$CONF"
}
count_of() { grep -c "$1" <<< "$OUT"; }

#
# No number in the primary key
#
mapped 'published_at: sent_at'
exits 1 'schema check of a table without an order fails' schema check
like "$OUT" 'fail: outbox_messages: id is CHAR.36., and the order needs a number: set outbox.columns: .id: outbox_seq, message_id: id.; rows that are there are numbered by created_at.*; remedy: LOCK TABLES `outbox_messages` WRITE; ALTER TABLE `outbox_messages` ADD COLUMN `outbox_seq` BIGINT' \
    'it says how the order gets a number'
like "$(head -n 1 <<< "$OUT")" \
    '^[0-9]+ must, [0-9]+ should, [0-9]+ may: outboxctl schema upgrade does [0-9]+ of them$' \
    'it begins with a summary'
is "$(count_of 'CREATE TABLE .*ENGINE')" 0 'and shows no whole CREATE TABLE'
is "$(count_of 'MODIFY `*id`*')" 0 'no ALTER makes the primary key a number'
is "$(count_of 'ADD KEY .*(sent_at,partition_key,id)')" 0 \
    'nor an index by it'
is "$(count_of 'DROP KEY')" 0 'and none drops an index'
mapped 'id: outbox_seq, message_id: id, published_at: sent_at'
ctl schema check
is "$(count_of 'DROP KEY\|message_id: idempotency_key')" 0 \
    'with a message_id the index is noted, and nothing proposed'
sql 'ALTER TABLE outbox_messages ADD KEY mine (status)'
matches 'note: outbox_messages: index mine' 'schema check' schema check
is "$(count_of 'DROP KEY')" 0 'nor is the DROP of an index that is not unique'
sql 'ALTER TABLE outbox_messages DROP KEY mine'

#
# NULL in available_at
#
like "$OUT" 'fail: outbox_messages: available_at is timestamp NULL, .*: rows with NULL there are never sent; remedy: UPDATE `outbox_messages` SET `*available_at`* = .* IS NULL; ALTER TABLE `outbox_messages` MODIFY `*available_at`* TIMESTAMP.6. NOT NULL DEFAULT CURRENT_TIMESTAMP' \
    'a nullable available_at fails, with the UPDATE before the ALTER'

#
# What upgrade leaves to the operator
#
names_left() {
	like "$OUT" 'fail: outbox_messages: available_at is .*remedy: UPDATE .outbox_messages. SET' \
	    "$1 names what is left"
}
sql "INSERT INTO outbox_messages (id, topic, payload, created_at) VALUES
    ('f', 't', '1', '2026-01-01 10:00:01'), ('c', 't', '2', '2026-01-01 10:00:02'),
    ('a', 't', '3', '2026-01-01 10:00:03'), ('e', 't', '4', '2026-01-01 10:00:04'),
    ('b', 't', '5', '2026-01-01 10:00:05'), ('d', 't', '6', '2026-01-01 10:00:06')"
ctl schema upgrade --dry-run
is "$RC" 1 'upgrade --dry-run: exit status 1, as of upgrade'
like "$OUT" 'Left to the operator:' 'it says what is left'
names_left 'upgrade --dry-run'
like "$OUT" 'CREATE TABLE .*outbox_dead_letters.*ENGINE' \
    'with the whole CREATE TABLE'
like "$OUT" 'ADD COLUMN claim_token' 'beside what it would do'
ctl --json schema upgrade --dry-run
is "$RC $(field '[.[] | select(.upgrade | not) | .level] | unique |
    join(" ")')" '1 fail' 'and so with --json'
sql "CREATE TRIGGER no_update BEFORE UPDATE ON outbox_messages FOR EACH ROW
    SIGNAL SQLSTATE '45000' SET MESSAGE_TEXT = 'not now'"
fails 1 'not now' 'rows that cannot be numbered' schema upgrade --yes
is "$(sql "SELECT COUNT(*) FROM information_schema.columns WHERE table_schema =
    'app' AND column_name = 'outbox_seq'")" 0 'leave no column half done'
sql 'DROP TRIGGER no_update; DELETE FROM outbox_audit' 2> /dev/null
ctl schema upgrade --yes
is "$RC" 1 'upgrade: exit status 1'
like "$OUT" '^[0-9]+ changes made; left to the operator:' \
    'upgrade counts its changes'
names_left upgrade
is "$ERR" '' 'and there is no other error'
is "$(sql 'SELECT GROUP_CONCAT(id ORDER BY outbox_seq) FROM outbox_messages')" \
    f,c,a,e,b,d 'rows that wait are numbered by the time of their creation'
is "$(sql "SELECT changed > 5 FROM outbox_audit
    WHERE command = 'schema upgrade'")" 1 'the changes are in the audit'
ctl --json schema upgrade --yes
is "$RC $(field '.changed, (.left | length > 0)' | paste -sd' ')" \
    '1 0 true' 'upgrade --json'

sql "INSERT INTO outbox_messages (id, topic, payload)
    VALUES ('next', 't', '{}')"
is "$(sql "SELECT outbox_seq FROM outbox_messages WHERE id = 'next'")" 7 \
    'and the next row follows them'
ctl --json schema check
sql "$(field '[.[] | select(.level == "fail") | .remedy] | join(";")')"
exits 0 'after the ALTERs of schema check upgrade succeeds' \
    schema upgrade --yes
exits 0 'and check' schema check
is "$(count_of '^fail\|^warn')" 0 'which finds nothing that fails'
rows_are 7 'outbox_messages WHERE available_at <= NOW(6)' \
    'the rows that had NULL are due'
exits 0 'upgrade has nothing left' schema upgrade
is "$OUT" 'Nothing to upgrade.' 'and says so'

# Columns of theirs may be words of SQL.
sql 'ALTER TABLE outbox_messages DROP KEY outbox_messages_claim,
    CHANGE partition_key `group` VARCHAR(64) COLLATE utf8mb4_bin NULL,
    CHANGE sent_at `order-by` TIMESTAMP(6) NULL'
mapped 'id: outbox_seq, message_id: id, published_at: order-by, partition_key: group'
exits 0 'upgrade with words of SQL for columns' schema upgrade --yes
is "$(sql "SELECT GROUP_CONCAT(column_name ORDER BY seq_in_index)
    FROM information_schema.statistics WHERE table_schema = 'app'
    AND index_name = 'outbox_messages_claim'")" 'order-by,group,outbox_seq' \
    'makes the index of the claim'
sql 'ALTER TABLE outbox_messages
    CHANGE `group` partition_key VARCHAR(64) COLLATE utf8mb4_bin NULL,
    CHANGE `order-by` sent_at TIMESTAMP(6) NULL'
mapped 'id: outbox_seq, message_id: id, published_at: sent_at'

# The daemon runs on such a table; such a row waits for ever.
sql 'ALTER TABLE outbox_messages MODIFY available_at TIMESTAMP(6) NULL;
    UPDATE outbox_messages SET available_at = NULL'
shows .waits_for 'nothing: its available_at is NULL' 'messages show' \
    messages show 7

# A key that is a number: one run makes all of it, with the index of the claim.
sql 'CREATE TABLE numbered (id BIGINT UNSIGNED NOT NULL AUTO_INCREMENT PRIMARY
    KEY, topic VARCHAR(255) NOT NULL, payload JSON NOT NULL,
    created_at TIMESTAMP NULL DEFAULT NULL)'
OUTBOX='mode: inline, tables: {messages: numbered}' write_conf
sed -i 's/user: outbox,/user: boss,/' "$CONF"
exits 0 'upgrade of a table whose key is a number' schema upgrade --yes
exits 0 'has nothing left' schema upgrade
is "$OUT" 'Nothing to upgrade.' 'not even the index of the claim'
done_testing
