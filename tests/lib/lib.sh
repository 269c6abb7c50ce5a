# lib.sh - helpers for the system tests: TAP, servers, waiting; sourced by bash
#
# Every test has a directory of its own with servers on free ports, and on every
# way out ends the processes that it started, by pid.

# shellcheck shell=bash disable=SC2034

set -u
srcdir=${srcdir:-$(dirname "$0")/../..}
SANDBOX=$srcdir/tools/sandbox
# Of the build directory that this runs in, or of the one that quickstart makes.
BUILD=.
[ -e ./lab ] || [ ! -e "$srcdir/_build/main/lab" ] || BUILD=$srcdir/_build/main
LAB=${LAB:-$BUILD/lab}
OUTBOX_MASTER=${OUTBOX_MASTER:-$BUILD/outbox-master}
OUTBOXCTL=${OUTBOXCTL:-${OUTBOX_MASTER%/*}/outboxctl}
KIND=${KIND:-mariadb}		# or mysql
DIR=$(mktemp -d "${TMPDIR:-/tmp}/outbox-test.XXXXXX")
CONF=$DIR/outbox.yml
NATS_LINES=()			# for nats.conf
MASTERS=()			# pids of masters that we started
TESTS=0
FAILED=0
OUTBOX_PW=relay-secret
PRODUCER_PW=producer-secret
export OUTBOX_PW PRODUCER_PW
# nats.c reads all certificates of the system before it connects, also without
# TLS, which takes three times as long as what outboxctl does then.
export SSL_CERT_FILE=/dev/null SSL_CERT_DIR=/nonexistent
unset MYSQL_PWD
. "$srcdir/tests/lib/pool.sh"

say() { printf '# %s\n' "$*"; }

# ok STATUS NAME: one line of TAP; returns whether it is ok
ok() {
	TESTS=$((TESTS + 1))
	if [ "$1" -eq 0 ]; then
		printf 'ok %d - %s\n' "$TESTS" "$2"
	else
		printf 'not ok %d - %s\n' "$TESTS" "$2"
		FAILED=$((FAILED + 1))
		return 1
	fi
}

# is ACTUAL EXPECTED NAME; returns whether they are the same
is() {
	[ "$1" = "$2" ]
	ok $? "$3" && return
	say "got: $1" "expected: $2"
	return 1
}

# like TEXT REGEX NAME
like() {
	printf '%s' "$1" | grep -Eq -- "$2"
	local rc=$?
	ok "$rc" "$3"
	[ "$rc" -eq 0 ] || printf '%s\n' "expected: $2" "got: $1" | sed 's/^/# /'
}

# check NAME COMMAND...: the command succeeds; as one word: not COMMAND fails
check() {
	"${@:2}"
	ok $? "$1"
}
not() { ! "$@"; }

# A name that does not exist ends the test, or its case would be missing.  The
# reason goes to the output of the test, wherever that of the command goes.
command_not_found_handle() {
	echo "Bail out! $1: command not found" >> "/proc/$$/fd/1"
	kill -TERM $$
}

skip_all() {
	printf '1..0 # SKIP %s\n' "$1"
	exit 0
}

done_testing() {
	printf '1..%d\n' "$TESTS"
	[ "$FAILED" -eq 0 ]
	exit
}

# is_short: run only a part of the test, as in ./quickstart check.  By hand and
# in check --full tests run as a whole.
is_short() { [ "${OUTBOX_CHECK:-full}" = short ]; }

# The time in ms, by the variable NOW_MS without a process.
set_now() { NOW_MS=$((${EPOCHREALTIME/[.,]/} / 1000)); }
now_ms() {
	local NOW_MS
	set_now
	echo "$NOW_MS"
}

# A pipe that nobody writes to.  Without a process for each nap: bash 5.2 can
# wait for ever for a child whose pid it has had before.
mkfifo "$DIR/nap"
nap() { read -rt "$1" <> "$DIR/nap" || :; }

# wait_until MS COMMAND...: wait until it succeeds; 1 at that time of now_ms.
# A condition that has not come soon is asked for less often: each time is a
# client of the database, or more.
wait_until() {
	local NOW_MS naps=0
	until "${@:2}"; do
		set_now
		[ "$NOW_MS" -lt "$1" ] || return 1
		naps=$((naps + 1))
		if [ "$naps" -le 10 ]; then nap 0.05; else nap 0.2; fi
	done
}

# wait_for SECONDS COMMAND...: wait until it succeeds; 1 when nothing more is to
# be expected, which is later on a slow machine (OUTBOX_SLOW times, from 1.0)
wait_for() {
	local slow=${OUTBOX_SLOW:-1.0}
	wait_until $(($(now_ms) + $1 * 100 * ${slow/./})) "${@:2}"
}

# within SECONDS NAME COMMAND...: the command succeeds in that time, on any
# machine; if not, the end of the daemon's log tells more
within() {
	wait_until $(($(now_ms) + $1 * 1000)) "${@:3}"
	ok $? "$2" || tail -n 20 "${LOG:-$DIR/log}" 2> /dev/null | sed 's/^/# /'
}

# numbers N [FROM]: SQL of a table of N numbers n from 0 or FROM
numbers() {
	local i n=0 tables='' d='(SELECT 0 AS n UNION ALL SELECT 1 UNION ALL SELECT 2
	    UNION ALL SELECT 3 UNION ALL SELECT 4 UNION ALL SELECT 5
	    UNION ALL SELECT 6 UNION ALL SELECT 7 UNION ALL SELECT 8
	    UNION ALL SELECT 9)'
	# No more digits than the last one has: all that they make is read.
	for ((i = 0; i == 0 || 10 ** i < $1; i++)); do
		n="$n + $((10 ** i)) * d$i.n"
		tables="$d AS d$i${tables:+, $tables}"
	done
	echo "(SELECT n + ${2:-0} AS n FROM (SELECT $n AS n FROM $tables)
	    AS digits WHERE n < $1) AS numbers"
}

# client DIR [ARG...]: sandbox sql, in a third less time
client() {
	[ "$KIND" = mariadb ] || { "$SANDBOX" sql "$@"; return; }
	mariadb --no-defaults --skip-ssl -uroot -S "$1/socket" \
	    --default-character-set=utf8mb4 "${@:2}"
}
sql() { client "$DIR/db" -N app -e "$1"; }

# server_status PATTERN: the sum of the server's status variables like this
server_status() { sql "SHOW GLOBAL STATUS LIKE '$1'" |
    awk '{ n += $2 } END { printf "%.0f\n", n }'; }

# rows_are COUNT FROM NAME: so many rows, for example of 'outbox WHERE ...'
rows_are() { is "$(sql "SELECT COUNT(*) FROM $2")" "$1" "$3"; }

is_gone() { ! kill -0 "$1" 2>/dev/null; }
is_sql() { [ "$(sql "$1")" = "$2" ]; }
is_later() { set_now; [ "$NOW_MS" -ge "$1" ]; }	# as now_ms counts
has_line() { grep -Eq -- "$2" "$1"; }

# is_ours PID: a child, or a process with a file of this test open.  A process
# that has ended may have left its number to one of another program.
is_ours() {
	local stat
	{ read -r stat < "/proc/$1/stat"; } 2>/dev/null || return 1
	[[ ${stat##*) } == [A-Z]" $$ "* ]] ||
	    [ -n "$(find "/proc/$1/fd" -lname "$DIR/*" -print -quit 2>/dev/null)" ]
}

cleanup() {
	local rc=$? pid server
	for pid in "${MASTERS[@]}"; do
		! is_ours "$pid" || kill -CONT "$pid" 2>/dev/null
		! is_ours "$pid" || kill -TERM "$pid" 2>/dev/null
	done
	for pid in "${MASTERS[@]}"; do
		wait_for 10 not is_ours "$pid" || kill -KILL "$pid" 2>/dev/null
	done
	pool_give_back "$rc"
	[ ! -e "$DIR/cluster" ] || "$SANDBOX" stop "$DIR" >/dev/null
	for server in "$DIR"/*/env; do
		[ -e "$server" ] && "$SANDBOX" stop "${server%/env}" >/dev/null
	done
	if [ "$FAILED" -ne 0 ] && [ -n "${KEEP:-}" ]; then
		say "kept: $DIR"
	else
		rm -rf "$DIR"
	fi
}
trap cleanup EXIT
trap 'exit 130' INT TERM

# start_own_servers [my.cnf lines]: start database and NATS below $DIR
start_own_servers() {
	local my_cnf=()
	[ "$KIND" != mariadb ] || my_cnf=("${POOL_LINES[@]}")
	"$SANDBOX" start "$KIND" "$DIR/db" "${my_cnf[@]}" "$@" >/dev/null || {
		[ $? -eq 77 ] && skip_all "no $KIND server"
		echo 'Bail out! no database'
		exit 1
	}
	"$SANDBOX" start nats "$DIR/nats" "${NATS_LINES[@]}" >/dev/null || {
		echo 'Bail out! no nats-server'
		exit 1
	}
}

# are_plain [my.cnf lines]: may the servers be from the pool?  Not with KEEP,
# because a failed test keeps the directories of its servers.
are_plain() {
	[ $# -eq 0 ] && [ ${#NATS_LINES[@]} -eq 0 ] &&
	    [ "$KIND" = mariadb ] && [ -z "${KEEP:-}" ]
}

# start_servers [my.cnf lines]: database with schema and accounts, and NATS
start_servers() {
	are_plain "$@" && pool_take || start_own_servers "$@"
	SOCKET=$(. "$DIR/db/env" && echo "$SOCKET")
	DB_PORT=$(. "$DIR/db/env" && echo "$PORT")
	URL=$(. "$DIR/nats/env" && echo "$URL")
	client "$DIR/db" -e 'CREATE DATABASE app'
	client "$DIR/db" app < "$srcdir/sql/schema.sql"
	client "$DIR/db" app -e "
		CREATE USER 'outbox'@'localhost' IDENTIFIED BY '$OUTBOX_PW';
		CREATE USER 'outbox_producer'@'localhost'
		    IDENTIFIED BY '$PRODUCER_PW'"
	client "$DIR/db" app < "$srcdir/sql/grants.sql"
	# For brevity outboxctl has no account of its own; see ctl_audit.sh.
	client "$DIR/db" app -e "
		GRANT INSERT, UPDATE (changed) ON outbox_audit
		    TO 'outbox'@'localhost'"
	"$LAB" stream --nats "$URL" --name EVENTS --subjects 'events.>' \
	    --dup-window 600
}

# write_conf [FILE]: write a configuration, to $CONF by default.  Callers set
# values by variables, because a key may be given only once.  With
# OUTBOX_IDLE_ROUTE there is another destination, of a type that never occurs.
write_conf() {
	local idle='{name: idle, type: never.occurs, driver: http, endpoint: "http://127.0.0.1:9/"}'
	cat > "${1:-$CONF}" <<-EOF
	master: {workers: ${WORKERS:-2}, user: $(id -un), pidfile: ${PIDFILE:-$DIR/run/outbox.pid}, stop_timeout: ${STOP_TIMEOUT:-15}, hang_timeout: ${HANG_TIMEOUT:-60}}
	mysql: {socket: "$SOCKET", user: outbox, password_env: OUTBOX_PW, database: app}
	outbox: {partition_count: ${PARTITIONS:-16}, ordering: ${ORDERING:-key}${OUTBOX:+, $OUTBOX}}
	worker: {batch_size: ${BATCH:-1000}, batch_bytes: ${BATCH_BYTES:-33554432}, lease_ttl: ${LEASE_TTL:-15}, lease_renew: ${LEASE_RENEW:-5}, heartbeat_ttl: ${HEARTBEAT_TTL:-15}, claim_ttl: ${CLAIM_TTL:-30}, leasing: ${LEASING:-true}, idle_backoff_ms: ${IDLE:-200}${LINGER:+, linger_ms: $LINGER}}
	retry: {backoff: ${BACKOFF:-1}, max_backoff: ${MAX_BACKOFF:-300}, jitter: ${JITTER:-0.2}, max_attempts: ${MAX_ATTEMPTS:-25}${RETRY:+, $RETRY}}
	publish: {window: ${WINDOW:-512}, timeout_ms: ${TIMEOUT_MS:-5000}${OUTBOX_IDLE_ROUTE:+, routes: [$idle]}}
	nats: {servers: ["$URL"], stream: "${STREAM-EVENTS}", recover: "${RECOVER:-lost}"${SCRUB:+, scrub: $SCRUB}, subject: "${SUBJECT:-events.{event_type\}}"}
	log: {level: ${LEVEL:-info}}
	wake: {${WAKE:-binlog: false}}
	EOF
}

# start_master [options]: start it as a background job, with its log in $LOG
start_master() {
	LOG=${LOG:-$DIR/log}
	"$OUTBOX_MASTER" -c "$CONF" "${REPORT:---silent}" "$@" \
	    >> "$DIR/out" 2>> "$LOG" </dev/null &
	MASTER=$!
	MASTERS+=("$MASTER")
}

# start_fleet [options]: the same, and its workers own all partitions
start_fleet() {
	start_master "$@"
	wait_for 20 all_owned
}

# Children that work on messages, or those of another program
worker_pids() { ps -o pid=,args= --ppid "$1" |
    awk '!/outbox-master: (janitor|listener|monitor)|outboxctl / { print $1 }'; }
id_of() { sql "SELECT id FROM outbox_workers WHERE pid = $1"; }
all_owned() { is_sql 'SELECT COUNT(*) > 0 AND COUNT(*) = SUM(COALESCE(lease_until > NOW(6), 0)) FROM outbox_partitions' 1; }
is_drained() { is_sql 'SELECT COUNT(*) FROM outbox WHERE published_at IS NULL' 0; }

published() { sql 'SELECT COUNT(published_at) FROM outbox'; }
has_published() { [ "$(published)" -gt "$1" ]; }
pending() { sql 'SELECT COUNT(*) FROM outbox WHERE published_at IS NULL'; }

nparked() { sql "SELECT COUNT(*) FROM outbox WHERE published_at IS NULL
    AND partition_key LIKE '!%'"; }
is_parked() { [ "$(nparked)" -ge "$1" ]; }
clear_rows() { sql 'DELETE FROM outbox; DELETE FROM events; DELETE FROM
    outbox_dead_letters; DELETE FROM outbox_blocked_keys'; }

# died SEQUENCE: why
died() { sql "SELECT CONCAT(reason, ': ', last_error) FROM outbox_dead_letters
    WHERE global_sequence = $1"; }

# waiting KEYS: number of waiting rows of keys "= 'a'" or "LIKE 'a%'"
waiting() { sql "SELECT COUNT(*) FROM outbox JOIN events
    ON sequence = global_sequence WHERE published_at IS NULL
    AND stream_id $1"; }
is_waiting() { [ "$(waiting "$1")" = "$2" ]; }

# Number of keys whose rows have different labels.
moved_keys() { sql "SELECT COUNT(*) FROM (SELECT 1 FROM events JOIN outbox
    ON sequence = global_sequence GROUP BY stream_id
    HAVING COUNT(DISTINCT partition_key) > 1) AS several"; }

# Does the binlog listener run?  With lease_renew 20: is no lease due to be
# renewed soon?
has_listener() { is_sql "SELECT COUNT(*) FROM information_schema.processlist
    WHERE command LIKE 'Binlog Dump%' AND user = 'outbox'" 1; }
has_renewed() { is_sql 'SELECT MIN(lease_until) > NOW(6) + INTERVAL 35 SECOND
    FROM outbox_partitions' 1; }
worker_pid() { pgrep -P "$MASTER" -f 'outbox-master: worker'; }

# stops NAME: the master does, with status 0
stops() {
	stop_master "$MASTER"
	is $? 0 "$1"
}

# drains SECONDS NAME: by then all is delivered, or dead
drains() {
	wait_for "$1" is_drained
	ok $? "$2"
}

stop_master() {
	kill -TERM "$1"
	wait "$1"
}

produce() {
	"$LAB" produce --socket "$SOCKET" --user outbox_producer \
	    --password-env PRODUCER_PW --database app "$@" >> "$DIR/produced"
}

# produce_forever [options]: in the background; sets PRODUCER, its pid
produce_forever() {
	"$LAB" produce --socket "$SOCKET" --user outbox_producer \
	    --password-env PRODUCER_PW --database app --forever "$@" \
	    > "$DIR/produced" &
	PRODUCER=$!
	MASTERS+=("$PRODUCER")		# to be ended with us
}

# event_row KEY NUMBER LABEL [AVAILABLE_AT [TYPE]]: SQL of an event and its row;
# label and time are SQL as well
event_row() {
	echo "INSERT INTO events (stream_id, stream_sequence, event_type,
	    event_data) VALUES ('$1', $2, '${5:-ok}', 'x');
	INSERT INTO outbox (global_sequence, partition_key, available_at)
	    VALUES (LAST_INSERT_ID(), $3, ${4:-NOW(6)});"
}

# call_enqueue ARGUMENTS...: enqueue a message for each, in one transaction
call_enqueue() { sql "START TRANSACTION; $(printf 'CALL outbox_enqueue(%s);' \
    "$@") COMMIT"; }

# enqueue_keys KEY COUNT TYPE [DATA]: an event of each of the keys KEY1, KEY2,
# ..., each in a transaction of its own; in DATA, which is SQL, # is the number
enqueue_keys() {
	local i data=${4:-"'x'"}
	for ((i = 1; i <= $2; i++)); do
		echo "START TRANSACTION; CALL outbox_enqueue('$1$i', NULL,
		    '$3', 1, NULL, NULL, ${data//\#/$i}); COMMIT;"
	done | "$SANDBOX" sql "${PRIMARY:-$DIR/db}" app
}

# free_port: one that nobody listens on now
free_port() {
	local port
	for port in $(shuf -i 20000-32000 -n 20); do
		(exec 3<> "/dev/tcp/127.0.0.1/$port") 2> /dev/null ||
		    { echo "$port"; return; }
	done
}

# keep_secret FILE SECRET: write it so that only its owner can read it
keep_secret() {
	printf '%s\n' "$2" > "$1"
	chmod 600 "$1"
}

# ring SUBJECT [N]: publish N empty wake-up messages; returns 0 when the server
# has received them
ring() {
	local line nats rc=1
	exec {nats}<> "/dev/tcp/127.0.0.1/${URL##*:}"
	{
		printf 'CONNECT {"verbose":false}\r\n'
		yes "PUB $1 0"$'\r\n\r' | head -n $((2 * ${2:-1}))
		printf 'PING\r\n'
	} >&"$nats"
	while [ "$rc" -ne 0 ] && read -rt 10 line <&"$nats"; do
		[ "$line" = $'PONG\r' ] && rc=0
	done
	exec {nats}>&-
	return "$rc"
}

# js_api SUBJECT BODY: send a request to JetStream's API, print the answer
js_api() {
	local line nats at=${URL#nats://}
	exec {nats}<> "/dev/tcp/${at/://}"
	printf '%s\r\n' 'CONNECT {"verbose":false}' 'SUB answer 1' \
	    "PUB \$JS.API.$1 answer ${#2}" "$2" >&"$nats"
	while read -rt 10 line <&"$nats"; do
		[[ $line != *'"type":'* ]] || break
	done
	exec {nats}>&-
	printf '%s\n' "${line%$'\r'}"
}

# plain_stream [MEMBERS]: make EVENTS anew, as nats stream add does by default;
# of members that are there twice the last one counts
plain_stream() {
	js_api STREAM.DELETE.EVENTS '' > "$DIR/js.out"
	js_api STREAM.CREATE.EVENTS '{"name":"EVENTS","subjects":["events.>"],
	    "retention":"limits","max_consumers":-1,"max_msgs_per_subject":-1,
	    "max_msgs":-1,"max_bytes":-1,"max_age":0,"max_msg_size":-1,
	    "storage":"file","discard":"old","num_replicas":1,
	    "duplicate_window":120000000000,"sealed":false,"deny_delete":false,
	    "deny_purge":false,"allow_rollup_hdrs":false,
	    "allow_direct":true,"mirror_direct":false'"${1:+,$1}}" \
	    > "$DIR/js.out"
	grep -q '"config":' "$DIR/js.out"
}

# limit_stream SIZE: the longest message that EVENTS takes; -1: any
limit_stream() {
	js_api STREAM.UPDATE.EVENTS '{"name":"EVENTS","subjects":["events.>"],
	    "retention":"limits","max_consumers":-1,"max_msgs":-1,
	    "max_bytes":-1,"max_age":0,"max_msg_size":'"$1"',
	    "storage":"file","discard":"old","num_replicas":1,
	    "duplicate_window":600000000000}' > "$DIR/js.out"
	grep -q '"config":' "$DIR/js.out"
}

# pause MS: sleep, if there is no condition to wait for
pause() {
	local end NOW_MS rest
	set_now
	end=$((NOW_MS + $1))
	while set_now && [ "$NOW_MS" -lt "$end" ]; do
		printf -v rest '%d.%03d' $(((end - NOW_MS) / 1000)) \
		    $(((end - NOW_MS) % 1000))
		nap "$rest"
	done
}

# Number of messages in the stream; window SECONDS: its duplicate window
stored() {
	"$LAB" count --socket "$SOCKET" --user root --database app \
	    --nats "$URL" --stream EVENTS | sed -n 's/.*messages \([0-9]*\).*/\1/p'
}
is_stored() { [ "$(stored)" -eq "$1" ]; }
window() {
	"$LAB" stream --nats "$URL" --name EVENTS --subjects 'events.>' \
	    --dup-window "$1"
}

# check_stream NAME [options]: check the stream with the independent checker
check_stream() {
	local name=$1 out rc
	shift
	out=$("$LAB" check --socket "$SOCKET" --user root --database app \
	    --nats "$URL" --stream "${STREAM-EVENTS}" "$@" 2>&1)
	rc=$?
	ok "$rc" "$name"
	[ "$rc" -eq 0 ] || printf '%s\n' "$out" | sed 's/^/# /'
}
