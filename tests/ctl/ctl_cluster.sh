#!/usr/bin/env bash
# What the database is, is named: outboxctl status, workers, doctor and the log
# of two daemons that use two nodes of Galera, or the primary of a group (MySQL);
# and of a primary with a replica, with and without semi-sync
. "${srcdir:-$(dirname "$0")/../..}/tests/lib/ctl.sh"

is_short && skip_all 'a long test'
case $KIND in
mariadb) kind=galera n=2 ;;
*) kind=group n=3 ;;
esac
cluster=$DIR/c
"$SANDBOX" cluster $kind "$cluster" $n > /dev/null
rc=$?
[ "$rc" -ne 77 ] || skip_all "no $kind"
[ "$rc" -eq 0 ] || { echo "Bail out! no $kind"; exit 1; }

# tables DIRECTORY: database, tables and the account, which comes by TCP
tables() {
	client "$1" -e "CREATE DATABASE app; CREATE USER
	    'outbox'@'127.0.0.1' IDENTIFIED BY '$OUTBOX_PW'"
	client "$1" app < "$srcdir/sql/schema.sql"
	grep -v producer "$srcdir/sql/grants.sql" |
	    sed "s/@'localhost'/@'127.0.0.1'/" | client "$1" app
}

# conf FILE PORT...: a configuration with these hosts
conf() {
	local key='' hosts
	[ "$KIND" = mariadb ] ||
	    key=", server_public_key: $cluster/n1/data/public_key.pem"
	hosts=$(printf '"127.0.0.1:%s", ' "${@:2}")
	cat > "$1" <<-EOF
	master: {workers: 1, user: $(id -un), pidfile: $1.run/pid}
	mysql: {hosts: [${hosts%, }], user: outbox, password_env: OUTBOX_PW, database: app$key}
	publish: {driver: stdout}
	wake: {binlog: false}
	log: {target: "$1.log"}
	monitor: {socket: "$1.run/monitor"}
	EOF
	mkdir -p "$1.run"
}
port() { sed -n 's/^PORT=//p' "$cluster/n$1/env"; }
has_hosts() { ctl --json status; [ "$(field '.hosts | length')" = 2 ]; }

tables "$cluster/n1"
CONF=$DIR/a.yml
conf "$CONF" "$(port 1)" 1 "$(port 2)"
conf "$DIR/b.yml" "$(port 2)" "$(port 1)"
for c in "$CONF" "$DIR/b.yml"; do
	"$OUTBOX_MASTER" -f -c "$c" > "$c.out" 2>&1 &
	MASTERS+=($!)
done
within 20 'both hosts are listed' has_hosts
shows '[.cluster.kind, (.hosts | map(.instance) | unique | length)]' \
    "[\"$kind\",2]" 'two hosts of one name are told apart'
ctl status
ctl --json workers
shows '[.[] | .instance != null and .server != null] | unique' '[true]' \
    'workers say which server they use'
ctl status
ctl --json doctor
hosts=$(field '[.[] | select(.check == "database host")] |
    map(.level) | join(" ")')
is "$hosts" 'ok advice ok' 'doctor has a line for each host'
text=$(field '.[] | select(.check == "database host") | .text')

if [ "$kind" = galera ]; then
	ctl status
	like "$OUT" 'database    Galera n1 \(2 of 2, Synced\); hosts .* \(....\) on n., .* \(....\) on n.$' \
	    'status names node, members and who uses which'
	shows '[.advice[].id] | index("several_writers") != null' true \
	    'several nodes are used, and do not wait: advice' status
	like "$text" 'Galera n2 .*, wsrep_sync_wait 0, AUTO_INCREMENT by 2 from [12]' \
	    'doctor: how each node is set'
	line='database: Galera n1 \(2 of 2, Synced\)'
	gone='database: Galera n1 \(1 of [12], Synced\)'
	change() { "$SANDBOX" stop "$cluster/n2"; }
else
	ctl status
	like "$OUT" "database    group replication, single primary 127.0.0.1:$(port 1) \(members not visible\); hosts" \
	    'status names the primary'
	client "$cluster/n1" -e "GRANT SELECT ON
	    performance_schema.replication_group_members
	    TO 'outbox'@'127.0.0.1'"
	ctl status
	like "$OUT" "database    group replication, single primary 127.0.0.1:$(port 1) \(3 of 3 online\)" \
	    'and with a right the members'
	like "$text" "this is 127.0.0.1:$(port 2) .*, read-only, .*, consistency [A-Z_]*, AUTO_INCREMENT by 1 from" \
	    'doctor: how each member is set'
	shows '[.advice[].id] | index("several_writers")' null \
	    'one primary: no advice' status
	line='database: group replication, single primary'
	gone='database: group replication, .* \(2 of 2 online\)'
	change() { client "$cluster/n3" -e 'STOP GROUP_REPLICATION'; }
fi
check 'the log names it' has_line "$CONF.log" "$line"
change
within 40 'and says it again when a member has left' \
    has_line "$CONF.log" "$gone"
"$SANDBOX" stop "$cluster"

#
# A primary and a replica.
#
[ "$KIND" = mariadb ] && kind=replicas || kind=mysql-replicas
cluster=$DIR/r
check 'a primary with a replica' eval \
    '"$SANDBOX" cluster $kind "$cluster" 2 > /dev/null'
tables "$cluster/n1"
conf "$CONF" "$(port 1)"
shows '[.cluster.kind, .cluster.online]' '["single",null]' \
    'an account that may not count the replicas' status
client "$cluster/n1" -e "GRANT REPLICATION SLAVE
    $([ "$KIND" = mysql ] || echo ', REPLICATION MASTER ADMIN') ON *.* TO
    'outbox'@'127.0.0.1'"
ctl status
like "$OUT" 'database    primary .*, 1 replica \(asynchronous\)' \
    'status counts the replicas'
shows '[.advice[].id] | index("asynchronous") != null' true \
    'asynchronous: advice' status
source=rpl_semi_sync_master replica=rpl_semi_sync_slave word=SLAVE
if [ "$KIND" = mysql ]; then
	source=rpl_semi_sync_source replica=rpl_semi_sync_replica word=REPLICA
	client "$cluster/n1" -e "SET SESSION sql_log_bin = 0;
	    INSTALL PLUGIN $source SONAME 'semisync_source.so'"
	client "$cluster/n2" -e "SET SESSION sql_log_bin = 0;
	    INSTALL PLUGIN $replica SONAME 'semisync_replica.so'"
fi
client "$cluster/n1" -e "SET GLOBAL ${source}_wait_point = AFTER_SYNC;
    SET GLOBAL ${source}_enabled = ON"
client "$cluster/n2" -e "SET GLOBAL ${replica}_enabled = ON;
    STOP $word IO_THREAD; START $word IO_THREAD"
has_semi_sync() { ctl status; [[ $OUT == *'1 replica (semi-sync, AFTER_SYNC)'* ]]; }
within 20 'status names semi-sync' has_semi_sync
shows '[.advice[].id] | index("asynchronous")' null 'and no advice' status

done_testing
