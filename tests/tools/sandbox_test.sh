#!/bin/bash
# sandbox_test.sh - does tools/sandbox start and stop real servers? (TAP)

set -u
top=${srcdir:-.}
[ -x "$top/tools/sandbox" ] || top=$(dirname -- "$0")/../..
tool=$(realpath -- "$top/tools/sandbox")
export OUTBOX_SANDBOX_TIMEOUT=40
PATH=$PATH:/usr/local/sbin:/usr/sbin
if [ "${OUTBOX_CHECK:-full}" = short ]; then
	echo '1..0 # SKIP a long test'
	exit 0
fi
for server in mariadbd nats-server; do
	if ! command -v "$server" >/dev/null; then
		echo "1..0 # SKIP no $server"
		exit 0
	fi
done

# Not below the build directory: names of sockets must be short.
dir=$(mktemp -d "${TMPDIR:-/tmp}/sandbox.XXXXXX")
trap '"$tool" stop "$dir"/*/; rm -rf -- "$dir"' EXIT
trap 'exit 1' HUP INT TERM
my=$dir/my nats=$dir/nats
count=0

# try NAME FUNCTION...: run it; its output explains a failure.
try() {
	local name=$1 said status=0

	shift
	said=$("$@" 2>&1) || status=$?
	count=$((count + 1))
	case $status in
	0) echo "ok $count - $name" ;;
	77) echo "ok $count - $name # SKIP not installed" ;;
	*)
		echo "not ok $count - $name"
		echo "# ${said//$'\n'/$'\n'# }"
		;;
	esac
}

is() {
	[ "$1" = "$2" ] || { echo "'$1' is not '$2'"; return 1; }
}

# One value of a directory's env.
of() {
	# shellcheck source=/dev/null
	(. "$1/env" && echo "${!2}")
}

sql() { "$tool" sql "$my" -NBe "$1"; }
running() { is "$("$tool" status "$1")" running; }
stopped() { ! "$tool" status "$1" >"$dir/out" && is "$(<"$dir/out")" stopped; }

# cat ends only when no descriptor of the server holds the pipe any more.
start_by_pipe() {
	# shellcheck disable=SC2016
	timeout 30 bash -c '"$@" 2>&1 3>&1 | cat; exit "${PIPESTATUS[0]}"' \
	    sh "$tool" start "$@" && running "$2"
}

mariadb_env() {
	is "$(of "$my" KIND)" mariadb &&
	    is "$(of "$my" PORT)" "$(sql 'SELECT @@port')" &&
	    is "$(of "$my" SOCKET)" "$(sql 'SELECT @@socket')" &&
	    is "$(cat "$(of "$my" PIDFILE)")" "$(cut -d' ' -f1 "$my/process")" &&
	    grep -q 'ready for connections' "$(of "$my" LOG)" &&
	    [[ $(sql 'SELECT VERSION()') == "$(of "$my" VERSION)"* ]]
}

nats_env() {
	local line

	is "$(of "$nats" KIND)" nats || return
	is "$(of "$nats" URL)" "nats://127.0.0.1:$(of "$nats" PORT)" || return
	is "$(cat "$(of "$nats" PIDFILE)")" \
	    "$(cut -d' ' -f1 "$nats/process")" || return
	read -rt 10 line <"/dev/tcp/127.0.0.1/$(of "$nats" PORT)"
	[[ $line == INFO*\"version\":\"$(of "$nats" VERSION)\"* ]] || return
	exec 5<>"/dev/tcp/127.0.0.1/$(of "$nats" HTTP_PORT)"
	printf 'GET /jsz HTTP/1.0\r\n\r\n' >&5
	timeout 10 cat <&5 | grep -F "\"store_dir\": \"$nats/js"
}

options() {
	is "$(sql 'SELECT @@innodb_buffer_pool_size, @@sync_binlog,
	    @@innodb_flush_log_at_trx_commit, @@log_bin, @@binlog_format' |
	    tr '\t' ' ')" "33554432 1 1 1 ROW" &&
	    is "$(sql 'SELECT @@tmpdir')" "$my/tmp"
}

only_root_by_socket() {
	is "$(sql "SELECT user, host FROM mysql.global_priv
	    WHERE user <> 'mariadb.sys'" | tr '\t' ' ')" "root localhost" &&
	    is "$(stat -c %a "$my")" 700 &&
	    ! mariadb --no-defaults -uroot -h127.0.0.1 -P"$(of "$my" PORT)" \
	    -e 'SELECT 1'
}

sql_from_stdin() {
	is "$(echo "CREATE DATABASE d; CREATE TABLE d.t (a TEXT)
	    CHARACTER SET utf8mb4; INSERT INTO d.t VALUES ('gr'), ('ün');
	    SELECT SUM(CHAR_LENGTH(a)) FROM d.t" |
	    "$tool" sql "$my" -NB)" 4
}

refused() {
	! "$tool" start "$@" 2>"$dir/out" && grep 'already running' "$dir/out" &&
	    running "$2"
}

two_at_once() {
	local a b good=0

	"$tool" start nats "$dir/twice" & a=$!
	"$tool" start nats "$dir/twice" & b=$!
	wait $a && good=$((good + 1))
	wait $b && good=$((good + 1))
	is $good 1 && running "$dir/twice"
}

side_by_side() {
	"$tool" start nats "$dir/other" && running "$nats" &&
	    ! is "$(of "$nats" PORT)" "$(of "$dir/other" PORT)" &&
	    "$tool" stop "$dir/other" && stopped "$dir/other" && running "$nats"
}

# Send a JetStream request; the answer must have the given text.
js() {
	local line

	exec 5<>"/dev/tcp/127.0.0.1/$(of "$nats" PORT)"
	printf '%s\r\n' 'CONNECT {"verbose":false}' 'SUB answer 1' \
	    "PUB \$JS.API.$1 answer ${#2}" "$2" >&5
	while read -rt 10 line <&5; do
		[[ $line != *'"type":'* ]] || break
	done
	exec 5>&-
	[[ $line == *"$3"* ]] || { echo "$line"; return 1; }
}

killed() {
	local port

	port=$(of "$1" PORT)
	"$tool" kill "$1" && stopped "$1" && ! (: <"/dev/tcp/127.0.0.1/$port")
}

restarted() {
	local port

	port=$(of "$1" PORT)
	"$tool" restart "$1" && running "$1" && is "$(of "$1" PORT)" "$port"
}

rows_kept() { is "$(sql 'SELECT COUNT(*) FROM d.t')" 2; }
stream_kept() { js STREAM.INFO.T '' '"subjects":["t"]'; }
stop() { "$tool" stop "$1" && stopped "$1"; }

stop_frozen() {
	kill -STOP "$(cat "$(of "$dir/twice" PIDFILE)")"
	"$tool" stop "$dir/twice" 2>"$dir/said" && stopped "$dir/twice" &&
	    is "$(<"$dir/said")" ""
}

# The caller's whole process group dies, as by Ctrl-C or a test's timeout.
outlives() {
	# shellcheck disable=SC2016
	setsid -w bash -c '"$1" start nats "$2" && kill -KILL 0' \
	    sh "$tool" "$dir/alone"
	running "$dir/alone"
}

other_port() {
	"$tool" stop "$dir/alone" &&
	    "$tool" start nats "$dir/thief" "port: $(of "$dir/alone" PORT)" &&
	    ! "$tool" restart "$dir/alone" &&
	    "$tool" start nats "$dir/alone" &&
	    running "$dir/thief" && running "$dir/alone" &&
	    ! is "$(of "$dir/alone" PORT)" "$(of "$dir/thief" PORT)"
}

copy_is_stopped() {
	cp -a "$nats" "$dir/copy"
	stopped "$dir/copy" && "$tool" kill "$dir/copy" && running "$nats"
}

says_why() {
	! "$tool" start nats "$dir/bad" 'no_such_option: 1' 2>"$dir/out" &&
	    grep no_such_option "$dir/out" && stopped "$dir/bad"
}

mysql() {
	local my=$dir/oracle

	"$tool" start mysql "$my" || return
	is "$(of "$my" KIND)" mysql &&
	    is "$(of "$my" PORT)" "$(sql 'SELECT @@port')" &&
	    [[ $(sql 'SELECT VERSION()') == "$(of "$my" VERSION)"* ]] &&
	    sql_from_stdin && killed "$my" && restarted "$my" && rows_kept &&
	    stop "$my"
}

# The other members go on without one, which comes back with what it missed.
cluster() {
	local kind=$1 at=$dir/$1
	shift
	"$tool" cluster "$kind" "$at" "$@" || return
	is "$(of "$at" KIND)" "$kind" && "${kind}_cluster" || return
	"$tool" stop "$at" && stopped "$at/n1" && stopped "$at/n2"
}

# member CLUSTER N: SQL of that member; becomes WANT: waits for it
member() { "$tool" sql "$dir/$1/n$2" -NBe "$3"; }
becomes() {
	local want=$1 tries=100
	shift
	until [ "$("$@" 2>&1)" = "$want" ]; do
		((tries-- > 0)) || { is "$("$@" 2>&1)" "$want"; return; }
		sleep 0.2
	done
}

wsrep() { member galera "$1" "SELECT variable_value FROM
    information_schema.global_status WHERE variable_name = 'wsrep_$2'"; }

galera_cluster() {
	is "$(of "$dir/galera" HOSTS)" \
	    "$(printf '127.0.0.1:%s,' "$(of "$dir/galera/n1" PORT)" \
	    "$(of "$dir/galera/n2" PORT)" "$(of "$dir/galera/n3" PORT)" |
	    sed 's/,$//')" &&
	    "$tool" kill "$dir/galera/n1" &&
	    becomes 2 wsrep 2 cluster_size &&
	    member galera 2 'CREATE DATABASE d' &&
	    "$tool" restart "$dir/galera/n1" &&
	    becomes Synced wsrep 1 local_state_comment &&
	    is "$(member galera 1 "SHOW DATABASES LIKE 'd'")" d &&
	    grep -q 'Receiving IST: ' "$dir/galera/n1/log"
}

replicas_cluster() {
	member replicas 1 'CREATE DATABASE d' &&
	    becomes d member replicas 2 "SHOW DATABASES LIKE 'd'" &&
	    is "$(member replicas 2 'SELECT @@read_only')" 1
}

online() { member group "$1" "SELECT COUNT(*) FROM
    performance_schema.replication_group_members
    WHERE member_state = 'ONLINE'"; }

group_cluster() {
	is "$(member group 1 'SELECT @@read_only')" 0 &&
	    is "$(member group 2 'SELECT @@read_only')" 1 &&
	    "$tool" stop "$dir/group/n3" && becomes 2 online 1 &&
	    member group 1 'CREATE DATABASE d' &&
	    "$tool" restart "$dir/group/n3" && becomes 3 online 1 &&
	    becomes d member group 3 "SHOW DATABASES LIKE 'd'"
}

# To how many others a broker has routes, by its monitoring port.
routes() {
	local at=$dir/nats/n$1
	exec 5<>"/dev/tcp/$(of "$at" HOST)/$(of "$at" HTTP_PORT)" || return
	printf 'GET /routez HTTP/1.0\r\n\r\n' >&5
	timeout 10 cat <&5 | sed -n 's/.*"remote_id": "\(.*\)".*/\1/p' |
	    sort -u | wc -l
}

nats_cluster() {
	becomes 2 routes 1 && "$tool" kill "$dir/nats/n3" &&
	    becomes 1 routes 1 && "$tool" restart "$dir/nats/n3" &&
	    becomes 2 routes 1
}

kafka_topics() { "$tool" kafka-tool "$1" TopicCommand "${@:2}"; }

kafka() {
	local at=$dir/kafka1
	"$tool" kafka-tree || return
	"$tool" start kafka "$at" message.max.bytes=2000 &&
	    running "$at" && is "$(of "$at" KIND)" kafka &&
	    [[ $(of "$at" VERSION) == 4.* ]] &&
	    kafka_topics "$at" --create --topic t --partitions 2 &&
	    killed "$at" && restarted "$at" &&
	    is "$(kafka_topics "$at" --list)" t && stop "$at"
}

# Without one of them another leads what it has led.
kafka_cluster() {
	kafka_topics "$dir/kafka/n1" --create --topic t --partitions 3 &&
	    "$tool" kill "$dir/kafka/n2" &&
	    becomes 0 led_by 2 && "$tool" restart "$dir/kafka/n2"
}
led_by() {
	kafka_topics "$dir/kafka/n1" --describe --topic t |
	    grep -c "Leader: $1"
}

# The same member is without a link, then without one to the others.
cut_and_joined() {
	local at=$dir/galera
	rm -rf "$at" && "$tool" cluster galera "$at" 3 --netns || return
	"$tool" cut "$at/n1" && becomes OFF wsrep 1 ready &&
	    becomes 2 wsrep 2 cluster_size &&
	    ! timeout 1 bash -c ": </dev/tcp/$(of "$at/n1" HOST)/$(of "$at/n1" PORT)" &&
	    "$tool" join "$at/n1" && becomes 3 wsrep 1 cluster_size &&
	    "$tool" cut "$at/n1" peers && becomes OFF wsrep 1 ready &&
	    bash -c ": </dev/tcp/$(of "$at/n1" HOST)/$(of "$at/n1" PORT)" &&
	    "$tool" join "$at/n1" && becomes 3 wsrep 1 cluster_size &&
	    "$tool" stop "$at" &&
	    ! ip netns list | grep "$(of "$at/n1" NETNS)"
}

try "mariadb starts, without keeping the caller's pipe" \
    start_by_pipe mariadb "$my" innodb_buffer_pool_size=32M
try "nats starts, without keeping the caller's pipe" start_by_pipe nats "$nats"
try "mariadb: env has the facts of the server" mariadb_env
try "nats: env has the facts of the server" nats_env
try "mariadb: commits are durable, the caller's options win" options
try "mariadb: the only account is root, by the socket" only_root_by_socket
try "sql runs its standard input, as UTF-8" sql_from_stdin
try "nats: JetStream makes a stream" \
    js STREAM.CREATE.T '{"name":"T","subjects":["t"]}' '"subjects":["t"]'
try "mariadb: a second start is refused" refused mariadb "$my"
try "nats: a second start is refused" refused nats "$nats"
try "of two starts at once one is refused" two_at_once
try "two servers of a kind run side by side" side_by_side
for kind in mariadb nats; do
	if [ $kind = mariadb ]; then at=$my kept=rows_kept
	else at=$nats kept=stream_kept; fi
	try "$kind: kill ends the server" killed "$at"
	try "$kind: restart after kill, on the same port" restarted "$at"
	try "$kind: rows or stream are kept after kill" $kept
	try "$kind: stop ends the server" stop "$at"
	try "$kind: stop of a stopped server succeeds" stop "$at"
	try "$kind: restart after stop, on the same port" restarted "$at"
	try "$kind: rows or stream are kept after stop" $kept
done
try "restart of a running server, on the same port" restarted "$nats"
try "stop ends a server that is stopped by SIGSTOP" stop_frozen
try "a server outlives its caller" outlives
try "start finds another port when its own is taken" other_port
try "the copy of a running directory counts as stopped" copy_is_stopped
try "a failed start says why and leaves no server" says_why
try "stop of a directory that does not exist succeeds" "$tool" stop "$dir/none"
try "mysql: start, sql, kill, restart, stop" mysql
try "kafka: start, topics, kill, restart, stop" kafka
for kind in nats replicas galera group kafka; do
	try "cluster $kind: a member goes and comes" cluster $kind
done
try 'cluster: links are cut and mended' cut_and_joined
echo "1..$count"
