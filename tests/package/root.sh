# root.sh - a clean Debian 12 in the directory "$root"; sourced by debian.sh and
# bare.sh

# shellcheck shell=bash disable=SC2154
# shellcheck source=tests/lib/result.sh
. "${srcdir:-.}/tests/lib/result.sh"
suite=bookworm

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
