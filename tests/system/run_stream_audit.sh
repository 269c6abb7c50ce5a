#!/usr/bin/env bash
# What JetStream loses after it acknowledged it is found and sent again; what
# a limit, a consumer or a purge removed is not
. "${srcdir:-$(dirname "$0")/../..}/tests/lib/lib.sh"
. "$srcdir/tests/lib/ctl.sh"

start_servers
STORE=$DIR/nats/js

# The broker's store as it was then, as a power cut would leave it.
save_store() { rm -rf "$DIR/saved" && cp -a "$STORE" "$DIR/saved"; }
crash() { "$SANDBOX" kill "$DIR/nats" > /dev/null; }
put_back() { rm -rf "$STORE" && cp -a "$DIR/saved" "$STORE"; }
restart() { "$SANDBOX" restart "$DIR/nats" > /dev/null; }
stream() { "$LAB" stream --nats "$URL" --name EVENTS --subjects 'events.>' \
    --dup-window 600 "$@"; }
purge() { "$LAB" purge --nats "$URL" --stream EVENTS; }
checked() { sql "SELECT CONCAT(servers, created) FROM outbox_streams
    WHERE name = 'EVENTS'"; }
was_checked() { [ "$(checked)" != "$1" ]; }
fill() { produce --events "$1" --keys 50 --payload 100 --bulk &&
    wait_for 20 is_drained; }

# again: the servers has started anew and its stream was looked at
again() {
	local before
	before=$(checked)
	: > "$LOG"
	restart
	wait_for 20 was_checked "$before"
}
wipe() {
	sql 'DELETE FROM outbox; DELETE FROM events'
	stream --delete
	stream "$@"
}

export WORKERS=2
write_conf
start_fleet
fill 2000
is "$(sql 'SELECT COUNT(*) FROM outbox WHERE ack_sequence IS NULL')" 0 \
    'every delivered row knows its place in the stream'
is "$(sql 'SELECT COUNT(*) FROM outbox_streams WHERE checked_at IS NOT NULL')" \
    1 'and the stream is known'

# Nothing lost: nothing is sent again.
crash
again
ok $? 'after a start of the broker all is looked up'
wait_for 5 has_line "$LOG" '2000 messages were checked, none is lost'
ok $? 'and nothing is lost'
is "$(pending)" 0 'nor sent again'

# The store goes back in time while producers go on.
save_store
fill 1000
produce --events 3000 --keys 50 --payload 100 --rate 1000 --per-txn 5 &
PRODUCER=$!
wait_for 10 is_sql 'SELECT COUNT(*) > 3500 FROM outbox
    WHERE published_at IS NOT NULL' 1
crash
put_back
again
wait_for 5 has_line "$LOG" 'warn .*lost [0-9]{4} acknowledged messages'
ok $? 'a store that went back: the loss is found'
wait "$PRODUCER"
wait_for 20 is_drained
check_stream 'complete, in order per key, nothing twice' --wait 10

# The end of a block torn off.
fill 1000
crash
cd "$STORE"/jetstream/*/streams/EVENTS/msgs && {
	truncate -s -20000 "$(ls -tr ./*.blk | tail -n 1)"
	rm -f ./*.idx index.db
	cd "$OLDPWD" || exit
}
again
wait_for 5 has_line "$LOG" 'warn .*lost [0-9]{2} acknowledged messages'
ok $? 'a store without its end: the loss is found'
wait_for 20 is_drained
check_stream 'complete, in order per key, nothing twice' --wait 10

# What was removed is not lost.
purge
crash
again
wait_for 10 has_line "$LOG" 'error .*stream EVENTS: is empty'
ok $? 'a purge is an alarm'
is "$(pending)" 0 'and nothing is sent again'
wipe --max-msgs 100
fill 500
crash
again
wait_for 5 has_line "$LOG" '500 messages were checked, none is lost'
ok $? 'what a limit removed is not lost'
is "$(pending) $(stored)" '0 100' 'and not sent again'
wipe --work-queue
fill 300
for seq in 50 150 250 300; do
	"$LAB" delete-msg --nats "$URL" --stream EVENTS --seq "$seq"
done
again	# no crash: some servers would bring them back
wait_for 5 has_line "$LOG" '300 messages were checked, none is lost'
ok $? 'what is gone from a work queue is not lost'
is "$(pending) $(stored)" '0 296' 'and not sent again'

# A replay is another message than the first one, which is still there.
wipe
fill 100
crash
again	# from now on what is delivered is expected in the new stream
save_store
"$OUTBOXCTL" -c "$CONF" messages replay --all --yes > /dev/null
wait_for 20 is_drained
is "$(stored)" 200 'a replay is stored beside the first message'
crash
put_back
again
wait_for 5 has_line "$LOG" 'warn .*lost 100 acknowledged messages'
ok $? 'a lost replay is found'
wait_for 20 is_drained
is "$(stored)" 200 'and sent again'
like "$("$LAB" show --nats "$URL" --stream EVENTS --last)" \
    '^Nats-Msg-Id: .*-r1$' 'as the replay that it was'

# Made anew: an alarm, and a command to fill it.
wipe
fill 400
: > "$LOG"
stream --delete
stream
fill 10
wait_for 15 has_line "$LOG" 'error .*stream EVENTS: was created again'
ok $? 'a stream that was made anew is an alarm'
crash
again
is "$(pending) $(stored)" '0 10' 'and nothing is sent again by itself'
ctl stream republish --dry-run
like "$RC $OUT" '^0 410 delivered rows: 10 are in .* 400 are not$' \
    'stream republish --dry-run looks and counts'
ctl stream republish
is "$RC $(pending)" '1 0' 'no more than that, nor for so many without --yes'
ctl stream republish --yes
like "$RC $OUT" '^0 .* 400 are sent again$' 'stream republish says what it does'
is "$(sql 'SELECT command, arguments, changed FROM outbox_audit
    ORDER BY id DESC LIMIT 1')" $'stream republish\t--yes\t400' 'and the audit'
wait_for 20 is_drained
is "$(stored)" 410 'and the stream is complete'
stop_master "$MASTER"

# recover: report and off.
lose_some() {
	wipe
	start_fleet
	fill 200
	save_store
	fill 100
	crash
	put_back
}
RECOVER=report write_conf
lose_some
again
wait_for 5 has_line "$LOG" 'error .*lost 100 acknowledged.*report'
ok $? 'recover report: the loss is told'
is "$(pending) $(stored)" '0 200' 'and nothing is sent again'
stop_master "$MASTER"
RECOVER=off write_conf
lose_some
: > "$LOG"
restart
fill 1
is "$(stored)" 201 'recover off: messages flow'
is "$(grep -c 'lost' "$LOG")" 0 'and nobody looks'
stop_master "$MASTER"

done_testing
