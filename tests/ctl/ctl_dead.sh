#!/usr/bin/env bash
# outboxctl dead and keys: dead letters, and the keys that wait behind them
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

# An operator may change the outbox, but neither events nor the audit.
for statement in 'DELETE FROM events' 'DELETE FROM outbox_audit' \
    'UPDATE events SET event_type = 1' 'DELETE FROM outbox_blocked_keys' \
    'DELETE FROM outbox_settings'; do
	out=$("$SANDBOX" sql "$DIR/db" -u outbox_operator "-p$OPERATOR_PW" app \
	    -e "$statement" 2>&1)
	like "$out" 'command denied' "an operator's account may not: $statement"
done

#
# Lists and their filters
#
CONF=$OPERATOR
bury 250
shows '[.rows[].key] | join(" ")' 'd1 d2 d3' \
    '--limit 3: the first three, in order' dead list --limit 3
shows .next "$(field '.rows[2].sequence')" \
    '--limit 3: next is the last sequence'
shows '[(.rows | length), .next]' '[25,null]' \
    'dead list --key: all of the key, and no next page' dead list --key d5
ctl --json dead list --type '*.paid'
shows '.rows | length' 50 'dead list --type: rows that match the pattern'
ctl --json dead list --partition p01 --limit 1000
shows '[.rows[].partition] | unique' '["p01"]' \
    'dead list --partition: rows of that partition only'
ctl --json dead list --until 1h
shows '.rows | length' 0 'dead list --until 1h: no row that died later'
ctl --json messages list --state dead --key d5 --limit 2
shows '[.rows[].key] | join(" ")' 'd5 d5' \
    'messages list --state dead: the same rows as dead list'
LAST=$(sql 'SELECT MAX(global_sequence) FROM outbox_dead_letters')
ctl --json dead show "$LAST"
shows '[.state, .reason, .attempts, .payload_bytes]' \
    '["dead","attempts",25,1]' \
    'dead show: state, reason, attempts and size'
like "$(field .waits_for)" "^an operator: outboxctl dead retry $LAST sends" \
    'dead show: what to do'
ctl dead show 99999999
like "$RC $ERR" '^1 outboxctl: 99999999: no such dead letter' \
    'dead show of an unknown sequence: exit status 1, and why'
ctl --json keys blocked
is "$OUT" '[]' 'keys blocked without blocked keys: an empty list'

# A mark is no dead letter.
sql "INSERT INTO outbox_dead_letters (global_sequence, reason)
    VALUES (90000001, 'purged'), (90000002, 'replayed')"
ctl --json dead list --after 90000000
shows '.rows | length' 0 'dead list: rows that are only marks are left out'
ctl dead retry 90000001 90000002
is "$RC $(grep -c 'no such dead letter' <<< "$ERR")" '1 2' \
    'dead retry of marks: exit status 1, and why for each'
ctl --json dead purge --all --dry-run
shows .changed 250 'dead purge: marks are not counted'
shows .dead.count 250 'status: marks are not counted' status
sql 'DELETE FROM outbox_dead_letters WHERE global_sequence > 90000000'

#
# Back into the outbox
#
before=$(tables)
prints '1 dead letter would be put back' \
    'dead retry --dry-run: says what it would do' dead retry "$LAST" --dry-run
ctl --json dead purge --all --dry-run
shows '[.changed, .dry_run]' '[250,true]' 'dead purge --dry-run: number of rows'
fails 1 '250 dead letters would be put back; .*--yes' 'dead retry --all of 250 rows without --yes' \
    dead retry --all
is "$(tables)" "$before" 'dry runs and a refused retry change no table'
before=$(epochs)
ctl dead retry "$LAST"
is "$RC $OUT" '0 1 dead letter put back' 'dead retry: one row is put back'
is "$(sql "SELECT CONCAT_WS(' ', partition_key, attempts, available_at <= NOW(6),
    published_at IS NULL, created_at) FROM outbox")" \
    "$(sql "SELECT CONCAT('p0', CRC32('d0') % 4)") 0 1 1 2026-01-31 12:00:00.000000" \
    'dead retry: the outbox row has its columns, and is due'
is "$(dead)" 249 'dead retry: its dead letter is gone'
is "$(epochs)" $((before + 1)) 'dead retry raises the epoch of its partition'
is "$(audited)" "outbox_operator@localhost dead retry $LAST 1" \
    'dead retry: it is in the audit'
ctl dead retry "$LAST" 99999999 "$((LAST - 1))"
is "$RC" 1 'dead retry with unknown sequences: exit status 1'
is "$(grep -c 'no such dead letter' <<< "$ERR") $OUT" \
    '2 1 dead letter put back' \
    'dead retry with unknown sequences: the known one is put back'
ctl dead retry --all --key d5
is "$OUT" '25 dead letters put back' 'dead retry --key: all of that key'
ctl --json dead retry --all --type order.paid --partition p03
shows .changed "$(sql "SELECT COUNT(*) FROM outbox JOIN events
    ON sequence = global_sequence WHERE partition_key = 'p03'
    AND event_type = 'order.paid' AND stream_id <> 'd5'
    AND sequence < $LAST - 1")" \
    '--type, --partition: rows that match both'
ctl dead retry --all --since 1h --yes
is "$(dead)" 0 'dead retry --since --yes: no dead letter is left'
rows_are 250 outbox 'dead retry: all 250 are in the outbox'
bury 1200
fails 1 '^outboxctl: 960 dead letters of [0-9]+ keys \(960 order.made\) would be purged and never sent; nothing was done: confirm it with --yes$' \
    'dead purge --all without --yes' dead purge --all --type order.made
ctl dead purge --all --type order.made --yes
is "$OUT $(dead)" '960 dead letters purged 240' \
    'dead purge --type: more rows than one statement takes'
rows_are 250 outbox 'dead purge: no row comes back to the outbox'
is "$(sql "SELECT COUNT(*), COUNT(last_error) FROM outbox_dead_letters
    WHERE reason = 'purged'")" $'960\t0' \
    'dead purge: each row stays as a mark, so that reconcile skips it'
ctl dead list --type order.made
is "$OUT" '' 'dead purge: marks are not listed as dead letters'
is "$(audited)" \
'outbox_operator@localhost dead purge --all --type order.made --yes 960' \
    'dead purge: one row in the audit'
bury 1000
"$OUTBOXCTL" -c "$CONF" --json dead retry --all --key d7 > "$DIR/twice" 2> /dev/null &
ctl --json dead retry --all --key d7
wait $!
is "$(cat "$DIR/twice" - <<< "$OUT" | jq -n '[inputs.changed] | add')" 100 \
    'two dead retry at once: each row is put back by one of them'
sql "INSERT INTO outbox (global_sequence, partition_key)
    SELECT MIN(global_sequence), 'p00' FROM outbox_dead_letters
    WHERE reason <> 'purged'"
before=$(tables)
fails 1 '^outboxctl: 1 skipped: already in the outbox' \
    'dead retry of a row that is in the outbox' dead retry "$(sql "SELECT
    MIN(global_sequence) FROM outbox_dead_letters WHERE reason <> 'purged'")"
is "$(tables)" "$before" 'such a dead retry changes no table'

refuses <<'END'
is_missing dead show
give_either dead retry
give_either dead purge 7 --all
needs_--all dead retry 7 --key a
not_a_sequence dead retry 7x
not_an_option dead retry 7 --release
is_missing keys release
END

#
# A halted key under a running daemon: the repaired message keeps its place.
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
shows '.[0] | [.key, .reason, .head, .parked, .dead]' \
    "[\"busy\",\"halted\",$SICK,0,true]" \
    'keys blocked: the halted key, its head, and that this is dead'
like "$(field '.[0].error')" 'subject' 'keys blocked: the error of the head'
ctl --json dead show "$SICK"
like "$(field .waits_for)" '^an operator: enqueue it anew without its error' \
    'dead show of a message that is wrong itself: what to do'
ctl --json status
like "$(field '.problems[] | select(.id == "halted_keys") | .remedy')" \
    "enqueue it anew without that, and outboxctl dead purge $SICK --release" \
    'status: what to do about the key behind it'
matches '^busy +halted' 'keys blocked without --json: a line' keys blocked
ctl --json messages show $((SICK + 1))
shows .waits_for "its key, halted by message $SICK: see outboxctl keys blocked" \
    'messages show: the message waits for its halted key'
ctl dead purge "$SICK" --dry-run
like "$ERR" '1 key stays halted' \
    'dead purge --dry-run: the key stays halted'
before=$(tables)
ctl keys release busy --dry-run
is "$RC $OUT" '0 1 key would be released' 'keys release --dry-run'
ctl keys release busy busy --dry-run
is "$RC $OUT" '0 1 key would be released' \
    'keys release: a key that is named twice counts once'
sql "UPDATE events SET event_type = 'ok' WHERE sequence = $SICK"
exits 0 'dead retry of a repaired message: exit status 0' dead retry "$SICK"
drains 10 'the repaired message and those behind it are sent'
within 5 'the key is not blocked any more' \
    is_sql 'SELECT COUNT(*) FROM outbox_blocked_keys' 0
check_stream 'the stream is complete and in order after dead retry' --wait 5

# Another message halts the key: this one comes back and stays behind it.
put_row busy 5 ok 'available_at = NOW(6) + INTERVAL 1 HOUR'
LATER=$SEQ
exits 0 'messages discard of the later message: exit status 0' \
    messages discard "$LATER"
sql "INSERT INTO outbox_blocked_keys (first_sequence, partition_key, order_key,
    reason, head_sequence) VALUES ($SICK, CONCAT('p0', CRC32('busy') % 4),
    'busy', 'halted', $SICK)"
ctl --json dead retry "$LATER" --dry-run
shows .halted "[{\"by\":$SICK,\"key\":\"busy\"}]" \
    'dead retry --dry-run: the key that stays halted'
ctl dead retry "$LATER"
like "$RC $ERR" "^0 outboxctl: key busy stays halted by dead message $SICK: " \
    'dead retry: it says that the key stays halted'
sql "DELETE FROM outbox_blocked_keys; DELETE FROM outbox
    WHERE global_sequence = $LATER; DELETE FROM events WHERE sequence = $LATER"

# Many, while the daemon claims them.
bury 1500
ctl --json dead retry --all --yes
is "$RC $(field .changed)" '0 1500' 'dead retry of 1500 under a running daemon'
drains 20 'all messages that were put back are sent'
check_stream 'the stream is complete and in order after 1500 were put back' \
    --wait 5

# Released without it: the others go on, and it stays where it is.
put_row gone 1 'never a subject'
SICK=$SEQ
put_row gone 2 ok
wait_for 10 are_dead 1
before=$(epochs)
ctl --json keys release gone nobody
is "$RC $(field .changed)" '1 1' \
    'keys release: one key, and status 1 for the other'
like "$ERR" '^outboxctl: nobody: this key is not halted' \
    'keys release of a key that is not halted: the error says so'
is "$(epochs)" $((before + 1)) 'keys release raises the epoch of its partition'
is "$(audited)" 'outbox_operator@localhost keys release gone nobody 1' \
    'keys release: it is in the audit'
within 10 'keys release: later messages of the key are sent' \
    is_sent $((SICK + 1))
is "$(dead)" 1 'keys release: the dead letter stays'

# Purged, and the key goes on.
put_row late 1 'never a subject'
SICK=$SEQ
put_row late 2 ok
wait_for 10 are_dead 2
exits 0 'dead purge under a halted key: exit status 0' dead purge "$SICK"
like "$ERR" '1 key stays halted' \
    'dead purge warns that the key stays halted'
ctl keys release late
within 10 'keys release after dead purge: the later message is sent' \
    is_sent $((SICK + 1))
put_row later 1 'never a subject'
SICK=$SEQ
put_row later 2 ok
wait_for 10 are_dead 2
ctl dead purge "$SICK" --release
is "$RC$ERR" 0 'dead purge --release: exit status 0, no warning'
within 10 'dead purge --release: the later message is sent' \
    is_sent $((SICK + 1))
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
shows '[.[] | [.key, .parked]]' \
    '[["wide",1000],[null,0]]' \
    'keys blocked: it counts up to 1000 parked rows'
like "$(ctl keys blocked; echo "$OUT")" '^wide .* 1,000\+ ' \
    'keys blocked: and says that it is a limit'
ctl --json keys blocked --after 7 --limit 1
shows '[.[].record]' '[8]' 'keys blocked --after --limit: the next page'
exits 1 'keys release of a delayed key: exit status 1' keys release wide

#
# Missing rights, tables and servers
#
CONF=$DAEMON
sql 'DELETE FROM outbox'
LAST=$(sql 'SELECT MAX(global_sequence) FROM outbox_dead_letters')
sql "REVOKE INSERT ON outbox FROM 'outbox'@'localhost';
    REVOKE DELETE ON outbox_dead_letters FROM 'outbox'@'localhost'"
before=$(tables)
for args in "retry $LAST" "purge $LAST"; do
	# shellcheck disable=SC2086
	exits 1 "dead $args without the right: exit status 1" dead $args
	like "$ERR" \
	    "^outboxctl: .*command denied.*'outbox'.*: sql/operator.sql grants it$" \
	    "dead $args: the error names the right and the file that grants it"
	is "$(grep -c . <<< "$ERR")" 1 "dead $args: the error is one line"
done
is "$(tables)" "$before" 'no table is changed without the right'
sql 'RENAME TABLE outbox_blocked_keys TO away'
sed -i 's/on_dead: halt, //' "$DAEMON" "$OPERATOR"
for command in 'keys blocked' "dead retry $LAST"; do
	# shellcheck disable=SC2086
	fails 1 '^outboxctl: schema: table app.outbox_blocked_keys is missing or not granted: run outboxctl schema upgrade' \
	    "without one table: $command" $command
done
CONF=$OPERATOR
sql 'RENAME TABLE away TO outbox_blocked_keys'
hide_tables
for command in 'keys blocked' 'keys release wide'; do
	# shellcheck disable=SC2086
	ctl $command
	like "$RC $ERR" '^1 outboxctl: outbox_blocked_keys: no such table' \
	    "$command without its table: exit status 1, and why"
done
for command in 'dead list' "dead show $LAST" "dead retry $LAST" \
    "dead purge --all"; do
	# shellcheck disable=SC2086
	ctl $command
	like "$RC $ERR" '^1 outboxctl: outbox_dead_letters: no such table' \
	    "$command without its table: exit status 1, and why"
done
without_server 'dead list' "dead retry $LAST" 'keys blocked' 'keys release a'
done_testing
