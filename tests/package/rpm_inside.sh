#!/bin/bash
# rpm_inside.sh - the scripts of the RPM, where systemd runs: see debian.sh
#
# In a Debian, as no root of an RPM distribution can be made everywhere: what the
# RPM depends on is there by apt, and rpm is told so.

cd /root || exit 1
# shellcheck source=tests/package/in_root.sh
. ./in_root.sh
unit=outbox-master.service
rpm=(outbox-master-*.rpm)

shows() { systemctl show --value -p "$1" "$unit"; }
main_pid() { shows MainPID; }
is_new_pid() { [ "$(main_pid)" != "$1" ] && [ "$(main_pid)" != 0 ]; }
# rpm_again: what an upgrade runs; the version is the same
rpm_again() { rpm -U --nodeps --force "${rpm[@]}"; }

wait_for 60 mariadb -e 'SELECT 1' > /dev/null 2>&1
result 'the servers run' $?
try 'install' 0 rpm -i --nodeps "${rpm[@]}"
is 'the user and its group' "$(id -nG outbox)" outbox
is 'files with passwords can be read by the daemon alone' \
    "$(stat -c '%U %G %a' /etc/outbox)" 'root outbox 750'
is 'nothing runs' "$(shows ActiveState)" inactive
is 'it starts with the machine, where the preset says so' \
    "$(shows UnitFileState)" enabled
try 'start before the configuration' 1 systemctl start "$unit"
systemctl reset-failed "$unit"
sed -i 's|/var/lib/mysql/mysql.sock|/run/mysqld/mysqld.sock|' "$conf"
for step in step[2-9]; do
	[ "$step" != step3 ] || echo "systemctl start $unit" > step3
	try "README.md, command ${step#step}" 0 bash "$step"
done
wait_for 10 has_events 1
result 'the first event is delivered' $? "$(outboxctl status 2>&1)"

# Under load: first with a file and with tables that are refused.
produce_forever
wait_for 20 has_events 300
result 'events flow' $?
cp "$conf" good.yml
first=$(main_pid)
since=$(sql 'SELECT NOW(6)')
echo 'bogus: 1' >> "$conf"
try 'upgrade with a bad file' 0 rpm_again
says 'upgrade with a bad file: what is wrong' 'bogus'
says 'upgrade with a bad file: what is done' 'is not restarted'
is 'upgrade with a bad file: the former daemon runs' "$(main_pid)" "$first"
cp good.yml "$conf"
sql 'RENAME TABLE outbox_dead_letters TO away'
try 'upgrade with a table that lacks' 0 rpm_again
says 'upgrade with a table that lacks: which' 'outbox_dead_letters: no such table'
is 'upgrade with a table that lacks: the former daemon runs' \
    "$(main_pid)" "$first"
sql 'RENAME TABLE away TO outbox_dead_letters'
try 'upgrade' 0 rpm_again
wait_for 20 is_new_pid "$first"
result 'upgrade: another daemon runs' $? "$first and $(main_pid)"
cmp -s good.yml "$conf"
result 'upgrade: the configuration is as it was' $? "$(diff good.yml "$conf")"
now=$(sql 'SELECT COUNT(*) FROM outbox')
wait_for 20 has_events $((now + 600))
check_delivery upgrade "$since"

systemctl stop "$unit"
try 'upgrade of a stopped daemon' 0 rpm_again
is 'upgrade of a stopped daemon: it stays so' "$(shows ActiveState)" inactive
systemctl start "$unit"
try 'erase' 0 rpm -e outbox-master
is 'erase: nothing runs' "$(pgrep -x outbox-master)" ''
is 'erase: systemd knows nothing of it' \
    "$(systemctl list-units --all --plain --no-legend 'outbox*')" ''
cmp -s good.yml "$conf.rpmsave"
result 'erase: the configuration is saved' $? "$(ls /etc/outbox*)"
results
