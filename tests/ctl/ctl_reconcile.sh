#!/usr/bin/env bash
# outboxctl reconcile: rows that are missing are made, and no others
. "${srcdir:-$(dirname "$0")/../..}/tests/lib/ctl.sh"

start_with_operator
sql "INSERT INTO outbox_partitions (partition_key) VALUES ('p00'), ('p01'),
    ('p02'), ('p03'), ('p04'), ('p05'), ('p06'), ('p07'), ('p08'), ('p09'),
    ('p10'), ('p11'), ('p12'), ('p13'), ('p14'), ('p15')"

N=100000
NOTHING='Nothing to reconcile: no event that was searched lacks its outbox row.'
made() { echo "Reconciled $1 outbox row$([ "$1" -eq 1 ] || echo s) from the event store."; }

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
is "$RC $OUT" "0 $NOTHING" 'reconcile of a complete outbox makes no row'
is "$(epochs)" 0 'reconcile of a complete outbox raises no epoch'
holes
before=$(tables)
ctl -c "$OP" reconcile --dry-run
is "$RC $OUT" '0 Would reconcile 5 outbox rows from the event store.' \
    '--dry-run: the rows that are missing at the end'
ctl -c "$OP" --json reconcile --dry-run --all
is "$OUT" '{"changed":10,"dry_run":true}' '--dry-run --all: all missing rows'
is "$(tables)" "$before" '--dry-run changes no table'
n=$(server_status 'Handler_read%')
ctl -c "$OP" reconcile --limit 500
n=$(($(server_status 'Handler_read%') - n))
is "$RC $OUT" "0 $(made 5)" '--limit 500: the rows that are missing at the end'
check "--limit 500: fewer than 5000 reads ($n)" [ "$n" -lt 5000 ]
is "$(epochs)" "$(sql "SELECT COUNT(DISTINCT partition_key) FROM outbox
    WHERE global_sequence > $((N - 5))")" \
    'the epochs of these are raised'
is "$(sql "SELECT CONCAT_WS('|', login, command, arguments, changed)
    FROM outbox_audit")" 'operator@localhost|reconcile|--limit 500|5' \
    'reconcile is in the audit'
ctl -c "$OP" reconcile
is "$RC $OUT" "0 $NOTHING" 'reconcile without --all does not reach the middle'
prints "$(made 5)" '--all: the rows in the middle' -c "$OP" reconcile --all
is "$(rows)" "$whole" 'the outbox is as the producers wrote it'
prints "$NOTHING" '--all again: nothing to do' -c "$OP" reconcile --all
sql "DELETE FROM outbox WHERE global_sequence IN ($((N - 3)), $((N - 4)))"
ctl -c "$OP" reconcile --limit 3
is "$OUT" "$NOTHING" '--limit 3: the fourth row from the end is not read'
ctl -c "$OP" reconcile --limit 4
is "$OUT" "$(made 1)" '--limit 4: the fourth row from the end is found'
ctl -c "$OP" reconcile --limit 2500
is "$OUT" "$(made 1)" '--limit 2500: several statements'

#
# Twice at once
#
sql "DELETE FROM outbox WHERE global_sequence % 7 = 0"
fails 1 '14,285 rows would be created; .*--yes' 'reconcile --all of 14285 rows without --yes' \
    -c "$OP" reconcile --all
for i in 1 2 3; do
	"$OUTBOXCTL" -c "$OP" --json reconcile --all --yes > "$DIR/$i.json" &
	pids[i]=$!
done
for i in 1 2 3; do
	check "reconcile $i of three at once: exit status 0" wait "${pids[i]}"
done
is "$(jq -s 'map(.changed) | add' "$DIR"/[123].json)" 14285 \
    'three at once: each row is made once'
is "$(rows)" "$whole" 'three at once: the outbox is as the producers wrote it'

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
prints "$(made 3)" 'a lock on the leases is waited for' -c "$OP" reconcile
wait "${pids[0]}"
is "$(sql 'SELECT GROUP_CONCAT(changed) FROM outbox_audit')" 3 \
    'it is audited once'

#
# Events that get no outbox row
#
sql "DELETE FROM outbox WHERE global_sequence > $((N - 4));
    INSERT INTO outbox_dead_letters (global_sequence, reason, died_at) VALUES
	($((N - 3)), 'discarded', NOW(6)),
	($((N - 2)), 'attempts', NOW(6) - INTERVAL 90 DAY),
	($((N - 1)), 'message', NOW(6) - INTERVAL 90 DAY)"
ctl -c "$OP" reconcile
is "$OUT" "$(made 1)" 'dead letters get no outbox row'
ctl -c "$OP" prune
is "$OUT" 'Deleted 0 delivered rows and 2 dead letters.' \
    'prune dead letters'
ctl -c "$OP" reconcile
is "$OUT" "$NOTHING" 'purged dead letters get no outbox row'
sql "UPDATE outbox SET published_at = NOW(6) - INTERVAL 9 DAY
    WHERE global_sequence <= $((N - 10))"
ctl -c "$OP" prune --yes --batch 20000
is "$OUT" 'Deleted 99,990 delivered rows and 0 dead letters.' \
    'prune of nearly all rows'
for how in '' --all '--limit 10000'; do
	# shellcheck disable=SC2086
	ctl -c "$OP" reconcile $how
	is "$OUT" "$NOTHING" "pruned rows are not made again${how:+ by $how}"
done
sql "DELETE FROM outbox WHERE global_sequence = $((N - 9))"
ctl -c "$OP" reconcile
is "$OUT" "$(made 1)" 'a missing row above the watermark is made'

#
# A DATETIME may be in the time zone of the application
#
doubt() { sql "DELETE FROM outbox WHERE global_sequence = $((N - 9))"
	ctl -c "$OP" reconcile
	sql "SELECT TIMESTAMPDIFF(MINUTE, in_doubt_since, occurred_at)
	    FROM outbox JOIN events ON sequence = global_sequence
	    WHERE global_sequence = $((N - 9))"; }
is "$(doubt)" 1 'in doubt since a minute before its event'
sql 'ALTER TABLE events MODIFY occurred_at DATETIME(6) NOT NULL
    DEFAULT CURRENT_TIMESTAMP(6)'
is "$(doubt)" 900 'DATETIME: since 15 hours before its event'

#
# Rows that a trigger refuses
#
fill
sql "DELETE FROM outbox WHERE global_sequence > $((N - 8))"
"$SANDBOX" sql "$DIR/db" app <<-SQL
	DELIMITER //
	CREATE TRIGGER unmade BEFORE INSERT ON outbox FOR EACH ROW
	IF NEW.global_sequence IN ($((N - 6)), $((N - 3))) THEN
	    SIGNAL SQLSTATE '45000' SET MESSAGE_TEXT = 'not this one'; END IF//
SQL
fails 1 "^outboxctl: after 6 outbox rows: the database refuses to change 2 rows, which stay as before; the first is sequence $((N - 3)): .*not this one" \
    'rows that a trigger refuses' -c "$OP" reconcile
is "$(sql "SELECT GROUP_CONCAT(sequence) FROM events LEFT JOIN outbox
    ON global_sequence = sequence WHERE global_sequence IS NULL
    AND sequence IN ($((N - 6)), $((N - 3)))")" "$((N - 6)),$((N - 3))" \
    'only they are missing'
sql 'DROP TRIGGER unmade'
ctl -c "$OP" reconcile
is "$OUT" "$(made 2)" 'they are made later'

#
# Filters
#
sql "DELETE FROM outbox WHERE global_sequence > $((N - 8));
    UPDATE events SET occurred_at = NOW(6) - INTERVAL 2 DAY
	WHERE sequence <= $((N - 4))"
ctl -c "$OP" --json reconcile --type 'order_*' --dry-run
shows .changed 2 '--type: _ is no wildcard'
ctl -c "$OP" --json reconcile --type 'order.*' --dry-run
shows .changed 4 '--type: * is a wildcard'
ctl -c "$OP" --json reconcile --type 'ORDER.PAID' --dry-run
shows .changed 0 '--type: case matters'
sed "s/^publish: {/&types: ['*.paid', 'order_*'], /" "$OP" > "$DIR/types.yml"
ctl -c "$DIR/types.yml" --json reconcile --dry-run
shows .changed 4 'publish.types: only events of these types'
ctl -c "$DIR/types.yml" --json reconcile --type 'order.*' --dry-run
shows .changed 2 'publish.types and --type: events that match both'
ctl -c "$OP" --json reconcile --since 1d --dry-run
shows .changed 4 '--since: by the time of the event'
ctl -c "$OP" reconcile --since 1d --type order.paid
is "$OUT" "$(made 1)" '--since and --type: events that match both'
sql 'UPDATE outbox_settings SET partition_count = NULL'
ctl -c "$OP" reconcile
is "$OUT" "$(made 7)" 'no partition count: rows are made'
rows_are 7 'outbox WHERE partition_key IS NULL' 'no partition count: no label'
sql 'UPDATE outbox_settings SET partition_count = 16'

#
# Beside a running daemon
#
sql 'TRUNCATE outbox; TRUNCATE events'
produce --events 900 --keys 50 --type order --payload 200 --per-txn 20
rows_are 900 outbox 'a producer writes 900 events'
sql 'DELETE FROM outbox WHERE global_sequence > 800'
start_master
drains 30 'the daemon delivers the rows that exist'
ctl -c "$OP" reconcile
is "$OUT" "$(made 100)" 'reconcile beside a daemon: 100 rows are made'
drains 30 'the daemon delivers the rows that were made'
stop_master "$MASTER"
check_stream 'the stream is complete and in order'

#
# Rows that are deleted by hand: status tells them from those that were delivered
# and from events that have no row on purpose
#
# stands EXPECTED NAME: the problems that status has, and the events.  On a busy
# machine not all messages may be read in time: then once more.
stands() {
	wait_for 15 stands_as "$1"
	is "$SAID" "$@"
}
stands_as() {
	ctl "${FILE[@]}" --json status
	SAID=$(field '([(.problems + .advice)[].id | select(test("not_filled|rows_"))] |
	    join(" ")) + " \(.outbox.unfilled) \(.outbox.gone)"' | xargs)
	[ "$SAID" = "$1" ]
}
FILE=()
# write TYPE ROWS N: N events; ROWS is SQL: which of them have a row
write() {
	sql "SELECT COALESCE(MAX(sequence), 0) INTO @old FROM events;
	INSERT INTO events (stream_id, stream_sequence, event_type, event_data)
	    SELECT 'gaps', @old + n, '$1', n FROM $(numbers "$3" 1) ORDER BY n;
	INSERT INTO outbox (global_sequence, partition_key) SELECT sequence, 'p01'
	    FROM events WHERE sequence > @old AND ($2) ORDER BY 1"
}
# mended: the remedy of not_filled, as it is printed
mended() {
	local remedy
	remedy=$(field '.problems[] | select(.id == "not_filled") | .remedy' |
	    sed 's/ makes .*//; s/^outboxctl //')
	eval "ctl -c '$OP' $remedy --yes"
}
stands '0 0' 'all is delivered, and no row is missing'
write order 'TRUE' 10
sql 'DELETE FROM outbox WHERE global_sequence BETWEEN 904 AND 906'
stands 'not_filled 3 0' 'rows in the middle that waited'
like "$(field '.problems[] | select(.id == "not_filled") | .text')" \
    ': 3, the first is 904: .*outboxctl reconcile --since [^ ]* makes' \
    'the first, and the remedy'
sql 'DELETE FROM outbox WHERE published_at IS NULL'
stands 'not_filled 10 0' 'all rows that waited'
mended
is "$OUT" "$(made 10)" 'the remedy, as it is printed'
stands '0 0' 'and nothing is missing'
sql 'INSERT INTO outbox_dead_letters (global_sequence, reason, died_at) VALUES
    (901, "purged", NOW(6)); DELETE FROM outbox WHERE global_sequence = 901'
stands '0 0' 'a dead letter has no row'

start_master
drains 30 'those of the remedy are delivered'
stop_master "$MASTER"
write order 'TRUE' 10
sql 'TRUNCATE outbox'
stands 'not_filled rows_gone 10 909' \
    'TRUNCATE: those that waited, and those that the whole stream has'
mended
is "$OUT" "$(made 10)" 'the remedy makes the rows of the former only'
start_master
drains 30 'the daemon delivers them'
stands 'rows_gone 0 909' 'what is left was delivered'
is "$RC" 0 'and all is well'
write order 'TRUE' 10
drains 30 'and later ones are delivered'
sql 'TRUNCATE outbox'
stands 'rows_gone 0 929' 'TRUNCATE after all was delivered'
is "$RC" 0 'TRUNCATE after all was delivered: all is well'
sql "$(field '.advice[] | select(.id == "rows_gone") | .remedy' |
    sed 's/, if .*//')"
stands '0 0' 'until the watermark is raised, as is printed'

# Dead letters that are purged: one is deleted, one stays as a mark.
write order 'FALSE' 2
sql 'SELECT MAX(sequence) INTO @last FROM events;
    INSERT INTO outbox_dead_letters (global_sequence, reason, died_at) VALUES
	(@last - 1, "attempts", NOW(6)), (@last, "attempts", NOW(6));
    UPDATE outbox_settings SET reconcile_watermark = @last - 1'
stands '0 0' 'two dead letters'
ctl -c "$OP" dead purge --all --yes
rows_are 1 'outbox_dead_letters JOIN outbox_settings
    ON global_sequence >= reconcile_watermark AND reason = "purged"' \
    'purged below the watermark, and above it'
stands '0 0' 'dead letters that were purged'

write order 'TRUE' 100
drains 30 'the next ones are delivered'
write audit 'FALSE' 300
stands '0 0' 'a type without rows'
sql 'DELETE FROM outbox'
stands 'rows_gone 0 100' 'and no row at all'
write order 'FALSE' 5
stands 'not_filled rows_gone 5 100' \
    'no row at all: those later than a message of the newest, and in none'
sql 'UPDATE events SET occurred_at = occurred_at - INTERVAL 1 DAY
    ORDER BY sequence DESC LIMIT 1'
stands 'not_filled rows_gone 4 101' 'one is older than these messages'
sed 's/^publish: {/&types: [audit], /' "$CONF" > "$DIR/audit.yml"
FILE=(-c "$DIR/audit.yml")
stands 'not_filled 300 0' 'publish.types says that a type has rows'
FILE=()
write order 'sequence % 2 = 0' 60
drains 30 'every second event of a type has a row'
stands '0 0' 'events of a type that have no row here and there'
write shop.new 'TRUE' 5
drains 30 'another type is delivered'
stop_master "$MASTER"
LAST=$(sql 'SELECT MAX(sequence) FROM events')
write shop.new 'TRUE' 5
sql 'DELETE FROM outbox WHERE published_at IS NULL'
stands 'not_filled 5 0' 'rows of one type among the others'
mended
is "$OUT" "$(made 5)" 'the remedy makes those only'
sql 'CREATE TABLE kept AS SELECT * FROM outbox; TRUNCATE outbox'
plain_stream
ctl --json status
is "$(field .outbox.unfilled)" 0 'a new stream says nothing of older events'
sql 'INSERT INTO outbox SELECT * FROM kept; DROP TABLE kept'

hold "INSERT INTO events (stream_id, stream_sequence, event_type, event_data)
    VALUES ('open', 1, 'order', 'x'); INSERT INTO outbox (global_sequence)
    VALUES (LAST_INSERT_ID())"
write shop.new 'FALSE' 1
stands 'not_filled 1 0' 'beside an open transaction'
release
sql "DELETE FROM outbox WHERE published_at IS NULL;
    DELETE FROM events WHERE sequence > $LAST"
write shop.new 'FALSE' 1
hold "INSERT INTO outbox (global_sequence) SELECT MAX(sequence) FROM events"
stands '0 0' 'a row that another transaction has not committed'
release
"$SANDBOX" stop "$DIR/nats" > /dev/null
sql 'DELETE FROM outbox WHERE published_at IS NULL'
ctl --json status
is "$(field .outbox.unfilled)" 1 'the broker cannot be asked'
sql 'DELETE FROM events WHERE sequence > 900; DELETE FROM outbox;
    DELETE FROM outbox_dead_letters;
    UPDATE outbox_settings SET reconcile_watermark = 0;
    INSERT INTO outbox (global_sequence, partition_key, published_at)
	SELECT sequence, "p01", NOW(6) FROM events'

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
    FROM `order`')" 'Enqueued 30 events. p03' \
    'other names of tables: enqueue'
sql 'DELETE FROM `order` WHERE global_sequence > 25;
    UPDATE `order` SET published_at = NOW(6) - INTERVAL 9 DAY
	WHERE global_sequence <= 20'
ctl -c "$DIR/other.yml" reconcile
is "$OUT" "$(made 5)" 'tables with other names: reconcile'
ctl -c "$DIR/other.yml" prune
is "$OUT $(sql 'SELECT reconcile_watermark FROM s')" \
    'Deleted 20 delivered rows and 0 dead letters. 20' \
    'tables with other names: prune, and their watermark'
is "$(sql 'SELECT SUM(changed) FROM a')" 55 'other names of tables: audit'
sql 'DROP TABLE e, `order`, p, d, s, a'
is "$(tables)" "$before" 'other names of tables: the usual ones are the same'

#
# Wrong uses, missing rights and tables
#
misused reconcile '--limit 0' '--limit x' '--all --limit 3' '--since never' 7 \
    '--batch 3'
sql 'DELETE FROM outbox WHERE global_sequence = 900'
sql "REVOKE INSERT ON outbox FROM 'outbox'@'localhost'"
before=$(tables)
fails 1 'reconcile: .*denied.*outbox' 'reconcile without the right to INSERT' \
    reconcile
is "$(tables)" "$before" 'reconcile without the right changes no table'
sql 'UPDATE outbox_settings SET reconcile_watermark = NULL'
fails 1 '^outboxctl: outbox_settings.reconcile_watermark is not set: set it to the newest event' \
    'reconcile without a watermark' -c "$OP" reconcile --all
hide_tables
fails 1 '^outboxctl: outbox_settings: no such table' \
    'reconcile without a settings table' -c "$OP" reconcile
show_tables
sql 'DROP TABLE outbox_settings'
fails 1 '^outboxctl: schema: table app.outbox_settings is missing or not granted: run outboxctl schema upgrade' \
    'reconcile without this table alone' -c "$OP" reconcile
"$SANDBOX" sql "$DIR/db" app < "$srcdir/sql/schema.sql"
is "$(sql 'SELECT reconcile_watermark FROM outbox_settings')" 900 \
    'a new settings row: the watermark is the last event'
ctl -c "$OP" reconcile --all
is "$OUT" "$NOTHING" 'a new settings row: older events get no outbox row'
sql 'UPDATE outbox_settings SET reconcile_watermark = 0, partition_count = 16;
    DROP TABLE outbox_audit'
fails 1 'outbox_audit. doesn.t exist .1146.: outboxctl setup --no-event creates it' \
    'a change that cannot be recorded is not made' -c "$OP" reconcile
without_server "-c $OP reconcile"
done_testing
