#!/usr/bin/env bash
# The member of a cluster that the daemon uses fails, or hands over: no message
# waits for much longer than a plain client of the same servers does, and nothing
# is lost, stored twice, out of order or dead
. "${srcdir:-$(dirname "$0")/../..}/tests/lib/lib.sh"

is_short && skip_all 'a long test'
# More than the plain client's, in tenths of a second: two seconds, and as much
# as a busy machine adds to both.
slow=${OUTBOX_SLOW:-1.0}
MORE=$((20 + 15 * ${slow/./} / 10))

tenths() { echo "${1/./}"; }
for name in galera-freeze galera-donor replicas-switchover replicas-gap \
    group-switch nats-kill nats-freeze; do
	KIND=mariadb "$srcdir/bench/pauses.sh" --scenario $name > "$DIR/row"
	if [ $? -eq 77 ]; then
		say "$(tail -n 1 "$DIR/row")"
		continue
	fi
	grep '^#' "$DIR/row"
	# shellcheck disable=SC2034
	IFS='| ' read -r _ _ paused plain late counts _ < <(grep '^|' "$DIR/row")
	is "${counts:-none}" 0/0/0/0 \
	    "$name: lost, twice, out of order, dead"
	for what in paused late; do
		value=${!what:-0.0}
		check "$name: $what for $value s, the plain client ${plain:-} s" \
		    [ "$(tenths "$value")" -le \
		    $(($(tenths "${plain:-0.0}") + MORE)) ]
	done
done
[ "$TESTS" -gt 0 ] || skip_all 'no cluster is installed'
done_testing
