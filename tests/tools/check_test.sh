#!/usr/bin/env bash
# tools/check: every test belongs to a part, what is due is found, a program that
# does not run is a failure, and a configuration that has less than the tests
# need is made anew
. "${srcdir:-$(dirname "$0")/../..}/tests/lib/lib.sh"

command -v git > /dev/null || skip_all 'no git'
top=$(realpath "$srcdir")
builddir=$(realpath "$(dirname "$OUTBOX_MASTER")")

# --- the parts ----------------------------------------------------------------

parts=$("$top/tools/check" --list | cut -d' ' -f1)
is "$(comm -3 <(sort <<< "$parts") <(sed -n 's/^| \([a-z]*\) | [0-9a-f]* |.*/\1/p' \
    "$top/doc/tested.md" | sort))" '' 'each part has a row in doc/tested.md'
is "$(for part in $parts; do
	grep -q "^part_$part()" "$top/tools/parts.sh" || echo "$part"
    done)" '' 'each part has a function'
is "$(sed -n '/^PARTS=/,/^.$/p' "$top/tools/parts.sh" | cut -sd'|' -f3 |
    tr -s ' ' '\n' | grep -vx 'always\|' | while read -r path; do
	[ -e "$top/$path" ] || echo "$path"
    done)" '' 'the paths of the parts exist'
# Without the program such a test is skipped, and its part passes.
unnamed() {
	local file command
	. "$top/tools/parts.sh"
	cd "$top" && grep -HoE 'command -v [a-z]+\)?( >.*)? \|\| skip_all' \
	    tests/system/*.sh | while IFS=: read -r file command; do
		command=$(cut -d' ' -f3 <<< "${command%)*}")
		"$top/tools/check" --packages "$(group_of "$file")" |
		    grep -q "^$command" || echo "$file: $command"
	done
}
is "$(unnamed)" '' 'each part names the packages that its tests need'

# --- age, in clones of all kinds ------------------------------------------------

mkdir "$DIR/clone"
cd "$DIR/clone" || exit 1
git() { command git -c user.name=t -c user.email=t@example -c gc.auto=0 "$@"; }
commits() { local i; for ((i = 0; i < $1; i++)); do
    git commit -q --allow-empty -m more; done; }
mkdir doc
cp -r "$top/tools" .
git init -q . 2> /dev/null
git add tools && git commit -q -m first
first=$(git rev-parse --short=12 HEAD)
for part in $parts; do echo "| $part | $first | 2026-01-01 | 100 |"; done \
    > doc/tested.md
git add doc && git commit -q -m rows
age() { tools/check --list | awk -v part="$1" '$1 == part { print $2 }'; }
commits 100
is "$(age units)" 101 'the commits since a part has passed'
sed -i "s/^| units .*/| units | $(git rev-parse --short=12 HEAD) | 2026-01-02 | 9 |/" \
    doc/tested.md
is "$(age units)" 0 'a new row that is not committed counts'
is "$(age ctl)" 101 'the others stay old'
git commit -qam row
git clone -q --depth 1 "file://$PWD" ../shallow
is "$(cd ../shallow && age ctl)" '?' 'a shallow clone: nobody knows'
rm -rf ../shallow/.git
is "$(cd ../shallow && age ctl)" '?' 'a tarball, too'
# A rebase: the commit of the row is none of this history.
sed -i 's/^\(| ctl | \)[0-9a-f]*/\1dddddddddddd/' doc/tested.md
git commit -qam rewritten
is "$(age ctl)" 0 'after a rebase: counted from the row, which is new'
commits 101
is "$(age ctl)" 101 'after a rebase: and then it gets older'

# --- what is due ---------------------------------------------------------------

sed -i "s/^\(| [a-z]* | \)[0-9a-f]*/\1$(git rev-parse --short=12 HEAD)/" \
    doc/tested.md
mkdir -p src/nats tests/ctl
: > src/nats/bus.c
: > tests/ctl/ctl_base.sh
git add . && git commit -qm change
# due: the parts that are due because something has changed, on one line
due() {
	bash -c 'slow=10; top=$PWD; cd "$top"
	    eval "$(sed -n "/^field() /,/^names() /p" tools/check)"
	    . tools/parts.sh; . tools/due.sh; plan_due
	    echo "${always[*]}: ${maybe[*]}"'
}
OUT=$(due)
like "$OUT" '^short sanitizers chaos analyzers package: ' \
    'what must never break is always due'
like "$OUT" ': .*\bnats\b' 'a change in a room: its part is due'
like "$OUT" ': .*\bctl\b' 'a change of a test: its part is due'
like "$OUT" '^[^:]*: [^:]*$' 'and one part in turn'
is "$(sed 's/.*: //' <<< "$OUT" | tr ' ' '\n' | grep -cE \
    '^(units|store|broker|cluster|fuzz|storms|clang|nats|ctl|valgrind)$')" 10 \
    'each part that has the room is due'
is "$(sed 's/.*: //' <<< "$OUT" | wc -w)" 11 'and no more than one other'

# --- a program that does not run -----------------------------------------------

# ran TEST RESULT...: count one test with these results; sets OUT
ran() {
	mkdir -p "$DIR/b"
	rm -f "$DIR"/b/*
	[ -z "$2" ] || printf ':test-result: %s\n' "${@:2}" > "$DIR/b/${1%.sh}.trs"
	echo '1..0 # SKIP no such thing' > "$DIR/b/${1%.sh}.log"
	OUT=$(bash -c 'say() { printf "%s\n" "$@"; }
	    passed=0 failed=0 skipped=0 ran=0 listed=0
	    eval "$(sed -n "/^count_results() /,/^}/p; /^did_not_run() /,/^}/p" \
		"$1")"
	    count_results "$2" "$3"
	    echo "$passed $failed $skipped $ran $listed"' \
	    ran "$top/tools/check" "$DIR/b" "$1")
}
ran check_a PASS PASS
is "$OUT" '2 0 0 1 1' 'a program with two checks has run'
ran check_a ''
like "$OUT" 'FAILED: check_a: did not run' 'a program without a result is a failure'
ran check_a SKIP
like "$OUT" 'FAILED: check_a: did not run' 'a program in C without a check, too'
ran run_a.sh SKIP
is "$OUT" "did not run: run_a.sh: no such thing
0 0 1 0 1" 'a script says why it did not run, which is no failure'
ran run_a.sh ERROR
is "${OUT##*$'\n'}" '0 1 0 1 1' 'an error is a failure'

# --- configurations ------------------------------------------------------------

mkdir -p "$DIR/src" "$DIR/dir"
cat > "$DIR/src/configure" <<'EOF2'
#!/bin/sh
[ ! -e refuse ] || exit 1
echo "$*" >> calls
printf 'all clean:\n' > Makefile
EOF2
chmod +x "$DIR/src/configure"
touch -d '1 hour ago' "$DIR/src/configure"
# configure OPTION...: as in a build; sets OUT to the calls of configure
configure() {
	(
		export top=$DIR/src log=$DIR/log
		die() { exit 1; }
		. "$OLDPWD/tools/build.sh"
		cd "$DIR/dir" && configure_here "$@"
	)
	RC=$?
	OUT=$(paste -sd, "$DIR/dir/calls")
}
cd "$top" && cd "$DIR" || exit 1
OLDPWD=$top
configure
configure
is "$OUT" '' 'the demo configures once, with whatever'
configure --enable-tests
configure --enable-tests
is "$OUT" ',--enable-tests' 'what needs more configures anew, once'
configure
is "$OUT" ',--enable-tests' 'the demo keeps that'
: > "$DIR/dir/refuse"
configure --enable-tests --other
is "$RC" 1 'a configuration that is refused is an error'
rm "$DIR/dir/refuse"
configure --enable-tests
is "$OUT" ',--enable-tests,--enable-tests' 'and nothing is taken for done'

# --- a header that changes ------------------------------------------------------

# compiled HEADER: what make would compile if it had changed, which it may know
# by either name
compiled() {
	env -u MAKEFLAGS -u MFLAGS make -n V=1 -C "$builddir" liboutbox.a \
	    -W "$top/src/$1" \
	    -W "$(realpath --relative-to "$builddir" "$top/src/$1")" |
	    sed -n 's|.* -c -o .*/src/\([^ ]*\.c\).*|\1|p' | sort
}
if ! grep -q '^[^#].* -MD .* -c -o ' "$builddir/Makefile"; then
	ok 0 'a header # SKIP configured with --disable-dependency-tracking'
else
	is "$(compiled health/health_impl.h)" "$(cd "$top/src" &&
	    grep -l '#include "health/health_impl.h"' */*.c | sort)" \
	    'a header that has changed compiles what includes it'
fi

# --- a process of another program with the number of one that has ended -----------

# In a session of its own, so that it is nobody's child here.
other=$(setsid bash -c 'tail -f /dev/null > /dev/null 2>&1 & echo $!')
# shellcheck disable=SC2016
TMPDIR=$DIR srcdir=$top bash -c '. "$srcdir/tests/lib/lib.sh"
    tail -f /dev/null & ours=$!
    ("$BASH" -c "tail -f /dev/null & echo \$! > \$0" "$DIR/daemon") \
	>> "$DIR/log" 2>&1
    daemon=$(cat "$DIR/daemon")
    MASTERS+=("$1" "$ours" "$daemon")
    echo "$ours $daemon"' ./ends "$other" > "$DIR/ended"
read -r ours daemon < "$DIR/ended"
kill -0 "$other"
ok $? 'the end of a test: a process that is not of the test goes on'
kill -KILL "$other"
check 'a child has ended' is_gone "$ours"
within 10 'and a process with a file of the test' is_gone "$daemon"

# --- a slow machine ------------------------------------------------------------

if "$top/tools/slow" 90 true 2> /dev/null; then
	OUT=$("$top/tools/slow" 90 sh -c 'cat /proc/self/cgroup; exit 3')
	is $? 3 'tools/slow: the status of the command'
	like "$OUT" '/outbox-slow\.' 'tools/slow: it has a group of its own'
	is "$(find /sys/fs/cgroup -maxdepth 2 -name 'outbox-slow.*' |
	    grep -F "$(sed -n 's,.*/\(outbox-slow\.[0-9]*\).*,\1,p' <<< "$OUT" |
	    sed 1q)")" '' 'tools/slow: which is gone'
else
	ok 0 'tools/slow # SKIP no cgroups'
fi

# --- a test that hangs -----------------------------------------------------------

printf '#!/bin/sh\nexec tail -f /dev/null\n' > "$DIR/hangs"
chmod +x "$DIR/hangs"
OUT=$(bash "$top/tests/lib/timed.sh" --limit 0.1 "$DIR/hangs")
is "$?: $OUT" '124: Bail out! hung: not done after 0.1 s' \
    'a test that hangs is ended, and told'
done_testing
