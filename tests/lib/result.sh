# result.sh - TAP for tests in plain sh; sourced.  "$top" is the source tree.

# shellcheck shell=sh disable=SC2034

top=${srcdir:-.}
n=0
failed=0

# result NAME STATUS [DETAIL]: a line of TAP; $kind, if set, precedes NAME
result() {
	n=$((n + 1))
	titled=${kind:+$kind: }$(printf %s "$1" | tr '\n' ' ')
	if [ "$2" -eq 0 ]; then
		echo "ok $n - $titled"
		return
	fi
	failed=$((failed + 1))
	echo "not ok $n - $titled"
	printf '%s\n' "$3" | sed 's/^/# /'
}

# is NAME GOT WANT
is() {
	[ "$2" = "$3" ]
	result "$1" $? "got:  $2
want: $3"
}

# wait_for SECONDS COMMAND...: wait until it succeeds; 1 when the time is up
wait_for() {
	tries=$(($1 * 20))
	shift
	until "$@"; do
		[ "$tries" -gt 0 ] || return 1
		tries=$((tries - 1))
		sleep 0.05
	done
}

# results: print the plan; returns the status of the test
results() {
	echo "1..$n"
	[ "$failed" -eq 0 ]
}
