#!/usr/bin/env bash
# outboxctl partitions sync --finish: the obstacles to ending former partition
# counts, and that there are no others.
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
# in_the_way: label, key, and the number of rows or the reason of the record
in_the_way() { field '[.in_the_way[] | [.partition, .key, .rows // .reason]]'; }

# keeps NAME WAYS [OPTION...]: it is refused for these, and nothing is changed
keeps() {
	local name=$1 ways=$2 before
	shift 2
	before=$(tables)
	finish "$@"
	is "$RC $(in_the_way) $(field '[.finished, .changed]')" \
	    "1 $ways [false,0]" "$name"
	check "$name: no table is changed" [ "$(tables)" = "$before" ]
}
# may NAME [OPTION...]: it would be done
may() {
	local name=$1 before
	shift
	before=$(tables)
	finish --dry-run "$@"
	is "$RC $(field '[.finished, .dry_run, .in_the_way]')$ERR" \
	    '0 [true,true,[]]' "$name"
	check "$name: no table is changed" [ "$(tables)" = "$before" ]
}

#
# Uses
#
declare_counts 8 ''
ctl -c "$OP" partitions sync
ctl -c "$OP" partitions sync --finish
is "$RC $OUT" '0 Nothing to do: no former count is declared.' \
    'no former count is declared: nothing to do'
finish
is "$RC $(field '[.changed, .finished, .former, .in_the_way]')" \
    '0 [0,false,[],[]]' 'no former count is declared: the same as JSON'
declare_counts 8 4
sed 's/partition_count: 8/partition_count: 16/' "$OP" > "$DIR/other.yml"
fails 1 'the present count is 8, but outbox.partition_count is 16' \
    'another count in the file than in the database' \
    -c "$DIR/other.yml" partitions sync --finish
misused 'partitions sync' --force '--finish --prune'

#
# Rows
#
K1=$(key 1) K5=$(key 5) K7=$(key 7)
may 'no row waits: --finish is possible'
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
may 'rows with the right label, an own one, or no event are not in the way'
put "'$K5'" "'p01'" 3
put "'$K5'" "'p13'" 2
keeps 'rows that wait under other labels' \
    "[[\"p01\",\"$K5\",3],[\"p13\",\"$K5\",2]]"
like "$ERR" '^outboxctl: 2 keys wait under labels of a former count' \
    'the error says how many keys wait under other labels'
keeps '--force with rows under other labels' "[[\"p01\",\"$K5\",3],[\"p13\",\"$K5\",2]]" --force
ctl -c "$OP" partitions sync --finish --dry-run
is "$RC" 1 '--finish --dry-run with keys in the way: exit status 1'
like "$OUT" "^p01 +$K5 +3 +- +-\$" 'without --json: a line for each key'
sql "UPDATE outbox SET published_at = NOW(6) WHERE partition_key IN
    ('p01', 'p13')"
may 'rows under other labels that were sent are not in the way'
declare_counts 8 4,1
keeps 'rows without a label, with 1 a former count' \
    "[[\"\",\"$K1\",2]]"
declare_counts 1 4
is "$(finish --dry-run; in_the_way)" "$(printf '[["p007","%s",1],["p05","%s",1]]' \
    "$K7" "$K5")" 'with a present count of 1 rows without a label are right'
clear_rows
declare_counts 8 4

# All waiting rows are read, in pieces.
put "'$K5'" "'p05'" 25000
may '25000 rows under the right label are not in the way'
put "'$K1'" "'p05'"
keeps 'one row of 25001 under another label' "[[\"p05\",\"$K1\",1]]"
sql 'DELETE FROM outbox WHERE global_sequence = (SELECT MAX(sequence)
    FROM events)'
sql "UPDATE outbox SET partition_key = 'p01'"
keeps '25000 rows under another label' "[[\"p01\",\"$K5\",25000]]"
clear_rows
put "CONCAT('many', n)" "'p13'" 50
finish
is "$RC $(field '[(.in_the_way | length), .more]')" '1 [40,true]' \
    'at most 40 keys are listed, and that there are more'
like "$ERR" '^outboxctl: 40 or more key' 'the error says that there are more'
clear_rows
sql "SET GLOBAL general_log = OFF; SET GLOBAL log_output = 'TABLE';
    TRUNCATE mysql.general_log; SET GLOBAL general_log = ON"
put "'$K5'" "'p05'" 25000
finish --dry-run
sql 'SET GLOBAL general_log = OFF'
rows_are 3 "mysql.general_log WHERE argument LIKE
    'SELECT%COUNT(*) FROM%STRAIGHT_JOIN%global_sequence <=%'" \
    '25000 rows are read by three statements'
clear_rows

#
# Records of blocked keys, and the rows parked behind them
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
keeps 'a blocked key under another label' "[[\"p01\",\"$K5\",\"failed\"]]"
shows '.in_the_way[0] | [.record, .parked]' "[$first,3]" \
    'the entry has the record and the number of parked rows'
like "$ERR" 'keys release, dead retry' 'the error names the commands that help'
clear_rows
# A record is enough: its event may be gone.
sql "INSERT INTO outbox_blocked_keys (first_sequence, partition_key, order_key,
	reason, head_sequence) VALUES (7, 'p01', '$K5', 'halted', 7),
	(8, '', '$K5', 'halted', 8)"
keeps 'a halted key under another label' "[[\"p01\",\"$K5\",\"halted\"]]"
declare_counts 8 1
keeps 'a halted key without a label, under several counts' \
    "[[\"p01\",\"$K5\",\"halted\"],[\"\",\"$K5\",\"halted\"]]"
declare_counts 1 8
keeps 'a halted key under another label, with a count of 1' \
    "[[\"p01\",\"$K5\",\"halted\"]]"
declare_counts 8 4
clear_rows

#
# Ten minutes
#
sql "UPDATE outbox_partitions SET former_label_at = NOW(6) - INTERVAL 9 MINUTE
    WHERE partition_key = 'p03'"
keeps 'a message under a former label nine minutes ago' '[]'
like "$ERR" 'a message was sent under a label .* again in (59|60).*s, or use --force' \
    'the error says when to try again'
check 'wait_ms has the same time' \
    [ "$(field '.wait_ms > 50000 and .wait_ms <= 60000')" = true ]
may 'the same with --force is possible' --force
sql "UPDATE outbox_partitions SET former_label_at = NOW(6) - INTERVAL 10 MINUTE
    WHERE partition_key = 'p03'"
may 'a message under a former label ten minutes ago is not in the way'
sql 'UPDATE outbox_settings SET counts_since = NOW(6) - INTERVAL 9 MINUTE'
keeps 'counts that were declared nine minutes ago' '[]'
like "$ERR" 'a producer may not know it yet: try again in' \
    'the error says that a producer may not know the count yet'
may 'the same with --force is possible' --force
declare_counts 8 4
sql 'ALTER TABLE outbox_partitions DROP COLUMN former_label_at'
fails 1 'column outbox_partitions.former_label_at is missing.*: run outboxctl schema upgrade' \
    'a lease table without former_label_at' -c "$OP" partitions sync --finish
sql 'ALTER TABLE outbox_partitions ADD COLUMN former_label_at TIMESTAMP(6) NULL'

#
# Doing it
#
is_in_the_way() { is_sql "SELECT COUNT(*) FROM information_schema.processlist
    WHERE info LIKE 'SELECT%outbox_settings%FOR UPDATE'" 1; }
# meanwhile STATEMENTS: they are committed after all rows were read
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
is "$RC $(declared_counts)" '1 8 4' \
    'a locked settings row: exit status 1, the counts are kept'
like "$ERR" 'open transaction locks the row of outbox_settings' \
    'a locked settings row: the error says so'
release
before=$(sql 'SELECT SUM(lease_epoch) FROM outbox_partitions')
meanwhile "UPDATE outbox_settings SET former_counts = '4,2'"
is "$? $(declared_counts)" '1 8 4,2' \
    'counts that changed meanwhile: exit status 1, they are kept'
check 'counts that changed meanwhile: the message says so' \
    has_line "$DIR/finish.out" 'another session has changed the counts'
declare_counts 8 4
meanwhile "INSERT INTO outbox_blocked_keys (first_sequence, partition_key,
    order_key, reason, head_sequence) VALUES (7, 'p01', '$K5', 'halted', 7)"
is "$? $(declared_counts)" '1 8 4' \
    'a key halted meanwhile: exit status 1, the counts are kept'
check 'a key halted meanwhile: the output has it' \
    has_line "$DIR/finish.out" "^p01 +$K5 +- +halted +0\$"
clear_rows
meanwhile "UPDATE outbox_partitions SET former_label_at = NOW(6)
    WHERE partition_key = 'p02'"
is "$? $(declared_counts)" '1 8 4' \
    'a former label meanwhile: status 1, counts kept'
is "$(sql 'SELECT SUM(lease_epoch) FROM outbox_partitions')" "$before" \
    'refused attempts raise no epoch'
sql 'UPDATE outbox_partitions SET former_label_at = NULL'
meanwhile 'DO 0'
is "$? $(declared_counts)" '0 8 -' 'after a wait: status 0, no former count'
check 'the output says what was declared' \
    has_line "$DIR/finish.out" '^declared: 8, formerly 4: 4 classes of up to 2 labels'
check 'the output says that it is finished' \
    has_line "$DIR/finish.out" '^finished: 8 partitions$'
is "$(lease_labels)" ',p00,p007,p01,p02,p03,p04,p05,p06,p07,p13,vip' \
    'lease rows of the former count alone are gone'
rows_are 0 'outbox_partitions WHERE lease_epoch = 0' 'every epoch is raised'
is "$(sql 'SELECT counts_since > NOW(6) - INTERVAL 1 MINUTE
    FROM outbox_settings')" 1 'the counts are as they are since now'
is "$(audited)" 'operator@localhost partitions sync --finish --wait 30 1' \
    'it is in the audit'

# Leases of former counts are removed with it, unless rows or records need them.
declare_counts 4 8,16
put "'$K5'" "'p05'"
sql "DELETE FROM outbox WHERE partition_key = 'p05'; DELETE FROM events;
    INSERT INTO outbox_blocked_keys (first_sequence, partition_key, reason,
	head_sequence) VALUES (7, 'p06', 'halted', 7);
    INSERT INTO outbox (global_sequence, partition_key) VALUES (900001, 'p07');
    UPDATE outbox_partitions SET lease_owner = 'paused', lease_until =
	'2038-01-01' WHERE partition_key = 'p04'"
ctl --json partitions sync --finish
is "$RC $(declared_counts)" '1 4 8,16' 'no right to DELETE leases: status 1'
like "$ERR" 'sql/operator.sql' \
    'without the right to DELETE leases: the error names the grants'
finish
is "$RC $(field '[.finished, .removed, .changed]')" \
    '0 [true,["p05","p13"],3]' 'empty leases of former counts are removed'
is "$(declared_counts) $(lease_labels)" '4 - ,p00,p007,p01,p02,p03,p04,p06,p07,vip' \
    'leases that are paused, or needed by rows or records, stay'
clear_rows

# As many leases as are asked about.
declare_counts 110 55
ctl -c "$OP" partitions sync --yes
ctl -c "$OP" partitions sync --finish
is "$RC $(declared_counts)" '1 110 55' \
    'more than 100 leases, no --yes: status 1'
like "$OUT" '^after --finish: 110, without classes' \
    'more than 100 leases without --yes: it prints the new state'
ctl -c "$OP" partitions sync --finish --yes
is "$RC $(declared_counts)" '0 110 -' 'more than 100 leases with --yes: done'

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
within 20 'rows are parked behind a delayed head' are_parked
is "$(sql 'SELECT partition_key FROM outbox_blocked_keys')" p05 \
    'the record has the label of its key, not the first of its class'
finish --dry-run
is "$RC $(in_the_way)" '0 []' 'parked rows with the right label are no obstacle'
sql 'UPDATE outbox SET available_at = NOW(6) WHERE published_at IS NULL;
    UPDATE outbox_partitions SET lease_epoch = lease_epoch + 1'
drains 20 'parked rows return and are sent'
is "$(sql 'SELECT MAX(former_label_at) FROM outbox_partitions')" NULL \
    'parked rows that return do not count as a former label'
put "'$K5'" "'p01'"
wait_for 20 is_drained
noted() { is_sql 'SELECT COUNT(former_label_at) > 0 FROM outbox_partitions' 1; }
within 20 'a message under a former label is noted on its lease' noted
finish
is "$RC $(in_the_way) $(declared_counts)" '1 [] 8 4' \
    'a recent message under a former label keeps the counts'
finish --force
is "$RC $(declared_counts)" '0 8 -' '--force removes them all the same'
put "CONCAT('k', n)" "CONCAT('p0', CRC32(stream_id) % 8)" 200
drains 20 'messages are sent after --finish'
stop_master "$MASTER"
check_stream 'the stream is complete and in order'

#
# Without a settings table the file says it.
#
hide_tables
sed -i 's/partition_count: 8/&, former_counts: [4]/' "$OP"
keeps 'no settings table: nobody notes who uses a former count' '[]'
like "$ERR" 'no column former_label_at.*outboxctl schema upgrade, or use --force' \
    'the error names schema upgrade and --force'
exits 0 'no settings table: exit status 0' -c "$OP" partitions sync --finish \
    --force
like "$OUT" 'remove outbox.former_counts from the configuration' \
    'no settings table: the output says what to do'
finish --force
is "$RC $(field '[.finished, .former]')" '0 [false,[4]]' \
    'no settings table: the former counts as JSON'
put "'$K5'" "'p01'"
keeps 'no settings table: rows under other labels' "[[\"p01\",\"$K5\",1]]"
done_testing
