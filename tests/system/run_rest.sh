#!/usr/bin/env bash
# wake.binlog: while the workers deliver much the listener rests
. "${srcdir:-$(dirname "$0")/../..}/tests/lib/lib.sh"

start_servers
sql "GRANT REPLICATION SLAVE ON *.* TO 'outbox'@'localhost'"
[ "$KIND" != mysql ] ||
    sql "GRANT REPLICATION CLIENT ON *.* TO 'outbox'@'localhost'"
WORKERS=4 WAKE='binlog: true' write_conf
start_fleet
listener_is() { [ "$("$OUTBOXCTL" -c "$CONF" --json status |
    jq -r .this_host.listener.state)" = "$1" ]; }
within 10 'the listener follows the binlog' listener_is running
produce_forever --keys 100 --payload 50 --rate 3000 --producers 4
within 10 'at many commits it rests' listener_is resting
within 10 'and the server sends it nothing' is_sql "SELECT COUNT(*)
    FROM information_schema.processlist WHERE command LIKE 'Binlog Dump%'" 0
doctor_tells() { grep -Eq "$1" <<< "$("$OUTBOXCTL" -c "$CONF" doctor)"; }
within 10 'doctor says that it rests' doctor_tells \
    '^ok +binlog: .* listener of this host rests.* and follows it'
sql "REVOKE REPLICATION SLAVE ON *.* FROM 'outbox'@'localhost'"
within 10 'also if it may not follow it any more' doctor_tells \
    '^advice +binlog: the listener of this host rests.* but cannot .*: GRANT'
sql "GRANT REPLICATION SLAVE ON *.* TO 'outbox'@'localhost'"
listener_pid() { pgrep -P "$MASTER" -f 'outbox-master: listener'; }
former=$(listener_pid)
kill -KILL "$former"
has_other() { [ "$(listener_pid)" != "${former:-none}" ] && listener_is resting; }
within 20 'killed while it rests: the next one comes to rest as well' has_other
# A worker that hangs does not count, however busy it was before.
hung=$(worker_pids "$MASTER" | head -n 1)
kill -STOP "$hung"
kill "$PRODUCER"
wait "$PRODUCER" 2> /dev/null
within 10 'and then it listens again' listener_is running
kill -CONT "$hung"
drains 10 'all is delivered'
check_stream 'the stream is complete and in order, nothing twice' --wait 10
stop_master "$MASTER"

# Where the workers rely on wake-ups it does not rest, nor where they deliver
# nothing.
has_told_many() { [ "$(awk '/woke workers for [0-9]+ commits/ &&
    $(NF - 1) > 600 { n++ } END { print n + 0 }' "$LOG")" -ge 2 ]; }
hears_all() {
	LOG=$DIR/log.$1
	start_fleet
	wait_for 10 has_listener
	produce_forever --keys 100 --payload 50 --rate 3000 --producers 4
	within 20 "$2: it wakes workers for many commits" has_told_many
	kill "$PRODUCER"
	wait "$PRODUCER" 2> /dev/null
	is "$(grep -c 'the binlog is not followed' "$LOG")" 0 \
	    "$2: and does not rest"
	"$SANDBOX" status "$DIR/nats" > /dev/null ||
	    "$SANDBOX" restart "$DIR/nats" > /dev/null
	drains 20 "$2: all is delivered"
	stop_master "$MASTER"
}
WORKERS=1 LINGER=0 LEVEL=debug WAKE='binlog: true' write_conf
is_short || hears_all 3 'worker.linger_ms: 0'
WORKERS=1 LEVEL=debug WAKE='binlog: true, subject: rows.new' write_conf
is_short || hears_all 4 wake.subject
is_short || "$SANDBOX" stop "$DIR/nats" > /dev/null
WORKERS=1 LEVEL=debug WAKE='binlog: true' write_conf
is_short || hears_all 6 'without the broker'
done_testing
