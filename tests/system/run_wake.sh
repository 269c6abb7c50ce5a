#!/usr/bin/env bash
# A wake-up on wake.subject: idle workers scan at once, and rarely without it
. "${srcdir:-$(dirname "$0")/../..}/tests/lib/lib.sh"

start_servers

conf() { WAKE='binlog: false, subject: outbox.wake' write_conf; }

# sleepy: from here on the worker does not scan for ten seconds
sleepy() {
	local long='"backoff_ms":[1-9][0-9]{4},' seen
	seen=$(grep -Ec "$long" "$DIR/out")
	is_sleepy() { [ "$(grep -Ec "$long" "$DIR/out")" -gt "${seen:-0}" ]; }
	within 120 'the pauses between scans have grown to ten seconds' \
	    is_sleepy
}

WORKERS=1 IDLE=60000 conf
REPORT=--json start_master
sleepy
produce --events 1
pause 2000			# wait_for waits longer on a slow machine
check 'without a wake-up a new row waits' not is_drained
ring outbox.wake
drains 3 'a wake-up: the row is sent at once'

# Wake-ups without end.
asked=$(server_status Questions)
since=$(now_ms)
until [ $(($(now_ms) - since)) -ge 3000 ]; do
	ring outbox.wake 20000 || break
done
took=$(($(now_ms) - since))
asked=$(($(server_status Questions) - asked))
check "many wake-ups: few statements ($asked in $took ms)" \
    [ "$asked" -le $((took / 4 + 50)) ]
check 'many wake-ups: at least 50 statements' [ "$asked" -ge 50 ]
check 'many wake-ups: no warning' not grep -Ei 'warn|error' "$DIR/log"
produce --events 1
ring outbox.wake
drains 3 'a wake-up is still noticed afterwards'

# The broker is away meanwhile: the subscription is renewed with it, and rows
# that came in between are found without a wake-up.
"$SANDBOX" stop "$DIR/nats" > /dev/null
wait_for 10 has_line "$LOG" 'broker: '
produce --events 1
"$SANDBOX" start nats "$DIR/nats" > /dev/null
drains 10 'a new connection to the broker wakes the worker'
sleepy
produce --events 1
ring outbox.wake
drains 3 'a wake-up is noticed on the new connection'
stop_master "$MASTER"

# An idle fleet: two statements a second and worker, for leases and rows, and the
# renewals, two in lease_renew; the first one also looks for strays and at the
# stream.
WORKERS=2 IDLE=1000 conf
rm "$DIR/out"
REPORT=--json start_master
are_idle() {
	[ "$(grep -c '"backoff_ms":1000,' "$DIR/out")" -ge 8 ]
}
wait_for 10 all_owned && wait_for 20 are_idle
ok $? 'all partitions have owners, and the workers are idle'
since=$(now_ms)
asked=$(server_status Questions)
wait_for 20 is_later $((since + 12000))
asked=$(($(server_status Questions) - asked))
took=$(($(now_ms) - since))
[ "$asked" -le $((6 * took / 1000 + 24)) ]
ok $? "two idle workers: about 6 statements a second ($asked in $took ms)"
produce --events 20
drains 5 'idle workers find rows without a wake-up'
stop_master "$MASTER"

# Not allowed to receive wake-ups, and allowed again.
broker() {
	"$SANDBOX" stop "$DIR/nats" > /dev/null
	"$SANDBOX" start nats "$DIR/nats" "$@" > /dev/null
}
broker 'no_auth_user: relay' 'authorization: {users: [{user: relay,
    password: pw, permissions: {subscribe: {deny: outbox.wake}}}]}'
WORKERS=2 IDLE=100 conf
: > "$DIR/out"
REPORT=--json start_master
within 20 'without the permission: it is told' has_line "$LOG" \
    ' warn .*wake.subject: wake-ups cannot be received'
poll_often() { [ "$(grep -c '"backoff_ms":100,' "$DIR/out")" -ge 6 ]; }
within 10 'without the permission: workers poll as without the key' poll_often
broker
: > "$DIR/out"
within 20 'with it again: they rely on wake-ups' are_idle
stop_master "$MASTER"

check_stream 'the stream is complete and in order, nothing twice'
done_testing
