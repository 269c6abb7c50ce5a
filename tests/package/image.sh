#!/usr/bin/env bash
# image.sh - the OCI image, run by an ordinary user as process 1
#
#	IMAGE=DIR DEB=FILE tests/package/image.sh	as packaging/image made it
#
# Made of the same package once more, elsewhere and another day, it is the same.
#
# bubblewrap stands in for a container engine: it gives the image's root, a
# process namespace of its own, the user of the image and its variables.
. "${srcdir:-$(dirname "$0")/../..}/tests/lib/ctl.sh"

for command in umoci bwrap setpriv; do
	command -v "$command" > /dev/null || skip_all "$command is not installed"
done
[ "$(id -u)" -eq 0 ] || skip_all 'the image is unpacked as root'

start_servers
sql "CREATE USER 'outbox'@'127.0.0.1' IDENTIFIED BY '$OUTBOX_PW'"
"$SANDBOX" sql "$DIR/db" app < <(sed "s/'outbox'@'localhost'/'outbox'@'127.0.0.1'/" \
    "$srcdir/sql/grants.sql")

mkdir "$DIR/elsewhere"
chmod 755 "$DIR" "$DIR/elsewhere"
day=()
! command -v faketime > /dev/null || day=(faketime -f +1d)
(
	umask 077
	TMPDIR=$DIR/elsewhere TZ=Asia/Kathmandu LC_ALL=C HOME=/nonexistent \
	    NO_FAKE_STAT=1 "${day[@]}" "$srcdir/packaging/image" "$DEB" \
	    "$DIR/again" > "$DIR/made" 2>&1
) && diff -r "$IMAGE" "$DIR/again" > "$DIR/differs"
ok $? 'made elsewhere, on another day, it has the same bytes' ||
    { tail -n 5 "$DIR/made"; cat "$DIR/differs"; } 2>&1 | sed 's/^/# /'

# The size, as a registry would store it
size=$(du -sm "$IMAGE" | cut -f1)
[ "$size" -lt 60 ]
ok $? "the image is smaller than 60 MB ($size MB)"

umoci unpack --image "$IMAGE:latest" "$DIR/bundle" > /dev/null 2>&1
ok $? 'the image can be unpacked'
root=$DIR/bundle/rootfs
chmod 755 "$DIR" "$DIR/bundle" "$root"
process() { jq -rc ".process$1" "$DIR/bundle/config.json"; }
uid=$(process .user.uid)
gid=$(process .user.gid)
is "$(process .args)" '["/usr/sbin/outbox-master","-f"]' 'it runs the daemon'
is "$(awk -F: -v u="$uid" '$3 == u { print $1 }' "$root/etc/passwd")" outbox \
    'as the user outbox'
grep -q "runAsUser: $uid\$" "$srcdir/packaging/kubernetes.yml" &&
    grep -q "uid=$uid,gid=$gid\"" "$srcdir/packaging/compose.yml"
ok $? 'with the numbers that the examples give it'
is "$(find "$root" -xdev -name '*.deb' | head -1)" '' 'no package file is left in it'

# in_image VARIABLE=VALUE... -- COMMAND...: as a container would
in_image() {
	local set=()
	while [ "$1" != -- ]; do
		set+=(--setenv "${1%%=*}" "${1#*=}")
		shift
	done
	shift
	exec setpriv --reuid 65534 --regid 65534 --clear-groups \
	    bwrap --ro-bind "$root" / --proc /proc --dev /dev --tmpfs /run \
	    --dir /run/outbox --unshare-user --unshare-pid --unshare-ipc \
	    --uid "$uid" --gid "$gid" --as-pid-1 --clearenv \
	    --setenv PATH /usr/sbin:/usr/bin:/sbin:/bin "${set[@]}" "$@"
}
keys=(OUTBOX_MYSQL_HOSTS="127.0.0.1:$DB_PORT" OUTBOX_MYSQL_DATABASE=app
    OUTBOX_MYSQL_PASSWORD_FILE= OUTBOX_MYSQL_PASSWORD_ENV=PW PW="$OUTBOX_PW"
    OUTBOX_NATS_SERVERS="$URL" OUTBOX_MASTER_WORKERS=2
    OUTBOX_MASTER_STOP_TIMEOUT=10)

OUT=$( (in_image -- /usr/sbin/outbox-master -t) 2>&1)
is $? 78 'without variables: exit status 78'
like "$OUT" 'mysql.database: is missing' 'and the missing key'
OUT=$( (in_image "${keys[@]}" -- /usr/sbin/outbox-master -T) 2>&1)
is $? 0 'with variables: the configuration is complete'
like "$OUT" 'database: app' 'a variable is in it'

in_image "${keys[@]}" -- /usr/sbin/outbox-master -f --silent \
    2> "$DIR/log" > "$DIR/out" &
container=$!
within 20 'its workers own the partitions' all_owned
produce --events 500 --keys 20
is "$(sql 'SELECT COUNT(*) FROM outbox')" 500 'events are enqueued'
within 30 'it relays events' is_drained
check_stream 'the stream has all of them, in order' --wait 10

# The first process of the namespace, seen from outside
first=$(pgrep -P "$container" -f 'outbox-master: master' ||
    pgrep -f 'outbox-master: master' -P "$(pgrep -P "$container" | head -1)")
is "$(awk '/^NSpid/ { print $3 }' "/proc/$first/status")" 1 \
    'the daemon is process 1'
# An orphan becomes a child of process 1, which has to reap it.
nsenter -t "$first" -U -p -m --preserve-credentials -- \
    sh -c '(exec sleep 2 > /dev/null 2>&1 &)'
orphans() { ps -o comm= --ppid "$first" | grep -c sleep; }
is "$(orphans)" 1 'an orphan becomes its child'
is_reaped() { [ "$(orphans)" = 0 ]; }
within 5 'an orphan is reaped' is_reaped

before=$SECONDS
kill -TERM "$first"
wait "$container"
is $? 0 'SIGTERM ends it with exit status 0'
[ $((SECONDS - before)) -le 10 ]
ok $? 'within stop_timeout'
is "$(sql 'SELECT COUNT(*) FROM outbox_workers')" 0 'and it gave everything back'
done_testing
