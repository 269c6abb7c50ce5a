#!/usr/bin/env bash
# The scoreboard: what a daemon leaves there for outboxctl, without a terminal
. "${srcdir:-$(dirname "$0")/../..}/tests/lib/ctl.sh"

start_servers
LOG=$DIR/log

# here FILTER: of what outboxctl says of the daemon on this host.  It has a file
# of its own, because that of the daemon gets wrong.
here() { "$OUTBOXCTL" -c "$DIR/ctl.yml" --json status | jq -rc ".this_host$1"; }
is_here() { [ "$(here "$1")" = "$2" ]; }
is_running() { is_here ' | [.workers[].state] | unique' '["running"]'; }
# change SED: write the configuration, with this change and the lines of $MORE,
# and reload
change() {
	write_conf
	printf '%s\n' "${MORE:-}" >> "$CONF"
	sed -i "s|^log: .*|log: {level: info, target: $DIR/log}|; $1" "$CONF"
	[ -z "${MASTER:-}" ] || kill -HUP "$MASTER"
}

# Detached, so that a refused reload has no terminal to be seen on.
WORKERS=2
write_conf "$DIR/ctl.yml"
change ''
"$OUTBOX_MASTER" -c "$CONF" -d
is $? 0 'detached: exit status 0'
wait_for 10 test -s "$DIR/run/outbox.pid"
MASTER=$(cat "$DIR/run/outbox.pid")
MASTERS+=("$MASTER")
within 20 'detached: the master is alive, and its workers run' is_running
is "$(here .reload)" null 'no reload yet'

#
# Reloads.
#
change 's/lease_ttl/lease_tttl/'
within 5 'a refused reload is told' is_here .reload.accepted false
is "$(here '.reload | [.count, .renew_by, .renewed_at, .outdated]')" \
    '[1,null,null,0]' 'a refused reload: it was the first, nothing is replaced'
like "$(here .reload.why)" 'lease_tttl' 'a refused reload: why'
like "$(here .reload.at)" '^2[0-9-]+T[0-9:]+Z$' 'a refused reload: when'
is "$(here '| [.generation, .workers[].generation]')" '[1,1,1]' \
    'a refused reload: the generation stays'

change 's/stop_timeout: 15/stop_timeout: 10/'
within 5 'an accepted reload is told' is_here .reload.accepted true
is "$(here '.reload | [.count, .why]')" '[2,null]' 'an accepted reload: no error'
within 20 'an accepted reload: all workers are new at last' \
    is_here '.reload.renewed_at != null' true
is "$(here '| [.generation, .reload.outdated, .workers[].generation]')" \
    '[2,0,2,2]' 'an accepted reload: the generation of each worker'
is "$(here '.reload | .renew_by >= .renewed_at and .renewed_at >= .at')" true \
    'an accepted reload: when at the latest, and when'
check 'an accepted reload: the log says when all were new' \
    has_line "$LOG" 'all workers are of generation 2 after'

change 's|outbox.pid|other.pid|'
within 5 'a third reload is told' is_here .reload.count 3
like "$(here '.reload | "\(.accepted) \(.why)"')" \
    '^true needs a restart.* master.pidfile$' \
    'a key that needs a restart is named'

#
# Each process: state, since when, signs of life, last error.
#
within 15 'a listener that is not wanted is not shown, the janitor always is' \
    is_here '| [.listener, .janitor.state]' '[null,"running"]'
is "$(here '.master | [.state, .pid, .generation, .log_lost]')" \
    "[\"running\",$MASTER,3,0]" 'the master: state, pid, generation'
like "$(here .master.last_error)" '^reload: .*lease_tttl' \
    'the master: its last error is the refused reload'
kill -STOP "$MASTER"
within 8 'a stopped master is alive and silent' \
    is_here '.master | .silent_ms > 3000 and .state_ms > 3000' true
kill -CONT "$MASTER"
within 3 'the master goes on' is_here '.master.silent_ms < 1500' true
victim=$(here '.workers[0].pid')
kill -KILL "$victim"
within 5 'a worker that was killed is the last error of the master' \
    is_here ".master.last_error |
	test(\"^worker [01]: pid $victim was killed\")" true
within 10 'the worker is replaced' is_here '.workers | length' 2

# Both are refused by the database: a missing right each.
sql "REVOKE DELETE ON outbox_dead_letters FROM 'outbox'@'localhost';
    INSERT INTO outbox_dead_letters (global_sequence, order_key, reason,
	died_at) VALUES (1, 'k', 'attempts', NOW(6) - INTERVAL 40 DAY)"
WAKE='binlog: true' MORE='retention: {dead_days: 30}' change ''
within 15 'a listener that is refused says so' \
    is_here .listener.state refused
like "$(here .listener.why)" 'REPLICATION SLAVE' 'a refused listener: why'
within 15 'a janitor that is refused says so' is_here .janitor.state refused
like "$(here .janitor.why)" 'DELETE command denied' 'a refused janitor: why'
like "$(here .janitor.last_error_at)" '^2[0-9-]+T' 'a refused janitor: when'
sql "GRANT REPLICATION SLAVE ON *.* TO 'outbox'@'localhost';
    GRANT DELETE ON outbox_dead_letters TO 'outbox'@'localhost'"
WAKE='binlog: true' MORE='retention: {dead_days: 30}' change ''
within 15 'a listener with its right runs' is_here .listener.state running
within 15 'a janitor with its right runs' is_here .janitor.state running
is "$(here '| [.listener.why, .janitor.why]')" '[null,null]' \
    'both wait for nothing'

#
# Descriptors: as many as are needed, with all connections open.
#
fds() { find "/proc/$1/fd" -mindepth 1 | wc -l; }
need=$( (ulimit -n 64; "$OUTBOX_MASTER" -c "$CONF" -t 2>&1) |
    sed -n 's/.*at most, and \([0-9]*\) are needed.*/\1/p')
most=0
for pid in "$MASTER" $(worker_pids "$MASTER"); do
	n=$(fds "$pid")
	[ "$n" -le "$most" ] || most=$n
done
check "a process has no more descriptors than are needed ($most of $need)" \
    [ "$most" -le "${need:-0}" ]
# Only root may count them.
[ "$(id -u)" -ne 0 ] || check 'and not many less' [ "$most" -gt $((${need:-0} - 60)) ]

kill -TERM "$MASTER"
within 20 'the master stops' is_gone "$MASTER"
is "$(here '')" null 'a master that has stopped is not shown'

# too_few NAME OPTION...: a start with these options is refused
too_few() {
	local out
	out=$(ulimit -n $((need - 1)); "$OUTBOX_MASTER" -c "$CONF" "${@:2}" \
	    2>&1)
	is $? 1 "$1 with too few descriptors: exit status 1"
	like "$out" "may open $((need - 1)) files .* $need are needed: raise" \
	    "$1 with too few descriptors: the error says what to do"
}
rm -rf "$DIR/run"
too_few 'a check' -t
too_few 'a start'
check 'too few descriptors: nothing was started' [ ! -e "$DIR/run" ]
(ulimit -Sn 64; exec "$OUTBOX_MASTER" -c "$CONF" -t > "$DIR/out")
is $? 0 'a check with a soft limit that can be raised: exit status 0'
(ulimit -Sn 64; exec "$OUTBOX_MASTER" -c "$CONF" --silent) &
MASTER=$!
MASTERS+=("$MASTER")
within 20 'a soft limit that is too low is raised' is_running
kill -TERM "$MASTER"
wait "$MASTER"
is $? 0 'and the master stops with status 0'
done_testing
