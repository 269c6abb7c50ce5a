#!/usr/bin/env bash
# worker.gather: a small load costs one worker's statements
. "${srcdir:-$(dirname "$0")/../..}/tests/lib/lib.sh"

owners() { sql 'SELECT COALESCE(GROUP_CONCAT(n ORDER BY n), "") FROM (
    SELECT COUNT(*) AS n FROM outbox_partitions
    WHERE lease_until > NOW(6) GROUP BY lease_owner) AS t'; }
are_owned() { [ "$(owners)" = "$1" ]; }
gatherer() { sql 'SELECT MIN(w.pid) FROM outbox_partitions AS p
    JOIN outbox_workers AS w ON w.id = p.lease_owner'; }
has_workers() { is_sql 'SELECT COUNT(*) FROM outbox_workers' "$1"; }
first_has_all() { is_sql 'SELECT COUNT(*) = 16 AND
    MAX(lease_owner) = (SELECT MIN(id) FROM outbox_workers)
    FROM outbox_partitions WHERE lease_until > NOW(6)' 1; }

# The server watches: a statement of this script would come too late.
# least_owned(MS): the fewest partitions with an owner, in so long a time.
# overload(N): worker N (from 0) gets all; after it has given the first of them
# back, how long is it until all four workers have some, in ms?
add_watches() { "$SANDBOX" sql "$DIR/db" app << 'EOF'
DELIMITER //
CREATE PROCEDURE least_owned(ms INT) BEGIN
	DECLARE until TIMESTAMP(6) DEFAULT
	    SYSDATE(6) + INTERVAL ms * 1000 MICROSECOND;
	SET @least = 16;
	WHILE SYSDATE(6) < until DO
		DO SLEEP(0.02);
		SELECT LEAST(@least, COUNT(*)) INTO @least
		    FROM outbox_partitions WHERE lease_until > SYSDATE(6);
	END WHILE;
	SELECT @least; END//
CREATE PROCEDURE overload(n INT) BEGIN
	DECLARE began TIMESTAMP(6);
	DECLARE until TIMESTAMP(6) DEFAULT SYSDATE(6) + INTERVAL 10 SECOND;
	SET @id = (SELECT id FROM outbox_workers ORDER BY id LIMIT n, 1);
	SET @given = 0, @owners = 1;
	UPDATE outbox_partitions SET lease_owner = @id, lease_until =
	    NOW(6) + INTERVAL 15 SECOND, lease_epoch = lease_epoch + 1;
	WHILE @given = 0 AND SYSDATE(6) < until DO
		DO SLEEP(0.005);
		SELECT COUNT(*) INTO @given FROM outbox_partitions
		    WHERE lease_owner IS NULL OR lease_owner <> @id;
	END WHILE;
	SET began = SYSDATE(6);
	WHILE @owners < 4 AND SYSDATE(6) < until DO
		DO SLEEP(0.005);
		SELECT COUNT(DISTINCT lease_owner) INTO @owners
		    FROM outbox_partitions WHERE lease_until > SYSDATE(6);
	END WHILE;
	SELECT TIMESTAMPDIFF(MICROSECOND, began, SYSDATE(6)) DIV 1000; END//
EOF
}

start_servers
add_watches
WORKERS=4 GATHER=true write_conf
start_master
within 5 'at rest one of four workers has all partitions' are_owned 16
wait_for 5 has_workers 4

states() { "$OUTBOXCTL" -c "$CONF" --json status |
    jq -rc '[.this_host.workers[].state] | sort'; }
are_states() { [ "$(states)" = "$1" ]; }
within 5 'the scoreboard tells which workers stand by' are_states \
    '["running","standby","standby","standby"]'
shows_standbys() { [ "$("$OUTBOXCTL" -c "$CONF" status |
    grep -c '^[0-9]* *standby  *0  *0 ')" -eq 3 ]; }
within 5 'outboxctl status shows that the others stand by' shows_standbys

# Of an idle fleet only one looks for rows.  Each reads leases, too.
# Now and then an audit of the stream sends 20 at once: then once more.
nap 3
is_idle() {
	local before
	before=$(server_status Questions)
	nap 5
	RATE=$((($(server_status Questions) - before) / 5))
	[ "$RATE" -lt 12 ]
}
is_idle || is_idle || is_idle
ok $? "an idle fleet sends few statements: $RATE a second"

# One at a time, and never late: nobody has to be told.
slowest=0
for _ in 1 2 3 4 5; do
	nap 0.4
	produce --events 1 --keys 1 --payload 50
	start=$(now_ms)
	wait_for 5 is_drained
	took=$(($(now_ms) - start))
	[ "$took" -le "$slowest" ] || slowest=$took
done
is $((slowest < 1000)) 1 "a message after a pause: $slowest ms at most"
is "$(owners)" 16 'a small load moves no partition'

# The broker hangs while a reload replaces one worker after the other: for 2 s a
# new one is not registered.  Until then the first worker knows it by the id of
# the one before, also when it dies, or its share would have no owner.
wait_for 5 first_has_all
read -r broker _ < "$DIR/nats/process"
kill -HUP "$MASTER"
wait_for 10 has_line "$LOG" 'worker 1: pid .* started .*generation=2'
kill -STOP "$broker"
has_new() { NEW=$(sed -n 's/.*: pid \([0-9]*\) started.*/\1/p' "$LOG" |
    tail -n 1) && [ -z "$(id_of "$NEW")" ]; }
wait_for 5 has_new
is "$(sql 'CALL least_owned(1500)')" 16 \
    'a reload while the broker hangs: each partition has an owner'
kill -KILL "$NEW"
is "$(sql 'CALL least_owned(1500)')" 16 \
    'also when the new worker dies before it is registered'
kill -CONT "$broker"
wait_for 20 has_line "$LOG" 'worker 3: pid .* started .*generation=2'
wait_for 10 first_has_all

# A backlog is work for all, and then for one again.
BACKLOG=60000
! is_short || BACKLOG=20000
produce --bulk --events $BACKLOG --keys 500 --payload 100
within 5 'a backlog: each worker takes its share' are_owned 4,4,4,4
within 5 'and none stands by' are_states \
    '["running","running","running","running"]'
within 60 'the backlog is delivered' is_drained
within 25 'and then one worker has all of them again' are_owned 16
check_stream 'the stream is complete and in order, nothing twice' --wait 10

# While partitions move to and fro, workers die: the one that has all, too.
N=30000
KILLS=3
! is_short || N=4000 KILLS=1
produce --events $N --keys 100 --payload 100 --rate 2500 --producers 2 \
    --per-txn 5 &
PRODUCER=$!
for ((n = 0; n < KILLS; n++)); do
	nap 1
	kill -KILL "$(gatherer)"
	wait_for 10 are_owned 16
done
wait "$PRODUCER"
within 30 'killed workers: all is delivered' is_drained
check_stream 'the stream is complete and in order, nothing twice' --wait 10

# What a killed worker was sending goes at once, though its successor stands by
# and another slot's worker serves all: the claims of the dead do not count.
within 30 'one worker has all of them again' are_owned 16
clear_rows
FEW=2000
! is_short || FEW=1000
produce --events $FEW --keys 100 --payload 100 --rate 500 --producers 1 &
PRODUCER=$!
wait_for 10 is_sql 'SELECT COUNT(published_at) > 500 FROM outbox' 1
kill -KILL "$(gatherer)"
wait "$PRODUCER"
within 40 'a killed worker under a small load: all is delivered' is_drained
late=$(sql 'SELECT MAX(TIMESTAMPDIFF(MICROSECOND, created_at, published_at))
    DIV 1000 FROM outbox')
is $((late < 8000)) 1 "no message waits for a claim of the dead: $late ms at most"

# Two daemons: each gathers the shares of its own workers.
FIRST=$MASTER
WORKERS=3 GATHER=true PIDFILE=$DIR/run/other.pid write_conf "$DIR/other.yml"
CONF=$DIR/other.yml LOG=$DIR/log2 start_master
within 30 'two daemons: two workers have all partitions' are_owned 7,9
wait_for 5 has_workers 7
stop_master "$MASTER"
MASTER=$FIRST

# A reload ends it.  Those that it has not replaced yet take their shares, too,
# though it has to wait for a new one.
wait_for 20 are_owned 16
WORKERS=4 GATHER=false write_conf
deadline=$(($(now_ms) + 10000))
kill -HUP "$MASTER"
until has_line "$LOG" 'worker 1: pid .* started .*generation=3'; do
	is_later "$deadline" && break
done
hung=$(sed -n 's/.* worker 1: pid \([0-9]*\) started.*/\1/p' "$LOG" | tail -n 1)
kill -STOP "$hung"
# The one that hangs has 3 or 4, which may be of the shares of the others.
within 5 'a reload that waits: old workers take their shares' is_sql \
    "SELECT COUNT(*) >= 6 FROM outbox_partitions WHERE lease_until > NOW(6)
    AND (lease_owner LIKE '%:02:%' OR lease_owner LIKE '%:03:%')" 1
kill -CONT "$hung"
within 15 'worker.gather: false, after a reload each has its share' \
    are_owned 4,4,4,4

# Workers read leases each second, and at once when one has given some back.
# Whatever their rhythms are, for one of the four it would take 0.75 s or more.
overload_each() {
	local n took
	slowest=0
	for n in 0 1 2 3; do
		took=$(sql "CALL overload($n)") || took=9999	# a deadlock
		[ "$took" -le "$slowest" ] || slowest=$took
		wait_for 5 are_owned 4,4,4,4
	done
	[ "$slowest" -lt 500 ]
}
# On a busy machine it may take longer, but not each time.
overload_each || overload_each || overload_each
ok $? "leases that are given back are taken at once: $slowest ms at most"
stop_master "$MASTER"

# Rows that nobody may send are no work, and 128 partitions need two scans.
clear_rows
sql 'UPDATE outbox_settings SET partition_count = 128'
PARTITIONS=128 WORKERS=4 GATHER=true write_conf
start_master
wait_for 20 are_owned 128
"$OUTBOXCTL" -c "$CONF" partitions pause p07 --yes > /dev/null
wait_for 5 are_owned 1,127
is_spread() { [ "$(owners)" != 1,127 ]; }
# stay_together FROM: on a busy machine a batch may be slow, but not each time
stay_together() {
	wait_for 20 are_owned 1,127
	sql "$(for i in {1..120}; do event_row paused $(($1 + i)) "'p07'"; done)"
	not wait_for 3 is_spread
}
stay_together 0 || stay_together 200 || stay_together 400
ok $? 'rows of a paused partition do not spread the workers'

# A worker that dies is not trusted with all partitions for some time.
serves() { is_sql "SELECT COUNT(*) FROM outbox_partitions WHERE
    lease_owner LIKE '%:$1:%' AND lease_until > NOW(6)" 127; }
is_first() { [ -n "$(id_of "$(first_pid)")" ]; }
first_pid() { sed -n 's/.* worker 0: pid \([0-9]*\) started.*/\1/p' "$LOG" |
    tail -n 1; }
kill -KILL "$(first_pid)"
within 5 'the worker that served all died: another one does' serves 01
dies_alone() { wait_for 10 is_first && kill -KILL "$(first_pid)" &&
    not wait_for 1 not serves 01; }
dies_alone && dies_alone
ok $? 'it dies again and again: the other one serves on'
# For ten seconds, of which a busy machine may use all: then once more.
all_die() { mapfile -t pids < <(worker_pids "$MASTER")
    kill -KILL "${pids[@]}"; wait_for 10 are_owned 1,31,32,32,32; }
all_die || all_die || all_die
ok $? 'all of them died: each has its share'
stop_master "$MASTER"

# A row that a transaction locks stops the worker that claims it, and no other.
clear_rows
start_master
wait_for 20 are_owned 1,127
coproc SESSION { "$SANDBOX" sql "$DIR/db" -N app; }
echo "$(event_row locked 1 "'p05'" 'NOW(6) + INTERVAL 1 SECOND')
    BEGIN; SELECT global_sequence FROM outbox
    WHERE global_sequence = LAST_INSERT_ID() FOR UPDATE;" >&"${SESSION[1]}"
within 20 'a locked row: each worker takes its share' are_owned 1,31,32,32,32
for i in {1..40}; do printf '%s\n' "$(event_row "k$i" 1 "'p$((i + 10))'")"; done |
    "$SANDBOX" sql "$DIR/db" app
wait_for 10 is_sql 'SELECT COUNT(DISTINCT lease_owner) FROM outbox
    JOIN outbox_partitions USING (partition_key) WHERE published_at IS NULL' 1
ok $? 'a locked row: the other workers deliver'
eval "exec ${SESSION[1]}>&-"
drains 10 'the lock is gone: all is delivered'
stop_master "$MASTER"

done_testing
