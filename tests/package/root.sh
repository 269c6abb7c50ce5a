# root.sh - a clean Debian in the directory "$root"; sourced
#
# SUITE=trixie: Debian 13; else it is Debian 12.

# shellcheck shell=bash disable=SC2154
# shellcheck source=tests/lib/result.sh
. "${srcdir:-.}/tests/lib/result.sh"
suite=${SUITE:-bookworm}

skip_all() {
	echo "1..0 # SKIP $1"
	exit 0
}

# need_debian COMMAND...: skip the test unless it can make a Debian here
need_debian() {
	local command
	[ "$(id -u)" -eq 0 ] ||
	    skip_all 'only root can make a Debian: run it as root'
	for command in debootstrap unshare apt-get "$@"; do
		command -v "$command" > /dev/null || skip_all "no $command"
	done
	[ -n "$(sources)" ] ||
	    skip_all "apt has no source of Debian $suite here"
}

# sources: "URI SUITE COMPONENT" of each source of the suite that apt has here.
# The mirror of one suite has the others.
sources() {
	local all
	all=$(apt-get indextargets --format \
	    '$(REPO_URI) $(RELEASE) $(COMPONENT) $(ORIGIN) $(CREATED_BY)' |
	    sed -n 's/ Debian Packages$//p' | sort -u)
	grep "^[^ ]* $suite" <<< "$all" ||
	    sed -n "s/ [a-z]* main\$/ $suite main/p" <<< "$all" | sed 1q
}

# inside COMMAND...: in the root, with the network of this machine
inside() {
	unshare -m -p -f --kill-child sh -c 'mount -t proc proc "$0/proc" &&
	    exec chroot "$0" env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin \
	    HOME=/root LANG=C.UTF-8 DEBIAN_FRONTEND=noninteractive "$@"' \
	    "$root" "$@"
}

# here COMMAND...: the same in the sources, with terminals and shared memory
here() {
	# shellcheck disable=SC2016
	inside sh -c 'mount -t devpts -o newinstance,ptmxmode=666 devpts \
	    /dev/pts && ln -sf pts/ptmx /dev/ptmx &&
	    mount -t tmpfs tmpfs /dev/shm
	    cd /root/clone && exec "$@"' sh "$@"
}

# put_sources: as they are, whether committed or not
put_sources() {
	mkdir "$root/root/clone" &&
	    (cd "$srcdir" && git ls-files -z | tar -c --null -T -) |
	    tar -x -C "$root/root/clone"
}

# debootstrap_root: what apt needs here to reach the mirror, such as a proxy, it
# needs there
debootstrap_root() {
	local mirror
	mirror=$(sources | sed -n "s/ $suite main\$//p" | head -n 1)
	debootstrap --variant=minbase "$suite" "$root" "$mirror" &&
	    sources | sed 's/^/deb /' > "$root/etc/apt/sources.list" &&
	    apt-config dump Acquire | grep -iE '::(Proxy|Check-)' \
		> "$root/etc/apt/apt.conf.d/99machine"
	printf '%s\n' 'APT::Get::Assume-Yes "true";' \
	    'APT::Install-Recommends "false";' > "$root/etc/apt/apt.conf.d/99yes"
	echo '127.0.0.1 localhost' > "$root/etc/hosts"
	inside apt-get update
}

# make_root: the same with the servers of the suite.  KEEP=DIR keeps it in DIR, for
# the next time.
make_root() {
	if [ -n "${KEEP:-}" ] && [ -d "$KEEP/etc" ]; then
		cp -a "$KEEP/." "$root"
		return
	fi
	debootstrap_root && inside apt-get install -q mariadb-server \
	    nats-server procps rsyslog || return
	[ -z "${KEEP:-}" ] || { rm -rf "$KEEP.new" &&
	    cp -a "$root" "$KEEP.new" && mv "$KEEP.new" "$KEEP"; }
}

# need_root NAME: in $dir/root, which vanishes with the test
need_root() {
	dir=$(mktemp -d "${TMPDIR:-/tmp}/outbox-$1.XXXXXX") || exit 1
	root=$dir/root
	trap clean_up EXIT
	trap 'exit 130' INT
	trap 'exit 143' HUP TERM
	mkdir -m 755 "$root"
	make_root > "$dir/log" 2>&1 && return
	sed 's/^/# /' "$dir/log" | tail -n 20
	skip_all 'debootstrap and apt could not make a Debian: see above'
}
clean_up() { rm -rf --one-file-system "$dir"; }
