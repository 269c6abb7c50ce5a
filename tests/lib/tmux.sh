# tmux.sh - helpers for tests of programs that draw on a terminal
#
# Sourced after lib.sh.  The terminal is a window of tmux with a shell, which
# shows how a program leaves it behind.

# shellcheck shell=bash

command -v tmux >/dev/null || skip_all 'tmux is not installed'
TMUX_TMPDIR=$DIR
export TMUX_TMPDIR
unset TMUX
trap 'tm kill-server; cleanup' EXIT

tm() { tmux -L test -f /dev/null "$@" 2> "$DIR/tmux.err"; }
# A server without a session would end while the next one is made.
tm new-session -d -s keep tail -f /dev/null

resize() { tm resize-window -t w -x "$1" -y "$2"; }
picture() { tm capture-pane -p -t w; }
sees() { picture | grep -Eq -- "$1"; }
press() { tm send-keys -t w "$@"; }

# window COLS ROWS [NAME=VALUE...]: a new one, in place of the last one
window() {
	tm kill-session -t w
	tm new-session -d -s w -x "$1" -y "$2" env LC_ALL=C.UTF-8 "PS1=\$ " \
	    "${@:3}" bash --norc --noprofile
	tm set -g status off
	wait_for 5 sees '^\$'
}

# run_there COMMAND: type it; its end is shown as "rc STATUS"
run_there() {
	press "stty -g > $DIR/before; $1; echo \"rc \$?\"" Enter
}

# shown SECONDS NAME REGEX: that is on the screen within so many seconds
shown() {
	wait_for "$1" sees "$3"
	ok $? "$2" || picture | sed 's/^/# /'
}

# left NAME [STATUS]: the program ends, and the terminal is as it was.  With an
# empty status that is not looked for.
left() {
	[ -z "${2-0}" ] || shown 10 "$1: it ends" "^(\\^C)?rc ${2:-0}\$"
	clean "$1"
}

# clean NAME: the shell finds the terminal as it was
clean() {
	press "stty -g > $DIR/after; echo again" Enter
	wait_for 5 sees '^again'
	is "$(cat "$DIR/after")" "$(cat "$DIR/before")" \
	    "$1: the terminal's settings are as before"
	is "$(tm display -p -t w '#{alternate_on} #{cursor_flag}')" '0 1' \
	    "$1: the picture is gone, the cursor is there"
}
