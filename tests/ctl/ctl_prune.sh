#!/usr/bin/env bash
# outboxctl prune: old rows go, and nothing that is still needed
. "${srcdir:-$(dirname "$0")/../..}/tests/lib/ctl.sh"
. "$srcdir/tests/lib/prune.sh"

start_with_operator

# fill [HORIZON]: 3000 events; rows 1..1000 were delivered 20 days ago,
# 1001..2000 eight, 2001..2500 two, 2501..2600 now, and the others wait; but
# 2997 and 2999 are dead for 40 days, and 2998 since now
fill() {
	sql "DELETE FROM outbox; TRUNCATE events; DELETE FROM outbox_audit;
	DELETE FROM outbox_dead_letters; DELETE FROM outbox_streams;
	UPDATE outbox_settings SET reconcile_watermark = ${1:-0};
	INSERT INTO events (stream_id, stream_sequence, event_type, event_data)
	    SELECT 'k', n, 't', 'x' FROM $(numbers 3000 1) ORDER BY n;
	INSERT INTO outbox (global_sequence, partition_key, ack_sequence,
	    published_at) SELECT sequence, 'p05', sequence,
	    NOW(6) - INTERVAL CASE WHEN sequence <= 1000 THEN 20
	    WHEN sequence <= 2000 THEN 8 WHEN sequence <= 2500 THEN 2
	    WHEN sequence <= 2600 THEN 0 END DAY
	    FROM events WHERE sequence NOT BETWEEN 2997 AND 2999;
	INSERT INTO outbox_dead_letters (global_sequence, order_key, reason,
	    died_at) VALUES (2997, 'k', 'attempts', NOW(6) - INTERVAL 40 DAY),
	    (2998, 'k', 'attempts', NOW(6)),
	    (2999, 'k', 'message', NOW(6) - INTERVAL 40 DAY)"
}

#
# Normal use
#
fill
checked '1 MINUTE'
before=$(tables)
ctl -c "$OP" --json prune --dry-run
is "$RC $(field '[.rows, .dead_letters, .later_needed, .dry_run]')" \
    '0 [2000,2,false,true]' '--dry-run: the number of rows and dead letters'
is "$(tables)" "$before" '--dry-run changes no table'
fails 1 '^outboxctl: 2,000 delivered rows and 2 dead letters would be deleted; .*--yes' 'prune of more than 100 rows without --yes' \
    -c "$OP" prune
is "$(tables)" "$before" 'a refused prune changes no table'
ctl -c "$OP" prune --yes --batch 300
is "$RC $OUT" '0 Deleted 2,000 delivered rows and 2 dead letters.' \
    'prune --yes: rows that were delivered more than a week ago'
is "$(rows)" '997 from 2001' 'prune deletes no other row'
rows_are 3000 events 'prune deletes no event'
is "$(sql 'SELECT reconcile_watermark FROM outbox_settings')" 2000 \
    'the watermark rises to the last deleted row'
is "$(dead)" '2997 purged,2998 attempts,2999 purged' \
    'dead letters above the watermark leave a mark'
ctl -c "$OP" --json dead list
shows '[.rows[].sequence]' '[2998]' 'dead list: a mark is not listed'
is "$(sql "SELECT CONCAT_WS('|', login, command, arguments, changed)
    FROM outbox_audit")" 'operator@localhost|prune|--yes --batch 300|2002' \
    'prune is in the audit, with the number'
prints 'Nothing to prune.' 'prune again: nothing to do' -c "$OP" prune
ctl -c "$OP" --json prune --days 1
is "$RC $(field .status)" '1 1' '--days 1 without --yes: exit status 1'
ctl -c "$OP" --json prune --days 1 --yes
shows '[.rows, .dead_letters]' '[500,0]' '--days 1 --yes: rows of that age'
sql 'UPDATE outbox SET published_at = NOW(6) - INTERVAL 3 DAY
    WHERE global_sequence = 3000'
ctl -c "$OP" --json prune --older-than 49h
is "$RC $(field '[.changed, .rows, .dead_letters, .marks]')" '0 [3,1,0,2]' \
    '--older-than 49h: these rows, and marks below the watermark'
is "$(rows) $(dead)" '496 from 2501 2998 attempts' \
    '--older-than 49h: no other row or dead letter is gone'
ctl -c "$OP" --json prune --dead-days 0
is "$(dead)" '' '--dead-days 0: the last dead letter is gone'
sql "INSERT INTO outbox_dead_letters (global_sequence, reason)
    VALUES (2999, 'replayed'), (3001, 'replayed')"
prints 'Would delete 0 delivered rows, 0 dead letters and 1 mark of former ones.' \
    'a mark is not counted as a dead letter' -c "$OP" prune --dry-run
prints 'Deleted 0 delivered rows, 0 dead letters and 1 mark of former ones.' \
    'nor after it was deleted' -c "$OP" prune
is "$(dead)" '3001 replayed' 'a mark of a replay is deleted below the watermark'
fill 3000
checked '1 MINUTE'
sql "INSERT INTO outbox_dead_letters (global_sequence, reason)
    SELECT n, 'replayed' FROM $(numbers 150 1)"
fails 1 '^outboxctl: 2,500 delivered rows, 2 dead letters and 150 marks of former ones would be deleted; ' \
    '--days 0: the question tells marks from dead letters' \
    -c "$OP" prune --days 1

#
# Rows that others still point at
#
fill
checked '1 MINUTE'
sql 'UPDATE outbox SET published_at = NOW(6) - INTERVAL 20 DAY
    WHERE global_sequence <= 1000'
sql 'CREATE TABLE auditor (n BIGINT UNSIGNED, FOREIGN KEY (n)
    REFERENCES outbox (global_sequence)) ENGINE=InnoDB;
    INSERT INTO auditor VALUES (1), (2), (3), (1500)'
fails 1 '^outboxctl: the database refuses to change 4 rows, which stay as before; the first is sequence 1: .*foreign key' \
    'rows that the database refuses to delete' \
    -c "$OP" prune --yes --batch 2
like "$ERR" '1,996 delivered rows and 2 dead letters were deleted' \
    'the others are deleted'
is "$(rows) $(sql 'SELECT COUNT(*) FROM outbox WHERE global_sequence <= 2000')" \
    '1001 from 1 4' 'and no more'
sql 'DROP TABLE auditor'
prints 'Deleted 4 delivered rows and 0 dead letters.' 'these later' \
    -c "$OP" prune
fill
checked '1 MINUTE'
sql 'CREATE TABLE auditor (n BIGINT UNSIGNED, FOREIGN KEY (n)
    REFERENCES outbox (global_sequence)) ENGINE=InnoDB;
    INSERT INTO auditor SELECT global_sequence FROM outbox'
fails 1 'refuses to change 100 rows at least' \
    'a table that refuses all: it ends soon' -c "$OP" prune --yes
sql 'DROP TABLE auditor'

#
# Rows that a stream check may need
#
fill
checked '3 DAY'
fails 1 '^outboxctl: 2,000 delivered rows and 2 dead letters would be deleted, those delivered after .*Z are kept; ' \
    '--days 0: the question counts what is deleted, and says what is kept' \
    -c "$OP" prune --days 0
ctl -c "$OP" prune --days 1 --yes
like "$OUT" '^Deleted 2,000 .*row' 'rows delivered after the last check stay'
like "$OUT" 'delivered after .*a stream check needs them' \
    'the message says that a stream check needs them'
is "$(rows)" '997 from 2001' 'exactly these rows are left'
checked '1 SECOND'
ctl -c "$OP" --json prune --days 0 --yes
shows '[.rows, .later_needed]' '[500,true]' \
    "rows whose messages may not be on the broker's disk yet stay"
fill
ctl -c "$OP" --json prune --days 0 --yes
shows '[.rows, .later_needed]' '[2500,true]' \
    'no stream check at all: rows of the last day stay'
fill
checked '3 DAY'
sed 's/recover: "lost"/recover: "off"/' "$OP" > "$DIR/off.yml"
ctl -c "$DIR/off.yml" --json prune --days 2 --yes
shows '[.rows, .later_needed]' '[2500,false]' 'nats.recover off: no row is kept'
fill
sql "REPLACE INTO outbox_streams (name, known_since, checked_at)
    VALUES ('EVENTS', NOW(6) - INTERVAL 7 DAY, NULL)"
ctl -c "$OP" --json prune --days 1 --yes
shows .rows 2000 'a stream without a finished check: its rows stay'

#
# The watermark
#
fill NULL
checked '1 MINUTE'
ctl -c "$OP" prune --yes
is "$(sql 'SELECT reconcile_watermark IS NULL FROM outbox_settings')$(dead)" \
    '12998 attempts' 'no watermark: it stays NULL, and there are no marks'
fill 2999
checked '1 MINUTE'
ctl -c "$OP" prune --yes
is "$(sql 'SELECT reconcile_watermark FROM outbox_settings')" 2999 \
    'it never falls'

#
# Beside others
#
fill
checked '1 MINUTE'
"$OUTBOXCTL" -c "$OP" --json prune --yes --batch 50 > "$DIR/one" &
ctl -c "$OP" --json prune --yes --batch 50
wait $!
is "$RC $(jq -s 'map(.rows) | add' "$DIR/one" <(echo "$OUT"))" '0 2000' \
    'two prune at once delete each row once'
fill
checked '1 MINUTE'

#
# Wrong uses, missing rights and tables
#
misused prune '--days x' '--days -1' '--batch 0' '--older-than never' 7 \
    '--days 1 --older-than 1d' '--limit 3'
sql "REVOKE DELETE ON outbox FROM 'outbox'@'localhost'"
before=$(sql 'CHECKSUM TABLE outbox, events, outbox_dead_letters')
fails 1 '^outboxctl: prune: .*denied.*outbox' \
    'prune without the right to DELETE' prune --yes
is "$(sql 'CHECKSUM TABLE outbox, events, outbox_dead_letters')" "$before" \
    'prune without the right deletes nothing'
hide_tables
prints 'Deleted 2,000 delivered rows and 0 dead letters.' \
    "prune works without the daemon's other tables" -c "$OP" prune --yes
without_server "-c $OP prune"
done_testing
