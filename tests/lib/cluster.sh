# cluster.sh - brokers that are a cluster, and who leads the stream EVENTS;
# sourced by bash after lib.sh
#
# cluster_start makes BROKERS, each in $DIR by its name; else there is one, which
# is called nats.

# shellcheck shell=bash disable=SC2034,SC2154

BROKERS=(nats)
CLUSTER_LINES=()		# for nats.conf of each

# cluster_start N: n1, n2, ...
cluster_start() {
	mapfile -t BROKERS < <(seq -f n%g "$1")
	"$SANDBOX" cluster nats "$DIR" "$1" "${CLUSTER_LINES[@]}" > /dev/null
}

broker_field() { sed -n "s/^$2=//p" "$DIR/$1/env"; }

# The addresses of all, for nats.servers.
cluster_servers() {
	local name list=''
	for name in "${BROKERS[@]}"; do
		list+="${list:+, }\"$(broker_field "$name" URL)\""
	done
	printf '%s' "$list"
}

# any_url: of a broker that runs
any_url() {
	local name
	for name in "${BROKERS[@]}"; do
		"$SANDBOX" status "$DIR/$name" > /dev/null &&
		    { broker_field "$name" URL; return; }
	done
}

# broker_page BROKER PAGE: a page of its monitor, without the header
broker_page() {
	local web rc
	exec {web}<> "/dev/tcp/$(broker_field "$1" HOST)/$(broker_field "$1" \
	    HTTP_PORT)" ||
	    return
	printf 'GET /%s HTTP/1.0\r\n\r\n' "$2" >&"$web"
	timeout 5 sed '1,/^\r$/d' <&"$web"
	rc=$?
	exec {web}>&-
	return "$rc"
} 2> /dev/null

has_meta_leader() {
	local name
	for name in "${BROKERS[@]}"; do
		broker_page "$name" jsz |
		    jq -e '.meta_cluster.leader // empty' > "$DIR/jsz" ||
		    return 1
	done
}

# cluster_stream WINDOW: make EVENTS with three replicas
cluster_stream() {
	URL=$(broker_field "${BROKERS[0]}" URL)
	"$LAB" stream --nats "$URL" --name EVENTS --subjects 'events.>' \
	    --dup-window "$1" --replicas 3 > "$DIR/made" 2>&1
}

# stream_of BROKER FILTER: of what its monitor tells of EVENTS; 1 if there is
# nothing
stream_of() {
	broker_page "$1" 'jsz?streams=true' |
	    jq -er ".account_details[].stream_detail[] |
	    select(.name == \"EVENTS\") | $2"
}

# Who says so of itself: others may not have heard of an election yet.
stream_leader() {
	local name
	for name in "${BROKERS[@]}"; do
		[ "$(stream_of "$name" .cluster.leader)" != "$name" ] ||
		    { echo "$name"; return; }
	done
	return 1
}

# has_leader: sets LEADER
has_leader() { LEADER=$(stream_leader); }
leads() { [ "$(stream_leader)" = "$1" ]; }

# step_down: the stream gets another leader
step_down() {
	URL=$(any_url) js_api STREAM.LEADER.STEPDOWN.EVENTS '' > "$DIR/js.out"
}

# leads_at_last NAME: if not, there is an election; to be asked again
leads_at_last() { leads "$1" || { step_down; nap 1; leads "$1"; }; }

# is_current NAME: has this replica all that the leader has?
is_current() {
	stream_of "$(stream_leader)" ".cluster.replicas[] |
	    select(.name == \"$1\" and .current)" > "$DIR/jsz"
}
