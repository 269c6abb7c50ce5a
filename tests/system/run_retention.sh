#!/usr/bin/env bash
# The janitor: retention, and reconcile.at_start
. "${srcdir:-$(dirname "$0")/../..}/tests/lib/ctl.sh"
. "$srcdir/tests/lib/prune.sh"

NOTHING='Nothing to reconcile: no event that was searched lacks its outbox row.'

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
is_another() { local pid; pid=$(janitor "$1") && [ "$pid" != "$2" ]; }
is_unlocked() { is_sql "SELECT IS_FREE_LOCK(CONCAT('outbox janitor ',
    LEFT(SHA2(CONCAT(DATABASE(), '.outbox'), 256), 40)))" 1; }
# The third sample gives a rate.
has_sampled() { [ "$("$OUTBOXCTL" -c "$CONF" --json status |
    jq .backlog.growth_per_second)" != null ]; }
has_workers() { ps -o args= --ppid "$MASTER" | grep -q 'worker 1'; }
says() { wait_for "${2:-10}" has_line "$LOG" "$1"; }
went() { says "retention: deleted $1 delivered row\(s\) and $2 dead letter"; }
start() {
	LOG=$DIR/$1.log
	: >> "$LOG"
	start_master
}

start_servers
"$SANDBOX" stop "$DIR/nats" > /dev/null	# so the stream is not checked

#
# Rows and dead letters that are deleted, and that stay
#
fill 3000
keys 'retention: {days: 7, dead_days: 30, batch: 50}'
n=$(server_status Com_delete)
start both
check 'older rows and dead letters are deleted' went 1494 3
n=$(($(server_status Com_delete) - n))
[ "$n" -ge 30 ] && [ "$n" -lt 60 ]
ok $? "retention.batch 50: 30 to 59 statements ($n)"
is "$(rows)" '1502 from 1501' 'no younger row is deleted'
is "$(watermark)" 1500 'the watermark rises to the last deleted row'
is "$(dead)" '4 attempts,5 attempts,6 attempts,7 attempts,3003 purged' \
    'dead letters above the watermark leave a mark'
rows_are 3003 events 'no event is deleted'
check 'the log says how long rows are kept' \
    says 'kept for 7 day\(s\), dead letters for 30 day'
ctl reconcile --all
is "$OUT" "$NOTHING" 'reconcile makes no deleted row again'
stops 'the master stops with status 0'
sql 'UPDATE outbox_settings SET reconcile_watermark = 3003'
start marks
check 'marks below the watermark go, and are not counted as dead letters' \
    says 'deleted 0 delivered row\(s\) and 0 dead letter\(s\), and 1 mark\(s\) of former ones'
is "$(dead)" '4 attempts,5 attempts,6 attempts,7 attempts' 'no mark is left'
stop_master "$MASTER"

fill 3000
keys 'retention: {days: 21, dead_days: 30}'
start dead
went 0 3
is "$(rows) $(watermark)" '2996 from 3 0' 'retention.days 21: no row is deleted'
is "$(dead)" '1 purged,2 purged,4 attempts,5 attempts,6 attempts,7 attempts,3003 purged' \
    'retention.dead_days: old dead letters are deleted'
fill 3000
keys 'retention: {days: 7}'
kill -HUP "$MASTER"
went 1494 0
is "$(rows)" '1502 from 1501' 'a reload with retention.days 7: rows are deleted'
is "$(dead | tr ',' '\n' | grep -c attempts)" 7 'dead_days 0: all dead stay'
keys
pid=$(janitor "$MASTER")
kill -HUP "$MASTER"
within 5 'a reload replaces the janitor' is_another "$MASTER" "$pid"
within 5 'a janitor without retention has not its lock' is_unlocked
stop_master "$MASTER"

# Rows that others still point at, and dead letters that a trigger keeps.
fill 3000
sql "UPDATE outbox SET published_at = '2020-01-01' WHERE global_sequence < 20;
    CREATE TABLE auditor (n BIGINT UNSIGNED, FOREIGN KEY (n)
    REFERENCES outbox (global_sequence)) ENGINE=InnoDB;
    INSERT INTO auditor VALUES (3), (8), (1500)"
keys 'retention: {days: 7, dead_days: 30, batch: 50}'
start refused
check 'rows that the database refuses to delete: the others go' went 1491 3
check 'each is told' says 'sequence 1500 cannot be deleted: .*foreign key'
is "$(rows)" '1505 from 3' 'and they stay'
stop_master "$MASTER"
sql 'DROP TABLE auditor'

fill 3000
checked '21 DAY'
keys 'retention: {days: 7, dead_days: 30}'
start needed
check 'the log says that a stream check may need rows' \
    says 'stay: a stream check may need them'
says 'retention: deleted 0 delivered row\(s\) and 3'
is "$(rows) $(watermark)" '2996 from 3 0' 'no row that a check may need goes'
stop_master "$MASTER"

#
# Rights, indexes
#
fill 3000
sql "REVOKE DELETE ON outbox FROM 'outbox'@'localhost'"
start denied
check 'no right to DELETE from outbox: the log says so' \
    says 'retention: .*DELETE.*denied'
is "$(watermark)" 0 'no right to DELETE from outbox: no watermark rises'
sql "GRANT DELETE ON outbox TO 'outbox'@'localhost';
    REVOKE DELETE ON outbox_dead_letters FROM 'outbox'@'localhost'"
kill -HUP "$MASTER"
says 'retention: .*denied.*outbox_dead_letters'
is "$(rows)" '1502 from 1501' 'no right to DELETE the dead: rows are deleted'
is "$(grep -c 'denied' "$LOG")" 2 'each missing right is logged once'
stop_master "$MASTER"
sql "GRANT DELETE ON outbox_dead_letters TO 'outbox'@'localhost'"
fill 3000
sql 'ALTER TABLE outbox DROP KEY outbox_claim,
    ADD KEY other (partition_key, published_at)'
start index
check 'no index: the log says so' \
    says 'retention: outbox has no index that begins with published_at'
is "$(rows)" '2996 from 3' 'no index: no row is deleted'
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
check "a slow statement: the next one comes at least 1 s later ($gap ms)" \
    [ "$gap" -ge 1000 ]
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
check 'two masters: the second janitor waits' \
    says 'retention: another janitor has the lock'
is "$(grep -c 'are kept' "$LOG")" 0 'two masters: the second does nothing'
some_went() { is_sql "SELECT COUNT(*) < $1 FROM outbox" 1; }
wait_for 20 some_went 1950
pid=$(janitor "$ONE")
kill -KILL "$pid"
within 5 'a killed janitor is replaced' is_another "$ONE" "$pid"
n=$(sql 'SELECT COUNT(*) FROM outbox')
within 20 'the next janitor deletes rows' some_went $((n - 20))
pid=$(janitor "$ONE")
kill -KILL "$ONE"
within 3 'a killed master: its janitor ends' is_gone "$pid"
check 'a killed master: the other janitor takes over' \
    says 'retention: delivered rows are kept' 20
wait_for 30 is_sql 'SELECT MIN(global_sequence) FROM outbox' 1001
is "$(rows) $(watermark)" '1002 from 1001 1000' \
    'a killed master: all is deleted'
wait_for 10 is_sql "SELECT COUNT(*) FROM outbox_dead_letters
    WHERE died_at < NOW(6) - INTERVAL 30 DAY AND reason = 'attempts'" 0
is "$(dead)" '4 attempts,5 attempts,6 attempts,7 attempts,2003 purged' \
    'a killed master: old dead letters are deleted'
"$SANDBOX" restart "$DIR/db" > /dev/null
fill 200
kill -HUP "$TWO"
check 'a restart of the database: rows are deleted' went 94 3
pid=$(janitor "$TWO")
stop_master "$TWO"
check 'the janitor ends with its master' is_gone "$pid"

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
rows_are 995 outbox 'no retention and no types: no row is made'
check 'but the janitor runs' janitor "$MASTER"
types() {
	write_conf
	sed -i "s/^publish: {/&types: ['$1'], /" "$CONF"
	[ -z "${2:-}" ] || echo "reconcile: {at_start: $2}" >> "$CONF"
}
types 'other.*'
kill -HUP "$MASTER"
check 'publish.types: the janitor reconciles events of these types' \
    says "$NOTHING"
check 'at_start: the janitor goes on afterwards' janitor "$MASTER"
stop_master "$MASTER"
is "$(grep -c "$NOTHING" "$LOG")" 1 'at_start: it reconciles once'
types '*' off
start off
wait_for 10 has_workers
within 25 'at_start off: the janitor has taken a sample' has_sampled
rows_are 995 outbox 'at_start off: no row is made'
stop_master "$MASTER"
types '*'
start auto
check 'at_start auto: missing rows are made' \
    says 'Reconciled 5 outbox rows from the event store\.'
wait_for 10 is_drained
is "$?$(sql 'SELECT COUNT(*) FROM outbox')" 01000 'at_start auto: they are sent'
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
    'at_start on, two masters: each row is made once'
stop_master "$ONE"
stop_master "$MASTER"
check_stream 'each message is in the stream once'

# Beside a transaction that locks the settings row: workers do not wait.
lose 5
sql 'BEGIN; SELECT reconcile_watermark FROM outbox_settings FOR UPDATE;
    SELECT SLEEP(4)' > /dev/null &
holder=$!
wait_for 10 is_sql "SELECT COUNT(*) > 0 FROM information_schema.processlist
    WHERE info LIKE 'SELECT SLEEP%'" 1
start busy
check 'a locked settings row: the log says so' says 'reconcile: .*[Ll]ock'
wait_for 10 all_owned
check 'a locked settings row: workers start all the same' kill -0 "$holder"
wait "$holder"
check 'a locked settings row: the janitor tries again' says 'Reconciled 5' 20
stop_master "$MASTER"
lose 5
sql "REVOKE INSERT ON outbox FROM 'outbox'@'localhost'"
start may_not
check 'no right to INSERT: the log says so' says 'reconcile: .*INSERT.*denied'
wait_for 10 is_drained
stop_master "$MASTER"
sql "GRANT INSERT ON outbox TO 'outbox'@'localhost';
    UPDATE outbox_settings SET reconcile_watermark = NULL"
start unknown
check 'no watermark: the log says so' \
    says 'reconcile: outbox_settings.reconcile_watermark is not set'
stop_master "$MASTER"

#
# Both: the watermark does not pass missing rows
#
sql "UPDATE outbox_settings SET reconcile_watermark = 0;
    DELETE FROM outbox WHERE global_sequence BETWEEN 2 AND 901;
    UPDATE outbox SET published_at = published_at - INTERVAL 9 DAY"
keys 'retention: {days: 7}' 'reconcile: {at_start: on}'
sed -i 's/recover: "lost"/recover: "off"/' "$CONF"
start both_duties
says 'retention: deleted'
check 'at_start on and retention: missing rows are made first' \
    says 'Reconciled 905 outbox'	# five were missing before
wait_for 10 is_drained
rows_are 905 outbox 'at_start on and retention: no row is missing'
stop_master "$MASTER"

#
# Beside producers and workers
#
produce --events 1000 --keys 20 --payload 50 --per-txn 20
start before
wait_for 20 is_drained
stop_master "$MASTER"
sql 'UPDATE outbox_settings SET reconcile_watermark = 0;
    UPDATE outbox SET published_at = published_at - INTERVAL 9 DAY'
n=$(sql 'SELECT COUNT(*) FROM outbox')
keys 'retention: {days: 7, batch: 100}' 'reconcile: {at_start: off}'
sed -i 's/recover: "lost"/recover: "off"/' "$CONF"
start beside
NEW=3000
! is_short || NEW=800
produce --events $NEW --keys 50 --payload 50 --producers 4
wait_for 20 is_drained
check "beside producers: $n old rows are deleted" went "$n" 0
rows_are $NEW outbox 'beside producers: all new rows are there'
stop_master "$MASTER"
done_testing
