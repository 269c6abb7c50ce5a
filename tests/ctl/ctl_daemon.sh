#!/usr/bin/env bash
# outboxctl reload, stop and logs: the daemon of this host
. "${srcdir:-$(dirname "$0")/../..}/tests/lib/ctl.sh"

start_servers
write_conf

# pids: of the workers, sorted
pids() { worker_pids "$MASTER" | sort; }
# conf_with SED: change the configuration
conf_with() { sed -i "$1" "$CONF"; }

#
# No daemon
#
fails 1 'does not run on this host \(.*/run/outbox.scoreboard: No such' \
    'reload without a daemon' reload
exits 0 'stop without a daemon: exit status 0' stop
like "$OUT" 'outbox-master does not run on this host' \
    'stop without a daemon says so'
shows .stopped false 'stop --json without a daemon' stop
mkdir -p "$DIR/run"
echo $$ > "$DIR/run/outbox.pid"
fails 1 'does not run' 'the pid file of a dead daemon is not believed' reload
exits 0 'stop sends nothing to the process in an old pid file' stop
rm -r "$DIR/run"

#
# reload
#
start_fleet
ctl status
not has_line <(echo "$OUT") '^reload '
ok $? 'status before any reload: no line about it'
before=$(pids)
ctl reload
is "$RC$ERR" 0 'reload: exit status 0'
like "$OUT" '^accepted: generation 2; .*by 20[0-9-]+T[0-9:]+Z at the latest' \
    'reload: it was accepted, and by when it is done'
like "$OUT" '^all 2 workers are new after [0-9.]+ m?s$' 'reload: it waits for that'
took=$(sed -n 's/^all .* after //p' <<< "$OUT")
is "$(comm -12 <(echo "$before") <(pids))" '' \
    'after reload no worker is an old one'
ctl status
like "$OUT" "^reload +accepted [0-9]+ s ago: all workers were new after $took\$" \
    'status: the reload, and how long it took'
check 'the log: it took as long' \
    has_line "$LOG" "all workers are of generation 2 after $took\$"
conf_with 's/workers: 2,/workers: 3,/'
ctl --json reload
is "$RC$ERR" 0 'reload --json: exit status 0'
shows '[.accepted, .generation, .renewed, .workers, .new_workers]' \
    '[true,3,true,3,3]' 'reload to more workers'
conf_with 's/workers: 3,/workers: 1,/'
shows '[.generation, .workers]' '[4,1]' 'reload to fewer workers' reload

# In error: the daemon's file, which need not be ours.
cp "$CONF" "$DIR/ours.yml"
before=$(pids)
conf_with 's/workers: 1,/workers: many,/'
fails 78 'outbox.yml: line 1: master.workers: .*the daemon was not told' \
    'reload of a file in error' -c "$DIR/ours.yml" reload
fails 78 'outbox.yml: line 1: master.workers: ' \
    'reload of a file in error, with this file' reload
is "$(pids)" "$before" 'a file in error replaces no worker'
is "$(grep -c 'reload: .*outbox.yml: line 1' "$LOG")" 0 \
    'a file in error is not sent to the daemon'
cp "$DIR/ours.yml" "$CONF"

# Refused by the daemon alone: a log that it cannot write.
conf_with "s|log: {|log: {target: $DIR/none/log, |"
exits 1 'reload that the daemon refuses: exit status 1' reload
like "$ERR" 'refused: .*/none/log: No such file.* keeps .*\(generation 4\)' \
    'reload that the daemon refuses: the error says so'
ctl --json reload
is "$RC $(field '[.accepted, .generation] | join(" ")')" '1 false 4' \
    'reload --json that the daemon refuses'
like "$(field .why)" 'none/log: No such file' \
    'reload --json that the daemon refuses: why'
ctl status
like "$OUT" '^reload +refused [0-9]+ s ago$' \
    'status: the refused reload, and why'
cp "$DIR/ours.yml" "$CONF"

# A worker that does not end.
victim=$(pids)
kill -STOP "$victim"
exits 1 'reload with a worker that does not end: exit status 1' \
    reload --seconds 1
like "$ERR" 'after 1 s only 0 of 1 workers are new' \
    'reload with a worker that does not end: the error says so'
ctl status
like "$OUT" '^reload +accepted [0-9]+ s ago: the workers are being replaced, 1 process is left; done within [0-9].* s$' \
    'status: a reload that is under way'
kill -CONT "$victim"
within 10 'it is replaced after all' is_gone "$victim"
sed -i 's/user: [^,]*, pidfile/user: nobody, pidfile/' "$CONF"
exits 0 'reload with a key that needs a restart: exit status 0' reload
ctl status
like "$OUT" '^reload +accepted .*: all workers .*; needs a restart to take effect: master.user$' \
    'status: the key that needs a restart'
cp "$DIR/ours.yml" "$CONF"

#
# logs
#
ctl logs --lines 1000000
is "$RC$ERR$OUT" "0$(head -n "$(wc -l <<< "$OUT")" "$LOG")" \
    'logs finds the file behind stderr'
shows_tail() {
	[ "$("$OUTBOXCTL" -c "$CONF" logs --lines 2)" = "$(tail -n 2 "$LOG")" ]
}
within 5 'logs --lines 2: the last two lines' shows_tail

#
# probe
#
says() { ctl probe "$1" && [ "$RC" = "$2" ]; }
within 20 'probe healthz: exit status 0' says healthz 0
within 20 'probe readyz: exit status 0' says readyz 0
shows '[.http, (.text | type)]' '[200,"string"]' 'probe --json' probe readyz
"$SANDBOX" stop "$DIR/nats" > /dev/null
within 20 'probe readyz without a broker: exit status 1' says readyz 1
like "$OUT" 'broker cannot be used' 'probe readyz: it tells the problem'
exits 0 'probe healthz without a broker: exit status 0' probe healthz
"$SANDBOX" restart "$DIR/nats" > /dev/null
within 20 'probe readyz with the broker again: exit status 0' says readyz 0
exits 0 'probe readyz critical: exit status 0' probe readyz critical
fails 2 'livez: healthz, readyz or' 'probe with another word' probe livez
fails 2 'healthz: healthz, readyz or' 'probe healthz critical' probe healthz critical

#
# stop
#
produce --events 3000 --keys 100 --payload 200
ctl --json stop
is "$RC$ERR" 0 'stop: exit status 0'
is_gone "$MASTER" || wait "$MASTER"
ok $? 'stop: the master is gone, with status 0'
shows '[.stopped, .pid, .clean, .finished >= 0]' "[true,$MASTER,true,true]" \
    'stop --json: which one, and whether it ended well'
rows_are 0 outbox_workers 'stop: no worker is left in the database'
fails 1 'monitor.sock: .*does not answer; is outbox-master running' \
    'probe without a daemon' probe healthz
exits 0 'logs without a daemon: exit status 0' logs
like "$OUT" "^    journalctl -u 'outbox-master\*' -n 20\$" \
    'logs without a file: the command for the journal'
like "$OUT" "^    tail -n 20 $LOG\$" \
    'logs of a daemon that has ended: the file that it has written'
shows '[.file, (.commands | length > 1), .lines]' '[null,true,[]]' \
    'logs --json without a file' logs
# A path that is longer than the place for it
long=$DIR/$(printf 'd%.0s' {1..200})/$(printf 'e%.0s' {1..200})
mkdir -p "$long"
LOG=$long/log start_fleet
stop_master "$MASTER"
ctl logs
is "$(grep -c '^ *tail ' <<< "$OUT")" 0 'logs: no part of a path is named as one'
start_fleet
victim=$(pids)
kill -STOP "$victim"
exits 1 'stop with a worker that does not end: exit status 1' \
    --json stop --seconds 1
is "$(field '[.stopped, .pid] | join(" ")')" "false $MASTER" \
    'stop --json with a worker that does not end'
like "$ERR" "pid $MASTER still runs after 1 s" \
    'stop with a worker that does not end: the error says so'
kill -CONT "$victim"
within 10 'it ends after all' is_gone "$MASTER"
start_fleet
ctl stop
like "$OUT" "^outbox-master with pid $MASTER stopped after [0-9.]+ ?m?s; messages delivered meanwhile: [0-9]+\$" \
    'stop: what it did'

#
# logs of a file
#
FILE=$DIR/file.log
conf_with "s|log: {|log: {target: $FILE, |"
fails 1 "log.target: $FILE: No such file" 'logs of a file that is missing' logs
seq 1 20000 | sed 's/^/line /' > "$FILE"
is "$("$OUTBOXCTL" -c "$CONF" logs | head -1)" 'line 19981' \
    'logs: the last 20 lines'
is "$("$OUTBOXCTL" -c "$CONF" logs --lines 15000 | md5sum)" \
    "$(tail -n 15000 "$FILE" | md5sum)" 'logs --lines 15000: they are all there'
is "$("$OUTBOXCTL" -c "$CONF" logs --lines 30000 | md5sum)" \
    "$(md5sum < "$FILE")" 'logs --lines: more than there are'
printf 'a \033[2J\377 schön\t\302\2332J \342\200\256x\nno end' >> "$FILE"
is "$("$OUTBOXCTL" -c "$CONF" logs --lines 2)" $'a ?[2J? schön\t?2J ?x\nno end' \
    'logs: control characters are not printed as they are'
shows '[.target, .file, .lines[1], .commands]' \
    "[\"$FILE\",\"$FILE\",\"no end\",[]]" 'logs --json' \
    logs --lines 2
like "$OUT" '"a \\u001B\[2J\? schön\\t\\u009B2J \\u202Ex"' \
    'logs --json: control characters have escapes'
echo >> "$FILE"

# follow: by two that print to files
follows() { has_line "$DIR/followed" "$1" && has_line "$DIR/followed.json" "$1"; }
"$OUTBOXCTL" -c "$CONF" logs --follow --lines 1 > "$DIR/followed" &
FOLLOWER=$!
"$OUTBOXCTL" -c "$CONF" logs --follow --lines 1 --json > "$DIR/followed.json" &
MASTERS+=("$FOLLOWER" $!)
within 5 'logs --follow: begins with the last line' follows 'no end'
echo 'line A' >> "$FILE"
within 5 'logs --follow: a new line' follows 'line A'
mv "$FILE" "$FILE.1"
echo 'line B' >> "$FILE.1"
echo 'line C' > "$FILE"
within 5 'logs --follow: the new file after a rotation' follows 'line C'
: > "$FILE"
within 5 'logs --follow: waits for new lines' follows 'line C'
wait_for 5 is_later $(($(now_ms) + 500))
echo 'line D' >> "$FILE"
within 5 'logs --follow: a file that was emptied' follows 'line D'
is "$( { timeout 10 "$OUTBOXCTL" -c "$CONF" logs --follow --lines 1 |
    head -n 1; } 2>&1)" 'line D' 'logs --follow | head: it ends, without an error'
is "$(tr '\n' ' ' < "$DIR/followed")" 'no end line A line B line C line D ' \
    'logs --follow: each line once'
is "$(jq -r .line "$DIR/followed.json" | tr '\n' ' ')" \
    'no end line A line B line C line D ' 'logs --follow --json: the same'
kill -TERM "$FOLLOWER"
wait "$FOLLOWER"
is $? 0 'logs --follow: a signal ends it with status 0'
conf_with "s|target: $FILE|target: syslog|"
matches '^    journalctl -t outbox-master -n 5 -f$' \
    'logs of syslog: the command that shows them' logs --follow --lines 5
shows '[.target, .file, .commands[0]]' \
    '["syslog",null,"journalctl -t outbox-master -n 20"]' \
    'logs --json of syslog' logs
misused logs '--lines -1' '--seconds 3' X
misused reload '--seconds 0' X
misused stop '--lines 3' X
done_testing
