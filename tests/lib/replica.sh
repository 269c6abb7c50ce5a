# replica.sh - a second database server that follows the first; sourced by
# bash after lib.sh
#
# $DIR/db and $DIR/db2 can change roles at any time: PRIMARY is the directory of
# the one that takes writes, REPLICA of the other one.  sql(), SOCKET and
# DB_PORT, and with them produce and check_stream, use the present primary.
#
#	start_servers "${REPLICA_LINES[@]}"
#	replica_start				a replica that follows
#	write_conf; replica_conf		the daemon knows both, by TCP
#	replica_cut				the link is gone
#	replica_promote				kill -9; the replica takes over
#	replica_again				the old primary as replica
#
# The replica begins as a copy of the primary's files, with its accounts.  It is
# read_only, also after a restart, until it is promoted.  replica_semisync makes
# replication semi-synchronous.

# shellcheck shell=bash disable=SC2034,SC2154

REPL_PW=repl-secret
PRIMARY=$DIR/db
REPLICA=$DIR/db2
# A promoted replica must have all changes in its own binlog for the next one.
# It has one thread, and keeps up because its commits survive only a crash of
# the process, which is enough for tests.
REPLICA_LINES=(sync_binlog=0 innodb_flush_log_at_trx_commit=2
    log_slave_updates=1)
[ "$KIND" = mariadb ] || REPLICA_LINES[2]=log_replica_updates=1

# Words that differ between MariaDB and MySQL.
if [ "$KIND" = mariadb ]; then
	REPLICA_WORD=SLAVE
	REPLICA_STATE=Slave_SQL_Running_State
	REPLICA_FROM="MASTER_USE_GTID = slave_pos, MASTER_USER = 'repl',
	    MASTER_PASSWORD = '$REPL_PW', MASTER_CONNECT_RETRY = 1,
	    MASTER_HOST = '127.0.0.1', MASTER_PORT"
	REPLICA_CHANGE='CHANGE MASTER TO'
else
	REPLICA_WORD=REPLICA
	REPLICA_STATE=Replica_SQL_Running_State
	REPLICA_FROM="SOURCE_AUTO_POSITION = 1, SOURCE_USER = 'repl',
	    SOURCE_PASSWORD = '$REPL_PW', SOURCE_CONNECT_RETRY = 1,
	    GET_SOURCE_PUBLIC_KEY = 1,
	    SOURCE_HOST = '127.0.0.1', SOURCE_PORT"
	REPLICA_CHANGE='CHANGE REPLICATION SOURCE TO'
fi

sql() { client "$PRIMARY" -N app -e "$1"; }
replica_sql() { client "$REPLICA" -N app -e "$1"; }
replica_port() { (. "$1/env" && echo "$PORT"); }
replica_is_sql() { [ "$(replica_sql "$1")" = "$2" ]; }

# replica_status COLUMN: its value in SHOW REPLICA STATUS
replica_status() {
	"$SANDBOX" sql "$REPLICA" -E -e "SHOW $REPLICA_WORD STATUS" |
	    sed -n "s/^ *$1: //p"
}

# Print the errors of a replica that does not work.
replica_trouble() {
	"$SANDBOX" sql "$REPLICA" -E -e "SHOW $REPLICA_WORD STATUS" |
	    grep -E 'Error:|Running|State|Behind|Gtid|Pos'
	tail -n 20 "$REPLICA/log"
}

# The GTIDs that the server $1 has.
replica_gtid() {
	local what=@@gtid_executed
	[ "$KIND" = mysql ] || what=@@gtid_current_pos
	"$SANDBOX" sql "$1" -N -e "SELECT $what"
}

# replica_reaches GTIDS SECONDS: wait for them; 1 when the time is up
replica_reaches() {
	local ask="SELECT MASTER_GTID_WAIT('$1', $2)"
	[ "$KIND" = mariadb ] ||
	    ask="SELECT WAIT_FOR_EXECUTED_GTID_SET('$1', $2)"
	is_zero "$("$SANDBOX" sql "$REPLICA" -N -e "$ask")"
}
is_zero() { [ "$1" = 0 ]; }

# replica_wait [SECONDS]: wait until it has all that the primary has now
replica_wait() {
	replica_reaches "$(replica_gtid "$PRIMARY")" "${1:-30}"
}

# Has it applied all that it received?  Both servers say so in a text; for MySQL
# its applier threads must be idle, too.
replica_is_idle() {
	replica_status "$REPLICA_STATE" |
	    grep -q 'has read all relay log' || return 1
	[ "$KIND" = mariadb ] ||
	    replica_reaches "$(replica_status Retrieved_Gtid_Set)" 10
}

# Stop and start receiving; the replica still applies all it has received.
replica_cut() { replica_sql "STOP $REPLICA_WORD IO_THREAD"; }
replica_join() { replica_sql "START $REPLICA_WORD IO_THREAD"; }

# Make REPLICA, which has no data, a copy of PRIMARY that follows it.
replica_clone() {
	local port='' lines=("${REPLICA_LINES[@]}" read_only=1)
	[ ! -e "$REPLICA/env" ] || port=$(replica_port "$REPLICA")
	[ -z "$port" ] || lines+=("port=$port")
	mkdir -p "$REPLICA" && replica_snapshot &&
	    "$SANDBOX" start "$KIND" "$REPLICA" "${lines[@]}" >/dev/null &&
	    replica_follow
}

# Are all threads of the process $1 stopped?
replica_stands_still() {
	! sed 's/.*) //' /proc/"$1"/task/*/stat | grep -q '^[^Tt]'
}

# Copy the files while the server is stopped, like a snapshot of the disk; the
# copy recovers as after a crash.  No dump, because not every installation has
# the program.
replica_snapshot() {
	local pid rc
	read -r pid _ < "$PRIMARY/process"
	kill -STOP "$pid"
	# A thread that is writing stops only afterwards.
	wait_for 30 replica_stands_still "$pid"
	cp -a --reflink=auto "$PRIMARY/data" "$REPLICA/data"
	rc=$?
	kill -CONT "$pid"
	# The copy must not have the identity and the source of the original.
	rm -f "$REPLICA"/data/{auto.cnf,master.info,relay-log.info} \
	    "$REPLICA"/data/*relay-bin*
	return "$rc"
}

replica_follow() {
	# All events of the copied binlog come from the primary.
	[ "$KIND" = mysql ] || "$SANDBOX" sql "$REPLICA" \
	    -e 'SET GLOBAL gtid_slave_pos = @@gtid_binlog_pos'
	"$SANDBOX" sql "$REPLICA" -e "$REPLICA_CHANGE $REPLICA_FROM =
	    $(replica_port "$PRIMARY"); START $REPLICA_WORD"
}

# Make the accounts for TCP, and one for replication.
replica_accounts() {
	sql "CREATE USER IF NOT EXISTS 'repl'@'127.0.0.1'
	    IDENTIFIED BY '$REPL_PW';
	    GRANT REPLICATION SLAVE ON *.* TO 'repl'@'127.0.0.1';
	    CREATE USER IF NOT EXISTS 'outbox'@'127.0.0.1'
	    IDENTIFIED BY '$OUTBOX_PW';
	    CREATE USER IF NOT EXISTS 'outbox_producer'@'127.0.0.1'
	    IDENTIFIED BY '$PRODUCER_PW'" &&
	    sed "s/@'localhost'/@'127.0.0.1'/" "$srcdir/sql/grants.sql" |
	    "$SANDBOX" sql "$PRIMARY" app
}

# replica_start: make the first replica
replica_start() { replica_accounts && replica_clone; }

# Both servers as items of mysql.hosts, and a configuration with them.
replica_hosts() {
	printf '"127.0.0.1:%s", "127.0.0.1:%s"' \
	    "$(replica_port "$DIR/db")" "$(replica_port "$DIR/db2")"
}

replica_conf() {
	local key=''
	# An account of MySQL logs in by TCP with the key, which the copy has.
	[ "$KIND" = mariadb ] ||
	    key=", server_public_key: $DIR/db/data/public_key.pem"
	sed -i "s|socket: \"[^\"]*\"|hosts: [$(replica_hosts)]$key|" "${1:-$CONF}"
}

# Kill the primary; the replica applies all it received and takes over.
replica_promote() { replica_take_over && replica_swap; }

# Both halves of it, for callers that run the first in a subshell.
replica_take_over() {
	"$SANDBOX" kill "$PRIMARY" >/dev/null
	replica_sql "STOP $REPLICA_WORD IO_THREAD"
	wait_for 30 replica_is_idle || {
		replica_trouble >&2
		return 1
	}
	replica_sql "STOP $REPLICA_WORD; RESET $REPLICA_WORD ALL" || return 1
	# It must not become a replica again after a restart.
	sed -i '/^read_only/d' "$REPLICA/my.cnf"
	replica_sql 'SET GLOBAL read_only = 0'
}

replica_swap() {
	local dead=$PRIMARY
	PRIMARY=$REPLICA
	REPLICA=$dead
	SOCKET=$(. "$PRIMARY/env" && echo "$SOCKET")
	DB_PORT=$(replica_port "$PRIMARY")
}

# replica_again: throw away the data of the dead server, and make it the replica
# of the new primary
replica_again() {
	"$SANDBOX" kill "$REPLICA" >/dev/null
	rm -rf "$REPLICA/data"
	replica_clone
}

# replica_semisync POINT TIMEOUT_MS: a commit waits up to TIMEOUT_MS for the
# replica, before (AFTER_SYNC) or after (AFTER_COMMIT) others see it
replica_semisync() {
	local source=rpl_semi_sync_master replica=rpl_semi_sync_slave
	if [ "$KIND" = mysql ]; then
		source=rpl_semi_sync_source replica=rpl_semi_sync_replica
		"$SANDBOX" sql "$PRIMARY" -e "SET SESSION sql_log_bin = 0;
		    INSTALL PLUGIN $source SONAME 'semisync_source.so'"
		"$SANDBOX" sql "$REPLICA" -e "SET SESSION sql_log_bin = 0;
		    INSTALL PLUGIN $replica SONAME 'semisync_replica.so'"
	fi
	"$SANDBOX" sql "$PRIMARY" -e "SET GLOBAL ${source}_wait_point = $1;
	    SET GLOBAL ${source}_timeout = $2;
	    SET GLOBAL ${source}_enabled = ON" &&
	    "$SANDBOX" sql "$REPLICA" -e "SET GLOBAL ${replica}_enabled = ON;
		STOP $REPLICA_WORD IO_THREAD; START $REPLICA_WORD IO_THREAD"
}
