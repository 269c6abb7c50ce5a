#!/usr/bin/env bash
# outboxctl: what all commands share, and those that need no database.
. "${srcdir:-$(dirname "$0")/../..}/tests/lib/ctl.sh"

start_servers
write_conf

ctl
is "$RC" 2 'nothing is a wrong use'
like "$ERR" '^usage: outboxctl' 'and the usage is told'
ctl --help
is "$RC" 0 'help is none'
for command in $(grep -Eo 'words = "[a-z -]+"' "$srcdir/src/ctl/main.c" |
    cut -d'"' -f2 | tr ' ' '_'); do
	like "$OUT" "^  ${command//_/ } " "help names ${command//_/ }"
	has_line "$srcdir/man/outboxctl.1" "^\.It Ic ${command//_/ }( |\$)"
	ok $? "the manual has ${command//_/ }"
done
for help in -h --help; do
	ctl messages list "$help"
	is "$RC" 0 "messages list $help"
	like "$OUT" '^ +--until TIME +before' 'tells its options'
done
ctl --version
like "$OUT" '^outbox-master [0-9]' 'version'

refuses <<'EOF'
2 frobnicate:_unknown_command frobnicate
2 unknown_command;_known:_dead_list,_dead_show, dead
2 unknown_command;_known:_schema_print,_schema_install, schema mend
2 --frobnicate:_unknown_option --frobnicate dead list
2 --config:_its_value_is_missing --config
2 not_an_option dead list --frobnicate
2 not_an_option dead list --state dead
2 not_an_option dead list --dry-run
2 -x:_not_an_option messages discard 1 -x
2 -x:_not_an_option messages discard 1 -xy
2 --frob=3:_not_an_option messages discard 1 --frob=3 2
2 --type:_not_an_option messages discard 1 --type ok
2 --json:_it_takes_no_value dead list --json=4
2 --limit:_its_value_is_missing dead list --key k --limit
2 not_a_number dead list --limit 0
2 not_a_number dead list --limit 1x
2 unexpected_argument dead list 7
EOF

ctl -c "$DIR/none.yml" dead list
is "$RC" 78 'no configuration'
like "$ERR" 'none.yml' 'and it is named'

sed 's/max_attempts: [0-9]*/max_attempts: 4/; s/max_backoff: [0-9]*/max_backoff: 3/' \
    "$CONF" > "$DIR/plan.yml"
ctl -c "$DIR/plan.yml" --json retry-plan
is "$(field '[.[] | .delay_ms] | join(" ")')" '0 1000 2000 3000' \
    'the plan has the delays'
is "$(field '[.[] | .after_ms] | join(" ")')" '0 1000 3000 6000' \
    'and their sums'
ctl -c "$DIR/plan.yml" retry-plan
like "$OUT" '^4 +3.0s +6.0s$' 'and a table for people'
ctl config
is "$OUT" "$("$OUTBOX_MASTER" -c "$CONF" -T)" 'config is the dump of -T'

#
# dead list
#
ctl dead list
is "$RC$OUT" 0 'no dead letter: nothing is printed'
ctl dead list --json
is "$(field '.rows | tostring')" '[]' 'and an empty list as JSON'
sql "INSERT INTO outbox_dead_letters (global_sequence, partition_key, order_key,
    event_type, attempts, reason, last_error, created_at, died_at) VALUES
    (7, 'p01', 'order-1', 'order.paid', 25, 'attempts', 'no ''way''\n\x1b[2J',
    '2026-01-31 12:00:00', '2026-01-31 12:30:00.5'),
    (9, NULL, NULL, NULL, 1, 'message', 'schön', NULL, NOW(6))"
ctl --json dead list
is "$(field '.rows[0] | [.sequence, .key, .type, .attempts, .reason] | join(" ")')" \
    '7 order-1 order.paid 25 attempts' 'a dead letter as JSON'
is "$(field '.rows[0] | .created_at + " " + .died_at')" \
    '2026-01-31T12:00:00.000000Z 2026-01-31T12:30:00.500000Z' 'with its times'
is "$(field '.rows[1] | [.key, .partition, .error] | tostring')" \
    '[null,null,"schön"]' 'NULL is null'
ctl dead list
is "$(grep -c . <<< "$OUT")" 3 'for people a line each, and a head'
is "$(tr -d '\n -~äöü' <<< "$OUT")" '' 'and nothing that moves their cursor'
ctl --json dead list --limit 1
is "$(field '[.rows[].sequence] | tostring')" '[7]' 'no more than the limit'
ctl --json dead list --after 7
is "$(field '[.rows[].sequence] | tostring')" '[9]' 'and on behind the last one'

#
# A schema newer than we know: nothing is changed, and all is shown.
#
sql 'UPDATE outbox_settings SET schema_version = 99'
before=$(tables)
while read -r command; do
	# shellcheck disable=SC2086
	ctl $command
	is "$RC" 1 "$command: refused"
	like "$ERR" '^outboxctl: [a-z ]+: schema version 99 is newer than' \
	    'and it is said why'
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
is "$(tables)" "$before" 'nothing was changed'
for command in status workers 'partitions list' 'messages list' 'dead list' \
    'keys blocked'; do
	# shellcheck disable=SC2086
	ctl $command
	[ "$RC" -le 1 ] && [ -n "$ERR" ]
	ok $? "$command is shown"
	like "$ERR" '^outboxctl: .*: schema version 99 is newer than .*may be wrong$' \
	    'with a warning'
done
sql 'UPDATE outbox_settings SET schema_version = 1'

#
# What is not as it should be.
#
sql "REVOKE SELECT ON outbox_dead_letters FROM 'outbox'@'localhost'"
ctl dead list
is "$RC" 1 'no right to read'
like "$ERR" '^outboxctl: .*outbox_dead_letters' 'and it is said to what'
"$SANDBOX" stop "$DIR/db" >/dev/null
ctl dead list
is "$RC" 69 'the server is away'
like "$ERR" "^outboxctl: mysql $SOCKET: connect" 'and it is said which'
done_testing
