#!/usr/bin/env bash
# bare.sh - the commands of README.md under "Try it", in their order, in a clean
# Debian 12: the first one configures before there is what the tests need (TAP)
#
# As root.  Debian and the sources are in a scratch directory; the servers use
# free ports of this machine.

# shellcheck source=tests/package/root.sh
. "${srcdir:-.}/tests/package/root.sh"
srcdir=$(realpath "${srcdir:-.}")

need_debian tar
dir=$(mktemp -d "${TMPDIR:-/tmp}/outbox-bare.XXXXXX") || exit 1
root=$dir/root
trap 'rm -rf --one-file-system "$dir"' EXIT
trap 'exit 130' INT
trap 'exit 143' HUP TERM
mkdir -m 755 "$root"
debootstrap_root > "$dir/log" 2>&1 || {
	sed 's/^/# /' "$dir/log" | tail -n 20
	skip_all 'debootstrap and apt could not make a Debian: see above'
}
clone=$root/root/clone
put_sources
result 'the sources are there' $?

# commands: those of README.md, without what they do
commands() {
	sed -n '/^Try it$/,/^What is promised$/s/^    \(\.\/.*[^ ]\)   *.*/\1/p' \
	    "$srcdir/README.md"
}
is 'README.md has two commands' "$(commands | paste -sd,)" \
    './quickstart,./quickstart check'

n_command=0
while read -r command; do
	n_command=$((n_command + 1))
	SECONDS=0
	# shellcheck disable=SC2086
	here $command > "$dir/said" 2>&1 < /dev/null
	result "$command: exit status 0" $? "$(grep -aE '^(FAIL|ERROR|not ok)' \
	    "$dir/said"; tail -n 30 "$dir/said")"
	echo "# $command: $SECONDS s"
	sed 's/^/# /' "$dir/said" | tail -n 15
done < <(commands)

# Not what the driver says: what each program has left behind.
main=$clone/_build/main
missing=
for program in $(here make -C _build/main -s tests-list |
    awk '$1 != "script" { print $2 }'); do
	grep -q '^:test-result: PASS' "$main/$program.trs" ||
	    grep -q '^1\.\.0 # SKIP a long test' "$main/$program.log" ||
	    missing+=" $program"
done
is 'each test program in C has run, if it has a short form' "$missing" ''
grep -q -- '--enable-werror' "$main/config.status"
result 'warnings were errors' $?
grep -Eq '^[0-9]+ of [0-9]+ test programs ran$' "$dir/said"
result 'it says how many programs ran' $?
results
