# vitess.sh - a Vitess cluster of one keyspace with two shards; sourced by bash
# after lib.sh, with KIND=mysql
#
# $OUTBOX_VITESS is a directory with bin/vtgate, bin/vttablet, bin/vtctldclient
# and config/init_db.sql, all of one version of the Go module vitess.io/vitess:
#
#	go mod download vitess.io/vitess@v0.24.4
#	cp -r --no-preserve=mode "$(go env GOMODCACHE)/vitess.io/vitess@v0.24.4" DIR
#	cd DIR && for p in vtgate vttablet vtctldclient; do
#		go build -o bin/ ./go/cmd/$p; done
#
# Its topology server is etcd (package etcd-server).
#
# The keyspace is "ks", the tablets are 100 to 102 of shard -80 and 200 to
# 202 of 80-; each has a MySQL server in $DIR/t100 and so on, whose database is
# vt_ks.  The first of each is the primary at the beginning.

# shellcheck shell=bash disable=SC2034,SC2154

VITESS=${OUTBOX_VITESS:-}
VITESS_TABLETS=(100 101 102 200 201 202)
TABLET_PID=()
GATE_PORT=			# vtgate's, for MySQL clients

vitess_is_there() {
	[ -x "$VITESS/bin/vtgate" ] && [ -x "$VITESS/bin/vttablet" ] &&
	    [ -x "$VITESS/bin/vtctldclient" ] && command -v etcd > /dev/null
}

# shellcheck source=/dev/null
port_of() { (. "$DIR/t$1/env" && echo "$PORT"); }
shard_of() { [ "$1" -lt 200 ] && echo '-80' || echo '80-'; }

# Vitess refuses to run as root: a user of another namespace has our rights.
AS_USER=()
[ "$EUID" -ne 0 ] || AS_USER=(unshare --user)

# in_background NAME COMMAND...: a process that ends with the test; sets PID
in_background() {
	"${AS_USER[@]}" "${@:2}" > "$DIR/$1.log" 2>&1 < /dev/null &
	PID=$!
	MASTERS+=("$PID")
}

listens() { (exec 3<> "/dev/tcp/127.0.0.1/$1") 2> /dev/null; }

vtctl() {
	timeout 120 "$VITESS/bin/vtctldclient" --server internal "${TOPO[@]}" \
	    --log-format text "$@" 2>> "$DIR/vtctl.log"
}

vitess_topology() {
	local client peer
	client=$(free_port) peer=$(free_port)
	in_background etcd etcd --data-dir "$DIR/etcd" --unsafe-no-fsync \
	    --listen-client-urls "http://127.0.0.1:$client" \
	    --advertise-client-urls "http://127.0.0.1:$client" \
	    --listen-peer-urls "http://127.0.0.1:$peer" \
	    --initial-advertise-peer-urls "http://127.0.0.1:$peer" \
	    --initial-cluster "default=http://127.0.0.1:$peer"
	TOPO=(--topo-implementation etcd2 --topo-global-root /vitess/global
	    --topo-global-server-address "127.0.0.1:$client")
	wait_for 30 listens "$client" &&
	    vtctl AddCellInfo --root /vitess/zone1 \
		--server-address "127.0.0.1:$client" zone1 &&
	    vtctl CreateKeyspace --durability-policy=semi_sync ks
}

# What Vitess' own my.cnf has, as far as it matters.
vitess_mysqld() {
	"$SANDBOX" start mysql "$DIR/t$1" "server_id=$1" super_read_only=ON \
	    skip_replica_start=ON relay_log_recovery=ON replica_net_timeout=8 \
	    performance_schema=ON innodb_buffer_pool_size=64M \
	    max_connections=500 max_allowed_packet=64M \
	    "caching_sha2_password_private_key_path=$DIR/key" \
	    "caching_sha2_password_public_key_path=$DIR/key.pub" \
	    'loose_plugin_load=rpl_semi_sync_source=semisync_source.so;rpl_semi_sync_replica=semisync_replica.so' \
	    loose_rpl_semi_sync_source_timeout=1000000000000000000 \
	    loose_rpl_semi_sync_source_wait_no_replica=1 \
	    "${@:2}" > /dev/null
}

# To Vitess its server is one that mysqlctl has made.
vitess_tablet() {
	local d=$DIR/t$1 port grpc
	port=$(free_port) grpc=$(free_port)
	in_background "vttablet$1" env VT_MYSQL_ROOT="$DIR/root" \
	    VTDATAROOT="$DIR/data" "$VITESS/bin/vttablet" "${TOPO[@]}" \
	    --tablet-path "zone1-0000000$1" --tablet-hostname 127.0.0.1 \
	    --init-keyspace ks --init-shard "$(shard_of "$1")" \
	    --init-tablet-type replica --port "$port" --grpc-port "$grpc" \
	    --service-map grpc-queryservice,grpc-tabletmanager,grpc-updatestream \
	    --health-check-interval 1s --log-format text \
	    --mycnf-server-id "$1" --mycnf-socket-file "$d/socket" \
	    --mycnf-mysql-port "$(port_of "$1")" \
	    --mycnf-data-dir "$d/data" --mycnf-pid-file "$d/pid" \
	    --mycnf-tmp-dir "$d/tmp"
	TABLET_PID[$1]=$PID
	wait_for 60 listens "$grpc"
}

# vitess_kill N: the machine of a tablet is gone
vitess_kill() {
	kill -KILL "${TABLET_PID[$1]}"
	wait "${TABLET_PID[$1]}" 2> /dev/null
	"$SANDBOX" kill "$DIR/t$1" > /dev/null
}

# shellcheck disable=SC2120	# all shards, unless some are named
vitess_gate() {
	GATE_PORT=$(free_port)
	in_background vtgate env VTDATAROOT="$DIR/data" \
	    "$VITESS/bin/vtgate" "${TOPO[@]}" --cell zone1 \
	    --cells-to-watch zone1 --tablet-types-to-wait PRIMARY,REPLICA \
	    --port "$(free_port)" --grpc-port "$(free_port)" \
	    --mysql-server-port "$GATE_PORT" \
	    --mysql-server-bind-address 127.0.0.1 --enable-buffer \
	    --mysql-auth-server-impl none --service-map grpc-vtgateservice \
	    --log-format text "$@"
	GATE=$PID
	wait_for 60 listens "$GATE_PORT"
}

# A primary whose replicas have gone waits for them, also when it is to stop.
vitess_end() {
	local rc=$? t
	for t in "${VITESS_TABLETS[@]}"; do
		"$SANDBOX" kill "$DIR/t$t"
	done
	return "$rc"
}
trap 'vitess_end; cleanup' EXIT

vitess_start() {
	local t
	mkdir -p "$DIR/root/bin" "$DIR/data"
	# vttablet asks the program for its version.
	printf '#!/bin/sh\necho "mysqld  Ver %s for Linux on x86_64"\n' \
	    "${VITESS_MYSQL:-8.4.0}" > "$DIR/root/bin/mysqld"
	chmod +x "$DIR/root/bin/mysqld"
	# One pair of keys for all: mysql.server_public_key is one file.
	openssl genrsa -out "$DIR/key" 2048 2> /dev/null &&
	    openssl rsa -in "$DIR/key" -pubout -out "$DIR/key.pub" \
		2> /dev/null && vitess_topology || return
	for t in "${VITESS_TABLETS[@]}"; do
		vitess_mysqld "$t" || return
		"$SANDBOX" sql "$DIR/t$t" < "$VITESS/config/init_db.sql" &&
		    vitess_tablet "$t" || return
	done
	vtctl PlannedReparentShard ks/-80 --new-primary zone1-0000000100 &&
	    vtctl PlannedReparentShard ks/80- --new-primary zone1-0000000200 &&
	    vitess_gate
}

# primary_of SHARD: the number of its primary tablet, as the topology has it
primary_of() {
	vtctl GetShard "ks/$1" | sed -n 's/.*"uid": \([0-9]*\).*/\1/p'
}

# shard_sql SHARD SQL: at its primary, by the socket
shard_sql() { client "$DIR/t$(primary_of "$1")" -N vt_ks -e "$2"; }

# gate_sql DATABASE [ARG...]: SQL by vtgate, for example for ks:-80@primary
gate_sql() {
	mariadb --no-defaults -h 127.0.0.1 -P "$GATE_PORT" -u outbox -N "$@"
}
