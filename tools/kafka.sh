# kafka.sh - sandbox start kafka, kafka-tree and kafka-tool; sourced by
# tools/sandbox
#
# A broker is one Java process, with a controller in it (KRaft).  The libraries, and an archive of
# their classes that halves the time of a start, are the tree.

# shellcheck shell=bash disable=SC2034,SC2154

kafka_tree=${OUTBOX_KAFKA_TREE:-$cache/outbox-master/kafka}
# Members of a cluster are those with the same controller.
kafka_cluster=MkU3OEVBNTcwNTJENDM2Qg

# Set java to the program and its options.  The second compiler takes more time at
# a start than it saves.
kafka_java() {
	local own='-XX:+UseSerialGC -XX:TieredStopAtLevel=1'
	read -ra java <<<"java ${KAFKA_HEAP_OPTS:--Xmx256m} $(
	    )${KAFKA_JVM_PERFORMANCE_OPTS:-$own}"
	[ ! -e "$TREE/kafka.jsa" ] ||
	    java+=("-XX:SharedArchiveFile=$TREE/kafka.jsa")
	java+=(-Dorg.slf4j.simpleLogger.showDateTime=true
	    -Dorg.slf4j.simpleLogger.dateTimeFormat=HH:mm:ss.SSS
	    -cp "$TREE/lib/*")
}

kafka_ports() {
	until ((ADMIN_PORT > 0 && ADMIN_PORT != PORT &&
	    CONTROLLER_PORT != PORT && CONTROLLER_PORT != ADMIN_PORT)); do
		free_port ADMIN_PORT
		free_port CONTROLLER_PORT
	done
}

# Set BASH_REMATCH[2] to the version, by the name of a library.
kafka_version() {
	[[ $(echo "$TREE"/lib/kafka-server-4*.jar) =~ (server-)([0-9.]+)\. ]]
}

# kafka_lines: a broker has its own controller, or that of n1 in a cluster.
# CLIENT is for the daemon, and as the caller wants it; the other listeners are
# open.  A killed broker comes back when its session has ended.
kafka_lines() {
	local listeners=CLIENT://$HOST:$PORT,ADMIN://$HOST:$ADMIN_PORT
	local own=$HOST:$CONTROLLER_PORT
	if [ -n "${OUTBOX_SANDBOX_CONTROLLER-}" ]; then
		own=$OUTBOX_SANDBOX_CONTROLLER
		echo process.roles=broker
	else
		listeners+=,CONTROLLER://$own
		echo process.roles=broker,controller
	fi
	cat <<-E
	node.id=1
	controller.quorum.voters=1@$own
	listeners=$listeners
	listener.security.protocol.map=CLIENT:PLAINTEXT,ADMIN:PLAINTEXT,CONTROLLER:PLAINTEXT
	inter.broker.listener.name=ADMIN
	controller.listener.names=CONTROLLER
	super.users=User:ANONYMOUS
	log.dirs=$D/data
	broker.heartbeat.interval.ms=500
	broker.session.timeout.ms=2000
	auto.create.topics.enable=false
	offsets.topic.replication.factor=1
	offsets.topic.num.partitions=1
	transaction.state.log.replication.factor=1
	transaction.state.log.min.isr=1
	share.coordinator.state.topic.replication.factor=1
	share.coordinator.state.topic.min.isr=1
	group.initial.rebalance.delay.ms=0
	E
}

# Java's properties end at a line break, and the last one of a key counts.
kafka_format() {
	timeout "$timeout" "${java[@]}" kafka.tools.StorageTool format \
	    -t "$kafka_cluster" -c "$CONF" >>"$LOG" 2>&1 ||
	    broken "format its directory"
}

# Another process may fetch it at the same time.
cmd_kafka_tree() {
	local work=$kafka_tree.new program
	for program in java mvn; do
		command -v "$program" >/dev/null ||
		    { say "kafka: no $program"; exit 77; }
	done
	mkdir -p -- "${kafka_tree%/*}"
	exec {lock_fd}>"$kafka_tree.lock"
	flock "$lock_fd"
	[ ! -e "$kafka_tree" ] || return 0
	rm -rf -- "$work"
	mkdir -p -- "$work"
	cat >"$work/pom.xml" <<-E
	<project>
	  <modelVersion>4.0.0</modelVersion>
	  <groupId>local</groupId>
	  <artifactId>kafka</artifactId>
	  <version>1</version>
	  <dependencies>
	$(kafka_artifact org.apache.kafka kafka_2.13 4.4.0)
	$(kafka_artifact org.apache.kafka kafka-tools 4.4.0)
	$(kafka_artifact org.slf4j slf4j-simple 1.7.36)
	  </dependencies>
	</project>
	E
	mvn -q -B -f "$work/pom.xml" -DincludeScope=runtime \
	    "-DoutputDirectory=$work/lib" >&2 \
	    org.apache.maven.plugins:maven-dependency-plugin:3.8.1:copy-dependencies ||
	    { say "kafka: its libraries cannot be fetched"; exit 77; }
	mv -T -- "$work" "$kafka_tree"
	kafka_archive
}

kafka_artifact() {
	echo "<dependency><groupId>$1</groupId><artifactId>$2</artifactId>" \
	    "<version>$3</version></dependency>"
}

# What a server has loaded when it ends, in a form that is read faster.  It names
# the files of the tree, which must be in their place.
kafka_archive() {
	local first
	first=$(mktemp -d)
	JAVA_TOOL_OPTIONS=-XX:ArchiveClassesAtExit=$kafka_tree/new.jsa \
	    "$0" start kafka "$first"
	"$0" stop "$first"
	rm -r -- "$first"
	mv -- "$kafka_tree/new.jsa" "$kafka_tree/kafka.jsa"
}

# kafka_tool CLASS [ARG...]: of the tools of Kafka, at the open port
kafka_tool() {
	kafka_java
	exec "${java[@]}" -Dorg.slf4j.simpleLogger.defaultLogLevel=warn "org.apache.kafka.tools.$1" \
	    --bootstrap-server "$HOST:$ADMIN_PORT" "${@:2}"
}
