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
is "$RC $(field '[.rows, .dead_letters, .later_needed, .dry_run] | tostring')" \
    '0 [2000,2,false,true]' 'a dry run tells what would go'
is "$(tables)" "$before" 'and changes nothing'
ctl -c "$OP" prune
is "$RC" 1 'so many are asked about'
like "$ERR" '2002 rows would be deleted, .*--yes' 'and told'
is "$(tables)" "$before" 'before anything is changed'
ctl -c "$OP" prune --yes --batch 300
is "$RC $OUT" '0 Deleted 2000 delivered row(s) and 2 dead letter(s).' \
    'what was delivered longer ago than a week goes'
is "$(rows)" '997 from 2001' 'and nothing else'
is "$(sql 'SELECT COUNT(*) FROM events')" 3000 'no event among it'
is "$(sql 'SELECT reconcile_watermark FROM outbox_settings')" 2000 \
    'the watermark rises with it'
is "$(dead)" '2997 purged,2998 attempts,2999 purged' \
    'the dead above it leave a mark'
ctl -c "$OP" --json dead list
is "$(field '[.rows[].sequence] | tostring')" '[2998]' 'which is no dead letter'
is "$(sql "SELECT CONCAT_WS('|', login, command, arguments, changed)
    FROM outbox_audit")" 'operator@localhost|prune|--yes --batch 300|2002' \
    'who did it stands in the audit'
ctl -c "$OP" prune
is "$RC $OUT" '0 Nothing to prune.' 'twice is once'
ctl -c "$OP" --json prune --days 1
is "$RC$OUT" 1 'a day less is more than a hundred'
ctl -c "$OP" --json prune --days 1 --yes
is "$(field '[.rows, .dead_letters] | tostring')" '[500,0]' '--days'
sql 'UPDATE outbox SET published_at = NOW(6) - INTERVAL 3 DAY
    WHERE global_sequence = 3000'
ctl -c "$OP" --json prune --older-than 49h
is "$RC $(field '[.rows, .dead_letters] | tostring')" '0 [1,2]' \
    '--older-than, and the marks below the watermark'
is "$(rows) $(dead)" '496 from 2501 2998 attempts' 'are gone'
ctl -c "$OP" --json prune --dead-days 0
is "$(dead)" '' '--dead-days'
sql "INSERT INTO outbox_dead_letters (global_sequence, reason)
    VALUES (2999, 'replayed'), (3001, 'replayed')"
ctl -c "$OP" --json prune
is "$(dead)" '3001 replayed' 'a mark of a replay goes with the watermark, too'

#
# What a check of the stream may need
#
fill
checked '3 DAY'
ctl -c "$OP" prune --days 1 --yes
like "$OUT" '^Deleted 2000 .*row' 'what was delivered after the last check stays'
like "$OUT" 'delivered after .*a check of the stream may need them' 'and it is said'
is "$(rows)" '997 from 2001' 'which is true'
checked '1 SECOND'
ctl -c "$OP" --json prune --days 0 --yes
is "$(field '[.rows, .later_needed] | tostring')" '[500,true]' \
    'and so does what may not be on the disk of the broker'
fill
ctl -c "$OP" --json prune --days 0 --yes
is "$(field '[.rows, .later_needed] | tostring')" '[2500,true]' \
    'a day is kept where there never was a check'
fill
checked '3 DAY'
sed 's/recover: "lost"/recover: "off"/' "$OP" > "$DIR/off.yml"
ctl -c "$DIR/off.yml" --json prune --days 2 --yes
is "$(field '[.rows, .later_needed] | tostring')" '[2500,false]' \
    'checks that are switched off need nothing'
fill
sql "REPLACE INTO outbox_streams (name, known_since, checked_at)
    VALUES ('EVENTS', NOW(6) - INTERVAL 7 DAY, NULL)"
ctl -c "$OP" --json prune --days 1 --yes
is "$(field .rows)" 2000 'a stream without a good check yet keeps all of its own'

#
# The watermark
#
fill NULL
checked '1 MINUTE'
ctl -c "$OP" prune --yes
is "$(sql 'SELECT reconcile_watermark IS NULL FROM outbox_settings')$(dead)" \
    '12998 attempts' 'where it is not known it stays so, and there are no marks'
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
    'two at once delete each row once'
fill
checked '1 MINUTE'

#
# What is not as it should be
#
for wrong in '--days x' '--days -1' '--batch 0' '--older-than never' '7' \
    '--days 1 --older-than 1d' '--limit 3'; do
	# shellcheck disable=SC2086
	ctl -c "$OP" prune $wrong
	is "$RC" 2 "prune $wrong: wrong use"
done
sql "REVOKE DELETE ON outbox FROM 'outbox'@'localhost'"
before=$(sql 'CHECKSUM TABLE outbox, events, outbox_dead_letters')
ctl prune --yes
is "$RC" 1 'no right to delete'
like "$ERR" '^outboxctl: prune: .*denied.*outbox' 'is told'
is "$(sql 'CHECKSUM TABLE outbox, events, outbox_dead_letters')" "$before" \
    'and nothing is deleted'
sql 'DROP TABLE outbox_dead_letters, outbox_streams, outbox_settings'
ctl -c "$OP" prune --yes
is "$RC $OUT" '0 Deleted 2000 delivered row(s) and 0 dead letter(s).' \
    'tables without ours do'
"$SANDBOX" stop "$DIR/db" >/dev/null
ctl -c "$OP" prune
is "$RC" 69 'the server is away'
done_testing
