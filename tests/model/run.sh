#!/usr/bin/env bash
# The model of the protocol: it holds, and without one of its parts it breaks
srcdir=${srcdir:-$(dirname "$0")/../..}
. "$srcdir/tests/lib/lib.sh"

MODEL=$(cd "$(dirname "$0")" && pwd)/relay.pml
for tool in spin "${CC:-cc}"; do
	command -v "${tool%% *}" > /dev/null || skip_all "no $tool"
done
cd "$DIR" || exit 1

# search SWITCH...: all states; what pan has to say is in the file out.  With
# CYCLES it asks for runs without an end instead.  For few states the compiler
# takes longer than the search, and need not try hard.
search() {
	spin -a "$@" "$MODEL" > out 2>&1 &&
	    ${CC:-cc} "${OPTIMIZE:--O0}" -w "${CYCLES:--DSAFETY}" -DCOLLAPSE \
		-DMEMLIM=900 -o pan pan.c >> out 2>&1 &&
	    timeout 300 ./pan ${CYCLES:+-l} -n -m4000 >> out 2>&1
}

figures() {
	sed -n 's/^ *\([0-9]* states\), stored.*/# \1/p
	    s/.*elapsed time \(.*\) seconds/# \1 s/p' out
}

# holds NAME SWITCH...
holds() {
	local name=$1
	shift
	OPTIMIZE=-O2 search "$@" && grep -q 'errors: 0$' out &&
	    ! grep -Eq 'not completed|too small|out of memory' out
	local rc=$?
	ok "$rc" "$name"
	if [ "$rc" -eq 0 ]; then figures; else sed 's/^/# /' out; fi
}

# breaks NAME REGEX SWITCH...: and not in another way
breaks() {
	local name=$1 how=$2
	shift 2
	search "$@"
	like "$(grep '^pan:1:' out)" "$how" "$name"
}

CLAIM='violated .*known\[slot\]'
SETTLE='violated \(token\[m\]==me\)'
TWICE='violated +!\(\(stored&'
ORDER='violated .*~\(stored\)'
STUCK='invalid end state'

holds 'the full model holds'
if is_short; then
	breaks 'and breaks without the fence' "$CLAIM" -DNO_FENCE
	breaks 'and without the hold' "$ORDER" -DNO_HOLD
	breaks 'and where a part of a class is enough' "$ORDER" -DPART \
	    -DORDER_ONLY
	done_testing
fi
holds 'with two keys' -DTWO_KEYS -DEARLY=0 -DFAULTS=1
holds 'with delays' -DDELAYS -DEARLY=0 -DFAULTS=1
holds 'with a row that comes back' -DREPLAY -DEARLY=0 -DFAULTS=1
holds 'with three faults and one count' -DONE_COUNT -DEARLY=0 -DFAULTS=3
holds 'what the dead held waits for no time-out' -DPROMPT -DFAULTS=4
holds 'a worker that keeps its leases sends nothing twice' -DCALM -DEARLY=0
CYCLES=-DNP holds 'nothing goes on without an end' -DEARLY=0 -DFAULTS=1

breaks 'without the fence spin finds a claim under the lease of another' \
    "$CLAIM" -DNO_FENCE
breaks 'and two workers that send the same' "$TWICE" -DNO_FENCE -DCALM
breaks 'without the hold it finds a message that passes an earlier one' \
    "$ORDER" -DNO_HOLD -DFAULTS=1
breaks 'without the void it finds rows that wait for a time-out' \
    "$STUCK" -DNO_VOID -DPROMPT
breaks 'without the token check it finds a settle of a row of another' \
    "$SETTLE" -DNO_TOKEN
breaks 'without message ids it finds one that is stored twice' \
    "$TWICE" -DNO_IDS
breaks 'a lane that is free while the tick lasts: one passes another' \
    "$ORDER" -DGONE_NOW -DFAULTS=1
breaks 'a head before what is in front of it: one passes another' \
    "$ORDER" -DHEADS_FIRST -DDELAYS -DEARLY=0 -DFAULTS=1
breaks 'a scan that starts above waiting rows: one passes another' \
    "$ORDER" -DFLOOR -DTWO_KEYS -DEARLY=0 -DFAULTS=1

holds 'with one count order does not need the fence' -DNO_FENCE -DORDER_ONLY \
    -DONE_COUNT -DFAULTS=1

# passes NAME SWITCH...: one message passes another, with no fault to help it
passes() {
	local name=$1
	shift
	breaks "$name: one passes another" "$ORDER" -DORDER_ONLY -DFAULTS=0 "$@"
}

passes 'with another count it does' -DNO_FENCE
passes 'a worker with a part of a class' -DPART
passes 'labels of a class that are read at two moments' -DTWO_SCANS -DEARLY=0
passes 'labels of a class that are not merged' -DTWO_PICKS
passes 'a fence without the other labels of the class' -DFENCE_ROWS -DREPLAY
passes 'counts that are older than the epochs' -DOLD_COUNTS
passes 'a change that raises no epoch' -DSAME_EPOCHS
passes 'a row that comes back and raises no epoch' -DQUIET -DREPLAY
passes 'a former count that goes too soon' -DTOO_SOON
done_testing
