#!/usr/bin/env bash
# outboxctl doctor: each check finds its fault, and names the remedy.
. "${srcdir:-$(dirname "$0")/../..}/tests/lib/ctl.sh"
. "$srcdir/tests/lib/pillar.sh"

start_servers
write_conf
mkdir -p "$DIR/run"

# lines LEVEL: the lines of this level
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
# A worker that is alive, of another host.
alive() {
	sql "INSERT INTO outbox_workers (id, hostname, pid, started_at,
		updated_at, heartbeat_until) VALUES ('b:01:00000000000000bb',
		'b', 1, NOW(6), NOW(6), NOW(6) + INTERVAL 1 DAY)"
}
alive
before=$(tables)
exits 0 'doctor in a healthy setup: exit status 0' doctor
is "$(lines fail)" '' 'doctor in a healthy setup: no line begins with fail'
is "$(lines '(warn|advice)' | grep -v ' no_daemon: ')" '' 'doctor in a healthy setup: nothing but ok'
is "$(tables)" "$before" 'doctor changes no table'
for check in configuration secrets 'run directory' sandbox database server 'database tls' clock \
    tables 'time zone' settings grants types plans 'broker tls' broker stream \
    'broker rights' 'broker store'; do
	like "$(lines ok)" "^ok +$check: " "doctor reports on: $check"
done
like "$(lines ok)" 'all 1[0-9] statements of a batch use' \
    'doctor: all statements of a batch use an index'
exits 0 'doctor --json: exit status 0' --json doctor
shows 'map(.level) | unique' '["advice","ok"]' 'doctor --json: nothing is wrong'
shows '.[] | select(.check == "settings") | .text' '16 partitions' \
    'doctor --json: an entry has check and text'
is "$ERR" '' 'doctor --json: nothing on standard error'

#
# This host.
#
echo "$OUTBOX_PW" > "$DIR/secret"
chmod 600 "$DIR/secret"
conf_with "s|password_env: OUTBOX_PW|password_file: $DIR/secret|"
says ok 0 "mysql.password_file: $DIR/secret: mode 600" 'a mode of 600 is fine'
chmod 644 "$DIR/secret"
in_error() {
	ctl doctor
	is "$RC" 78 "$2: exit status 78"
	like "$OUT" "^fail +configuration: .*$1" "$2: doctor says why"
}
in_error "mode 644 gives all users access to the secret: chmod o= $DIR/secret" \
    'a password file that all may read'
chmod 660 "$DIR/secret"
says advice 0 'mode 660 lets the group change it' 'a secret that a group may write'
chmod 600 "$DIR/secret"
rm "$DIR/secret"
in_error "outbox.yml: line 2: mysql.password_file: $DIR/secret: No such file" \
    'a password file that does not exist'
if [ "$(id -u)" -eq 0 ]; then
	echo "$OUTBOX_PW" > "$DIR/secret"
	chmod 600 "$DIR/secret"
	sed -i 's/user: root/user: nobody/' "$CONF"
	says fail 1 'the daemon may not read it: ch' \
	    "a password file that the daemon's user may not read"
	like "$(lines fail)" "^fail +run directory: $DIR/run: .*may not write" \
	    "the run directory that the daemon's user may not write: fail"
	sed -i "s|database: app|&, operator: {user: o, password_file: $DIR/secret}|;
	    s|password_file: $DIR/secret, database|password_env: OUTBOX_PW, database|" \
	    "$CONF"
	ctl doctor
	like "$(lines ok)" "mysql.operator.password_file: $DIR/secret: mode 600" \
	    "the operator's password file is not for the daemon"
fi
PIDFILE=$DIR/none/x.pid write_conf
says advice 0 "run directory: $DIR/none: No such file" 'a missing run directory'
write_conf
# Not the whole fleet: a worker of another host has its share.
has_workers() { ctl --json status &&
    [ "$(field '[.this_host.workers[].state] | unique')" = '["running"]' ]; }
start_master
wait_for 20 has_workers
says ok 0 "daemon: runs with pid $MASTER, generation 1" 'a running daemon'
is "$(lines '(warn|advice)' | grep -v ' no_daemon: ')" '' 'doctor beside a healthy daemon: no warning'
stop_master "$MASTER"

#
# The server.
#
sql 'SET GLOBAL innodb_flush_log_at_trx_commit = 2'
says advice 0 'innodb_flush_log_at_trx_commit is 2: .*SET GLOBAL' \
    'innodb_flush_log_at_trx_commit = 2'
sql 'SET GLOBAL innodb_flush_log_at_trx_commit = 1; SET GLOBAL sync_binlog = 0'
says advice 0 'sync_binlog is 0' 'sync_binlog = 0'
sql 'SET GLOBAL sync_binlog = 1; SET GLOBAL read_only = 1'
exits 3 'a read-only server: exit status 3' doctor
like "$(lines fail)" 'the server is read-only' 'a read-only server is reported'
sql 'SET GLOBAL read_only = 0; SET GLOBAL binlog_format = STATEMENT'
says fail 3 'binlog_format=STATEMENT.*set it to ROW' 'binlog_format'
sql 'SET GLOBAL binlog_format = MIXED'
WAKE='binlog: true' write_conf
says advice 1 'binlog_format is MIXED: the binlog listener' 'wake.binlog with MIXED'
like "$(lines fail)" '^fail +binlog: .*GRANT REPLICATION SLAVE' \
    'no right to the binlog: fail, with the GRANT'
sql "SET GLOBAL binlog_format = ROW;
    GRANT REPLICATION SLAVE ON *.* TO 'outbox'@'localhost'"
says ok 0 '^ok +binlog: the account may read it' 'wake.binlog with its right'
follows() { ctl --json status && [ "$(field .this_host.listener.state)" = running ]; }
start_master
within 10 'the listener of the daemon follows the binlog' follows
sql "REVOKE REPLICATION SLAVE ON *.* FROM 'outbox'@'localhost'"
says advice 0 '^advice +binlog: the daemon of this host follows it until its connection ends.*GRANT REPLICATION SLAVE' \
    'a right that was taken from a daemon that runs'
stop_master "$MASTER"
sql "GRANT REPLICATION SLAVE ON *.* TO 'outbox'@'localhost'"

write_conf

#
# Event types in subjects.
#
SHARED="INSERT INTO events (sequence, stream_id, stream_sequence, event_type,
	event_data) VALUES (9001, 'o', 1, 'App\\\\OrderPaid', 'x'),
	(9002, 'o', 2, 'app.order_paid', 'x'), (9003, 'o', 3, 'other', 'x');"
sql "$SHARED"
says ok 0 '^ok +types: 4 event types among' 'types as they are stored'
is "$(lines ok | grep -c 'in nats.subject$')" 1 \
    'types as they are stored: no line for each'
conf_with 's|^publish: {|&type_case: kebab, |'
says advice 0 'types: App.OrderPaid and app.order_paid are both app.order-paid in nats.subject,' \
    'two types share a subject'
like "$(lines ok)" '^ok +types: App.OrderPaid is app.order-paid in nats.subject$' \
    'doctor shows the subject of a type'
is "$(lines ok | grep -c 'types: other')" 0 \
    'a type that stands as it is has no line'
conf_with 's|^publish: {|&type_case: kebab, type_aliases: {app.order_paid: p.q}, |'
says ok 0 'types: app.order_paid is p.q in nats.subject' 'an alias mends it'
is "$(lines '(warn|advice)' | grep -v ' no_daemon: ')" '' 'an alias mends it: no warning'
conf_with 's|^publish: {|&type_case: kebab, type_aliases: {Rare: other}, |'
says advice 0 'types: Rare and other are both other in nats.subject,' \
    'the alias of a type that no event has'
write_conf
sed -i 's|^publish: {|http: {endpoint: "http://127.0.0.1:1/"}\n&driver: http, type_case: kebab, |' \
    "$CONF"
like "$(ctl doctor; lines advice)" 'are both app.order-paid in http.path,' \
    'two types share a path'
SUBJECT=events.all write_conf
says ok 0 'types: nats.subject has no .event_type' 'a subject without the type'
# Waiting rows are read beyond the latest events, by the index.
sql "INSERT INTO events (sequence, stream_id, stream_sequence, event_type,
	event_data) SELECT 10000 + seq, seq, 9, 't', 'x' FROM
	(WITH RECURSIVE s AS (SELECT 1 AS seq UNION ALL SELECT seq + 1 FROM s
	WHERE seq < 1000) SELECT seq FROM s) t;
    INSERT INTO outbox (global_sequence, partition_key) VALUES (9001, 'p01');
    UPDATE outbox_settings SET reconcile_watermark = 11000"
write_conf
says ok 0 '^ok +types: 2 event types among' 'types: waiting rows, and latest events'
sql 'DELETE FROM outbox WHERE global_sequence = 9001;
    DELETE FROM events WHERE sequence > 9000'

#
# Tables, settings, rights.
#
sql 'ALTER TABLE outbox DROP COLUMN in_doubt_since'
says advice 0 'tables: outbox: no column in_doubt_since: .*ALTER TABLE' \
    'a missing column that the daemon can do without'
sql 'ALTER TABLE outbox ADD COLUMN in_doubt_since TIMESTAMP(6) NULL DEFAULT NULL,
    CHANGE claim_token token VARCHAR(64)'
says fail 3 'tables: schema: column outbox.claim_token is missing' \
    'a missing column that the daemon needs'
sql 'ALTER TABLE outbox CHANGE token claim_token VARCHAR(64) NULL DEFAULT NULL,
    MODIFY created_at DATETIME(6) NULL'
says advice 0 'time zone: outbox.created_at is a DATETIME' \
    'created_at is a DATETIME'
sql 'ALTER TABLE outbox MODIFY created_at TIMESTAMP(6) NOT NULL
    DEFAULT CURRENT_TIMESTAMP(6); ALTER TABLE outbox_workers ENGINE = MyISAM'
says fail 1 'outbox_workers is MyISAM.*ENGINE = InnoDB' 'another table engine'
sql 'ALTER TABLE outbox_workers ENGINE = InnoDB;
    UPDATE outbox_settings SET schema_version = 99'
says fail 1 'settings: .*schema version 99 is newer' 'a newer schema'
sql 'UPDATE outbox_settings SET schema_version = 2, partition_count = 8;
    UPDATE outbox_partitions SET former_label_at = NULL'
says advice 0 'settings: the database has 8 partitions .* is 16' \
    'another partition count in the file'
sql 'UPDATE outbox_settings SET partition_count = NULL'
says advice 0 'settings: no partition count yet' 'no count in the database'
is "$(sql 'SELECT partition_count FROM outbox_settings')" NULL \
    'no partition count: doctor does not write one'
sql 'UPDATE outbox_settings SET partition_count = 16'
# declared FORMER SINCE LAST: the counts, and the last message of another one
declared() {
	sql "UPDATE outbox_settings SET former_counts = $1, counts_since = $2;
	    UPDATE outbox_partitions SET former_label_at =
		IF(partition_key = 'p01', $3, NULL)"
}
declared "'8,4'" 'NOW(6) - INTERVAL 9 MINUTE' NULL
says ok 0 'settings: declared .*: 16, formerly 8 and 4: 4 classes .*; changed: 2026.*Z; last message .*: never' \
    'former counts, and no message under one'
declared "'8,4'" 'NOW(6) - INTERVAL 1 DAY' 'NOW(6) - INTERVAL 9 MINUTE'
says ok 0 'settings: declared .*; last message .* count: 2026.*Z$' 'a former count in use'
declared "'8,4'" 'NOW(6) - INTERVAL 1 DAY' 'NOW(6) - INTERVAL 11 MINUTE'
says advice 0 'settings: declared .*: when no producer uses a former count, run outboxctl partitions sync --finish' \
    'former counts that no producer uses'
sql "INSERT INTO outbox_workers (id, heartbeat_until) VALUES
    ('stranger', NOW(6) + INTERVAL 1 HOUR)"
says fail 1 'settings: worker stranger of another program' \
    'former counts and a worker of another program'
declared NULL 'NOW(6) - INTERVAL 1 DAY' NULL
says ok 0 'settings: 16 partitions' 'a worker of another program and one count'
sql 'DELETE FROM outbox_workers'
alive
declared NULL 'NOW(6) - INTERVAL 1 DAY' 'NOW(6) - INTERVAL 9 MINUTE'
says fail 1 'undeclared_count: a producer uses a partition count that is not declared: at 2026.*declare its count' \
    'a producer that uses an undeclared count'
declared NULL NULL 'NOW(6) - INTERVAL 9 MINUTE'
says ok 0 'settings: 16 partitions' 'an undeclared count, none was ever changed'
declared NULL NULL NULL
for right in 'UPDATE outbox' 'DELETE outbox_workers' \
    'INSERT outbox_dead_letters' 'SELECT events' 'UPDATE outbox_streams'; do
	sql "REVOKE ${right% *} ON ${right#* } FROM 'outbox'@'localhost'"
	status=1	# without SELECT the state cannot be read
	[ "${right% *}" != SELECT ] || status=3
	exits $status "no $right: exit status $status" doctor
	like "$(lines fail)" "(GRANT ${right% *} ON .app...${right#* }. TO|${right#* }.*not granted)" \
	    "no $right: the line has the GRANT"
	[ "$(grep -Ec '^fail +plans: .*denied' <<< "$OUT")" -le 1 ]
	ok $? "no $right: the plans tell the reason once"
	sql "GRANT ${right% *} ON ${right#* } TO 'outbox'@'localhost'"
done
sql "REVOKE INSERT ON outbox FROM 'outbox'@'localhost';
    REVOKE DELETE ON outbox_dead_letters FROM 'outbox'@'localhost'"
says ok 0 'grants: the account has all' 'no janitor: its rights are not missed'
echo 'retention: {days: 7}' >> "$CONF"
says warn 1 'optional_rights: .*GRANT DELETE ON .app...outbox_dead_letters' \
    'retention, no right'
echo 'reconcile: {at_start: on}' >> "$CONF"
says warn 1 'optional_rights: .*GRANT INSERT ON .app...outbox. ' 'at_start without its right'
write_conf
sql "GRANT INSERT ON outbox TO 'outbox'@'localhost';
    GRANT DELETE ON outbox_dead_letters TO 'outbox'@'localhost'"
says ok 0 'grants: the account has all' 'all rights'

#
# Plans.
#
sql "INSERT INTO outbox (global_sequence, partition_key)
    SELECT a.sequence * 1000 + b.sequence, 'p01' FROM events a, events b
    WHERE a.sequence < 50;
    ALTER TABLE outbox DROP KEY outbox_claim;
    ANALYZE TABLE outbox" >/dev/null
says advice 0 'plans: candidates (reads all of|sorts what it reads of) outbox: ALTER TABLE .outbox. ADD KEY' \
    'no index for the claim'
sql 'ALTER TABLE outbox ADD KEY outbox_claim (published_at, partition_key,
    global_sequence)'
says ok 0 'plans: all' 'the index for the claim'

#
# Other names.
#
sed 's/^outbox: {/&tables: {outbox: o, partitions: p},/' "$CONF" \
    > "$DIR/names.yml"
sql "RENAME TABLE outbox TO o, outbox_partitions TO p;
    GRANT SELECT, UPDATE ON o TO 'outbox'@'localhost';
    GRANT SELECT, INSERT, UPDATE ON p TO 'outbox'@'localhost'"
ctl -c "$DIR/names.yml" doctor
like "$(lines fail)" 'GRANT DELETE ON .app...o. TO' \
    'a right is missing: the name of the table is that of the file'
sql "GRANT DELETE ON o TO 'outbox'@'localhost'"
ctl -c "$DIR/names.yml" doctor
is "$RC$(lines fail)" 0 'other names of tables: exit status 0, no failure'
sql 'RENAME TABLE o TO outbox, p TO outbox_partitions'

#
# The broker.
#
STREAM='' write_conf
says advice 0 'stream: not checked.*set nats.stream' 'nats.stream is empty'
STREAM=OTHER write_conf
says fail 1 'stream_unfit: stream OTHER cannot be used: stream not found' 'no such stream'
SUBJECT='orders.{event_type}' write_conf
says fail 1 'stream_unfit: stream EVENTS has no subject that matches' 'a foreign subject'
MAX_BACKOFF=3600 write_conf
says advice 0 'stream_advice: stream EVENTS has a duplicate window of 10 min' \
    'retries that end behind the duplicate window'
# A user who may publish, but not ask what is in the stream.
cp "$DIR/nats/nats.conf" "$DIR/open.conf"
NATS_PID=$(. "$DIR/nats/env" && cat "$PIDFILE")
lacks() {
	cp "$DIR/open.conf" "$DIR/nats/nats.conf"
	[ -z "$1" ] || cat >> "$DIR/nats/nats.conf" << END
authorization { users: [{user: relay, password: pw,
    permissions: {publish: {deny: "\$JS.API.STREAM.$1.EVENTS"}}}] }
END
	kill -HUP "$NATS_PID"
}
echo pw > "$DIR/pw"
chmod 600 "$DIR/pw"
conf_with "s|nats: {|&user: relay, password_file: \"$DIR/pw\", |"
is_told() {
	ctl doctor
	grep -q "^warn  *broker rights: .*Publish to .*STREAM\.$right\.EVENTS" \
	    <<< "$OUT"
}
for right in INFO MSG.GET; do
	lacks "$right"
	within 5 "no right to $right: warn" is_told
	like "$OUT" "allow the user .* \\\$JS.API.STREAM.$right.EVENTS" \
	    "no right to $right: the remedy"
done
lacks ''
write_conf
conf_with 's|servers: \[|&"nats://127.0.0.1:1", |'
for _ in 1 2 3 4 5 6; do
	exits 0 'one of two NATS servers is away: exit status 0' doctor
done
write_conf
"$SANDBOX" stop "$DIR/nats" >/dev/null
says fail 1 "^fail +broker: the broker cannot be used: nats $URL: .*: start the NATS server at $URL, or" 'the broker is away'
like "$(lines ok)" '^ok +plans' 'no broker: the database is still checked'

# A server that was told no directory for its streams, or one in a comment only
mkdir "$DIR/tmp"
sed 's/store_dir/# &/' "$DIR/nats/nats.conf" > "$DIR/bare.conf"
TMPDIR=$DIR/tmp nats-server -c "$DIR/bare.conf" > "$DIR/bare.log" 2>&1 &
bare=$!
wait_for 10 ctl stream info
says warn 1 "broker store: nats-server, pid $bare, keeps its streams in $DIR/tmp/nats/jetstream, because no store_dir is set, .*store_dir: " \
    'streams below /tmp by default'
kill "$bare"
wait "$bare"
"$SANDBOX" restart "$DIR/nats" >/dev/null

exits 2 'doctor with an argument: exit status 2' doctor now
exits 2 'doctor with a wrong option: exit status 2' doctor --limit 5

#
# Pillar's tables, and no server.
#
pillar_tables
ctl doctor
like "$(lines advice)" 'tables: outbox_dead_letters: no such table' \
    'Pillar: missing tables are told'
like "$(lines advice)" 'plans: .*ALTER TABLE .outbox. ADD KEY outbox_claim' \
    'Pillar: the missing index is advice, with its remedy'
like "$(lines ok)" 'grants: the account has all' 'Pillar: the rights are complete'
sql 'ALTER TABLE outbox ADD KEY outbox_claim (published_at, partition_key,
    global_sequence)'
alive
says ok 0 'plans: all' 'Pillar with the index'
"$SANDBOX" stop "$DIR/db" >/dev/null
exits 3 'no database server: exit status 3' doctor
like "$(lines fail)" "^fail +database: the database cannot be read.*: mysql $SOCKET: connect.*: start the database server at $SOCKET, or" \
    'no database server: the line says so'
like "$(lines ok)" '^ok +stream' 'no database server: the broker is checked'
done_testing
