#!/usr/bin/env bash
# Which of two database servers is used: the one in use refuses, freezes, becomes
# read-only or blocks what is written, and the daemon goes to the other one in
# the time that a plain client with the same time-outs needs
. "${srcdir:-$(dirname "$0")/../..}/tests/lib/lib.sh"

# The servers have tables of their own: rows of the one that is used are sent.
key=''
start_servers
if [ "$KIND" = mysql ]; then	# both have one key, for logins by TCP
	key=", server_public_key: $DIR/db/data/public_key.pem"
	for half in public private; do
		options+=("caching_sha2_password_${half}_key_path=$DIR/db/data/${half}_key.pem")
	done
fi
"$SANDBOX" start "$KIND" "$DIR/db2" "${options[@]}" > /dev/null
client "$DIR/db2" -e 'CREATE DATABASE app'
client "$DIR/db2" app < "$srcdir/sql/schema.sql"
client "$DIR/db2" -e "CREATE USER 'outbox_producer'@'localhost'"
for db in db db2; do
	client "$DIR/$db" app -e "CREATE USER 'outbox'@'127.0.0.1'
	    IDENTIFIED BY '$OUTBOX_PW'; CREATE USER 'plain'@'127.0.0.1';
	    GRANT ALL ON app.* TO 'plain'@'127.0.0.1'"
	sed "s/'outbox'@'localhost'/'outbox'@'127.0.0.1'/" \
	    "$srcdir/sql/grants.sql" | client "$DIR/$db" app
done
# shellcheck source=/dev/null
port_of() { (. "$DIR/$1/env" && echo "$PORT"); }

# Statements of workers have an answer in two seconds.
LEASE_TTL=5 LEASE_RENEW=2 HEARTBEAT_TTL=5 CLAIM_TTL=8 TIMEOUT_MS=1000 \
    LEVEL=debug write_conf
sed -i "s|socket: \"[^\"]*\"|hosts: [127.0.0.1:$DB_PORT, 127.0.0.1:$(port_of db2)]$key|" \
    "$CONF"

# in_use SERVER: the workers have all its partitions
in_use() { [ "$(client "$DIR/$1" -N app -e 'SELECT COUNT(*) > 0 AND
    COUNT(*) = SUM(COALESCE(lease_until > NOW(6), 0))
    FROM outbox_partitions')" = 1 ]; }

# insert SERVER: an event that can be told apart
inserted=0
insert() {
	inserted=$((inserted + 1))
	client "$DIR/$1" app -e "START TRANSACTION;
	    INSERT INTO events (stream_id, stream_sequence, event_type,
	    event_data) VALUES ('$1', $inserted, 'test', '{}');
	    INSERT INTO outbox (global_sequence, partition_key)
	    VALUES (LAST_INSERT_ID(), 'p0$((inserted % 8))'); COMMIT"
}
is_sent() { [ "$(client "$DIR/$1" -N app -e \
    'SELECT COUNT(*) FROM outbox WHERE published_at IS NULL')" = 0 ]; }

# plain SERVER: a plain client writes, and gives up after two seconds
plain() {
	timeout 2 mariadb --no-defaults -uplain -h127.0.0.1 \
	    -P"$(port_of "$1")" app -e "SET SESSION lock_wait_timeout = 1;
	    CREATE TABLE IF NOT EXISTS plain (a INT);
	    INSERT INTO plain VALUES (1)" > /dev/null 2>&1
}

# leaves NAME FROM TO: after the fault the row of TO is sent, in the time that a
# plain client needs to find TO, and two seconds
leaves() {
	local start plain
	start=$(now_ms)
	insert "$3"
	plain "$2"
	plain "$3"
	ok $? "$1: a plain client goes to the other server"
	plain=$(($(now_ms) - start))
	wait_until $((start + plain + 8000)) is_sent "$3"
	took=$(($(now_ms) - start))
	say "$1: $took ms, a plain client $plain ms"
	[ "$took" -le $((plain + 2500)) ]
	ok $? "$1: and so does the daemon" || tail -n 30 "$LOG" | sed 's/^/# /'
	within 10 "$1: with all its partitions" in_use "$3"
	within 10 "$1: outboxctl asks it, too" asks "$3"
	within 10 "$1: and so does a lasting outboxctl serve" serves "$3"
}

# asks SERVER: outboxctl tells of that one, from a new connection; serves: from
# one that lasts, as the dashboard's does
host_of() { jq -r .database_host "$DIR/state"; }
asks() {
	"$OUTBOXCTL" -c "$CONF" status --json > "$DIR/state" 2> "$DIR/ctl.err"
	[ "$(host_of)" = "127.0.0.1:$(port_of "$1")" ]
}
serves() {
	local line
	echo '["status"]' >&8
	read -rt 20 line <&9
	jq .result <<< "$line" > "$DIR/state"
	[ "$(host_of)" = "127.0.0.1:$(port_of "$1")" ]
}

start_master
coproc SERVE { exec "$OUTBOXCTL" -c "$CONF" serve 2> "$DIR/serve.err"; }
exec 8>&"${SERVE[1]}" 9<&"${SERVE[0]}"
eval "exec ${SERVE[1]}>&-"
within 20 'the first server of the list is used' in_use db
insert db
within 5 'its rows are sent' is_sent db
within 10 'outboxctl asks it' asks db
within 10 'and outboxctl serve' serves db

"$SANDBOX" kill "$DIR/db" > /dev/null
leaves 'it is killed' db db2
within 5 'the log names both, and why' has_line "$LOG" \
    "warn .*database: 127.0.0.1:$(port_of db2) is used, passed over: mysql 127.0.0.1:$DB_PORT: connect: "
"$SANDBOX" restart "$DIR/db" > /dev/null
insert db2
within 5 'the first one comes back: nobody goes back' is_sent db2
within 5 'nor does outboxctl' asks db2
within 5 'nor outboxctl serve' serves db2

read -r pid _ < "$DIR/db2/process"
kill -STOP "$pid"
leaves 'it is frozen' db2 db
kill -CONT "$pid"

client "$DIR/db2" -e 'SET GLOBAL read_only = 0'
client "$DIR/db" -e 'SET GLOBAL read_only = 1'
leaves 'it becomes read-only' db db2
client "$DIR/db" -e 'SET GLOBAL read_only = 0'

# As a donor of a state transfer it lets everybody in.
mkfifo "$DIR/hold"
client "$DIR/db2" < "$DIR/hold" > "$DIR/held" 2>&1 &
holder=$!
exec {hold}> "$DIR/hold"
echo 'FLUSH TABLES WITH READ LOCK;' >&"$hold"
blocks() { not plain db2; }
within 10 'one server blocks what is written' blocks
leaves 'it blocks what is written' db2 db
within 10 'the log has the server and the reason' has_line "$LOG" \
    "mysql 127.0.0.1:$(port_of db2): .*Lock wait timeout"

# No server is left: both are named, and either is used once it can be.
client "$DIR/db" -e 'SET GLOBAL read_only = 1'
within 10 'no server is left: outboxctl reads from the one that can be read' \
    asks db2
within 15 'no server is left: the log names both' has_line "$LOG" \
    "mysql 127.0.0.1:$DB_PORT: the server is read-only[^;]*; mysql 127.0.0.1:$(port_of db2): [a-z ]*: Lock wait timeout"
echo 'UNLOCK TABLES;' >&"$hold"
exec {hold}>&-
wait "$holder"
start=$(now_ms)
insert db2
within 5 'it is used again within seconds' is_sent db2
say "after $(($(now_ms) - start)) ms"
exec 8>&-
stops 'it stops'
done_testing
