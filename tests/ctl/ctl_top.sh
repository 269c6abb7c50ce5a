#!/usr/bin/env bash
# outboxctl top, on a terminal of tmux: its panels at several sizes, keys, a
# server that is away, and the terminal that it leaves behind on every way out.
. "${srcdir:-$(dirname "$0")/../..}/tests/lib/ctl.sh"
. "$srcdir/tests/lib/tmux.sh"
OUTBOXCTL=$(readlink -f "$OUTBOXCTL")

# run COLS ROWS [NAME=VALUE...]: start it there, and wait for its first round
run_top() {
	window "$@"
	run_there "$OUTBOXCTL -c $CONF top"
	wait_for 10 sees '^(workers|.*[1-6] (Workers|Summary)).*' &&
	    wait_for 10 not sees 'asking'
}

# Its process, and the one that it asks.
top_pid() { pgrep -f "^$OUTBOXCTL -c $CONF top"; }
serve_pid() { pgrep -P "$(top_pid)"; }
other_is_asked() { [[ $(serve_pid) =~ ^[0-9]+$ ]] && [ "$(serve_pid)" != "$asked" ]; }

start_servers
WORKERS=2 write_conf

#
# Not on a terminal.
#
fails 1 'top needs a terminal: use outboxctl status --watch' \
    'top without a terminal' top
fails 1 'not JSON: use outboxctl status --watch' 'top --json' top --json
misused top 0 1x '--window 0' '--window 1441' '1 2'

#
# Two hosts: of one the workers are rows only.
#
start_fleet
produce --events 200 --keys 20
wait_for 20 is_drained
sql "INSERT INTO outbox_workers (id, hostname, pid, started_at,
	heartbeat_until) VALUES ('relay-b:00:00000000000000aa', 'relay-b', 4711,
	NOW(6), NOW(6) + INTERVAL 1 HOUR)"

run_top 150 50
shown 5 '150 columns: three panels side by side' \
    '1 Summary .*4 Workers .*3 Partitions'
shown 5 'a worker of this host runs' "$(hostname | cut -c1-12).*running"
shown 5 'a worker of another host is shown' 'relay-b +4711 +alive'
shown 5 'the summary counts both hosts' 'workers +3 alive on 2 hosts'
shown 5 'all partitions are listed' ' p15 +(owned|free)'
shown 5 'the destination has a panel' '7 Destinations'
shown 5 'the destination, its state and what it took' \
    '^publish\.driver +nats stream EVENTS +works +[0-9,]+ +0 +200 +0'

resize 110 40
shown 3 '110 columns: two side by side' '1 Summary .*4 Workers'
shown 3 '110 columns: partitions below the workers' '^[^3]{40,} 3 Part'
resize 80 24
shown 3 '80 columns: one below the other' '^ 4 Workers'
check '80 columns: nothing stands beside them' not sees 'Summary.*Workers'
resize 40 10
shown 3 '40 columns, 10 lines: the summary' '^state +'
resize 39 10
shown 3 '39 columns: a sentence' 'needs 40 columns'
resize 100 30
shown 3 '100 columns: two again' '1 Summary .*4 Workers'

#
# Keys.
#
press 3 Enter
shown 3 'Enter: the panel on a page of its own' '^ 3 Partitions'
press /
shown 3 '/: asks for the filter' '^filter:'
press p07
shown 3 'the filter: one row is left' '^p07'
wait_for 3 not sees '^p0[0-689]'
ok $? 'the filter: no other row'
press Enter Enter
shown 3 'Enter: all of the row' '^ Partitions: p07 '
shown 3 'a page of the row: its members' '^oldest_ms +-'
press Escape
shown 3 'Esc: back to the panel' '^ 3 Partitions'
press Escape
shown 3 'Esc: the filter is gone' '^p00'
press s r
shown 3 's, r: sorted by label, backwards' '^ *label *↓'
press End
shown 3 'End: the last row' '^p00'
press '?'
shown 3 '?: help' 'arrows|Up, Down'
press Escape Escape
shown 3 'Esc: back to all panels' '1 Summary'
press 7 Enter Enter
shown 3 '7: all of a destination' '^failed_percent +0'
press Escape
shown 3 'Esc: back to the destinations' '^ 7 Destinations'
press Escape
shown 3 'Esc: back to all panels again' '1 Summary'
press p
shown 3 'p: paused' 'paused'
shown 8 'paused: the data gets old' 'paused, data of [0-9]+ s ago'
press p
wait_for 5 not sees 'paused'
ok $? 'p: it goes on'

# Sequences that no terminfo has: nothing of them is taken as keys.
press -l $'\e[1;9Q\e[57399u\eOz\e[99;5~'
tm send-keys -t w -H 9b 80 ff c3 28
# curses drops what is read together with a byte that is no character.
opens_workers() { press 4 Enter; wait_for 2 sees '^ (4 )?Workers'; }
check 'awkward keys: it goes on' wait_for 6 opens_workers
check 'awkward keys: nothing of them is shown' not sees '99;5|57399|\^\['
press q
left 'q'

#
# Ways out.
#
run_top 80 24
press C-c
left 'Ctrl-C'

for signal in TERM HUP; do
	run_top 80 24
	kill "-$signal" "$(top_pid)"
	left "SIG$signal"
done

# It may leave the terminal as it is then, but no process.
run_top 80 24
asked=$(serve_pid)
kill -KILL "$(top_pid)"
check 'kill -9: no process is left' wait_for 5 is_gone "$asked"

run_top 80 24
asked=$(serve_pid)
kill -KILL "$asked"
check 'kill -9 of the process that it asks: another one is asked' \
    wait_for 5 other_is_asked
wait_for 5 not sees 'data of'
ok $? 'kill -9 of the process that it asks: it goes on'
press q
left 'q after another process was asked'

run_top 80 24
press C-z
shown 5 'Ctrl-Z: the shell is back' 'Stopped'
press 'fg; echo "rc $?"' Enter
shown 5 'fg: the picture is back' '^ 4 Workers'
press q
left 'q after Ctrl-Z and fg'

#
# A server that is away: no key waits for it.
#
run_top 80 24
DB_PID=$(. "$DIR/db/env" && cat "$PIDFILE")
kill -STOP "$DB_PID"
shown 15 'a database that hangs: the age of the data' 'data of [0-9]+ s ago'
press 4 Enter
shown 3 'a database that hangs: keys work' '^ 4 Workers'
resize 90 20
press Escape
shown 3 'a database that hangs: it can be resized' '^state '
press q
shown 3 'a database that hangs: q ends it at once' '^rc 0'
kill -CONT "$DB_PID"

# The daemon and the server are gone: the view says so, and what to do.
run_top 150 50
"$SANDBOX" stop "$DIR/db" > /dev/null
shown 20 'a database that is away: the problem is on top' \
    '6 Problems'
shown 5 'a database that is away: with its remedy' 'remedy: '
"$SANDBOX" restart "$DIR/db" > /dev/null
wait_for 30 not sees '6 Problems'
ok $? 'the database is back: no problem is left'
press q
left 'q after an outage'

#
# Other terminals.
#
COLOUR=$'\e\\[([0-9;]*;)?3[1-6]m'
run_top 80 24 NO_COLOR=1
shown 5 'NO_COLOR: the picture' '^ 4 Workers'
tm capture-pane -e -p -t w > "$DIR/plain"
check 'NO_COLOR: no colour is set' not has_line "$DIR/plain" "$COLOUR"
press q
left 'q with NO_COLOR'

run_top 80 24
tm capture-pane -e -p -t w > "$DIR/coloured"
check 'a colour is set without NO_COLOR' has_line "$DIR/coloured" \
    "$COLOUR"
press q
left 'q with colours'

run_top 80 24 TERM=vt100 LC_ALL=C
shown 5 'vt100 in the C locale: lines of ASCII' '^ 4 Workers ----'
press q
left 'q on a vt100'

window 80 24 TERM=nonsense
press "$OUTBOXCTL -c $CONF top; echo \"rc \$?\"" Enter
shown 5 'an unknown terminal: the error says what to use' \
    'nonsense: no such terminal'

done_testing
