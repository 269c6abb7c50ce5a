#!/bin/sh
# init_test.sh - the init script and the systemd units (TAP)
#
# Servers are away: nothing here needs one, for the master starts, reloads and
# stops all the same.

# shellcheck source=tests/lib/result.sh
. "${srcdir:-.}/tests/lib/result.sh"
program=${OUTBOX_MASTER:-./outbox-master}

skip() {
	n=$((n + 1))
	echo "ok $n - $1 # SKIP $2"
}

# run NAME STATUS ACTION [INSTANCE...]: the script exits with it
run() {
	name=$1 want=$2
	shift 2
	said=$("$script" "$@" 2>&1 </dev/null)
	code=$?
	set -- "$name" "$want"
	[ "$code" -eq "$2" ]
	result "$1: exit status $2" $? "exit status $code
$said"
}

says() {
	case $said in
	*"$2"*) result "$1" 0 ;;
	*) result "$1" 1 "no \"$2\" in: $said" ;;
	esac
}

logged() {
	grep -q "$1" "$dir/log"
}

pid() {
	cat "$pidfile" 2>/dev/null
}

lives() {
	grep -q "^State:.[^ZX]" "/proc/$1/status" 2>/dev/null
}

ended() {
	for p in "$@"; do
		! lives "$p" || return 1
	done
}

children() {
	for f in /proc/[0-9]*/stat; do
		p=${f#/proc/}
		sed -n "s/^.*) [^ZX] $1 .*/${p%/stat}/p" "$f" 2>/dev/null
	done
}

count() {
	[ "$(children "$(pid)" | wc -l)" -eq "$1" ]
}

has_workers() {
	for _ in $(children "$(pid)"); do
		return 0
	done
	return 1
}

write_conf() {
	cat > "$conf" <<END
master:
  workers: 2
  user: "$user"
  pidfile: "$pidfile"
  stop_timeout: 1
mysql: {hosts: ["127.0.0.1:1"], database: app, password_env: PASSWORD}
publish: {timeout_ms: 500}
nats: {servers: ["nats://127.0.0.1:1"]}
log: {target: "$dir/log"}
$1
END
}

good() {
	write_conf "# good"
}

bad() {
	write_conf "bogus: 1"
}

# expand FILE: replace the placeholders as "make" does
expand() {
	sed -e "s|@sbindir@|$dir/sbin|g" -e "s|@sysconfdir@|$dir/etc|g" \
	    "$top/init/$1.in"
}

# Masters with our directory in their command line are ours; no worker outlives
# its master.
clean_up() {
	for f in /proc/[0-9]*/cmdline; do
		if tr '\0' ' ' 2>/dev/null <"$f" | grep -qF "[$dir/"; then
			p=${f#/proc/}
			kill -KILL "${p%/cmdline}" 2>/dev/null
		fi
	done
	rm -rf "$dir"
}

if [ ! -r /proc/self/stat ]; then
	echo "1..0 # SKIP there is no /proc"
	exit 0
fi
dir=$(mktemp -d "${TMPDIR:-/tmp}/outbox-init.XXXXXX") || exit 1
dir=$(cd "$dir" && pwd -P)
trap clean_up EXIT
trap 'exit 1' HUP INT TERM

mkdir "$dir/sbin" "$dir/etc" "$dir/etc/default"
ln -s "$(realpath "$program")" "$dir/sbin/outbox-master"
user=$(id -un 2>/dev/null || echo nobody)
conf=$dir/etc/outbox.yml
pidfile="$dir/run dir/relay.pid"
script=$dir/outbox-master

# As it is where LSB's functions are not installed.
expand outbox-master.init | sed -e 's|/lib/lsb/|/nonexistent/|' \
    -e 's|^READY_WAIT=3|READY_WAIT=0|' > "$script"
chmod +x "$script"
echo "PASSWORD=secret" > "$dir/etc/default/outbox-master"

# Not running.
is 'the init script has no placeholder left' "$(grep -c '@[a-z]*@' "$script")" 0
good
run "status before the first start" 3 status
run "stop of what does not run" 0 stop
run "reload of what does not run" 7 reload
run "no action" 3 ""
run "an unknown action" 3 dance
run "configtest" 0 configtest
run "try-restart of what does not run" 0 try-restart
is 'try-restart of what does not run: no process' "$(pid)" ""

# Not startable.
bad
run "start with a bad configuration" 6 start
says 'start with a bad configuration: the output names the key' "bogus"
is 'start with a bad configuration: no process' "$(pid)" ""
run "configtest of a bad configuration" 6 configtest
says 'configtest of a bad configuration: the output names the key' "bogus"
rm "$conf"
run "start without a configuration" 6 start
run "configtest without a configuration" 6 configtest
run "status without a configuration" 4 status

# Running.
good
run "start" 0 start
first=$(pid)
says 'start: the output tells that no worker relays' "see outboxctl status"
lives "$first"
result 'start: the process of the pid file lives' $? "pid file: $first"
run "status" 0 status
says 'status: the output has the pid' "$first"
wait_for 5 count 5
result 'start: two workers, listener, janitor and monitor' $? "children: $(children "$first")"
run "a second start" 0 start
is 'a second start: the same process' "$(pid)" "$first"

# Reloads.
run "reload" 0 reload
wait_for 5 logged "generation 2,"
result 'reload: generation 2' $? "$(cat "$dir/log")"
run "force-reload" 0 force-reload
wait_for 5 logged "generation 3,"
result 'force-reload: generation 3' $? "$(cat "$dir/log")"
is 'force-reload: the same process' "$(pid)" "$first"
bad
run "reload of a bad configuration" 6 reload
says 'reload of a bad configuration: the output names the key' "bogus"
run "restart with a bad configuration" 6 restart
run "try-restart with a bad configuration" 6 try-restart
run "status with a bad configuration" 0 status
lives "$first"
result 'restart with a bad configuration: the master lives' $?
logged "keeping the old configuration"
is 'reload of a bad configuration: the master gets no signal' $? 1

# Stops, with a configuration that is still bad.
family="$first $(children "$first")"
run "stop" 0 stop
# shellcheck disable=SC2086
ended $family
result 'stop: the master and its workers end' $? "$family"
is 'stop: the pid file is gone' "$(pid)" ""
good
run "status after the stop" 3 status

# Restarts.
run "restart of what does not run" 0 restart
first=$(pid)
run "restart" 0 restart
ended "$first" && lives "$(pid)"
result 'restart: another process' $? "$first and $(pid)"
first=$(pid)
run "try-restart" 0 try-restart
ended "$first" && lives "$(pid)"
result 'try-restart: another process' $? "$first and $(pid)"

# A killed master.
first=$(pid)
kill -KILL "$first"
wait_for 5 ended "$first"
run "status of a killed master" 1 status
run "stop of a killed master" 0 stop
run 'start after a killed master' 0 start
run 'status after a killed master' 0 status

# A master that does not react.
first=$(pid)
wait_for 5 has_workers
family="$first $(children "$first")"
kill -STOP "$first"
run "stop of a stopped master" 0 stop
says 'stop of a stopped master: the output says that it is killed' "killed"
# shellcheck disable=SC2086
wait_for 5 ended $family
result 'stop of a stopped master: its workers end' $? "$family"

# A pid that is another's by now.
sleep 600 &
other=$!
echo "$other" > "$pidfile"
run "status with another's pid" 1 status
run "stop with another's pid" 0 stop
lives "$other"
result "stop with another's pid: that process lives" $?
kill "$other"
wait "$other" 2>/dev/null

# Two settings of the defaults file.
mv "$conf" "$dir/etc/other file.yml"
cat > "$dir/etc/default/outbox-master" <<END
PASSWORD=secret
CONF="$dir/etc/other file.yml"
DAEMON_OPTS="--workers 1 --no-leasing"
END
run "start with options" 0 start
wait_for 5 logged "started with 1 worker "
result 'start with options: one worker' $? "$(cat "$dir/log")"
run "stop with options" 0 stop
mv "$dir/etc/other file.yml" "$conf"
echo "PASSWORD=secret" > "$dir/etc/default/outbox-master"

# With LSB's functions, if they are here.
if [ -r /lib/lsb/init-functions ]; then
	expand outbox-master.init | sed 's|^READY_WAIT=3|READY_WAIT=0|' \
	    > "$script"
	export SYSTEMCTL_SKIP_REDIRECT=1
	run "with LSB's functions: start" 0 start
	run "with LSB's functions: status" 0 status
	run "with LSB's functions: stop" 0 stop
	run "with LSB's functions: status after" 3 status
else
	skip "with LSB's functions" "not installed"
fi

# Not installed.
rm "$dir/sbin/outbox-master"
run "start without the program" 5 start
run "stop without the program" 0 stop
ln -s "$(realpath "$program")" "$dir/sbin/outbox-master"

# The unit.
expand outbox-master.service > "$dir/outbox-master.service"
is "the unit has no placeholder left" \
    "$(grep -c '@[a-z]*@' "$dir/outbox-master.service")" 0
if command -v systemd-analyze >/dev/null; then
	said=$(systemd-analyze verify --man=no "$dir/outbox-master.service" \
	    2>&1 | grep outbox-master)
	is "systemd finds nothing wrong with the unit" "$said" ""
else
	skip "systemd finds nothing wrong with the unit" "no systemd-analyze"
fi

# The unit of instances.
unit="$dir/outbox-master@east.service"
sed -f "$top/init/instance.sed" "$dir/outbox-master.service" > "$unit"
is 'the lines of the unit that have the instance' "$(grep '%i' "$unit")" \
"Description=Relay of outbox rows to NATS or Kafka, %i
Environment=CONF=$dir/etc/outbox/%i.yml
EnvironmentFile=-$dir/etc/default/outbox-master@%i
RuntimeDirectory=outbox/%i"
if command -v systemd-analyze >/dev/null; then
	said=$(systemd-analyze verify --man=no "$unit" 2>&1 |
	    grep outbox-master)
	is 'systemd finds nothing wrong with instances' "$said" ""
else
	skip 'systemd finds nothing wrong with instances' "no systemd-analyze"
fi

# How much a daemon that was broken into could do: 0 nothing, 10 all.
if command -v systemd-analyze >/dev/null &&
    systemd-analyze security --offline=true "$dir/outbox-master.service" \
    > "$dir/security" 2>&1
then
	for unit in "$dir/outbox-master.service" "$unit"; do
		systemd-analyze security --offline=true --threshold=19 \
		    "$unit" > "$dir/security" 2>&1
		result "systemd rates ${unit##*/} below 2.0" $? \
		    "$(grep -v '✓' "$dir/security")"
	done
else
	skip 'systemd rates the units below 2.0' 'no systemd-analyze'
fi

# Its command lines, side by side.
instance() {
	sed -n 's/^ExecStart=//p' "$unit" | sed -e 's/\$DAEMON_OPTS//' \
	    -e "s|\${CONF}|$(sed -n 's/^Environment=CONF=//p' "$unit")|" \
	    -e "s|%i|$1|g"
}
mkdir -p "$dir/etc/outbox" "$dir/run/east" "$dir/run/west"
for name in east west; do
	conf=$dir/etc/outbox/$name.yml
	pidfile=$dir/run/$name/outbox-master.pid
	good
	command=$(instance "$name")
	PASSWORD=secret $command </dev/null >/dev/null 2>&1 &
done
wait_for 5 count 5
result "two instances run side by side" $? "$(tail "$dir/log")"
west=$(pid)
pidfile=$dir/run/east/outbox-master.pid
wait_for 5 count 5
result 'two instances: each has two workers, a listener, a janitor and a monitor' $? "$(tail "$dir/log")"
family="$(pid) $(children "$(pid)")"
kill "$(pid)"
# shellcheck disable=SC2086
wait_for 5 ended $family
lives "$west"
result 'two instances: one ends, the other lives' $? "$family and $west"
kill "$west"
wait_for 5 ended "$west"

# The same with the init script.
echo 'INSTANCES="east west"' > "$dir/etc/default/outbox-master"
cat > "$dir/etc/default/outbox-master@east" <<END
DAEMON_OPTS="--workers 1"
PASSWORD=secret
END
echo PASSWORD=secret > "$dir/etc/default/outbox-master@west"
run "start of instances" 0 start
pidfile=$dir/run/east/outbox-master.pid
wait_for 5 count 4
result 'start of instances: one runs, with its own options' $? "$said"
pidfile=$dir/run/west/outbox-master.pid
wait_for 5 count 5
result 'start of instances: the other runs' $? "$said"
run "stop of one instance" 0 stop west
run "status of the stopped instance" 3 status west
run "status of the other instance" 0 status east
run "status of all instances" 3 status
says 'status of all instances: the output names each' \
    "outbox-master@east is running"
run "configtest of an instance without a file" 6 configtest north
run "a path in place of an instance" 2 status ../outbox
run "stop of instances" 0 stop
run "status of stopped instances" 3 status east

results
