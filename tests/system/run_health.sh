#!/usr/bin/env bash
# The table of faults: each is made for real; status, doctor and the monitor tell
# it within ten seconds, with one id, text and exit status; its remedy is run as
# status prints it, and it goes within ten seconds
. "${srcdir:-$(dirname "$0")/../..}/tests/lib/ctl.sh"

start_servers
LOG=$DIR/log

# has_problem ID / is_rid_of ID: by status
ids() { ctl --json status; field '[.problems[].id] | join(" ")'; }
has_problem() { [[ " $(ids) " = *" $1 "* ]]; }
is_rid_of() { not has_problem "$1"; }
# is_only ID: one cause is one problem
is_only() { [ "$(ids)" = "$1" ]; }
has_state() { ctl --json status
    field '.this_host.workers[].state' | grep -Fxq "$1"; }
# waits_for REGEX: what messages show says of the oldest message that waits
waits_for() { [[ "$("$OUTBOXCTL" -c "$CONF" --json messages \
    show "$(oldest)" | jq -r .waits_for)" =~ $1 ]]; }
oldest() { sql 'SELECT MIN(global_sequence) FROM outbox
    WHERE published_at IS NULL'; }
# is_remedied REGEX: the remedy of a problem
is_remedied() { ctl --json status; [[ "$(field '.problems[].remedy')" =~ $1 ]]; }
is_healthy() { [ -z "$(ids)" ]; }

# Without durations and the count of lost lines, which grow between two commands
timeless() { sed -E 's/[0-9.]+ (ms|s|min|h|d)\b//g; s/(are lost:) [0-9]+/\1/
	s/  +/ /g'; }

# The monitor, whose outboxctl has the daemon's file.
get() { curl -s -g -m 9 "$@" --unix-socket "$DIR/run/outbox.monitor.sock"; }
ready_code() { get http://localhost/readyz -o "$DIR/ready" \
    -w '%{http_code}'; }
# monitor_tells ID / monitor_is_rid_of ID: as status with this file does
agrees() {
	local code=200
	ctl -c "$DAEMON" --json status
	[ "$RC" -eq 0 ] || code=503
	[ "$(ready_code)" = $code ] && [ "$(get http://localhost/api/problems |
	    jq -r '[.[].id] | join(" ")')" = "$(field \
	    '[.problems[].id] | join(" ")')" ]
}
monitor_tells() {
	agrees && has_line "$DIR/ready" "^(critical|warning): $1: " &&
	    get http://localhost/metrics |
	    grep -q "^outbox_problem{id=\"$1\",.*} 1\$"
}
monitor_is_rid_of() {
	agrees && not has_line "$DIR/ready" ": $1: " &&
	    ! get http://localhost/metrics |
	    grep -q "^outbox_problem{id=\"$1\",.*} 1\$"
}
has_monitor=yes		# empty: it does not run, or cannot know
TABLE=

# since ID WHAT: a cell of the table that this test prints, the seconds so far
since() {
	local NOW_MS
	set_now
	TABLE+="$1 $2 $(((NOW_MS - BEGAN) / 1000)).$(((NOW_MS - BEGAN) / 100 % 10))"$'\n'
}

# told ID TEXT [STATUS]: the fault is a problem of status, of doctor and of the
# monitor, there as SEEN, if its file is in error
told() {
	local text NOW_MS
	set_now
	BEGAN=$NOW_MS
	within 10 "$1: status tells it" has_problem "$1"
	since "$1" status
	[ -z "$has_monitor" ] ||
	    within 10 "$1: the monitor tells it" monitor_tells "${SEEN:-$1}"
	[ -z "$has_monitor" ] || since "$1" readyz
	ctl --json status
	is "$RC" "${3:-1}" "$1: the exit status of status"
	text=$(field ".problems[] | select(.id == \"$1\") | .text" | head -1)
	like "$text" "$2" "$1: its reason and remedy"
	ctl --json doctor
	is "$RC" "${3:-1}" "$1: the exit status of doctor"
	since "$1" doctor
	is "$(field ".[] | select(.check == \"$1\") | .text" | tail -1 |
	    timeless)" "$(timeless <<< "$text")" "$1: doctor tells the same"
	ctl status
	check "$1: status as text begins with problems" \
	    grep -Eq '^! (critical|warning): ' <<< "$(head -1 <<< "$OUT")"
}
# over ID: and it goes
over() {
	local NOW_MS
	[ -n "${CURED:-}" ] || { set_now; BEGAN=$NOW_MS; }
	CURED=
	within 10 "$1: it goes with its cause" is_rid_of "$1"
	[ -z "$has_monitor" ] || within 10 "$1: the monitor tells it no more" \
	    monitor_is_rid_of "${SEEN:-$1}"
	since "$1" over
}

# A remedy is run as it is printed: by a shell that finds our programs and has
# the daemon's environment, and by an administrator of the database.
shell() {
	PATH=$(cd "${OUTBOXCTL%/*}" && pwd):$PATH bash -c "$1" \
	    > "$DIR/cure.out" 2>&1 < /dev/null
}
remedies() { "$OUTBOXCTL" -c "$CONF" --json status |
    jq -r ".problems[], .advice[] | select(.id == \"$1\") | .remedy"; }
# printed ID COMMAND [AGAIN]: the remedy has it, or with AGAIN that of before; the
# file stands where COMMAND has FILE
printed() {
	local NOW_MS
	COMMAND=${2//FILE/"$CONF"}
	[ -n "${3:-}" ] || REMEDY=$(remedies "$1")
	set_now
	BEGAN=$NOW_MS CURED=yes
	[[ "$REMEDY" = *"$COMMAND"* ]]
	ok $? "$1: the remedy is: $2" || say "$REMEDY"
}
# cure ID COMMAND [AGAIN]: run it; who runs it is not asked whether that is meant
cure() {
	printed "$@"
	case $COMMAND in
	kill* | *' reload' | *' stream add') ;;
	outboxctl*) COMMAND="$COMMAND --yes" ;;
	esac
	shell "$COMMAND"
	ok $? "$1: the remedy works: $2" || sed 's/^/# /' "$DIR/cure.out"
}
# cure_sql ID SQL: an administrator runs it
cure_sql() {
	printed "$1" "$2"
	client "$DIR/db" -N app -e "$COMMAND" > "$DIR/cure.out" 2>&1
	ok $? "$1: the remedy works: $2" || sed 's/^/# /' "$DIR/cure.out"
}
# cure_start ID: the daemon is started as the remedy says
cure_start() {
	printed "$1" 'outbox-master -c FILE'
	check "$1: only the program is another" \
	    [ "$COMMAND" = "outbox-master -c $CONF" ]
	start_fleet
}

# advised ID: the same for advice, which is no problem
is_advised() { [ -n "$(remedies "$1")" ]; }
is_advised_no_more() { [ -z "$(remedies "$1")" ]; }

# is_fine NAME [ADVICE]: a fleet as it comes, with a stream as others make it,
# is healthy to all that tell it, and what could be better is advice
shows_advice() { get http://localhost/metrics |
    grep -q "^outbox_advice{id=\"stream_advice\"} $1\$"; }
is_ready() { [ "$(ready_code)" = 200 ]; }
is_fine() {
	within 20 "$1: the metric of the advice" shows_advice \
	    "$([ -z "${2:-}" ]; echo $?)"
	within 20 "$1: ready" is_ready
	ctl --json status
	is "$RC:$(field '[.problems[].id] | join(" ")'):$(field \
	    '[.advice[].id] | join(" ")')" "0::${2:-}" \
	    "$1: status 0, and no problem"
	ctl doctor
	is "$RC$(grep -E '^(warn|fail)' <<< "$OUT")" 0 "$1: doctor agrees"
	ctl status
	like "$OUT" '^healthy: nothing needs an operator' "$1: status says so"
	check "$1: no alert" not grep -Eq '^outbox_problem.* 1$' \
	    <(get http://localhost/metrics)
}
# The least that a file must say; the rest are our defaults.
cat > "$DIR/plain.yml" <<- EOF
	master: {user: $(id -un), pidfile: $DIR/run/outbox.pid}
	mysql: {socket: "$SOCKET", user: outbox, password_env: OUTBOX_PW, database: app}
	nats: {servers: ["$URL"], stream: EVENTS}
EOF
CONF=$DIR/plain.yml
DAEMON=$CONF
plain_stream '"storage":"memory","max_msgs":100000,"max_msg_size":100000'
start_fleet
is_fine 'a stream in memory, with limits' \
    'stream_advice stream_advice stream_advice stream_advice'
within 10 'the log tells it, and not as a warning' \
    has_line "$LOG" ' info worker.* stream EVENTS is kept in memory'
plain_stream '"retention":"interest"'
told no_consumer '^stream EVENTS has no consumer, and with retention: interest it .* drops it at once: make the consumers'
js_api CONSUMER.DURABLE.CREATE.EVENTS.c '{"stream_name":"EVENTS",
    "config":{"durable_name":"c","ack_policy":"explicit"}}' > "$DIR/js.out"
over no_consumer
js_api STREAM.DELETE.EVENTS '' > "$DIR/js.out"
exits 0 'a stream by stream add' stream add
is_fine 'our own stream'
plain_stream
ok $? 'a stream as nats stream add makes it'
enqueue_keys plain 3 paid
wait_for 20 is_drained
is_fine 'a plain stream' stream_advice
matches '^- advice: stream EVENTS has a duplicate window of 2 min' \
    'a plain stream: the advice below the verdict' status
matches '^advice +stream_advice: stream EVENTS has a duplicate window of 2 min' \
    'and in doctor' doctor
is "$(get http://localhost/api/problems)" '[]' 'no problem in the API'
is "$(get http://localhost/api/status | jq -r '.advice[].severity')" advice \
    'and the advice'
exits 0 'stream info of it' stream info
stop_master "$MASTER"
window 600

WORKERS=2 TIMEOUT_MS=2000 write_conf "$DIR/ctl.yml"
cp "$DIR/ctl.yml" "$DIR/daemon.yml"
CONF=$DIR/daemon.yml
DAEMON=$CONF
start_fleet
CONF=$DIR/ctl.yml
within 10 'a fleet without messages is healthy' is_healthy
ctl doctor
is "$RC" 0 'and doctor agrees'
matches '^healthy: nothing needs an operator' 'status says so' status

# Under load, for HEALTHY_S seconds: as long as a fault of this script takes at
# least, or ten minutes by hand.
RATE=300
! is_short || RATE=100
produce_forever --keys 50 --rate $RATE
n=0
is_short && HEALTHY_S=${HEALTHY_S:-3}
until=$((SECONDS + ${HEALTHY_S:-6}))
while [ "$SECONDS" -lt "$until" ]; do
	pause 1000
	is_healthy || { n=$((n + 1)); say "$(ids)"; }
done
is $n 0 'a healthy fleet under load has no problem'
kill -TERM "$PRODUCER"
wait "$PRODUCER"

worker=$(sql 'SELECT MIN(pid) FROM outbox_workers')
kill -STOP "$worker"
told silent_worker "pid $worker, stopped by a signal, has been silent for [0-9].*: kill -CONT $worker$"
cure silent_worker "kill -CONT $worker"
over silent_worker

sed 's/lease_ttl/lease_tttl/' "$DIR/ctl.yml" > "$DIR/daemon.yml"
kill -HUP "$MASTER"
SEEN=wrong_file told reload_refused 'the last reload was refused.*lease_tttl.*: correct the file if it is still in error, then outboxctl reload'
ready_critical() { get 'http://localhost/readyz?severity=critical' \
    -o /dev/null -w '%{http_code}'; }
is "$(ready_critical)" 200 'reload_refused: nothing critical, messages flow'
cp "$DIR/ctl.yml" "$DIR/daemon.yml"
cure reload_refused 'outboxctl -c FILE reload'
SEEN=wrong_file over reload_refused

if ! is_short; then
	mkdir "$DIR/mine"
	{ cat "$DIR/ctl.yml"; echo "monitor: {token_file: $DIR/mine}"; } \
	    > "$DIR/daemon.yml"
	kill -HUP "$MASTER"
	told monitor 'the monitor: monitor.token_file: .*: correct the file, then outboxctl reload$'
	cp "$DIR/ctl.yml" "$DIR/daemon.yml"
	cure monitor 'outboxctl -c FILE reload'
	over monitor
	within 20 'healthy after the reload' is_healthy
fi

# The log: its file is gone, and cannot be made again.
if ! is_short; then
	mkdir "$DIR/logs"
	sed "s|^log: {|&target: $DIR/logs/log, |" "$DIR/ctl.yml" > "$DIR/daemon.yml"
	kill -HUP "$MASTER"
	within 20 'the log is a file' [ -s "$DIR/logs/log" ]
	within 20 'healthy with a log file' is_healthy
	rm "$DIR/logs/log"
	mkdir "$DIR/logs/log"
	kill -USR1 "$MASTER"
	told log_lost 'lines of the log.*lost'
	rmdir "$DIR/logs/log"
	CONF=$DAEMON cure log_lost 'outboxctl -c FILE reload'
	over log_lost
	check 'the log says so' has_line "$DIR/logs/log" 'the log is open again'
	cp "$DIR/ctl.yml" "$DIR/daemon.yml"
	kill -HUP "$MASTER"
	within 20 'healthy again, without a log file' is_healthy
fi

as_operator
"$SANDBOX" stop "$DIR/nats" > /dev/null
told broker '^the broker cannot be used: nats .*: start the NATS server at nats://.*, or correct nats.servers$'
within 10 'broker: it is the only problem' is_only broker
enqueue_keys away 1 paid
within 10 'broker: messages show says what the message waits for' \
    waits_for 'its destination, which does not take it now: nats'
"$SANDBOX" restart "$DIR/nats" > /dev/null
over broker
wait_for 20 is_drained

"$LAB" stream --nats "$URL" --name EVENTS --subjects 'events.paid' \
    --dup-window 600
enqueue_keys ship 3 shipped
enqueue_keys paid 3 paid
told refused_subject 'no stream takes subject "events.shipped" \(type shipped\): .*stream'
"$LAB" stream --nats "$URL" --name EVENTS --subjects 'events.>' \
    --dup-window 600
over refused_subject
wait_for 20 is_drained

if ! is_short; then
	"$LAB" stream --nats "$URL" --name EVENTS --subjects 'other.>' \
	    --dup-window 600
	told stream_unfit 'stream EVENTS has no subject that matches nats.subject'
	js_api STREAM.DELETE.EVENTS '' > "$DIR/js.out"
	within 10 'stream_unfit: another remedy if there is none' \
	    is_remedied 'outboxctl stream add'
	enqueue_keys wait 3 paid
	within 20 'the workers are paused' has_state paused
	within 10 'stream_unfit: it is the only problem' is_only stream_unfit
	cure stream_unfit 'outboxctl -c FILE stream add'
	over stream_unfit
	within 10 'stream_unfit: what the stream has lost is told' \
	    has_problem stream_alarm
	told stream_alarm 'stream EVENTS .*: outboxctl stream republish'
	cure stream_alarm 'outboxctl -c FILE stream forget'
	over stream_alarm
	window 600
fi
wait_for 20 is_drained

ctl -c "$OP" partitions pause p03
told paused_partitions 'paused partitions: 1 \(p03\): .*outboxctl partitions resume'
cure paused_partitions 'outboxctl -c FILE partitions resume --all'
over paused_partitions

# The backlog: its growth is shown at once, and a problem after minutes.
grows() { ctl --json status && [ "$(field '.backlog.growth_per_second > 20')" \
    = true ]; }
if ! is_short; then
	ctl -c "$OP" partitions pause --all --yes
	produce_forever --keys 50 --rate 300
	within 40 'a backlog that grows: the rate' grows
	matches 'waiting +[0-9,]+ rows, 0 parked, grows by [0-9]+ a second' \
	    'a backlog that grows: status says so' status
	check 'a backlog that grows for less than minutes is no problem' \
	    is_rid_of backlog_growing
	within 240 'backlog_growing: status tells it' has_problem backlog_growing
	ctl --json doctor
	is "$RC" 1 'backlog_growing: the exit status of doctor'
	like "$(field '.[] | select(.check == "backlog_growing") | .text')" \
	    'has grown for 3 min.* since 2.*Z: .* rows wait, and about [0-9]+ more each second: correct the other problems first' \
	    'backlog_growing: doctor tells it'
	kill -TERM "$PRODUCER"
	wait "$PRODUCER"
	over backlog_growing
	ctl -c "$OP" partitions resume --all
fi
wait_for 60 is_drained

sql "INSERT INTO outbox_dead_letters (global_sequence, reason) VALUES
    (1, 'message')"
told dead_letters 'new dead letters: 1: outboxctl dead show 1 .*enqueue it anew .*dead purge 1 gives it up'
sql "UPDATE outbox_dead_letters SET reason = 'attempts'"
within 10 'dead_letters: another remedy if the message is not wrong' \
    is_remedied 'outboxctl dead retry 1 sends it again'
cure dead_letters 'outboxctl -c FILE dead purge 1'
over dead_letters

# It waits for another try, and no problem says why.
sql "START TRANSACTION; $(event_row late 1 "'p00'" 'NOW(6) + INTERVAL 1 HOUR')
    UPDATE outbox SET created_at = NOW(6) - INTERVAL 2 MINUTE
    WHERE published_at IS NULL; COMMIT"
told oldest 'the oldest waiting message has waited for 2 min .*: outboxctl messages show [0-9]+'
ctl -c "$OP" partitions pause p00
within 10 'in a paused partition the pause is the only problem' \
    is_only paused_partitions
# Due before the worker reads the partition again.
sql 'UPDATE outbox SET available_at = NOW(6) WHERE published_at IS NULL'
ctl -c "$OP" partitions resume p00
over oldest

sql "REVOKE DELETE ON outbox_workers FROM 'outbox'@'localhost'"
told rights "may not DELETE.*GRANT DELETE ON .app...outbox_workers. TO"
cure_sql rights "$(remedies rights)"
over rights

# What the daemon cannot do without, and what it can.
sql 'ALTER TABLE outbox DROP COLUMN claim_token'
told database 'column outbox.claim_token is missing.*: as an administrator, outboxctl schema upgrade --admin root adds it' 3
cure database 'outboxctl -c FILE schema upgrade --admin root'
over database
if ! is_short; then
	# No statement of the monitor needs it.
	sql 'ALTER TABLE events DROP COLUMN correlation_id'
	told database 'column events.correlation_id is missing' 3
	cure database 'outboxctl -c FILE schema upgrade --admin root'
	over database

	sql 'ALTER TABLE outbox DROP KEY outbox_claim'
	within 10 'missing_index: status tells it' is_advised missing_index
	cure missing_index 'outboxctl -c FILE schema upgrade --admin root'
	CURED=
	within 10 'missing_index: it goes' is_advised_no_more missing_index
	sql 'SET GLOBAL wait_timeout = 30'
	within 10 'wait_timeout: status tells it' is_advised wait_timeout
	cure_sql wait_timeout 'SET GLOBAL wait_timeout = 28800'
	CURED=
	within 10 'wait_timeout: it goes' is_advised_no_more wait_timeout
	sql "START TRANSACTION; $(event_row stray 1 "'!stray'") COMMIT"
	told stray_labels 'rows wait under the label !stray, which no worker can lease'
	cure_sql stray_labels "$(remedies stray_labels | sed 's/.*key: //')"
	over stray_labels
fi
within 20 'healthy with all columns' is_healthy

# The server runs, and refuses: the monitor has its connection.
if ! is_short && [ "$KIND" = mariadb ]; then
	has_monitor=
	sql 'SET GLOBAL max_connections = 10'
	for _ in 1 2 3 4 5 6 7 8 9 10 11 12; do
		until [ -e "$DIR/enough" ] || mariadb --no-defaults \
		    -uoutbox_producer -p"$PRODUCER_PW" -S "$SOCKET" \
		    -e 'SELECT SLEEP(60)'; do
			nap 0.1
		done > /dev/null 2>&1 &
		sleepers+=($!)
	done
	told database 'Too many connections.*: the server runs: as an administrator, for whom it keeps one' 3
	ctl messages list
	like "$ERR" '\(1040\): outboxctl status has the remedy' \
	    'other commands do not say that no server runs'
	touch "$DIR/enough"
	cure_sql database 'SHOW PROCESSLIST'
	sql "$(awk '$2 == "outbox_producer" { print "KILL " $1 ";" }' \
	    "$DIR/cure.out")"
	over database
	sql 'SET GLOBAL max_connections = 151'
	wait "${sleepers[@]}"
	has_monitor=yes
	within 20 'healthy with enough connections' is_healthy
fi

# The account has another password.
if ! is_short; then
	has_monitor=
	sql "ALTER USER 'outbox'@'localhost' IDENTIFIED BY 'another'"
	told database 'Access denied.*: correct mysql.user and its password' 3
	cure database 'outboxctl -c FILE setup --no-event --new-password'
	over database
	has_monitor=yes
	within 20 'healthy with its password' is_healthy
fi

# What a worker says about a row or a statement.  hold SQL: a session that keeps
# what this has locked, until let_go
hold() {
	coproc SESSION { exec "$SANDBOX" sql "$DIR/db" -nN app 2>&1; }
	exec 7>&"${SESSION[1]}" 6<&"${SESSION[0]}"
	eval "exec ${SESSION[1]}>&-"
	printf '%s; SELECT "held by", CONNECTION_ID();\n' "$1" >&7
	HOLDER=$!
	while read -rt 20 -u 6 line && [[ $line != 'held by'* ]]; do :; done
	HOLD=${line##*[^0-9]}
}
let_go() {
	exec 7>&- 6<&-
	wait "$HOLDER" 2> /dev/null
}
# shows_holders: the statement of the remedy, run as printed
shows_holders() {
	sql "$(field '.problems[].remedy' |
	    sed -n 's/.*: \(SELECT p\.id.* DESC\);.*/\1/p' | head -1)"
}
# holder_is_first: in the same, before each session that waits for a lock itself
holder_is_first() {
	ctl --json status
	shows_holders | sed "/^$HOLD\t/q" > "$DIR/first"
	grep -q "^$HOLD"$'\t' "$DIR/first" &&
	    not grep -q 'Waiting for' "$DIR/first"
}
# has_since ID: it tells when it began
has_since() { ctl --json status; [ -n "$(field ".problems[] | select(.id == \"$1\") | .since // \"\"")" ]; }

sql "START TRANSACTION; $(event_row locked 1 "'p00'" 'NOW(6) + INTERVAL 2 SECOND')
    COMMIT"
LOCKED=$(oldest)
hold "START TRANSACTION; SELECT * FROM outbox WHERE global_sequence = $LOCKED
    FOR UPDATE"
enqueue_keys beside 3 paid
told refused_row "^message $LOCKED cannot be claimed: another session has locked the row; it and its key wait: an administrator .*KILL its id ends it"
is "$(pending)" 1 'refused_row: messages of other keys are sent'
check 'refused_row: it has a time' has_since refused_row
within 10 'refused_row: messages show says so' waits_for \
    '^the database: it cannot be claimed: another session has locked the row$'
ctl --json status
is "$(shows_holders | head -n 1 | cut -f 1)" "$HOLD" \
    'refused_row: the statement of the remedy shows the session first'
sql "KILL $HOLD"
over refused_row
let_go
wait_for 20 is_drained

# While each write waits, doctor needs many seconds.
# waits NAME TEXT REMEDY
waits() {
	within 10 "$1: status tells it" has_problem waiting_worker
	within 10 "$1: the monitor tells it" monitor_tells waiting_worker
	ctl --json status
	like "$(field '.problems[] | select(.id == "waiting_worker") | .why')" \
	    "$2" "$1: its reason"
	check "$1: its remedy" is_remedied "$3"
	check "$1: since when" has_since waiting_worker
}
if ! is_short; then
	sql 'ALTER TABLE outbox MODIFY claim_token VARCHAR(16) NULL'
	enqueue_keys short 2 paid
	waits 'claim_token is too short' "no database: claim: Data too long for column 'claim_token'" \
	    'outboxctl schema upgrade --admin root changes the column'
	within 10 'claim_token is too short: messages show says so' waits_for \
	    '^its worker, which waits for the database: claim: Data too long'
	ctl schema check
	sql "$(grep -Eo 'ALTER TABLE .*MODIFY .*claim_token[^;]*' <<< "$OUT")"
	over waiting_worker
	wait_for 20 is_drained

	for lock in 'FLUSH TABLES WITH READ LOCK' 'LOCK TABLES outbox READ' \
	    'START TRANSACTION; SELECT * FROM outbox_partitions FOR UPDATE'; do
		sql "START TRANSACTION; $(event_row "$lock" 1 "'p00'" \
		    'NOW(6) + INTERVAL 2 SECOND') COMMIT"
		hold "$lock"
		produce --events 1 --keys 1 --type late > /dev/null 2>&1 &
		PRODUCER=$!
		waits "$lock" 'a statement waits: [a-z ]+: Lock wait.*1205' \
		    'an administrator of the server sees who holds the lock'
		within 10 "$lock: messages show says so" waits_for \
		    '^its worker, which waits for the database: [a-z ]+: Lock wait'
		check "$lock: the remedy shows the session before its victims" \
		    holder_is_first
		sql "KILL $HOLD"
		over waiting_worker
		let_go
		wait "$PRODUCER"
		wait_for 20 is_drained
	done

	hold 'LOCK TABLES outbox WRITE'
	within 10 'LOCK TABLES outbox WRITE: status tells it' has_problem database
	check 'LOCK TABLES outbox WRITE: its remedy' \
	    is_remedied 'an administrator of the server sees who holds the lock'
	let_go
	over database

	# Each COMMIT hangs, as on a full disk.
	semi=rpl_semi_sync_master
	sql "SET GLOBAL ${semi}_timeout = 100000000, GLOBAL ${semi}_enabled = 1"
	waits 'COMMIT hangs' '(no database|a statement waits): [a-z]+: (no answer within|Lock wait)' \
	    "make room on the disk of the server's data, .*/data/"
	sql "SET GLOBAL ${semi}_enabled = 0"
	over waiting_worker
	within 20 'healthy, commits are answered again' is_healthy
fi

# While the monitor's outboxctl is connected: it sees that a table has gone.
is_ready_told() { get http://localhost/readyz > "$DIR/ready"
    has_line "$DIR/ready" missing_table; }
within 10 'the monitor is healthy' monitor_is_rid_of missing_table
sql 'RENAME TABLE outbox_blocked_keys TO away'
n=0
until is_ready_told || [ "$n" -ge 100 ]; do
	! has_line "$DIR/ready" 'critical: database' || break
	n=$((n + 1))
	nap 0.1
done
check 'a table that goes: the monitor says which, and that all waits' \
    has_line "$DIR/ready" 'critical: missing_table'
told missing_table 'table outbox_blocked_keys is missing.*: outboxctl setup --no-event creates it'
cure missing_table 'outboxctl -c FILE setup --no-event'
cure missing_table 'outboxctl -c FILE reload' again
over missing_table

# The registry knows that they were there.
sql "REPLACE INTO outbox_registry (name, source, settings) VALUES ('outbox',
    'events', 'outbox_settings'); RENAME TABLE outbox_settings TO away_settings"
told missing_table 'table outbox_settings is missing.*outbox_enqueue.. fails'
sql 'RENAME TABLE away_settings TO outbox_settings'
over missing_table

"$SANDBOX" stop "$DIR/db" > /dev/null
told database 'the database cannot be read.*: start the database server at .*socket, or correct mysql.socket$' 3
shows '[.this_host.workers[].state] | length' 2 \
    'without a database: this host is shown' status
"$SANDBOX" restart "$DIR/db" > /dev/null
over database
within 20 'healthy again' is_healthy

# A full stream that refuses new messages; a lower limit would delete some.
fill() {
	ctl --json stream info
	"$LAB" stream --nats "$URL" --name EVENTS --subjects 'events.>' \
	    --dup-window 600 --max-msgs "$(field .messages)" --discard-new
}
fill
told stream_full 'stream EVENTS is full, [0-9,]+ of [0-9,]+ messages, and refuses'
ctl stream info
is "$RC" 1 'stream_full: the exit status of stream info'
like "$OUT" '^fail +the stream is full, [0-9,]+ of [0-9,]+ messages' \
    'stream_full: stream info tells it'
enqueue_keys full 3 paid
within 20 'the workers are paused' has_state paused
within 10 'stream_full: it is the only problem' is_only stream_full
within 10 'stream_full: messages show says what the message waits for' \
    waits_for 'its destination, .*maximum messages exceeded'
"$LAB" stream --nats "$URL" --name EVENTS --subjects 'events.>' \
    --dup-window 600
over stream_full
wait_for 20 is_drained

# A broker that does not answer, and a message that goes meanwhile.
read -r nats _ < "$DIR/nats/process"
kill -STOP "$nats"
enqueue_keys mute 1 paid
within 20 'a broker that does not answer: messages show says so' \
    waits_for 'its destination, which does not take it now: publishing paused'
ctl -c "$OP" messages discard --wait 20 "$(oldest)"
within 20 'a worker without a message that waits: the log says so' has_line \
    "$LOG" 'no message waits here .* whether the destination takes any is not known'
tac "$LOG" | sed '/no message waits here/q' > "$DIR/after"
check 'and nothing of an end of the outage' \
    not has_line "$DIR/after" 'no longer paused|publishing: works again'
kill -CONT "$nats"
ctl -c "$OP" dead purge --all --yes
within 20 'healthy, the broker answers again' is_healthy

# Without nats.stream nobody can judge the stream: the workers tell it.
if ! is_short; then
	sed 's/stream: "EVENTS"/stream: ""/' "$DIR/ctl.yml" > "$DIR/nostream.yml"
	cp "$DIR/nostream.yml" "$DIR/daemon.yml"
	fill
	CONF=$DIR/nostream.yml
	ctl reload --seconds 30
	enqueue_keys more 3 paid
	told publishing_paused '^publishing paused.*maximum messages exceeded.*: raise this limit of the stream, or '
	"$LAB" stream --nats "$URL" --name EVENTS --subjects 'events.>' \
	    --dup-window 600
	over publishing_paused
	wait_for 20 is_drained
	cp "$DIR/ctl.yml" "$DIR/daemon.yml"
	CONF=$DIR/ctl.yml
	ctl reload --seconds 30
	within 20 'healthy once more' is_healthy
fi

# The file is edited while the daemon runs.
sed 's/lease_ttl/lease_tttl/' "$DIR/ctl.yml" > "$DIR/edited.yml"
ctl -c "$DIR/edited.yml" --json status
is "$RC $(field '[.problems[].id, (.this_host.workers | length)] | @csv')" \
    '78 "wrong_file",2' 'a file in error: status tells it, and this host'
matches '^warn +wrong_file: .*lease_tttl' 'a file in error: doctor tells it' \
    -c "$DIR/edited.yml" doctor
echo 'master: {' > "$DIR/broken.yml"
fails 78 'broken.yml: line 2: ' 'a file that is no YAML names no daemon' \
    -c "$DIR/broken.yml" status

# At once, before the heartbeats are over.
has_monitor=
kill -KILL "$MASTER"
within 5 'after a kill -9 of the master no worker is alive' has_problem no_worker
told no_worker "the daemon of this host has died \\(pid $MASTER\\): outbox-master -c $CONF; outboxctl logs"
cure_start no_worker
has_monitor=yes
over no_worker

# The run directory was emptied: the daemon runs, and nobody sees it.
has_monitor=
rm -f "$DIR"/run/*
told run_files "the daemon of this host runs \\(pid $MASTER\\), and its files are gone, .*: kill $MASTER, and when it has ended, outbox-master -c $CONF"
printed run_files "kill $MASTER, and when it has ended, outbox-master -c FILE"
kill "$MASTER"
wait "$MASTER"
start_fleet
has_monitor=yes
over run_files
has_monitor=
ctl -c "$DIR/edited.yml" logs
like "$RC: $ERR" '^0: .*lease_tttl' 'a file in error: logs tells it, and works'
ctl -c "$DIR/edited.yml" stop
like "$RC: $ERR" '^0: .*lease_tttl' 'a file in error: stop tells it, and works'
wait "$MASTER"
told no_worker 'no worker is alive: outbox-master -c .*; if nobody has stopped it'
ctl --json status
is "$(field '[.problems[].id] | join(" ")')" no_worker \
    'a daemon that was stopped did not die'
say 'problem: seconds until status, readyz, doctor name it; from the remedy until it is over'
awk 'NF == 3 { if (!($1 in row)) order[++n] = $1; row[$1] = row[$1] " " $2 " " $3 }
    END { for (i = 1; i <= n; i++) print "# " order[i] ":" row[order[i]] }' <<< "$TABLE"
done_testing
