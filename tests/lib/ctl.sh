# ctl.sh - helpers for tests of outboxctl; includes lib.sh
#
# ctl [-c FILE] ...: run outboxctl, with $CONF unless the arguments begin with
# -c; sets OUT, ERR and RC.  In the commands that it names the file is left out:
# run_health.sh runs them as they are.  field FILTER: jq's result for OUT.

# shellcheck shell=bash disable=SC2034

. "${srcdir:-$(dirname "$0")/../..}/tests/lib/lib.sh"

ctl() {
	local file=(-c "$CONF")
	[ "${1:-}" != -c ] || file=()
	[ $# -gt 0 ] || file=()
	OUT=$("$OUTBOXCTL" "${file[@]}" "$@" 2> "$DIR/ctl.err" < /dev/null)
	RC=$?
	ERR=$(cat "$DIR/ctl.err")
	[ "${1:-}" != -c ] || file=(-c "${2:-}")
	OUT=${OUT//"outboxctl ${file[*]} "/outboxctl }
	ERR=${ERR//"outboxctl ${file[*]} "/outboxctl }
}

field() { jq -rc "$1" <<< "$OUT"; }

# These run outboxctl with the arguments behind NAME:
#
#	shows FILTER EXPECTED NAME [ARGUMENT...]	with --json
#	exits STATUS NAME ARGUMENT...
#	prints TEXT NAME ARGUMENT...			with status 0
#	matches REGEX NAME ARGUMENT...			on standard output
#	fails STATUS REGEX NAME ARGUMENT...		on standard error
#
# Without an argument shows takes the last output.
shows() {
	if [ "${4:-}" = -c ]; then
		ctl -c "$5" --json "${@:6}"
	elif [ $# -gt 3 ]; then
		ctl --json "${@:4}"
	fi
	is "$(field "$1")" "$2" "$3"
}
exits() {
	ctl "${@:3}"
	is "$RC" "$1" "$2"
}
prints() {
	ctl "${@:3}"
	is "$RC $OUT" "0 $1" "$2"
}
matches() {
	ctl "${@:3}"
	like "$OUT" "$1" "$2"
}
fails() {
	ctl "${@:4}"
	is "$RC" "$1" "$3: exit status $1"
	like "$ERR" "$2" "$3: the error says why"
}

# refuses: lines of standard input are the text of an error, with _ for each
# blank, and the wrong arguments that it is about
refuses() {
	local text args
	while read -r text args; do
		# shellcheck disable=SC2086
		fails 2 "^outboxctl: (.* )?${text//_/ }" "outboxctl $args" $args
		is "$OUT" '' "outboxctl $args: nothing on standard output"
	done
}

# misused COMMAND WRONG...: each of these options or arguments is wrong
misused() {
	local wrong
	for wrong in "${@:2}"; do
		# shellcheck disable=SC2086
		ctl $1 $wrong
		is "$RC" 2 "outboxctl $1 $wrong: exit status 2"
	done
}

# without_server COMMAND...: stop the database, and see each command fail
without_server() {
	local command
	"$SANDBOX" stop "$DIR/db" >/dev/null
	for command; do
		# shellcheck disable=SC2086
		ctl $command
		is "$RC" 3 "${command#-c * } without a server: exit status 3"
	done
}

# hold STATEMENTS: in a transaction that ends with release [STATEMENTS];
# a background process that is started meanwhile needs 3>&-
hold() {
	mkfifo "$DIR/held"
	"$SANDBOX" sql "$DIR/db" -n -N app < "$DIR/held" > "$DIR/held.out" &
	HOLDER=$!
	exec 3> "$DIR/held"
	echo "START TRANSACTION; $1; SELECT 'held';" >&3
	wait_for 10 has_line "$DIR/held.out" held
}
release() {
	echo "${1:-} COMMIT;" >&3
	exec 3>&-
	wait "$HOLDER"
	rm "$DIR/held"
}

# audited: the last row of the audit
audited() { sql "SELECT CONCAT_WS(' ', login, command, arguments, changed)
    FROM outbox_audit ORDER BY id DESC LIMIT 1"; }

# hide_tables: leave those of Pillar alone; show_tables: all are there again
rename_tables() {
	sql "RENAME TABLE $(sed -E "s/[a-z_]+/$1& TO $2&/g" <<< \
	    'settings, dead_letters, blocked_keys, streams, audit')"
}
hide_tables() { rename_tables outbox_ away_; }
show_tables() { rename_tables away_ outbox_; }

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
