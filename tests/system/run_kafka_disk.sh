#!/usr/bin/env bash
# The disk of a Kafka broker is full: messages wait, and none is lost
. "${srcdir:-$(dirname "$0")/../..}/tests/lib/lib.sh"
. "$srcdir/tests/lib/kafka.sh"
is_short && skip_all 'a long test'

mkdir "$DIR/kafka"
mount -t tmpfs -o size=200m tmpfs "$DIR/kafka" 2> "$DIR/mount" ||
    skip_all 'no right to mount'
end() {
	"$SANDBOX" stop "$DIR/kafka" > /dev/null 2>&1
	umount -l "$DIR/kafka"
	cleanup
}
trap end EXIT
start_kafka
start_servers
topic "$TOPIC" 3
use_kafka "\"$BROKER\""
start_fleet
produce --events 100 --keys 30 --payload 100 --bulk
drains 30 'all rows are sent'

free=$(df --output=avail -k "$DIR/kafka" | tail -n 1)
head -c $(((free - 1000) * 1024)) /dev/zero > "$DIR/kafka/filler"
produce --events 4000 --keys 30 --payload 1000 --bulk
tells() {
	"$OUTBOXCTL" -c "$CONF" status |
	    grep -Eq 'start the brokers at|torage|not connected'
}
within 60 'a full disk: status tells that nothing can be sent' tells
check 'rows wait' not is_drained
rm "$DIR/kafka/filler"
"$SANDBOX" kill "$DIR/kafka" > /dev/null 2>&1
"$SANDBOX" restart "$DIR/kafka" > /dev/null
drains 90 'with room again all are sent'
is "$(sql 'SELECT MAX(attempts) FROM outbox')" 0 'no attempt is counted'
check_topic 'the topic is complete and in order, nothing twice'
done_testing
