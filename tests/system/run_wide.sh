#!/usr/bin/env bash
# 1,024 partitions and 32 workers: all of them are served, evenly
. "${srcdir:-$(dirname "$0")/../..}/tests/lib/lib.sh"

start_servers innodb_flush_log_at_trx_commit=0 sync_binlog=0 \
    max_connections=100 ${MEASURE:+performance_schema=ON}
sql 'UPDATE outbox_settings SET partition_count = 1024'
WORKERS=32 PARTITIONS=1024 IDLE=1000 write_conf
start_master
within 30 'each partition has an owner' all_owned
is_even() { is_sql 'SELECT COUNT(*), MIN(n), MAX(n) FROM (SELECT COUNT(*) AS n
    FROM outbox_partitions GROUP BY lease_owner) AS owners' $'32\t32\t32'; }
within 30 'each worker owns 32 partitions' is_even

# With MEASURE set: the cost of the statements, in ms.  Those of leases come by
# time and not by message, so their part is measured under load.
measure() {
	sql "SELECT CONCAT('# ', ROUND(SUM_TIMER_WAIT / 1e9), ' ms, ',
	    COUNT_STAR, ' times: ', LEFT(DIGEST_TEXT, 70))
	    FROM performance_schema.events_statements_summary_by_digest
	    WHERE DIGEST_TEXT LIKE '%outbox%' ORDER BY SUM_TIMER_WAIT DESC"
}
[ -z "${MEASURE:-}" ] ||
    sql 'TRUNCATE performance_schema.events_statements_summary_by_digest'
N=20000
! is_short || N=5000
produce --events "${EVENTS:-$N}" --keys 4000 --payload 200 --producers 4 --bulk
drains 60 'all messages are sent'
[ -z "${MEASURE:-}" ] || measure
check_stream 'the stream is complete and in order, nothing twice' --wait 10

# A worker stops: others take its partitions, and the next one gets a share.
victim=$(worker_pids "$MASTER" | head -1)
id=$(id_of "$victim")
sql "CREATE TABLE held AS SELECT partition_key FROM outbox_partitions
    WHERE lease_owner = '$id'"
is_succeeded() { is_sql "SELECT COUNT(*) FROM outbox_partitions
    JOIN held USING (partition_key)
    WHERE lease_owner IS NULL OR lease_owner = '$id'" 0; }
kill -TERM "$victim"
wait_for 5 is_gone "$victim"
left=$(now_ms)
within 10 'the partitions of a worker that stopped have new owners' is_succeeded
say "after $(($(now_ms) - left)) ms"
within 20 'each worker owns 32 partitions again' is_even
stops 'the master stops with status 0'
done_testing
