#!/usr/bin/env bash
# An upgrade under load: the program is replaced and the init script restarts
# it.  The workers hand over, nothing is lost, and no gap is longer than 2 s.
. "${srcdir:-$(dirname "$0")/../..}/tests/lib/lib.sh"

start_servers
mkdir -p "$DIR/sbin" "$DIR/etc/default"
script=$DIR/init
sed -e "s|@sbindir@|$DIR/sbin|g" -e "s|@sysconfdir@|$DIR/etc|g" \
    -e 's|/lib/lsb/|/nonexistent/|' \
    "$srcdir/init/outbox-master.init.in" > "$script"
chmod +x "$script"
WORKERS=4
write_conf "$DIR/etc/outbox.yml"
sed -i "s|^log: .*|log: {target: $DIR/log}|" "$DIR/etc/outbox.yml"

# install_program: as dpkg does, while the program may run
install_program() {
	cp "$(realpath "$OUTBOX_MASTER")" "$DIR/sbin/new" &&
	    mv "$DIR/sbin/new" "$DIR/sbin/outbox-master"
}

# do_init ACTION: it is up to us to end what it starts
do_init() {
	"$script" "$1" > "$DIR/said" 2>&1
	local rc=$? pid
	pid=$(cat "$DIR/run/outbox.pid" 2>/dev/null) && MASTERS+=("$pid")
	return "$rc"
}

# longest_gap SINCE: milliseconds without a delivered message
longest_gap() {
	sql "SELECT CEIL(MAX(gap) / 1000) FROM (SELECT TIMESTAMPDIFF(
	    MICROSECOND, LAG(published_at) OVER (ORDER BY published_at),
	    published_at) AS gap FROM outbox WHERE published_at > '$1') AS gaps"
}

# upgrade: and events flow again behind it
upgrade() {
	install_program && do_init try-restart &&
	    wait_for 10 has_published "$(($(published) + 200))"
}

install_program
check 'start' do_init start
produce_forever --keys 200 --payload 200 --rate 400
within 20 'events are delivered' has_published 400
first=$(cat "$DIR/run/outbox.pid")
since=$(sql 'SELECT NOW(6)')
for i in 1 2 3; do
	check "upgrade $i" upgrade
	gap=$(longest_gap "$since")
	[ "${gap:-9999}" -lt 2000 ]
	ok $? "upgrade $i: no gap of 2 s in delivery"
	say "the longest gap: ${gap:-none is known} ms"
	since=$(sql 'SELECT NOW(6)')
done
[ "$(cat "$DIR/run/outbox.pid")" != "$first" ]
ok $? 'another daemon runs'

kill -TERM "$PRODUCER"
wait "$PRODUCER"
drains 20 'all events are delivered'
check_stream 'the independent checker: nothing lost, twice or out of order'
check 'stop' do_init stop
done_testing
