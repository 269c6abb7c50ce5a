#!/usr/bin/env bash
# Messages that kill their worker become dead letters, and no others do.  A
# preloaded library dies as the payload says.
. "${srcdir:-$(dirname "$0")/../..}/tests/lib/lib.sh"

CC=${CC:-cc}
command -v "${CC%% *}" > /dev/null || skip_all "no compiler"
cat > "$DIR/poison.c" <<'C'
#include <dlfcn.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Parameters of pointers and integers: that is all there is to know here. */
int	natsMsg_Create(void **, const char *, const char *, const char *, int);

static int
says(const char *data, int len, const char *word)
{
	return (size_t)len == strlen(word) && memcmp(data, word, strlen(word)) == 0;
}

int
natsMsg_Create(void **m, const char *subject, const char *reply,
    const char *data, int len)
{
	int	(*real)(void **, const char *, const char *, const char *, int);

	if (says(data, len, "abort"))
		abort();
	if (says(data, len, "kill"))
		kill(getpid(), SIGKILL);
	if (says(data, len, "exit"))
		_exit(3);
	*(void **)&real = dlsym(RTLD_NEXT, "natsMsg_Create");
	return real(m, subject, reply, data, len);
}
C
# shellcheck disable=SC2086
$CC -D_GNU_SOURCE -shared -fPIC -o "$DIR/poison.so" "$DIR/poison.c" -ldl \
    2> "$DIR/cc.log" || skip_all "no shared library: $(head -n 1 "$DIR/cc.log")"

start_servers
WORKERS=1 MAX_ATTEMPTS=3 write_conf

put() { call_enqueue "'$1', NULL, '$2', 1, NULL, NULL, '$3'"; }
crowd() { enqueue_keys c 40 made; }
seq_of() { sql "SELECT sequence FROM events WHERE event_type = '$1'"; }

(
	ASAN_OPTIONS=verify_asan_link_order=0:${ASAN_OPTIONS:-}
	export ASAN_OPTIONS LD_PRELOAD=$DIR/poison.so
	exec "$OUTBOX_MASTER" -c "$CONF" --silent
) >> "$DIR/out" 2>> "$DIR/log" </dev/null &
MASTER=$! LOG=$DIR/log
MASTERS+=("$MASTER")
# All messages are this worker's, and it dies: the others wait for its restart.
check 'a worker runs with the preloaded library' wait_for 30 all_owned

for how in abort kill exit; do
	: > "$LOG"
	crowd
	put k before-$how x
	put k $how-it $how
	put k after-$how x
	crowd
	poison=$(seq_of $how-it)
	wait_for 60 is_sql "SELECT COUNT(*) FROM outbox_dead_letters
	    WHERE global_sequence = $poison" 1
	like "$(died "$poison")" '^poison: killed its worker 3 times in a row' \
	    "$how: the message is dead, with the reason"
	is "$(grep -c "died while it sent sequence $poison" "$LOG")" 3 \
	    "$how: the message killed three workers"
	drains 20 "$how: all other messages are sent"
	rows_are 0 "outbox JOIN outbox_dead_letters AS d
	    ON d.global_sequence = $poison
	    WHERE outbox.published_at > d.died_at
	    AND outbox.global_sequence < $poison" \
	    "$how: earlier messages did not wait for that"
	rows_are 0 "outbox JOIN events
	    ON sequence = global_sequence JOIN outbox_dead_letters AS d
	    ON d.global_sequence = $poison
	    WHERE stream_id LIKE 'c%' AND outbox.published_at > d.died_at
	    AND sequence > $poison AND sequence <= $poison + 41" \
	    "$how: later messages of other keys did not wait for that"
	is "$(sql "SELECT published_at >= (SELECT died_at
	    FROM outbox_dead_letters WHERE global_sequence = $poison)
	    FROM outbox WHERE global_sequence = $(seq_of after-$how)")" 1 \
	    "$how: the next message of its key did"
done

# Three at once, in one batch: each is found, and no other message is.
put p1 p1-it abort
put p2 p2-it kill
put p3 p3-it exit
crowd
wait_for 90 is_sql 'SELECT COUNT(*) FROM outbox_dead_letters' 6
ok $? 'three at once: they are dead'
drains 30 'three at once: all other messages are sent'
rows_are 6 "outbox_dead_letters WHERE reason = 'poison'" \
    'no other message is dead'
is "$(sql 'SELECT MAX(attempts) FROM outbox')" 0 'no other message has failed'

# In the stream each of the others stands once, and in the order of its key.
check_stream 'the stream is complete and in order, nothing twice' \
    --expect-dead 6

# Back by hand, and no poison any more: it goes.
sql "UPDATE events SET event_data = 'cured' WHERE event_type = 'abort-it';
    START TRANSACTION;
    INSERT INTO outbox (global_sequence, partition_key)
	SELECT global_sequence, partition_key FROM outbox_dead_letters
	WHERE global_sequence = $(seq_of abort-it);
    DELETE FROM outbox_dead_letters
	WHERE global_sequence = $(seq_of abort-it);
    UPDATE outbox_partitions SET lease_epoch = lease_epoch + 1;
    COMMIT"
drains 10 'a poison message that was repaired and put back is sent'
rows_are 5 outbox_dead_letters 'the repaired message is not dead again'
stops 'the master stops with status 0'
done_testing
