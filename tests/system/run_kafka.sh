#!/usr/bin/env bash
# The driver kafka at a real broker: order, keys, headers and times of records;
# what its refusals mean for a message; workers killed, a broker that goes
. "${srcdir:-$(dirname "$0")/../..}/tests/lib/lib.sh"
. "$srcdir/tests/lib/kafka.sh"
is_short && skip_all 'a long test'
command -v kcat > /dev/null || skip_all 'no kcat'

# One broker for all: users log in by TLS, and may do what is allowed.
openssl req -x509 -newkey rsa:2048 -nodes -keyout "$DIR/key.pem" \
    -out "$DIR/ca.pem" -days 2 -subj /CN=broker \
    -addext subjectAltName=IP:127.0.0.1 2> "$DIR/openssl" ||
    skip_all 'no openssl'
openssl req -x509 -newkey rsa:2048 -nodes -keyout "$DIR/other.key" \
    -out "$DIR/other.pem" -days 2 -subj /CN=other 2> "$DIR/openssl"
mapfile -t LINES_ < <(kafka_client SASL_SSL
    kafka_tls "$DIR/key.pem" "$DIR/ca.pem"
    kafka_users relay=s3cret-relay other=s3cret-other
    kafka_acls
    # what is older than retention.ms goes at once
    printf 'log.%s\n' retention.check.interval.ms=1000 \
	initial.task.delay.ms=1000 segment.delete.delay.ms=1000)
start_kafka "${LINES_[@]}"
start_servers
keep_secret "$DIR/password" s3cret-relay
export WORKERS=2 BACKOFF=0.2 MAX_BACKOFF=1 JITTER=0 IDLE=100 TIMEOUT_MS=2000
export LEASE_TTL=3 LEASE_RENEW=1 HEARTBEAT_TTL=3 RETRY='blame_after: 2'

# kafka_conf [CA]
kafka_conf() {
	write_conf
	sed -i "s/^publish: {/&driver: kafka, /; /^nats:/d" "$CONF"
	cat >> "$CONF" <<-END
	kafka:
	  brokers: ["$BROKER"]
	  sasl: {mechanism: PLAIN, user: relay, password_file: "$DIR/password"}
	  tls: {ca: "$DIR/${1:-ca}.pem"}
	END
}
status() { "$OUTBOXCTL" -c "$CONF" status; }
tells() { status | grep -Eq "$1"; }
# event KEY TYPE [PAYLOAD [TIME]]: sets SEQ
event() {
	SEQ=$(sql "INSERT INTO events (stream_id, stream_sequence, event_type,
	    event_data, occurred_at) VALUES ($1, (SELECT COALESCE(MAX(n), 0) + 1
	    FROM (SELECT stream_sequence AS n FROM events WHERE stream_id = $1) x),
	    '$2', '${3:-{\}}', ${4:-NOW(6)});
	SET @s = LAST_INSERT_ID();
	INSERT INTO outbox (global_sequence, partition_key) VALUES (@s, 'p01');
	SELECT @s")
}
state_of() { sql "SELECT CONCAT_WS(' ', published_at IS NOT NULL, attempts)
    FROM outbox WHERE global_sequence = $1"; }
is_sent() { [ "$(state_of "$1" | cut -c1)" = 1 ]; }
is_dead() { is_sql "SELECT COUNT(*) FROM outbox_dead_letters
    WHERE global_sequence = $1" 1; }
error_of() { sql "SELECT last_error FROM outbox WHERE global_sequence = $1"; }
has_error() { error_of "$1" | grep -Eq "$2"; }
# records TOPIC FORMAT: of kcat
records() { kcat -q -C -e -b "$ADMIN" -t "$1" -f "$2"; }
# check_topic NAME SINCE: events after that one; twice: run_kafka_in_doubt.sh
check_topic() {
	local out
	out=$("$LAB" check --socket "$SOCKET" --user root --database app --json \
	    --kafka "$ADMIN" --topic events.lab.event --since "$2" 2>&1)
	is "$(sed -n '/^{/p' <<< "$out" |
	    jq -c '[.lost, .out_of_order, .foreign, .damaged]')" '[0,0,0,0]' "$1"
}

# --- records ----------------------------------------------------------------

topic events.lab.event 4
topic events.made 4
kafka_allow relay '*' Write Describe DescribeConfigs Read
kafka_allow_cluster relay DescribeConfigs
kafka_conf
start_fleet
produce --events 3000 --keys 50 --payload 200 --bulk
drains 30 'a backlog is sent'
check_topic 'all are there, in order per key' 0

at=$(date -u -d '-11 hours' '+%Y-%m-%d %H:%M:%S.5')
event "'a-key'" made '{"n":1}' "'$at'"
within 10 'a message is sent' is_sent "$SEQ"
is "$(records events.made '%k %s %T\n')" \
    "a-key {\"n\":1} $(date -u -d "$at" +%s)500" \
    'key, value and time are those of the event'
# doc/compatibility.md: what 1.0 has on NATS, the event of tests/compat
topic events.order.paid
sql "INSERT INTO events (sequence, stream_id, stream_sequence, event_type,
    event_version, correlation_id, metadata, occurred_at, event_data)
    VALUES (4711, 'order-1', 11, 'order.paid', 2, 'c-1',
	'{\"tenant\": \"a\", \"traceparent\": \"00-1-2-01\"}',
	'2026-01-31 12:00:00.123456', '{\"total\": 5}');
    INSERT INTO outbox (global_sequence, partition_key) VALUES (4711, 'p03')"
within 10 'an event with all headers is sent' is_sent 4711
is "$(records events.order.paid '%h\n' | tr , '\n' | LC_ALL=C sort | sed 's/=/: /
    s/^\(Outbox-Id: \).*\(-4711-\)/\1compat\2/')" \
    "$(sed -n 's/^nats: //p' "$srcdir/tests/compat/1.0/messages" | sed '/^{/d
    /^Nats-Exp/d; /^Outbox-Source/d; s/^Nats-Msg-Id/Outbox-Id/' | LC_ALL=C sort)" \
    'headers are those of 1.0 on NATS, and the id is in Outbox-Id'
event "'\\n'" made
within 10 'a key that is no plain text' is_sent "$SEQ"
is "$(records events.made '%K\n' | sort | paste -sd ' ')" '1 5' \
    'it goes as its bytes'

# An event that is older than its topic keeps records, which is a week, as after
# a replay; another topic shows that the broker has removed what is too old.
topic events.old
topic events.second 1 retention.ms=1000
event "'o'" old '{}' 'NOW(6) - INTERVAL 30 DAY'
within 10 'an old event is sent' is_sent "$SEQ"
event "'s'" second
within 10 'and then another one' is_sent "$SEQ"
is_removed() { [ -z "$(records events.second %k)" ]; }
within 30 'the broker removes what is too old' is_removed
is "$(records events.old %k)" o 'an old event is not too old for its topic'

# --- doctor, topic info -----------------------------------------------------

ctl() { OUT=$("$OUTBOXCTL" -c "$CONF" "$@" 2>&1); RC=$?; }
ctl topic info events.made
is "$RC" 0 'topic info: exit status'
like "$OUT" 'partitions +4' 'topic info: what it is'
like "$OUT" 'advice +topic events.made has one replica' \
    'topic info: what could be better'
ctl --json topic info events.made events.none
is "$RC $(jq -c '[.topics[] | [.exists, .partitions, .findings[0].level]]' \
    <<< "$OUT")" '1 [[true,4,"advice"],[false,null,"fail"]]' \
    'topic info: one that is not there'
ctl topic info
is "$RC" 2 'topic info: without a topic'
ctl doctor
like "$OUT" 'broker: connected; the cluster has 1' 'doctor: the cluster'
like "$OUT" 'topic events.lab.event.* has one replica' \
    'doctor: the topics of the event types'
topic events.short 1 retention.ms=60000 max.message.bytes=5000
ctl topic info events.short
like "$OUT" 'warn +topic events.short keeps a message for 60 s' 'a short retention'
like "$OUT" 'takes records of 5000 bytes' 'a small max.message.bytes'

# --- whose fault it is ------------------------------------------------------

event "'u'" not.there
within 15 'unknown topic: the error says so' has_error "$SEQ" 'Unknown topic'
event "'v'" made
within 10 'unknown topic: other topics go on' is_sent "$SEQ"
unknown=$((SEQ - 1))
is "$(state_of "$unknown")" '0 0' 'unknown topic: no attempt is used'
topic events.not.there
within 20 'unknown topic: sent once it is there' is_sent "$unknown"

topic events.small 1 max.message.bytes=2000
big=$(printf '%5000s' x)
event "'big'" small "$big"
large=$SEQ
within 15 'too large: the error says so' has_error "$large" 'too large'
event "'small'" small
event "'small'" small
within 45 'too large: a dead letter' is_dead "$large"
like "$(died "$large")" 'Message size too large' 'too large: the reason'
within 10 'too large: the others of its topic are sent' is_sent "$SEQ"
is "$(state_of "$SEQ")" '1 0' 'too large: the others use no attempt'

topic events.late 1 message.timestamp.before.max.ms=600000
event "'t'" late '{}' 'NOW(6) - INTERVAL 30 MINUTE'
old=$SEQ
within 15 'too old for its topic: the error says so' \
    has_error "$old" 'Invalid timestamp'
event "'t2'" late
within 45 'too old for its topic: a dead letter' is_dead "$old"
within 10 'too old: others are sent' is_sent "$SEQ"

event "'bad'" 'no topic!'
within 10 'a type that can be no topic: a dead letter' is_dead "$SEQ"

# --- rights -----------------------------------------------------------------

kafka_tool AclCommand --add --force --deny-principal User:relay \
    --topic events.not.there --operation Write
event "'d'" not.there
denied=$SEQ
within 15 'topic denied: the error says so' has_error "$SEQ" 'authorization failed'
event "'d2'" made
within 10 'topic denied: others go on' is_sent "$SEQ"
is "$(state_of "$denied")" '0 0' 'topic denied: no attempt'
kafka_tool AclCommand --remove --force --deny-principal User:relay \
    --topic events.not.there --operation Write
within 30 'topic denied: sent when it is allowed' is_sent "$denied"

stop_master "$MASTER"
keep_secret "$DIR/password" wrong
kafka_conf
start_master
event "'w'" made
within 20 'wrong password: status tells it' tells 'uthentication'
keep_secret "$DIR/password" s3cret-relay
within 30 'wrong password: read anew' is_sent "$SEQ"

stop_master "$MASTER"
kafka_conf other
start_master
event "'c'" made
within 20 'a certificate of nobody: status tells it' tells 'kafka.tls'
stop_master "$MASTER"
is "$(state_of "$SEQ")" '0 0' 'a certificate of nobody: it gets nothing'
kafka_conf
start_master
within 30 'with the right one it is sent' is_sent "$SEQ"

# --- quota, workers killed, the broker gone ---------------------------------

# Whom nobody answers for long, while others are, uses one by blame_after.
stop_master "$MASTER"
RETRY='' kafka_conf
start_master
QUOTA=$(sql 'SELECT MAX(sequence) FROM events')
attempts() { sql "SELECT COUNT(*) FROM outbox WHERE attempts > 0
    AND global_sequence > $QUOTA"; }
kafka_quota 20000
produce --events 500 --keys 20 --payload 200 --bulk
drains 60 'a quota slows down'
is "$(attempts)" 0 'a quota uses no attempt'
kafka_tool ConfigCommand --alter --entity-type clients --entity-default \
    --delete-config producer_byte_rate

produce_forever --rate 300 --keys 20 --payload 200
for _ in 1 2 3; do
	pause 700
	kill -KILL "$(worker_pids "$MASTER" | head -n 1)"
done
"$SANDBOX" kill "$DIR/kafka"
within 15 'no broker: status tells it' tells 'start the brokers at'
"$SANDBOX" restart "$DIR/kafka" > /dev/null
pause 1000
kill -TERM "$PRODUCER"
wait "$PRODUCER" 2> /dev/null
drains 60 'workers killed, a broker killed: all is sent'
is "$(attempts)" 0 'that uses no attempt'
check_topic 'all are there, in order per key, after all that' "$QUOTA"
done_testing
