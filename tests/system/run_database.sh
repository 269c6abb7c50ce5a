#!/usr/bin/env bash
# A database that is read-only, restarted, out of connections, locked or full:
# few lines of log, no tight loop, and all rows are sent afterwards.
. "${srcdir:-$(dirname "$0")/../..}/tests/lib/lib.sh"

start_servers innodb_file_per_table=0 \
    innodb_data_file_path=ibdata1:12M:autoextend:max:64M
WORKERS=2 LEASE_TTL=12 LEASE_RENEW=4 HEARTBEAT_TTL=12 CLAIM_TTL=10 IDLE=100 \
    write_conf
start_fleet

# As root, which read_only does not stop.
enqueue() { enqueue_keys "$1" 50 events.x; }

# The lines of log from here on.
begin() { LINES_BEFORE=$(wc -l < "$LOG"); }
news() { tail -n "+$((LINES_BEFORE + 1))" "$LOG"; }
says() { news | grep -Eq -- "$1"; }
# after NAME REGEX [MOST]: it was logged, briefly, and all rows are sent
after() {
	within 5 "$1: the log says so" says "$2"
	flows_again "$1" "${3:-8}"
}
flows_again() {
	drains 20 "$1: all rows are sent afterwards"
	[ "$(news | grep -c ' warn \| error ')" -le "$2" ]
	ok $? "$1: at most $2 warnings or errors ($(news |
	    grep -c ' warn \| error '))"
	is "$(sql 'SELECT COALESCE(MAX(attempts), 0) FROM outbox')" 0 \
	    "$1: no attempt is counted"
}

begin
sql 'SET GLOBAL read_only = 1'
enqueue readonly
wait_for 5 says 'read.only'
questions=$(server_status Questions)
pause 2000
questions=$(($(server_status Questions) - questions))
check "a read-only server gets fewer than 100 statements in 2 s ($questions)" \
    [ "$questions" -lt 100 ]
sql 'SET GLOBAL read_only = 0'
after 'read-only under load' 'read.only'

begin
enqueue restart
"$SANDBOX" restart "$DIR/db" >/dev/null
enqueue restarted
after 'restart' 'database: |connect|server has gone|Lost connection'

# Clients without the right to the connection that is kept for root.
wait_for 10 all_owned
begin
holders=()
for _ in {1..12}; do
	"$SANDBOX" sql "$DIR/db" -u outbox_producer "-p$PRODUCER_PW" \
	    -e 'DO SLEEP(4)' &
	holders+=($!)
done
wait_for 5 is_sql "SELECT COUNT(*) FROM information_schema.processlist
    WHERE user = 'outbox_producer'" 12
{
	echo 'SET GLOBAL max_connections = 10;'
	sql "SELECT CONCAT('KILL ', id, ';')
	    FROM information_schema.processlist WHERE user = 'outbox'"
} > "$DIR/crowd.sql"
"$SANDBOX" sql "$DIR/db" < "$DIR/crowd.sql"
wait_for 4 says 'Too many connections'
wait "${holders[@]}"
sql 'SET GLOBAL max_connections = 100'
enqueue crowded
after 'no connection is free' 'Too many connections \(1040\)'

# Another session, which locks rows that are to be claimed.
coproc SESSION { "$SANDBOX" sql "$DIR/db" -N app; }
tell() { printf '%s\n' "$1;" >&"${SESSION[1]}"; }
# two_rows KEY SECONDS: due so much later
two_rows() {
	local at="NOW(6) + INTERVAL $2 SECOND"
	sql "START TRANSACTION; $(event_row "$1 one" 1 "'p00'" "$at" events.x)
	    SET @one = LAST_INSERT_ID();
	    $(event_row "$1 two" 1 "'p00'" "$at" events.x)
	    COMMIT; SELECT @one"
}
has_lock_wait() { [ "$(server_status Innodb_row_lock_current_waits)" -gt 0 ]; }
lock() { tell "SELECT global_sequence FROM outbox
    WHERE global_sequence = $1 FOR UPDATE"; }

# One claim takes both rows, so the worker sleeps until they are there.  The
# victim of a deadlock is who has changed less.
begin
has_deadlock() { [ "$(server_status Innodb_deadlocks)" -gt "$deadlocks" ]; }
deadlocks=$(server_status Innodb_deadlocks)
mapfile -t pids < <(sql 'SELECT pid FROM outbox_workers')
kill -STOP "${pids[@]}"
one=$(two_rows deadlock 0)
tell 'CREATE TABLE weight (n INT)'
tell 'START TRANSACTION'
lock $((one + 1))
tell 'INSERT INTO weight SELECT seq FROM seq_1_to_2000'
# innodb_trx is a copy that is renewed when nobody has read it for 100 ms.
wait_for 5 is_sql 'DO SLEEP(0.15);
    SELECT COUNT(*) FROM information_schema.innodb_trx
    WHERE trx_rows_modified >= 2000' 1
kill -CONT "${pids[@]}"
wait_for 5 has_lock_wait
lock "$one"
within 5 'a claim meets a deadlock with another client' has_deadlock
tell 'COMMIT'
flows_again 'deadlock' 0

# For a while after this no claim waits for a locked row.
begin
one=$(two_rows locked 1)
tell 'START TRANSACTION'
lock "$one"
epochs=$(sql 'SELECT SUM(lease_epoch) FROM outbox_partitions')
wait_for 15 says 'another session has locked the row'
is "$(sql 'SELECT SUM(lease_epoch) FROM outbox_partitions')" "$epochs" \
    'locked rows: every lease is kept'
tell 'COMMIT'
after 'locked rows' "sequence $one cannot be claimed: another session has locked"
eval "exec ${SESSION[1]}>&-"
stops 'the master stops with status 0'

# A backlog whose claim needs more room than there is.
begin
produce --events 20000 --keys 500 --payload 100 --bulk
sql 'CREATE TABLE filler (x LONGBLOB)'
size=1048576
while [ "$size" -gt 1000 ]; do
	sql "INSERT INTO filler VALUES (REPEAT('x', $size))" 2>/dev/null ||
	    size=$((size / 2))
done
start_master
within 10 'the table space is full: the log says so' says '\(1114\)'
pause 2000
"$SANDBOX" stop "$DIR/db"
"$SANDBOX" start "$KIND" "$DIR/db" \
    innodb_data_file_path=ibdata1:12M:autoextend:max:512M >/dev/null
after 'more space' 'is full \(1114\)' 16

wait_for 20 is_drained
check_stream 'the stream is complete and in order, nothing twice' --wait 10
rows_are 0 outbox_dead_letters 'no message is dead'
stops 'the master stops with status 0 at the end'
done_testing
