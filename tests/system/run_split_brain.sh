#!/usr/bin/env bash
# Two servers publish under one outbox id, as an old primary is back: the one
# that came later stops, and both say so; a planned switchover and a replica
# that takes over are no split brain
. "${srcdir:-$(dirname "$0")/../..}/tests/lib/ctl.sh"
. "$srcdir/tests/lib/replica.sh"

# Not short: each wait for a rival takes claim_ttl and half a minute.
is_short && skip_all 'a long test'

configure() {
	WORKERS=2 PARTITIONS=4 LEASE_TTL=3 LEASE_RENEW=1 HEARTBEAT_TTL=3 \
	    CLAIM_TTL=6 TIMEOUT_MS=1000 write_conf
	replica_conf
}
# feed DIR NAME: in the background, events of that server; sets FEEDER
feed() {
	(
		PRIMARY=$1
		while nap 0.3; do
			enqueue_keys "$2-" 2 order.paid "'{}'"
		done
	) 2>> "$DIR/feed.err" &
	FEEDER=$!
	MASTERS+=("$FEEDER")
}
end_feed() { kill "$1"; wait "$1" 2>/dev/null; }
# The first worker looks after claim_ttl and each ten seconds, and waits twenty
# for events: by now it would have found a rival.
look_on() { pause 50000; }
no_rival() { [ "$(sql 'SELECT COUNT(rival) FROM outbox_streams')" = 0 ]; }
phantoms() { sql 'SELECT phantoms FROM outbox_streams'; }
first_problem() { jq -r '.problems[0].id' <<< "$OUT"; }

start_servers "${REPLICA_LINES[@]}"
replica_start
sql "GRANT INSERT, UPDATE (changed) ON outbox_audit TO 'outbox'@'127.0.0.1'"
configure
start_fleet
feed "$DIR/db" one
within 20 'events are published' has_published 10
SOURCE=$(hostname):$(replica_port "$DIR/db")
js_api STREAM.MSG.GET.EVENTS '{"seq": 5}' |
    jq -r .message.hdrs | base64 -d | tr -d '\r' > "$DIR/headers"
check 'a message names the server, and since when' \
    grep -qx "Outbox-Source: $SOURCE/0" "$DIR/headers"

# A planned switchover under load; the old primary becomes a replica.
end_feed "$FEEDER"
sql 'SET GLOBAL read_only = 1'
check 'the replica has all' replica_wait
replica_sql "STOP $REPLICA_WORD; RESET $REPLICA_WORD ALL"
sed -i '/^read_only/d' "$REPLICA/my.cnf"
replica_sql 'SET GLOBAL read_only = 0'
replica_swap
[ "$KIND" = mysql ] ||
    replica_sql 'SET GLOBAL gtid_slave_pos = @@gtid_current_pos'
replica_sql "$REPLICA_CHANGE $REPLICA_FROM = $(replica_port "$PRIMARY");
    START $REPLICA_WORD"
feed "$DIR/db2" two
at=$(published)
within 60 'the other server is used' has_published $((at + 10))
look_on
check 'a planned switchover: no rival' no_rival
is "$(phantoms)" 0 'a planned switchover: no phantom'

# The other way round, with kill -9 and events that are lost.
end_feed "$FEEDER"
wait_for 20 is_drained
check 'the replica has all' replica_wait
replica_cut
had=$(stored)
enqueue_keys lost- 5 order.paid "'{}'"
within 20 'five more are published' is_stored $((had + 5))
check 'a replica takes over' replica_promote
feed "$DIR/db" three
at=$(published)
within 60 'it is used' has_published $((at + 10))
look_on
check 'a failover: no rival' no_rival
is "$(phantoms)" 5 'a failover: what was lost are phantoms'
exits 0 'phantoms forget' phantoms forget --yes

# The old primary is back and takes writes; another daemon uses it alone.
"$SANDBOX" restart "$DIR/db2" > /dev/null
CONF_A=$CONF CONF_B=$DIR/b.yml LOG_A=$LOG
WORKERS=2 PARTITIONS=4 LEASE_TTL=3 LEASE_RENEW=1 HEARTBEAT_TTL=3 CLAIM_TTL=6 \
    TIMEOUT_MS=1000 SOCKET=$(. "$DIR/db2/env" && echo "$SOCKET") \
    PIDFILE=$DIR/run/b.pid write_conf "$CONF_B"
A=$MASTER
CONF=$CONF_B LOG=$DIR/b.log start_master
B=$MASTER
FEEDER_A=$FEEDER
feed "$DIR/db2" four
FEEDER_B=$FEEDER
old_sql() { client "$DIR/db2" -N app -e "$1"; }
old_is() { [ "$(old_sql "$1")" = "$2" ]; }
within 20 'the old primary publishes, too' old_is \
    "SELECT COUNT(*) > 5 FROM outbox JOIN events ON sequence = global_sequence
	WHERE stream_id LIKE 'four%' AND published_at IS NOT NULL" 1
within 90 'the old primary is stopped' old_is "SELECT COUNT(DISTINCT lease_owner)
    = 1 AND MIN(lease_owner) = 'paused' FROM outbox_partitions" 1
within 60 'the new one knows of it' not no_rival
is "$(sql "SELECT COUNT(*) FROM outbox_partitions
    WHERE lease_owner = 'paused'")" 0 'the new one goes on'
is "$(sql 'SELECT rival FROM outbox_streams')" \
    "$(hostname):$(replica_port "$DIR/db2")" 'it names the old one'
is "$(old_sql 'SELECT rival FROM outbox_streams')" "$SOURCE" \
    'and the old one names it'
like "$(cat "$DIR/b.log")" 'error .*split brain: .*all partitions are paused' \
    'the old one logs it'
like "$(cat "$LOG_A")" 'error .*split brain: .*goes on' 'so does the new one'

ctl -c "$CONF_B" status --json
is "$RC $(first_problem)" '1 split_brain' \
    'status there: the first problem, exit status 1'
unlike() { ! grep -Eq "$2" <<< "$1"; }
check 'status there: no advice to delete' unlike "$OUT" delete
ctl status --json
is "$RC $(first_problem)" '1 split_brain' 'status here: the first problem'
matches 'fail +split_brain: split brain' 'doctor' doctor
sent=$(old_sql 'SELECT COUNT(published_at) FROM outbox')
at=$(published)
within 20 'the new one publishes' has_published $((at + 10))
check 'the old one does not' old_is 'SELECT COUNT(published_at) FROM outbox' \
    "$sent"

# A person decides.  What the old one has published is counted by then.
end_feed "$FEEDER_A"
end_feed "$FEEDER_B"
stop_master "$B"
CONF=$CONF_A
drains 20 'all is published'
look_on
exits 0 'phantoms forget, after a split brain' phantoms forget --yes
ctl status --json
is "$(jq -r '[.problems[].id] | index("split_brain")' <<< "$OUT")" null \
    'phantoms forget: it is over'
look_on
check 'and stays so' no_rival
MASTER=$A stops 'it stops'
done_testing
