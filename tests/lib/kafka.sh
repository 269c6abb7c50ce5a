# kafka.sh - a Kafka broker for a test; sourced by bash after lib.sh
#
# start_kafka sets BROKER, the address for the daemon, and ADMIN, where all is
# allowed.  For the rest: "$SANDBOX" stop|kill|restart "$DIR/kafka".

# shellcheck shell=bash disable=SC2034,SC2154

TOPIC=events.lab.event		# of what produce makes

# use_kafka BROKERS [KEY]: in place of NATS, with another key of the section;
# what is in doubt, or of the dead, is met soon
use_kafka() {
	local WORKERS=${WORKERS:-2} CLAIM_TTL=${CLAIM_TTL:-8}
	local TIMEOUT_MS=${TIMEOUT_MS:-1500} HEARTBEAT_TTL=3
	local LEASE_TTL=3 LEASE_RENEW=1
	write_conf
	sed -i "s|^publish: {|&driver: kafka, |
	    s|^nats: .*|kafka: {brokers: [$1]${2:+, $2}}|" "$CONF"
}

# check_topic NAME: it has each event once, each key in order
check_topic() {
	"$LAB" check --socket "$SOCKET" --database app --kafka "$ADMIN" \
	    --topic "$TOPIC" --wait 10 > "$DIR/check" 2>&1
	ok $? "$1" || sed 's/^/# /' "$DIR/check"
}
# holds NAME: the same, but for the order
holds() {
	"$LAB" check --socket "$SOCKET" --database app --kafka "$ADMIN" --json \
	    --topic "$TOPIC" --wait 10 2> /dev/null | sed -n '/^{/p' |
	    jq -c '[.lost, .duplicated]' > "$DIR/check"
	is "$(cat "$DIR/check")" '[0,0]' "$1"
}

# problem ID: status has it, and it goes to $DIR/problem
problem() {
	"$OUTBOXCTL" -c "$CONF" status --json |
	    jq -e --arg id "$1" '.problems[] | select(.id == $id)' > "$DIR/problem"
}
no_problem() { ! problem "$1"; }

# cluster_of_kafka [KEY=VALUE...]: three brokers; sets BROKERS and ADMIN
cluster_of_kafka() {
	"$SANDBOX" cluster kafka "$DIR" 3 "$@" || {
		echo 'Bail out! no cluster of Kafka'
		exit 1
	}
	BROKERS=$(. "$DIR/env" && sed 's/[^,]*/"&"/g' <<< "$HOSTS")
	ADMIN=$(. "$DIR/n1/env" && echo "$HOST:$ADMIN_PORT")
}

# need_kafka: fetches it, the first time on a machine, or ends the test
need_kafka() {
	"$SANDBOX" kafka-tree > "$DIR/kafka-tree" 2>&1 && return
	skip_all "no Kafka: $(tail -n 1 "$DIR/kafka-tree")"
}

# start_kafka [KEY=VALUE...]: lines for the broker's properties, as of the
# functions below
start_kafka() {
	need_kafka
	"$SANDBOX" start kafka "$DIR/kafka" "$@" || {
		echo 'Bail out! no Kafka'
		exit 1
	}
	BROKER=$(. "$DIR/kafka/env" && echo "$HOST:$PORT")
	ADMIN=$(. "$DIR/kafka/env" && echo "$HOST:$ADMIN_PORT")
}

# disk_keep, disk_back: the broker's disk goes back to what it was
disk_keep() {
	"$SANDBOX" stop "$DIR/kafka"
	cp -a "$DIR/kafka/data" "$DIR/older"
	"$SANDBOX" restart "$DIR/kafka" > /dev/null
}
disk_back() {
	"$SANDBOX" kill "$DIR/kafka"
	rm -r "$DIR/kafka/data"
	mv "$DIR/older" "$DIR/kafka/data"
	"$SANDBOX" restart "$DIR/kafka" > /dev/null
}

# looks: a look of the audit that began later than now has found nothing
looks() {
	local now
	now=$(sql 'SELECT NOW(6)')
	wait_for 60 is_sql "SELECT checked_at > '$now' FROM outbox_streams
	    WHERE name = 'topics of Kafka'" 1
}
# send N: events, and wait until they are sent
send() {
	produce --events "$1" --keys 30 --payload 100 --bulk
	drains 30 "$1 rows are sent"
}
nlost() { grep -c 'lost .* acknowledged' "$LOG"; }
sent_since() { sql "SELECT COUNT(*) FROM outbox WHERE published_at > '$1'"; }

# kafka_client PROTOCOL: the daemon's listener is PLAINTEXT, SSL, SASL_PLAINTEXT
# or SASL_SSL
kafka_client() {
	echo "listener.security.protocol.map=CLIENT:$1,$(
	    )ADMIN:PLAINTEXT,CONTROLLER:PLAINTEXT"
}

# kafka_users NAME=PASSWORD...: by PLAIN, since the SCRAM of librdkafka before
# 2.6.1 is one that Kafka 4 refuses
kafka_users() {
	local user text=''
	for user; do text+=" user_${user%%=*}=\"${user#*=}\""; done
	echo sasl.enabled.mechanisms=PLAIN
	echo "listener.name.client.plain.sasl.jaas.config=$(
	    )org.apache.kafka.common.security.plain.PlainLoginModule $(
	    )required$text;"
}

# Users may do what kafka_allow has allowed.
kafka_acls() {
	echo 'authorizer.class.name=org.apache.kafka.metadata.authorizer.StandardAuthorizer'
}

# kafka_tls KEY CERTIFICATE: files in PEM; the key in PKCS #8
kafka_tls() {
	cat "$1" "$2" > "$DIR/kafka.pem"
	echo listener.name.client.ssl.keystore.type=PEM
	echo "listener.name.client.ssl.keystore.location=$DIR/kafka.pem"
}

kafka_tool() { "$SANDBOX" kafka-tool "$DIR/kafka" "$@" > "$DIR/kafka-tool" 2>&1; }

# kafka_allow USER TOPIC OPERATION...: Write, Describe, Read, ...
kafka_allow() {
	local operation args=()
	for operation in "${@:3}"; do args+=(--operation "$operation"); done
	kafka_tool AclCommand --add --force --allow-principal "User:$1" \
	    --topic "$2" "${args[@]}"
}

# kafka_allow_cluster USER OPERATION
kafka_allow_cluster() {
	kafka_tool AclCommand --add --force --allow-principal "User:$1" \
	    --cluster --operation "$2"
}

# kafka_quota BYTES: of all that producers send, a second
kafka_quota() {
	kafka_tool ConfigCommand --alter --entity-type clients \
	    --entity-default --add-config "producer_byte_rate=$1"
}

# topic NAME [PARTITIONS [KEY=VALUE...]]: makes it, or gives it more partitions
# and these settings
topic() {
	local line args=()
	for line in "${@:3}"; do args+=(--config "$line"); done
	"$LAB" topic --kafka "$ADMIN" --topic "$1" --partitions "${2:-1}" \
	    "${args[@]}"
}

topic_delete() { "$LAB" topic --kafka "$ADMIN" --topic "$1" --delete; }
