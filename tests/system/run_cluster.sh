#!/usr/bin/env bash
# A cluster of three brokers, of which one is sent away (lame-duck mode) and one
# is killed under load: the workers go to the others, and nothing is lost
. "${srcdir:-$(dirname "$0")/../..}/tests/lib/lib.sh"
. "$srcdir/tests/lib/cluster.sh"

# Not short: a lame duck takes half a minute to send its clients away.
is_short && skip_all 'a long test'

start_servers
CLUSTER_LINES=('lame_duck_duration: "30s"' 'lame_duck_grace_period: "1s"')
check 'three brokers have a leader' cluster_start 3
within 60 'a stream with three replicas' cluster_stream 600

WORKERS=3 write_conf
sed -i "s|servers: \[[^]]*\]|servers: [$(cluster_servers)]|" "$CONF"
start_fleet
# The number of our connections that a broker has
ours() { broker_page "$1" connz | jq '[.connections[] |
    select(.lang == "C" and (.name // "") != "")] | length'; }
all_ours() { [ $(($(ours n1) + $(ours n2) + $(ours n3))) -ge 3 ]; }
produce --events 30 --keys 3 --payload 100
drains 20 'messages are sent'
within 10 'each worker has a connection' all_ours

produce_forever --keys 100 --payload 200 --rate 500
for i in 3 2 1; do [ "$(ours n$i)" -eq 0 ] || duck=n$i; done
say "$duck has $(ours "$duck") of the workers and becomes a lame duck"
kill -USR2 "$(cut -d' ' -f1 "$DIR/$duck/process")"
is_left() { not "$SANDBOX" status "$DIR/$duck" > "$DIR/status"; }
within 60 'a lame duck leaves' is_left
at=$(published)
within 10 'a lame duck: messages are sent all the same' has_published $((at + 500))
"$SANDBOX" restart "$DIR/$duck" > /dev/null
within 30 'it comes back' has_meta_leader

for i in 1 2 3; do [ "$(ours n$i)" -eq 0 ] || victim=n$i; done
say "$victim has $(ours "$victim") of the workers and is killed"
"$SANDBOX" kill "$DIR/$victim"
at=$(published)
within 40 'a broker is killed: messages are sent all the same' \
    has_published $((at + 500))
kill "$PRODUCER"
wait "$PRODUCER" 2> /dev/null
for i in 1 2 3; do [ "n$i" = "$victim" ] || URL=$(broker_field "n$i" URL); done
drains 60 'all messages are sent'
"$SANDBOX" restart "$DIR/$victim" > /dev/null
within 30 'the killed one comes back' has_meta_leader
# Its consumer may have to wait for the cluster.
checked() {
	"$LAB" check --socket "$SOCKET" --user root --database app \
	    --nats "$URL" --stream EVENTS --wait 20 > "$DIR/checked" 2>&1
}
within 60 'the stream is complete and in order' checked
sed 's/^/# /' "$DIR/checked"
is "$(sql 'SELECT COUNT(*) FROM outbox_dead_letters')" 0 'none is dead'
stops 'it stops'
done_testing
