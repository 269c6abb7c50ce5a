# cluster.sh - sandbox cluster, cut and join; sourced by tools/sandbox
#
# Members are directories of the sandbox, DIR/n1 and so on, started with lines
# of their own.  DIR/cluster has their number and, with --netns, the first two
# words of their network; DIR/env, written when all are ready, has what clients
# need.

# shellcheck shell=bash disable=SC2034,SC2154

galera=${OUTBOX_GALERA:-/usr/lib/galera/libgalera_smm.so}
n=0 net='' server=''
PORTS=() PORTS2=()		# of each member, for the others

# Commits survive a crash of the process, which is enough for tests.
small=(innodb_buffer_pool_size=64M sync_binlog=0
    innodb_flush_log_at_trx_commit=2)

subnet() { echo "10.${net/-/.}"; }
address() {
	if [ -n "$net" ]; then echo "$(subnet).$1"; else echo 127.0.0.1; fi
}
space() { echo "outbox-$net-n$1"; }

# list PREFIX PORT...: of all members, with commas between
list() {
	local i=0 prefix=$1 port text=''
	shift
	for port; do
		i=$((i + 1))
		text+="${text:+,}$prefix$(address "$i"):$port"
	done
	echo "$text"
}

# member N LINE...: start it
member() {
	local i=$1
	shift
	OUTBOX_SANDBOX_HOST=$(address "$i") \
	    OUTBOX_SANDBOX_NETNS=${net:+$(space "$i")} \
	    "$0" start "$server" "$D/n$i" "$@"
}
port_of() { sed -n 's/^PORT=//p' "$D/n$1/env"; }
member_sql() { "$0" sql "$D/n$1" -NBe "$2"; }

# until_all QUESTION ANSWER: wait until each member answers that
until_all() {
	local deadline=$((SECONDS + timeout)) i
	for ((i = 1; i <= n; i++)); do
		until [ "$(member_sql "$i" "$1" 2>&1)" = "$2" ]; do
			((SECONDS < deadline)) ||
			    die "$D/n$i: $1: $(member_sql "$i" "$1" 2>&1)"
			sleep 0.1
		done
	done
}

galera_lines() {
	local own
	own=$(address "$1")
	printf '%s\n' "${small[@]}" innodb_log_file_size=64M \
	    innodb_autoinc_lock_mode=2 log_slave_updates=ON gtid_domain_id=1 \
	    wsrep_on=ON wsrep_gtid_mode=ON wsrep_cluster_name=outbox \
	    "wsrep_provider=$galera" "wsrep_node_name=n$1" \
	    "wsrep_cluster_address=gcomm://$2" \
	    "wsrep_node_address=$own:${PORTS[$1]}" wsrep_sst_method=copied \
	    "wsrep_provider_options=$(printf '%s;' gcache.size=64M \
	    "gmcast.listen_addr=tcp://$own:${PORTS[$1]}" \
	    "ist.recv_addr=$own:${PORTS2[$1]}" \
	    "ist.recv_bind=$own:${PORTS2[$1]}")"
}

# The first one begins the cluster, and after a restart joins it like the
# others, which begin with no files.
start_galera() {
	local i lines all
	all=$(list '' "${PORTS[@]}")
	for ((i = 1; i <= n; i++)); do
		mapfile -t lines < <(galera_lines "$i" "$( ((i == 1)) || echo "$all")")
		((i == 1)) || mkdir -p "$D/n$i/data"
		member "$i" "${lines[@]}" "$@"
	done
	sed -i "s|^wsrep_cluster_address=.*|wsrep_cluster_address=gcomm://$all|" \
	    "$D/n1/my.cnf"
	until_all "SELECT GROUP_CONCAT(variable_value ORDER BY variable_name)
	    FROM information_schema.global_status WHERE variable_name IN
	    ('wsrep_cluster_size', 'wsrep_local_state_comment')" "$n,Synced"
}

group_lines() {
	printf '%s\n' "${small[@]}" innodb_redo_log_capacity=64M \
	    performance_schema=ON plugin_load_add=group_replication.so \
	    "report_host=$(address "$1")" \
	    loose_group_replication_group_name=0b0c0d0e-0000-4000-8000-00000000000a \
	    "loose_group_replication_local_address=$(address "$1"):${PORTS[$1]}" \
	    "loose_group_replication_group_seeds=$(list '' "${PORTS[@]}")" \
	    "loose_group_replication_ip_allowlist=$(address 0)/24" \
	    loose_group_replication_start_on_boot=OFF \
	    loose_group_replication_recovery_get_public_key=ON
}

# The others have copies of the first one's files: accounts and RSA keys are the
# same, and nothing is missing in their binlogs.
start_group() {
	local i lines
	mapfile -t lines < <(group_lines 1)
	member 1 "${lines[@]}" "$@"
	member_sql 1 "SET sql_log_bin = 0;
	    CREATE USER 'repl'@'%' IDENTIFIED BY 'repl-secret';
	    GRANT REPLICATION SLAVE ON *.* TO 'repl'@'%';
	    CHANGE REPLICATION SOURCE TO SOURCE_USER = 'repl',
		SOURCE_PASSWORD = 'repl-secret'
		FOR CHANNEL 'group_replication_recovery'"
	"$0" stop "$D/n1"
	for ((i = 2; i <= n; i++)); do
		mkdir "$D/n$i"
		cp -a --reflink=auto "$D/n1/data" "$D/n$i/data"
		rm "$D/n$i/data/auto.cnf"
	done
	"$0" restart "$D/n1"
	member_sql 1 'SET GLOBAL group_replication_bootstrap_group = ON;
	    START GROUP_REPLICATION;
	    SET GLOBAL group_replication_bootstrap_group = OFF'
	for ((i = 2; i <= n; i++)); do
		mapfile -t lines < <(group_lines "$i")
		member "$i" "${lines[@]}" "$@"
		member_sql "$i" 'START GROUP_REPLICATION'
	done
	until_all "SELECT COUNT(*) FROM
	    performance_schema.replication_group_members
	    WHERE member_state = 'ONLINE'" "$n"
	sed -i '/_start_on_boot=/s/OFF/ON/' "$D"/n*/my.cnf
}

# Replicas begin empty: the binlog of the first one has all since its beginning.
start_replicas() {
	local i word=SLAVE log=log_slave_updates=ON read=read_only=ON source
	source="CHANGE MASTER TO MASTER_USE_GTID = slave_pos,
	    MASTER_CONNECT_RETRY = 1, MASTER_USER = 'repl',
	    MASTER_PASSWORD = 'repl-secret', MASTER_HOST = '$(address 1)',
	    MASTER_PORT"
	[ "$server" = mariadb ] || {
		word=REPLICA log=log_replica_updates=ON
		read=super_read_only=ON
		source="CHANGE REPLICATION SOURCE TO SOURCE_AUTO_POSITION = 1,
		    GET_SOURCE_PUBLIC_KEY = 1, SOURCE_CONNECT_RETRY = 1,
		    SOURCE_USER = 'repl', SOURCE_PASSWORD = 'repl-secret',
		    SOURCE_HOST = '$(address 1)', SOURCE_PORT"
	}
	member 1 "${small[@]}" "$log" "$@"
	member_sql 1 "CREATE USER 'repl'@'%' IDENTIFIED BY 'repl-secret';
	    GRANT REPLICATION SLAVE ON *.* TO 'repl'@'%'"
	for ((i = 2; i <= n; i++)); do
		member "$i" "${small[@]}" "$log" "$read" "$@"
		member_sql "$i" "$source = $(port_of 1); START $word"
	done
	until_all "SELECT COUNT(*) FROM mysql.user WHERE user = 'repl'" 1
}

start_nats() {
	local i routes deadline=$((SECONDS + timeout))
	routes=$(list nats:// "${PORTS[@]}")
	for ((i = 1; i <= n; i++)); do
		member "$i" "server_name: n$i" "cluster {name: outbox,
		    listen: \"$(address "$i"):${PORTS[i]}\"
		    routes: [\"${routes//,/\", \"}\"]}" "$@"
	done
	for ((i = 1; i <= n; i++)); do
		until [[ $(nats_page "$D/n$i" jsz) =~ \"leader\":\ \"n ]]; do
			((SECONDS < deadline)) || die "$D/n$i: no leader"
			sleep 0.05
		done
	done
}

# The controller is n1's: without it nobody else becomes a leader.
start_kafka() {
	local i
	member 1 "default.replication.factor=$n" "$@"
	local -x OUTBOX_SANDBOX_CONTROLLER
	OUTBOX_SANDBOX_CONTROLLER=$(address 1):$(sed -n \
	    's/^CONTROLLER_PORT=//p' "$D/n1/env")
	for ((i = 2; i <= n; i++)); do
		member "$i" "node.id=$i" "default.replication.factor=$n" "$@"
	done
}

# nats_page DIR PAGE: of its monitor
nats_page() {
	local web
	(
		. "$1/env"
		exec {web}<>"/dev/tcp/$HOST/$HTTP_PORT"
		printf 'GET /%s HTTP/1.0\r\n\r\n' "$2" >&"$web"
		timeout 5 cat <&"$web"
	) 2>/dev/null || :
}

# A network of our own: a namespace for each member, all of them and this host
# on a bridge, whose name no other program has taken.
make_net() {
	local try i veth
	for ((try = 0; ; try++)); do
		net=$((RANDOM % 100 + 100))-$((RANDOM % 250 + 1))
		! ip link add "ob$net" type bridge 2>"$D/said" || break
		((try < 20)) ||
		    { say "--netns: $(<"$D/said")"; exit 77; }
	done
	echo "$n $net" >"$D/cluster"
	ip addr add "$(subnet).254/24" dev "ob$net"
	ip link set "ob$net" up
	for ((i = 1; i <= n; i++)); do
		veth=ob$net-$i
		ip netns add "$(space "$i")"
		ip link add "$veth" type veth peer name eth0 netns "$(space "$i")"
		ip link set "$veth" master "ob$net" up
		ip -n "$(space "$i")" link set lo up
		ip -n "$(space "$i")" addr add "$(address "$i")/24" dev eth0
		ip -n "$(space "$i")" link set eth0 up
	done
}

# The namespace takes its end of the link along.
remove_net() {
	local i
	[ -n "$net" ] || return 0
	for ((i = 1; i <= n; i++)); do
		ip netns del "$(space "$i")" || :
	done
	ip link del "ob$net" || :
} 2>/dev/null

# start_cluster KIND [LINE...]
start_cluster() {
	local kind=$1 i ports=()
	shift
	"start_${kind#mysql-}" "$@"
	for ((i = 1; i <= n; i++)); do
		ports+=("$(port_of "$i")")
	done
	{
		echo "KIND=$kind"
		echo "MEMBERS='$(seq -s ' ' -f n%g "$n")'"
		if [ "$server" = nats ]; then
			echo "URL=$(list nats:// "${ports[@]}")"
		else
			echo "HOSTS=$(list '' "${ports[@]}")"
		fi
	} >"$D/env.new"
	mv -- "$D/env.new" "$D/env"
}

cmd_cluster() {
	local kind=$1 i netns=''
	n=3
	case $kind in
	galera|replicas) server=mariadb ;;
	group|mysql-replicas) server=mysql ;;
	nats|kafka) server=$kind ;;
	*) die "$kind: use galera, group, replicas, mysql-replicas, nats or kafka" ;;
	esac
	[ "$kind" != galera ] || [ -e "$galera" ] ||
	    { say "galera: no $galera (package galera-4)"; exit 77; }
	[[ $kind != *replicas ]] || n=2
	umask 077
	mkdir -p -- "$2"
	enter "$2"
	shift 2
	[[ ! ${1-} =~ ^[1-9]$ ]] || { n=$1; shift; }
	[ "${1-}" != --netns ] || { netns=yes; shift; }
	[ ! -e "$D/cluster" ] || die "$D: has a cluster already"
	echo "$n" >"$D/cluster"
	[ -z "$netns" ] || make_net
	for ((i = 1; i <= n; i++)); do
		free_port "PORTS[$i]"
		free_port "PORTS2[$i]"
	done
	# Members must not survive a start that failed.
	trap 'halt_cluster kill' EXIT
	start_cluster "$kind" "$@"
	trap - EXIT
}

load_cluster() { read -r n net <"$D/cluster"; }

# halt_cluster stop|kill: all members, and their network
halt_cluster() {
	local i status=0 pids=()
	load_cluster
	for ((i = 1; i <= n; i++)); do
		"$0" "$1" "$D/n$i" &
		pids+=($!)
	done
	for i in "${pids[@]}"; do wait "$i" || status=1; done
	remove_net
	return "$status"
}

# link_of DIR: set D to the cluster, and n, net and I, the member's number
link_of() {
	I=${1%/}
	I=${I##*/n}
	enter "$1/.."
	[ -f "$D/cluster" ] || die "$1: is no member of a cluster"
	load_cluster
	[ -n "$net" ] || die "$D: was started without --netns"
}

# cut from the other members: nothing that it sends reaches them.
cmd_cut() {
	local i
	link_of "$1"
	case ${2-} in
	'') ip link set "ob$net-$I" down ;;
	peers)
		for ((i = 1; i <= n; i++)); do
			((i == I)) || ip -n "$(space "$I")" route replace \
			    blackhole "$(address "$i")/32"
		done ;;
	*) usage >&2; exit 2 ;;
	esac
}

cmd_join() {
	link_of "$1"
	ip link set "ob$net-$I" up
	ip -n "$(space "$I")" route flush type blackhole
}
