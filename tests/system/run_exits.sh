#!/usr/bin/env bash
# Exit statuses: 0, 1 failed, 2 usage, 78 configuration, and secrets that cannot
# be read, of outbox-master and outboxctl
. "${srcdir:-$(dirname "$0")/../..}/tests/lib/ctl.sh"

start_servers
umask 077			# a secret that all can read is refused
SECRET=$DIR/mysql.password
echo "$OUTBOX_PW" > "$SECRET"
write_conf
sed -i "s|password_env: OUTBOX_PW|password_file: $SECRET|" "$CONF"
cp "$CONF" "$DIR/good.yml"

# master STATUS REGEX NAME OPTION...: outbox-master ends so, with one line
master() {
	timeout 10 "$OUTBOX_MASTER" -c "$CONF" "${@:4}" > "$DIR/said" \
	    2> "$DIR/err"
	is $? "$1" "outbox-master ${*:4}, $3: exit status $1"
	like "$(cat "$DIR/err")" "$2" "outbox-master ${*:4}, $3: what it says"
	is "$(wc -l < "$DIR/err")" 1 \
	    "outbox-master ${*:4}, $3: in one line"
}

# wrong REGEX NAME: with each way to start the daemon, and with outboxctl
wrong() {
	local how
	for how in -f -t --once; do
		master 78 "$1" "$2" "$how"
	done
	exits 78 "$2: status, exit status 78" status
	like "$OUT" "critical: .*$1" "$2: status tells the problem"
	fails 78 "^outboxctl: $1" "$2" messages list
	shows '[.[] | select(.check == "configuration").level]' '["fail"]' \
	    "$2: doctor --json" doctor
	is "$RC" 78 "$2: doctor --json, exit status 78"
}

#
# outbox-master: each status of its manual
#
for how in -t -T --once; do
	"$OUTBOX_MASTER" -c "$CONF" "$how" > "$DIR/said" 2>&1
	is $? 0 "outbox-master $how, all is well: exit status 0"
done
for status in 0 1 2 78; do
	check "the manual of outbox-master has the status $status" grep -q \
	    "^\.It $status\b" <(sed -n '/^\.Sh EXIT STATUS/,/^\.Sh EX/p' \
	    "$srcdir/man/outbox-master.8" | sed 1d)
done
is "$(sed -n '/^\.Sh EXIT STATUS/,/^\.El/p' "$srcdir/man/outbox-master.8" |
    grep -c '^\.It')" 4 'and no other'
"$OUTBOX_MASTER" --frobnicate > "$DIR/said" 2>&1
is $? 2 'outbox-master with an unknown option: exit status 2'
"$OUTBOX_MASTER" --workers 0 > "$DIR/said" 2>&1
is $? 2 'outbox-master with a wrong number: exit status 2'
"$OUTBOX_MASTER" more > "$DIR/said" 2>&1
is $? 2 'outbox-master with an argument: exit status 2'
(ulimit -n 64; "$OUTBOX_MASTER" -c "$CONF") > "$DIR/said" 2>&1
is $? 1 'outbox-master with too few descriptors: exit status 1'
"$OUTBOX_MASTER" -c "$CONF" -T > /dev/full 2> "$DIR/err"
is $? 1 'outbox-master -T to a full disk: exit status 1'
sed -i "s|log: {|log: {target: $DIR/none/log, |" "$CONF"
master 1 'none/log: No such file' 'a log that cannot be opened' -f
cp "$DIR/good.yml" "$CONF"
sed -i "s|pidfile: [^,]*|pidfile: /dev/null/outbox.pid|" "$CONF"
master 1 '/dev/null.*: Not a directory' 'a pid file that cannot be made' -f
cp "$DIR/good.yml" "$CONF"
if [ "$(id -u)" -eq 0 ]; then
	sed -i "s|user: $(id -un),|user: no-such-user,|" "$CONF"
	for how in -f -t --once; do
		master 78 'master.user: no-such-user: no such user' \
		    'no such user' "$how"
	done
	cp "$DIR/good.yml" "$CONF"
fi

#
# Secrets
#
rm "$SECRET"
wrong ".*outbox.yml: line 2: mysql.password_file: $SECRET: No such file.*: outboxctl setup writes it" \
    'no password file'
: > "$SECRET"
wrong ".*outbox.yml: line 2: mysql.password_file: $SECRET: the file is empty" \
    'an empty password file'
echo > "$SECRET"
wrong ".*line 2: mysql.password_file: $SECRET: the first line is empty" \
    'a password file with an empty line'
for command in 'logs' 'stop' 'retry-plan' 'config' 'schema print'; do
	# shellcheck disable=SC2086
	exits 0 "$command needs no password: exit status 0" $command
done
echo "$OUTBOX_PW" > "$SECRET"
sed -i "s|password_file: $SECRET|password_env: NO_SUCH_PW|" "$CONF"
wrong '.*line 2: mysql.password_env: environment variable NO_SUCH_PW is not set' \
    'a variable that is not set'
sed 's|, password_file: [^,]*||' "$DIR/good.yml" > "$CONF"
wrong '.*outbox.yml: mysql.password_file: /etc/outbox/mysql.password: ' \
    'the default password file'
# The user that the daemon runs as must be able to read it, not root.
if [ "$(id -u)" -eq 0 ]; then
	chmod 711 "$DIR"
	chmod 600 "$SECRET"
	sed "s|user: root,|user: nobody,|" "$DIR/good.yml" > "$CONF"
	for how in -f -t --once; do
		master 78 'mysql.password_file: .*: Permission denied' \
		    'a file of root alone' "$how"
	done
fi

# What only the library of a driver can tell; no broker is asked.
{
	sed 's|^publish: {|&driver: kafka, |; /^nats: {/d' "$DIR/good.yml"
	echo 'kafka: {client: {linger.mss: 5}}'
} > "$CONF"
LINE=$(wc -l < "$CONF")
for how in -f -t --once; do
	master 78 "outbox.yml: line $LINE: kafka.client: linger.mss: No such" \
	    'a property that librdkafka does not know' "$how"
done
OUT=$("$OUTBOXCTL" -c "$CONF" doctor 2>&1)
like "$OUT" "^fail .*line $LINE: kafka.client: linger.mss: No such" \
    'doctor: a property that librdkafka does not know'

# broken LINE REGEX NAME: with this line in the section nats
broken() {
	sed "s|^nats: {|nats: {$1, |" "$DIR/good.yml" > "$CONF"
	master 78 ".*line 7: $2" "$3" -f
	fails 78 "^outboxctl: .*line 7: $2" "$3" stream info
	exits 0 "$3: no matter to a command without the broker" messages list
}
broken "user: u, password_file: $DIR/none" 'nats.password_file: .*No such file' \
    'no password file of the broker'
broken 'user: u, password_env: NO_SUCH_PW' 'nats.password_env: .*is not set' \
    'a variable with the password of the broker'
broken "token_file: $DIR/none" 'nats.token_file: .*No such file' 'no token'
broken 'token_env: NO_SUCH_PW' 'nats.token_env: .*is not set' 'no token variable'
: > "$DIR/creds"
broken "credentials_file: $DIR/creds" 'nats.credentials_file: .*file is empty' \
    'empty credentials'
rm "$DIR/creds"
broken "credentials_file: $DIR/creds" 'nats.credentials_file: .*No such file' \
    'no credentials'

echo "$SECRET" > "$DIR/open"
chmod 644 "$DIR/open"
for key in 'user: u, password_file' token_file credentials_file \
    "nkey: U$(printf 'A%.0s' {1..55}), nkey_file" \
    "tls: {cert: $CONF, key"; do
	line="$key: $DIR/open"
	[ "${key#tls}" = "$key" ] || line+='}'
	broken "$line" "nats.*${key##*[ {]}: .*mode 644 gives all users" \
	    "a file that all can read as ${key##*[ {]} of the broker"
done
sed "s|password_file: $SECRET|password_file: $DIR/open|" "$DIR/good.yml" \
    > "$CONF"
wrong ".*line 2: mysql.password_file: $DIR/open: mode 644 gives all users" \
    'a password file that all can read'
sed "2s|mysql: {|&tls: {cert: $CONF, key: $DIR/open}, |" "$DIR/good.yml" \
    > "$CONF"
wrong ".*line 2: mysql.tls.key: $DIR/open: mode 644 gives all users" \
    'a private key that all can read'

#
# A reload
#
cp "$DIR/good.yml" "$CONF"
start_fleet
before=$(worker_pids "$MASTER" | sort)
rm "$SECRET"
fails 78 'refused: .*line 2: mysql.password_file: .*No such file.*keeps its .*generation 1' \
    'reload without the password file' reload
shows '[.accepted, .generation, .status]' '[false,1,78]' \
    'reload --json without the password file' reload
is "$(worker_pids "$MASTER" | sort)" "$before" 'it replaces no worker'
like "$(cat "$LOG")" 'reload: .*line 2: mysql.password_file.*; keeping the old' \
    'the log says so'
echo "$OUTBOX_PW" > "$SECRET"
exits 0 'reload with the file' reload
like "$(ps -o args= -p "$(worker_pid | head -n 1)")" '^outbox-master: worker 0' \
    'the title of a worker'
master 1 "already running with pid $MASTER" 'another one runs' -f
mv "$DIR/run/outbox.pid" "$DIR/pid"
master 1 "outbox.pid was removed, but its outbox-master still runs: stop it first: kill $MASTER" \
    'another one runs, whose pid file was removed' -f
mv "$DIR/pid" "$DIR/run/outbox.pid"
stop_master "$MASTER"
is $? 0 'outbox-master, stopped by a signal: exit status 0'
done_testing
