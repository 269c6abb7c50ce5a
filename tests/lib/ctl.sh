# ctl.sh - for tests of outboxctl; sourced after lib.sh
#
# ctl [-c FILE] ...: run it, with $CONF unless the arguments begin with -c;
# sets OUT, ERR and RC.  field FILTER: of OUT, by jq.

# shellcheck shell=bash disable=SC2034

OUTBOXCTL=${OUTBOXCTL:-./outboxctl}

ctl() {
	local file=(-c "$CONF")
	[ "${1:-}" != -c ] || file=()
	[ $# -gt 0 ] || file=()
	OUT=$("$OUTBOXCTL" "${file[@]}" "$@" 2> "$DIR/ctl.err" < /dev/null)
	RC=$?
	ERR=$(cat "$DIR/ctl.err")
}

field() { jq -r "$1" <<< "$OUT"; }

# tables: a checksum of all tables, to see that nothing was changed
tables() {
	sql "SELECT GROUP_CONCAT(table_name SEPARATOR ',') FROM
	    information_schema.tables WHERE table_schema = 'app' AND
	    table_type = 'BASE TABLE'" | {
		read -r list
		sql "CHECKSUM TABLE $list"
	}
}

# Of a list, in its order; how often the owners of leases were rung.
sequences() { field '[.rows[].sequence] | join(" ")'; }
epochs() { sql 'SELECT SUM(lease_epoch) FROM outbox_partitions'; }

# as_operator: an account with all rights, and a configuration for it in $OP
as_operator() {
	OP=$DIR/operator.yml
	sql "CREATE USER 'operator'@'localhost' IDENTIFIED BY '$OUTBOX_PW';
	    GRANT ALL ON app.* TO 'operator'@'localhost'"
	sed 's/user: outbox,/user: operator,/' "$CONF" > "$OP"
}

# start_with_operator: servers, and what an operator needs to enqueue
start_with_operator() {
	start_servers
	write_conf
	as_operator
	sql 'UPDATE outbox_settings SET partition_count = 16'
}
