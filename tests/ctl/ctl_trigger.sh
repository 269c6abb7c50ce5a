#!/usr/bin/env bash
# The trigger on events: an application that only writes events
. "${srcdir:-$(dirname "$0")/../..}/tests/lib/ctl.sh"

as_producer() {
	printf '%s\n' "$1" |
	    "$SANDBOX" sql "$DIR/db" -u outbox_producer -N app 2>&1
}
# event KEY NUMBER [TYPE]: the INSERT of an application
event() { echo "INSERT INTO events (stream_id, stream_sequence, event_type,
    event_data) VALUES ('$1', $2, '${3:-order.paid}', 'x');"; }
counts() { sql 'SELECT CONCAT_WS(" ", (SELECT COUNT(*) FROM events),
    (SELECT COUNT(*) FROM outbox), (SELECT COUNT(*) FROM outbox_dead_letters))'; }
triggers() { sql "SELECT GROUP_CONCAT(trigger_name ORDER BY 1) FROM
    information_schema.triggers WHERE trigger_schema = 'app'"; }
# of TYPES [FILE]: the configuration with these publish.types
of() { sed "s/publish: {/&types: [$1], /" "${2:-$OP}" > "$DIR/types.yml"; }

start_servers log_bin=binlog server_id=7
PARTITIONS=4 write_conf
as_operator
sql "ALTER USER 'outbox_producer'@'localhost' IDENTIFIED BY '';
    UPDATE outbox_settings SET partition_count = 4"

#
# print
#
exits 0 'schema print --trigger: exit status 0' schema print --trigger
is "$OUT" "$(cat "$srcdir/sql/trigger.sql")" \
    'no publish.types: it is trigger.sql'
of "'order.*', \"it's_50%|\\\\\\\\\"" "$CONF"
ctl -c "$DIR/types.yml" schema print --trigger
like "$OUT" "NEW.event_type LIKE 'order.%' ESCAPE '\|' OR NEW.event_type LIKE x'697427737c5f35307c257c7c5c' ESCAPE '\|'" \
    'publish.types: the trigger has them as patterns'
NAMES='tables: {outbox: shop-out, events: order, settings: shop_settings, dead_letters: shop_dead, partitions: shop_parts, workers: shop_workers, blocked_keys: shop_blocked, streams: shop_streams, audit: shop_audit}'
sed "s/ordering:/$NAMES, ordering:/" "$OP" > "$DIR/shop.yml"

#
# install
#
sql 'SET GLOBAL log_bin_trust_function_creators = 0'
fails 1 'binlog: CREATE TRIGGER takes SUPER, or SET GLOBAL log_bin_trust' \
    'schema install --trigger without SUPER, with a binlog' \
    -c "$OP" schema install --trigger
is "$(triggers)" NULL 'without SUPER no trigger is made'
sql 'SET GLOBAL log_bin_trust_function_creators = 1'
ctl -c "$OP" schema install --trigger --dry-run
like "$OUT" '^Would create nothing.* the trigger on events\.$' \
    'schema install --trigger --dry-run: says what it would do'
is "$(triggers)" NULL 'schema install --trigger --dry-run makes no trigger'
ctl -c "$OP" schema check --trigger
is "$RC" 0 'schema check --trigger without a trigger: exit status 0'
like "$OUT" '^warn: events: no trigger, .*install --trigger' \
    'schema check --trigger without a trigger: a warning'
ctl -c "$OP" schema check
is "$RC$OUT" 0 'schema check without --trigger: no warning'
of "'order.*', \"it's_50%|\\\\\\\\\""
ctl -c "$DIR/types.yml" schema install --trigger
is "$RC$ERR" 0 'schema install --trigger: exit status 0'
is "$(triggers)" outbox_after_event 'schema install --trigger makes the trigger'
is "$(sql 'SELECT arguments, changed FROM outbox_audit ORDER BY id DESC LIMIT 1')" \
    '--trigger	1' 'schema install --trigger is in the audit'
ctl -c "$DIR/types.yml" schema check --trigger
is "$RC$OUT" 0 'schema check --trigger prints nothing afterwards'
for option in '' --trigger; do
	# shellcheck disable=SC2086
	ctl schema check $option
	like "$OUT" '^note: events: there is a trigger that this account cannot see' \
	    "schema check $option by an account without the right TRIGGER"
	is "$(grep -c 'differs\|no trigger' <<< "$OUT")" 0 'and nothing else of it'
done

# Where LOCK TABLES is refused, by a proxy, a cluster or for lack of the right.
sql "REVOKE LOCK TABLES ON app.* FROM 'operator'@'localhost'"
ctl -c "$DIR/types.yml" schema install --trigger
is "$RC" 0 'schema install --trigger without LOCK TABLES: exit status 0'
like "$ERR" 'made without LOCK TABLES.*reconcile' 'and it says what that costs'
ctl -c "$DIR/types.yml" schema check --trigger
is "$RC$OUT" 0 'the trigger is the same'
sql "GRANT LOCK TABLES ON app.* TO 'operator'@'localhost'"

#
# The rows that it makes, for an account that may only write events
#
is "$(as_producer "REVOKE" | grep -c ERROR)" 1 "the producer has no other right"
sql "REVOKE INSERT ON outbox FROM 'outbox_producer'@'localhost';
    REVOKE SELECT ON outbox_settings FROM 'outbox_producer'@'localhost'"
is "$(as_producer "INSERT INTO events (stream_id, stream_sequence, event_type,
    event_data) SELECT CONCAT('grün', n), 1, IF(n < 3, 'order.paid',
    'Order.paid'), 'x' FROM (SELECT 1 AS n UNION SELECT 2 UNION SELECT 3) t")" \
    '' 'three events in one statement: no error'
is "$(sql 'SELECT GROUP_CONCAT(partition_key ORDER BY sequence) FROM outbox JOIN
    events ON sequence = global_sequence')" "$(sql "SELECT CONCAT('p0',
    CRC32(_utf8mb4'grün1') % 4, ',p0', CRC32(_utf8mb4'grün2') % 4)")" \
    'events of a published type get rows with their labels'
for type in "it''s_50%|\\\\" "it''sX50%|\\\\"; do
	as_producer "$(event t "${#type}$RANDOM" "$type")"
done
is "$(counts)" '5 3 0' '% and _ in publish.types are no wildcards'
is "$(as_producer "START TRANSACTION; $(event r 1) ROLLBACK")$(counts)" '5 3 0' \
    'a rollback removes the event and its row'
sql "GRANT INSERT ON outbox TO 'outbox_producer'@'localhost';
    GRANT SELECT ON outbox_settings TO 'outbox_producer'@'localhost'"

#
# Never twice
#
clear_rows
is "$(as_producer "START TRANSACTION;
    CALL outbox_enqueue('k', 1, 'order.paid', 1, NULL, NULL, 'x');
    CALL outbox_enqueue('k', 2, 'other', 1, NULL, NULL, 'x');
    $(event k 3) COMMIT")$(counts)" '3 3 0' \
    'both make a row just once'
like "$(printf '%s\n' 'START TRANSACTION;' \
    "CALL outbox_enqueue('k', 1, 'order.paid', 1, NULL, NULL, 'x');" \
    "$(event k 4)" 'COMMIT;' | "$SANDBOX" sql "$DIR/db" -f app 2>&1)" \
    'ERROR 1062' 'a call of the procedure that fails'
is "$(counts)" '4 4 0' 'a failed call does not disable the trigger'
like "$(as_producer "START TRANSACTION; $(event k 5)
    INSERT INTO outbox (global_sequence) VALUES (LAST_INSERT_ID()); COMMIT")" \
    'ERROR 1062' 'an application that writes the outbox row itself is refused'
is "$(counts)" '4 4 0' 'the refused transaction leaves nothing'
json='{"key": "e", "type": "order.paid", "payload": "x"}'
echo "$json" > "$DIR/in"
ctl -c "$OP" enqueue "$DIR/in"
sql 'DROP PROCEDURE outbox_enqueue'
ctl -c "$OP" enqueue "$DIR/in"
is "$(counts)" '6 6 0' 'outboxctl enqueue makes one row, in either way'
ctl -c "$OP" schema install

#
# The count
#
sql 'UPDATE outbox_settings SET partition_count = NULL'
like "$(as_producer "$(event n 1)")" 'partition_count is not set: start' \
    'no partition count: the event is refused'
as_producer "$(event n 2 other)"
is "$(counts)" '7 6 0' 'no partition count: an unpublished event is stored'
sql 'UPDATE outbox_settings SET partition_count = 4'

#
# Projections are replayed
#
clear_rows
as_producer "SET @outbox_replaying = 1; $(event p 1) $(event p 2 other)
    SET @outbox_replaying = NULL; $(event p 3)"
is "$(counts)" '3 1 2' '@outbox_replaying: the event gets a mark and no row'
ctl -c "$OP" reconcile --all
like "$OUT" '^Nothing to reconcile: no event .* lacks its outbox row\.$' \
    'reconcile makes no row for a mark'
shows .dead.count 0 'status does not count a mark as dead' status
sql "UPDATE outbox_settings SET reconcile_watermark = (SELECT MAX(sequence)
    FROM events)"
ctl -c "$OP" prune
is "$(counts)" '3 1 0' 'prune deletes the marks below the watermark'

#
# Other types
#
matches '^warn: events: the trigger differs from the configured one: .*upgrade' \
    'other publish.types: schema check warns' -c "$OP" schema check
ctl -c "$OP" schema upgrade --dry-run
like "$OUT" '^warn: events: the trigger' \
    'other publish.types: schema upgrade would replace the trigger'
sql 'SET GLOBAL log_bin_trust_function_creators = 0'
ctl -c "$OP" schema upgrade --yes
is "$RC $(triggers)" '1 outbox_after_event' 'a refused upgrade drops nothing'
sql 'SET GLOBAL log_bin_trust_function_creators = 1;
    CREATE TRIGGER outbox_before_event BEFORE INSERT ON events FOR EACH ROW
    SET @outbox_count = 1'
ctl -c "$OP" schema upgrade --yes
like "$RC $OUT" '^0 1 change made' 'schema upgrade replaces the trigger'
is "$(triggers)" outbox_after_event 'schema upgrade drops an older trigger'
ctl -c "$OP" schema check --trigger
is "$RC$OUT" 0 'schema check --trigger prints nothing after the upgrade'
"$SANDBOX" sql "$DIR/db" app < "$srcdir/sql/trigger.sql"
ctl -c "$OP" schema check
is "$RC$OUT" 0 'trigger.sql by the client program: schema check is silent'

#
# Under load, with another outbox beside it
#
ctl -c "$DIR/shop.yml" schema install --trigger
is "$RC$ERR" 0 'schema install --trigger of a second outbox'
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
	is "$RC$ERR" 0 "schema install --trigger under load, for $types"
done
wait "$LOAD"
is "$(counts)" '1500 1500 0' 'each event has its row after installs under load'
sql 'UPDATE shop_settings SET partition_count = 2'
sql "INSERT INTO \`order\` (stream_id, stream_sequence, event_type, event_data)
    VALUES ('k', 1, 't', 'x')"
is "$(sql 'SELECT COUNT(*) FROM `shop-out`') $(counts)" '1 1500 1500 0' \
    'each outbox gets the rows of its own events'
start_master
wait_for 30 is_drained
check_stream 'the stream is complete and in order' --wait 10
stop_master "$MASTER"

# A definer that is gone
sql "DROP USER 'operator'@'localhost'"
like "$(as_producer "$(event gone 1)")" 'ERROR 1449' \
    'without its definer the trigger refuses events, as the manual says'
done_testing
