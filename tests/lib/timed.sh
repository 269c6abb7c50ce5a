#!/usr/bin/env bash
# timed.sh DRIVER [ARG...] -- TEST [ARG...]: run a test driver, and add to its
# .trs file the seconds that the test took, and its processor time (user and
# system, without servers).  tools/check lists the slowest tests.
#
# A test that takes more than OUTBOX_HUNG seconds is called hung, and ended.

# As the test: timed.sh --limit SECONDS TEST [ARG...]
if [ "${1:-}" = --limit ]; then
	timeout --foreground -k 30 "$2" "${@:3}"
	rc=$?
	case $rc in
	124 | 137) echo "Bail out! hung: not done after $2 s" ;;
	esac
	exit $rc
fi

trs=
args=()
while [ $# -gt 0 ] && [ "$1" != -- ]; do
	[ "$1" != --trs-file ] || trs=$2
	args+=("$1")
	shift
done
[ -z "${OUTBOX_HUNG:-}" ] ||
    set -- -- "$BASH" "$0" --limit "$OUTBOX_HUNG" "${@:2}"
TIMEFORMAT=':outbox-seconds: %1R %1U %1S'
{ time "${args[@]}" "$@" 2>&3; } 3>&2 2> "$trs.time"
rc=$?
cat "$trs.time" >> "$trs"
rm -f "$trs.time"
exit $rc
