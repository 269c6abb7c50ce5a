#!/usr/bin/env bash
# dist.sh - "make dist" gives the same bytes in each clone (TAP)
#
# Two clones with other paths, times, and modes of files; and a third tarball
# made from the first one.

# shellcheck source=tests/lib/result.sh
. "${srcdir:-.}/tests/lib/result.sh"
srcdir=$(realpath "${srcdir:-.}")

# tarball DIR UMASK: build the one of the sources in DIR
tarball() {
	(
		umask "$2"
		cd "$1" && { [ -e configure ] || autoreconf -fi; } &&
		    mkdir _build && cd _build && ../configure &&
		    make -s dist
	) > "$dir/log" 2>&1
	result "make dist in $1" $? "$(tail -n 20 "$dir/log")"
	mv "$1"/_build/*.tar.xz "$dir/$3"
}

[ -e "$srcdir/.git" ] && command -v git > /dev/null || {
	echo '1..0 # SKIP no clone of the repository'
	exit 0
}
dir=$(mktemp -d "${TMPDIR:-/tmp}/outbox-dist.XXXXXX") || exit 1
trap 'rm -rf "$dir"' EXIT
trap 'exit 130' INT
trap 'exit 143' HUP TERM
cd "$dir" || exit 1
unset SOURCE_DATE_EPOCH

(umask 022 && git clone -q "$srcdir" one) && tarball one 022 one.tar.xz
(umask 077 && git clone -q "$srcdir" another/clone) &&
    tarball another/clone 077 another.tar.xz
missing=$(comm -23 <(git -C one ls-files | grep -v '^\.ci/\|^\.gitignore$' |
    sort) <(tar tf one.tar.xz | sed 's,^[^/]*/,,' | sort))
is 'every file of the repository is in it' "$missing" ''
cmp one.tar.xz another.tar.xz
result 'two clones: the same bytes' $? "$(diff <(tar tvf one.tar.xz) \
    <(tar tvf another.tar.xz) | head)"
is 'the files have the time of the last commit' \
    "$(TZ=UTC0 tar tvf one.tar.xz --full-time | awk '{ print $4, $5 }' | sort -u)" \
    "$(TZ=UTC0 git -C one log -1 --date=format-local:'%Y-%m-%d %H:%M:%S' --format=%cd)"
mkdir unpacked && tar xf one.tar.xz -C unpacked --strip-components=1 &&
    tarball unpacked 022 again.tar.xz
cmp one.tar.xz again.tar.xz
result 'the tarball makes itself: the same bytes' $?
results
