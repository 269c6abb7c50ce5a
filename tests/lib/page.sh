# page.sh - the examples of a page of doc/; sourced by bash after lib.sh
#
# page_block PAGE REGEX: the first indented block that has a line like this,
# without its indent.
# page_run NAME REGEX: run that block of $PAGE as a script of the shell, with
# the functions that page_programs makes in place of programs; the files of /etc
# and /var/lib are in $ROOT.

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
	block=$(page_block "$PAGE" "$2" |
	    sed -E "s,(/etc/|/var/lib/),$ROOT\1,g")
	[ -n "$block" ] || { ok 1 "$1: the page has it: $2"; return 1; }
	(page_programs; set -e; eval "$block") > "$DIR/block" 2>&1
	ok $? "$1" || sed 's/^/# /' "$DIR/block"
}
