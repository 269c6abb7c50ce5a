#!/usr/bin/env bash
# The monitor: its paths, who may ask what, what it does not take for an option,
# clients that are slow or many, and that the relay does not depend on it
. "${srcdir:-$(dirname "$0")/../..}/tests/lib/ctl.sh"
. "$srcdir/tests/lib/http.sh"

CLIENTS=${CLIENTS:-${OUTBOX_MASTER%/*}/clients}
TOKEN=0123456789abcdef-token
SOCK=$DIR/run/outbox.monitor.sock
start_servers

# A free port: that of a receiver, which is another user of it later on.
start_receiver
PORT=$RPORT
stop_receiver

# monitor_conf [KEYS]: write $CONF with these keys of the section monitor
monitor_conf() {
	write_conf
	echo "monitor: {${1:-}}" >> "$CONF"
}

# get PATH [OPTION]...: by the Unix socket, or get_tcp; sets CODE and BODY
ask() {
	CODE=$(curl -s -g -m 20 -o "$DIR/body" -D "$DIR/head" \
	    -w '%{http_code}' "$@")
	BODY=$(tr -d '\0' < "$DIR/body")
}
get() { ask --unix-socket "$SOCK" "${@:2}" "http://localhost$1"; }
get_tcp() { ask "${@:2}" "http://127.0.0.1:$PORT$1"; }

# answers STATUS REGEX NAME PATH [OPTION]...; answers_tcp
answers() { get "${@:4}" && judge "$@"; }
answers_tcp() { get_tcp "${@:4}" && judge "$@"; }
judge() {
	is "$CODE" "$1" "$3: $1"
	like "$BODY" "$2" "$3: $2"
}
has_header() { like "$(tr -d '\r' < "$DIR/head")" "^$1\$" "$2"; }
is_code() { get "${@:2}" && [ "$CODE" = "$1" ]; }
is_tcp_code() { get_tcp "$2" && [ "$CODE" = "$1" ]; }

# is_event: a stream begins with the state
is_event() {
	get /api/events -m 2
	[ "$CODE" = 200 ] && grep -q '^event: status$' "$DIR/body"
}

# trouble TEXT NAME: status tells it of the monitor; is_well: nothing, but this
has_trouble() {
	ctl --json status
	[ "$(field '.this_host.monitor.state')" = refused ] &&
	    field '.problems[] | select(.id == "monitor") | .text' |
	    grep -q -- "$1"
}
trouble() { within 10 "$2: status tells it" has_trouble "$1"; }
is_well() {
	ctl --json status
	[ "$(field '.this_host.monitor.state, (.problems[] | .id)' | xargs)" = \
	    "running${1:+ $1}" ]
}

monitor_pid() { pgrep -P "$1" -f 'outbox-master: monitor'; }
monitor_line() { "$OUTBOXCTL" -c "$CONF" --json status |
    jq -r ".this_host.monitor.$1"; }
npaused() { "$OUTBOXCTL" -c "$CONF" --json partitions list |
    jq '[.[] | select(.state == "paused")] | length'; }
reload() {
	local old
	old=$(monitor_pid "$MASTER")
	kill -HUP "$MASTER"
	wait_for 10 is_gone "$old"
	wait_for 10 is_code 200 /healthz
}

keep_secret "$DIR/token" "$TOKEN"
WITH=(-H "Authorization: Bearer $TOKEN")
JSON=(-H 'Content-Type: application/json')
CONF_TCP="listen: '127.0.0.1:$PORT', hosts: [relay.example]"

# --- paths ---------------------------------------------------------------------

monitor_conf "$CONF_TCP"
start_fleet
within 10 'the monitor answers' is_code 200 /healthz
is "$(stat -c %a "$SOCK")" 660 'the mode of its socket'
call_enqueue "'a', NULL, 'ok', 1, '{}', NULL, 'x'"
within 10 'a message is relayed' is_drained
SEQ=$(sql 'SELECT MAX(sequence) FROM events')

answers 200 '^ok$' '/healthz' /healthz
within 15 'the fleet is ready' is_code 200 /readyz
while read -r path regex; do
	answers 200 "$regex" "$path" "$path"
	has_header 'Content-Type: application/json' "$path is JSON"
done <<-END
	/api/status "problems":
	/api/problems ^\[
	/api/session "actions":false
	/api/throughput "minutes":
	/api/workers "workers"|"rows"|^\[
	/api/partitions p00
	/api/messages "rows":
	/api/messages?state=pending "rows":\[\]
	/api/messages?state=dead "rows":
	/api/messages?state=delivered&key=a&limit=1 "sequence":$SEQ
	/api/messages/$SEQ "sequence":$SEQ
	/api/keys ^[[{]
	/api/audit ^[[{]
END
answers 200 '^outbox_ready 1' /metrics /metrics
answers 200 '<!doctype html>' 'the page' /
has_header "Content-Security-Policy: default-src 'none'; .*" \
    'the page may load nothing else'
answers 404 '"error"' 'an unknown path' /api/nothing
answers 404 '"error"' 'a message that does not exist' /api/messages/999999
answers 400 'no sequence' 'a sequence that is none' /api/messages/-1
get /api/messages -I
is "$CODE $(grep -c rows <<< "$BODY")" '200 0' 'HEAD has no body'

# --- methods, hosts, queries ---------------------------------------------------

for method in PUT DELETE OPTIONS TRACE PATCH; do
	answers 405 '"error"' "$method" /healthz -X $method
	has_header 'Allow: GET, HEAD, POST' "$method: what is allowed"
done
answers 405 'only read' 'POST to a path that is read' /api/status -d '{}'
has_header 'Allow: GET, HEAD' 'what is allowed there'
answers 405 'is posted' 'GET of an action' /api/actions/retry
has_header 'Allow: POST' 'what is allowed for an action'

for host in 127.0.0.1 '127.0.0.1:1' '[::1]' '[::1]:9180' localhost LOCALHOST:80 \
    relay.example "$(hostname)"; do
	answers_tcp 200 'actions' "Host: $host" /api/session -H "Host: $host"
done
for host in evil.example relay.example.evil.example '[::1]evil.example' \
    localhost:evil.example 127.0.0.1.evil.example '[]' '['; do
	answers_tcp 421 'monitor.hosts' "Host: $host" /api/session \
	    -H "Host: $host"
done
answers_tcp 200 ok 'a probe may have any Host' /healthz -H 'Host: pod.example'
answers 200 actions 'any Host by the Unix socket' /api/session \
    -H 'Host: evil.example'

long=$(printf '%01100d' 0)
while read -r regex path; do
	answers 400 "${regex//_/ }" "$path" "$path"
done <<-END
	other:_unknown /api/messages?other=1
	unknown /api/status?x=1
	unknown /api/messages?%ff=1
	unknown /api/messages?$(printf 'x%.0s' {1..79})%c3%a9=1
	given_twice /api/messages?key=a&key=b
	NUL /api/messages?key=a%00b
	NUL /api/messages?k%00ey=a
	no_UTF-8 /api/messages?key=a%ff
	longer_than /api/messages?key=$long
	too_many /api/messages?$(printf '&a%d=1' {1..17})
END

# A value stays a value.  The same is asked of a list with the key of our row.
for value in --help -c -- 'a%20b' "';%20DROP%20TABLE%20outbox" %0a \
    '%22,%22--help' '%5c' '--key=a' '*' '%25' 'a%0d%0aX:%20y'; do
	get "/api/messages?state=delivered&key=$value"
	is "$CODE $(jq -c .rows <<< "$BODY")" '200 []' "key $value finds nothing"
	get "/api/messages?limit=$value"
	is "$CODE" 400 "limit $value is refused"
done
get '/api/messages?state=delivered&key=a'
is "$(jq -c '[.rows[].sequence]' <<< "$BODY")" "[$SEQ]" \
    'the key of our row finds it'

answers 413 'too long' 'a body that is too large' /api/actions/retry \
    -d "$(printf '%070000d' 0)"
get /healthz -H "X-Long: $(printf '%040000d' 0)"
is "$CODE" 431 'a header that is too large'

# --- changes -------------------------------------------------------------------

answers 403 'only shows' 'a change without monitor.token_file' \
    /api/actions/pause "${JSON[@]}" -d '{"labels": ["p00"]}' "${WITH[@]}"
as_operator
op="password_env: OUTBOX_PW, operator: {user: operator, password_env: OUTBOX_PW}"
with_token() {
	monitor_conf "$CONF_TCP, token_file: $1${2:+, $2}"
	sed -i "s/^\(mysql:.*\)password_env: OUTBOX_PW/\1$op/" "$CONF"
	reload
}
with_token "$DIR/token"
pause=(/api/actions/pause -d '{"labels": ["p00"]}')
answers 401 'needs the token' 'no token' "${pause[@]}" "${JSON[@]}"
has_header 'WWW-Authenticate: Bearer' 'no token: how to send one'
answers 401 'needs the token' 'a wrong token' "${pause[@]}" "${JSON[@]}" \
    -H "Authorization: Bearer ${TOKEN}x"
answers 401 'needs the token' 'half a token' "${pause[@]}" "${JSON[@]}" \
    -H "Authorization: Bearer ${TOKEN%?}"
answers 401 'needs the token' 'no scheme' "${pause[@]}" "${JSON[@]}" \
    -H "Authorization: $TOKEN"
answers 415 'application/json' 'a form' "${pause[@]}" "${WITH[@]}"
answers 415 'application/json' 'a text' "${pause[@]}" "${WITH[@]}" \
    -H 'Content-Type: text/plain'
answers 403 'another site' 'the Origin of another site' "${pause[@]}" \
    "${WITH[@]}" "${JSON[@]}" -H 'Origin: http://evil.example'
answers 403 'another site' 'Origin: null' "${pause[@]}" \
    "${WITH[@]}" "${JSON[@]}" -H 'Origin: null'
answers 403 'another site' 'Sec-Fetch-Site' "${pause[@]}" "${WITH[@]}" \
    "${JSON[@]}" -H 'Sec-Fetch-Site: cross-site'
answers 400 'no JSON' 'a body that is no JSON' /api/actions/pause -d '{' \
    "${WITH[@]}" "${JSON[@]}"
answers 400 'wrong type' 'an unknown member' /api/actions/pause \
    -d '{"config": "x"}' "${WITH[@]}" "${JSON[@]}"
answers 400 'texts are wanted' 'a label that is a number' /api/actions/pause \
    -d '{"labels": [1]}' "${WITH[@]}" "${JSON[@]}"
answers 400 'unknown' 'a member that is cut in a letter' /api/actions/pause \
    -d "{\"$(printf 'x%.0s' {1..79})é\": 1}" "${WITH[@]}" "${JSON[@]}"
answers 404 'no such action' 'an unknown action' /api/actions/drop -d '{}' \
    "${WITH[@]}" "${JSON[@]}"
is "$(sql 'SELECT COUNT(*) FROM outbox_audit')" 0 'nothing was changed'
answers 409 'error' 'a label like an option' /api/actions/pause \
    -d '{"labels": ["--all"]}' "${WITH[@]}" "${JSON[@]}"
is "$(npaused)" 0 'and it is none'
answers_tcp 200 '' 'a change by the page of this monitor' "${pause[@]}" \
    "${WITH[@]}" "${JSON[@]}" -H "Origin: http://127.0.0.1:$PORT" \
    -H 'Sec-Fetch-Site: same-origin'
is "$(npaused)" 1 'it was made'
is "$(audited | cut -d ' ' -f 1-3)" 'operator@localhost partitions pause' \
    'and is in the audit'
is "$(sql 'SELECT unix_user LIKE "% for monitor@%" FROM outbox_audit')" 1 \
    'and so is the monitor'
answers 503 '^warning: paused_partitions: ' '/readyz tells the problem' /readyz
answers_tcp 503 '^warning: paused_partitions$' \
    '/readyz tells a page of another site no text' /readyz -H 'Host: evil.example'
answers 200 '^warning: ' '/readyz with only critical problems' \
    '/readyz?severity=critical'
answers 400 'only critical' '/readyz with another severity' '/readyz?severity=x'
answers 200 '' 'another change' /api/actions/resume -d '{"all": true}' \
    "${WITH[@]}" "${JSON[@]}"
is "$(npaused)" 0 'it was made, too'
answers 200 '"actions":true.*"authorized":true' 'the session with a token' \
    /api/session "${WITH[@]}"
answers 200 '"actions":true.*"authorized":false' 'the session without' \
    /api/session

# Another token counts without a reload, and none is none.
keep_secret "$DIR/token" another-token-of-today
is_refused() { is_code 401 "${pause[@]}" "${JSON[@]}" "${WITH[@]}"; }
within 5 'a token that was replaced is refused' is_refused
answers 200 '' 'the new one is taken' "${pause[@]}" "${JSON[@]}" \
    -H 'Authorization: Bearer another-token-of-today'
check 'the log tells of a wrong token, and who sent it' has_line "$LOG" \
    'wrong token to the monitor: (127\.0\.0\.1:[0-9]+|user [0-9]+, process [0-9]+)'
rm "$DIR/token"
shows_only() { is_code 403 "${pause[@]}" "${JSON[@]}" \
    -H 'Authorization: Bearer another-token-of-today'; }
within 5 'a token that was removed is refused' shows_only
check 'outbox-master -t tells it' not "$OUTBOX_MASTER" -c "$CONF" -t
keep_secret "$DIR/token" "$TOKEN"
within 5 'the first token again' is_code 200 /api/actions/resume \
    -d '{"all": true}' "${WITH[@]}" "${JSON[@]}"

# Changes are made with an account whose password this user cannot read.
was=$op
op="password_env: OUTBOX_PW, operator: {user: operator, password_env: NO_SUCH}"
with_token "$DIR/token"
answers 403 'mysql.operator cannot be used.*outboxctl' 'no password for changes' \
    "${pause[@]}" "${JSON[@]}" "${WITH[@]}"
answers 200 '"actions":false' 'no password for changes: the page knows' \
    /api/session "${WITH[@]}"
op=$was

echo short > "$DIR/short"
chmod 600 "$DIR/short"
with_token "$DIR/short"
answers 403 'shorter than 16' 'a token that is too short' "${pause[@]}" \
    "${JSON[@]}" -H 'Authorization: Bearer short'
cp "$DIR/token" "$DIR/open"
chmod 644 "$DIR/open"
with_token "$DIR/open"
answers 403 'monitor.token_file: ' 'a token that all users may read' \
    "${pause[@]}" "${JSON[@]}" "${WITH[@]}"

# --- people --------------------------------------------------------------------

ANNA=(-H 'Authorization: Bearer token-of-anna-0000')
BEN=(-H 'Authorization: Bearer token-of-ben-00000')
EVE=(-H 'Authorization: Bearer token-of-eve-00000')
for name in anna ben eve; do
	printf -v text 'token-of-%s-00000' "$name"
	keep_secret "$DIR/$name" "${text:0:18}"
done
with_people() {
	with_token "$DIR/token" "tokens: [{name: anna, file: $DIR/anna, may: act},
	    {name: 'ben@x.example', file: $DIR/ben, may: [pause, replay]},
	    {name: eve, file: $DIR/eve, may: read}]${1:+, $1}"
}
with_people
resume=(/api/actions/resume -d '{"all": true}')
changed_by() { sql "SELECT SUBSTRING_INDEX(unix_user, ' for ', -1)
    FROM outbox_audit ORDER BY id DESC LIMIT 1"; }
HERE=$(hostname)
check 'outbox-master -t takes people' "$OUTBOX_MASTER" -c "$CONF" -t
answers 200 '"authorized":true,"user":"ben@x.example","by_proxy":false,"may":\["replay","pause"\]' \
    'the session of ben' /api/session "${BEN[@]}"
answers 200 '"actions":true,"authorized":true,"user":"eve","by_proxy":false,"may":\[\]' \
    'the session of eve, who reads' /api/session "${EVE[@]}"
answers 200 '"authorized":true,"user":null,"by_proxy":false,"may":\["retry",.*"dead-purge"\]' \
    'the session with the token of all' /api/session "${WITH[@]}"
answers 200 '"authorized":false,"user":null,"by_proxy":false,"may":\[\]' \
    'the session of nobody' /api/session
answers_tcp 200 '' 'ben pauses' "${pause[@]}" "${JSON[@]}" "${BEN[@]}"
is "$(npaused) $(changed_by)" "1 ben@x.example (monitor)@$HERE" \
    'and the audit says that it was ben'
check 'the log has the address' has_line "$LOG" \
    'ben@x.example wants a change: pause: 127\.0\.0\.1:[0-9]+$'
answers 403 '"ben@x.example may not resume".*add resume to what ben@x.example' \
    'ben may not resume' "${resume[@]}" "${JSON[@]}" "${BEN[@]}"
check 'the log tells it, and who it was' has_line "$LOG" \
    'ben@x.example may not resume: user [0-9]+, process [0-9]+$'
answers 403 'eve may not pause' 'eve changes nothing' "${pause[@]}" \
    "${JSON[@]}" "${EVE[@]}"
answers 403 'may not pause' 'not even by a dry run' /api/actions/pause \
    -d '{"all": true, "dry_run": true}' "${JSON[@]}" "${EVE[@]}"
answers 404 'no such action' 'an action that is none' \
    /api/actions/drop -d '{}' "${JSON[@]}" "${EVE[@]}"
answers 200 '' 'anna resumes' "${resume[@]}" "${JSON[@]}" "${ANNA[@]}"
is "$(npaused) $(changed_by)" "0 anna (monitor)@$HERE" 'it was anna'
answers 200 '' 'the token of all pauses' "${pause[@]}" "${JSON[@]}" "${WITH[@]}"
is "$(changed_by)" "monitor@$HERE" 'and has no name'
"$OUTBOXCTL" -c "$CONF" --json audit list --user ben@x.example > "$DIR/audit"
is "$(jq -c '[.rows[].command]' "$DIR/audit")" '["partitions pause"]' \
    'audit list finds what ben has done'

# What is wrong with one token is of no use to others, nor in their way.
keep_secret "$DIR/ben" token-of-anna-0000
is_refused() { is_code 401 "${resume[@]}" "${JSON[@]}" "$@"; }
within 5 'two with the same token have none' is_refused "${ANNA[@]}"
trouble 'monitor.tokens: ben@x.example has the same token as anna: correct' \
    'two with the same token'
like "$("$OUTBOX_MASTER" -c "$CONF" -t 2>&1)" \
    ": monitor.tokens: ben@x.example has the same token as anna\$" \
    'and outbox-master -t'
answers 200 '' 'the token of all is taken' "${resume[@]}" "${JSON[@]}" "${WITH[@]}"
rm "$DIR/ben"
is_let_in() { is_code 200 "${resume[@]}" "${JSON[@]}" "$@"; }
within 5 'the file of ben is gone: anna has her token again' \
    is_let_in "${ANNA[@]}"
check 'and ben has none' is_refused "${BEN[@]}"
for what in 'chmod 644:gives all users access' 'truncate -s 0:is empty' \
    'rm:No such file'; do
	keep_secret "$DIR/ben" token-of-ben-00000
	${what%:*} "$DIR/ben"
	like "$("$OUTBOX_MASTER" -c "$CONF" -t 2>&1)" \
	    ": monitor.tokens: ben@x.example: $DIR/ben: .*${what#*:}" \
	    "-t: ${what%:*}"
done
keep_secret "$DIR/ben" token-of-ben-two00
is_bens() { is_code 200 "${pause[@]}" "${JSON[@]}" \
    -H 'Authorization: Bearer token-of-ben-two00'; }
within 5 'another token of ben counts without a reload' is_bens
check 'the former one does not' is_refused "${BEN[@]}"
within 15 'all is well' is_well paused_partitions
keep_secret "$DIR/ben" token-of-anna-two0
sed -i "s|$DIR/anna|$DIR/ben|; s|file: $DIR/ben, may: .pause|file: $DIR/anna, may: [pause|" "$CONF"
reload
answers 200 '"user":"anna"' 'a reload with another file' /api/session \
    -H 'Authorization: Bearer token-of-anna-two0'
answers 200 '"user":"ben@x.example"' 'and what it was is another one'\''s' \
    /api/session "${ANNA[@]}"

# A proxy says who somebody is: from its address, and from no other.
with_people "user_header: X-Forwarded-User, proxies: [127.0.0.2]"
proxied() { answers_tcp "${@:1:3}" /api/actions/pause -d '{"all": true}' \
    "${JSON[@]}" --interface 127.0.0.2 -H "X-Forwarded-User: $4" "${@:5}"; }
proxied 200 '"changed":[0-9]' 'the proxy names anna' anna
is "$(changed_by)" "anna (monitor)@$HERE" 'the audit has her name'
check 'the log has the address of the proxy' has_line "$LOG" \
    'anna wants a change: pause: 127\.0\.0\.2:[0-9]+$'
proxied 403 'eve may not pause' 'the proxy names eve' eve
proxied 403 'mallory is not in monitor.tokens' 'a stranger' mallory
proxied 400 'who is it' 'a token and a user' anna "${BEN[@]}"
proxied 400 'not possible' 'a name that is none' '--dry-run x'
answers_tcp 401 'needs the token' 'the same header from another address' \
    "${resume[@]}" "${JSON[@]}" -H 'X-Forwarded-User: anna'
check 'the log tells it' has_line "$LOG" \
    'not in monitor.proxies said who it is: 127\.0\.0\.1:[0-9]+$'
answers 401 'needs the token' 'the same header by the Unix socket' \
    "${resume[@]}" "${JSON[@]}" -H 'X-Forwarded-User: anna'
answers 200 '' 'the token beside it counts' "${resume[@]}" "${JSON[@]}" \
    "${ANNA[@]}" -H 'X-Forwarded-User: eve'
with_people "user_header: X-User, proxies: ['uid:$(id -u)']"
answers 200 '' 'a proxy by the Unix socket names anna' "${pause[@]}" \
    "${JSON[@]}" -H 'X-User: anna'
is "$(audited | cut -d ' ' -f 2-3) $(changed_by)" \
    "partitions pause anna (monitor)@$HERE" 'the audit has her name, too'

monitor_conf "require_token: true, tokens: [{name: eve, file: $DIR/eve, may: read}]"
reload
answers 401 'without its token' 'require_token with a reader alone' /api/status
answers 200 '"problems"' 'the reader reads' /api/status "${EVE[@]}"
answers 403 'only shows' 'nobody changes anything' "${pause[@]}" "${JSON[@]}" \
    "${EVE[@]}"

with_token "$DIR/token" 'require_token: true'
answers 200 '' 'all is resumed' "${resume[@]}" "${JSON[@]}" "${WITH[@]}"
for path in /api/status /metrics /api/messages/1 /api/events; do
	answers 401 'without its token' "require_token: $path" $path
done
within 15 'require_token: /readyz' is_code 200 /readyz
for path in / /healthz /api/session; do
	answers 200 '' "require_token: $path" $path
done
answers 200 '"problems"' 'require_token: with the token' /api/status \
    "${WITH[@]}"
# --- sockets -------------------------------------------------------------------

with_token "$DIR/missing"
trouble 'monitor.token_file: .*missing.*: correct the file' 'no token file'
answers 200 ok 'no token file: it answers' /healthz

monitor_conf
reload
get_tcp /healthz
is "$CODE" 000 'a reload without monitor.listen closes it'
matches "monitor +$SOCK\$" 'status tells where it listens' status
start_receiver
monitor_conf "$CONF_TCP"
reload
trouble "cannot listen on 127.0.0.1:$PORT: Address already in use" \
    'a port of another process'
answers 200 ok 'a port of another process: the socket works' /healthz
answers 503 '^warning: monitor: ' 'a port of another process: /readyz' /readyz
stop_receiver
within 10 'the port is free: it is open' is_tcp_code 200 /healthz
within 10 'the port is free: all is well' is_well

monitor_conf "socket: $DIR/other.sock, listen: '127.0.0.1:$PORT'"
reload_to() {
	SOCK=$1
	kill -HUP "$MASTER"
	within 10 "$2" is_code 200 /healthz
}
reload_to "$DIR/other.sock" 'a reload with another monitor.socket'
check 'the former socket is gone' [ ! -e "$DIR/run/outbox.monitor.sock" ]
check 'a reload with monitor.listen opens it' is_tcp_code 200 /healthz
matches "monitor +$SOCK, http://127.0.0.1:$PORT\$" \
    'status tells where it listens' status

echo precious > "$DIR/file"
monitor_conf "socket: $DIR/file, listen: '127.0.0.1:$PORT'"
kill -HUP "$MASTER"
trouble "cannot listen on $DIR/file: it exists and is no socket" 'a file'
is "$(cat "$DIR/file")" precious 'a file is left alone'
check 'a file: TCP works' is_tcp_code 200 /healthz
monitor_conf "socket: $DIR/none/sock"
kill -HUP "$MASTER"
trouble "cannot listen on $DIR/none/sock: No such file" 'no directory'

# A second daemon with the same socket leaves it to the first.
SOCK=$DIR/run/outbox.monitor.sock
monitor_conf "socket: $SOCK"
reload_to "$SOCK" 'the first daemon has the socket again'
FIRST=$MASTER FIRST_LOG=$LOG
CONF=$DIR/second.yml PIDFILE=$DIR/run/second.pid LOG=$DIR/second.log
monitor_conf "socket: $SOCK"
start_master
trouble "cannot listen on $SOCK: another process listens" 'a second daemon'
ctl -c "$DIR/outbox.yml" --json status
is "$(field .this_host.monitor.state)" running 'the first one goes on'
kill -KILL "$(monitor_pid "$FIRST")"
within 5 'it is killed: one of them has the socket' is_code 200 /healthz
stops 'the second daemon stops'
CONF=$DIR/outbox.yml MASTER=$FIRST LOG=$FIRST_LOG
unset PIDFILE
within 10 'the first daemon has the socket' is_well
check 'and answers' is_code 200 /healthz

# --- processes, under load -----------------------------------------------------

monitor_conf "$CONF_TCP"
reload
"$CLIENTS" deaf 3 "$SOCK" > "$DIR/deaf" &
MASTERS+=("$!")
produce_forever --keys 50 --rate 500
wait_for 20 has_published 500
workers=$(worker_pids "$MASTER")
late=0
# replaced SIGNAL: the monitor, within a second
replaced() {
	local old begin
	old=$(monitor_pid "$MASTER")
	kill "-$1" "$old"
	begin=$(now_ms)
	wait_for 10 is_gone "$old"
	wait_for 10 is_code 200 /healthz
	[ $(($(now_ms) - begin)) -lt 1000 ] || late=$((late + 1))
}
# One that lives for a second is replaced without a wait that grows.
SIGNALS='KILL STOP KILL STOP' SLOW=1000 ROUNDS=20
! is_short || SIGNALS=KILL SLOW=300 ROUNDS=3
for signal in $SIGNALS; do
	pause 1100
	replaced $signal
done
is "$late" 0 "after each of $SIGNALS the monitor is back within a second"
is "$(worker_pids "$MASTER")" "$workers" 'the workers are the same'

victim=$(head -n 1 <<< "$workers")
kill -STOP "$victim"
answers 200 ok 'a worker that is stopped for a moment has signs of life' /healthz
pause 1500
kill -CONT "$victim"
is "$(worker_pids "$MASTER")" "$workers" 'a SIGSTOP ends no worker'

# agents: processes of outboxctl, which the master starts; hurt SIGNAL: all of
# them
agents() { pgrep -P "$MASTER" outboxctl; }
hurt() { agents | xargs -r kill "-$1"; }
get /readyz
get /api/messages
is "$(agents | wc -l)" 2 'outboxctl runs for the state and for queries'
hurt KILL
within 5 'outboxctl was killed: the next request works' \
    is_code 200 /api/partitions
is "$(pgrep -P "$(monitor_pid "$MASTER")" | wc -l)" 0 \
    'and the monitor has started none of them'
if ! is_short; then
	hurt STOP
	answers 502 'no answer in time' 'outboxctl is stopped' /api/workers
	answers 200 '' 'outboxctl was stopped: the next one works' /api/keys
fi
"$SANDBOX" stop "$DIR/nats" > /dev/null
within 15 'without a broker: not ready' is_code 503 /readyz
answers 503 '^critical: broker: ' 'without a broker: why' /readyz
answers 200 ok 'without a broker: signs of life' /healthz
"$SANDBOX" restart "$DIR/nats" > /dev/null
within 15 'with a broker: ready' is_code 200 /readyz

# --- clients -------------------------------------------------------------------

# in_time PATH [get_tcp]: it is answered within a second
in_time() {
	local begin
	begin=$(now_ms)
	"${2:-get}" "$1"
	[ "$CODE" = 200 ] && [ $(($(now_ms) - begin)) -lt 1000 ] && return
	say "$1: $CODE after $(($(now_ms) - begin)) ms"
	return 1
}
begin_clients() {
	"$CLIENTS" "$@" > "$DIR/clients" &
	MASTERS+=("$!")
}
for where in "$SOCK" "$PORT"; do
	begin_clients slow $SLOW "$where"
	slow=$!
	within 20 "$where: $SLOW clients that are slow" \
	    has_line "$DIR/clients" ready
	late=0
	for ((n = 0; n < ROUNDS; n++)); do
		in_time /healthz || late=$((late + 1))
		in_time /healthz get_tcp || late=$((late + 1))
		pause 100
	done
	is "$late" 0 "$where: and others are answered within a second"
	kill "$slow"
	wait "$slow" 2> /dev/null
done

if ! is_short; then
	begin_clients hold 129 "$SOCK" /api/events
	hold=$!
	statuses() { LC_ALL=C sort "$DIR/clients" | uniq -c | tr -s ' \n' ' '; }
	has_statuses() { [ "$(statuses)" = "$1" ]; }
	within 10 '128 streams of events, and the next one is refused' \
	    has_statuses ' 128 200 1 503 '
	answers 503 'too many clients read events' 'it says why' /api/events
	has_header 'Retry-After: 10' 'and when to try again'
	check 'others are answered' in_time /healthz
	kill "$hold"
	wait "$hold" 2> /dev/null
	within 15 'they can be opened again' is_event
fi
within 40 'clients that read nothing were cut off' has_line "$DIR/deaf" dropped

kill "$PRODUCER"
wait "$PRODUCER"
within 30 'all is relayed' is_drained
check_stream 'nothing lost, doubled or out of order'
stops 'the daemon stops'
check 'without a socket' [ ! -e "$SOCK" ]
# Its outboxctl end when they hear of that.
no_process() { ! pgrep -f -- "$CONF" > /dev/null; }
within 5 'without a process' no_process
done_testing
