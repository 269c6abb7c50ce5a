#!/usr/bin/env bash
# outboxctl partitions sync, pause, resume: what they change, what they refuse,
# and that they change nothing otherwise.
. "${srcdir:-$(dirname "$0")/../..}/tests/lib/ctl.sh"

start_servers
PARTITIONS=4 write_conf
as_operator

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
is "$RC $(field '[.changed, .dry_run, .count, .former, .classes, .class_size,
    .added, .obsolete, .removed] | tostring')" \
    '0 [4,false,4,[],4,1,["p00","p01","p02","p03"],[],[]]' 'leases are made'
is "$(declared_counts) $(lease_labels)" "4 - p00,p01,p02,p03" 'and counted'
is "$(audited)" 'partitions sync		4' 'and it is on record'
changes_nothing 'sync again' 0 'Nothing to do' -c "$OP" partitions sync

set_count 6
enqueue first 3
epochs=$(epochs)
changes_nothing 'sync --dry-run of another count' 0 \
    'would change from 4 to 6' -c "$OP" partitions sync --dry-run --prune
like "$OUT" '^declared after it, until .*: 6, formerly 4: 2 classes of up to 3 labels' \
    'and what it means'
like "$OUT" 'would add 2 lease.*"p04" "p05"' 'and which leases it takes'
ctl -c "$OP" partitions sync
is "$RC $(declared_counts)" '0 6 4' 'another count: the former one stays declared'
like "$(head -2 <<< "$OUT")" '2 classes of up to 3 labels' \
    'what it means is said first'
like "$(tail -1 <<< "$OUT")" 'changed from 4 to 6' 'and then that it is made'
is "$(lease_labels) $(($(epochs) - epochs))" 'p00,p01,p02,p03,p04,p05 6' \
    'its leases are there, and all epochs are new'
is "$(audited)" 'partitions sync		2' 'and it is on record'
is "$(sql "SELECT COUNT(DISTINCT partition_key) FROM outbox")" 1 \
    'no row is touched'
changes_nothing 'sync again' 0 '^declared until .*: 6, formerly 4: 2 classes' \
    -c "$OP" partitions sync
ctl -c "$OP" --json partitions sync
is "$(field '[.changed, .count, .former, .classes, .class_size] | tostring')" \
    '[0,6,[4],2,3]' 'for programs, too'
set_count 2
ctl -c "$OP" --json partitions sync --prune
is "$RC $(declared_counts) $(field '[.former, .classes, .removed] | tostring')" \
    '0 2 4,6 [[4,6],2,[]]' 'and another one: nothing of a declared count goes'
is "$(lease_labels)" p00,p01,p02,p03,p04,p05 'not even what is empty'

# What is refused: by the same rules, dry or not.
for option in '' --dry-run; do
	set_count 7
	# shellcheck disable=SC2086
	changes_nothing "coprime counts $option" 1 'multiple or a divisor.*nothing was done' \
	    -c "$OP" partitions sync $option
	set_count 300
	# shellcheck disable=SC2086
	changes_nothing "too large classes $option" 1 'classes of 150 labels' \
	    -c "$OP" partitions sync --yes $option
	set_count 4
	sql "INSERT INTO outbox_workers (id, heartbeat_until) VALUES
	    ('stranger', NOW(6) + INTERVAL 1 HOUR)"
	# shellcheck disable=SC2086
	changes_nothing "a worker of another program $option" 1 'worker stranger' \
	    -c "$OP" partitions sync $option
	ctl doctor
	like "$OUT" '^fail +settings: worker stranger of another program' \
	    'which doctor tells as well'
	sql 'DELETE FROM outbox_workers'
done

# Who keeps the row of settings is waited for, and nobody else.
"$SANDBOX" sql "$DIR/db" -n -N app > "$DIR/slow.out" < <(echo "START TRANSACTION;
    SELECT 'locked' FROM outbox_settings FOR UPDATE;"
    wait_for 30 [ -e "$DIR/go" ]) &
SLOW=$!
wait_for 10 has_line "$DIR/slow.out" locked
ctl -c "$OP" partitions sync --wait 0
is "$RC $(declared_counts)" '1 2 4,6' 'who locks the settings is in the way'
like "$ERR" 'open transaction locks the row of outbox_settings' 'that is said'
changes_nothing 'a dry run does not wait, and' 0 'would change from 2 to 4' \
    -c "$OP" partitions sync --dry-run
"$OUTBOXCTL" -c "$OP" partitions sync --wait 60 > "$DIR/sync.out" 2>&1 &
SYNC=$!
touch "$DIR/go"
wait "$SLOW"
wait "$SYNC"
is "$? $(declared_counts)" '0 4 6,2' 'and waited for'

#
# prune
#
declare_counts 2
sql "UPDATE outbox SET published_at = NOW(6);
    INSERT INTO outbox_partitions (partition_key) VALUES ('vip'), ('');
    INSERT INTO events (stream_id, stream_sequence, event_type, event_data)
	VALUES ('v', 1, 'ok', 'x');
    INSERT INTO outbox (global_sequence, partition_key)
	SELECT MAX(sequence), 'p02' FROM events;
    INSERT INTO outbox_blocked_keys (first_sequence, partition_key, order_key,
	reason, head_sequence) VALUES (7, 'vip', 'k', 'halted', 7)"
changes_nothing 'prune by the daemon'"'"'s account' 1 'sql/operator.sql' \
    partitions sync --prune
changes_nothing 'prune --dry-run' 0 'would remove 3 lease.*"p03"' \
    -c "$OP" partitions sync --prune --dry-run
ctl -c "$OP" --json partitions sync --prune
is "$RC $(field '[.removed, .changed] | tostring') $(lease_labels)" \
    '0 [["p03","p04","p05"],3] ,p00,p01,p02,vip' 'those that are empty and not blocked go'
is "$(field '[.obsolete[] | [.partition, .waiting, .blocked]] | tostring')" \
    '[["p02",1,0],["p03",0,0],["p04",0,0],["p05",0,0],["vip",0,1]]' 'the others are told'
is "$(audited)" 'partitions sync	--prune	3' 'and it is on record'
sql "UPDATE outbox SET published_at = NOW(6);
    DELETE FROM outbox_blocked_keys; UPDATE outbox_partitions SET
	lease_owner = 'paused', lease_until = '2038-01-01'
	WHERE partition_key = 'vip'"
ctl -c "$OP" partitions sync --prune
is "$(lease_labels)" ',p00,p01,vip' 'one that is paused stays'
sql "DELETE FROM outbox_partitions WHERE partition_key = 'vip'"

set_count 110
ctl -c "$OP" partitions sync
is "$RC $(declared_counts)" '1 2 -' 'more than a hundred are asked about'
like "$ERR" 'confirm it with --yes' 'on a terminal'
like "$OUT" '^declared after it.*: 110, formerly 2: 2 classes of up to 55 labels' \
    'after it is said what it means'
ctl -c "$OP" partitions sync --yes
is "$RC $(declared_counts)" '0 110 2' 'or not with --yes'

# What comes back waits where its key does, and the owner of that is told.  The
# counts are held until it is committed.
declare_counts 16 110
key=p$(sql "SELECT LPAD(CRC32('z') % 16, 2, '0')")
epoch() { sql "SELECT lease_epoch FROM outbox_partitions
    WHERE partition_key = '$key'"; }
label() { sql "SELECT COALESCE(partition_key, 'NULL') FROM outbox
    WHERE global_sequence = $1 AND published_at IS NULL"; }
are_held() { is_sql "SELECT COUNT(*) FROM information_schema.processlist
    WHERE info LIKE '%outbox_settings%LOCK IN SHARE MODE'" 1; }
# come_back WORD...: a command, while somebody locks the settings
come_back() {
	mkfifo "$DIR/held"
	"$SANDBOX" sql "$DIR/db" -n -N app < "$DIR/held" > "$DIR/held.out" &
	SLOW=$!
	exec 3> "$DIR/held"
	echo "START TRANSACTION; SELECT 'held' FROM outbox_settings
	    FOR UPDATE;" >&3
	wait_for 10 has_line "$DIR/held.out" held
	"$OUTBOXCTL" -c "$OP" "$@" > "$DIR/back.out" 2>&1 3>&- &
	BACK=$!
	wait_for 10 are_held
	ok $? "$1 $2: holds the counts"
	exec 3>&-
	wait "$SLOW"
	rm "$DIR/held"
	wait "$BACK"
}
sql "INSERT INTO events (sequence, stream_id, stream_sequence, event_type,
	event_data) VALUES (900010, 'z', 1, 'ok', 'x'),
	(900011, 'z', 2, 'ok', 'x');
    INSERT INTO outbox (global_sequence, partition_key, published_at) VALUES
	(900010, 'p107', NOW(6));
    INSERT INTO outbox_dead_letters (global_sequence, partition_key, order_key,
	reason) VALUES (900001, 'p107', 'z', 'message'),
	(900002, 'vip', 'z', 'message'), (900003, NULL, 'z', 'message')"
before=$(epoch)
come_back dead retry 900001 900002 900003
is "$? $(label 900001) $(label 900002) $(label 900003) $(($(epoch) - before))" \
    "0 $key vip NULL 1" 'a dead letter'
come_back messages replay 900010
is "$? $(label 900010) $(($(epoch) - before))" "0 $key 2" 'a delivered message'
come_back reconcile --all
is "$? $(label 900011) $(($(epoch) - before))" "0 $key 3" 'and a row that was missing'
sql 'DELETE FROM outbox WHERE global_sequence > 900000;
    DELETE FROM events WHERE sequence > 900000'
declare_counts 16
ctl -c "$OP" partitions sync --prune --yes
is "$(sql 'SELECT COUNT(*) FROM outbox_partitions')" 17 'sixteen, and that of none'

#
# pause and resume
#
before=$(epochs)
changes_nothing 'pause --dry-run' 0 '2 partition.s. would be paused' \
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

# While several counts are declared a label stands for its class.
set_count 32
ctl -c "$OP" partitions sync
is "$RC $(declared_counts)" '0 32 16' 'a pause is no obstacle to another count'
paused() { sql "SELECT COALESCE(GROUP_CONCAT(partition_key ORDER BY 1), '-')
    FROM outbox_partitions WHERE lease_owner = 'paused'"; }
is "$(paused)" p01,p02 'and stays'
ctl --json partitions list
is "$(field '[.[] | select(.partition == ("", "p03", "p19", "p20")) |
    [.partition, .class, .obsolete]] | tostring')" \
    '[["",null,false],["p03","p03",false],["p19","p03",false],["p20","p04",false]]' \
    'list has the classes'
ctl partitions list
like "$(head -1 <<< "$OUT")" 'obsolete +class$' 'for people, too'
changes_nothing 'pause --dry-run of a class' 0 \
    '^2 partition\(s\) would be paused; .* these are "p03" "p19"$' \
    -c "$OP" partitions pause --dry-run p19
ctl -c "$OP" --json partitions pause p19 ''
is "$RC $(field '[.changed, .partitions] | tostring') $(paused)" \
    '0 [3,["","p03","p19"]] ,p01,p02,p03,p19' 'a class is paused as a whole'
ctl -c "$OP" partitions resume p17 p03
is "$RC $(paused)" '0 ,p02' 'and resumed, whenever it was paused'
like "$OUT" '^3 partition\(s\) resumed; .*"p01" "p03" "p17" "p19"$' \
    'its labels are listed'
sed 's/ordering: key/ordering: none/' "$OP" > "$DIR/none.yml"
ctl -c "$DIR/none.yml" partitions pause p19
is "$(paused)" ,p02,p19 'without an order labels stand for themselves'
ctl -c "$DIR/none.yml" --json partitions list
is "$(field '[.[].class] | unique | tostring')" '[null]' 'also in the list'
ctl -c "$OP" partitions resume
is "$RC $(paused)" '0 -' 'all are'
is "$OUT" '3 partition(s) resumed' 'the others were not paused'
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
start_fleet
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
drains 10 'it goes when they are resumed'
stop_master "$MASTER"

#
# Without settings
#
set_count 4
sql 'DROP TABLE outbox_settings'
ctl -c "$OP" --json partitions sync --prune
is "$RC $(field .count) $(lease_labels)" '0 4 ,p00,p01,p02,p03' \
    'without the table the file says it'
sed -i 's/partition_count: 4/&, former_counts: [2, 8]/' "$OP"
ctl -c "$OP" --json partitions sync
is "$RC $(field '[.former, .classes, (.added | length)] | tostring')" \
    '0 [[2,8],2,4]' 'the former counts, too'
done_testing
