#!/usr/bin/env bash
# timed.sh DRIVER [ARG...]: run a test driver, and add to its .trs file the
# seconds that the test took, and its processor time (user and system, without
# servers).  quickstart lists the slowest tests.

trs=
args=("$@")
for ((i = 0; i < $#; i++)); do
	[ "${args[i]}" != --trs-file ] || trs=${args[i + 1]}
	[ "${args[i]}" != -- ] || break
done
TIMEFORMAT=':outbox-seconds: %1R %1U %1S'
{ time "$@" 2>&3; } 3>&2 2> "$trs.time"
rc=$?
cat "$trs.time" >> "$trs"
rm -f "$trs.time"
exit $rc
