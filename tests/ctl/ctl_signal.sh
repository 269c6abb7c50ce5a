#!/usr/bin/env bash
# outboxctl reload and stop: the process that they signal, and what happens
# while they wait
. "${srcdir:-$(dirname "$0")/../..}/tests/lib/ctl.sh"

start_servers
WORKERS=1 write_conf
cp "$CONF" "$DIR/good.yml"

# answers COMMAND...: run outboxctl in the background, its output in $DIR/said
answers() {
	"$OUTBOXCTL" -c "$CONF" "$@" > "$DIR/said" 2>&1 &
	ASKED=$!
}
# ends SECONDS STATUS REGEX NAME: it does, and says this
ends() {
	within "$1" "$4: it ends" is_gone "$ASKED"
	wait "$ASKED"
	is $? "$2" "$4: exit status $2"
	like "$(cat "$DIR/said")" "$3" "$4: what it says"
}
# hold_worker: the next reload cannot end before the worker is let go
hold_worker() {
	VICTIM=$(worker_pids "$MASTER")
	kill -STOP "$VICTIM"
}

# start_anew: leases of a former daemon may look as if ours ran already
start_anew() {
	start_fleet
	wait_for 20 has_line "$LOG" "master\[$MASTER\]: started with"
}

#
# Options of the daemon count, for a reload applies them
#
start_fleet --workers 1
sed -i 's/workers: 1,/workers: 3,/; s/leasing: true/leasing: false/' "$CONF"
exits 0 'reload of a file that --workers 1 makes right: exit status 0' \
    -c "$DIR/good.yml" reload
cp "$DIR/good.yml" "$CONF"
stop_master "$MASTER"
start_fleet --no-leasing
sed -i 's/workers: 1,/workers: 3,/' "$CONF"
fails 78 '^outboxctl: --no-leasing: false needs .*was not told' \
    'reload of a file that --no-leasing makes wrong' reload
cp "$DIR/good.yml" "$CONF"
stop_master "$MASTER"

#
# Another reload, refused, while ours is under way
#
start_fleet
hold_worker
answers reload
within 10 'reload: accepted' has_line "$DIR/said" '^accepted: generation 2'
echo 'nonsense: 1' > "$CONF"
kill -HUP "$MASTER"
within 10 'another one is refused' has_line "$LOG" 'nonsense.*keeping the old'
check 'ours goes on' not is_gone "$ASKED"
kill -CONT "$VICTIM"
ends 15 0 '^1 worker is new' 'reload, another one being refused'
within 5 'the log has the end of ours' \
    has_line "$LOG" 'reload: all workers are of generation 2 after'
cp "$DIR/good.yml" "$CONF"

# The same, accepted.
hold_worker
answers reload
within 10 'reload: accepted' has_line "$DIR/said" '^accepted: generation 3'
kill -HUP "$MASTER"
within 10 'another one is accepted' has_line "$LOG" 'reload: generation 4'
kill -CONT "$VICTIM"
ends 15 0 '^1 worker is new' 'reload, another one being accepted'

# The daemon ends: at once, no time-out is waited for.
hold_worker
answers reload
within 10 'reload: accepted' has_line "$DIR/said" '^accepted: generation 5'
kill -KILL "$MASTER"
ends 3 1 "pid $MASTER has ended before all workers were new: see outboxctl .*logs" \
    'reload of a daemon that is killed'
kill -CONT "$VICTIM"
wait "$MASTER" 2>/dev/null
wait_for 10 is_gone "$VICTIM"
start_fleet
# The leases may be those of the worker that was killed.
wait_for 10 has_line "$LOG" "master\[$MASTER\]: worker 0: pid"
kill -STOP "$MASTER"
answers reload
pause 300
kill -KILL "$MASTER"
ends 3 1 "pid $MASTER has ended without an answer: see outboxctl .*logs" \
    'reload of a daemon that is killed before it answers'
wait "$MASTER" 2>/dev/null

#
# A daemon in another pid namespace, with a run directory that is shared
#
elsewhere='runs in another pid namespace .a container.*: run this command there'
if unshare --pid --fork --mount-proc true 2>/dev/null; then
	start_fleet
	wait_for 10 has_line "$LOG" "master\[$MASTER\]: worker 0: pid"
	# From within a container: the daemon outside has no pid there.
	for command in reload stop; do
		unshare --pid --fork --mount-proc "$OUTBOXCTL" -c "$CONF" \
		    "$command" > "$DIR/said" 2>&1
		is $? 1 "$command from within a container: exit status 1"
		like "$(cat "$DIR/said")" "$elsewhere" \
		    "$command from within a container: the error says why"
	done
	check 'the daemon runs on' not is_gone "$MASTER"
	stop_master "$MASTER"
	# From outside: its pid there is that of another process here.
	tail -f /dev/null &
	VICTIM=$!
	MASTERS+=("$VICTIM")
	# shellcheck disable=SC2016
	unshare --pid --fork --kill-child --mount-proc bash -c '
	    echo $(($1 - 1)) > /proc/sys/kernel/ns_last_pid
	    "$2" -c "$3" --silent 2>> "$4" &
	    echo $! > "$5"
	    wait' - "$VICTIM" "$OUTBOX_MASTER" "$CONF" "$LOG" "$DIR/inner" &
	CONTAINER=$!
	MASTERS+=("$CONTAINER")
	within 20 'a daemon runs in a container' all_owned
	if [ "$(cat "$DIR/inner")" = "$VICTIM" ]; then
		for command in reload stop; do
			fails 1 "$elsewhere" "$command of a daemon in a container" \
			    "$command"
		done
		check 'no other process is signalled' not is_gone "$VICTIM"
		fails 1 "$elsewhere" 'stop --json of a daemon in a container' \
		    --json stop
		like "$OUT" "\"error\":\".*another pid namespace" \
		    'stop --json of a daemon in a container: the document'
	else
		say 'SKIP: the pid in the namespace cannot be chosen'
	fi
	kill -KILL "$CONTAINER"
	wait "$CONTAINER" 2>/dev/null
	kill -TERM "$VICTIM"
else
	say 'SKIP: no pid namespace can be made here'
fi

#
# stop: workers that did not give their leases back
#
start_anew
ctl --json stop
shows .clean true 'stop: a former master was killed, this one ended well'
# A supervisor starts the next daemon at once: its list is not that of ours.
start_anew
(while ! is_gone "$MASTER"; do nap 0.01; done
exec "$OUTBOX_MASTER" -c "$CONF" --silent 2>> "$LOG") &
NEXT=$!
MASTERS+=("$NEXT")
"$SANDBOX" sql "$DIR/db" -e 'SELECT 1' > "$DIR/out"
ctl stop
like "$RC $OUT" "^0 .*$MASTER stopped after [^;]*; messages delivered meanwhile: [0-9]+\$" \
    'stop of a daemon that is started again at once'
wait_for 20 all_owned
stop_master "$NEXT"
start_anew
"$SANDBOX" stop "$DIR/db" > "$DIR/out"
ctl stop
like "$RC $OUT" '^0 .*; 1 worker could not give back the leases, .*without the database: the next master takes them over$' \
    'stop without the database: the worker is not called killed'
done_testing
