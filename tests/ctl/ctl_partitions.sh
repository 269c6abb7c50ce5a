#!/usr/bin/env bash
# outboxctl partitions sync, pause, resume: their changes, and no others
. "${srcdir:-$(dirname "$0")/../..}/tests/lib/ctl.sh"

start_servers
PARTITIONS=4 write_conf
as_operator

# changes_nothing NAME STATUS TEXT ARG...: the text is printed, no table changes
changes_nothing() {
	local name=$1 status=$2 text=$3 before
	shift 3
	before=$(tables)
	ctl "$@"
	is "$RC $(tables)" "$status $before" "$name: status $status, no change"
	like "$OUT$ERR" "$text" "$name: the output says why"
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
    .added, .obsolete, .removed]')" \
    '0 [4,false,4,[],4,1,["p00","p01","p02","p03"],[],[]]' \
    'sync of an empty database: the JSON names the leases'
is "$(declared_counts) $(lease_labels)" "4 - p00,p01,p02,p03" \
    'sync: the leases are made, the count is stored'
is "$(audited)" 'operator@localhost partitions sync  4' 'sync is in the audit'
changes_nothing 'sync again' 0 'Nothing to do' -c "$OP" partitions sync

set_count 6
enqueue first 3
epochs=$(epochs)
changes_nothing 'sync --dry-run of another count' 0 \
    'would change from 4 to 6' -c "$OP" partitions sync --dry-run --prune
like "$OUT" '^declared after it, until .*: 6, formerly 4: 2 classes of up to 3 labels' \
    'sync --dry-run: it says what the counts mean'
like "$OUT" 'would add 2 lease.*"p04" "p05"' 'sync --dry-run: names the leases'
ctl -c "$OP" partitions sync
is "$RC $(declared_counts)" '0 6 4' 'another count: the former one is declared'
like "$(head -2 <<< "$OUT")" '2 classes of up to 3 labels' \
    'sync: the first lines say what the counts mean'
like "$(tail -1 <<< "$OUT")" 'changed from 4 to 6' \
    'sync: the last line says that the count is changed'
is "$(lease_labels) $(($(epochs) - epochs))" 'p00,p01,p02,p03,p04,p05 6' \
    'sync: leases of both counts are there, all epochs are raised'
is "$(audited)" 'operator@localhost partitions sync  2' 'sync is in the audit'
is "$(sql "SELECT COUNT(DISTINCT partition_key) FROM outbox")" 1 \
    'sync changes no row of the outbox'
changes_nothing 'sync again' 0 '^declared until .*: 6, formerly 4: 2 classes' \
    -c "$OP" partitions sync
shows '[.changed, .count, .former, .classes, .class_size]' '[0,6,[4],2,3]' \
    'sync again --json: counts and classes' -c "$OP" partitions sync
set_count 2
ctl -c "$OP" --json partitions sync --prune
is "$RC $(declared_counts) $(field '[.former, .classes, .removed]')" \
    '0 2 4,6 [[4,6],2,[]]' \
    'a third count: all former counts are declared'
is "$(lease_labels)" p00,p01,p02,p03,p04,p05 \
    '--prune: no lease of a declared count is removed'

# The same counts are refused with and without --dry-run.
for option in '' --dry-run; do
	set_count 7
	# shellcheck disable=SC2086
	changes_nothing "sync of coprime counts $option" 1 'multiple or a divisor.*nothing was done' \
	    -c "$OP" partitions sync $option
	set_count 300
	# shellcheck disable=SC2086
	changes_nothing "sync of too large classes $option" 1 'own 150 labels together' \
	    -c "$OP" partitions sync --yes $option
	set_count 4
	sql "INSERT INTO outbox_workers (id, heartbeat_until) VALUES
	    ('stranger', NOW(6) + INTERVAL 1 HOUR)"
	# shellcheck disable=SC2086
	changes_nothing "sync beside another program $option" 1 'worker stranger' \
	    -c "$OP" partitions sync $option
	matches '^fail +settings: worker stranger of another program' \
	    'doctor reports the worker of another program as well' doctor
	sql 'DELETE FROM outbox_workers'
done

# sync waits for a transaction that locks the settings; --dry-run does not.
hold 'SELECT 1 FROM outbox_settings FOR UPDATE'
ctl -c "$OP" partitions sync --wait 0
is "$RC $(declared_counts)" '1 2 4,6' \
    'a locked settings row: exit status 1, the counts are kept'
like "$ERR" 'open transaction locks the row of outbox_settings' \
    'a locked settings row: the error says so'
changes_nothing 'sync --dry-run beside a lock' 0 'would change from 2 to 4' \
    -c "$OP" partitions sync --dry-run
"$OUTBOXCTL" -c "$OP" partitions sync --wait 60 > "$DIR/sync.out" 2>&1 3>&- &
SYNC=$!
release
wait "$SYNC"
is "$? $(declared_counts)" '0 4 6,2' '--wait: done when the lock is released'

#
# prune
#
declare_counts 2
sql "UPDATE outbox SET published_at = NOW(6);
    INSERT INTO outbox_partitions (partition_key) VALUES ('vip'), ('');
    $(event_row v 1 "'p02'")
    INSERT INTO outbox_blocked_keys (first_sequence, partition_key, order_key,
	reason, head_sequence) VALUES (7, 'vip', 'k', 'halted', 7)"
changes_nothing 'prune by the daemon'"'"'s account' 1 'sql/operator.sql' \
    partitions sync --prune
changes_nothing 'prune --dry-run' 0 'would remove 3 lease.*"p03"' \
    -c "$OP" partitions sync --prune --dry-run
ctl -c "$OP" --json partitions sync --prune
is "$RC $(field '[.removed, .changed]') $(lease_labels)" \
    '0 [["p03","p04","p05"],3] ,p00,p01,p02,vip' \
    '--prune: leases without rows and blocked keys are removed'
shows '[.obsolete[] | [.partition, .waiting, .blocked]]' \
    '[["p02",1,0],["p03",0,0],["p04",0,0],["p05",0,0],["vip",0,1]]' \
    '--prune: the JSON says what keeps the others'
is "$(audited)" 'operator@localhost partitions sync --prune 3' \
    '--prune is audited'
sql "UPDATE outbox SET published_at = NOW(6);
    DELETE FROM outbox_blocked_keys; UPDATE outbox_partitions SET
	lease_owner = 'paused', lease_until = '2038-01-01'
	WHERE partition_key = 'vip'"
ctl -c "$OP" partitions sync --prune
is "$(lease_labels)" ',p00,p01,vip' '--prune: a paused lease stays'
sql "DELETE FROM outbox_partitions WHERE partition_key = 'vip'"

set_count 110
ctl -c "$OP" partitions sync
is "$RC $(declared_counts)" '1 2 -' 'more than 100 leases, no --yes: status 1'
like "$ERR" 'confirm it with --yes' 'more than 100 leases: the error names --yes'
like "$OUT" '^declared after it.*: 110, formerly 2: 2 classes of up to 55 labels' \
    'more than 100 leases: it prints the new state first'
ctl -c "$OP" partitions sync --yes
is "$RC $(declared_counts)" '0 110 2' 'more than 100 leases with --yes: done'

# Rows that return get the present label of their key, and its epoch is raised.
# The counts are locked until that is committed.
declare_counts 16 110
key=p$(sql "SELECT LPAD(CRC32('z') % 16, 2, '0')")
epoch() { sql "SELECT lease_epoch FROM outbox_partitions
    WHERE partition_key = '$key'"; }
label() { sql "SELECT COALESCE(partition_key, 'NULL') FROM outbox
    WHERE global_sequence = $1 AND published_at IS NULL"; }
are_held() { is_sql "SELECT COUNT(*) FROM information_schema.processlist
    WHERE info LIKE '%outbox_settings%LOCK IN SHARE MODE'" 1; }
# come_back WORD...: a command, while another transaction locks the settings
come_back() {
	hold 'SELECT 1 FROM outbox_settings FOR UPDATE'
	"$OUTBOXCTL" -c "$OP" "$@" > "$DIR/back.out" 2>&1 3>&- &
	BACK=$!
	within 10 "$1 $2 locks the counts" are_held
	release
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
    "0 $key vip NULL 1" \
    'dead retry: present labels, one epoch is raised'
come_back messages replay 900010
is "$? $(label 900010) $(($(epoch) - before))" "0 $key 2" \
    'messages replay: the label of the present count'
come_back reconcile --all
is "$? $(label 900011) $(($(epoch) - before))" "0 $key 3" \
    'reconcile: the label of the present count'
sql 'DELETE FROM outbox WHERE global_sequence > 900000;
    DELETE FROM events WHERE sequence > 900000'
declare_counts 16
ctl -c "$OP" partitions sync --prune --yes
rows_are 17 outbox_partitions \
    '--prune: the leases of 16 partitions and of rows without a label'

#
# pause and resume
#
before=$(epochs)
changes_nothing 'pause --dry-run' 0 '2 partitions would be paused' \
    -c "$OP" partitions pause --dry-run p01 p02
changes_nothing 'pause of an unknown partition' 1 '"p99": no such partition' \
    -c "$OP" partitions pause p01 p99
ctl -c "$OP" --json partitions pause p01 p02
is "$RC$(field .changed) $(sql "SELECT GROUP_CONCAT(partition_key) FROM
    outbox_partitions WHERE lease_owner = 'paused' AND lease_until >
    NOW(6) + INTERVAL 1 YEAR") $(epochs)" "02 p01,p02 $((before + 2))" \
    'pause: the leases belong to nobody, and the epochs are raised'
is "$(audited)" 'operator@localhost partitions pause p01 p02 2' \
    'pause is audited'
changes_nothing 'pause again' 0 '^0 partitions paused' -c "$OP" partitions pause p01
shows '[.[] | select(.state == "paused") | .partition]' '["p01","p02"]' \
    'partitions list: the state is paused' partitions list
ctl --json status
is "$RC $(field .partitions.paused)" '1 2' 'status, paused partitions: status 1'
like "$(field '.problems[].text')" 'paused partitions: 2' 'status: the problem is named'
ctl doctor
like "$OUT" '^warn +paused_partitions: .*partitions resume' 'doctor names it, too'
# Labels that are shown as 0x and hex, and one that only looks so.
sql "INSERT INTO outbox_partitions (partition_key) VALUES ('vip '), ('0x61');
    $(event_row vip 1 "'vip '")"
ctl --json partitions list
shows '[.[] | select(.partition | startswith("0x")) |
    [.partition, .waiting]]' '[["0x61",0],["0x76697020",1]]' \
    'a label that is no plain text is printed as 0x and hex'
for label in 0x76697020 0x61; do
	ctl -c "$OP" partitions pause "$label"
	is "$RC $OUT" '0 1 partition paused' "pause $label: one partition"
	ctl -c "$OP" partitions pause "$label"
	is "$OUT" '0 partitions paused' "pause $label again: none is paused"
done
is "$(sql "SELECT GROUP_CONCAT(partition_key ORDER BY 1 SEPARATOR ',') FROM
    outbox_partitions WHERE lease_owner = 'paused'")" '0x61,p01,p02,vip ' \
    'exactly these partitions are paused'
ctl -c "$OP" partitions resume 0x76697020 0x61
is "$RC $OUT" '0 2 partitions resumed' 'resume takes labels in hex as well'
changes_nothing 'pause of a label without a lease' 1 '"0x62": no such partition' \
    -c "$OP" partitions pause 0x62
ctl --json messages list --partition 0x76697020
shows '[.rows[].partition]' '["0x76697020"]' 'messages list: a label in hex'
ctl -c "$OP" --json partitions sync --prune
shows '.removed' '["0x61"]' '--prune: the lease of a label with rows stays'
sql "UPDATE outbox SET published_at = NOW(6)"
ctl -c "$OP" --json partitions sync --prune
is "$(field '.removed') $(sql "SELECT COUNT(*) FROM outbox_partitions
    WHERE partition_key = 'vip '")" '["0x76697020"] 0' \
    '--prune: it is removed when the rows are sent'

# While several counts are declared a label stands for its class.
set_count 32
ctl -c "$OP" partitions sync
is "$RC $(declared_counts)" '0 32 16' \
    'sync to another count with paused partitions: exit status 0'
paused() { sql "SELECT COALESCE(GROUP_CONCAT(partition_key ORDER BY 1), '-')
    FROM outbox_partitions WHERE lease_owner = 'paused'"; }
is "$(paused)" p01,p02 'sync keeps the paused partitions'
ctl --json partitions list
shows '[.[] | select(.partition == ("", "p03", "p19", "p20")) |
    [.partition, .class, .obsolete]]' \
    '[["",null,false],["p03","p03",false],["p19","p03",false],["p20","p04",false]]' \
    'partitions list: the class of each label'
ctl partitions list
like "$(head -1 <<< "$OUT")" 'obsolete +class$' \
    'partitions list without --json has a column class'
changes_nothing 'pause --dry-run of a class' 0 \
    '^2 partitions would be paused; .* these are "p03" "p19"$' \
    -c "$OP" partitions pause --dry-run p19
ctl -c "$OP" --json partitions pause p19 ''
is "$RC $(field '[.changed, .partitions]') $(paused)" \
    '0 [3,["","p03","p19"]] ,p01,p02,p03,p19' \
    'pause takes the whole class'
ctl -c "$OP" partitions resume p17 p03
is "$RC $(paused)" '0 ,p02' 'resume of a label resumes its whole class'
like "$OUT" '^3 partitions resumed; .*"p01" "p03" "p17" "p19"$' \
    'resume: the message lists the labels'
sed 's/ordering: key/ordering: none/' "$OP" > "$DIR/none.yml"
ctl -c "$DIR/none.yml" partitions pause p19
is "$(paused)" ,p02,p19 'ordering none: pause takes the label alone'
ctl -c "$DIR/none.yml" --json partitions list
shows '[.[].class] | unique' '[null]' 'ordering none: labels have no class'
for words in 'partitions pause' 'partitions resume' 'messages retry' \
    'messages replay' 'messages resolve --sent' 'dead retry' 'dead purge' \
    'messages discard' 'keys release'; do
	# shellcheck disable=SC2086
	ctl -c "$OP" $words --yes --
	is "$RC $(grep -cE 'give either [A-Z.]+.* or --all|is missing' <<< "$OUT$ERR")" \
	    '2 1' "$words: an empty list is never all"
done
is "$(paused)" ,p02,p19 'and nothing was done'
ctl -c "$OP" partitions resume --all
is "$RC $(paused)" '0 -' 'resume --all: all are resumed'
is "$OUT" '3 partitions resumed' 'resume: it counts only paused ones'
rows_are 0 'outbox_partitions WHERE lease_owner IS NOT
    NULL' 'resumed leases have no owner'
sed 's/leasing: true/leasing: false/; s/workers: 2/workers: 1/' "$OP" > "$DIR/free.yml"
changes_nothing 'pause without leases' 1 'leasing is off' \
    -c "$DIR/free.yml" partitions pause p01
misused 'partitions pause' '' '--all p01'
changes_nothing 'pause --all without --yes' 1 \
    '^outboxctl: 33 partitions would be paused, and none is left: no host sends anything until partitions resume; nothing was done: confirm it with --yes$' \
    -c "$OP" partitions pause --all
ctl -c "$OP" partitions pause --force
is "$RC" 2 'partitions pause with a wrong option: exit status 2'
ctl -c "$OP" partitions sync p01
is "$RC" 2 'partitions sync with an argument: exit status 2'

#
# A daemon sends nothing of paused partitions.
#
start_fleet
ctl -c "$OP" partitions pause --all --yes
is "$OUT" '33 partitions paused' 'pause --all: all 33 partitions'
enqueue third 10
sleepers() { is_sql "SELECT COUNT(*) FROM outbox_partitions
    WHERE lease_owner = 'paused'" 33; }
looked=$(sql 'SELECT MAX(updated_at) FROM outbox_workers')
wait_for 10 is_sql "SELECT MAX(updated_at) > '$looked' FROM outbox_workers" 1
check 'the daemon takes no paused lease' sleepers
rows_are 10 'outbox WHERE published_at IS NULL' 'no paused message is sent'
is "$(grep -cE 'warn|error' "$LOG")" 0 'the daemon logs no warning about it'
ctl -c "$OP" partitions resume --all
drains 10 'messages are sent after resume'
stop_master "$MASTER"

#
# workers forget: hosts that vanished
#
sql "DELETE FROM outbox_workers; INSERT INTO outbox_workers (id, hostname, pid,
    away, heartbeat_until) VALUES
    ('a:00:00000000000000a0', 'a', 1, 'NATS,hook?', NOW(6) + INTERVAL 1 HOUR),
    ('a:01:00000000000000a1', 'a', 1, '', NOW(6) - INTERVAL 1 HOUR),
    ('b:00:00000000000000b0', 'b', 1, '', NOW(6) + INTERVAL 1 HOUR),
    ('c:00:00000000000000c0', 'c', 1, 'NATS', NOW(6) - INTERVAL 1 HOUR),
    ('d:00:00000000000000d0', 'd', 1, '', NOW(6) - INTERVAL 2 HOUR),
    ('d:01:00000000000000d1', 'd', 1, '', NOW(6) - INTERVAL 1 HOUR)"
shows '.workers | [.live, .stale, .hosts, .back, [.vanished[] | [.host, .workers]]]' \
    '[2,4,2,[{"host":"a","workers":1,"away":"NATS"}],[["c",1],["d",2]]]' \
    'status: a host that stands back, and two that vanished' status
ctl -c "$OP" status
like "$OUT" 'a does not reach NATS, and others do' 'it says what is away'
like "$OUT" 'c, d vanished: no worker' 'it names those that vanished'
like "$OUT" 'outboxctl .*workers forget --all' 'and how both are forgotten'
for args in '' '--all c'; do
	# shellcheck disable=SC2086
	changes_nothing "forget $args" 2 'give either HOST... or --all' \
	    -c "$OP" workers forget $args
done
changes_nothing 'a host that is alive' 1 '"b": no such host, or its workers are' \
    -c "$OP" workers forget d b
changes_nothing 'forget --dry-run' 0 '2 workers would be forgotten' \
    -c "$OP" workers forget --dry-run d
ctl -c "$OP" workers forget d
is "$RC $(sql 'SELECT GROUP_CONCAT(id ORDER BY id) FROM outbox_workers')" \
    '0 a:00:00000000000000a0,a:01:00000000000000a1,b:00:00000000000000b0,c:00:00000000000000c0' \
    'a host is forgotten'
is "$(audited)" 'operator@localhost workers forget d 2' 'that is in the audit'
ctl -c "$OP" workers forget --all
is "$RC $(sql 'SELECT GROUP_CONCAT(hostname ORDER BY id) FROM outbox_workers')" \
    '0 a,b' 'all that vanished are forgotten, and rows without a heartbeat'
#
# Without settings
#
set_count 4
hide_tables
ctl -c "$OP" --json partitions sync --prune
is "$RC $(field .count) $(lease_labels)" '0 4 ,p00,p01,p02,p03' \
    'no settings table: the count of the file'
sed -i 's/partition_count: 4/&, former_counts: [2, 8]/' "$OP"
ctl -c "$OP" --json partitions sync
is "$RC $(field '[.former, .classes, (.added | length)]')" \
    '0 [[2,8],2,4]' 'no settings table: the former counts of the file'
done_testing
