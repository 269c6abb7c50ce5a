#!/usr/bin/env bash
# outboxctl reconcile: rows that are missing are made, and no others
. "${srcdir:-$(dirname "$0")/../..}/tests/lib/ctl.sh"

start_with_operator
sql "INSERT INTO outbox_partitions (partition_key) VALUES ('p00'), ('p01'),
    ('p02'), ('p03'), ('p04'), ('p05'), ('p06'), ('p07'), ('p08'), ('p09'),
    ('p10'), ('p11'), ('p12'), ('p13'), ('p14'), ('p15')"

N=100000
NOTHING='Nothing to reconcile: the outbox is consistent with the event store.'
made() { echo "Reconciled $1 outbox row(s) from the event store."; }

# fill: 100,000 events with their rows, as producers write them
fill() {
	sql "TRUNCATE outbox; TRUNCATE events;
	DELETE FROM outbox_dead_letters;
	UPDATE outbox_settings SET reconcile_watermark = 0;
	INSERT INTO events (stream_id, stream_sequence, event_type, event_data)
	    SELECT CONCAT('grüße-', n % 100), n, ELT(n % 4 + 1, 'order.paid',
	    'order_paid', 'orderXpaid', 'order.sent'), n
	    FROM $(numbers 100000 1) ORDER BY n;
	INSERT INTO outbox (global_sequence, partition_key)
	    SELECT sequence, CONCAT('p', LPAD(CRC32(CONVERT(stream_id USING
	    utf8mb4)) % 16, 2, '0')) FROM events"
}
rows() { sql "SELECT COUNT(*), SUM(global_sequence),
    SUM(CRC32(CONCAT(global_sequence, ' ', partition_key))) FROM outbox"; }
holes() { sql "DELETE FROM outbox WHERE global_sequence > $((N - 5)) OR
    global_sequence BETWEEN $((N / 2)) AND $((N / 2 + 4))"; }

fill
whole=$(rows)
ctl -c "$OP" reconcile
is "$RC $OUT" "0 $NOTHING" 'where nothing is missing nothing is made'
is "$(epochs)" 0 'and no owner of a partition is disturbed'
holes
before=$(tables)
ctl -c "$OP" reconcile --dry-run
is "$RC $OUT" '0 Would reconcile 5 outbox row(s) from the event store.' \
    'a dry run tells of the tail'
ctl -c "$OP" --json reconcile --dry-run --all
is "$OUT" '{"changed":10,"dry_run":true}' 'or of all'
is "$(tables)" "$before" 'and changes nothing'
n=$(server_status 'Handler_read%')
ctl -c "$OP" reconcile --limit 500
n=$(($(server_status 'Handler_read%') - n))
is "$RC $OUT" "0 $(made 5)" 'the tail is found'
[ "$n" -lt 5000 ]
ok $? "by $n reads"
is "$(epochs)" "$(sql "SELECT COUNT(DISTINCT partition_key) FROM outbox
    WHERE global_sequence > $((N - 5))")" 'the owners look from the start'
is "$(sql "SELECT CONCAT_WS('|', login, command, arguments, changed)
    FROM outbox_audit")" 'operator@localhost|reconcile|--limit 500|5' \
    'it stands in the audit'
ctl -c "$OP" reconcile
is "$RC $OUT" "0 $NOTHING" 'the short way does not find the middle'
ctl -c "$OP" reconcile --all
is "$RC $OUT" "0 $(made 5)" '--all does'
is "$(rows)" "$whole" 'all is as producers wrote it'
ctl -c "$OP" reconcile --all
is "$RC $OUT" "0 $NOTHING" 'and twice is once'
sql "DELETE FROM outbox WHERE global_sequence IN ($((N - 3)), $((N - 4)))"
ctl -c "$OP" reconcile --limit 3
is "$OUT" "$NOTHING" 'no more than the limit is read'
ctl -c "$OP" reconcile --limit 4
is "$OUT" "$(made 1)" 'and all of it'
ctl -c "$OP" reconcile --limit 2500
is "$OUT" "$(made 1)" 'a limit of several statements'

#
# Twice at once
#
sql "DELETE FROM outbox WHERE global_sequence % 7 = 0"
ctl -c "$OP" reconcile --all
is "$RC" 1 'so many are asked about'
like "$ERR" '14285 rows would be created, .*--yes' 'and told'
for i in 1 2 3; do
	"$OUTBOXCTL" -c "$OP" --json reconcile --all --yes > "$DIR/$i.json" &
	pids[i]=$!
done
for i in 1 2 3; do
	wait "${pids[i]}"
	ok $? "reconcile $i of three at once"
done
is "$(jq -s 'map(.changed) | add' "$DIR"/[123].json)" 14285 \
    'made each row once'
is "$(rows)" "$whole" 'as producers wrote it'

#
# A lock that is held for longer than we wait for one
#
sql 'DELETE FROM outbox WHERE global_sequence > '$((N - 3))';
    DELETE FROM outbox_audit'
sql 'BEGIN; SELECT COUNT(*) FROM outbox_partitions FOR UPDATE;
    SELECT SLEEP(4)' > /dev/null &
pids[0]=$!
wait_for 10 is_sql "SELECT COUNT(*) > 0 FROM information_schema.processlist
    WHERE info LIKE 'SELECT SLEEP%'" 1
ctl -c "$OP" reconcile
is "$RC $OUT" "0 $(made 3)" 'who is at it is waited for'
wait "${pids[0]}"
is "$(sql 'SELECT GROUP_CONCAT(changed) FROM outbox_audit')" 3 \
    'and noted once'

#
# What was not meant to have one
#
sql "DELETE FROM outbox WHERE global_sequence > $((N - 4));
    INSERT INTO outbox_dead_letters (global_sequence, reason, died_at) VALUES
	($((N - 3)), 'discarded', NOW(6)),
	($((N - 2)), 'attempts', NOW(6) - INTERVAL 90 DAY),
	($((N - 1)), 'message', NOW(6) - INTERVAL 90 DAY)"
ctl -c "$OP" reconcile
is "$OUT" "$(made 1)" 'a dead or discarded one does not come back'
ctl -c "$OP" prune
is "$OUT" 'Deleted 0 delivered row(s) and 2 dead letter(s).' 'dead ones purged'
ctl -c "$OP" reconcile
is "$OUT" "$NOTHING" 'do not come back either'
sql "UPDATE outbox SET published_at = NOW(6) - INTERVAL 9 DAY
    WHERE global_sequence <= $((N - 10))"
ctl -c "$OP" prune --yes --batch 20000
is "$OUT" "Deleted $((N - 10)) delivered row(s) and 0 dead letter(s)." \
    'after nearly all is pruned'
for how in '' --all '--limit 10000'; do
	# shellcheck disable=SC2086
	ctl -c "$OP" reconcile $how
	is "$OUT" "$NOTHING" "nothing is made again${how:+ by $how}"
done
sql "DELETE FROM outbox WHERE global_sequence = $((N - 9))"
ctl -c "$OP" reconcile
is "$OUT" "$(made 1)" 'above the watermark it still works'

#
# Filters
#
fill
sql "DELETE FROM outbox WHERE global_sequence > $((N - 8));
    UPDATE events SET occurred_at = NOW(6) - INTERVAL 2 DAY
	WHERE sequence <= $((N - 4))"
ctl -c "$OP" --json reconcile --type 'order_*' --dry-run
is "$(field .changed)" 2 'of a type, and _ is only that'
ctl -c "$OP" --json reconcile --type 'order.*' --dry-run
is "$(field .changed)" 4 '* stands for anything'
ctl -c "$OP" --json reconcile --type 'ORDER.PAID' --dry-run
is "$(field .changed)" 0 'and nothing else does'
sed "s/^publish: {/&types: ['*.paid', 'order_*'], /" "$OP" > "$DIR/types.yml"
ctl -c "$DIR/types.yml" --json reconcile --dry-run
is "$(field .changed)" 4 'publish.types: no others'
ctl -c "$DIR/types.yml" --json reconcile --type 'order.*' --dry-run
is "$(field .changed)" 2 'and of these a type'
ctl -c "$OP" --json reconcile --since 1d --dry-run
is "$(field .changed)" 4 'since'
ctl -c "$OP" reconcile --since 1d --type order.paid
is "$OUT" "$(made 1)" 'both'
sql 'UPDATE outbox_settings SET partition_count = NULL'
ctl -c "$OP" reconcile
is "$OUT" "$(made 7)" 'without a count'
is "$(sql 'SELECT COUNT(*) FROM outbox WHERE partition_key IS NULL')" 7 \
    'there is no label'
sql 'UPDATE outbox_settings SET partition_count = 16'

#
# Beside a running daemon
#
sql 'TRUNCATE outbox; TRUNCATE events'
produce --events 3000 --keys 50 --payload 200
is "$(sql 'SELECT COUNT(*) FROM outbox')" 3000 'events of a producer'
sql 'DELETE FROM outbox WHERE global_sequence > 2900'
start_master
drains 30 'a daemon has delivered what it could see'
ctl -c "$OP" reconcile
is "$OUT" "$(made 100)" 'the others are made'
drains 30 'and delivered at once'
stop_master "$MASTER"
check_stream 'nothing is lost, twice there or out of order'

#
# Tables with other names, next to ours
#
before=$(tables)
sql 'CREATE TABLE e LIKE events; CREATE TABLE `order` LIKE outbox;
    CREATE TABLE p LIKE outbox_partitions; CREATE TABLE d LIKE
    outbox_dead_letters; CREATE TABLE s LIKE outbox_settings;
    CREATE TABLE a LIKE outbox_audit;
    INSERT INTO s (id, schema_version, outbox_id, partition_count,
	reconcile_watermark) VALUES (1, 1, "other", 4, 0)'
sed 's/^outbox: {/&tables: {outbox: order, events: e, partitions: p, dead_letters: d, settings: s, audit: a}, /' \
    "$OP" > "$DIR/other.yml"
"$OUTBOXCTL" -c "$DIR/other.yml" enqueue < <(yes \
    '{"key": "order-1", "type": "t", "payload": 1}' | head -n 30) > "$DIR/ctl.out"
is "$(cat "$DIR/ctl.out") $(sql 'SELECT GROUP_CONCAT(DISTINCT partition_key)
    FROM `order`')" 'Enqueued 30 event(s). p03' 'other tables: enqueue'
sql 'DELETE FROM `order` WHERE global_sequence > 25;
    UPDATE `order` SET published_at = NOW(6) - INTERVAL 9 DAY
	WHERE global_sequence <= 20'
ctl -c "$DIR/other.yml" reconcile
is "$OUT" "$(made 5)" 'reconcile'
ctl -c "$DIR/other.yml" prune
is "$OUT $(sql 'SELECT reconcile_watermark FROM s')" \
    'Deleted 20 delivered row(s) and 0 dead letter(s). 20' 'and prune'
is "$(sql 'SELECT SUM(changed) FROM a')" 55 'and their audit'
sql 'DROP TABLE e, `order`, p, d, s, a'
is "$(tables)" "$before" 'and ours are left alone'

#
# What is not as it should be
#
for wrong in '--limit 0' '--limit x' '--all --limit 3' '--since never' '7' \
    '--batch 3'; do
	# shellcheck disable=SC2086
	ctl -c "$OP" reconcile $wrong
	is "$RC" 2 "reconcile $wrong: wrong use"
done
sql 'DELETE FROM outbox WHERE global_sequence = 3000'
sql "REVOKE INSERT ON outbox FROM 'outbox'@'localhost'"
before=$(tables)
ctl reconcile
is "$RC" 1 'an account that may not make rows'
like "$ERR" 'reconcile: .*denied.*outbox' 'which is told'
is "$(tables)" "$before" 'and nothing is changed'
sql 'UPDATE outbox_settings SET reconcile_watermark = NULL'
ctl -c "$OP" reconcile --all
is "$RC" 1 'no watermark'
like "$ERR" '^outboxctl: outbox_settings.reconcile_watermark is not set' \
    'is told'
sql 'DROP TABLE outbox_settings'
ctl -c "$OP" reconcile
is "$RC" 1 'tables without settings'
like "$ERR" '^outboxctl: outbox_settings: no such table' 'likewise'
"$SANDBOX" sql "$DIR/db" app < "$srcdir/sql/schema.sql"
is "$(sql 'SELECT reconcile_watermark FROM outbox_settings')" 3000 \
    'a new settings row knows the events before it'
ctl -c "$OP" reconcile --all
is "$OUT" "$NOTHING" 'so that none of them gets a row'
sql 'UPDATE outbox_settings SET reconcile_watermark = 0, partition_count = 16;
    DROP TABLE outbox_dead_letters, outbox_audit'
ctl -c "$OP" reconcile
is "$RC $OUT" "0 $(made 1)" 'without dead letters and audit'
like "$ERR" 'outbox_audit: no such table' 'the latter is missed'
"$SANDBOX" stop "$DIR/db" >/dev/null
ctl -c "$OP" reconcile
is "$RC" 69 'the server is away'
done_testing
