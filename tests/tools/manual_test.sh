#!/usr/bin/env bash
# The manual pages: mandoc has nothing against them, they are installed, and
# each example is what its program takes
. "${srcdir:-$(dirname "$0")/../..}/tests/lib/lib.sh"
. "$srcdir/tests/lib/manual.sh"

export OUTBOX_MYSQL_DATABASE=app OUTBOX_MYSQL_PASSWORD_FILE='' \
    OUTBOX_MASTER_USER=''
echo '{}' > "$DIR/empty.yml"
sections=$("$OUTBOX_MASTER" -c "$DIR/empty.yml" -T |
    sed -n 's/^\([a-z]*\):.*/\1/p' | paste -sd '|')

# Files that examples name lie in a directory of the test.
mkdir -p "$DIR/etc/outbox"
install_file() { mkdir -p "${1%/*}" && echo "a-secret-that-is-long-enough-for-${1##*/}" > "$1" && chmod o= "$1"; }

# takes_configuration FILE: what it leaves out is in the environment
takes_configuration() {
	local file
	sed -i "s,/etc/,$DIR/etc/,g" "$1"
	grep -o "$DIR/etc/[a-z0-9_./-]*" "$1" | while read -r file; do
		install_file "$file"
	done
	"$OUTBOX_MASTER" -c "$1" -t
}

# takes_haproxy FILE: also where its check command is not installed
takes_haproxy() {
	sed -i "s,/etc/haproxy/is-writable,/bin/true,
	    s/db[1-3]\.example\.org/127.0.0.1/" "$1"
	"$haproxy" -c -f "$1"
}

# takes_nats FILE: names that no resolver knows are no fault of it.  2.9 does not
# know sync_interval, as the manual says.
takes_nats() {
	sed -i "s,/var/lib/nats,$DIR/nats,
	    s/nats\([1-3]\)\.example\.org/127.0.0.\1/g" "$1"
	[[ $(nats-server --version) != *v2.9.* ]] || sed -i /sync_interval/d "$1"
	nats-server -t -c "$1"
}

# takes_server PROGRAM FILE: no variable that it does not know
takes_server() {
	! "$1" --defaults-file="$2" --verbose --help 2>&1 |
	    grep -E 'unknown (variable|option)'
}

haproxy=$(PATH=$PATH:/usr/sbin command -v haproxy)
mariadbd=$(PATH=$PATH:/usr/sbin command -v mariadbd)
nconf=0
for page in "$srcdir"/man/*; do
	name=${page##*/}
	check "$name: in dist_man_MANS" has_line "$srcdir/Makefile.am" "man/$name( |$)"
	if command -v mandoc > /dev/null; then
		is "$(mandoc -T lint -W warning "$page" 2>&1)" '' \
		    "$name: mandoc has no warning"
	fi
	manual_blocks "$page" "$DIR/$name"
	for block in "$DIR/$name"/*; do
		[ -e "$block" ] || continue
		first=$(head -n 1 "$block")
		if [[ $first =~ ^($sections):($|\ ) ]]; then
			out=$(takes_configuration "$block" 2>&1)
			ok $? "$name: outbox-master takes: $first" || say "$out"
			nconf=$((nconf + 1))
		elif [ "$first" = global ] && [ -n "$haproxy" ]; then
			out=$(takes_haproxy "$block" 2>&1)
			ok $? "$name: haproxy takes its file" || say "$out"
		elif [[ $first = server_name:* ]]; then
			out=$(takes_nats "$block" 2>&1)
			ok $? "$name: nats-server takes its file" || say "$out"
		elif [ "$first" = '[mariadb]' ] && [ -n "$mariadbd" ]; then
			out=$(takes_server "$mariadbd" "$block")
			ok $? "$name: mariadbd knows the variables" || say "$out"
		elif [[ $first = '#!/bin/sh' ]]; then
			check "$name: the script can be parsed" sh -n "$block"
		fi
	done
done
check 'there are configurations among them' [ "$nconf" -ge 7 ]

# What a reader of a page believes: the programs have no other exit status, and
# a table fits a terminal.
is "$(cat "$srcdir"/man/* | grep -Eo 'exit status (is|of) [0-9]+' |
    grep -vE ' (0|1|2|3|77|78)$')" '' 'no page names another exit status'
if command -v mandoc > /dev/null; then
	is "$(for page in "$srcdir"/man/*; do
		mandoc -T utf8 -O width=78 "$page" | sed -E 's/.\x08//g' |
		    LC_ALL=C.UTF-8 grep -E '^ {5}[^ ].{74}'
	    done)" '' 'no line of text or of a table is wider than 78 columns'
fi
done_testing
