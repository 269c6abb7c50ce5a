# kafka.sh - chaos with a broker of Kafka; sourced by run.sh
#
# All clients of the broker but the laboratory go through a proxy, whose address
# is the one that the broker tells them.

# shellcheck shell=bash disable=SC2034,SC2154

. "$srcdir/tests/lib/kafka.sh"

KAFKA_TOPICS=(events.lab.event events.chaos.slow)
RECREATED=0 HELD=()

kafka_start() {
	local name
	start_kafka
	[ -z "$HAVE_PROXY" ] || {
		proxy_start kafka && "$SANDBOX" stop "$DIR/kafka" || return
		start_kafka "advertised.listeners=$(
		    )CLIENT://127.0.0.1:$PROXY_PORT_kafka,ADMIN://$ADMIN"
	}
	for name in "${KAFKA_TOPICS[@]}"; do topic "$name" 6; done
}

# kafka_conf FILE: what is for NATS is for Kafka
kafka_conf() {
	local at=127.0.0.1:${PROXY_PORT_kafka:-${BROKER##*:}}
	sed -i "s|^publish: {|publish: {driver: kafka, |
	    s|^nats: .*|kafka: {brokers: [\"$at\"], topic: \"events.{event_type}\"}|" "$1"
}

plan_kafka_kill() { plan_pause kafka_kill kafka 0 2500 6000 "$1"; }
plan_kafka_stop() { plan_pause kafka_stop kafka 1000 6000 500 "$1"; }

plan_topic_recreate() {
	[ -z "$HAVE_PROXY" ] || is_busy kafka "$1" || is_busy pkafka "$1" &&
	    return 1
	below 2
	occupy kafka $(($1 + 8000))
	occupy pkafka $(($1 + 8000))
	PLAN+=("$1 topic_recreate ${KAFKA_TOPICS[R]}")
}

do_kafka_kill() { server_kill kafka "$1"; }
do_kafka_stop() { server_stop kafka "$1"; }

# Nothing comes to the broker, and no answer from it, until that is done; then
# what was sent to the topic of before comes to the one of now.
do_topic_recreate() {
	local pid
	server_is_free kafka && [ -n "$PROXY_kafka" ] || return 1
	RECREATED=$((RECREATED + 1)) HELD=("$PROXY_kafka")
	pause "$PROXY_kafka"		# first: it makes children
	for pid in $(proxy_children kafka); do
		HELD+=("$pid")
		pause "$pid"
	done
	in_background recreate recreate "$1" "gone.$RECREATED"
}

# recreate TOPIC NAME: whose rows were acknowledged before nobody may send again
recreate() {
	timeout 60 "$LAB" recreate --kafka "$ADMIN" --topic "$1" --into "$2" ||
	    return
	timeout 5 "$SANDBOX" sql "$DIR/now" -N app -e 'SELECT global_sequence
	    FROM outbox WHERE published_at IS NOT NULL' > "$DIR/$2.acked" ||
	    rm "$DIR/$2.acked"	# the database is away
}

# What the topics of before and of now have was in doubt.
check_recreated() {
	local n again
	"$LAB" list --kafka "$ADMIN" --topic 'events.*' > "$DIR/records"
	for ((n = 1; n <= RECREATED; n++)); do
		[ -e "$DIR/gone.$n.acked" ] || continue
		awk -v n="$n" '{ g = /^gone/ ? substr($1, 6) + 0 : 1e9 }
		    g == n { there[$3] } g > n && $3 in there { print $3 }' \
		    "$DIR/records" | sort -u > "$DIR/again"
		again=$(wc -l < "$DIR/again")
		is "$(sort "$DIR/gone.$n.acked" | comm -12 - "$DIR/again" |
		    head -n 3)" '' "topic $n made anew: what was acknowledged $(
		    )is not sent again ($again in doubt were)"
	done
}

ended_recreate() {
	local pid
	[ "$1" -eq 0 ] || violation "recreate: status $1"
	for pid in "${HELD[@]}"; do resume "$pid"; done
}
