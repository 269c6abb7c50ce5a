#!/bin/bash
# inside.sh - what an administrator does with the package: see debian.sh
#
# Runs in a clean Debian without systemd, as its first process.

cd /root || exit 1
# shellcheck source=tests/lib/result.sh
. ./result.sh
conf=/etc/outbox.yml
log=/var/log/outbox/outbox-master.log

# try NAME STATUS COMMAND...: exits with it; its output is in $said
try() {
	said=$("${@:3}" 2>&1 < /dev/null)
	code=$?
	[ "$code" -eq "$2" ]
	result "$1: exit status $2" $? "exit status $code
$(tail -n 20 <<< "$said")"
}

# says NAME PATTERN: the output of the last command has it
says() {
	grep -q -- "$2" <<< "$said"
	result "$1" $? "no \"$2\" in: $said"
}

sql() { mariadb -N app -e "$1"; }
pid() { cat /run/outbox/outbox-master.pid 2> /dev/null; }
is_alive() { [ -e "/proc/$(pid)/stat" ]; }
is_drained() { [ "$(sql 'SELECT COUNT(*) FROM outbox
    WHERE published_at IS NULL')" = 0 ]; }
has_events() { [ "$(sql 'SELECT COUNT(*) FROM outbox
    WHERE published_at IS NOT NULL')" -ge "$1" ]; }
delivered() { outboxctl --json messages list --state delivered; }

# longest_gap SINCE: seconds without a delivered message
longest_gap() {
	sql "SELECT MAX(gap) FROM (SELECT TIMESTAMPDIFF(MICROSECOND,
	    LAG(published_at) OVER (ORDER BY published_at), published_at) / 1e6
	    AS gap FROM outbox WHERE published_at > '$1') AS gaps"
}

# is_short_gap NAME SINCE: none is longer than two seconds
is_short_gap() {
	gap=$(longest_gap "$2")
	awk -v gap="${gap:-99}" 'BEGIN { exit !(gap < 2) }'
	result "$1: no gap of 2 s in delivery" $? "the longest one: $gap s"
	echo "# the longest gap: $gap s"
}

produce_forever() {
	lab produce --socket /run/mysqld/mysqld.sock --user root \
	    --database app --keys 100 --rate 300 --forever > /dev/null &
	producer=$!
}

#
# Servers, as an administrator has them.  init would run scripts of packages.
#
printf '#!/bin/sh\nexit 0\n' > /usr/sbin/policy-rc.d
chmod +x /usr/sbin/policy-rc.d
service mariadb start > /dev/null 2>&1
echo 'jetstream { store_dir: /var/lib/nats }' >> /etc/nats-server.conf
nats-server -c /etc/nats-server.conf -l /var/log/nats.log &
wait_for 60 mariadb -e 'SELECT 1' > /dev/null 2>&1
result 'the servers run' $?

#
# README.md, word for word.
#
steps=(step?)
[ "${#steps[@]}" -ge 4 ] && [ "${#steps[@]}" -le 5 ]
result 'README.md needs at most five commands' $? "${steps[*]}"
SECONDS=0
try 'README.md, command 1' 0 bash step1
says 'the installation says that nothing is started' 'is not started, because'
is 'the user and its group' "$(id -nG outbox)" outbox
is 'nothing runs' "$(pgrep -x outbox-master)" ''
is 'files with passwords can be read by the daemon alone' \
    "$(stat -c '%U %G %a' /etc/outbox)" 'root outbox 750'
try 'start before the configuration' 6 service outbox-master start
says 'start before the configuration: what is missing' 'mysql.database'
for step in "${steps[@]:1}"; do
	try "README.md, command ${step#step}" 0 bash "$step"
done
wait_for 10 has_events 1
result 'the first event is delivered' $? "$(outboxctl status 2>&1)"
[ "$SECONDS" -lt 120 ]
result 'all of it takes less than two minutes' $? "$SECONDS s"
delivered | grep -q '"order-17"'
result 'outboxctl shows the event' $? "$(delivered)"
try 'status' 0 service outbox-master status
try 'doctor' 0 outboxctl doctor
is 'it does not run as root' "$(ps -o user= -C outbox-master | sort -u)" outbox

#
# Reload.
#
first=$(pid)
sed -i "s|^  target: stderr  |  target: $log|" "$conf"
try 'reload' 0 service outbox-master reload
wait_for 10 grep -q 'generation 2' "$log"
result 'reload: the log is in its file' $? "$(ls -l /var/log/outbox)"
cp "$conf" good.yml
echo 'bogus: 1' >> "$conf"
try 'reload of a bad file' 6 service outbox-master reload
says 'reload of a bad file: what is wrong' bogus
is 'reload of a bad file: the daemon runs' "$(pid)" "$first"
try 'reload of a bad file: status' 0 service outbox-master status

#
# Upgrade under load: first to a version that refuses the configuration.
#
produce_forever
wait_for 10 has_events 300
result 'events flow' $?
since=$(sql 'SELECT NOW(6)')
try 'upgrade with a bad file' 0 apt-get install -q -o \
    Dpkg::Options::=--force-confdef ./next/outbox-master_99.deb
says 'upgrade with a bad file: what is wrong' bogus
says 'upgrade with a bad file: what is done' 'former version goes on'
is 'upgrade with a bad file: the former daemon runs' "$(pid)" "$first"
cp good.yml "$conf"
try 'the same version again' 0 apt-get install -q -o \
    Dpkg::Options::=--force-confdef --reinstall ./next/outbox-master_99.deb
wait_for 10 is_alive
[ "$(pid)" != "$first" ]
result 'upgrade: another daemon runs' $? "$first and $(pid)"
cmp -s good.yml "$conf"
result 'upgrade: the configuration is as it was' $? "$(diff good.yml "$conf")"
now=$(sql 'SELECT COUNT(*) FROM outbox')
wait_for 10 has_events $((now + 600))
kill "$producer"
wait "$producer"
wait_for 30 is_drained
result 'upgrade: all events are delivered' $? "$(outboxctl status)"
is_short_gap 'upgrade' "$since"
try 'the independent checker' 0 lab check --socket /run/mysqld/mysqld.sock \
    --user root --database app --nats nats://127.0.0.1:4222 --stream EVENTS
grep -E '^(lost|duplicated|out of order) ' <<< "$said" | sed 's/^/# /'

#
# Stop, remove, purge.
#
try 'stop' 0 service outbox-master stop
try 'status after the stop' 3 service outbox-master status
try 'upgrade of a stopped daemon' 0 apt-get install -q --reinstall \
    -o Dpkg::Options::=--force-confdef ./next/outbox-master_99.deb
is 'upgrade of a stopped daemon: it stays so' "$(pgrep -x outbox-master)" ''
try 'start' 0 service outbox-master start
try 'remove' 0 apt-get remove -q outbox-master
is 'remove: nothing runs' "$(pgrep -x outbox-master)" ''
cmp -s good.yml "$conf"
result 'remove: the configuration stays' $?
try 'install again' 0 apt-get install -q ./next/outbox-master_99.deb
cmp -s good.yml "$conf"
result 'install again: the configuration is as it was' $?
try 'start again' 0 service outbox-master start
try 'purge' 0 apt-get purge -q outbox-master
is 'purge: nothing runs' "$(pgrep -x outbox-master)" ''
is 'purge: no file is left' "$(find / -xdev \( -path /proc -o -path /root -o \
    -path /var/lib/mysql -o -path /var/lib/nats -o -path /var/cache/apt \) \
    -prune -o -iname '*outbox*' -print)" ''
id outbox > /dev/null 2>&1
result 'purge: the user stays, because files may be its own' $?
results
