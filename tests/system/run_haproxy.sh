#!/usr/bin/env bash
# HAProxy with the configuration and the check of outbox-clusters(7) in front of
# a primary and its replica: the daemon knows the proxy alone, and follows a
# planned switchover and the loss of the primary
. "${srcdir:-$(dirname "$0")/../..}/tests/lib/lib.sh"
. "$srcdir/tests/lib/manual.sh"
. "$srcdir/tests/lib/replica.sh"

is_short && skip_all 'a long test'
[ "$KIND" = mariadb ] || skip_all 'the check of the manual is for MariaDB'
haproxy=$(PATH=$PATH:/usr/sbin command -v haproxy) || skip_all 'no haproxy'
page=$srcdir/man/outbox-clusters.7

start_servers "${REPLICA_LINES[@]}"
sql "CREATE USER 'check'@'127.0.0.1' IDENTIFIED BY 'check-secret'"
replica_start

# The manual's files, with our ports in place of its hosts.
is_used() { (exec 3<> "/dev/tcp/127.0.0.1/$1") 2> /dev/null; }
PROXY_PORT=$(free_port)
printf '[client]\nuser=check\npassword=check-secret\n' > "$DIR/check.cnf"
manual_block "$page" '^#!/bin/sh' | sed "s,/etc/haproxy,$DIR," > "$DIR/is-writable"
chmod +x "$DIR/is-writable"
manual_block "$page" '^listen mysql-writer' | sed "s,/etc/haproxy,$DIR,
    s,127\.0\.0\.1:3307,127.0.0.1:$PROXY_PORT,
    s,db1\.example\.org:3306,127.0.0.1:$(replica_port "$DIR/db"),
    s,db2\.example\.org:3306,127.0.0.1:$(replica_port "$DIR/db2"),
    /db3/d" > "$DIR/haproxy.cfg"
is_writable() {
	"$DIR/is-writable" - - 127.0.0.1 "$(replica_port "$1")"
}
check 'the check lets the primary pass' is_writable "$DIR/db"
check 'and not the replica' not is_writable "$DIR/db2"
"$haproxy" -f "$DIR/haproxy.cfg" -db > "$DIR/haproxy.log" 2>&1 &
MASTERS+=($!)
within 5 'HAProxy listens' is_used "$PROXY_PORT"

# The daemon uses the node whose clients it is among.
is_in_use() { [ "$("$SANDBOX" sql "$1" -N -e "SELECT COUNT(*) > 0 FROM
    information_schema.processlist WHERE user = 'outbox'")" = 1 ]; }
BATCH=20 LEASE_TTL=3 LEASE_RENEW=1 HEARTBEAT_TTL=3 CLAIM_TTL=6 \
    TIMEOUT_MS=1000 write_conf
sed -i "s|socket: \"[^\"]*\"|hosts: [\"127.0.0.1:$PROXY_PORT\"]|" "$CONF"
start_fleet
ok $? 'the daemon works through it'
produce --events 1000 --keys 50
drains 30 'events are sent'

# Planned: read-only first, then the replica has all, then it is opened.
produce --events 3000 --keys 50 --bulk
wait_for 20 has_published 1200
sql 'SET GLOBAL read_only = 1'
check 'the replica has all' replica_wait
replica_sql 'STOP SLAVE; RESET SLAVE ALL; SET GLOBAL read_only = 0'
replica_swap
drains 30 'a switchover: the rest is sent from the new primary'
check 'the daemon uses it' is_in_use "$DIR/db2"
within 5 'and no longer the former one' not is_in_use "$DIR/db"
produce --events 500 --keys 50
drains 20 'new events are sent, too'

# The former primary becomes the replica; then the present one is lost.
check 'the former primary follows' replica_again
produce --events 3000 --keys 50 --bulk
wait_for 20 has_published 5000
check 'the replica has all again' replica_wait
check 'it takes over from one that is killed' replica_promote
drains 60 'the rest is sent'
check 'the daemon uses it again' is_in_use "$DIR/db"
check_stream 'the stream is complete and in order, nothing twice' --wait 10
stops 'it stops'
done_testing
