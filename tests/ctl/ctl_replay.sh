#!/usr/bin/env bash
# outboxctl messages replay: delivered messages go once more, in order, at a
# pace, and the stream takes them
. "${srcdir:-$(dirname "$0")/../..}/tests/lib/ctl.sh"

# enqueue KEY COUNT TYPE
enqueue() {
	local i
	for ((i = 0; i < $2; i++)); do
		echo "START TRANSACTION; CALL outbox_enqueue('$1', NULL, '$3', 1,
		    NULL, NULL, 'payload $i'); COMMIT;"
	done | "$SANDBOX" sql "$DIR/db" app
}
tick() {
	"$OUTBOX_MASTER" -c "$CONF" --once --silent 2>> "$DIR/log"
	is_drained
}
deliver() { wait_for 20 tick; }
message() { "$LAB" show --nats "$URL" --stream EVENTS --seq "$1"; }
ack_of() { sql "SELECT ack_sequence FROM outbox WHERE global_sequence = $1"; }
# replays: which rows wait, and how often each was replayed
replays() { sql "SELECT COALESCE(GROUP_CONCAT(CONCAT(global_sequence, 'r',
    replay_no) ORDER BY global_sequence SEPARATOR ' '), 'none') FROM outbox
    WHERE published_at IS NULL"; }
labels() { sql 'SELECT GROUP_CONCAT(COALESCE(partition_key, "NULL")
    ORDER BY global_sequence SEPARATOR " ") FROM outbox
    WHERE global_sequence <= 4'; }
# disorder KEY: pairs of its rows of which the later one has a lower place
disorder() { sql "SELECT COUNT(*) FROM outbox a JOIN events x
    ON x.sequence = a.global_sequence JOIN events y ON y.stream_id = x.stream_id
    AND y.sequence > x.sequence JOIN outbox b ON b.global_sequence = y.sequence
    WHERE b.ack_sequence < a.ack_sequence AND x.stream_id = '$1'"; }

start_servers
PARTITIONS=4 write_conf
as_operator
sql 'UPDATE outbox_settings SET partition_count = 4'
enqueue a 5 order.made
enqueue b 5 order.paid
enqueue c 130 order.made
deliver
is "$(sql 'SELECT COUNT(ack_sequence) FROM outbox')" 140 'all is delivered'

#
# Wrong uses
#
before=$(tables)
while IFS='|' read -r rc text args; do
	# shellcheck disable=SC2086
	ctl messages replay $args
	is "$RC" "$rc" "messages replay $args: status $rc"
	like "$ERR" "$text" 'and why'
done <<'EOT'
2|or --all$|
2|or --all$|--until 1h
2|or a filter|7 --key a
2|or a filter|7 --all
2|or a filter|7 --after 3
2|not a sequence number|x
2|not a number from 1|--all --rate 0
1|99999: no such message|99999
1|140 rows would be replayed, .*--yes|--all
EOT
is "$(tables)" "$before" 'nothing was changed by them'

#
# Which of them
#
ctl messages replay --all --dry-run
is "$RC $OUT" '0 140 message(s) would be replayed' 'a dry run counts'
while IFS='|' read -r n args; do
	# shellcheck disable=SC2086
	ctl --json messages replay --dry-run $args
	is "$(field '[.changed, .dry_run] | tostring')" "[$n,true]" "$args: $n"
done <<EOT
5|--key a
5|--type *.paid
5|--key b --type order.*
0|--key b --type order.made
$(sql "SELECT COUNT(*) FROM outbox WHERE partition_key = 'p01'")|--partition p01
140|--since 1h
0|--since 1h --until 1h
0|--since 2050-01-01
137|--all --after 3
2|--key a --after 3
3|5 9 5 140
EOT
is "$(tables)" "$before" 'and nothing was changed'

#
# What becomes of them
#
sql "UPDATE outbox SET attempts = 3, last_error = 'x', in_doubt_since = NOW(6),
    claim_token = 'x', available_at = NOW(6) + INTERVAL 1 HOUR
    WHERE global_sequence = 2"
was=$(ack_of 2)
epochs=$(sql 'SELECT SUM(lease_epoch) FROM outbox_partitions')
ctl --json messages replay 3 2 3
is "$RC $OUT" '0 {"changed":2,"last":3,"dry_run":false}' 'two of them, by name'
is "$(replays)" '2r1 3r1' 'wait again'
is "$(sql 'SELECT CONCAT_WS("|", attempts, last_error, in_doubt_since,
    claim_token, ack_sequence, available_at <= NOW(6)) FROM outbox
    WHERE global_sequence = 2')" '0|1' 'as if they were new'
is "$(sql 'SELECT SUM(lease_epoch) FROM outbox_partitions')" \
    $((epochs + 1)) 'their owner will look'
is "$(sql "SELECT CONCAT_WS('|', command, arguments, changed)
    FROM outbox_audit")" 'messages replay|up to 3: 3 2 3|2' 'on record'
ctl messages replay 3 2 1
is "$RC $OUT" '1 1 message(s) replayed' 'what waits is not replayed'
is "$(grep -c '^outboxctl: [23]: .*not delivered$' <<< "$ERR")" 2 \
    'and it is said'
is "$(replays)" '1r1 2r1 3r1' 'nor counted'
ctl --json messages show 2
is "$(field '[.state, .replay_no] | tostring')" '["pending",1]' 'show tells'
deliver
is "$(replays) $(disorder a)" 'none 6' 'they are sent, behind those of before'
like "$(message "$(ack_of 2)")" '^Nats-Msg-Id: [0-9a-f]+-2-[0-9a-f]{16}-r1$' \
    'with an id of their own'
like "$(message "$(ack_of 2)")" '^Outbox-Replay: 1$' 'and a header'
like "$(message "$was")" '^Nats-Msg-Id: [0-9a-f]+-2-[0-9a-f]{16}$' \
    'the first one is where it was'
ctl --json messages show 2
like "$(message "$(field .ack_sequence)")" "^Nats-Msg-Id: $(field .message_id)\$" \
    'show has the id of the stream'

#
# In order, and in front of what waits
#
enqueue a 3 order.made
ctl messages replay --key a
is "$RC $OUT" '0 5 message(s) replayed' 'a key'
ctl messages replay --type order.paid
deliver
is "$(disorder a)$(disorder b)" 00 'in order, and before later ones that waited'
is "$(sql 'SELECT COUNT(*), COUNT(DISTINCT ack_sequence) FROM outbox')" \
    $'143\t143' 'each has a place of its own'

#
# The label of today
#
ctl messages replay 1
sql "UPDATE outbox SET published_at = NOW(6), partition_key =
	CASE global_sequence WHEN 1 THEN 'eu' WHEN 2 THEN NULL
	WHEN 3 THEN '!3' ELSE 'p99' END WHERE global_sequence <= 4;
    UPDATE outbox_settings SET partition_count = 8, counts_since = NOW(6)"
now=p0$(sql "SELECT CRC32('a') MOD 8")
epoch() { sql "SELECT lease_epoch FROM outbox_partitions
    WHERE partition_key = '$now'"; }
sql "INSERT IGNORE INTO outbox_partitions (partition_key) VALUES ('$now')"
was=$(epoch)
ctl messages replay 1 2 3 4
is "$(labels)" "eu NULL $now $now" \
    'a label of another count is made anew, the own one of an application not'
is "$(($(epoch) - was))" 1 'and the owner of the new label is told'
deliver
sql "UPDATE outbox_settings SET former_counts = '16,1'"
ctl messages replay 2
is "$(labels)" "eu $now $now $now" \
    'no label is one of a count, too, while 1 is declared'
deliver
sql "UPDATE outbox SET partition_key = NULL WHERE global_sequence = 2;
    UPDATE outbox_settings SET former_counts = NULL"
is "$(replays)" none 'and they are found there'
sql "UPDATE outbox SET partition_key = 'p99' WHERE global_sequence = 4;
    UPDATE outbox_settings SET partition_count = NULL"
ctl messages replay 4
is "$(labels)" "eu NULL $now p99" 'without a count a label is kept'
sql 'UPDATE outbox_settings SET partition_count = 4'
deliver

#
# The number stays with the message
#
ctl -c "$OP" messages replay 7
ctl -c "$OP" messages discard 7
is "$(sql 'SELECT replay_no FROM outbox_dead_letters')" 2 'to the dead'
ctl --json messages show 7
like "$(field .message_id)" '-r2$' 'of which it is told'
ctl -c "$OP" dead retry 7
is "$(replays)" 7r2 'and back'
deliver

#
# At a pace, and interrupted
#
sql 'DELETE FROM outbox_audit'
began=$(now_ms)
ctl messages replay --key c --after 120 --rate 10 --yes
is "$OUT" '20 message(s) replayed' 'twenty'
[ $(($(now_ms) - began)) -ge 1000 ]
ok $? 'at ten a second'
is "$(sql 'SELECT GROUP_CONCAT(arguments, " ", changed ORDER BY id SEPARATOR "|")
    FROM outbox_audit')" 'up to 130: --key c --after 120 --rate 10 --yes 10|up to 140: --key c --after 120 --rate 10 --yes 10' \
    'each chunk is on record'
deliver
# interrupt SIGNAL: a replay of key c behind its second chunk; sets LAST
interrupt() {
	local pid
	sql 'DELETE FROM outbox_audit; DROP TABLE IF EXISTS past; CREATE TABLE
	    past AS SELECT global_sequence, replay_no FROM outbox'
	"$OUTBOXCTL" -c "$CONF" messages replay --key c --rate 7 --yes \
	    > "$DIR/replay.out" 2> "$DIR/replay.err" < /dev/null &
	pid=$!
	wait_for 10 is_sql 'SELECT COUNT(*) >= 2 FROM outbox_audit' 1
	kill -"$1" "$pid"
	wait "$pid" 2> /dev/null
	RC=$?
	LAST=$(sql "SELECT MAX(CAST(SUBSTRING(arguments, 7) AS UNSIGNED))
	    FROM outbox_audit")
}
# more EXPRESSION: of those that were replayed since, o
more() { sql "SELECT CONCAT_WS(' ', $1) FROM outbox o JOIN past p
    USING (global_sequence) WHERE o.replay_no > p.replay_no"; }
go_on() {
	is "$(more 'COUNT(*), MAX(global_sequence)')" "$((LAST - 10)) $LAST" \
	    'what it did is on record'
	ctl messages replay --key c --after "$LAST" --yes
	is "$(more 'COUNT(*), MAX(o.replay_no - p.replay_no)')" '130 1' \
	    'and --after goes on, with each of them once'
	deliver
	is "$(disorder c)" 0 'in order'
}
interrupt KILL
go_on
interrupt TERM
is "$RC" 1 'one that is interrupted'
like "$(cat "$DIR/replay.err")" \
    "^outboxctl: [0-9]+ message\(s\) were replayed; .*--after $LAST" \
    'says how far it came'
go_on

# More than are found at a time, the latest first: sorted nevertheless.
produce --events 1100 --keys 1 --key-prefix d --bulk
arrive() { sql 'UPDATE outbox SET published_at = NOW(6)
    WHERE published_at IS NULL'; }
arrive
sql 'DELETE FROM outbox_audit'
ctl messages replay --key d0 --rate 100000 --yes
is "$(sql "SELECT GROUP_CONCAT(CAST(SUBSTRING(arguments, 7) AS UNSIGNED) - 143
    ORDER BY id SEPARATOR ' ') FROM outbox_audit")" '500 1000 1100' \
    'many are replayed in chunks, in sequence order'
arrive

#
# What is not as it should be
#
sql "REVOKE UPDATE ON outbox FROM 'outbox'@'localhost'"
before=$(tables)
ctl messages replay 1
is "$RC" 1 'no right to replay'
like "$ERR" 'UPDATE.* command denied.*: sql/operator.sql grants it' \
    'and where to get it'
like "$ERR" 'nothing was replayed' 'nothing was'
is "$(tables)" "$before" 'in any table'
sql 'ALTER TABLE outbox DROP COLUMN replay_no'
ctl messages replay 1
is "$RC" 1 'no column replay_no'
like "$ERR" 'needs the column replay_no of outbox: run outboxctl schema upgrade' \
    'and what to do about it'
ctl --json messages show 1
is "$(field .state)" delivered 'all else works'
deliver
"$SANDBOX" stop "$DIR/db" > /dev/null
ctl messages replay --all
is "$RC" 69 'the server is away'
done_testing
