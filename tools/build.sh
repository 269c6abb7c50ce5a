# build.sh - configure and build the program in a directory; sourced
#
# By quickstart and tools/check.  The caller sets top, the top of the sources,
# and has die().

# shellcheck shell=bash disable=SC2154,SC2034

# use_ccache: set cc, an option of configure.  What is built twice, with other
# options, is then compiled once where it can be.
use_ccache() {
	cc=()
	command -v ccache >/dev/null || return 0
	cc=(CC='ccache gcc')
	export CCACHE_DIR=${CCACHE_DIR:-$top/_build/ccache}
	export CCACHE_NOHASHDIR=1
}

# in_log COMMAND...: quiet unless it fails
in_log() {
	"$@" >> "$log" 2>&1 || {
		tail -n 40 "$log" >&2
		die "failed: $* (the whole output is in $log)"
	}
}

# What has changed in Makefile.am or its parts, make sees.
autotools() {
	[ ! -e config.status ] ||
	    die "the source directory is configured: run make distclean first"
	if [ ! -e configure ] || [ configure.ac -nt configure ]; then
		in_log autoreconf -fi
	fi
}

# is_configured [OPTION...]: with these options, no others; without any, is any
# configuration there?
is_configured() {
	[ -e Makefile ] && [ Makefile -nt "$top/configure" ] &&
	    { [ $# -eq 0 ] || [ "$*" = "$(cat configured 2>/dev/null)" ]; }
}

# configure_here [OPTION...]: what other options have made is thrown away
configure_here() {
	is_configured "$@" && return
	rm -f configured
	in_log "$top/configure" "$@"
	in_log make -s clean
	printf '%s\n' "$*" > configured
}

# build_in DIR [configure options] -- [make targets]: without options a
# directory keeps those that it has
build_in() {
	local dir=$1 options=()
	shift
	while [ $# -gt 0 ] && [ "$1" != -- ]; do
		options+=("$1")
		shift
	done
	[ $# -eq 0 ] || shift
	[ -w "$top" ] || die "$top: not writable for $(id -un); clone it anew"
	mkdir -p "$dir"
	log=$dir/build.log
	: > "$log" || die "$dir: not writable; set OUTBOX_BUILD=DIR"
	(cd "$top" && autotools) || exit 1
	(
		cd "$dir"
		configure_here "${options[@]}"
		in_log make -s "-j$(nproc)" "$@"
	) || exit 1
}
