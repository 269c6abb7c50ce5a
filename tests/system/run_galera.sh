#!/usr/bin/env bash
# Two Galera nodes in the list of hosts: the one in use is killed, the other has
# lost the majority and refuses until it is told to go on; then a node leaves in
# order; then keys hop from node to node below two hosts.  Nothing is lost,
# doubled or out of order
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

# Keys hop: each of their transactions is on the other node than the one before,
# in a session that waits for what was committed there.  (Without, a node draws
# numbers below those: outbox-clusters(7).)  Each of two hosts uses another node.
KEYS=(hop-1 hop-2 hop-3 hop-4)
HOPS=200
EVENTS=3			# of a transaction
hop_session() { client "$1" -N --force --unbuffered --delimiter=// \
    --init-command='SET SESSION wsrep_sync_wait = 7' app 2>> "$DIR/hop.err"; }

# hop_once KEY N: its N-th transaction; what certification ended is not there
hop_once() {
	local to=$((3 + $2 % 2 * 2)) n=0 there
	{
		echo 'BEGIN NOT ATOMIC START TRANSACTION;'
		for ((n = 1; n <= EVENTS; n++)); do
			echo "CALL outbox_enqueue('$1', $(($2 * EVENTS + n)),
			    'hop', 1, NULL, NULL, 'x');"
		done
		echo "COMMIT; END // SELECT COUNT(*) FROM events WHERE
		    stream_id = '$1' AND stream_sequence > $(($2 * EVENTS)) //"
	} >&"$to"
	read -rt 20 -u $((to + 1)) there && [ "$there" = "$EVENTS" ]
}

# hop KEY: all of its transactions; in the background
hop() {
	local i
	mkfifo "$DIR/$1.db" "$DIR/$1.db2"
	exec 3> >(hop_session "$DIR/db" > "$DIR/$1.db") 4< "$DIR/$1.db" \
	    5> >(hop_session "$DIR/db2" > "$DIR/$1.db2") 6< "$DIR/$1.db2"
	for ((i = 0; i < HOPS; i++)); do
		hop_once "$1" "$i" || wait_for 20 hop_once "$1" "$i" || exit 1
	done
}

"$SANDBOX" restart "$DIR/db" > /dev/null
within 30 'the node joins again' has_both
sed "s|hosts: \[[^]]*\]|hosts: [$(replica_hosts)]|
    s|$DIR/run/|$DIR/run2/|" "$CONF" > "$DIR/second.yml"
name=()
[ "$(id -u)" -ne 0 ] || name=(unshare --uts
    sh -c 'hostname second && exec "$@"' -)
"${name[@]}" "$OUTBOX_MASTER" -c "$DIR/second.yml" --silent >> "$DIR/out" \
    2>> "$DIR/second.log" < /dev/null &
SECOND=$!
MASTERS+=("$SECOND")
within 20 'two hosts have two workers each' is_sql \
    'SELECT COUNT(DISTINCT lease_owner) FROM outbox_partitions' 4
check 'one on the first node' is_in_use "$DIR/db"
check 'one on the second' is_in_use "$DIR/db2"
pids=()
for key in "${KEYS[@]}"; do
	hop "$key" &
	pids+=($!)
done
for pid in "${pids[@]}"; do
	wait "$pid"
	is $? 0 'a key hops from node to node'
done
within 60 'all of them are sent' is_sql \
    'SELECT COUNT(published_at) FROM outbox' \
    $((13500 + ${#KEYS[@]} * HOPS * EVENTS))
rows_are 0 "events AS a JOIN events AS b USING (stream_id)
    WHERE a.event_type = 'hop' AND b.stream_sequence = a.stream_sequence + 1
    AND b.sequence < a.sequence" 'sequences are in the order of commits'
check_stream 'the stream is complete and in order, nothing twice' --wait 10
stops 'the first stops'
stop_master "$SECOND"
is $? 0 'the second stops'
done_testing
