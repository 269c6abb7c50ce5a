#!/usr/bin/env bash
# outbox-master on a terminal shows outboxctl top: the relay goes on whatever
# becomes of the view, no line of the log is lost, and the terminal is clean
# after the end.
. "${srcdir:-$(dirname "$0")/../..}/tests/lib/lib.sh"
. "$srcdir/tests/lib/tmux.sh"

OUTBOX_MASTER=$(readlink -f "$OUTBOX_MASTER")
start_servers
WORKERS=2 write_conf

# daemon COLS ROWS [OPTION...]: in the window; sets MASTER
daemon() {
	run_there "$OUTBOX_MASTER -c $CONF ${*:3}"
	wait_for 20 has_pid
	MASTER=$(cat "$DIR/run/outbox.pid")
	MASTERS+=("$MASTER")
}
has_pid() { [ -s "$DIR/run/outbox.pid" ] && all_owned; }
on_terminal() {
	window "$1" "$2"
	daemon "$@"
}

# The process of the picture.
view() { pgrep -P "$MASTER" -f "outboxctl -c $CONF top"; }

# relays NAME: 100 events are sent
relays() {
	produce --events 100 --keys 10
	within 20 "$1: the relay goes on" is_drained
}

# stopped NAME [STATUS]: Ctrl-C stops the daemon, and nothing is left of it
stopped() {
	press C-c
	left "$@"
	check "$1: no process is left" wait_for 5 is_gone "$MASTER"
	check "$1: no view is left" wait_for 5 not pgrep -f \
	    "outboxctl -c $CONF top"
}

#
# The view, then lines, then the end.
#
on_terminal 150 50 --window 120
shown 10 'on a terminal: the view' '1 Summary .*4 Workers .*3 Partitions'
shown 10 'on a terminal: the workers of this daemon' 'running'
shown 10 'on a terminal: lines of the log' '5 Log and errors'
shown 10 '--window 120: windows of two minutes' 'window of 2 min'
relays 'with the view'
check 'with the view: no report is on the screen' not sees 'claimed=[0-9]'
press q
shown 5 'q: lines from then on' '^20[-0-9T:.]+Z info '
check 'q: the log that was hidden is printed' \
    eval 'tm capture-pane -p -S - -t w | grep -q "started with 2 workers"'
check 'q: the daemon goes on' kill -0 "$MASTER"
relays 'after q'
stopped 'Ctrl-C after q, with windows'

on_terminal 100 30
shown 10 'again: the view' '1 Summary .*4 Workers'
press q
shown 5 'q: reports from then on' 'claimed=[0-9]'
stopped 'Ctrl-C after q'

on_terminal 100 30
shown 10 'once more: the view' '1 Summary .*4 Workers'
stopped 'Ctrl-C in the view'
check 'Ctrl-C in the view: the whole log is printed' \
    eval 'tm capture-pane -p -S - -t w | grep -q "started with 2 workers"'
check 'Ctrl-C in the view: up to its last line' \
    eval 'tm capture-pane -p -S - -t w | grep -q "info master.*: stopped"'

#
# A view that dies, or hangs.
#
on_terminal 100 30
shown 10 'kill -9: the view' '1 Summary .*4 Workers'
kill -KILL "$(view)"
relays 'kill -9 of the view'
press C-c
check 'kill -9 of the view: Ctrl-C ends the daemon' \
    wait_for 10 is_gone "$MASTER"

on_terminal 100 30
shown 10 'SIGSTOP: the view' '1 Summary .*4 Workers'
kill -STOP "$(view)"
relays 'SIGSTOP of the view'
kill -TERM "$MASTER"
check 'SIGSTOP of the view: the daemon can be stopped' \
    wait_for 20 is_gone "$MASTER"
left 'SIGSTOP of the view'

# The daemon dies: its terminal is not left to the view.
on_terminal 100 30
shown 10 'kill -9 of the daemon: the view' '1 Summary .*4 Workers'
pid=$(view)
kill -KILL "$MASTER"
check 'kill -9 of the daemon: no view is left' wait_for 5 is_gone "$pid"
# The shell has printed the status before the picture was gone.
left 'kill -9 of the daemon' ''
rm "$DIR/run/outbox.pid"

# Its terminal is gone: SIGHUP is a reload, as without a view.
on_terminal 100 30
shown 10 'the view' '1 Summary .*4 Workers'
tm kill-session -t w
check 'no terminal: no view is left' wait_for 5 not pgrep -f \
    "outboxctl -c $CONF top"
relays 'no terminal'
check 'no terminal: the daemon goes on' kill -0 "$MASTER"
kill -TERM "$MASTER"
check 'no terminal: it can be stopped' wait_for 20 is_gone "$MASTER"

#
# Where there is no view.
#
on_terminal 100 30 --no-view
shown 10 '--no-view: lines' 'claimed=[0-9]'
is "$(view)" '' '--no-view: no view'
stopped '--no-view'

on_terminal 100 30 --json
shown 10 '--json: lines' '"claimed":'
is "$(view)" '' '--json: no view'
stopped '--json'

on_terminal 100 30 --silent
is "$(view)" '' '--silent: no view'
stopped '--silent'

on_terminal 100 30 '| cat'
is "$(view)" '' 'standard output is a pipe: no view'
stopped 'standard output is a pipe' ''

window 100 30 TERM=nonsense
daemon 100 30
shown 10 'a view that cannot start: lines' 'claimed=[0-9]'
check 'a view that cannot start: a word why' eval \
    'tm capture-pane -p -S - -t w | grep -q "nonsense: no such terminal"'
relays 'a view that cannot start'
stopped 'a view that cannot start'

# The log is elsewhere.
on_terminal 100 30 "2> $DIR/stderr"
shown 10 'standard error is a file: the view' '1 Summary .*4 Workers'
within 5 'standard error is a file: the log is there' has_line "$DIR/stderr" \
    'started with 2 workers'
stopped 'standard error is a file'

done_testing
