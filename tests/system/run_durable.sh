#!/usr/bin/env bash
# No message is sent before the commit of its event is durable.  A row can be
# read with AFTER_COMMIT while its producer still waits for a replica; if the
# primary dies then, the event is lost, and its message must not be in the
# stream.  So a message is sent when its claim is committed, which a replica
# confirms after the event.
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

# holds WAIT_POINT ROWS: neither an event nor a claim that no replica has
holds() {
	semi_sync "$1"
	drain
	produce_unconfirmed "$1"
	rows_are "$2" 'outbox WHERE published_at IS NULL' \
	    "$1: rows that can be read before their commit returns"
	wait_for 2 is_stored $((BEFORE + 1))
	is $? 1 "$1: nothing is sent that no replica has"
	arrives_when_released "$1"
	check "$1: a claim waits for a replica" claim_unconfirmed
	wait_for 2 is_stored $((BEFORE + 1))
	is $? 1 "$1: nothing is sent before its claim is confirmed"
	release_replica
	within 10 "$1: it is sent when the claim is confirmed" \
	    is_stored $((BEFORE + 1))
}
holds AFTER_COMMIT 1
holds AFTER_SYNC 0
check_stream 'the stream is complete and in order, nothing twice' --wait 10
done_testing
