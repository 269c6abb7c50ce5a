#!/usr/bin/env bash
# The driver http: what an answer means for a message, and each key of http
. "${srcdir:-$(dirname "$0")/../..}/tests/lib/http.sh"

[ -x "$RECEIVER" ] || skip_all "no $RECEIVER: make check TESTS="
start_servers
start_receiver
export WORKERS=2 BACKOFF=0.2 MAX_BACKOFF=1 JITTER=0 IDLE=100 TIMEOUT_MS=800

# attempts TYPE; is_dead TYPE
attempts() { sql "SELECT MAX(attempts) FROM outbox JOIN events
    ON sequence = global_sequence WHERE event_type = '$1'"; }
is_dead() { is_sql "SELECT COUNT(*) FROM outbox_dead_letters JOIN events
    ON sequence = global_sequence WHERE events.event_type = '$1'" 1; }
seen() { received | awk -F'\t' -v path="/e/$1" '$2 == path' | wc -l; }
has_seen() { [ "$(seen "$1")" -ge "$2" ]; }
status_is() { received | awk -F'\t' -v path="/e/$1" '$2 == path { print $1 }' |
    paste -sd ' '; }
ids_of() { received | awk -F'\t' -v path="/e/$1" '$2 == path { print $3 }' |
    sort -u | wc -l; }
has_lines() { [ "$(received | wc -l)" -ge "$1" ]; }
mark() { MARK=$(wc -l < "$LOG"); }
said() { tail -n "+$((MARK + 1))" "$LOG" | grep -E " warn | error "; }
has_said() { said | grep -Eq "$1"; }
header_of() { tr -d '\r' < "$RDIR/last" | grep -i "^$1: " |
    sed 's/^[^ ]* //'; }
body_of() { tr -d '\r' < "$RDIR/last" | sed '1,/^$/d'; }

# in_order: did the rows of each key arrive first in their order, one at a time?
in_order() {
	received | awk -F'\t' '$1 == 200 && !($5 in first) {
		first[$5] = 1
		if ($5 + 0 < last[$4]) { print "key " $4 " row " $5; bad = 1 }
		last[$4] = $5 + 0
	} $6 == "overlap" { print "overlap of " $4; bad = 1 }
	END { exit bad }'
}

# --- answers ----------------------------------------------------------------

at=$(date -u -d '+6 sec' '+%a, %d %b %Y %H:%M:%S GMT')
order "/e/date 1 503 Retry-After:$at" '/e/five 2 500' \
    '/e/busy 1 429 Retry-After:3' '/e/bad 0 400' \
    '/e/cut 1 cut' '/e/close 1 close' '/e/hang 1 hang' '/e/early 1 425' \
    '/e/conflict 1 409' '/e/late 1 408' '/e/long 0 long 200000' \
    '/e/head 1 head 20000'
http_conf
for type in five busy bad cut close hang early conflict late long head date; do
	event "k-$type" 1 $type
	event "k-$type" 2 ok-$type
done
start_fleet
drains 30 'all is sent or dead'
is "$(status_is five)" '500 500 200' '500: tried again'
is "$(attempts five)" 2 '500: each is an attempt'
is "$(status_is busy)" '429 200' '429: tried again'
gap=$(sql "SELECT TIMESTAMPDIFF(MICROSECOND, MIN(o.published_at),
    MAX(o.published_at)) DIV 1000 FROM outbox o JOIN events e
    ON e.sequence = o.global_sequence WHERE event_type IN ('busy', 'long')")
check "429: not before the time of Retry-After ($gap ms)" [ "$gap" -ge 2900 ]
first=$(sql "SELECT ROUND(1000 * UNIX_TIMESTAMP(published_at)) FROM outbox
    JOIN events ON sequence = global_sequence WHERE event_type = 'date'")
check '503: not before the date of Retry-After' \
    [ "$first" -ge $((1000 * $(date -d "$at" +%s) - 1000)) ]
within 5 '400: a dead letter' is_dead bad
like "$(status_is bad)" '^400 400 400' '400: not before it was refused again'
is "$(status_is ok-bad)" 200 '400: the next of its key goes on'
for type in cut close hang head; do
	is "$(seen $type) $(ids_of $type)" '2 1' \
	    "$type: sent again with the same Idempotency-Key"
done
for type in early conflict late; do
	is "$(seen $type) $(attempts $type)" '2 1' "$type: tried again"
done
is "$(status_is long)" long 'a long body does not change the status'
check 'in order per key, one at a time' in_order
is "$(pending)" 0 'nothing is left'

# --- the destination's fault ------------------------------------------------

mark
order '/e 0 401'
event d-401 1 four
within 15 '401: publishing pauses' has_said 'publishing paused.*HTTP 401'
is "$(attempts four)$(sql 'SELECT COUNT(*) FROM outbox_dead_letters')" 01 \
    '401: no attempt'
classes=$("$OUTBOXCTL" -c "$CONF" --json status | jq -r '[.this_host.workers[]
    .paused | select(. != null) | .class] | unique | join(" ")')
is "$classes" permission '401: the class is permission'
like "$("$OUTBOXCTL" -c "$CONF" status)" 'http.token_file or' \
    '401: status has a remedy'
order
drains 15 '401: sent when it is over'

mark
order '/e 0 302 Location:/other'
event d-302 1 moved
within 15 'redirects are not followed' has_said 'publishing paused.*HTTP 302'
is "$(attempts moved)" 0 'a redirect uses no attempt'
check 'nothing went there' not grep -q /other "$RDIR/log"
order
drains 15 'sent when it is over'

# --- it fails all that it is sent -------------------------------------------

# One message tells if it is the first for a long time, here of this daemon.
status() { "$OUTBOXCTL" -c "$CONF" --json status; }
has_problem() { status | jq -e --arg id "$1" '.problems | any(.id == $id)' \
    > /dev/null; }
to() { status | jq -r ".this_host.destinations[0] | [$1] | join(\" \")"; }
is_to() { [[ $(to "$1") =~ $2 ]]; }
order '/e 0 500'
for i in {1..8}; do
	event "all-$i" 1 all
	event "all-$i" 2 more
done
within 10 '500 to all: a problem' has_problem destination_fails
is "$(to .destination,.to)" "publish.driver http://127.0.0.1:$RPORT" \
    '500 to all: status names the destination'
like "$(to '.state,.failed_percent,.last_error')" '^fails [1-9][0-9]* HTTP 500' \
    '500 to all: its state, failures and error'
like "$("$OUTBOXCTL" -c "$CONF" status | tr -s ' \n' ' ')" \
    'takes no messages: HTTP 500.*the log of the server at' \
    '500 to all: the problem has the error and a remedy'
order
drains 20 '500 to all: sent when it is over'
within 10 '500 to all: no problem any more' not has_problem destination_fails
is "$(to .state)" works '500 to all: it works again'
order '/e/bad 0 500'
event one 1 bad
for i in {1..4}; do event "good-$i" 1 good; done
within 10 '500 to one: it is counted' is_to '.failed_percent' '^[1-9]'
is "$(to .state)$(has_problem destination_fails && echo told)" works \
    '500 to one: no problem of the destination'
order
drains 20 '500 to one: sent when it is over'

# --- away for 10 s under load -----------------------------------------------

mark
rm -f "$RDIR/log"
produce_forever --keys 50 --rate 100
wait_for 10 has_lines 20
stop_receiver
within 15 'away: publishing pauses' has_said 'publishing paused.*onnect'
if is_short; then nap 2; else nap 10; fi
# But for one of what it takes along: others that were sent later are stored.
check 'away: no attempt' [ "$(sql 'SELECT COALESCE(MAX(attempts), 0)
    FROM outbox WHERE published_at IS NULL')" -le 1 ]
start_receiver
kill -TERM "$PRODUCER"
wait "$PRODUCER"
drains 30 'away: all is sent afterwards'
check 'away: in order per key, one at a time' in_order
# A row is the producer's business to count: each was received.
received | awk -F'\t' '$1 == 200 { print $5 }' | sort -un > "$DIR/got"
sql "SELECT global_sequence FROM outbox ORDER BY 1" | sort -un > "$DIR/rows"
tail -n "$(wc -l < "$DIR/got")" "$DIR/rows" > "$DIR/want"
check 'away: 0 lost' cmp -s "$DIR/got" "$DIR/want"
stops 'the daemon stops'

# --- each key ---------------------------------------------------------------

# once KEYS [MORE]: one event, type t, is sent by one tick with these keys; sets
# RC and ERR
N=0
once() {
	N=$((N + 1))
	clear_rows
	sql 'DELETE FROM outbox_blocked_keys'
	event "${KEY:-key}" "$N" "${TYPE:-t}" "${METADATA:-NULL}"
	http_conf "$@"
	"$OUTBOX_MASTER" -c "$CONF" --once --silent 2> "$DIR/err" > /dev/null
	RC=$?
	ERR=$(tr '\n' ' ' < "$DIR/err")
}
path_of() { sed -n '1s/^POST \(.*\) HTTP.*/\1/p' "$RDIR/last"; }
order

once ''
is "$RC $(path_of)" '0 /e/t' 'http.endpoint, and the default path'
like "$(header_of Idempotency-Key)" "^[0-9a-f]+-$(sql 'SELECT
    global_sequence FROM outbox')-[0-9a-f]{16}$" 'Idempotency-Key is the id'
is "$(header_of X-Outbox-Key)" key 'X-Outbox-Key is the order key'
is "$(header_of Outbox-Type)" t 'headers of the envelope are there'
is "$(header_of Content-Type)" application/json 'Content-Type of JSON'
is "$(grep -ci '^nats-' "$RDIR/last")" 0 'no header of NATS'
is "$(body_of)" "{\"n\": $N}" 'the body is the payload'
is "$(grep -ci '^x-.*signature\|^authorization\|^x-timestamp' "$RDIR/last")" 0 \
    'without keys nothing is signed'

TYPE='a b/../ü' KEY=.. once 'path: "{partition}/x/{event_type}/y"'
like "$RC $(path_of)" '^0 /e/p[0-9]+/x/a%20b%2F..%2F%C3%BC/y$' \
    'http.path: values are within one segment'
KEY=.. once 'path: "{stream_id}/x"'
like "$(sql 'SELECT last_error FROM outbox_dead_letters')" \
    'is not legal: a segment is empty' 'a segment .. is a dead letter'
# Of a payload that is no JSON, and of one that only begins as JSON does.
for payload in plain '{"n": 1} x'; do
	PAYLOAD=$payload TYPE=t once ''
	is "$(header_of Content-Type)" application/octet-stream \
	    "Content-Type of $payload"
done
PAYLOAD=plain TYPE=t once 'content_type: text/plain; charset=utf-8'
is "$(header_of Content-Type)" 'text/plain; charset=utf-8' http.content_type
PAYLOAD=plain TYPE=t once 'content_type: ""'
is "$RC $(grep -ci '^content-type:' "$RDIR/last")" '0 0' \
    'http.content_type: empty'
PAYLOAD='[1]' TYPE=t once 'content_type: text/plain'
is "$(header_of Content-Type)" application/json \
    'http.content_type: not of a payload that is JSON'
PAYLOAD=plain METADATA="'{\"content-type\": \"text/x\"}'" TYPE=t once ''
is "$(header_of Content-Type)" text/x 'Content-Type of metadata comes first'
TYPE=t once 'path: ""'
is "$RC $(path_of)" '0 /e' 'http.path: empty'

METADATA="'{\"X-Mine\": \"m\", \"Host\": \"evil\", \"X-Team\": \"other\",
    \"Content-Length\": \"3\", \"content-type\": \"text/x\",
    \"X-Outbox-Key\": \"other\", \"Transfer-Encoding\": \"chunked\"}'" \
    once 'headers: {X-Team: shop, X-Two: "b c"}'
is "$(header_of X-Team)|$(header_of X-Two)" 'shop|b c' 'http.headers'
is "$(header_of Outbox-Meta-X-Mine)|$(header_of Content-Type)" 'm|text/x' \
    'metadata becomes headers with a prefix'
is "$(header_of Host)|$(header_of X-Outbox-Key)|$(grep -ci \
    ^transfer-encoding "$RDIR/last")" "127.0.0.1:$RPORT|key|0" \
    'and none that means something'
METADATA="'{\"X-Forwarded-For\": \"10.0.0.1\", \"X-Original-URL\": \"/admin\",
    \"X-HTTP-Method-Override\": \"DELETE\", \"X_Forwarded_Host\": \"evil\",
    \"Authorization\": \"Bearer x\", \"X-Tenant\": \"acme\",
    \"traceparent\": \"00-1\", \"Baggage\": \"a=1\"}'" \
    once 'metadata_headers: [x-tenant]'
is "$(grep -ciE '^(x[-_]forw|x-orig|x-http|auth)' "$RDIR/last")" 0 \
    'metadata sets no header that a proxy obeys'
is "$(header_of Outbox-Meta-X-Forwarded-For)|$(header_of \
    Outbox-Meta-Authorization)" '10.0.0.1|Bearer x' 'it is sent with a prefix'
is "$(header_of X-Tenant)|$(header_of traceparent)|$(header_of Baggage)" \
    'acme|00-1|a=1' 'http.metadata_headers, and headers of tracing'

METADATA="'{\"Content-Type\": \"text/a\", \"content-type\": \"text/b\",
    \"X-Tenant\": \"a\", \"x-tenant\": \"b\", \"X-TEAM\": \"c\",
    \"Proxy\": \"http://evil\", \"ce-a\": \"1\", \"CE-A\": \"2\", \"ce-b-c\": \"1\",
    \"ce-b_c\": \"2\", \"My-Key\": \"1\", \"my-key\": \"2\", \"MY_KEY\": \"3\"}'" \
    once 'metadata_headers: [X-Tenant, x-team], headers: {X_Team: shop}'
is "$(grep -ciE '^(content-type|x-tenant|x.team|proxy|ce-a|ce-b.c):' \
    "$RDIR/last")" 5 'metadata sets no header twice, in whatever case'
is "$(grep -ci '^outbox-meta-my.key:' "$RDIR/last")" 1 \
    'nor with the prefix; CGI takes an underscore for a hyphen'

keep_secret "$DIR/token" sesame
keep_secret "$DIR/api" open-sesame
once "headers: [{name: X-Team, value: shop}, {name: X-Api, file: $DIR/api}]"
is "$(header_of X-Team)|$(header_of X-Api)" 'shop|open-sesame' \
    'http.headers: of a file'
printf 'a\001b\n' > "$DIR/api"
once "headers: [{name: X-Api, file: $DIR/api}]"
like "$RC $ERR" '^78 .*http.headers: X-Api: .*control character' \
    'http.headers: a control character in the file'
TOKEN=$'open\r\nX-Admin: 1' once 'token_env: TOKEN'
like "$RC $ERR" '^78 .*TOKEN: .*control character' \
    'http.token_env: no line break'
once "token_file: $DIR/token"
is "$(header_of Authorization)" 'Bearer sesame' 'http.token_file'
unset TOKEN
once 'token_env: TOKEN'
like "$RC $ERR" '^78 .*TOKEN is not set' 'http.token_env: not set'
export TOKEN=open
once 'token_env: TOKEN'
is "$(header_of Authorization)" 'Bearer open' 'http.token_env'

first=0123456789abcdef-the-first-signing-key
second=0123456789abcdef-the-other-signing-key
keep_secret "$DIR/k1" "$first"
keep_secret "$DIR/k2" "$second"
keys="signing_keys: [{id: k2, file: $DIR/k2}, {id: k1, file: $DIR/k1}]"
once "$keys"
mac() { printf '%s.%s' "$(header_of X-Timestamp)" "$(body_of)" |
    openssl dgst -sha256 -hmac "$1" | sed 's/.* //'; }
is "$(header_of X-Signature)" "k2=$(mac $second),k1=$(mac $first)" \
    'http.signing_keys: each key signs, in their order'
# mac2 KEY: of the second form
mac2() {
	local LC_ALL=C id time path body
	id=$(header_of Idempotency-Key) time=$(header_of X-Timestamp)
	path=$(path_of) body=$(body_of)
	printf 'v2 %d %d 4 %d %d\n%s%sPOST%s%s' ${#id} ${#time} ${#path} \
	    ${#body} "$id" "$time" "$path" "$body" |
	    openssl dgst -sha256 -hmac "$1" | sed 's/.* //'
}
is "$(header_of X-Outbox-Signature)" "k2=$(mac2 $second),k1=$(mac2 \
    $first)" 'the second form covers id, time, method, path and body'
ENDPOINT=http://127.0.0.1:$RPORT once "$keys, path: ''"
is "$(path_of) $(header_of X-Outbox-Signature)" "/ k2=$(mac2 \
    $second),k1=$(mac2 $first)" 'and the path / of an endpoint without one'
age=$(($(date +%s) - $(header_of X-Timestamp)))
check "the timestamp is of now ($age s)" [ "$age" -lt 20 ]
chmod o+r "$DIR/k1"
once "$keys"
like "$RC $ERR" '^78 .*k1: .*mode 60' 'a key that all can read is refused'
chmod o= "$DIR/k1"

# Something else may renew the files, before what is in them has no value.
sql 'DELETE FROM outbox_blocked_keys'
WORKERS=1 http_conf "token_file: $DIR/token, $keys"
start_fleet
event renewed 1 t
drains 10 'a token and keys'
keep_secret "$DIR/token" renewed
keep_secret "$DIR/k1" "$first-renewed"
order '/e/t 0 401'
mark
event renewed 2 t
within 15 'a login that is refused' has_said 'publishing paused.*HTTP 401'
order
drains 10 'HTTP 401: sent when the files are read again'
is "$(header_of Authorization) $(header_of X-Signature)" \
    "Bearer renewed k2=$(mac $second),k1=$(mac "$first-renewed")" \
    'with the token and the key of now'
rm "$DIR/token"
order '/e/t 0 403'
mark
event renewed 3 t
within 15 'a token that cannot be read is told' has_said 'http token: .*/token'
keep_secret "$DIR/token" again
order
drains 10 'and read when it is there'
is "$(header_of Authorization)" 'Bearer again' 'the last one'
stops 'the daemon stops again'
keep_secret "$DIR/token" sesame
keep_secret "$DIR/k1" "$first"

# --- what is not safe is refused --------------------------------------------

keep_secret "$DIR/k2" short
once "$keys"
like "$RC $ERR" '^78 .*http.signing_keys: k2: .*k2: the key is shorter than 32' \
    'a short key is refused'
keep_secret "$DIR/k2" "$second"
http_conf "token_file: $DIR/token, $keys" "publish: {driver: nats, routes: [
    {name: far, type: a, driver: http, endpoint: 'http://192.0.2.1:9/x'},
    {name: near, type: b, driver: http, endpoint: 'http://127.0.0.1:9/x'}]}"
sed -i '/^publish: {driver: http/d' "$CONF"
OUT=$("$OUTBOX_MASTER" -c "$CONF" -t 2>&1)
like "$? $OUT" '^78 .*routes: far: http://192.0.2.1:9/x gets the token without TLS' \
    'a token that goes to the endpoint of a route without TLS is refused'
sed -i 's|^http: {endpoint: "[^"]*"|&, allow_clear: [192.0.2.1]|' "$CONF"
OUT=$("$OUTBOX_MASTER" -c "$CONF" -t 2>&1)
is "$? $(grep -c warning: <<< "$OUT")" '0 0' 'unless that is meant'
OUT=$("$OUTBOXCTL" -c "$CONF" doctor 2>&1)
like "$OUT" 'endpoint tls: http://192.0.2.1:9/x: messages can be read' \
    'doctor looks at the endpoints of routes'
sed -i 's/^publish: {driver: nats,/publish: {driver: http, unmatched: dead,/
    s|^http: {endpoint: "[^"]*"|http: {endpoint: ""|' "$CONF"
OUT=$("$OUTBOXCTL" -c "$CONF" doctor 2>&1)
like "$OUT" 'endpoint: the first messages to each' \
    'doctor: endpoints of routes alone'

# --- redirects --------------------------------------------------------------

start_other() {
	local RDIR=$DIR/other RPORT='' RPID
	start_receiver
	OTHER=$RPORT
}
start_other
long=X-$(printf 'a%.0s' {1..200})
secrets="$keys, token_file: $DIR/token, headers: {X-Team: shop, $long: shop}"
follow="follow_redirects: true, $secrets"
for code in 302 303; do
	order "/e/t 0 $code Location:/login"
	once "$follow"
	like "$RC $ERR" "^1 .*HTTP $code" "$code: not followed"
	is "$(path_of)" /e/t "$code: nothing goes to the page of a login"
done
for code in 301 307 308; do
	order "/e/t 0 $code Location:/e/new?a=b%20c"
	once "$follow"
	is "$RC $(path_of) $(header_of X-Team) $(header_of Authorization)" \
	    '0 /e/new?a=b%20c shop Bearer sesame' "$code: followed on the same host"
	is "$(body_of) $(header_of X-Outbox-Signature)" "{\"n\": $N} k2=$(mac2 \
	    $second),k1=$(mac2 $first)" "$code: with the body, signed anew"
done
order "/e/t 0 307 Location:http://127.0.0.1:$OTHER/away"
once "$follow"
is "$RC $(RDIR=$DIR/other path_of)" '0 /away' 'followed to another host'
is "$(grep -Eci '^(authorization|x-signature|x-timestamp|x-team|x-aaa[a]*|x-outbox-signature):' \
    "$DIR/other/last")" 0 'which gets no secret'
is "$(RDIR=$DIR/other header_of Idempotency-Key | wc -l)" 1 'but the id'
order '/e 0 307 Location:/e/t'
: > "$RDIR/log"
once "$follow"
like "$RC $ERR" '^1 .*HTTP 307' 'a circle is the destination'"'"'s fault'
is "$(wc -l < "$RDIR/log")" 4 'after 3 redirects'
for url in ftp://127.0.0.1/x "http://u:p@127.0.0.1:$OTHER/x" file:///etc; do
	order "/e/t 0 307 Location:$url"
	once "$follow"
	is "$RC" 1 "not followed to ${url%%:*}:"
done
order

# --- addresses, proxy, concurrency ------------------------------------------

for host in 127.0.0.1 localhost '[::1]' 0.0.0.0 10.1.2.3 192.168.1.1 \
    169.254.169.254 '[::ffff:127.0.0.1]' '[fd00::1]' 2130706433; do
	ENDPOINT=http://$host:$RPORT once 'allow_private: false'
	like "$RC $ERR" '^1 .*its address is private' "$host is refused"
done

once "proxy: http://127.0.0.1:$OTHER"
is "$RC $(RDIR=$DIR/other path_of)" "0 http://127.0.0.1:$RPORT/e/t" http.proxy
http_proxy=http://127.0.0.1:1 ALL_PROXY=http://127.0.0.1:1 once ''
is "$RC" 0 'variables of the environment are no proxy'

# --- outboxctl, with no broker anywhere -------------------------------------

ctl() { OUT=$("$OUTBOXCTL" -c "$CONF" "$@" 2>&1); RC=$?; }
http_conf
ctl doctor
like "$OUT" "endpoint: driver http, http://127.0.0.1:$RPORT/e" \
    'doctor: which driver, and where to'
like "$OUT" 'requests are not signed' 'doctor: without keys it warns'
check 'doctor: no word of a broker' not grep -qi 'broker' <<< "$OUT"
http_conf 'headers: {X-Api-Key: hunter2, X-Team: shop}'
ctl --json config
is "$(jq -c '[.http.headers[].value]' <<< "$OUT")" '["(hidden)","shop"]' \
    'config --json hides a header that is a secret'
http_conf
ctl --json status
is "$(jq -r .broker.driver <<< "$OUT")" http 'status: which driver'
ctl stream info
like "$RC $OUT" '^[12] .*there is no stream' 'stream info is refused'
sed "s|^mysql:.*|mysql: {socket: \"$SOCKET\", user: relay, password_file: $DIR/relay.password, database: shop}|" \
    "$CONF" > "$DIR/setup.yml"
OUT=$("$OUTBOXCTL" -c "$DIR/setup.yml" setup --yes 2>&1)
is $? 0 'setup succeeds'
like "$OUT" 'event.*delivered' 'setup: its event is delivered'
is "$(path_of)" /e/outbox.setup 'setup: the endpoint has it'

# Other than with JetStream, answers to later ones say nothing of the first.
order '/e/slow 0 slow 600'
clear_rows
event slow 1 slow
for i in {1..5}; do event "fast$i" 1 t; done
http_conf
"$OUTBOX_MASTER" -c "$CONF" --once --silent 2> /dev/null
is "$? $(attempts slow)" '0 0' 'a slow answer is waited for'

# most CONCURRENCY: the highest number of requests at once
most() {
	local i
	stop_receiver
	rm -f "$RDIR/most"
	start_receiver
	order '/e 0 slow 30'
	clear_rows
	for i in {1..40}; do event "c$i" 1 t; done
	http_conf "concurrency: $1"
	"$OUTBOX_MASTER" -c "$CONF" --once --silent 2> /dev/null
	MOST=$(cat "$RDIR/most")
}
most 3
is "$MOST" 3 'http.concurrency: 3'
most 20
check "http.concurrency: 20 ($MOST)" [ "$MOST" -gt 3 ]
check "and not more ($MOST)" [ "$MOST" -le 20 ]
order

done_testing
