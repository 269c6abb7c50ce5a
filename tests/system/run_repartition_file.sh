#!/usr/bin/env bash
# Another partition count where no table has it: on the tables of the PHP
# package Pillar, by the daemon's file.
. "${srcdir:-$(dirname "$0")/../..}/tests/lib/ctl.sh"
. "$srcdir/tests/lib/pillar.sh"

start_servers
pillar_tables
PARTITIONS=16 write_conf
echo 16 > "$DIR/count"

# set_counts COUNT [FORMER,...]: what the file says
set_counts() {
	sed -i "s/partition_count: [^}]*,/partition_count: $1, former_counts: [${2:-}],/" \
	    "$CONF"
}
# reload COUNT [FORMER,...]
reload() {
	mapfile -t BEFORE < <(worker_pids "$MASTER")
	set_counts "$@"
	kill -HUP "$MASTER"
}
are_replaced() { ! kill -0 "${BEFORE[@]}" 2>/dev/null; }
# What ours said of late, each of them.
see_workers() { ! grep 'holds' "$LOG" | tail -n 2 | grep -qv "; $1 workers"; }
labels() { sql "SELECT COUNT(*), MAX(partition_key) FROM outbox_partitions
    WHERE partition_key LIKE 'p%'" | tr '\t' ' '; }

# A producer of this kind looks into the file for the count, some time later.
produce_forever() {
	"$LAB" produce --socket "$SOCKET" --user outbox_producer \
	    --password-env PRODUCER_PW --database app --forever --keys 120 \
	    --rate 500 --per-txn 3 --payload 50 --producers 4 \
	    --producers-by fixed:16,late:2 --count-file "$DIR/count" \
	    > "$DIR/produced" &
	PRODUCER=$!
	MASTERS+=("$PRODUCER")		# to be ended with us
}

start_fleet
produce_forever

reload 48
wait_for 10 has_line "$LOG" 'reload: outbox.partition_count: without a settings table the file must name the count that producers still use: add outbox.former_counts: \[16\]; keeping the old configuration .generation 1'
ok $? 'another count without the former one is refused, with advice'
wait_for 10 has_published $(($(published) + 300))
ok $? 'the old generation goes on'
is "$(labels)" '16 p15' 'as it was'

reload 48 16
wait_for 30 are_replaced
ok $? 'with it named the workers are replaced'
has_line "$LOG" 'reload: generation 2'
ok $? 'in a new generation'
is "$(labels)" '48 p47' 'and there are the leases of both counts'
# Rows of a key that are to be sent at once, under several labels.
ctl partitions pause
echo 48 > "$DIR/count"
wait_for 15 is_sql 'SELECT COUNT(*) > 500 FROM outbox
    WHERE partition_key > "p15" AND published_at IS NULL' 1
ok $? 'producers use it, some of them'
ctl partitions resume
is "$RC" 0 'what was paused goes on'

# A worker of another program owns labels, not classes.  Ours see it with
# their next look.
sql "INSERT INTO outbox_workers (id, hostname, pid, heartbeat_until)
    VALUES ('stranger', 'host', 1, NOW() + INTERVAL 1 HOUR)"
wait_for 10 see_workers 3
reload 32 16,48
wait_for 10 has_line "$LOG" 'reload: outbox.partition_count: a worker of another program shares the tables, .*stop it first; keeping the old configuration .generation 2'
ok $? 'no change with a worker of another program'
sql "DELETE FROM outbox_workers WHERE id = 'stranger'"
wait_for 10 see_workers 2
reload 32 16,48
wait_for 30 are_replaced
ok $? 'another change, when it is gone'
echo 32 > "$DIR/count"
wait_for 15 has_published $(($(published) + 1500))
ok $? 'messages go on'
kill -TERM "$PRODUCER"
wait "$PRODUCER"
ok $? 'producers have not noticed'
drains 30 'all is sent'
[ "$(moved_keys)" -gt 30 ]
ok $? "$(moved_keys) keys have had several labels"

# The end.
ctl partitions sync --finish
is "$RC" 1 'nobody knows whether a producer uses a former count'
like "$ERR" 'has no column former_label_at.*or use --force' 'which is said'
ctl partitions sync --finish --force
is "$RC $OUT" '0 Nothing prevents it: remove outbox.former_counts from the configuration of each host, and reload the daemons.' \
    'a person may'
reload 32
wait_for 30 are_replaced
ok $? 'and does: a reload'
"$LAB" produce --socket "$SOCKET" --user outbox_producer \
    --password-env PRODUCER_PW --database app --events 300 --keys 120 \
    --producers-by late:0 --count-file "$DIR/count" > "$DIR/produced"
drains 20 'all goes on'
stops 'stops'
sql "CREATE TABLE outbox_dead_letters (global_sequence BIGINT UNSIGNED,
    attempts INT, reason TEXT, last_error TEXT, order_key TEXT)"
check_stream 'all is there, in order, nothing twice' --wait 10
done_testing
