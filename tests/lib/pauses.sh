# pauses.sh - one failure of a cluster, measured; sourced by bash after nodes.sh,
# by bench/pauses.sh and run_pauses.sh

# shellcheck shell=bash disable=SC2034,SC2154

# pauses_run NAME: start all, let it happen, measure.  Sets PAUSE, PLAIN, LATE
# (seconds) and COUNTS (lost/stored twice/out of order/dead).
pauses_run() {
	local plain from to
	nodes_start "${1%%-*}"
	WORKERS=2 host_conf 1
	host_start 1
	wait_for 30 all_owned || { tail -n 3 "$LOG" | sed 's/^/# /'; return 1; }
	[ "$CLUSTER" != galera ] || WRITERS=$(turned 2 "$HOSTS")
	[ "$CLUSTER" != galera ] || SQL_NODE=$DIR/n2
	node_produce --keys 60 --producers 4 --per-txn 2 --rate 200
	wait_for 20 has_published 400 ||
	    { sed 's/^/# /' "$DIR/producer"; return 1; }
	from=$(now_ms)
	pauses_plain_begin "$1"
	pause 2000
	"happens_${1//-/_}"
	pause 8000
	to=$(now_ms)
	kill -TERM "$PLAIN_PID" "$PRODUCER"
	wait "$PLAIN_PID"
	wait "$PRODUCER"
	wait_for 120 is_drained || say "rows wait: $(pending)"
	wait_for 60 nodes_are_whole || say 'the cluster is not whole again'
	pauses_measure "$from" "$to"
	stop_master "$MASTER" || say "the daemon ended with status $?"
}

# The plain client begins with the same member as the daemon.
pauses_plain_begin() {
	local where=(--host "$HOSTS" --user plain --password-env PRODUCER_PW
	    --database app)
	[ "$CLUSTER" != nats ] || {
		choose_broker "$1"
		where=(--nats "$(turned "${VICTIM#n}" "$URLS")"
		    --subject events.plain)
	}
	"$LAB" plain "${where[@]}" > "$DIR/plain" 2>&1 &
	PLAIN_PID=$!
	MASTERS+=("$PLAIN_PID")
}

seconds() { awk -v ms="$1" 'BEGIN { printf "%.1f", ms / 1000 }'; }

# The stream's own times, in the period; messages of the plain client have no
# event.
pauses_measure() {
	local id json
	id=$(sql 'SELECT outbox_id FROM outbox_settings')
	URL=$(any_node_url)
	json=$("$LAB" check --json --host "$(any_host)" --user plain \
	    --password-env PRODUCER_PW --database app --nats "$URL" \
	    --stream EVENTS --outbox-id "$id" --wait 10 2> "$DIR/checked")
	COUNTS=$(jq -r '[.lost, .duplicated, .out_of_order, .dead] |
	    map(tostring) | join("/")' <<<"$json")
	[ "$COUNTS" = 0/0/0/0 ] || sed 's/^/# /' "$DIR/checked"
	"$LAB" list --nats "$URL" --stream EVENTS |
	    awk '$2 != "-" { print $2, substr($3, 1, length($3) - 6) }' \
	    > "$DIR/stored"
	sql 'SELECT global_sequence, ROUND(UNIX_TIMESTAMP(created_at) * 1000)
	    FROM outbox' > "$DIR/created"
	PAUSE=$(seconds "$(awk -v last="$1" -v to="$2" '
	    $2 > last && $2 <= to { if ($2 - last > max) max = $2 - last
		last = $2 }
	    END { if (to - last > max) max = to - last; print max }' \
	    "$DIR/stored")")
	LATE=$(seconds "$(awk 'NR == FNR { at[$1] = $2; next }
	    $2 - at[$1] > max { max = $2 - at[$1] } END { print max }' \
	    "$DIR/created" "$DIR/stored")")
	PLAIN=$(seconds "$(sed -n 's/.* longest_ms \([0-9]*\) .*/\1/p' \
	    "$DIR/plain")")
}

# One of the lists that works in the end.
any_node_url() {
	if [ "$CLUSTER" = nats ]; then any_url; else echo "$URLS"; fi
}
any_host() {
	echo "$(of_node "$SQL_NODE" HOST):$(of_node "$SQL_NODE" PORT)"
}

# What happens lasts as long as the function.

happens_galera_kill() { node_kill n1; pause 12000; node_start n1; }
happens_galera_freeze() { node_freeze n1; pause 15000; node_thaw n1; }
happens_galera_isolate() { node_isolate n1; pause 12000; node_return n1; }
happens_galera_leave() { node_stop n1; pause 8000; node_start n1; }

# n3 gets all files of n1, which takes 15 s.
happens_galera_donor() {
	node_stop n3
	find "$DIR/n3/data" -mindepth 1 -delete
	grep -q wsrep_sst_donor "$DIR/n3/my.cnf" ||
	    echo wsrep_sst_donor=n1 >> "$DIR/n3/my.cnf"
	: > "$DIR/n1/hold"
	node_start n3 &
	wait_for 20 [ -e "$DIR/n3/data/ibdata1" ]
	pause 15000
	rm "$DIR/n1/hold"
	wait $!
}

# promote: n2 has all that n1 had, and takes over
replica_has_all() {
	is_zero "$(node_sql n2 "SELECT MASTER_GTID_WAIT('$1', 20)")"
}
promote() {
	node_sql n2 'STOP SLAVE; RESET SLAVE ALL; SET GLOBAL read_only = 0'
	sed -i '/^read_only/d' "$DIR/n2/my.cnf"
	SQL_NODE=$DIR/n2
}
is_zero() { [ "$1" = 0 ]; }

happens_replicas_switchover() {
	node_sql n1 'SET GLOBAL read_only = 1'
	echo read_only=ON >> "$DIR/n1/my.cnf"
	pause 2000
	replica_has_all "$(node_sql n1 'SELECT @@gtid_binlog_pos')" ||
	    say 'the replica lacks transactions'
	promote
	pause 8000
}

# What the replica lacks is lost, which the checker shows as phantoms.
happens_replicas_gap() {
	node_kill n1
	pause 12000
	promote
	pause 8000
}

happens_group_switch() {
	local uuid
	uuid=$(node_sql n2 'SELECT @@server_uuid')
	SQL_NODE=$DIR/n2
	node_sql n1 "SELECT group_replication_set_as_primary('$uuid')" \
	    > "$DIR/switched"
	pause 8000
}

happens_group_kill() {
	SQL_NODE=$DIR/n3
	node_kill n1
	pause 25000
	node_start n1
}

happens_group_freeze() {
	SQL_NODE=$DIR/n3
	node_freeze n1
	pause 25000
	node_thaw n1
}

# choose_broker NAME: VICTIM, which a worker of ours uses, and which leads the
# stream or, for nats-freeze, does not
choose_broker() {
	local node most=0
	if [ "$1" = nats-freeze ]; then
		for node in "${NODES[@]}"; do
			[ "$(clients_of "$node")" -le "$most" ] || {
				most=$(clients_of "$node")
				VICTIM=$node
			}
		done
		wait_for 20 leader_away "$VICTIM" ||
		    say "$VICTIM leads the stream"
	else
		VICTIM=$(stream_leader)
	fi
}

happens_nats_kill() { node_kill "$VICTIM"; pause 12000; node_start "$VICTIM"; }
happens_nats_freeze() { node_freeze "$VICTIM"; pause 40000; node_thaw "$VICTIM"; }
happens_nats_frozen_leader() {
	node_freeze "$VICTIM"
	pause 15000
	node_thaw "$VICTIM"
}
