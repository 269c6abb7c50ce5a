#!/usr/bin/env bash
# Another partition count where no table has it: on the tables of the PHP
# package Pillar, by the daemon's file.
. "${srcdir:-$(dirname "$0")/../..}/tests/lib/ctl.sh"
. "$srcdir/tests/lib/pillar.sh"

start_servers
pillar_tables
PARTITIONS=16 write_conf
echo 16 > "$DIR/count"

# set_counts COUNT [FORMER,...]: change them in the file
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
# see_workers N: the last report of each of our two workers has N workers
see_workers() { ! grep 'holds' "$LOG" | tail -n 2 | grep -qv "; $1 workers"; }
labels() { sql "SELECT COUNT(*), MAX(partition_key) FROM outbox_partitions
    WHERE partition_key LIKE 'p%'" | tr '\t' ' '; }

start_fleet
# Some producers read a new count from the file, up to two seconds late.
produce_forever --keys 120 --rate 500 --per-txn 3 --payload 50 --producers 4 \
    --producers-by fixed:16,late:2 --count-file "$DIR/count"

reload 48
wait_for 10 has_line "$LOG" 'reload: outbox.partition_count: without a settings table the file must name the count that producers still use: add outbox.former_counts: \[16\]; keeping the old configuration .generation 1'
ok $? 'a reload without former_counts is refused, with advice'
within 10 'the old generation sends messages' \
    has_published $(($(published) + 300))
is "$(labels)" '16 p15' 'a refused reload makes no lease row'

reload 48 16
within 30 'a reload with former_counts replaces the workers' are_replaced
check 'a reload with former_counts: generation 2' \
    has_line "$LOG" 'reload: generation 2'
is "$(labels)" '48 p47' 'a reload with former_counts: leases of both counts'
# Rows of a key that are to be sent at once, under several labels.
ctl partitions pause --all --yes
echo 48 > "$DIR/count"
wait_for 15 is_sql 'SELECT COUNT(*) > 500 FROM outbox
    WHERE partition_key > "p15" AND published_at IS NULL' 1
ok $? 'some producers use the new count'
exits 0 'partitions resume: exit status 0' partitions resume --all

# A worker of another program owns labels, not classes.  Ours see it with
# their next look.
sql "INSERT INTO outbox_workers (id, hostname, pid, heartbeat_until)
    VALUES ('stranger', 'host', 1, NOW() + INTERVAL 1 HOUR)"
wait_for 10 see_workers 3
reload 32 16,48
wait_for 10 has_line "$LOG" 'reload: outbox.partition_count: a worker of another program shares the tables, .*stop it first; keeping the old configuration .generation 2'
ok $? 'a reload beside a worker of another program is refused'
sql "DELETE FROM outbox_workers WHERE id = 'stranger'"
wait_for 10 see_workers 2
reload 32 16,48
within 30 'a reload without that worker replaces the workers' are_replaced
echo 32 > "$DIR/count"
within 15 'messages are sent under the new count' \
    has_published $(($(published) + 1500))
kill -TERM "$PRODUCER"
check 'no producer failed' wait "$PRODUCER"
drains 30 'all rows are sent'
check "$(moved_keys) keys, more than 30, have had several labels" \
    [ "$(moved_keys)" -gt 30 ]

# The end.
ctl partitions sync --finish
is "$RC" 1 'sync --finish without former_label_at: exit status 1'
like "$ERR" 'has no column former_label_at.*or use --force' \
    'sync --finish: the error names the column and --force'
ctl partitions sync --finish --force
is "$RC $OUT" '0 Nothing prevents it: remove outbox.former_counts from the configuration of each host, and reload the daemons.' \
    'sync --finish --force: says what to do in the file'
reload 32
within 30 'a reload without former_counts replaces the workers' are_replaced
produce --events 300 --keys 120 --producers-by late:0 --count-file "$DIR/count"
drains 20 'messages are sent after that'
stops 'the master stops with status 0'
check_pillar 'the stream is complete and in order, nothing twice'
done_testing
