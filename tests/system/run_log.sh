#!/usr/bin/env bash
# The log: its first line, fields, rotation, one line per outage, deaths,
# priorities for the journal
. "${srcdir:-$(dirname "$0")/../..}/tests/lib/lib.sh"

start_servers

# log_conf LEVEL FORMAT: a configuration whose log goes to a new $LOG
log_conf() {
	LOG=$DIR/target.$1.$2
	WORKERS=3 write_conf
	sed -i "s|^log: .*|log: {level: $1, format: $2, target: $LOG}|" "$CONF"
}
# count REGEX [FILE]: lines
count() { grep -Ec -- "$1" "${2:-$LOG}"; }

# The first line.
log_conf error text
start_master
within 5 'log.level error: the first line is there' [ -s "$LOG" ]
like "$(head -n 1 "$LOG")" 'info master\[[0-9]+\]: started with 3 workers \[version=[0-9.]+ config=[^ ]*/outbox.yml generation=1 workers=3 ' \
    'the first line: version, configuration file, generation'
like "$(head -n 1 "$LOG")" "database=$SOCKET/app nats=nats://127.0.0.1:[0-9]+ stream=EVENTS " \
    'the first line: the servers'
wait_for 20 all_owned
is "$(wc -l < "$LOG")" 1 'log.level error: and nothing else'

# rotate: as logrotate does, with the script of our file for it
rotate() {
	mv "$LOG" "$LOG.1"
	sed -n '/postrotate/,/endscript/p' \
	    "$srcdir/etc/outbox-master.logrotate" | sed -e '1d;$d' \
	    -e "s|/run/outbox/|$DIR/run/|" > "$DIR/postrotate"
	sh "$DIR/postrotate"
	wait_for 5 [ -s "$LOG" ]
}
rotate
like "$(head -n 1 "$LOG")" 'the log was opened again \[version=.* generation=1 ' \
    'after a rotation: the first line has version and configuration'
if command -v logrotate > /dev/null; then
	sed -e "s|^/var/log/outbox/.*.log|$LOG|" -e "s|/run/outbox/|$DIR/run/|" \
	    -e "s|su outbox outbox|su $(id -un) $(id -gn)|" \
	    "$srcdir/etc/outbox-master.logrotate" > "$DIR/logrotate.conf"
	chmod 600 "$DIR/logrotate.conf"
	rm -f "$LOG.1"
	logrotate -f -s "$DIR/logrotate.state" "$DIR/logrotate.conf"
	ok $? 'logrotate accepts our file'
	has_both() { [ -s "$LOG.1" ] && [ -s "$LOG" ]; }
	within 5 'logrotate: the daemon opens a new file' has_both
	is "$(wc -l < "$LOG.1")" 1 'logrotate: the old file is kept'
fi
old=$LOG
log_conf info text
kill -HUP "$MASTER"
within 5 'a reload with another log.target: a new file' [ -s "$LOG" ]
like "$(head -n 1 "$LOG")" 'the log goes on here \[version=.* generation=2 ' \
    'a new log.target: the first line has version and configuration'
within 20 'reload: its line has fields' has_line "$LOG" \
    'reload: generation 2, .* \[generation=2 workers=3\]'
is "$(wc -l < "$old")" 1 'a new log.target: nothing more in the old file'
stop_master "$MASTER"

# Fields of JSON; the payload of a message that fails is in no line.
log_conf debug json
start_fleet
victim=$(worker_pids "$MASTER" | head -n 1)
call_enqueue "'bad key', NULL, 'two words', 1, NULL, NULL, 'top-secret-1'" \
    "'good', NULL, 'good', 1, NULL, NULL, 'top-secret-2'"
bad=$(sql "SELECT sequence FROM events WHERE stream_id = 'bad key'")
wait_for 10 is_drained
within 5 'a message that fails: its line' has_line "$LOG" 'message.s. failed'
FAILED_LINE=$(jq -c 'select(.failed)' "$LOG" | head -n 1)
is "$(jq -r '[.level, .error_class, .sequence, .key, .type, .dead] | @csv' \
    <<< "$FAILED_LINE")" "\"warn\",\"message\",$bad,\"bad key\",\"two words\",1" \
    'a message that fails: the fields of its line'
is "$(jq -r '(.partition | test("^p")) and (.worker | type == "number")' \
    <<< "$FAILED_LINE")" true 'a message that fails: partition and worker'

# The death of a child.
kill -SEGV "$victim"
within 10 'the death of a worker is logged' has_line "$LOG" 'was killed by'
is "$(jq -r 'select(.signal) | [.level, .signal, .child_pid,
    (.next_start_ms | type), (.worker | type)] | @csv' "$LOG")" \
    "\"error\",11,$victim,\"number\",\"number\"" \
    'the death of a worker: an error with fields'
like "$(jq -r 'select(.signal) | .msg' "$LOG")" \
    'was killed by signal 11 \(Segmentation fault\).* after [0-9.]+ (ms|s); next start in [0-9]+ ms' \
    'the death of a worker: what comes next'
wait_for 20 all_owned
stop_master "$MASTER"
is "$(grep -c top-secret "$LOG")" 0 'no line has a payload'
is "$(grep -c "$OUTBOX_PW" "$LOG")" 0 'no line has a password'
jq -e . "$LOG" > /dev/null
ok $? 'each line is JSON'

# One line for each outage, by one worker; the listener and the janitor say
# nothing.
[ "$KIND" = mysql ] ||
    sql "GRANT REPLICATION SLAVE ON *.* TO 'outbox'@'localhost'"
outage_conf() {
	WAKE='binlog: true' log_conf "$1" text
	echo 'retention: {days: 7}' >> "$CONF"
}
outage_conf info
start_fleet
[ "$KIND" = mysql ] || within 15 'the listener follows the binlog' has_listener
all_connected() { [ "$(count 'worker .*broker: (connected|works again)')" -ge 3 ]; }
within 15 'each worker logs its first connection' all_connected
mark=$(wc -l < "$LOG")
since() { tail -n "+$((mark + 1))" "$LOG" > "$DIR/since"; }
tells() { since; has_line "$DIR/since" "$1"; }
"$SANDBOX" stop "$DIR/nats" > /dev/null
within 10 'the broker is away: that is logged' tells "warn worker.*nats $URL"
pause 3000
"$SANDBOX" restart "$DIR/nats" > /dev/null
within 20 'the broker is back: that is logged' tells 'broker: works again after [0-9.]+ s'
# All three have reported by then: a connection counts as good after 5 s.
pause 9000
since
is "$(grep -E ' worker [0-9]' "$DIR/since" | grep -E 'nats|broker' |
    grep -oE 'worker [0-9]+' | sort -u | wc -l)" 1 \
    'the broker was away: one worker of three logs it'
is "$(count 'broker: works again' "$DIR/since")" 1 \
    'the broker was away: one line when it is back'
mark=$(wc -l < "$LOG")
"$SANDBOX" stop "$DIR/db" > /dev/null
within 10 'the database is away: that is logged' tells 'warn worker.*error_class=database'
within 10 'the database is away: the errno is in words' \
    tells "connect: .*(\(|error: )(No such file or directory|Connection refused|refused, or not reachable)\)? \(20[0-9]{2}\)"
pause 3000
"$SANDBOX" restart "$DIR/db" > /dev/null
within 30 'the database is back: that is logged' tells 'database: works again after'
wait_for 20 all_owned
since
# warners: the processes that log a warning since $mark
warners() { since; grep -oE ' warn [a-z]+( [0-9]+)?\[' "$DIR/since" | sort -u; }
is "$(warners | tr 0-9 N)" ' warn worker N[' \
    'the database was away: one worker of three logs it, and no other process'
is "$(count ': works again' "$DIR/since")" 1 \
    'the database was away: one line when it is back'
stop_master "$MASTER"

# The same from the start.
"$SANDBOX" stop "$DIR/db" > /dev/null
outage_conf debug
start_master
mark=0
all_met() {
	"$OUTBOXCTL" -c "$CONF" --json status > "$DIR/status"
	[ "$(jq -r '.this_host | .listener.state, .janitor.state,
	    .workers[].state' "$DIR/status" | grep -c '^no database$')" -eq 5 ]
}
within 10 'the database is away: workers, listener and janitor meet it' all_met
"$SANDBOX" restart "$DIR/db" > /dev/null
within 30 'the database is back: that is logged' tells 'info worker.*: works again after'
helpers_work() { has_listener && [ "$(grep -cE \
    '(listener|janitor).* works again after' "$LOG")" -eq 2 ]; }
[ "$KIND" = mysql ] ||
    within 70 'the listener and the janitor are back' helpers_work
is "$(warners | tr 0-9 N)" ' warn worker N[' \
    'away at the start: one worker of three logs it, and no other process'
is "$(grep ': works again' "$DIR/since" | grep -vc ' debug ')" 1 \
    'away at the start: one line when it is back'
stop_master "$MASTER"

# Standard error is the journal.
write_conf
LOG=$DIR/journal
: > "$LOG"
JOURNAL_STREAM=$(stat -c %d:%i "$LOG") start_fleet
stop_master "$MASTER"
is "$(grep -Evc '^<[3467]>20' "$LOG")" 0 \
    'the journal: each line begins with its priority'
like "$(head -n 1 "$LOG")" '^<6>20.* info master.*: started with' \
    'the journal: the priority of info'

# The reports go to a full disk.
WORKERS=1 write_conf
LOG=$DIR/full
"$OUTBOX_MASTER" -c "$CONF" --json > /dev/full 2> "$LOG" < /dev/null &
MASTER=$!
MASTERS+=("$MASTER")
within 10 'reports to a full disk: that is logged' has_line "$LOG" \
    'error worker.*reports are lost: .*No space left'
wait_for 20 all_owned
call_enqueue "'full', NULL, 'good', 1, NULL, NULL, 'x'"
drains 10 'reports to a full disk: messages are sent'
stop_master "$MASTER"
is "$(count 'reports are lost')" 1 'reports to a full disk: one line'

# The readers of the log and of the reports sleep: the relay goes on.
mkfifo "$DIR/fifo" "$DIR/reports"
exec 7<> "$DIR/fifo" 8<> "$DIR/reports"
WORKERS=1 LEVEL=debug write_conf
head -c 65400 /dev/zero | tr '\0' '\n' >&7
LOG=$DIR/fifo
"$OUTBOX_MASTER" -c "$CONF" --json --interval-ms 1 > "$DIR/reports" \
    2>> "$LOG" < /dev/null 7<&- 8<&- &
MASTER=$!
MASTERS+=("$MASTER")
enqueue_some() {
	local i
	for i in {1..20}; do
		call_enqueue "'pipe$i', NULL, 'good', 1, NULL, NULL, 'x'"
	done
}
enqueue_some
wait_for 30 is_drained
# While these come there is a report each millisecond.
for _ in {1..5}; do enqueue_some; done
drains 30 'the readers of log and reports sleep: messages are sent'
kill -USR1 "$MASTER"
stop_master "$MASTER"
is $? 0 'the readers sleep: the master stops with status 0'
timeout 1 cat <&8 > "$DIR/reported"
jq -c '[.ticks, .lines_lost]' < "$DIR/reported" > "$DIR/parsed"
is "$? $(($(wc -l < "$DIR/parsed") > 50))" '0 1' \
    'the readers sleep: the reports that they find are whole'
exec 8>&-
exec 7>&-
done_testing
