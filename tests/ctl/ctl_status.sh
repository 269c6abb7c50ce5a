#!/usr/bin/env bash
# outboxctl status, workers, partitions list: what they tell, that they change
# nothing, and that they read no more because much waits.
. "${srcdir:-$(dirname "$0")/../..}/tests/lib/ctl.sh"
. "$srcdir/tests/lib/pillar.sh"

start_servers
write_conf

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
	is "$(tables)" "$before" "$name changes nothing"
}

#
# An empty database.
#
ctl --json workers
is "$RC$OUT" '0[]' 'nobody is at work'
ctl --json partitions list
is "$RC$OUT" '0[]' 'no partition yet'
ctl --json status
is "$RC" 0 'nothing waits: nobody is needed'
is "$(field '[.workers.live, .backlog.waiting, .oldest, .this_host] | tostring')" \
    '[0,0,null,null]' 'an empty outbox'
is "$(field '[.partitions | .count, .total, .missing] | tostring')" \
    '[16,0,16]' 'its leases are missing'
is "$(field .counts)" null 'and no former count'

#
# Rows of all kinds, and leases of others.
#
leases 16
sql "INSERT INTO outbox_partitions (partition_key) VALUES (''), ('p16'),
	('vip');
    INSERT INTO outbox_workers (id, hostname, pid, heartbeat_until) VALUES
	('b:01:00000000000000bb', 'b', 12, NOW(6) + INTERVAL 1 HOUR),
	('a:00:00000000000000aa', 'a', 11, NOW(6) - INTERVAL 1 HOUR),
	('other', 'b', 13, NOW(6) + INTERVAL 1 HOUR);
    UPDATE outbox_partitions SET lease_epoch = 3,
	lease_owner = 'b:01:00000000000000bb',
	lease_until = NOW(6) + INTERVAL 1 MINUTE
	WHERE partition_key IN ('p01', 'p02');
    UPDATE outbox_partitions SET lease_owner = 'a:00:00000000000000aa',
	lease_until = NOW(6) - INTERVAL 1 MINUTE WHERE partition_key = 'p03';
    INSERT INTO outbox (global_sequence, partition_key, created_at,
	published_at) VALUES
	(1, 'p01', NOW(6) - INTERVAL 9 HOUR, NOW(6)),
	(2, 'p01', NOW(6) - INTERVAL 1 MINUTE, NULL),
	(3, 'p01', NOW(6), NULL),
	(4, 'p03', NOW(6) - INTERVAL 1 HOUR, NULL),
	(5, NULL, NOW(6) - INTERVAL 1 SECOND, NULL),
	(6, '', NOW(6), NULL),
	(7, '!2', NOW(6), NULL)"
unchanged workers --json workers
is "$(field '[.[] | [.id, .host, .pid, .slot, .live, .partitions]] | tostring')" \
    '[["a:00:00000000000000aa","a",11,0,false,0],["b:01:00000000000000bb","b",12,1,true,2],["other","b",13,null,true,0]]' \
    'workers: sorted, with what they hold'
ctl --json workers
[ "$(field '.[1].ttl_ms > 3500000 and .[0].ttl_ms < -3500000')" = true ]
ok $? 'and how long they live'
unchanged 'partitions list' --json partitions list
is "$(field '[.[] | select(.waiting > 0) | [.partition, .state, .epoch,
    .waiting, .exact, .oldest]] | tostring')" \
    '[["","free",0,2,true,5],["p01","owned",3,2,true,2],["p03","expired",0,1,true,4]]' \
    'partitions: what waits in each'
is "$(field '[.[] | select(.obsolete) | .partition] | tostring')" \
    '["p16","vip"]' 'and which nobody writes to'
[ "$(field '.[] | select(.partition == "p03") | .oldest_ms > 3500000')" = true ]
ok $? 'and for how long'
ctl partitions list
like "$OUT" '^p01 +owned +b:01:0+bb +[0-9]+ +3 +2 +2 +2026.*no$' \
    'a line each for people'

sql "INSERT INTO outbox_blocked_keys (first_sequence, partition_key,
	order_key, reason, head_sequence) VALUES (2, 'p01', 'k', 'failed', 2),
	(3, 'p01', 'l', 'failed', 3);
    INSERT INTO outbox_dead_letters (global_sequence, reason, died_at) VALUES
	(8, 'message', NOW(6) - INTERVAL 2 DAY);
    INSERT INTO outbox_streams (name, checked_at) VALUES ('EVENTS', NOW(6))"
unchanged status --json status
is "$RC" 0 'status: nothing needs a human'
is "$(field '[.workers | .live, .stale, .hosts] | tostring')" '[2,1,1]' \
    'the fleet'
is "$(field '[.partitions | .count, .total, .owned, .free, .expired, .idle,
    .missing, .obsolete] | tostring')" '[16,19,2,16,1,16,0,2]' 'the leases'
is "$(field '[.backlog | .waiting, .exact, .parked] | tostring')" \
    '[6,true,1]' 'the backlog'
is "$(field '[.oldest.sequence, .oldest.partition] | tostring')" '[4,"p03"]' \
    'the oldest by its age, not by its number'
is "$(field '[.blocked[] | .reason, .keys] | tostring')" '["failed",2]' \
    'blocked keys'
is "$(field '[.dead | .count, .exact, .new] | tostring')" '[1,true,0]' \
    'dead letters'
is "$(field '.streams[0].name')" EVENTS 'streams'
ctl status
like "$OUT" '^waiting +6 rows, 1 parked$' 'the same for people'
like "$OUT" '^workers +2 alive, 1 stale, on 1 host.s.$' 'the fleet'
like "$OUT" '^daemon +does not run on this host$' 'and no daemon here'

#
# What needs a human: each is said, and the status is 1.
#
needs() {
	ctl status --json "${@:3}"
	is "$RC" 1 "$2: status 1"
	like "$(field '.problems[]')" "$1" "$2: and it is said"
}
sql "INSERT INTO outbox_dead_letters (global_sequence, reason) VALUES
    (9, 'message')"
needs '^new dead letters: 1: ' 'a new dead letter'
needs '^new dead letters: 2: ' 'those of three days' --since 3d
sql 'DELETE FROM outbox_dead_letters WHERE global_sequence = 9;
    UPDATE outbox_blocked_keys SET reason = "halted" WHERE first_sequence = 3'
needs '^halted keys: 1, the first since 2026' 'a halted key'
sql 'DELETE FROM outbox_blocked_keys; DELETE FROM outbox_workers'
needs '^no worker is alive and 6 rows wait' 'nobody alive'

#
# Former partition counts, and a producer that uses one.
#
sql "INSERT INTO outbox_workers (id, heartbeat_until) VALUES
	('b:01:00000000000000bb', NOW(6) + INTERVAL 1 HOUR);
    UPDATE outbox_settings SET partition_count = 32, former_counts = '16,8',
	counts_since = NOW(6) - INTERVAL 5 MINUTE"
unchanged 'status of former counts' --json status
is "$RC $(field '[.counts | .present, .former, .classes, .class_size, .sent_here,
    .sent_here_at, .sent_at] | tostring')" '0 [32,[16,8],8,4,0,null,null]' \
    'former counts are told, and need nobody'
[ "$(field '.counts | .finish_ms > 240000 and .finish_ms <= 300000 and
    (.since | startswith("2026"))')" = true ]
ok $? 'and for how long they stay at least'
is "$(field '[.partitions | .count, .missing, .obsolete] | tostring')" \
    '[32,15,1]' 'what a former count makes is not obsolete'
ctl status
like "$OUT" '^counts +32, formerly 16 and 8: 8 classes of up to 4 labels; .*; changed: 2026' \
    'for people, too'
like "$OUT" '^former +this host sent 0 messages .* the last: never; the last of any host: never$' \
    'and who uses them'
like "$OUT" '^to do +in [45]m .*s at the earliest: partitions sync --finish' \
    'and what ends it'
sql "UPDATE outbox_settings SET counts_since = NOW(6) - INTERVAL 1 HOUR;
    UPDATE outbox_partitions SET former_label_at = NOW(6) - INTERVAL 11 MINUTE
	WHERE partition_key = 'p03'"
ctl --json status
is "$RC $(field '[.counts | .finish_ms, (.sent_at | startswith("2026"))] |
    tostring')" '0 [0,true]' 'eleven minutes ago: it may be ended'
ctl status
like "$OUT" '^to do +partitions sync --finish, when' 'which is said'
# straggler: the last message came so long ago
straggler() {
	sql "UPDATE outbox_settings SET former_counts = NULL, counts_since = $2;
	    UPDATE outbox_partitions SET former_label_at =
		NOW(6) - INTERVAL $1 MINUTE WHERE partition_key = 'p03'"
}
straggler 9 'NOW(6) - INTERVAL 1 HOUR'
needs '^a producer uses a partition count that is not declared: at 2026.*: run partitions sync' \
    'after the end'
is "$(field .counts)" null 'no former count is told'
straggler 11 'NOW(6) - INTERVAL 1 HOUR'
ctl status
is "$RC" 0 'not for longer than ten minutes'
straggler 9 'NOW(6)'
ctl status
is "$RC" 0 'nor for what came before it'
straggler 9 NULL
ctl status
is "$RC" 0 'nor for labels of an application that never had another count'
sql "INSERT INTO outbox_partitions (partition_key) VALUES ('p32'), ('p6000')"
needs 'labels of no declared count: p32, p6000.: its keys' 'but for undeclared labels'
sql "DELETE FROM outbox_partitions WHERE partition_key IN ('p32', 'p6000');
    UPDATE outbox_partitions SET former_label_at = NULL; UPDATE outbox_settings
	SET partition_count = NULL, counts_since = NULL;
    DELETE FROM outbox_workers"

#
# A right is missing.
#
sql "REVOKE SELECT ON outbox_partitions FROM 'outbox'@'localhost'"
for command in status workers 'partitions list'; do
	# shellcheck disable=SC2086
	ctl $command
	is "$RC" 1 "$command: no right to read: status 1"
	like "$ERR" '^outboxctl: .*outbox_partitions' 'and it is said what'
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
is "$(field '[.backlog.waiting, .partitions.total] | tostring')" '[6,19]' \
    'tables with other names'
sql 'RENAME TABLE o TO outbox, p TO outbox_partitions, w TO outbox_workers'

#
# A large table: what is read does not grow with it.
#
sql "DELETE FROM outbox;
    INSERT INTO outbox (global_sequence, partition_key, published_at)
	SELECT n + 1, CONCAT('p', LPAD(n % 16, 2, '0')),
	    IF(n < 300000, NOW(6), NULL)
	FROM $(numbers 350000);
    INSERT INTO outbox_dead_letters (global_sequence, reason, died_at)
	SELECT n + 1000000, 'message', NOW(6) - INTERVAL 2 DAY
	FROM $(numbers 30000);
    ANALYZE TABLE outbox, outbox_dead_letters" >/dev/null

ctl --json status
is "$(field .backlog.exact)" false 'much waits: that is an estimate'
[ "$(field '.backlog.waiting > 15000 and .backlog.waiting < 150000')" = true ]
ok $? "and a fair one ($(field .backlog.waiting))"
is "$(field '[.dead.count, .dead.exact] | tostring')" '[10000,false]' \
    'so are the dead'
sql 'DELETE FROM outbox_dead_letters;
    UPDATE outbox SET partition_key = CONCAT("!", global_sequence % 3)
	WHERE global_sequence BETWEEN 300001 AND 301500'
ctl --json status
[ "$(field '.backlog.parked > 700 and .backlog.parked < 4000')" = true ]
ok $? "nor are many parked ones counted ($(field .backlog.parked))"
sql 'UPDATE outbox SET partition_key = "p00"
	WHERE global_sequence BETWEEN 300001 AND 301500'
ctl --json partitions list
is "$(field '[.[] | select(.partition == "p00") | .exact, .oldest] |
    tostring')" '[false,300001]' 'many wait in a partition: that is not counted'
[ "$(field '.[] | select(.partition == "p00") | .waiting > 2000 and
    .waiting < 10000')" = true ]
ok $? 'but estimated'
ctl partitions list
like "$OUT" '^p00 +free .* ~[0-9]+ ' 'said to people as such'
sql 'ALTER TABLE outbox DROP KEY outbox_claim, ADD KEY turned (partition_key,
    published_at)'
ctl --json status
is "$(field '[.backlog, .oldest.sequence] | tostring')" '[null,300001]' \
    'no index for the backlog: not counted'
sql 'TRUNCATE TABLE outbox; ALTER TABLE outbox DROP KEY turned, ADD KEY
    outbox_claim (published_at, partition_key, global_sequence)'

#
# The daemon of this host.
#
sql 'DELETE FROM outbox_partitions'
are_shared() {
	ctl --json workers
	[ "$(field '[.[].partitions] | tostring')" = '[8,8]' ]
}
start_master
wait_for 20 are_shared
ok $? 'workers with their partitions'
produce --events 500 --keys 50
wait_for 20 is_drained
delivered() {
	ctl --json status
	[ "$(field '[.this_host.workers[].delivered] | add')" = 500 ]
}
wait_for 10 delivered
is "$RC" 0 'a daemon at work: all is well'
is "$(field '[.this_host.pid, .this_host.generation] | tostring')" "[$MASTER,1]" \
    'its master'
is "$(field '[.this_host.workers[] | .state, .owned, .delivered > 0] | tostring')" \
    '["running",8,true,"running",8,true]' 'and its workers'
ctl --json status
is "$(field '[.workers.live, .this_host.per_second] | tostring')" '[2,0]' \
    'the rate is that of now'
ctl status
like "$OUT" "^daemon +pid $MASTER, generation 1, 0 messages/s" 'for people'
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
	    .sent_at != null] | tostring')" = '[2,true,true]' ]
}
wait_for 20 is_told
ok $? 'messages under the label of another count are told'
is "$(field '[.this_host.workers[].former_labels] | add')" 2 'of each worker'
ctl status
like "$OUT" '^former +this host sent 2 messages .*: 2026.*; the last of any host: 2026' \
    'for people, too'

"$SANDBOX" stop "$DIR/nats" >/dev/null
is_held_up() {
	ctl --json status
	[ "$RC" -eq 1 ] && [ -n "$(field '.problems[]')" ]
}
wait_for 20 is_held_up
like "$(field '.problems | tostring')" '^\["no broker: .*nats' \
    'no broker: it is said why nothing goes'
"$SANDBOX" restart "$DIR/nats" >/dev/null

#
# Again and again.
#
"$OUTBOXCTL" -c "$CONF" --json status --watch 1 > "$DIR/watch" \
    2> "$DIR/watch.err" &
watcher=$!
many() { [ "$(wc -l < "$DIR/watch")" -ge "$1" ]; }
wait_for 20 many 2
ok $? '--watch: line after line'
is "$(jq -r '.workers.live' "$DIR/watch" | sort -u | head -1)" 2 \
    'each an object'
if command -v script >/dev/null; then
	script -qfc "$OUTBOXCTL -c $CONF status --watch 1" "$DIR/screen" \
	    > /dev/null 2>&1 < /dev/null &
	screen=$!
	cleared() { [ "$(grep -c $'\e\\[H\e\\[2J' "$DIR/screen")" -ge 2 ]; }
	wait_for 20 cleared
	ok $? 'on a terminal the screen is cleared'
	kill -TERM "$screen"
	wait "$screen"
fi
stop_master "$MASTER"
"$SANDBOX" stop "$DIR/db" >/dev/null
wait_for 20 grep -q 'outboxctl: mysql' "$DIR/watch.err"
ok $? 'the server is away: that is said'
lines=$(wc -l < "$DIR/watch")
"$SANDBOX" restart "$DIR/db" >/dev/null
wait_for 20 many $((lines + 2))
ok $? 'and when it is back it goes on'
is "$(tail -1 "$DIR/watch" | jq .this_host)" null \
    'the scoreboard of a dead master is old'
kill -INT "$watcher"
wait "$watcher"
is $? 0 'a signal ends it'

refuses <<'EOF2'
2 from_1_to_3600 status --watch 0
2 from_1_to_3600 status --watch x
2 from_1_to_3600 status 5
2 unexpected_argument status --watch 5 6
2 not_an_option workers --watch
2 unexpected_argument workers me
2 not_an_option partitions list --limit 5
EOF2

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
is "$(field '[.backlog.waiting, .backlog.parked, .oldest.sequence, .dead,
    .blocked, .streams] | tostring')" '[2,0,2,null,null,null]' \
    'Pillar: what there is, and no table of ours'
ctl status
like "$OUT" '^dead +no such table$' 'which is said'
ctl --json partitions list
is "$(field '[.[] | .partition, .waiting] | tostring')" '["",1,"p01",1]' \
    'and its partitions'
"$SANDBOX" stop "$DIR/db" >/dev/null
for command in status workers 'partitions list'; do
	# shellcheck disable=SC2086
	ctl $command
	is "$RC" 69 "$command: the server is away"
done
done_testing
