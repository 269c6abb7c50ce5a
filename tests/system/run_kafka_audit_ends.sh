#!/usr/bin/env bash
# An audit of topics that is interrupted: a row that it needs is locked, its
# janitor is killed, its database goes; and what it takes for lost in a topic that
# is compacted
. "${srcdir:-$(dirname "$0")/../..}/tests/lib/lib.sh"
. "$srcdir/tests/lib/kafka.sh"
is_short && skip_all 'a long test'

log_has() { grep -Eq "$1" "$LOG"; }
# lock_row SEQUENCE, unlock_row: another transaction has it
lock_row() {
	exec {LOCK}> >(exec "$SANDBOX" sql "$DIR/db" app > /dev/null 2>&1)
	echo "START TRANSACTION; SELECT * FROM outbox
	    WHERE global_sequence = $1 FOR UPDATE;" >&"$LOCK"
}
unlock_row() { exec {LOCK}>&-; }
waits_for_lock() {
	is_sql "SELECT COUNT(*) FROM information_schema.innodb_trx
	    WHERE trx_state = 'LOCK WAIT'" 1
}
# lose: 2500 messages, more than one transaction sends again, of which one in the
# second transaction is locked when they are missed
lose() {
	BEFORE=$(nlost)
	disk_keep
	send 2500
	looks
	lock_row "$(sql 'SELECT MAX(global_sequence) - 1000 FROM outbox')"
	disk_back
	wait_for 60 waits_for_lock
}
more_lost() { [ "$(nlost)" -gt "$BEFORE" ]; }
janitor() { pgrep -P "$MASTER" -f 'outbox-master: janitor'; }

start_kafka log.cleaner.backoff.ms=200
start_servers
topic "$TOPIC" 3
use_kafka "\"$BROKER\""
start_fleet
send 300
looks

# --- a row is locked, and the janitor killed --------------------------------

lose
ok $? 'the audit waits for a row in its second transaction'
within 20 'and gives up for now' log_has 'audit of topics: .*ock wait'
wait_for 20 waits_for_lock
ok $? 'and tries again'
kill -KILL "$(janitor)"
unlock_row
within 60 'its janitor is killed: the next one goes on' \
    log_has 'lost 1500 acknowledged'
drains 30 'what was lost is sent again'
check_topic 'the topic is complete and in order, nothing twice'
looks
is "$(nlost)" 1 'the rest was lost once'

# --- the database goes ------------------------------------------------------

lose
ok $? 'the audit waits for a row in its second transaction'
"$SANDBOX" kill "$DIR/db"
unlock_row
"$SANDBOX" restart "$DIR/db" > /dev/null
within 60 'its database was away: it goes on' more_lost
drains 60 'what was lost is sent again'
check_topic 'the topic is complete and in order, nothing twice'
looks
is "$(nlost)" 2 'once'

# --- compaction -------------------------------------------------------------

nrecords() {
	"$LAB" list --kafka "$ADMIN" --topic "$TOPIC" | wc -l
}
is_compacted() { [ "$(nrecords)" -le 200 ]; }
looks_at_all() {
	"$OUTBOXCTL" -c "$CONF" stream republish --yes > "$DIR/out" 2>&1
	wait_for 60 is_sql "SELECT suspicion IS NULL FROM outbox_streams
	    WHERE name = 'topics of Kafka'" 1
}
stop_master "$MASTER"
TOPIC=compacted
topic "$TOPIC" 3 cleanup.policy=compact segment.ms=1000 \
    min.cleanable.dirty.ratio=0.01
clear_rows
sql 'DELETE FROM outbox_streams'	# or what another topic had is not expected
use_kafka "\"$BROKER\"" "topic: $TOPIC"
start_fleet
send 600
pause 1500
send 60				# a segment that is closed is compacted
within 60 'a topic is compacted' is_compacted
within 10 'that is a problem' problem stream_settings
like "$(cat "$DIR/problem")" 'topic compacted is compacted, so of each key' \
    'which says what it costs'
now=$(sql 'SELECT NOW(6)')
looks_at_all
is "$(nlost) $(sent_since "$now") $(pending)" '2 0 0' \
    'what compaction has removed is not lost'

# Others stand where they were, and offsets before them have no record.
topic "$TOPIC" 3 cleanup.policy=compact
BEFORE=$(nlost)
disk_keep
send 90
looks
"$SANDBOX" kill "$DIR/kafka"
produce --events 200 --keys 30 --payload 100 --bulk
sql 'UPDATE outbox_streams SET checked_at = checked_at - INTERVAL 1 HOUR'
now=$(sql 'SELECT NOW(6)')
disk_back
drains 60 'new records stand where lost ones were'
within 60 'these are missed' more_lost
all_again() { [ "$(sent_since "$now")" = 290 ]; }
within 30 'and sent again' all_again
done_testing
