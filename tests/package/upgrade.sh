#!/bin/bash
# upgrade.sh - from the package of the version before, which leaves rows in every
# state, to this one: see debian.sh

cd /root || exit 1
# shellcheck source=tests/package/in_root.sh
. ./in_root.sh

# put KEY [TYPE]: an event in a transaction, with SQL behind it from the standard
# input; @row is its number
put() {
	{
		echo "START TRANSACTION;
		CALL outbox_enqueue('$1', NULL, '${2:-order.paid}', 1, NULL,
		    NULL, '{}');
		SELECT MAX(sequence) INTO @row FROM events;"
		[ -t 0 ] || cat
		echo 'COMMIT;'
	} | mariadb app
}
later() { echo "UPDATE outbox SET available_at = NOW(6) + INTERVAL 1 HOUR $1
    WHERE global_sequence = @row;"; }
rows() { sql "SELECT COUNT(*) FROM outbox WHERE $1"; }
has_rows() { [ "$(rows "$1")" -ge "${2:-1}" ]; }
has_dead() { [ "$(sql 'SELECT COUNT(*) FROM outbox_dead_letters')" = 1 ]; }

start_servers

#
# The version before, as its README.md says, with a row in every state.
#
try 'the version before: install' 0 apt-get install -q ./former.deb
try 'setup' 0 outboxctl setup --database app --stream EVENTS --yes
try 'start' 0 service outbox-master start
try 'an event' 0 bash step4
wait_for 10 has_events 1
result 'it is delivered' $? "$(outboxctl status 2>&1)"
is 'the version before has its schema' \
    "$(sql 'SELECT schema_version FROM outbox_settings')" 1

later '' | put scheduled
later ", attempts = 3, last_error = 'timeout'" | put delayed
later '' | put blocked
for _ in {1..1500}; do
	echo "CALL outbox_enqueue('blocked', NULL, 'order.paid', 1, NULL, NULL,
	    '{}');"
done | put blocked
put dead 'no subject' < /dev/null
wait_for 20 has_dead
result 'rows that are dead: 1' $?
wait_for 30 has_rows "partition_key LIKE '!%'"
kill -STOP "$nats"
for i in {1..30}; do put "claimed$i" < /dev/null; done
wait_for 10 has_rows 'claim_token IS NOT NULL' 20
for i in {1..30}; do put "claimed$i" < /dev/null; done
WAITS='published_at IS NULL AND'
for state in 'delivered|published_at IS NOT NULL' \
    "claimed|$WAITS claim_token IS NOT NULL" \
    "pending|$WAITS claim_token IS NULL AND available_at <= NOW(6)" \
    "scheduled|$WAITS attempts = 0 AND available_at > NOW(6)" \
    "delayed|$WAITS attempts > 0 AND available_at > NOW(6)" \
    "blocked|partition_key LIKE '!%'"
do
	has_rows "${state#*|}"
	result "rows that are ${state%%|*}: $(rows "${state#*|}")" $?
done
is 'keys that are blocked' \
    "$(sql 'SELECT COUNT(*) > 0 FROM outbox_blocked_keys')" 1

#
# The upgrade, while the broker does not answer.
#
sed -i '/^  gather: /d' "$conf"		# as ChangeLog says
first=$(pid)
cp "$conf" before.yml
SECONDS=0
try 'upgrade' 0 upgrade --reinstall ./outbox-master_*.deb
echo "# the upgrade took $SECONDS s"
wait_for 30 is_alive
[ "$(pid)" != "$first" ]
result 'another daemon runs' $? "$first and $(pid)"
cmp -s before.yml "$conf"
result 'the configuration is as it was' $? "$(diff before.yml "$conf")"
kill -CONT "$nats"
wait_for 60 not has_rows "$WAITS global_sequence IN
    (SELECT sequence FROM events WHERE stream_id LIKE 'claimed%')"
result 'all that is due is delivered, with the tables of before' $? \
    "$(outboxctl status)"

#
# README.md: schema upgrade, schema install, reload
#
try 'schema upgrade' 0 outboxctl schema upgrade --admin root --yes
try 'schema install' 0 outboxctl schema install --admin root
try 'reload' 0 outboxctl reload
is 'the schema is the next one' \
    "$(sql 'SELECT schema_version FROM outbox_settings')" 2
sql 'UPDATE outbox SET available_at = NOW(6)
    WHERE available_at > NOW(6) + INTERVAL 10 MINUTE;
    UPDATE outbox_partitions SET lease_epoch = lease_epoch + 1'
try 'an event after the upgrade' 0 bash step4
wait_for 60 is_drained
result 'all is delivered' $? "$(outboxctl status)"
is 'no key is blocked' "$(sql 'SELECT COUNT(*) FROM outbox_blocked_keys')" 0
try 'the independent checker' 0 lab check --user root \
    --socket /run/mysqld/mysqld.sock --database app \
    --nats nats://127.0.0.1:4222 --stream EVENTS --expect-dead 1
grep -E '^(lost|duplicated|out of order) ' <<< "$said" | sed 's/^/# /'
try 'the dead letter is given up' 0 outboxctl dead purge --all --yes
try 'doctor' 0 outboxctl doctor

try 'purge' 0 apt-get purge -q outbox-master
is 'purge: nothing runs' "$(pgrep -x outbox-master)" ''
is 'purge: no file is left' "$(files_left)" ''
results
