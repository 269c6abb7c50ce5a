#!/usr/bin/env bash
# The pool of servers: each test finds them as after a start, and they end with
# the suite
. "${srcdir:-$(dirname "$0")/../..}/tests/lib/lib.sh"

[ "$KIND" = mariadb ] || skip_all 'only plain MariaDB servers are in the pool'
is_short && skip_all 'a long test'
unset KEEP
export srcdir DIR
TMPDIR=$DIR pool_open "$SANDBOX"
trap 'pool_close "$SANDBOX"; cleanup' EXIT

# user COMMANDS: a test with servers that runs them; sets OUT, and WHO to the
# process of its database
user() {
	# shellcheck disable=SC2016
	OUT=$(TMPDIR=$DIR WHO=$DIR/who bash -c '. "$srcdir/tests/lib/lib.sh"
	    start_servers
	    cat "$DIR/db/process" > "$WHO"
	    eval "$1"
	    done_testing' ./user "$1" 2>&1)
	WHO=$(cat "$DIR/who")
}
# shellcheck disable=SC2016
LOOK='sql "SHOW DATABASES; SELECT user, host FROM mysql.user ORDER BY 1, 2;
    SELECT @@max_connections; SELECT COUNT(*) FROM mysql.general_log;
    SELECT COUNT(*) FROM information_schema.processlist;
    SELECT COUNT(*) FROM events; SHOW MASTER STATUS"
    "$LAB" show --nats "$URL" --stream EVENTS --last;
    "$LAB" stream --nats "$URL" --name OTHER --delete'

user "$LOOK"
new=$OUT
first=$WHO
like "$new" 'outbox_producer' 'a test gets servers'

# shellcheck disable=SC2016
user 'sql "CREATE DATABASE more; CREATE TABLE more.t (a INT);
    CREATE USER guest; GRANT SELECT ON more.* TO guest;
    CREATE EVENT later ON SCHEDULE EVERY 1 DAY DO SELECT 1"
    "$LAB" stream --nats "$URL" --name OTHER --subjects "other.>"
    produce --events 5
    write_conf
    "$OUTBOX_MASTER" -c "$CONF" --once --silent
    sql "SELECT SLEEP(600)" > /dev/null 2>&1 < /dev/null &
    disown'
is "$WHO" "$first" 'the next test gets the same database server'
user "$LOOK"
is "$OUT" "$new" 'databases, accounts, streams, connections: as after a start'
is "$WHO" "$first" 'they are as after a start without a restart'

# shellcheck disable=SC2016
user '"$SANDBOX" stop "$DIR/db"'
user "$LOOK"
is "$OUT" "$new" 'a server that was stopped is started again, clean'

# replaced NAME COMMANDS
replaced() {
	local before
	user "$2"
	before=$WHO
	user "$LOOK"
	check "$1: the next test gets another server" [ "$WHO" != "$before" ]
	is "$OUT" "$new" "$1: the other server is clean"
}
# shellcheck disable=SC2016
{
	replaced 'a global variable' 'sql "SET GLOBAL max_connections = 77"'
	replaced 'an account of the server' \
	    "sql \"ALTER USER root@localhost IDENTIFIED BY ''\""
	replaced 'a killed database' '"$SANDBOX" kill "$DIR/db"'
	replaced 'a test that failed' 'ok 1 failed'
	replaced 'a test that was killed' 'kill -KILL $$'
}

# shellcheck disable=SC2016
user 'bash -c ". \"\$srcdir/tests/lib/lib.sh\"; start_servers
    cat \$DIR/db/process" ./user'
like "$OUT" '/db$' 'a second test at the same time gets servers'
is "$(grep -cF "$WHO" <<< "$OUT")" 0 'the second test has servers of its own'
# shellcheck disable=SC2016
OUT=$(TMPDIR=$DIR bash -c '. "$srcdir/tests/lib/lib.sh"
    start_servers max_connections=33
    readlink "$DIR/db"; sql "SELECT @@max_connections"' ./user)
is "$OUT" 33 'a test with lines for my.cnf gets a server of its own'

# The suite is killed.
# shellcheck disable=SC2016
TMPDIR=$DIR bash -c '. "$srcdir/tests/lib/lib.sh"
    pool_open "$SANDBOX"
    echo "$OUTBOX_POOL"
    bash -c ". \"\$srcdir/tests/lib/lib.sh\"; start_servers" ./user > /dev/null
    cat "$OUTBOX_POOL/1/db/pid" "$OUTBOX_POOL/1/nats/pid"
    kill -KILL $$' ./suite > "$DIR/suite" 2> /dev/null
{ read -r pool; read -r db; read -r nats; } < "$DIR/suite"
[ -n "$nats" ] && [ "$db" -gt 0 ]
ok $? 'a suite that is killed had a pool with servers'
has_ended() { [ ! -e "$pool" ] && is_gone "$db" && is_gone "$nats"; }
within 20 'a suite that is killed leaves neither pool nor servers' has_ended
done_testing
