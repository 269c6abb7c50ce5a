#!/usr/bin/env bash
# Two outboxes over the same events, each with a daemon of its own: while one
# destination is away, the other gets its messages as fast as before; then the
# first catches up, in order.  The full form keeps it away for a minute.  The
# first destination is a stream, the second an HTTP endpoint.
. "${srcdir:-$(dirname "$0")/../..}/tests/lib/ctl.sh"
. "$srcdir/tests/lib/http.sh"

[ -x "$RECEIVER" ] || skip_all "no $RECEIVER: make check TESTS="

AWAY=60
[ "${OUTBOX_CHECK:-full}" = short ] && AWAY=2
HOOKS=$DIR/webhooks.yml
NAMES='outbox: outbox_webhooks, partitions: webhooks_partitions, workers: webhooks_workers, settings: webhooks_settings, dead_letters: webhooks_dead_letters, blocked_keys: webhooks_blocked_keys, streams: webhooks_streams'

# as_admin FILE: the same configuration, for an account that may create tables
as_admin() { sed 's/user: outbox,/user: admin,/; s/OUTBOX_PW/ADMIN_PW/' \
    "$1" > "$1.admin"; }
hooks() { ctl -c "$HOOKS" "$@"; }
hooks_drained() { is_sql 'SELECT COUNT(*) FROM outbox_webhooks
    WHERE published_at IS NULL' 0; }
# enqueue TYPE...: an event of each, in one transaction
enqueue() {
	local type
	for type in "$@"; do set -- "$@" "'one', NULL, '$type', 1, NULL, NULL, 'x'"; shift; done
	call_enqueue "$@"
}
both() { sql "SELECT CONCAT_WS(' ', (SELECT COUNT(*) FROM outbox $1),
    (SELECT COUNT(*) FROM outbox_webhooks $1))"; }
# slowest FROM: of the outbox, the 99th percentile of the time to deliver, in ms
slowest() { sql "SELECT ROUND(t / 1000) FROM (SELECT
    TIMESTAMPDIFF(MICROSECOND, created_at, published_at) AS t,
    PERCENT_RANK() OVER (ORDER BY published_at - created_at) AS r
    FROM outbox WHERE global_sequence > $1) AS x WHERE r <= 0.99
    ORDER BY r DESC LIMIT 1"; }
newest() { sql 'SELECT COALESCE(MAX(sequence), 0) FROM events'; }
# as_seen DATABASE OUTBOX DEAD TYPES: views for the checker, without these types
as_seen() {
	"$SANDBOX" sql "$DIR/db" -e "CREATE DATABASE $1;
	    CREATE VIEW $1.events AS SELECT * FROM app.events
	        WHERE event_type NOT LIKE '$4';
	    CREATE VIEW $1.outbox AS SELECT * FROM app.$2;
	    CREATE VIEW $1.outbox_dead_letters AS SELECT * FROM app.$3"
}
# check_seen: the view against the first stream
check_seen() {
	local out rc
	out=$("$LAB" check --socket "$SOCKET" --user root --database first \
	    --nats "$URL" --stream EVENTS --wait 20 2>&1)
	rc=$?
	ok "$rc" 'the first stream is complete and in order'
	[ "$rc" -eq 0 ] || printf '%s\n' "$out" | sed 's/^/# /'
}
# lost, duplicated, out of order: what the receiver has got, against the events
# that the second outbox takes
of_receiver() {
	received | awk -F'\t' '$1 == 200 { print $5 }' | sort > "$DIR/got"
	sql "SELECT sequence FROM events WHERE event_type NOT LIKE 'event.%'" |
	    sort > "$DIR/wanted"
	echo "$(comm -23 "$DIR/wanted" <(uniq "$DIR/got") | wc -l)" \
	    "$(uniq -d "$DIR/got" | wc -l)" "$(received | awk -F'\t' '
	    $1 == 200 { if ($5 + 0 < last[$4]) n++; last[$4] = $5 + 0 }
	    END { print n + 0 }')"
}

password_of() { sed -n 's/^  password_file: \([^ ]*\).*/\1/p' "$srcdir/$1" |
    head -n 1; }
is "$(password_of examples/webhooks.yml)" "$(password_of etc/outbox.yml)" \
    'the example has the password file of the shipped configuration'

start_servers
start_receiver
sql "CREATE USER 'outbox_operator'@'localhost' IDENTIFIED BY 'no-use';
    CREATE USER 'admin'@'localhost' IDENTIFIED BY 'admin-secret';
    GRANT ALL ON app.* TO 'admin'@'localhost' WITH GRANT OPTION;
    GRANT SELECT ON mysql.* TO 'admin'@'localhost';
    GRANT SUPER ON *.* TO 'admin'@'localhost'"
export ADMIN_PW=admin-secret
PARTITIONS=16 write_conf
WEBHOOKS=http://127.0.0.1:$RPORT
PARTITIONS=4 PIDFILE=$DIR/run/webhooks.pid MAX_BACKOFF=1 write_conf "$HOOKS"
sed -i "/^nats:/d; s|^publish: {|http: {endpoint: $WEBHOOKS/e}\n&driver: http, |" \
    "$HOOKS"
sed -i "s/^outbox: {/&tables: {$NAMES}, /; s/^publish: {/&types: ['order.*', 'hook.*'], /" "$HOOKS"
sed -i "s/^publish: {/&types: ['order.*', 'event.*'], /" "$CONF"
as_admin "$CONF"
as_admin "$HOOKS"

#
# The second outbox is used when the producer may write it
#
ctl -c "$CONF.admin" schema install
is "$RC$ERR" 0 'schema install of the first: exit status 0'
"$OUTBOXCTL" -c "$CONF" schema print --grants | "$SANDBOX" sql "$DIR/db" app
sql 'UPDATE outbox_settings SET partition_count = 16'
enqueue order.a other.b
is "$(sql 'SELECT COUNT(*) FROM outbox')" 2 \
    'one outbox: outbox_enqueue takes events of every type'
fails 1 "'outbox_producer'@'localhost', 'outbox_operator'@'localhost' may write events, but not outbox_webhooks.*grant 'outbox_producer'@'localhost' what it has for 'outbox_producer'@'localhost', and 'outbox_operator'@'localhost' what it has for 'outbox_operator'@'localhost', and repeat" \
    'schema install of the second, before the grants' \
    -c "$HOOKS.admin" schema install
enqueue order.a
is "$(both '')" '3 0' 'without the grants the second outbox gets no rows yet'
ctl -c "$HOOKS.admin" schema check
like "$OUT" '^fail: outbox_webhooks: it is not in the registry: other outboxes' \
    'schema check of the second: it is not filled'
ctl -c "$HOOKS.admin" status
like "$OUT" 'critical: other outboxes take the events of events, and outbox_enqueue makes no rows in outbox_webhooks' \
    'status of the second: it is not filled'
grants() { "$OUTBOXCTL" -c "$HOOKS" schema print --grants |
    sed "s/'outbox_producer'@/'$1'@/" | "$SANDBOX" sql "$DIR/db" app; }
is "$(grants nobody 2>&1 | grep -c 'ERROR 1133')" 1 \
    'the grants of a producer that does not exist are an error'
fails 1 ": 'outbox_producer'@'localhost' may write events.*grant 'outbox_producer'@'localhost' what it has for 'outbox_producer'@'localhost', and repeat" \
    'those of the daemon and the operator are made before it' \
    -c "$HOOKS.admin" schema install
is "$(sql "SELECT COUNT(*) FROM mysql.tables_priv WHERE user = 'outbox' AND
    table_name IN ('outbox_webhooks', 'webhooks_streams')")" 2 \
    'all of the daemon'
grants outbox_producer
hold 'SELECT COUNT(*) FROM events'
ctl -c "$HOOKS.admin" schema install
is "$RC$ERR" 0 'schema install of the second, after the grants: exit status 0'
# REPEATABLE READ: this transaction sees the registry as it was when it began.
release "CALL outbox_enqueue('one', NULL, 'order.old', 1, NULL, NULL, 'x');"
is "$(both '')" '4 0' \
    'a transaction that began before that fills the first alone'
ctl -c "$HOOKS.admin" --json status
is "$(field '[.outbox.unfilled, .outbox.unfilled_first]')" '[2,3]' \
    'status of the second tells it'
ctl -c "$HOOKS.admin" reconcile --yes
is "$(both '')" '4 2' 'reconcile of the second makes up for it'
for file in "$CONF" "$HOOKS"; do
	ctl -c "$file" schema check
	is "$RC$OUT" 0 "schema check of ${file##*/} prints nothing"
done

#
# The producer's call fills both, each by its types, with its own labels
#
clear_both() { clear_rows; sql 'DELETE FROM outbox_webhooks'; }
clear_both
enqueue order.a event.b hook.c order.d
is "$(sql "SELECT GROUP_CONCAT(event_type ORDER BY sequence) FROM events JOIN
    outbox ON global_sequence = sequence")" order.a,event.b,order.d \
    'the first outbox has the types that it takes'
is "$(sql "SELECT GROUP_CONCAT(event_type ORDER BY sequence) FROM events JOIN
    outbox_webhooks ON global_sequence = sequence")" order.a,hook.c,order.d \
    'the second outbox has the types that it takes'
is "$(sql "SELECT GROUP_CONCAT(DISTINCT partition_key) FROM outbox UNION ALL
    SELECT GROUP_CONCAT(DISTINCT partition_key) FROM outbox_webhooks" | xargs)" \
    "$(sql "SELECT CONCAT('p', LPAD(CRC32('one') % 16, 2, '0'), ' p0',
    CRC32('one') % 4)")" 'each has labels by its own partition count'
is "$(enqueue nobodys.x 2>&1 | grep -c 'no outbox takes events of this type')" \
    1 'a type that no outbox takes is an error'
rows_are 4 events 'and its event is not stored'
is "$(sql "START TRANSACTION; CALL outbox_enqueue('one', NULL, 'order.r', 1,
    NULL, NULL, 'x'); ROLLBACK; SELECT COUNT(*) FROM events")$(both '')" \
    '43 3' 'a transaction that is rolled back leaves nothing in either'
sql "ALTER TABLE outbox_webhooks ADD CONSTRAINT no_rows CHECK (attempts > 5 OR
    global_sequence <= $(newest))"
sql "START TRANSACTION; CALL outbox_enqueue('one', NULL, 'order.r', 1,
    NULL, NULL, 'x'); SELECT 1" > /dev/null 2>&1
echo "START TRANSACTION; CALL outbox_enqueue('one', NULL, 'order.r', 1, NULL,
    NULL, 'x'); COMMIT" | "$SANDBOX" sql "$DIR/db" -f app > /dev/null 2>&1
sql 'ALTER TABLE outbox_webhooks DROP CONSTRAINT no_rows'
is "$(sql 'SELECT COUNT(*) FROM events') $(both '')" '4 3 3' \
    'a call that cannot write the second outbox leaves nothing in the first'
echo '{"key": "two", "type": "order.z", "payload": "x"}' > "$DIR/lines"
for file in "$CONF.admin" "$HOOKS.admin"; do
	ctl -c "$file" enqueue "$DIR/lines"
	is "$RC$ERR" 0 "outboxctl enqueue by ${file##*/}"
done
is "$(both '')" '5 5' 'outboxctl enqueue of either fills both'

#
# Installs in any order change nothing
#
state() { sql "SELECT * FROM outbox_registry; SELECT fan_out, types FROM
    outbox_settings; SELECT fan_out, types FROM webhooks_settings" |
    sed 's/[-0-9]* [0-9:.]*$//'; }
BEFORE=$(state)
sql 'ALTER TABLE outbox_settings DROP COLUMN types, DROP COLUMN fan_out,
    DROP COLUMN partition_by; DROP PROCEDURE outbox_enqueue'
"$SANDBOX" sql "$DIR/db" app < "$srcdir/sql/schema.sql"
sql "GRANT EXECUTE ON PROCEDURE outbox_enqueue TO 'outbox_producer'@'localhost'"
enqueue order.alone
is "$(both '')" '6 5' 'a table of an older version gets the new columns'
for file in "$HOOKS.admin" "$CONF.admin" "$HOOKS.admin"; do
	ctl -c "$file" schema install
done
is "$RC$ERR" 0 'schema install again, of either, and schema.sql by hand'
is "$(state)" "$BEFORE" 'installs again leave the registry as it was'
enqueue order.again
is "$(both '')" '7 6' 'afterwards both are filled'
ctl -c "$HOOKS.admin" reconcile --yes
is "$(both '')" '7 7' 'reconcile makes up for an event that one got alone'

#
# An outbox that is not filled is told
#
hooks status --json
is "$(field '.outbox | .name, .destination, .others[0].name, .others[0].destination' | xargs)" \
    "outbox_webhooks $WEBHOOKS outbox nats stream EVENTS" \
    'status names the outbox, its destination, and the other one'
ctl status
like "$(tr -s ' \n' ' ' <<< "$OUT")" "outbox outbox to nats stream EVENTS; the same events go to outbox_webhooks \\($WEBHOOKS\\), as of their last schema install" \
    'status of the first names the second, and as of when'
sql "INSERT INTO events (stream_id, stream_sequence, event_type, event_data)
    VALUES ('plain', 1, 'hook.x', 'x'), ('plain', 2, 'event.x', 'x')"
hooks status
like "$OUT" 'newest events without a row in outbox_webhooks: 1, the first is' \
    'status counts events that a plain INSERT left without a row'
like "$OUT" 'remedy: outboxctl schema check.*outboxctl reconcile' \
    'and says what to do'
ctl -c "$HOOKS.admin" reconcile --yes
is "$(sql "SELECT COUNT(*) FROM outbox_webhooks JOIN events ON sequence =
    global_sequence WHERE stream_id = 'plain'")$(sql "SELECT COUNT(*) FROM outbox
    JOIN events ON sequence = global_sequence WHERE stream_id = 'plain'")" 10 \
    'reconcile of one makes its rows only'
ctl -c "$CONF.admin" reconcile --yes
sql 'UPDATE webhooks_settings SET fan_out = 0'
ctl -c "$HOOKS.admin" schema check
like "$OUT" '^fail: outbox_webhooks: fan_out of its settings is not 1' \
    'schema check sees a lost flag'
ctl -c "$HOOKS.admin" schema upgrade --yes
is "$(state)" "$BEFORE" 'schema upgrade sets it again'

#
# Triggers: of one, then of both; the procedure still fills each once
#
ctl -c "$CONF.admin" schema install --trigger
is "$RC$ERR" 0 'a trigger for the first'
ctl -c "$HOOKS.admin" schema check
like "$OUT" '^warn: events: there is a trigger outbox_after_event, and no outbox_webhooks_after_event' \
    'schema check of the second: it has no trigger'
ctl -c "$HOOKS.admin" schema install --trigger
is "$RC$ERR" 0 'a trigger for the second'
clear_both
sql "INSERT INTO events (stream_id, stream_sequence, event_type, event_data)
    VALUES ('plain', 3, 'hook.x', 'x'), ('plain', 4, 'order.x', 'x')"
is "$(both '')" '1 2' 'with triggers a plain INSERT fills each by its types'
enqueue order.x
is "$(both '')" '2 3' 'with triggers outbox_enqueue makes each row once'
sql "DELETE FROM outbox_registry WHERE name = 'outbox_webhooks';
    UPDATE outbox_settings SET fan_out = 0;
    UPDATE webhooks_settings SET fan_out = 0"
enqueue order.x
is "$(both '')" '3 4' \
    'the trigger of an outbox that is not registered makes its row'
ctl -c "$HOOKS.admin" schema install
sql "DELETE FROM outbox_registry WHERE name = 'outbox';
    UPDATE webhooks_settings SET fan_out = 0;
    INSERT INTO events (stream_id, stream_sequence, event_type, event_data)
    VALUES ('plain', 5, 'hook.y', 'x');
    DELETE FROM outbox_webhooks WHERE global_sequence = LAST_INSERT_ID()"
ctl -c "$HOOKS.admin" schema check
like "$OUT" '^warn: outbox_registry: the outbox of outbox_settings is not in it' \
    'schema check of an outbox alone: another one is not registered'
ctl -c "$HOOKS.admin" status
like "$OUT" 'newest events without a row in outbox_webhooks: 1' \
    'status of that outbox sees an event without a row'
ctl -c "$CONF.admin" schema install
sql 'DROP TRIGGER outbox_after_event; DROP TRIGGER outbox_webhooks_after_event'
is "$(state)" "$BEFORE" 'schema install registers it again'

#
# Two daemons; the second destination is away under load
#
clear_both
as_seen first outbox outbox_dead_letters 'hook.%'
start_fleet
FIRST=$MASTER
LOG=$DIR/log2 CONF=$HOOKS start_master
SECOND=$MASTER
MASTER=$FIRST
hooks_owned() { is_sql 'SELECT COUNT(*) = 4 AND COUNT(*) = SUM(COALESCE(
    lease_until > NOW(6), 0)) FROM webhooks_partitions' 1; }
check 'the second daemon owns its own four partitions' wait_for 20 hooks_owned
is "$(sql 'SELECT COUNT(*) FROM outbox_workers JOIN webhooks_workers USING (id)')" 0 \
    'the daemons share no worker'
produce --events 200 --keys 20 --type order.warm --rate 400
drains 20 'the first daemon delivers'
check 'the second daemon delivers' wait_for 20 hooks_drained

RATE=200
! is_short || RATE=60
FROM=$(newest)
produce --events $((AWAY * RATE)) --keys 40 --type order.calm --rate $RATE
drains 20 'all is delivered while both destinations answer'
CALM=$(slowest "$FROM")
check 'both have delivered' wait_for 20 hooks_drained
stop_receiver
FROM=$(newest)
produce --events $((AWAY * RATE)) --keys 40 --type order.storm --rate $RATE
enqueue event.only
drains 20 'the second destination is away: all is delivered to the first'
STORM=$(slowest "$FROM")
check "and as fast as before: $STORM ms, and $CALM ms when both answered" \
    [ "$STORM" -le $((CALM * 2 + 500)) ]
check 'meanwhile the rows of the second wait' \
    is_sql 'SELECT COUNT(*) FROM outbox_webhooks WHERE published_at IS NULL' \
    $((AWAY * RATE))
ctl status
is "$RC" 0 'status of the first is healthy'
hooks status
is "$RC" 1 'status of the second is not'
enqueue hook.only
start_receiver
check 'the second catches up when its destination is back' \
    wait_for 60 hooks_drained
is "$(both "JOIN events ON sequence = global_sequence
    WHERE event_type LIKE '%.only'")" '1 1' 'each got the type that only it takes'
is "$(sql 'SELECT (SELECT COUNT(*) FROM outbox_dead_letters) +
    (SELECT COUNT(*) FROM webhooks_dead_letters)')" 0 'nothing is a dead letter'
check_seen
is "$(of_receiver)" '0 0 0' \
    'the receiver has lost nothing, got nothing twice, and all in order'

#
# Dead letters, counts and pruning are of one outbox
#
order '/e/order.dead 0 400'
enqueue 'order.a b' order.dead
died_in() { is_sql "SELECT GROUP_CONCAT(event_type) FROM $1" "$2"; }
check 'a type that is no subject dies in the first only' \
    wait_for 20 died_in outbox_dead_letters 'order.a b'
check 'a message that the endpoint refuses dies in the second only' \
    wait_for 20 died_in webhooks_dead_letters order.dead
check 'the first has sent that' wait_for 20 is_drained
ctl -c "$CONF.admin" dead purge --all --yes
is "$RC$(sql 'SELECT COUNT(*) FROM webhooks_dead_letters')" 01 \
    'dead purge of the first leaves the dead letters of the second'
N=$(sql 'SELECT COUNT(*) FROM events') M=$(sql 'SELECT COUNT(*) FROM outbox_webhooks')
ctl -c "$CONF.admin" prune --days 0 --yes
is "$RC" 0 'prune of the first: exit status 0'
is "$(sql 'SELECT COUNT(*) FROM events') $(sql 'SELECT COUNT(*) FROM outbox_webhooks')" \
    "$N $M" 'it removes neither events nor rows of the second'
ctl -c "$HOOKS.admin" messages replay --all --yes
check 'replay of the second sends from there alone' wait_for 60 hooks_drained
is "$(sql 'SELECT COALESCE(MAX(replay_no), 0) FROM outbox') $(sql 'SELECT
    MAX(replay_no) FROM outbox_webhooks')" '0 1' 'only its rows were sent again'
stop_master "$SECOND"
is $? 0 'the second master stops with status 0'
stops 'the first master stops with status 0'
done_testing
