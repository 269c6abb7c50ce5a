#!/usr/bin/env bash
# wake.binlog: who has new rows is woken by their commit, and by nothing else
. "${srcdir:-$(dirname "$0")/..}/tests/lib.sh"

# A worker that nobody wakes looks again after ten minutes.
PAUSE=600000

with_doorbell() {
	write_conf
	echo 'wake: {binlog: true}' >> "$CONF"
}

doorbell() { pgrep -P "$MASTER" -f 'outbox-master: doorbell'; }
no_doorbell() { ! doorbell > /dev/null; }
begun() { grep -c 'the stream has begun' "$LOG" || :; }
has_begun() { [ "$(begun)" -gt "$1" ]; }
rung() { awk '/rang for [0-9]+ commits/ { n += $(NF - 1) } END { print n + 0 }' "$LOG"; }
has_rung() { [ "$(rung)" -ge "$1" ]; }
all_ready() { [ "$(ps -o args= --ppid "$MASTER" |
    grep -c '\[8 partitions\]')" -eq 2 ]; }
one() { produce --events 1 --keys 1 --payload 50; }

# insert LABEL [SQL]: a row as root, in a session that SQL prepares
insert() {
	sql "${2:-DO 0}; START TRANSACTION;
	    INSERT INTO events (stream_id, stream_sequence, event_type,
	    event_data) SELECT 'hand', COUNT(*) + 1, 'test', '{}' FROM events;
	    INSERT INTO outbox (global_sequence, partition_key)
	    VALUES (LAST_INSERT_ID(), $1); COMMIT"
}

start_servers
sql "GRANT REPLICATION SLAVE ON *.* TO 'outbox'@'localhost'"
[ "$KIND" = mysql ] &&
    sql "GRANT REPLICATION CLIENT ON *.* TO 'outbox'@'localhost'"
sql 'CREATE TABLE other (a INT PRIMARY KEY AUTO_INCREMENT, b VARCHAR(20))'

# Without it.
LEVEL=debug write_conf
start_master --interval-ms $PAUSE
wait_for 10 all_ready
no_doorbell
ok $? 'no doorbell without wake.binlog'
one
wait_for 2 is_drained
is $? 1 'and a row waits for the next look'

# With it, from a reload on.
LEVEL=debug with_doorbell
kill -HUP "$MASTER"
wait_for 10 has_begun 0
ok $? 'a reload starts it'
wait_for 5 is_drained
ok $? 'what was committed before is found'
wait_for 10 all_ready
before=$(rung)
one
wait_for 2 is_drained
ok $? 'a commit wakes whom it concerns'
for format in ROW MIXED STATEMENT; do
	insert "'p03'" "SET SESSION binlog_format = $format"
	wait_for 2 is_drained
	ok $? "also with binlog_format = $format"
done
insert NULL			# until now nobody holds that partition
wait_for 20 is_drained
insert NULL
wait_for 2 is_drained
ok $? 'also without a label'
wait_for 3 has_rung $((before + 6))
is "$(rung)" $((before + 6)) 'each commit is rung for once, no claim and no settle'

before=$(rung)
produce --events 900 --keys 50 --payload 50 --per-txn 300
wait_for 10 is_drained
ok $? 'large transactions'
wait_for 3 has_rung $((before + 3))
is "$(rung)" $((before + 3)) 'are rung for once'

# Other tables.  The row after them shows that they have been read.
before=$(rung)
sql 'INSERT INTO other (b) SELECT seq FROM (WITH RECURSIVE n (seq) AS
    (SELECT 1 UNION ALL SELECT seq + 1 FROM n WHERE seq < 900)
    SELECT seq FROM n) AS t; UPDATE other SET b = a + 1; DELETE FROM other'
one
wait_for 2 is_drained
wait_for 3 has_rung $((before + 1))
is "$(rung)" $((before + 1)) 'nobody is woken for other tables'

# The doorbell is killed.
old=$(doorbell)
n=$(begun)
kill -KILL "$old"
wait_for 5 has_begun "$n"
ok $? 'a killed doorbell is replaced'
one
wait_for 2 is_drained
ok $? 'and rings'

# The server goes and comes back.
n=$(begun)
"$SANDBOX" restart "$DIR/db" > /dev/null
wait_for 20 has_begun "$n"
ok $? 'it comes back with the server'
wait_for 10 all_owned
one
wait_for 5 is_drained
ok $? 'and rings'
like "$(doorbell)" "^[0-9]+$" 'it is the same process'
sql 'SELECT 1' > /dev/null

# Reload without, and with it again.
LEVEL=debug write_conf
kill -HUP "$MASTER"
wait_for 5 no_doorbell
ok $? 'a reload ends it'
n=$(begun)
LEVEL=debug with_doorbell
kill -HUP "$MASTER"
wait_for 10 has_begun "$n"
pid=$(doorbell)
start=$(now_ms)
stop_master "$MASTER"
is $? 0 'the master stops'
is_gone "$pid"
ok $? 'and the doorbell with it'
[ $(($(now_ms) - start)) -lt 5000 ]
ok $? 'in time'

# The master is killed.
n=$(begun)
start_master --interval-ms $PAUSE
wait_for 10 has_begun "$n"
pid=$(doorbell)
kill -KILL "$MASTER"
wait_for 2 is_gone "$pid"
ok $? 'a killed master takes it along'
wait "$MASTER" 2>/dev/null

# Not allowed.
sql "REVOKE REPLICATION SLAVE ON *.* FROM 'outbox'@'localhost'"
LOG=$DIR/log2
LEVEL=debug IDLE=100 with_doorbell
start_master
wait_for 10 has_line "$LOG" 'wake.binlog: .*REPLICATION SLAVE'
ok $? 'without the right it says which'
wait_for 10 all_owned
produce --events 100 --keys 10 --payload 50
wait_for 10 is_drained
ok $? 'and workers look by themselves'
is "$(grep -c 'wake.binlog' "$LOG")" 1 'it is said once'
like "$(doorbell)" "^[0-9]+$" 'and the process stays'
check_stream 'nothing lost, nothing twice, in order' --wait 10
stop_master "$MASTER"
done_testing
