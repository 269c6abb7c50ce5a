#!/usr/bin/env bash
# outboxctl partitions sync, pause, resume: what they change, what they refuse,
# and that they change nothing otherwise.
. "${srcdir:-$(dirname "$0")/..}/tests/lib.sh"
. "$srcdir/tests/ctl.sh"

start_servers
PARTITIONS=4 write_conf
as_operator

# wish COUNT: what the configuration wants
wish() { sed -i "s/partition_count: [0-9]*/partition_count: $1/" "$OP" "$CONF"; }
counts() { sql 'SELECT partition_count, former_count, boundary, wanted_count
    FROM outbox_settings'; }
epochs() { sql 'SELECT SUM(lease_epoch) FROM outbox_partitions'; }
leases() { sql 'SELECT GROUP_CONCAT(partition_key ORDER BY 1) FROM
    outbox_partitions'; }
audited() { sql 'SELECT command, arguments, changed FROM outbox_audit
    ORDER BY id DESC LIMIT 1'; }

# changes_nothing NAME STATUS TEXT ARG...: it says so and leaves all tables
changes_nothing() {
	local name=$1 status=$2 text=$3 before
	shift 3
	before=$(tables)
	ctl "$@"
	is "$RC $(tables)" "$status $before" "$name changes nothing"
	like "$OUT$ERR" "$text" 'and tells'
}

# enqueue KEY COUNT
enqueue() {
	"$OUTBOXCTL" -c "$OP" enqueue > "$DIR/enqueue.out" < <(yes \
	    "{\"key\": \"$1\", \"type\": \"ok\", \"payload\": 1}" |
	    head -n "$2")
}

#
# sync
#
changes_nothing 'sync --dry-run of an empty database' 0 'would add 4 lease' \
    -c "$OP" partitions sync --dry-run
ctl -c "$OP" --json partitions sync
is "$RC $(field '[.changed, .dry_run, .count, .added, .obsolete, .removed,
    .change, .in_the_way] | tostring')" \
    '0 [4,false,4,["p00","p01","p02","p03"],[],[],null,[]]' 'leases are made'
is "$(counts) $(leases)" "4	NULL	NULL	NULL p00,p01,p02,p03" 'and counted'
is "$(audited)" 'partitions sync		4' 'and it is on record'
changes_nothing 'sync again' 0 'Nothing to do' -c "$OP" partitions sync

wish 2
enqueue first 3
changes_nothing 'sync --dry-run of another count' 0 \
    'would change from 4 to 2' -c "$OP" partitions sync --dry-run --prune
ctl -c "$OP" partitions sync
is "$RC $(counts)" '0 2	4	NULL	NULL' 'little waits: the change is over at once'
like "$OUT" 'changed from 4 to 2' 'and said'
like "$OUT" 'obsolete and empty: 2: --prune' 'what is obsolete is told'
is "$(sql 'SELECT COUNT(*) FROM outbox JOIN events ON sequence = global_sequence
    WHERE partition_key <> CONCAT("p0", CRC32(stream_id) % 2)')" 0 \
    'rows are where their key goes'
is "$(audited)" 'partitions sync		0' 'and it is on record'

#
# prune
#
sql "INSERT INTO outbox_partitions (partition_key) VALUES ('vip'), ('');
    INSERT INTO events (stream_id, stream_sequence, event_type, event_data)
	VALUES ('v', 1, 'ok', 'x');
    INSERT INTO outbox (global_sequence, partition_key)
	SELECT MAX(sequence), 'p02' FROM events;
    INSERT INTO outbox_blocked_keys (first_sequence, partition_key, order_key,
	reason, head_sequence) VALUES (7, 'vip', 'k', 'halted', 7)"
changes_nothing 'prune by the daemon'"'"'s account' 1 'sql/operator.sql' \
    partitions sync --prune
changes_nothing 'prune --dry-run' 0 'would remove 1 lease.*"p03"' \
    -c "$OP" partitions sync --prune --dry-run
ctl -c "$OP" --json partitions sync --prune
is "$RC $(field '[.removed, .changed] | tostring') $(leases)" \
    '0 [["p03"],1] ,p00,p01,p02,vip' 'those that are empty and not blocked go'
is "$(field '[.obsolete[] | [.partition, .waiting, .blocked]] | tostring')" \
    '[["p02",1,0],["p03",0,0],["vip",0,1]]' 'the others are told'
is "$(audited)" 'partitions sync	--prune	1' 'and it is on record'
sql "UPDATE outbox SET published_at = NOW(6);
    DELETE FROM outbox_blocked_keys; UPDATE outbox_partitions SET
	lease_owner = 'paused', lease_until = '2038-01-01'
	WHERE partition_key = 'vip'"
ctl -c "$OP" partitions sync --prune
is "$(leases)" ',p00,p01,vip' 'one that is paused stays'
sql "DELETE FROM outbox_partitions WHERE partition_key = 'vip'"

wish 300
ctl -c "$OP" partitions sync
is "$RC $(counts)" '1 2	4	NULL	NULL' 'more than a hundred are asked about'
like "$ERR" 'say --yes' 'on a terminal'
ctl -c "$OP" partitions sync --yes
is "$RC $(counts)" '0 300	2	NULL	NULL' 'or not with --yes'

#
# A change that is under way
#
enqueue second 1200
wish 4
ctl -c "$OP" --json partitions sync --prune --yes
is "$RC" 1 'it has to wait'
like "$ERR" 'nothing is removed before it is over' 'nothing is pruned'
is "$(field '[.change | .count, .former, .left, .exact] | tostring')" \
    '[4,300,1200,true]' 'for so many rows'
is "$(field '.in_the_way[0]')" 'nobody is alive: start outbox-master' \
    'and why it lasts'
wish 8
ctl -c "$OP" partitions sync
is "$RC $(counts | cut -f 1,4)" '0 4	8' 'the next wish waits'
like "$OUT" 'from 300 to 4 is under way: 1200 row.*next: 8' 'and is told'
ctl --json status
is "$(field '[.change.left, .change.wanted] | tostring')" '[1200,8]' \
    'status knows'
ctl doctor
like "$OUT" '^warn +settings: a change of the partition count' 'and doctor'
"$OUTBOXCTL" -c "$OP" enqueue > "$DIR/enqueue.out" < <(echo \
    '{"key": "new", "type": "ok", "payload": 1}')
ctl --json messages show "$(sql 'SELECT MAX(sequence) FROM events')"
like "$(field .waits_for)" 'change of the partition count' 'and who waits for it'
ctl status
like "$OUT" '^change +from 300 to 4 is under way' 'for people, too'
changes_nothing 'pause during a change' 1 'under way' -c "$OP" partitions pause
ctl -c "$OP" --json reconcile --all
is "$RC" 0 'reconcile goes on'
sql "DELETE FROM outbox WHERE global_sequence = (SELECT MIN(sequence)
    FROM events WHERE stream_id = 'second')"
ctl -c "$OP" reconcile --all
is "$(sql "SELECT COUNT(DISTINCT partition_key) FROM outbox JOIN events
    ON sequence = global_sequence WHERE stream_id = 'second'")" 1 \
    'and puts a row where its key waits'
sql 'UPDATE outbox SET published_at = NOW(6)'
ctl -c "$OP" partitions sync --prune --yes
is "$RC $(counts)" '0 8	4	NULL	NULL' 'nothing waits: over, and the next one too'
is "$(sql 'SELECT COUNT(*) FROM outbox_partitions')" 9 'obsolete ones are gone'

# Who has enqueued and not committed is in the way.
"$SANDBOX" sql "$DIR/db" -n -N app > "$DIR/slow.out" < <(echo "START TRANSACTION;
    CALL outbox_enqueue('slow', NULL, 'ok', 1, NULL, NULL, 'x');
    SELECT 'enqueued';"; wait_for 20 [ -e "$DIR/go" ]) &
SLOW=$!
wait_for 10 has_line "$DIR/slow.out" enqueued
wish 16
ctl -c "$OP" partitions sync --wait 0
is "$RC $(counts | cut -f 1)" '1 8' 'an open producer is in the way'
like "$ERR" 'open transaction' 'and that is said'
touch "$DIR/go"
wait "$SLOW"
ctl -c "$OP" partitions sync
is "$RC $(counts | cut -f 1)" '0 16' 'when he has ended it is made'

# What comes back from the dead waits where its key does.
sql "INSERT INTO outbox_dead_letters (global_sequence, partition_key, order_key,
	reason) VALUES (900001, 'p07', 'z', 'message'),
	(900002, 'vip', 'z', 'message'), (900003, NULL, 'z', 'message')"
ctl -c "$OP" dead retry 900001 900002 900003
is "$(sql "SELECT partition_key = CONCAT('p', LPAD(CRC32('z') % 16, 2, '0')),
    partition_key = 'vip', partition_key IS NULL FROM outbox
    WHERE global_sequence > 900000 ORDER BY global_sequence" | tr '\t\n' '  ')" \
    '1 0 0 0 1 0 NULL NULL 1 ' 'a dead letter is put back under the present label'
sql 'DELETE FROM outbox WHERE global_sequence > 900000'

#
# pause and resume
#
before=$(epochs)
changes_nothing 'pause --dry-run' 0 'would be: 2 partition' \
    -c "$OP" partitions pause --dry-run p01 p02
changes_nothing 'an unknown partition' 1 '"p99": no such partition' \
    -c "$OP" partitions pause p01 p99
ctl -c "$OP" --json partitions pause p01 p02
is "$RC$(field .changed) $(sql "SELECT GROUP_CONCAT(partition_key) FROM
    outbox_partitions WHERE lease_owner = 'paused' AND lease_until >
    NOW(6) + INTERVAL 1 YEAR") $(epochs)" "02 p01,p02 $((before + 2))" \
    'a pause is a lease of nobody'
is "$(audited)" 'partitions pause	p01 p02	2' 'on record'
changes_nothing 'pause again' 0 '^0 partition' -c "$OP" partitions pause p01
ctl --json partitions list
is "$(field '[.[] | select(.state == "paused") | .partition] | tostring')" \
    '["p01","p02"]' 'they are listed as that'
ctl --json status
is "$RC $(field .partitions.paused)" '1 2' 'and need a human'
like "$(field .problems)" 'paused partitions: 2' 'who is told'
ctl doctor
like "$OUT" '^warn +settings: partitions are paused' 'by doctor as well'
# Labels that are shown as 0x and hex, and one that only looks so.
sql "INSERT INTO outbox_partitions (partition_key) VALUES ('vip '), ('0x61');
    INSERT INTO events (stream_id, stream_sequence, event_type, event_data)
	VALUES ('vip', 1, 'ok', 'x');
    INSERT INTO outbox (global_sequence, partition_key)
	SELECT MAX(sequence), 'vip ' FROM events"
ctl --json partitions list
is "$(field '[.[] | select(.partition | startswith("0x")) |
    [.partition, .waiting]] | tostring')" '[["0x61",0],["0x76697020",1]]' \
    'what waits under a label that is no plain text is counted'
for label in 0x76697020 0x61; do
	ctl -c "$OP" partitions pause "$label"
	is "$RC $OUT" '0 1 partition(s) paused' "pause takes $label"
	ctl -c "$OP" partitions pause "$label"
	is "$OUT" '0 partition(s) paused' 'once'
done
is "$(sql "SELECT GROUP_CONCAT(partition_key ORDER BY 1 SEPARATOR ',') FROM
    outbox_partitions WHERE lease_owner = 'paused'")" '0x61,p01,p02,vip ' \
    'these are paused'
ctl -c "$OP" partitions resume 0x76697020 0x61
is "$RC $OUT" '0 2 partition(s) resumed' 'and resume takes both'
changes_nothing 'a label that is not there' 1 '"0x62": no such partition' \
    -c "$OP" partitions pause 0x62
ctl --json messages list --partition 0x76697020
is "$(field '[.rows[].partition] | tostring')" '["0x76697020"]' \
    'messages list takes such a label'
ctl -c "$OP" --json partitions sync --prune
is "$(field '.removed | tostring')" '["0x61"]' 'what waits keeps its lease'
sql "UPDATE outbox SET published_at = NOW(6)"
ctl -c "$OP" --json partitions sync --prune
is "$(field '.removed | tostring') $(sql "SELECT COUNT(*) FROM outbox_partitions
    WHERE partition_key = 'vip '")" '["0x76697020"] 0' 'and loses it then'

wish 32
ctl -c "$OP" partitions sync
is "$RC $(counts)" '1 16	8	NULL	32' 'no change begins meanwhile'
like "$OUT" 'waits to begin, from 16 to 32' 'it waits'
like "$OUT" 'a partition is paused' 'and why'
ctl -c "$OP" partitions resume p01
is "$RC $(counts | cut -f 1)" '0 16' 'not all are resumed'
ctl -c "$OP" partitions resume
is "$RC $(counts)" '0 32	16	NULL	NULL' 'all are: it is made'
like "$OUT" '^1 partition\(s\) resumed' 'the others were not paused'
is "$(sql 'SELECT COUNT(*) FROM outbox_partitions WHERE lease_owner IS NOT
    NULL')" 0 'nobody owns them'
sed 's/leasing: true/leasing: false/; s/workers: 2/workers: 1/' "$OP" > "$DIR/free.yml"
changes_nothing 'pause without leases' 1 'leasing is off' \
    -c "$DIR/free.yml" partitions pause
ctl -c "$OP" partitions pause --force
is "$RC" 2 'bad arguments'
ctl -c "$OP" partitions sync p01
is "$RC" 2 'of sync'

#
# A daemon keeps to it, and settles what is out.
#
start_master
wait_for 10 all_owned
ctl -c "$OP" partitions pause
is "$OUT" '33 partition(s) paused' 'all of them'
enqueue third 10
sleepers() { is_sql "SELECT COUNT(*) FROM outbox_partitions
    WHERE lease_owner = 'paused'" 33; }
looked=$(sql 'SELECT MAX(updated_at) FROM outbox_workers')
wait_for 10 is_sql "SELECT MAX(updated_at) > '$looked' FROM outbox_workers" 1
sleepers
ok $? 'nobody takes them'
is "$(sql 'SELECT COUNT(*) FROM outbox WHERE published_at IS NULL')" 10 \
    'and nothing goes'
is "$(grep -cE 'warn|error' "$LOG")" 0 'without a complaint'
ctl -c "$OP" partitions resume
wait_for 10 is_drained
ok $? 'it goes when they are resumed'
stop_master "$MASTER"

#
# Old tables
#
sql 'ALTER TABLE outbox_settings DROP COLUMN boundary'
wish 4
ctl -c "$OP" partitions sync --yes
is "$RC $(sql 'SELECT partition_count FROM outbox_settings')" '0 4' \
    'without the columns the count just changes'
ctl -c "$OP" partitions pause p01
is "$RC" 0 'pause works'
ctl -c "$OP" partitions resume
is "$RC" 0 'and resume'
sql 'DROP TABLE outbox_settings'
ctl -c "$OP" partitions sync --prune
is "$RC" 0 'and without the table'
done_testing
