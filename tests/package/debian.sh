#!/usr/bin/env bash
# debian.sh - the package in a clean Debian 12, from "apt install" to purge (TAP)
#
#   DEB=FILE.deb LAB=PROGRAM tests/package/debian.sh
#
# As root.  Makes a Debian 12 with debootstrap, from the mirror that the apt of
# this machine uses, in a scratch directory.  What happens in it is inside.sh:
# it runs the commands of README.md.  Everything there is in namespaces of its
# own, so its servers use the usual ports, and end with it.
# KEEP=DIR keeps the bare Debian in DIR, for the next time.

# shellcheck source=tests/lib/result.sh
. "${srcdir:-.}/tests/lib/result.sh"
suite=bookworm

skip_all() {
	echo "1..0 # SKIP $1"
	exit 0
}

# sources: "URI SUITE COMPONENT" of each source of Debian 12 that apt has here
sources() {
	apt-get indextargets --format \
	    '$(REPO_URI) $(RELEASE) $(COMPONENT) $(ORIGIN) $(CREATED_BY)' |
	    sed -n "s/^\([^ ]* ${suite}[^ ]* [^ ]*\) Debian Packages\$/\1/p" |
	    sort -u
}

# inside COMMAND...: in the root, with the network of this machine
inside() {
	unshare -m -p -f --kill-child sh -c 'mount -t proc proc "$0/proc" &&
	    exec chroot "$0" env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin \
	    HOME=/root LANG=C.UTF-8 DEBIAN_FRONTEND=noninteractive "$@"' \
	    "$root" "$@"
}

# What apt needs here to reach the mirror, such as a proxy, it needs there.
make_bare_root() {
	mirror=$(sources | sed -n "s/ $suite main\$//p" | head -n 1)
	debootstrap --variant=minbase "$suite" "$root" "$mirror" &&
	    sources | sed 's/^/deb /' > "$root/etc/apt/sources.list" &&
	    apt-config dump Acquire | grep -iE '::(Proxy|Check-)' \
		> "$root/etc/apt/apt.conf.d/99machine"
	echo 'APT::Get::Assume-Yes "true";' > "$root/etc/apt/apt.conf.d/99yes"
	echo '127.0.0.1 localhost' > "$root/etc/hosts"
	inside apt-get update && inside apt-get install -q \
	    --no-install-recommends mariadb-server nats-server procps
}

make_root() {
	if [ -d "${KEEP:-}/etc" ]; then
		cp -a "$KEEP/." "$root"
		return
	fi
	make_bare_root || return
	[ -z "${KEEP:-}" ] || cp -a "$root" "$KEEP"
}

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

clean_up() {
	rm -rf --one-file-system "$dir"
}

[ "$(id -u)" -eq 0 ] || skip_all 'only root can make a Debian: run it as root'
for command in debootstrap unshare ip dpkg-deb apt-get; do
	command -v "$command" > /dev/null || skip_all "no $command"
done
unshare -m -n -p -f ip link set lo up 2> /dev/null ||
    skip_all 'no namespaces here'
[ -n "$(sources)" ] || skip_all "apt has no source of Debian $suite here"
DEB=$(realpath "${DEB:?}")
LAB=$(realpath "${LAB:-./lab}")
srcdir=$(realpath "${srcdir:-.}")

dir=$(mktemp -d "${TMPDIR:-/tmp}/outbox-package.XXXXXX") || exit 1
root=$dir/root
trap clean_up EXIT
trap 'exit 130' INT
trap 'exit 143' HUP TERM
mkdir -m 755 "$root"
make_root > "$dir/log" 2>&1 || {
	sed 's/^/# /' "$dir/log" | tail -n 20
	skip_all 'debootstrap and apt could not make a Debian: see above'
}
mkdir "$root/root/next"
cp "$DEB" "$root/root"
cp "$LAB" "$root/usr/bin/lab"
cp "$srcdir/tests/package/inside.sh" "$srcdir/tests/lib/result.sh" "$root/root"
# Downloaded beforehand: afterwards there is no network.
if ! { next_version && put_steps &&
    inside apt-get install -qd "/root/${DEB##*/}"; } > "$dir/log" 2>&1; then
	sed 's/^/# /' "$dir/log" | tail -n 20
	echo 'Bail out! the packages cannot be prepared'
	exit 1
fi
unshare -n -m -p -f --kill-child sh -c 'ip link set lo up && mount -t proc \
    proc "$0/proc" && exec chroot "$0" env -i HOME=/root LANG=C.UTF-8 \
    PATH=/usr/sbin:/usr/bin:/sbin:/bin bash /root/inside.sh' "$root"
