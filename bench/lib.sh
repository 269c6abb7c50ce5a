# lib.sh - helpers for the sections: fleet, measurements, figures, check
#
# Servers, waiting and cleanup are those of tests/lib/lib.sh.

# shellcheck shell=bash disable=SC2034,SC2153,SC2154

FLOOR=${FLOOR:-./bench/floor}
STEADY=${STEADY:-./bench/steady}
CPU_CLOCK=${CPU_CLOCK:-./bench/cpu}
PARTITIONS=${PARTITIONS:-64}
FLEET=()		# pids of master and workers, while they run
HELPERS=()		# pids of other processes of ours
PATIENCE=1800		# seconds until a run counts as stuck

note() { printf '%s\n' "bench: $*" >&2; }
die() { note "$@"; exit 1; }
skip_all() { note "$@"; exit 77; }
pause() { nap "$1"; }
calc() { awk "BEGIN { printf \"%.${2:-0}f\", $1 }"; }
now_us() { echo $(($(date +%s%N) / 1000)); }

# default_of KEY: the daemon's own default, in the sample file
default_of() { sed -n "s/^  $1: *\([^ ]*\).*/\1/p" "$srcdir/etc/outbox.yml"; }
IDLE=${IDLE:-$(default_of idle_backoff_ms)}
LINGER=${LINGER:-$(default_of linger_ms)}
WAKE=${WAKE:-binlog: $(default_of binlog)}

# --- figures ----------------------------------------------------------------

# describe SECTION [KEY=VALUE...]: begin a run; the next figures belong to it
describe() {
	SECTION=$1
	shift
	PARAMS=$*
	note "$SECTION $PARAMS"
}

# figure NAME VALUE UNIT
figure() {
	printf '%s\t%s\t%s\t%s\t%s\n' "$SECTION" "$PARAMS" "$1" "$2" "$3" \
	    >> "$OUT/bench.tsv"
}

# --- servers and tables -----------------------------------------------------

begin_servers() {
	start_servers "${DB_LINES[@]}"
	HTTP_PORT=$(. "$DIR/nats/env" && echo "$HTTP_PORT")
	DB_PID=$(< "$DIR/db/pid")
	NATS_PID=$(< "$DIR/nats/pid")
	sql "UPDATE outbox_settings SET partition_count = $PARTITIONS"
}

new_stream() {
	"$LAB" stream --nats "$URL" --name EVENTS --delete &&
	    "$LAB" stream --nats "$URL" --name EVENTS --subjects "$1" \
	    --dup-window 600 || die 'no stream'
}

# Empty tables and stream.  Sequences start again, so message ids need another
# prefix, or they would be duplicates.
reset() {
	sql "TRUNCATE outbox; TRUNCATE events; TRUNCATE outbox_dead_letters;
	    TRUNCATE outbox_blocked_keys; TRUNCATE outbox_streams;
	    UPDATE outbox_settings SET outbox_id = LEFT(SHA2(UUID(), 256), 16);
	    FLUSH BINARY LOGS; PURGE BINARY LOGS BEFORE NOW()" ||
	    die 'the tables cannot be emptied'
	new_stream 'events.>'
}

# fill ROWS PAYLOAD KEYS [options]: write a backlog
fill() {
	produce --bulk --producers 4 --events "$1" --payload "$2" --keys "$3" \
	    "${@:4}" || die 'the backlog could not be written'
}

# Wait until the database has no background work left (purge), so that it is
# measured with this run and not with the next one.
wait_until_quiet() {
	local before now calm=0 until=$((SECONDS + 20))
	before=$(cpu_of "$DB_PID")
	while [ "$calm" -lt 2 ] && [ "$SECONDS" -lt "$until" ]; do
		pause 0.15
		now=$(cpu_of "$DB_PID")
		calm=$((now - before <= 20000 ? calm + 1 : 0))
		before=$now
	done
}

# monitor PAGE FIELD: the first field of this name, from the monitoring port
monitor() {
	local fd
	exec {fd}<> "/dev/tcp/127.0.0.1/$HTTP_PORT" || return
	printf 'GET /%s HTTP/1.0\r\n\r\n' "$1" >&"$fd"
	sed -n "s/^ *\"$2\": *\([0-9]*\).*/\1/p" <&"$fd" | head -n 1
	exec {fd}>&-
}

# --- the fleet --------------------------------------------------------------

# is_ready WORKERS: each is connected and has its share of leases, and the stream
# audit of the start is done.  The janitor may be connected, too.
is_ready() {
	[ "$(monitor connz num_connections)" -ge "$1" ] && is_sql "
	    SELECT COUNT(*) = $1 AND MAX(n) - MIN(n) <= 1
	    AND SUM(live) = (SELECT COUNT(*) FROM outbox_partitions)
	    AND (SELECT MAX(servers) > '' FROM outbox_streams)
	    FROM (SELECT COUNT(*) AS n, SUM(lease_until > NOW(6)) AS live
		FROM outbox_partitions GROUP BY lease_owner) AS shares" 1
}

# fleet_start WORKERS BATCH: start workers and wait until they are ready
fleet_start() {
	WORKERS=$1 BATCH=$2 LEASE_TTL=${LEASE_TTL:-3600} \
	    HEARTBEAT_TTL=${HEARTBEAT_TTL:-3600} \
	    HANG_TIMEOUT=${HANG_TIMEOUT:-0} write_conf
	start_master
	FLEET=("$MASTER")
	wait_for 30 is_ready "$1" || die 'the workers do not get ready'
	mapfile -t -O 1 FLEET < <(worker_pids "$MASTER")
}

# fleet_as_shipped WORKERS: the same with the default times
fleet_as_shipped() {
	LEASE_TTL=15 HEARTBEAT_TTL=15 HANG_TIMEOUT=60 fleet_start "$1" 1000
}

# Stop the processes while a backlog is written; leases are long enough.
fleet_hold() { kill -STOP "${FLEET[@]}"; }
fleet_go() { kill -CONT "${FLEET[@]}"; }

fleet_stop() {
	stop_master "$MASTER" || die "the daemon ended with status $?"
	FLEET=() MASTERS=()
}

# Messages in the stream; without a query to the busy database.
stored() { monitor jsz messages; }
has_stored() { [ "$(stored)" -ge "$1" ]; }

# wait_stored N: wait for N messages
wait_stored() {
	wait_for "$PATIENCE" has_stored "$1" ||
	    die "only $(stored) of $1 messages after $PATIENCE s"
}

# --- measuring --------------------------------------------------------------

# cpu_of PID...: CPU time so far, us
cpu_of() { "$CPU_CLOCK" "$@"; }

cpu_mark() {
	CPU_RELAY=$([ ${#FLEET[@]} -eq 0 ] || cpu_of "${FLEET[@]}")
	CPU_DB=$(cpu_of "$DB_PID")
	CPU_NATS=$(cpu_of "$NATS_PID")
}

# CPU time since the mark, us, in the same variables.
cpu_since() {
	local relay=$CPU_RELAY db=$CPU_DB nats=$CPU_NATS
	cpu_mark
	CPU_RELAY=$((CPU_RELAY - relay))
	CPU_DB=$((CPU_DB - db))
	CPU_NATS=$((CPU_NATS - nats))
}

# Statements by the server's own counters, of all its clients; the cost of
# reading the counters is that of one reading more.
COUNTERS=(Questions Com_select Com_update Com_insert Com_delete Com_commit)
counters() {
	sql 'SHOW GLOBAL STATUS' | awk -v names="${COUNTERS[*]}" '
	    { value[$1] = $2 }
	    END { n = split(names, name, " ")
		for (i = 1; i <= n; i++) print value[name[i]] }'
}
count_mark() {
	mapfile -t COUNT_BEFORE < <(counters)
	mapfile -t COUNT_OWN < <(counters)
}

# Statements since the mark without ours, in COUNTED, as COUNTERS has them.
count_since() {
	local i
	mapfile -t COUNTED < <(counters)
	for i in "${!COUNTED[@]}"; do
		COUNTED[i]=$((COUNTED[i] - 2 * COUNT_OWN[i] + COUNT_BEFORE[i]))
	done
}

# Reset the peaks of memory in the kernel, so that they are of this run.
peak_reset() {
	local pid
	for pid in "$DB_PID" "$NATS_PID" "${FLEET[@]}"; do
		echo 5 > "/proc/$pid/clear_refs"
	done 2>/dev/null || :
}

# peak_of PID...: the highest peak, KiB
peak_of() {
	local pid
	for pid; do
		cat "/proc/$pid/status"
	done | awk '$1 == "VmHWM:" && $2 > n { n = $2 } END { print n + 0 }'
}

# private_of PID...: the highest private memory, KiB
private_of() {
	local pid
	for pid; do
		awk '/^Private_/ { n += $2 } END { print n + 0 }' \
		    "/proc/$pid/smaps_rollup"
	done | sort -n | tail -n 1
}

# Read the memory; the fleet must still run.
memory_mark() {
	MEM_WORKER=$(peak_of "${FLEET[@]:1}")
	MEM_PRIVATE=$(private_of "${FLEET[@]:1}")
	MEM_MASTER=$(peak_of "${FLEET[0]}")
	MEM_DB=$(peak_of "$DB_PID")
	MEM_NATS=$(peak_of "$NATS_PID")
}

memory_figures() {
	figure worker_peak "$MEM_WORKER" KiB
	figure worker_private "$MEM_PRIVATE" KiB
	figure master_peak "$MEM_MASTER" KiB
	figure db_peak "$MEM_DB" KiB
	figure broker_peak "$MEM_NATS" KiB
}

# --- check ------------------------------------------------------------------

# field NAME: a number, true or false of the checker's last result
field() { sed -n "s/.*\"$1\":\([0-9a-z]*\).*/\1/p" <<< "$JUDGED"; }

# judge EVENTS [WHERE...]: the independent checker reads the whole stream, or the
# topics, and must find each of this number of events once, and those of a key in
# order
judge() {
	local rc name where=(--nats "$URL" --stream EVENTS)
	[ $# -eq 1 ] || where=("${@:2}")
	[ -z "${BENCH_BEFORE_CHECK-}" ] || eval "$BENCH_BEFORE_CHECK"
	JUDGED=$("$LAB" check --json --socket "$SOCKET" --user root \
	    --database app "${where[@]}")
	rc=$?
	for name in lost duplicated out_of_order; do
		figure "$name" "$(field "$name")" messages
	done
	[ "$rc" -eq 0 ] && [ "$(field ok)" = true ] &&
	    [ "$(field delivered)" = "$1" ] ||
	    die "THE CHECKER FOUND FAULTS ($SECTION $PARAMS): $JUDGED"
}
