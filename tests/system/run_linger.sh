#!/usr/bin/env bash
# worker.linger_ms: rows are collected, and nothing happens to them meanwhile
. "${srcdir:-$(dirname "$0")/../..}/tests/lib/lib.sh"

start_servers

# The longest wait for more rows, between a batch and its write-back.  It ends
# when leases are to be read, so it begins right after that.
linger_fleet() {
	WORKERS=1 LINGER=1000 IDLE=50 LEVEL=debug write_conf
	start_fleet
}
is_out() { is_sql 'SELECT COUNT(*) FROM outbox
    WHERE published_at IS NULL AND claim_token IS NOT NULL' 1; }
lingers() {
	wait_for 10 is_drained
	sql "UPDATE outbox_partitions SET lease_owner = NULL,
	    lease_until = NULL WHERE partition_key = 'p03'"
	wait_for 5 all_owned
	produce --events 1 --keys 1 --payload 50
	wait_for 5 is_out
	nap 0.1		# until it is acknowledged
}

# SIGTERM ends it; without that it would go on for 0.8 s.
is_stopped_soon() {
	local asked
	linger_fleet
	lingers
	asked=$(sql 'SELECT NOW(6)')
	stop_master "$MASTER"
	took=$(sql "SELECT TIMESTAMPDIFF(MICROSECOND, '$asked',
	    MAX(published_at)) DIV 1000 FROM outbox")
	is_drained && [ "$took" -ge 0 ] && [ "$took" -lt 400 ]
}
is_stopped_soon || is_stopped_soon || is_stopped_soon
ok $? "worker.linger_ms: at SIGTERM a batch is written back ($took ms)"

# What fails in that time shows when the batch is written back.
cut_database() {
	local id
	for id in $(sql "SELECT id FROM information_schema.processlist
	    WHERE user = 'outbox'"); do sql "KILL $id"; done
}
fill_disk() { sql "CREATE TRIGGER no_space BEFORE UPDATE ON outbox
    FOR EACH ROW SIGNAL SQLSTATE 'HY000' SET MYSQL_ERRNO = 1114"; }
kill_worker() { kill -KILL "$(worker_pid)"; }
strikes_in_wait() {
	sql 'DROP TRIGGER IF EXISTS no_space'
	lingers
	"$1"
	is_out
}
fails_in_wait() {
	strikes_in_wait "$1" || strikes_in_wait "$1" || strikes_in_wait "$1"
	ok $? "$1: while a batch waits to be written back"
	[ "$1" != fill_disk ] ||
	    within 5 "$1: it is told" has_line "$LOG" 'settle: .*\(1114\)'
	sql 'DROP TRIGGER IF EXISTS no_space'
	within 20 "$1: and then it is written back" is_drained
	[ "$1" = kill_worker ] || check "$1: and not sent again" \
	    not has_line "$LOG" 'was in the stream already'
}
linger_fleet
for what in cut_database fill_disk kill_worker; do fails_in_wait $what; done
check_stream 'the stream is complete and in order, nothing twice' --wait 10
stop_master "$MASTER"

# Leases that end after a second are renewed in time.
keeps_leases() {
	local before
	WORKERS=1 LINGER=1000 LEASE_TTL=1 LEASE_RENEW=0.3 HEARTBEAT_TTL=1 \
	    write_conf
	start_fleet
	before=$(epochs)
	produce --events 60 --keys 40 --payload 50 --rate 20
	wait_for 10 is_drained && [ "$(epochs)" = "$before" ]
	set -- $?
	stop_master "$MASTER"
	return "$1"
}
epochs() { sql 'SELECT SUM(lease_epoch) FROM outbox_partitions'; }
keeps_leases || keeps_leases || keeps_leases
ok $? 'worker.linger_ms: leases are renewed meanwhile'

# How many write-backs there are for 40 messages, one each 50 ms.
writes() {
	clear_rows
	WORKERS=1 LINGER=$1 write_conf
	start_fleet
	produce --events 40 --keys 40 --payload 50 --rate 20
	wait_for 10 is_drained
	sql 'SELECT COUNT(DISTINCT published_at) FROM outbox'
	stop_master "$MASTER"
}
few=$(writes 400)
many=$(writes 0)
is $((few <= 13 && many >= 2 * few)) 1 "worker.linger_ms: 400 collects messages, \
0 does not: $few and $many write-backs for 40 messages"
done_testing
