#!/usr/bin/env bash
# outboxctl audit list: the changes, newest first, by time, command and user
. "${srcdir:-$(dirname "$0")/../..}/tests/lib/ctl.sh"

start_servers
write_conf
as_operator

ctl audit list
is "$RC$OUT$ERR" 0 'audit list without changes prints nothing'
shows . '{"rows":[],"looked_at":0,"next":null}' \
    'audit list --json without changes' audit list
put_row a 1
put_row b 1
ctl -c "$OP" messages discard 1
ctl -c "$OP" dead retry 1
ctl -c "$OP" prune --dry-run
ctl --json audit list
is "$RC$ERR" 0 'audit list: exit status 0'
shows '[.rows[] | [.id, .command, .arguments, .changed] | join(" ")]' \
    '["2 dead retry 1 1","1 messages discard 1 1"]' \
    'audit list: the latest first, without dry runs'
like "$(field '.rows[0].user')" "^$(id -un)@" 'audit list: the Unix user'
shows '.rows[0].login' operator@localhost 'audit list: the login' audit list
like "$(field '.rows[0].at')" '^20[0-9-]+T[0-9:.]+Z$' 'audit list: the time'
ctl audit list
is "$(grep -c . <<< "$OUT")" 3 'audit list: a heading, a line for each change'
like "$OUT" '^2 .* 1 +dead retry +1$' 'audit list: a change in the table'

sql "DELETE FROM outbox_audit;
    INSERT INTO outbox_audit (id, at, login, unix_user, command, arguments,
	changed) VALUES
    (11, NOW(6) - INTERVAL 3 DAY, 'outbox@localhost', 'alice@h1',
	'messages discard', '1 2', 2),
    (12, NOW(6) - INTERVAL 2 DAY, 'ops@%', 'root for bob@h1',
	'messages retry', '3', 1),
    (13, NOW(6) - INTERVAL 1 DAY, 'outbox@localhost', 'alice@h2',
	'prune', '', 0),
    (14, NOW(6), 'outbox@localhost', 'al_ce@h2', 'dead purge',
	'--key x\x1b[2J', 7),
    (10, NOW(6) - INTERVAL 4 DAY, 'ops@%',
	'outbox for cara@x.example (monitor)@h2', 'keys release', 'k', 1)"
# The account of the daemon, and that of mysql.operator, with its rights only.
sql "REVOKE INSERT, UPDATE (changed) ON outbox_audit FROM 'outbox'@'localhost';
    CREATE USER 'outbox_operator'@'localhost' IDENTIFIED BY 'op-secret'"
"$SANDBOX" sql "$DIR/db" app < "$srcdir/sql/operator.sql"
put_row c 1
fails 1 "INSERT command denied.*'outbox'.*outbox_audit.*: sql/operator.sql" \
    'the daemon cannot write the audit' messages discard 3
is "$(sql 'SELECT COUNT(*) FROM outbox WHERE global_sequence = 3')" 1 \
    'nor discard without it'
(umask 077 && echo op-secret > "$DIR/op.password")
sed "s|database: app|operator: {user: outbox_operator, password_file: $DIR/op.password}, &|" \
    "$CONF" > "$DIR/own.yml"
for command in 'messages discard 3' 'dead retry 3' 'messages retry 3' \
    'partitions pause --all' 'partitions resume --all' 'prune --days 1' \
    reconcile 'messages discard 3' 'dead purge 3'; do
	# shellcheck disable=SC2086
	ctl -c "$DIR/own.yml" $command --yes
	is "$RC$ERR" 0 "mysql.operator: $command"
done
is "$(sql "SELECT DISTINCT login FROM outbox_audit WHERE id > 14")" \
    outbox_operator@localhost 'the audit names this account'
OP_PW=wrong exits 0 'other commands log in as the daemon' \
    -c "$DIR/own.yml" audit list
sed -i "s|password_file: $DIR/op.password|password_env: OP_PW|" "$DIR/own.yml"
OP_PW=wrong fails 1 "Access denied for user 'outbox_operator'" \
    'mysql.operator.password_env: a wrong password' \
    -c "$DIR/own.yml" dead retry 3
sql 'DELETE FROM outbox_audit WHERE id > 14'

set -f
while IFS='|' read -r ids args; do
	# shellcheck disable=SC2086
	shows '[.rows[].id] | join(" ")' "$ids" "audit list $args: $ids" \
	    audit list $args
done <<'EOT'
14 13 12 11 10|
14|--limit 1
13 12|--limit 2 --after 14
14 13|--since 30h
12 11 10|--until 30h
12 11|--command messages
12|--command messages*retry
13|--command prune
|--command pru
14 12 11 10|--command *e*r*
13 11|--user alice
11|--user alice@h1
12|--user bob
12 10|--user ops
10|--user cara@x.example
10|--user cara
|--user monitor
14 13 11|--user outbox
14|--user al_ce
|--user root
11|--user alice --command messages --since 5d
EOT
set +f
ctl audit list
is "$(grep -c $'\x1b' <<< "$OUT")" 0 \
    'audit list: control characters are not printed as they are'
sql "INSERT INTO outbox_audit (login, unix_user, command, arguments)
    SELECT 'x', 'x', 'x', '' FROM $(numbers 11000)"
ctl --json audit list --command prune
shows '[(.rows | length), .looked_at, .next > 14]' '[0,10000,true]' \
    'audit list reads 10000 rows at most, and says where to go on'
ctl --json audit list --command prune --after "$(field .next)"
shows '[.rows[].id]' '[13]' '--after goes on there'
misused 'audit list' '--key a' X '--limit 0'

sql 'RENAME TABLE outbox_audit TO away'
fails 1 'outbox_audit. doesn.t exist .1146.: outboxctl setup --no-event creates it' \
    'audit list without its table' audit list
sql 'RENAME TABLE away TO outbox_audit'
sql "REVOKE SELECT ON outbox_audit FROM 'outbox'@'localhost'"
fails 1 'outbox_audit' 'audit list without the right to read it' audit list
without_server 'audit list'
done_testing
