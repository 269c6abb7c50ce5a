#!/usr/bin/env bash
# Each metric moves when what it tells of happens, for real; none is without a
# test
. "${srcdir:-$(dirname "$0")/../..}/tests/lib/http.sh"

[ -x "$RECEIVER" ] || skip_all "no $RECEIVER: make check TESTS="
command -v curl > /dev/null || skip_all 'no curl'
start_servers
sql "GRANT REPLICATION SLAVE ON *.* TO 'outbox'@'localhost'"
MONITOR=$DIR/run/outbox.monitor.sock
export LOG=$DIR/logs/log
declare -A TESTED=()

#
# metrics
#

metrics() { curl -sf -m 5 --unix-socket "$MONITOR" http://localhost/metrics; }
# scrape: into $DIR/now; the names go to $DIR/names
scrape() {
	metrics > "$DIR/scrape" || return
	mv "$DIR/scrape" "$DIR/now"
	sed -n 's/^# TYPE \([a-z_]*\) .*/\1/p' "$DIR/now" >> "$DIR/names"
}
mark() { wait_for 10 scrape && cp "$DIR/now" "$DIR/before"; }

# sum FILE SERIES: of those that match this regular expression; "" without one
sum() {
	awk -v want="^$2\$" '/^[^#]/ { value = $NF; sub(/ [^ ]*$/, "")
	    if ($0 ~ want) { n++; all += value } }
	    END { if (n) printf "%.6f\n", all }' "$1"
}
# tested SERIES: its metric, without the suffix of a histogram
tested() {
	local name=${1%%[\{\\]*}
	TESTED[${name%_count}]=1
}
has_grown() {
	scrape && awk -v a="$(sum "$DIR/before" "$1")" \
	    -v b="$(sum "$DIR/now" "$1")" 'BEGIN { exit !(b + 0 > a + 0) }'
}
compares() {
	scrape && awk -v a="$(sum "$DIR/now" "$1")" -v op="$2" -v b="$3" \
	    'BEGIN { exit a == "" || !(op == "=" ? a == b : a + 0 > b + 0) }'
}
# grows SERIES [SECONDS]: since mark
grows() {
	tested "$1"
	within "${2:-15}" "$1 grows" has_grown "$1"
}
# gets SERIES "="|">" VALUE [SECONDS]
gets() {
	tested "$1"
	within "${4:-15}" "$1 $2 $3" compares "$1" "$2" "$3" ||
	    say "it is $(sum "$DIR/now" "$1")"
}
problem() { gets "outbox_problem{id=\"$1\",severity=\"$2\"}" = 1; }
is_ready() { compares outbox_ready = 1; }

#
# helpers
#

stream() { "$LAB" stream --nats "$URL" --name EVENTS --dup-window 600 "$@"; }
nats_pid() { (. "$DIR/nats/env" && cat "$PIDFILE"); }
put() { call_enqueue "'$1', NULL, '$2', 1, NULL, ${3:-NULL}, 'x'"; }
has_claim() { is_sql 'SELECT COUNT(*) > 0 FROM outbox
    WHERE claim_token IS NOT NULL AND published_at IS NULL' 1; }
# in_flight KEY: a row is claimed, and the broker has stopped before its answer
in_flight() {
	kill -STOP "$(nats_pid)"
	put "$1" flight
	within 10 "$1: its row is claimed" has_claim
}
bump() { sql 'UPDATE outbox_partitions SET lease_epoch = lease_epoch + 1'; }

write_all() {
	WORKERS=2 MAX_ATTEMPTS=2 BACKOFF=0.2 LEASE_TTL=2 LEASE_RENEW=0.5 \
	    HEARTBEAT_TTL=2 CLAIM_TTL=9 HANG_TIMEOUT=5 TIMEOUT_MS=4000 \
	    IDLE=100 WAKE=$WAKE "$@"
	sed -i "s|^log: {|&target: $DIR/logs/log, |
	    s|^retry: {|&on_dead: halt, |" "$CONF"
}

mkdir "$DIR/logs"
WAKE='binlog: true, subject: outbox.wake'
PARTITIONS=8 write_all write_conf
begin=$(date +%s)
start_fleet

#
# A daemon that is well
#

wait_for 20 is_ready
gets outbox_up = 1
gets outbox_ready = 1
gets 'outbox_build_info\{version=".*"\}' = 1
gets outbox_start_time_seconds '>' $((begin - 60))
gets outbox_configuration_generation = 1
gets outbox_reload_accepted = 1
gets 'outbox_worker_processes\{state="running"\}' = 2
gets outbox_leases_wanted = 8
gets outbox_leases_held = 8
gets outbox_leases_taken_total '>' 7
gets 'outbox_connects_total\{peer="database"\}' '>' 2
gets 'outbox_connects_total\{peer="broker"\}' '>' 1
gets 'outbox_fleet_workers\{state="live"\}' = 2
gets 'outbox_partitions\{state="owned"\}' = 8
gets 'outbox_partitions\{state="idle"\}' = 8
gets outbox_database_reachable = 1
gets outbox_broker_reachable = 1
gets outbox_backlog_exact = 1
gets outbox_state_age_seconds '>' -1
gets 'outbox_process_resident_memory_bytes\{role="worker",slot="1"\}' '>' 1000000
gets 'outbox_process_silent_seconds\{role="janitor",slot="0"\}' '>' -1
mark
sql "INSERT INTO outbox_workers (id, heartbeat_until)
    VALUES ('another', NOW(6) + INTERVAL 1 HOUR)"
grows outbox_leases_released_total
gets 'outbox_fleet_workers\{state="live"\}' = 3
sql "DELETE FROM outbox_workers WHERE id = 'another'"
gets outbox_leases_held = 8

#
# Delivery
#

mark
produce --events 3000 --keys 20
wait_for 20 is_drained
for name in claimed published; do grows outbox_${name}_messages_total; done
for name in commit_to_ack_seconds publish_to_ack_seconds tick_seconds \
    batch_messages; do
	grows "outbox_${name}_count"
done
is "$(sum "$DIR/now" outbox_published_messages_total)" 3000.000000 \
    'each message counts once'
is "$(sum "$DIR/now" outbox_commit_to_ack_seconds_count)" 3000.000000 \
    'each message is measured'
check 'no message took a minute from commit to acknowledgement' \
    compares 'outbox_commit_to_ack_seconds_bucket\{le="60"\}' = 3000
grows 'outbox_wakeups_total\{source="binlog"\}'
grows 'outbox_statements_total\{statement="claim"\}'
grows 'outbox_statement_seconds_total\{statement="claim"\}'
grows 'outbox_process_cpu_seconds_total\{role="worker",slot="[01]"\}' 30
ring outbox.wake
grows 'outbox_wakeups_total\{source="subject"\}'
put meta meta "'{\"no header\": \"x\"}'"
grows outbox_skipped_metadata_entries_total

# What tells of faults takes a minute.
if is_short; then
	stop_master "$MASTER"
	done_testing
fi

# Claimed by another worker while the answer was under way; then it is found in
# the stream.
mark
in_flight fenced
sql "UPDATE outbox SET claim_token = 'another' WHERE published_at IS NULL"
kill -CONT "$(nats_pid)"
grows outbox_fenced_messages_total
grows outbox_duplicate_messages_total 30
wait_for 20 is_drained

#
# The broker
#

mark
in_flight lost
"$SANDBOX" kill "$DIR/nats" > /dev/null
grows 'outbox_failures_total\{class="lost"\}'
grows outbox_returned_messages_total
grows 'outbox_connect_failures_total\{peer="broker"\}'
gets 'outbox_worker_processes\{state="no broker"\}' = 2
gets outbox_broker_reachable = 0
gets outbox_ready = 0
problem broker critical
gets 'outbox_backlog_messages\{state="waiting"\}' = 1
gets outbox_oldest_message_age_seconds '>' 1
gets 'outbox_partition_backlog_messages\{partition="p.."\}' = 1
gets 'outbox_partition_oldest_message_age_seconds\{partition="p.."\}' '>' 1
mark
"$SANDBOX" restart "$DIR/nats" > /dev/null
grows 'outbox_connects_total\{peer="broker"\}'
gets 'outbox_backlog_messages\{state="waiting"\}' = 0 30

mark
stream --subjects 'events.>' --max-msgs "$(stored)" --discard-new
put full full
grows 'outbox_failures_total\{class="full"\}'
grows outbox_deferred_messages_total
gets 'outbox_paused_workers\{class="full"\}' '>' 0
problem stream_full critical
stream --subjects 'events.>' --max-msgs 1000000
gets 'outbox_advice\{id="stream_advice"\}' = 1	# it drops the oldest
stream --subjects 'events.>'
gets 'outbox_paused_workers\{class="full"\}' = 0 30
wait_for 20 is_drained

# One type is refused while others are taken.
mark
stream --subjects events.paid
enqueue_keys ship 3 shipped
enqueue_keys paid 20 paid
grows 'outbox_failures_total\{class="no_stream"\}'
gets outbox_refused_types '>' 0
gets outbox_waiting_keys '>' 0
gets 'outbox_blocked_keys\{reason="refused"\}' '>' 0 40
stream --subjects 'events.>'
gets outbox_refused_types = 0 30
wait_for 40 is_drained

mark
sql "UPDATE outbox_streams SET lost = 5, lost_at = NOW(6), phantoms = 3,
    phantom_at = NOW(6)"
gets outbox_stream_lost_messages = 5
gets outbox_stream_phantom_messages = 3
sql 'UPDATE outbox_streams SET lost = 0, lost_at = NULL, phantoms = 0,
    phantom_at = NULL'
# A check finds that nothing is missing, and clears it.
shows_missing() {
	sql "UPDATE outbox_streams SET holes = '7-8', missing = 2,
	    missing_at = NOW(6)"
	compares outbox_stream_missing_messages = 2
}
tested outbox_stream_missing_messages
within 15 'outbox_stream_missing_messages' shows_missing

# The store of the broker goes back in time.
"$SANDBOX" kill "$DIR/nats" > /dev/null
cp -a "$DIR/nats/js" "$DIR/saved"
"$SANDBOX" restart "$DIR/nats" > /dev/null
produce --events 50 --keys 5
wait_for 20 is_drained
mark
"$SANDBOX" kill "$DIR/nats" > /dev/null
rm -rf "$DIR/nats/js"
mv "$DIR/saved" "$DIR/nats/js"
"$SANDBOX" restart "$DIR/nats" > /dev/null
grows outbox_recovered_messages_total 30
wait_for 20 is_drained

#
# Dead letters
#

mark
put dead 'two words'
put dead after
grows 'outbox_failures_total\{class="message"\}'
grows 'outbox_dead_messages_total\{reason="message"\}'
gets outbox_dead_letters = 1
gets outbox_new_dead_letters = 1
gets 'outbox_blocked_keys\{reason="halted"\}' = 1
problem halted_keys warning
clear_rows
bump
gets outbox_dead_letters = 0

#
# Processes and their configuration
#

mark
worker=$(worker_pid | head -1)
kill -KILL "$worker"
grows 'outbox_restarts_total\{role="worker",cause="signal"\}'
wait_for 20 is_ready
worker=$(worker_pid | head -1)
kill -STOP "$worker"
gets 'outbox_process_silent_seconds\{role="worker",slot="[01]"\}' '>' 2
grows 'outbox_restarts_total\{role="worker",cause="hang"\}' 20

mark
PARTITIONS=16 write_all write_conf
kill -HUP "$MASTER"
grows outbox_reloads_total
grows 'outbox_restarts_total\{role="worker",cause="reload"\}' 30
gets outbox_configuration_generation = 2
gets outbox_leases_held = 16 30
# A producer that does not know the new count yet.
late=$(sql "SELECT CONCAT('late', n) FROM $(numbers 100)
    WHERE CRC32(CONCAT('late', n)) % 16 >= 8 LIMIT 1")
sql "START TRANSACTION; $(event_row "$late" 1 "CONCAT('p', LPAD(
    CRC32('$late') % 8, 2, '0'))") COMMIT"
wait_for 20 is_drained
grows outbox_former_label_messages_total
cp "$CONF" "$DIR/good.yml"
sed -i 's/lease_ttl/lease_tttl/' "$CONF"
kill -HUP "$MASTER"
gets outbox_reload_accepted = 0
cp "$DIR/good.yml" "$CONF"
kill -HUP "$MASTER"
gets outbox_reload_accepted = 1

rm "$DIR/logs/log"
mkdir "$DIR/logs/log"
kill -USR1 "$MASTER"
gets outbox_log_lost_lines '>' 0 30
rmdir "$DIR/logs/log"
gets outbox_log_lost_lines = 0 30

#
# The database
#

mark
"$SANDBOX" stop "$DIR/db" > /dev/null
grows 'outbox_connect_failures_total\{peer="database"\}'
gets 'outbox_worker_processes\{state="no database"\}' = 2
gets outbox_database_reachable = 0
problem database critical
pause 2000			# lease_ttl
"$SANDBOX" restart "$DIR/db" > /dev/null
grows outbox_leases_lost_total 30
gets outbox_database_reachable = 1
if command -v promtool > /dev/null; then
	promtool check metrics < "$DIR/now" > "$DIR/promtool" 2>&1
	ok $? 'promtool check metrics' || sed 's/^/# /' "$DIR/promtool"
fi
is "$(sum "$DIR/now" 'outbox_statements_total\{statement="other"\}')" '' \
    'each statement has a name'
stop_master "$MASTER"

#
# Failures that pass, of an HTTP endpoint
#

start_receiver
order '/e/first 4 500' '/e/once 1 500' '/e/never 0 500'
WAKE='' MAX_BACKOFF=1 write_all http_conf
start_fleet
gets 'outbox_worker_processes\{state="running"\}' = 2
gets 'outbox_worker_processes\{state="standby"\}' = 0
event first 1 first
gets 'outbox_destination_fails\{destination="publish.driver"\}' = 1
gets 'outbox_destination_fails\{destination="publish.driver"\}' = 0
mark
event once 1 once
event never 1 never
grows 'outbox_destination_failed_total\{destination="publish.driver"\}'
grows 'outbox_destination_taken_total\{destination="publish.driver"\}'
grows 'outbox_failures_total\{class="transient"\}'
grows outbox_retried_messages_total
grows 'outbox_dead_messages_total\{reason="attempts"\}'
stop_master "$MASTER"

#
# Another program's messages have the ids of rows, and one of them is gone
#

. "$srcdir/tests/lib/inline.sh"
for id in m-1 m-2; do
	"$LAB" publish --nats "$URL" --subject events.x --id $id --data x
done > "$DIR/published"
"$LAB" delete-msg --nats "$URL" --stream EVENTS \
    --seq "$(sed -n 's/.*seq=\([0-9]*\).*/\1/p' "$DIR/published" | tail -1)" \
    > /dev/null
WAKE='' write_all write_conf
inline_tables
start_fleet
mark
sql "INSERT INTO outbox_messages (message_id, topic, payload)
    VALUES ('m-1', 'x', 'ours'), ('m-2', 'x', 'ours')"
grows outbox_renamed_messages_total
grows outbox_unread_duplicates_total

is "$(sort -u "$DIR/names" | grep -vxFf <(printf '%s\n' "${!TESTED[@]}"))" '' \
    'each metric has a test that makes it move'
done_testing
