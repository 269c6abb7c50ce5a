# page.sh - the examples of a page of doc/; sourced by bash after lib.sh
#
# page_block PAGE REGEX: the first indented block that has a line like this,
# without its indent.
# page_run NAME REGEX: run that block of $PAGE as a script of the shell.  The test
# has page_edit, which puts its own paths and addresses in the place of those of
# the page, and page_programs, which makes functions in place of programs.

# shellcheck shell=bash disable=SC2154

page_block() {
	awk -v regex="$2" '
	/^ *$/ { blank = blank "\n"; next }
	!/^    / { if (found) exit; block = blank = ""; next }
	{
		if (block == "") {
			match($0, /^ */)
			indent = RLENGTH
			blank = ""
		}
		block = block blank substr($0, indent + 1) "\n"
		blank = ""
		if (substr($0, indent + 1) ~ regex) found = 1
	}
	END { if (found) printf "%s", block }' "$1"
}

page_run() {
	local block
	block=$(page_block "$PAGE" "$2" | page_edit)
	[ -n "$block" ] || { ok 1 "$1: the page has it: $2"; return 1; }
	(page_programs; set -e; eval "$block") > "$DIR/block" 2>&1
	ok $? "$1" && return
	sed 's/^/# /' "$DIR/block"
	return 1
}
