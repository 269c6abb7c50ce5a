#!/usr/bin/env bash
# Messages that JetStream loses after it acknowledged them are sent again; those
# that a limit, a consumer or a purge removed are not
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

# again: restart the server, and wait until its stream was checked
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
rows_are 0 'outbox WHERE ack_sequence IS NULL' 'every row has its sequence'
is "$(sql 'SELECT COUNT(*) FROM outbox_streams WHERE checked_at IS NOT NULL')" \
    1 'outbox_streams has the stream'

# Nothing lost: nothing is sent again.
crash
check 'a restart of the broker: the stream is checked' again
within 5 'a restart of the broker: no message is lost' \
    has_line "$LOG" '2000 messages were checked, none is lost'
is "$(pending)" 0 'a restart of the broker: no message is sent again'

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
within 5 'an older store: the log has the loss' \
    has_line "$LOG" 'warn .*lost [0-9]{4} acknowledged messages'
wait "$PRODUCER"
wait_for 20 is_drained
check_stream 'the stream is complete and in order, nothing twice' --wait 10

# The end of a block torn off.
fill 1000
crash
cd "$STORE"/jetstream/*/streams/EVENTS/msgs && {
	truncate -s -20000 "$(ls -tr ./*.blk | tail -n 1)"
	rm -f ./*.idx index.db
	cd "$OLDPWD" || exit
}
again
within 5 'a truncated store: the log has the loss' \
    has_line "$LOG" 'warn .*lost [0-9]{2} acknowledged messages'
wait_for 20 is_drained
check_stream 'the stream is complete and in order, nothing twice' --wait 10

# Messages that were removed are not lost.
purge
crash
again
within 10 'a purge: the log has an error' \
    has_line "$LOG" 'error .*stream EVENTS: is empty'
is "$(pending)" 0 'a purge: no message is sent again'
problem() {
	ctl --json status
	field ".problems[] | select(.id == \"$1\") | .text"
}
has_alarm() { [ -n "$(problem stream_alarm)" ]; }
within 10 'a purge: it is a problem' has_alarm
like "$(problem stream_alarm)" '^stream EVENTS is empty, .*: outboxctl stream republish' \
    'a purge: what is wrong, and what to do'
# Before the daemon has seen where the stream begins now.
stop_master "$MASTER"
"$LAB" publish --nats "$URL" --subject events.other --data x > "$DIR/published"
sql 'UPDATE outbox_streams SET first_sequence = 1'
ctl stream forget
is "$RC $OUT" '0 1 stream report forgotten' 'a purge: it was on purpose'
: > "$LOG"
start_fleet
fill 1
again
is "$(problem stream_alarm)" '' 'a purge: the problem is gone for good'

# The same while messages flow: it is told, and they can be sent again although
# the broker still knows their ids.
if ! is_short; then
	wipe
	fill 20
	began() { is_sql "SELECT first_sequence = 1 FROM outbox_streams
	    WHERE name = 'EVENTS'" 1; }
	within 30 'a purge under way: the beginning is known' began
	purge
	fill 20
	within 30 'a purge under way: it is a problem' has_alarm
	like "$(problem stream_alarm)" '^stream EVENTS lacks its messages [0-9]+ to [0-9]+, ' \
	    'a purge under way: which messages'
	ctl stream republish --yes
	like "$OUT" ', 20 are not; 20 are sent again$' 'stream republish after a purge'
	wait_for 20 is_drained
	is "$(stored)" 40 'stream republish after a purge: they are in the stream again'
	ctl stream republish --dry-run
	like "$OUT" ', 0 are not$' 'stream republish after a purge: none is missing'
	is "$(problem stream_alarm)" '' 'stream republish after a purge: the problem is gone'
fi
wipe --max-msgs 100
fill 500
crash
again
within 5 'max-msgs: removed messages are not lost' \
    has_line "$LOG" '500 messages were checked, none is lost'
is "$(pending) $(stored)" '0 100' 'max-msgs: no message is sent again'
wipe --work-queue
fill 300
for seq in 50 150 250 300; do
	"$LAB" delete-msg --nats "$URL" --stream EVENTS --seq "$seq"
done
again	# no crash: some servers would bring them back
within 5 'a work queue: consumed messages are not lost' \
    has_line "$LOG" '300 messages were checked, none is lost'
is "$(pending) $(stored)" '0 296' 'a work queue: no message is sent again'

# A replay is another message than the first one, which is still there.
wipe
fill 100
crash
again	# from now on delivered messages are expected in the new stream
save_store
"$OUTBOXCTL" -c "$CONF" messages replay --all --yes > /dev/null
wait_for 20 is_drained
is "$(stored)" 200 'a replay is stored beside the first message'
crash
put_back
again
within 5 'a lost replay: the log has the loss' \
    has_line "$LOG" 'warn .*lost 100 acknowledged messages'
wait_for 20 is_drained
is "$(stored)" 200 'a lost replay is sent again'
like "$("$LAB" show --nats "$URL" --stream EVENTS --last)" \
    '^Nats-Msg-Id: .*-r1$' 'the replay has its own message id'

# Made anew: an alarm, and a command to fill it.
wipe
fill 400
: > "$LOG"
stream --delete
stream
fill 10
within 15 'a stream that was made again: the log has an error' \
    has_line "$LOG" 'error .*stream EVENTS: was created again'
within 10 'a stream that was made again: it is a problem' has_alarm
crash
again
like "$(problem stream_alarm)" '^stream EVENTS was created again ' \
    'a stream that was made again: a restart does not forget it'
is "$(pending) $(stored)" '0 10' 'a stream that was made again: nothing is sent'
ctl stream republish --dry-run
like "$RC $OUT" '^0 410 delivered rows: 10 are in .* 400 are not$' \
    'stream republish --dry-run: the number of messages'
ctl stream republish
is "$RC $(pending)" '1 0' 'stream republish of 400 messages needs --yes'
ctl stream republish --yes
like "$RC $OUT" '^0 .* 400 are sent again$' 'stream republish --yes: the number'
is "$(problem stream_alarm)" '' 'stream republish: the problem is gone'
is "$(audited)" 'outbox@localhost stream republish --yes 400' \
    'stream republish is in the audit'
wait_for 20 is_drained
is "$(stored)" 410 'stream republish: the stream is complete'
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
within 5 'nats.recover report: the log has the loss' \
    has_line "$LOG" 'error .*lost 100 acknowledged.*report'
is "$(pending) $(stored)" '0 200' 'nats.recover report: nothing is sent again'
# The text of the problem, and nothing without it
lost() { problem lost_messages; }
is_lost() { [ -n "$(lost)" ]; }
within 10 'nats.recover report: the loss is a problem' is_lost
like "$(lost)" '^stream EVENTS lost 100 messages .*, sequences 201 to 300, .*: outboxctl stream republish' \
    'nats.recover report: which messages, and what to do'
ctl --json doctor
is "$RC $(field '[.[] | select(.check == "lost_messages")] | length')" '1 1' \
    'nats.recover report: doctor tells the loss, too'
stop_master "$MASTER"
start_fleet
like "$(lost)" '^stream EVENTS lost 100 ' \
    'nats.recover report: a restart does not forget the loss'
ctl stream republish --dry-run
like "$OUT" ', 100 are not$' 'stream republish --dry-run counts the lost ones'
like "$(lost)" '^stream EVENTS lost 100 ' 'and changes nothing'
ctl stream republish --yes
like "$RC $OUT" '^0 .* 100 are sent again$' 'stream republish sends them again'
is "$(lost)" '' 'stream republish: the problem is gone'
wait_for 20 is_drained
is "$(stored)" 300 'stream republish: the stream is complete again'
stop_master "$MASTER"
lose_some
again
within 10 'nats.recover report: another loss' is_lost
ctl stream forget --dry-run
is "$OUT" '1 stream report would be forgotten' 'stream forget --dry-run: the number'
like "$(lost)" 'lost 100 ' 'and changes nothing'
ctl stream forget --yes
is "$RC $OUT" '0 1 stream report forgotten' 'stream forget'
is "$(lost)" '' 'stream forget: the problem is gone'
is "$(pending) $(stored)" '0 200' 'stream forget: nothing is sent'
stop_master "$MASTER"
RECOVER=off write_conf
lose_some
: > "$LOG"
restart
fill 1
is "$(stored)" 201 'nats.recover off: new messages are sent'
is "$(grep -c 'lost' "$LOG")" 0 'nats.recover off: no check'
stop_master "$MASTER"

done_testing
