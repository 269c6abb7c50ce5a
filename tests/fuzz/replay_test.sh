#!/bin/sh
# Each input of the fuzzers' corpus does no harm; see README.md here.
top=${srcdir:-$(dirname "$0")/../..}
. "$top/tests/lib/result.sh"

found=$(mktemp -d) || exit 99
trap 'rm -rf "$found"' EXIT
tar -xJf "$top/tests/fuzz/corpus/found.tar.xz" -C "$found"
result 'the found inputs are there' $?
for corpus in "$top"/tests/fuzz/corpus/*/; do
	corpus=${corpus%/}
	target=fuzz_${corpus##*/}
	"./$target" "$corpus" "$found/${corpus##*/}" > /dev/null
	result "$target takes its corpus" $?
done
results
