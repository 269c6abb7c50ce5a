#!/usr/bin/env bash
# A stream that was checked once is checked again: messages that damage takes
# from it later are sent again, also the old ones and those of a replica that
# becomes the leader; what somebody has removed is told and not sent
. "${srcdir:-$(dirname "$0")/../..}/tests/lib/lib.sh"
. "$srcdir/tests/lib/ctl.sh"
. "$srcdir/tests/lib/cluster.sh"

# Not short: it waits for the checks, which come every ten seconds.
is_short && skip_all 'a long test'

start_servers
STORE=$DIR/nats/js

state() { js_api STREAM.INFO.EVENTS '' | jq -c "$1"; }

# Messages of 8 kB: 1,300 of them have more than one block of 8 MiB.
fill() { produce --events "$1" --keys 50 --payload 8000 --bulk &&
    wait_for 30 is_drained; }
# All that was delivered is an hour old.
age() { sql 'UPDATE outbox SET published_at = published_at - INTERVAL 1 HOUR;
    UPDATE outbox_streams SET known_since = known_since - INTERVAL 1 DAY'; }
# damage FILE BYTES: invert so many of the middle one, or a bit of it
damage() {
	perl -e 'my ($f, $n) = @ARGV; open(F, "+<", $f) or die; binmode F;
	    seek(F, (-s $f) / 2, 0); read(F, my $b, $n);
	    $b ^= ($n == 1 ? "\1" : "\xff") x $n;
	    seek(F, (-s $f) / 2, 0); print F $b' "$1" "$2"
}
blocks() { ls -v "$1"/jetstream/*/streams/EVENTS/msgs/*.blk; }
forget_index() { rm -f "$1"/jetstream/*/streams/EVENTS/msgs/index.db \
    "$1"/jetstream/*/streams/EVENTS/msgs/*.idx; }
stop_broker() { "$SANDBOX" stop "$DIR/nats" > /dev/null; }
restart() { "$SANDBOX" restart "$DIR/nats" > /dev/null; }

problem() {
	ctl --json status
	field ".problems[] | select(.id == \"$1\") | .text"
}
lacks() { [[ $(problem missing_messages) == *" lacks $1 "* ]]; }
stored() { state .state.messages; }
all_there() {
	[ "$(pending)" = 0 ] && [ "$(stored)" -ge "$1" ]
}
round() { sql "SELECT COALESCE(scrub_ended, '') FROM outbox_streams"; }
has_ended() { [ "$(round)" != "$1" ]; }
checked() { sql 'SELECT checked_at FROM outbox_streams'; }
is_checked() { [ "$(checked)" != "$1" ]; }
# looked: a whole round from now on, with what a check says before it
looked() {
	wait_for 30 is_checked "$(checked)"
	wait_for 40 has_ended "$(round)"
	wait_for 40 has_ended "$(round)"
}

export WORKERS=2
write_conf
start_fleet
fill 1300
age
is "$(blocks "$STORE" | wc -l)" 2 'the stream has two blocks'
has_read() { is_sql 'SELECT scrub_rows, missing FROM outbox_streams' "$1"; }
within 60 'a round reads all rows' has_read '1300	0'
timed() { is_sql 'SELECT scrub_ms > 0 FROM outbox_streams' 1; }
within 60 'a round of routine' timed
ctl status
like "$OUT" 'EVENTS, checked .*; scrub( under way)?: .* rows? looked up.* (took|in) [0-9]' \
    'status has what was read, and how long a round takes'

#
# Removed on purpose
#
for seq in 100 101 300; do
	"$LAB" delete-msg --nats "$URL" --stream EVENTS --seq "$seq"
done
within 40 'three messages are erased: it is a problem' lacks 3
like "$(problem missing_messages)" \
    '^stream EVENTS lacks 3 messages .*, sequences 100-101,300, ' \
    'the problem has their sequences'
is "$(pending)" 0 'erased messages are not sent again'
ctl status
is "$RC" 1 'status exits with 1'
stop_broker
restart
looked
is "$(pending) $(stored)" '0 1297' \
    'nor are they after a restart of the broker'
ctl stream republish --dry-run
like "$OUT" ', 3 are not$' 'stream republish would send them'
ctl --json stream forget --dry-run
is "$RC $(field .changed)" '0 1' 'stream forget --dry-run counts the report'
like "$(problem missing_messages)" 'lacks 3 ' 'and changes nothing'
ctl stream forget
is "$RC $OUT" '0 1 stream report forgotten' 'stream forget accepts them'
is "$(audited)" 'outbox@localhost stream forget  1' 'stream forget is in the audit'
is "$(problem missing_messages)" '' 'the problem is gone'
looked
is "$(problem missing_messages)$(pending)" 0 'and does not come back'
ctl stream republish --dry-run
like "$OUT" ', 0 are not$' 'nor does stream republish send what was accepted'

#
# Damage
#
# A bit of an old block, in a restart
stop_broker
damage "$(blocks "$STORE" | head -n 1)" 1
forget_index "$STORE"
: > "$LOG"
restart
say "after a flipped bit: $(state '.state | del(.lost.msgs)')"
within 60 'a flipped bit in an old block, restart: they are sent again' \
    all_there 1297
within 5 'the log has the loss' has_line "$LOG" 'warn .*lost [0-9]+ acknowledged'
is "$(problem missing_messages)" '' 'none of them is told as a hole'

# The same without a restart, and without a sign: the scrub alone finds it.
fill 1200
age
looked
: > "$LOG"
# The broker has blocks in memory for some seconds after they were read.
JANITOR=$(pgrep -P "$MASTER" -f 'outbox-master: janitor')
kill -STOP "$JANITOR"
for _ in 1 2 3; do wait_for 30 is_checked "$(checked)"; done
damage "$(blocks "$STORE" | tail -n 2 | head -n 1)" 1
kill -CONT "$JANITOR"
within 120 'damage without a sign: the scrub finds it' \
    has_line "$LOG" 'warn .*lost [0-9]+ acknowledged'
within 60 'they are sent again' all_there 2497
is "$(problem missing_messages)" '' 'none of them is told as a hole'
stop_master "$MASTER"

#
# A replica that lacks some becomes the leader, under load
#
check 'three brokers have a leader' cluster_start 3
within 60 'a stream with three replicas' cluster_stream 600
clear_rows
sql 'DELETE FROM outbox_streams'
write_conf
sed -i "s|servers: \[[^]]*\]|servers: [$(cluster_servers)]|" "$CONF"
start_fleet
fill 1300
age
looked
wait_for 30 has_leader
for i in n3 n2; do [ "$i" = "$LEADER" ] || follower=$i; done
"$SANDBOX" stop "$DIR/$follower" > /dev/null
damage "$(blocks "$DIR/$follower/js" | head -n 1)" 100
forget_index "$DIR/$follower/js"
: > "$LOG"
"$SANDBOX" restart "$DIR/$follower" > /dev/null
within 60 "$follower is back with a damaged block" is_current "$follower"
produce_forever --keys 50 --payload 500 --rate 100
within 120 "$follower becomes the leader" leads_at_last "$follower"
say "its state: $(state '.state | del(.lost.msgs)')"
within 60 'the messages that it lacks are sent again' \
    has_line "$LOG" 'warn .*lost [0-9]+ acknowledged'
kill "$PRODUCER"
wait "$PRODUCER" 2> /dev/null
whole() { [ "$(pending)" = 0 ] &&
    [ "$(stored)" -ge "$(sql 'SELECT COUNT(*) FROM outbox')" ]; }
within 60 'the stream has all messages' whole
is "$(problem missing_messages)" '' 'none of them is told as a hole'
stop_master "$MASTER"

#
# One that has others, and lacks no sequence, after a change that was looked up
#
js_api STREAM.DELETE.EVENTS '' > "$DIR/js.out"
within 60 'a stream with three replicas, anew' cluster_stream 600
clear_rows
sql 'DELETE FROM outbox_streams'
: > "$LOG"
start_fleet
# The newest rows are read last.
produce --events 60000 --keys 50 --payload 100 --bulk
within 120 '60,000 messages are delivered' is_drained
produce_forever --keys 50 --payload 100 --rate 100
led() { [ -n "$(sql 'SELECT leader FROM outbox_streams')" ]; }
wait_for 30 led
other_leads() { has_leader && [ "$LEADER" != "$1" ]; }
# change_leader: and wait until a check has seen it
change_leader() {
	has_leader
	step_down
	wait_for 30 other_leads "$LEADER"
	wait_for 30 is_sql "SELECT TRIM(leader) FROM outbox_streams" "$LEADER"
}
since=$(sql 'SELECT NOW(6)')
change_leader
read_since() { is_sql "SELECT scrub_whole > '$1' FROM outbox_streams" 1; }
within 60 'another leader: 60,000 rows are read within a minute' \
    read_since "$since"
row=$(sql 'SELECT MAX(global_sequence) FROM outbox
    WHERE published_at IS NOT NULL')
place=$(sql "SELECT ack_sequence FROM outbox WHERE global_sequence = $row")
sql "UPDATE outbox SET ack_sequence = ack_sequence - 1
    WHERE global_sequence = $row"
change_leader
within 60 'the next, which has a message elsewhere: it is found' \
    is_sql "SELECT ack_sequence FROM outbox WHERE global_sequence = $row" \
    "$place"
within 30 'the log tells that replicas differ' \
    has_line "$LOG" 'warn .*: 1 messages are at other sequences'
kill "$PRODUCER"
wait "$PRODUCER" 2> /dev/null
stop_master "$MASTER"

done_testing
