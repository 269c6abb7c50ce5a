#!/usr/bin/env bash
# wake.binlog: auto.  Where the binlog may be followed, commits wake workers;
# where not, they poll, and nothing is wrong
. "${srcdir:-$(dirname "$0")/../..}/tests/lib/ctl.sh"

# A worker that nobody wakes scans again after ten minutes.
PAUSE=600000
LOG=$DIR/log
ACCOUNT="'outbox'@'localhost'"

no_log=skip_log_bin=1 rights='REPLICATION SLAVE'
if [ "$KIND" = mysql ]; then
	no_log=disable_log_bin=1 rights='REPLICATION SLAVE, REPLICATION CLIENT'
fi
start_servers performance_schema=OFF	# not from the pool: it changes
auto() { LEVEL=debug WAKE='binlog: auto' write_conf; }

listener() { ctl --json status && field ".this_host.listener.$1"; }
is_in() { [ "$(listener state)" = "$1" ]; }
told() { grep -c " info listener.*workers poll: binlog: $1" "$LOG"; }

# is_silent WHAT: whoever looks sees no fault, although the listener has one
is_silent() {
	check "$1: no warning" not grep -E ' (warn|error) listener' "$LOG"
	shows '.problems' '[]' "$1: no problem" status
	ctl --json doctor
	is "$(field '[.[] | select(.level != "ok")]')" '[]' \
	    "$1: doctor finds no fault"
	shows '.this_host.listener.last_error' '' "$1: no last error" status
}

# sends NAME: 150 messages in three seconds; sets ASKED, statements meanwhile
sends() {
	ASKED=$(server_status Questions)
	produce --events 150 --rate 50 --producers 1 --keys 10 --payload 50
	drains 10 "$1"
	ASKED=$(($(server_status Questions) - ASKED))
}
wakes() {
	produce --events 1 --keys 1 --payload 50
	wait_for 3 is_drained
}
# A commit may be told before others can read it: see run_listener.sh.
commits_wake() { within 20 "$1" wakes; }

# As much as without a listener is asked while it is refused.
LEVEL=debug write_conf
start_fleet
sends 'wake.binlog: false: workers poll'
polled=$ASKED
stop_master "$MASTER"

#
# Without the right.
#
: > "$LOG"
auto
start_fleet
REFUSED_AT=$(now_ms)
within 10 'without the right: the state of the listener' is_in 'no binlog'
like "$(listener why)" 'REPLICATION' 'without the right: why'
sends 'without the right: workers poll'
[ "$ASKED" -ge $((polled / 2)) ] && [ "$ASKED" -le $((polled * 2)) ]
ok $? "without the right: as much is asked as without it ($ASKED, $polled)"
is "$(told '.*REPLICATION')" 1 'without the right: one line tells it'
matches 'wake-ups +the workers poll .*REPLICATION' \
    'without the right: status says that the workers poll' status
ctl --json doctor
# shellcheck disable=SC2016
like "$(field '.[] | select(.check == "binlog") | .text')" \
    "worker.idle_backoff_ms.*GRANT $rights ON \*.\* TO $ACCOUNT \(it can then read all changes" \
    'without the right: doctor says what it brings, allows and takes'
# A waiting process becomes a problem after ten seconds.
wait_for 15 is_later $((REFUSED_AT + 12000))
is_silent 'without the right'

#
# With the right, granted while the daemon runs: within a minute, or at once
# after a reload.
#
sql "GRANT $rights ON *.* TO $ACCOUNT"
if is_short; then
	kill -HUP "$MASTER"
	within 20 'with the right: a reload' has_listener
else
	within 75 'with the right: no restart' has_listener
	is "$(grep -c 'workers poll' "$LOG")" 1 'it was told once'
fi
within 10 'with the right: the listener runs' is_in running
is "$(listener why)" null 'with the right: nothing is told'
ctl --json doctor
like "$(field '.[] | select(.check == "binlog") | .text')" \
    'commits wake the workers' 'with the right: doctor says so'
is_silent 'with the right'
stop_master "$MASTER"
start_master --interval-ms $PAUSE
wait_for 10 has_listener && wait_for 20 all_owned
ok $? 'with the right: a start'
commits_wake 'with the right: a commit wakes a worker'
stop_master "$MASTER"

#
# Revoked.
#
: > "$LOG"
start_fleet
within 10 'before: the listener runs' is_in running
sql "REVOKE $rights ON *.* FROM $ACCOUNT"
sql "$(sql "SELECT CONCAT('KILL ', id) FROM information_schema.processlist
    WHERE command LIKE 'Binlog Dump%' AND user = 'outbox'")"
within 20 'revoked: the state of the listener' is_in 'no binlog'
sends 'revoked: workers poll'
[ "$ASKED" -ge $((polled / 2)) ]
ok $? "revoked: as much is asked as without it ($ASKED, $polled)"
is_silent 'revoked'
stop_master "$MASTER"

#
# A binlog that cannot be used.
#
sql "GRANT $rights ON *.* TO $ACCOUNT"
if [ "$KIND" = mariadb ]; then
	compresses=log_bin_compress
else
	compresses=binlog_transaction_compression
fi
sql "SET GLOBAL $compresses = ON"
: > "$LOG"
start_fleet
within 10 'a compressed binlog: the state of the listener' is_in 'no binlog'
is "$(told ".*SET GLOBAL $compresses = OFF")" 1 \
    'a compressed binlog: one line tells it'
is_silent 'a compressed binlog'
stop_master "$MASTER"
WAKE='binlog: true' write_conf
start_fleet
within 10 'but with true it is followed' has_listener
stop_master "$MASTER"

echo "$no_log" >> "$DIR/db/my.cnf"
"$SANDBOX" restart "$DIR/db" > /dev/null
: > "$LOG"
auto
start_fleet
within 10 'no binlog: the state of the listener' is_in 'no binlog'
is "$(told 'the server writes none')" 1 'no binlog: one line tells it'
sends 'no binlog: workers poll'
is_silent 'no binlog'
stop_master "$MASTER"

check_stream 'the stream is complete and in order, nothing twice'
done_testing
