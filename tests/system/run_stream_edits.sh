#!/usr/bin/env bash
# What operators do to a stream, its account and its server under load: each for
# some seconds, and then it is as before.  All is sent, nothing twice, none dead
. "${srcdir:-$(dirname "$0")/../..}/tests/lib/lib.sh"

is_short && skip_all 'a long test'
ACCOUNT='jetstream: enabled, users: [{user: a, password: a}]'
NATS_LINES=("accounts {A: {$ACCOUNT}}" 'no_auth_user: a')
start_servers
WORKERS=2 CLAIM_TTL=5 LEASE_TTL=3 LEASE_RENEW=1 HEARTBEAT_TTL=3 \
    TIMEOUT_MS=1000 MAX_ATTEMPTS=3 BACKOFF=0.2 MAX_BACKOFF=1 write_conf
NATS_CONF=$DIR/nats/nats.conf
NATS_PID=$(cut -d' ' -f1 "$DIR/nats/process")
grep -v '^accounts' "$NATS_CONF" > "$DIR/nats.plain"

# edit WINDOW [SETTINGS]: the stream, with this duplicate window in s
SUBJECTS=events
edit() {
	js_api STREAM.UPDATE.EVENTS '{"name":"EVENTS","subjects":
	    ["'"$SUBJECTS"'.>"],"storage":"file","num_replicas":1,
	    "duplicate_window":'"${1}000000000${2:+, $2}"'}' > "$DIR/js.out"
	grep -q '"config":' "$DIR/js.out" || echo "Bail out! $(cat "$DIR/js.out")"
}
# account SETTINGS: of the account, by a reload
account() {
	cat "$DIR/nats.plain" - > "$NATS_CONF" <<< "accounts {A: {$1}}"
	kill -HUP "$NATS_PID"
}
move_subjects() {
	SUBJECTS=else edit 600
	js_api STREAM.CREATE.OTHER '{"name":"OTHER","subjects":["events.>"],
	    "storage":"file"}' > "$DIR/js.out"
}
move_back() {
	js_api STREAM.DELETE.OTHER '' > "$DIR/js.out"
	edit 600
}
# narrow: the stream forgets ids while no answer comes
narrow() {
	edit 1
	kill -STOP "$NATS_PID"
	nap 3
	kill -CONT "$NATS_PID"
}

# under NAME COMMAND BACK
under() {
	produce_forever --keys 40 --rate 200
	wait_for 10 is_sql 'SELECT COUNT(*) > 100 FROM outbox' 1
	eval "$2"
	nap 4
	eval "$3"
	nap 1
	kill -TERM "$PRODUCER"
	wait "$PRODUCER"
	drains 60 "$1: all is sent"
	check_stream "$1: complete and in order, nothing twice" --wait 10
	is "$(sql 'SELECT COUNT(*) FROM outbox_dead_letters')" 0 "$1: none dead"
}

start_fleet
under 'no_ack' "edit 600 '\"no_ack\": true'" 'edit 600'
under 'a narrow window, no answers' narrow 'edit 600'
under 'a window that is wide again before they come' \
    'narrow; edit 600' :
under 'its subjects are those of another stream' move_subjects move_back
under 'a limit of each subject' "edit 600 '\"discard\": \"new\",
    \"discard_new_per_subject\": true, \"max_msgs_per_subject\": 1000'" \
    'edit 600'
map() { account "$ACCOUNT, mappings: {\"events.>\": [$1]}"; }
under 'half of the messages go elsewhere' \
    "map '{destination: \"events.>\", weight: 50%},
    {destination: \"nowhere.>\", weight: 50%}'" 'account "$ACCOUNT"'
under 'a permission' "account 'jetstream: enabled, users: [{user: a,
    password: a, permissions: {publish: {deny: \"events.>\"}}}]'" \
    'account "$ACCOUNT"'
under 'a permission to hear answers' "account 'jetstream: enabled,
    users: [{user: a, password: a, permissions: {subscribe: {deny: \">\"}}}]'" \
    'account "$ACCOUNT"'
under 'a limit of the account' "account 'jetstream: {max_mem: 1000,
    max_file: 100000}, users: [{user: a, password: a}]'" 'account "$ACCOUNT"'
under 'no JetStream in the account' \
    "account 'users: [{user: a, password: a}]'" 'account "$ACCOUNT"'
stops 'the master stops with status 0'
done_testing
