#!/usr/bin/env bash
# distribution.sh - this version and the one before, built in a clean Debian (TAP)
#
#   SUITE=trixie TO=DIR tests/package/distribution.sh [TEST...]
#
# As root.  As README.md says, the packages are built from the sources in a
# Debian 12, or SUITE.  They come to TO as outbox-master_new.deb and former.deb
# with lab, for debian.sh.  With tests, all is built there once more, with warnings
# as errors, and they run there in their short form: what they need of servers and
# libraries is that of the suite.  KEEP: see debian.sh.

# shellcheck source=tests/package/root.sh
. "${srcdir:-.}/tests/package/root.sh"
srcdir=$(realpath "${srcdir:-.}")
former=f6fd605		# 0.1.0, the last one with schema version 1

need_debian tar git
TO=$(realpath "${TO:?}")
need_root distribution

# build_package NAME: of the sources in /root/clone
build_package() {
	here sh -c 'dpkg-buildpackage -b -us -uc -tc && cd .. &&
	    rm -f ./*-dbgsym_* && mv ./outbox-master_*.deb '"$1.deb" \
	    > "$dir/log" 2>&1 && mv "$root/root/$1.deb" "$TO"
	result "$1.deb is built" $? "$(tail -n 40 "$dir/log")"
	[ "$1" = former ] || is "$1.deb: no warning of $(inside gcc \
	    -dumpfullversion)" "$(grep ' warning: ' "$dir/log")" ''
	rm -f "$root"/root/outbox-master*
}

# build_former: the version before, from git
build_former() {
	git -C "$srcdir" archive --output "$dir/former.tar" $former \
	    2> /dev/null || skip_all "no git with commit $former"
	mkdir "$root/root/clone"
	tar -xf "$dir/former.tar" -C "$root/root/clone"
	build_package former
	rm -r "$root/root/clone"
}

# build_programs TARGET...: tests need no better code than -O1
build_programs() {
	# shellcheck disable=SC2016
	here sh -c 'autoreconf -fi && mkdir -p _build/main && cd _build/main &&
	    ../../configure CFLAGS="-g -O1" --enable-werror --enable-tests &&
	    make -s "-j$(nproc)" "$@"' sh "$@" > "$dir/log" 2>&1
}

# run_tests TEST...: a result for each
run_tests() {
	local test
	# shellcheck disable=SC2016
	here env OUTBOX_CHECK=short OUTBOX_SLOW="${OUTBOX_SLOW:-1}" \
	    CK_TIMEOUT_MULTIPLIER="${CK_TIMEOUT_MULTIPLIER:-1}" sh -c '
	    make -C _build/main -s "-j$((2 * $(nproc)))" check \
	    TESTS="$*"' sh "$@" > "$dir/log" 2>&1
	for test; do
		test=$root/root/clone/_build/main/${test%.sh}
		grep -q '^:test-result: PASS' "$test.trs" &&
		    ! grep -qE '^:test-result: (FAIL|ERROR)' "$test.trs"
		result "$suite: ${test##*/}" $? "$(grep -A 12 -E \
		    '^not ok|Bail out|SKIP|rror:' "$test.log" | head -n 60)"
	done
}

inside apt-get install -q build-essential > "$dir/log" 2>&1
put_sources
here apt-get build-dep ./ >> "$dir/log" 2>&1
result 'what the build needs is installed' $? "$(tail -n 20 "$dir/log")"
mv "$root/root/clone" "$root/root/new"
build_former
mv "$root/root/new" "$root/root/clone"
build_package outbox-master_new

# What the tests need, beyond what the program does
inside apt-get install -q autoconf automake check curl jq nginx-light openssl \
    socat tmux xz-utils > "$dir/log" 2>&1
result 'what the tests need is installed' $? "$(tail -n 20 "$dir/log")"
if [ $# -eq 0 ]; then
	build_programs lab
	result 'lab is built' $? "$(tail -n 40 "$dir/log")"
else
	build_programs check TESTS=
	result 'all is built, without a warning' $? "$(tail -n 40 "$dir/log")"
	run_tests "$@"
fi
cp "$root/root/clone/_build/main/lab" "$TO"
result 'lab is there' $?
results
