#!/bin/bash
# systemd.sh - the package where systemd runs: see debian.sh
#
# Ready, status, watchdog, upgrade and instances, with the sandbox of the unit.

cd /root || exit 1
# shellcheck source=tests/package/in_root.sh
. ./in_root.sh
unit=outbox-master.service

# shows PROPERTY [UNIT]; shows_text PATTERN: the status that the daemon tells
shows() { systemctl show --value -p "$1" "${2:-$unit}"; }
shows_text() { shows StatusText | grep -q -- "$1"; }
is_new_pid() { [ "$(shows MainPID)" != "$1" ] && [ "$(shows MainPID)" != 0 ]; }

wait_for 60 mariadb -e 'SELECT 1' > /dev/null 2>&1
result 'the servers run' $?
is 'the devices are not those of the machine' \
    "$(awk '$2 == "/dev" && $3 == "devtmpfs"' /proc/mounts)" ''
try 'README.md, command 1' 0 bash step1
is 'it starts with the machine' "$(shows UnitFileState)" enabled
is 'nothing runs' "$(shows ActiveState)" inactive
try 'start before the configuration' 1 systemctl start "$unit"
is 'start before the configuration: it is not tried again' \
    "$(shows Result) $(shows ExecMainStatus) $(shows NRestarts)" \
    'exit-code 78 0'
for step in step[2-9]; do
	try "README.md, command ${step#step}" 0 bash "$step"
done
wait_for 10 has_events 1
result 'the first event is delivered' $? "$(outboxctl status 2>&1)"
wait_for 20 shows_text '^1 of 1 workers run$'
result 'the status that systemctl shows' $? "$(shows StatusText)"
try 'doctor' 0 outboxctl doctor
is 'the system calls are filtered' "$(sed -n 's/^Seccomp:[^0-9]*//p' \
    "/proc/$(shows MainPID)/status")" 2

# A reload.
cp "$conf" good.yml
first=$(shows MainPID)
echo 'bogus: 1' >> "$conf"
try 'reload of a bad file' 1 systemctl reload "$unit"
is 'reload of a bad file: the daemon runs' "$(shows MainPID)" "$first"
cp good.yml "$conf"
try 'reload' 0 systemctl reload "$unit"

# A password that root alone can read, as the unit says.
reloaded() { outboxctl --json status | grep -q '"generation": *2' &&
    shows_text '^1 of 1 workers run$'; }
secret=/etc/outbox/mysql.password
mkdir -p "/run/systemd/system/$unit.d"
{ echo '[Service]' && sed -n 's/^#\t\([A-Z]\)/\1/p' \
    "/lib/systemd/system/$unit"; } > "/run/systemd/system/$unit.d/test.conf"
is 'a credential: the unit tells the lines' \
    "$(wc -l < "/run/systemd/system/$unit.d/test.conf")" 5
chmod 600 "$secret" && chgrp root "$secret"
systemctl daemon-reload
try 'a credential: restart' 0 systemctl restart "$unit"
wait_for 20 shows_text '^1 of 1 workers run$'
result 'a credential: the workers run' $? "$(shows StatusText)"
try 'a credential: reload' 0 systemctl reload "$unit"
wait_for 20 reloaded
result 'a credential: the workers run again' $? "$(shows StatusText)"
chmod 640 "$secret" && chgrp outbox "$secret"
rm -r "/run/systemd/system/$unit.d"
systemctl daemon-reload
try 'without it: restart' 0 systemctl restart "$unit"

# Servers that are away hold nothing back.
systemctl stop mariadb
try 'start without a database' 0 systemctl restart "$unit"
wait_for 20 shows_text 'wait for the database: '
result 'start without a database: the status tells it' $? "$(shows StatusText)"
systemctl start mariadb
wait_for 60 shows_text '^1 of 1 workers run$'
result 'the database is back' $? "$(shows StatusText)"

# An instance, with a database of its own.
sed -e 's|/run/outbox/|/run/outbox/east/|' good.yml > /etc/outbox/east.yml
try 'start of an instance' 0 systemctl start outbox-master@east
east=$(shows MainPID outbox-master@east)

# An upgrade under load, with a bad file, and with a good one.
produce_forever
wait_for 20 has_events 300
result 'events flow' $?
first=$(shows MainPID)
since=$(sql 'SELECT NOW(6)')
echo 'bogus: 1' >> "$conf"
try 'upgrade with a bad file' 0 upgrade ./next/outbox-master_99.deb
says 'upgrade with a bad file: what is wrong' bogus
says 'upgrade with a bad file: what is done' 'former version goes on'
is 'upgrade with a bad file: the former daemon runs' "$(shows MainPID)" "$first"
[ "$(shows MainPID outbox-master@east)" != "$east" ]
result 'upgrade with a bad file: the instance is restarted' $?
cp good.yml "$conf"
try 'the same version again' 0 upgrade --reinstall ./next/outbox-master_99.deb
is_new_pid "$first"
result 'upgrade: another daemon runs' $? "$first and $(shows MainPID)"
now=$(sql 'SELECT COUNT(*) FROM outbox')
wait_for 10 has_events $((now + 600))
check_delivery upgrade "$since"

# A master that hangs.
mkdir -p "/run/systemd/system/$unit.d"
printf '[Service]\nWatchdogSec=3\n' > "/run/systemd/system/$unit.d/test.conf"
systemctl daemon-reload
systemctl restart "$unit"
first=$(shows MainPID)
# fed: it was, later than WatchdogSec after the start
fed() { [ "$(($(shows WatchdogTimestampMonotonic) -
    $(shows ActiveEnterTimestampMonotonic)))" -gt 3500000 ]; }
wait_for 20 fed
is 'the watchdog is fed' "$(shows MainPID) $(shows NRestarts)" "$first 0"
kill -STOP "$first"
wait_for 20 is_new_pid "$first"
result 'a master that hangs is replaced' $? "$(systemctl status "$unit")"
rm -r "/run/systemd/system/$unit.d"

# Remove and purge.
try 'purge' 0 apt-get purge -q outbox-master
is 'purge: nothing runs' "$(pgrep -x outbox-master)" ''
is 'purge: no file is left' "$(files_left)" ''
is 'purge: systemd knows nothing of it' \
    "$(systemctl list-units --all --plain --no-legend 'outbox*')" ''
results
