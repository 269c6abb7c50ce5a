#!/usr/bin/env bash
# Two Galera nodes in the list of hosts: the one in use is killed, the other has
# lost the majority and refuses until it is told to go on; then a node leaves in
# order.  Nothing is lost, doubled or out of order
. "${srcdir:-$(dirname "$0")/../..}/tests/lib/lib.sh"
. "$srcdir/tests/lib/replica.sh"

is_short && skip_all 'a long test'
[ "$KIND" = mariadb ] || skip_all 'MariaDB alone has Galera'

# Two nodes, of which the first one is the server of other tests.
start_own_servers() {
	local rc
	"$SANDBOX" cluster galera "$DIR" 2 > /dev/null
	rc=$?
	[ "$rc" -ne 77 ] || skip_all 'no galera-4'
	ln -s n1 "$DIR/db" && ln -s n2 "$DIR/db2" && [ "$rc" -eq 0 ] &&
	    "$SANDBOX" start nats "$DIR/nats" > /dev/null || {
		echo 'Bail out! no cluster'
		exit 1
	}
}

# wsrep DIRECTORY NAME: a status variable of the node
wsrep() { "$SANDBOX" sql "$1" -N -e "SHOW GLOBAL STATUS LIKE 'wsrep_$2'" |
    cut -f2; }
is_wsrep() { [ "$(wsrep "$1" "$2")" = "$3" ]; }
has_both() { is_wsrep "$DIR/db" cluster_size 2 &&
    is_wsrep "$DIR/db2" local_state_comment Synced; }
# Do clients of the daemon's account use the node?
is_in_use() { [ "$("$SANDBOX" sql "$1" -N -e "SELECT COUNT(*) > 0 FROM
    information_schema.processlist WHERE user = 'outbox'")" = 1 ]; }

start_servers cluster
replica_accounts
check 'two nodes are a cluster' has_both

# The daemon uses the second node, the producers the first one.
BATCH=20 LEASE_TTL=3 LEASE_RENEW=1 HEARTBEAT_TTL=3 CLAIM_TTL=6 \
    TIMEOUT_MS=1000 write_conf
hosts=$(printf '"127.0.0.1:%s", ' "$(replica_port "$DIR/db2")" "$DB_PORT")
sed -i "s|socket: \"[^\"]*\"|hosts: [${hosts%, }]|" "$CONF"
start_fleet || {
	tail -n 20 "$LOG" | sed 's/^/# /'
	echo 'Bail out! the daemon does not work with the cluster'
	exit 1
}
check 'the daemon uses the node that the list has first' is_in_use "$DIR/db2"
check 'and that one alone' not is_in_use "$DIR/db"
check 'producers use the other one' produce --events 1000 --keys 50
drains 30 'their events are sent'

produce --events 6000 --keys 50 --bulk
wait_for 20 has_published 1500
"$SANDBOX" kill "$DIR/db2" > /dev/null
check 'rows wait when the node is killed' not is_drained
within 30 'the other node lost the majority' is_wsrep "$DIR/db" ready OFF
within 20 'the log says that no node is ready' \
    has_line "$LOG" 'wsrep_ready is not ON'
pause 1000
"$SANDBOX" sql "$DIR/db" \
    -e "SET GLOBAL wsrep_provider_options = 'pc.bootstrap=YES'"
within 10 'an administrator makes it go on' is_wsrep "$DIR/db" ready ON
drains 60 'the rest is sent from the other node'
check_stream 'the stream is complete and in order, nothing twice' --wait 10

"$SANDBOX" restart "$DIR/db2" > /dev/null
within 30 'the killed node joins again' has_both

# Maintenance: the node in use leaves in order, under load.
produce --events 6000 --keys 50 --bulk
wait_for 20 has_published 7500
check 'rows wait when the node in use leaves' not is_drained
"$SANDBOX" stop "$DIR/db"
PRIMARY=$DIR/db2
SOCKET=$(. "$PRIMARY/env" && echo "$SOCKET")
produce --events 500 --keys 50
drains 60 'the node that is left sends the rest, with nobody told'
check 'and is the one in use' is_in_use "$DIR/db2"
rows_are 13500 'outbox WHERE published_at IS NOT NULL' 'all of it'
check_stream 'the stream is complete and in order, nothing twice' --wait 10
stops 'it stops'
is "$(sql 'SELECT COUNT(rival), SUM(phantoms) FROM outbox_streams')" $'0\t0' \
    'no node was taken for a rival, and no message for a phantom'
done_testing
