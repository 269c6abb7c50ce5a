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

outboxctl() { "$OUTBOXCTL" "$@"; }

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

# Values: fixed ones, and those of the database.
completes 'messages list --state de' 'dead delivered delivering' \
    '--state: completes the states'
start_servers
write_conf
sql "INSERT INTO outbox_partitions (partition_key) VALUES
	('p00'), ('p01'), ('vip'), ('\$(touch x)'), ('');
    INSERT INTO events (stream_id, stream_sequence, event_type, event_data)
	VALUES ('k', 1, 'order.paid', ''), ('k', 2, 'order.made', ''),
	('k', 3, 'invoice.sent', '')"
completes "-c $CONF messages list --partition p" 'p00 p01' \
    '--partition: completes labels of the database'
completes "-c $CONF partitions pause " 'p00 p01 vip' \
    'partitions pause: completes labels, and none that a shell would expand'
completes "-c $CONF partitions pause vip p0" 'p00 p01' \
    'partitions pause: completes each of several labels'
completes "-c $CONF messages replay --type order." 'order.made order.paid' \
    '--type: completes types of the newest events'
echo 'publish: {types: [order.lost]}' > "$DIR/types.yml"
grep -v '^publish' "$CONF" >> "$DIR/types.yml"
completes "-c $DIR/types.yml messages replay --type order.l" order.lost \
    '--type: completes types of the configuration'
pid=$(. "$DIR/db/env" && cat "$PIDFILE")
kill -STOP "$pid"
before=$(now_ms)
completes "-c $CONF partitions pause " '' \
    'a database that does not answer: no label'
[ $(($(now_ms) - before)) -lt 3000 ]
ok $? 'a database that does not answer: no longer than a second'
kill -CONT "$pid"
is "$("$OUTBOXCTL" -c "$DIR/none.yml" --values labels 2>&1)" '' \
    'no configuration: nothing, and no error'

touch "$DIR/file.yml"
completes "-c $DIR/file" "$DIR/file.yml" '-c: completes the name of a file'

# outbox-master
# shellcheck source=/dev/null
. "$srcdir/completions/outbox-master"
COMP_WORDS=(outbox-master --) COMP_CWORD=1
_outbox_master
is "$(printf '%s\n' "${COMPREPLY[@]}" | sort)" \
    "$("$OUTBOX_MASTER" --help | grep -Eo -- ' --[a-z-]+' | tr -d ' ' | sort)" \
    'outbox-master --: completes the options that its help has'
COMP_WORDS=(outbox-master -c "$DIR/file") COMP_CWORD=2
_outbox_master
is "${COMPREPLY[*]}" "$DIR/file.yml" 'outbox-master -c: completes a file'
done_testing
