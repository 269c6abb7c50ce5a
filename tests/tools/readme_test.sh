#!/usr/bin/env bash
# README.md, doc/tested.md and doc/performance.md: the commands, options, keys,
# files and log lines that they name exist, and they fit a terminal
. "${srcdir:-$(dirname "$0")/../..}/tests/lib/lib.sh"

OUTBOXCTL=${OUTBOXCTL:-./outboxctl}
[ -x "$OUTBOXCTL" ] || skip_all 'no outboxctl'
pages=("$srcdir/README.md" "$srcdir/doc/tested.md" "$srcdir/doc/performance.md")

# found REGEX: each match in the pages, once
found() { grep -Eho -- "$1" "${pages[@]}" | sort -u; }

cmp -s "$srcdir/README" "${pages[0]}"
ok $? 'README is README.md'
[ "$(wc -l < "${pages[0]}")" -le 250 ]
ok $? 'README.md has at most 250 lines'
is "$(awk 'length > 80' "${pages[@]}")" '' 'no line is longer than 80 columns'

help=$("$OUTBOXCTL" --help)
while read -r _ words; do
	like "$help" "^  $words " "outboxctl $words"
done < <(found '(^ +|`)outboxctl [a-z]+( [a-z]+)?' | tr -d "\`" | sort -u)

help=$("$OUTBOX_MASTER" --help)
while read -r _ option; do
	like "$help" "^ .*${option}[ ,]" "outbox-master $option"
done < <(found 'outbox-master --?[a-z]+')

for key in $(found '`[a-z]+\.[a-z_]+(: [a-z]+)?`' | tr -d '`' | cut -d: -f1)
do
	has_line "$srcdir/man/outbox.yml.5" "^\.It Ic $key\$"
	ok $? "outbox.yml has $key"
done

for file in $(found '\b(tests|doc|sql|bench)/[a-z0-9_/.]+(README|[a-z0-9])') \
    $(found 'run_[a-z]+\.sh' | sed 's,^,tests/system/,')
do
	[ -e "$srcdir/$file" ]
	ok $? "$file exists"
done

# The sources as one line, with the parts of strings joined.
code=$(find "$srcdir/src" -name '*.c' -exec cat {} + | tr -s '\n\t ' ' ' |
    sed 's/" "//g')
for text in 'is missing or not granted' 'acknowledged messages'; do
	grep -qF -- "$text" "${pages[0]}" && grep -qF -- "$text" <<< "$code"
	ok $? "the log says: $text"
done
done_testing
