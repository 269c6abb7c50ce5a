# parts.sh - the parts of the tests: what each one is and runs; sourced
#
# By tools/check, which has step, suite and the builds.  A part is a row of the
# table and a function, part_NAME.  Its paths are those whose change makes it
# due in CI (tools/due.sh); "always": each time.  The tests of the suite that
# a part has in their long form: group_of.  A row of doc/tested.md says when a
# part has passed and how long that took.

# shellcheck shell=bash disable=SC2154,SC2034

# name | what | when due | Debian packages; COMMAND/PACKAGE,... may be missing
PARTS='
short      | every test in its short form, on MariaDB | always |
sanitizers | unit tests with sanitizers | always | libclang-rt-dev
chaos      | a minute of chaos | always |
analyzers  | cppcheck, clang-tidy, gcc -fanalyzer, shellcheck, mandoc | always | cppcheck clang clang-tidy mandoc shellcheck
package    | make deb, lintian, the package in a clean Debian | always | dpkg-dev debhelper lintian debootstrap iproute2
units      | unit tests, long | src/util src/conf src/common src/ipc src/driver src/publish src/worker src/nats src/http src/local src/health src/monitor src/master src/ctl tests/unit |
store      | contract tests with real servers, long | src/mysql src/store src/nats src/recovery src/driver src/drivers src/worker src/publish sql tests/store tests/mysql tests/nats tests/recovery tests/driver |
faults     | a fault at each point between claim and settle, long | src/store src/worker src/publish src/recovery src/util/fault.c src/util/fault.h |
workers    | scripts about masters, workers and listener, long | src/master src/worker src/publish src/listener src/ipc src/janitor init |
database   | scripts about the database, long | src/mysql src/store src/worker src/janitor sql |
broker     | scripts about the destinations, long | src/nats src/http src/local src/driver src/drivers src/publish src/recovery |
cluster    | clusters of brokers and databases, long | src/nats src/mysql src/recovery | galera-4 haproxy
kafka      | Kafka: a broker and a cluster of them, chaos | src/kafka src/recovery src/ctl/topic src/ctl/state/topics.c tests/kafka tests/chaos/kafka.sh tools/kafka.sh | kcat java/default-jre-headless mvn/maven
monitor    | scripts about metrics, API and dashboard, long | src/monitor src/health src/ctl/state src/ctl/serve etc/prometheus doc/openapi.json | prometheus chromium chromium-driver pngquant
ctl        | scripts about outboxctl, what 1.0 has, long | src/ctl src/monitor src/driver/envelope.c src/common/exits.h sql doc/openapi.json |
tools      | the tests of tools, the model of the protocol, bench, long | tools bench quickstart tests/tools tests/lib tests/layers.sh tests/model tests/fuzz |
mysql      | Oracle MySQL and its client library | src/mysql src/store src/listener sql |
nats       | nats-server of later Debian suites | src/nats src/recovery tests/nats |
storms     | chaos: two masters, sanitizers, a database that goes back | src/master src/worker src/store src/publish src/recovery src/nats sql tests/chaos |
clang      | a build with clang | src tests/lib tests/unit tests/store tools configure.ac | clang
valgrind   | no leaks in unit tests | src tests/unit | valgrind
fuzz       | fuzzers | src/conf src/driver src/mysql src/nats src/http src/util src/monitor src/ctl/serve src/ctl/base src/ctl/messages tests/fuzz | clang libclang-rt-dev
dist       | make distcheck, dist, release | Makefile.am configure.ac packaging tests/package | gnupg dpkg-dev debhelper rpm faketime
systemd    | the package in a clean Debian with systemd | init debian src/master src/ctl/setup tests/package | dpkg-dev debhelper lintian debootstrap iproute2
bookworm   | Debian 12: the package built there, upgrade from the version before | debian sql src/ctl/schema src/ctl/setup tests/package | debootstrap iproute2 git
trixie     | Debian 13: tests with what it has, the package, the upgrade | debian configure.ac src/mysql src/monitor tests/package | debootstrap iproute2 git
rpm        | make rpm, what is in it, its scripts where systemd runs | Makefile.am configure.ac packaging init tests/package | rpm rpmlint dpkg-dev debhelper lintian debootstrap iproute2
containers | examples for containers, an image | packaging debian tests/package | dpkg-dev debhelper mmdebstrap umoci bubblewrap python3-yaml
examples   | the programs in examples/, switches from other relays, production | examples sql src/driver src/kafka src/ctl/schema doc/coming_from.md doc/production.md tests/examples | curl php/php-cli,php-mysql,php-illuminate-database,php-illuminate-events python3/python3,python3-venv npm/nodejs,npm go/golang-go javac/default-jdk-headless mvn/maven
bare       | the commands of README.md in a clean Debian | quickstart tools/check tools/parts.sh tools/due.sh tools/build.sh configure.ac tests/package | debootstrap iproute2
'
# What the suite needs, which most parts run
suite_packages='check openssl xz-utils spin socat jq curl nginx-light tmux ccache'

# Each test of the suite is in one of these, in its long form.
groups=(units store faults workers database broker cluster kafka monitor ctl
    tools)

# group_of TEST: the part that has it in its long form; check_lanes, or a file
group_of() {
	case $1 in
	tests/ctl/* | tests/compat/*)
		echo ctl ;;
	*/run_faults.sh)
		echo faults ;;
	*/run_cluster.sh | */run_galera.sh | */run_group.sh | \
	    */run_failover.sh | \
	    */run_pauses.sh | */run_haproxy.sh | */run_one_name.sh | \
	    */run_vitess.sh)
		echo cluster ;;
	*/run_kafka*.sh)
		echo kafka ;;
	*/run_health.sh | */run_readers.sh | */run_monitor*.sh | \
	    */run_api.sh | */*dashboard.sh | */run_metrics.sh | */*prometheus*.sh)
		echo monitor ;;
	*/run_database.sh | */run_settings.sh | */run_durable.sh | */run_back.sh | \
	    */run_content.sh | */run_shapes.sh | */run_inline.sh | \
	    */run_pillar.sh | */run_metadata.sh | */run_repartition*.sh | \
	    */run_scheduled.sh | */run_retention.sh | */run_wide.sh | \
	    */sql_test.sh)
		echo database ;;
	*/run_relay.sh | */run_refused.sh | */run_*routes.sh | \
	    */run_stream*.sh | */run_*in_doubt.sh | */run_domain.sh | */run_*tls.sh | \
	    */run_secure.sh | */run_large.sh | */run_destinations.sh | \
	    */run_http.sh | */run_two_outboxes.sh)
		echo broker ;;
	tests/system/*)
		echo workers ;;
	check_* | */check_*.c)
		case $(cd "$top" && echo tests/*/"$(basename "$1" .c).c") in
		tests/unit/* | tests/http/*) echo units ;;
		tests/kafka/*) echo kafka ;;
		*) echo store ;;
		esac ;;
	*)
		echo tools ;;
	esac
}

# long NAME: the tests of the part in their long form
long() {
	local test tests=()
	need_main
	need_faults
	while read -r test; do
		[ "$(group_of "$test")" != "$1" ] || tests+=("$test")
	done < <(tests_of all)
	OUTBOX_CHECK=full OUTBOX_HUNG=$((1200 * slow / 10)) \
	    with_pool suite "$1" "$build" "${tests[@]}"
}

# --- always -----------------------------------------------------------------

part_short() {
	local tests
	need_main
	need_faults
	mapfile -t tests < <(tests_of all)
	OUTBOX_CHECK=short OUTBOX_HUNG=$((300 * slow / 10)) \
	    with_pool suite short "$build" "${tests[@]}"
}

# The flags of a release are of no use here, and cost time; so does a process for
# each check, where each one is searched for leaks: 8 minutes instead of one.
part_sanitizers() {
	local tests
	need_sanitizers
	mapfile -t tests < <(tests_of unit)
	step 'unit tests, built with sanitizers' \
	    make -C "$checks/sanitizers" -s "-j$(nproc)" "${tests[@]}"
	CK_FORK=no OUTBOX_CHECK=short OUTBOX_HUNG=$((300 * slow / 10)) \
	    suite sanitizers "$checks/sanitizers" "${tests[@]}"
}

# chaos BUILD OPTIONS...: its seed and schedule come first in the output
chaos() {
	local dir=$1
	shift
	OUTBOX_MASTER=$dir/outbox-master OUTBOXCTL=$build/outboxctl \
	    LAB=$build/lab srcdir=$top KEEP='' tests/chaos/run.sh "$@"
}

part_chaos() {
	need_main
	step 'a minute of chaos' chaos "$build" --seed 23 --seconds 60
}

part_analyzers() {
	need_main
	step 'manual pages' mandoc -T lint -W warning man/*.[1578]
	step 'shellcheck' shellcheck -S warning quickstart tools/sandbox \
	    tools/cluster.sh tools/kafka.sh tools/wsrep_sst_copied \
	    tools/build.sh tools/check tools/parts.sh tools/due.sh \
	    tools/slow tools/test tools/top_pictures \
	    tests/*.sh tests/*/*.sh tests/fuzz/run tools/coverage \
	    packaging/image packaging/provenance packaging/release \
	    packaging/sbom bench/run bench/*.sh
	step 'cppcheck' static_analysis
	analyze 'clang-tidy' tidy
	analyze 'gcc -fanalyzer' analyze
}

static_analysis() {
	cppcheck --quiet --error-exitcode=1 --std=c11 --inline-suppr \
	    "-j$(nproc)" --enable=warning,performance,portability \
	    --library=tests/lib/cppcheck.cfg --suppress=missingIncludeSystem \
	    -I src src tools bench
}

# analyze NAME TARGET: of make, for all files or, where CI has to be quick, for
# those that have changed
analyze() {
	local files
	if [ -z "$quick" ]; then
		step "$1" make -C "$build" -s -k "-j$(nproc)" "$2"
		return
	fi
	mapfile -t files < <(changed_sources analyzers)
	step "$1" analyze_files "$2" "${files[@]}"
	grep '^left out' "$checks/step.log" || :
}

# As many of them as four minutes of this machine are enough for.
analyze_files() {
	local target=$1 until=$((SECONDS + 240)) rc=0
	shift
	while [ $# -gt 0 ]; do
		[ "$SECONDS" -lt "$until" ] || {
			echo "left out by $target, no time: $# files"
			break
		}
		# Not all of them are in this build: those that make knows.
		make -C "$build" -s -k "-j$(nproc)" "$target" \
		    changed="${*:1:16}" || rc=1
		shift $(($# < 16 ? $# : 16))
	done
	return "$rc"
}

part_package() {
	need_main
	need_deb
	step 'the package in a clean Debian' clean_debian
}

deb() {
	make -C "$build" -s deb && lintian --fail-on error,warning \
	    "$build"/deb/*.changes
}

# clean_debian [systemd].  Only root can make a Debian; sudo may have dropped it.
# It is made once, in KEEP.
clean_debian() {
	as_root env DEB="$(ls "$build"/deb/outbox-master_*.deb)" \
	    RPM="$(ls "$build"/rpm/RPMS/*/*.rpm 2>/dev/null)" \
	    LAB="$build/lab" srcdir="$top" KEEP="$checks/debian-bookworm" \
	    tests/package/debian.sh "$@"
}

# in_debian SUITE FILE [ARG...]: one of tests/package in a clean Debian, with what
# distribution.sh has built there
in_debian() {
	local d=$checks/$1
	[ "$2" = distribution.sh ] || [ -e "$d/lab" ] ||
	    { echo '1..0 # SKIP it was not built'; return; }
	as_root env SUITE="$1" TO="$d" DEB="$d/outbox-master_new.deb" \
	    FORMER="$d/former.deb" LAB="$d/lab" srcdir="$top" \
	    KEEP="$checks/debian-$1" "tests/package/$2" "${@:3}"
}

as_root() {
	if [ "$(id -u)" -eq 0 ] || ! sudo -n true 2>/dev/null; then
		"$@"
	else
		sudo -n "$@"
	fi
}

# --- the tests of the suite in their long form ---------------------------------

part_units() { long units; }
part_store() { long store; }
part_faults() { long faults; }
part_workers() { long workers; }
part_database() { long database; }
part_broker() {
	local test tests=()
	long broker
	# Beside a destination that nothing goes to, all is as without it.
	for test in relay routes streams in_doubt stream_audit metadata; do
		tests+=("tests/system/run_$test.sh")
	done
	OUTBOX_IDLE_ROUTE=yes OUTBOX_CHECK=full \
	    OUTBOX_HUNG=$((1200 * slow / 10)) \
	    with_pool suite 'broker, with an idle route' "$build" "${tests[@]}"
}
part_cluster() {
	local kind
	long cluster
	find_mysql || :
	for kind in galera group nats; do
		step "chaos on a cluster: $kind" chaos "$build" \
		    --cluster $kind --seed 5 --seconds 60
	done
}
part_kafka() {
	need_main
	tools/sandbox kafka-tree > "$checks/kafka-tree.log" 2>&1 || {
		skip kafka "$(tail -n 1 "$checks/kafka-tree.log")"
		return
	}
	long kafka
	step 'chaos with a broker of Kafka' chaos "$build" --broker kafka \
	    --seed 6 --seconds 60 --masters 2
}
part_monitor() { long monitor; }
part_ctl() { long ctl; }
part_tools() { long tools; }

# --- other servers and libraries ------------------------------------------------

part_mysql() {
	local tests
	need_main
	need_faults
	find_mysql || {
		skip mysql "Oracle MySQL cannot be fetched: $checks/mysql-tree.log"
		return
	}
	mapfile -t tests < <(tests_of contract)
	KIND=mysql OUTBOX_CHECK=full OUTBOX_HUNG=$((1200 * slow / 10)) \
	    suite 'contract tests' "$build" "${tests[@]}"
	step 'a build with libmysqlclient' oracle_build
	step 'libmysqlclient' oracle_client
	step 'failover, restore and awkward rows on MySQL' on_mysql
	unset OUTBOX_MYSQL_TREE
}

# Oracle MySQL cannot be installed beside MariaDB: unpack its packages.
mysql_tree=${OUTBOX_MYSQL_TREE:-${XDG_CACHE_HOME:-$HOME/.cache}/outbox-master/mysql}
find_mysql() {
	export OUTBOX_MYSQL_TREE=$mysql_tree
	[ -x "$OUTBOX_MYSQL_TREE/root/usr/sbin/mysqld" ] ||
	    tools/sandbox mysql-tree "$OUTBOX_MYSQL_TREE" \
	    > "$checks/mysql-tree.log" 2>&1
}

oracle_build() {
	local t=$OUTBOX_MYSQL_TREE lib
	lib=$t/root/usr/lib/x86_64-linux-gnu
	export MYSQL_CFLAGS="-I$t/dev/include/mysql -I$t/dev/include"
	export MYSQL_LIBS="-L$t/dev/lib -lmysqlclient -Wl,--allow-shlib-undefined -Wl,--disable-new-dtags -Wl,-rpath,$lib -Wl,--dynamic-linker=$t/root/usr/lib64/ld-linux-x86-64.so.2"
	build_in "$checks/oracle" "${cc[@]}" --enable-werror --enable-tests -- \
	    outbox-master outboxctl check_hostile check_db
}

oracle_client() {
	local check kind dir=$checks/oracle
	export LIBMYSQL_PLUGIN_DIR=$OUTBOX_MYSQL_TREE/root/usr/lib/mysql/plugin
	for check in check_hostile check_db; do
		program "$dir/$check" || return 1
	done
	KIND=mysql script "$dir" tests/system/run_relay.sh || return 1
	for kind in mariadb mysql; do
		KIND=$kind script "$dir" tests/system/run_listener.sh || return 1
	done
}

# Scripts that test the server; the suite runs them on MariaDB.
on_mysql() {
	local t
	for t in back failover durable content inline shapes wake_auto settings \
	    tls; do
		KIND=mysql script "$build" "tests/system/run_$t.sh" || return 1
	done
	KIND=mysql script "$build" tests/ctl/ctl_setup.sh
}

part_nats() {
	need_main
	step 'nats-server of Debian 13' newer_broker trixie
	step 'nats-server of Debian unstable' newer_broker sid
}

# newer_broker SUITE: the nats-server of another Debian suite
newer_broker() {
	local t dir=$checks/nats-$1
	[ -x "$dir/nats-server" ] || tools/sandbox nats-server "$1" "$dir" ||
	    { echo "1..0 # SKIP the nats-server of $1 cannot be fetched"; return; }
	local -x PATH=$dir:$PATH
	nats-server --version
	program "$build/check_bus" || return 1
	for t in relay streams stream_audit cluster refused domain; do
		script "$build" "tests/system/run_$t.sh" || return 1
	done
	OUTBOX_CHECK=short script "$build" tests/system/run_in_doubt.sh
}

# --- more chaos, analysis at run time -------------------------------------------

part_storms() {
	need_main
	need_sanitizers
	step 'the daemon with sanitizers' \
	    make -C "$checks/sanitizers" -s "-j$(nproc)" outbox-master
	step 'chaos with two masters and sanitizers' chaos \
	    "$checks/sanitizers" --seed 3 --seconds 45 --masters 2
	step 'chaos with a database that goes back' chaos "$build" --seed 13 \
	    --seconds 60 --masters 2 --faults back
	step 'chaos with an endpoint beside the stream' chaos "$build" --seed 120 \
	    --seconds 60 --masters 2 --faults routes
	step 'chaos with another partition count' chaos "$build" --seed 14 \
	    --seconds 30 --masters 2 --faults counts
	step "the same with Pillar's tables" chaos "$build" --seed 20 \
	    --seconds 30 --masters 2 --faults counts --tables pillar
}

part_clang() {
	step 'a build with clang' build_in "$checks/clang" CC=clang \
	    --enable-werror --
}

# Without hardening: variables that begin as zero would hide that they are read
# before they are set.
part_valgrind() {
	local tests
	need_main
	mapfile -t tests < <(tests_of unit)
	step 'a build without hardening' build_in "$checks/valgrind" "${cc[@]}" \
	    --enable-tests --disable-hardening -- "${tests[@]}"
	step 'no leaks' leaks
}

leaks() {
	local t
	for t in $(tests_of unit); do
		CK_FORK=no CK_DEFAULT_TIMEOUT=600 CK_VERBOSITY=silent \
		    CK_EXCLUDE_TAGS=long \
		    CK_TAP_LOG_FILE_NAME=/dev/null srcdir=$top valgrind -q \
		    --error-exitcode=9 --leak-check=full \
		    --errors-for-leak-kinds=definite "$checks/valgrind/$t" || return 1
	done
}

part_fuzz() { step 'fuzzers' tests/fuzz/run --seconds 24; }

# --- what is published ------------------------------------------------------------

part_dist() {
	need_main
	step 'make distcheck' distribution
	step 'make dist, the same in two clones' \
	    env srcdir="$top" tests/package/dist.sh
	step 'make release, twice, and what is in it' as_root env \
	    srcdir="$top" tests/package/reproducible.sh
}

distribution() {
	local d=$checks/dist
	rm -rf "$d"
	build_in "$d" "${cc[@]}" -- all
	make -C "$d" -s distcheck TESTS=check_conf
}

part_systemd() {
	need_main
	need_deb
	step 'the package in a clean Debian with systemd' clean_debian systemd
}

part_bookworm() {
	rm -rf "$checks/bookworm" && mkdir -p "$checks/bookworm"
	step 'Debian 12: the packages are built there' \
	    in_debian bookworm distribution.sh
	step 'Debian 12: the upgrade from the version before' \
	    in_debian bookworm debian.sh upgrade
}

# What its MariaDB, nats-server, compiler and libraries could change.
part_trixie() {
	local t tests=(check_db check_store check_bus check_monitor)
	for t in relay listener tls monitor monitor_faults api confined; do
		tests+=("tests/system/run_$t.sh")
	done
	rm -rf "$checks/trixie" && mkdir -p "$checks/trixie"
	step 'Debian 13: packages and programs are built there, and tests' \
	    in_debian trixie distribution.sh "${tests[@]}"
	step 'Debian 13: the package, with systemd' \
	    in_debian trixie debian.sh systemd
	step 'Debian 13: the upgrade from the version before' \
	    in_debian trixie debian.sh upgrade
}

part_rpm() {
	need_main
	need_deb
	step 'make rpm, and what is in it' rpm_package
	step 'its scripts in a clean Debian with systemd' clean_debian rpm_inside
}

rpm_package() {
	make -C "$build" -s rpm &&
	    rpmlint -c packaging/rpmlint.toml "$build"/rpm/RPMS/*/*.rpm &&
	    RPM="$(ls "$build"/rpm/RPMS/*/*.rpm)" srcdir="$top" \
		tests/package/rpm.sh
}

part_containers() {
	need_main
	need_deb
	step 'the examples for containers' env \
	    OUTBOX_MASTER="$build/outbox-master" srcdir="$top" \
	    tests/package/examples.sh
	if [ "$(id -u)" -ne 0 ]; then
		skip 'a container image' 'only root can make it'
	else
		step 'a container image' oci_image
	fi
}

# It needs a mirror of Debian, which may be away for a moment.
oci_image() {
	local deb
	deb=$(ls "$build"/deb/outbox-master_*.deb)
	rm -rf "$build/image"
	local -x SOURCE_DATE_EPOCH=1795860000
	packaging/image "$deb" "$build/image" > "$checks/image.log" 2>&1 || {
		cat "$checks/image.log"
		grep -q 'apt-get update .*failed' "$checks/image.log" || return 1
		echo '1..0 # SKIP the mirror of Debian is away'
		return
	}
	IMAGE=$build/image DEB=$deb script "$build" tests/package/image.sh
}

part_examples() {
	local language from
	need_main
	step 'examples: the HTTP receiver' script "$build" \
	    tests/examples/run_receiver.sh
	for language in php laravel python node go java \
	    python_kafka java_kafka; do
		step "examples: $language" script "$build" \
		    tests/examples/run_examples.sh $language
	done
	step 'doc/production.md' script "$build" tests/examples/production.sh
	for from in laravel rails debezium debezium_deletes; do
		step "a switch from $from" script "$build" \
		    tests/examples/switch.sh $from
	done
}

part_bare() {
	step 'the commands of README.md in a clean Debian' as_root env \
	    srcdir="$top" KEEP="$checks/debian-bare" tests/package/bare.sh
}
