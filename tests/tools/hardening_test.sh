#!/usr/bin/env bash
# hardening_test.sh - are the programs built with the flags that make an error in
# them hard to use?
#
#	tests/tools/hardening_test.sh		those of the build directory
#	tests/tools/hardening_test.sh FILE...	those of a package, without symbols
#
# What a program tells of itself: by readelf, and in the debugging information the
# options of the compiler for each file.  The level of _FORTIFY_SOURCE is in
# neither: a small program is built with the same flags, and overflows.

# shellcheck source=tests/lib/lib.sh
. "${srcdir:-$(dirname "$0")/../..}/tests/lib/lib.sh"

command -v readelf > /dev/null || skip_all 'no readelf'
cc=gcc flags=
[ $# -gt 0 ] || {
	cc=$(sed -n 's/^CC = //p' "$BUILD/Makefile")
	flags=$(sed -n 's/^OUTBOX_CFLAGS = //p' "$BUILD/Makefile")
}
if [ $# -eq 0 ]; then
	case $flags in
	*-fsanitize=*) skip_all 'built with sanitizers' ;;
	*-D_FORTIFY_SOURCE=*) ;;
	*) skip_all 'built with --disable-hardening' ;;
	esac
fi

# takes FLAG: does this compiler?
takes() { echo 'int main(void) { return 0; }' |
    $cc -Werror "$1" -x c - -o "$DIR/probe" 2> /dev/null; }

# has_cet FILE: the notes of Intel's control-flow enforcement, both
has_cet() { readelf -nW "$1" | grep -q 'x86 feature:.*IBT.*SHSTK'; }

# look PROGRAM
look() {
	local name=${1##*/} header segments dynamic symbols
	header=$(readelf -hW "$1")
	segments=$(readelf -lW "$1")
	dynamic=$(readelf -dW "$1")
	symbols=$(readelf --dyn-syms -W "$1")
	like "$header" 'Type: +DYN' "$name: can be loaded anywhere (PIE)"
	like "$dynamic" 'FLAGS_1.*PIE' "$name: is a program, not a library"
	like "$segments" 'GNU_RELRO' "$name: relocations become read-only"
	like "$dynamic" 'FLAGS.*(BIND_)?NOW' "$name: all of them, at the start"
	like "$segments" 'GNU_STACK .* RW ' "$name: the stack is not executable"
	is "$(grep -c 'LOAD.* RWE ' <<< "$segments")" 0 \
	    "$name: no memory is both writable and executable"
	is "$(grep -cE '\((RPATH|RUNPATH)\)' <<< "$dynamic")" 0 \
	    "$name: no path to libraries of its own"
	like "$symbols" ' __stack_chk_fail' "$name: has stack protectors"
	check "$name: functions of the C library know their buffers" \
	    [ "$(grep -c '__[a-z]*_chk@' <<< "$symbols")" -ge 5 ]
	# A program has the notes if all that is linked into it has them.
	if has_cet "$($cc -print-file-name=Scrt1.o)"; then
		check "$name: has the notes of CET" has_cet "$1"
	fi
}

if [ $# -gt 0 ]; then
	for program; do
		look "$program"
	done
	done_testing
fi

for program in "$OUTBOX_MASTER" "$OUTBOXCTL"; do
	look "$program"
	readelf --debug-dump=info "$program" 2> /dev/null |
	    sed -n 's/.*DW_AT_producer.*: //p' | grep '^GNU C' > "$DIR/options"
	[ -s "$DIR/options" ] || {
		say "${program##*/}: not built by gcc with -g"
		continue
	}
	for flag in -fstack-protector-strong -fstack-clash-protection \
	    -fcf-protection -ftrivial-auto-var-init=zero -fPIE; do
		takes "$flag" || { say "$cc has no $flag"; continue; }
		is "$(grep -cv -- " $flag\b" "$DIR/options")" 0 \
		    "${program##*/}: each file was compiled with $flag"
	done
done
object=$(ls "$BUILD"/src/master/main.o 2> /dev/null)
if [ -n "$object" ] && takes -fcf-protection; then
	check 'the objects have the notes of CET' has_cet "$object"
fi

# The size of the memory is known at run time only, which level 2 does not see.
cat > "$DIR/probe.c" <<'C'
#include <stdlib.h>
#include <string.h>

int
main(int argc, char **argv)
{
	size_t	 n = (size_t)atoi(argv[1]);
	char	*p = malloc(n);

	memset(p, argc, (size_t)atoi(argv[2]));
	return p[0] == 0;
}
C
# shellcheck disable=SC2086
$cc $flags -O2 -Wno-error "$DIR/probe.c" -o "$DIR/probe" 2> "$DIR/err"
ok $? 'a program with the same flags' || sed 's/^/# /' "$DIR/err"
"$DIR/probe" 64 64
is $? 0 'it runs'
("$DIR/probe" 64 65) > "$DIR/out" 2>&1
is $? 134 'and is ended when it writes past memory whose size it was told'
done_testing
