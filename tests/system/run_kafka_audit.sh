#!/usr/bin/env bash
# What Kafka acknowledged and does not have any more: a disk that went back, an
# unclean election, a topic made anew; and what retention has removed
. "${srcdir:-$(dirname "$0")/../..}/tests/lib/lib.sh"
. "$srcdir/tests/lib/kafka.sh"
is_short && skip_all 'a long test'

TOPIC=events.lab.event
WORKERS=2 CLAIM_TTL=8 TIMEOUT_MS=1500 LEASE_TTL=3 LEASE_RENEW=1 HEARTBEAT_TTL=3

# use_kafka BROKERS [KEY]: in place of NATS, with another key of the section
use_kafka() {
	write_conf
	sed -i "s|^publish: {|&driver: kafka, |
	    s|^nats: .*|kafka: {brokers: [$1]${2:+, $2}}|" "$CONF"
}
nlost() { grep -c 'lost .* acknowledged' "$LOG"; }
sent_since() { sql "SELECT COUNT(*) FROM outbox WHERE published_at > '$1'"; }
# looks: a look that began later than now has found nothing
looks() {
	local now
	now=$(sql 'SELECT NOW(6)')
	wait_for 60 is_sql "SELECT checked_at > '$now' FROM outbox_streams
	    WHERE name = 'topics of Kafka'" 1
}
send() {
	produce --events "$1" --keys 30 --payload 100 --bulk
	drains 30 "$1 rows are sent"
}
# check_topic NAME: it has each event once, each key in order
check_topic() {
	"$LAB" check --socket "$SOCKET" --database app --kafka "$ADMIN" \
	    --topic "$TOPIC" --wait 10 > "$DIR/check" 2>&1
	ok $? "$1" || sed 's/^/# /' "$DIR/check"
}

problem() {
	"$OUTBOXCTL" -c "$CONF" status --json |
	    jq -e --arg id "$1" '.problems[] | select(.id == $id)' > "$DIR/problem"
}
no_problem() { ! problem "$1"; }
log_has() { grep -Eq "$1" "$LOG"; }

start_kafka
start_servers
DATA=$DIR/kafka/data
topic "$TOPIC" 3
use_kafka "\"$BROKER\""
start_fleet
send 300
looks
is "$(sql 'SELECT COUNT(*) FROM outbox WHERE ack_sequence >> 48 NOT IN (1, 2, 3)
    OR ack_sequence IS NULL OR message_hash IS NULL')" 0 \
    'each row has the place of its record'

# --- a disk that went back --------------------------------------------------

"$SANDBOX" stop "$DIR/kafka"
cp -a "$DATA" "$DIR/older"
"$SANDBOX" restart "$DIR/kafka" > /dev/null
send 500
"$SANDBOX" kill "$DIR/kafka"
rm -r "$DATA"
mv "$DIR/older" "$DATA"
"$SANDBOX" restart "$DIR/kafka" > /dev/null
within 40 'a disk that went back: it is noticed' log_has 'lost 500 acknowledged'
drains 30 'what was lost is sent again'
check_topic 'the topic is complete and in order, nothing twice'
is "$(sql 'SELECT MAX(replay_no) FROM outbox')" 0 'with the ids of before'
looks
is "$(nlost)" 1 'once'

# --- what somebody has removed ----------------------------------------------

cat > "$DIR/remove.json" <<-END
{"version": 1, "partitions": [{"topic": "$TOPIC", "partition": 0, "offset": -1},
    {"topic": "$TOPIC", "partition": 1, "offset": -1}]}
END
now=$(sql 'SELECT NOW(6)')
kafka_tool DeleteRecordsCommand --offset-json-file "$DIR/remove.json"
"$SANDBOX" kill "$DIR/kafka"
"$SANDBOX" restart "$DIR/kafka" > /dev/null
looks
is "$(nlost) $(sent_since "$now") $(pending)" '1 0 0' \
    'records that somebody removed are not sent again'
check 'nor are they a problem' no_problem stream_alarm

# --- a topic made anew ------------------------------------------------------

stop_master "$MASTER"
topic_delete "$TOPIC"
topic "$TOPIC" 3
produce --events 100 --keys 30 --payload 100 --bulk
start_fleet
drains 30 'a topic made anew: new messages are sent'
within 60 'a topic made anew: a problem' problem stream_alarm
like "$(cat "$DIR/problem")" "topic $TOPIC lacks all 800 messages" 'that says so'
is "$(nlost) $(sent_since "$now")" '1 100' 'nothing is sent again by itself'
"$OUTBOXCTL" -c "$CONF" stream republish --yes > "$DIR/out" 2>&1
ok $? 'stream republish' || sed 's/^/# /' "$DIR/out"
refilled() { [ "$(sent_since "$now")" = 900 ]; }
within 40 'sends again what the topic lacks' refilled
check 'and the problem is gone' no_problem stream_alarm
"$LAB" check --socket "$SOCKET" --database app --kafka "$ADMIN" --json \
    --topic "$TOPIC" --wait 10 2>&1 | sed -n '/^{/p' |
    jq -c '[.lost, .duplicated]' > "$DIR/check"
is "$(cat "$DIR/check")" '[0,0]' 'the topic is complete, nothing twice'

# --- kafka.recover ----------------------------------------------------------

stop_master "$MASTER"
use_kafka "\"$BROKER\"" 'recover: report'
start_fleet
lose() {
	"$SANDBOX" stop "$DIR/kafka"
	cp -a "$DATA" "$DIR/older"
	"$SANDBOX" restart "$DIR/kafka" > /dev/null
	send 50
	looks
	"$SANDBOX" kill "$DIR/kafka"
	rm -r "$DATA"
	mv "$DIR/older" "$DATA"
	"$SANDBOX" restart "$DIR/kafka" > /dev/null
}
lose
within 40 'kafka.recover: report: a problem' problem lost_messages
like "$(cat "$DIR/problem")" 'lost 50 messages' 'that says how many'
is "$(pending)" 0 'nothing is sent by itself'
"$OUTBOXCTL" -c "$CONF" stream republish --yes > /dev/null
now=$(sql 'SELECT NOW(6)')
refilled() { [ "$(sent_since "$now")" = 50 ]; }
within 40 'stream republish sends them again' refilled
check 'and the problem is gone' no_problem lost_messages
stop_master "$MASTER"
"$SANDBOX" stop "$DIR/kafka"

# --- an unclean election ----------------------------------------------------

"$SANDBOX" cluster kafka "$DIR" 3 || {
	echo 'Bail out! no cluster of Kafka'
	exit 1
}
BROKERS=$(. "$DIR/env" && sed 's/[^,]*/"&"/g' <<< "$HOSTS")
ADMIN=$(. "$DIR/n1/env" && echo "$HOST:$ADMIN_PORT")
"$SANDBOX" kafka-tool "$DIR/n1" TopicCommand --create --topic "$TOPIC" \
    --replica-assignment 2:3,2:3,1:3 --config min.insync.replicas=1 \
    --config unclean.leader.election.enable=true > "$DIR/kafka-tool" 2>&1
clear_rows
sql 'DELETE FROM outbox_streams'	# or what other brokers had is not expected
use_kafka "$BROKERS"
start_fleet
send 300
looks
"$SANDBOX" kill "$DIR/n3"
pause 4000
send 400
"$SANDBOX" kill "$DIR/n2"
"$SANDBOX" restart "$DIR/n3" > /dev/null
before=$(nlost)
more_lost() { [ "$(nlost)" -gt "$before" ]; }
within 90 'an unclean election: it is noticed' more_lost
drains 90 'what was lost is sent again'
"$SANDBOX" restart "$DIR/n2" > /dev/null
check_topic 'the topic is complete and in order, nothing twice'
done_testing
