# load.sh - producers of all kinds; sourced by run.sh

# shellcheck shell=bash disable=SC2034,SC2154

# By the address where there may be several.
produce() {
	local where=(--socket "$SOCKET")
	[ -z "$HOSTS" ] || where=(--host "$HOSTS")
	[ "$TABLES" != pillar ] || where+=(--count-file "$DIR/count")
	case $TABLES in own|pillar) ;; *) where+=(--shape "$TABLES") ;; esac
	"$LAB" produce "${where[@]}" --user outbox_producer \
	    --password-env PRODUCER_PW --database app "$@" \
	    >> "${PRODUCED:-$DIR/produced}"
}

# It begins again where the database is away at its start.  Its keys are new
# ones: a number that is given twice never comes with the same event.
burst() {
	local try by=late:0
	[ -z "$WITH_TRIGGER" ] || by=trigger
	for ((try = 0; try < 10; try++)); do
		produce --bulk --producers-by "$by" \
		    --events "$1" --keys 300 --key-prefix "$2" \
		    --per-txn 500 --payload 150 --producers 2 && return
		nap 1
	done
	return 1
}

# next_id TABLE COLUMN KEY: ids of a key are counted, as the laboratory does, and
# as stream_sequence in our own tables: who has one keeps the other producer of
# its key waiting, or the order of the key would not be that of its commits.
next_id() {
	echo "SELECT CONCAT('$3.', COALESCE(MAX(CAST(SUBSTRING_INDEX($2, '.', -1)
	    AS UNSIGNED)), 0) + 1) INTO @id FROM $1 WHERE $2 LIKE '$3.%'
	    FOR UPDATE;"
}

# enqueue KEY TYPE PAYLOAD: the statements for it
enqueue() {
	local topic=$1
	case $TABLES in
	inline)
		next_id outbox_messages message_id "$1"
		echo "CALL outbox_enqueue_message(@id, '$2', '$1', NULL, '$3',
		    NULL, NULL);" ;;
	laravel)
		[[ $2 != *' '* ]] || topic=$2
		next_id outbox_messages id "$1"
		echo "INSERT INTO outbox_messages (id, topic, payload)
		    VALUES (@id, '$topic', '$3');" ;;
	debezium)
		next_id outboxevent id "$1"
		echo "INSERT INTO outboxevent (id, aggregatetype, aggregateid,
		    type, payload) VALUES (@id, 'slow', '$1', '$2', '$3');" ;;
	pillar)
		echo "SELECT COALESCE(MAX(stream_sequence), 0) + 1 INTO @next
		    FROM events WHERE stream_id = '$1';
		INSERT INTO events (stream_id, stream_sequence, event_type,
		    event_data) VALUES ('$1', @next, '$2', '$3');
		INSERT INTO outbox (global_sequence, partition_key)
		    VALUES (LAST_INSERT_ID(), CONCAT('p',
		    LPAD(CRC32('$1') MOD $(<"$DIR/count"), 2, '0')));" ;;
	*)
		echo "CALL outbox_enqueue('$1', NULL, '$2', 1, NULL, NULL,
		    '$3');" ;;
	esac
}

# A row that no message can hold.  Without a table of dead letters it would wait
# for ever.
poison() { [ "$TABLES" = pillar ] || enqueue "$@"; }

# schedule KEY TYPE PAYLOAD: a message for a moment that is to come.  Where a row
# has a column for that, the others of its key do not wait.
schedule() {
	enqueue "$@"
	case $TABLES in
	inline)
		echo "UPDATE outbox_messages SET scheduled_at = NOW(6) +
		    INTERVAL 2 SECOND WHERE message_id = @id;" ;;
	laravel)
		echo "UPDATE outbox_messages SET available_at = NOW(6) +
		    INTERVAL 2 SECOND WHERE id = @id;" ;;
	*)
		echo "UPDATE outbox SET available_at = NOW(6) +
		    INTERVAL 2 SECOND WHERE
		    global_sequence = LAST_INSERT_ID();" ;;
	esac
}

check_scheduled() {
	case $TABLES in
	inline) rows_are 0 'outbox_messages
	    WHERE published_at < scheduled_at' 'nothing is sent too early' ;;
	laravel) rows_are 0 'outbox_messages
	    WHERE sent_at < available_at' 'nothing is sent too early' ;;
	esac
	# What the server is set to may refuse all that their producers write.
	is "$(sql "SELECT COUNT(*) > 0 FROM events
	    WHERE stream_id LIKE 'sched-%'")" "$(sql "SELECT COUNT(*) > 0
	    FROM events WHERE stream_id LIKE 'slow-%-b'")" \
	    'there were messages with a time'
}

# Transactions that stay open for a while; among their rows delayed ones and
# poison, whose type makes no subject.  The outcome of a lost connection does
# not matter: the tables have it.
slow_producer() {
	local i=0 key end sleep
	while [ ! -e "$DIR/enough" ]; do
		i=$((i + 1))
		key=slow-$1-$((i % 3))
		end=COMMIT
		((i % 6)) || end=ROLLBACK
		sleep=0.$((1 + i * 7 % 5))
		wait_for 60 is_not_held
		{
			echo "START TRANSACTION;"
			enqueue "$key" chaos.slow "{\"i\": $i}"
			echo "DO SLEEP($sleep);"
			((i % 4)) ||
			    poison "$key" 'chaos. poison' "{\"p\": $i}"
			enqueue "$key" chaos.slow "{\"i\": $i.5}"
			((i % 5)) ||
			    echo "UPDATE outbox SET available_at = NOW(6) +
				INTERVAL 1500000 MICROSECOND WHERE
				global_sequence = LAST_INSERT_ID();"
			enqueue "$key-b" chaos.slow "{\"b\": $i}"
			! planned scheduled ||
			    schedule "sched-$1-$i" chaos.slow "{\"t\": $i}"
			! has_endpoint || endpoint_rows "$1" "$i"
			# A hot key waits, and much comes behind it.
			((i % 9)) || {
				enqueue "hot-$((i % 8))" chaos.slow \
				    "{\"s\": \"$1 $i\"}"
				echo "UPDATE outbox SET available_at = NOW(6) +
				    INTERVAL 3 SECOND WHERE
				    global_sequence = LAST_INSERT_ID();"
			}
			echo "$end;"
			# In the middle of a busy key.
			((i % 7)) || {
				echo 'START TRANSACTION;'
				poison "hot-$((i % 8))" 'hot. poison' \
				    "{\"p\": \"$1 $i\"}"
				echo 'COMMIT;'
			}
			! has_endpoint || endpoint_poison "$1" "$i"
		} | OUTBOX_SANDBOX_SESSION='' \
		    timeout 20 "$SANDBOX" sql "$DIR/now" app ||
		    nap 0.3
	done
}

# Each key has one kind of producers, of which not all hear of another count at
# once.  A database that goes back may not know a count any more that is used.
choose_kinds() {
	KINDS=procedure,fixed:16,late:$LATE
	case $TABLES in
	pillar) KINDS=late:0,fixed:16,late:$LATE ;;
	laravel|debezium) KINDS=trigger,fixed:16,late:$LATE ;;
	esac
	[ -z "$WITH_TRIGGER" ] || KINDS=procedure,mixed,trigger
	[ -z "$WITH_TCP" ] || KINDS=procedure,fixed:16
}

# start_producer OPTIONS...: in the background; DIR/failed tells of one that
# fails.  Bash forgets the status of a process whose number comes again.
start_producer() {
	{ produce "$@" || echo "status $?: $*" >> "$DIR/failed"; } &
	PRODUCERS+=($!)
}

start_load() {
	local i large=300 types=lab.event
	choose_kinds
	! has_endpoint || types=lab.event,lab.event,hook.event
	start_producer --forever --keys 8 --key-prefix hot- --payload 120 \
	    --type "$types" \
	    --producers 4 --producers-by "$KINDS" --per-txn 2 --rollback 5 \
	    --rate $((RATE * 45 / 100))
	# Of a stream with a single block, the last one, only the end is lost.
	! planned damage || large=5000
	start_producer --forever --keys 5000 --key-prefix cold- \
	    --payload "$large" --producers 3 --producers-by "$KINDS" \
	    --per-txn 5 --rollback 10 --type "$COLD_TYPE" --rate $((RATE * 45 / 100))
	# Two events of the same sequence differ in their key only.
	[ -z "$WITH_TCP" ] || {
		start_producer --forever --keys 100000 --key-prefix same- \
		    --same --producers 2 --rate $((RATE / 5))
	}
	planned neighbour && {
		PRODUCED=$DIR/next start_producer --database app2 --forever \
		    --keys 50 --payload 100 --producers 2 \
		    --type chaos.next --rate 50 --key-prefix next-
	}
	planned awkward && {
		awkward_producer >/dev/null 2>>"$DIR/slow" &
		SLOW+=($!)
	}
	! has_endpoint || endpoint_load
	for i in 1 2 3; do
		slow_producer "$i" >/dev/null 2>>"$DIR/slow" &
		SLOW+=($!)
	done
}

# A function in the background is a shell with the program as its child.
stop_children() {
	local pid
	for pid in "$@"; do
		worker_pids "$pid" | while read -r child; do
			kill -TERM "$child"
		done
	done
}

stop_load() {
	: > "$DIR/enough"
	stop_children "${PRODUCERS[@]}"
}

are_gone() {
	local pid
	for pid in "$@"; do is_gone "$pid" || return 1; done
}
