#!/usr/bin/env bash
# The bash completion: it names each command and each option, and completes.
. "${srcdir:-$(dirname "$0")/../..}/tests/lib/ctl.sh"

"$OUTBOXCTL" --completions > "$DIR/completion"
is $? 0 '--completions: exit status 0'
if [ -e completions/outboxctl ]; then
	check 'the installed completion is what --completions prints' \
	    cmp -s completions/outboxctl "$DIR/completion"
fi
check 'the completion has no syntax error of bash' bash -n "$DIR/completion"
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
	ok $? "$words: the first word is completed"
	options=$("$OUTBOXCTL" ${words} --help | grep -Eo '^  --[a-z-]+' |
	    tr -d ' ')
	completes "$words --" \
	    "$(printf '%s\n' --help $options | LC_ALL=C sort | tr '\n' ' ' |
	    sed 's/ $//')" "$words --: completes the options that its help has"
done < <(grep -Eo 'words = "[a-z -]+"' "$srcdir/src/ctl/main.c" |
    cut -d'"' -f2 | sed 's/^/|/')

completes 'help reco' reconcile 'help reco: completes the command'
completes 'help messages sh' show 'help messages sh: completes the command'
completes 'reco' reconcile 'reco: completes the command'
completes '--json -c x.yml reco' reconcile \
    'a command is completed behind options for all commands'
completes 'status --wa' --watch 'status --wa: completes the option'
completes 'status ' '' 'a whole command: nothing is completed'
completes '--js' --json '--js: completes an option of all commands'
touch "$DIR/file.yml"
completes "-c $DIR/file" "$DIR/file.yml" '-c: completes the name of a file'
done_testing
