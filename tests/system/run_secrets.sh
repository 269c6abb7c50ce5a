#!/usr/bin/env bash
# No secret of a configuration is seen: in ps, /proc, the files of the run
# directory, the dump, the log, or what outboxctl prints
. "${srcdir:-$(dirname "$0")/../..}/tests/lib/lib.sh"

# Made for this test; they open nothing else.
NKEY=UAGS3RYOZ66WQ3IQQQ7RBKU2A5EW3F2BQRVYDXCZUICKXVMUPOXLOKGW
SEED=SUAHJMJBDXGJGKPQWX74QTGYP4NOYXQCQEBU4BFSIMQMHVQAQAOWEF23KA
DB_SECRET=db-hunter2 USER_SECRET=nats-hunter2 TOKEN_SECRET=token-hunter2

OUTBOX_PW=$DB_SECRET start_servers
SECRETS=("$DB_SECRET" "$USER_SECRET" "$TOKEN_SECRET" "$SEED" "wrong-hunter2")
printf '%s\n' "${SECRETS[@]}" > "$DIR/patterns"
JS_URL=$URL
start_nats() {
	"$SANDBOX" start nats "$DIR/$1" "$2" > /dev/null
	sed -n 's/^URL=//p' "$DIR/$1/env"
}
USER_URL=$(start_nats user \
    "authorization {users: [{user: relay, password: $USER_SECRET}]}")
TOKEN_URL=$(start_nats token "authorization {token: $TOKEN_SECRET}")
NKEY_URL=$(start_nats nkey "authorization {users: [{nkey: $NKEY}]}")
keep_secret "$DIR/db.secret" "$DB_SECRET"
keep_secret "$DIR/user.secret" "$USER_SECRET"
keep_secret "$DIR/seed.secret" "$SEED"

# conf DATABASE NATS: how to log in to each, at $URL
conf() {
	LEVEL=debug STREAM='' write_conf
	sed -i "s|password_env: OUTBOX_PW|$1|; s|^nats: {|&$2, |" "$CONF"
	echo "monitor: {socket: $DIR/run/outbox.monitor.sock}" >> "$CONF"
}

# family PID: it and all below it, among them outboxctl of the monitor
family() {
	local pid
	echo "$1"
	for pid in $(ps -o pid= --ppid "$1"); do family "$pid"; done
}

# asked: the monitor has started an outboxctl serve, and that an answer
asked() {
	CODE=$(curl -s -m 10 -o "$DIR/answer.json" -w '%{http_code}' \
	    --unix-socket "$DIR/run/outbox.monitor.sock" \
	    http://localhost/api/audit) &&
	    family "$MASTER" | xargs ps -o args= -p | grep -q 'outboxctl.*serve'
}

# seen: the places where a secret is
seen() {
	local pid where
	for pid in $(family "$MASTER"); do
		for where in cmdline environ comm status; do
			grep -aqFf "$DIR/patterns" "/proc/$pid/$where" &&
			    echo "/proc/PID/$where"
		done
		ps eww -o args= -p "$pid" | grep -qFf "$DIR/patterns" &&
		    echo ps
	done
	grep -aslFf "$DIR/patterns" "$DIR"/run/* "$LOG" "$DIR/out"
	{
		"$OUTBOX_MASTER" -c "$CONF" -T
		"$OUTBOX_MASTER" -c "$CONF" -t
		"$OUTBOXCTL" -c "$CONF" status
		"$OUTBOXCTL" -c "$CONF" --json status
		"$OUTBOXCTL" -c "$CONF" doctor
		"$OUTBOXCTL" -c "$CONF" --json doctor
		"$OUTBOXCTL" -c "$CONF" --json config
		"$OUTBOXCTL" -c "$CONF" logs
	} > "$DIR/printed" 2>&1
	grep -oFf "$DIR/patterns" "$DIR/printed"
}

runs() {
	"$OUTBOXCTL" -c "$CONF" --json status 2> "$DIR/err" | jq -e \
	    '[.this_host.workers[].state] == ["running", "running"]' \
	    > "$DIR/state" 2>&1
}
logs() { has_line "$LOG" "$1"; }

# hides NAME COMMAND...: when that succeeds, the daemon shows no secret
hides() {
	LOG=$DIR/log.$TESTS
	start_master
	within 20 "$1: it has used its secrets" "${@:2}"
	within 20 "$1: and so has outboxctl serve" asked
	[ "$2" != runs ] || is "$CODE" 200 "$1: which can log in"
	is "$(seen | sort -u)" '' "$1: no secret is seen"
	check "$1: something was looked at" [ -s "$DIR/printed" ]
	stops "$1: it stops"
	is "$(grep -acsFf "$DIR/patterns" "$LOG")" 0 "$1: nor at the end"
}

export DB_PW=$DB_SECRET NATS_PW=$TOKEN_SECRET WRONG_PW=wrong-hunter2

# A process that hides nothing is seen, so seen() works.
env bash -c 'read -r; :' -- "$USER_SECRET" <> "$DIR/nap" &
MASTER=$! LOG=$DIR/nothing
cp "$DIR/patterns" "$LOG"
in_cmdline() { grep -aqFf "$DIR/patterns" "/proc/$MASTER/cmdline"; }
wait_for 5 in_cmdline
URL=$USER_URL conf 'password_env: DB_PW' 'user: relay'
is "$(seen | sort -u | xargs)" \
    "/proc/PID/cmdline /proc/PID/environ $LOG ps" \
    'a process that hides nothing is seen'
kill "$MASTER"

URL=$USER_URL conf 'password_env: DB_PW' \
    "user: relay, password_file: $DIR/user.secret"
hides 'variable, password' runs
URL=$TOKEN_URL conf "password_file: $DIR/db.secret" 'token_env: NATS_PW'
hides 'file, token' runs
URL=$NKEY_URL conf 'password_env: DB_PW' \
    "nkey: $NKEY, nkey_file: $DIR/seed.secret"
hides 'variable, nkey' runs

# What is refused is no less a secret.
URL=$USER_URL conf 'password_env: WRONG_PW' \
    "user: relay, password_file: $DIR/user.secret"
hides 'a wrong password of the database' logs 'Access denied'
URL=$TOKEN_URL conf 'password_env: DB_PW' 'token_env: WRONG_PW'
hides 'a wrong token' logs '[Aa]uthorization'
URL=$JS_URL conf 'password_env: DB_PW' "token_file: $DIR/seed.secret"
hides 'a token that nobody asks for' runs

# A secret in the place of another value.
URL=$JS_URL conf 'password_env: DB_PW' "nkey: $SEED"
OUT=$("$OUTBOX_MASTER" -c "$CONF" -t 2>&1)
is "$?$(printf '%s' "$OUT" | grep -oFf "$DIR/patterns")" 78 \
    'a seed as the public key: refused, and not shown'
URL=nats://relay:$USER_SECRET@127.0.0.1 conf 'password_env: DB_PW' 'user: u'
OUT=$("$OUTBOX_MASTER" -c "$CONF" -t 2>&1)
is "$?$(printf '%s' "$OUT" | grep -oFf "$DIR/patterns")" 78 \
    'a password in an address: refused, and not shown'
done_testing
