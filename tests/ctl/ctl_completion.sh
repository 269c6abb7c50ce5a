#!/usr/bin/env bash
# The bash completion: it names each command and each option, and completes.
. "${srcdir:-$(dirname "$0")/../..}/tests/lib/ctl.sh"

"$OUTBOXCTL" --completions > "$DIR/completion"
is $? 0 'the program makes it'
if [ -e completions/outboxctl ]; then
	cmp -s completions/outboxctl "$DIR/completion"
	ok $? 'what is installed is what it makes'
fi
bash -n "$DIR/completion"
ok $? 'it is bash'
# shellcheck source=/dev/null
. "$DIR/completion"

# completes LINE WANTED NAME: the last word of the line
completes() {
	# shellcheck disable=SC2206
	COMP_WORDS=(outboxctl $1)
	[ "${1% }" = "$1" ] && [ -n "$1" ] || COMP_WORDS+=('')
	COMP_CWORD=$((${#COMP_WORDS[@]} - 1))
	_outboxctl
	is "$(printf '%s\n' "${COMPREPLY[@]}" | LC_ALL=C sort | tr '\n' ' ')" \
	    "$2 " "$3"
}

while IFS='|' read -r _ words; do
	first=${words%% *}
	COMP_WORDS=(outboxctl '') COMP_CWORD=1
	_outboxctl
	printf '%s\n' "${COMPREPLY[@]}" | grep -qx -- "$first"
	ok $? "$words: its first word is offered"
	options=$("$OUTBOXCTL" ${words} --help | grep -Eo '^  --[a-z-]+' |
	    tr -d ' ')
	completes "$words --" \
	    "$(printf '%s\n' --help $options | LC_ALL=C sort | tr '\n' ' ' |
	    sed 's/ $//')" "$words: its options are those of its help"
done < <(grep -Eo 'words = "[a-z -]+"' "$srcdir/src/ctl/main.c" |
    cut -d'"' -f2 | sed 's/^/|/')

completes 'reco' reconcile 'a word'
completes '--json -c x.yml reco' reconcile 'behind what is for all'
completes 'status --wa' --watch 'an option'
completes 'status ' '' 'nothing follows a whole command'
completes '--js' --json 'an option for all'
touch "$DIR/file.yml"
completes "-c $DIR/file" "$DIR/file.yml" 'a file'
done_testing
