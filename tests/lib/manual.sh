# manual.sh - the examples of the manual pages as files; sourced by bash

# shellcheck shell=bash disable=SC2154

# manual_blocks PAGE DIR: each literal block of the page as DIR/1, DIR/2, ...
manual_blocks() {
	mkdir -p "$2"
	awk -v dir="$2" '
	/^\.Bd -literal/ { inside = 1; n++; next }
	/^\.Ed/ { inside = 0 }
	inside {
		gsub(/\\e/, "\\")
		sub(/^\\&/, "")
		print > (dir "/" n)
	}' "$1"
}

# manual_block PAGE REGEX: the block that has a line like this
manual_block() {
	local dir=$DIR/blocks.$BASHPID
	manual_blocks "$1" "$dir"
	cat "$(grep -lE -- "$2" "$dir"/* | head -n 1)"
}
