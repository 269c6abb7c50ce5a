#!/usr/bin/env bash
# nats.servers has one name, which leads to all servers of a cluster in turn: when
# the one in use is cut off from the others, the worker does not stay with it
. "${srcdir:-$(dirname "$0")/../..}/tests/lib/lib.sh"
. "$srcdir/tests/lib/nodes.sh"

is_short && skip_all 'a long test'
haproxy=$(PATH=$PATH:/usr/sbin command -v haproxy) || skip_all 'no haproxy'
nodes_start nats --netns
SOCKET=$(of_node "$DIR/db" SOCKET)
PORT=$(free_port)
# leads_to NODE...: the name leads to these, for connections from now on
leads_to() {
	local node before=${PROXY-}
	{
		printf '%s\n' defaults 'mode tcp' 'timeout connect 2s' \
		    'timeout client 1h' 'timeout server 1h' 'listen nats' \
		    "bind 127.0.0.1:$PORT" 'balance roundrobin'
		for node; do
			echo "server $node $(of_node "$DIR/$node" HOST):$(of_node \
			    "$DIR/$node" PORT)"
		done
	} > "$DIR/haproxy.cfg"
	"$haproxy" -f "$DIR/haproxy.cfg" -db ${before:+-sf "$before"} \
	    >> "$DIR/haproxy.log" 2>&1 &
	PROXY=$!
	MASTERS+=("$PROXY")
}

URL=nats://127.0.0.1:$PORT
WORKERS=1 CLAIM_TTL=6 TIMEOUT_MS=1000 LEASE_TTL=3 LEASE_RENEW=1 \
    HEARTBEAT_TTL=3 write_conf
send() {
	produce --events 200 --keys 20 --payload 10
	drains 30 "$1"
}

# A daemon starts at a server that is cut off, and does not know it yet, or does;
# so nothing was sent to it.
cut=${NODES[0]}
for after in 0 15; do
	"$SANDBOX" cut "$DIR/$cut" peers
	leads_to "$cut"
	nap $after
	start_fleet
	within 20 'a daemon starts' all_owned
	leads_to "${NODES[@]:1}"
	send "cut off for $after s: the worker leaves it for another one"
	"$SANDBOX" join "$DIR/$cut"
	leads_to "${NODES[@]}"
	stop_master "$MASTER"
done
start_fleet

# One of them is the one in use, and with luck so is the next one.
for node in "${NODES[@]}" "${NODES[@]}"; do
	"$SANDBOX" cut "$DIR/$node" peers
	send "$node is cut off: all is sent"
	"$SANDBOX" join "$DIR/$node"
	send "$node is back"
done
stops 'the master stops with status 0'
done_testing
