#!/usr/bin/env bash
# debian.sh - the package in a clean Debian, from "apt install" to purge (TAP)
#
#   DEB=FILE.deb LAB=PROGRAM tests/package/debian.sh [systemd]
#   DEB=FILE.deb LAB=PROGRAM FORMER=FILE.deb tests/package/debian.sh upgrade
#   DEB=FILE.deb LAB=PROGRAM RPM=FILE.rpm tests/package/debian.sh rpm_inside
#
# As root.  Makes a Debian 12, or SUITE, with debootstrap, from the mirror that
# the apt of this machine uses, in a scratch directory.  What happens in it is
# inside.sh: it runs the commands of README.md.  With "systemd" it is systemd.sh,
# after systemd was started there as the first process, and so is rpm_inside.sh;
# with "upgrade" it is upgrade.sh.  Everything is in namespaces of its own, so the
# servers use the usual ports, and end with it.  KEEP=DIR keeps the bare Debian in
# DIR, for the next time.

# shellcheck source=tests/package/root.sh
. "${srcdir:-.}/tests/package/root.sh"

# next_version: the same package as 99, with another /etc/outbox.yml
next_version() {
	dpkg-deb -R "$DEB" "$dir/next" &&
	    sed -i 's/^Version: .*/Version: 99/' "$dir/next/DEBIAN/control" &&
	    echo '# of version 99' >> "$dir/next/etc/outbox.yml" &&
	    dpkg-deb --root-owner-group -b "$dir/next" \
		"$root/root/next/outbox-master_99.deb"
}

# The commands of README.md: step1, step2, ...
put_steps() {
	awk -v to="$root/root/step" '
	/^Install$/ { on = 1 }
	/^Enqueue$/ { on = 0 }
	!on { next }
	/^       / { if (!open) n++; open = 1; print > (to n); next }
	{ open = 0 }' "$srcdir/README.md"
}

# cgroups: the trees that systemd needs, at this machine
cgroups() {
	for tree in /sys/fs/cgroup /sys/fs/cgroup/systemd \
	    /sys/fs/cgroup/unified
	do
		[ ! -e "$tree/cgroup.procs" ] || echo "$tree"
	done
}

# boot: start systemd in the root; sets init, its pid.  It has a cgroup of its
# own, and sees no other.  It has the devices of the root: where /dev is no mount
# it would mount that of this machine, and what it does there would happen here.
# Shared mounts are how it gives credentials to services.
boot() {
	# shellcheck disable=SC2016
	unshare -n -m -p -u -i -f --kill-child sh -c '
	for tree in $2; do
		mkdir "$tree/$1" && echo 0 > "$tree/$1/cgroup.procs" || exit
	done
	exec unshare -C sh -c '\''
	ip link set lo up && mount --bind "$0" "$0" && cd "$0" || exit
	mount -t proc proc proc && mount -t sysfs sysfs sys
	mount -t tmpfs tmpfs run && mount -t tmpfs tmpfs tmp
	mount --bind dev dev || exit
	if [ "$2" = /sys/fs/cgroup ]; then
		mount -t cgroup2 cgroup2 sys/fs/cgroup
	else
		mount -t tmpfs tmpfs sys/fs/cgroup
		mkdir sys/fs/cgroup/systemd sys/fs/cgroup/unified
		mount -t cgroup -o none,name=systemd cgroup \
		    sys/fs/cgroup/systemd
		mount -t cgroup2 cgroup2 sys/fs/cgroup/unified
	fi
	mkdir .old && pivot_root . .old && umount -l .old && rmdir .old &&
	    mount --make-rshared / && exec env -i container=lxc \
	    PATH=/usr/sbin:/usr/bin:/sbin:/bin \
	    /lib/systemd/systemd --log-target=console
	'\'' "$0" "$@"' "$root" "$group" "$(cgroups)" \
	    < /dev/null > "$dir/boot" 2>&1 &
	unshare=$!
	wait_for 10 is_booting && wait_for 60 is_booted
}

is_booting() {
	init=$(ps -o pid= --ppid "$unshare" | tr -d ' ')
	[ "$(cat "/proc/${init:-none}/comm" 2> /dev/null)" = systemd ]
}

booted() {
	nsenter -t "$init" -m -p -n -u -i -C -r -w env -i LANG=C.UTF-8 \
	    PATH=/usr/sbin:/usr/bin:/sbin:/bin HOME=/root \
	    DEBIAN_FRONTEND=noninteractive "$@"
}

is_booted() {
	case $(booted systemctl is-system-running 2> /dev/null) in
	running | degraded) return 0 ;;
	esac
	return 1
}

# install_what_it_needs: the libraries of the package, and rpm
install_what_it_needs() {
	inside apt-get install -q rpm "/root/${DEB##*/}" &&
	    inside apt-get purge -q outbox-master && inside userdel outbox
}

# download: afterwards there is no network
download() {
	inside apt-get install -qd "/root/${DEB##*/}" || return
	case $what in
	inside) inside apt-get install -qd openrc ;;
	upgrade) cp "$FORMER" "$root/root/former.deb" &&
	    inside apt-get install -qd /root/former.deb ;;
	rpm_inside) cp "$RPM" "$root/root" && install_what_it_needs ;;
	esac
}

with_systemd() {
	inside apt-get install -q systemd systemd-sysv dbus > "$dir/log" 2>&1 ||
	    skip_all 'systemd cannot be installed'
	printf '%s\n' 'jetstream { store_dir: /var/lib/nats }' \
	    >> "$root/etc/nats-server.conf"
	inside install -d -o nats -g nats /var/lib/nats
	boot || {
		sed 's/^/# /' "$dir/boot" | tail -n 20
		skip_all 'systemd does not start in namespaces here'
	}
	booted bash "/root/$what.sh"
}

without_systemd() {
	# shellcheck disable=SC2016
	unshare -n -m -p -f --kill-child sh -c 'ip link set lo up &&
	    mount -t proc proc "$0/proc" && exec chroot "$0" env -i \
	    HOME=/root LANG=C.UTF-8 PATH=/usr/sbin:/usr/bin:/sbin:/bin \
	    DEBIAN_FRONTEND=noninteractive bash "/root/$1.sh"' "$root" "$what"
}

clean_up() {
	[ -z "$init" ] || kill -KILL "$init" 2> /dev/null
	[ -z "$unshare" ] || wait "$unshare"
	for tree in $(cgroups); do
		[ ! -d "$tree/$group" ] || find "$tree/$group" -depth \
		    -type d -exec rmdir {} \;
	done
	rm -rf --one-file-system "$dir"
}

need_debian nsenter ip dpkg-deb
unshare -m -n -p -f ip link set lo up 2> /dev/null ||
    skip_all 'no namespaces here'
DEB=$(realpath "${DEB:?}")
LAB=$(realpath "${LAB:-./lab}")
srcdir=$(realpath "${srcdir:-.}")

what=${1:-inside}
init='' unshare='' group=outbox-package.$$
need_root package
mkdir "$root/root/next"
cp "$DEB" "$root/root"
cp "$LAB" "$root/usr/bin/lab"
cp "$srcdir"/tests/package/{"$what",in_root}.sh \
    "$srcdir/tests/lib/result.sh" "$root/root"
if ! { next_version && put_steps && download; } > "$dir/log" 2>&1; then
	sed 's/^/# /' "$dir/log" | tail -n 20
	echo 'Bail out! the packages cannot be prepared'
	exit 1
fi
case $what in
systemd | rpm_inside) with_systemd ;;
*) without_systemd ;;
esac
