#!/usr/bin/env bash
# outboxctl serve: a command a line, an answer a line, in order
. "${srcdir:-$(dirname "$0")/../..}/tests/lib/ctl.sh"

start_with_operator
cp "$OP" "$DIR/good.yml"
put_row a 1
A=$SEQ
put_row b 1 ok 'published_at = NOW(6)'
sql "INSERT INTO outbox_partitions (partition_key) VALUES
    ('p00'), ('p01'), ('p02'), ('p03')"

# serve: start it; its errors go to $DIR/serve.err
serve() {
	coproc SERVE {
		ulimit -Sc "$(ulimit -Hc)"
		exec "$OUTBOXCTL" -c "$OP" serve 2> "$DIR/serve.err"
	}
	exec 8>&"${SERVE[1]}" 9<&"${SERVE[0]}"
	eval "exec ${SERVE[1]}>&-"
	PID=$SERVE_PID
}
# end_serve: of its input; sets RC
end_serve() {
	exec 8>&-
	wait "$PID"
	RC=$?
	exec 9<&-
}
# words WORD...: as a line; none of them has a quote
words() {
	local list
	printf -v list ', "%s"' "$@"
	printf '[%s]\n' "${list#, }"
}
# line TEXT: send it; sets OUT and RC from the answer
line() {
	answer "$1"
	{ read -r RC; read -r OUT; } < <(jq -c '.exit, .result' <<< "$ANSWER")
}
# answer TEXT: send it; sets ANSWER alone
answer() {
	ANSWER=
	printf '%s\n' "$1" >&8
	read -rt 60 -u 9 ANSWER
}
ask() { line "$(words "$@")"; }
# refused REGEX NAME LINE: wrong usage, and the next command runs
refused() {
	line "$3"
	like "$RC $(field .error)" "^2 .*$1" "$2: refused"
	like "$(field .remedy)" '^see outboxctl ' "$2: the remedy is help"
}

#
# Order, and the same documents as with --json
#
serve
{ words messages list; words dead list; words messages show "$A"; } >&8
for what in '.rows|length == 1' '.rows == []' ".sequence == $A"; do
	read -rt 60 -u 9 OUT
	is "$(jq ".exit == 0 and (.result|$what)" <<< "$OUT")" true \
	    "answers come in the order of the lines: $what"
done
like "$(cat "/proc/$PID/limits")" '^Max core file size +0 +0 ' \
    'outboxctl leaves no core dumps'
ageless='if type == "array" then map(del(.oldest_ms)) else . end'
for command in 'messages list' 'messages list --limit 1 --state delivered' \
    "messages show $A --payload" 'dead list' 'partitions list' workers \
    'keys blocked' 'audit list' config 'schema check' 'messages show 99999'; do
	# shellcheck disable=SC2086
	ctl -c "$OP" --json $command
	once="$RC $(field "$ageless")"
	# shellcheck disable=SC2086
	ask $command
	is "$RC $(field "$ageless")" "$once" \
	    "$command: as outboxctl --json prints it"
done
# (ages differ in these two)
for command in status doctor; do
	ctl -c "$OP" --json "$command"
	once="$RC $(field 'if type == "array" then length else keys end')"
	ask "$command"
	is "$RC $(field 'if type == "array" then length else keys end')" \
	    "$once" "$command: as outboxctl --json prints it"
done

#
# What is no command
#
for text in 'no JSON' '' '{"a": 1}' '["messages", 1]' '"status"' \
    '["status"' '["a\u0000b"]' '{"words": ["dead", "list"]}' \
    '{"person": "a b", "words": ["dead", "list"]}' \
    '{"person": "", "words": ["dead", "list"]}' \
    '{"person": "monitor", "words": ["dead", "list"]}' \
    '{"person": 1, "words": ["dead", "list"]}' '{"person": "anna"}' \
    '{"person": "anna", "words": ["dead", "list"], "more": 1}'; do
	refused 'not a JSON array of strings' "line $text" "$text"
done
refused 'no command was given' 'an empty array' '[]'
refused 'unknown command' 'an unknown command' '["frobnicate"]'
refused 'unknown command' 'an option first' '["-c", "/dev/null", "status"]'
refused 'its command is missing' 'half a command' '["dead"]'
refused 'not an option' 'an unknown option' '["status", "--frobnicate"]'
refused 'not inside serve' 'serve' '["serve"]'
refused 'not inside serve' 'help' '["status", "--help"]'
refused 'does not end' '--watch' '["status", "--watch"]'
refused 'does not end' '--follow' '["logs", "--follow"]'
refused 'name a FILE' 'enqueue' '["enqueue"]'
refused 'name a FILE' 'enqueue -' '["enqueue", "-"]'
refused 'more than 1048576 bytes' 'a line that is too long' \
    "[\"dead\", \"list\", \"--key\", \"$(head -c 1100000 /dev/zero | tr '\0' k)\"]"
ask dead list
is "$RC" 0 'after all these, a command runs'

#
# Failure, then success; changes
#
ask messages show 4242
like "$RC $OUT" '^1 .*no such message' 'a failure has its error'
is "$(field .status)" 1 'and its status'
ask messages show "$A"
is "$RC $(field '[.sequence, has("status")]')" "0 [$A,false]" \
    'the next command has nothing of it'
ask partitions pause --all
like "$RC $(field .remedy)" '^1 confirm it with --yes' \
    'nobody is asked for confirmation'
ask partitions pause p00 --yes
is "$RC $(field .changed)" '0 1' 'a change'
like "$(audited)" '^operator.* partitions pause p00 --yes 1$' \
    'the audit has the words'
asked_by() { sql 'SELECT unix_user FROM outbox_audit
    ORDER BY id DESC LIMIT 1'; }
is "$(asked_by)" "$(id -un)@$(hostname)" 'and who runs serve'
line '{"person": "--x=anna", "words": ["partitions", "resume", "p00"]}'
is "$RC" 0 'another change'
is "$(asked_by)" "$(id -un) for --x=anna (serve)@$(hostname)" \
    'the audit has the person who asks for it'
is "$(audited | cut -d ' ' -f 2-)" 'partitions resume p00 1' \
    'whose name is no word of the command'
ask partitions pause p00 --yes
is "$RC $(asked_by)" "0 $(id -un)@$(hostname)" 'the next change is not theirs'
ask partitions resume p00
ask partitions list
is "$(field '[.[]|select(.state == "paused")]')" '[]' \
    'a command sees the change before it'

#
# The connection: one for all that read, none that a change leaves
#
sessions() { sql "SELECT COUNT(*) FROM information_schema.processlist
    WHERE user = 'operator'"; }
is "$(sessions)" 1 'one connection'
# asked COMMAND...: statements that the server gets meanwhile, and ours
asked() {
	local before
	before=$(server_status Questions)
	"$@" > "$DIR/asked"
	echo $(($(server_status Questions) - before))
}
ask status
once=$(asked "$OUTBOXCTL" -c "$OP" --json status)
kept=$(asked ask status)
say "status: $once statements with its connection, $kept in serve"
check "status asks less than with a connection of its own" \
    [ "$kept" -lt "$once" ]
connected=$(server_status Connections)
ask status
ask messages list
# Two are of sql itself.
is $(($(server_status Connections) - connected)) 1 \
    'status and a list cost no connection'
is "$(field .rows[0].sequence)" "$A" 'and have their results'

# The server drops it, as after wait_timeout.
sql "$(sql "SELECT CONCAT('KILL ', id) FROM information_schema.processlist
    WHERE user = 'operator'")"
ask dead list
is "$RC" 0 'a connection that was lost meanwhile is opened again'

#
# The file changes
#
sed 's/subject: [^}]*}"/subject: "events.x"/' "$DIR/good.yml" > "$OP"
ask messages show "$A" --payload
is "$RC $(field .subject)" '0 events.x' 'a changed file counts at once'
echo 'mysql: {port: x}' > "$OP"
ask dead list
like "$RC $(field '[.error, .remedy]|join(" ")')" \
    '^78 .*port.*correct the configuration' 'a file in error: exit 78'
ask status
is "$RC $(field '.problems[0].problem != null')" "$("$OUTBOXCTL" -c "$OP" \
    --json status 2>/dev/null | jq -r '.problems[0].problem != null' |
    sed "s/^/$RC /")" 'a file in error: status does what it can'
rm "$OP"
ask dead list
like "$RC $(field .error)" '^78 .*No such file' 'no file: exit 78'
cp "$DIR/good.yml" "$OP"
ask dead list
is "$RC" 0 'a file that was mended'

#
# The database goes, and comes back
#
"$SANDBOX" stop "$DIR/db" >/dev/null
ask dead list
like "$RC $(field .remedy)" '^3 start the server' 'no database: exit 3'
ask status
is "$RC $(field '.database.error != null')" '3 true' \
    'no database: status says so'
"$SANDBOX" restart "$DIR/db" >/dev/null
ask status
is "$(field .database)" null 'it is back: status'
ask messages list
is "$RC $(field .rows[0].sequence)" "0 $A" 'it is back: a list'

#
# Servers restart between two rounds of whoever keeps connections: what it says
# next is right, as from a process of its own, with and without routes.
#
# seen OBJECT: the servers that it sees
seen() { jq -c '[.broker|objects|select(.error == null)|"nats"] +
    [select(.database == null)|"db"]' <<< "$1"; }
route='{name: hooks, type: "hook.*", driver: http, endpoint: "http://127.0.0.1:9/"}'
sed "s|publish: {|&routes: [$route], |" "$DIR/good.yml" > "$DIR/routed.yml"
sed 's/stream: "EVENTS"/stream: "", core: true/' "$DIR/good.yml" > "$DIR/core.yml"
"$OUTBOXCTL" -c "$DIR/routed.yml" --json status --watch 4 > "$DIR/watch" &
WATCHER=$!
# shellcheck disable=SC2317 # by within
rounds() { [ "$(wc -l < "$DIR/watch")" -ge "$1" ]; }
within 20 '--watch: a round' rounds 1
kill -STOP "$WATCHER"
"$SANDBOX" restart "$DIR/db" >/dev/null
for conf in good routed core; do
	cp "$DIR/$conf.yml" "$OP"
	ask status
	"$SANDBOX" restart "$DIR/nats" >/dev/null
	ask status
	is "$(seen "$OUT")" '["nats","db"]' "a restart, $conf.yml: serve is right"
done
kill -CONT "$WATCHER"
within 20 '--watch: the next round' rounds 2
is "$(seen "$(sed -n 2p "$DIR/watch")")" '["nats","db"]' \
    'restarts, routed.yml: --watch is right'
kill -TERM "$WATCHER"
"$SANDBOX" stop "$DIR/nats" >/dev/null
ask status
is "$(seen "$OUT")" '["db"]' 'a stop, core.yml: serve tells it at once'
"$SANDBOX" restart "$DIR/nats" >/dev/null

# One of two servers stands still, then the other one.
"$SANDBOX" start nats "$DIR/nats2" >/dev/null
URL2=$(. "$DIR/nats2/env" && echo "$URL")
"$LAB" stream --nats "$URL2" --name EVENTS --subjects 'events.>' \
    --dup-window 600
sed "s|servers: \[|&\"$URL2\", |" "$DIR/routed.yml" > "$OP"
ask status
for server in nats nats2; do
	kill -STOP "$(cat "$DIR/$server/pid")"
	ask status
	is "$(seen "$OUT")" '["nats","db"]' "$server stands still: the other is asked"
	kill -CONT "$(cat "$DIR/$server/pid")"
done
cp "$DIR/good.yml" "$OP"

#
# Memory
#
rss() { awk '$1 == "VmRSS:" { print $2 }' "/proc/$PID/status"; }
many() {
	for ((i = 0; i < $1; i++)); do
		answer '["status"]'
		answer "[\"messages\", \"show\", \"$A\", \"--payload\"]"
		answer '["messages", "show", "4242"]'
		answer 'no JSON'
	done
}
rounds=60
! is_short || rounds=12
many $((rounds * 2 / 3))
before=$(rss)
many $rounds
after=$(rss)
say "$before KiB, after $((4 * rounds)) commands $after KiB"
check 'the memory does not grow' [ $((after - before)) -lt $((rounds * 17)) ]

#
# Ends
#
end_serve
is "$RC" 0 'the end of the input ends it'
serve
printf '%s' '["dead","list"]' >&8
end_serve
is "$RC" 0 'and runs a last line without its end'
serve
ask dead list
kill -TERM "$PID"
wait "$PID"
is $? 143 'SIGTERM ends it'
exec 8>&- 9<&-

# For the monitor, which may be in wrong hands: no other commands.
export OUTBOXCTL_MAY=read
serve
unset OUTBOXCTL_MAY
ask messages list
is "$RC" 0 'the monitor may ask for lists'
for command in 'partitions pause p00' "enqueue $DIR/good.yml" 'stream info' \
    'config' 'schema install' "setup --admin-password-file $DIR/good.yml"; do
	# shellcheck disable=SC2086
	refused 'the monitor may not ask' "for $command" "$(words $command)"
done
end_serve
# What changes rows takes a token, whatever the monitor says of who asks.
keep_secret "$DIR/anna" token-of-anna-0000
keep_secret "$DIR/all" token-of-all-00000
# people MORE: of the configuration, beside anna
people() {
	cp "$DIR/good.yml" "$OP"
	cat >> "$OP" <<< "monitor: {token_file: $DIR/all, tokens: [{name: anna,
	    file: $DIR/anna, may: [pause]}$1}"
}
# wants TOKEN-OR-PERSON WORD...
wants() { line "{$1, \"words\": $(words "${@:2}")}"; }
start_for_monitor() {
	export OUTBOXCTL_MAY=change
	serve
	unset OUTBOXCTL_MAY
}
people ']'
start_for_monitor
wants '"token": "token-of-anna-0000"' partitions pause --yes p00
is "$RC $(asked_by)" "0 $(id -un) for anna (serve)@$(hostname)" \
    'with the token of anna the monitor may ask for a change'
wants '"token": "token-of-anna-0000"' partitions resume --yes p00
like "$RC $OUT" '^77 .*anna may not resume.*add resume to what anna may do' \
    'if anna may make it'
wants '"token": "token-of-all-00000"' partitions resume --yes p00
is "$RC $(asked_by)" "0 $(id -un)@$(hostname)" 'the token of all has no name'
for command in "enqueue $DIR/good.yml" 'schema install' config reconcile \
    'partitions sync'; do
	# shellcheck disable=SC2086
	refused 'the monitor may not ask' "but not for $command" \
	    "{\"token\": \"token-of-all-00000\", \"words\": $(words $command)}"
done
# Nobody: it ends with a status that the master sees.
is_nobody() {
	like "$RC $OUT" '^77 .*needs the token of a person' "$1: refused"
	end_serve
	is "$RC" 77 'that was the end'
	start_for_monitor
}
ask partitions pause --yes p00
is_nobody 'without a token'
wants '"token": "token-of-anna-0001"' partitions pause --yes p00
is_nobody 'with a wrong one'
wants '"person": "anna"' partitions pause --yes p00
is_nobody 'with a name'
keep_secret "$DIR/anna" token-of-anna-0001
wants '"token": "token-of-anna-0000"' partitions pause --yes p00
is_nobody 'with a token that was replaced'
wants '"token": "token-of-anna-0001"' partitions pause --yes p00
is "$RC" 0 'the new one counts at once'
people ', {name: "*", may: [pause]}], user_header: X-User, proxies: ["::1"]'
wants '"person": "ben"' partitions pause --yes p01
is "$RC $(asked_by)" "0 $(id -un) for ben (serve)@$(hostname)" \
    'a name counts where a proxy may say it'
wants '"person": "ben"' partitions resume --yes p01
like "$RC $OUT" '^77 .*ben may not resume' 'and allows no more'
wants '"token": "token-of-all-00000"' partitions resume --yes --all
end_serve
cp "$DIR/good.yml" "$OP"

# A change ends with it: replay waits between its chunks.
sql "INSERT INTO events (stream_id, stream_sequence, event_type, event_data)
	SELECT 'many', n, 'ok', 'x' FROM $(numbers 60);
    INSERT INTO outbox (global_sequence, partition_key, published_at)
	SELECT sequence, 'p00', NOW(6) FROM events WHERE stream_id = 'many'"
serve
words messages replay --all --yes --rate 1 >&8
has_child() { CHILD=$(pgrep -P "$PID"); }
within 20 'a change runs in a process of its own' has_child
disown "$PID"
kill -KILL "$PID"
within 20 'and ends when serve is killed' is_gone "$CHILD"
exec 8>&- 9<&-
done_testing
