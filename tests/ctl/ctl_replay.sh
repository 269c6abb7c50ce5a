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
# disorder KEY: pairs of its rows where the later one has a lower ack_sequence
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
is "$(sql 'SELECT COUNT(ack_sequence) FROM outbox')" 140 'all 140 are delivered'

#
# Wrong uses
#
before=$(tables)
while IFS='|' read -r rc text args; do
	# shellcheck disable=SC2086
	ctl messages replay $args
	is "$RC" "$rc" "messages replay $args: exit status $rc"
	like "$ERR" "$text" "messages replay $args: the error says why"
done <<'EOT'
2|or --all$|
2|or --all$|--until 1h
2|or a filter|7 --key a
2|or a filter|7 --all
2|or a filter|7 --after 3
2|not a sequence number|x
2|not a number from 1|--all --rate 0
1|99999: no such message|99999
1|140 messages would be replayed; .*--yes|--all
EOT
is "$(tables)" "$before" 'refused commands change no table'

#
# Which of them
#
ctl messages replay --all --dry-run
is "$RC $OUT" '0 140 messages would be replayed' '--dry-run: the number'
while IFS='|' read -r n args; do
	# shellcheck disable=SC2086
	ctl --json messages replay --dry-run $args
	shows '[.changed, .dry_run]' "[$n,true]" "--dry-run $args: $n messages"
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
is "$(tables)" "$before" 'dry runs change no table'

#
# Their rows and messages
#
sql "UPDATE outbox SET attempts = 3, last_error = 'x', in_doubt_since = NOW(6),
    claim_token = 'x', available_at = NOW(6) + INTERVAL 1 HOUR
    WHERE global_sequence = 2"
was=$(ack_of 2)
epochs=$(sql 'SELECT SUM(lease_epoch) FROM outbox_partitions')
prints '{"changed":2,"last":3,"dry_run":false}' \
    'replay of two messages, one named twice' --json messages replay 3 2 3
is "$(replays)" '2r1 3r1' 'replay_no is 1, and both wait'
is "$(sql 'SELECT CONCAT_WS("|", attempts, last_error, in_doubt_since,
    claim_token, ack_sequence, available_at <= NOW(6)) FROM outbox
    WHERE global_sequence = 2')" '0|1' 'its other columns are reset'
is "$(sql 'SELECT SUM(lease_epoch) FROM outbox_partitions')" \
    $((epochs + 1)) 'the epoch of their partition is raised'
is "$(sql "SELECT CONCAT_WS('|', command, arguments, changed)
    FROM outbox_audit")" 'messages replay|up to 3: 3 2 3|2' \
    'replay is audited'
ctl messages replay 3 2 1
is "$RC $OUT" '1 1 message replayed' \
    'replay of messages that wait: exit status 1 and one replayed'
is "$(grep -c '^outboxctl: [23]: .*not delivered$' <<< "$ERR")" 2 \
    'the error names those that are not delivered'
is "$(replays)" '1r1 2r1 3r1' 'replay_no of messages that wait does not change'
ctl --json messages show 2
shows '[.state, .replay_no]' '["pending",1]' 'messages show has replay_no'
deliver
is "$(replays) $(disorder a)" 'none 6' 'replayed messages are sent again'
like "$(message "$(ack_of 2)")" '^Nats-Msg-Id: [0-9a-f]+-2-[0-9a-f]{16}-r1$' \
    'the message id ends with -r1'
like "$(message "$(ack_of 2)")" '^Outbox-Replay: 1$' 'the header Outbox-Replay'
like "$(message "$was")" '^Nats-Msg-Id: [0-9a-f]+-2-[0-9a-f]{16}$' \
    'the first message stays in the stream'
ctl --json messages show 2
like "$(message "$(field .ack_sequence)")" "^Nats-Msg-Id: $(field .message_id)\$" \
    'messages show: message_id is the one in the stream'

#
# In order, and in front of rows that wait
#
enqueue a 3 order.made
prints '5 messages replayed' 'replay --key' messages replay --key a
ctl messages replay --type order.paid
deliver
is "$(disorder a)$(disorder b)" 00 \
    'replayed messages are in order, before later ones that waited'
is "$(sql 'SELECT COUNT(*), COUNT(DISTINCT ack_sequence) FROM outbox')" \
    $'143\t143' 'each message has its own sequence in the stream'

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
    'a label of another count is made again, an own label is kept'
is "$(($(epoch) - was))" 1 'the epoch of the new label is raised'
deliver
sql "UPDATE outbox_settings SET former_counts = '16,1'"
ctl messages replay 2
is "$(labels)" "eu $now $now $now" '1 is a former count: NULL becomes a label'
deliver
sql "UPDATE outbox SET partition_key = NULL WHERE global_sequence = 2;
    UPDATE outbox_settings SET former_counts = NULL"
is "$(replays)" none 'rows under the new labels are sent'
sql "UPDATE outbox SET partition_key = 'p99' WHERE global_sequence = 4;
    UPDATE outbox_settings SET partition_count = NULL"
ctl messages replay 4
is "$(labels)" "eu NULL $now p99" 'no partition count: the label is kept'
sql 'UPDATE outbox_settings SET partition_count = 4'
deliver

#
# The number stays with the message
#
ctl -c "$OP" messages replay 7
ctl -c "$OP" messages discard 7
is "$(sql 'SELECT replay_no FROM outbox_dead_letters')" 2 \
    'messages discard keeps replay_no in the dead letter'
ctl --json messages show 7
like "$(field .message_id)" '-r2$' \
    'messages show of the dead letter: its message id ends with -r2'
ctl -c "$OP" dead retry 7
is "$(replays)" 7r2 'dead retry keeps replay_no'
deliver

#
# At a pace, and interrupted
#
sql 'DELETE FROM outbox_audit'
began=$(now_ms)
ctl messages replay --key c --after 120 --rate 10 --yes
is "$OUT" '20 messages replayed' '--rate 10: 20 messages'
check '--rate 10: 20 messages take at least a second' \
    [ $(($(now_ms) - began)) -ge 1000 ]
is "$(sql 'SELECT GROUP_CONCAT(arguments, " ", changed ORDER BY id SEPARATOR "|")
    FROM outbox_audit')" 'up to 130: --key c --after 120 --rate 10 --yes 10|up to 140: --key c --after 120 --rate 10 --yes 10' \
    'each chunk is in the audit'
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
	    'a killed replay: what it did is in the audit'
	ctl messages replay --key c --after "$LAST" --yes
	is "$(more 'COUNT(*), MAX(o.replay_no - p.replay_no)')" '130 1' \
	    '--after goes on: each of the 130 is replayed once'
	deliver
	is "$(disorder c)" 0 'replayed messages of a key are in order'
}
interrupt KILL
go_on
interrupt TERM
is "$RC" 1 'replay ends with status 1 at SIGTERM'
like "$(cat "$DIR/replay.err")" \
    "^outboxctl: [0-9]+ messages? replayed; .*--after $LAST" \
    'replay says at SIGTERM where to go on'
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
    '1100 messages are replayed in chunks, in order'
arrive

#
# Missing rights, columns and servers
#
sql "REVOKE UPDATE ON outbox FROM 'outbox'@'localhost'"
before=$(tables)
exits 1 'replay without the right to UPDATE: exit status 1' messages replay 1
like "$ERR" 'UPDATE.* command denied.*: sql/operator.sql grants it' \
    'the error names the right and the file that grants it'
like "$ERR" 'nothing was replayed' 'the error says that nothing was replayed'
is "$(tables)" "$before" 'replay without the right changes no table'
sql 'ALTER TABLE outbox DROP COLUMN replay_no'
fails 1 'needs the column replay_no of outbox: run outboxctl schema upgrade' \
    'replay without the column replay_no' messages replay 1
shows .state delivered 'messages show works without replay_no' messages show 1
deliver
without_server 'messages replay --all'
done_testing
