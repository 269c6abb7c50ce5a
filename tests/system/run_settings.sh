#!/usr/bin/env bash
# A server that is set to almost anything: nothing is lost, reconcile makes all
# rows, status and schema check are right.  By hand also with KIND=mysql.
. "${srcdir:-$(dirname "$0")/../..}/tests/lib/lib.sh"
. "$srcdir/tests/lib/ctl.sh"

# What a server may be set to, and an operator's reason for most of it exists.
EVIL=(sql_select_limit=300 sql_safe_updates=1 max_join_size=100
    sql_big_selects=0 group_concat_max_len=4 sql_auto_is_null=1
    "sql_mode='ANSI,NO_BACKSLASH_ESCAPES,NO_UNSIGNED_SUBTRACTION,HIGH_NOT_PRECEDENCE,ONLY_FULL_GROUP_BY,NO_AUTO_VALUE_ON_ZERO'"
    "time_zone='+05:00'" max_sort_length=64 autocommit=0 completion_type=CHAIN
    "lc_messages='de_DE'" sql_quote_show_create=0 foreign_key_checks=0
    unique_checks=0 div_precision_increment=0 max_error_count=0
    wait_timeout=2 net_read_timeout=1 net_write_timeout=1
    innodb_lock_wait_timeout=1 lock_wait_timeout=1 default_week_format=5
    "lc_time_names='de_DE'" explicit_defaults_for_timestamp=0)
if [ "$KIND" = mariadb ]; then
	EVIL+=(max_statement_time=0.05 "tx_isolation='SERIALIZABLE'"
	    tx_read_only=1 sql_if_exists=1 "default_regex_flags='EXTENDED'"
	    "system_versioning_asof='2020-01-01 00:00:00'"
	    check_constraint_checks=0 in_predicate_conversion_threshold=2
	    optimizer_max_sel_arg_weight=1 innodb_snapshot_isolation=1
	    "optimizer_switch='derived_merge=off,materialization=off,semijoin=off,index_condition_pushdown=off'")
else
	EVIL+=(max_execution_time=20 "transaction_isolation='SERIALIZABLE'"
	    transaction_read_only=1 information_schema_stats_expiry=86400
	    range_optimizer_max_mem_size=100 explain_format=TREE
	    "optimizer_switch='derived_merge=off,materialization=off,semijoin=off,index_condition_pushdown=off'")
fi

start_servers
STORE=$DIR/nats/js
MILD='autocommit = 1'

# As on any server: the test's own sessions, and lab's.
sql() { "$SANDBOX" sql "$DIR/db" -N --init-command="SET SESSION $MILD" \
    app -e "$1"; }

# A value in SQL, as the server has it now
value_of() {
	local value
	value=$("$SANDBOX" sql "$DIR/db" -N -e "SELECT QUOTE(@@GLOBAL.$1)")
	case $value in
	"'DEFAULT'") echo DEFAULT ;;
	"''" | *[!0-9.\']*) echo "$value" ;;
	*) echo "${value//\'/}" ;;
	esac
}

be_evil() {
	local setting
	for setting in "${EVIL[@]}"; do
		MILD+=", ${setting%%=*} = $(value_of "${setting%%=*}")"
	done
	printf 'SET GLOBAL %s;\n' "${EVIL[@]}" |
	    "$SANDBOX" sql "$DIR/db"
}

# events COUNT FIRST: events of fifty keys, and outbox FROM: their rows
events() {
	sql "INSERT INTO events (stream_id, stream_sequence, event_type,
	    event_data) SELECT CONCAT('order-', n MOD 50), n, 'events.x', 'x'
	    FROM $(numbers "$1" "$2") ORDER BY n"
}
outbox() {
	sql "INSERT INTO outbox (global_sequence, partition_key)
	    SELECT sequence, CONCAT('p', LPAD(CRC32(stream_id) MOD 16, 2, '0'))
	    FROM events WHERE stream_sequence >= $1"
}

# lab asks the database, too.
stored() { curl -s "http://127.0.0.1:$(. "$DIR/nats/env" &&
    echo "$HTTP_PORT")/jsz" | jq .messages; }
checked() { sql "SELECT servers FROM outbox_streams WHERE name = 'EVENTS'"; }
was_checked() { [ "$(checked)" != "$1" ]; }

sql "GRANT REPLICATION SLAVE, REPLICATION CLIENT ON *.* TO 'outbox'@'localhost'"
write_conf
as_operator
be_evil
WORKERS=2 WAKE='binlog: true' write_conf
start_fleet
cp -a "$STORE" "$DIR/saved"

# The listener's sessions, too: with an idle time of its own it stays.
within 10 'the listener follows the binlog' has_listener
events 1400 1
outbox 1
drains 20 '1,400 messages are delivered'
is "$(stored)" 1400 'the stream has them all'

# A broker that goes back in time has lost them.
before=$(checked)
"$SANDBOX" kill "$DIR/nats" > /dev/null
rm -rf "$STORE" && cp -a "$DIR/saved" "$STORE"
"$SANDBOX" restart "$DIR/nats" > /dev/null
within 20 'the stream is checked' was_checked "$before"
within 20 'all messages that the broker lost are sent again' is_stored 1400
drains 10 'no row waits'

# Events that have no rows, more of them than sql_select_limit
events 700 1401
prints 'Reconciled 700 outbox rows from the event store.' \
    'reconcile makes all rows' -c "$OP" reconcile --limit 1000 --yes
[ "$RC" -eq 0 ] || say "$ERR"
drains 20 'their messages are delivered'
is "$(stored)" 2100 'the stream has those as well'

# The restart was a short time ago.
is_well() { ctl status && [ "$RC" -eq 0 ]; }
within 20 'status: the fleet is healthy' is_well
exits 0 'schema check finds nothing wrong' schema check
ctl --json messages list --state delivered --limit 500
[ "$RC" -eq 0 ] || say "$ERR"
is "$(field '.rows | length')" 500 'a list has as many rows as were asked'
# MySQL has not counted them yet.
sql 'ANALYZE TABLE outbox, events' > /dev/null
exits 0 'doctor finds nothing wrong' doctor ||
    { say "$OUT"; say "$ERR"; }

# A producer's session has the same variables, but for what forbids writing.
label() { sql "SELECT partition_key FROM outbox JOIN events
    ON sequence = global_sequence WHERE stream_id = '$1'"; }
"$SANDBOX" sql "$DIR/db" app -e "SET SESSION TRANSACTION READ WRITE;
    START TRANSACTION;
    CALL outbox_enqueue('evil', NULL, 'events.x', 1, NULL, NULL, 'x'); COMMIT"
is "$(label evil)" "$(sql "SELECT CONCAT('p', LPAD(CRC32('evil') MOD 16, 2,
    '0'))")" 'the procedure works in a session of a producer'
drains 10 'and its message is delivered'

stops 'the master stops with status 0'
is "$(grep -c ' error ' "$LOG")" 0 'the log has no error'
[ "$FAILED" -eq 0 ] || grep ' warn \| error ' "$LOG" | sed 's/^/# /'
"$SANDBOX" sql "$DIR/db" -e "SET GLOBAL $MILD"
check_stream 'the stream is complete and in order, nothing twice' --wait 10
done_testing
