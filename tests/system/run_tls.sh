#!/usr/bin/env bash
# TLS to broker and database: certificates, keys and passwords that change while
# the daemon runs
. "${srcdir:-$(dirname "$0")/../..}/tests/lib/lib.sh"

command -v openssl > /dev/null || skip_all 'no openssl'
TLS=$DIR/tls
mkdir "$TLS"
ssl() { openssl "$@" 2>> "$DIR/openssl.log"; }

# sign CA NAME USAGE DAYS
sign() {
	printf '%s\n' "extendedKeyUsage=$3" \
	    subjectAltName=DNS:localhost,IP:127.0.0.1 > "$2.ext"
	ssl req -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes \
	    -subj "/CN=$2" -keyout "$2.key" -out "$2.csr" &&
	    ssl x509 -req -in "$2.csr" -CA "$1.pem" -CAkey "$1.key" \
	    -CAcreateserial -days "$4" -extfile "$2.ext" -out "$2.pem"
}

# authority NAME: with server1.pem, client1.pem and late1.pem of NAME 1
authority() {
	ssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes \
	    -days 2 -subj "/CN=ca$1" -keyout "ca$1.key" -out "ca$1.pem" &&
	    sign "ca$1" "server$1" serverAuth 2 &&
	    sign "ca$1" "client$1" clientAuth 2 &&
	    sign "ca$1" "late$1" serverAuth 0
}
(cd "$TLS" && authority 1 && authority 2) || {
	sed 's/^/# /' "$DIR/openssl.log"
	echo 'Bail out! no certificates'
	exit 1
}

# database CERTIFICATE CA: the database has these for new connections;
# put_database: the files alone
put_database() {
	cp "$TLS/$1.pem" "$DIR/db.pem"
	cp "$TLS/$1.key" "$DIR/db.key"
	cp "$TLS/$2.pem" "$DIR/dbca.pem"
}
database() {
	put_database "$@"
	sql 'FLUSH SSL'
}

put_database server1 ca1
start_servers "ssl_ca=$DIR/dbca.pem" "ssl_cert=$DIR/db.pem" \
    "ssl_key=$DIR/db.key"
NATS_CONF=$DIR/nats/nats.conf
cp "$NATS_CONF" "$DIR/nats.plain"
WORKERS=2 write_conf
sql "CREATE USER 'outbox'@'127.0.0.1' IDENTIFIED BY '$OUTBOX_PW' REQUIRE X509;
    CREATE USER 'outbox_producer'@'127.0.0.1'"
sed "s/@'localhost'/@'127.0.0.1'/" "$srcdir/sql/grants.sql" |
    "$SANDBOX" sql "$DIR/db" app

# server CERTIFICATE CA PASSWORD: the broker has these from now on
server() {
	cat "$DIR/nats.plain" - > "$NATS_CONF" <<-EOF2
	tls {cert_file: "$TLS/$1.pem", key_file: "$TLS/$1.key"
	    ca_file: "$TLS/$2.pem", verify: true, timeout: 5}
	authorization {user: relay, password: $3}
	EOF2
	kill -HUP "$(cut -d' ' -f1 "$DIR/nats/process")"
}

# daemon N PASSWORD: the files of the daemon are those of authority N
daemon() {
	cp "$TLS/ca$1.pem" "$DIR/ca.pem"
	cp "$TLS/client$1.pem" "$DIR/cert.pem"
	cp -p "$TLS/client$1.key" "$DIR/key.pem"
	keep_secret "$DIR/password" "$2"
}

generation() {
	"$OUTBOXCTL" -c "$CONF" --json status |
	    jq -r '.this_host.workers[].generation' | sort -u | xargs
}
is_generation() { [ "$(generation)" = "$1" ]; }
mark() { MARK=$(wc -l < "$LOG"); }
has_said() { tail -n "+$((MARK + 1))" "$LOG" | grep -Eq -- "$1"; }
send() { call_enqueue "'k', NULL, 'made', 1, NULL, NULL, 'x'"; }

FILES="mode: verify, ca: $DIR/ca.pem, cert: $DIR/cert.pem, key: $DIR/key.pem"
sed -i "s|socket: \"[^\"]*\"|hosts: [\"127.0.0.1:$DB_PORT\"], tls: {$FILES}|
    s|^nats: {|&user: relay, password_file: $DIR/password, tls: {$FILES}, |" \
    "$CONF"
server server1 ca1 one
daemon 1 one
start_fleet
send
drains 10 'with certificates and a password: messages are sent'
connections() { sql "SELECT id FROM information_schema.processlist
    WHERE user = 'outbox'"; }
first=$(connections)
check 'the database has connections of the daemon' test -n "$first"

# Accounts that setup makes for other hosts must use TLS, if the daemon does.
keep_secret "$DIR/admin.password" admin-secret
sql "CREATE USER 'admin'@'127.0.0.1' IDENTIFIED BY 'admin-secret';
    GRANT ALL ON *.* TO 'admin'@'127.0.0.1' WITH GRANT OPTION"
mkdir "$DIR/setup"
set_up() {
	cat > "$DIR/setup/$1.yml" <<-EOF2
	master: {user: $(id -un)}
	publish: {driver: discard}
	mysql: {hosts: ["127.0.0.1:$DB_PORT"], user: $1, database: app,
	    password_file: $DIR/setup/$1.password,
	    operator: {user: op_$1, password_file: $DIR/setup/op_$1.password},
	    tls: {mode: $2, ca: $DIR/ca.pem}}
	EOF2
	SAID=$("$OUTBOXCTL" -c "$DIR/setup/$1.yml" setup --yes --no-event \
	    --account-host '%' --admin admin \
	    --admin-password-file "$DIR/admin.password" 2>&1)
}
kinds() { sql "SELECT GROUP_CONCAT(ssl_type ORDER BY user) FROM mysql.user
    WHERE user IN ('$1', 'op_$1')"; }
set_up secure verify
is "$? $(kinds secure)" '0 ANY,ANY' 'setup: REQUIRE SSL for other hosts' ||
    say "$SAID"
# What follows is about the daemon; on MySQL run_relay.sh and others test that.
[ "$KIND" = mariadb ] || done_testing
set_up plain disable
is "$? $(kinds plain)" '0 ,' 'not where the daemon has no TLS' || say "$SAID"
like "$SAID" "'plain'@'%' may log in .*without TLS; .*ALTER USER" \
    'but the advice to use it'

# All files change, and then the servers: a reload takes them.
daemon 2 two
server server2 ca2 two
database server2 ca2
kill -HUP "$MASTER"
within 20 'after SIGHUP all workers are new' is_generation 2
send
drains 20 'after SIGHUP: the new authority, key and password are used'
is_new() { ! connections | grep -qxF "$first"; }
within 10 'after SIGHUP: all connections to the database are new' is_new
mark

# What the broker has must still be right.  Its clients are sent away.
refuses() {
	within 20 "$1: the log says so" has_said "$2"
	send
	WAITING=$((WAITING + 1))
	pause 300
	is "$(pending)" "$WAITING" "$1: nothing is sent"
}
WAITING=0
restart() { "$SANDBOX" restart "$DIR/nats" > /dev/null; }

server late2 ca2 two
restart
refuses 'an expired certificate' 'nats .*certificate has expired'
mark
server server1 ca1 two
restart
refuses 'a foreign certificate' 'nats .*issuer certificate'
mark
cp "$DIR/nats.plain" "$NATS_CONF"
restart
refuses 'a broker without TLS' 'nats .*offers no TLS.*nothing was sent'
mark
chmod 644 "$DIR/key.pem"
server server2 ca2 two
restart
refuses 'a key that all can read' 'nats .*key.pem: mode 644 gives all users'

# No reload is necessary: the files are read for each connection.
chmod 600 "$DIR/key.pem"
drains 30 'when all is right again: all messages are sent'

# The same with the database.
close_connections() {
	local id
	for id in $(connections); do sql "KILL $id"; done
}
WAITING=0
mark
database late2 ca2
close_connections
refuses 'an expired certificate of the database' 'mysql .*\(2026\)'
mark
database server1 ca1
close_connections
refuses 'a foreign certificate of the database' 'mysql .*\(2026\)'
daemon 1 two
drains 30 'the files of the daemon are replaced: all messages are sent'
stops 'it stops'
cp "$DIR/nats.plain" "$NATS_CONF"
restart
check_stream 'the stream is complete and in order' --wait 10
done_testing
