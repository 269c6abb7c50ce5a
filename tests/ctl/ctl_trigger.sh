#!/usr/bin/env bash
# The trigger on events: an application that only writes events
. "${srcdir:-$(dirname "$0")/../..}/tests/lib/ctl.sh"

as_producer() {
	printf '%s\n' "$1" |
	    "$SANDBOX" sql "$DIR/db" -u outbox_producer -N app 2>&1
}
# event KEY NUMBER [TYPE]: what an application writes
event() { echo "INSERT INTO events (stream_id, stream_sequence, event_type,
    event_data) VALUES ('$1', $2, '${3:-order.paid}', 'x');"; }
counts() { sql 'SELECT CONCAT_WS(" ", (SELECT COUNT(*) FROM events),
    (SELECT COUNT(*) FROM outbox), (SELECT COUNT(*) FROM outbox_dead_letters))'; }
triggers() { sql "SELECT GROUP_CONCAT(trigger_name ORDER BY 1) FROM
    information_schema.triggers WHERE trigger_schema = 'app'"; }
# of TYPES [FILE]: the configuration with these publish.types
of() { sed "s/publish: {/&types: [$1], /" "${2:-$OWNER}" > "$DIR/types.yml"; }

start_servers log_bin=binlog server_id=7
PARTITIONS=4 write_conf
sql "CREATE USER 'owner'@'localhost' IDENTIFIED BY '$OUTBOX_PW';
    GRANT ALL ON app.* TO 'owner'@'localhost';
    ALTER USER 'outbox_producer'@'localhost' IDENTIFIED BY '';
    UPDATE outbox_settings SET partition_count = 4"
OWNER=$DIR/owner.yml
sed 's/user: outbox,/user: owner,/' "$CONF" > "$OWNER"

#
# print
#
ctl schema print --trigger
is "$RC" 0 'print needs no server'
is "$OUT" "$(cat "$srcdir/sql/trigger.sql")" 'it is the file, where all is published'
of "'order.*', \"it's_50%|\\\\\\\\\"" "$CONF"
ctl -c "$DIR/types.yml" schema print --trigger
like "$OUT" "NEW.event_type LIKE 'order.%' ESCAPE '\|' OR NEW.event_type LIKE x'697427737c5f35307c257c7c5c' ESCAPE '\|'" \
    'otherwise it has the types'
NAMES='tables: {outbox: shop-out, events: order, settings: shop_settings, dead_letters: shop_dead, partitions: shop_parts, workers: shop_workers, blocked_keys: shop_blocked, streams: shop_streams, audit: shop_audit}'
sed "s/ordering:/$NAMES, ordering:/" "$OWNER" > "$DIR/shop.yml"

#
# install
#
sql 'SET GLOBAL log_bin_trust_function_creators = 0'
ctl -c "$OWNER" schema install --trigger
is "$RC" 1 'the owner of the tables may not, where there is a binlog'
like "$ERR" 'binlog: CREATE TRIGGER takes SUPER, or SET GLOBAL log_bin_trust' \
    'and what to do about it'
is "$(triggers)" NULL 'nothing was made'
sql 'SET GLOBAL log_bin_trust_function_creators = 1'
ctl -c "$OWNER" schema install --trigger --dry-run
like "$OUT" '^Would create nothing.* the trigger on events\.$' 'a dry run'
is "$(triggers)" NULL 'makes nothing'
ctl -c "$OWNER" schema check --trigger
is "$RC" 0 'check --trigger'
like "$OUT" '^warn: events: no trigger, .*install --trigger' 'tells of none'
ctl -c "$OWNER" schema check
is "$RC$OUT" 0 'and without --trigger nobody misses it'
of "'order.*', \"it's_50%|\\\\\\\\\""
ctl -c "$DIR/types.yml" schema install --trigger
is "$RC$ERR" 0 'install'
is "$(triggers)" outbox_after_event 'makes it'
is "$(sql 'SELECT arguments, changed FROM outbox_audit ORDER BY id DESC LIMIT 1')" \
    '--trigger	1' 'on record'
ctl -c "$DIR/types.yml" schema check --trigger
is "$RC$OUT" 0 'as it should be'

#
# What they enqueue, for an account that may only write events
#
is "$(as_producer "REVOKE" | grep -c ERROR)" 1 'the producer is one'
sql "REVOKE INSERT ON outbox FROM 'outbox_producer'@'localhost';
    REVOKE SELECT ON outbox_settings FROM 'outbox_producer'@'localhost'"
is "$(as_producer "INSERT INTO events (stream_id, stream_sequence, event_type,
    event_data) SELECT CONCAT('grün', n), 1, IF(n < 3, 'order.paid',
    'Order.paid'), 'x' FROM (SELECT 1 AS n UNION SELECT 2 UNION SELECT 3) t")" \
    '' 'an application writes three events in a statement'
is "$(sql 'SELECT GROUP_CONCAT(partition_key ORDER BY sequence) FROM outbox JOIN
    events ON sequence = global_sequence')" "$(sql "SELECT CONCAT('p0',
    CRC32(_utf8mb4'grün1') % 4, ',p0', CRC32(_utf8mb4'grün2') % 4)")" \
    'those of a type that is published wait in their partitions'
for type in "it''s_50%|\\\\" "it''sX50%|\\\\"; do
	as_producer "$(event t "${#type}$RANDOM" "$type")"
done
is "$(counts)" '5 3 0' 'no pattern is more than it says'
is "$(as_producer "START TRANSACTION; $(event r 1) ROLLBACK")$(counts)" '5 3 0' \
    'a rollback takes both'
sql "GRANT INSERT ON outbox TO 'outbox_producer'@'localhost';
    GRANT SELECT ON outbox_settings TO 'outbox_producer'@'localhost'"

#
# Never twice
#
clear_rows
is "$(as_producer "START TRANSACTION;
    CALL outbox_enqueue('k', 1, 'order.paid', 1, NULL, NULL, 'x');
    CALL outbox_enqueue('k', 2, 'other', 1, NULL, NULL, 'x');
    $(event k 3) COMMIT")$(counts)" '3 3 0' 'the procedure makes its own rows'
like "$(printf '%s\n' 'START TRANSACTION;' \
    "CALL outbox_enqueue('k', 1, 'order.paid', 1, NULL, NULL, 'x');" \
    "$(event k 4)" 'COMMIT;' | "$SANDBOX" sql "$DIR/db" -f app 2>&1)" \
    'ERROR 1062' 'a call that fails'
is "$(counts)" '4 4 0' 'does not keep the trigger from what comes next'
like "$(as_producer "START TRANSACTION; $(event k 5)
    INSERT INTO outbox (global_sequence) VALUES (LAST_INSERT_ID()); COMMIT")" \
    'ERROR 1062' 'rows of an application are refused beside them'
is "$(counts)" '4 4 0' 'with all of its transaction'
json='{"key": "e", "type": "order.paid", "payload": "x"}'
echo "$json" > "$DIR/in"
ctl -c "$OWNER" enqueue "$DIR/in"
sql 'DROP PROCEDURE outbox_enqueue'
ctl -c "$OWNER" enqueue "$DIR/in"
is "$(counts)" '6 6 0' 'nor does outboxctl enqueue make two, by either way'
ctl -c "$OWNER" schema install

#
# The count
#
sql 'UPDATE outbox_settings SET partition_count = NULL'
like "$(as_producer "$(event n 1)")" 'partition_count is not set: start' \
    'without a count nothing is written'
as_producer "$(event n 2 other)"
is "$(counts)" '7 6 0' 'that would be published'
sql 'UPDATE outbox_settings SET partition_count = 4'

#
# Projections are replayed
#
clear_rows
as_producer "SET @outbox_replaying = 1; $(event p 1) $(event p 2 other)
    SET @outbox_replaying = NULL; $(event p 3)"
is "$(counts)" '3 1 2' 'what is replayed gets a mark and no row'
ctl -c "$OWNER" reconcile --all
is "$OUT" 'Nothing to reconcile: the outbox is consistent with the event store.' \
    'nor does reconcile make one'
ctl --json status
is "$(field .dead.count)" 0 'nobody is dead'
sql "UPDATE outbox_settings SET reconcile_watermark = (SELECT MAX(sequence)
    FROM events)"
ctl -c "$OWNER" prune
is "$(counts)" '3 1 0' 'and prune takes the marks away behind the watermark'

#
# Other types
#
ctl -c "$OWNER" schema check
like "$OUT" '^warn: events: the trigger differs from the configured one: .*upgrade' \
    'other types: check tells'
ctl -c "$OWNER" schema upgrade --dry-run
like "$OUT" '^warn: events: the trigger' 'upgrade would make it anew'
sql 'SET GLOBAL log_bin_trust_function_creators = 0'
ctl -c "$OWNER" schema upgrade --yes
is "$RC $(triggers)" '1 outbox_after_event' \
    'if that is refused, the old one stays'
sql 'SET GLOBAL log_bin_trust_function_creators = 1;
    CREATE TRIGGER outbox_before_event BEFORE INSERT ON events FOR EACH ROW
    SET @outbox_count = 1'
ctl -c "$OWNER" schema upgrade --yes
like "$RC $OUT" '^0 1 change made' 'upgrade makes it anew'
is "$(triggers)" outbox_after_event 'and takes away one of former times'
ctl -c "$OWNER" schema check --trigger
is "$RC$OUT" 0 'and it is as it should be'
"$SANDBOX" sql "$DIR/db" app < "$srcdir/sql/trigger.sql"
ctl -c "$OWNER" schema check
is "$RC$OUT" 0 'the file does the same by the client program'

#
# Under load, with another outbox beside it
#
ctl -c "$DIR/shop.yml" schema install --trigger
is "$RC$ERR" 0 'another outbox'
clear_rows
for ((i = 1; i <= 1500; i++)); do
	event "k$((i % 20))" "$i"
	[ $((i % 50)) -ne 0 ] || echo 'SELECT 1;'
done > "$DIR/load.sql"
"$SANDBOX" sql "$DIR/db" -N app < "$DIR/load.sql" > "$DIR/load.out" 2>&1 &
LOAD=$!
for types in "'*'" "'order.*'" "'order.*', x" "'*', y"; do
	of "$types"
	ctl -c "$DIR/types.yml" schema install --trigger
	is "$RC$ERR" 0 "made anew under load, for $types"
done
wait "$LOAD"
is "$(counts)" '1500 1500 0' 'and no event is without a row'
sql 'UPDATE shop_settings SET partition_count = 2'
sql "INSERT INTO \`order\` (stream_id, stream_sequence, event_type, event_data)
    VALUES ('k', 1, 't', 'x')"
is "$(sql 'SELECT COUNT(*) FROM `shop-out`') $(counts)" '1 1500 1500 0' \
    'each enqueues its own'
start_master
wait_for 30 is_drained
check_stream 'the daemon sends them, in order' --wait 10
stop_master "$MASTER"

# A definer that is gone
sql "DROP USER 'owner'@'localhost'"
like "$(as_producer "$(event gone 1)")" 'ERROR 1449' \
    'without its definer nothing can be written, as the manual says'
done_testing
