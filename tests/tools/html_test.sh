#!/usr/bin/env bash
# make html: the manual pages as HTML; each link leads somewhere, each page is
# in the index and well formed, and without mandoc one line says what is missing
. "${srcdir:-$(dirname "$0")/../..}/tests/lib/lib.sh"

ERR=$(MANDOC=$DIR/none "$srcdir/packaging/html" "$DIR/none" 2>&1)
is "$? $ERR" '1 make html: mandoc is not installed (Debian: apt install mandoc)' \
    'without mandoc it says so in one line'
check 'and makes nothing' [ ! -e "$DIR/none" ]
command -v mandoc > /dev/null || done_testing

html=$DIR/html
"$srcdir/packaging/html" "$html"
is $? 0 'with mandoc it succeeds'
is "$(cd "$html" && echo *.html)" \
    "$(cd "$srcdir/man" && printf '%s\n' ./*.[1-8] ./index |
	sed 's,^\./\(.*\),\1.html,' | LC_ALL=C sort | xargs)" \
    'each page of the manual is there, and an index'

# attributes NAME FILE...: the values of this attribute
attributes() { grep -oh " $1=\"[^\"]*\"" "${@:2}" | cut -d'"' -f2; }

# A target is a page, or a page#id; those elsewhere are not looked at.
for page in "$html"/*.html; do
	name=${page##*/}
	echo "$name"
	attributes id "$page" | sed "s/^/$name#/"
done > "$DIR/targets"
echo manual.css >> "$DIR/targets"
is "$(sort "$DIR/targets" | uniq -d)" '' 'no id is there twice in a page'
for page in "$html"/*.html; do
	attributes href "$page" | grep -v '^https://' |
	    sed "s/^#/${page##*/}&/"
done | sort -u > "$DIR/links"
is "$(sort "$DIR/targets" | comm -13 - "$DIR/links")" '' 'no link is broken'
is "$(attributes href "$html/index.html" | grep -c '\.html$')" \
    "$(ls "$srcdir"/man | wc -l)" 'the index has all pages'
for page in "$html"/*.[1-8].html; do
	check "${page##*/} leads to the index" has_line "$page" 'href="index.html"'
done
check 'pages lead to each other' has_line "$html/outboxctl.1.html" \
    'href="outbox-tables.7.html"'
check 'other manual pages are those of Debian' has_line \
    "$html/outbox-master.8.html" 'href="https://manpages.debian.org/logrotate.8"'

# The form that XML allows, too: each element is closed, each attribute quoted.
if command -v python3 > /dev/null; then
	ERR=$(cd "$html" && python3 -c 'import sys, xml.etree.ElementTree as t
[t.parse(f) for f in sys.argv[1:]]' ./*.html 2>&1)
	is "$?" 0 'all pages are well formed' || say "$ERR"
fi
done_testing
