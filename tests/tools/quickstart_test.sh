#!/usr/bin/env bash
# quickstart installs packages without a trace of it: no policy-rc.d is left,
# whatever happens, and what apt-get says is told
#
# apt-get, dpkg-query and sudo are stand-ins, and nothing is installed.
. "${srcdir:-$(dirname "$0")/../..}/tests/lib/lib.sh"

mkdir "$DIR/bin"
export OUTBOX_POLICY=$DIR/policy-rc.d OUTBOX_BUILD=$DIR/build STATE=$DIR
PATH=$DIR/bin:$PATH
program() { cat > "$DIR/bin/$1"; chmod +x "$DIR/bin/$1"; }
program dpkg-query <<< '#!/bin/sh'		# nothing is installed
program sudo <<< '#!/bin/sh
exec "$@"'
program apt-get <<'EOF2'
#!/bin/sh
echo "$1" >> "$STATE/calls"
echo "$*" >> "$STATE/lines"
case $1:$APT_FAILS in
update:update)
	echo 'E: mirror.example: could not resolve' >&2
	exit 100 ;;
install:hang)
	mkfifo "$STATE/held"
	read -r x < "$STATE/held"
	exit 1 ;;
install:*)
	[ -x "$OUTBOX_POLICY" ] && echo policy >> "$STATE/calls"
	exit 100 ;;
esac
EOF2

# install_fails HOW: run it; sets OUT and RC
install_fails() {
	rm -f "$DIR/calls"
	OUT=$(APT_FAILS=$1 "$srcdir/quickstart" --events 1 2>&1 < /dev/null)
	RC=$?
}
has_call() { grep -qx "$1" "$DIR/calls" 2> /dev/null; }

install_fails install
is $RC 1 'an installation that fails ends it'
like "$OUT" 'apt-get could not install: ' 'and is told'
check 'servers of packages were held back' has_call policy
check 'policy-rc.d is gone' [ ! -e "$OUTBOX_POLICY" ]

install_fails update
like "$OUT" 'apt-get update failed' 'apt-get update fails: it is told'
like "$OUT" 'mirror.example: could not resolve' 'and why'
check 'the installation is tried all the same' has_call install

rm -f "$DIR/lines"
APT_FAILS=install "$srcdir/quickstart" check dist > /dev/null 2>&1 < /dev/null
like "$(cat "$DIR/lines")" '^install .* gcc .* check .* gnupg' \
    'check PART: the packages of the program, of tests, and of the part'
rm -f "$DIR/lines"
APT_FAILS=install "$srcdir/quickstart" test check_lanes run_dashboard \
    > /dev/null 2>&1 < /dev/null
like "$(cat "$DIR/lines")" '^install .* gcc .* check .* chromium' \
    'test NAME: and those of the part that it is of'
OUT=$(APT_FAILS=install "$srcdir/quickstart" test run_nothing 2>&1 < /dev/null)
like "$?: $OUT" '^1: test: run_nothing: no such test$' \
    'a test that there is not: nothing is installed'

echo theirs > "$OUTBOX_POLICY"
install_fails install
is "$(cat "$OUTBOX_POLICY")" theirs 'a policy-rc.d of others stays'
rm "$OUTBOX_POLICY"

# A shell cannot trap what was ignored when it started, as nohup does with HUP.
is_ignored() { trap -p "$1" | grep -q "^trap -- ''"; }

for signal in INT TERM HUP; do
	if is_ignored "$signal"; then
		echo "# SIG$signal is ignored by what started this test"
		continue
	fi
	rm -f "$DIR/calls" "$DIR/held"
	# A group of its own, to which a terminal sends its signals.  A script
	# in the background ignores SIGINT without job control.
	set -m
	APT_FAILS=hang "$srcdir/quickstart" --events 1 > "$DIR/out" 2>&1 \
	    < /dev/null &
	child=$!
	set +m
	MASTERS+=("$child")
	wait_for 10 test -p "$DIR/held"
	check "SIG$signal: it is in the installation" test -e "$OUTBOX_POLICY"
	kill -s "$signal" -- "-$child"
	wait "$child" 2> /dev/null
	within 10 "SIG$signal: policy-rc.d is gone" [ ! -e "$OUTBOX_POLICY" ]
done
done_testing
