#!/usr/bin/env bash
# A ring on wake.subject: idle workers look at once, and else they ask little
. "${srcdir:-$(dirname "$0")/../..}/tests/lib/lib.sh"

start_servers

conf() { WAKE='subject: outbox.wake' write_conf; }

# sleepy: from here on the worker does not look for ten seconds
sleepy() {
	local long='"backoff_ms":[1-9][0-9]{4},' seen
	seen=$(grep -Ec "$long" "$DIR/out")
	is_sleepy() { [ "$(grep -Ec "$long" "$DIR/out")" -gt "$seen" ]; }
	wait_for 120 is_sleepy
	ok $? 'pauses have grown'
}

WORKERS=1 IDLE=60000 conf
REPORT=--json start_master
sleepy
produce --events 1
! wait_for 3 is_drained
ok $? 'nobody rings: nobody looks'
ring outbox.wake
drains 3 'a ring: they look at once'

# While somebody rings without end.
asked=$(server_status Questions)
since=$(now_ms)
until [ $(($(now_ms) - since)) -ge 3000 ]; do
	ring outbox.wake 20000 || break
done
took=$(($(now_ms) - since))
asked=$(($(server_status Questions) - asked))
[ "$asked" -le $((took / 4 + 50)) ]
ok $? "many rings, few looks ($asked statements in $took ms)"
[ "$asked" -ge 50 ]
ok $? 'but some'
! grep -Ei 'warn|error' "$DIR/log"
ok $? 'and no complaint'
produce --events 1
ring outbox.wake
drains 3 'they are still heard'

# The broker is away meanwhile: the subscription is renewed with it, and
# what came in between is found without a ring.
"$SANDBOX" stop "$DIR/nats" > /dev/null
wait_for 10 has_line "$LOG" 'broker: '
produce --events 1
"$SANDBOX" start nats "$DIR/nats" > /dev/null
drains 10 'a new connection is as good as a ring'
sleepy
produce --events 1
ring outbox.wake
drains 3 'and rings are heard on it'
stop_master "$MASTER"

# An idle fleet: a statement a second and worker, and the renewals, two in
# lease_renew; the first of them looks for strays and at the stream besides.
WORKERS=2 IDLE=1000 conf
rm "$DIR/out"
REPORT=--json start_master
are_idle() {
	[ "$(grep -c '"backoff_ms":1000,' "$DIR/out")" -ge 8 ]
}
wait_for 10 all_owned && wait_for 20 are_idle
ok $? 'a fleet is idle'
since=$(now_ms)
asked=$(server_status Questions)
wait_for 20 is_later $((since + 12000))
asked=$(($(server_status Questions) - asked))
took=$(($(now_ms) - since))
[ "$asked" -le $((4 * took / 1000 + 14)) ]
ok $? "it asks little ($asked statements in $took ms)"
produce --events 20
drains 5 'and finds rows without a ring'
stop_master "$MASTER"

check_stream 'complete, in order, nothing twice'
done_testing
