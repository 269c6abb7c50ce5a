#!/usr/bin/env bash
# outboxctl doctor: each check finds what it is for, and names the remedy.
. "${srcdir:-$(dirname "$0")/../..}/tests/lib/ctl.sh"
. "$srcdir/tests/lib/pillar.sh"

start_servers
write_conf
mkdir -p "$DIR/run"

# lines LEVEL: what was said of it
lines() { grep -E "^$1 " <<< "$OUT"; }

# says LEVEL RC REGEX NAME: a line of that level, and the status
says() {
	ctl doctor
	like "$(lines "$1")" "$3" "$4: $1"
	is "$RC" "$2" "$4: status $2"
}

# conf_with SED: another configuration
conf_with() {
	write_conf
	sed -i "$1" "$CONF"
}

#
# All is well.
#
sql "INSERT INTO events (sequence, stream_id, stream_sequence, event_type,
	event_data) SELECT seq, seq, 1, 't', '{}' FROM
	(WITH RECURSIVE s AS (SELECT 1 AS seq UNION ALL SELECT seq + 1 FROM s
	WHERE seq < 900) SELECT seq FROM s) t;
    INSERT INTO outbox (global_sequence, partition_key, published_at)
	SELECT sequence, CONCAT('p0', sequence % 4),
	IF(sequence < 300, NULL, NOW(6)) FROM events;
    INSERT INTO outbox_partitions (partition_key) VALUES ('p00'), ('p01'),
	('p02'), ('p03'), ('');
    UPDATE outbox_settings SET partition_count = 16"
before=$(tables)
ctl doctor
is "$RC" 0 'nothing is wrong'
is "$(lines fail)" '' 'no check fails'
is "$(lines warn | cut -d: -f1)" 'warn  daemon' \
    'and there is nothing to say but that no daemon runs'
is "$(tables)" "$before" 'nothing is changed'
for check in configuration secrets 'run directory' database server 'database tls' clock \
    tables 'time zone' latency settings grants plans 'broker tls' broker stream; do
	like "$(lines ok)" "^ok    $check: " "$check is checked"
done
like "$(lines ok)" 'all 1[0-9] statements of a batch use' 'all statements'
ctl --json doctor
is "$RC" 0 'JSON'
is "$(field 'map(.level) | unique | tostring')" '["ok","warn"]' 'each a level'
is "$(field '.[] | select(.check == "settings") | .text')" '16 partitions' \
    'check and text'
is "$ERR" '' 'and nothing beside it'

#
# This host.
#
echo "$OUTBOX_PW" > "$DIR/secret"
chmod 600 "$DIR/secret"
conf_with "s|password_env: OUTBOX_PW|password_file: $DIR/secret|"
says ok 0 "mysql.password_file: $DIR/secret: mode 600" 'a secret file'
chmod 644 "$DIR/secret"
says fail 1 "mode 644 gives all users access: chmod o= $DIR/secret" \
    'a secret that all may read'
chmod 660 "$DIR/secret"
says warn 0 'mode 660 lets the group change it' 'one that a group may change'
chmod 600 "$DIR/secret"
rm "$DIR/secret"
says fail 1 "^fail  mysql.password_file: $DIR/secret: No such file" 'one that is not there'
like "$(lines fail)" '^fail  database: ' 'and there is no database then'
if [ "$(id -u)" -eq 0 ]; then
	echo "$OUTBOX_PW" > "$DIR/secret"
	chmod 600 "$DIR/secret"
	sed -i 's/user: root/user: nobody/' "$CONF"
	says fail 1 'the daemon may not read it: ch' \
	    'one that its user may not read'
	like "$(lines fail)" "^fail  run directory: $DIR/run: .*may not write" \
	    'nor write to the run directory'
fi
PIDFILE=$DIR/none/x.pid write_conf
says warn 0 "run directory: $DIR/none: No such file" 'no run directory'
write_conf
start_fleet
says ok 0 "daemon: runs with pid $MASTER, generation 1" 'a daemon'
is "$(lines warn)" '' 'a healthy daemon: no warning at all'
stop_master "$MASTER"

#
# The server.
#
sql 'SET GLOBAL innodb_flush_log_at_trx_commit = 2'
says warn 0 'innodb_flush_log_at_trx_commit is 2: .*SET GLOBAL' 'durability'
sql 'SET GLOBAL innodb_flush_log_at_trx_commit = 1; SET GLOBAL sync_binlog = 0'
says warn 0 'sync_binlog is 0' 'the binlog'
sql 'SET GLOBAL sync_binlog = 1; SET GLOBAL wait_timeout = 5'
says fail 1 'wait_timeout is 5 s.*worker.lease_renew \(5 s\)' 'wait_timeout'
sql 'SET GLOBAL wait_timeout = 28800'
sql 'SET GLOBAL read_only = 1'
ctl doctor
is "$RC" 69 'read-only: status 69'
like "$(lines fail)" 'the server is read-only' 'and it is said'
sql 'SET GLOBAL read_only = 0; SET GLOBAL binlog_format = STATEMENT'
says fail 1 'binlog_format=STATEMENT.*set it to ROW' 'binlog_format'
sql 'SET GLOBAL binlog_format = MIXED'
WAKE='binlog: true' write_conf
says warn 1 'binlog_format is MIXED: the binlog listener' \
    'a binlog listener and its binlog'
like "$(lines fail)" '^fail  binlog: .*GRANT REPLICATION SLAVE' 'and its right'
sql "SET GLOBAL binlog_format = ROW;
    GRANT REPLICATION SLAVE ON *.* TO 'outbox'@'localhost'"
says ok 0 '^ok    binlog: the account may read it' 'it has it'

# Whether messages wait for the commit of their claim.
says ok 0 'latency: messages are sent while their claim' 'they do not'
sql 'SET GLOBAL sync_binlog = 0'
says ok 0 'latency: messages are sent after .*SET GLOBAL sync_binlog = 1' 'they do'
sql 'SET GLOBAL sync_binlog = 1'
if [ "$KIND" = mariadb ]; then
	sql 'SET GLOBAL rpl_semi_sync_master_enabled = 1'
	says ok 0 'latency: .*SET GLOBAL rpl_semi_sync_master_wait_point = AF' \
	    'for a replica'
	sql 'SET GLOBAL rpl_semi_sync_master_enabled = 0'
fi
RECOVER=off WAKE='binlog: true' write_conf
says ok 0 'latency: .*nats.recover: lost' 'without a look at the stream'
STREAM='' WAKE='binlog: true' write_conf
like "$(ctl doctor; lines ok)" 'latency: .*nats.stream' 'without a stream'
WORKERS=1 LEASING=false WAKE='binlog: true' write_conf
like "$(ctl doctor; lines ok)" 'latency: .*worker.leasing' 'without leases'
write_conf
says ok 0 'latency: .*wake.binlog: true' 'without rings'

#
# Tables, settings, rights.
#
sql 'ALTER TABLE outbox DROP COLUMN in_doubt_since'
says warn 0 'tables: outbox: no column in_doubt_since: .*ALTER TABLE' \
    'a column that may be missing'
sql 'ALTER TABLE outbox ADD COLUMN in_doubt_since TIMESTAMP(6) NULL DEFAULT NULL,
    CHANGE claim_token token VARCHAR(64)'
says fail 1 'tables: schema: column outbox.claim_token is missing' \
    'a column that may not'
sql 'ALTER TABLE outbox CHANGE token claim_token VARCHAR(64) NULL DEFAULT NULL,
    MODIFY created_at DATETIME(6) NULL'
says warn 0 'time zone: outbox.created_at is a DATETIME' 'a DATETIME'
sql 'ALTER TABLE outbox MODIFY created_at TIMESTAMP(6) NOT NULL
    DEFAULT CURRENT_TIMESTAMP(6); ALTER TABLE outbox_workers ENGINE = MyISAM'
says fail 1 'outbox_workers is MyISAM.*ENGINE = InnoDB' 'another engine'
sql 'ALTER TABLE outbox_workers ENGINE = InnoDB;
    UPDATE outbox_settings SET schema_version = 99'
says fail 1 'settings: .*schema version 99 is newer' 'a newer schema'
sql 'UPDATE outbox_settings SET schema_version = 1, partition_count = 8;
    UPDATE outbox_partitions SET former_label_at = NULL'
says warn 0 'settings: the database has 8 partitions .* is 16' 'another count'
sql 'UPDATE outbox_settings SET partition_count = NULL'
says warn 0 'settings: no partition count yet' 'no count'
is "$(sql 'SELECT partition_count FROM outbox_settings')" NULL \
    'and none is written'
sql 'UPDATE outbox_settings SET partition_count = 16'
# declared FORMER SINCE LAST: the counts, and the last message of another one
declared() {
	sql "UPDATE outbox_settings SET former_counts = $1, counts_since = $2;
	    UPDATE outbox_partitions SET former_label_at =
		IF(partition_key = 'p01', $3, NULL)"
}
declared "'8,4'" 'NOW(6) - INTERVAL 9 MINUTE' NULL
says ok 0 'settings: declared .*: 16, formerly 8 and 4: 4 classes .*; changed: 2026.*Z; last message .*: never' \
    'former counts'
declared "'8,4'" 'NOW(6) - INTERVAL 1 DAY' 'NOW(6) - INTERVAL 9 MINUTE'
says ok 0 'settings: declared .*; last message .* count: 2026.*Z$' 'that a producer uses'
declared "'8,4'" 'NOW(6) - INTERVAL 1 DAY' 'NOW(6) - INTERVAL 11 MINUTE'
says warn 0 'settings: declared .*: when no producer uses a former count, run outboxctl partitions sync --finish' \
    'that no producer uses'
sql "INSERT INTO outbox_workers (id, heartbeat_until) VALUES
    ('stranger', NOW(6) + INTERVAL 1 HOUR)"
says fail 1 'settings: worker stranger of another program' 'and another program'
declared NULL 'NOW(6) - INTERVAL 1 DAY' NULL
says ok 0 'settings: 16 partitions' 'which does no harm with one count'
sql 'DELETE FROM outbox_workers'
declared NULL 'NOW(6) - INTERVAL 1 DAY' 'NOW(6) - INTERVAL 9 MINUTE'
says fail 1 'settings: a producer uses a partition count that is not declared: at 2026.*declare its count' \
    'a producer that goes on after the end'
declared NULL NULL 'NOW(6) - INTERVAL 9 MINUTE'
says ok 0 'settings: 16 partitions' 'labels of an application of its own'
declared NULL NULL NULL
for right in 'UPDATE outbox' 'DELETE outbox_workers' \
    'INSERT outbox_dead_letters' 'SELECT events' 'UPDATE outbox_streams'; do
	sql "REVOKE ${right% *} ON ${right#* } FROM 'outbox'@'localhost'"
	ctl doctor
	is "$RC" 1 "no $right: status 1"
	like "$(lines fail)" "(GRANT ${right% *} ON .${right#* }. TO|${right#* }.*not granted)" \
	    'and it is said'
	sql "GRANT ${right% *} ON ${right#* } TO 'outbox'@'localhost'"
done
sql "REVOKE INSERT ON outbox FROM 'outbox'@'localhost';
    REVOKE DELETE ON outbox_dead_letters FROM 'outbox'@'localhost'"
says ok 0 'grants: the account has all' 'rights that only a janitor needs'
echo 'retention: {days: 7}' >> "$CONF"
says fail 1 'grants: .*GRANT DELETE ON .outbox_dead_letters' 'retention needs one'
echo 'reconcile: {at_start: on}' >> "$CONF"
says fail 1 'grants: .*GRANT INSERT ON .outbox. ' 'reconcile.at_start the other'
write_conf
sql "GRANT INSERT ON outbox TO 'outbox'@'localhost';
    GRANT DELETE ON outbox_dead_letters TO 'outbox'@'localhost'"
says ok 0 'grants: the account has all' 'all rights again'

#
# Plans.
#
sql "INSERT INTO outbox (global_sequence, partition_key)
    SELECT a.sequence * 1000 + b.sequence, 'p01' FROM events a, events b
    WHERE a.sequence < 50;
    ALTER TABLE outbox DROP KEY outbox_claim;
    ANALYZE TABLE outbox" >/dev/null
says fail 1 'plans: candidates (reads all of|sorts what it reads of) outbox: ALTER TABLE outbox ADD KEY' \
    'no index for the claim'
sql 'ALTER TABLE outbox ADD KEY outbox_claim (published_at, partition_key,
    global_sequence)'
says ok 0 'plans: all' 'with the index'

#
# Other names.
#
sed 's/^outbox: {/&tables: {outbox: o, partitions: p},/' "$CONF" \
    > "$DIR/names.yml"
sql "RENAME TABLE outbox TO o, outbox_partitions TO p;
    GRANT SELECT, UPDATE ON o TO 'outbox'@'localhost';
    GRANT SELECT, INSERT, UPDATE ON p TO 'outbox'@'localhost'"
ctl -c "$DIR/names.yml" doctor
like "$(lines fail)" 'GRANT DELETE ON .o. TO' 'the names are those of the file'
sql "GRANT DELETE ON o TO 'outbox'@'localhost'"
ctl -c "$DIR/names.yml" doctor
is "$RC$(lines fail)" 0 'and all is well with them'
sql 'RENAME TABLE o TO outbox, p TO outbox_partitions'

#
# The broker.
#
STREAM='' write_conf
says warn 0 'stream: not checked.*set nats.stream' 'no stream named'
STREAM=OTHER write_conf
says fail 1 'stream: OTHER cannot be used: stream not found' 'no such stream'
SUBJECT='orders.{event_type}' write_conf
says fail 1 'stream: EVENTS has no subject that matches' 'another subject'
MAX_BACKOFF=3600 write_conf
says warn 0 'stream: EVENTS has a duplicate window of 600 s' \
    'retries beyond the duplicate window'
conf_with 's|servers: \[|&"nats://127.0.0.1:1", |'
for _ in 1 2 3 4 5 6; do
	ctl doctor
	is "$RC" 0 'one of two servers is there'
done
write_conf
"$SANDBOX" stop "$DIR/nats" >/dev/null
says fail 1 "^fail  broker: nats $URL: " 'the broker is away'
like "$(lines ok)" '^ok    plans' 'the database is checked all the same'
"$SANDBOX" restart "$DIR/nats" >/dev/null

ctl doctor now
is "$RC" 2 'an argument: wrong use'
ctl doctor --limit 5
is "$RC" 2 'an option, too'

#
# Pillar's tables, and no server.
#
pillar_tables
ctl doctor
like "$(lines warn)" 'tables: outbox_dead_letters: no such table' \
    'Pillar: what is missing'
like "$(lines fail)" 'plans: .*ALTER TABLE outbox ADD KEY outbox_claim' \
    'and the index'
like "$(lines ok)" 'grants: the account has all' 'the rights that it takes are there'
sql 'ALTER TABLE outbox ADD KEY outbox_claim (published_at, partition_key,
    global_sequence)'
says ok 0 'plans: all' 'with the index it will do'
"$SANDBOX" stop "$DIR/db" >/dev/null
ctl doctor
is "$RC" 69 'the server is away: status 69'
like "$(lines fail)" "^fail  database: mysql $SOCKET: connect" 'which is said'
like "$(lines ok)" '^ok    stream' 'and the rest is checked'
done_testing
