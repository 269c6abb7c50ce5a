#!/usr/bin/env bash
# wake.binlog: who has new rows is woken by their commit, and by nothing else
. "${srcdir:-$(dirname "$0")/../..}/tests/lib/lib.sh"

# A worker that nobody wakes looks again after ten minutes.
PAUSE=600000
COMMITS=0

with_listener() { WAKE='binlog: true' write_conf "$@"; }

listener() { pgrep -P "$MASTER" -f 'outbox-master: listener'; }
no_listener() { ! listener > /dev/null; }
begun() { grep -c 'the binlog stream has begun' "$LOG" || :; }
has_begun() { [ "$(begun)" -gt "$1" ]; }
rung() { awk '/woke workers for [0-9]+ commits/ { n += $(NF - 1) } END { print n + 0 }' "$LOG"; }
has_rung() { [ "$(rung)" -ge "$1" ]; }
all_ready() { [ "$(ps -o args= --ppid "$MASTER" |
    grep -c '\[8 partitions\]')" -eq 2 ]; }
one() {
	produce --events 1 --keys 1 --payload 50
	COMMITS=$((COMMITS + 1))
}

# A server may tell replicas of a commit just before others can see it, so a
# ring is worth a second look, also where nobody looks otherwise.  Not if the
# first one found rows of another commit, and no third if the server is slow:
# that is left to the usual pause, and with this one it takes another ring.
arrives_now() { wait_for 2 is_drained; }
arrives() { arrives_now || everybody; }

# rings_match NAME: one for each commit since COMMITS was 0 and RUNG noted
# What was committed before may be rung for late.
count_rings() {
	wait_for 1 has_rung $((${RUNG:-0} + ${COMMITS:-0}))
	COMMITS=0 RUNG=$(rung)
}
rings_match() {
	wait_for 3 has_rung $((RUNG + COMMITS))
	is "$(rung)" $((RUNG + COMMITS)) "$1"
}

# insert LABEL [SQL]: a row as root, in a session that SQL prepares
insert() {
	sql "${2:-DO 0}; START TRANSACTION;
	    INSERT INTO events (stream_id, stream_sequence, event_type,
	    event_data) SELECT CONCAT('in', COALESCE($1, '')), COUNT(*) + 1, 'test', '{}' FROM events;
	    INSERT INTO outbox (global_sequence, partition_key)
	    VALUES (LAST_INSERT_ID(), $1); COMMIT"
	COMMITS=$((COMMITS + 1))
}

everybody() {
	for label in 00 01 02 03 04 05 06 07; do insert "'p$label'"; done
	arrives_now
}

# late_insert FORMAT: no replica confirms it, so it cannot be read for 2 ms
late_insert() {
	sql "SET GLOBAL rpl_semi_sync_master_enabled = 0;
	    SET GLOBAL rpl_semi_sync_master_wait_point = AFTER_SYNC,
	    GLOBAL rpl_semi_sync_master_timeout = 2,
	    GLOBAL rpl_semi_sync_master_enabled = 1"
	insert "'p03'" "SET SESSION binlog_format = $1"
	sql 'SET GLOBAL rpl_semi_sync_master_enabled = 0'
}

# Of five one is early enough for a second look, if there is any.
late_one_arrives() {
	for _ in 1 2 3 4 5; do
		late_insert "$1"
		arrives_now && return 0
		everybody
	done
	return 1
}

# Connector/C cannot ask MySQL by GTID: it needs another right for the position.
options=() rights='REPLICATION SLAVE'
if [ "$KIND" = mysql ]; then
	options=(gtid_mode=ON enforce_gtid_consistency=ON)
	grep -q 'libmariadb\.so' "$OUTBOX_MASTER" &&
	    rights='REPLICATION SLAVE, REPLICATION CLIENT'
fi
start_servers "${options[@]}"
sql "GRANT $rights ON *.* TO 'outbox'@'localhost'"
sql 'CREATE TABLE other (a INT PRIMARY KEY AUTO_INCREMENT, b VARCHAR(20))'

# Without it.
LEVEL=debug write_conf
start_master --interval-ms $PAUSE
wait_for 10 all_ready
no_listener
ok $? 'no listener without wake.binlog'
# A worker that starts late looks once more, when its connections have come.
waits() {
	for _ in 1 2 3; do
		one
		pause 2000
		is_drained || return 0
	done
	return 1
}
check 'and a row waits for the next look' waits

# With it, from a reload on.
LEVEL=debug with_listener
kill -HUP "$MASTER"
wait_for 10 has_begun 0
ok $? 'a reload starts it'
drains 5 'what was committed before is found'
wait_for 10 has_line "$LOG" 'reload: all workers are of generation'
wait_for 10 all_ready
count_rings
one
arrives
ok $? 'a commit wakes whom it concerns'
for format in ROW MIXED STATEMENT; do
	insert "'p03'" "SET SESSION binlog_format = $format"
	arrives
	ok $? "also with binlog_format = $format"
done
for format in ROW MIXED; do
	[ "$KIND" = mariadb ] || break
	late_one_arrives $format
	ok $? "and if it can be read only after its ring: $format"
done
rings_match 'each commit is rung for once, no claim and no settle'

insert NULL			# nobody holds that partition yet, nobody is woken
wait_for 20 is_drained
no_label() { insert NULL && arrives_now; }
no_label || no_label
ok $? 'also without a label'

count_rings
produce --events 900 --keys 50 --payload 50 --per-txn 300
COMMITS=3
arrives
ok $? 'large transactions'
rings_match 'are rung for once'

# Other tables.  The row after them shows that they have been read.
count_rings
sql 'INSERT INTO other (b) SELECT seq FROM (WITH RECURSIVE n (seq) AS
    (SELECT 1 UNION ALL SELECT seq + 1 FROM n WHERE seq < 900)
    SELECT seq FROM n) AS t; UPDATE other SET b = a + 1; DELETE FROM other'
one
arrives
rings_match 'nobody is woken for other tables'

# The listener is killed.
old=$(listener)
n=$(begun)
kill -KILL "$old"
wait_for 5 has_begun "$n"
ok $? 'a killed listener is replaced'
one
arrives
ok $? 'and rings'

# The server goes and comes back.
n=$(begun)
"$SANDBOX" restart "$DIR/db" > /dev/null
wait_for 20 has_begun "$n"
ok $? 'it comes back with the server'
wait_for 10 all_owned
one
arrives
ok $? 'and rings'
like "$(listener)" "^[0-9]+$" 'it is the same process'
sql 'SELECT 1' > /dev/null

# Reload without, and with it again.
LEVEL=debug write_conf
kill -HUP "$MASTER"
wait_for 5 no_listener
ok $? 'a reload ends it'
n=$(begun)
LEVEL=debug with_listener
kill -HUP "$MASTER"
wait_for 10 has_begun "$n"
pid=$(listener)
start=$(now_ms)
stops 'the master stops'
is_gone "$pid"
ok $? 'and the listener with it'
[ $(($(now_ms) - start)) -lt 5000 ]
ok $? 'in time'

# The master is killed.
n=$(begun)
start_master --interval-ms $PAUSE
wait_for 10 has_begun "$n"
pid=$(listener)
kill -KILL "$MASTER"
wait_for 2 is_gone "$pid"
ok $? 'a killed master takes it along'
wait "$MASTER" 2>/dev/null

# Its log is rotated.
LOG=$DIR/target
LEVEL=debug with_listener
sed -i "s|^log: .*|log: {level: debug, target: $LOG}|" "$CONF"
: > "$LOG"
start_master --interval-ms $PAUSE
wait_for 10 has_begun 0
mv "$LOG" "$LOG.1"
kill -USR1 "$MASTER"
wait_for 5 [ -e "$LOG" ]
rings_there() { one && has_line "$LOG" 'listener.*woke workers for'; }
wait_for 5 rings_there
ok $? 'it writes to a new log when it is told'
is "$(cat "$LOG.1" "$LOG" | grep -c ' warn listener')" 0 'and does not lose its stream by that'
stop_master "$MASTER"

# Each commit wakes, and few looks are in vain: of messages that come one by one
# each has one look, of many those of 20 ms have one together.
LOG=$DIR/log1
WORKERS=1 LEVEL=debug with_listener
start_master
wait_for 10 has_begun 0 && wait_for 10 all_owned
logged() { sql "SELECT COUNT(*) FROM mysql.general_log
    WHERE argument LIKE '$1'"; }
count_looks() { # OPTIONS of produce
	sql "TRUNCATE mysql.general_log;
	    SET GLOBAL log_output = 'TABLE', general_log = 1"
	produce --producers 1 --keys 10 --payload 50 "$@"
	wait_for 10 is_drained
	sql 'SET GLOBAL general_log = 0'
	batches=$(logged '%SET published_at = NOW(6), claim_token = NULL%')
	looks=$(($(logged '%published_at IS NULL LIMIT %') + $(logged '%UNION ALL (SELECT 1%')))
}
count_looks --events 400 --rate 400
[ "$looks" -le $((batches * 3 / 2 + 10)) ]
ok $? "few looks are in vain ($looks looks, $batches batches)"
is_short || {
	count_looks --producers 4 --events 6000 --rate 3000
	[ "$looks" -le $((batches * 3 / 2 + 10)) ]
	ok $? "nor at thousands of commits ($looks looks, $batches batches)"
}
count_looks --events 8 --rate 4
# The listener may hear of a commit before its row can be read.
[ "$looks" -le $((2 * batches + 4)) ]
ok $? "none after a single message ($looks looks, $batches batches)"
stop_master "$MASTER"

# Not allowed.
sql "REVOKE REPLICATION SLAVE ON *.* FROM 'outbox'@'localhost'"
LOG=$DIR/log2
LEVEL=debug IDLE=100 with_listener
start_master
wait_for 10 has_line "$LOG" 'wake.binlog: .*REPLICATION SLAVE'
ok $? 'without the right it says which'
wait_for 10 all_owned
produce --events 100 --keys 10 --payload 50
drains 10 'and workers look by themselves'
is "$(grep -c 'wake.binlog' "$LOG")" 1 'it is said once'
like "$(listener)" "^[0-9]+$" 'and the process stays'
check_stream 'nothing lost, nothing twice, in order' --wait 10
stop_master "$MASTER"

# Two listeners on one server, and it is frozen and comes back.
sql "GRANT REPLICATION SLAVE ON *.* TO 'outbox'@'localhost'"
LOG=$DIR/log3
LEVEL=debug with_listener
start_master --interval-ms $PAUSE
FIRST=$MASTER
PIDFILE=$DIR/run/other.pid LEVEL=debug with_listener "$DIR/other.yml"
CONF=$DIR/other.yml LOG=$DIR/log4 start_master --interval-ms $PAUSE
SECOND=$MASTER
shared() { [ "$(sql 'SELECT COUNT(DISTINCT lease_owner)
    FROM outbox_partitions')" -eq 4 ]; }
LOG=$DIR/log3
wait_for 10 has_begun 0 && LOG=$DIR/log4 wait_for 10 has_begun 0 &&
    wait_for 10 shared
ok $? 'two listeners on one server'
count_rings
OTHERS=$(LOG=$DIR/log4 rung)
everybody || everybody
ok $? 'each wakes its workers'
rung_by_both() { echo $(($(rung) + $(LOG=$DIR/log4 rung) - RUNG - OTHERS)); }
both_rang() { [ "$(rung_by_both)" -ge "$COMMITS" ]; }
# Fewer, if partitions were still on the move.
wait_for 3 both_rang
[ "$(rung_by_both)" -le "$COMMITS" ]
ok $? "and counts no commits of the other host ($(rung_by_both), $COMMITS)"
server=$(cat "$(. "$DIR/db/env" && echo "$PIDFILE")")
n=$(begun)
kill -STOP "$server"
wait_for 20 has_line "$LOG" 'listener.* binlog: .*\(2013\)'
ok $? 'a server that has become silent is noticed'
kill -CONT "$server"
wait_for 10 has_begun "$n"
ok $? 'and followed again when it speaks'
stop_master "$FIRST"
stop_master "$SECOND"

# Several hosts: it goes where the workers go.
key=''
if [ "$KIND" = mysql ]; then	# both have one key, for logins by TCP
	key=", server_public_key: $DIR/db/data/public_key.pem"
	for half in public private; do
		options+=("caching_sha2_password_${half}_key_path=$DIR/db/data/${half}_key.pem")
	done
fi
"$SANDBOX" start "$KIND" "$DIR/db2" "${options[@]}" > /dev/null
sql2() { "$SANDBOX" sql "$DIR/db2" -N "$@"; }
sql2 -e 'CREATE DATABASE app'
sql2 app < "$srcdir/sql/schema.sql"
sql2 -e "CREATE USER 'outbox_producer'@'localhost'"
for db in db db2; do
	"$SANDBOX" sql "$DIR/$db" app -e "
	    CREATE USER 'outbox'@'127.0.0.1' IDENTIFIED BY '$OUTBOX_PW';
	    GRANT $rights ON *.* TO 'outbox'@'127.0.0.1'"
	sed "s/'outbox'@'localhost'/'outbox'@'127.0.0.1'/" \
	    "$srcdir/sql/grants.sql" | "$SANDBOX" sql "$DIR/$db" app
done
PORT2=$(. "$DIR/db2/env" && echo "$PORT")
LOG=$DIR/log5
LEVEL=debug LEASE_TTL=3 LEASE_RENEW=1 HEARTBEAT_TTL=3 with_listener
sed -i "s|socket: \"[^\"]*\"|hosts: [127.0.0.1:$DB_PORT, 127.0.0.1:$PORT2]$key|" \
    "$CONF"
start_master --interval-ms $PAUSE
wait_for 10 has_begun 0 && wait_for 10 all_owned
sql 'SET GLOBAL read_only = 1'
wait_for 20 has_line "$LOG" ":$DB_PORT is no longer the server"
ok $? 'a server that becomes read-only is left'
wait_for 10 has_begun 1
ok $? 'for the next one'
owned2() { [ "$(sql2 app -e 'SELECT COUNT(*) FROM outbox_partitions
    WHERE lease_until > NOW(6)')" -eq 16 ]; }
wait_for 20 owned2
count_rings
sql2 app -e "INSERT INTO outbox (global_sequence, partition_key)
    VALUES (1, 'p00')"
wait_for 3 has_rung $((RUNG + 1))
ok $? 'and followed there'
stop_master "$MASTER"
done_testing
