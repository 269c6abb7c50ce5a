# pool.sh - servers that the tests of a suite reuse
#
# Sourced by lib.sh and by quickstart.  OUTBOX_POOL names the pool, a directory
# with a pair of servers in each of its slots.  A test locks a slot, uses its
# servers as if it had started them, and gives them back.  They are cleaned up
# and their state is compared with that after the start.  A server whose state
# differs, or whose test failed, is thrown away.
#
# Tests need not know of the pool.  A test may stop and kill its servers and
# change global variables; then the next test has to start servers.  Servers
# with configuration lines of their own are never from the pool.

# shellcheck shell=bash

POOL_SLOT=			# ours

# MariaDB commits as ever, but waits for no disk: a killed server loses nothing,
# as the system lives on.
POOL_LINES=(innodb_flush_method=nosync debug_no_sync=1)

# pool_open SANDBOX: make a pool, which ends when this process ends
pool_open() {
	OUTBOX_POOL=$(mktemp -d "${TMPDIR:-/tmp}/outbox-pool.XXXXXX") || return
	chmod 711 "$OUTBOX_POOL"	# a daemon of another user connects
	export OUTBOX_POOL
	# A session of its own survives the signals that end us.
	# shellcheck disable=SC2016
	setsid bash -c '. "$1"; tail --pid="$2" -f /dev/null
	    pool_end "$3" "$4"' keeper "${BASH_SOURCE[0]}" "$$" "$1" \
	    "$OUTBOX_POOL" </dev/null >/dev/null 2>&1 &
	POOL_KEEPER=$!
}

# pool_end SANDBOX POOL: kill all servers and remove the pool
pool_end() {
	"$1" kill "$2"/*/db "$2"/*/nats
	rm -rf -- "$2"
}

pool_close() {
	[ -n "${OUTBOX_POOL:-}" ] || return 0
	pool_end "$1" "$OUTBOX_POOL" || :
	kill -- "-$POOL_KEEPER" || :
	wait "$POOL_KEEPER" || :	# 143, and the caller may have set -e
	unset OUTBOX_POOL
} 2>/dev/null

pool_sql() { "$SANDBOX" sql "$POOL_SLOT/db" -N "$@"; }

# State that a test must not change: configuration, accounts and rights, global
# variables except counters.
pool_state() {
	cat "$POOL_SLOT/db/my.cnf" &&
	pool_sql -e "SHOW DATABASES;
	    CHECKSUM TABLE mysql.global_priv, mysql.db, mysql.tables_priv,
	    mysql.columns_priv, mysql.procs_priv, mysql.proxies_priv,
	    mysql.roles_mapping, mysql.proc, mysql.event, mysql.func,
	    mysql.plugin, mysql.servers, mysql.general_log, mysql.slow_log,
	    mysql.gtid_slave_pos;
	    SELECT * FROM information_schema.global_variables
	    WHERE variable_name NOT LIKE 'GTID%POS'
	    AND variable_name NOT LIKE 'GTID%STATE' ORDER BY 1"
}

pool_start_db() {
	"$SANDBOX" start mariadb "$POOL_SLOT/db" "${POOL_LINES[@]}" \
	    >/dev/null || return
	cp "$POOL_SLOT/db/process" "$POOL_SLOT/process"
	[ -e "$POOL_SLOT/state" ] || pool_state > "$POOL_SLOT/state"
}

# nats-server starts faster than it can be cleaned up.
pool_renew_nats() {
	"$SANDBOX" kill "$POOL_SLOT/nats" && rm -rf "$POOL_SLOT/nats" &&
	    "$SANDBOX" start nats "$POOL_SLOT/nats" >/dev/null
}

pool_throw_away() {
	"$SANDBOX" kill "$POOL_SLOT/db" "$POOL_SLOT/nats"
	rm -rf "$POOL_SLOT"/{db,nats,clean,state,process}
}

# pool_lock: lock the first free slot
pool_lock() {
	local n
	for ((n = 1; n <= 64; n++)); do
		POOL_SLOT=$OUTBOX_POOL/$n
		mkdir "$POOL_SLOT" 2>/dev/null || [ -d "$POOL_SLOT" ] || break
		{ exec {POOL_LOCK}> "$POOL_SLOT/lock"; } 2>/dev/null || break
		flock -n "$POOL_LOCK" && return
		exec {POOL_LOCK}>&-
	done
	POOL_SLOT=
	return 1
}

# pool_take: make $DIR/db and $DIR/nats; 1 if there is no pool or no slot
pool_take() {
	[ -d "${OUTBOX_POOL:-}" ] && pool_lock || return
	# The file exists only while no test uses the slot, so after a killed
	# test the servers are thrown away.
	rm "$POOL_SLOT/clean" 2>/dev/null ||
	    { pool_throw_away && pool_start_db && pool_renew_nats; } || {
		pool_throw_away
		flock -u "$POOL_LOCK"
		POOL_SLOT=
		return 1
	}
	ln -s "$POOL_SLOT/db" "$POOL_SLOT/nats" "$DIR/"
}

# Is the server still the process that we started?  If it was shut down
# properly, it is started again.
pool_is_whole() {
	if "$SANDBOX" status "$POOL_SLOT/db" >/dev/null; then
		cmp -s "$POOL_SLOT/db/process" "$POOL_SLOT/process"
	else
		tail -n 1 "$POOL_SLOT/db/log" | grep -q 'Shutdown complete' &&
		    "$SANDBOX" restart "$POOL_SLOT/db" >/dev/null &&
		    cp "$POOL_SLOT/db/process" "$POOL_SLOT/process"
	fi
}

pool_is_quiet() {
	[ "$(pool_sql -e "SELECT COUNT(*) FROM information_schema.processlist
	    WHERE id <> CONNECTION_ID() AND user <> 'system user'")" = 0 ]
}

# Statements that remove connections, databases and accounts.  Readers of the
# binlog are killed, too: a closed one is noticed only at the next event.
pool_rest() {
	pool_sql -e "SELECT CONCAT('KILL ', id, ';')
	    FROM information_schema.processlist
	    WHERE id <> CONNECTION_ID() AND user <> 'system user';
	    SELECT CONCAT('DROP DATABASE \`', schema_name, '\`;')
	    FROM information_schema.schemata WHERE schema_name NOT IN
	    ('mysql', 'sys', 'information_schema', 'performance_schema');
	    SELECT CONCAT('DROP USER ', QUOTE(user), '@', QUOTE(host), ';')
	    FROM mysql.global_priv WHERE user NOT IN ('root', 'mariadb.sys')"
}

pool_clean_db() {
	local rest
	rest=$(pool_rest) && pool_sql --force -e "$rest" &&
	    wait_for 5 pool_is_quiet &&
	    pool_sql -e 'TRUNCATE TABLE mysql.general_log;
		TRUNCATE TABLE mysql.slow_log; RESET MASTER' &&
	    pool_state | cmp -s - "$POOL_SLOT/state"
}

# pool_give_back STATUS: give back the servers; STATUS is the test's
pool_give_back() {
	[ -n "$POOL_SLOT" ] || return
	rm -f "$DIR/db" "$DIR/nats"
	if [ "$1" -eq 0 ] && pool_is_whole && pool_clean_db && pool_renew_nats
	then
		: > "$POOL_SLOT/clean"
	else
		pool_throw_away
	fi
	# Unlock, as a process left by the test may have the file open, too.
	flock -u "$POOL_LOCK"
} >/dev/null 2>&1
