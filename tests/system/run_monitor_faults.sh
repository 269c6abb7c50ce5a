#!/usr/bin/env bash
# Faults around the monitor: a daemon that is killed while outboxctl works for it
. "${srcdir:-$(dirname "$0")/../..}/tests/lib/ctl.sh"

TOKEN=0123456789abcdef-token
SOCK=$DIR/run/outbox.monitor.sock
start_servers
keep_secret "$DIR/token" "$TOKEN"
write_conf
as_operator
op="password_env: OUTBOX_PW, operator: {user: operator, password_env: OUTBOX_PW}"
sed -i "s/^\(mysql:.*\)password_env: OUTBOX_PW/\1$op/" "$CONF"
echo "monitor: {token_file: $DIR/token}" >> "$CONF"

is_code() { [ "$(curl -s -o "$DIR/body" -m 5 -w '%{http_code}' \
    --unix-socket "$SOCK" "http://localhost$2")" = "$1" ]; }
act() { curl -s -m 60 --unix-socket "$SOCK" -d "$2" \
    -H "Authorization: Bearer $TOKEN" -H 'Content-Type: application/json' \
    "http://localhost/api/actions/$1" > "$DIR/acted"; }
monitor_pid() { pgrep -P "$MASTER" -f 'outbox-master: monitor'; }

# --- a daemon that is killed ----------------------------------------------------

start_fleet
within 10 'the monitor answers' is_code 200 /healthz
act pause '{"all": true, "dry_run": true}'
agent=$(pgrep -P "$MASTER" outboxctl)
check "one outboxctl runs for the change: $agent" [ -e "/proc/${agent:-none}" ]
is "$(readlink /proc/"$agent"/fd/* | grep -c "$DIR/run")" 0 \
    'outboxctl inherits no file of the daemon'
kill -STOP "$agent"
kill -KILL "$MASTER"
wait "$MASTER" 2> /dev/null
start_master
within 10 'the next daemon runs, though outboxctl of the last one does' \
    is_code 200 /healthz
check 'and this one goes on' [ -e "/proc/$agent" ]
kill -CONT "$agent"
within 10 'at the end of its input it ends' is_gone "$agent"

# --- no descriptors, a long path -------------------------------------------------

"${OUTBOX_MASTER%/*}/clients" slow 100 "$SOCK" > "$DIR/clients" &
MASTERS+=("$!")
monitor=$(monitor_pid)
prlimit --pid "$monitor" --nofile=290:290
within 10 'a hundred clients, and too few descriptors' \
    has_line "$DIR/clients" ready
ticks() { awk '{ print $14 + $15 }' "/proc/$monitor/stat"; }
before=$(ticks)
wait_for 2 false
after=$(ticks)
check "they cost no time: $((after - before)) ticks in 2 s" \
    [ $((after - before)) -lt 60 ]
stops 'the daemon stops'

PIDFILE=$DIR/$(printf '%0100d' 0)/outbox.pid
write_conf
start_fleet
within 10 'the path of a socket that is too long: the log tells it' \
    has_line "$LOG" 'cannot listen on .*: the path is too long'
stops 'the daemon stops'
done_testing
