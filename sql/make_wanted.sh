#!/bin/sh
# make_wanted.sh - print sql/wanted.c: the tables that schema check wants
#
#   sql/make_wanted.sh [DIR] > sql/wanted.c
#
# Loads the tables of schema.sql and inline.sql into a database of their own on
# the server of tools/sandbox in DIR, or on one that it starts, and asks it with
# src/ctl/schema/facts.sql for their columns and indexes.  The words of an ALTER
# and the rights of the daemon are those of the files.  Whatever the server, the
# output is the same: column_fact() has what differs.

set -eu
top=$(cd "$(dirname "$0")/.." && pwd)
sandbox=$top/tools/sandbox

if [ $# -eq 0 ]; then
	own=$(mktemp -d)
	trap '"$sandbox" stop "$own/db"; rm -rf "$own"' EXIT
	trap 'exit 1' HUP INT TERM
	"$sandbox" start "${KIND:-mariadb}" "$own/db" > /dev/null
	set -- "$own/db"
fi
dir=$1

client() { "$sandbox" sql "$dir" -N -B "$@"; }

# What the server makes of the tables in the text FILE
facts_of() {
	client -e 'CREATE DATABASE wanted CHARACTER SET utf8mb4'
	sed -n '/^CREATE TABLE/,/^)/p' "$1" | client wanted
	client wanted < "$top/src/ctl/schema/facts.sql"
	client -e "SELECT table_name, constraint_name
	    FROM information_schema.table_constraints WHERE table_schema =
	    'wanted' AND constraint_type = 'CHECK'; DROP DATABASE wanted"
}

{
	for file in schema inline; do
		echo "FILE $file"
		sed '/^--/d' "$top/sql/$file.sql"
		facts_of "$top/sql/$file.sql" | sed 's/^/FACT	/'
	done
	echo 'FILE grants'
	sed '/^--/d' "$top/sql/grants.sql"
} | awk -F '\t' '
function fail(text) {
	print "make_wanted.sh: " text > "/dev/stderr"
	failed = 1
	exit 1
}

# The name in C of a table: T_DEAD of outbox_dead_letters
function id(table) {
	if (table ~ /^outbox(_messages)?$/)
		return "T_OUTBOX"
	sub(/^outbox_/, "", table)
	sub(/_(letters|keys)$/, "", table)
	return "T_" toupper(table)
}

function bool(n) { return n == 1 ? "true" : "false" }

# MariaDB keeps JSON as a LONGTEXT.  What is called TEXT or BLOB has no length
# that somebody chose.
function column_fact(type, len, collation, nullable, optional, update) {
	if (type == "longtext" || type == "json") {
		type = "json"
		collation = ""
	}
	if (type ~ /json|text|blob/)
		len = 0
	return "\"" type "\", " len ", \"" collation "\", " bool(nullable) \
	    ", " bool(optional) ", " bool(update)
}

# A column, index or constraint as the file has it, in one line
function item(line) {
	text[file, table, count[file, table]] = \
	    text[file, table, count[file, table]] line " "
}

# "SELECT, UPDATE (a, b) ON outbox_settings TO ..."
function grant(line,    table, list) {
	table = line
	sub(/^.* ON /, "", table)
	sub(/ .*/, "", table)
	sub(/ ON .*/, "", line)
	while (match(line, /^[A-Z]+( \([^)]*\))?/)) {
		list = list ", \"" substr(line, 1, RLENGTH) "\""
		line = substr(line, RLENGTH + 1)
		sub(/^, /, "", line)
	}
	grants = grants "\t{ " id(table) ", { " substr(list, 3) " } },\n"
}

/^FILE / { file = substr($0, 6); table = ""; next }
$1 == "FACT" && NF == 3 { check[file, $2, $3] = 1 }
$1 == "FACT" && NF == 5 {
	if (!((file, $2, $3) in fact))
		fact[file, $2, $3] = bool($5 == 0) ", { \"" $4 "\""
	else
		fact[file, $2, $3] = fact[file, $2, $3] ", \"" $4 "\""
}
$1 == "FACT" && NF == 9 {
	fact[file, $2, $3] = column_fact($4, $5, $6, $7, $8, $9)
}
$1 == "FACT" { next }
file == "grants" {
	statement = statement $0 " "
	if ($0 !~ /;$/)
		next
	gsub(/[ \t]+/, " ", statement)
	sub(/^ ?GRANT /, "", statement)
	if (statement ~ / TO \047outbox\047@/)
		grant(statement)
	statement = ""
}
/^CREATE TABLE/ {
	sub(/.* EXISTS /, "")
	sub(/ .*/, "")
	table = $0
	tables[++ntables] = file SUBSEP table
	next
}
/^\)/ { table = "" }
table != "" {
	if ($0 ~ /^\t[A-Za-z]/)
		count[file, table]++
	item($0)
}

# The fact of a name; each is used once.
function take(where, name,    found) {
	if (!((where, name) in fact))
		fail("the server has no " name " of " where)
	found = fact[where, name]
	delete fact[where, name]
	return found
}

# The lists of a table
function print_table(where, table, c,    i, line, name, columns, keys, checks) {
	for (i = 1; i <= count[where]; i++) {
		line = text[where, i]
		gsub(/[ \t]+/, " ", line)
		sub(/^ /, "", line)
		sub(/,? $/, "", line)
		name = line
		sub(/^(UNIQUE )?KEY |^CONSTRAINT /, "", name)
		sub(/ .*/, "", name)
		if (line ~ /^CONSTRAINT /) {
			if (!((where, name) in check))
				fail("the server does not check " name)
			checks = checks "\t\"" line "\",\n"
		} else if (line ~ /^(PRIMARY |UNIQUE |)KEY /)
			keys = keys "\t{ \"" name "\", " take(where, name) \
			    " } },\n"
		else {
			sub(/^[^ ]* /, "", line)
			columns = columns "\t{ \"" name "\", " \
			    take(where, name) ",\n\t  \"" line "\" },\n"
		}
	}
	print "\nstatic const struct schema_column " c "[] = {\n" columns "};"
	print "static const struct schema_index " c "_keys[] = {\n" keys "};"
	if (checks != "")
		print "static const char *const " c "_checks[] = {\n" \
		    checks "\tNULL\n};"
	return "{ \"" table "\", LIST(" c "),\n\t    LIST(" c "_keys), " \
	    (checks == "" ? "NULL" : c "_checks") " }"
}

END {
	if (failed)
		exit 1
	print "/* wanted.c - what servers make of sql/, by make_wanted.sh */\n"
	print "#include \"ctl/schema/schema_impl.h\"\n"
	print "#define LIST(x)\tx, sizeof(x) / sizeof((x)[0])"
	for (i = 1; i <= ntables; i++) {
		split(tables[i], of, SUBSEP)
		c = of[2]
		if (of[1] == "inline")
			sub(/^outbox/, "inline", c)
		rows[of[1]] = rows[of[1]] "\t[" id(of[2]) "] = " \
		    print_table(tables[i], of[2], c) ",\n"
	}
	for (left in fact)
		fail("sql/ does not have " left)
	print "\nconst struct schema_wanted schema_wanted[NTABLES] = {"
	print rows["schema"] "};\n"
	print "const struct schema_wanted schema_wanted_inline[NTABLES] = {"
	print rows["inline"] "};\n"
	print "const struct schema_grant schema_wanted_grants[] = {"
	print grants "\t{ NTABLES, { NULL } }\n};"
}'
