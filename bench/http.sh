# http.sh - how fast a backlog goes to an HTTP server on this machine
#
# As drain, but the server is nginx with one process, of which nothing is stored
# and which logs each request.

# shellcheck shell=bash disable=SC1091,SC2034,SC2154

HTTP_CONCURRENCY=${HTTP_CONCURRENCY:-64}

requests() { cat "$NGINX_LOG_FILE" 2> /dev/null | wc -l; }
has_requests() { [ "$(requests)" -ge "$1" ]; }

# http_fleet_start WORKERS: and wait until they are ready
http_fleet_start() {
	WORKERS=$1 BATCH=1000 LEASE_TTL=3600 HEARTBEAT_TTL=3600 HANG_TIMEOUT=0 \
	    http_conf "concurrency: $HTTP_CONCURRENCY"
	owned_fleet_start "$1"
}

# http_drain ROWS WORKERS: sets RATE, as drain does
http_drain() {
	local before
	before=$(requests)
	http_fleet_start "$2"
	settled_drain "$1"
	# Each row was delivered, by one request.
	wait_for 10 has_requests $((before + $1))
	is_sql 'SELECT COUNT(published_at) FROM outbox' "$1" &&
	    [ "$(requests)" -eq $((before + $1)) ] ||
	    die "$(($(requests) - before)) requests for $1 rows"
	reset
}

section_http() {
	local port run
	. "$top/tests/lib/http.sh"
	port=$(free_port)
	NGINX_LOG_FILE=$DIR/nginx/requests
	NGINX_LOG="$NGINX_LOG_FILE combined buffer=64k flush=1s"
	start_nginx "$port" || skip_all 'no nginx'
	HELPERS+=("${MASTERS[@]}")	# ends with us
	ENDPOINT=http://127.0.0.1:$port/e
	for ((run = 1; run <= REPEAT; run++)); do
		describe http "rows=$ROWS" "workers=$FLEETSIZE" \
		    "concurrency=$HTTP_CONCURRENCY" "run=$run"
		http_drain "$ROWS" "$FLEETSIZE"
	done
	kill "${HELPERS[@]}"
	wait "${HELPERS[@]}" 2> /dev/null
	HELPERS=()
}
