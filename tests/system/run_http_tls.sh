#!/usr/bin/env bash
# The driver http: TLS with certificates of both sides, HTTP/2, and signatures
# that examples/php/receiver.php checks, with keys that change
. "${srcdir:-$(dirname "$0")/../..}/tests/lib/http.sh"

command -v openssl > /dev/null || skip_all 'no openssl'
command -v nginx > /dev/null || skip_all 'no nginx'
start_servers
export WORKERS=1 BACKOFF=0.2 MAX_BACKOFF=1 JITTER=0 IDLE=100
ssl() { openssl "$@" 2>> "$DIR/openssl.log"; }

# signed NAME SUBJECT [EXTENSION]: by ca.pem
signed() {
	ssl req -newkey rsa:2048 -nodes -keyout "$DIR/$1.key" -subj "$2" \
	    -out "$DIR/$1.csr" &&
	    ssl x509 -req -in "$DIR/$1.csr" -CA "$DIR/ca.pem" \
	    -CAkey "$DIR/ca.key" -CAcreateserial -days 2 -out "$DIR/$1.pem" \
	    -extfile <(echo "${3:-keyUsage=digitalSignature}") &&
	    chmod 600 "$DIR/$1.key"
}
ssl req -x509 -newkey rsa:2048 -nodes -keyout "$DIR/ca.key" -subj /CN=ca \
    -days 2 -out "$DIR/ca.pem" &&
    signed server /CN=server 'subjectAltName=IP:127.0.0.1' &&
    signed client /CN=client || {
	sed 's/^/# /' "$DIR/openssl.log"
	echo 'Bail out! no certificates'
	exit 1
}

PORT=$(free_port)
TLS="ssl_certificate $DIR/server.pem; ssl_certificate_key $DIR/server.key;
    ssl_client_certificate $DIR/ca.pem; ssl_verify_client on;"
NGINX_LOG=$DIR/nginx/access.log
start_nginx "$PORT" 'ssl http2' "$TLS" || skip_all 'nginx does not start'
export ENDPOINT=https://127.0.0.1:$PORT/e

# once KEYS: one event is sent by one tick with these keys; sets RC and ERR
N=0
once() {
	N=$((N + 1))
	clear_rows
	sql "$(event_row key "$N" "'p0'")"
	sql 'UPDATE outbox SET partition_key = "p00"'
	http_conf "$@"
	"$OUTBOX_MASTER" -c "$CONF" --once --silent 2> "$DIR/err" > /dev/null
	RC=$?
	ERR=$(tr '\n' ' ' < "$DIR/err")
}
cert="cert: $DIR/client.pem, key: $DIR/client.key"

once "tls: {ca: $DIR/ca.pem, $cert}"
is "$RC" 0 'http.tls.ca, cert and key: sent'
like "$(tail -n 1 "$NGINX_LOG")" '"POST /e/ok HTTP/2.0" 200' 'with HTTP/2'
once "tls: {$cert}"
like "$RC $ERR" '^1 .*publishing paused.*certificate' \
    'http.tls.ca: an authority that is not trusted is refused'
once "tls: {verify: false, $cert}"
like "$RC $ERR" '^0 .*http.tls.verify is false' \
    'http.tls.verify: false takes any certificate, and warns'
once "tls: {ca: $DIR/ca.pem}"
like "$RC $(tail -n 1 "$NGINX_LOG")" '^[01] .* 400 ' \
    'http.tls.cert: without it the server refuses'
ENDPOINT=https://localhost:$PORT/e once "tls: {ca: $DIR/ca.pem, $cert}"
like "$RC $ERR" '^1 .*publishing paused.*certificate' 'another name is refused'
chmod o+r "$DIR/client.key"
once "tls: {ca: $DIR/ca.pem, $cert}"
like "$RC $ERR" '^78 .*http.tls.key.*mode' 'a key that all can read is refused'
chmod o= "$DIR/client.key"

# --- what changes while it runs ---------------------------------------------

# renewed: connections since the daemon began
renewed() { [ "$(awk '{ print $NF }' "$NGINX_LOG" | sort -u | wc -l)" -ge "$1" ]; }
one_more() {
	N=$((N + 1))
	sql "$(event_row key "$N" "'p00'")"
	nap 1
	"$@"
}
is_short || {
	: > "$NGINX_LOG"
	http_conf "tls: {ca: $DIR/ca.pem, $cert}"
	start_fleet
	within 45 'a connection is made anew, and its address asked for' \
	    one_more renewed 2
	ssl req -x509 -newkey rsa:2048 -nodes -keyout "$DIR/ca.key" \
	    -subj /CN=another -days 2 -out "$DIR/ca.pem"
	signed server /CN=server 'subjectAltName=IP:127.0.0.1'
	signed client /CN=client
	kill -HUP "$(cat "$DIR/nginx/pid")"
	nap 1
	one_more drains 45 'so is the file of an authority that is another one'
	stops 'the daemon stops after that'
}

# --- a server that goes away (GOAWAY) ---------------------------------------

# goes_away KEYS ANSWERED MORE LAST NAME: 40 events of so many keys; see
# tests/lib/goaway.c
AWAY=$DIR/goaway
mkdir -p "$AWAY"
"${RECEIVER%/*}/goaway" "$AWAY" "$DIR/server.pem" "$DIR/server.key" &
MASTERS+=("$!")
wait_for 10 test -e "$AWAY/port"
goes_away() {
	local i rows=''
	clear_rows
	rm -f "$AWAY/log"
	for i in {1..40}; do rows+=$(event_row "key$((i % $1))" "$i" "'p00'"); done
	echo "$2 $3 $4" > "$AWAY/orders"
	http_conf "tls: {ca: $DIR/ca.pem}"
	sql "$rows"
	start_fleet
	drains 20 "$5: all is sent"
	is "$(grep -c dropped "$AWAY/log")" "$3" "$5: it went away with $3"
	is "$(sql 'SELECT COALESCE(MAX(attempts), 0) FROM outbox')" 0 \
	    "$5: no attempt"
	is "$(grep -c taken "$AWAY/log")" 40 "$5: each is taken once"
	stops "$5: the daemon stops"
}
ENDPOINT=https://127.0.0.1:$(cat "$AWAY/port")/e
goes_away 40 0 8 0 'GOAWAY before any'
goes_away 1 3 1 4 'GOAWAY, of the only one it is not known'
is_short || {
	goes_away 40 12 8 12 'GOAWAY between'
	goes_away 40 12 8 16 'GOAWAY, of some it is not known'
}

# --- signatures, with the real receiver -------------------------------------

command -v php > /dev/null && php -r 'exit(extension_loaded("pdo_mysql") ? 0 : 1);' 2> /dev/null || {
	ok 0 'signatures # SKIP no php with pdo_mysql'
	done_testing
}
sql 'SOURCE '"$srcdir/examples/consumer.sql"
mkdir "$DIR/keys"
PORT=$(free_port)
RECEIVER_DSN="mysql:unix_socket=$SOCKET;dbname=app;charset=utf8mb4" \
    RECEIVER_USER=root RECEIVER_KEYS=$DIR/keys php -S "127.0.0.1:$PORT" \
    "$srcdir/examples/php/receiver.php" > /dev/null 2> "$DIR/php.log" &
MASTERS+=("$!")
wait_for 10 grep -q started "$DIR/php.log"
export ENDPOINT=http://127.0.0.1:$PORT/orders

# keys ID...: the keys that the receiver knows; conf ID...: that sign
keys() {
	rm -f "$DIR"/keys/*
	local id
	for id; do cp "$DIR/$id" "$DIR/keys/$id"; done
}
conf() {
	local id list=
	for id; do list+="${list:+, }{id: $id, file: $DIR/$id}"; done
	http_conf "signing_keys: [$list]"
}
# sends COUNT NAME: so many more events are processed, each once
EVENTS=0
sends() {
	local i
	for ((i = 0; i < $1; i++)); do
		EVENTS=$((EVENTS + 1))
		sql "$(event_row "key$((EVENTS % 7))" "$EVENTS" "'p00'")"
	done
	drains 20 "$2"
	is "$(sql 'SELECT COUNT(*), COUNT(DISTINCT sequence) FROM
	    order_history' | tr '\t' ' ')" "$EVENTS $EVENTS" \
	    "$2: each is processed once"
}
reload() { "$OUTBOXCTL" -c "$CONF" reload > "$DIR/reload" 2>&1; }

clear_rows
for id in k1 k2; do keep_secret "$DIR/$id" "0123456789abcdef-the-secret-of-$id"; done
keys k1
conf k1
start_fleet
sends 20 'signed with k1'
keys k1 k2
conf k2 k1
check 'reload: a second key' reload
sends 20 'signed with both'
keys k2
sends 20 'the receiver has forgotten k1'
conf k2
check 'reload: the first key is gone' reload
sends 20 'signed with k2'
keep_secret "$DIR/k2" '0123456789abcdef-yet-another-secret'
keys k2
check 'reload: the same file with another key' reload
sends 20 'the new key is read'

# A wrong key is nobody's fault, and buries nothing.
keep_secret "$DIR/k2" '0123456789abcdef-the-wrong-secret'
check 'reload: a wrong key' reload
sql "$(event_row key1 10000 "'p00'")"
within 15 'a wrong key: publishing pauses' grep -q 'paused.*HTTP 401' "$LOG"
is "$(sql 'SELECT MAX(attempts) FROM outbox WHERE published_at IS NULL')" 0 \
    'a wrong key: no attempt'
keys k2
drains 20 'a wrong key: sent when the receiver has it, too'
is "$(sql 'SELECT COUNT(*) FROM outbox_dead_letters')" 0 'nothing is dead'
check 'in order per key' is_sql "SELECT COUNT(*) FROM order_history a JOIN
    order_history b ON a.order_key = b.order_key AND a.entry < b.entry AND
    a.sequence > b.sequence" 0
stops 'the daemon stops'

done_testing
