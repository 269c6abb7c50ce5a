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
agent=$(pgrep -P "$(monitor_pid)")
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
stops 'the daemon stops'
done_testing
