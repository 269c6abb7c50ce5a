# http.sh - helpers for tests of the HTTP driver; includes lib.sh, if need be
#
# The receiver of tests/lib/receiver.c, which does as it is told, and nginx.

# shellcheck shell=bash disable=SC2034

declare -F now_ms > /dev/null ||
    . "${srcdir:-$(dirname "$0")/../..}/tests/lib/lib.sh"

RECEIVER=${RECEIVER:-${OUTBOX_MASTER%/*}/receiver}
RDIR=$DIR/receiver
RPORT=

# start_receiver: on its former port, if it had one; sets RPID and RPORT
start_receiver() {
	mkdir -p "$RDIR"
	rm -f "$RDIR/port"
	"$RECEIVER" "$RDIR" ${RPORT:+"$RPORT"} &
	RPID=$!
	MASTERS+=("$RPID")
	wait_for 10 test -e "$RDIR/port"
	RPORT=$(cat "$RDIR/port")
}

stop_receiver() {
	kill -KILL "$RPID"
	wait "$RPID" 2> /dev/null
}

# order [LINE]...: what the receiver does, see receiver.c
order() {
	printf '%s\n' "$@" > "$RDIR/orders.new"
	mv "$RDIR/orders.new" "$RDIR/orders"
}

# http_conf [KEYS [MORE]]: write $CONF for the driver http, with these keys of
# the section http, and whole lines
http_conf() {
	write_conf
	sed -i '/^nats:/d; /^publish:/d' "$CONF"
	cat >> "$CONF" <<-END
	publish: {driver: http, window: ${WINDOW:-512}, timeout_ms: ${TIMEOUT_MS:-5000}}
	http: {endpoint: "${ENDPOINT:-http://127.0.0.1:$RPORT/e}"${1:+, $1}}
	${2:-}
	END
}

# event KEY NUMBER TYPE [JSON-METADATA]: a row, sent by the next worker; PAYLOAD:
# another one
event() {
	local data="{\"n\": $2}"
	sql "START TRANSACTION;
	INSERT INTO events (stream_id, stream_sequence, event_type, event_data,
	    metadata) VALUES ('$1', $2, '$3',
	    '${PAYLOAD:-$data}', ${4:-NULL});
	INSERT INTO outbox (global_sequence, partition_key)
	    SELECT LAST_INSERT_ID(), CONCAT('p', LPAD(CRC32('$1') % 16, 2, '0'));
	COMMIT"
}

# start_nginx PORT [LINES-OF-SERVER]: answers 200 to everything
start_nginx() {
	command -v nginx > /dev/null || return 77
	mkdir -p "$DIR/nginx"
	cat > "$DIR/nginx/nginx.conf" <<-END
	daemon off;
	worker_processes 1;
	pid $DIR/nginx/pid;
	error_log $DIR/nginx/error.log warn;
	events { worker_connections 2048; }
	http {
	    log_format connections '"\$request" \$status \$connection';
	    access_log ${NGINX_LOG:-off}${NGINX_LOG:+ connections};
	    keepalive_requests 1000000;
	    client_body_temp_path $DIR/nginx/body;
	    proxy_temp_path $DIR/nginx/proxy;
	    fastcgi_temp_path $DIR/nginx/fastcgi;
	    uwsgi_temp_path $DIR/nginx/uwsgi;
	    scgi_temp_path $DIR/nginx/scgi;
	    server {
	        listen 127.0.0.1:$1 ${2:-};
	        ${3:-}
	        location / { return 200 "ok"; }
	    }
	}
	END
	nginx -p "$DIR/nginx" -c "$DIR/nginx/nginx.conf" 2> "$DIR/nginx/out" &
	MASTERS+=("$!")
	wait_for 10 test -s "$DIR/nginx/pid"
}

# Rows of the receiver's log: status path id key sequence
received() { cat "$RDIR/log" 2> /dev/null; }
