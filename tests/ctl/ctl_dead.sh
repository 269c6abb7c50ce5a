#!/usr/bin/env bash
# outboxctl dead and keys: what was given up, and what waits behind it.
. "${srcdir:-$(dirname "$0")/../..}/tests/lib/ctl.sh"

export OPERATOR_PW=operator-secret

# bury N: so many dead letters, of keys d0 to d9, each with its event
bury() {
	local i
	for ((i = 1; i <= $1; i++)); do
		printf "INSERT INTO events (stream_id, stream_sequence,
		    event_type, event_data) VALUES ('d%d', %d, '%s', 'x');
		INSERT INTO outbox_dead_letters (global_sequence, partition_key,
		    order_key, event_type, attempts, reason, created_at)
		    SELECT sequence, CONCAT('p0', CRC32(stream_id) %% 4),
		    stream_id, event_type, 25, 'attempts', '2026-01-31 12:00:00'
		    FROM events WHERE sequence = LAST_INSERT_ID();\n" \
		    $((i % 10)) $((BURIED + i)) \
		    "$([ $((i % 5)) -eq 0 ] && echo order.paid || echo order.made)"
	done > "$DIR/bury.sql"
	BURIED=$((BURIED + $1))
	"$SANDBOX" sql "$DIR/db" app < "$DIR/bury.sql"
}
BURIED=0
dead() { sql 'SELECT COUNT(*) FROM outbox_dead_letters WHERE reason <> '\''purged'\'''; }
are_dead() { [ "$(dead)" -eq "$1" ]; }
audited() { sql "SELECT CONCAT_WS(' ', login, command, arguments, changed)
    FROM outbox_audit ORDER BY id DESC LIMIT 1"; }

start_servers
PARTITIONS=4 write_conf
sed -i 's/^retry: {/&on_dead: halt, /' "$CONF"
sql "CREATE USER 'outbox_operator'@'localhost' IDENTIFIED BY '$OPERATOR_PW';
    INSERT INTO outbox_partitions (partition_key) VALUES
    ('p00'), ('p01'), ('p02'), ('p03')"
"$SANDBOX" sql "$DIR/db" app < "$srcdir/sql/operator.sql"
sed 's/user: outbox,/user: outbox_operator,/
    s/OUTBOX_PW/OPERATOR_PW/' "$CONF" > "$DIR/operator.yml"
DAEMON=$CONF OPERATOR=$DIR/operator.yml

# An operator mends the outbox, and neither history nor what is on record.
for statement in 'DELETE FROM events' 'DELETE FROM outbox_audit' \
    'UPDATE events SET event_type = 1' 'DELETE FROM outbox_blocked_keys' \
    'DELETE FROM outbox_settings'; do
	out=$("$SANDBOX" sql "$DIR/db" -u outbox_operator "-p$OPERATOR_PW" app \
	    -e "$statement" 2>&1)
	like "$out" 'command denied' "an operator's account: no $statement"
done

#
# Lists and their filters
#
CONF=$OPERATOR
bury 250
ctl --json dead list --limit 3
is "$(field '[.rows[].key] | join(" ")')" 'd1 d2 d3' 'dead letters, in order'
is "$(field .next)" "$(field '.rows[2].sequence')" 'and where to go on'
ctl --json dead list --key d5
is "$(field '[(.rows | length), .next] | tostring')" '[25,null]' 'of a key'
ctl --json dead list --type '*.paid'
is "$(field '.rows | length')" 50 'of a type'
ctl --json dead list --partition p01 --limit 1000
is "$(field '[.rows[].partition] | unique | tostring')" '["p01"]' \
    'of a partition'
ctl --json dead list --until 1h
is "$(field '.rows | length')" 0 'by when they died'
ctl --json messages list --state dead --key d5 --limit 2
is "$(field '[.rows[].key] | join(" ")')" 'd5 d5' \
    'messages list --state dead is the same'
LAST=$(sql 'SELECT MAX(global_sequence) FROM outbox_dead_letters')
ctl --json dead show "$LAST"
is "$(field '[.state, .reason, .attempts, .payload_bytes] | tostring')" \
    '["dead","attempts",25,1]' 'one of them'
ctl dead show 99999999
like "$RC $ERR" '^1 outboxctl: 99999999: no such dead letter' 'or none'
ctl --json keys blocked
is "$OUT" '[]' 'no key is blocked'

# What is only a mark is no dead letter.
sql "INSERT INTO outbox_dead_letters (global_sequence, reason)
    VALUES (90000001, 'purged'), (90000002, 'replayed')"
ctl --json dead list --after 90000000
is "$(field '.rows | length')" 0 'a mark is not listed'
ctl dead retry 90000001 90000002
is "$RC $(grep -c 'no such dead letter' <<< "$ERR")" '1 2' 'nor put back'
ctl --json dead purge --all --dry-run
is "$(field .changed)" 250 'nor purged'
ctl --json status
is "$(field .dead.count)" 250 'nor counted'
sql 'DELETE FROM outbox_dead_letters WHERE global_sequence > 90000000'

#
# Back into the outbox
#
before=$(tables)
ctl dead retry "$LAST" --dry-run
is "$RC $OUT" '0 1 dead letter(s) would be put back' 'a dry run of retry'
ctl --json dead purge --all --dry-run
is "$(field '[.changed, .dry_run] | tostring')" '[250,true]' 'and of purge'
ctl dead retry --all
is "$RC" 1 'many are asked about'
like "$ERR" '250 rows would be put back, .*--yes' 'and it is said how many'
is "$(tables)" "$before" 'nothing was changed'
before=$(epochs)
ctl dead retry "$LAST"
is "$RC $OUT" '0 1 dead letter(s) put back' 'retry'
is "$(sql "SELECT CONCAT_WS(' ', partition_key, attempts, available_at <= NOW(6),
    published_at IS NULL, created_at) FROM outbox")" \
    "$(sql "SELECT CONCAT('p0', CRC32('d0') % 4)") 0 1 1 2026-01-31 12:00:00.000000" \
    'the row is whole'
is "$(dead)" 249 'and not among the dead'
is "$(epochs)" $((before + 1)) 'and its owner will look'
is "$(audited)" "outbox_operator@localhost dead retry $LAST 1" 'on record'
ctl dead retry "$LAST" 99999999 "$((LAST - 1))"
is "$RC" 1 'what is not there is a failure'
is "$(grep -c 'no such dead letter' <<< "$ERR") $OUT" \
    '2 1 dead letter(s) put back' 'told for each, and the others are done'
ctl dead retry --all --key d5
is "$OUT" '25 dead letter(s) put back' 'a key'
ctl --json dead retry --all --type order.paid --partition p03
is "$(field .changed)" "$(sql "SELECT COUNT(*) FROM outbox JOIN events
    ON sequence = global_sequence WHERE partition_key = 'p03'
    AND event_type = 'order.paid' AND stream_id <> 'd5'
    AND sequence < $LAST - 1")" 'a type of a partition'
ctl dead retry --all --since 1h --yes
is "$(dead)" 0 'all of them'
is "$(sql 'SELECT COUNT(*) FROM outbox')" 250 'are back'
bury 1200
ctl dead purge --all --type order.made --yes
is "$OUT $(dead)" '960 dead letter(s) purged 240' 'purge: more than a chunk'
is "$(sql 'SELECT COUNT(*) FROM outbox')" 250 'and none comes back'
is "$(sql "SELECT COUNT(*), COUNT(last_error) FROM outbox_dead_letters
    WHERE reason = 'purged'")" $'960\t0' \
    'a mark stays of each, or reconcile would make its row again'
ctl dead list --type order.made
is "$OUT" '' 'which is no dead letter'
is "$(audited)" \
'outbox_operator@localhost dead purge --all --type order.made --yes 960' \
    'on record, in one row'
bury 1000
"$OUTBOXCTL" -c "$CONF" --json dead retry --all --key d7 > "$DIR/twice" 2> /dev/null &
ctl --json dead retry --all --key d7
wait $!
is "$(cat "$DIR/twice" - <<< "$OUT" | jq -n '[inputs.changed] | add')" 100 \
    'two at once put each back once'
sql "INSERT INTO outbox (global_sequence, partition_key)
    SELECT MIN(global_sequence), 'p00' FROM outbox_dead_letters
    WHERE reason <> 'purged'"
before=$(tables)
ctl dead retry "$(sql "SELECT MIN(global_sequence) FROM outbox_dead_letters
    WHERE reason <> 'purged'")"
is "$RC" 1 'one that is in the outbox already is not put there twice'
like "$ERR" '^outboxctl: 1 skipped: already in the outbox' 'and it is said'
is "$(tables)" "$before" 'and nothing was changed'

refuses <<'END'
2 is_missing dead show
2 give_either dead retry
2 give_either dead purge 7 --all
2 needs_--all dead retry 7 --key a
2 not_a_sequence dead retry 7x
2 not_an_option dead retry 7 --release
2 is_missing keys release
END

#
# A halted key, under a running daemon: the dead one comes in its place.
#
sql 'DELETE FROM outbox; DELETE FROM outbox_dead_letters; DELETE FROM events'
CONF=$DAEMON
start_fleet
CONF=$OPERATOR
put_row busy 1 ok
put_row busy 2 'never a subject'
SICK=$SEQ
put_row busy 3 ok
put_row busy 4 ok
put_row other 1 ok
wait_for 10 is_sent "$SEQ"
wait_for 10 are_dead 1
ctl --json keys blocked
is "$(field '.[0] | [.key, .reason, .head, .parked, .dead] | tostring')" \
    "[\"busy\",\"halted\",$SICK,0,true]" 'a halted key'
like "$(field '.[0].error')" 'subject' 'and why'
ctl keys blocked
like "$OUT" '^busy +halted' 'for people a line'
ctl --json messages show $((SICK + 1))
is "$(field .waits_for)" "its key, halted by message $SICK: keys release, or dead retry" \
    'what waits behind it says so'
ctl dead purge "$SICK" --dry-run
like "$ERR" '1 key\(s\) stay halted' 'a purge would leave it halted'
before=$(tables)
ctl keys release busy --dry-run
is "$RC $OUT" '0 1 key(s) would be released' 'a dry run of release'
sql "UPDATE events SET event_type = 'ok' WHERE sequence = $SICK"
ctl dead retry "$SICK"
is "$RC" 0 'the repaired one is put back'
drains 10 'and goes, and what waited behind it'
wait_for 5 is_sql 'SELECT COUNT(*) FROM outbox_blocked_keys' 0
ok $? 'the key is off the record'
check_stream 'all there, in order' --wait 5

# Many, while the daemon claims them.
bury 1500
ctl --json dead retry --all --yes
is "$RC $(field .changed)" '0 1500' 'many are put back under a running daemon'
drains 20 'and go'
check_stream 'all of them, in order' --wait 5

# Released without it: the others go on, and it stays where it is.
put_row gone 1 'never a subject'
SICK=$SEQ
put_row gone 2 ok
wait_for 10 are_dead 1
before=$(epochs)
ctl --json keys release gone nobody
is "$RC $(field .changed)" '1 1' 'a key is released, and one is not halted'
like "$ERR" '^outboxctl: nobody: this key is not halted' 'which is said'
is "$(epochs)" $((before + 1)) 'its owner will look'
is "$(audited)" 'outbox_operator@localhost keys release gone nobody 1' \
    'on record'
wait_for 10 is_sent $((SICK + 1))
ok $? 'what was behind it goes'
is "$(dead)" 1 'and it is still among the dead'

# Purged, and the key goes on.
put_row late 1 'never a subject'
SICK=$SEQ
put_row late 2 ok
wait_for 10 are_dead 2
ctl dead purge "$SICK"
is "$RC" 0 'purge'
like "$ERR" '1 key\(s\) stay halted' 'leaves the key halted, and says so'
ctl keys release late
wait_for 10 is_sent $((SICK + 1))
ok $? 'until it is released'
put_row later 1 'never a subject'
SICK=$SEQ
put_row later 2 ok
wait_for 10 are_dead 2
ctl dead purge "$SICK" --release
is "$RC$ERR" 0 'purge --release'
wait_for 10 is_sent $((SICK + 1))
ok $? 'lets it go on'
stop_master "$MASTER"

# Parked rows are counted, up to a bound.
bury 1
sql "DELETE FROM outbox; DELETE FROM outbox_blocked_keys;
    INSERT INTO outbox_blocked_keys (first_sequence, partition_key, order_key,
	reason, head_sequence) VALUES (7, 'p01', 'wide', 'failed', 7),
	(8, 'p01', NULL, 'delayed', 8);
    INSERT INTO outbox (global_sequence, partition_key) VALUES (1, '!7')"
for ((i = 1; i < 2048; i *= 2)); do
	sql "INSERT INTO outbox (global_sequence, partition_key)
	    SELECT global_sequence + $i, '!7' FROM outbox"
done
ctl --json keys blocked
is "$(field '[.[] | [.key, .parked]] | tostring')" \
    '[["wide",1000],[null,0]]' 'parked rows are counted, up to a bound'
ctl --json keys blocked --after 7 --limit 1
is "$(field '[.[].record] | tostring')" '[8]' 'page by page'
ctl keys release wide
is "$RC" 1 'a key that is only delayed is not released'

#
# What is not as it should be.
#
CONF=$DAEMON
sql 'DELETE FROM outbox'
LAST=$(sql 'SELECT MAX(global_sequence) FROM outbox_dead_letters')
sql "REVOKE INSERT ON outbox FROM 'outbox'@'localhost';
    REVOKE DELETE ON outbox_dead_letters FROM 'outbox'@'localhost'"
before=$(tables)
for args in "retry $LAST" "purge $LAST"; do
	# shellcheck disable=SC2086
	ctl dead $args
	is "$RC" 1 "dead $args: not without the right"
	like "$ERR" \
	    "^outboxctl: .*command denied.*'outbox'.*: sql/operator.sql grants it$" \
	    'and it is said which right, and where to get it'
	is "$(grep -c . <<< "$ERR")" 1 'in one line'
done
is "$(tables)" "$before" 'and nothing was changed'
sql 'RENAME TABLE outbox_blocked_keys TO away'
sed -i 's/on_dead: halt, //' "$DAEMON" "$OPERATOR"
ctl keys blocked
like "$RC $ERR" '^1 outboxctl: outbox_blocked_keys: no such table' \
    'without a table of blocked keys'
ctl keys release wide
like "$RC $ERR" '^1 outboxctl: outbox_blocked_keys: no such table' \
    'nothing is released'
CONF=$OPERATOR
ctl dead retry "$LAST"
is "$RC" 0 'and dead ones are put back all the same'
sql 'RENAME TABLE outbox_dead_letters TO away2'
for command in 'dead list' "dead show $LAST" "dead retry $LAST" \
    "dead purge --all"; do
	# shellcheck disable=SC2086
	ctl $command
	like "$RC $ERR" '^1 outboxctl: outbox_dead_letters: no such table' \
	    "$command: without a table of dead letters"
done
"$SANDBOX" stop "$DIR/db" >/dev/null
for command in 'dead list' "dead retry $LAST" 'keys blocked' 'keys release a'; do
	# shellcheck disable=SC2086
	ctl $command
	is "$RC" 69 "$command: the server is away"
done
done_testing
