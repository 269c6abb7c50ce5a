#!/usr/bin/env bash
# Kafka forgets ids with their producer: messages that a topic may hold already
# are searched for before they are sent again.  Workers killed with messages in
# flight, a broker that stands still, a user that may not read, and a follower
# that keeps records from being seen
. "${srcdir:-$(dirname "$0")/../..}/tests/lib/lib.sh"
. "$srcdir/tests/lib/kafka.sh"

out() { sql 'SELECT COUNT(*) FROM outbox WHERE claim_token IS NOT NULL'; }
are_out() { [ "$(out)" -ge "$1" ]; }
in_doubt() { sql 'SELECT COUNT(*) FROM outbox WHERE in_doubt_since IS NOT NULL'; }
are_in_doubt() { [ "$(in_doubt)" -ge "$1" ]; }
forget_doubts() { sql 'UPDATE outbox SET in_doubt_since = NULL'; }
freeze() { kill -STOP "${FROZEN[@]}"; }
thaw() { kill -CONT "${FROZEN[@]}"; }

# kill_fleet: with messages in flight, and start another
kill_fleet() {
	disown "$MASTER"
	kill -KILL "$MASTER"
	for pid in $(worker_pids "$MASTER"); do kill -KILL "$pid"; done
	wait_for 5 is_gone "$MASTER"
}

# kill_in_flight: which the broker stores when it goes on
kill_in_flight() {
	forget_doubts
	freeze
	produce --events 400 --keys 200 --payload 100 --bulk
	wait_for 5 are_out 200
	pause 300
	kill_fleet
	thaw
	start_master
}

mapfile -t lines < <(kafka_client SASL_PLAINTEXT
    kafka_users relay=relay-secret; kafka_acls)
start_kafka "${lines[@]}"
start_servers
FROZEN=("$(cat "$(. "$DIR/kafka/env" && echo "$PIDFILE")")")
trap 'thaw; cleanup' EXIT
topic "$TOPIC" 3
kafka_allow relay "$TOPIC" Write Describe Read
keep_secret "$DIR/password" relay-secret
use_kafka "\"$BROKER\"" \
    "sasl: {mechanism: PLAIN, user: relay, password_file: $DIR/password}"
start_fleet
produce --events 300 --keys 300 --payload 100 --bulk
wait_for 10 is_drained

kill_in_flight
drains 30 'workers killed with messages in flight: all rows are sent'
doubts=$(in_doubt)
check "some of them were in the topic already ($doubts)" [ "$doubts" -ge 1 ]
check_topic 'the topic is complete and in order, nothing twice'
! is_short || done_testing

# It stores what was written to it when it goes on.
forget_doubts
freeze
produce --events 400 --keys 200 --payload 100 --bulk
within 15 'a broker that stands still: messages are in doubt' are_in_doubt 1
pause 500
thaw
drains 40 'and then all rows are sent'
check_topic 'the topic is complete and in order, nothing twice'
is "$(sql 'SELECT MAX(attempts) FROM outbox')" 0 'no attempt is counted'

# Somebody must know that the topic cannot be read.
unsolved() {
	is_sql "SELECT COUNT(*) > 0 FROM outbox WHERE in_doubt_since IS NOT NULL
	    AND last_error LIKE '%stored already%cannot be searched for it: $(
	    )topic $TOPIC: %authorization%'" 1
}
kafka_tool AclCommand --remove --force --allow-principal User:relay \
    --topic "$TOPIC" --operation Read
kill_in_flight
within 20 'a user that may not read: rows stay in doubt' unsolved
within 30 'status tells it as a problem' problem in_doubt
like "$(jq -r .remedy "$DIR/problem")" \
    '^let the user of kafka.sasl read the topic.*goes on by itself' \
    'with the right that the user lacks'
kafka_allow relay "$TOPIC" Read
drains 40 'it goes on by itself when the user may'
check_topic 'the topic is complete and in order, nothing twice'

# Workers and broker stop and end at random moments, over and over.
produce --events 6000 --keys 300 --payload 100 --rate 300 --per-txn 5 &
PRODUCER=$!
for ((i = 0; i < 20; i++)); do
	pause $((RANDOM % 1000))
	case $((RANDOM % 3)) in
	0)	freeze
		pause $((RANDOM % 3000))
		;;&
	0|1)	for pid in $(worker_pids "$MASTER"); do
			[ $((RANDOM % 2)) = 1 ] || kill -KILL "$pid"
		done ;;&
	2)	for pid in $(worker_pids "$MASTER"); do
			kill -STOP "$pid"
			pause $((RANDOM % 1500))
			kill -CONT "$pid" 2> /dev/null
		done ;;
	esac
	thaw
done
wait "$PRODUCER"
drains 60 'workers and broker, stopped and killed: all rows are sent'
check_topic 'the topic is complete and in order, nothing twice'

# Keys go to other partitions than before, where they were, too, are searched.
produce --events 2000 --keys 300 --payload 100 --rate 400 --per-txn 5 &
PRODUCER=$!
pause 1500
kill_fleet
topic "$TOPIC" 6
start_master
wait "$PRODUCER"
drains 60 'partitions are added: all rows are sent'
holds 'the topic is complete, nothing twice'
stops 'the daemon stops'

# A follower that is in sync, and stands still: what the leader has nobody sees.
cluster_of_kafka broker.session.timeout.ms=20000
FROZEN=("$(cat "$(. "$DIR/n3/env" && echo "$PIDFILE")")")
"$SANDBOX" kafka-tool "$DIR/n1" TopicCommand --create --topic "$TOPIC" \
    --replica-assignment 1:2:3,2:1:3 --config min.insync.replicas=2 \
    > "$DIR/kafka-tool" 2>&1
clear_rows
use_kafka "$BROKERS"
start_fleet
produce --events 60 --keys 60 --payload 100 --bulk
drains 20 'a cluster: all rows are sent'
freeze
produce --events 60 --keys 60 --payload 100 --bulk
within 15 'a follower stands still: messages are in doubt' are_in_doubt 1
pause 6000
thaw
drains 50 'and then all rows are sent'
check_topic 'the topic is complete and in order, nothing twice'
stops 'the daemon stops'

# Fewer replicas in sync than the topic wants: brokers refuse, and all waits.
TOPIC=three
"$SANDBOX" kafka-tool "$DIR/n1" TopicCommand --create --topic "$TOPIC" \
    --replica-assignment 1:2:3,2:3:1 --config min.insync.replicas=3 \
    > "$DIR/kafka-tool" 2>&1
clear_rows
use_kafka "$BROKERS" "topic: $TOPIC"
start_fleet
produce --events 60 --keys 60 --payload 100 --bulk
drains 20 'three replicas: all rows are sent'
"$SANDBOX" stop "$DIR/n3" > /dev/null
produce --events 60 --keys 60 --payload 100 --bulk
within 60 'one is away: status tells what the topic wants' problem stream_unfit
like "$(cat "$DIR/problem")" \
    "topic $TOPIC has a partition with 2 of its replicas in sync, .*min.insync.replicas, 3" \
    'and what it has'
is "$(sql 'SELECT MAX(attempts) FROM outbox') $(pending)" '0 60' \
    'they wait without an attempt'
"$SANDBOX" restart "$DIR/n3" > /dev/null
drains 60 'it is back: all rows are sent'
check_topic 'the topic is complete and in order, nothing twice'
stops 'the daemon stops'

# A partition without a leader: what may be in it waits, and that is told.
FROZEN=("$(cat "$(. "$DIR/n2/env" && echo "$PIDFILE")")")
TOPIC=lone
"$SANDBOX" kafka-tool "$DIR/n1" TopicCommand --create --topic "$TOPIC" \
    --replica-assignment 2 > "$DIR/kafka-tool" 2>&1
clear_rows
use_kafka "$BROKERS" "topic: $TOPIC"
start_fleet
produce --events 60 --keys 60 --payload 100 --bulk
drains 20 'one replica: all rows are sent'
freeze
produce --events 60 --keys 60 --payload 100 --bulk
within 60 'its broker stands still: status tells that messages are in doubt' \
    problem in_doubt
thaw
drains 60 'and then all rows are sent'
check_topic 'the topic is complete and in order, nothing twice'
done_testing
