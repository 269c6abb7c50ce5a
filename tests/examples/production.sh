#!/usr/bin/env bash
# The commands of doc/production.md, in their order: certificates, database and
# broker with TLS, two hosts, accounts, metrics, backup, restore, upgrade; and
# what the page promises of a host that dies and a broker that stops.  The hosts
# are two names of this machine, with their files below $DIR/relay1 and relay2.
. "${srcdir:-$(dirname "$0")/../..}/tests/lib/lib.sh"
. "$srcdir/tests/lib/page.sh"

# shellcheck disable=SC2034
PAGE=$srcdir/doc/production.md
# Its commands run in another directory.
srcdir=$(realpath "$srcdir") SANDBOX=$(realpath "$SANDBOX")
OUTBOX_MASTER=$(realpath "$OUTBOX_MASTER") OUTBOXCTL=$(realpath "$OUTBOXCTL")

is_short && skip_all 'a long test'
command -v openssl > /dev/null || skip_all 'no openssl'
unshare --uts true 2> /dev/null || skip_all 'unshare --uts is not allowed'

# --- the hosts of the page, here -------------------------------------------------

# on HOST: what follows is done there
on() {
	HOST=$1
	CONF=$DIR/$HOST/etc/outbox.yml LOG=$DIR/$HOST/log
	export OUTBOX_MASTER_USER OUTBOX_MASTER_PIDFILE
	OUTBOX_MASTER_USER=$(id -un)
	OUTBOX_MASTER_PIDFILE=$DIR/$HOST/run/outbox.pid
}
ctl() { "$OUTBOXCTL" -c "$CONF" "$@"; }

page_edit() {
	sed -e "s,/etc/,$DIR/$HOST/etc/,g; s,/root/,$DIR/$HOST/root/,g
	    s,DNS:.name\.example\.org,IP:127.0.0.1,
	    s,nats\.example\.org,127.0.0.1:${NATS_PORT:-}," \
	    -e "s,\[db\.example\.org\],[\"127.0.0.1:${DB_PORT:-}\"]," \
	    -e "s,10\.0\.0\.%,127.0.0.%,g; s,0\.0\.0\.0:9180,127.0.0.1:${MONITOR[$HOST]}," \
	    -e "s,relay1:9180,127.0.0.1:${MONITOR[relay1]},
	    s,/usr/share/outbox-master/sql,$srcdir/sql,
	    s,/usr/share/outbox-master/prometheus,$srcdir/etc/prometheus,
	    s,RELAY_PASSWORD,relay-secret,; s,BILLING_PASSWORD,billing-secret," |
	    if [ "$HOST" = servers ]; then
		sed "s,$DIR/servers/etc/[a-z]*/,$DIR/ca/,g"
	    else
		cat
	    fi
}

page_programs() {
	cd "$DIR" || return
	mariadb() { "$SANDBOX" sql "$DIR/db" "$@"; }
	mariadb-dump() {
		command mariadb-dump --no-defaults -uroot -S "$SOCKET" "$@"
	}
	outboxctl() { ctl "$@"; }
	outbox-master() { "$OUTBOX_MASTER" -c "$CONF" "$@"; }
	chown() { :; }
	install() { command install "${@:1:2}" "$DIR/ca/$3" "$4"; }
	# Both hosts have files of the same names.
	scp() {
		local from=${2/relay1:$DIR\/relay2/$DIR/relay1}
		cp -p $from "$3" &&
		    sed -i "s,$DIR/relay1,$DIR/relay2,g
			s,:${MONITOR[relay1]},:${MONITOR[relay2]}," "$CONF"
	}
	service() {
		[ "$2" = start ] || { ctl stop; return; }
		setsid unshare --uts sh -c 'hostname "$1"; shift; exec "$@"' - \
		    "$HOST" "$OUTBOX_MASTER" -c "$CONF" --silent \
		    >> "$DIR/out" 2>> "$LOG" < /dev/null &
		echo $! > "$DIR/$HOST/master"
		wait_for 30 is_alive
	}
}
is_alive() {
	"$SANDBOX" sql "$DIR/db" -N app -e "SELECT COUNT(*)
	    FROM outbox_workers WHERE hostname = '$HOST'" | grep -qx 2
}
remember() { MASTERS+=("$(cat "$DIR/$HOST/master")"); }

# here NAME REGEX: the block does what it should; else nothing further can
here() {
	page_run "$HOST: $1" "$2" && return
	tail -n 5 "$LOG" | sed 's/^/# /'
	done_testing
}

declare -A MONITOR=([servers]=0)
for HOST in relay1 relay2; do
	MONITOR[$HOST]=$(free_port)
	mkdir -p "$DIR/$HOST"/{etc/outbox,root}
done
LOG=$DIR/log

# --- certificates, database, broker -----------------------------------------------

HOST=servers
: > "$LOG"
here 'certificates are made' '^mkdir .*ca'
mapfile -t lines < <(page_block "$PAGE" '^ssl_cert' | page_edit |
    grep -v '^\[\|^bind_address\|^log_bin')
"$SANDBOX" start mariadb "$DIR/db" "${lines[@]}" > /dev/null ||
    skip_all 'no mariadb'
SOCKET=$(. "$DIR/db/env" && echo "$SOCKET")
DB_PORT=$(. "$DIR/db/env" && echo "$PORT")
here 'an administrator may come from elsewhere' 'CREATE USER outbox_admin'
mapfile -t lines < <(page_block "$PAGE" '^authorization' | page_edit |
    grep -v '^listen\|^jetstream')
"$SANDBOX" start nats "$DIR/nats" "${lines[@]}" > /dev/null
ok $? 'nats-server takes its configuration' || done_testing
NATS_PORT=$(. "$DIR/nats/env" && echo "$PORT")
# shellcheck disable=SC2034
URL=nats://billing:billing-secret@127.0.0.1:$NATS_PORT
CA=(--nats-ca "$DIR/ca/ca.pem")
admin_password() {
	tail -n 1 "$DIR/block" > "$DIR/relay1/root/admin.password"
	chmod 600 "$DIR/relay1/root/admin.password"
}
admin_password

# --- the hosts --------------------------------------------------------------------

on relay1
page_block "$PAGE" '^  hosts: \[db' | page_edit > "$CONF"
here 'it has its files' '^install '
here 'setup makes what is missing' '^outboxctl setup'
here 'the daemon is started' '^service outbox-master start'
remember
doctor() { ctl doctor > "$DIR/doctor"; }
within 20 'doctor finds nothing wrong' doctor || cat "$DIR/doctor"
is "$(sql "SELECT GROUP_CONCAT(user, ' ', host, ' ', ssl_type ORDER BY user)
    FROM mysql.user WHERE user IN ('outbox', 'outbox_operator')")" \
    'outbox 127.0.0.% ANY,outbox_operator 127.0.0.% ANY' \
    'the accounts must use TLS'
on relay2
here 'it gets the same files, and the daemon is started' '^scp '
remember
HOST=servers
here 'the administrator is dropped' "DROP USER outbox_admin"

status() { ctl status > "$DIR/status" 2>&1; }
is_even() {
	status && has_line "$DIR/status" '4 alive, ([0-9]+ stale, )?on 2 hosts' &&
	    has_line "$DIR/status" '16 of 16: 16 owned'
}
for host in relay1 relay2; do
	on $host
	within 20 "$host: 4 workers on 2 hosts own all partitions" is_even
done
sql "CREATE USER 'shop'@'%' IDENTIFIED BY '$PRODUCER_PW'"
HOST=servers
here "the application's account gets its rights" 'grants\.sql'
produce() {
	exec "$LAB" produce --host "127.0.0.1:$DB_PORT" --user shop --password-env \
	    PRODUCER_PW --database app --keys 40 "$@" >> "$DIR/produced"
}
(produce --events 500)
within 20 'its events are sent' is_drained
on relay1
here 'its metrics say that all is well' '^curl '
is "$(curl -s -o "$DIR/answer" -w '%{http_code}' \
    "http://127.0.0.1:${MONITOR[relay2]}/metrics")" 401 \
    'and say nothing without the token'
page_block "$PAGE" '^scrape_configs' | page_edit > "$DIR/prometheus.yml"
check 'the file of rules is there' [ -e \
    "$(sed -n 's/^rule_files: \[\(.*\)\]/\1/p' "$DIR/prometheus.yml")" ]
! command -v promtool > /dev/null ||
    check 'Prometheus takes its configuration' promtool check config \
    --syntax-only "$DIR/prometheus.yml"

# --- a host dies, the broker stops --------------------------------------------------

produce --forever --rate 200 &
PRODUCER=$!
MASTERS+=("$PRODUCER")
wait_for 20 has_published 700
kill -KILL -- "-$(cat "$DIR/relay1/master")"
on relay2
has_all() { is_sql "SELECT COUNT(*) FROM outbox_partitions
    WHERE lease_owner LIKE 'relay2:%' AND lease_until > NOW(6)" 16; }
within 17 'a host dies: 15 seconds later the other one has its partitions' \
    has_all
status
check 'its status tells of it' has_line "$DIR/status" 'relay1 vanished'
here 'it is forgotten' '^outboxctl workers forget'
"$SANDBOX" stop "$DIR/nats" > /dev/null
has_backlog() { [ "$(pending)" -gt 200 ]; }
wait_for 20 has_backlog
ok $? 'the broker is stopped: rows wait'
rows_are 0 'outbox WHERE attempts > 1' 'and use up no attempts'
"$SANDBOX" restart "$DIR/nats" > /dev/null
kill "$PRODUCER"
wait "$PRODUCER" 2> /dev/null
within 30 'they are sent when it is back' is_drained
on relay1
HOST=relay1 page_run 'relay1: it is back' '^service outbox-master start'
remember
within 20 'both have their shares' is_even
check_stream 'the stream is complete and in order' "${CA[@]}" --wait 10

# --- backup and restore --------------------------------------------------------------

HOST=servers
here 'the database is backed up' '^mariadb-dump'
(produce --events 100)
within 20 'more events are sent' is_drained
for host in relay1 relay2; do
	on $host
	here 'the daemon is stopped' '^service outbox-master stop'
done
# The disk of the database is new, and has nothing but what is restored.
sql "DROP USER 'outbox'@'127.0.0.%', 'outbox_operator'@'127.0.0.%';
    REVOKE ALL, GRANT OPTION FROM 'shop'@'%'; DROP DATABASE app"
HOST=servers
here 'an administrator may come from elsewhere' 'CREATE USER outbox_admin'
admin_password
here 'the database is restored' '^mariadb app < app.backup'
on relay1
here 'setup makes the accounts' '^outboxctl setup --yes --no-event'
HOST=servers
here "the application's account gets its rights" 'grants\.sql'
for host in relay1 relay2; do
	on $host
	here 'the daemon is started' '^service outbox-master start'
	remember
done
has_phantoms() { status; has_line "$DIR/status" '100 phantoms'; }
within 20 'status tells of the messages without an event' has_phantoms
has_phantoms || sed 's/^/# /' "$DIR/status"
here 'they are dismissed' '^outboxctl phantoms forget'
(produce --events 100 --key-prefix new)
within 20 'new events are sent' is_drained
check_stream 'nothing is lost, and nothing is twice' "${CA[@]}" --wait 10 \
    --allow-phantoms --max-phantoms 100

# --- an upgrade ------------------------------------------------------------------------

on relay1
here 'the tables are upgraded' '^outboxctl schema upgrade'
within 20 'all is well' is_even || sed 's/^/# /' "$DIR/status"
done_testing
