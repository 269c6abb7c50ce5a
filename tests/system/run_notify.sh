#!/usr/bin/env bash
# What systemd is told: ready, status, reloads, signs of life, the stop
. "${srcdir:-$(dirname "$0")/../..}/tests/lib/lib.sh"

command -v socat > /dev/null || skip_all 'no socat'
start_servers
TOLD=$DIR/told
: > "$TOLD"
socat -u UNIX-RECV:"$DIR/notify" OPEN:"$TOLD",append &
MASTERS+=($!)
wait_for 5 test -S "$DIR/notify"

told() { grep -cFx -- "$1" "$TOLD"; }
has_told() { [ "$(told "$2")" -ge "$1" ]; }
last_status() { sed -n 's/^STATUS=//p' "$TOLD" | tail -n 1; }
status_is() { last_status | grep -Eq -- "$1"; }

# database SOCKET: a configuration with this one
database() {
	(SOCKET=$1 && write_conf)
}

# Under systemd the socket is in the environment, and so is the watchdog.
start_told() {
	NOTIFY_SOCKET=$DIR/notify WATCHDOG_USEC=2000000 start_master
}

# A database that is away is no reason to hold back what starts afterwards.
database "$DIR/none"
start_told
within 10 'the database is away: ready all the same' has_told 1 READY=1
within 10 'the database is away: the status tells it' status_is \
    "^0 of 2 workers run, 2 wait for the database: .*$DIR/none"
is "$(grep -c '^RELOADING' "$TOLD")" 0 'no reload is told at the start'
within 10 'signs of life' has_told 3 WATCHDOG=1

database "$SOCKET"
kill -HUP "$MASTER"
within 10 'a reload is told' grep -q '^RELOADING=1$' "$TOLD"
like "$(grep -A 1 '^RELOADING' "$TOLD" | tail -n 1)" '^MONOTONIC_USEC=[0-9]+$' \
    'a reload: when it began'
within 10 'a reload: ready again' has_told 2 READY=1
within 20 'the database is there: both run' \
    status_is '^2 of 2 workers run$'

echo 'bogus: 1' >> "$CONF"
kill -HUP "$MASTER"
within 10 'a refused reload: the status tells why' status_is \
    '^2 of 2 workers run; the last reload was refused: .*bogus'
within 10 'a refused reload: ready again' has_told 3 READY=1
is "$(told RELOADING=1)" 2 'a refused reload was told as a reload'

# A stream that is full stops all messages; the broker's reason is passed on.
write_conf
kill -HUP "$MASTER"
within 10 'a good reload: the status tells no refused one' \
    status_is '^[0-2] of 2 workers run$'
within 20 'a good reload: all run again' status_is '^2 of 2 workers run$'
"$LAB" stream --nats "$URL" --name EVENTS --delete > /dev/null
call_enqueue "'a', NULL, 'ok', 1, NULL, NULL, 'x'"
within 20 'the stream is missing: the status tells it' status_is \
    ' wait, because the broker takes no message: '

kill -TERM "$MASTER"
within 10 'the stop is told' has_told 1 STOPPING=1
like "$(grep '^EXTEND' "$TOLD")" '^EXTEND_TIMEOUT_USEC=2[45][0-9]{6}$' \
    'the stop: systemd waits for stop_timeout and ten seconds'
wait "$MASTER"
is $? 0 'the stop: exit status 0'

# Without systemd, and with an address that leads nowhere.
: > "$TOLD"
start_fleet
stops 'without the socket: it runs'
is "$(cat "$TOLD")" '' 'without the socket: nothing is told'
NOTIFY_SOCKET=$DIR/nowhere start_fleet
stops 'with a socket that is gone: it runs'
done_testing
