#!/usr/bin/env bash
# Several destinations of one outbox: each message goes where publish.routes
# says, and one that is away does not stop the others
. "${srcdir:-$(dirname "$0")/../..}/tests/lib/http.sh"

[ -x "$RECEIVER" ] || skip_all "no $RECEIVER: make check TESTS="
start_servers
start_receiver
export WORKERS=2 BACKOFF=0.2 MAX_BACKOFF=1 JITTER=0 IDLE=100 TIMEOUT_MS=1000

# routes_conf [KEYS-OF-PUBLISH]: hook.* and what has to=hooks go to the receiver
routes_conf() {
	write_conf
	sed -i '/^publish:/d' "$CONF"
	cat >> "$CONF" <<-END
	http: {endpoint: "http://127.0.0.1:$RPORT/e"${TOKEN:+, token_file: $TOKEN}}
	publish:
	  timeout_ms: $TIMEOUT_MS
	  ${1:-driver: nats}
	  routes:
	  - {name: once, type: hook.once, driver: http, path: "once/{stream_id}", max_attempts: 1}
	  - {name: wrapped, type: hook.json, driver: http, path: json, envelope: json}
	  - {name: hooks, type: hook.*, driver: http}
	  - {name: chosen, header: to=hooks, driver: http, endpoint: "http://127.0.0.1:$RPORT/chosen"}
	  - {name: audit, type: audit.*, driver: nats, subject: "events.kept.{event_type}"}
	END
}
in_stream() { "$LAB" show --nats "$URL" --stream EVENTS --last |
    sed -n 's/^Subject: //p'; }
paths() { received | awk -F'\t' '{ print $2 }' | sort | uniq -c |
    awk '{ print $1 $2 }' | paste -sd ' '; }
waits() { sql "SELECT COUNT(*) FROM outbox JOIN events
    ON sequence = global_sequence WHERE published_at IS NULL
    AND event_type LIKE '$1'"; }
none_waits() { [ "$(waits "$1")" = 0 ]; }
status() { "$OUTBOXCTL" -c "$CONF" status; }
# to NAME FILTER: of a destination
to() { "$OUTBOXCTL" -c "$CONF" --json status | jq -r --arg name "$1" \
    ".this_host.destinations[] | select(.destination == \$name) | $2"; }
is_to() { [ "$(to "$1" "$2")" = "$3" ]; }
has_problem() { "$OUTBOXCTL" -c "$CONF" --json status | jq -e --arg id "$1" \
    '.problems | any(.id == $id)' > /dev/null; }
tells() { status | grep -Eq "$1"; }
# load SECONDS: rows of 20 keys that go to both destinations in turn
load() {
	local until=$((SECONDS + $1)) n=0
	while [ "$SECONDS" -lt "$until" ]; do
		n=$((n + 1))
		sql "INSERT INTO events (stream_id, stream_sequence, event_type,
		    event_data) SELECT CONCAT('k', $LOADS, '-', n), $n,
		    IF((n + $n) % 2, 'hook.load', 'order.load'), '{}'
		    FROM $(numbers 20);
		INSERT INTO outbox (global_sequence, partition_key)
		    SELECT sequence, CONCAT('p', LPAD(CRC32(stream_id) % 16, 2, '0'))
		    FROM events LEFT JOIN outbox ON global_sequence = sequence
		    WHERE global_sequence IS NULL AND stream_id LIKE 'k%'"
		nap 0.1
	done
}
# slowest TYPE: of this load, the longest time to deliver, in ms
slowest() { sql "SELECT COALESCE(MAX(TIMESTAMPDIFF(MICROSECOND, o.created_at,
    published_at)) DIV 1000, 0) FROM outbox o JOIN events
    ON sequence = global_sequence WHERE stream_id LIKE 'f$LOADS-%'
    AND event_type = '$1'"; }
attempts() { sql "SELECT COALESCE(MAX(attempts), 0) FROM outbox"; }
in_order() {
	received | awk -F'\t' '$1 == 200 && !($5 in first) {
		first[$5] = 1
		if ($5 + 0 < last[$4]) { print "key " $4 " row " $5; bad = 1 }
		last[$4] = $5 + 0
	} END { exit bad }'
}

# --- each message to its destination ----------------------------------------

routes_conf
start_fleet
event a 1 order.paid
event a 2 hook.paid
event a 3 order.sent "'{\"to\": \"hooks\"}'"
event a 4 hook.json
event a 5 audit.seen
drains 20 'all five are delivered'
is "$(paths)" '1/chosen/order.sent 1/e/hook.paid 1/e/json' \
    'three went to their endpoints'
is "$(in_stream)" events.kept.audit.seen 'one went to the subject of its route'
is "$("$OUTBOXCTL" -c "$CONF" --json stream info | jq .messages)" 2 \
    'and nothing else to the stream'
like "$(sed '1,/^.$/d' "$RDIR/last"; "$OUTBOXCTL" -c "$CONF" messages show \
    --payload 4)" '"sequence"' 'a route may have its own envelope'
like "$("$OUTBOXCTL" -c "$CONF" --json messages show --payload 3)" \
    '"route": ?"chosen"' 'messages show has the route'

is "$(for n in 1 2 4; do "$OUTBOXCTL" -c "$CONF" --json messages show $n |
    jq -r .route; done | paste -sd ' ')" 'publish.driver hooks wrapped' \
    'without --payload, too'

ALL='nats stream EVENTS, and 5 routes: once, wrapped, hooks, chosen, audit'
words() { "$OUTBOXCTL" -c "$CONF" "$@" | tr -s ' \n' ' '; }
like "$(words status)" " outbox outbox to $ALL .* sends to $ALL " \
    'status names the destinations'
like "$(words doctor)" " routes: messages go to $ALL " 'doctor does, too'

is "$("$OUTBOXCTL" -c "$CONF" --json status | jq -r '[.this_host.destinations[]
    | "\(.destination) \(.state) \(.taken)"] | join(", ")')" "once unused 0, \
wrapped works 1, hooks works 1, chosen works 1, audit works 1, \
publish.driver works 1" 'status: each route is a destination'
is "$(to chosen .to)" "http://127.0.0.1:$RPORT" 'status: where a route leads'

order '/e/once/b 0 500'
event b 1 hook.once
event b 2 hook.paid
# Others are taken by whichever worker has it now, so that the fault is its own.
wait_for 10 is_sql 'SELECT MAX(attempts) FROM outbox' 1
others_and_drained() {
	for i in {1..8}; do event "c$i" $((++NEXT)) hook.once; done
	nap 0.5
	is_drained
}
NEXT=0
wait_for 20 others_and_drained
drains 20 'a route may have its own retries'
is "$(sql "SELECT reason FROM outbox_dead_letters WHERE event_type =
    'hook.once'")" attempts 'one attempt, and it is a dead letter'
order

# --- the endpoint is slow ---------------------------------------------------

# many NUMBER TYPE: each in a key of its own
many() { sql "INSERT INTO events (stream_id, stream_sequence, event_type,
	event_data) SELECT CONCAT('$2', n), 1, '$2', '{}' FROM $(numbers "$1");
    INSERT INTO outbox (global_sequence, partition_key)
	SELECT sequence, CONCAT('p', LPAD(CRC32(stream_id) % 16, 2, '0'))
	FROM events LEFT JOIN outbox ON global_sequence = sequence
	WHERE global_sequence IS NULL AND event_type = '$2'"; }
BEFORE=$(received | wc -l)
order '/e/hook.slow 0 slow 200'
many 600 hook.slow
many 100 hook.json
many 100 order.paid
drained_but_slow() { none_waits hook.json && none_waits 'order.%'; }
wait_for 20 drained_but_slow
ok $? 'slow: others are sent'
check "slow: others do not wait for all that is in front of them" \
    [ "$(received | awk '/json/ { n = NR } END { print n }')" \
    -lt $((BEFORE + 500)) ]
no_problem() { ! has_problem refused_subject; }
check 'slow: it refuses nothing' no_problem
order
drains 20 'slow: all is sent'
order

# --- the endpoint is away ---------------------------------------------------

AWAY=10
is_short && AWAY=2
LOADS=1
stop_receiver
event f1-x 1 hook.first
within 15 'away: status names the route' tells 'route hooks'
within 10 'away: this destination fails' is_to hooks .state fails
like "$("$OUTBOXCTL" -c "$CONF" --json messages show "$(sql "SELECT MAX(sequence)
    FROM events WHERE event_type = 'hook.first'")" | jq -r .waits_for)" \
    'its destination, which does not take it now: http' \
    'away: messages show says what it waits for'
like "$(to hooks '"\(.failed_percent) \(.last_error)"')" \
    '^[1-9][0-9]* http.*onnect' 'away: its failures and last error'
is "$(to chosen .state) $(to publish.driver .state)" 'works works' \
    'away: the others do not'
within 10 'away: a problem' has_problem destination_fails
for n in {1..20}; do
	event f1-$n 1 order.steady
	event f1-$n 2 hook.steady
	nap 0.2
done
within 5 'away: nothing for the stream waits' none_waits 'order.%'
check "away: the stream is not delayed ($(slowest order.steady) ms)" \
    [ "$(slowest order.steady)" -lt 1000 ]
is "$(waits 'hook.%')" 21 'away: what is for the endpoint waits'
LOADS=2
load "$AWAY" &
LOADER=$!
MASTERS+=("$LOADER")
wait "$LOADER"
is "$(attempts)" 0 'away: no attempt is used'
start_receiver
drains 60 'back: all is delivered'
check 'back: in order per key' in_order
is "$(attempts)" 0 'back: still no attempt'
within 10 'back: status does not name the route any more' not tells 'route hooks'
within 5 'back: this destination works' is_to hooks .state works

# --- the broker is away -----------------------------------------------------

LOADS=3
"$SANDBOX" stop "$DIR/nats" > /dev/null
event g 1 order.first
for n in {1..20}; do
	event f3-$n 1 hook.steady
	nap 0.1
done
within 10 'broker away: nothing for the endpoint waits' none_waits 'hook.%'
check "broker away: the endpoint is not delayed ($(slowest hook.steady) ms)" \
    [ "$(slowest hook.steady)" -lt 3000 ]
is "$(waits 'order.%')" 1 'broker away: what is for the stream waits'
sql "INSERT INTO events (stream_id, stream_sequence, event_type, event_data)
        VALUES ('doubt', 1, 'hook.doubt', '{}');
    INSERT INTO outbox (global_sequence, partition_key, in_doubt_since)
        SELECT sequence, 'p00', NOW(6) - INTERVAL 1 DAY FROM events
        WHERE event_type = 'hook.doubt'"
within 15 'broker away: what is in doubt at the endpoint does not wait for it' \
    none_waits 'hook.doubt'
LOADS=4
load "$AWAY" &
LOADER=$!
MASTERS+=("$LOADER")
wait "$LOADER"
is "$(attempts)" 0 'broker away: no attempt is used'
"$SANDBOX" restart "$DIR/nats" > /dev/null
drains 60 'broker back: all is delivered'
check 'broker back: what went elsewhere is not missed in the stream' \
    not has_line "$LOG" '(lost|lacks) [0-9]* acknowledged'
nsent=$(sql "SELECT COUNT(ack_sequence) FROM outbox")
is "$("$OUTBOXCTL" -c "$CONF" stream republish --dry-run)" \
    "$nsent delivered rows: $nsent are in stream EVENTS, 0 are not" \
    'stream republish does not count it either'
"$SANDBOX" sql "$DIR/db" -e "CREATE DATABASE seen;
    CREATE VIEW seen.events AS SELECT * FROM app.events
        WHERE event_type NOT LIKE 'hook.%' AND event_type <> 'order.sent';
    CREATE VIEW seen.outbox AS SELECT * FROM app.outbox;
    CREATE VIEW seen.outbox_dead_letters AS
        SELECT * FROM app.outbox_dead_letters WHERE event_type LIKE 'order.%'"
out=$("$LAB" check --socket "$SOCKET" --user root --database seen \
    --nats "$URL" --stream EVENTS --wait 20 2>&1)
ok $? 'the stream has each of its messages once and in order' ||
    sed 's/^/# /' <<< "$out"
check 'the endpoint has its own in order' in_order
received | awk -F'\t' '$1 == 200 || $1 == "slow" { print $5 }' | sort -un \
    > "$DIR/got"
sql "SELECT sequence FROM events LEFT JOIN outbox_dead_letters d
    ON d.global_sequence = sequence WHERE d.global_sequence IS NULL
    AND (events.event_type LIKE 'hook.%' OR events.event_type = 'order.sent')" |
    sort -un > "$DIR/want"
check 'and all of them' cmp -s "$DIR/got" "$DIR/want"
stops 'the daemon stops'

event once 1 order.paid
event once 2 hook.paid
"$OUTBOX_MASTER" -c "$CONF" --once > "$DIR/once" 2>&1
is "$? $(pending)" '0 0' '--once: the stream is checked before messages go' ||
    sed 's/^/# /' "$DIR/once"

# A stream that was made anew gets its own again, and no endpoint a second copy.
"$LAB" stream --nats "$URL" --name EVENTS --delete
"$LAB" stream --nats "$URL" --name EVENTS --subjects 'events.>' \
    --dup-window 600
sql 'DELETE FROM outbox WHERE ack_sequence > 3'
nsent=$(sql 'SELECT COUNT(ack_sequence) FROM outbox')
"$OUTBOXCTL" -c "$CONF" stream republish --yes > "$DIR/once" 2>&1
is "$(pending)" "$nsent" 'republish: only what has been in the stream waits' ||
    sed 's/^/# /' "$DIR/once"
rows_are 0 "outbox JOIN events ON sequence = global_sequence
    WHERE published_at IS NULL AND event_type LIKE 'hook.%'" \
    'and nothing of the endpoint'
"$OUTBOX_MASTER" -c "$CONF" --once > "$DIR/once" 2>&1
is "$(pending) $("$OUTBOXCTL" -c "$CONF" --json stream info | jq .messages)" \
    "0 $nsent" 'it is in the new stream' || sed 's/^/# /' "$DIR/once"
write_conf
is "$("$OUTBOXCTL" -c "$CONF" stream republish --dry-run)" \
    "$nsent delivered rows: $nsent are in stream EVENTS, 0 are not" \
    'nor does what an endpoint got count when the routes are gone'

# --- messages that no route takes -------------------------------------------

routes_conf 'unmatched: hold'
start_fleet
event h 1 hook.paid
event h 2 other.a
event h 3 hook.paid
event i 1 hook.paid
within 15 'hold: what no route takes waits, and its key' \
    is_sql 'SELECT COUNT(*) FROM outbox WHERE published_at IS NULL' 2
within 10 'hold: status says why' tells 'no route'
routes_conf 'driver: nats'
kill -HUP "$MASTER"
drains 30 'a reload with a route for it sends it'
stops 'the daemon stops'

routes_conf 'unmatched: dead'
start_fleet
event j 1 other.b
event j 2 hook.paid
drains 20 'dead: what no route takes is a dead letter'
is "$(sql "SELECT last_error FROM outbox_dead_letters WHERE event_type =
    'other.b'")" 'no route of publish.routes matches' 'and says why'
stops 'the daemon stops'

# --- each is connected by itself --------------------------------------------

(umask 077; echo secret > "$DIR/token")
TOKEN=$DIR/token routes_conf
start_fleet
rm "$DIR/token"
mapfile -t OLD < <(worker_pids "$MASTER")
kill -9 "${OLD[@]}"
wait_for 20 not kill -0 "${OLD[0]}" 2> /dev/null
event k 1 hook.paid
event k2 1 order.paid
within 20 'no token: the stream gets its messages' none_waits 'order.paid'
is "$(waits hook.paid)" 1 'no token: what is for the endpoint waits'
(umask 077; echo secret > "$DIR/token")
drains 20 'with the token the endpoint gets it'

# A hung endpoint: it is named, and none of its types.
if ! is_short; then
	order '/e 0 hang'
	for n in {1..4}; do
		event n$n 1 hook.hung$n
	done
	for n in {1..10}; do
		event n$n-x 1 order.beside
		nap 0.3
	done
	within 10 'endpoint hung: nothing for the stream waits' \
	    none_waits 'order.%'
	within 10 'endpoint hung: status names its route' \
	    tells 'route hooks takes no messages: no answer'
	check 'endpoint hung: and no type' not tells 'type hook'
	order
	drains 60 'endpoint hung: it goes on, and all is delivered'
	is "$(attempts)" 0 'endpoint hung: no attempt is used'
fi

# A hung broker: the endpoint waits for one time-out, and hardly after that.
if ! is_short; then
	event m 1 order.first
	drains 20 'all is delivered'
	kill -STOP "$(cat "$DIR/nats/pid")"
	for n in {1..4}; do
		event m$n 1 order.hung$n
	done
	LOADS=5
	for n in {1..30}; do
		event f5-$n 1 hook.steady
		nap 0.3
	done
	within 15 'hung: nothing for the endpoint waits' none_waits 'hook.%'
	check "hung: the endpoint is not delayed ($(slowest hook.steady) ms)" \
	    [ "$(slowest hook.steady)" -lt 6000 ]
	check 'hung: status names the broker' tells 'route to the broker'
	kill -CONT "$(cat "$DIR/nats/pid")"
	drains 60 'it goes on: all is delivered'
	is "$(attempts)" 0 'and no attempt is used'
fi
stops 'the daemon stops'

done_testing
