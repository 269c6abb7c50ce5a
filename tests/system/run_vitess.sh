#!/usr/bin/env bash
# A keyspace of Vitess with two shards, each with an outbox.  One is relayed from
# the shard's own MySQL servers, the other by way of vtgate.  Each shard changes
# its primary under load, as planned and after a kill -9: nothing is lost, stored
# twice or out of order, no attempt is used, and the pause is a plain client's.
KIND=mysql
. "${srcdir:-$(dirname "$0")/../..}/tests/lib/lib.sh"
. "$srcdir/tests/lib/vitess.sh"

is_short && skip_all 'a long test'
vitess_is_there || skip_all 'no Vitess, see tests/lib/vitess.sh'

MORE_MS=${MORE_MS:-2000}	# than the plain client's pause

# hosts_of SHARD: its MySQL servers, with commas between
hosts_of() {
	local t list=''
	for t in "${VITESS_TABLETS[@]}"; do
		[ "$(shard_of "$t")" != "$1" ] ||
		    list+="${list:+,}127.0.0.1:$(port_of "$t")"
	done
	echo "$list"
}

# configure SHARD HOSTS DATABASE: the file is $DIR/SHARD.yml
configure() {
	local hosts=${2//,/\", \"}
	mkdir -p "$DIR/run$1"
	SOCKET='' PIDFILE=$DIR/run$1/pid LEASE_TTL=3 LEASE_RENEW=1 \
	    HEARTBEAT_TTL=3 CLAIM_TTL=6 TIMEOUT_MS=1000 \
	    write_conf "$DIR/$1.yml"
	sed -i "s|socket: \"\"|hosts: [\"$hosts\"], server_public_key: $DIR/key.pub|
	    s|database: app|database: \"$3\"|" "$DIR/$1.yml"
	printf '%s\n' "monitor: {socket: $DIR/run$1/monitor.sock}" \
	    'retention: {days: 1}' >> "$DIR/$1.yml"
}
start_on() { CONF=$DIR/$1.yml LOG=$DIR/$1.log start_master; }
ctl_on() { "$OUTBOXCTL" -c "$DIR/$1.yml" "${@:2}" 2>&1; }
owns_all() { [ "$(shard_sql "$1" 'SELECT COUNT(*) = 16 AND
    MIN(lease_until > NOW(6)) FROM outbox_partitions')" = 1 ]; }

# as_client SHARD COMMAND...: lab, by the same way as the shard's daemon; to be
# run in the background
declare -A CLIENT
as_client() {
	# shellcheck disable=SC2086
	exec "$LAB" "$2" ${CLIENT[$1]} "${@:3}"
}

# begin_load SHARD: events, and a plain client beside the daemon
begin_load() {
	SINCE=$(shard_sql "$1" 'SELECT NOW(6)')
	as_client "$1" plain --every 20 --timeout 5 > "$DIR/plain" &
	PLAIN=$!
	as_client "$1" produce --forever --rate 100 --keys 30 \
	    --key-prefix "$RANDOM-" > "$DIR/produced" 2>&1 &
	PRODUCER=$!
	MASTERS+=("$PLAIN" "$PRODUCER")
	pause 4000
}
# end_load SHARD NAME: what came of it
end_load() {
	local plain pause
	pause 6000
	kill -TERM "$PLAIN" "$PRODUCER"
	wait "$PLAIN" "$PRODUCER"
	is "$?" 0 "$2: producers go on" || sed 's/^/# /' "$DIR/produced"
	wait_for 60 is_idle "$1"
	ok $? "$2: all is delivered"
	plain=$(sed -n 's/.*longest_ms \([0-9]*\).*/\1/p' "$DIR/plain")
	pause=$(shard_sql "$1" "SELECT MAX(gap) DIV 1000 FROM (SELECT
	    TIMESTAMPDIFF(MICROSECOND, LAG(published_at) OVER
	    (ORDER BY published_at), published_at) AS gap FROM outbox
	    WHERE created_at > '$SINCE') AS gaps")
	say "$2: pause $pause ms, plain client $plain ms"
	[ "$pause" -le $((plain + MORE_MS)) ]
	ok $? "$2: the pause is that of a plain client"
	is "$(shard_sql "$1" 'SELECT SUM(attempts) FROM outbox')" 0 \
	    "$2: no attempt is used"
	"$LAB" check --socket "$DIR/t$(primary_of "$1")/socket" --user root \
	    --database vt_ks --nats "$URL" --stream EVENTS --wait 10 \
	    --outbox-id "$(shard_sql "$1" 'SELECT outbox_id
	    FROM outbox_settings')" > "$DIR/checked" 2>&1
	ok $? "$2: nothing is lost, stored twice or out of order" ||
	    sed 's/^/# /' "$DIR/checked"
}
is_idle() { [ "$(shard_sql "$1" 'SELECT COUNT(*) FROM outbox
    WHERE published_at IS NULL')" = 0 ]; }

vitess_start > "$DIR/started" 2>&1 || {
	sed 's/^/# /' "$DIR/started" "$DIR/vtctl.log"
	echo 'Bail out! no Vitess'
	exit 1
}
"$SANDBOX" start nats "$DIR/nats" > /dev/null
URL=$(. "$DIR/nats/env" && echo "$URL")
window 600

# The tables, at the primary of each shard: by vtgate the file's procedures and
# SELECT ... INTO @variable are not possible.
for shard in -80 80-; do
	at=$DIR/t$(primary_of "$shard")
	client "$at" vt_ks < "$srcdir/sql/schema.sql" && client "$at" vt_ks -e "
	    CREATE USER outbox@'127.0.0.1' IDENTIFIED BY '$OUTBOX_PW';
	    CREATE USER lab@'127.0.0.1';
	    GRANT ALL ON vt_ks.* TO outbox@'127.0.0.1', lab@'127.0.0.1'"
	ok $? "$shard has its tables"
done
[ "$(shard_sql -80 'SELECT outbox_id FROM outbox_settings')" != \
    "$(shard_sql 80- 'SELECT outbox_id FROM outbox_settings')" ]
ok $? 'each shard has an id of its own'

CLIENT[-80]="--host $(hosts_of -80) --user lab --database vt_ks"
CLIENT[80-]="--host 127.0.0.1:$GATE_PORT --user any --database ks:80-@primary"

# What vtgate must not be used for.
configure wrong "127.0.0.1:$GATE_PORT" ks
like "$(ctl_on wrong status)" 'vtgate: mysql.database must name one shard' \
    'a keyspace without its shard is refused'
configure wrong "127.0.0.1:$GATE_PORT" ks:-80@replica
like "$(ctl_on wrong status)" 'read-only: not a primary' 'so are replicas'

configure -80 "$(hosts_of -80)" vt_ks
configure 80- "127.0.0.1:$GATE_PORT" ks:80-@primary
for shard in -80 80-; do
	start_on "$shard"
	within 20 "$shard: the daemon works" owns_all "$shard"
done

for shard in -80 80-; do
	[ "$shard" = -80 ] && first=100 || first=200
	begin_load "$shard"
	vtctl PlannedReparentShard "ks/$shard" \
	    --new-primary "zone1-0000000$((first + 1))" > "$DIR/planned" 2>&1
	ok $? "$shard: another primary, as planned"
	end_load "$shard" "$shard, planned"

	begin_load "$shard"
	vitess_kill "$((first + 1))"
	vtctl EmergencyReparentShard "ks/$shard" \
	    --wait-replicas-timeout 5s > "$DIR/emergency" 2>&1
	ok $? "$shard: another primary after a kill -9"
	end_load "$shard" "$shard, killed"
done

check 'by vtgate a janitor has the named lock' has_line "$DIR/80-.log" \
    'retention: delivered rows are kept for 1 day'
check 'which is not refused' not has_line "$DIR/80-.log" 'without a lock'
ctl_on 80- status > "$DIR/status"
is $? 0 'by vtgate the fleet is healthy' || sed 's/^/# /' "$DIR/status"
ctl_on 80- doctor > "$DIR/doctor"
is "$(grep -c '^fail' "$DIR/doctor")" 0 'and doctor finds no fault' ||
    grep -v ^ok "$DIR/doctor" | sed 's/^/# /'
done_testing
