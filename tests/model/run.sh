#!/usr/bin/env bash
# The model of the protocol: it holds, and without one of its parts it breaks
srcdir=${srcdir:-$(dirname "$0")/../..}
. "$srcdir/tests/lib.sh"

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
	    timeout 300 ./pan ${CYCLES:+-l} -n -m1000 >> out 2>&1
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

CLAIM='violated .*owner==me.*epoch==mine'
SETTLE='violated \(token\[m\]==me\)'
TWICE='violated +!\(\(stored&'
ORDER='violated .*~\(stored\)'
STUCK='invalid end state'

holds 'the full model holds'
if is_short; then
	breaks 'and breaks without the fence' "$CLAIM" -DNO_FENCE
	breaks 'and without the hold' "$ORDER" -DNO_HOLD
	done_testing
fi
holds 'with two keys' -DTWO_KEYS -DEARLY=0 -DCRASHES=0
holds 'with a worker that gets its lease back' -DEPOCHS=3 -DCRASHES=0 \
    -DEARLY=3
holds 'what the dead held waits for no time-out' -DPROMPT -DFAILURES=2 \
    -DCRASHES=2
holds 'who keeps the lease sends nothing twice' -DCALM
CYCLES=-DNP holds 'nothing goes on without an end' -DCRASHES=0

breaks 'without the fence spin finds a claim under the lease of another' \
    "$CLAIM" -DNO_FENCE
breaks 'and two workers that send the same' "$TWICE" -DNO_FENCE -DCALM
breaks 'without the hold it finds a message that passes an earlier one' \
    "$ORDER" -DNO_HOLD
breaks 'without the void it finds rows that wait for a time-out' \
    "$STUCK" -DNO_VOID -DPROMPT
breaks 'without the token check it finds a settle of a row of another' \
    "$SETTLE" -DNO_TOKEN
breaks 'without message ids it finds one that is stored twice' \
    "$TWICE" -DNO_IDS
breaks 'a lane that is free while the tick lasts: one passes another' \
    "$ORDER" -DGONE_NOW
breaks 'a head before what is in front of it: one passes another' \
    "$ORDER" -DHEADS_FIRST
breaks 'a scan that starts above waiting rows: one passes another' \
    "$ORDER" -DFLOOR -DTWO_KEYS -DEARLY=0 -DEPOCHS=1 -DCRASHES=0
done_testing
