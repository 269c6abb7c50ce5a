#!/usr/bin/env bash
# worker.linger_ms: rows are collected; run_keys.sh has how long they wait
. "${srcdir:-$(dirname "$0")/../..}/tests/lib/lib.sh"

start_servers

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
