# masters.sh - masters, kept alive as an init system would; sourced by run.sh

# shellcheck shell=bash disable=SC2034,SC2154

conf_of() { echo "$DIR/m$1.yml"; }
former() { printf '%s\n' "${FORMER[@]}" | sort -n | paste -sd,; }

# The servers that a master knows, as its file lists them.
hosts_of() {
	if [ "$1" -eq 0 ] && [ -n "$PROXY_PORT_db" ]; then
		printf '"127.0.0.1:%s"' "$PROXY_PORT_db"
		[ -z "$WITH_REPLICA" ] ||
		    printf ', "127.0.0.1:%s"' "$PROXY_PORT_db2"
	elif [ -n "$WITH_REPLICA" ]; then
		replica_hosts
	fi
}

# Only the first master sits behind the proxy.  Odd seeds have a listener, every
# fourth collects no rows.
conf_write() {
	local file url=$URL edit='' wake='' linger='' scrub='' hosts
	file=$(conf_of "$1")
	hosts=$(hosts_of "$1")
	[ -z "$hosts" ] || edit="s/socket: \"[^\"]*\"/hosts: [$hosts]/;"
	if [ "$1" -eq 0 ] && [ -n "$PROXY_PORT_db" ]; then
		url=nats://127.0.0.1:$PROXY_PORT_nats
	elif [ -n "$WITH_CLUSTER" ]; then
		edit+="s|servers: [[][^]]*|servers: [$(cluster_servers)|;"
	fi
	[ "$1" -lt "$NMASTERS" ] || edit+='s/database: app/&2/'
	[ $((SEED % 2)) -eq 0 ] || wake='binlog: true'
	[ $((SEED % 4)) -ne 0 ] || linger=0
	# A round of routine is as short as one for a reason.
	! planned damage || scrub=3000
	WAKE=$wake PIDFILE=$DIR/run/m$1.pid WORKERS=${NWORKERS[$1]} LEASE_TTL=3 \
	    LEASE_RENEW=1 HEARTBEAT_TTL=3 CLAIM_TTL=6 TIMEOUT_MS=1500 \
	    IDLE=100 MAX_BACKOFF=4 LINGER=$linger SCRUB=$scrub \
	    BATCH=$((SEED % 3 == 0 ? 1000 : 50)) URL=$url \
	    RETRY='burst: 10000' write_conf "$file.new"
	[ "$TABLES" != pillar ] || [ "${#FORMER[@]}" -eq 0 ] ||
	    edit+="s/partition_count: [0-9]*/&, former_counts: [$(former)]/;"
	sed -i "$edit" "$file.new"
	! has_endpoint || endpoint_conf "$file.new"
	[ "$BUS" != kafka ] || kafka_conf "$file.new"
	[ "${2:-}" != bad ] || sed -i 's/lease_ttl/lease_tttl/' "$file.new"
	mv "$file.new" "$file"
}

master_start() {
	"$OUTBOX_MASTER" -c "$(conf_of "$1")" --silent \
	    >> "$DIR/out" 2>> "$DIR/m$1.log" </dev/null &
	MPID[$1]=$!
	STATE[$1]=up
	STARTS=$((STARTS + 1))
	# shellcheck disable=SC2034
	MASTERS=("${MPID[@]}")	# cleanup ends them
	note "master $1 started as ${MPID[$1]}"
}

# The workers of a killed one, stopped perhaps, still hold the pid file.
is_locked_out() {
	tail -n 3 "$DIR/m$1.log" | grep -q 'still locked by workers of a master'
}

# 1: perhaps locked out; 78: a broken file; 143: asked to leave before it could
# listen.
master_ended() {
	local rc
	wait "${MPID[$1]}"
	rc=$?
	note "master $1, ${MPID[$1]}, ended with status $rc, was ${STATE[$1]}"
	case ${STATE[$1]}:$rc in
	killed:*|leaving:0|leaving:78|leaving:143) ;;
	up:78) NEXT[$1]=$((NOW + 300)) ;;
	up:1|leaving:1)
		NEXT[$1]=$((NOW + 300))
		is_locked_out "$1" ||
		    violation "master $1, pid ${MPID[$1]}: status 1" ;;
	*) violation "master $1, pid ${MPID[$1]}: status $rc when ${STATE[$1]}" ;;
	esac
	STATE[$1]=down
}

supervise() {
	local m
	for ((m = 0; m < NALL; m++)); do
		if [ "${STATE[m]}" = down ]; then
			[ -z "${WANT[m]}" ] || [ "$NOW" -lt "${NEXT[m]}" ] ||
			    master_start "$m"
		elif is_gone "${MPID[m]}"; then
			master_ended "$m"
		elif [ "${STATE[m]}" = leaving ] &&
		    [ "$NOW" -ge "${TERM_BY[m]}" ]; then
			violation "master $m, pid ${MPID[m]}: still there" \
			    "long after SIGTERM"
			STATE[m]=killed
			kill -KILL "${MPID[m]}"
		fi
	done
}

master_leave() {
	[ "${STATE[$1]}" = up ] || return 1
	kill -TERM "${MPID[$1]}"
	STATE[$1]=leaving
	TERM_BY[$1]=$((NOW + STOP_TIMEOUT * 1000 + 3000))
}

# Set PID to the n-th worker of a master, if there is one.
find_worker() {
	local pids
	[ "${STATE[$1]}" != down ] || return 1
	mapfile -t pids < <(worker_pids "${MPID[$1]}" | sort -n)
	[ "${#pids[@]}" -gt 0 ] || return 1
	PID=${pids[$2 % ${#pids[@]}]}
	is_outbox "$PID"
}
