#!/usr/bin/env bash
# Every key of the configuration and every option that changes one: a value
# that is not the default, and the difference it makes to the running program.
# At the end the program is asked for its keys, and each must have been here.
. "${srcdir:-$(dirname "$0")/../..}/tests/lib/lib.sh"
. "$srcdir/tests/lib/http.sh"

declare -A BASE COVERED
NUMBER=0			# of events that were put

# covers KEY...: the next cases fail if one of these is ignored
covers() {
	local key
	for key; do COVERED[$key]=1; done
}

skip() {
	TESTS=$((TESTS + 1))
	printf 'ok %d - %s # SKIP %s\n' "$TESTS" "$1" "$2"
}

# take [KEY=VALUE | -OPTION]...: sets KEYS and OPTIONS
take() {
	local arg
	KEYS=() OPTIONS=()
	for arg; do
		case $arg in
		[a-z]*.*=*) KEYS+=("$arg") ;;
		*) OPTIONS+=("$arg") ;;
		esac
	done
}

# conf FILE [KEY=VALUE]...: BASE with these changes
conf() {
	local -A keys
	local key file=$1
	shift
	for key in "${!BASE[@]}"; do keys[$key]=${BASE[$key]}; done
	for key; do keys[${key%%=*}]=${key#*=}; done
	for key in "${!keys[@]}"; do
		printf '%s=%s\n' "$key" "${keys[$key]}"
	done | LC_ALL=C sort | awk '{
		at = index($0, "=")
		n = split(substr($0, 1, at - 1), name, ".")
		if (name[1] != section)
			print name[1] ":"
		if (n == 3 && name[2] != inner)
			print "  " name[2] ":"
		section = name[1]
		inner = n == 3 ? name[2] : ""
		print (n == 3 ? "    " : "  ") name[n] ": " substr($0, at + 1)
	}' > "$file"
}

# once [KEY=VALUE | -OPTION]...: one tick; sets RC, OUT and ERR
once() {
	take "$@"
	conf "$CONF" "${KEYS[@]}"
	OUT=$("$OUTBOX_MASTER" -c "$CONF" --once --json "${OPTIONS[@]}" \
	    2> "$DIR/err")
	RC=$?
	ERR=$(cat "$DIR/err")
}

field() { printf '%s' "$OUT" | sed -n "s/.*\"$1\":\([0-9]*\).*/\1/p"; }

# verdict STATUS NAME: of the last tick
verdict() {
	ok "$1" "$2"
	[ "$1" -eq 0 ] ||
	    printf '%s\n' "status $RC" "$OUT" "$ERR" | sed 's/^/# /'
}

# works NAME [KEY=VALUE]...: a clean tick
works() {
	local name=$1
	shift
	once "$@"
	verdict "$RC" "$name"
}

# sends NAME [KEY=VALUE]...: one that delivered something
sends() {
	local name=$1
	shift
	once "$@"
	[ "$RC" -eq 0 ] && [ "$(field published)" -gt 0 ]
	verdict $? "$name"
}

# fails REGEX NAME [KEY=VALUE]...: one that is not, for this reason; with the
# exit status STATUS (1)
fails() {
	local why=$1 name=$2
	shift 2
	once "$@"
	[ "$RC" -eq "${STATUS:-1}" ] && printf '%s' "$ERR" | grep -Eq -- "$why"
	verdict $? "$name"
}

# refused REGEX KEY=VALUE: not accepted at all
refused() {
	conf "$CONF" "$2"
	ERR=$("$OUTBOX_MASTER" -c "$CONF" -t 2>&1)
	RC=$? OUT=
	[ "$RC" -eq 78 ] && printf '%s' "$ERR" | grep -Eq -- "$1"
	verdict $? "$2 is refused by name"
}

# run NAME [KEY=VALUE | -OPTION]...: a master with files of its own; sets
# MASTER and LOG
run() {
	local name=$1
	shift
	take "$@"
	LOG=$DIR/$name.log
	conf "$DIR/$name.yml" "${KEYS[@]}"
	"$OUTBOX_MASTER" -c "$DIR/$name.yml" "${OPTIONS[@]}" \
	    > "$DIR/$name.out" 2> "$LOG" </dev/null &
	MASTER=$!
	MASTERS+=("$MASTER")
}

# row PARTITION KEY TYPE: SQL for a transaction with one event
row() {
	NUMBER=$((NUMBER + 1))
	cat <<-EOF
	START TRANSACTION;
	INSERT INTO ${EVENTS_TABLE:-events}
	    (stream_id, stream_sequence, event_type, event_data)
	    VALUES ('$2', $NUMBER, '$3', 'x');
	INSERT INTO ${OUTBOX_TABLE:-outbox} (global_sequence, partition_key)
	    VALUES (LAST_INSERT_ID(), '$1');
	COMMIT;
	EOF
}

feed() { client "$DIR/db" "${1:-app}"; }
put() { row "$@" > "$DIR/sql" && feed < "$DIR/sql"; }

# many N PARTITION KEY TYPE: a # becomes a number
many() {
	local i
	for ((i = 1; i <= $1; i++)); do
		row "${2/\#/$i}" "${3/\#/$i}" "$4"
	done > "$DIR/sql"
	feed < "$DIR/sql"
}

# account USER HOST [REQUIREMENT]: another account with the daemon's rights
account() {
	"$SANDBOX" sql "$DIR/db" -e "CREATE USER '$1'@'$2'
	    IDENTIFIED BY '$OUTBOX_PW' ${3:-}"
	sed "s/'outbox'@'localhost'/'$1'@'$2'/" "$srcdir/sql/grants.sql" | feed
}

# start_nats NAME LINE...: another server; sets URL
start_nats() {
	local name=$1
	shift
	"$SANDBOX" start nats "$DIR/$name" "$@" > /dev/null || {
		echo "Bail out! no nats-server for $name"
		exit 1
	}
	URL=$(sed -n 's/^URL=//p' "$DIR/$name/env")
}

# start_nats_deny NAME PERMISSION: another server with the stream, whose user
# alice lacks it
start_nats_deny() {
	start_nats "$1" "authorization {users: [{user: alice, password: secret,
	    permissions: {$2}}]}"
	"$LAB" stream --nats "nats://alice:secret@${URL#nats://}" \
	    --name EVENTS --subjects 'events.>'
}

has_workers() { [ "$(worker_pids "$1" | wc -l)" -eq "$2" ]; }
is_between() { [ "$1" -ge "$2" ] && [ "$1" -le "$3" ]; }

#
# Certificates, if there is something to make them with.
#
ssl() { openssl "$@" 2>> "$DIR/openssl.log"; }
new_key() { ssl genpkey -algorithm ed25519 -out "$1"; }

authority() {
	ssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes \
	    -days 2 -subj "/CN=$1" -keyout "$1.key" -out "$1.pem"
}

# certificate NAME USAGE
certificate() {
	printf '%s\n' basicConstraints=CA:FALSE "extendedKeyUsage=$2" \
	    subjectAltName=DNS:localhost,IP:127.0.0.1 > "$1.ext"
	ssl req -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes \
	    -subj "/CN=$1" -keyout "$1.key" -out "$1.csr" &&
	    ssl x509 -req -in "$1.csr" -CA ca.pem -CAkey ca.key \
	    -CAcreateserial -days 2 -extfile "$1.ext" -out "$1.pem"
}

make_certificates() (
	mkdir "$DIR/tls" && cd "$DIR/tls" || exit
	authority ca && authority stranger &&
	    certificate server serverAuth && certificate client clientAuth
)

TLS=$DIR/tls DB_TLS=() NATS_TLS=()
command -v openssl > /dev/null && {
	make_certificates || {
		sed 's/^/# /' "$DIR/openssl.log"
		echo 'Bail out! no certificates'
		exit 1
	}
	DB_TLS=("ssl_ca=$TLS/ca.pem" "ssl_cert=$TLS/server.pem"
	    "ssl_key=$TLS/server.key")
	NATS_TLS=("tls {cert_file: \"$TLS/server.pem\"
	    key_file: \"$TLS/server.key\", ca_file: \"$TLS/ca.pem\"
	    verify: true}")
}

start_servers "${DB_TLS[@]}"
"$LAB" stream --nats "$URL" --name SECOND --subjects 'second.>'
# This stream stores messages and does not answer.
"$LAB" stream --nats "$URL" --name SILENT --subjects 'silent.>' --no-ack
ADDRESS=127.0.0.1:$DB_PORT
NOBODY=127.0.0.1:1
BASE=(
	[master.workers]=1
	[master.user]=$(id -un)
	[master.pidfile]=$DIR/run/outbox.pid
	[mysql.socket]=$SOCKET
	[mysql.password_env]=OUTBOX_PW
	[mysql.database]=app
	[nats.servers]="[\"$URL\"]"
)
works 'the base configuration: a tick without an error'

#
# master.  Three of them, whose workers are stopped, wait at the same time;
# for that a worker whose database is away is as good as another.
#
SHORT=(publish.timeout_ms=500 worker.lease_ttl=1 worker.lease_renew=0.3
    worker.heartbeat_ttl=1 "mysql.socket=$DIR/none" --silent)

# halted NAME KEY=VALUE: sets MASTER and WORKER, which is stopped
halted() {
	run "$1" "${SHORT[@]}" "master.pidfile=$DIR/run/$1.pid" "$2"
	wait_for 10 has_line "$LOG" "mysql $DIR/none"
	WORKER=$(worker_pids "$MASTER")
	kill -STOP "$WORKER"
}

halted never master.hang_timeout=0
NEVER=$WORKER NEVER_SINCE=$(now_ms) NEVER_MASTER=$MASTER
MASTERS+=("$WORKER")	# is not to stay behind
halted hang master.hang_timeout=2
HUNG=$WORKER HUNG_MASTER=$MASTER
halted stop master.stop_timeout=2
since=$(now_ms)
stop_master "$MASTER"
took=$(($(now_ms) - since))
covers master.stop_timeout
check "master.stop_timeout: a worker that does not stop is killed ($took ms)" \
    is_between "$took" 2000 12000
like "$(cat "$LOG")" "pid $WORKER did not stop within .*_timeout: killed" \
    'master.stop_timeout: the log names the worker'

covers master.hang_timeout
wait_for 12 has_line "$DIR/hang.log" \
    "pid $HUNG gave no sign of life for 2 s: killed"
ok $? 'master.hang_timeout: a worker that hangs is killed'
stop_master "$HUNG_MASTER"

covers master.pidfile
run pidfile "master.pidfile=$DIR/run/other.pid" --silent
wait_for 10 has_line "$DIR/run/other.pid" "^$MASTER$" 2> /dev/null
ok $? 'master.pidfile has the pid of the master'
[ -e "$DIR/run/other.scoreboard" ] && [ ! -e "$DIR/run/outbox.scoreboard" ]
ok $? 'master.pidfile: the scoreboard is beside it'
stop_master "$MASTER"

covers master.user
if [ "$(id -u)" -eq 0 ] && id nobody > /dev/null 2>&1; then
	chmod 711 "$DIR"
	owner_of() { ps -o user= -p "$1"; }
	run user master.user=nobody "master.pidfile=$DIR/nobody/outbox.pid" \
	    "mysql.socket=$DIR/none" --silent
	wait_for 10 has_line "$LOG" "mysql $DIR/none"
	is "$(owner_of "$MASTER")" nobody 'master.user: the master has it'
	is "$(owner_of "$(worker_pids "$MASTER")")" nobody \
	    'master.user: its worker too'
	is "$(stat -c %U "$DIR/nobody")" nobody \
	    'master.user: so is the directory of the pid file'
	stop_master "$MASTER"
	works 'master.user empty: the master stays root' 'master.user=""'
else
	skip 'user' 'not root'
fi

#
# mysql and outbox: another database, where no table has its usual name.
#
"$SANDBOX" sql "$DIR/db" -e 'CREATE DATABASE other'
feed other < "$srcdir/sql/schema.sql"
feed other <<'SQL'
RENAME TABLE outbox TO my_rows, events TO my_events,
    outbox_partitions TO my_partitions, outbox_workers TO my_workers,
    outbox_settings TO my_settings, outbox_dead_letters TO my_dead,
    outbox_blocked_keys TO my_blocked, outbox_streams TO my_streams,
    outbox_audit TO my_audit, outbox_registry TO my_registry;
CREATE USER 'another'@'localhost' IDENTIFIED BY 'another-secret';
GRANT SELECT, INSERT, UPDATE, DELETE ON other.* TO 'another'@'localhost';
SQL
keep_secret "$DIR/password" another-secret
OTHER=(mysql.user=another "mysql.password_file=$DIR/password"
    mysql.password_env= mysql.database=other
    outbox.tables.outbox=my_rows outbox.tables.events=my_events
    outbox.tables.partitions=my_partitions outbox.tables.workers=my_workers
    outbox.tables.settings=my_settings outbox.tables.dead_letters=my_dead
    outbox.tables.blocked_keys=my_blocked outbox.tables.streams=my_streams
    outbox.tables.audit=my_audit outbox.tables.registry=my_registry)
OUTBOX_TABLE=my_rows EVENTS_TABLE=my_events
{ row p01 a made; row p01 b 'two words'; } > "$DIR/sql"
unset OUTBOX_TABLE EVENTS_TABLE
feed other < "$DIR/sql"
run other "${OTHER[@]}" master.workers=3 outbox.partition_count=5 \
    retry.on_dead=halt --silent
covers mysql.user mysql.password_file mysql.database
wait_for 10 is_sql "SELECT GROUP_CONCAT(DISTINCT user, ' ', db)
    FROM information_schema.processlist WHERE user <> 'root'" 'another other'
ok $? 'mysql.user, password_file, database: the session has them'
covers outbox.tables.outbox outbox.tables.events
wait_for 10 is_sql 'SELECT COUNT(*) FROM other.my_rows
    WHERE published_at IS NULL' 0
ok $? 'outbox.tables.outbox, events: rows of these tables are sent'
like "$("$LAB" show --nats "$URL" --stream EVENTS --last)" '^Outbox-Key: a$' \
    'outbox.tables.events: the header has the key of the event'
covers outbox.tables.workers master.workers
within 10 'outbox.tables.workers: a row for each worker' \
    is_sql 'SELECT COUNT(*) FROM other.my_workers' 3
check 'master.workers: the number of processes' has_workers "$MASTER" 3
covers outbox.tables.partitions outbox.tables.settings outbox.partition_count
is "$(sql "SELECT GROUP_CONCAT(partition_key ORDER BY 1)
    FROM other.my_partitions")" p00,p01,p02,p03,p04 \
    'outbox.tables.partitions: partition_count rows'
is "$(sql 'SELECT partition_count FROM other.my_settings')" 5 \
    'outbox.tables.settings has the partition count'
covers outbox.tables.dead_letters
is "$(sql 'SELECT order_key FROM other.my_dead')" b \
    'outbox.tables.dead_letters has the dead letter'
covers outbox.tables.blocked_keys retry.on_dead
is "$(sql 'SELECT CONCAT(order_key, " ", reason) FROM other.my_blocked')" \
    'b halted' \
    'outbox.tables.blocked_keys has its key, halted by retry.on_dead'
covers outbox.tables.streams
is "$(sql 'SELECT name FROM other.my_streams WHERE servers <> ""')" EVENTS \
    'outbox.tables.streams has the stream'
covers outbox.tables.audit
"$OUTBOXCTL" -c "$DIR/other.yml" keys release b > /dev/null
is "$(sql 'SELECT CONCAT(command, " ", arguments, " ", changed)
    FROM other.my_audit')" 'keys release b 1' \
    'outbox.tables.audit: the command'
covers outbox.tables.registry
sql "INSERT INTO other.my_registry (name, source, settings)
    VALUES ('rest', 'my_events', 'my_settings')"
is "$("$OUTBOXCTL" -c "$DIR/other.yml" --json status |
    jq -r '.outbox.others[0].name')" rest \
    'outbox.tables.registry: status names another outbox in it'
stop_master "$MASTER"
check '--silent: no report' [ ! -s "$DIR/other.out" ]
covers outbox.partition_by
fails 'producers compute partitions of the order key' \
    'outbox.partition_by: another value than that of the producers' \
    "${OTHER[@]}" outbox.partition_by=event_type
covers outbox.former_counts
works 'outbox.former_counts, on the four tables alone' "${OTHER[@]}" \
    outbox.tables.settings=no_settings outbox.tables.dead_letters=no_dead \
    outbox.tables.blocked_keys=no_blocked outbox.tables.streams=no_streams \
    outbox.partition_count=5 \
    'outbox.former_counts=[10]'
rows_are 10 other.my_partitions 'outbox.former_counts: leases for all labels'
STATUS=78 fails "mysql.password_file: $DIR/none: No such file" \
    'mysql.password_file does not exist' \
    "${OTHER[@]}" "mysql.password_file=$DIR/none"

covers mysql.password_env
export KEYS_PW=$OUTBOX_PW
OUTBOX_PW=wrong works 'mysql.password_env: the password is read from it' \
    mysql.password_env=KEYS_PW
fails 'Access denied' \
    'mysql.password_env: another variable has a wrong password' \
    mysql.password_env=PRODUCER_PW

covers mysql.operator.user mysql.operator.password_file \
    mysql.operator.password_env		# ctl_audit.sh shows that they are used
conf "$CONF" mysql.operator.user=nobody \
    "mysql.operator.password_file=$DIR/password"
like "$("$OUTBOXCTL" -c "$CONF" messages retry 1 2>&1)" \
    "Access denied for user 'nobody'" 'mysql.operator: outboxctl logs in with it'

covers mysql.server_public_key
fails "server_public_key: $DIR/none: No such file" \
    'mysql.server_public_key does not exist' \
    "mysql.server_public_key=$DIR/none"
works 'mysql.server_public_key: a readable one is taken' \
    "mysql.server_public_key=$DIR/password"

covers mysql.hosts mysql.socket
account outbox 127.0.0.1
logged_in_from() {
	sql "SELECT SUBSTRING_INDEX(host, ':', 1) FROM
	    information_schema.processlist WHERE user = 'outbox' LIMIT 1"
}
is_from() { [ "$(logged_in_from)" = "$1" ]; }
run socket --silent
within 10 'mysql.socket: the session comes by the socket' is_from localhost
stop_master "$MASTER"
covers nats.servers
put p01 a made
run hosts mysql.socket= "mysql.hosts=[\"$NOBODY\", \"$ADDRESS\"]" \
    "nats.servers=[\"nats://$NOBODY\", \"$URL\"]" \
    log.level=warn --silent
within 10 'mysql.hosts: the second server is used if the first is away' \
    is_from 127.0.0.1
drains 10 'nats.servers: the second server is used if the first is away'
stop_master "$MASTER"
covers log.level
like "$(cat "$LOG")" " warn worker 0.*mysql $NOBODY: connect" \
    'mysql.hosts: the log names the server that is away'
check 'log.level warn: the first line, and none of a lower level' \
    [ "$(grep -v ' warn ' "$LOG" |
    sed 's/.*: \(started\) with.*/\1/')" = started ]
fails "nats nats://$NOBODY: " 'nats.servers: the only server is away' \
    "nats.servers=nats://$NOBODY"

works 'mysql.hosts: localhost with a port' mysql.socket= \
    "mysql.hosts=localhost:$DB_PORT"
fails "nats tls://" 'nats.servers: tls:// is refused by a server without TLS' \
    "nats.servers=tls://${URL#nats://}"

if [ ${#DB_TLS[@]} -gt 0 ]; then
	covers mysql.tls.mode mysql.tls.ca mysql.tls.cert mysql.tls.key
	account secure 127.0.0.1 'REQUIRE SSL'
	account shown 127.0.0.1 'REQUIRE X509'
	S=(mysql.socket= "mysql.hosts=$ADDRESS" mysql.user=secure)
	fails 'Access denied' 'mysql.tls.mode auto: no TLS on the loopback' \
	    "${S[@]}"
	fails 'Access denied' 'mysql.tls.mode disable: no TLS' "${S[@]}" \
	    mysql.tls.mode=disable
	works 'mysql.tls.mode require: TLS with any certificate' "${S[@]}" \
	    mysql.tls.mode=require
	fails '\(2026\)' 'mysql.tls.mode verify: an unknown authority' \
	    "${S[@]}" mysql.tls.mode=verify
	works 'mysql.tls.ca: its certificates are accepted' "${S[@]}" \
	    mysql.tls.mode=verify "mysql.tls.ca=$TLS/ca.pem"
	fails '\(2026\)' 'mysql.tls.ca: certificates of others are refused' \
	    "${S[@]}" mysql.tls.mode=verify "mysql.tls.ca=$TLS/stranger.pem"
	S+=(mysql.user=shown mysql.tls.mode=require)
	fails 'Access denied' 'an account that requires a client certificate' \
	    "${S[@]}"
	works 'mysql.tls.cert, key: the account gets its certificate' \
	    "${S[@]}" \
	    "mysql.tls.cert=$TLS/client.pem" "mysql.tls.key=$TLS/client.key"
	fails '\(20[0-9][0-9]\)' 'mysql.tls.key of another certificate' \
	    "${S[@]}" "mysql.tls.cert=$TLS/client.pem" \
	    "mysql.tls.key=$TLS/stranger.key"
else
	covers mysql.tls.mode mysql.tls.ca mysql.tls.cert mysql.tls.key
	skip 'mysql.tls' 'no openssl'
fi

#
# outbox and retry.  A message that gets no answer while a crowd of others
# of its stream does is one that failed by itself.
#
# The tables of mode inline and columns with other names: run_inline.sh,
# run_shapes.sh.
covers outbox.mode outbox.columns outbox.tables.messages outbox.scheduled
refused 'outbox.columns: topic is not a column of outbox.mode: pointer' \
    'outbox.columns={topic: type}'

MUTE=('nats.subject="{event_type}"' nats.stream=SECOND publish.timeout_ms=400
    worker.batch_size=10000)
CROWD=300
! is_short || CROWD=60
crowd() { many $CROWD p02 crowd second.made; }
gone() {
	sql "SELECT GROUP_CONCAT(stream_id ORDER BY stream_id) FROM events
	    JOIN outbox ON global_sequence = sequence
	    WHERE published_at IS NOT NULL AND stream_id <> 'crowd'"
}

# order WORD: the keys that were sent behind a message that failed
order() {
	clear_rows
	put p01 a silent.made
	put p01 a second.made
	put p01 b second.made
	crowd
	once "${MUTE[@]}" "outbox.ordering=$1"
	gone
}
covers outbox.ordering
is "$(order key)" b 'outbox.ordering key: later messages of the key wait'
is "$(order partition)" NULL 'outbox.ordering partition: all of it waits'
is "$(order none)" a,b 'outbox.ordering none: no other message waits'

clear_rows
many 4 p01 'failing#' failing.made
mkdir -p "$RDIR"
echo '/e/failing.made 0 500' > "$RDIR/orders"
start_receiver

# delays: how many wait, after how many attempts, for how many seconds at
# least and at most since the others of the batch were written back
delays() {
	sql "SELECT CONCAT_WS(' ', COUNT(*), MIN(attempts), MAX(attempts),
	    MIN(delay), MAX(delay)) FROM (SELECT attempts,
	    TIMESTAMPDIFF(SECOND, (SELECT MAX(published_at) FROM outbox),
	    available_at) AS delay FROM outbox WHERE published_at IS NULL) AS t"
}
# again [KEY=VALUE]...: all are due once more, and fail; sets what delays has
again() {
	crowd
	sql 'UPDATE outbox SET available_at = NOW(6)
	    WHERE published_at IS NULL'
	once publish.driver=http "http.endpoint=http://127.0.0.1:$RPORT/e" \
	    worker.batch_size=10000 "$@"
	read -r WAIT LEAST MOST MIN MAX <<< "$(delays)"
	say "$WAIT wait after $LEAST to $MOST attempts for $MIN to $MAX s"
}
covers retry.backoff retry.max_backoff retry.jitter retry.max_attempts
again retry.backoff=100 retry.max_backoff=1000 retry.jitter=0
is "$WAIT $LEAST $MOST" '4 1 1' 'four messages that were answered with 500 failed once'
check 'retry.backoff is the first delay' is_between "$MIN" 100 110
is "$MAX" "$MIN" 'retry.jitter 0: all delays are the same'
again retry.backoff=100 retry.max_backoff=1000 retry.jitter=0
check 'retry.backoff: the second delay is twice as long' \
    is_between "$MIN" 200 210
again retry.backoff=100 retry.max_backoff=250 retry.jitter=0
check 'retry.max_backoff: no delay is longer' is_between "$MIN" 250 260
again retry.backoff=100 retry.max_backoff=100 retry.jitter=0.8
is_between "$MIN" 20 180 && is_between "$MAX" "$((MIN + 1))" 190
ok $? 'retry.jitter: delays differ, and by no more'
again retry.max_attempts=6 retry.backoff=100 retry.max_backoff=100
is "$WAIT $LEAST" '4 5' 'retry.max_attempts: no dead letter too soon'
again retry.max_attempts=6
rows_are 4 'outbox_dead_letters
    WHERE reason = "attempts" AND attempts = 6' \
    'retry.max_attempts: dead letters after the last attempt'
# See run_verdicts.sh and relay_trial.c.
covers retry.burst retry.burst_time retry.blame_after

#
# publish
#
covers publish.driver
all_sent() { [ "$RC" -eq 0 ] && [ "$(pending)" -eq 0 ]; }
refused 'publish.driver: http needs http.endpoint' publish.driver=http
refused 'publish.driver: amqp is unknown' publish.driver=amqp
clear_rows
put p01 a ok.made
once publish.driver=stdout nats.servers=[nats://127.0.0.1:1]
all_sent && is "$(jq -r '.key + " " + .type + " " + .payload_base64' \
    <<< "$OUT")" 'a ok.made eA==' \
    'publish.driver: stdout writes messages, and nothing else'
put p01 a ok.made
once publish.driver=discard nats.servers=[nats://127.0.0.1:1]
all_sent && printf '%s' "$ERR" | grep -q 'warn.*discard'
verdict $? 'publish.driver: discard delivers without a server, and warns'
# tests/system/run_destinations.sh has a case for each of these.
covers publish.routes publish.unmatched

# tests/system/run_http.sh and run_http_tls.sh have a case for each of these.
covers http.endpoint http.path http.content_type http.concurrency http.signing_keys \
    http.headers http.metadata_headers http.allow_clear http.token_file \
    http.token_env http.follow_redirects http.allow_private http.proxy http.tls.verify http.tls.ca http.tls.cert \
    http.tls.key

# run_kafka.sh and run_kafka_audit.sh have the rest. This cluster is played by librdkafka itself.
covers kafka.brokers kafka.topic kafka.recover kafka.client kafka.client_files \
    kafka.sasl.mechanism kafka.sasl.user kafka.sasl.password_file \
    kafka.sasl.password_env kafka.tls.mode kafka.tls.ca kafka.tls.cert \
    kafka.tls.key
clear_rows
put p01 a ok.made
once publish.driver=kafka 'kafka.client={test.mock.num.brokers: 1}'
all_sent
verdict $? 'publish.driver: kafka'

covers nats.core
put p01 a nobody.listens
once nats.core=true 'nats.stream=""' 'nats.subject="nobody.{event_type}"'
all_sent && printf '%s' "$ERR" | grep -q 'warn.*at most once'
verdict $? 'nats.core: delivered though no stream takes it, with a warning'
clear_rows

covers publish.timeout_ms publish.window
clear_rows
many 4 p01 'mute#' silent.made
fails 'no answer within 700 ms' 'publish.timeout_ms: the wait for an answer' \
    "${MUTE[@]}" publish.timeout_ms=700
at_once=$(field duration_ms)
check "publish.timeout_ms: one wait for the whole batch ($at_once ms)" \
    is_between "$at_once" 700 2799
tried() { sql 'SELECT COUNT(*) FROM outbox WHERE last_error IS NOT NULL'; }
is "$(tried)" 4 'publish.window: four messages were sent at a time'
clear_rows
many 4 p01 'mute#' silent.made
once "${MUTE[@]}" publish.timeout_ms=700 publish.window=1
is "$(tried)" 1 'publish.window 1: one message, whose time-out ends the batch'

covers publish.types
clear_rows
many 2 p01 'a#' made
many 3 p01 'b#' other
sql 'DELETE FROM outbox'
missing() {
	conf "$CONF" "$@"
	"$OUTBOXCTL" -c "$CONF" --json reconcile --dry-run
}
is "$(missing)" '{"changed":5,"dry_run":true}' 'publish.types empty: all types'
is "$(missing 'publish.types=["ot*r"]')" '{"changed":3,"dry_run":true}' \
    'publish.types: events of these types only'
#
# worker
#
covers worker.batch_bytes
clear_rows
many 3 'p0#' 'a#' made
sql "UPDATE events SET event_data = REPEAT('x', 40000)"
once worker.batch_bytes=65536
is "$(field claimed) $(field published)" '3 1' \
    'worker.batch_bytes: a batch of less than all rows'
once worker.batch_bytes=131072
is "$(field published)" 2 'worker.batch_bytes: the next batch has the others'

covers worker.batch_size
clear_rows
many 9 'p0#' 'a#' made
once worker.batch_size=3
is "$(field claimed)" 3 'worker.batch_size: the number of claimed rows'

covers worker.leasing
hold() {
	sql "UPDATE outbox_partitions SET lease_owner = $1,
	    lease_until = NOW(6) + INTERVAL 1 HOUR"
}
hold "'somebody'"
once
is "$(field claimed)" 0 \
    'worker.leasing: no row is claimed under the lease of another'
once worker.leasing=false worker.batch_size=4
is "$(field claimed)" 4 'worker.leasing false: rows are claimed without a lease'
once --no-leasing
is "$(field claimed)" 2 '--no-leasing: rows are claimed without a lease'
is "$(sql 'SELECT DISTINCT lease_owner FROM outbox_partitions')" somebody \
    '--no-leasing: the leases are not changed'
hold NULL

covers worker.claim_ttl
clear_rows
put p01 a silent.made
conf "$CONF" "${MUTE[@]}" publish.timeout_ms=1500 worker.claim_ttl=600
"$OUTBOX_MASTER" -c "$CONF" --once --silent 2> /dev/null &
TICK=$!
wait_for 10 is_sql 'SELECT claim_token IS NOT NULL FROM outbox' 1
left=$(sql 'SELECT TIMESTAMPDIFF(SECOND, NOW(6), available_at) FROM outbox')
check "worker.claim_ttl: how long the row is claimed ($left s)" \
    is_between "$left" 570 600
wait "$TICK"

clear_rows
run lease worker.lease_ttl=8 worker.heartbeat_ttl=6 worker.lease_renew=0.7 \
    worker.idle_backoff_ms=300 log.format=json \
    "log.target=$DIR/target" --json
covers worker.lease_ttl worker.heartbeat_ttl
wait_for 10 all_owned
is "$(sql 'SELECT DISTINCT TIMESTAMPDIFF(MICROSECOND, updated_at, lease_until)
    FROM outbox_partitions')" 8000000 'worker.lease_ttl: how long a lease is'
is "$(sql 'SELECT TIMESTAMPDIFF(MICROSECOND, updated_at, heartbeat_until)
    FROM outbox_workers')" 6000000 \
    'worker.heartbeat_ttl of a heartbeat'

covers worker.lease_renew
BEAT=0
has_beaten() {
	local at
	at=$(sql 'SELECT ROUND(1000 * UNIX_TIMESTAMP(updated_at))
	    FROM outbox_workers')
	[ "$at" != "$BEAT" ] && BEAT=$at
}
wait_for 10 has_beaten && wait_for 10 has_beaten
since=$BEAT
wait_for 10 has_beaten && wait_for 10 has_beaten && wait_for 10 has_beaten
took=$(((BEAT - since) / 3))
check "worker.lease_renew: the time between heartbeats ($took ms)" \
    is_between "$took" 650 2500

covers worker.idle_backoff_ms
pauses() { sed -n 's/.*"backoff_ms":\([0-9]*\),.*/\1/p' "$DIR/lease.out"; }
within 10 'worker.idle_backoff_ms: pauses grow up to it' \
    has_line "$DIR/lease.out" '"backoff_ms":300,'
is "$(pauses | sort -n | tail -n 1)" 300 'worker.idle_backoff_ms: the longest'

#
# log
#
covers log.target log.format
bad_news() {
	put p01 a 'two words'
	has_line "$DIR/target" '"role":"worker 0".* failed' 2> /dev/null
}
within 10 'log.target: the file has the lines of workers' bad_news
is "$(cat "$LOG")" '' 'log.target: nothing on standard error'
mv "$DIR/target" "$DIR/target.1"
kill -USR1 "$MASTER"
within 10 'log.target: after USR1 workers write to a new file' bad_news
stop_master "$MASTER"
has_line "$DIR/target" '"role":"master".*stopp' &&
    ! has_line "$DIR/target.1" 'stopp'
ok $? 'log.target: after USR1 the master writes to a new file'
cat "$DIR/target.1" "$DIR/target" > "$DIR/lines"
LINE='^\{"ts":"20[0-9T:.-]+Z","level":"[a-z]+","role":"[a-z0-9 ]+",'
LINE+='"pid":[0-9]+,("worker":[0-9]+,)?"msg":".*\}$'
[ -s "$DIR/lines" ] && ! grep -Evq "$LINE" "$DIR/lines" &&
    jq -e . "$DIR/lines" > /dev/null
ok $? 'log.format json: each line is one object'
run syslog log.target=syslog --silent
wait_for 10 all_owned
stop_master "$MASTER"
is "$(cat "$LOG")" '' 'log.target syslog: nothing on standard error'

# Messages that come together wait for each other; the first one is sent at once.
covers worker.linger_ms
clear_rows
run linger worker.linger_ms=700 master.workers=1
wait_for 10 all_owned
put p01 a made
wait_for 10 is_drained
put p02 b made
wait_for 10 is_drained
gap=$(sql 'SELECT TIMESTAMPDIFF(MICROSECOND, MIN(published_at),
    MAX(published_at)) DIV 1000 FROM outbox')
check "worker.linger_ms: between two batches ($gap ms)" \
    is_between "$gap" 600 5000
stop_master "$MASTER"

#
# nats
#
clear_rows
covers nats.subject nats.msg_id_prefix
put p07 order-3 made
sends 'nats.subject with all placeholders' nats.msg_id_prefix=pre:fix \
    'nats.subject="events.{partition}.x.{stream_id}.{event_type}"'
shown=$("$LAB" show --nats "$URL" --stream EVENTS --last)
like "$shown" '^Subject: events\.p07\.x\.order-3\.made$' \
    'nats.subject: placeholders are replaced'
like "$shown" '^Nats-Msg-Id: pre:fix-[0-9]+-[0-9a-f]{16}$' \
    'nats.msg_id_prefix: the message id begins with it'
refused 'nats.subject: .*topic' 'nats.subject="events.{topic}"'

#
# publish: what a subscriber sees
#
# last: the last message of the stream
last() { "$LAB" show --nats "$URL" --stream EVENTS --last; }
# event TYPE PAYLOAD: the payload is a literal of SQL; sets SEQ
event() {
	NUMBER=$((NUMBER + 1))
	sql "INSERT INTO events (stream_id, stream_sequence, event_type,
	    event_data, metadata) VALUES ('o-1', $NUMBER, '$1', $2,
	    '{\"tenant\":\"a\"}');
	    INSERT INTO outbox (global_sequence, partition_key)
	    VALUES (LAST_INSERT_ID(), 'p01')"
	SEQ=$(sql 'SELECT MAX(global_sequence) FROM outbox')
}
has_text() { [[ $1 == *"$2"* ]]; }
# member FILTER: of the last message's body
member() { last | sed '1,/^$/d' | jq -r "$1"; }

covers publish.envelope publish.source
clear_rows
ORDER='{"n":123456789012345678901234567890, "b":[1.50]}'
event made "'$ORDER'"
sends 'publish.envelope raw: the payload' publish.envelope=raw
is "$(last | sed '1,/^$/d')" "$ORDER" 'publish.envelope raw: as it is stored'
event made "'$ORDER'"
sends 'publish.envelope json: an object' publish.envelope=json
like "$(last)" "^Content-Type: application/json\$" \
    'publish.envelope json: its content type is a header'
like "$(last)" "^Outbox-Sequence: $SEQ\$" \
    'publish.envelope json: the headers are there'
has_text "$(last)" "\"metadata\":{\"tenant\":\"a\"},\"payload\":$ORDER}"
ok $? 'publish.envelope json: the payload stands in it unchanged'
is "$(member .sequence)" "$SEQ" 'publish.envelope json: the sequence'
event made "x'ff00'"
sends 'publish.envelope cloudevents: an event' publish.envelope=cloudevents
is "$(member '.specversion + .type + .subject + .data_base64')" \
    '1.0madeo-1/wA=' 'publish.envelope cloudevents: its attributes and data'
like "$(last)" '^Content-Type: application/cloudevents\+json$' \
    'publish.envelope cloudevents: its content type'
is "$(member .source)" \
    "urn:outbox:$(sql 'SELECT outbox_id FROM outbox_settings')" \
    'publish.source empty: the id of the outbox'
event made "'$ORDER'"
sends 'publish.envelope cloudevents-binary: an event' \
    publish.envelope=cloudevents-binary publish.source=//shop/a
like "$(last)" '^ce-specversion: 1.0$' \
    'publish.envelope cloudevents-binary: attributes are headers'
like "$(last)" '^ce-source: //shop/a$' 'publish.source: is the source'
is "$(last | sed '1,/^$/d')" "$ORDER" \
    'publish.envelope cloudevents-binary: the payload as it is stored'

# What is sent counts: 900,000 bytes fit the limit of 1 MiB, in base64 not.
event made "REPEAT(x'ff', 900000)"
fails 'sequence [0-9]+, key o-1: 120[0-9]{4} bytes are more than this server.s max_payload' \
    'publish.envelope: an envelope may be too large' publish.envelope=json
clear_rows
event made "REPEAT(x'ff', 900000)"
sends 'publish.envelope: its payload alone is not' publish.envelope=raw

covers publish.type_case publish.type_aliases
event 'App\\Events\\OrderPaid' "'x'"
sends 'publish.type_case kebab: a message' publish.type_case=kebab
like "$(last)" '^Subject: events\.app\.events\.order-paid$' \
    'publish.type_case kebab: the subject'
like "$(last)" '^Outbox-Type: App\\Events\\OrderPaid$' \
    'publish.type_case: the header has the type as it is stored'
event 'App.OrderPaid' "'x'"
sends 'publish.type_case snake: a message' publish.type_case=snake
like "$(last)" '^Subject: events\.app\.order_paid$' \
    'publish.type_case snake: the subject'
event 'App.OrderPaid' "'x'"
sends 'publish.type_aliases: a message' publish.type_case=snake \
    'publish.type_aliases={App.OrderPaid: paid.order}'
like "$(last)" '^Subject: events\.paid\.order$' \
    'publish.type_aliases: wins over publish.type_case'
event 'App.OrderPaid' "'x'"
sends 'publish.type_case none: a message' publish.type_case=none \
    'publish.type_aliases={App.Order: paid.order}'
like "$(last)" '^Subject: events\.App\.OrderPaid$' \
    'publish.type_aliases: only for exactly this type'
refused 'publish.type_aliases: b: x is also the alias of a' \
    'publish.type_aliases={a: x, b: x}'

covers nats.stream
put p01 a second.made
fails 'expected stream does not match' \
    'nats.stream: another stream refuses the message' \
    'nats.subject="{event_type}"'
clear_rows
put p01 a second.made
sends 'nats.stream: the named stream takes the message' \
    'nats.subject="{event_type}"' nats.stream=SECOND
like "$("$LAB" show --nats "$URL" --stream SECOND --last)" \
    '^Nats-Expected-Stream: SECOND$' \
    'nats.stream: a header names the stream'
put p01 a second.made
sends 'nats.stream empty: any stream takes the message' \
    'nats.subject="{event_type}"' 'nats.stream=""'

covers nats.domain nats.api_prefix	# run_domain.sh shows that they are used
clear_rows
put p01 a made
fails 'JetStream domain none does not answer' \
    'nats.domain: a domain that is not there' nats.domain=none
fails 'JetStream behind none.API does not answer' \
    'nats.api_prefix: an API that is not there' nats.api_prefix=none.API
sends 'nats.api_prefix: the API is asked there' 'nats.api_prefix="$JS.API"'

covers nats.advisory
"$LAB" stream --nats "$URL" --name ADVICE --subjects 'advice.>'
advised() { "$LAB" show --nats "$URL" --stream ADVICE --last; }
clear_rows
put p01 a 'two words'
SEQ=$(sql 'SELECT MAX(global_sequence) FROM outbox')
fails 'two words' 'nats.advisory: a message becomes a dead letter' \
    nats.advisory=advice.dead
like "$(advised)" "\"sequence\":$SEQ,\"partition\":\"p01\",\"key\":\"a\"" \
    'nats.advisory: a message on the subject tells of the dead letter'
like "$(advised)" "\"outbox\":\"$(sql 'SELECT outbox_id
    FROM outbox_settings')\"," 'nats.advisory: it has the id of the outbox'
put p01 a 'two words'
fails 'two words' 'nats.advisory empty: another dead letter' nats.advisory=
like "$(advised)" "\"sequence\":$SEQ," 'nats.advisory empty: no message'
refused 'nats.advisory: .*wildcard' 'nats.advisory="advice.>"'

# Where that is forbidden the log says so, and messages are sent.
PLAIN=$URL
start_nats_deny mute 'publish: {deny: ["advice.>"]}'
keep_secret "$DIR/password" secret
clear_rows
run mute "nats.servers=$URL" nats.user=alice \
    "nats.password_file=$DIR/password" nats.advisory=advice.dead --silent
for i in 1 2 3; do
	put p01 a 'two words'
	put p01 b made
	wait_for 10 is_sql "SELECT COUNT(*) FROM outbox
	    WHERE published_at IS NULL" 0
	ok $? "nats.advisory forbidden: message $i of another key is sent"
done
within 10 'nats.advisory forbidden: the log says so' \
    has_line "$LOG" 'nats.advisory: .*advice.dead'
check 'nats.advisory forbidden: no route is paused' not grep -E 'paused' "$LOG"
stop_master "$MASTER"
URL=$PLAIN

covers wake.subject
start_nats_deny deaf 'subscribe: {deny: ["outbox.wake"]}'
run deaf "nats.servers=$URL" nats.user=alice "nats.password_file=$DIR/password" \
    master.workers=2 worker.idle_backoff_ms=100 wake.subject=outbox.wake --silent
within 10 'wake.subject forbidden: the log says so' \
    has_line "$LOG" 'wake.subject: wake-ups cannot be received: .*outbox.wake'
put p01 a made
drains 10 'wake.subject forbidden: messages are sent'
is "$(grep -c wake.subject "$LOG")" 1 'wake.subject forbidden: only one line'
check 'wake.subject forbidden: no route is paused' not grep paused "$LOG"
stop_master "$MASTER"
URL=$PLAIN
refused 'wake.subject: .*wildcard' 'wake.subject="outbox.>"'
covers nats.recover
# forget WORD: a delivered row has a stream sequence that does not exist, and
# the stream was not checked since the start of the server; sets AGAIN, 1 when
# the message is sent again
forget() {
	clear_rows
	put p01 a made
	once
	sql 'UPDATE outbox SET ack_sequence = ack_sequence + 1000;
	    UPDATE outbox_streams SET servers = ""'
	once "nats.recover=$1"
	AGAIN=$(sql 'SELECT COALESCE(ack_sequence, 0) < 1000 FROM outbox')
}
forget lost
is "$AGAIN" 1 'nats.recover lost: a lost message is sent again'
forget report
is "$AGAIN" 0 'nats.recover report: a lost message is not sent again'
like "$ERR" 'error once.*lost 1 acknowledged messages' \
    'nats.recover report: the log has the loss'
forget off
is "$AGAIN$(printf '%s' "$ERR" | grep lost)" 0 'nats.recover off: not a line'
refused 'nats.recover: .*maybe' nats.recover=maybe

# tests/system/run_scrub.sh has a case for it.
covers nats.scrub

# Servers that only have to open their door.
clear_rows
start_nats door "${NATS_TLS[@]}" 'authorization {users: [
    {user: alice, password: secret}, {user: bob, password: another},
    {user: carol, password: another, permissions: {subscribe: "_OUT.>"}}]}'
A=("nats.servers=$URL" 'nats.stream=""')
if [ ${#NATS_TLS[@]} -gt 0 ]; then
	A+=("nats.tls.ca=$TLS/ca.pem" "nats.tls.cert=$TLS/client.pem"
	    "nats.tls.key=$TLS/client.key")
fi
covers nats.user nats.password_file nats.password_env
keep_secret "$DIR/password" secret
export KEYS_PW=another
fails "nats $URL: Auth" 'nats.user: no access without it' "${A[@]}"
works 'nats.user, password_file: access' "${A[@]}" nats.user=alice \
    "nats.password_file=$DIR/password"
fails "nats $URL: Auth" 'nats.user with the password of another user' \
    "${A[@]}" nats.user=bob "nats.password_file=$DIR/password"
works 'nats.user, password_env: access' "${A[@]}" nats.user=bob \
    nats.password_env=KEYS_PW

covers nats.inbox_prefix
C=("${A[@]}" nats.user=carol nats.password_env=KEYS_PW)
put p01 a made
fails 'Permissions Violation for Subscription to "_INBOX.outbox' \
    'nats.inbox_prefix: the default is not what carol may receive' "${C[@]}"
clear_rows
put p01 b made
fails 'no stream takes' 'nats.inbox_prefix: carol receives the answer' \
    "${C[@]}" nats.inbox_prefix=_OUT
clear_rows
refused 'nats.inbox_prefix: .*wildcard' 'nats.inbox_prefix="a.>"'

covers nats.tls.first
fails "nats $URL: .*(SSL|nats.tls.first needs)" \
    'nats.tls.first: not with this server, or this library' "${A[@]}" \
    nats.tls.first=true

covers nats.tls.mode nats.tls.ca nats.tls.cert nats.tls.key
if [ ${#NATS_TLS[@]} -gt 0 ]; then
	A+=(nats.user=alice "nats.password_file=$DIR/password")
	works 'nats.tls.mode require: any certificate' "${A[@]}" \
	    nats.tls.ca= nats.tls.mode=require
	fails "nats $URL: .*issuer" 'nats.tls.mode verify: not any certificate' \
	    "${A[@]}" nats.tls.ca= nats.tls.mode=verify
	fails "nats $URL: .*SSL" \
	    'nats.tls.ca: an unknown authority is refused' \
	    "${A[@]}" nats.tls.ca=
	fails "nats $URL: .*SSL" 'nats.tls.ca of another authority' \
	    "${A[@]}" "nats.tls.ca=$TLS/stranger.pem"
	fails "nats $URL: " 'nats.tls.cert: the server requires a certificate' \
	    "${A[@]}" nats.tls.cert= nats.tls.key=
	fails "nats $URL: .*mismatch" 'nats.tls.key of another certificate' \
	    "${A[@]}" "nats.tls.key=$TLS/stranger.key"
else
	skip 'nats.tls' 'no openssl'
fi

start_nats gate 'authorization {token: open-sesame}'
covers nats.token_file nats.token_env
T=("nats.servers=$URL" 'nats.stream=""')
keep_secret "$DIR/token" open-sesame
export KEYS_TOKEN=open-sesame
fails "nats $URL: Auth" 'nats.token: no access without it' "${T[@]}"
works 'nats.token_file: access' "${T[@]}" "nats.token_file=$DIR/token"
works 'nats.token_env: access' "${T[@]}" nats.token_env=KEYS_TOKEN
fails "nats $URL: Auth" 'nats.token_env: a wrong token is refused' "${T[@]}" \
    nats.token_env=KEYS_PW

# Keys and tokens as NATS has them: base32 of a prefix, 32 bytes and their
# CRC-16; and three parts in base64, signed by the key of the issuer.
hex() { od -An -v -tx1 | tr -d ' \n'; }
base64url() { base64 -w0 | tr '+/' '-_' | tr -d =; }

# nkey HEX
nkey() {
	local crc=0 i
	for ((i = 0; i < ${#1}; i += 2)); do
		((crc ^= 0x${1:i:2} << 8))
		for _ in 1 2 3 4 5 6 7 8; do
			((crc = crc & 0x8000 ? crc << 1 ^ 0x1021 : crc << 1))
		done
		((crc &= 0xffff))
	done
	printf '%b' "$(printf '%s%02x%02x' "$1" $((crc & 255)) $((crc >> 8)) |
	    sed 's/../\\x&/g')" | base32 -w0 | tr -d =
}
public() { nkey "$1$(ssl pkey -in "$2" -pubout -outform DER | tail -c 32 |
    hex)"; }
seed() { nkey "$1$(ssl pkey -in "$2" -outform DER | tail -c 32 | hex)"; }

# jwt KEYFILE ISSUER SUBJECT CLAIMS
jwt() {
	printf '%s.%s' "$(printf '{"typ":"JWT","alg":"ed25519-nkey"}' |
	    base64url)" "$(printf '{"iss":"%s","sub":"%s","name":"test",
	    "nats":{"version":2,%s}}' "$2" "$3" "$4" | base64url)" > jwt
	printf '%s.%s' "$(cat jwt)" "$(ssl pkeyutl -sign -rawin -inkey "$1" \
	    -in jwt | base64url)"
}

make_credentials() {
	local operator account user limits
	new_key o.key && new_key a.key && new_key u.key || return
	operator=$(public 70 o.key) account=$(public 00 a.key)
	user=$(public a0 u.key)
	limits='"subs":-1,"data":-1,"payload":-1'
	printf '%s\n' "operator: $(jwt o.key "$operator" "$operator" \
	    '"type":"operator"')" 'resolver: MEMORY' \
	    "resolver_preload {$account: $(jwt o.key "$operator" "$account" \
	    '"type":"account","limits":{'"$limits"',"imports":-1,
	    "exports":-1,"wildcards":true,"conn":-1,"leaf":-1}')}" \
	    'jetstream: disabled' > server
	cat > creds <<-EOF
	-----BEGIN NATS USER JWT-----
	$(jwt a.key "$account" "$user" '"type":"user",'"$limits")
	------END NATS USER JWT------

	-----BEGIN USER NKEY SEED-----
	$(seed 9500 u.key)
	------END USER NKEY SEED------
	EOF
	new_key u.key && sed "s/^SU.*/$(seed 9500 u.key)/" creds > wrong
	chmod 600 creds wrong
}

covers nats.credentials_file
if command -v openssl > /dev/null; then
	(cd "$TLS" && make_credentials)
	mapfile -t lines < "$TLS/server"
	start_nats jwt "${lines[@]}"
	C=("nats.servers=$URL" 'nats.stream=""')
	fails "nats $URL: Auth" 'nats.credentials_file: no access without it' \
	    "${C[@]}"
	# More than once: libnats 3.4 leaves out every signature that begins
	# with a zero byte, and is refused.
	is_let_in() {
		once "${C[@]}" "nats.credentials_file=$TLS/creds"
		return "$RC"
	}
	wait_for 10 is_let_in
	verdict $? 'nats.credentials_file: access with token and seed'
	fails "nats $URL: Auth" \
	    'nats.credentials_file: the seed of another user' \
	    "${C[@]}" "nats.credentials_file=$TLS/wrong"
	STATUS=78 fails "$TLS/none" \
	    'nats.credentials_file does not exist' "${C[@]}" \
	    "nats.credentials_file=$TLS/none"

	covers nats.nkey nats.nkey_file
	NKEY=$(cd "$TLS" && new_key n.key && public a0 n.key)
	keep_secret "$TLS/seed" "$(cd "$TLS" && seed 9500 n.key)"
	start_nats nkey "authorization {users: [{nkey: $NKEY}]}"
	C=("nats.servers=$URL" 'nats.stream=""' "nats.nkey=$NKEY")
	is_let_in() {
		once "${C[@]}" "nats.nkey_file=$TLS/seed"
		return "$RC"
	}
	wait_for 10 is_let_in
	verdict $? 'nats.nkey, nkey_file: access'
	keep_secret "$TLS/other" "$(cd "$TLS" && seed 9500 u.key)"
	fails "nats $URL: Auth" 'nats.nkey_file: the seed of another user' \
	    "${C[@]}" "nats.nkey_file=$TLS/other"
	refused 'nats.nkey: .*is a secret seed' \
	    "nats.nkey=$(cat "$TLS/seed")"
else
	skip 'nats.credentials_file' 'no openssl'
fi

#
# monitor: see run_monitor.sh
#
covers monitor.socket monitor.listen monitor.token_file monitor.require_token \
    monitor.allow_remote monitor.hosts monitor.tokens monitor.user_header \
    monitor.proxies
refused 'monitor.socket: .*absolute' monitor.socket=here
refused 'monitor.listen: .*other hosts could read' monitor.listen=0.0.0.0:9180

#
# Options
#
clear_rows
run options master.workers=1 worker.batch_size=1 \
    -p "$DIR/run/option.pid" --workers 2 --interval-ms 400 --json
wait_for 10 is_sql "SELECT GROUP_CONCAT(n SEPARATOR ' ') FROM (SELECT COUNT(*)
    AS n FROM outbox_partitions GROUP BY lease_owner) AS t" '8 8'
ok $? '--workers overrides master.workers'
[ -e "$DIR/run/option.pid" ] && [ ! -e "$DIR/run/outbox.pid" ]
ok $? '-p overrides master.pidfile'
# Its leases may have come, and its connections, with a wake-up: that is over.
many 1 p01 'first#' made
wait_for 10 is_drained
many 4 p01 'a#' made
wait_for 10 is_drained
gap=$(sql "SELECT MIN(gap) DIV 1000 FROM (SELECT TIMESTAMPDIFF(MICROSECOND,
    LAG(published_at) OVER (ORDER BY published_at), published_at) AS gap
    FROM outbox WHERE global_sequence >
    (SELECT MIN(global_sequence) FROM outbox)) AS t")
check "--interval-ms: a pause also while rows wait ($gap ms)" \
    is_between "$gap" 380 5000
like "$(cat "$DIR/options.out")" '^\{"claimed":1,.*"backoff_ms":400,.*\}$' \
    '--json: a report is one object'
stop_master "$MASTER"

run window --json --window 1 --interval-ms 20
two_reports() { [ "$(grep -c claimed "$DIR/window.out")" -ge 2 ]; }
wait_for 10 two_reports
stop_master "$MASTER"
[ -s "$DIR/window.out" ] && ! grep -Evq '"ticks":([2-9]|[0-9]{2,}),' \
    "$DIR/window.out"
ok $? '--window: a report covers the ticks of a second'

conf "$CONF"
like "$("$OUTBOX_MASTER" -c "$CONF" --once 2> /dev/null)" \
    '^[^ {]+ claimed=0 published=0 failed=0 ' 'a report without --json is text'
is "$("$OUTBOX_MASTER" -c "$CONF" --once --silent 2> /dev/null)" '' \
    '--silent: no report'

# Not even after the default, which is a minute.
if ! is_short; then
	wait_for 90 is_later $((NEVER_SINCE + 65000))
	is_gone "$NEVER"
	is $? 1 'master.hang_timeout 0: a stopped worker is not killed'
fi
kill -CONT "$NEVER"
stop_master "$NEVER_MASTER"

#
# wake
#
covers wake.binlog
run wake wake.binlog=true
within 10 'wake.binlog without the right: the log says so' \
    has_line "$LOG" 'wake.binlog: .*REPLICATION'
stop_master "$MASTER"

#
# retention, reconcile
#
covers reconcile.at_start
clear_rows
many 12 p01 'a#' made
sql 'DELETE FROM outbox'
run at_start reconcile.at_start=on
within 10 'reconcile.at_start: missing rows are made' \
    has_line "$LOG" 'Reconciled 12 outbox'
wait_for 10 is_drained
stop_master "$MASTER"
covers retention.days retention.dead_days retention.batch
sql "SET @first = (SELECT MIN(global_sequence) FROM outbox);
    UPDATE outbox SET published_at = NOW(6) - INTERVAL
	IF(global_sequence < @first + 10, 9, 6) DAY;
    INSERT INTO outbox_dead_letters (global_sequence, reason, died_at) VALUES
	(1, 'attempts', NOW(6) - INTERVAL 6 DAY),
	(2, 'attempts', NOW(6) - INTERVAL 4 DAY)"
n=$(server_status Com_delete)
run retention retention.days=7 retention.dead_days=5 retention.batch=1
within 10 'retention.days, dead_days: older rows are deleted' \
    has_line "$LOG" 'deleted 10 delivered row\(s\) and 1 dead letter'
check 'retention.batch 1: one row in each statement' \
    [ $(($(server_status Com_delete) - n)) -ge 11 ]
stop_master "$MASTER"

#
# health
#
covers health.max_age
clear_rows
{
	row p01 old made
	echo 'UPDATE outbox SET created_at = NOW(6) - INTERVAL 30 SECOND,
	    available_at = NOW(6) + INTERVAL 1 HOUR;'
} | sed '/^COMMIT;$/d; $a COMMIT;' | feed
run max-age			# without a worker, that is the problem
# is_old MAX_AGE: is the oldest row a problem?
is_old() {
	conf "$DIR/other.yml" "health.max_age=$1"
	"$OUTBOXCTL" -c "$DIR/other.yml" --json status | grep -q '"id":"oldest"'
}
within 10 'health.max_age: an older row is a problem' is_old 20s
check 'health.max_age: a younger one is none' not is_old 5m
stop_master "$MASTER"

#
# Were these all?
#
conf "$CONF"
"$OUTBOX_MASTER" -c "$CONF" -T | awk '{
	match($0, /^ */)
	depth = RLENGTH / 2
	name[depth] = $1
	sub(/:$/, "", name[depth])
	if (NF == 1)
		next
	path = name[0]
	for (i = 1; i <= depth; i++)
		path = path "." name[i]
	print path
}' > "$DIR/keys"
check '-T prints at least the keys of this test' \
    [ "$(wc -l < "$DIR/keys")" -ge "${#BASE[@]}" ]
printf '%s\n' "${!COVERED[@]}" | sort > "$DIR/covered"
is "$(sort "$DIR/keys" | comm -23 - "$DIR/covered")" '' 'all keys have a test'
is "$(sort "$DIR/keys" | comm -13 - "$DIR/covered")" '' 'all these keys exist'

done_testing
