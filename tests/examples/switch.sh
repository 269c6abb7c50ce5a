#!/usr/bin/env bash
# From another relay to this one and back, while the application writes, by the
# commands of doc/coming_from.md.  Each event is in the stream once, and those
# of a key are in order, whichever relay sent them.
#
#	switch.sh laravel|rails|debezium|debezium_deletes
#
# laravel: a poller is stopped; rails: one that died before it marked what it had
# sent; debezium: the real Debezium Server, which needs Java 21 and is fetched by
# mvn (750 MiB, kept); debezium_deletes: the application deletes its rows at once.
# The application is illuminate/database in all of them.  Also with KIND=mysql.
. "${srcdir:-$(dirname "$0")/../..}/tests/lib/lib.sh"
. "$srcdir/tests/lib/inline.sh"
. "$srcdir/tests/lib/page.sh"

from=${1:?from which relay}
PAGE=$srcdir/doc/coming_from.md
DEBEZIUM=3.6.1.Final

is_short && skip_all 'a long test'
[ -e /usr/share/php/Illuminate/Database/autoload.php ] ||
    skip_all 'no php-illuminate-database'
php -r 'exit(extension_loaded("pdo_mysql") && extension_loaded("pcntl") ? 0 : 1);' ||
    skip_all 'no pdo_mysql'

# --- what the page calls: functions in place of the programs ----------------------

page_edit() { sed "s,/etc/,$DIR/etc/,g"; }

page_programs() {
	mariadb() { "$SANDBOX" sql "$DIR/db" "$@"; }
	outboxctl() { "$OUTBOXCTL" -c "$CONF" "$@"; }
	chown() { :; }
	service() {
		case "$*" in
		'outbox-master start')
			"$OUTBOX_MASTER" -c "$CONF" --silent > "$DIR/out" \
			    2>> "$DIR/log" < /dev/null &
			echo $! > "$DIR/master" ;;
		'outbox-master stop')
			outboxctl stop ;;
		esac
	}
}

# --- the application, and the relay of before ------------------------------------

switch() {
	DB_PORT=$DB_PORT NATS=tcp://${URL#nats://} \
	    exec php "$srcdir/tests/examples/switch.php" "$@"
}

start_writers() {
	local i
	WRITERS=()
	for ((i = 0; i < 4; i++)); do
		switch write "$from" 2>> "$DIR/writers" &
		WRITERS+=($!)
	done
	MASTERS+=("${WRITERS[@]}")
}

# stop_writers: none of them has failed
stop_writers() {
	local pid rc=0
	kill -TERM "${WRITERS[@]}"
	for pid in "${WRITERS[@]}"; do wait "$pid" || rc=1; done
	ok $rc "$from: no process of the application has failed" ||
	    sed 's/^/# /' "$DIR/writers"
}

start_poller() {
	switch poll "$from" 2>> "$DIR/poller" &
	POLLER=$!
	MASTERS+=("$POLLER")
}
stop_poller() {
	kill "-$1" "$POLLER"
	wait "$POLLER" 2> /dev/null
}

all_sent() { has_stored "$(sql 'SELECT SUM(version) FROM orders')"; }
# goes_on NAME: 200 more events are sent
goes_on() {
	wait_for 180 has_stored $(($(stored) + 200))
	ok $? "$1" && return
	tail -n 5 "$DIR/writers" "$DIR/poller" "$DIR/log" | sed 's/^/# /'
	done_testing
}
has_stored() { [ "$(stored)" -ge "$1" ]; }
stored() { curl -s "http://127.0.0.1:$MONITOR/jsz" |
    sed -n 's/^  "messages": *\([0-9]*\).*/\1/p'; }

# --- Debezium --------------------------------------------------------------------

# find_java: set JAVA to one of Java 21 or later
find_java() {
	for JAVA in java /usr/lib/jvm/*/bin/java; do
		! "$JAVA" -version 2>&1 | grep -Eq 'version "(2[1-9]|[3-9].)' ||
		    return 0
	done
	skip_all 'no Java 21 or later'
}

# fetch_debezium: set TREE to its directory, in the user's cache
fetch_debezium() {
	local cache=${XDG_CACHE_HOME:-$HOME/.cache}/outbox-master
	local name=debezium-server-dist
	TREE=$cache/debezium-$DEBEZIUM/debezium-server
	[ ! -e "$TREE" ] || return 0
	command -v mvn > /dev/null || skip_all 'no mvn'
	mkdir -p "$cache"
	mvn -q -B dependency:copy "-DoutputDirectory=$DIR/fetched" \
	    "-Dartifact=io.debezium:$name:$DEBEZIUM:tar.gz" > "$DIR/mvn" 2>&1 ||
	    skip_all "Debezium cannot be fetched: $(tail -n 1 "$DIR/mvn")"
	mkdir "$DIR/unpacked"
	tar -xzf "$DIR/fetched/$name-$DEBEZIUM.tar.gz" -C "$DIR/unpacked" \
	    --exclude='*/connectors/*' --exclude='*/lib_*'
	mv "$DIR/unpacked" "$cache/debezium-$DEBEZIUM"
}

# configure_debezium: its outbox router, with the rows as Debezium's manual has
# them, and the payload as it is
configure_debezium() {
	local class=mariadb.MariaDbConnector tls=disable
	[ "$KIND" = mariadb ] || { class=mysql.MySqlConnector; tls=disabled; }
	mkdir -p "$DIR/debezium/config" "$DIR/debezium/data"
	sql "CREATE USER 'debezium'@'127.0.0.1' IDENTIFIED BY 'debezium-secret';
	    GRANT SELECT, RELOAD, SHOW DATABASES, LOCK TABLES, REPLICATION SLAVE,
	    REPLICATION CLIENT ON *.* TO 'debezium'@'127.0.0.1'"
	cat > "$DIR/debezium/config/application.properties" <<-EOF2
	debezium.source.connector.class=io.debezium.connector.$class
	debezium.source.database.hostname=127.0.0.1
	debezium.source.database.port=$DB_PORT
	debezium.source.database.user=debezium
	debezium.source.database.password=debezium-secret
	debezium.source.database.ssl.mode=$tls
	debezium.source.driver.allowPublicKeyRetrieval=true
	debezium.source.database.server.id=5401
	debezium.source.topic.prefix=shop
	debezium.source.table.include.list=app.outbox_events
	debezium.source.snapshot.mode=no_data
	debezium.source.include.schema.changes=false
	debezium.source.tombstones.on.delete=false
	debezium.source.offset.storage.file.filename=data/offsets
	debezium.source.schema.history.internal=io.debezium.storage.file.history.FileSchemaHistory
	debezium.source.schema.history.internal.file.filename=data/history
	debezium.transforms=outbox
	debezium.transforms.outbox.type=io.debezium.transforms.outbox.EventRouter
	debezium.transforms.outbox.route.topic.replacement=events.\\\\\${routedByValue}
	debezium.format.value=simplestring
	debezium.format.key=simplestring
	debezium.sink.type=nats-jetstream
	debezium.sink.nats-jetstream.url=$URL
	debezium.sink.nats-jetstream.create-stream=false
	debezium.sink.nats-jetstream.stream-name=EVENTS
	quarkus.http.port=$(free_port)
	EOF2
}

# Its relay is a process that is started and stopped as the pollers are.
start_debezium() {
	(cd "$DIR/debezium" && exec "$JAVA" -Xmx256m -XX:+UseSerialGC \
	    --add-opens java.base/java.lang=ALL-UNNAMED \
	    -cp "$TREE/debezium-server-dist-$DEBEZIUM-runner.jar:$TREE/lib/*" \
	    io.debezium.server.Main) >> "$DIR/poller" 2>&1 &
	POLLER=$!
	MASTERS+=("$POLLER")
}
has_read_rename() { has_line "$DIR/debezium/data/history" 'RENAME TABLE'; }
follows_binlog() { is_sql "SELECT COUNT(*) FROM information_schema.processlist
    WHERE command LIKE 'Binlog Dump%' AND user = 'debezium'" 1; }

# --- the story -------------------------------------------------------------------

# by_debezium: a row is in the table of Debezium, or in that of the daemon
by_debezium() {
	configure_debezium
	start_debezium
	wait_for 180 follows_binlog
	ok $? 'Debezium follows the binlog' || {
		tail -n 3 "$DIR/poller" | cut -c1-4000 | sed 's/^/# /'
		done_testing
	}
	start_writers
	goes_on 'Debezium sends'
	page_run 'a second table is made' '^CREATE VIEW'
	page_run 'and prepared' 'outboxctl schema upgrade'
	[ "$from" = debezium ] ||
	    page_run 'with a table before it' '^CREATE TRIGGER'
	goes_on 'Debezium does not notice'
	page_run 'rows go there from now on' 'outbox_view TO outbox_events'
	wait_for 180 has_read_rename
	ok $? 'Debezium has read so far'
	wait_for 180 all_old_sent
	ok $? 'and sent all before'
	stop_poller TERM
	page_run 'the daemon is started' '^service outbox-master start'
	MASTERS+=("$(cat "$DIR/master")")
	goes_on 'the daemon sends'
	page_run 'back again: rows go to the table of before' \
	    'outbox_old TO outbox_events'
	wait_for 60 is_sql 'SELECT COUNT(*) FROM outbox_relayed
	    WHERE published_at IS NULL' 0
	ok $? 'the daemon sends the rest'
	page_run 'it is stopped' '^service outbox-master stop'
	start_debezium
	goes_on 'Debezium sends'
}
all_old_sent() { [ "$(stored)" -eq "$(sql 'SELECT (SELECT SUM(version)
    FROM orders) - COUNT(*) FROM outbox_relayed')" ]; }

by_poller() {
	start_writers
	start_poller
	goes_on 'the poller sends'
	page_run 'the tables are prepared while it does' 'outboxctl schema upgrade'
	goes_on 'which the poller does not notice'
	if [ "$from" = rails ]; then
		stop_poller USR1
		start_poller
		goes_on 'the poller died, and was started again'
	fi
	stop_poller TERM
	page_run 'the daemon is started' '^service outbox-master start'
	MASTERS+=("$(cat "$DIR/master")")
	goes_on 'the daemon sends'
	page_run 'it is stopped' '^service outbox-master stop'
	start_poller
	goes_on 'back again: the poller sends'
	stop_poller TERM
	page_run 'the daemon is started once more' '^service outbox-master start'
	MASTERS+=("$(cat "$DIR/master")")
	goes_on 'the daemon sends'
}

# table COLUMNS: outbox_events, with the account of the application
table() {
	sql "CREATE TABLE outbox_events ($1) CHARSET=utf8mb4;
	    GRANT SELECT, INSERT, UPDATE, DELETE ON outbox_events
	    TO 'shop'@'127.0.0.1'"
}

[[ $from != debezium* ]] || { find_java; fetch_debezium; }
start_servers
MONITOR=$(. "$DIR/nats/env" && echo "$HTTP_PORT")
drop_tables
sql "DROP USER outbox@localhost, outbox_producer@localhost;
    CREATE USER 'shop'@'127.0.0.1' IDENTIFIED BY 'shop-secret';
    CREATE TABLE orders (id INT PRIMARY KEY, version INT NOT NULL);
    INSERT INTO orders SELECT n, 0 FROM $(numbers 20 1);
    GRANT SELECT, UPDATE ON orders TO 'shop'@'127.0.0.1'"
case $from in
laravel)
	key=aggregate_id
	table 'id BIGINT UNSIGNED NOT NULL AUTO_INCREMENT PRIMARY KEY,
	    uuid CHAR(36) NOT NULL UNIQUE, topic VARCHAR(255) NOT NULL,
	    aggregate_id VARCHAR(255) NOT NULL, payload JSON NOT NULL,
	    sent_at TIMESTAMP NULL DEFAULT NULL,
	    created_at TIMESTAMP NULL DEFAULT NULL,
	    updated_at TIMESTAMP NULL DEFAULT NULL' ;;
rails)
	key=aggregate_identifier
	table 'id VARCHAR(36) NOT NULL PRIMARY KEY,
	    event VARCHAR(255) NOT NULL,
	    aggregate_identifier VARCHAR(255) NOT NULL, payload JSON NOT NULL,
	    processed_at DATETIME(6) DEFAULT NULL,
	    created_at DATETIME(6) NOT NULL DEFAULT CURRENT_TIMESTAMP(6)' ;;
debezium*)
	key=aggregateid
	table 'id CHAR(36) NOT NULL PRIMARY KEY,
	    aggregatetype VARCHAR(255) NOT NULL,
	    aggregateid VARCHAR(255) NOT NULL, type VARCHAR(255) NOT NULL,
	    payload JSON NOT NULL' ;;
esac

mkdir -p "$DIR/etc/outbox"
CONF=$DIR/etc/outbox.yml
cat > "$CONF" <<EOF
master: {user: $(id -un), pidfile: $DIR/run/outbox.pid}
mysql: {socket: "$SOCKET", database: app,
    password_file: $DIR/etc/outbox/mysql.password}
$(page_block "$PAGE" "order_key: $key" |
    sed "s|^nats: {|&servers: [\"$URL\"], |")
EOF

case $from in
debezium*) by_debezium ;;
*) by_poller ;;
esac
stop_writers
wait_for 180 all_sent
FOUND=$(switch check)
ok $? "$from: $FOUND"
done_testing
