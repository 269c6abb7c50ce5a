#!/usr/bin/env bash
# outboxctl: options and errors of all commands, and commands without a database
. "${srcdir:-$(dirname "$0")/../..}/tests/lib/ctl.sh"

start_servers
write_conf

fails 2 '^usage: outboxctl' 'outboxctl without arguments'
exits 0 '--help: exit status 0' --help
for command in $(grep -Eo 'words = "[a-z -]+"' "$srcdir/src/ctl/main.c" |
    cut -d'"' -f2 | tr ' ' '_'); do
	like "$OUT" "^  ${command//_/ } " "--help names ${command//_/ }"
	check "the manual has ${command//_/ }" \
	    has_line "$srcdir/man/outboxctl.1" "^\.It Ic ${command//_/ }( |\$)"
done
for help in -h --help; do
	exits 0 "messages list $help: exit status 0" messages list "$help"
	like "$OUT" '^ +--until TIME +before' \
	    "messages list $help: its options"
done
for words in 'messages --help' 'messages -h' 'help messages'; do
	# shellcheck disable=SC2086
	ctl $words
	is "$RC $(grep -c '^  messages ' <<< "$OUT")" \
	    "0 $(grep -c 'words = "messages ' "$srcdir/src/ctl/main.c")" \
	    "outboxctl $words: the commands of the group"
	is "$(grep -c '^  dead ' <<< "$OUT")" 0 \
	    "outboxctl $words: no command of another group"
done
"$OUTBOXCTL" --help > "$DIR/help"
"$OUTBOXCTL" help | cmp -s "$DIR/help" -
ok $? 'outboxctl help prints what --help prints'
"$OUTBOXCTL" messages show --help > "$DIR/help"
for words in 'help messages show' 'messages show 7 --payload --help'; do
	# shellcheck disable=SC2086
	"$OUTBOXCTL" $words | cmp -s "$DIR/help" -
	ok $? "outboxctl $words prints what messages show --help prints"
done
matches '^outbox-master [0-9]' '--version prints the version' --version

refuses <<'EOF'
frobnicate:_unknown_command frobnicate
healthz.readyz_.critical._is_missing;_usage:_outboxctl_probe_healthz probe
dead:_its_command_is_missing_or_unknown;_known:_dead_groups,_dead_list,_dead_show, dead
schema:_its_command_is_missing_or_unknown;_known:_schema_print, schema mend
frobnicate:_unknown_command help frobnicate
frobnicate:_unknown_command frobnicate --help
--frobnicate:_unknown_option --frobnicate dead list
--config:_its_value_is_missing --config
not_an_option dead list --frobnicate
not_an_option dead list --state dead
not_an_option dead list --dry-run
-x:_not_an_option messages discard 1 -x
-x:_not_an_option messages discard 1 -xy
--frob=3:_not_an_option messages discard 1 --frob=3 2
--type:_not_an_option messages discard 1 --type ok
--json:_it_takes_no_value dead list --json=4
--limit:_its_value_is_missing dead list --key k --limit
not_a_number dead list --limit 0
not_a_number dead list --limit 1x
unexpected_argument dead list 7
EOF

fails 78 'none.yml' 'a configuration file that does not exist' \
    -c "$DIR/none.yml" dead list

sed 's/max_attempts: [0-9]*/max_attempts: 4/; s/max_backoff: [0-9]*/max_backoff: 3/' \
    "$CONF" > "$DIR/plan.yml"
shows '[.[] | .delay_ms] | join(" ")' '0 1000 2000 3000' \
    'retry-plan: the delay before each attempt' -c "$DIR/plan.yml" retry-plan
shows '[.[] | .after_ms] | join(" ")' '0 1000 3000 6000' \
    'retry-plan: sums of the delays'
ctl -c "$DIR/plan.yml" retry-plan
like "$OUT" '^4 +3 s +6 s$' 'retry-plan without --json: a table'
ctl config
is "$OUT" "$("$OUTBOX_MASTER" -c "$CONF" -T)" 'config prints the dump of -T'
cp "$CONF" "$DIR/types.yml"
sed -i 's/claim_ttl: [0-9]*/claim_ttl: 30500ms/' \
    "$DIR/types.yml"
ctl -c "$DIR/types.yml" --json config
is "$RC$ERR" 0 'config --json: exit status 0'
shows '[.master.workers, .master.stop_timeout, .worker.claim_ttl,
    .worker.leasing, .retry.jitter, .nats.servers, .nats.recover,
    .mysql.tls.mode, .mysql.password_env] | map(tostring) | join(" ")' \
    "2 15 30.5 true 0.2 [\"$URL\"] lost auto OUTBOX_PW" \
    'config --json: values have their types'
is "$(grep -c "$OUTBOX_PW" <<< "$OUT")" 0 'config --json has no secret'
like "$OUT" '"jitter":0\.2,' 'config --json: 0.2 is printed as 0.2'
echo "$OUT" > "$DIR/types.json"
is "$("$OUTBOX_MASTER" -c "$DIR/types.json" -T)" \
    "$("$OUTBOX_MASTER" -c "$DIR/types.yml" -T)" \
    'the daemon reads config --json as the same configuration'

#
# dead list
#
ctl dead list
is "$RC$OUT" 0 'dead list without dead letters prints nothing'
ctl dead list --json
shows '.rows' '[]' 'dead list --json without dead letters: an empty list'
sql "INSERT INTO outbox_dead_letters (global_sequence, partition_key, order_key,
    event_type, attempts, reason, last_error, created_at, died_at) VALUES
    (7, 'p01', 'order-1', 'order.paid', 25, 'attempts', 'no ''way''\n\x1b[2J',
    '2026-01-31 12:00:00', '2026-01-31 12:30:00.5'),
    (9, NULL, NULL, NULL, 1, 'message', 'schön', NULL, NOW(6))"
ctl --json dead list
shows '.rows[0] | [.sequence, .key, .type, .attempts, .reason] | join(" ")' \
    '7 order-1 order.paid 25 attempts' \
    'dead list --json: sequence, key, type, attempts and reason'
shows '.rows[0] | .created_at + " " + .died_at' \
    '2026-01-31T12:00:00.000000Z 2026-01-31T12:30:00.500000Z' \
    'dead list --json: both times in ISO 8601'
shows '.rows[1] | [.key, .partition, .error]' \
    '[null,null,"schön"]' 'dead list --json: NULL is null, text is UTF-8'
ctl dead list
is "$(grep -c . <<< "$OUT")" 3 'dead list: a heading, a line for each letter'
is "$(tr -d '\n -~äöü' <<< "$OUT")" '' \
    'dead list: control characters are not printed as they are'
ctl --json dead list --limit 1
shows '[.rows[].sequence]' '[7]' 'dead list --limit 1: the first row only'
ctl --json dead list --after 7
shows '[.rows[].sequence]' '[9]' 'dead list --after 7: rows behind sequence 7'

#
# A schema newer than we know: nothing is changed, and all is shown.
#
sql 'UPDATE outbox_settings SET schema_version = 99'
before=$(tables)
while read -r command; do
	# shellcheck disable=SC2086
	exits 1 "$command with a newer schema: exit status 1" $command
	like "$ERR" '^outboxctl: [a-z ]+: schema version 99 is newer than' \
	    "$command with a newer schema: the error says why"
done <<'EOF'
messages retry 1
messages discard 1
dead retry 7
dead purge --all
dead purge --all --dry-run
keys release order-1
enqueue
prune
reconcile --all
schema install
schema upgrade
EOF
is "$(tables)" "$before" 'commands that refuse a newer schema change no table'
for command in status workers 'partitions list' 'messages list' 'dead list' \
    'keys blocked'; do
	# shellcheck disable=SC2086
	ctl $command
	[ "$RC" -le 1 ] && [ -n "$ERR" ]
	ok $? "$command with a newer schema: prints and warns"
	like "$ERR" '^outboxctl: .*: schema version 99 is newer than .*may be wrong$' \
	    "$command with a newer schema: the warning says why"
done
sql 'UPDATE outbox_settings SET schema_version = 2'

#
# Missing rights and servers
#
sql "REVOKE SELECT ON outbox_dead_letters FROM 'outbox'@'localhost'"
fails 1 '^outboxctl: .*outbox_dead_letters' \
    'dead list without the right to read the table' dead list
"$SANDBOX" stop "$DIR/db" >/dev/null
fails 3 "^outboxctl: mysql $SOCKET: connect" \
    'dead list without a database server' dead list
done_testing
