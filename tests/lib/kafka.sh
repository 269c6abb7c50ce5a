# kafka.sh - a Kafka broker for a test; sourced by bash after lib.sh
#
# start_kafka sets BROKER, the address for the daemon, and ADMIN, where all is
# allowed.  For the rest: "$SANDBOX" stop|kill|restart "$DIR/kafka".

# shellcheck shell=bash disable=SC2034,SC2154

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
