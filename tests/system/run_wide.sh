#!/usr/bin/env bash
# 1,024 partitions and 32 workers: all of them are served, evenly
. "${srcdir:-$(dirname "$0")/../..}/tests/lib/lib.sh"

start_servers innodb_flush_log_at_trx_commit=0 sync_binlog=0 \
    max_connections=100 ${MEASURE:+performance_schema=ON}
sql 'UPDATE outbox_settings SET partition_count = 1024'
WORKERS=32 PARTITIONS=1024 IDLE=1000 write_conf
start_master
wait_for 30 all_owned
ok $? 'every partition has an owner'
is_even() { is_sql 'SELECT COUNT(*), MIN(n), MAX(n) FROM (SELECT COUNT(*) AS n
    FROM outbox_partitions GROUP BY lease_owner) AS owners' $'32\t32\t32'; }
wait_for 30 is_even
ok $? 'and every worker as many as any other'

# With MEASURE set: what the statements cost, in ms.  Those of membership come
# by time and not by message, so their part is told of a loaded fleet.
measure() {
	sql "SELECT CONCAT('# ', ROUND(SUM_TIMER_WAIT / 1e9), ' ms, ',
	    COUNT_STAR, ' times: ', LEFT(DIGEST_TEXT, 70))
	    FROM performance_schema.events_statements_summary_by_digest
	    WHERE DIGEST_TEXT LIKE '%outbox%' ORDER BY SUM_TIMER_WAIT DESC"
}
[ -z "${MEASURE:-}" ] ||
    sql 'TRUNCATE performance_schema.events_statements_summary_by_digest'
produce --events "${EVENTS:-20000}" --keys 4000 --payload 200 --producers 4 --bulk
drains 60 'everything is delivered'
[ -z "${MEASURE:-}" ] || measure
check_stream 'complete, in order per key, nothing twice' --wait 10

# One that leaves is succeeded, and the shares are even again with the next.
victim=$(worker_pids "$MASTER" | head -1)
id=$(sql "SELECT id FROM outbox_workers WHERE pid = $victim")
sql "CREATE TABLE held AS SELECT partition_key FROM outbox_partitions
    WHERE lease_owner = '$id'"
is_succeeded() { is_sql "SELECT COUNT(*) FROM outbox_partitions
    JOIN held USING (partition_key)
    WHERE lease_owner IS NULL OR lease_owner = '$id'" 0; }
kill -TERM "$victim"
wait_for 5 is_gone "$victim"
left=$(now_ms)
wait_for 10 is_succeeded
ok $? 'what a worker leaves has new owners'
say "after $(($(now_ms) - left)) ms"
wait_for 20 is_even
ok $? 'and the shares are even again'
stops 'stops'
done_testing
