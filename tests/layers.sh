#!/usr/bin/env bash
# layers.sh - does the code follow the table of rooms in src/README.md? (TAP)
#
# Needs no servers.  What the files call is read from their objects in the
# build directory, where outbox-master is.  Each rule is broken once on a copy
# of src/, to see that this is noticed.

srcdir=${srcdir:-$(dirname "$0")/..}
. "$srcdir/tests/lib/lib.sh"
builddir=$(dirname "$OUTBOX_MASTER")

# facts SRC: a line for each folder, README, header and include
facts() {
	(
		cd "$1" || exit
		find . -name '*.[ch]' | sed 's|^\./||; s|/[^/]*$||; s|^|dir |' |
		    sort -u
		find . -mindepth 2 -name README.md |
		    sed 's|^\./|readme |; s|/README.md$||'
		find . -name '*.h' | sed 's|^\./|header |'
		grep -rE --include='*.[ch]' '^[[:space:]]*#[[:space:]]*include' . |
		    sed -n 's|^\./\([^:]*\):[^<"]*[<"]\([^">]*\)[">].*|include \1 \2|p'
	)
}

# symbols SRC: what the objects define and use, by source file; an object
# without a source is of another time
symbols() {
	{
		(cd "$1" && find . -name '*.c')
		(cd "$builddir/src" && find . -name '*.o' -exec nm -A {} +)
	} | sed 's|^\./||' | awk '
	    NF == 1 { source[$1] = 1; next }
	    { file = $1; sub(/\.o:.*/, ".c", file) }
	    !(file in source) { next }
	    $(NF - 1) == "U" { print "uses", file, $NF }
	    $(NF - 1) ~ /^[TDBR]$/ { print "defines", file, $NF }'
}

# complaints: standard input has the table behind "|", facts and symbols; a
# line for each thing that is wrong, behind the rule that it breaks
complaints() {
	awk '
	function say(rule, text) { print rule ": " text }

	function room_of(file) { sub("/[^/]*$", "", file); return file }

	# May code of room a use what room b offers?
	function may(a, b,    list, n, i) {
		if (a == b || b == "util")
			return 1
		n = split(below[a], list, " ")
		for (i = 1; i <= n; i++)
			if (may(list[i], b))
				return 1
		return 0
	}

	# The names in backticks, or between two stars, with blanks between.
	function names(cell, mark,    all, part, n, i) {
		n = split(cell, part, mark)
		for (i = 2; i <= n; i += 2)
			all = all " " part[i]
		return all
	}

	function read_row(    cell, list, n, i, room) {
		split($0, cell, "|")
		room = names(cell[2], "`")
		gsub(/^ |\/$/, "", room)
		row[room] = ++nrows
		n = split(names(cell[4], "`"), list, " ")
		for (i = 1; i <= n; i++) {
			sub("/$", "", list[i])
			if (!(list[i] in row))
				say("table", room " includes " list[i] \
				    ", which has no row above it")
			else if (list[i] != room)
				below[room] = below[room] " " list[i]
		}
		n = split(names(cell[4], "[*][*]"), list, " ")
		for (i = 1; i <= n; i++)
			owner[list[i]] = owner[list[i]] " " room
		n = split(names(cell[5], "`"), list, " ")
		for (i = 1; i <= n; i++)
			door[room "/" list[i]] = 1
	}

	# Is it this header, or one of this folder, wherever it is installed?
	function is_third(name, h) {
		if (h ~ /\/$/)
			return index("/" name, "/" h) > 0
		return "/" h == substr("/" name, length(name) - length(h) + 1)
	}

	function check_third(file, name,    h) {
		for (h in owner)
			if (index(owner[h] " ", " " room_of(file) " ") == 0 &&
			    is_third(name, h))
				say("third", file " includes <" name \
				    ">, which is of" owner[h] " only")
	}

	function check_include(file, name,    from, to) {
		from = room_of(file)
		if (name !~ /\// && ((from "/" name) in header))
			name = from "/" name
		if (!(name in header)) {
			check_third(file, name)
			return
		}
		to = room_of(name)
		if (from == to)
			return
		used[name] = 1
		if (!may(from, to))
			say("up", file " includes " name ", but " from \
			    " may not include " to)
		if (!(name in door))
			say("private", file " includes " name \
			    ", which is no door of " to)
	}

	function check_call(file, symbol,    other) {
		other = defines[symbol]
		if (other == "" || other == file)
			return
		if (!may(room_of(file), room_of(other)))
			say("call", file " uses " symbol "() of " other \
			    ", which its room may not include")
		calls[file, other] = symbol
		if (!((other, file) in calls) || (other, file) in told)
			return
		told[file, other] = told[other, file] = 1
		say("circle", file " and " other " call each other: " \
		    symbol "(), " calls[other, file] "()")
	}

	/^\| `/ { read_row() }
	$1 == "dir" { dir[$2] = 1 }
	$1 == "readme" { readme[$2] = 1 }
	$1 == "header" { header[$2] = 1 }
	$1 == "include" { from[++nincludes] = $2; what[nincludes] = $3 }
	$1 == "defines" { defines[$3] = $2 }
	$1 == "uses" { user[++nuses] = $2; symbol[nuses] = $3 }

	END {
		for (d in dir) {
			if (!(d in row))
				say("table", d " has no row")
			if (!(d in readme))
				say("readme", d " has no README.md")
		}
		for (d in row)
			if (!(d in dir))
				say("table", d " has a row and no files")
		for (i = 1; i <= nincludes; i++)
			check_include(from[i], what[i])
		for (h in door) {
			if (!(h in header))
				say("door", h " is not there")
			else if (!(h in used))
				say("door", h " is used by its own room only")
		}
		for (i = 1; i <= nuses; i++)
			check_call(user[i], symbol[i])
		print "judged"
	}'
}

# judge SRC [more facts]: of a tree like src/
judge() {
	{
		cat "$1/README.md"
		facts "$1"
		cat "$DIR/symbols"
		[ $# -lt 2 ] || printf '%s\n' "${@:2}"
	} | complaints
}

# keeps RULE NAME: does the tree?
keeps() {
	is "$(grep "^$1: " "$DIR/found")" '' "$2"
}

# noticed RULE NAME [more facts]: of the copy that was just spoilt
noticed() {
	like "$(judge "$DIR/src" "${@:3}")" "^$1: " "noticed: $2"
	rm -rf "$DIR/src"
	cp -R "$srcdir/src" "$DIR/src"
	chmod -R u+w "$DIR/src"
}

reason=
: > "$DIR/symbols"
if ! command -v nm >/dev/null; then
	reason='no nm'
else
	symbols "$srcdir/src" > "$DIR/symbols"
	grep -q '^defines master/master.c master_' "$DIR/symbols" ||
	    reason="no objects in $builddir/src"
fi
judge "$srcdir/src" > "$DIR/found"
: > "$DIR/symbols"		# what is spoilt below has its own

# The table was read.
is "$(tail -n 1 "$DIR/found")" judged 'src/README.md was read'
like "$(facts "$srcdir/src" | grep -c '^include ')" '^[0-9]{3}' \
    'and the includes'

keeps table 'every folder has a row, and rooms include those above them'
keeps readme 'every folder has a README.md'
keeps up 'no include points up or sideways'
keeps private 'of another room only doors are included'
keeps door 'every door is used by another room'
keeps third 'third-party headers stay in their rooms'
if [ -n "$reason" ]; then
	ok 0 "no two files call each other # SKIP $reason"
	ok 0 "no call points up or sideways # SKIP $reason"
else
	keeps circle 'no two files call each other'
	keeps call 'no call points up or sideways'
fi

# A file that is in no list is missing in the tarball, or everywhere.
# lists SRC: what differs between the files of the rooms and their lists
lists() {
	(
		cd "$1" || exit
		diff <(find . -name '*.[ch]' |
		    sed 's|^\./\(.*\)/\([^/]*\)$|\1: src/\1/\2|' | sort) \
		    <(grep -ro --include=sources.mk 'src/[a-z0-9_/]*\.[ch]\b' . |
		    sed 's|^\./\(.*\)/sources.mk:|\1: |' | sort -u)
	)
}
is "$(lists "$srcdir/src")" '' 'sources.mk of a room lists its files'

# What goes to a terminal goes through display_print(), which lets no value move
# the cursor.  The others print constants, JSON, and what display_clean() saw.
prints() {
	(cd "$1" && grep -nE \
	    '(^|[^_a-z])(v?f?printf|puts|fputs|fwrite|perror)\(' -r ctl master |
	    grep -vE 'fputs\("|^ctl/(top/|help\.c|complete\.c)' |
	    grep -vE '^ctl/base/(args|screen|batch|document)\.c' |
	    grep -vE 'fputs\(usage_text|fwrite\(payload')
}
is "$(prints "$srcdir/src")" '' 'whatever is printed is cleaned'

# A value becomes SQL by db_quote(), a name by db_name().  These files have so
# many lines that quote a text by themselves: one that we made or checked, one
# that a server has quoted already, or a word for a shell.
quotes() {
	(cd "$1" && grep -rcE "['\`]%[-.*0-9]*s" --include='*.c' . |
	    sed -n 's|^\./||; /:0$/!p' | LC_ALL=C sort | xargs -n 1)
}
is "$(quotes "$srcdir/src")" 'ctl/base/args.c:1
ctl/complete.c:2
ctl/schema/schema_check.c:1
ctl/schema/trigger.c:1
ctl/setup/setup_account.c:4
ctl/setup/setup_sql.c:2
mysql/db_session.c:1
store/partition_by.c:1
store/store.c:1' 'no value or name is put into SQL in quotes of our own'

# The compiler takes literals alone for SQL, but for a struct made by hand.
by_hand() {
	grep -rnE '\(struct sql\) *\{' --include='*.c' "$1"
}
is "$(by_hand "$srcdir/src")" '' 'only literals are taken for SQL'

# What drivers differ in is a field of struct pub_ops or driver_traits.
names_drivers() {
	(cd "$1" && grep -rnE '\<DRIVER_[A-Z]' --include='*.[ch]' . |
	    sed 's|^\./||' | grep -vE '^(conf|drivers)/')
}
is "$(names_drivers "$srcdir/src")" '' 'no driver is asked for by its name'

# Wrong on purpose.
cp -R "$srcdir/src" "$DIR/src"
chmod -R u+w "$DIR/src"

echo '#include "worker/worker.h"' >> "$DIR/src/store/store.c"
noticed up 'an include that points up'

echo 'printf("%s", x);' >> "$DIR/src/ctl/daemon/probe.c"
check 'a value that is printed as it is: noticed' \
    [ -n "$(prints "$DIR/src")" ]

echo 'buf_printf(sql, "x = '"'%.*s'"'", n, x);' >> "$DIR/src/store/prune.c"
like "$(quotes "$DIR/src")" 'store/prune.c:1' 'a value in quotes: noticed'
touch "$DIR/src/store/new.h"
is "$(lists "$DIR/src" | tail -n 1)" '< store: src/store/new.h' \
    'a file that is not listed: noticed'

echo 'filter_put_key(s, (struct sql){ x }, key);' >> "$DIR/src/store/prune.c"
like "$(by_hand "$DIR/src")" 'store/prune.c' 'a text as SQL: noticed'
echo 'bool b = driver == DRIVER_NATS;' >> "$DIR/src/publish/relay.c"
like "$(names_drivers "$DIR/src")" '^publish/relay.c' 'a driver by its name: noticed'
! is_short || done_testing

mkdir "$DIR/src/attic"
echo 'int attic;' > "$DIR/src/attic/attic.c"
echo 'nothing' > "$DIR/src/attic/README.md"
noticed table 'a folder without a row'

sed -i 's/^| `util\/` |[^|]*|/& `master\/`/' "$DIR/src/README.md"
noticed table 'a room that is to include one below it'

rm "$DIR/src/conf/README.md"
noticed readme 'a folder without a README.md'

echo '#include "janitor/janitor.h"' >> "$DIR/src/listener/listener.c"
noticed up 'an include that points sideways'

echo '#include "mysql/db_impl.h"' >> "$DIR/src/store/store.c"
noticed private 'a private header of another room'

sed -i 's/`counts.h`/& `conf_impl.h`/' "$DIR/src/README.md"
noticed door 'a door that no other room uses'

for header in mysql.h mariadb/mysqld_error.h errmsg.h mariadb_rpl.h \
    nats/nats.h yaml.h; do
	echo "# include <$header>" >> "$DIR/src/store/store.c"
	noticed third "$header in another room"
done

noticed circle 'two files that call each other' \
    'defines util/buf.c one' 'defines util/err.c other' \
    'uses util/err.c one' 'uses util/buf.c other'

noticed call 'a call that points up' \
    'defines worker/worker.c one' 'uses store/store.c one'

done_testing
