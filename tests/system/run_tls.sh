#!/usr/bin/env bash
# TLS to the broker: certificates, keys and passwords that change while it runs
. "${srcdir:-$(dirname "$0")/../..}/tests/lib/lib.sh"

command -v openssl > /dev/null || skip_all 'no openssl'
start_servers
WORKERS=2 write_conf
TLS=$DIR/tls
NATS_CONF=$DIR/nats/nats.conf
cp "$NATS_CONF" "$DIR/nats.plain"
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
	    sign "ca$1" "late$1" serverAuth -1
}
(cd "$TLS" && authority 1 && authority 2) || {
	sed 's/^/# /' "$DIR/openssl.log"
	echo 'Bail out! no certificates'
	exit 1
}

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

sed -i "s|^nats: {|&user: relay, password_file: $DIR/password, tls: {mode: verify, ca: $DIR/ca.pem, cert: $DIR/cert.pem, key: $DIR/key.pem}, |" "$CONF"
server server1 ca1 one
daemon 1 one
start_fleet
send
drains 10 'with a certificate and a password: messages are sent'

# All files change, and then the broker: a reload takes them.
daemon 2 two
server server2 ca2 two
kill -HUP "$MASTER"
within 20 'after SIGHUP all workers are new' is_generation 2
send
drains 20 'after SIGHUP: the new authority, key and password are used'
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
stops 'it stops'
cp "$DIR/nats.plain" "$NATS_CONF"
restart
check_stream 'the stream is complete and in order' --wait 10
done_testing
