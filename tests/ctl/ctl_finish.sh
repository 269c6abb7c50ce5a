#!/usr/bin/env bash
# outboxctl partitions sync --finish: what keeps former partition counts from
# being forgotten, and that nothing else does.
. "${srcdir:-$(dirname "$0")/../..}/tests/lib/ctl.sh"

start_servers
PARTITIONS=8 BATCH=20 write_conf
as_operator

# key NUMBER: one whose label under 8 has this number
key() { sql "SELECT CONCAT('k', n) FROM $(numbers 200)
    WHERE CRC32(CONCAT('k', n)) % 8 = $1 ORDER BY n LIMIT 1"; }
# put KEY LABEL [N]: rows, SQL both; the label may use n; due in HOURS
put() {
	sql "START TRANSACTION;
	SET @last = (SELECT COALESCE(MAX(sequence), 0) FROM events);
	INSERT INTO events (stream_id, stream_sequence, event_type, event_data)
	    SELECT $1, @last + n + 1, 'ok', 'x' FROM $(numbers "${3:-1}")
	    ORDER BY n;
	INSERT INTO outbox (global_sequence, partition_key, available_at)
	    SELECT sequence, $2, NOW(6) + INTERVAL ${HOURS:-0} HOUR FROM events
	    WHERE sequence > @last;
	COMMIT"
}
finish() { ctl -c "$OP" --json partitions sync --finish "$@"; }
# in_the_way: label, key and what of it
in_the_way() { field '[.in_the_way[] | [.partition, .key, .rows // .reason]] |
    tostring'; }

# keeps NAME WAYS [OPTION...]: it is refused for these, and nothing is changed
keeps() {
	local name=$1 ways=$2 before
	shift 2
	before=$(tables)
	finish "$@"
	is "$RC $(in_the_way) $(field '[.finished, .changed] | tostring')" \
	    "1 $ways [false,0]" "$name"
	[ "$(tables)" = "$before" ]
	ok $? 'nothing is changed'
}
# may NAME [OPTION...]: it would be done
may() {
	local name=$1 before
	shift
	before=$(tables)
	finish --dry-run "$@"
	is "$RC $(field '[.finished, .dry_run, .in_the_way] | tostring')$ERR" \
	    '0 [true,true,[]]' "$name"
	[ "$(tables)" = "$before" ]
	ok $? 'nothing is changed'
}

#
# Uses
#
declare_counts 8 ''
ctl -c "$OP" partitions sync
ctl -c "$OP" partitions sync --finish
is "$RC $OUT" '0 Nothing to do: no former count is declared.' 'no former count'
finish
is "$RC $(field '[.changed, .finished, .former, .in_the_way] | tostring')" \
    '0 [0,false,[],[]]' 'for programs, too'
declare_counts 8 4
sed 's/partition_count: 8/partition_count: 16/' "$OP" > "$DIR/other.yml"
ctl -c "$DIR/other.yml" partitions sync --finish
is "$RC" 1 'another count in the file'
like "$ERR" 'the present count is 8, but outbox.partition_count is 16' 'that is said'
for wrong in --force '--finish --prune'; do
	# shellcheck disable=SC2086
	ctl -c "$OP" partitions sync $wrong
	is "$RC" 2 "wrong use: $wrong"
done

#
# Rows
#
K1=$(key 1) K5=$(key 5) K7=$(key 7)
may 'nothing waits: it may be'
put "'$K5'" "'p05'"
put "'$K1'" "'p01'"
put "'$K1'" "'vip'"
put "'$K1'" NULL
put "'$K1'" "''"
put "'$K1'" "'p02'"
sql "INSERT INTO outbox_partitions (partition_key) VALUES (''), ('vip'),
	('p007'), ('p13');
    UPDATE outbox SET published_at = NOW(6) WHERE partition_key = 'p02';
    INSERT INTO outbox (global_sequence, partition_key) VALUES
	(900001, 'p01')"
put "'$K7'" "'p007'"
may 'what has its label, or one of its own, or no event, is not in the way'
put "'$K5'" "'p01'" 3
put "'$K5'" "'p13'" 2
keeps 'what waits under other labels' \
    "[[\"p01\",\"$K5\",3],[\"p13\",\"$K5\",2]]"
like "$ERR" '^outboxctl: 2 key\(s\) wait under labels of a former count' \
    'it is said'
keeps 'so does --force' "[[\"p01\",\"$K5\",3],[\"p13\",\"$K5\",2]]" --force
ctl -c "$OP" partitions sync --finish --dry-run
is "$RC" 1 'a dry run is refused as well'
like "$OUT" "^p01 +$K5 +3 +- +-\$" 'a line each for people'
sql "UPDATE outbox SET published_at = NOW(6) WHERE partition_key IN
    ('p01', 'p13')"
may 'until they are sent'
declare_counts 8 4,1
keeps 'rows without a label, where 1 is a former count' \
    "[[\"\",\"$K1\",2]]"
declare_counts 1 4
is "$(finish --dry-run; in_the_way)" "$(printf '[["p007","%s",1],["p05","%s",1]]' \
    "$K7" "$K5")" 'and where it is the present one, they are right'
clear_rows
declare_counts 8 4

# However many wait, it looks at each of them, some at a time.
put "'$K5'" "'p05'" 25000
may 'all of many are as they should be'
put "'$K1'" "'p05'"
keeps 'but for the last one' "[[\"p05\",\"$K1\",1]]"
sql 'DELETE FROM outbox WHERE global_sequence = (SELECT MAX(sequence)
    FROM events)'
sql "UPDATE outbox SET partition_key = 'p01'"
keeps 'all are counted' "[[\"p01\",\"$K5\",25000]]"
clear_rows
put "CONCAT('many', n)" "'p13'" 50
finish
is "$RC $(field '[(.in_the_way | length), .more] | tostring')" '1 [40,true]' \
    'of many keys some dozens are listed'
like "$ERR" '^outboxctl: 40 or more key' 'and that there are more'
clear_rows
sql "SET GLOBAL general_log = OFF; SET GLOBAL log_output = 'TABLE';
    TRUNCATE mysql.general_log; SET GLOBAL general_log = ON"
put "'$K5'" "'p05'" 25000
finish --dry-run
sql 'SET GLOBAL general_log = OFF'
is "$(sql "SELECT COUNT(*) FROM mysql.general_log WHERE argument LIKE
    'SELECT%COUNT(*) FROM%STRAIGHT_JOIN%global_sequence <=%'")" 3 \
    'in as many statements as there are pieces'
clear_rows

#
# Records of blocked keys, and what is parked behind them
#
put "'$K5'" "'p05'" 4
first=$(sql 'SELECT MIN(sequence) FROM events')
sql "UPDATE outbox SET partition_key = '!$first' WHERE global_sequence > $first;
    INSERT INTO outbox_blocked_keys (first_sequence, partition_key, order_key,
	reason, head_sequence) VALUES ($first, 'p05', '$K5', 'failed', $first),
	(900002, 'vip', '$K1', 'halted', 900002),
	(900003, 'p01', NULL, 'failed', 900003)"
may 'a blocked key under its label is not in the way'
sql "UPDATE outbox_blocked_keys SET partition_key = 'p01'"
keeps 'under another one it is' "[[\"p01\",\"$K5\",\"failed\"]]"
is "$(field '.in_the_way[0] | [.record, .parked] | tostring')" "[$first,3]" \
    'with what is parked behind it'
like "$ERR" 'keys release, dead retry' 'and what helps'
clear_rows
# One whose event is gone is known by its record.
sql "INSERT INTO outbox_blocked_keys (first_sequence, partition_key, order_key,
	reason, head_sequence) VALUES (7, 'p01', '$K5', 'halted', 7),
	(8, '', '$K5', 'halted', 8)"
keeps 'a halted key' "[[\"p01\",\"$K5\",\"halted\"]]"
declare_counts 8 1
keeps 'without a label' "[[\"p01\",\"$K5\",\"halted\"],[\"\",\"$K5\",\"halted\"]]"
declare_counts 1 8
keeps 'which is right under a count of 1' "[[\"p01\",\"$K5\",\"halted\"]]"
declare_counts 8 4
clear_rows

#
# Ten minutes
#
sql "UPDATE outbox_partitions SET former_label_at = NOW(6) - INTERVAL 9 MINUTE
    WHERE partition_key = 'p03'"
keeps 'a message under another label, nine minutes ago' '[]'
like "$ERR" 'a message was sent under a label .* again in (59|60).*s, or use --force' \
    'it is said, and for how long'
[ "$(field '.wait_ms > 50000 and .wait_ms <= 60000')" = true ]
ok $? 'for programs, too'
may 'or with --force' --force
sql "UPDATE outbox_partitions SET former_label_at = NOW(6) - INTERVAL 10 MINUTE
    WHERE partition_key = 'p03'"
may 'after ten'
sql 'UPDATE outbox_settings SET counts_since = NOW(6) - INTERVAL 9 MINUTE'
keeps 'counts that are nine minutes old' '[]'
like "$ERR" 'a producer may not know it yet: try again in' 'and why'
may 'or with --force' --force
declare_counts 8 4
sql 'ALTER TABLE outbox_partitions DROP COLUMN former_label_at'
keeps 'leases that cannot tell' '[]'
like "$ERR" 'no column former_label_at.*outboxctl schema upgrade, or use --force' \
    'and what helps'
may 'or with --force' --force
sql 'ALTER TABLE outbox_partitions ADD COLUMN former_label_at TIMESTAMP(6) NULL'

#
# Doing it
#
# hold STATEMENTS: they are not committed until release
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
is_in_the_way() { is_sql "SELECT COUNT(*) FROM information_schema.processlist
    WHERE info LIKE 'SELECT%outbox_settings%FOR UPDATE'" 1; }
# meanwhile STATEMENTS: they are committed when all was looked at
meanwhile() {
	hold 'SELECT 1 FROM outbox_settings FOR UPDATE'
	"$OUTBOXCTL" -c "$OP" partitions sync --finish --wait 30 \
	    > "$DIR/finish.out" 2>&1 3>&- &
	FINISH=$!
	wait_for 10 is_in_the_way
	release "$1;"
	wait "$FINISH"
}
hold 'SELECT 1 FROM outbox_settings FOR UPDATE'
ctl -c "$OP" partitions sync --finish --wait 0
is "$RC $(declared_counts)" '1 8 4' 'who locks the settings is in the way'
like "$ERR" 'open transaction locks the row of outbox_settings' 'that is said'
release
before=$(sql 'SELECT SUM(lease_epoch) FROM outbox_partitions')
meanwhile "UPDATE outbox_settings SET former_counts = '4,2'"
is "$? $(declared_counts)" '1 8 4,2' 'counts that were changed meanwhile are kept'
has_line "$DIR/finish.out" 'another session has changed the counts'
ok $? 'that is said'
declare_counts 8 4
meanwhile "INSERT INTO outbox_blocked_keys (first_sequence, partition_key,
    order_key, reason, head_sequence) VALUES (7, 'p01', '$K5', 'halted', 7)"
is "$? $(declared_counts)" '1 8 4' 'and a key that was halted is seen'
has_line "$DIR/finish.out" "^p01 +$K5 +- +halted +0\$"
ok $? 'and told'
clear_rows
meanwhile "UPDATE outbox_partitions SET former_label_at = NOW(6)
    WHERE partition_key = 'p02'"
is "$? $(declared_counts)" '1 8 4' 'and a producer that uses another count'
is "$(sql 'SELECT SUM(lease_epoch) FROM outbox_partitions')" "$before" \
    'nothing was done in all that'
sql 'UPDATE outbox_partitions SET former_label_at = NULL'
meanwhile 'DO 0'
is "$? $(declared_counts)" '0 8 -' 'else it is waited for, and done'
has_line "$DIR/finish.out" '^declared: 8, formerly 4: 4 classes of up to 2 labels'
ok $? 'what it does is said'
has_line "$DIR/finish.out" '^finished: 8 partitions$'
ok $? 'and that it is done'
is "$(lease_labels)" ',p00,p007,p01,p02,p03,p04,p05,p06,p07,p13,vip' \
    'no label was made by the former count alone'
is "$(sql 'SELECT COUNT(*) FROM outbox_partitions WHERE lease_epoch = 0')" 0 \
    'all epochs are new'
is "$(sql 'SELECT counts_since > NOW(6) - INTERVAL 1 MINUTE
    FROM outbox_settings')" 1 'the counts are as they are since now'
is "$(sql 'SELECT command, arguments, changed FROM outbox_audit
    ORDER BY id DESC LIMIT 1')" 'partitions sync	--finish --wait 30	1' \
    'and it is on record'

# Leases that only former counts made go with it, if nobody needs them.
declare_counts 4 8,16
put "'$K5'" "'p05'"
sql "DELETE FROM outbox WHERE partition_key = 'p05'; DELETE FROM events;
    INSERT INTO outbox_blocked_keys (first_sequence, partition_key, reason,
	head_sequence) VALUES (7, 'p06', 'halted', 7);
    INSERT INTO outbox (global_sequence, partition_key) VALUES (900001, 'p07');
    UPDATE outbox_partitions SET lease_owner = 'paused', lease_until =
	'2038-01-01' WHERE partition_key = 'p04'"
ctl --json partitions sync --finish
is "$RC $(declared_counts)" '1 4 8,16' 'an account that may not delete them'
like "$ERR" 'sql/operator.sql' 'where to get the right'
finish
is "$RC $(field '[.finished, .removed, .changed] | tostring')" \
    '0 [true,["p05","p13"],3]' 'those that are empty go'
is "$(declared_counts) $(lease_labels)" '4 - ,p00,p007,p01,p02,p03,p04,p06,p07,vip' \
    'paused ones stay, and those that rows or records need'
clear_rows

# As many leases as are asked about.
declare_counts 110 55
ctl -c "$OP" partitions sync --yes
ctl -c "$OP" partitions sync --finish
is "$RC $(declared_counts)" '1 110 55' 'many leases: it is asked'
like "$OUT" '^after --finish: 110, without classes' 'when that was said'
ctl -c "$OP" partitions sync --finish --yes
is "$RC $(declared_counts)" '0 110 -' 'or not'

#
# With a daemon: parked rows come back under the label of today, and nothing
# has to wait for the end of what is parked.
#
declare_counts 8 4
sql 'DELETE FROM outbox_partitions'
ctl -c "$OP" partitions sync
start_fleet
HOURS=1 put "'$K5'" "'p05'"
put "'$K5'" "'p05'" 100
are_parked() { is_sql "SELECT COUNT(*) > 0 FROM outbox WHERE published_at IS NULL
    AND partition_key LIKE '!%'" 1; }
wait_for 20 are_parked
ok $? 'rows are parked behind a head that waits'
is "$(sql 'SELECT partition_key FROM outbox_blocked_keys')" p05 \
    'on record under the label of their key, not the first of its class'
finish --dry-run
is "$RC $(in_the_way)" '0 []' 'which is not in the way'
sql 'UPDATE outbox SET available_at = NOW(6) WHERE published_at IS NULL;
    UPDATE outbox_partitions SET lease_epoch = lease_epoch + 1'
drains 20 'they come back and go'
is "$(sql 'SELECT MAX(former_label_at) FROM outbox_partitions')" NULL \
    'not as if a producer used another count'
put "'$K5'" "'p01'"
wait_for 20 is_drained
noted() { is_sql 'SELECT COUNT(former_label_at) > 0 FROM outbox_partitions' 1; }
wait_for 20 noted
ok $? 'one that does is noted'
finish
is "$RC $(in_the_way) $(declared_counts)" '1 [] 8 4' 'and keeps them'
finish --force
is "$RC $(declared_counts)" '0 8 -' 'but not with --force'
put "CONCAT('k', n)" "CONCAT('p0', CRC32(stream_id) % 8)" 200
drains 20 'it goes on'
stop_master "$MASTER"
check_stream 'all in order'

#
# Without a settings table the file says it.
#
sql 'DROP TABLE outbox_settings; UPDATE outbox_partitions SET former_label_at =
    NULL'
sed -i 's/partition_count: 8/&, former_counts: [4]/' "$OP"
ctl -c "$OP" partitions sync --finish
is "$RC" 0 'without the table nothing is in the way'
like "$OUT" 'remove outbox.former_counts from the configuration' 'and what to do'
finish
is "$RC $(field '[.finished, .former] | tostring')" '0 [false,[4]]' \
    'for programs, too'
put "'$K5'" "'p01'"
keeps 'what waits is in the way' "[[\"p01\",\"$K5\",1]]"
done_testing
