#!/usr/bin/env bash
# doc/openapi.json: the monitor serves it, knows its paths, parameters and bodies
# and no others, and answers as it says; and each action does what it is for
# shellcheck disable=SC2016	# filters of jq have variables
. "${srcdir:-$(dirname "$0")/../..}/tests/lib/ctl.sh"
. "$srcdir/tests/lib/http.sh"

API=$srcdir/doc/openapi.json
TOKEN=0123456789abcdef-token
SOCK=$DIR/run/outbox.monitor.sock
start_servers
start_receiver
PORT=$RPORT
stop_receiver
sql "CREATE USER 'operator'@'localhost' IDENTIFIED BY '$OUTBOX_PW';
    GRANT ALL ON app.* TO 'operator'@'localhost'"
keep_secret "$DIR/token" "$TOKEN"
write_conf
sed -i 's/^retry: {/&on_dead: halt, /
    s/password_env: OUTBOX_PW/&, operator: {user: operator, password_env: OUTBOX_PW}/' \
    "$CONF"
echo "monitor: {listen: '127.0.0.1:$PORT', token_file: $DIR/token}" >> "$CONF"

# api FILTER [ARGUMENT...]: of the description
api() { jq -r "${@:2}" "$1" "$API"; }

# schema_of METHOD TEMPLATE CODE TYPE: of the answer; "": it is not described
schema_of() {
	api '. as $root | .paths[$path][$method].responses[$code] // empty |
	    if has("$ref") then (.["$ref"] | split("/")[1:]) as $p |
	    $root | getpath($p) else . end |
	    .content[$type].schema // empty | tojson' --arg path "$2" \
	    --arg method "$1" --arg code "$3" --arg type "$4"
}

WAY=(--unix-socket "$SOCK") BASE=http://localhost
# request METHOD PATH [OPTION]...: sets CODE, TYPE; the answer is in $DIR/body
request() {
	local method=$1 path=$2
	shift 2
	IFS=' ;' read -r CODE TYPE _ < <(curl -s -g -m 20 -o "$DIR/body" \
	    -X "${method^^}" -w '%{http_code} %{content_type}\n' \
	    "${WAY[@]}" "$@" "$BASE$path")
}
is_code() { request get "$2" && [ "$CODE" = "$1" ]; }

# answers CODE METHOD TEMPLATE PATH [OPTION]...: as the description says
SEEN=$DIR/seen
answers() {
	local code=$1 method=$2 template=$3 path=$4 schema wrong=''
	shift 4
	request "$method" "$path" "$@"
	is "$CODE" "$code" "$method $path: $code"
	schema=$(schema_of "$method" "$template" "$CODE" "$TYPE")
	echo "$method $template $CODE" >> "$SEEN"
	if [ -z "$schema" ]; then
		wrong="$CODE $TYPE is not described: $(head -c 300 "$DIR/body")"
	elif [ "$TYPE" = application/json ]; then
		wrong=$(jq -r --argjson schema "$schema" --slurpfile root "$API" \
		    -f "$srcdir/tests/lib/schema.jq" "$DIR/body" 2>&1)
	fi
	is "$wrong" '' "$method $path: the answer is as described"
}
body() { jq -rc "$1" "$DIR/body"; }

AS_OPERATOR=(-H "Authorization: Bearer $TOKEN" -H 'Content-Type: application/json')
# acts CODE ACTION BODY: the answer is in $DIR/body
acts() {
	answers "$1" post "/api/actions/$2" "/api/actions/$2" \
	    "${AS_OPERATOR[@]}" -d "$3"
}
# changes N ACTION BODY: and the audit has it, by the operator's account
changes() {
	acts 200 "${@:2}"
	is "$(body .changed)" "$1" "$2 $3: so many were changed"
	like "$(audited)" "^operator@localhost .* $1\$" "$2: it is in the audit"
}

start_fleet
within 10 'the monitor answers' is_code 200 /healthz
within 15 'the fleet is ready' is_code 200 /readyz

#
# The description: it is served, valid, and has no more and no less than the
# router
#
request get /openapi.json
is "$CODE $TYPE $(cksum < "$DIR/body")" "200 application/json $(cksum < "$API")" \
    'it is served as it is'
is "$(api '. as $root | [.. | objects | .["$ref"] | strings] | unique[] |
    select((ltrimstr("#/") | split("/")) as $p | $root | getpath($p) == null)')" '' 'each reference leads somewhere'
is "$(api '[.paths[][].operationId] | length - (unique | length)')" 0 \
    'each operation has an id of its own'
is "$(api '.components as $c | [.. | objects | .["$ref"] // empty | strings |
    split("/")[2:] | join("/")] as $used | ["schemas", "parameters",
    "responses"][] as $kind | $c[$kind] | keys[] | "\($kind)/\(.)" |
    select([. == $used[]] | any | not)')" '' 'each part is used'
{
	sed -n 's/^	{ "\(\/[^"]*\)", .*/get \1/p' "$srcdir/src/monitor/paths.c"
	grep -o '\[ACTION_[A-Z_]*\] = "[a-z-]*"' \
	    "$srcdir/src/conf/conf_form_monitor.c" |
	    sed 's|.*"\(.*\)"|post /api/actions/\1|'
	echo 'get /api/messages/{sequence}
get /openapi.json
get /'
} | sort > "$DIR/router"
is "$(api '.paths | to_entries[] | "\(.value | keys[]) \(.key)"' | sort)" \
    "$(cat "$DIR/router")" 'the router has the same paths'

# What compares an answer with its schema finds what is wrong.
request get /api/session
for change in 'del(.properties.host)' '.properties.host.type = "integer"' \
    '.required += ["more"]' '.properties.host.enum = ["x"]' \
    '.properties.host.pattern = "^$"' '.type = "array"' '{anyOf: [{type: "null"}]}' \
    '.properties.host = {"$ref": "#/components/schemas/Problem"}' \
    '.minProperties = 1'; do
	schema=$(api ".components.schemas.Session | $change | tojson")
	is "$(jq -r --argjson schema "$schema" --slurpfile root "$API" \
	    -f "$srcdir/tests/lib/schema.jq" "$DIR/body" | grep -c .)" 1 \
	    "a schema with $change: the answer is wrong"
done

# Each parameter, of each path: refused exactly where it is not described.
mapfile -t parameters < <(api '.components.parameters[] |
    select(.in == "query").name')
# A line for each parameter that a path has.
described=$(api '. as $root | .paths | to_entries[] | .key as $path |
    .value.get.parameters // [] | .[]["$ref"] // empty |
    split("/")[1:] as $p | $root | getpath($p) | "\($path) \(.name)"')
for path in $(api '.paths | to_entries[] | select(.value.get).key |
    select(test("^/api/") and (test("events|[{]") | not))'); do
	wrong=''
	for name in "${parameters[@]}"; do
		request get "$path?$name="
		want=400
		[[ $'\n'$described$'\n' != *$'\n'"$path $name"$'\n'* ]] || want=200
		[ "$CODE" = "$want" ] ||
		    wrong+=" $name: $CODE"
	done
	is "$wrong" '' "$path: takes the parameters that are described"
done

# The same of the members of bodies.  Each is of a wrong type, so nothing is done.
mapfile -t members < <(api '[.paths[].post // empty |
    .requestBody.content[].schema.properties | keys[]] | unique[]')
# A line for each member that an action has, with a value of a wrong type.
typed=$(api '.paths | to_entries[] | select(.value.post) |
    (.key | split("/")[3]) as $action |
    .value.post.requestBody.content[].schema.properties | to_entries[] |
    "\($action) \(.key) " +
    ({string: "x", boolean: false, array: []}[.value.type] | tojson)')
for action in $(api '.paths | keys[] | select(startswith("/api/actions/")) |
    split("/")[3]'); do
	wrong=''
	for name in "${members[@]}"; do
		value=$(sed -n "s/^$action $name //p" <<< "$typed")
		request post "/api/actions/$action" "${AS_OPERATOR[@]}" \
		    -d "{\"$name\": ${value:-\"x\"}, \"dry_run\": true, \"nothing\": 1}"
		refused=$(grep -c "\"error\": *\"$name: unknown" "$DIR/body")
		has=${value:+0}		# and then it is not refused
		[ "$refused" = "${has:-1}" ] ||
		    wrong+=" $name"
	done
	is "$wrong" '' "$action: takes the members that are described"
done

#
# Actions, from end to end
#
changes 16 pause '{"all": true}'
for key in a b c d; do
	call_enqueue "'$key', NULL, 'ok', 1, '{}', NULL, 'x'"
done
mapfile -t S < <(sql 'SELECT sequence FROM events ORDER BY sequence')
sql "UPDATE outbox SET attempts = 3, last_error = 'no answer',
    available_at = NOW(6) + INTERVAL 1 HOUR WHERE global_sequence = ${S[0]}"
answers 200 get /api/messages/\{sequence\} "/api/messages/${S[0]}"
is "$(body '[.state, .attempts]')" '["pending",3]' 'a message that failed'
changes 1 retry "{\"sequences\": [${S[0]}], \"reset_attempts\": true}"
is "$(sql "SELECT attempts, available_at <= NOW(6) FROM outbox
    WHERE global_sequence = ${S[0]}" | tr '\t' ' ')" '0 1' 'retry: it is due'
changes 1 discard "{\"sequences\": [${S[3]}]}"
is "$(sql 'SELECT global_sequence FROM outbox_dead_letters')" "${S[3]}" \
    'discard: it is a dead letter'
answers 200 get /api/messages '/api/messages?state=pending'
is "$(body '[.rows[].sequence] | length')" 3 'the others wait'
answers 200 get /api/keys /api/keys
changes 16 resume '{"all": true}'
within 20 'resume: they are sent' is_drained
answers 200 get /api/messages '/api/messages?state=delivered&key=a'
changes 1 replay "{\"sequences\": [${S[1]}]}"
within 20 'replay: it is sent again' is_sql "SELECT replay_no = 1 AND
    published_at IS NOT NULL FROM outbox WHERE global_sequence = ${S[1]}" 1
# As by purge: an event whose dead letter is deleted lacks its row.
sql "UPDATE outbox_dead_letters SET reason = 'purged';
    DELETE FROM outbox_blocked_keys;
    INSERT INTO events (sequence, stream_id, stream_sequence, event_type,
	event_data) SELECT 1000 + n, CONCAT('k', n), 1, 'ok', 'x'
	FROM $(numbers 7);
    INSERT INTO outbox_dead_letters (global_sequence, partition_key, order_key,
	event_type, reason, attempts, last_error, died_at)
	SELECT sequence, 'p01', stream_id, 'ok', 'message', 1,
	IF(sequence < 1005, CONCAT('bad ', sequence), 'other'), NOW(6)
	FROM events WHERE sequence >= 1000"
answers 200 get /api/dead/groups /api/dead/groups
is "$(body '[.rows[] | [.count, .error]]')" '[[5,"bad #"],[2,"other"]]' \
    'two groups of dead letters'
group=$(body '.rows[0].group')
answers 200 get /api/dead "/api/dead?group=$group&limit=3"
is "$(body '[.rows[].sequence]')" '[1000,1001,1002]' 'the letters of a group'
answers 200 get /api/messages '/api/messages?state=dead'
answers 200 get /api/messages/\{sequence\} /api/messages/1006
is "$(body .state)" dead 'details of a dead letter'
acts 200 dead-retry "{\"all\": true, \"group\": \"$group\", \"dry_run\": true}"
is "$(body '[.changed, .dry_run]')" '[5,true]' 'dry_run tells what would be'
rows_are 7 "outbox_dead_letters WHERE reason <> 'purged'" \
    'dry_run: nothing was done'
changes 5 dead-retry "{\"all\": true, \"group\": \"$group\"}"
within 20 'dead-retry: the group is sent' is_sql "SELECT COUNT(*) FROM outbox
    WHERE global_sequence BETWEEN 1000 AND 1004 AND published_at IS NOT NULL" 5
sql "INSERT INTO outbox_blocked_keys (first_sequence, partition_key, order_key,
    reason, head_sequence) VALUES (1006, 'p01', 'k6', 'halted', 1006)"
answers 200 get /api/keys /api/keys
is "$(body '.[0].key')" k6 'a halted key'
changes 1 release '{"keys": ["k6"]}'
changes 2 dead-purge '{"all": true}'
is "$(sql "SELECT COUNT(*) FROM outbox_dead_letters WHERE reason <> 'purged'")" \
    0 'dead-purge: none is left'
answers 200 get /api/audit '/api/audit?command=dead*'
is "$(body '[.rows[].command]')" '["dead purge","dead retry"]' \
    'the audit has both'

#
# All that is read
#
for path in $(api '.paths | to_entries[] | select(.value.get).key |
    select(test("events|[{]") | not)'); do
	case $path in
	/readyz) within 20 'it is ready again' is_code 200 /readyz ;;
	esac
	answers 200 get "$path" "$path"
done
request get /api/events -m 3
is "$CODE $TYPE" '200 text/event-stream' '/api/events: a stream'
echo 'get /api/events 200' >> "$SEEN"
grep -m 1 '^data: ' "$DIR/body" | cut -c 7- > "$DIR/event"
is "$(jq -r --argjson schema '{"$ref": "#/components/schemas/Status"}' \
    --slurpfile root "$API" -f "$srcdir/tests/lib/schema.jq" "$DIR/event" 2>&1)" \
    '' '/api/events: its data is a Status'

#
# Errors
#
for path in $(api '.paths | to_entries[] | select(.value.get.responses["400"])
    .key | select(test("[{]") | not)'); do
	answers 400 get "$path" "$path?nothing=1"
done
answers 400 get /api/messages/\{sequence\} /api/messages/x
answers 404 get /api/messages/\{sequence\} /api/messages/999999
# names CODE FIELD ERROR: those of the answer, in words of the API
names() {
	like "$(body .error)" "$3" "the error has: $3"
	is "$(body '[.code, .field, .remedy] | join(" ")')" \
	    "$1 $2 see /openapi.json" 'its code and field, and where they are told'
}
answers 400 get /api/messages '/api/messages?limit=1001'
names value limit '^limit: not a number from 1 to 1000$'
answers 400 get /api/messages '/api/messages?key=a&key=b'
names choice key '^key: given twice$'
answers 400 get /api/messages '/api/messages?k%FFy=1'
names unknown 'k?y' '^k[?]y: unknown parameter$'
answers 400 get /api/messages '/api/messages?state=x'
names value state '^state: "x" is not pending, delivering, delivered or dead$'
answers 400 get /api/audit '/api/audit?after=x'
names value after '^after: "x" is not a number '
acts 400 retry '{"sequences": [1], "all": true}'
names choice sequences '^give sequences or a filter, not both$'
acts 400 pause '{"labels": ["p00"], "all": true}'
names choice labels '^give labels or all, not both$'
acts 400 retry '{"sequences": ["--all"]}'
names value sequences '^sequences: positive numbers are wanted$'
acts 400 dead-retry '{"all": true, "since": "--dry-run"}'
names value since '^since: "--dry-run" is neither a time '
acts 400 discard '[]'
names value '' '^the body is no object$'
answers 400 get /api/messages '/api/messages?since=--limit'
names value since '^since: "--limit" is '
answers 400 get /api/dead '/api/dead?group=x'
names value group '^group: "x" is no group of /api/dead/groups$'
acts 400 retry '{}'
names missing sequences '^give either sequences, key, type, partition, since or all$'
acts 400 dead-retry '{"group": "0123456789abcdef", "sequences": [1]}'
names choice all '^a filter needs all$'
acts 400 pause '{}'
names missing labels '^give either labels or all$'
acts 400 resume '{}'
names missing labels '^give either labels or all$'
# A list that is empty, or is none, is never all, whatever is beside it.
for action in pause/labels resume/labels release/keys retry/sequences \
    discard/sequences replay/sequences dead-retry/sequences \
    dead-purge/sequences; do
	list=${action#*/} wrong=''
	for members in "\"$list\": []" "\"$list\": null" "\"$list\": \"\"" \
	    "\"$list\": [], \"all\": true" "\"$list\": {}, \"all\": true" \
	    "\"$list\": [], \"key\": \"\"" "\"$list\": [null]" \
	    "\"all\": false" "\"all\": null" '"dry_run": false'; do
		request post "/api/actions/${action%/*}" "${AS_OPERATOR[@]}" \
		    -d "{$members}"
		[ "$CODE" = 400 ] || wrong+=" $members: $CODE"
	done
	is "$wrong" '' "${action%/*}: nothing is never all"
done
acts 400 release '{}'
names missing keys '^keys is missing$'
answers 400 get /api/messages '/api/messages?since=x'
acts 400 pause '{'
acts 400 retry '{"sequences": ["1"]}'
acts 409 retry '{"sequences": [999999]}'
like "$(body .error)" 'no such message' 'a refused change says why'
is "$(body '[.code, .field]')" '["conflict",null]' 'and that no field is at fault'
acts 413 retry "$(printf '%070000d' 0)"
pause=(post /api/actions/pause /api/actions/pause -d '{"labels": ["p00"]}')
answers 401 "${pause[@]}" -H 'Content-Type: application/json'
answers 403 "${pause[@]}" "${AS_OPERATOR[@]}" -H 'Origin: http://evil.example'
answers 415 "${pause[@]}" "${AS_OPERATOR[@]:0:2}"
WAY=() BASE=http://127.0.0.1:$PORT
for path in $(api '.paths | to_entries[] | select(.value.get.responses["421"])
    .key | select(test("[{]") | not)'); do
	answers 421 get "$path" "$path" -H 'Host: evil.example'
done
answers 421 "${pause[@]}" "${AS_OPERATOR[@]}" -H 'Host: evil.example'
answers 401 "${pause[@]}" -H 'Content-Type: application/json'
answers 200 get /healthz /healthz -H 'Host: evil.example'

# The database goes.
"$SANDBOX" stop "$DIR/db" >/dev/null
is_unready() { request get /readyz && grep -q '^[a-z]*: database' "$DIR/body"; }
within 30 'it is noticed that the database is away' is_unready
answers 503 get /readyz /readyz
answers 503 get /api/messages /api/messages
answers 200 get /api/status /api/status
is "$(body '.database.error != null')" true 'the status says it'
acts 503 pause '{"all": true}'
"$SANDBOX" restart "$DIR/db" >/dev/null
within 30 'the database is back: so is the answer' is_code 200 /api/messages

# outboxctl does not answer, or is gone: Failed and TooLate are in run_monitor.sh.
is "$(api '.components.responses | keys[]' | grep -vx 'Failed\|TooLate' |
    while read -r name; do
	codes=$(api '[.paths[][].responses | to_entries[] |
	    select(.value["$ref"] == "#/components/responses/\($n)").key] |
	    unique | join("|")' --arg n "$name")
	grep -Eq " ($codes)\$" "$SEEN" || echo "$name"
    done)" '' 'each error was seen'
is "$(api '.paths | to_entries[] | "\(.value | keys[]) \(.key) 200"' | sort)" \
    "$(grep ' 200$' "$SEEN" | sort -u)" 'each path was asked, with success'
done_testing
