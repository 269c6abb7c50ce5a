#!/bin/bash
# inside.sh - what an administrator does with the package: see debian.sh
#
# Runs in a clean Debian without systemd, as its first process.

cd /root || exit 1
# shellcheck source=tests/package/in_root.sh
. ./in_root.sh
log=/var/log/outbox/outbox-master.log

start_servers

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
try 'upgrade with a bad file' 0 upgrade ./next/outbox-master_99.deb
says 'upgrade with a bad file: what is wrong' bogus
says 'upgrade with a bad file: what is done' 'former version goes on'
is 'upgrade with a bad file: the former daemon runs' "$(pid)" "$first"
cp good.yml "$conf"
sql 'RENAME TABLE outbox_dead_letters TO away'
try 'upgrade with a table that lacks' 0 upgrade --reinstall \
    ./next/outbox-master_99.deb
says 'upgrade with a table that lacks: which' 'outbox_dead_letters: no such table'
says 'upgrade with a table that lacks: what is done' 'former version goes on'
is 'upgrade with a table that lacks: the former daemon runs' "$(pid)" "$first"
sql 'RENAME TABLE away TO outbox_dead_letters'
try 'the same version again' 0 upgrade --reinstall ./next/outbox-master_99.deb
wait_for 10 is_alive
[ "$(pid)" != "$first" ]
result 'upgrade: another daemon runs' $? "$first and $(pid)"
cmp -s good.yml "$conf"
result 'upgrade: the configuration is as it was' $? "$(diff good.yml "$conf")"
now=$(sql 'SELECT COUNT(*) FROM outbox')
wait_for 10 has_events $((now + 600))
check_delivery upgrade "$since"

#
# Stop, remove, purge.
#
try 'stop' 0 service outbox-master stop
try 'status after the stop' 3 service outbox-master status
try 'upgrade of a stopped daemon' 0 upgrade --reinstall \
    ./next/outbox-master_99.deb
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
is 'purge: no file is left' "$(files_left)" ''
id outbox > /dev/null 2>&1
result 'purge: the user stays, because files may be its own' $?

#
# OpenRC, with its script from the examples.
#
rc() { rc-service "$@" 2>&1; }
apt-get install -q openrc ./next/outbox-master_99.deb > out 2>&1
result 'install again, with OpenRC' $? "$(tail -n 20 out)"
mkdir -p /run/openrc /etc/conf.d
touch /run/openrc/softlevel
cp /usr/share/doc/outbox-master/examples/outbox-master.openrc \
    /etc/init.d/outbox-master
try 'OpenRC: start before the configuration' 1 rc outbox-master start
says 'OpenRC: start before the configuration: what is missing' mysql.database
cp good.yml "$conf"
echo "$RANDOM" | install -m 640 -g outbox /dev/stdin /etc/outbox/mysql.password
try 'OpenRC: start' 0 rc outbox-master start
wait_for 10 is_alive
first=$(pid)
try 'OpenRC: status' 0 rc outbox-master status
try 'OpenRC: reload' 0 rc outbox-master reload
echo 'bogus: 1' >> "$conf"
try 'OpenRC: reload of a bad file' 1 rc outbox-master reload
try 'OpenRC: restart with a bad file' 1 rc outbox-master restart
is 'OpenRC: restart with a bad file: the daemon runs' "$(pid)" "$first"
cp good.yml "$conf"
try 'OpenRC: restart' 0 rc outbox-master restart
wait_for 10 is_alive
[ "$(pid)" != "$first" ]
result 'OpenRC: restart: another daemon runs' $? "$first and $(pid)"
ln -s outbox-master /etc/init.d/outbox-master.east
sed 's|/run/outbox/|/run/outbox/east/|' good.yml > /etc/outbox/east.yml
try 'OpenRC: start of an instance' 0 rc outbox-master.east start
wait_for 10 test -s /run/outbox/east/outbox-master.pid
try 'OpenRC: stop' 0 rc outbox-master stop
try 'OpenRC: status after the stop' 3 rc outbox-master status
try 'OpenRC: status of the instance' 0 rc outbox-master.east status
kill -KILL "$(cat /run/outbox/east/outbox-master.pid)"
wait_for 10 not pgrep -x outbox-master > /dev/null
try 'OpenRC: status of a killed daemon' 32 rc outbox-master.east status
results
