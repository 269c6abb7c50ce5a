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
# change SED: write the configuration, with this change, and reload
change() {
	write_conf
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

kill -TERM "$MASTER"
within 20 'the master stops' is_gone "$MASTER"
is "$(here '')" null 'a master that has stopped is not shown'
done_testing
