#!/usr/bin/env bash
# outboxctl on a terminal: it fits the width, colours it, and lets no data move
# the cursor; JSON, --wide and what is no terminal get everything.
. "${srcdir:-$(dirname "$0")/../..}/tests/lib/ctl.sh"

command -v script >/dev/null || skip_all 'script(1) is not installed'
start_servers
write_conf
unset NO_COLOR COLUMNS
export TERM=xterm

LONG=$(printf 'k%.0s' {1..196})-end
RABBITS=$(printf '\U1f407%.0s' {1..60})
sql "SET NAMES utf8mb4;
    INSERT INTO outbox_partitions (partition_key, lease_owner, lease_until)
	VALUES ('p01', NULL, NULL),
	('p02', 'host-with-a-name:01:00000000000000bb', NOW(6) + INTERVAL 30 MINUTE),
	('p03', 'gone:00:00000000000000aa', NOW(6) - INTERVAL 1 MINUTE),
	('p04', 'paused', '2037-12-31');
    INSERT INTO outbox_workers (id, hostname, pid, heartbeat_until) VALUES
	('host-with-a-name:01:00000000000000bb', 'host-with-a-name',
	1234567, NOW(6) + INTERVAL 30 MINUTE);
    INSERT INTO events (sequence, stream_id, stream_sequence, event_type,
	event_data) VALUES (1234567, '$LONG', 1, 'order.paid', '{}'),
	(1234568, '$RABBITS', 1, '$LONG', '{}'),
	(1234569, CONCAT('a', CHAR(9), 'b', CHAR(27), '[2Jc'), 1,
	CONCAT('order', CHAR(27), '.paid'), '{}');
    INSERT INTO outbox (global_sequence, partition_key, created_at, attempts,
	last_error) SELECT sequence, 'p01', NOW(6) - INTERVAL 200 SECOND,
	sequence - 1234567, REPEAT(CONCAT('no ', CHAR(27), '[2J way '), 20) FROM events;
    INSERT INTO outbox_dead_letters (global_sequence, partition_key, order_key,
	event_type, attempts, reason, last_error) VALUES
	(1, 'p01', '$LONG', 'order.paid', 25, 'attempts', REPEAT('wrong ', 50)),
	(2, 'p01', '$RABBITS', '$LONG', 25, 'message',
	CONVERT(X'C29B324A' USING utf8mb4)),
	(3, 'p01', X'001b', X'ff', 1, 'poison', 'killed');
    INSERT INTO outbox_blocked_keys (first_sequence, partition_key,
	order_key, reason, head_sequence, since) VALUES
	(1234567, 'p01', '$LONG', 'halted', 1, NOW(6) - INTERVAL 200 SECOND),
	(1234568, 'p01', '$RABBITS', 'failed', 1234568, NOW(6))"

# on_terminal COLUMNS ARGUMENT...: standard output on a terminal of that width
# is $SEEN, and without sequences of colours $PLAIN
on_terminal() {
	script -qc "stty cols $1 rows 50; exec $OUTBOXCTL -c $CONF ${*:2} \
	    2>$DIR/on.err" /dev/null < /dev/null | tr -d '\r' > "$DIR/seen"
	SEEN=$(cat "$DIR/seen")
	PLAIN=$(sed 's/\x1b\[[0-9;]*m//g' "$DIR/seen")
}

widest() { LC_ALL=C.UTF-8 wc -L <<< "$1"; }
has_controls() { LC_ALL=C grep -Pq '[\x00-\x08\x0b-\x1f\x7f]|\xc2[\x80-\x9f]' \
    <<< "$1"; }

is_json() { jq -e . <<< "$OUT" > "$DIR/jq"; }

while read -r command; do
	for columns in 80 120 200; do
		# shellcheck disable=SC2086
		on_terminal "$columns" $command
		check "$command at $columns columns: prints" [ -n "$PLAIN" ]
		# A remedy is in one line, to be copied.
		n=$(widest "$(grep -v '^ *remedy: ' <<< "$PLAIN")")
		check "$command at $columns columns: no wider ($n)" \
		    [ "$n" -le "$columns" ]
		check "$command at $columns columns: no control characters" \
		    not has_controls "$PLAIN"
	done
	# shellcheck disable=SC2086
	ctl $command
	check "$command without a terminal: no control characters, no colour" \
	    not has_controls "$OUT"
	not has_line <(echo "$OUT") '…'
	ok $? "$command without a terminal: nothing is cut"
	# shellcheck disable=SC2086
	ctl --json $command
	check "$command --json: is JSON" is_json
done <<'EOF2'
status
doctor
workers
partitions list
messages list
messages show 1234567
messages show 1234568
messages show 1234569
dead list
dead show 1
keys blocked
retry-plan
logs
stop
EOF2

#
# What is cut, and where all of it is.
#
on_terminal 80 messages list
like "$PLAIN" '^1234567 .*kkk….*order.paid' 'a key of 200 characters is cut'
like "$PLAIN" '^1234568 .* 🐇*…' 'emoji are cut as a whole'
like "$PLAIN" '^.no room for .*parked.*; --wide shows all.$' \
    'columns without room are named'
on_terminal 200 messages list
not has_line <(echo "$PLAIN") 'no room'
ok $? 'a terminal of 200 columns shows all columns'
for how in "on_terminal 80 --wide messages list" \
    "on_terminal 80 messages list --wide" "ctl messages list" \
    "ctl --json messages list"; do
	PLAIN=''
	$how
	like "$PLAIN$OUT" "$LONG" "$how: the whole key"
	OUT=''
done
on_terminal 80 dead show 1 --wide
like "$PLAIN" "^key +$LONG\$" 'dead show --wide: the whole key'
is "$(grep -c '  *wrong wrong' <<< "$PLAIN")" 1 \
    'dead show --wide: a text is one line'
on_terminal 80 dead show 1
is "$(grep -c '^  *wrong wrong' <<< "$PLAIN")" 4 \
    'dead show: a long text goes on in lines below'
on_terminal 0 messages list
check 'a terminal of unknown width has 80 columns' \
    [ "$(widest "$PLAIN")" -le 80 ]
export COLUMNS=120
on_terminal 0 messages list
n=$(widest "$PLAIN")
check "... or COLUMNS ($n)" [ "$n" -gt 80 -a "$n" -le 120 ]
on_terminal 80 messages list
check 'COLUMNS is not asked for where the width is known' \
    [ "$(widest "$PLAIN")" -le 80 ]
unset COLUMNS

#
# Questions: as long as a person reads, and nothing moves the cursor.
#
sql "SET NAMES utf8mb4;
    INSERT INTO outbox_dead_letters (global_sequence, partition_key, event_type,
	reason) VALUES (4, 'odd', '$LONG', 'message'),
	(5, 'odd', '$LONG', 'message'),
	(6, 'odd', CONVERT(X'C29B324A' USING utf8mb4), 'message')"
fails 1 'outboxctl: 3 dead letters \(2 k{39}…, 1 \?2J\) would be purged' \
    'a question cuts long types, and names no keys where there are none' \
    dead purge --all --partition odd
sql 'DELETE FROM outbox_dead_letters WHERE global_sequence > 3'
sql "SET NAMES utf8mb4;
    INSERT INTO events (sequence, stream_id, stream_sequence, event_type,
	event_data) VALUES (1234570, CONVERT(X'6BC29B324A' USING utf8mb4), 1,
	'order.paid', '{}'), (1234571, CONVERT(X'6BC29B324A' USING utf8mb4), 2,
	'order.paid', '{}');
    INSERT INTO outbox (global_sequence, partition_key) VALUES (1234571, 'p01');
    INSERT INTO outbox_blocked_keys (first_sequence, partition_key, order_key,
	reason, head_sequence) VALUES (1234570, 'p01',
	CONVERT(X'6BC29B324A' USING utf8mb4), 'halted', 3)"
ctl messages retry 1234571
like "$ERR" 'key k\?2J stays halted' 'a key that stays halted is told'
like "$ERR" "keys release [$]'k.302.2332J'" '... as one word of a command'
check '... and does not move the cursor' not has_controls "$ERR"
sql 'DELETE FROM outbox_blocked_keys WHERE first_sequence = 1234570;
    DELETE FROM outbox WHERE global_sequence = 1234571;
    DELETE FROM events WHERE sequence IN (1234570, 1234571)'
ctl setup --help
like "$OUT" $'^  --duplicate-window TIME\n {24}longer than' \
    'help: a long option has its text below, in the column'

on_terminal 80 messages list --key nobody
is "$PLAIN" '(none)' 'a terminal shows that a list is empty'
prints '' 'elsewhere an empty list is empty' messages list --key nobody
sql "INSERT INTO outbox_audit (login, unix_user, command, arguments) VALUES
    ('operator@localhost', 'root@web-1.example.com', 'partitions pause', '$LONG')"
on_terminal 80 audit list
like "$PLAIN" ' partitions pause ' 'a command is not cut'
for help in '--help' 'help messages' 'dead list --help' 'setup --help'; do
	on_terminal 80 "$help"
	n=$(widest "$PLAIN")
	check "$help: no wider than 80 columns ($n)" [ "$n" -le 80 ]
done

#
# Durations, numbers, times.
#
matches '^p02 .* 2[0-9] min ([0-9]+ s )?' 'partitions list: remaining time in words' \
    partitions list
like "$OUT" '^p01 .* 1234567 +[34] min ([0-9]+ s)? ' \
    'partitions list: the age of the oldest row, and a plain sequence'
like "$OUT" '^p03 +expired .* -1 min ' \
    'partitions list: a lease that has expired has a negative time'
like "$OUT" '^p04 +paused +paused +- ' \
    'partitions list: a paused partition has no remaining time'
matches '^kkk.* halted +1 +[34] min ([0-9]+ s)? ' 'keys blocked: the age in words' \
    keys blocked
like "$OUT" '^key +reason +head +age +' 'keys blocked: the column is the age'
shows '.[0].age_s >= 200' true 'keys blocked --json: seconds' keys blocked
sql "UPDATE outbox SET attempts = 1234 WHERE global_sequence = 1234567"
matches '^1234567 .* 1,234 ' 'a count has separators, a sequence has none' \
    messages list
shows '.rows[0].attempts' 1234 'no separators in JSON' messages list
on_terminal 120 dead list
like "$PLAIN" ' 20[0-9-]{8}T[0-9:]{8}Z ' 'on a terminal a time has no fraction'
matches ' 20[0-9-]{8}T[0-9:]{8}\.[0-9]{6}Z ' 'elsewhere it has' dead list

#
# Colour.
#
on_terminal 80 partitions list
like "$SEEN" $'\e\\[1;31mexpired\e\\[0m' 'a state is coloured'
like "$SEEN" $'\e\\[33mpaused\e\\[0m' 'a paused partition is yellow'
on_terminal 80 keys blocked
like "$SEEN" $'\e\\[1;31mhalted\e\\[0m' 'a halted key is red'
for none in NO_COLOR=1 TERM=dumb; do
	export "${none?}"
	on_terminal 80 partitions list
	check "$none: no colour" not has_controls "$SEEN"
	unset NO_COLOR
	TERM=xterm
done
NO_COLOR='' on_terminal 80 partitions list
check 'an empty NO_COLOR changes nothing' has_controls "$SEEN"

#
# Status: problems, fleet, this host.
#
sql "UPDATE outbox_blocked_keys SET since = NOW(6) + INTERVAL 500000 MICROSECOND
    WHERE reason = 'failed'"
on_terminal 80 status
not has_line <(echo "$PLAIN") '0 ms'
ok $? 'status: nothing lasts for 0 ms'
is "$(grep -Eo '^(!|Fleet|This host)' <<< "$PLAIN" | uniq | tr '\n' ' ')" \
    '! Fleet This host ' 'status: problems first, then the fleet, then the host'
like "$SEEN" $'^\e\\[33m! \e\\[0m.*warning' 'status: a problem is coloured'
like "$PLAIN" '^oldest +sequence 1234567 in "p01", [34] min' \
    'status: the age in words'
like "$(tr -s '\n ' ' ' <<< "$PLAIN")" \
    '! warning: key k+… is halted behind dead letter 1 \(for [34] min' \
    'status: how long a problem lasts'
like "$PLAIN" '^blocked +1 key halted for [34] min' \
    'status: how long a key is halted'
sql 'DELETE FROM outbox_blocked_keys; DELETE FROM outbox_dead_letters;
    UPDATE outbox_partitions SET lease_owner = NULL'
sql "UPDATE outbox SET created_at = NOW(6);
    INSERT INTO outbox_workers (id, heartbeat_until) VALUES
	('b:01:00000000000000bb', NOW(6) + INTERVAL 1 HOUR)"
on_terminal 80 status
like "$SEEN" $'^\e\\[32mhealthy\e\\[0m: nothing needs an operator' \
    'status without a problem: the first line says so'

#
# Doctor: as wide as the terminal, in colour, and no text moves the cursor.
#
on_terminal 80 doctor
like "$SEEN" $'^\e\\[32mok\e\\[0m      configuration: valid' \
    'doctor: a level is coloured'
like "$PLAIN" '^        [^ ]' 'doctor: a long text goes on in lines below'
ctl doctor
not has_line <(echo "$OUT") '^ '
ok $? 'doctor without a terminal: a line is a check'
sed "s|stream: \"EVENTS\"|stream: \"$LONG\"|" "$CONF" > "$DIR/odd.yml"
CONF=$DIR/odd.yml on_terminal 80 doctor
like "$PLAIN" '^        kkk*…$' 'doctor: a name that is wider than the terminal is cut'
CONF=$DIR/odd.yml on_terminal 80 doctor --wide
like "$PLAIN" "^fail +stream_unfit: stream $LONG " 'doctor --wide: all of it'
sql "INSERT INTO outbox_workers (id, heartbeat_until) VALUES
	(CONCAT('str', CHAR(27), '[2Janger'), NOW(6) + INTERVAL 1 HOUR);
    UPDATE outbox_settings SET partition_count = 16, former_counts = '8',
	counts_since = NOW(6)"
for how in 'on_terminal 200 doctor' 'ctl doctor'; do
	PLAIN=''
	$how
	like "$PLAIN$OUT" '^fail +settings: worker str\?\[2Janger of another program' \
	    "$how: the id of a worker does not move the cursor"
	OUT=''
done
shows '[.[].text] | map(select(contains("str\u001b[2J"))) | length' 1 \
    'doctor --json: the id as it is' doctor
sql "DELETE FROM outbox_workers WHERE INSTR(id, 'str') > 0;
    UPDATE outbox_settings SET partition_count = NULL, former_counts = NULL"

#
# Watch: a clock, and a picture that is drawn again in its place.
#
# watched ROWS: two pictures of a terminal of so many rows, in $SEEN
watched() {
	local screen
	: > "$DIR/screen"
	script -qfc "stty cols 80 rows $1; exec $OUTBOXCTL -c $CONF status \
	    --watch 1 2>$DIR/on.err" "$DIR/screen" > /dev/null 2>&1 < /dev/null &
	screen=$!
	wait_for 20 twice
	ok $? "--watch on $1 rows draws the picture again"
	kill -TERM "$screen"
	wait "$screen"
	SEEN=$(tr -d '\r' < "$DIR/screen")
}
twice() { [ "$(grep -ac $'\e\\[J' "$DIR/screen")" -ge 2 ]; }
watched 50
like "$SEEN" $'\e\\[H\e\\[1m20[0-9-]{8}T[0-9:]{8}Z, every 1 s; Ctrl-C ends it' \
    '--watch: time and pause above the status'
like "$SEEN" $'^workers +[12] alive, on 1 host\e\\[K$' \
    '--watch: each line is cleared to its end'
not has_line <(echo "$SEEN") $'\e\\[2J'
ok $? '--watch: the screen is never cleared'
watched 10
like "$SEEN" '^.[0-9]+ more lines.' '--watch: lines without room are counted'
check '--watch: a picture is no higher than the terminal' \
    [ "$(sed -n $'1,/\e\\[J/p' <<< "$SEEN" | wc -l)" -le 11 ]
#
# Hostile values: in the database, in errors of both servers, in an answer by
# HTTP, in the configuration, in names of files, in arguments.
#
ESC=$'\e[2J'
CSI=$'\xc2\x9b2J'
RAW=$'\x9b2J'
BIDI=$'\u202e'
SHORT=a$ESC$CSI$BIDI
EVIL=$SHORT$'\nFORGED'

# safe NAME: OUT and ERR are UTF-8 with no more than line feeds and tabs, and no
# value begins a line
safe() {
	printf '%s' "$OUT$ERR" > "$DIR/printed"
	! LC_ALL=C grep -Pq '[\x00-\x08\x0b-\x1f\x7f]|\xc2[\x80-\x9f]|\xe2\x80[\x8e\x8f\xaa-\xae]|\xe2\x81[\xa6-\xa9]' \
	    "$DIR/printed" && iconv -f UTF-8 -t UTF-8 "$DIR/printed" > "$DIR/iconv"
	ok $? "$1: nothing moves the cursor" ||
	    LC_ALL=C sed -n l "$DIR/printed" | head -n 5 | sed 's/^/# /'
	not has_line "$DIR/printed" '^FORGED'
	ok $? "$1: a value stays on its line" ||
	    LC_ALL=C grep -B 1 '^FORGED' "$DIR/printed" | sed -n l | sed 's/^/# /'
}
sql "SET NAMES utf8mb4; INSERT INTO events (sequence, stream_id,
	stream_sequence, event_type, event_data) VALUES (77, '$EVIL', 1, '$EVIL',
	'$SHORT'), (78, '$EVIL', 2, '$EVIL', X'9b324a');
    INSERT INTO outbox (global_sequence, partition_key, last_error)
	VALUES (77, 'p01', '$EVIL'), (78, 'p01', '$EVIL');
    INSERT INTO outbox_dead_letters (global_sequence, partition_key, order_key,
	event_type, reason, last_error) VALUES (76, 'p$ESC', '$EVIL', '$EVIL',
	'$ESC', '$EVIL');
    INSERT INTO outbox_blocked_keys (first_sequence, partition_key, order_key,
	reason, head_sequence) VALUES (77, 'p01', '$EVIL', 'halted', 76);
    INSERT INTO outbox_audit (login, unix_user, command, arguments) VALUES
	('$EVIL', '$EVIL', '$EVIL', '$EVIL');
    INSERT INTO outbox_workers (id, hostname, heartbeat_until)
	VALUES ('a$ESC', 'a$ESC', NOW(6) + INTERVAL 1 HOUR);
    ALTER TABLE outbox ADD COLUMN \`$EVIL\` INT NOT NULL"
while read -r command; do
	# shellcheck disable=SC2086
	ctl $command
	safe "$command"
	# shellcheck disable=SC2086
	[[ $command == *--raw* || $command == prune* ]] || ctl --json $command
	safe "--json $command"
done <<'EOF2'
status
doctor
workers
partitions list
messages list
messages show 77
messages show 77 --payload
messages show 78 --payload
dead groups
dead list
dead show 76
keys blocked
audit list
schema check
schema upgrade --dry-run
stream info
setup --dry-run
setup --no-event --yes --admin nobody
logs
config
dead purge --all
dead retry --all --dry-run
messages retry --all --dry-run
messages discard 77
messages replay --all --dry-run
messages resolve 77
keys release nobody
keys bury --all
keys retry --all
partitions sync --dry-run
partitions pause --all --dry-run
reconcile --dry-run
phantoms forget --dry-run
stream republish --dry-run
stream forget --dry-run
stream add --dry-run
schema print --grants
schema install --dry-run
enqueue /dev/null --dry-run
EOF2
for args in "$EVIL" "--$EVIL" "messages list --$EVIL" "messages show $EVIL" \
    "help $EVIL" "keys release $EVIL --yes" "partitions pause $EVIL --yes" \
    "enqueue $DIR/$EVIL" "messages list --since $EVIL" "dead list --key $RAW" \
    "-c $DIR/$EVIL$RAW status" "probe $EVIL" "setup --yes --database $EVIL$RAW" \
    "messages list --type $EVIL$RAW"; do
	mapfile -td ' ' words < <(printf %s "$args")
	ctl "${words[@]}"
	safe "$(printf '%q' "$args")"
done
for values in key type partition; do
	OUT=$("$OUTBOXCTL" -c "$CONF" --values "${values}s" 2>&1) ERR=''
	safe "completion of $values"
done
YAML='\e[2J\u009b2J\u202e\nFORGED'
for edit in "s|stream: \"EVENTS\"|stream: \"$YAML\"|" \
    "s|user: outbox,|user: \"$YAML\",|" "s|database: app|database: \"$YAML\"|" \
    "s|subject: \"[^\"]*|&$YAML|" "s|stop_timeout: 15|\"$YAML\": 1|" \
    "s|level: info|level: info, target: \"/tmp/$YAML\"|" \
    "s|servers: \[\"[^\"]*|&$YAML|"; do
	sed "${edit//\\/\\\\}" "$CONF" > "$DIR/evil.yml"
	for command in config 'stream info' 'setup --dry-run' doctor logs; do
		# shellcheck disable=SC2086
		ctl -c "$DIR/evil.yml" $command
		safe "$command with ${edit%%|\"*}"
	done
	OUT=$("$OUTBOX_MASTER" -c "$DIR/evil.yml" -T 2>&1)
	OUT+=$("$OUTBOX_MASTER" -c "$DIR/evil.yml" -t 2>&1) ERR=''
	safe "outbox-master -T with ${edit%%|\"*}"
done
cp "$CONF" "$DIR/$EVIL.yml"
for command in 'setup --dry-run' 'setup --no-event --yes --admin nobody'; do
	# shellcheck disable=SC2086
	ctl -c "$DIR/$EVIL.yml" $command
	safe "$command of a file with a hostile name"
done
sql "SET NAMES utf8mb4; SET sql_mode = ''; ALTER TABLE outbox MODIFY last_error ENUM('$EVIL');
    ALTER TABLE outbox_dead_letters ENGINE = InnoDB COMMENT '$EVIL'"
ctl schema check
like "$OUT" 'last_error' 'schema check tells of the column'
safe 'schema check of a hostile type'
LC_ALL=C plain_stream "\"subjects\": [\"events.>\", \"x$CSI$BIDI\"], \"max_age\": 900000000000,
    \"description\": \"$CSI\\nFORGED\""
check 'there is a stream with hostile texts' grep -q 900000000000 "$DIR/js.out" ||
    say "$(cat -v "$DIR/js.out")"
ctl stream info
safe 'stream info of such a stream'
ctl setup --no-event --yes --admin nobody
safe 'setup of such a stream'
mkdir -p "$DIR/run"
printf 'HTTP/1.1 503 x\r\n\r\n%s%s\n' "$SHORT" "$RAW" > "$DIR/answer"
perl -MIO::Socket::UNIX -e '$s = IO::Socket::UNIX->new(Local => $ARGV[0],
    Listen => 5); open F, $ARGV[1]; local $/; $t = <F>; while ($c =
    $s->accept) { sysread $c, $x, 9999; print $c $t; close $c }' \
    "$DIR/run/outbox.sock" "$DIR/answer" &
MASTERS+=($!)
wait_for 10 test -S "$DIR/run/outbox.sock"
sed "s|^log:|monitor: {socket: \"$DIR/run/outbox.sock\"}\n&|" "$CONF" \
    > "$DIR/probe.yml"
ctl -c "$DIR/probe.yml" probe readyz
like "$OUT" '^a\?' 'probe shows the answer'
safe probe
done_testing
