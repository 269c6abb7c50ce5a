#!/usr/bin/env bash
# What an operator of Kafka is told: topics that are missing, with brokers that
# make them and with brokers that do not; rights; outboxctl topic, setup
. "${srcdir:-$(dirname "$0")/../..}/tests/lib/ctl.sh"
. "$srcdir/tests/lib/kafka.sh"
is_short && skip_all 'a long test'
command -v kcat > /dev/null || skip_all 'no kcat'

mapfile -t LINES_ < <(kafka_client SASL_PLAINTEXT
    kafka_users relay=s3cret-relay
    kafka_acls)
start_kafka "${LINES_[@]}"
start_servers
keep_secret "$DIR/password" s3cret-relay
export BACKOFF=0.2 MAX_BACKOFF=1 JITTER=0 IDLE=100 TIMEOUT_MS=2000

as_admin() { use_kafka "\"$ADMIN\""; cp "$CONF" "$DIR/admin.yml"; }
as_relay() {
	use_kafka "\"$BROKER\"" "sasl: {mechanism: PLAIN, user: relay, $(
	    )password_file: $DIR/password}${1:+, $1}"
}
# event KEY TYPE: sets SEQ
event() {
	call_enqueue "'$1', NULL, '$2', 1, NULL, NULL, '{}'"
	SEQ=$(sql 'SELECT MAX(sequence) FROM events')
}
state_of() { sql "SELECT CONCAT_WS(' ', published_at IS NOT NULL, attempts)
    FROM outbox WHERE global_sequence = $1"; }
is_sent() { [ "$(state_of "$1")" = '1 0' ]; }
has_error() { sql "SELECT last_error FROM outbox WHERE global_sequence = $1" |
    grep -q "$2"; }
# tells ID REGEX: status has this problem or advice, with its remedy
tells() {
	ctl --json status
	field "(.problems + .advice)[] | select(.id == \"$1\") | .text" |
	    grep -Eq -- "$2"
}
healthy() {
	ctl --json status
	[ "$RC $(field .problems)" = '0 []' ]
}

# --- rights -----------------------------------------------------------------

topic events.made 2
kafka_allow relay '*' Write Describe
as_admin
as_relay
start_fleet
event a made
within 15 'sent, by a user that may only write' is_sent "$SEQ"
within 10 'status: the user may not read, with the remedy' \
    tells stream_settings '^topic events.made may not be read, so a message whose answer is lost waits .*: let the user of kafka.sasl read it, the operation Read$'
matches 'warn +stream_settings: topic events.made may not be read' \
    'doctor: the user may not read' doctor
matches 'warn +topic events.made may not be read' \
    'topic info: the user may not read' topic info events.made
matches 'advice +topic events.made has settings that are not known, .*authorization.*DescribeConfigs' \
    'topic info: the user may not read settings' topic info events.made
# A topic that status does not know, as its name has the key.
stop_master "$MASTER"
topic made.k
sql 'DELETE FROM outbox_streams'	# or only rows of later are looked up
as_relay 'topic: "made.{stream_id}"'
start_fleet
event k made
within 15 'another topic: sent' is_sent "$SEQ"
within 60 'status: the audit may not read it' \
    tells waiting_worker '^janitor: no broker: audit of topics: topic made.k: the user may not read it'
like "$(field '.problems[].remedy')" 'let the user of kafka.sasl read the topic: the operations Read and Describe' \
    'with the remedy'
matches 'warn +waiting_worker: janitor: .* may not read it' \
    'doctor: the same' doctor
stop_master "$MASTER"
as_relay
start_fleet
kafka_allow relay '*' Read DescribeConfigs
within 10 'with the rights nothing is wrong' healthy
kafka_allow relay events.secret Describe
kafka_tool AclCommand --add --force --deny-principal User:relay \
    --topic events.secret --operation All
exits 1 'topic info: a topic of others' topic info events.secret
like "$OUT" 'fail +topic events.secret cannot be used: .*authorization failed: let the user of kafka.sasl write to the topic' \
    'topic info: what it lacks'

# --- setup ------------------------------------------------------------------

fails 1 'topic events.outbox.setup was not created: .*uthorization failed' \
    'setup by a user that may not' setup --yes
like "$OUT" '^    kafka-topics.sh --bootstrap-server .* --create --topic events.outbox.setup$' \
    'it prints the command for an administrator'
OUT=$("$OUTBOXCTL" -c "$DIR/admin.yml" setup --dry-run --partitions 3 2>&1)
like "$OUT" '^    kafka-topics.sh .* events.outbox.setup --partitions 3$' \
    'setup --dry-run prints it, too'
OUT=$("$OUTBOXCTL" -c "$DIR/admin.yml" setup --yes --partitions 3 2>&1)
is $? 0 'setup: exit status'
like "$OUT" '^topic +events.outbox.setup created$' 'setup makes the topic'
like "$OUT" '^event +delivered, to topic events.outbox.setup$' \
    'and its event is delivered there'
is "$(kcat -q -C -e -b "$ADMIN" -t events.outbox.setup -f '%k\n')" \
    outbox-setup 'where it is'
OUT=$("$OUTBOXCTL" -c "$DIR/admin.yml" setup --yes --no-event 2>&1)
is "$? $(grep -c ^topic <<< "$OUT")" '0 0' 'without an event no topic is needed'
"$OUTBOXCTL" -c "$DIR/admin.yml" setup --yes > "$DIR/again" 2>&1
is $? 0 'setup again: exit status'
like "$(cat "$DIR/again")" '^topic +events.outbox.setup exists$' \
    'setup again: the topic exists'

# --- no topic, and the brokers make none ------------------------------------

event b order.placed
placed=$SEQ
event b made
behind=$SEQ
event c made
within 15 'no topic: other keys go on' is_sent "$SEQ"
within 15 'no topic: the error says so' has_error "$placed" 'Unknown topic'
within 10 'status: its type is refused, and the remedy names the command' tells refused_subject \
    'topic events.order.placed: .*: Unknown topic.*: outboxctl topic add events.order.placed, or correct kafka.topic$'
kafka_allow_cluster relay DescribeConfigs
within 10 'status: the topic is missing, and brokers make none' \
    tells stream_unfit '^topic events.order.placed does not exist, so its messages wait: outboxctl topic add events.order.placed, or correct kafka.topic$'
shows '[.problems[].id]' '["stream_unfit"]' 'it is the only problem' status
like "$(field '.topics[] | select(.topic == "events.order.placed")')" \
    '"exists":false' 'status --json: the topic'
is "$(state_of "$placed"), $(state_of "$behind")" '0 0, 0 0' \
    'no topic: no attempt is used, and its key waits'
fails 1 'topic events.order.placed was not made: .*uthorization failed' \
    'topic add by a user that may not' topic add events.order.placed
OUT=$("$OUTBOXCTL" -c "$DIR/admin.yml" topic add --dry-run events.order.placed)
is "$?, $OUT" '0, topic events.order.placed would be made' 'topic add --dry-run'
within 5 'that makes nothing' \
    tells stream_unfit '^topic events.order.placed does not exist'
OUT=$("$OUTBOXCTL" -c "$DIR/admin.yml" topic add --partitions 3 events.order.placed)
is "$?, $OUT" '0, topic events.order.placed made' 'topic add'
within 30 'then it is sent' is_sent "$placed"
within 10 'and what was behind it' is_sent "$behind"
within 10 'and nothing is wrong' healthy
is "$(field '.topics[] | select(.topic == "events.order.placed") |
    [.partitions, .replicas, .min_insync_replicas]')" '[3,1,1]' \
    'status --json: partitions and replicas'
matches 'topics +events.made \(partitions 2, replicas 1\), events.order.placed' \
    'status: the topics' status
shows '[.changed, .dry_run]' '[0,false]' 'topic add: a topic that is there' \
    topic add events.order.placed
check 'what is alike of several topics is told once, and is advice' \
    tells stream_advice '^topic events.made \(and 2 more\) has one replica, '

stop_master "$MASTER"
as_relay 'topic: all.events'
start_fleet
event e made
within 15 'one topic for all, and it is missing: status tells it' tells stream_unfit \
    '^topic all.events does not exist, so its messages wait: outboxctl topic add all.events, or correct kafka.topic$'
event f made
pause 4000
shows '[.problems[].id]' '["stream_unfit"]' 'it stays the only problem' status
is "$(sql 'SELECT MAX(attempts) FROM outbox'), $(pending)" '0, 2' \
    'no attempt is used, and nothing is a dead letter'
"$OUTBOXCTL" -c "$DIR/admin.yml" topic add all.events > "$DIR/added"
drains 30 'sent once it is there'

# --- brokers that make topics, as Kafka's do by default ---------------------

stop_master "$MASTER"
"$SANDBOX" stop "$DIR/kafka" > /dev/null
sed -i '/^auto.create.topics.enable/d' "$DIR/kafka/kafka.properties"
"$SANDBOX" restart "$DIR/kafka" > /dev/null
matches 'advice +topic events.user.added does not exist, and the first message makes it.*outboxctl topic add events.user.added' \
    'topic info: brokers make it' topic info events.user.added
is "$RC" 0 'that is no fault'
matches '^topic +events.user.added$' 'and does not make it' \
    topic info events.user.added
kafka_allow relay '*' Create
as_relay
start_fleet
for _ in 1 2 3; do event d user.added; done
within 30 'no topic: the first message makes it' is_sent "$SEQ"
is "$(sql 'SELECT MAX(attempts) FROM outbox')" 0 'that uses no attempt'
is "$(kcat -q -C -e -b "$ADMIN" -t events.user.added -f '%h\n' |
    grep -o 'Outbox-Sequence=[0-9]*' | paste -sd ' ')" \
    "$(for i in 2 1 0; do echo "Outbox-Sequence=$((SEQ - i))"; done |
    paste -sd ' ')" 'nothing is lost, twice or out of order'
within 10 'a plain broker is healthy' healthy
done_testing
