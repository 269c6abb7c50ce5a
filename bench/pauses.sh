#!/usr/bin/env bash
# pauses.sh - what a failure of one member of a cluster costs: the daemon beside a
# plain client of the same servers, at the same time
#
#   bench/pauses.sh [--master PATH] [--out FILE] [--scenario NAME]... [--list]
#
# From a build directory.  Each scenario starts its cluster, a daemon of two
# workers with the default times, producers at 200 events a second, and "lab
# plain"; then something happens to the member that both use.  A line of the
# table has the longest pause between two deliveries, that of the plain client,
# the longest wait of one message, and what the checker found.  --master is the
# daemon to measure, with outboxctl beside it, and OUTBOX_SQL the folder of its
# schema if it is another version's.  Exit: 0 if the checker found nothing, 1 if
# it did, 77 if a server is not installed.

SCENARIOS='galera-kill galera-freeze galera-isolate galera-leave galera-donor
    replicas-switchover replicas-gap group-switch group-kill group-freeze
    nats-kill nats-freeze nats-frozen-leader'
here=$(dirname "$0")
usage() { sed -n '2,/^$/s/^# \{0,1\}//p' "$0"; }
OUT='' names=() table=yes
while [ $# -gt 0 ]; do
	case $1 in
	--list) printf '%s\n' $SCENARIOS; exit ;;
	--one) table=''; shift; continue ;;
	-h|--help) usage; exit ;;
	esac
	[ $# -ge 2 ] || { usage >&2; exit 2; }
	case $1 in
	--master) export OUTBOX_MASTER=$2 OUTBOXCTL=${2%/*}/outboxctl ;;
	--out) OUT=$2 ;;
	--scenario) names+=("$2") ;;
	*) usage >&2; exit 2 ;;
	esac
	shift 2
done
# shellcheck disable=SC2206
[ ${#names[@]} -gt 0 ] || names=($SCENARIOS)

# Each one in a process of its own, with servers of its own.
if [ -n "$table" ]; then
	run_all() {
		local name status rc=0
		for name; do
			bash "$0" --one --scenario "$name"
			status=$?
			[ "$status" -eq 0 ] || [ "$rc" -eq 1 ] || rc=$status
		done
		return "$rc"
	}
	run_all "${names[@]}" | tee -a "${OUT:-/dev/null}"
	exit "${PIPESTATUS[0]}"
fi

srcdir=${srcdir:-$here/..}
. "$srcdir/tests/lib/lib.sh"
. "$srcdir/tests/lib/nodes.sh"
. "$srcdir/tests/lib/pauses.sh"
skip_all() { say "${names[0]}: skipped: $*"; exit 77; }
pauses_run "${names[0]}" || exit 1
printf '| %s | %s | %s | %s | %s |\n' "${names[0]}" "$PAUSE" "$PLAIN" "$LATE" \
    "$COUNTS"
[ "$COUNTS" = 0/0/0/0 ]
