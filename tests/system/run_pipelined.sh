#!/usr/bin/env bash
# Messages are sent while their claim is being committed.  If the claim is lost
# with a process that dies, no message is lost, and none is in the stream twice,
# also when the stream has forgotten its ids meanwhile.
. "${srcdir:-$(dirname "$0")/../..}/tests/lib/lib.sh"

[ "$KIND" = mariadb ] || skip_all 'only MariaDB can be told to hold up commits'
start_servers
sql "GRANT REPLICATION SLAVE ON *.* TO 'outbox'@'localhost'"
"$LAB" stream --nats "$URL" --name EVENTS --subjects 'events.>' --dup-window 2
no_bounds() { is_sql 'SELECT COUNT(*) FROM outbox_partitions
    WHERE in_doubt_epoch <> lease_epoch' 0; }
begin() {
	WORKERS=1 LEASE_RENEW=20 LEASE_TTL=50 HEARTBEAT_TTL=50 CLAIM_TTL=6 \
	    TIMEOUT_MS=1000 WAKE='binlog: true' write_conf
	start_master "$@"
}

# A few at a time, until all leases say that messages go early.
EVENTS=0
events() {
	produce --events "$1" --keys 4 --payload 100 --key-prefix "e$EVENTS-" \
	    "${@:2}"
	EVENTS=$((EVENTS + $1))
}
goes_early() {
	wait_for 10 all_owned
	wait_for 30 has_listener
	wait_for 10 no_bounds
	for _ in 1 2 3 4 5 6 7 8; do
		events 20 --rate 50
		all_marked && break
	done
	all_marked && wait_for 10 is_drained && wait_for 25 has_renewed
	ok $? "$1"
}

# Workers scan when they are woken, and never by time.
begin_waiting() { begin --interval-ms 600000; }

# No transaction commits until release_commits.
hold_commits() {
	mkfifo "$DIR/hold"
	"$SANDBOX" sql "$DIR/db" --unbuffered app < "$DIR/hold" > "$DIR/held" &
	HOLDER=$!
	exec 8> "$DIR/hold"
	rm "$DIR/hold"
	printf 'BACKUP STAGE %s;\n' START FLUSH BLOCK_DDL BLOCK_COMMIT >&8
	echo "SELECT 'they are held';" >&8
	wait_for 10 has_line "$DIR/held" 'they are held'
}
release_commits() {
	exec 8>&-
	wait "$HOLDER" 2> /dev/null
}

# send_uncommitted NAME: five messages are sent, their claim is not committed
send_uncommitted() {
	local before
	before=$(stored)
	kill -STOP "$(worker_pid)"
	events 5
	hold_commits
	kill -CONT "$(worker_pid)"
	wait_for 5 is_stored $((before + 5))
	is "$(stored)" $((before + 5)) \
	    "$1: five messages are sent before their claim is committed"
	is "$(sql 'SELECT COUNT(*), COUNT(claim_token) FROM outbox
	    WHERE published_at IS NULL')" "$(printf '5\t0')" \
	    "$1: no other session sees the claim"
}
kill_database() { "$SANDBOX" kill "$DIR/db" > /dev/null; release_commits; }
kill_daemon() {
	local pids
	pids=$(worker_pids "$MASTER")
	disown "$MASTER"
	# shellcheck disable=SC2086
	kill -KILL "$MASTER" $pids
	wait_for 5 is_gone "$MASTER"
}
# The stream forgets its ids.
forget() { pause 3000; }
complete() {
	drains 20 "$1: all rows are sent"
	check_stream "$1: the stream is complete and in order, nothing twice" \
	    --wait 10
	is "$(stored)" "$EVENTS" "$1: the stream has no message more"
}

begin_waiting
goes_early 'the binlog listener starts pipelined claims'
send_uncommitted 'a claim that is committed late'
release_commits
complete 'a claim that is committed late'
is "$(sql 'SELECT COUNT(in_doubt_since) FROM outbox')" 0 \
    'a claim that is committed late: no row is in doubt'

# A worker that hands over removes its in-doubt marks.  Otherwise these rows
# would be in doubt, as rows that a former owner may have sent.
has_handed_over() { [ -n "$(worker_pid)" ] && [ "$(worker_pid)" != "$1" ] && all_owned; }
is_left() { is_sql 'SELECT COUNT(*) FROM outbox WHERE published_at IS NULL' "$1"; }
goes_early 'pipelined claims start again'
sql "INSERT INTO events (stream_id, stream_sequence, event_type, event_data)
	SELECT CONCAT('late-', partition_key), 1, 't', '{}'
	    FROM outbox_partitions;
    INSERT INTO outbox (global_sequence, partition_key, available_at)
	SELECT sequence, SUBSTRING(stream_id, 6), NOW(6) + INTERVAL 1 HOUR
	    FROM events WHERE stream_id LIKE 'late-%'"
OLD=$(worker_pid)
kill -HUP "$MASTER"
wait_for 20 has_handed_over "$OLD"
wait_for 30 has_listener
events 20
within 20 'a reload: the next owner sends new rows' is_left 16
is "$(sql 'SELECT (SELECT COUNT(in_doubt_since) FROM outbox),
    (SELECT COUNT(*) FROM outbox_partitions
	WHERE in_doubt_epoch <> lease_epoch)')" "$(printf '0\t0')" \
    'a reload: no row is in doubt, no mark of a former owner is left'
sql "DELETE FROM outbox WHERE published_at IS NULL;
    DELETE FROM events WHERE stream_id LIKE 'late-%';
    UPDATE outbox_partitions SET lease_epoch = lease_epoch + 1"
complete 'a reload'

goes_early 'pipelined claims go on'
send_uncommitted 'the database is killed'
kill_database
forget
"$SANDBOX" restart "$DIR/db" > /dev/null
complete 'the database is killed'

goes_early 'pipelined claims start again'
send_uncommitted 'database and daemon are killed'
kill_daemon
kill_database
forget
"$SANDBOX" restart "$DIR/db" > /dev/null
is "$(sql 'SELECT COUNT(*), COUNT(claim_token) FROM outbox
    WHERE published_at IS NULL')" "$(printf '5\t0')" 'its claim is rolled back'
begin_waiting
complete 'database and daemon are killed'

if ! is_short; then
	goes_early 'pipelined claims start again'
	send_uncommitted 'the connection is killed'
	sql "KILL $(sql "SELECT id FROM information_schema.processlist
	    WHERE user = 'outbox' AND info LIKE '%COMMIT%'")"
	release_commits
	complete 'the connection is killed'

	goes_early 'pipelined claims start again'
	send_uncommitted 'the daemon is killed'
	kill_daemon
	release_commits
	forget
	begin_waiting
	complete 'the daemon is killed'
fi

# Paused by another client before another worker gets the lease.
goes_early 'pipelined claims start again'
send_uncommitted 'the partitions are paused meanwhile'
kill_daemon
kill_database
"$SANDBOX" restart "$DIR/db" > /dev/null
sql "UPDATE outbox_partitions SET lease_owner = 'paused', lease_epoch =
    lease_epoch + 1, lease_until = NOW(6) + INTERVAL 1 YEAR"
begin_waiting
forget
sql 'UPDATE outbox_partitions SET lease_owner = NULL, lease_until = NULL,
    lease_epoch = lease_epoch + 1'
complete 'the partitions are paused meanwhile'

# Without a daemon many rows are enqueued, all of them older than the ids that
# the stream remembers: only few of them are looked up.
goes_early 'pipelined claims start again'
kill_daemon
MANY=20000
! is_short || MANY=8000
produce --events $MANY --keys 500 --payload 100 --bulk
EVENTS=$((EVENTS + MANY))
forget
begin
complete 'a long absence'
doubts=$(sql 'SELECT COUNT(in_doubt_since) FROM outbox')
check "a long absence: at most 4100 rows are in doubt ($doubts)" \
    [ "$doubts" -le 4100 ]

# Claims are not pipelined where the stream cannot be checked afterwards.
wait_for 10 no_bounds
stop_master "$MASTER"
is "$(sql 'SELECT COUNT(in_doubt_since) FROM outbox_partitions')" 0 \
    'a worker that stops removes its in-doubt marks'
for setting in RECOVER=off LEASING=false STREAM=; do
	# shellcheck disable=SC2163
	(export "$setting" && begin &&
	    printf '%s\n' "$MASTER" > "$DIR/master")
	read -r MASTER < "$DIR/master"
	MASTERS+=("$MASTER")
	[ "$setting" = LEASING=false ] || wait_for 10 all_owned
	for _ in 1 2 3; do events 20 --rate 50; done
	wait_for 10 is_drained
	is "$(sql 'SELECT COUNT(in_doubt_since) FROM outbox_partitions')" 0 \
	    "$setting: no in-doubt mark, so no pipelined claim"
	kill -TERM "$MASTER"
	wait_for 10 is_gone "$MASTER"
done

done_testing
