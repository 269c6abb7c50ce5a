#!/usr/bin/env bash
# examples/php/receiver.php: signatures, age, rotation of keys, duplicates
. "${srcdir:-$(dirname "$0")/../..}/tests/lib/lib.sh"

for program in php curl openssl; do
	command -v "$program" > /dev/null || skip_all "no $program"
done
php -r 'exit(extension_loaded("pdo_mysql") ? 0 : 1);' || skip_all 'no pdo_mysql'

start_servers
sql 'SOURCE '"$srcdir/examples/consumer.sql"
mkdir "$DIR/keys"
printf 'first secret\n' > "$DIR/keys/k1"

# start_receiver: on a free port; sets ENDPOINT
start_receiver() {
	local try port
	for try in 1 2 3 4 5; do
		port=$((20000 + RANDOM % 10000))
		RECEIVER_DSN="mysql:unix_socket=$SOCKET;dbname=app;charset=utf8mb4" \
		    RECEIVER_USER=root RECEIVER_KEYS=$DIR/keys \
		    PHP_CLI_SERVER_WORKERS=4 php -S "127.0.0.1:$port" \
		    "$srcdir/examples/php/receiver.php" \
		    > /dev/null 2> "$DIR/php.log" &
		RECEIVER=$!
		ENDPOINT=http://127.0.0.1:$port/orders
		if wait_for 10 answers && ! is_gone "$RECEIVER"; then
			# Its workers do not end with it.
			wait_for 5 has_workers
			mapfile -t -O ${#MASTERS[@]} MASTERS \
			    < <(echo "$RECEIVER"; pgrep -P "$RECEIVER")
			return
		fi
		say "try $try: port $port: $(tail -n 1 "$DIR/php.log")"
	done
	echo 'Bail out! php -S does not start'
	exit 1
}
has_workers() { [ "$(pgrep -c -P "$RECEIVER")" -ge 4 ]; }
answers() { is_gone "$RECEIVER" || has_line "$DIR/php.log" started; }

# sign MESSAGE-ID TIME FILE ID KEY...: X-Outbox-Signature, made without PHP
sign() {
	local LC_ALL=C message=$1 time=$2 file=$3 items='' path
	path=/${ENDPOINT#http://*/}
	shift 3
	while [ $# -gt 0 ]; do
		items+=,$1=$({
			printf 'v2 %d %d 4 %d %d\n%s%sPOST%s' ${#message} \
			    ${#time} ${#path} "$(stat -c %s "$file")" \
			    "$message" "$time" "$path"
			cat "$file"
		    } | openssl dgst -sha256 -hmac "$2" | sed 's/.*= *//')
		shift 2
	done
	echo "${items#,}"
}

# post FILE MESSAGE-ID TIME SIGNATURE [curl options]: "status body"
post() {
	curl -s -o "$DIR/body" -w '%{http_code} ' --data-binary "@$1" \
	    -H 'Content-Type: application/json' -H "Idempotency-Key: $2" \
	    -H 'X-Outbox-Key: order-17' -H "Outbox-Sequence: ${2#*-}" \
	    -H 'Outbox-Type: order.paid' -H "X-Timestamp: $3" \
	    -H "X-Outbox-Signature: $4" "${@:5}" "$ENDPOINT"
	cat "$DIR/body"
}
history() { sql 'SELECT GROUP_CONCAT(sequence ORDER BY entry) FROM order_history'; }

start_receiver
now=$(date +%s)
printf '{"order": 17}' > "$DIR/one"
good() { sign "$1" "$now" "$DIR/one" k1 'first secret'; }

is "$(post "$DIR/one" a-1 "$now" "$(good a-1)")" '200 processed' 'a message'
is "$(post "$DIR/one" a-1 "$now" "$(good a-1)")" '200 duplicate' 'a duplicate'
is "$(sql 'SELECT order_key, event_type, event_data FROM order_history')" \
    $'order-17\torder.paid\t{"order": 17}' 'it is processed once'

# Bytes of every value, and a part that looks like a form.
{ printf 'a=1&b[]=2\r\n\n'; printf '%b' "$(printf '\\x%02x' {0..255})"; } \
    > "$DIR/bytes"
is "$(post "$DIR/bytes" a-2 "$now" "$(sign a-2 "$now" "$DIR/bytes" k1 \
    'first secret')")" '200 processed' 'any bytes'
is "$(sql 'SELECT HEX(event_data) FROM order_history WHERE sequence = 2')" \
    "$(od -An -v -tx1 "$DIR/bytes" | tr -d ' \n' | tr a-f A-F)" \
    'any bytes: they are stored unchanged'
: > "$DIR/empty"
is "$(post "$DIR/empty" a-3 "$now" "$(sign a-3 "$now" "$DIR/empty" k1 \
    'first secret')")" '200 processed' 'an empty body'

# What is refused leaves no id behind: the good one comes later.
wrong='401 X-Outbox-Signature is missing or wrong'
old='401 X-Timestamp is missing or too old'
is "$(post "$DIR/one" a-4 "$now" '')" "$wrong" 'no signature'
is "$(post "$DIR/one" a-4 "$now" "$(sign a-4 "$now" "$DIR/one" k1 other)")" \
    "$wrong" 'a signature with another key'
is "$(post "$DIR/one" a-4 "$now" "$(sign a-4 "$now" "$DIR/one" k9 \
    'first secret')")" "$wrong" 'the id of another key'
part=$(good a-4)
is "$(post "$DIR/one" a-4 "$now" "${part%?}")" "$wrong" 'a part of a signature'
is "$(post "$DIR/one" a-4 "$now" 'k1,=,k1=')" "$wrong" 'a signature without value'
is "$(post "$DIR/bytes" a-4 "$now" "$(good a-4)")" "$wrong" 'another body'
is "$(post "$DIR/one" a-4 $((now + 1)) "$(good a-4)")" "$wrong" 'another time'
is "$(post "$DIR/one" a-4 "$now" "$(good a-1)")" "$wrong" 'another id'
is "$(ENDPOINT=$ENDPOINT/x post "$DIR/one" a-4 "$now" "$(good a-4)")" "$wrong" \
    'another path'
is "$(post "$DIR/one" a-4 "$now" "$(good a-4)" -X PUT)" '405 only POST' \
    'another method'
first=$({ printf '%s.' "$now"; cat "$DIR/one"; } |
    openssl dgst -sha256 -hmac 'first secret' | sed 's/.*= *//')
is "$(post "$DIR/one" a-4 "$now" "k1=$first")" "$wrong" \
    'a signature of the first form'
for age in 310 -310; do
	then=$((now - age))
	is "$(post "$DIR/one" a-4 "$then" "$(sign a-4 "$then" "$DIR/one" k1 \
	    'first secret')")" "$old" "an age of $age s"
done
for time in '' -1 1e9 "$now.5"; do
	is "$(post "$DIR/one" a-4 "$time" "$(sign a-4 "$time" "$DIR/one" k1 \
	    'first secret')")" "$old" "the time '$time'"
done
then=$((now - 250))
is "$(post "$DIR/one" a-4 "$then" "$(sign a-4 "$then" "$DIR/one" k1 \
    'first secret')")" '200 processed' 'an age of 250 s'
is "$(post "$DIR/one" '' "$now" "$(good '')")" \
    '400 Idempotency-Key is missing' 'no message id'
is "$(post "$DIR/one" 'a 5' "$now" "$(good 'a 5')")" \
    '400 Idempotency-Key is not an id' 'a message id with a blank'
is "$(curl -s -o /dev/null -w '%{http_code}' "$ENDPOINT")" 405 'a GET'

# Its own failure: the id is not kept, so that the message comes again.
sql 'RENAME TABLE order_history TO away'
like "$(post "$DIR/one" a-5 "$now" "$(good a-5)")" '^500 failed' 'a table is missing'
sql 'RENAME TABLE away TO order_history'
is "$(post "$DIR/one" a-5 "$now" "$(good a-5)")" '200 processed' \
    'after a failure: the message is processed'
mv "$DIR/keys" "$DIR/away"
like "$(post "$DIR/one" a-6 "$now" "$(good a-6)")" '^500 failed' 'no keys at all'
mv "$DIR/away" "$DIR/keys"

# From one key to the next.
printf 'second secret' > "$DIR/keys/2"
both() {
	sign "$1" "$now" "$DIR/one" 2 'second secret' k1 'first secret'
}
is "$(post "$DIR/one" a-6 "$now" "$(good a-6)")" '200 processed' 'rotation: old key'
is "$(post "$DIR/one" a-7 "$now" "$(both a-7)")" '200 processed' 'rotation: both keys'
rm "$DIR/keys/k1"
is "$(post "$DIR/one" a-8 "$now" "$(good a-8)")" "$wrong" 'rotation: a key is gone'
is "$(post "$DIR/one" a-8 "$now" "$(both a-8)")" '200 processed' \
    'rotation: the new key of both'
is "$(history)" 1,2,3,4,5,6,7,8 'each message once'

# The same message several times at once.
for i in 1 2 3 4; do
	curl -s --data-binary "@$DIR/one" -H 'Idempotency-Key: a-9' \
	    -H 'X-Outbox-Key: order-17' -H 'Outbox-Sequence: 9' \
	    -H 'Outbox-Type: order.paid' -H "X-Timestamp: $now" \
	    -H "X-Outbox-Signature: $(both a-9)" "$ENDPOINT" > "$DIR/at-once.$i" &
	posts[i]=$!
done
wait "${posts[@]}"
is "$(sort "$DIR"/at-once.* | paste -sd' ')" \
    'duplicate duplicate duplicate processed' 'four at once: one is processed'
is "$(history)" 1,2,3,4,5,6,7,8,9 'four at once: stored once'

# The daemon itself.  It signs with a key that the receiver has not got yet, so
# all messages wait; then the receiver fails; then all go through.
sql 'DELETE FROM order_history'
keep_secret "$DIR/daemon-key" '0123456789abcdef-the-third-secret'
MAX_BACKOFF=2 write_conf
sed -i '/^nats:/d; /^publish:/d' "$CONF"
cat >> "$CONF" <<-END
	publish: {driver: http}
	http: {endpoint: "$ENDPOINT", allow_private: true, signing_keys: [{id: k3, file: "$DIR/daemon-key"}]}
END
start_fleet
for key in order-1 order-2 order-3 order-é; do
	enqueue_keys "$key" 1 order.paid "'{\"n\": #}'"
done
for i in 1 2 3 4 5 6 7 8 9; do
	call_enqueue "'a', NULL, 'order.paid', 1, NULL, NULL, X'FF00$i$i'" \
	    "'b', NULL, 'order.paid', 1, NULL, NULL, 'x'"
done
within 20 'daemon: the receiver does not know its key' has_line "$LOG" 'HTTP 401'
is "$(published)" 0 'daemon: nothing is delivered without the key'
sql 'RENAME TABLE order_history TO away'
cp "$DIR/daemon-key" "$DIR/keys/k3"
within 30 'daemon: the receiver fails' has_line "$LOG" 'HTTP 500'
sql 'RENAME TABLE away TO order_history'
drains 60 'daemon: all messages are delivered'
is "$(sql 'SELECT COUNT(*), COUNT(DISTINCT h.sequence), COUNT(e.sequence)
    FROM order_history h LEFT JOIN events e ON e.sequence = h.sequence
    AND stream_id = order_key AND e.event_data = h.event_data
    AND e.event_type = h.event_type')" $'22\t22\t22' \
    'daemon: each message is processed once, as it was enqueued'
is "$(sql 'SELECT COUNT(*) FROM order_history l JOIN order_history e
    ON l.order_key = e.order_key AND l.sequence > e.sequence
    AND l.entry < e.entry')" 0 'daemon: in order per key'
rows_are 0 outbox_dead_letters 'daemon: none is a dead letter'
done_testing
