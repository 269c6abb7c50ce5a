#!/usr/bin/env bash
# examples.sh - the variables in compose.yml and kubernetes.yml are keys, and
# together a configuration (TAP)

# shellcheck source=tests/lib/result.sh
. "${srcdir:-.}/tests/lib/result.sh"
srcdir=${srcdir:-.}
python3 -c 'import yaml' 2> /dev/null || {
	echo '1..0 # SKIP no python3-yaml'
	exit 0
}
dir=$(mktemp -d "${TMPDIR:-/tmp}/outbox-examples.XXXXXX") || exit 1
trap 'rm -rf "$dir"' EXIT
echo '{}' > "$dir/outbox.yml"
py() { python3 "$srcdir/tests/package/examples.py" "$@"; }
for example in compose kubernetes; do
	py $example "$srcdir/packaging/$example.yml" > "$dir/set"
	result "$example.yml: it can be read" $?
	mapfile -t variables < "$dir/set"
	env "${variables[@]}" "$OUTBOX_MASTER" -c "$dir/outbox.yml" -T \
	    > "$dir/dump" 2> "$dir/err"
	result "$example.yml: a configuration" $? "$(cat "$dir/err")"
	is "$example.yml: each variable is a key" "$(cut -d= -f1 "$dir/set" |
	    grep -vxF "$(py keys "$dir/dump")")" ''
done
if command -v docker-compose > /dev/null; then
	docker-compose -f "$srcdir/packaging/compose.yml" config -q 2> "$dir/err"
	result 'compose.yml: docker-compose takes it' $? "$(cat "$dir/err")"
fi
results
