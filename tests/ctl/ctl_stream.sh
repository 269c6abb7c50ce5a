#!/usr/bin/env bash
# outboxctl stream info and add: the stream is shown, judged and created
. "${srcdir:-$(dirname "$0")/../..}/tests/lib/ctl.sh"

start_servers
write_conf

# lab_stream NAME [OPTION...]: make or change it with the tests' own tool
lab_stream() { "$LAB" stream --nats "$URL" --name "$@"; }
# with STREAM SUBJECT: another configuration
with() { STREAM=$1 SUBJECT=$2 write_conf; }

#
# stream info
#
"$LAB" publish --nats "$URL" --subject events.a --data one > /dev/null
"$LAB" publish --nats "$URL" --subject events.a --data two > /dev/null
ctl --json stream info
is "$RC$ERR" 0 'info of a good stream: exit status 0'
shows '[.stream, .exists, .subjects, .retention, .storage, .replicas]' \
    '["EVENTS",true,["events.>"],"limits","file",1]' 'info: its settings'
shows '[.duplicate_window_ms, .max_messages, .max_bytes, .max_age_ms, .sealed]' \
    '[600000,null,null,null,false]' 'info: its limits'
shows '[.messages, .first_sequence, .last_sequence, .bytes > 6]' \
    '[2,1,2,true]' 'info: its contents'
shows .findings '[]' 'info: nothing to find fault with'
ctl stream info
like "$OUT" '^duplicate_window +10 ?m' 'info as text: durations in words'
like "$OUT" '^subjects +events\.>$' 'info as text: subjects without brackets'
like "$OUT" '^sealed +no$' 'info as text: a setting that is on or off'
like "$OUT" '^ok +the daemon can use this stream' 'info as text: the verdict'
lab_stream EVENTS --subjects 'events.>' --dup-window 20 --max-msgs 5
ctl --json stream info
is "$RC" 0 'info of a stream with unsafe settings: exit status 0'
shows '[.max_messages, (.findings | map(.level))]' '[5,["advice","advice"]]' \
    'info: each setting that could be better is advice'
matches '^advice +the stream has a duplicate window of 20 s.*; make the window' \
    'info as text: the advice has its remedy' stream info
lab_stream OTHER --subjects 'other.>' --dup-window 600
with OTHER 'events.{event_type}'
exits 1 'info of a stream that lacks nats.subject: exit status 1' stream info
like "$OUT" '^fail +the stream has no subject that matches .*: add one' \
    'info: the finding has its remedy'
with NONE 'events.{event_type}'
exits 1 'info of a stream that does not exist: exit status 1' stream info
like "$OUT" '^fail .*stream not found .*; create it with outboxctl stream add' \
    'info: it says so, and what to do'
shows '[.exists, .findings[0].level]' '[false,"fail"]' \
    'info --json of a stream that does not exist' stream info
STREAM='' write_conf
fails 1 'nats.stream is not set' 'info without a name' stream info
fails 1 'nats.stream is not set' 'add without a name' stream add

#
# stream add
#
# looks NAME: settings of a stream, as the server returns them
looks() {
	with "$1" new.x
	ctl --json stream info
	field '[.exists, (.subjects // [] | join(",")), .storage, .retention, .discard,
	    .replicas, .duplicate_window_ms] | join(" ")'
}

with NEW 'new.{event_type}'
ctl --json stream add --dry-run
is "$RC$ERR" 0 'add --dry-run: exit status 0'
shows '[.changed, .dry_run, .subjects, .duplicate_window_ms]' \
    '[1,true,["new.>"],1800000]' 'add --dry-run: what would be done'
is "$(looks NEW | cut -d' ' -f1)" false 'add --dry-run creates nothing'
with NEW 'new.{event_type}'
matches '^stream NEW created: subjects new.>, file storage, 1 replica, duplicate window 30 ?m[^,]*$' \
    'add creates the stream' stream add
is "$(looks NEW)" 'true new.> file limits new 1 1800000' \
    'the settings of the new stream'
with NEW 'new.{event_type}'
matches '^stream NEW exists with these settings: subjects new.>, file' \
    'add again: nothing to do' stream add
is "$RC" 0 'add again: exit status 0'
shows .changed 0 'add --json again: nothing was changed' stream add
fails 1 'other settings: duplicate_window is 1800 s, not 7200 s: nothing was' \
    'add of a stream with another window' stream add --duplicate-window 2h
is "$(looks NEW)" 'true new.> file limits new 1 1800000' \
    'add of a stream with another window changes nothing'
with NEW 'else.{event_type}'
fails 1 'other settings: subjects lacks "else.>"' \
    'add of a stream without the subject' stream add
lab_stream MEMORY --subjects 'memory.>' --dup-window 1800 --memory
with MEMORY 'memory.{event_type}'
fails 1 'storage is memory, not file' 'add of a stream in memory' stream add
with BROAD 'broad.a.{event_type}'
lab_stream BROAD --subjects 'broad.>' --dup-window 1800
exits 0 'add of a stream with more subjects: exit status 0' stream add
with PLAIN 'plain.subject'
ctl stream add --duplicate-window 90s
like "$OUT" '^stream PLAIN created: subjects plain.subject, ' \
    'add for a subject without placeholders'
like "$OUT" 'advice  the stream has a duplicate window of 1 min 30 s' \
    'add tells that a window is short'
with MORE 'plain.{event_type}'
fails 1 'MORE was not created: .*another stream: PLAIN \(10065\): set nats.stream to' \
    'add for subjects of another stream' stream add
with COPIES 'copies.{event_type}'
fails 1 'COPIES was not created: .*(--replicas 1|fewer --replicas)' \
    'add of replicas without a cluster' stream add --replicas 3
with ALL '{event_type}'
fails 1 'begins with a placeholder' 'add for all subjects' stream add
misused 'stream add' '--replicas 0' '--replicas 6' '--duplicate-window 5' \
    '--duplicate-window 0s' '--duplicate-window 400d' '--yes' 'X'

"$SANDBOX" stop "$DIR/nats" >/dev/null
with NEW 'new.{event_type}'
fails 3 '^outboxctl: nats nats://.*' 'info without a broker' stream info
fails 3 '^outboxctl: nats nats://.*' 'add without a broker' stream add
done_testing
