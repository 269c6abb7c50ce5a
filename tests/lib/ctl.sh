# ctl.sh - for tests of outboxctl, with lib.sh
#
# ctl [-c FILE] ...: run it, with $CONF unless the arguments begin with -c;
# sets OUT, ERR and RC.  field FILTER: of OUT, by jq.

# shellcheck shell=bash disable=SC2034

. "${srcdir:-$(dirname "$0")/../..}/tests/lib/lib.sh"
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

lease_labels() { sql 'SELECT GROUP_CONCAT(partition_key ORDER BY 1) FROM
    outbox_partitions'; }
declared_counts() { sql 'SELECT partition_count, COALESCE(former_counts, "-")
    FROM outbox_settings' | tr '\t' ' '; }
is_sent() { is_sql "SELECT published_at IS NOT NULL FROM outbox
    WHERE global_sequence = $1" 1; }

# set_count COUNT: in the files of the daemon and of the operator
set_count() { sed -i "s/partition_count: [0-9]*/partition_count: $1/" "$CONF" "$OP"; }

# declare_counts COUNT [FORMER]: as if by sync, long ago; the files have COUNT,
# and all is quiet
declare_counts() {
	sql "UPDATE outbox_settings SET partition_count = $1, former_counts =
		NULLIF('${2:-}', ''), counts_since = NOW(6) - INTERVAL 11 MINUTE;
	    UPDATE outbox_partitions SET former_label_at = NULL"
	set_count "$1"
}

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
