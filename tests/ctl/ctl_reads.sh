#!/usr/bin/env bash
# outboxctl: how much of the tables the commands that show something read.
#
# By hand with ROWS=10000000, and KIND=mysql: the bounds are the same.
. "${srcdir:-$(dirname "$0")/../..}/tests/lib/ctl.sh"

ROWS=${ROWS:-$(is_short && echo 100000 || echo 350000)}
LABELS=1024
WAITING=$((ROWS < 200000 ? 35000 : ROWS / 10))	# at the end, and one in 5,000 before
PART=500000			# rows of a transaction
ASKING=0

label="CONCAT('p', LPAD(n % $LABELS, GREATEST(2, LENGTH(n % $LABELS)), '0'))"

# fill_part FROM COUNT
fill_part() {
	sql "SET SESSION sql_log_bin = 0, unique_checks = 0;
	    INSERT INTO events (sequence, stream_id, stream_sequence,
		event_type, event_data, occurred_at)
	    SELECT n, CONCAT('k', n % 20000), n DIV 20000 + 1,
		IF(n % 20000 = 7, 'rare.made', 'ok'), 'x',
		'2026-01-01' + INTERVAL n SECOND FROM $(numbers "$2" "$1");
	    INSERT INTO outbox (global_sequence, partition_key, published_at,
		available_at)
	    SELECT n, $label, IF(n > $((ROWS - WAITING)) OR n % 5000 = 1, NULL,
		'2026-02-01' + INTERVAL n DIV 1500 SECOND), '2026-01-01'
	    FROM $(numbers "$2" "$1")"
}

fill() {
	local from count
	for ((from = 1; from <= ROWS; from += PART)); do
		count=$((ROWS - from + 1 < PART ? ROWS - from + 1 : PART))
		fill_part "$from" "$count" || {
			echo 'Bail out! the rows could not be written'
			exit 1
		}
	done
	# Records of keys with three parked rows each; what is being sent; and
	# dead letters.
	sql "INSERT INTO outbox_blocked_keys (first_sequence, partition_key,
		order_key, reason, head_sequence)
	    SELECT $ROWS - 4 * n, CONCAT('p', LPAD(n, 2, '0')),
		CONCAT('b', n), 'failed', $ROWS - 4 * n
		FROM $(numbers 50 1);
	    UPDATE outbox JOIN outbox_blocked_keys ON global_sequence
		BETWEEN first_sequence + 1 AND first_sequence + 3
		SET outbox.partition_key = CONCAT('!', first_sequence)
		WHERE global_sequence > $ROWS - 300;
	    UPDATE outbox SET claim_token = 'abc-1',
		available_at = NOW(6) + INTERVAL 1 HOUR
		WHERE global_sequence > $ROWS - 50000
		AND global_sequence % 100 = 0;
	    INSERT INTO outbox_dead_letters (global_sequence, order_key,
		event_type, reason)
	    SELECT $ROWS + n, CONCAT('k', n % 50), 'ok', 'message'
		FROM $(numbers 500 1);
	    INSERT INTO outbox_partitions (partition_key, lease_owner,
		lease_until)
	    SELECT $label, CONCAT('worker', n % 8), NOW(6) + INTERVAL 1 DAY
		FROM $(numbers "$LABELS");
	    INSERT INTO outbox_workers (id, heartbeat_until)
	    SELECT CONCAT('worker', n), NOW(6) + INTERVAL 1 DAY
		FROM $(numbers 8);
	    ANALYZE TABLE outbox, events" >/dev/null
}

# read_by ARG...: entries of tables and indexes that it reads; sets READ
read_by() {
	local before
	before=$(server_status 'Handler_read%')
	ctl "$@"
	READ=$(($(server_status 'Handler_read%') - before - ASKING))
}

# bound MAX ARG...: it reads no more, and the same again with "next"
bound() {
	local max=$1 start
	shift
	start=$(now_ms)
	read_by --json "$@"
	[ "$READ" -gt 0 ] && [ "$READ" -le "$max" ]
	ok $? "$*: $READ reads, at most $max; $(($(now_ms) - start)) ms"
	[ "$RC" -le 1 ] && [ -z "$ERR" ] || ok 1 "$*: $RC $ERR"
}

start_servers ${KIND_LINES:-innodb_buffer_pool_size=1G innodb_flush_log_at_trx_commit=2}
PARTITIONS=$LABELS write_conf
fill
read_by schema print			# reads no table
ASKING=$READ

FEW=4000
# Two for each label that may have strays beside it, and what the server is.
bound 11500 status
bound $FEW workers
bound 7000 partitions list
bound $FEW messages list
bound 5000 messages list --limit 500
bound $FEW messages list --partition p07
bound $FEW messages list --partition p01
bound $FEW messages list --key k12
bound $FEW messages list --key k12 --state delivered
bound $FEW messages list --after $((ROWS / 2))
bound $FEW messages list --after $((ROWS - 10))
bound $FEW messages list --state delivered
bound $FEW messages list --state delivered --after $((ROWS / 2 - 1))
bound $FEW messages list --state delivered --until 2026-02-01T00:01:00Z
bound $FEW messages list --state delivered --since 2026-02-01T00:01:00Z
bound $FEW messages list --state dead
bound $FEW messages show $((ROWS - 5))
bound $FEW dead list
bound $FEW dead list --key k7
bound $FEW dead show $((ROWS + 5))
bound $FEW keys blocked

# Marks of replayed messages are rows of the table of dead letters.
MARKS=400000
! is_short || MARKS=150000
sql "INSERT INTO outbox_dead_letters (global_sequence, reason)
    SELECT $ROWS + n, 'replayed' FROM $(numbers $MARKS 1000)"
bound 250000 status
shows '[.dead | .count, .exact]' '[0,false]' \
    "status: $MARKS marks, and it does not read them all"
sql "DELETE FROM outbox_dead_letters WHERE reason = 'replayed'"

# Without an index for the filter: at most 10,000 rows are read.
BUDGET=50000
for filter in '--type rare.*' '--state delivering' '--since 2030-01-01' \
    '--state delivered --type rare.*' '--state delivered --partition p99'; do
	# shellcheck disable=SC2086
	bound $BUDGET messages list $filter
	shows '.looked_at <= 10000 and .next > 0' true \
	    "$filter: at most 10000 rows are read, next says where to go on"
done

# An index that has labels first: the backlog is not counted by it.
sql 'ALTER TABLE outbox DROP KEY outbox_claim, ADD KEY turned (partition_key,
    published_at)'
bound 7000 status
shows .backlog null 'no index for the backlog: it is not counted'
bound 7000 partitions list
bound $FEW messages list
done_testing
