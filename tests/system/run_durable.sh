#!/usr/bin/env bash
# No message is sent before the commit of its event is durable.  A row can be
# read with AFTER_COMMIT while its producer still waits for a replica; if the
# primary dies then, the event is lost, and its message must not be in the
# stream.  Where rows that can be read are durable, claims are pipelined.
. "${srcdir:-$(dirname "$0")/../..}/tests/lib/lib.sh"

RIGHTS='REPLICATION SLAVE' EVENTS=0
if [ "$KIND" = mysql ]; then
	tree=${OUTBOX_MYSQL_TREE:-}
	[ -n "$(ls "$tree"/root/usr/lib/mysql/plugin/semisync_source.so \
	    2> /dev/null)" ] || skip_all 'no plugin for semi-sync'
	SOURCE=rpl_semi_sync_source
	SOURCE_HAS="INSTALL PLUGIN rpl_semi_sync_source
	    SONAME 'semisync_source.so'"
	REPLICA_HAS="INSTALL PLUGIN rpl_semi_sync_replica
	    SONAME 'semisync_replica.so';
	    SET GLOBAL rpl_semi_sync_replica_enabled = 1"
	FOLLOW="CHANGE REPLICATION SOURCE TO SOURCE_HOST = '127.0.0.1',
	    SOURCE_PORT = %s, SOURCE_USER = 'replica',
	    SOURCE_PASSWORD = 'replica', SOURCE_AUTO_POSITION = 1,
	    GET_SOURCE_PUBLIC_KEY = 1; START REPLICA"
	grep -q 'libmariadb\.so' "$OUTBOX_MASTER" &&
	    RIGHTS="$RIGHTS, REPLICATION CLIENT"
else
	SOURCE=rpl_semi_sync_master
	SOURCE_HAS='DO 0'
	REPLICA_HAS='SET GLOBAL rpl_semi_sync_slave_enabled = 1'
	FOLLOW="CHANGE MASTER TO master_host = '127.0.0.1', master_port = %s,
	    master_user = 'replica', master_password = 'replica',
	    master_use_gtid = slave_pos; START SLAVE"
fi

# start_replica: it follows, and is waited for where semi-sync is on
replicas() { sql "SHOW STATUS LIKE '${SOURCE}_clients'" | cut -f 2; }
has_replica() { [ "$(replicas)" -eq 1 ]; }
start_replica() {
	"$SANDBOX" start "$KIND" "$DIR/replica" > /dev/null || return 1
	REPLICA=$(cat "$(. "$DIR/replica/env" && echo "$PIDFILE")")
	# shellcheck disable=SC2059
	"$SANDBOX" sql "$DIR/replica" -e \
	    "$REPLICA_HAS; $(printf "$FOLLOW" "$DB_PORT")"
	wait_for 20 has_replica
}
semi_sync() {	# WAIT_POINT, or nothing to switch it off
	sql "SET GLOBAL ${SOURCE}_enabled = 0"
	[ -z "$1" ] || sql "SET GLOBAL ${SOURCE}_wait_point = $1;
	    SET GLOBAL ${SOURCE}_timeout = 600000;
	    SET GLOBAL ${SOURCE}_enabled = 1"
}
# A stopped replica confirms nothing.
hold_replica() { kill -STOP "$REPLICA"; }
release_replica() { kill -CONT "$REPLICA"; }
trap 'kill -CONT ${REPLICA:-} 2> /dev/null; cleanup' EXIT

# On MySQL one waits for the replica, and others in line behind it.
waits_for_replica() { [ "$(sql "SELECT COUNT(*) FROM
    information_schema.processlist WHERE user = '$1' AND
    (state LIKE '%semi-sync%' OR state = 'waiting for handler commit')")" \
    -ge 1 ]; }

event() {
	produce --events 1 --keys 1 --payload 100 --key-prefix "d$EVENTS-"
	EVENTS=$((EVENTS + 1))
}
goes_early() { event; all_marked; }
said() { grep -c "info worker.*: claims are $1pipelined" "$LOG" || :; }
says() { [ "$(said "$1")" -ge "$2" ]; }
asks_until() { event; says "$@"; }
drain() { wait_for 10 is_drained && wait_for 25 has_renewed; }

# The listener may have woken the worker before the row could be read.
arrives() { is_drained || { event && is_drained; }; }

# produce_unconfirmed NAME: a producer commits, which wakes the worker
produce_unconfirmed() {
	BEFORE=$(stored)
	hold_replica
	event &
	PRODUCER=$!
	EVENTS=$((EVENTS + 1))
	within 20 "$1: the producer waits for a replica" \
	    waits_for_replica outbox_producer
}
arrives_when_released() {
	release_replica
	wait "$PRODUCER"
	is $? 0 "$1: the producer's commit returns"
	within 10 "$1: the message is sent" arrives
}

# The replica has the row, but not its claim.
claim_unconfirmed() {
	drain
	BEFORE=$(stored)
	kill -STOP "$(worker_pid)"
	event
	hold_replica
	kill -CONT "$(worker_pid)"
	wait_for 5 waits_for_replica outbox
}
# A look that goes everywhere reads no messages ahead, and MySQL rings so soon
# that there are some: of three one is early, if any is.
one_of_three_goes_early() {
	for _ in 1 2 3; do
		claim_unconfirmed && wait_for 2 is_stored $((BEFORE + 1)) &&
		    return 0
		release_replica
	done
	return 1
}

start_servers
sql "GRANT $RIGHTS ON *.* TO 'outbox'@'localhost';
    CREATE USER 'replica'@'127.0.0.1' IDENTIFIED BY 'replica';
    GRANT REPLICATION SLAVE ON *.* TO 'replica'@'127.0.0.1'"
sql "$SOURCE_HAS"
semi_sync ''
start_replica || { echo 'Bail out! no replica'; exit 1; }
WORKERS=1 PARTITIONS=4 LEASE_RENEW=20 LEASE_TTL=50 HEARTBEAT_TTL=50 \
    CLAIM_TTL=50 WAKE='binlog: true' write_conf
start_master --interval-ms 600000
wait_for 20 all_owned && wait_for 20 has_listener

# Semi-sync off.
within 30 'no semi-sync: messages are sent while their claim commits' goes_early
is "$(said '.*')" 0 'no semi-sync: the log says nothing about it'

# The variable is read when the daemon connects.
connect_anew() {
	local id
	for id in $(sql "SELECT id FROM information_schema.processlist
	    WHERE user = 'outbox' AND command = 'Sleep'"); do
		sql "KILL $id"
	done
}
semi_sync AFTER_COMMIT
connect_anew
within 10 'a new connection notices AFTER_COMMIT' asks_until 'not ' 1
like "$(cat "$LOG")" \
    "${SOURCE}_wait_point is not AFTER_SYNC" 'the log names the variable'
drain
produce_unconfirmed AFTER_COMMIT
rows_are 1 'outbox JOIN events
    ON sequence = global_sequence WHERE published_at IS NULL' \
    'AFTER_COMMIT: the row can be read before its commit returns'
within 5 'AFTER_COMMIT: the claim waits for a replica as well' \
    waits_for_replica outbox
wait_for 2 is_stored $((BEFORE + 1))
is $? 1 'AFTER_COMMIT: nothing is sent that no replica has'
arrives_when_released AFTER_COMMIT
check 'AFTER_COMMIT: a claim waits for a replica' claim_unconfirmed
wait_for 2 is_stored $((BEFORE + 1))
is $? 1 'AFTER_COMMIT: nothing is sent before its claim is confirmed'
release_replica
within 10 'AFTER_COMMIT: it is sent when the claim is confirmed' \
    is_stored $((BEFORE + 1))

# Without a new connection, after half a minute; in the short form only when it
# changes back.
semi_sync AFTER_SYNC
! is_short || connect_anew
within 60 'the daemon notices a change of the variable' asks_until '' 1
within 30 'AFTER_SYNC: messages are sent while their claim commits' goes_early
check 'AFTER_SYNC: a message is sent before its claim is confirmed' \
    one_of_three_goes_early
release_replica
drain
produce_unconfirmed AFTER_SYNC
rows_are 0 'outbox WHERE published_at IS NULL' \
    'AFTER_SYNC: the row cannot be read before its commit returns'
wait_for 2 is_stored $((BEFORE + 1))
is $? 1 'AFTER_SYNC: nothing is sent that no replica has'
arrives_when_released AFTER_SYNC

semi_sync AFTER_COMMIT
within 60 'the daemon notices a change back' asks_until 'not ' 2
drain
produce_unconfirmed 'AFTER_COMMIT again'
wait_for 2 is_stored $((BEFORE + 1))
is $? 1 'AFTER_COMMIT again: nothing is sent that no replica has'
arrives_when_released 'AFTER_COMMIT again'
check_stream 'the stream is complete and in order, nothing twice' --wait 10
is "$(said '.*')" 3 'each change is logged once'
done_testing
