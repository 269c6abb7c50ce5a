#!/usr/bin/env bash
# outboxctl setup: from bare servers to the first event in the stream, twice in a
# row, by questions, and without the rights of an administrator
. "${srcdir:-$(dirname "$0")/../..}/tests/lib/ctl.sh"

# Debian has the plugin below in mariadb-server, not in mariadb-server-core: its
# directory, where that is unpacked, may be given here.
start_servers ${OUTBOX_PLUGIN_DIR:+"plugin_dir=$OUTBOX_PLUGIN_DIR"}

# bare NAME DATABASE: a configuration for servers that have nothing of it, with
# what setup must keep
bare() {
	cat > "$CONF" <<-EOF
	# Größe: kept
	master: {user: $(id -un), pidfile: $DIR/run/outbox.pid}
	mysql:
	  socket: $SOCKET
	  user: $1		# the account
	  password_file: $DIR/$1.password
	  database: app		# ändern
	  operator: {user: "", password_file: ""}
	nats: {servers: ["$URL"], stream: "NONE", subject: "$2.{event_type}"}
	EOF
	chmod 640 "$CONF"
}
steps() { field '[.steps[].step] | join(" ")'; }
step() { field ".steps[] | select(.step == \"$1\") | .text"; }

bare relay shop
cp "$CONF" "$DIR/before"
fails 1 'Setup creates what is missing.*nothing was done: confirm it with --yes' \
    'setup without --yes and without a terminal' setup
is "$(cat "$CONF")" "$(cat "$DIR/before")" 'the configuration is as before'
matches "CREATE USER IF NOT EXISTS 'relay'@'localhost'" \
    'setup --dry-run prints the SQL' setup --dry-run
is "$(sql "SELECT COUNT(*) FROM mysql.user WHERE user = 'relay'")" 0 \
    'and creates nothing'
matches "nats stream add NONE --subjects 'shop\.>'" 'and names the stream' \
    setup --dry-run
like "$(ctl --json setup --dry-run; step stream)" \
    '^NONE would be created if it is missing, for shop\.>' 'also as JSON'

# What is printed is pasted.  It has hashes of passwords; without them it is no
# SQL and makes no account.  Names and paths are words of the shell.  The file
# names no database, as that of a package, and stays as it is.
paste() (
	mariadb() { "$SANDBOX" sql "$DIR/db" "$@"; }
	outboxctl() { "$OUTBOXCTL" "$@"; }
	eval "$1"
) > "$DIR/pasted" 2>&1
accounts() { sql "SELECT COUNT(*) FROM mysql.user
    WHERE user IN ('relay', 'outbox_operator')"; }
block() {
	ctl -c "$DIR/it's; here.yml" setup --dry-run --follow-binlog \
	    --database "pasted 'b; touch no" --stream PASTED
	BLOCK=$(sed -n '/^    mariadb/,/^$/p' <<< "$OUT")
}
bare relay pasted
sed -i 's/database: app/database: ""/' "$CONF"
mv "$CONF" "$DIR/it's; here.yml"
cp "$DIR/it's; here.yml" "$DIR/here"
block
is "$RC" 0 'setup --dry-run needs no database in the file'
like "$OUT" 'mysql.database would be written into .*here.yml: pasted' \
    'it says which database would be written into it'
like "$OUT" 'nats.stream would be written into .*here.yml: PASTED' \
    'and which stream'
like "$OUT" 'nats stream add PASTED --subjects' 'and names the new stream'
is "$(cat "$DIR/it's; here.yml")" "$(cat "$DIR/here")" 'the file stays as it is'
paste "$BLOCK"
like "$(cat "$DIR/pasted")" '1064.*syntax' 'pasted SQL without passwords fails'
is "$(accounts)" 0 'and makes no account'
keep_secret "$DIR/relay.password" secret-relay
keep_secret "$DIR/operator.password" secret-operator
block
not has_line <(echo "$BLOCK") 'secret-|IDENTIFIED BY|<HASH>'
ok $? 'with passwords in their files it has hashes'
paste "$BLOCK"
is "$(cat "$DIR/pasted")" '' 'which run'
check 'and no word of a name is a command' [ ! -e no ]
is "$(accounts)" 2 'and make the accounts'
is "$(sql "SELECT GROUP_CONCAT(privilege_type ORDER BY 1) FROM
    information_schema.user_privileges WHERE grantee LIKE '%relay%'")" \
    "$([ "$(sql 'SELECT VERSION() LIKE "%MariaDB%"')" = 1 ] ||
	echo 'REPLICATION CLIENT,')REPLICATION SLAVE" \
    'with no other right on the server than setup gives'
ctl -c "$DIR/it's; here.yml" --json setup --yes --no-event --admin nobody \
    --database "pasted 'b; touch no"
like "$(step database)" "pasted 'b; touch no is ready" 'setup is content with it'
sql "DROP USER relay@localhost, outbox_operator@localhost;
    DROP DATABASE \`pasted 'b; touch no\`"
rm "$DIR/relay.password" "$DIR/operator.password"
cp "$DIR/before" "$CONF"

# kept PASSWORD: where the server has kept it, or shows it
kept() {
	sql 'SET GLOBAL general_log = 0; FLUSH LOGS; FLUSH BINARY LOGS'
	grep -rlaF "$1" "$DIR"/db --include='*binlog.[0-9]*' \
	    --include='*.log' --include='*.err'
	sql "SELECT sql_text FROM performance_schema.events_statements_history_long
	    WHERE INSTR(sql_text, '$1') UNION SELECT sql_text FROM
	    performance_schema.events_statements_history
	    WHERE INSTR(sql_text, '$1')" | grep -vF INSTR
}
sql "SET GLOBAL general_log_file = '$DIR/db/general.log';
    SET GLOBAL general_log = 1"

ctl --json setup --yes --database shop --stream SHOP
is "$RC" 0 'setup succeeds' || say "$ERR"
is "$(steps)" 'stream database tables password account operator login binlog event event' \
    'setup: its steps'
like "$(step stream)" 'SHOP created, for shop\.>' 'setup: the stream'
is "$(step database)" 'shop created' 'setup: the database'
like "$(step tables)" '^[0-9]+ tables created, 16 partitions' 'setup: the tables'
is "$(step account)" "'relay'@'localhost' created" 'setup: the account'
like "$(step event | tail -1)" 'seen: stream SHOP has it as message 1, subject shop.outbox.setup' \
    'setup: the event is seen in the stream'
for file in relay operator; do
	is "$(kept "$(cat "$DIR/$file.password")")" '' \
	    "the server keeps the password of $file nowhere in clear"
done
check 'though it keeps statements' grep -q 'CREATE USER' "$DIR/db/general.log"
is "$(stat -c %a "$DIR/relay.password")" 400 \
    "the password is for the daemon's user, not for its group"
is "$(sed -e 's/shop	/app	/' -e 's/: SHOP/: "NONE"/' \
    -e "s|user: outbox_operator, password_file: \"$DIR/operator.password\"|user: \"\", password_file: \"\"|" \
    "$CONF")" "$(cat "$DIR/before")" 'only the values in the configuration changed'
like "$(step operator)" "'outbox_operator'@'localhost' created, for changes" \
    'setup: the account of outboxctl'
is "$(stat -c %a "$DIR/operator.password")" 600 'its password is for its owner alone'
is "$(stat -c %a "$CONF")" 640 'and its mode is kept'
exits 0 'doctor finds nothing that fails but the daemon' config
ctl --json doctor
is "$(field '[.[] | select(.level == "fail") | .check] | unique | join(" ")')" \
    'no_worker' 'doctor finds nothing but that no daemon runs'
is "$(sql 'SELECT COUNT(*) FROM shop.outbox_audit WHERE command LIKE "setup%"')" 1 \
    'setup is in the audit'

exits 0 'outboxctl can change something' partitions pause --all --yes
exits 0 'and back' partitions resume --all --yes
is "$(sql "SELECT login FROM shop.outbox_audit ORDER BY id DESC LIMIT 1")" \
    outbox_operator@localhost 'with this account'
sed '/operator:/d' "$CONF" > "$DIR/without.yml"
ctl -c "$DIR/without.yml" --json setup --yes --no-event
like "$(step operator)" 'exists; for changes with outboxctl add to .*operator: \{user: outbox_operator, password_file: .*operator.password\}' \
    'setup says what to add to a file without mysql.operator'

# Again, now beside a daemon
start_master
ctl --json setup --yes
is "$RC" 0 'setup again succeeds' || say "$ERR"
is "$(steps)" 'stream database tables account operator login binlog event event' \
    'setup again: its steps'
like "$(step database) $(step account)" 'shop exists .* exists' 'it makes nothing'
like "$(step event | tail -1)" 'message 2,' 'the daemon has sent the event'
matches '^Ready: a daemon runs for this database; see outboxctl status' 'it says that one runs' \
    setup --yes --no-event
stop_master "$MASTER"
ctl setup --yes --no-event
like "$OUT" '^Ready: start outbox-master' 'setup --no-event as text'
is "$(sql 'SELECT COUNT(*) FROM shop.events')" 2 'and no event is sent'
{
	cat "$CONF"
	echo 'publish: {routes: [{name: away, type: outbox.*, driver: discard}]}'
} > "$DIR/routed.yml"
ctl -c "$DIR/routed.yml" --json setup --yes
like "$RC $(step event | tail -1)" '^0 delivered, to a destination of publish.routes' \
    'an event that another destination gets' || say "$ERR"

# Each tool names setup for a missing table, and setup makes it.
for table in outbox_blocked_keys events; do
	sql "RENAME TABLE shop.$table TO shop.kept"
	for command in status 'keys blocked' doctor 'schema check' \
	    'schema install'; do
		# shellcheck disable=SC2086
		ctl $command
		like "$OUT$ERR" 'outboxctl setup --no-event' \
		    "$table is missing: $command"
	done
	exits 0 "setup makes $table" setup --no-event --yes
	exits 0 'and the schema is complete' schema check
	sql "DROP TABLE shop.$table; RENAME TABLE shop.kept TO shop.$table"
done

# The right to follow the binlog, which reads what all write
replicas() { sql "SELECT COUNT(*) FROM information_schema.user_privileges
    WHERE privilege_type = 'REPLICATION SLAVE' AND grantee LIKE '%relay%'"; }
like "$(ctl --json setup --yes --no-event; step binlog)" \
    'may not follow it.*--follow-binlog allows it, and with it to read all' \
    'setup does not let the account follow the binlog, and says how'
is "$(replicas)" 0 'and grants no right for it'
matches '^-- GRANT REPLICATION SLAVE.* ON \*\.\* TO' \
    'the SQL has it as a comment' setup --dry-run
matches '^GRANT REPLICATION SLAVE.* ON \*\.\* TO' \
    'with --follow-binlog as a statement' setup --dry-run --follow-binlog
fails 1 'the administrator cannot log in' \
    '--follow-binlog without an administrator' setup --yes --follow-binlog \
    --admin outbox --admin-password-file "$DIR/none"
like "$(ctl --json setup --yes --no-event --follow-binlog; step binlog)" \
    'may follow it, and so read all changes.*; a daemon that runs .* minute.*reload' \
    '--follow-binlog: it says so, and from when on'
is "$(replicas)" 1 '--follow-binlog: the account has the right'
like "$(ctl --json setup --yes --no-event; step binlog)" \
    'may follow it, .* of the server$' 'and keeps it'
sql "REVOKE REPLICATION SLAVE ON *.* FROM 'relay'@'localhost'"
cp "$CONF" "$DIR/auto"
echo 'wake: {binlog: false}' >> "$CONF"
like "$(ctl --json setup --yes --no-event --follow-binlog; step binlog)" \
    'may follow it.*; wake.binlog is false: remove that, then outboxctl reload' \
    'where the file forbids it, setup does not say that the daemon will'
mv "$DIR/auto" "$CONF"
if ! is_short; then
	"$SANDBOX" start "$KIND" "$DIR/plain" skip-log-bin > /dev/null
	sed "s|socket: .*|socket: $(. "$DIR/plain/env" && echo "$SOCKET")|" \
	    "$CONF" > "$DIR/plain.yml"
	ctl -c "$DIR/plain.yml" --json setup --yes --no-event --follow-binlog
	is "$(step binlog)" 'the server writes none, so the workers poll; log_bin in its configuration, and its restart, change that' \
	    'a server without a binlog: setup does not promise one'
	"$SANDBOX" stop "$DIR/plain" > /dev/null
fi

# An account whose password nobody told
mv "$DIR/relay.password" "$DIR/kept"
fails 1 "relay'@'localhost' exists, but .*relay.password does not: write" \
    'an account without its password file' setup --yes
[ ! -e "$DIR/relay.password" ]
ok $? 'and no other password is written'
keep_secret "$DIR/relay.password" wrong
fails 1 "cannot be used with .*Access denied.*: outboxctl setup --new-password" \
    'a wrong password' setup --yes
# As after a purge of the package: both files are gone, and the accounts there.
rm "$DIR/relay.password" "$DIR/operator.password"
exits 78 'status without the password' status
like "$OUT" 'remedy: outboxctl setup --no-event, with --new-password if' \
    'status names what writes it'
fails 1 'exists, but .*relay.password does not: .*or outboxctl setup --new-password makes' \
    'and so does setup' setup --no-event --yes
exits 0 'setup --new-password makes new ones' \
    setup --no-event --new-password --yes
like "$OUT" "account +'relay'@'localhost' has a new password" 'and says so'
matches "ALTER USER 'relay'@'localhost' IDENTIFIED" \
    '--new-password, for an administrator elsewhere' \
    setup --new-password --dry-run
exits 1 'the daemon may log in: only it is missing' status
exits 0 'and an operator' partitions pause --all --yes
ctl partitions resume --all --yes
rm "$DIR/kept"

# Accounts of other hosts: TLS where it is used, else advice
tls=$(sql "SELECT @@version LIKE '%MariaDB%'")
cp "$CONF" "$DIR/local"
ctl --json setup --yes --no-event --account-host '10.%'
like "$(step tls | head -1)" "relay'@'10.%' may log in .* without TLS; .*ALTER USER .* REQUIRE SSL" \
    'an account of other hosts without TLS: advice'
sql "DROP USER 'relay'@'10.%', 'outbox_operator'@'10.%'"

# A server that takes no hash
if [ "$tls" = 1 ] && sql "INSTALL SONAME 'simple_password_check'" \
    2> "$DIR/err"; then
	echo '# aA1!' >> "$CONF"
	mv "$DIR/relay.password" "$DIR/kept"
	keep_secret "$DIR/relay.password" 'Clear-Text-1234'
	fails 1 'takes no hash of one .*--clear-password' \
	    'a server that takes no hash' setup --yes --no-event \
	    --account-host '10.%'
	is "$(sql "SELECT COUNT(*) FROM mysql.user WHERE host = '10.%'")" 0 \
	    'no account is made, and nothing asked'
	mv "$DIR/operator.password" "$DIR/kept.op"
	keep_secret "$DIR/operator.password" 'Clear-Text-1235'
	ctl setup --yes --no-event --account-host '10.%' --clear-password
	is "$(sql "SELECT COUNT(*) FROM mysql.user WHERE host = '10.%'")" 2 \
	    '--clear-password allows it'
	sql "DROP USER 'relay'@'10.%', 'outbox_operator'@'10.%';
	    UNINSTALL SONAME 'simple_password_check'"
	mv "$DIR/kept" "$DIR/relay.password"
	mv "$DIR/kept.op" "$DIR/operator.password"
	cp "$DIR/local" "$CONF"
fi

# Without the rights of an administrator: what others have to run, and then
echo "$OUTBOX_PW" > "$DIR/op"
as_other=(--admin outbox --admin-password-file "$DIR/none")
fails 1 'the administrator cannot log in.*' 'no administrator' setup --yes \
    "${as_other[@]}" --database other
matches "GRANT SELECT ON events TO 'relay'@'localhost'" 'its SQL is printed' \
    setup --yes "${as_other[@]}"
like "$("$OUTBOXCTL" -c "$CONF" setup --yes "${as_other[@]}" 2>&1 |
    sed -n '/^SQL$/,$p')" 'have the statements above run' 'above its error'
sed "s|^  socket:.*|  hosts: [\"127.0.0.1:$(. "$DIR/db/env" && echo "$PORT")\"]|" \
    "$CONF" > "$DIR/tcp.yml"
how='give --admin USER --admin-password-file FILE'
fails 1 "cannot log in: .*: $([ "$(id -u)" -eq 0 ] ||
    echo 'run setup as root, or ')$how, or the socket" \
    'no administrator by TCP' -c "$DIR/tcp.yml" setup --yes --admin nobody
ctl --json setup --yes "${as_other[@]}" --database shop
is "$RC" 0 'an existing set-up needs no administrator' || say "$ERR"
is "$(step database)" "shop is ready: 'relay'@'localhost' can use it" 'it says so'

# On a terminal it asks
if command -v script > /dev/null; then
	bare asked asked
	printf 'asked_db\n\nASKED\ny\n' | script -qec \
	    "$OUTBOXCTL -c $CONF setup" /dev/null > "$DIR/asked" 2>&1
	like "$(cat "$DIR/asked")" 'Database of the application \[app\]' 'it asks'
	like "$(cat "$DIR/asked")" 'seen: stream ASKED has it as message 1' \
	    'and takes the answers'
	like "$(cat "$CONF")" 'database: asked_db	' 'they are in the file'
fi

# The file of a package names no database.
bare packed packed
sed -i 's/database: app/database: ""/' "$CONF"
fails 78 'mysql.database: must not be empty' 'an empty database' setup --yes
ctl --json setup --yes --database packed --stream PACKED
is "$RC" 0 'setup fills it in' || say "$ERR"
like "$(cat "$CONF")" 'database: packed	' 'it is in the file'

# The statements of README.md, with the names of accounts that are here
sed -n '/^    DROP TRIGGER/,/^$/p' "$srcdir/README.md" |
    sed 's/outbox@localhost/packed@localhost/' > "$DIR/uninstall"
"$SANDBOX" sql "$DIR/db" packed < "$DIR/uninstall"
is "$? $(sql "SELECT GROUP_CONCAT(table_name) FROM information_schema.tables
    WHERE table_schema = 'packed'")" '0 events' \
    'README.md: the uninstall leaves only the events'
is "$(sql "SELECT COUNT(*) FROM information_schema.routines WHERE
    routine_schema = 'packed'")" 0 'and no procedure'
keep_secret "$DIR/operator.password" secret-operator

# What cannot be
bare relay shop
fails 1 'mysql.database' 'a name that no database can have' setup --yes \
    --database "a b/c"
like "$(cat "$CONF")" 'database: app' 'the configuration is as before'
bare late late
sed -i '/database:/d' "$CONF"
fails 78 'mysql.database: is missing' 'no database in the file' setup --yes
STREAM=OUTER SUBJECT='shop.{event_type}' write_conf
fails 1 'overlaps with those of another stream: SHOP \(10065\): set nats.stream' \
    'a subject that is taken' setup --yes --no-event
is "$(grep -c 'nats stream add' <<< "$OUT")" 0 \
    'and no command that would be refused, too'
without_server 'setup --yes'
done_testing
