# ctl.sh - helpers for tests of outboxctl; includes lib.sh
#
# ctl [-c FILE] ...: run outboxctl, with $CONF unless the arguments begin with
# -c; sets OUT, ERR and RC.  field FILTER: jq's result for OUT.

# shellcheck shell=bash disable=SC2034

. "${srcdir:-$(dirname "$0")/../..}/tests/lib/lib.sh"

ctl() {
	local file=(-c "$CONF")
	[ "${1:-}" != -c ] || file=()
	[ $# -gt 0 ] || file=()
	OUT=$("$OUTBOXCTL" "${file[@]}" "$@" 2> "$DIR/ctl.err" < /dev/null)
	RC=$?
	ERR=$(cat "$DIR/ctl.err")
}

field() { jq -r "$1" <<< "$OUT"; }

# refuses: of lines "STATUS TEXT ARGUMENT...": outboxctl exits with that, and
# its error has the text, in which _ is a blank
refuses() {
	local rc text args
	while read -r rc text args; do
		# shellcheck disable=SC2086
		ctl $args
		is "$RC" "$rc" "outboxctl $args: status $rc"
		like "$ERR" "^outboxctl: (.* )?${text//_/ }" "and says ${text//_/ }"
		is "$OUT" '' 'and nothing else'
	done
}

# tables: a checksum of all tables, to check that nothing was changed
tables() {
	sql "SELECT GROUP_CONCAT(table_name SEPARATOR ',') FROM
	    information_schema.tables WHERE table_schema = 'app' AND
	    table_type = 'BASE TABLE'" | {
		read -r list
		sql "CHECKSUM TABLE $list"
	}
}

# Sequences of a list, in its order; the sum of all epochs.
sequences() { field '[.rows[].sequence] | join(" ")'; }
epochs() { sql 'SELECT SUM(lease_epoch) FROM outbox_partitions'; }

lease_labels() { sql 'SELECT GROUP_CONCAT(partition_key ORDER BY 1) FROM
    outbox_partitions'; }
declared_counts() { sql 'SELECT partition_count, COALESCE(former_counts, "-")
    FROM outbox_settings' | tr '\t' ' '; }
is_sent() { is_sql "SELECT published_at IS NOT NULL FROM outbox
    WHERE global_sequence = $1" 1; }

# set_count COUNT: set it in the files of the daemon and of the operator
set_count() { sed -i "s/partition_count: [0-9]*/partition_count: $1/" "$CONF" "$OP"; }

# declare_counts COUNT [FORMER]: as if sync had changed it long ago; the files
# have COUNT, and no message had a former label
declare_counts() {
	sql "UPDATE outbox_settings SET partition_count = $1, former_counts =
		NULLIF('${2:-}', ''), counts_since = NOW(6) - INTERVAL 11 MINUTE;
	    UPDATE outbox_partitions SET former_label_at = NULL"
	set_count "$1"
}

# put_row KEY N [TYPE [COLUMN=VALUE,...]]: one of 4 partitions; sets SEQ
put_row() {
	sql "START TRANSACTION;
	INSERT INTO events (stream_id, stream_sequence, event_type, event_data)
	    VALUES ('$1', $2, '${3:-ok}', 'payload');
	INSERT INTO outbox (global_sequence, partition_key)
	    SELECT LAST_INSERT_ID(), CONCAT('p0', CRC32('$1') % 4);
	UPDATE outbox SET ${4:-attempts = 0}
	    WHERE global_sequence = LAST_INSERT_ID();
	COMMIT"
	SEQ=$(sql 'SELECT MAX(sequence) FROM events')
}

# as_operator: make an account with all rights, and its configuration $OP
as_operator() {
	OP=$DIR/operator.yml
	sql "CREATE USER 'operator'@'localhost' IDENTIFIED BY '$OUTBOX_PW';
	    GRANT ALL ON app.* TO 'operator'@'localhost'"
	sed 's/user: outbox,/user: operator,/' "$CONF" > "$OP"
}

# start_with_operator: start servers; an operator can enqueue then
start_with_operator() {
	start_servers
	write_conf
	as_operator
	sql 'UPDATE outbox_settings SET partition_count = 16'
}
