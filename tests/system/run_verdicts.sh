#!/usr/bin/env bash
# No verdict on one message from an answer that all get
. "${srcdir:-$(dirname "$0")/../..}/tests/lib/http.sh"

[ -x "$RECEIVER" ] || skip_all "no $RECEIVER: make check TESTS="
start_servers
start_receiver
export WORKERS=1 BACKOFF=0.2 MAX_BACKOFF=1 JITTER=0 IDLE=100 TIMEOUT_MS=2000
PATHS='path: "{event_type}/{stream_id}"'

dead() { sql 'SELECT COUNT(*) FROM outbox_dead_letters'; }
held() { sql "SELECT COUNT(*) FROM outbox WHERE published_at IS NULL
    AND last_error LIKE 'held: %'"; }
has_held() { [ "$(held)" = "$1" ]; }
has_dead() { [ "$(dead)" = "$1" ]; }
is_sent() { is_sql "SELECT COUNT(*) FROM outbox JOIN events
    ON sequence = global_sequence WHERE event_type = '$1'
    AND published_at IS NULL" 0; }

# in_order: each key's rows arrived first in their order
in_order() {
	received | awk -F'\t' '$1 == 200 && !($5 in first) {
		first[$5] = 1
		if ($5 + 0 < last[$4]) { print "key " $4 " row " $5; bad = 1 }
		last[$4] = $5 + 0
	} END { exit bad }'
}

# under_load SECONDS COMMAND BACK: what becomes of messages while COMMAND is in
# effect; BACK ends it
under_load() {
	produce_forever --keys 50 --rate 1000
	wait_for 10 is_sql 'SELECT COUNT(*) > 300 FROM outbox' 1
	eval "$2"
	nap "$1"
	eval "$3"
	wait_for 20 is_sql "SELECT COUNT(*) > 100 FROM outbox
	    WHERE published_at > NOW(6) - INTERVAL 1 SECOND" 1
	kill -TERM "$PRODUCER"
	wait "$PRODUCER"
}

# --- refused by an endpoint, for a while ------------------------------------

if is_short; then SECONDS_OFF=2 CODES=404; else
	SECONDS_OFF=4 CODES='404 403 405 410 400 413 422'; fi
http_conf "$PATHS"
start_fleet
for code in $CODES; do
	order
	rm -f "$RDIR/log"
	under_load "$SECONDS_OFF" "order '/e 0 $code'" order
	drains 40 "$code for a while: all is sent afterwards"
	is "$(dead)" 0 "$code: nobody is dead"
	is "$(sql 'SELECT COALESCE(MAX(attempts), 0) FROM outbox')" 0 \
	    "$code: no attempt"
	check "$code: in order per key" in_order
	clear_rows
done

# --- refused by one of two servers behind an endpoint -----------------------

# The half of all requests, by chance.  Each outage above is one as well, of
# which the daemon remembers that what was refused was taken later.
stops 'the daemon stops'
start_fleet
if ! is_short; then
	for code in 400 404; do
		rm -f "$RDIR/log"
		under_load 15 "order '/e 50% $code'" order
		drains 60 "$code by one of two servers: all is sent afterwards"
		is "$(dead)" 0 "$code by one of two servers: nobody is dead"
		check "$code by one of two servers: in order per key" in_order
		clear_rows
	done
	stops 'the daemon stops'
	start_fleet
fi

# --- a message at fault -----------------------------------------------------

order '/e/p/bad 0 400' '/e/q 0 400'
event bad 1 p
event bad 2 t
event lone 1 q
event lone 2 t
for i in {1..5}; do event "ok$i" 1 p; done
within 15 'a message at fault, and one alone of its type, are dead' has_dead 2
drains 10 'their keys go on'
stops 'the daemon stops'
clear_rows

# --- a burst ----------------------------------------------------------------

# Two workers bury three each: no more than seven.
WORKERS=2 RETRY='burst: 7' http_conf "$PATHS"
start_fleet
for i in {1..12}; do event "bad$i" 1 p; event "bad$i" 2 t; event "ok$i" 1 p; done
# Others are taken all the time, by both workers.
NEXT=12
others_and_held() {
	for i in {1..4}; do event "ok$((++NEXT))" 1 p; done
	has_held 6
}
within 20 'burst: the rest is held' others_and_held
is "$(dead)" 6 'burst: as many as both workers may bury are dead'
within 10 'burst: those of the type that are taken are sent' is_sql "SELECT
    COUNT(*) FROM outbox JOIN events ON sequence = global_sequence
    WHERE stream_id LIKE 'ok%' AND published_at IS NULL" 0
is "$(sql "SELECT COUNT(*) FROM outbox JOIN events ON sequence = global_sequence
    WHERE event_type = 't' AND published_at IS NULL")" 6 'burst: their keys wait'
ctl() { OUT=$("$OUTBOXCTL" -c "$CONF" "$@" 2>&1); RC=$?; }
ctl --json keys blocked
is "$(jq '[.[] | select(.error | startswith("held: "))] | length' <<< "$OUT")" \
    6 'keys blocked shows them'
ctl --json status
like "$(jq -r '.problems[] | select(.id == "held_messages") |
    "\(.since) \(.text)"' <<< "$OUT")" \
    '^20.*Z messages that are held.*: 6; the first is [0-9]+: .*HTTP 4' \
    'status says how many are held, since when, and why'
ctl keys bury --all --dry-run --yes
is "$(dead)" 6 'keys bury --dry-run changes nothing'
ctl keys bury --all --yes
is "$RC" 0 "keys bury: $OUT"
is "$(dead)" 12 'keys bury: they are dead letters'
drains 10 'keys bury: their keys go on'
is "$(sql "SELECT CONCAT(command, ' ', changed) FROM outbox_audit
    ORDER BY id DESC LIMIT 1")" 'keys bury 6' 'keys bury is in the audit'
event bad1 3 p
event bad1 4 t
within 20 'held again' has_held 1
order
ctl keys retry bad1 --yes
is "$RC" 0 "keys retry: $OUT"
drains 10 'keys retry: it is sent'
is "$(dead)" 12 'keys retry: nobody died'
is "$(sql "SELECT command FROM outbox_audit ORDER BY id DESC LIMIT 1")" \
    'keys retry' 'keys retry is in the audit'
stops 'the daemon stops'
clear_rows

# --- a route that takes nothing ---------------------------------------------

is_short && done_testing
RETRY='blame_after: 3s' http_conf "$PATHS"
start_fleet
order '/e/gone 0 404'
for i in {1..5}; do event "gone$i" 1 gone; event "gone$i" 2 t; nap 0.3; done
keep_going() { event beside $((++NEXT)) t; has_dead 5; }
NEXT=0
within 15 'several of one type: each is dead at its time' keep_going
drains 10 'their keys go on'
stops 'the daemon stops'
clear_rows

MAX_ATTEMPTS=3 http_conf "$PATHS"
rm -f "$RDIR/log"
start_fleet
under_load 20 "order '/e 0 500'" order
drains 60 '500: all is sent afterwards'
is "$(dead)" 0 '500 to everything: nobody is dead'
check '500: in order per key' in_order
# It takes some all the time.
rm -f "$RDIR/log"
under_load 10 "order '/e 80% 429'" order
drains 60 '429: all is sent afterwards'
is "$(dead)" 0 '429 to most: nobody is dead'
check '429: in order per key' in_order
order '/e/t/bad 0 500'
event bad 1 t
for i in {1..20}; do event "ok$i" 1 t; nap 0.2; done
within 30 '500 to one, while others are taken: it dies of its attempts' \
    has_dead 1
stops 'the daemon stops'
clear_rows

# --- a stream whose limit is lowered ----------------------------------------

sql 'DELETE FROM outbox_blocked_keys'
write_conf
start_fleet
under_load 4 'limit_stream 20' 'limit_stream -1'
drains 40 'max_msg_size for a while: all is sent afterwards'
is "$(dead)" 0 'max_msg_size: nobody is dead'
stops 'the daemon stops'

done_testing
