#!/usr/bin/env bash
# When the stream has forgotten its ids, messages that it may have already are
# looked up before they are sent again: workers killed with messages in flight,
# and a broker that does not answer for longer than its duplicate window
. "${srcdir:-$(dirname "$0")/../..}/tests/lib/lib.sh"

start_servers
NATS_PID=$(cat "$(. "$DIR/nats/env" && echo "$PIDFILE")")
out() { sql 'SELECT COUNT(*) FROM outbox WHERE claim_token IS NOT NULL'; }
are_out() { [ "$(out)" -ge "$1" ]; }
in_doubt() { sql 'SELECT COUNT(*) FROM outbox WHERE in_doubt_since IS NOT NULL'; }
freeze() { kill -STOP "$NATS_PID"; }
thaw() { kill -CONT "$NATS_PID"; }
trap 'thaw; cleanup' EXIT
window 2
WORKERS=2 CLAIM_TTL=6 TIMEOUT_MS=1000 LEASE_TTL=3 LEASE_RENEW=1 HEARTBEAT_TTL=3
write_conf
start_fleet
produce --events 300 --keys 300 --payload 100 --bulk
wait_for 10 is_drained

# Killed with messages in flight, which the broker stores when it goes on.
freeze
produce --events 400 --keys 200 --payload 100 --bulk
wait_for 5 are_out 200
pause 300
disown "$MASTER"
kill -KILL "$MASTER"
for pid in $(worker_pids "$MASTER"); do kill -KILL "$pid"; done
wait_for 5 is_gone "$MASTER"
thaw
pause 3000
start_master
drains 20 'workers killed with messages in flight: all rows are sent'
doubts=$(in_doubt)
check "at least 20 rows of killed workers were in doubt ($doubts)" \
    [ "$doubts" -ge 20 ]
check_stream 'the stream is complete and in order, nothing twice' --wait 10

# A broker that is silent for longer than its window, and then stores all that
# was written to it.
sql 'UPDATE outbox SET in_doubt_since = NULL'
produce --events 20000 --keys 2000 --payload 100 --rate 2000 --per-txn 10 &
PRODUCER=$!
pause 1000
freeze
pause 6000
thaw
wait "$PRODUCER"
drains 30 'a broker that was stopped: all rows are sent'
say "in doubt were $(in_doubt)"
check_stream 'the stream is complete and in order, nothing twice' --wait 10

# A broker that is killed with messages in its ears: they are not there.
sql 'UPDATE outbox SET in_doubt_since = NULL'
freeze
produce --events 400 --keys 200 --payload 100 --bulk
wait_for 5 are_out 200
pause 300
"$SANDBOX" kill "$DIR/nats" > /dev/null
pause 3000
"$SANDBOX" restart "$DIR/nats" > /dev/null
NATS_PID=$(cat "$(. "$DIR/nats/env" && echo "$PIDFILE")")
drains 20 'a broker that was killed: all rows are sent'
check_stream 'the stream is complete and in order, nothing twice' --wait 10
is "$(sql 'SELECT MAX(attempts) FROM outbox')" 0 'no attempt is counted'
stop_master "$MASTER"

done_testing
