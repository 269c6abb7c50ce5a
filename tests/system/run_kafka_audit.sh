#!/usr/bin/env bash
# What Kafka acknowledged and does not have any more: a disk that went back, an
# unclean election, a topic made anew; and what retention has removed
. "${srcdir:-$(dirname "$0")/../..}/tests/lib/lib.sh"
. "$srcdir/tests/lib/kafka.sh"
is_short && skip_all 'a long test'

log_has() { grep -Eq "$1" "$LOG"; }

start_kafka
start_servers
topic "$TOPIC" 3
use_kafka "\"$BROKER\""
start_fleet
send 300
looks
is "$(sql 'SELECT COUNT(*) FROM outbox WHERE ack_sequence >> 48 NOT IN (1, 2, 3)
    OR ack_sequence IS NULL OR message_hash IS NULL')" 0 \
    'each row has the place of its record'

# --- a disk that went back --------------------------------------------------

# What tells such a topic from one made anew are rows older by a claim.
wait_for 20 is_sql 'SELECT MAX(published_at) < NOW(6) - INTERVAL 8 SECOND
    FROM outbox' 1
disk_keep
send 500
disk_back
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

# --- partitions are added ---------------------------------------------------

topic "$TOPIC" 4
within 20 'partitions are added: the log tells it' \
    log_has "topic $TOPIC has 4 partitions now, 3 before: keys go"

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
holds 'the topic is complete, nothing twice'

# --- kafka.recover ----------------------------------------------------------

stop_master "$MASTER"
use_kafka "\"$BROKER\"" 'recover: report'
start_fleet
disk_keep
send 50
looks
disk_back
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

cluster_of_kafka
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
