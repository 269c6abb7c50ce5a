#!/usr/bin/env bash
# The master: killed, doubled, hung workers, pid file, two on one database
. "${srcdir:-$(dirname "$0")/../..}/tests/lib/lib.sh"

start_servers
write_conf
start_fleet

# A second master with the same pid file.
"$OUTBOX_MASTER" -c "$CONF" --silent > "$DIR/second" 2>&1
is $? 1 'a second master with the same pid file: exit status 1'
like "$(cat "$DIR/second")" "already running with pid $MASTER" \
    'a second master: the error has the pid of the first'

# The master is killed: nothing of it may be left after two seconds.
family=$(worker_pids "$MASTER")
N=5000
! is_short || N=1500
produce --events $N --keys 100 --payload 200 &
PRODUCER=$!
kill -KILL "$MASTER"
none_left() { local p; for p in $family; do is_gone "$p" || return 1; done; }
within 2 'SIGKILL of the master: every worker ends within 2 s' none_left

"$SANDBOX" sql "$DIR/db" app -e 'SELECT 1' >/dev/null
wait "$MASTER" 2>/dev/null
start_master
taken() {
	all_owned && [ "$(sql "SELECT COUNT(DISTINCT lease_owner)
	    FROM outbox_partitions")" -eq 2 ] && [ "$(sql "SELECT COUNT(*)
	    FROM outbox_workers")" -eq 2 ]
}
within 3 'a new master owns all partitions before the old leases expire' taken
like "$(cat "$LOG")" 'taking over from 2 workers' 'it logs that it takes over'
wait "$PRODUCER"
wait_for 30 is_drained
check_stream 'the stream is complete and in order, nothing twice' --wait 10

# A master killed and one started at once, while workers are still leaving.
kill -KILL "$MASTER"
start_master
within 5 'a master that starts at once takes over as well' taken

# A worker that hangs.
stop_master "$MASTER"
HANG_TIMEOUT=3 LEASE_TTL=2 LEASE_RENEW=0.5 HEARTBEAT_TTL=2 CLAIM_TTL=5 \
    TIMEOUT_MS=1000 write_conf
start_fleet
victim=$(worker_pids "$MASTER" | head -1)
kill -STOP "$victim"
within 8 'a worker that hangs is noticed' \
    has_line "$LOG" "pid $victim gave no sign of life"
within 5 'a worker that hangs is killed' is_gone "$victim"
within 5 'a worker that was killed is replaced' taken
stop_master "$MASTER"

# Two masters on one database and one host.
write_conf
start_master
FIRST=$MASTER
PIDFILE=$DIR/run/other.pid write_conf "$DIR/other.yml"
CONF=$DIR/other.yml LOG=$DIR/log2 start_master
SECOND=$MASTER
shared() {
	all_owned && [ "$(sql 'SELECT COUNT(DISTINCT lease_owner)
	    FROM outbox_partitions')" -eq 4 ] &&
	    [ "$(sql 'SELECT MAX(n) FROM (SELECT COUNT(*) AS n
	    FROM outbox_partitions GROUP BY lease_owner) AS t')" -eq 4 ]
}
within 5 'two masters share the partitions evenly' shared
produce --events $((2 * N)) --keys 200 --payload 200 --producers 2 \
    --rate $((N / 2)) --per-txn 2 &
PRODUCER=$!
wait_for 5 has_line "$DIR/log" .
kill -TERM "$SECOND"
wait "$SECOND"
within 2 'the partitions of a stopped master have owners within 2 s' taken
wait "$PRODUCER"
wait_for 30 is_drained
check_stream 'the stream is complete and in order, nothing twice' --wait 10
stop_master "$FIRST"

# The master is killed and its workers are stopped, so that they outlive it: for
# outboxctl no daemon runs, whatever the scoreboard says.
here() { "$OUTBOXCTL" -c "$CONF" --json status | jq -rc ".this_host${1:-}"; }
start_fleet
is "$(here .pid)" "$MASTER" 'a living master: outboxctl status shows it'
family=$(worker_pids "$MASTER")
# shellcheck disable=SC2086
kill -STOP $family
kill -KILL "$MASTER"
wait "$MASTER" 2>/dev/null
# shellcheck disable=SC2086
kill -0 $family
ok $? 'a killed master: its stopped workers are still there'
is "$(here "")" null 'a killed master with workers: no daemon runs here'
# shellcheck disable=SC2086
kill -CONT $family
within 3 'the workers end when they go on' none_left

# Ctrl-C reaches the whole process group.
WORKERS=2 TIMEOUT_MS=5000 write_conf
setsid "$OUTBOX_MASTER" -c "$CONF" --silent 2>> "$LOG" &
MASTER=$!
MASTERS+=("$MASTER")
wait_for 10 all_owned
produce --events $N --keys 100 --payload 200 --producers 2 --per-txn 10 &
PRODUCER=$!
some_delivered() { [ "$(sql 'SELECT COUNT(*) > 0 FROM outbox
    WHERE published_at > NOW(6) - INTERVAL 1 SECOND')" -eq 1 ]; }
wait_for 10 some_delivered
kill -INT -- "-$MASTER"
wait "$MASTER"
is $? 0 'SIGINT to the process group under load: exit status 0'
rows_are 0 'outbox WHERE claim_token IS NOT NULL' 'SIGINT: no row is claimed'
wait "$PRODUCER"

# SIGTERM while a reload replaces the workers.
left=0 waits='1 20 40 60'
! is_short || waits='1 40'
for wait_ms in $waits; do
	start_fleet
	kill -HUP "$MASTER"
	next=$(($(now_ms) + wait_ms))
	while [ "$(now_ms)" -lt "$next" ]; do nap 0.005; done
	stop_master "$MASTER"
	left=$((left + $(sql 'SELECT COUNT(*) FROM outbox_partitions
	    WHERE lease_owner IS NOT NULL') + $(sql 'SELECT COUNT(*)
	    FROM outbox_workers')))
done
is "$left" 0 "SIGTERM during a reload: no lease and no worker's row is left"

# A configuration behind a symbolic link that is replaced.
mv "$CONF" "$DIR/one.yml"
sed 's/workers: 2,/workers: 3,/' "$DIR/one.yml" > "$DIR/two.yml"
ln -s one.yml "$CONF"
start_fleet
ln -sfn two.yml "$CONF"
rm "$DIR/one.yml"
kill -HUP "$MASTER"
within 10 'SIGHUP reads the new target of a symbolic link' \
    is_sql 'SELECT COUNT(*) FROM outbox_workers' 3
wait_for 30 is_drained
stop_master "$MASTER"
rm "$CONF"

# Reports: one JSON object per line, also when the reader is slow.
REPORT=--json
PARTITIONS=16 IDLE=10 write_conf
mkfifo "$DIR/fifo"
exec 7<> "$DIR/fifo"
"$OUTBOX_MASTER" -c "$CONF" --json > "$DIR/fifo" 2>> "$LOG" 7<&- &
MASTER=$!
MASTERS+=("$MASTER")
wait_for 10 all_owned
produce --events 1000 --keys 50 --payload 200
drains 20 'a reader of reports that does not read: messages are sent'
timeout 2 cat <&7 > "$DIR/lines" || :
kill -TERM "$MASTER"
timeout 2 cat <&7 >> "$DIR/lines" || :
wait "$MASTER"
is $? 0 'a reader that does not read: the master stops with status 0'
exec 7>&-
[ "$(wc -l < "$DIR/lines")" -gt 50 ] &&
    ! grep -Evq '^\{"claimed":[0-9]+,.*"ts":"[0-9T:.Z-]+"\}$' "$DIR/lines"
ok $? 'each line of the reports is whole'

zombies=$(ps -o pid=,stat= --ppid $$ | grep -c ' Z' || :)
is "$zombies" 0 'no child is left as a zombie'
done_testing
