#!/usr/bin/env bash
# The model of the protocol: it holds, and without one of its parts it breaks
srcdir=${srcdir:-$(dirname "$0")/../..}
. "$srcdir/tests/lib/lib.sh"

is_short && skip_all 'a long test'

MODEL=$(cd "$(dirname "$0")" && pwd)/relay.pml
for tool in spin "${CC:-cc}"; do
	command -v "${tool%% *}" > /dev/null || skip_all "no $tool"
done
cd "$DIR" || exit 1

# search SWITCH...: all states; the file out has the output of pan.  With CYCLES
# it searches for runs without an end instead.  For few states compiling takes
# longer than the search, so nothing is optimized.
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
LOST='violated \(stored&'
STUCK='invalid end state'

holds 'the full model holds'
holds 'the model holds with two keys' -DTWO_KEYS -DEARLY=0 -DFAULTS=1
holds 'the model holds with delays' -DDELAYS -DEARLY=0 -DFAULTS=1
holds 'the model holds with a row that comes back' -DREPLAY -DEARLY=0 -DFAULTS=1
holds 'the model holds with three faults and one count' -DONE_COUNT -DEARLY=0 \
    -DFAULTS=3
holds 'rows of a dead worker wait for no time-out' -DPROMPT -DFAULTS=4
holds 'a worker that keeps its leases sends nothing twice' -DCALM -DEARLY=0
CYCLES=-DNP holds 'nothing goes on without an end' -DEARLY=0 -DFAULTS=1

breaks 'without the fence: a claim under the lease of another worker' \
    "$CLAIM" -DNO_FENCE
breaks 'without the fence: two workers send a message' "$TWICE" -DNO_FENCE -DCALM
breaks 'without the hold: a message passes an earlier one' \
    "$ORDER" -DNO_HOLD -DFAULTS=1
breaks 'without the void: rows wait for a time-out' "$STUCK" -DNO_VOID -DPROMPT
breaks 'without the token check: a worker settles a row of another' \
    "$SETTLE" -DNO_TOKEN
breaks 'without message ids: a message is stored twice' "$TWICE" -DNO_IDS
breaks 'a lane that is free during its tick: a message passes an earlier one' \
    "$ORDER" -DGONE_NOW -DFAULTS=1
breaks 'a head sent before earlier rows: a message passes an earlier one' \
    "$ORDER" -DHEADS_FIRST -DDELAYS -DEARLY=0 -DFAULTS=1
breaks 'a scan that starts above waiting rows: a message passes an earlier one' \
    "$ORDER" -DFLOOR -DTWO_KEYS -DEARLY=0 -DFAULTS=1

holds 'with one count the order does not need the fence' -DNO_FENCE \
    -DORDER_ONLY -DONE_COUNT -DFAULTS=1

# passes NAME SWITCH...: one message passes another, with no fault to help it
passes() {
	local name=$1
	shift
	breaks "$name: a message passes an earlier one" "$ORDER" -DORDER_ONLY \
	    -DFAULTS=0 "$@"
}

passes 'two counts without the fence' -DNO_FENCE
passes 'a worker with a part of a class' -DPART
passes 'labels of a class that are read at two moments' -DTWO_SCANS -DEARLY=0
passes 'labels of a class that are not merged' -DTWO_PICKS
passes 'a fence without the other labels of the class' -DFENCE_ROWS -DREPLAY
passes 'counts that are older than the epochs' -DOLD_COUNTS
passes 'another count that raises no epoch' -DSAME_EPOCHS
passes 'a row that comes back and raises no epoch' -DQUIET -DREPLAY
breaks 'messages of an earlier look: one is lost' "$LOST" -DOLD_LOOK -DREPLAY \
    -DFAULTS=0
passes 'a former count that is ended too soon' -DTOO_SOON
done_testing
