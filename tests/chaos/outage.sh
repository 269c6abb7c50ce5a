#!/usr/bin/env bash
# outage.sh - the broker is away for long while producers go on
#
#   tests/chaos/outage.sh [--seconds S] [--rate R] [--window S] [--how stop|kill]
#
# S seconds (600) of load at R events a second (300) with a broker that stands
# still, and then stores what was written to it (stop), or is killed and
# started again (kill). The stream's duplicate window (120) is shorter. From a
# build directory, or after ./quickstart.

SECONDS_AWAY=600 RATE=300 DUP=120 HOW=stop
while [ $# -gt 0 ]; do
	case $1 in
	--seconds) SECONDS_AWAY=$2 ;;
	--rate) RATE=$2 ;;
	--window) DUP=$2 ;;
	--how) HOW=$2 ;;
	*) sed -n '2,/^$/s/^# \{0,1\}//p' "$0" >&2; exit 2 ;;
	esac
	shift 2
done
srcdir=${srcdir:-$(dirname "$0")/../..}
# shellcheck source=tests/lib/lib.sh
. "$srcdir/tests/lib/lib.sh"

go_away() {
	if [ "$HOW" = kill ]; then "$SANDBOX" kill "$DIR/nats" >/dev/null
	else kill -STOP "$NATS_PID"; fi
}
come_back() {
	if [ "$HOW" = kill ]; then "$SANDBOX" restart "$DIR/nats" >/dev/null
	else kill -CONT "$NATS_PID"; fi
}
trap 'kill -CONT "$NATS_PID" 2>/dev/null; cleanup' EXIT

start_servers
read -r NATS_PID _ < "$DIR/nats/process"
"$LAB" stream --nats "$URL" --name EVENTS --subjects 'events.>' \
    --dup-window "$DUP"
WORKERS=2 write_conf
start_fleet
produce --forever --keys 500 --payload 200 --producers 2 --per-txn 3 \
    --rate "$RATE" &
PRODUCER=$!
within 20 'messages are sent before the outage' has_published $((RATE * 3))

say "the broker is away ($HOW) for $SECONDS_AWAY s, the window is $DUP s"
go_away
pause $((SECONDS_AWAY * 1000))
before=$(published)
waiting=$(pending)
rows_are 0 'outbox WHERE attempts > 0' 'no attempt is counted during the outage'
back=$(now_ms)
come_back
wait_for 20 has_published $((before + 1000))
flows=$(($(now_ms) - back))
check "the backlog of $waiting begins to flow within 5 s ($flows ms)" \
    [ "$flows" -lt 5000 ]
kill -TERM "$(worker_pids "$PRODUCER")"
wait "$PRODUCER"
drains 120 "all of it is delivered after $(($(now_ms) - back)) ms"
rows_are 0 outbox_dead_letters 'no message is dead'
is "$(sql 'SELECT COALESCE(MAX(attempts), 0) FROM outbox')" 0 \
    'no attempt is counted in the end'
say "in doubt were $(sql 'SELECT COUNT(*) FROM outbox
    WHERE in_doubt_since IS NOT NULL')," \
    "the log has $(grep -vc ' info ' "$LOG") lines of trouble"
check_stream 'the stream is complete and in order, nothing twice' --wait 10
grep ' warn \| error ' "$LOG" | head -20 | sed 's/^/# /'
stops 'the master stops with status 0'
done_testing
