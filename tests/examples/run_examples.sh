#!/usr/bin/env bash
# The producer and the consumer of a language in examples/, with real servers
# and the daemon.  Each event is in the consumer's table exactly once and in
# order per key, although the consumer fails, is killed, and gets a message again
# that it had committed.
#
#	run_examples.sh php|laravel|python|node|go|java|python_kafka|java_kafka
. "${srcdir:-$(dirname "$0")/../..}/tests/lib/lib.sh"
. "$srcdir/tests/lib/kafka.sh"

language=${1:?which language}
example=$DIR/example
PASSWORD="example-secret"
export SHOP_PASSWORD=$PASSWORD BILLING_PASSWORD=$PASSWORD
export SHOP_USER=shop BILLING_USER=billing ACK_WAIT=2 SESSION_MS=6000

# --- the languages ------------------------------------------------------------

needs() {
	local program
	for program; do
		command -v "$program" > /dev/null || skip_all "no $program"
	done
}

# copy FOLDER: of examples, to where its libraries may be put
copy() { cp -r "$srcdir/examples/$1" "$example" && chmod -R u+w "$example"; }

# fetch COMMAND...: the libraries; a registry may be away
fetch() {
	(cd "$example" && "$@") > "$DIR/fetch" 2>&1 || {
		say "$(tail -n 5 "$DIR/fetch" | tr '\n' ' ')"
		skip_all "the libraries of $language cannot be fetched: $*"
	}
}

# build COMMAND...: an error is an error of the example
build() {
	(cd "$example" && "$@") > "$DIR/build" 2>&1
	ok $? "$language: it builds" && return
	sed 's/^/# /' "$DIR/build"
	done_testing
}

# prepare_LANGUAGE sets PRODUCER and CONSUMER; connect_LANGUAGE the environment

prepare_php() {
	needs php
	php -r 'exit(extension_loaded("pdo_mysql") ? 0 : 1);' ||
	    skip_all 'no pdo_mysql'
	copy php
	# What Composer would make.
	mkdir "$example/vendor"
	cp "$(realpath "${NATS_PHP:-$srcdir/tests/examples/nats.php}")" \
	    "$example/vendor/autoload.php"
	PRODUCER=(php "$example/producer.php")
	CONSUMER=(php "$example/consumer.php")
}

connect_php() {
	export SHOP_DSN="mysql:host=127.0.0.1;port=$DB_PORT;dbname=app;charset=utf8mb4"
	export BILLING_DSN=${SHOP_DSN/app/billing}
	export NATS_HOST=127.0.0.1 NATS_PORT=${URL##*:}
}

prepare_laravel() {
	local laravel=/usr/share/php/Illuminate/Database/autoload.php
	[ -e "$laravel" ] || skip_all 'no php-illuminate-database'
	prepare_php
	echo "require '$laravel';" >> "$example/vendor/autoload.php"
	PRODUCER=(php "$example/laravel.php")
}

connect_laravel() {
	connect_php
	export SHOP_HOST=127.0.0.1 SHOP_PORT=$DB_PORT SHOP_DATABASE=app
}

prepare_python() {
	needs python3
	copy python
	python3 -m venv "$example/venv" > /dev/null || skip_all 'no python3-venv'
	fetch venv/bin/pip install -q -r requirements.txt
	PRODUCER=("$example/venv/bin/python" "$example/producer.py")
	CONSUMER=("$example/venv/bin/python" "$example/consumer.py")
}

connect_python() {
	export SHOP_URL=mysql+pymysql://shop:$PASSWORD@127.0.0.1:$DB_PORT/app
	export BILLING_URL=mysql+pymysql://billing:$PASSWORD@127.0.0.1:$DB_PORT/billing
}

prepare_python_kafka() {
	prepare_python
	CONSUMER=("$example/venv/bin/python" "$example/consumer_kafka.py")
}

connect_python_kafka() { connect_python; }

prepare_node() {
	needs node npm
	copy node
	fetch npm ci --no-audit --no-fund
	PRODUCER=(node "$example/producer.js")
	CONSUMER=(node "$example/consumer.js")
}

connect_node() {
	export SHOP_URL=mysql://shop:$PASSWORD@127.0.0.1:$DB_PORT/app
	export BILLING_URL=mysql://billing:$PASSWORD@127.0.0.1:$DB_PORT/billing
}

prepare_go() {
	needs go
	copy go
	fetch go mod download
	build go build -o bin/ ./...
	PRODUCER=("$example/bin/producer")
	CONSUMER=("$example/bin/consumer")
}

connect_go() {
	export SHOP_DSN="shop:$PASSWORD@tcp(127.0.0.1:$DB_PORT)/app"
	export BILLING_DSN="billing:$PASSWORD@tcp(127.0.0.1:$DB_PORT)/billing"
}

prepare_java() {
	needs java javac mvn
	copy java
	fetch mvn -q -B dependency:copy-dependencies -DoutputDirectory=lib
	build javac -cp 'lib/*' -d classes Producer.java Consumer.java \
	    ConsumerKafka.java
	PRODUCER=(java -cp "$example/classes:$example/lib/*" Producer)
	CONSUMER=(java -cp "$example/classes:$example/lib/*" Consumer)
}

connect_java() {
	local url=jdbc:mariadb://127.0.0.1:$DB_PORT
	export SHOP_URL="$url/app?user=shop&password=$PASSWORD"
	export BILLING_URL="$url/billing?user=billing&password=$PASSWORD"
}

prepare_java_kafka() {
	prepare_java
	CONSUMER=(java -cp "$example/classes:$example/lib/*" ConsumerKafka)
}

connect_java_kafka() { connect_java; }

# --- servers ------------------------------------------------------------------

# The producer has the rights of grants.sql and those on its own table.
make_accounts() {
	sql "CREATE DATABASE billing;
	    CREATE USER 'shop'@'%' IDENTIFIED BY '$PASSWORD',
	    'billing'@'%' IDENTIFIED BY '$PASSWORD'"
	sed -n "s/'outbox_producer'@'localhost'/'shop'@'%'/
	    /^-- The producer:/,\$p" "$srcdir/sql/grants.sql" |
	    "$SANDBOX" sql "$DIR/db" app
	"$SANDBOX" sql "$DIR/db" app < "$srcdir/examples/producer.sql"
	"$SANDBOX" sql "$DIR/db" billing < "$srcdir/examples/consumer.sql"
	sql "GRANT SELECT, UPDATE ON app.orders TO 'shop'@'%';
	    GRANT SELECT, INSERT ON billing.* TO 'billing'@'%';
	    INSERT INTO orders (id, total) VALUES
	    (1, 1000), (2, 1000), (3, 1000), (4, 1000), (5, 1000)"
}

# pay COUNT: so many payments of the orders in turn; between them others, whose
# transactions are rolled back
AMOUNT=0
pay() {
	local i
	for ((i = 1; i <= $1; i++)); do
		AMOUNT=$((AMOUNT + 1))
		echo "$((AMOUNT % 5 + 1)) $AMOUNT"
		[ $((i % 4)) -ne 0 ] || echo "$((i % 5 + 1)) 2000"
	done > "$DIR/payments"
	"${PRODUCER[@]}" < "$DIR/payments" >> "$DIR/producer" 2>&1 || {
		ok 1 "$language: the producer succeeds"
		tail -n 20 "$DIR/producer" | sed 's/^/# /'
	}
}

start_consumer() {
	"${CONSUMER[@]}" >> "$DIR/consumer" 2>&1 </dev/null &
	CONSUMER_PID=$!
	MASTERS+=("$CONSUMER_PID")
}

# Nothing of it runs on, neither a handler of a signal nor an acknowledgement.
kill_consumer() {
	kill -KILL "$1" 2> /dev/null	# PHP may have ended by itself
	wait "$1" 2> /dev/null
}

# How many requests for a message the broker has got from all processes of the
# consumer: those that wait, or with Kafka to become a member of the group
requests() {
	if [ "$SERVER" = kafka ]; then
		grep -c 'joins group billing' "$DIR/kafka/log"
	else
		curl -s "http://127.0.0.1:$MONITOR/jsz?consumers=1" |
		    sed -n 's/.*"num_waiting": *\([0-9]*\).*/\1/p'
	fi
}
has_requests() { [ "$(requests)" -ge "$1" ]; }

# lock: until unlock the consumer waits in its transaction
lock() {
	: > "$DIR/locked"
	exec {lock_in}> >("$SANDBOX" sql "$DIR/db" -N --unbuffered billing \
	    > "$DIR/locked" 2>&1)
	lock_pid=$!
	echo 'LOCK TABLES order_history WRITE; SELECT 1;' >&"$lock_in"
	wait_for 10 has_line "$DIR/locked" 1
}
unlock() {
	: > "$DIR/locked"
	# The consumer has the pipe as well, so its end does not come.
	printf '%s\n' 'UNLOCK TABLES;' quit >&"$lock_in"
	exec {lock_in}>&-
	wait "$lock_pid"
}
is_in_transaction() { is_sql "SELECT COUNT(*) FROM information_schema.processlist
    WHERE user = 'billing' AND state LIKE 'Waiting for table%'" 1; }

has_processed() { is_sql 'SELECT COUNT(*) FROM billing.order_history' "$1"; }
lines_with() { grep -c "$1" "$DIR/consumer"; }
has_failed() { has_line "$DIR/consumer" 'failed'; }
has_duplicate() { has_line "$DIR/consumer" 'duplicate '; }

# soon NAME COMMAND...: or the rest makes no sense
soon() {
	wait_for 30 "${@:2}"
	ok $? "$language: $1" && return
	tail -n 20 "$DIR/producer" "$DIR/consumer" "$LOG" | sed 's/^/# /'
	done_testing
}
processes() { soon "$2" has_processed "$1"; }

# --- the story ----------------------------------------------------------------

SERVER=nats
[ "$language" = "${language%_kafka}" ] || SERVER=kafka
needs curl
[ "$SERVER" = nats ] || need_kafka
"prepare_$language"
start_servers
make_accounts
export NATS_URL=$URL
MONITOR=$(. "$DIR/nats/env" && echo "$HTTP_PORT")
"connect_$language"
write_conf
if [ "$SERVER" = kafka ]; then
	start_kafka
	topic events 3
	export KAFKA_BROKERS=$BROKER
	sed -i 's/^publish: {/&driver: kafka, /' "$CONF"
	echo "kafka: {brokers: [\"$BROKER\"], topic: events}" >> "$CONF"
fi
start_fleet

pay 20
is "$(sql 'SELECT COUNT(*), COUNT(DISTINCT stream_id) FROM events')" $'20\t5' \
    "$language: payments are events, those rolled back are not"
is "$(grep -c refused "$DIR/producer")" 5 "$language: the others were refused"
is "$(sql 'SELECT SUM(paid) FROM orders')" $((20 * 21 / 2)) \
    "$language: the data was changed as often"
is "$(sql "SELECT COUNT(DISTINCT partition_key) > 1, COUNT(*) FROM outbox
    WHERE partition_key LIKE 'p%'")" $'1\t20' "$language: with their labels"

start_consumer
processes 20 'all are processed'
is "$(sql "SELECT order_key, event_type, event_data FROM billing.order_history
    WHERE sequence = 1" | tr -d ' ')" $'order-2\torder.paid\t{"order":2,"amount":1}' \
    "$language: key, type and payload arrive"

# Its own failure: the message comes again, before later ones.
sql 'RENAME TABLE billing.order_history TO billing.away'
pay 10
soon 'a failure is told' has_failed
sql 'RENAME TABLE billing.away TO billing.order_history'
processes 30 'after a failure of its own'

# Killed in its transaction, while a second process of the consumer is ready:
# that gets no later message, but this one again.
lock
pay 19
soon 'it waits in its transaction' is_in_transaction
requests=$(requests)
first=$CONSUMER_PID
start_consumer
soon 'a second process gets no message' has_requests $((requests + 1))
kill_consumer "$first"
unlock
processes 49 'after kill -9 in a transaction'

# Killed between the commit and the acknowledgement: that message comes again.
# An acknowledgement that cannot be sent stands for one that was not sent yet.
lock
pay 1
soon 'it waits in its last transaction' is_in_transaction
"$SANDBOX" kill "$DIR/$SERVER" > /dev/null
unlock
processes 50 'the last message is committed'
is "$(lines_with 'duplicate ')" 0 "$language: no message was a duplicate"
kill_consumer "$CONSUMER_PID"
"$SANDBOX" restart "$DIR/$SERVER" > /dev/null
start_consumer
soon 'the message comes again, as a duplicate' has_duplicate

# Once more, to see that nothing is left behind.
pay 1
processes 51 'a message after it'
is "$(sql 'SELECT COUNT(*), COUNT(DISTINCT sequence) FROM billing.order_history')" \
    $'51\t51' "$language: each event exactly once"
is "$(sql 'SELECT COUNT(*) FROM billing.order_history l JOIN
    billing.order_history e ON l.order_key = e.order_key
    AND l.sequence > e.sequence AND l.entry < e.entry')" 0 \
    "$language: in order per key"
is "$(sql 'SELECT COUNT(*) FROM events e LEFT JOIN billing.order_history h
    ON h.sequence = e.sequence AND h.order_key = e.stream_id
    AND h.event_data = e.event_data WHERE h.entry IS NULL')" 0 \
    "$language: as they were enqueued"
is "$(sql 'SELECT COUNT(*) FROM billing.processed_messages')" 51 \
    "$language: and their ids are kept"
done_testing
