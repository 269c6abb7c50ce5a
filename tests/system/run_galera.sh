#!/usr/bin/env bash
# Two Galera nodes in the list of hosts: the one in use is killed, the other has
# lost the majority and refuses until it is told to go on; then a node leaves in
# order.  Nothing is lost, doubled or out of order
. "${srcdir:-$(dirname "$0")/../..}/tests/lib/lib.sh"
. "$srcdir/tests/lib/replica.sh"

is_short && skip_all 'a long test'
[ "$KIND" = mariadb ] || skip_all 'MariaDB alone has Galera'
PROVIDER=${OUTBOX_GALERA:-/usr/lib/galera/libgalera_smm.so}
[ -e "$PROVIDER" ] || skip_all "no $PROVIDER (package galera-4)"

# A node joins with a copy of the other's files and gets what it lacks from that
# one's memory.  This script stands for those that would copy all files.
mkdir "$DIR/bin"
cat > "$DIR/bin/wsrep_sst_copied" <<'EOF2'
#!/bin/bash
while [ $# -gt 0 ]; do
	case $1 in
	--role) role=$2 ;;
	--address) address=$2 ;;
	--datadir) datadir=$2 ;;
	--gtid) gtid=$2 ;;
	--parent) parent=$2 ;;
	--bypass) bypass=yes ;;
	esac
	shift
done
if [ "$role" = joiner ]; then
	file=$(realpath "$datadir/..")/sst
	rm -f "$file"
	echo "ready 127.0.0.1:1$file"
	until [ -s "$file" ]; do
		[ -e "/proc/$parent" ] || exit 1
		sleep 0.05
	done
	cat "$file"
else
	[ -n "$bypass" ] || exit 1
	file=/${address#*/}
	echo "$gtid" > "$file.new"
	mv "$file.new" "$file"
	echo "done $gtid"
fi
EOF2
chmod +x "$DIR/bin/wsrep_sst_copied"
PATH=$DIR/bin:$PATH

is_used() { (exec 3<> "/dev/tcp/127.0.0.1/$1") 2> /dev/null; }
ports=()
while [ ${#ports[@]} -lt 4 ]; do
	port=$((20000 + RANDOM % 12000))
	is_used "$port" || [[ " ${ports[*]} " == *" $port "* ]] ||
	    ports+=("$port")
done

# node N PEER: the lines for my.cnf of node 0 or 1; the time-outs are short
node() {
	local own=127.0.0.1:${ports[$1]} state=127.0.0.1:${ports[$1 + 2]}
	put_line() { printf '%s\n' "$@"; }
	put_line innodb_autoinc_lock_mode=2 log_slave_updates=1 wsrep_on=ON \
	    "wsrep_provider=$PROVIDER" wsrep_cluster_name=outbox \
	    "wsrep_cluster_address=gcomm://$2" "wsrep_node_address=$own" \
	    wsrep_sst_method=copied "wsrep_provider_options=$(printf '%s;' \
	    "gmcast.listen_addr=tcp://$own" "ist.recv_addr=$state" \
	    "ist.recv_bind=$state" gcache.size=64M gmcast.peer_timeout=PT2S \
	    evs.keepalive_period=PT0.5S evs.inactive_check_period=PT0.5S \
	    evs.suspect_timeout=PT2S evs.inactive_timeout=PT4S)"
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

mapfile -t lines < <(node 0 '')
start_servers "${lines[@]}"
replica_accounts
"$SANDBOX" stop "$DIR/db"
mkdir "$DIR/db2"
cp -a "$DIR/db/data" "$DIR/db2/data"
rm -f "$DIR/db2/data/galera.cache"
"$SANDBOX" restart "$DIR/db"
mapfile -t lines < <(node 1 "127.0.0.1:${ports[0]}")
"$SANDBOX" start mariadb "$DIR/db2" "${lines[@]}" > /dev/null
within 30 'two nodes are a cluster' has_both

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
within 20 'the other node lost the majority' is_wsrep "$DIR/db" ready OFF
within 20 'the log says that no node is ready' \
    has_line "$LOG" 'wsrep_ready is not ON'
pause 1000
"$SANDBOX" sql "$DIR/db" \
    -e "SET GLOBAL wsrep_provider_options = 'pc.bootstrap=YES'"
within 10 'an administrator makes it go on' is_wsrep "$DIR/db" ready ON
drains 60 'the rest is sent from the other node'
check_stream 'the stream is complete and in order, nothing twice' --wait 10

# The killed node joins again, from where its files are.
mariadbd --defaults-file="$DIR/db2/my.cnf" --wsrep-recover \
    --disable-log-error > /dev/null 2> "$DIR/recover"
position=$(sed -n 's/.*Recovered position: *//p' "$DIR/recover" | tail -n 1)
"$SANDBOX" start mariadb "$DIR/db2" "${lines[@]}" \
    "wsrep_start_position=$position" > /dev/null
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
done_testing
