# kafka.sh - how fast a backlog goes to a broker of Kafka on this machine
#
# As drain, to a topic with as many partitions as workers lease at most.  The
# broker has the heap and the compilers that it has by default.

# shellcheck shell=bash disable=SC1091,SC2034,SC2154

kafka_fleet_start() {
	WORKERS=$1 BATCH=1000 LEASE_TTL=3600 HEARTBEAT_TTL=3600 \
	    HANG_TIMEOUT=0 write_conf
	sed -i "s|^publish: {|publish: {driver: kafka, |
	    s|^nats: .*|kafka: {brokers: [\"$BROKER\"], topic: \"events.{event_type}\"}|" "$CONF"
	owned_fleet_start "$1"
}

section_kafka() {
	local run
	. "$top/tests/lib/kafka.sh"
	# As Kafka's own scripts have it.
	export KAFKA_HEAP_OPTS=-Xmx1G KAFKA_JVM_PERFORMANCE_OPTS=-XX:+UseG1GC
	start_kafka
	NATS_PID=$(<"$DIR/kafka/pid")
	for ((run = 1; run <= REPEAT; run++)); do
		describe kafka "rows=$ROWS" "workers=$FLEETSIZE" "run=$run"
		topic events.lab.event 12
		kafka_fleet_start "$FLEETSIZE"
		settled_drain "$ROWS"
		figure broker_cpu "$(calc "$CPU_NATS / $ROWS" 1)" us/msg
		judge "$ROWS" --kafka "$ADMIN" --topic 'events.*'
		topic_delete events.lab.event
		reset
	done
	"$SANDBOX" stop "$DIR/kafka"
	NATS_PID=$(<"$DIR/nats/pid")
}
