#!/usr/bin/env bash
# What the process may do, what it inherits, and who may read its files
. "${srcdir:-$(dirname "$0")/../..}/tests/lib/lib.sh"

start_servers
PARTITIONS=4 write_conf

# status PID NAME: a line of /proc/PID/status
status() { sed -n "s/^$2:[[:space:]]*//p" "/proc/$1/status" | tr '\t' ' '; }
here() { "$OUTBOXCTL" -c "$CONF" --json status | jq -rc ".this_host$1"; }
works_here() { [ "$(here '.workers[0].state' 2> /dev/null)" = running ]; }

# What a caller leaves behind: a descriptor, room for core dumps, a umask.
mkdir "$DIR/cwd"
PROGRAM=$(realpath "$OUTBOX_MASTER")
(
	cd "$DIR/cwd" && ulimit -c unlimited && umask 0 &&
	    exec "$PROGRAM" -c "$CONF" --silent 2>> "$DIR/log" 9< "$PROGRAM" \
	    < /dev/null
) &
MASTER=$!
MASTERS+=("$MASTER")
within 20 'a daemon with an odd parent works' works_here
for pid in $MASTER $(worker_pids "$MASTER"); do
	is "$(status "$pid" NoNewPrivs)" 1 "$pid: no new rights by exec"
	is "$(status "$pid" Umask)" 0027 "$pid: umask"
	like "$(cat "/proc/$pid/limits")" '^Max core file size +0 +0 ' \
	    "$pid: no core dumps"
	check "$pid: a descriptor of the caller is closed" \
	    not sh -c "readlink /proc/$pid/fd/* | grep -Fx '$PROGRAM'"
done
victim=$(worker_pids "$MASTER" | head -1)
kill -SEGV "$victim"
within 10 'a crash: the worker is gone' is_gone "$victim"
check 'a crash leaves no core dump' \
    not sh -c "ls '$DIR/cwd' | grep ."
mode() { stat -c %a "$DIR/run/outbox.$1"; }
is "$(mode scoreboard) $(mode workers) $(mode pid)" '640 640 644' \
    'the modes of the files in the run directory'
is "$(stat -c %a "$DIR/run")" 755 'the mode of the run directory'

# On a host with other users, some of them hostile.
if [ "$(id -u)" -eq 0 ] && command -v setpriv > /dev/null; then
	chmod 711 "$DIR"
	chmod 644 "$CONF"
	chmod 755 "$DIR/db" "$DIR/nats"
	ERR=$(setpriv --reuid=12345 --regid=12345 --clear-groups \
	    "$OUTBOXCTL" -c "$CONF" reload 2>&1)
	like "$ERR" "outbox.scoreboard: Permission denied: run this command" \
	    'another user cannot read the scoreboard, and is told who can'
else
	say 'skipped: not root'
fi

# A scoreboard that is none: a FIFO hangs nobody, a link leads nowhere.
mv "$DIR/run/outbox.scoreboard" "$DIR/run/kept"
mkfifo "$DIR/run/outbox.scoreboard"
ERR=$(timeout 5 "$OUTBOXCTL" -c "$CONF" reload 2>&1)
like "$?: $ERR" '^[13]: .*outbox.scoreboard: is not a regular file' \
    'a FIFO in place of the scoreboard is refused at once'
ln -sf kept "$DIR/run/outbox.scoreboard"
ERR=$(timeout 5 "$OUTBOXCTL" -c "$CONF" reload 2>&1)
like "$?: $ERR" '^[13]: .*outbox.scoreboard: Too many levels of symbolic' \
    'a link in place of the scoreboard is refused'
mv "$DIR/run/kept" "$DIR/run/outbox.scoreboard"
stop_master "$MASTER"

# A log that is none.
mkfifo "$DIR/fifo"
sed "s|^log: {|&target: $DIR/fifo, |" "$CONF" > "$DIR/fifo.yml"
ERR=$(timeout 5 "$OUTBOXCTL" -c "$DIR/fifo.yml" logs 2>&1)
like "$?: $ERR" '^[13]: .*fifo: is not a regular file' \
    'a FIFO in place of the log is refused at once'

# A pid file that leads elsewhere.
echo precious > "$DIR/precious"
for name in pid workers; do
	rm -f "$DIR/run/outbox.$name"
	ln -s "$DIR/precious" "$DIR/run/outbox.$name"
	ERR=$("$OUTBOX_MASTER" -c "$CONF" --silent 2>&1)
	like "$?: $ERR" "^(1|73): .*outbox.$name" "a link as .$name is refused"
	is "$(cat "$DIR/precious")" precious "... and what it leads to is kept"
	rm "$DIR/run/outbox.$name"
	mkfifo "$DIR/run/outbox.$name"
	ERR=$(timeout 5 "$OUTBOX_MASTER" -c "$CONF" --silent 2>&1)
	like "$?: $ERR" "^(1|73): .*outbox.$name.* not a regular file" \
	    "a FIFO as .$name is refused"
	rm "$DIR/run/outbox.$name"
done

# Without standard output and error: they do not become the scoreboard.
"$OUTBOX_MASTER" -c "$CONF" --silent <&- >&- 2>&- &
MASTER=$!
MASTERS+=("$MASTER")
within 20 'a daemon without descriptors works' works_here
like "$(readlink "/proc/$MASTER/fd/2")" '^/dev/null$' \
    'its standard error is nothing'
stops 'it stops'
check 'a configuration comes from a descriptor of the caller' \
    "$OUTBOX_MASTER" -c <(cat "$CONF") -t

# As root only as long as necessary.
if [ "$(id -u)" -eq 0 ] && id nobody > /dev/null 2>&1; then
	USER_ID=$(id -u nobody) GROUP_ID=$(id -g nobody)
	sed -i "s/user: $(id -un), pid/user: nobody, pid/
	    s|$DIR/run/|$DIR/nobody/|" "$CONF"
	start_master
	within 20 'a daemon that root starts works' works_here
	U="$USER_ID $USER_ID $USER_ID $USER_ID"
	G="$GROUP_ID $GROUP_ID $GROUP_ID $GROUP_ID"
	# A clone in a directory of root's is nobody's to run, nor is curl everywhere.
	if command -v curl > /dev/null &&
	    su nobody -s /bin/sh -c "test -x '$(realpath "$OUTBOXCTL")'"; then
		check 'the monitor has an outboxctl' curl -sf -m 10 \
		    -o "$DIR/body" \
		    --unix-socket "$DIR/nobody/outbox.monitor.sock" \
		    http://localhost/api/partitions
		is "$(pgrep -P "$MASTER" -x outboxctl | wc -l)" 1 'which runs on'
		# One that a person runs; it waits for its configuration.
		mkfifo -m 644 "$DIR/waits"
		setpriv --reuid="$USER_ID" --regid="$GROUP_ID" --clear-groups \
		    "$OUTBOXCTL" -c "$DIR/waits" status > "$DIR/out.ctl" 2>&1 &
		own=$!
		is_hidden() { grep -qx outboxctl "/proc/$own/comm" &&
		    [ "$(stat -c %U "/proc/$own/environ")" = root ]; }
		within 10 "an outboxctl's memory is not for its user's others" \
		    is_hidden
		like "$(cat "/proc/$own/limits")" \
		    '^Max core file size +0 +0 ' 'it leaves no core dump'
		kill "$own"
	fi
	for pid in $MASTER $(pgrep -P "$MASTER"); do
		is "$(status "$pid" Uid)" "$U" "$pid: no user but nobody"
		is "$(status "$pid" Gid)" "$G" "$pid: no group but its own"
		is "$(status "$pid" Groups | xargs)" "$(id -G nobody)" \
		    "$pid: no other groups"
		is "$(status "$pid" CapPrm)$(status "$pid" CapEff)" \
		    "$(printf '%032d' 0)" "$pid: no capabilities"
		is "$(stat -c %U "/proc/$pid/environ")" root \
		    "$pid: its memory is not for other processes of the user"
		like "$(cat "/proc/$pid/limits")" \
		    '^Max core file size +0 +0 ' "$pid: no core dumps"
	done
	check 'its monitor writes its own part of the scoreboard only' \
	    not has_line "$LOG" 'the scoreboard stays writable'
	is "$(stat -c '%U %a' "$DIR/nobody")" 'nobody 755' \
	    'the run directory is for the user'
	stops 'a daemon that root has started stops'
else
	say 'skipped: not root'
fi
done_testing
