#!/usr/bin/env bash
# A stream with three replicas under load: its leader is killed, or stands still,
# and so does the server that a worker is connected to.  The longest that a
# message waits is compared with the pause of a plain client, which publishes one
# message after the other to the same stream.
. "${srcdir:-$(dirname "$0")/../..}/tests/lib/lib.sh"
. "$srcdir/tests/lib/cluster.sh"

# Not short: the elections and the outages take two minutes.
is_short && skip_all 'a long test'

start_servers
check 'three brokers have a leader' cluster_start 3
within 60 'a stream with three replicas' cluster_stream 600

export WORKERS=2 TIMEOUT_MS=5000
write_conf
sed -i "s|servers: \[[^]]*\]|servers: [$(cluster_servers)]|" "$CONF"
start_fleet
produce_forever --keys 100 --payload 200 --rate 200
within 20 'messages are sent' has_published 500

"$OUTBOXCTL" -c "$CONF" doctor > "$DIR/doctor"
check 'doctor tells who leads and who follows' has_line "$DIR/doctor" \
    '^ok +stream replicas: n[123] leads, n[123] follows.*, n[123] follows'
case $(nats-server --version) in
*v2.[0-9].*)	check 'and that its version is old' has_line "$DIR/doctor" \
		    'replicas on a nats-server before 2.10' ;;
*)		check 'its version is new enough' not has_line "$DIR/doctor" \
		    'before 2.10' ;;
esac

# Connections of ours that a broker has, and one that has some, perhaps the leader
ours() { broker_page "$1" connz | jq '[.connections[] |
    select(.lang == "C" and (.name // "") != "")] | length'; }
connected_to() {
	local name
	for name in "$LEADER" n1 n2 n3; do
		[ "$(ours "$name")" -eq 0 ] || PEER=$name
	done
}
sig() { kill "-$1" "$(cut -d' ' -f1 "$DIR/$2/process")"; }

# begin BROKER: from now on messages count; the plain client is connected to it
begin() {
	local list name
	list=$(broker_field "$1" URL)
	for name in n1 n2 n3; do
		[ "$name" = "$1" ] || list+=,$(broker_field "$name" URL)
	done
	FROM=$(sql 'SELECT MAX(global_sequence) FROM outbox')
	"$LAB" plain --nats "$list" --subject events.plain --every 50 \
	    > "$DIR/plain" &
	CLIENT=$!
	MASTERS+=("$CLIENT")
	nap 1
}
# Nothing that was produced before this moment waits.
went_on() { is_sql "SELECT COUNT(*) FROM outbox
    WHERE global_sequence <= $UPTO AND published_at IS NULL" 0; }
# measure NAME: sets WAITED, the longest wait of a message, and PAUSED, in ms
measure() {
	UPTO=$(sql 'SELECT MAX(global_sequence) FROM outbox')
	wait_for 60 went_on
	WAITED=$(sql "SELECT MAX(TIMESTAMPDIFF(MICROSECOND, created_at,
	    COALESCE(published_at, NOW(6)))) DIV 1000 FROM outbox
	    WHERE global_sequence > $FROM")
	kill "$CLIENT"
	wait "$CLIENT"
	PAUSED=$(sed -n 's/.*longest_ms \([0-9]*\).*/\1/p' "$DIR/plain")
	say "$1: a message waited $WAITED ms, the plain client $PAUSED ms"
	is "$(sql "SELECT COALESCE(MAX(attempts), 0) FROM outbox
	    WHERE global_sequence > $FROM")" 0 "$1: no attempt is used"
}
# Two seconds more than a plain client, and one that a busy machine adds.
compare() {
	measure "$1"
	check "$1: little more than a plain client" \
	    [ "$WAITED" -le $((PAUSED + 3000)) ]
}

within 20 'the stream has a leader' has_leader
begin "$LEADER"
"$SANDBOX" kill "$DIR/$LEADER"
nap 12
"$OUTBOXCTL" -c "$CONF" doctor > "$DIR/doctor"
check 'doctor tells who is away' has_line "$DIR/doctor" \
    "has a replica that is away, on server $LEADER: start it"
compare 'the leader is killed'
"$SANDBOX" restart "$DIR/$LEADER" > /dev/null
within 30 'it comes back' has_meta_leader

within 20 'there is a leader' has_leader
begin "$LEADER"
sig STOP "$LEADER"
nap 15
sig CONT "$LEADER"
compare 'the leader stands still for 15 s'

within 30 'there is a leader again' has_leader
connected_to
say "$LEADER leads; a worker is connected to $PEER"
begin "$PEER"
sig STOP "$PEER"
nap 40
sig CONT "$PEER"
compare 'the server of a worker stands still for 40 s'

within 30 'there is a leader still' has_leader
survivor=n1
[ "$LEADER" != n1 ] || survivor=n2
: > "$LOG"
begin "$survivor"
for name in n1 n2 n3; do
	[ "$name" = "$survivor" ] || "$SANDBOX" kill "$DIR/$name"
done
within 60 'two of three are killed: that is told' has_line "$LOG" \
    'stream EVENTS.* has no leader.*: 1 of 3 servers answer'
URL=$(broker_field "$survivor" URL)
for name in n1 n2 n3; do
	[ "$name" = "$survivor" ] || "$SANDBOX" restart "$DIR/$name" > /dev/null
done
measure 'two of three are killed'
check 'no subject is blamed' not has_line "$LOG" 'no stream takes'

kill "$PRODUCER"
wait "$PRODUCER" 2> /dev/null
drains 60 'all messages are sent'
# Its consumer may have to wait for the cluster.
checked() {
	"$LAB" check --socket "$SOCKET" --user root --database app \
	    --nats "$URL" --stream EVENTS --wait 20 --outbox-id \
	    "$(sql 'SELECT outbox_id FROM outbox_settings')" \
	    > "$DIR/checked" 2>&1
}
within 60 'the stream is complete and in order, nothing twice' checked
sed 's/^/# /' "$DIR/checked"
is "$(sql 'SELECT COUNT(*) FROM outbox_dead_letters')" 0 'none is dead'
say 'the log of the daemon:'
tail -n 40 "$LOG" | cut -c1-200 | sed 's/^/# /'
stops 'it stops'
done_testing
