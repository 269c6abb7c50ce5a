#!/usr/bin/env bash
# The janitor: retention, and reconcile.at_start
. "${srcdir:-$(dirname "$0")/../..}/tests/lib/ctl.sh"
. "$srcdir/tests/lib/prune.sh"

NOTHING='Nothing to reconcile: the outbox is consistent with the event store.'

# keys [SECTION...]: the configuration with these sections more
keys() {
	write_conf
	[ $# -eq 0 ] || printf '%s\n' "$@" >> "$CONF"
}

# fill N: N + 3 events.  Rows: 3 and 8 to N / 2 were delivered 20 days ago, up
# to N + 2 just now.  Dead letters: 1, 2 and N + 3 for 40 days, 4 to 7 just now.
fill() {
	sql "DELETE FROM outbox; TRUNCATE events;
	DELETE FROM outbox_dead_letters;
	UPDATE outbox_settings SET reconcile_watermark = 0, partition_count = 16;
	INSERT INTO events (stream_id, stream_sequence, event_type, event_data)
	    SELECT 'k', n, 'order.paid', 'x' FROM $(numbers $(($1 + 3)) 1)
	    ORDER BY n;
	INSERT INTO outbox (global_sequence, partition_key, ack_sequence,
	    published_at) SELECT sequence, 'p05', sequence, NOW(6)
	    - INTERVAL IF(sequence <= $1 / 2, 20, 0) DAY
	    - INTERVAL sequence MICROSECOND
	    FROM events WHERE sequence NOT IN (1, 2, 4, 5, 6, 7, $1 + 3);
	INSERT INTO outbox_dead_letters (global_sequence, order_key, reason,
	    died_at) SELECT sequence, 'k', 'attempts', NOW(6) - INTERVAL
	    IF(sequence IN (1, 2, $1 + 3), 40, 0) DAY FROM events
	    WHERE sequence IN (1, 2, 4, 5, 6, 7, $1 + 3)"
	checked '1 MINUTE'
}
watermark() { sql 'SELECT reconcile_watermark FROM outbox_settings'; }
janitor() { pgrep -P "$1" -f 'outbox-master: janitor'; }
no_janitor() { ! janitor "$1" > /dev/null; }
is_another() { local pid; pid=$(janitor "$1") && [ "$pid" != "$2" ]; }
has_workers() { ps -o args= --ppid "$MASTER" | grep -q 'worker 1'; }
says() { wait_for "${2:-10}" has_line "$LOG" "$1"; }
went() { says "retention: deleted $1 delivered row\(s\) and $2 dead letter"; }
start() {
	LOG=$DIR/$1.log
	: >> "$LOG"
	start_master
}

start_servers
"$SANDBOX" stop "$DIR/nats" > /dev/null	# nobody checks what was delivered

#
# What goes, and what stays
#
fill 3000
keys 'retention: {days: 7, dead_days: 30, batch: 50}'
n=$(server_status Com_delete)
start both
went 1494 3
ok $? 'rows and dead letters that are too old go'
n=$(($(server_status Com_delete) - n))
[ "$n" -ge 30 ] && [ "$n" -lt 60 ]
ok $? "a batch at a time ($n deletes)"
is "$(rows)" '1502 from 1501' 'and no others'
is "$(watermark)" 1500 'the watermark rises with them'
is "$(dead)" '4 attempts,5 attempts,6 attempts,7 attempts,3003 purged' \
    'the dead above it leave a mark'
is "$(sql 'SELECT COUNT(*) FROM events')" 3003 'events are left alone'
says 'kept for 7 day\(s\), dead letters for 30 day'
ok $? 'it says what it does'
ctl reconcile --all
is "$OUT" "$NOTHING" 'reconcile brings nothing back'
stops 'the master stops'

fill 3000
keys 'retention: {days: 21, dead_days: 30}'
start dead
went 0 3
is "$(rows) $(watermark)" '2996 from 3 0' 'days: what is younger stays'
is "$(dead)" '1 purged,2 purged,4 attempts,5 attempts,6 attempts,7 attempts,3003 purged' \
    'and the dead go by themselves'
fill 3000
keys 'retention: {days: 7}'
kill -HUP "$MASTER"
went 1494 0
is "$(rows)" '1502 from 1501' 'after a reload rows go'
is "$(dead | tr ',' '\n' | grep -c attempts)" 7 'dead_days 0: dead letters stay'
keys
kill -HUP "$MASTER"
wait_for 5 no_janitor "$MASTER"
ok $? 'a reload ends the janitor'
stop_master "$MASTER"

fill 3000
checked '21 DAY'
keys 'retention: {days: 7, dead_days: 30}'
start needed
says 'stay: an audit of the stream may need them'
ok $? 'what a check may need is spared, which is said'
says 'retention: deleted 0 delivered row\(s\) and 3'
is "$(rows) $(watermark)" '2996 from 3 0' 'nothing of it goes'
stop_master "$MASTER"

#
# Rights, indexes
#
fill 3000
sql "REVOKE DELETE ON outbox FROM 'outbox'@'localhost'"
start denied
says 'retention: .*DELETE.*denied'
ok $? 'without the right it is said'
is "$(watermark)" 0 'and the watermark does not rise for nothing'
sql "GRANT DELETE ON outbox TO 'outbox'@'localhost';
    REVOKE DELETE ON outbox_dead_letters FROM 'outbox'@'localhost'"
kill -HUP "$MASTER"
says 'retention: .*denied.*outbox_dead_letters'
is "$(rows)" '1502 from 1501' 'rows go without the right to dead letters'
is "$(grep -c 'denied' "$LOG")" 2 'each is said once'
stop_master "$MASTER"
sql "GRANT DELETE ON outbox_dead_letters TO 'outbox'@'localhost'"
fill 3000
sql 'ALTER TABLE outbox DROP KEY outbox_claim,
    ADD KEY other (partition_key, published_at)'
start index
says 'retention: outbox has no index that begins with published_at'
ok $? 'without an index it does not read the whole table'
is "$(rows)" '2996 from 3' 'but nothing'
stop_master "$MASTER"
sql 'ALTER TABLE outbox DROP KEY other,
    ADD KEY outbox_claim (published_at, partition_key, global_sequence)'

#
# At most a tenth of the time
#
fill 20
sql "CREATE TABLE deleted (at DATETIME(6));
    CREATE TRIGGER slow BEFORE DELETE ON outbox FOR EACH ROW
    INSERT INTO deleted SELECT NOW(6) + INTERVAL SLEEP(0.1) SECOND;
    GRANT INSERT, TRIGGER ON deleted TO 'outbox'@'localhost'"
keys 'retention: {days: 7, batch: 1}'
start slow
wait_for 20 is_sql 'SELECT COUNT(*) >= 4 FROM deleted' 1
gap=$(sql 'SELECT MIN(gap) DIV 1000 FROM (SELECT TIMESTAMPDIFF(MICROSECOND,
    LAG(at) OVER (ORDER BY at), at) AS gap FROM deleted) AS t')
[ "$gap" -ge 1000 ]
ok $? "after a slow statement it rests ($gap ms)"
stop_master "$MASTER"
sql 'DROP TRIGGER slow; DROP TABLE deleted'

#
# Two masters, and they are killed
#
fill 2000
keys 'retention: {days: 7, dead_days: 30, batch: 10}'
sed 's/outbox.pid/other.pid/' "$CONF" > "$DIR/other.yml"
start one
ONE=$MASTER
disown "$ONE"			# no word of its death
says 'retention: delivered rows are kept'
CONF=$DIR/other.yml start two
TWO=$MASTER
says 'retention: another janitor has the lock'
ok $? 'one of two does it'
is "$(grep -c 'are kept' "$LOG")" 0 'the other waits'
some_went() { is_sql "SELECT COUNT(*) < $1 FROM outbox" 1; }
wait_for 20 some_went 1950
pid=$(janitor "$ONE")
kill -KILL "$pid"
wait_for 5 is_another "$ONE" "$pid"
ok $? 'a killed janitor is replaced'
n=$(sql 'SELECT COUNT(*) FROM outbox')
wait_for 20 some_went $((n - 20))
ok $? 'and goes on'
pid=$(janitor "$ONE")
kill -KILL "$ONE"
wait_for 3 is_gone "$pid"
ok $? 'a killed master takes it along'
says 'retention: delivered rows are kept' 20
ok $? 'the other one takes over'
wait_for 30 is_sql 'SELECT MIN(global_sequence) FROM outbox' 1001
is "$(rows) $(watermark)" '1002 from 1001 1000' 'and what is to go is gone'
wait_for 10 is_sql "SELECT COUNT(*) FROM outbox_dead_letters
    WHERE died_at < NOW(6) - INTERVAL 30 DAY AND reason = 'attempts'" 0
is "$(dead)" '4 attempts,5 attempts,6 attempts,7 attempts,2003 purged' \
    'with the dead letters'
"$SANDBOX" restart "$DIR/db" > /dev/null
fill 200
kill -HUP "$TWO"
went 94 3
ok $? 'also after a restart of the server'
pid=$(janitor "$TWO")
stop_master "$TWO"
is_gone "$pid"
ok $? 'it ends with the master'

#
# reconcile.at_start
#
"$SANDBOX" restart "$DIR/nats" > /dev/null
sql 'DELETE FROM outbox; TRUNCATE events; DELETE FROM outbox_dead_letters;
    DELETE FROM outbox_streams; UPDATE outbox_settings SET reconcile_watermark = 0'
produce --events 1000 --keys 20 --payload 50
lose() { sql "DELETE FROM outbox WHERE global_sequence > 1000 - $1"; }
lose 5
keys
start without
wait_for 10 all_owned && wait_for 10 is_drained
no_janitor "$MASTER"
ok $? 'no janitor where there is nothing to tidy'
types() {
	write_conf
	sed -i "s/^publish: {/&types: ['$1'], /" "$CONF"
	[ -z "${2:-}" ] || echo "reconcile: {at_start: $2}" >> "$CONF"
}
types 'other.*'
kill -HUP "$MASTER"
says "$NOTHING"
ok $? 'with publish.types it reconciles, and only these'
wait_for 5 no_janitor "$MASTER"
ok $? 'then the process is done'
stop_master "$MASTER"
is "$(grep -c "$NOTHING" "$LOG")" 1 'and not missed'
types '*' off
start off
wait_for 10 has_workers
no_janitor "$MASTER"
ok $? 'at_start: off'
stop_master "$MASTER"
types '*'
start auto
says 'Reconciled 5 outbox row\(s\) from the event store\.'
ok $? 'rows that are missing are made'
wait_for 10 is_drained
is "$?$(sql 'SELECT COUNT(*) FROM outbox')" 01000 'and delivered'
stop_master "$MASTER"
lose 250
keys 'reconcile: {at_start: on}'
sed 's/outbox.pid/other.pid/' "$CONF" > "$DIR/other.yml"
start on
ONE=$MASTER
CONF=$DIR/other.yml start on2
LOG=$DIR/on.log says 'econcile' && LOG=$DIR/on2.log says 'econcile'
wait_for 20 is_drained
made=$(cat "$DIR/on.log" "$DIR/on2.log" |
    sed -n 's/.*Reconciled \([0-9]*\) .*/\1/p' | awk '{ n += $1 } END { print n }')
is "$made $(sql 'SELECT COUNT(*) FROM outbox')" '250 1000' \
    'at_start: on, two at once make each row once'
stop_master "$ONE"
stop_master "$MASTER"
check_stream 'and each message stands in the stream once'

# Beside a transaction that has the settings row: nobody waits for us.
lose 5
sql 'BEGIN; SELECT reconcile_watermark FROM outbox_settings FOR UPDATE;
    SELECT SLEEP(4)' > /dev/null &
holder=$!
wait_for 10 is_sql "SELECT COUNT(*) > 0 FROM information_schema.processlist
    WHERE info LIKE 'SELECT SLEEP%'" 1
start busy
says 'reconcile: .*[Ll]ock'
ok $? 'a lock is told of'
wait_for 10 all_owned
kill -0 "$holder"
ok $? 'the workers are there before it is free'
wait "$holder"
says 'Reconciled 5' 20
ok $? 'and it is tried again'
stop_master "$MASTER"
lose 5
sql "REVOKE INSERT ON outbox FROM 'outbox'@'localhost'"
start may_not
says 'reconcile: .*INSERT.*denied'
ok $? 'without the right it is said'
wait_for 10 is_drained
stop_master "$MASTER"
sql "GRANT INSERT ON outbox TO 'outbox'@'localhost';
    UPDATE outbox_settings SET reconcile_watermark = NULL"
start unknown
says 'reconcile: outbox_settings.reconcile_watermark is not set'
ok $? 'without a watermark, too'
stop_master "$MASTER"

#
# Both: the watermark does not pass what is missing
#
sql "UPDATE outbox_settings SET reconcile_watermark = 0;
    DELETE FROM outbox WHERE global_sequence BETWEEN 2 AND 901;
    UPDATE outbox SET published_at = published_at - INTERVAL 9 DAY"
keys 'retention: {days: 7}' 'reconcile: {at_start: on}'
sed -i 's/recover: "lost"/recover: "off"/' "$CONF"
start both_duties
says 'retention: deleted'
says 'Reconciled 905 outbox'	# five were missing before
ok $? 'reconcile comes before retention'
wait_for 10 is_drained
is "$(sql 'SELECT COUNT(*) FROM outbox')" 905 'and nothing is missing'
stop_master "$MASTER"

#
# Beside producers and workers
#
produce --events 1000 --keys 20 --payload 50
start before
wait_for 20 is_drained
stop_master "$MASTER"
sql 'UPDATE outbox_settings SET reconcile_watermark = 0;
    UPDATE outbox SET published_at = published_at - INTERVAL 9 DAY'
n=$(sql 'SELECT COUNT(*) FROM outbox')
keys 'retention: {days: 7, batch: 100}' 'reconcile: {at_start: off}'
sed -i 's/recover: "lost"/recover: "off"/' "$CONF"
start beside
produce --events 3000 --keys 50 --payload 50 --producers 4
wait_for 20 is_drained
went "$n" 0
ok $? "while others write, $n rows go"
is "$(sql 'SELECT COUNT(*) FROM outbox')" 3000 'and all that is new is there'
stop_master "$MASTER"
done_testing
