# nodes.sh - daemons on a cluster of databases or of brokers, and what happens to
# its members; sourced by bash after lib.sh
#
#	nodes_start galera|group|replicas|nats [--netns]
#					servers, schema, accounts, a stream
#	host_conf 1			$DIR/h1.yml, which knows all members
#	host_start 1			a daemon with a host name of its own
#	node_kill n1; node_freeze n1; node_thaw n1; ...
#
# $CLUSTER is the kind, $NODES are the members, in $DIR; $HOSTS and $URLS are
# the lists of clients.  sql() asks SQL_NODE, which is to be one that works.

# shellcheck shell=bash disable=SC2034,SC2154

. "$srcdir/tests/lib/cluster.sh"

nodes_start() {
	local rc
	CLUSTER=$1
	case $CLUSTER in group|mysql-replicas) KIND=mysql ;; esac
	"$SANDBOX" cluster "$CLUSTER" "$DIR" ${2:+"$2"} > "$DIR/made" 2>&1
	rc=$?
	[ "$rc" -ne 77 ] || skip_all "$(cat "$DIR/made")"
	[ "$rc" -eq 0 ] || {
		sed 's/^/# /' "$DIR/made"
		echo "Bail out! no cluster: $CLUSTER"
		exit 1
	}
	read -ra NODES <<<"$(cluster_env MEMBERS)"
	if [ "$CLUSTER" = nats ]; then
		"$SANDBOX" start mariadb "$DIR/db" > /dev/null || exit 1
		SQL_NODE=$DIR/db
		URLS=$(cluster_env URL)
		BROKERS=("${NODES[@]}")
		HOSTS=127.0.0.1:$(of_node "$DIR/db" PORT)
	else
		"$SANDBOX" start nats "$DIR/nats" > /dev/null || exit 1
		SQL_NODE=$DIR/n1
		URLS=$(of_node "$DIR/nats" URL)
		HOSTS=$(cluster_env HOSTS)
	fi
	URL=${URLS%%,*}
	nodes_schema
	wait_for 20 nodes_stream || { echo 'Bail out! no stream'; exit 1; }
}

of_node() { sed -n "s/^$2=//p" "$1/env"; }
cluster_env() { of_node "$DIR" "$1" | tr -d "'"; }

nodes_schema() {
	local sql=${OUTBOX_SQL:-$srcdir/sql}
	"$SANDBOX" sql "$SQL_NODE" -e "CREATE DATABASE app;
	    CREATE USER 'outbox'@'%' IDENTIFIED BY '$OUTBOX_PW';
	    CREATE USER 'outbox_producer'@'%' IDENTIFIED BY '$PRODUCER_PW';
	    CREATE USER 'plain'@'%' IDENTIFIED BY '$PRODUCER_PW';
	    GRANT ALL ON app.* TO 'plain'@'%'"
	"$SANDBOX" sql "$SQL_NODE" app < "$sql/schema.sql"
	sed "s/@'localhost'/@'%'/" "$sql/grants.sql" |
	    "$SANDBOX" sql "$SQL_NODE" app
}

nodes_stream() {
	local replicas=1
	[ "$CLUSTER" != nats ] || replicas=3
	"$LAB" stream --nats "$URL" --name EVENTS --subjects 'events.>' \
	    --dup-window 600 --replicas "$replicas" 2> "$DIR/made"
}

# No client may wait for a server that stands still.
sql() { timeout 10 "$SANDBOX" sql "$SQL_NODE" -N app -e "$1" 2> "$DIR/said"; }
node_sql() { timeout 10 "$SANDBOX" sql "$DIR/$1" -N -e "$2" 2> "$DIR/said"; }

# turned N LIST: the list, with commas, beginning with its N-th member
turned() {
	local list
	IFS=, read -ra list <<<"$2"
	list=("${list[@]:$1 - 1}" "${list[@]:0:$1 - 1}")
	(IFS=,; echo "${list[*]}")
}

# host_conf N [FIRST]: its lists begin with the member FIRST (1); values for
# write_conf are variables
host_conf() {
	local hosts urls key=''
	hosts=$(turned "${2:-1}" "$HOSTS")
	urls=$(turned "${2:-1}" "$URLS")
	[ "$KIND" = mariadb ] ||
	    key=", server_public_key: $DIR/n1/data/public_key.pem"
	mkdir -p "$DIR/h$1"
	SOCKET=none PIDFILE=$DIR/h$1/outbox.pid write_conf "$DIR/h$1.yml"
	sed -i "s|socket: \"[^\"]*\"|hosts: [\"${hosts//,/\", \"}\"], tls: {mode: disable}$key|
	    s|servers: \[[^]]*\]|servers: [\"${urls//,/\", \"}\"], tls: {mode: disable}|" "$DIR/h$1.yml"
}

# host_start N: in the background; sets MASTER, its pid
host_start() {
	local name=()
	[ "$(id -u)" -ne 0 ] || name=(unshare --uts
	    sh -c 'hostname "$0" && exec "$@"' "host$1")
	LOG=$DIR/h$1.log
	"${name[@]}" "$OUTBOX_MASTER" -c "$DIR/h$1.yml" --silent \
	    >> "$DIR/out" 2>> "$LOG" </dev/null &
	MASTER=$!
	MASTERS+=("$MASTER")
}

# node_produce OPTIONS...: in the background, until TERM; sets PRODUCER
node_produce() {
	"$LAB" produce --host "${WRITERS:-$HOSTS}" --timeout 5 \
	    --user outbox_producer --password-env PRODUCER_PW --database app \
	    --forever "$@" >> "$DIR/produced" 2>> "$DIR/producer" &
	PRODUCER=$!
	MASTERS+=("$PRODUCER")
}

node_pid() { cut -d' ' -f1 "$DIR/$1/process"; }
node_kill() { "$SANDBOX" kill "$DIR/$1"; }
node_stop() { "$SANDBOX" stop "$DIR/$1"; }
node_start() { "$SANDBOX" restart "$DIR/$1" > "$DIR/restarted" 2>&1; }
node_freeze() { kill -STOP "$(node_pid "$1")"; }
node_thaw() { kill -CONT "$(node_pid "$1")"; }

# Galera: the node says that it has no majority, and comes back.
node_isolate() { node_sql "$1" \
    "SET GLOBAL wsrep_provider_options = 'gmcast.isolate=1'"; }
node_return() { node_sql "$1" \
    "SET GLOBAL wsrep_provider_options = 'gmcast.isolate=0'"; }

wsrep() { node_sql "$1" "SELECT variable_value FROM
    information_schema.global_status WHERE variable_name = 'wsrep_$2'"; }
online() { node_sql "$1" "SELECT COUNT(*) FROM
    performance_schema.replication_group_members
    WHERE member_state = 'ONLINE'"; }
# node_primary: of the group, as a member that works knows it
node_primary() {
	local port i=0
	port=$(timeout 10 "$SANDBOX" sql "$SQL_NODE" -N -e "SELECT member_port
	    FROM performance_schema.replication_group_members
	    WHERE member_role = 'PRIMARY' AND member_state = 'ONLINE'")
	for i in "${NODES[@]}"; do
		[ "$(of_node "$DIR/$i" PORT)" != "$port" ] || echo "$i"
	done
}

# nodes_are_whole: is every member back?
nodes_are_whole() {
	local node
	for node in "${NODES[@]}"; do
		case $CLUSTER in
		galera)
			[ "$(wsrep "$node" cluster_size)" = ${#NODES[@]} ] &&
			    [ "$(wsrep "$node" local_state_comment)" = Synced ]
			;;
		group)
			[ "$(online "$node")" = ${#NODES[@]} ] ;;
		nats)
			leads "$node" || is_current "$node" ;;
		esac 2> /dev/null || return 1
	done
}

# leader_away NODE: another one leads the stream; to be asked again
leader_away() {
	local leader
	leader=$(stream_leader) || return
	[ "$leader" = "$1" ] || return 0
	step_down
	return 1
}

# Connections of our workers: named, from libnats
clients_of() { broker_page "$1" connz | jq '[.connections[] |
    select(.lang == "C" and (.name // "") != "")] | length'; }
