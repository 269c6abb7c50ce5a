#!/usr/bin/env bash
# outboxctl status, workers, partitions list: they print the state, change
# nothing, and read no more rows when many wait.
. "${srcdir:-$(dirname "$0")/../..}/tests/lib/ctl.sh"
. "$srcdir/tests/lib/pillar.sh"

start_servers
write_conf
echo "health: {max_age: 1h}" >> "$CONF"

# leases COUNT: rows p00.. as the daemon would make them
leases() {
	sql "INSERT INTO outbox_partitions (partition_key)
	    SELECT CONCAT('p', LPAD(n, 2, '0')) FROM $(numbers "$1")"
}

# unchanged NAME ARG...: it leaves all tables as they are
unchanged() {
	local name=$1 before
	shift
	before=$(tables)
	ctl "$@"
	is "$(tables)" "$before" "$name changes no table"
}

#
# An empty database.
#
ctl --json workers
is "$RC$OUT" '0[]' 'workers of an empty database: an empty list'
ctl --json partitions list
is "$RC$OUT" '0[]' 'partitions list of an empty database: an empty list'
exits 1 'status without a worker: exit status 1' --json status
shows '[.problems[].id]' '["no_worker"]' 'status without a worker: the problem'
shows '[.workers.live, .backlog.waiting, .oldest, .this_host]' \
    '[0,0,null,null]' 'status of an empty database: no worker, nothing waits'
shows '[.partitions | .count, .total, .missing]' \
    '[16,0,16]' 'status of an empty database: 16 leases are missing'
shows .counts null 'status of an empty database: no former count'

#
# Rows of all kinds, and leases of others.
#
leases 16
sql "INSERT INTO outbox_partitions (partition_key) VALUES (''), ('p16'),
	('vip');
    INSERT INTO outbox_workers (id, hostname, pid, heartbeat_until) VALUES
	('b:01:00000000000000bb', 'b', 12, NOW(6) + INTERVAL 1 HOUR),
	('a:00:00000000000000aa', 'b', 11, NOW(6) - INTERVAL 1 HOUR),
	('other', 'b', 13, NOW(6) + INTERVAL 1 HOUR);
    UPDATE outbox_partitions SET lease_epoch = 3,
	lease_owner = 'b:01:00000000000000bb',
	lease_until = NOW(6) + INTERVAL 1 MINUTE
	WHERE partition_key IN ('p01', 'p02');
    UPDATE outbox_partitions SET lease_owner = 'a:00:00000000000000aa',
	lease_until = NOW(6) - INTERVAL 1 SECOND WHERE partition_key = 'p03';
    INSERT INTO outbox (global_sequence, partition_key, created_at,
	published_at) VALUES
	(1, 'p01', NOW(6) - INTERVAL 9 HOUR, NOW(6)),
	(2, 'p01', NOW(6) - INTERVAL 1 MINUTE, NULL),
	(3, 'p01', NOW(6), NULL),
	(4, 'p03', NOW(6) - INTERVAL 2 MINUTE, NULL),
	(5, NULL, NOW(6) - INTERVAL 1 SECOND, NULL),
	(6, '', NOW(6), NULL),
	(7, '!2', NOW(6), NULL)"
unchanged workers --json workers
shows '[.[] | [.id, .host, .pid, .slot, .live, .partitions]]' \
    '[["a:00:00000000000000aa","b",11,0,false,0],["b:01:00000000000000bb","b",12,1,true,2],["other","b",13,null,true,0]]' \
    'workers: sorted, with the number of their partitions'
ctl --json workers
check 'workers: how long each heartbeat is valid' \
    [ "$(field '.[1].ttl_ms > 3500000 and .[0].ttl_ms < -3500000')" = true ]
unchanged 'partitions list' --json partitions list
shows '[.[] | select(.waiting > 0) | [.partition, .state, .epoch,
    .waiting, .exact, .oldest]]' \
    '[["","free",0,2,true,5],["p01","owned",3,2,true,2],["p03","expired",0,1,true,4]]' \
    'partitions list: what waits in each'
shows '[.[] | select(.obsolete) | .partition]' \
    '["p16","vip"]' 'partitions list: labels of no declared count are obsolete'
[ "$(field '.[] | select(.partition == "p03") | .oldest_ms > 119000')" = true ]
ok $? 'partitions list: the age of the oldest row'
matches '^p01 +owned +b:01:0+bb +[0-9]+ s +3 +2 +2 +1 min.* no$' \
    'partitions list without --json: a line for each' partitions list

sql "INSERT INTO outbox_blocked_keys (first_sequence, partition_key,
	order_key, reason, head_sequence) VALUES (2, 'p01', 'k', 'failed', 2),
	(3, 'p01', 'l', 'failed', 3);
    INSERT INTO outbox_dead_letters (global_sequence, reason, died_at) VALUES
	(8, 'message', NOW(6) - INTERVAL 2 DAY);
    INSERT INTO outbox_streams (name, checked_at) VALUES ('EVENTS', NOW(6))"
unchanged status --json status
is "$RC" 0 'status: no problem, exit status 0'
shows '[.workers | .live, .stale, .hosts]' '[2,1,1]' \
    'status: workers that live and that are stale'
shows '[.partitions | .count, .total, .owned, .free, .expired, .idle,
    .missing, .obsolete]' '[16,19,2,16,1,16,0,2]' 'the leases'
shows '[.backlog | .waiting, .exact, .parked]' \
    '[6,true,1]' 'status: the backlog'
shows '[.oldest.sequence, .oldest.partition]' '[4,"p03"]' \
    'status: the oldest row by its age, not by its sequence'
shows '[.blocked[] | .reason, .keys]' '["failed",2]' 'status: the blocked keys'
shows '[.dead | .count, .exact, .new]' '[1,true,0]' 'status: the dead letters'
shows '.streams[0].name' EVENTS 'status: the stream'
matches '^waiting +6 rows, 1 parked$' 'status as text: the backlog' status
like "$OUT" '^delivered +1 row in the last hour$' \
    'status as text: what the last hour delivered'
like "$OUT" '^workers +2 alive, 1 stale, on 1 host$' \
    'status as text: the workers'
like "$OUT" '^daemon +does not run on this host$' \
    'status as text: no daemon on this host'

#
# Each problem that needs a human is named, and the exit status is 1.
#
needs() {
	exits 1 "$2: exit status 1" status --json "${@:3}"
	like "$(field '.problems[].text')" "$1" "$2: the problem is named"
}
sql "INSERT INTO outbox_dead_letters (global_sequence, reason) VALUES
    (9, 'message')"
needs '^new dead letters: 1: ' 'a new dead letter'
needs '^new dead letters: 2: ' 'dead letters of three days' --since 3d
sql 'DELETE FROM outbox_dead_letters WHERE global_sequence = 9;
    UPDATE outbox_blocked_keys SET reason = "halted" WHERE first_sequence = 3'
needs '^key .* is halted behind dead letter [0-9]+' 'a halted key'
sql "UPDATE outbox_blocked_keys SET reason = 'halted', head_sequence = 8
	WHERE first_sequence = 2;
    UPDATE outbox_blocked_keys SET order_key = NULL, head_sequence = 9
	WHERE first_sequence = 3;
    INSERT INTO outbox_dead_letters (global_sequence, reason) VALUES
	(9, 'message')"
shows '[.problems[].id, .advice[].id]' '["halted_keys","no_daemon"]' \
    'a dead letter that halts a key is told with the key' status
needs '^key k is halted behind dead letter 8; 1 more' 'two halted keys'
sql "UPDATE outbox_blocked_keys SET head_sequence = 8 WHERE first_sequence = 3"
needs '^new dead letters: 1: ' 'a dead letter beside keys halted days ago'
sql "DELETE FROM outbox_blocked_keys WHERE first_sequence = 2"
needs '^a key that is not known is halted behind dead letter 8: .* dead purge 8 --release gives it up' \
    'a halted key without a name'
sql 'DELETE FROM outbox_dead_letters WHERE global_sequence = 9'
sql 'DELETE FROM outbox_blocked_keys'
needs '^rows wait under the label !2, which no worker can lease: .*: UPDATE ' \
    'a parked row without its record'
ctl --json status
sql "$(field .strays.sql)"
sql 'DELETE FROM outbox_workers'
needs '^no worker is alive and 6 rows wait' 'rows wait and no worker lives'

sed "s|password_env: OUTBOX_PW|password_file: $DIR/no-password|" "$CONF" \
    > "$DIR/secret.yml"
for command in status doctor; do
	matches ': mysql.password_file: .*No such file' \
	    "$command without a secret: tells it" -c "$DIR/secret.yml" "$command"
	is "$RC $(grep -c 'no daemon can start' <<< "$OUT")" '78 0' \
	    "$command without a secret: does not say that the file is in error"
done
matches 'remedy: outboxctl setup --no-event, .* or correct mysql.password_file' \
    'a remedy for a missing secret' -c "$DIR/secret.yml" status
echo "$OUTBOX_PW" > "$DIR/no-password"
chmod 644 "$DIR/no-password"
matches "remedy: run that chmod" 'a remedy for a secret that all may read' \
    -c "$DIR/secret.yml" status
rm "$DIR/no-password"

sed 's/lease_ttl/lease_tttl/' "$CONF" > "$DIR/edited.yml"
"$OUTBOXCTL" -c "$DIR/edited.yml" --json status --watch 1 > "$DIR/watched" &
watcher=$!
wait_for 10 has_line "$DIR/watched" lease_tttl
cp "$CONF" "$DIR/edited.yml"
wait_for 10 has_line "$DIR/watched" '"backlog": *\{'
ok $? '--watch: a file that was in error is read again'
kill -TERM "$watcher"
wait "$watcher"

#
# Former partition counts, and a producer that uses one.
#
sql "INSERT INTO outbox_workers (id, heartbeat_until) VALUES
	('b:01:00000000000000bb', NOW(6) + INTERVAL 1 HOUR);
    UPDATE outbox_partitions SET lease_until = NULL;
    UPDATE outbox_settings SET partition_count = 32, former_counts = '16,8',
	counts_since = NOW(6) - INTERVAL 5 MINUTE"
unchanged 'status of former counts' --json status
is "$RC $(field '[.counts | .present, .former, .classes, .class_size, .sent_here,
    .sent_here_at, .sent_at]')" '0 [32,[16,8],8,4,0,null,null]' \
    'status with former counts: exit status 0, and the counts'
[ "$(field '.counts | .finish_ms > 240000 and .finish_ms <= 300000 and
    (.since | startswith("2026"))')" = true ]
ok $? 'status with former counts: the time until --finish is possible'
shows '[.partitions | .count, .missing, .obsolete]' \
    '[32,15,1]' 'leases of a former count are not obsolete'
ctl status
like "$OUT" '^counts +32, formerly 16 and 8: 8 classes of up to 4 labels; .*; changed: 2026' \
    'status as text: the former counts'
like "$OUT" '^former +this host sent 0 messages .* the last: never; the last of any host: never$' \
    'status as text: when a former count was used last'
like "$OUT" '^to do +in [45] min .*s at the earliest: partitions sync --finish' \
    'status as text: the command that ends it'
sql "UPDATE outbox_settings SET counts_since = NOW(6) - INTERVAL 1 HOUR;
    UPDATE outbox_partitions SET former_label_at = NOW(6) - INTERVAL 11 MINUTE
	WHERE partition_key = 'p03'"
ctl --json status
is "$RC $(field '[.counts | .finish_ms, (.sent_at | startswith("2026"))]')" \
    '0 [0,true]' 'a former count used eleven minutes ago: --finish is possible'
ctl status
like "$OUT" '^to do +partitions sync --finish, when' '--finish is possible now'
# straggler: the last message came so long ago
straggler() {
	sql "UPDATE outbox_settings SET former_counts = NULL, counts_since = $2;
	    UPDATE outbox_partitions SET former_label_at =
		NOW(6) - INTERVAL $1 MINUTE WHERE partition_key = 'p03'"
}
straggler 9 'NOW(6) - INTERVAL 1 HOUR'
needs '^a producer uses a partition count that is not declared: at 2026.*: correct the producer, .*outboxctl partitions sync' \
    'a producer that uses an undeclared count'
shows .counts null 'no former count is declared: none is printed'
# Once enough newer rows have the labels of their keys, its producer is corrected.
# rows_of SEQUENCE N LABEL: newer rows, of a key with the label p00
rows_of() {
	sql "INSERT INTO events (sequence, stream_id, stream_sequence, event_type,
		event_data) SELECT $1 + n, 'k', $1 + n, 't', '{}' FROM $(numbers "$2");
	    INSERT INTO outbox (global_sequence, partition_key, published_at)
		SELECT $1 + n, $3, NOW(6) FROM $(numbers "$2")"
}
of_k="CONCAT('p', LPAD(CRC32('k') % $(sql 'SELECT COALESCE(
    MAX(partition_count), 16) FROM outbox_settings'), 2, '0'))"
rows_of 900000000 1 "'p99'"
rows_of 900000001 30 "$of_k"
needs '^a producer uses a partition count that is not declared' \
    'one of the newest rows has another label: still a problem'
sql 'DELETE FROM outbox WHERE global_sequence = 900000000;
    DELETE FROM events WHERE sequence = 900000000'
exits 0 'the newest rows have the labels of their keys: no problem' status
sql 'DELETE FROM outbox WHERE global_sequence >= 900000000;
    DELETE FROM events WHERE sequence >= 900000000'
straggler 11 'NOW(6) - INTERVAL 1 HOUR'
exits 0 'an undeclared count used eleven minutes ago: exit status 0' status
straggler 9 'NOW(6)'
exits 0 'an undeclared count used before the last change: exit status 0' status
straggler 9 NULL
ctl status
is "$RC" 0 'an undeclared count where no count was ever changed: exit status 0'
sql "INSERT INTO outbox_partitions (partition_key) VALUES ('p32'), ('p6000')"
needs 'labels of no declared count: p32, p6000.: its keys' \
    'leases of no count'
sql "DELETE FROM outbox_partitions WHERE partition_key IN ('p32', 'p6000');
    UPDATE outbox_partitions SET former_label_at = NULL; UPDATE outbox_settings
	SET partition_count = NULL, counts_since = NULL;
    DELETE FROM outbox_workers"

#
# A right is missing.
#
sql "REVOKE SELECT ON outbox_partitions FROM 'outbox'@'localhost'"
exits 3 'status without a right: exit status 3' status
like "$OUT" '^! .*cannot be read.*outbox_partitions' \
    'status without a right: the problem names the table'
for command in workers 'partitions list'; do
	# shellcheck disable=SC2086
	exits 1 "$command without a right: exit status 1" $command
	like "$ERR" '^outboxctl: .*outbox_partitions' \
	    "$command without a right: the error names the table"
done
sql "GRANT SELECT ON outbox_partitions TO 'outbox'@'localhost'"

#
# Other names.
#
sed 's/^outbox: {/&tables: {outbox: o, partitions: p, workers: w},/' \
    "$CONF" > "$DIR/names.yml"
sql 'RENAME TABLE outbox TO o, outbox_partitions TO p, outbox_workers TO w'
for table in o p w; do
	sql "GRANT SELECT ON $table TO 'outbox'@'localhost'"
done
ctl -c "$DIR/names.yml" --json status
shows '[.backlog.waiting, .partitions.total]' '[6,19]' 'other names of tables'
sql 'RENAME TABLE o TO outbox, p TO outbox_partitions, w TO outbox_workers'

#
# A large table: the number of rows that are read does not grow with it.
#
LARGE=350000
! is_short || LARGE=120000
sql "DELETE FROM outbox;
    INSERT INTO outbox (global_sequence, partition_key, published_at)
	SELECT n + 1, CONCAT('p', LPAD(n % 16, 2, '0')),
	    IF(n < 300000, NOW(6), NULL)
	FROM $(numbers $LARGE $((350000 - LARGE)));
    INSERT INTO outbox_dead_letters (global_sequence, reason, died_at)
	SELECT n + 1000000, 'message', NOW(6) - INTERVAL 2 DAY
	FROM $(numbers 30000);
    ANALYZE TABLE outbox, outbox_dead_letters" >/dev/null

shows .backlog.exact false '50000 rows wait: the backlog is an estimate' status
[ "$(field '.backlog.waiting > 42000 and .backlog.waiting < 58000')" = true ]
ok $? "the estimate is near ($(field .backlog.waiting) of 50000)"
[ "$(field ".delivered | (.exact | not) and
    (.last_hour / $((LARGE - 50000)) | . > 0.8 and . < 1.2)")" = true ]
ok $? "so is that of the last hour ($(field .delivered.last_hour) delivered)"
shows '[.dead.count, .dead.exact]' '[30001,true]' 'dead letters are counted'
sql "INSERT INTO outbox_dead_letters (global_sequence, reason, died_at)
    SELECT n, 'replayed', NOW(6) FROM $(numbers 60000 2000000)"
shows '[.dead | .count, .exact, .new]' '[30001,true,0]' 'and marks are not' \
    status
sql "INSERT INTO outbox_dead_letters (global_sequence, reason, died_at)
    SELECT n, 'message', NOW(6) FROM $(numbers 30000 3000000)"
shows '[.dead | .count, .exact, .new]' '[40000,false,30000]' \
    'dead letters: of the latest 100000 rows of the table' status
ctl status
like "$OUT" '^dead +at least 40,000 letters, at least 30,000 new$' \
    'status as text: at least so many dead letters'
like "$OUT" '^! warning: new dead letters: at least 30,000$' \
    'and so does the problem'
sql 'DELETE FROM outbox_dead_letters;
    UPDATE outbox SET partition_key = CONCAT("!", global_sequence % 3)
	WHERE global_sequence BETWEEN 300001 AND 301500'
ctl --json status
check "the parked rows are estimated ($(field .backlog.parked) of 1500)" \
    [ "$(field '.backlog.parked > 700 and .backlog.parked < 4000')" = true ]
sql 'UPDATE outbox SET partition_key = "p00"
	WHERE global_sequence BETWEEN 300001 AND 301500'
shows '[.[] | select(.partition == "p00") | .exact, .oldest]' '[false,300001]' \
    'partitions list: many rows in a partition are not counted' partitions list
[ "$(field '.[] | select(.partition == "p00") | .waiting > 2000 and
    .waiting < 10000')" = true ]
ok $? 'partitions list: the number of rows is an estimate'
matches '^p00 +free .* ~[0-9],[0-9]+ ' \
    'partitions list without --json: an estimate begins with ~' partitions list
sql 'ALTER TABLE outbox DROP KEY outbox_claim, ADD KEY turned (partition_key,
    published_at)'
shows '[.backlog, .oldest.sequence]' '[null,300001]' \
    'no index for the backlog: it is not counted' status
shows .delivered null 'nor is what was delivered' status
sql 'UPDATE outbox SET partition_key = "!1"
	WHERE global_sequence BETWEEN 300001 AND 301500;
    ALTER TABLE outbox ADD KEY by_time (published_at)'
matches '^waiting +about [0-9,]+ rows, 1,000 or more parked' \
    'status as text: so many parked rows, or more' status
sql 'TRUNCATE TABLE outbox; ALTER TABLE outbox DROP KEY turned, DROP KEY by_time,
    ADD KEY outbox_claim (published_at, partition_key, global_sequence)'

#
# The daemon of this host.
#
sql 'DELETE FROM outbox_partitions'
are_shared() {
	ctl --json workers
	[ "$(field '[.[].partitions]')" = '[8,8]' ]
}
start_master
within 20 'two workers share the partitions' are_shared
produce --events 500 --keys 50
wait_for 20 is_drained
delivered() {
	ctl --json status
	[ "$(field '[.this_host.workers[].delivered] | add')" = 500 ]
}
wait_for 10 delivered
is "$RC" 0 'status beside a healthy daemon: exit status 0'
shows '[.this_host.pid, .this_host.generation]' "[$MASTER,1]" \
    'status: pid and generation of the daemon on this host'
shows '[.this_host.workers[] | .state, .owned, .delivered > 0]' \
    '["running",8,true,"running",8,true]' \
    'status: state and work of its workers'
shows '[.workers.live, .this_host.per_second]' '[2,0]' \
    'status: the rate of an idle daemon is 0' status
matches "^daemon +pid $MASTER, generation 1, 0 messages/s" \
    'status as text: the daemon on this host' status
sql "UPDATE outbox_settings SET former_counts = '8', counts_since = NOW(6);
    UPDATE outbox_partitions SET lease_epoch = lease_epoch + 1;
    INSERT INTO events (stream_id, stream_sequence, event_type, event_data)
	VALUES ('late', 1, 't', 'x'), ('late', 2, 't', 'x');
    INSERT INTO outbox (global_sequence, partition_key)
	SELECT sequence, CONCAT('p', LPAD((CRC32('late') + 8) % 16, 2, '0'))
	FROM events WHERE stream_id = 'late'"
is_told() {
	ctl --json status
	[ "$(field '.counts | [.sent_here, .sent_here_at != null,
	    .sent_at != null]')" = '[2,true,true]' ]
}
within 20 'status: messages sent under the label of another count' is_told
shows '[.this_host.workers[].former_labels] | add' 2 \
    'status: how many of them each worker sent'
matches '^former +this host sent 2 messages .*: 2026.*; the last of any host: 2026' \
    'status as text: the same' status

"$SANDBOX" stop "$DIR/nats" >/dev/null
is_held_up() {
	ctl --json status
	[ "$RC" -eq 1 ] && [[ $(field '.problems[].id') = *broker* ]]
}
wait_for 20 is_held_up
not_waiting() { ! grep -q waiting_worker <<< "$OUT"; }
check 'no broker is one problem' not_waiting
like "$(field '.problems[].text')" '^the broker cannot be used: nats ' 'and outboxctl cannot reach it'
why=$(field '.this_host.workers[0].why')
ctl status
is "$(grep -cF "$why" <<< "$OUT") $(grep -c ' no broker ' <<< "$OUT")" '1 2' \
    'status as text: the reason, told once'
"$SANDBOX" restart "$DIR/nats" >/dev/null

#
# Again and again.
#
"$OUTBOXCTL" -c "$CONF" --json status --watch 1 > "$DIR/watch" \
    2> "$DIR/watch.err" &
watcher=$!
many() { [ "$(wc -l < "$DIR/watch")" -ge "$1" ]; }
within 20 '--watch: a line each second' many 2
is "$(jq -r '.workers.live' "$DIR/watch" | sort -u | head -1)" 2 \
    '--watch --json: each line is an object'
stop_master "$MASTER"
"$SANDBOX" stop "$DIR/db" >/dev/null
within 20 '--watch without a database server: the error says so' \
    grep -q '"id":"database"' "$DIR/watch"
lines=$(wc -l < "$DIR/watch")
"$SANDBOX" restart "$DIR/db" >/dev/null
within 20 '--watch goes on when the server is back' many $((lines + 2))
is "$(tail -1 "$DIR/watch" | jq .this_host)" null \
    '--watch: the scoreboard of a dead master is not used'
kill -INT "$watcher"
wait "$watcher"
is $? 0 '--watch ends with status 0 at SIGINT'

#
# A master is killed: its workers are stale at once, and no others.
#
has_live() { ctl --json status; [ "$(field .workers.live)" = "$1" ]; }
sql "DELETE FROM outbox_workers;
    INSERT INTO outbox_workers (id, hostname, pid, heartbeat_until) VALUES
	('other:00:00000000000000cc', '$(uname -n)', 4194304,
	NOW(6) + INTERVAL 1 HOUR)"
start_master
within 10 'workers of two daemons' has_live 3
kill -KILL "$MASTER"
within 5 'after a kill -9 the workers of the other daemon are alive' has_live 1
sql "DELETE FROM outbox_workers WHERE id LIKE 'other:%'"
within 5 'and its own are not' has_live 0

refuses <<'EOF2'
from_1_to_3600 status --watch 0
from_1_to_3600 status --watch x
from_1_to_3600 status 5
unexpected_argument status --watch 5 6
not_an_option workers --watch
unexpected_argument workers me
not_an_option partitions list --limit 5
EOF2

#
# The clock was put back an hour.  Rows: enqueued, a wish, put off, claimed.
#
sql "DELETE FROM outbox;
    UPDATE outbox_partitions SET updated_at = NOW(6);
    INSERT INTO outbox (global_sequence, partition_key, attempts, created_at,
	available_at, claim_token) VALUES
	(1, 'p01', 0, NOW(6) + INTERVAL 1 HOUR, created_at, NULL),
	(2, 'p01', 0, NOW(6), NOW(6) + INTERVAL 1 HOUR, NULL),
	(3, 'p01', 1, NOW(6), NOW(6) + INTERVAL 1 MINUTE, NULL);
    UPDATE outbox SET last_error = 'away' WHERE global_sequence = 3"
ctl --json status
shows '[.problems[].id | select(. == "clock_back")]' '[]' \
    'rows that are due, or wait by a wish or a delay: no problem'
sql 'UPDATE outbox SET available_at = NOW(6) + INTERVAL 3 HOUR
    WHERE global_sequence = 3'
route='{name: slow, type: "slow.*", driver: discard, max_backoff: 2h}'
sed "s|publish: {|&routes: [$route], |" "$CONF" > "$DIR/slow.yml"
"$OUTBOXCTL" -c "$DIR/slow.yml" --json status > "$DIR/slow.json"
is "$(jq .clock.rows "$DIR/slow.json")" 0 'nor the delay of a route, if it is longer'
sql 'UPDATE outbox SET available_at = NOW(6) WHERE global_sequence = 3'
sql "INSERT INTO outbox (global_sequence, partition_key, attempts, created_at,
	available_at, claim_token) VALUES
	(4, 'p01', 1, NOW(6), NOW(6) + INTERVAL 3 HOUR, NULL),
	(5, 'p01', 0, NOW(6), NOW(6) + INTERVAL 1 HOUR,
	'00000000000000aa-1-30000'),
	(6, 'p01', 0, NOW(6) + INTERVAL 1 HOUR,
	NOW(6) + INTERVAL 61 MINUTE, NULL),
	(7, 'p01', 0, NOW(6), NOW(6) + INTERVAL 3 HOUR, NULL);
    UPDATE outbox SET last_error = 'away' WHERE global_sequence = 7;
    UPDATE outbox_partitions SET updated_at = NOW(6) + INTERVAL 1 HOUR,
	lease_owner = 'b:01:00000000000000bb',
	lease_until = NOW(6) + INTERVAL 61 MINUTE WHERE partition_key = 'p01'"
ctl --json status
shows '[.clock.rows, .clock.first, .clock.leases]' '[4,4,1]' \
    'what waits only because the clock was put back is counted'
shows '.problems[] | select(.id == "clock_back") | .remedy[:25]' \
    'correct the clock (NTP), ' 'and a problem with its remedy'

#
# Pillar's tables, and none.
#
pillar_tables
sql "INSERT INTO events (sequence, stream_id, stream_sequence, event_type,
	event_data, occurred_at) VALUES
	(1, 'k', 1, 't', '{}', NOW() - INTERVAL 1 MINUTE),
	(2, 'k', 2, 't', '{}', NOW() - INTERVAL 1 HOUR);
    INSERT INTO outbox (global_sequence, partition_key) VALUES (1, 'p01'),
	(2, NULL);
    INSERT INTO outbox_partitions (partition_key) VALUES ('p01'), ('')"
ctl --json status
shows '[.backlog.waiting, .backlog.parked, .oldest.sequence, .dead,
    .blocked, .streams]' '[2,0,2,null,null,null]' \
    'Pillar: backlog and oldest row, null for the missing tables'
matches '^dead +no such table$' 'Pillar: a line says that it is missing' status
shows '[.[] | .partition, .waiting]' '["",1,"p01",1]' \
    'Pillar: rows by partition' partitions list
without_server workers 'partitions list'
exits 3 'status without a server: exit status 3' status
like "$OUT" '^! critical: the database cannot be read' 'and the problem'
done_testing
