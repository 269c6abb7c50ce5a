#!/usr/bin/env bash
# A group that takes writes on each member, below a daemon on each of two.  One
# member lags, and knows of messages whose events it does not have yet: that is
# neither a split brain nor a database that went back
. "${srcdir:-$(dirname "$0")/../..}/tests/lib/lib.sh"
. "$srcdir/tests/lib/nodes.sh"

# Not short: the lag has to be longer than an event may be late.
is_short && skip_all 'a long test'

nodes_start group
node_sql n1 'SELECT group_replication_switch_to_multi_primary_mode()' \
    > /dev/null
has_writers() { [ "$(node_sql n1 "SELECT COUNT(*) FROM
    performance_schema.replication_group_members WHERE
    member_role = 'PRIMARY' AND member_state = 'ONLINE'")" = ${#NODES[@]} ]; }
within 20 'each member takes writes' has_writers

# What n2 has written and n1 has not applied refuses n1 what it writes on the same
# rows (3101), and so hides what is tested here: leases are long, and the janitor
# of the second host, which writes the row of the stream, stands still.  The first
# worker of the fleet is on n1, and knows that alone.
for i in 1 2; do
	WORKERS=1 PARTITIONS=4 LEASE_TTL=300 LEASE_RENEW=100 \
	    HEARTBEAT_TTL=300 CLAIM_TTL=6 TIMEOUT_MS=1000 HANG_TIMEOUT=600 \
	    host_conf $i $i
	sed -i 's/hosts: \["\([^"]*\)"[^]]*\]/hosts: ["\1"]/' "$DIR/h$i.yml"
	host_start $i
	[ $i = 2 ] || FIRST=$MASTER
done
janitor() { pgrep -P "$MASTER" -f 'outbox-master: janitor'; }
has_janitor() { janitor > "$DIR/janitor"; }
within 10 'the second host has a janitor' has_janitor
kill -STOP "$(< "$DIR/janitor")"
both_work() { [ "$(sql 'SELECT COUNT(DISTINCT lease_owner) FROM
    outbox_partitions WHERE lease_until > NOW(6)')" = 2 ]; }
within 20 'two hosts share the partitions' both_work

on_n2() { PRIMARY=$DIR/n2 enqueue_keys "$1-" 40 order.paid "'{}'"; }
sent_on_n2() { [ "$(node_sql n2 'SELECT COUNT(published_at) FROM app.outbox')" \
    -ge "$1" ]; }
of_stream() { sql "SELECT phantoms, rival, (SELECT COUNT(*) FROM
    outbox_partitions WHERE lease_owner = 'paused') FROM outbox_streams"; }
# lag SECONDS: n1 applies nothing that comes from the others; sets LAG
lag() {
	"$SANDBOX" sql "$DIR/n1" app \
	    -e "LOCK TABLES events READ; SELECT SLEEP($1)" > /dev/null &
	LAG=$!
	is_locked() { [ "$(node_sql n1 "SELECT COUNT(*) FROM
	    information_schema.processlist WHERE state = 'User sleep'")" = 1 ]; }
	within 10 'n1 lags' is_locked
}
lags() { [ "$(node_sql n1 'SELECT COUNT(*) FROM app.events')" -lt \
    "$(node_sql n2 'SELECT COUNT(*) FROM app.events')" ]; }

on_n2 one
within 30 'events are published' sent_on_n2 40
pause 8000
lag 60
on_n2 two
within 20 'events that n1 does not have are published' sent_on_n2 50
pause 50000
check 'it still lags' lags
is "$(of_stream)" $'0\tNULL\t0' 'that is no split brain'
wait "$LAG"
within 20 'it has caught up' not lags

# A daemon that starts there compares the stream with the events.  The other one
# has written the row of the stream just now, and so does not refuse it to that.
stop_master "$FIRST"
tail_of() { node_sql "$1" 'SELECT tail_at FROM app.outbox_streams'; }
same_tail() { [ "$(tail_of n1)" = "$(tail_of n2)" ]; }
before=$(tail_of n2)
has_moved() { [ "$(tail_of n2)" != "$before" ]; }
within 30 'the other one is the first of the fleet' has_moved
within 10 'n1 knows of it' same_tail
sent=$(node_sql n2 'SELECT COUNT(published_at) FROM app.outbox')
lag 8
on_n2 three
host_start 1
within 5 'events that n1 does not have are published' sent_on_n2 $((sent + 40))
check 'n1 lags' lags
wait "$LAG"
within 20 'the daemon works' both_work
check 'it has waited for them' has_line "$DIR/h1.log" 'stream: .*3797'
is "$(of_stream)" $'0\tNULL\t0' 'no message is a phantom'
kill -CONT "$(< "$DIR/janitor")"
done_testing
