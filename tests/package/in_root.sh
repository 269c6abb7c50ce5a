# in_root.sh - what inside.sh, systemd.sh and upgrade.sh share: see debian.sh;
# sourced

# shellcheck shell=bash disable=SC2034
# shellcheck source=tests/lib/result.sh
. ./result.sh
conf=/etc/outbox.yml

# try NAME STATUS COMMAND...: exits with it; its output is in $said
try() {
	said=$("${@:3}" 2>&1 < /dev/null)
	code=$?
	[ "$code" -eq "$2" ]
	result "$1: exit status $2" $? "exit status $code
$(tail -n 30 <<< "$said")"
}

# says NAME PATTERN: the output of the last command has it
says() {
	grep -q -- "$2" <<< "$said"
	result "$1" $? "no \"$2\" in: $said"
}

# start_servers: as an administrator has them, without systemd.  init would run
# scripts of packages.
start_servers() {
	printf '#!/bin/sh\nexit 0\n' > /usr/sbin/policy-rc.d
	chmod +x /usr/sbin/policy-rc.d
	rsyslogd
	service mariadb start > /dev/null 2>&1
	echo 'jetstream { store_dir: /var/lib/nats }' >> /etc/nats-server.conf
	nats-server -c /etc/nats-server.conf -l /var/log/nats.log &
	nats=$!
	wait_for 60 mariadb -e 'SELECT 1' > /dev/null 2>&1
	result 'the servers run' $?
	echo "# $(sed -n 's/^PRETTY_NAME=//p' /etc/os-release)," \
	    "MariaDB $(mariadb -NBe 'SELECT VERSION()'), $(nats-server -v)"
}

sql() { mariadb -N app -e "$1"; }
not() { ! "$@"; }
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

# upgrade FILE [OPTIONS]: as an administrator does who has edited the file
upgrade() {
	apt-get install -q -o Dpkg::Options::=--force-confdef "$@"
}

# check_delivery NAME SINCE: end the producer; nothing was lost, and no gap
check_delivery() {
	kill "$producer"
	wait "$producer"
	wait_for 30 is_drained
	result "$1: all events are delivered" $? "$(outboxctl status)"
	is_short_gap "$1" "$2"
	try "$1: the independent checker" 0 lab check --user root \
	    --socket /run/mysqld/mysqld.sock --database app \
	    --nats nats://127.0.0.1:4222 --stream EVENTS
	grep -E '^(lost|duplicated|out of order) ' <<< "$said" | sed 's/^/# /'
}

# files_left: everywhere but in the data of the servers
files_left() {
	find / -xdev \( -path /proc -o -path /sys -o -path /root -o \
	    -path /var/lib/mysql -o -path /var/lib/nats -o \
	    -path /var/cache/apt -o -path /var/log/journal \) -prune -o \
	    -iname '*outbox*' -print
}
