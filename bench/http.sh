#!/usr/bin/env bash
# http.sh - how fast a backlog goes to an HTTP server on this machine
#
# usage: bench/http.sh [ROWS [CONCURRENCY [WORKERS]]]; in the build directory
#
# The server is nginx with one process.  Prints messages per second, from the
# first row that was written back to the last.
srcdir=${srcdir:-$(dirname "$0")/..}
. "$srcdir/tests/lib/http.sh"
POOL_LINES=()		# it waits for the disk, as users do

rows=${1:-50000}
# shellcheck disable=SC2034
WORKERS=${3:-2}
PARTITIONS=64
start_servers
port=$(free_port)
start_nginx "$port" || skip_all 'no nginx'
sql "UPDATE outbox_settings SET partition_count = $PARTITIONS"
ENDPOINT=http://127.0.0.1:$port/e http_conf "concurrency: ${2:-64}"
produce --bulk --producers 4 --events "$rows" --payload 200 --keys 2000 ||
    { echo 'the backlog could not be written'; exit 1; }
start_master
wait_for 300 is_drained || { echo 'rows stay'; tail "$LOG"; exit 1; }
sql "SELECT CONCAT(COUNT(*), ' messages, ', ROUND(COUNT(*) / TIMESTAMPDIFF(
    MICROSECOND, MIN(published_at), MAX(published_at)) * 1000000), ' msg/s')
    FROM outbox"
ps -o pid=,time=,args= --ppid "$MASTER" | sed 's/^/# /'
stop_master "$MASTER"
