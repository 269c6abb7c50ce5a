#!/usr/bin/env bash
# README.md, HACKING.md and doc/: the commands, options, keys, files, functions,
# tests and log lines that they name exist, and they fit a terminal
. "${srcdir:-$(dirname "$0")/../..}/tests/lib/lib.sh"

OUTBOXCTL=${OUTBOXCTL:-./outboxctl}
[ -x "$OUTBOXCTL" ] || skip_all 'no outboxctl'
pages=("$srcdir/README.md" "$srcdir/doc/tested.md" "$srcdir/doc/performance.md"
    "$srcdir/doc/scale.md" "$srcdir/doc/coming_from.md"
    "$srcdir/doc/production.md")
docs=("$srcdir/HACKING.md" "$srcdir"/doc/*.md "$srcdir"/src/README.md
    "$srcdir"/src/*/README.md "$srcdir"/src/*/*/README.md)

# found REGEX: each match in the pages, once
found() { grep -Eho -- "$1" "${pages[@]}" | sort -u; }

check 'README is README.md' cmp -s "$srcdir/README" "${pages[0]}"
check 'README.md has at most 250 lines' [ "$(wc -l < "${pages[0]}")" -le 250 ]
check 'HACKING.md has at most 200 lines' [ "$(wc -l < "${docs[0]}")" -le 200 ]
is "$(awk 'length > 80' "${pages[@]}" "${docs[0]}")" '' \
    'no line has over 80 columns'
is "$(sed '/^|/d' "${docs[@]}" "$srcdir"/{SECURITY.md,ChangeLog,examples/README.md} |
    LC_ALL=C.UTF-8 sed -n '/^.\{81\}/p')" '' \
    'nor has one of the other documents, but for rows of tables'

# What is published has one version.
version=$(sed -n 's/^AC_INIT(\[.*\],\[\(.*\)\])$/\1/p' "$srcdir/configure.ac")
is "$(sed -n '1s/^outbox-master (\(.*\)-[0-9]*) .*/\1/p' \
    "$srcdir/debian/changelog")" "$version" 'debian/changelog has the version'
is "$(awk 'NR == 1 { print $2 }' "$srcdir/ChangeLog")" "$version" \
    'ChangeLog begins with it'
is "$(grep -L '^\.Dd [A-Z][a-z]* [0-9]*, 20[0-9][0-9]$' "$srcdir"/man/*)" '' \
    'each manual page has a date, whoever formats it'

# links [SED-OPTION...]: of README.md, without those to other sites
links() {
	sed "$@" "${pages[0]}" | grep -Eo '\]\([^)]*\)' | tr -d '])(' |
	    grep -v '^https:' | sort -u
}
for link in $(links -n p); do
	check "README.md links to what there is: $link" [ -e "$srcdir/$link" ]
done
is "$(links -f "$srcdir/packaging/readme.sed")" examples/README.md \
    'and in a package to what that has'

help=$("$OUTBOXCTL" --help)
while read -r _ words; do
	like "$help" "^  $words " "outboxctl has the command: $words"
done < <(found '(^ +|`)outboxctl [a-z]+( [a-z]+)?' | tr -d "\`" | sort -u)

help=$("$OUTBOX_MASTER" --help)
while read -r _ option; do
	like "$help" "^ .*${option}[ ,]" "outbox-master has the option $option"
done < <(found 'outbox-master --?[a-z]+')

for key in $(found '`[a-z]+\.[a-z_]+(: [a-z]+)?`' | tr -d '`' | cut -d: -f1)
do
	check "the manual of outbox.yml has $key" \
	    has_line "$srcdir/man/outbox.yml.5" "^\.It Ic $key\$"
done

for file in $(found '\b(tests|doc|sql|bench)/[a-z0-9_/.]+(README|[a-z0-9])') \
    $(found 'run_[a-z]+\.sh' | sed 's,^,tests/system/,')
do
	check "$file exists" [ -e "$srcdir/$file" ]
done

# The sources as one line, with the parts of strings joined.
code=$(find "$srcdir/src" -name '*.c' -exec cat {} + | tr -s '\n\t ' ' ' |
    sed 's/" "//g')
for text in 'is missing or not granted' 'acknowledged messages'; do
	grep -qF -- "$text" "${pages[0]}" && grep -qF -- "$text" <<< "$code"
	ok $? "README and sources have: $text"
done

# The documents for those who change the program: each file with its folders as
# far as they are named, and each name in the code, manuals and scripts.  nats.c
# is a library, headers in bold are those of libraries, and what is below
# /usr/share is installed.

# named REGEX: each match in the documents, once
joined=$(cat "${docs[@]}" |
    sed 's,\*\*[a-z_]*\.h\*\*,,g; s,/usr/share/[^ ]*,,g' | tr -s '\n ' '  ')
named() { grep -Eo -- "$1" <<< "$joined" | tr -d "\`" | sort -u; }

# missing FILE...: those of standard input that are a suffix of no FILE
missing() {
	awk 'NR == FNR { n = split($0, p, "/"); for (s = p[n]; n >= 1;
	    s = p[--n] "/" s) have[s] = 1; next } !($0 in have)' \
	    <(printf '%s\n' "$@") -
}

mapfile -t files < <(cd "$srcdir" && find src tests tools sql etc man doc \
    bench init ./*.* quickstart -type f | sed 's,^\./,,')
is "$(named '([a-z]+/)*[A-Za-z0-9_]+\.([ch]|sh|sql|md|am|yml(\.5)?|pml)\b' |
    grep -vx 'nats\.c' | missing "${files[@]}")" '' 'files that the documents name exist'
is "$(named '\bcheck_[a-z]+\b' | while read -r name; do
	grep -Eqs "^(static .*)?$name(_SOURCES|\()|[*[:space:]]$name\(" \
	    "$srcdir/tests/tests.mk" "$srcdir"/src/*/*.c || echo "$name"
    done)" '' 'tests that the documents name exist'

mapfile -t words < <(cd "$srcdir" && cat Makefile.am */*.mk configure.ac quickstart \
    sql/* man/* etc/*.* etc/*/* tools/* tests/*/*.* src/*/*.[ch] src/*/*/*.[ch] \
    2> /dev/null |
    grep -aoE '[A-Za-z_][A-Za-z0-9_]*' | sort -u)
is "$(named '`@?[a-z]+_[a-z_]+(\(\))?`|\b[a-z_]+\(\)' | tr -d '@()' |
    sort -u | comm -23 - <(printf '%s\n' "${words[@]}"))" '' \
    'functions, fields and columns that the documents name exist'

# "store.c `name`", and "`name()` in src/store/store.c"
is "$({
	named '\b[a-z_]+\.c `[a-z_]+`'
	named '`[a-z_]+(\(\))?` (in |\()(src|tests)/[a-z_/]+\.[ch]\b' |
	    sed -E 's,^([a-z_]+).*/([a-z_.]+)$,\2 \1,'
    } | while read -r file name; do
	grep -rqw --include="$file" -- "$name" "$srcdir"/{src,tests} ||
	    echo "$file: $name"
    done)" '' 'names that the documents place in a file are there'
is "$(named '\bcheck_[a-z]+( `[a-z_]+`,?)+' | tr -d , |
    while read -r test names; do
	for name in $names; do
		grep -rqw -- "$name" "$srcdir"/tests/*/ || echo "$test: $name"
	done
    done)" '' 'cases that the documents name are in the tests'
done_testing
