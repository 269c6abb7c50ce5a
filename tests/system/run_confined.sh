#!/usr/bin/env bash
# Hostile code in the monitor, which parses what strangers send: it reads no
# secret, opens no file, starts no program, and the relay goes on.  A preloaded
# library is that code: it runs where the monitor's HTTP server would, and in the
# listener where the client library would.
. "${srcdir:-$(dirname "$0")/../..}/tests/lib/ctl.sh"

CC=${CC:-cc}
command -v "${CC%% *}" > /dev/null || skip_all "no compiler"
cat > "$DIR/hostile.c" <<'C'
#include <arpa/inet.h>
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

/* Pointers: that is all there is to know of the library here. */
int	MHD_run(void *);
void	json_object_seed(size_t);
void	*mysql_init(void *);

static int	(*real)(void *);
static void	*(*real_init)(void *);
static int	maps = -1;
static const char *whose = "monitor";
static char	files[4][300], secrets[3][64], changes[4][300];
static int	asked;

/* What is written here comes after the filter, so it goes by no libc. */
static void
say(const char *what, const char *of, long rc)
{
	char	text[500];
	int	n = snprintf(text, sizeof(text), "hostile %s: %s %.300s: %s\n",
		    whose, what, of, rc < 0 ? strerror(errno) : "DONE");

	(void)!write(STDERR_FILENO, text, (size_t)n);
}

__attribute__((constructor)) static void
begin(void)
{
	const char	*list = getenv("HOSTILE_FILES");

	*(void **)&real = dlsym(RTLD_NEXT, "MHD_run");
	*(void **)&real_init = dlsym(RTLD_NEXT, "mysql_init");
	for (int i = 0; list != NULL && i < 4; i++)
		if (sscanf(list, "%299s", files[i]) == 1)
			list += strspn(list, " ") + strlen(files[i]);
	if (getenv("HOSTILE_SECRETS") != NULL)
		sscanf(getenv("HOSTILE_SECRETS"), "%63s %63s %63s", secrets[0],
		    secrets[1], secrets[2]);
	if (getenv("HOSTILE_CHANGES") != NULL)
		sscanf(getenv("HOSTILE_CHANGES"), "%299[^\n]\n%299[^\n]\n"
		    "%299[^\n]\n%299[^\n]", changes[0], changes[1],
		    changes[2], changes[3]);
}

/* Before the filter: later this is refused. */
void
json_object_seed(size_t seed)
{
	void	(*next)(size_t);

	*(void **)&next = dlsym(RTLD_NEXT, "json_object_seed");
	maps = open("/proc/self/maps", O_RDONLY);
	next(seed);
}

/* They stand here from behind, or they would be found. */
/* From p to end: how often. */
static int
count(const char *p, const char *end, const char *behind)
{
	size_t	n = strlen(behind), i;
	int	found = 0;

	for (; n > 0 && (p = memchr(p, behind[n - 1], (size_t)(end - p))) !=
	    NULL && (size_t)(end - p) >= n; p++) {
		for (i = 0; i < n && p[i] == behind[n - 1 - i]; i++)
			;
		found += i == n;
	}
	return found;
}

/* All memory that somebody has written to, but for the shared one. */
static void
search(void)
{
	static char	 text[200000];
	ssize_t		 n = 0, k;
	unsigned long	 from, to;
	char		 mode[8], *line;
	int		 found = 0;

	lseek(maps, 0, SEEK_SET);
	while ((k = read(maps, text + n, sizeof(text) - 1 - (size_t)n)) > 0)
		n += k;
	text[n] = '\0';
	for (line = strtok(text, "\n"); line != NULL;
	    line = strtok(NULL, "\n")) {
		if (sscanf(line, "%lx-%lx %7s", &from, &to, mode) != 3 ||
		    strncmp(mode, "rw", 2) != 0 || mode[3] == 's' ||
		    strstr(line, "[v") != NULL)
			continue;
		for (int i = 0; i < 3; i++)
			found += count((const char *)from, (const char *)to,
			    secrets[i]);
	}
	errno = ENOENT;
	say("find", "secrets in memory", n <= 0 || found > 0 ? found : -1);
}

static void
attack(void)
{
	pid_t		 master = getppid();
	char		*none[] = { NULL }, word[64];
	int		 fds[2] = { -1, -1 };
	long		 child;
	struct sockaddr_in at = { .sin_family = AF_INET };
	struct iovec	 here = { word, 1 }, there = { &real, 1 };

	for (int i = 0; i < 4; i++) {
		say("open", files[i], open(files[i], O_RDONLY));
		say("write", files[i], open(files[i], O_WRONLY | O_APPEND));
	}
	say("make", "a file", open("hostile.new", O_WRONLY | O_CREAT, 0600));
	say("open by", "openat2", syscall(437, AT_FDCWD, "/etc/passwd",
	    (long[3]){ 0 }, 24L));
	say("remove", files[1], unlink(files[1]));
	say("chmod", files[1], chmod(files[1], 0666));
	child = syscall(SYS_clone, SIGCHLD, 0, 0, 0, 0);
	if (child == 0)
		_exit(0);
	say("fork", "a process", child);
	say("make", "a socket", socket(AF_INET, SOCK_STREAM, 0));
	say("make", "socket pairs", socketpair(AF_UNIX, SOCK_STREAM, 0, fds));
	for (int fd = 3; fd < 64 && errno != EPERM; fd++)
		say("connect", "a socket", connect(fd, (void *)&at, sizeof(at)));
	say("connect", "a socket", connect(3, (void *)&at, sizeof(at)));
	say("make", "an io_uring", syscall(425, 1L, (long[20]){ 0 }));
	say("trace", "the master", ptrace(PTRACE_ATTACH, master, 0, 0));
	say("read", "the master's memory", process_vm_readv(master, &here, 1,
	    &there, 1, 0));
	say("take", "a descriptor", syscall(438, master, 0L, 0L));
	say("become", "root", setuid(0));
	search();
	say("execute", "/bin/true", execve("/bin/true", none, none));
	say("kill", "the master", kill(master, SIGKILL));
	say("kill", "its thread", syscall(SYS_tgkill, master, master, SIGKILL));
	say("signal", "the master by a file", fcntl(2, F_SETOWN, master));
	say("choose", "which", fcntl(2, F_SETSIG, SIGKILL));
	say("end", "of all", 0);
}

/* Have the master start an outboxctl for changes, and ask it for one. */
static void
ask_for_change(const char *change)
{
	int		 type = 0, fd = 3, ends[6];
	socklen_t	 len = sizeof(type);
	char		 answer[400], kind = 2;
	struct iovec	 text = { &kind, 1 };
	union {
		struct cmsghdr	head;
		char		space[CMSG_SPACE(3 * sizeof(int))];
	} control = { .head = { .cmsg_level = SOL_SOCKET,
	    .cmsg_type = SCM_RIGHTS, .cmsg_len = CMSG_LEN(3 * sizeof(int)) } };
	struct msghdr	 m = { .msg_iov = &text, .msg_iovlen = 1,
	    .msg_control = &control, .msg_controllen = sizeof(control) };
	ssize_t		 n;

	while (fd < 1024 && (getsockopt(fd, SOL_SOCKET, SO_TYPE, &type, &len) !=
	    0 || type != SOCK_SEQPACKET))
		fd++;
	for (int i = 0; i < 3; i++)
		(void)!pipe2(ends + 2 * i, 0);
	memcpy(CMSG_DATA(&control.head), (int[]){ ends[0], ends[3], ends[5] },
	    3 * sizeof(int));
	n = sendmsg(fd, &m, 0);
	for (int i = 0; i < 3; i++)
		close((int[]){ ends[0], ends[3], ends[5] }[i]);
	n = n < 0 ? n : dprintf(ends[1], "%s\n", change);
	n = n < 0 ? n : read(ends[2], answer, sizeof(answer) - 1);
	if (n > 0)
		answer[n - 1] = '\0';
	say("change", n > 0 ? answer : change, n);
	for (int i = 0; i < 3; i++)
		close((int[]){ ends[1], ends[2], ends[4] }[i]);
}

/* The last call before the filter; then the monitor works as always. */
int
MHD_run(void *d)
{
	static int	done;

	/* Without a filter it would do harm; with one the question is refused. */
	if (!done++ && prctl(PR_GET_SECCOMP) != 0)
		attack();
	if (asked-- == 1) {
		search();
		for (int i = 0; i < 4 && changes[i][0] != '\0'; i++)
			ask_for_change(changes[i]);
		say("end", "of changes", 0);
	}
	return real(d);
}

/* Somebody asks for a path that is none: changes are wanted, a turn later. */
int
MHD_queue_response(void *connection, unsigned status, void *response)
{
	int	(*next)(void *, unsigned, void *);

	*(void **)&next = dlsym(RTLD_NEXT, "MHD_queue_response");
	asked = status == 404 ? 2 : 0;
	return next(connection, status, response);
}

static void
attack_from_listener(void)
{
	struct sockaddr_in at = { .sin_family = AF_INET };
	char		*none[] = { NULL };

	whose = "listener";
	at.sin_port = htons((uint16_t)atoi(getenv("HOSTILE_PORT")));
	at.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	say("open", "its own password", open(files[1], O_RDONLY));
	for (int i = 0; i < 4; i++)
		if (i != 1)
			say("open", files[i], open(files[i], O_RDONLY));
	say("write", files[1], open(files[1], O_WRONLY));
	say("make", "a file", open("hostile.new", O_WRONLY | O_CREAT, 0600));
	say("remove", files[3], unlink(files[3]));
	say("chmod", files[1], chmod(files[1], 0666));
	say("chmod by", "fchmodat2", syscall(452, AT_FDCWD, files[1], 0666L,
	    0L));
	say("give an attribute by", "setxattrat", syscall(463, AT_FDCWD,
	    files[1], 0L, "user.x", (uint64_t[2]){ 0, 0 }, 16L));
	say("chown", files[1], chown(files[1], getuid(), getgid()));
	say("connect", "elsewhere", connect(socket(AF_INET, SOCK_STREAM, 0),
	    (void *)&at, sizeof(at)));
	say("execute", "/bin/true", execve("/bin/true", none, none));
	say("trace", "the master", ptrace(PTRACE_ATTACH, getppid(), 0, 0));
	say("kill", "the master", kill(getppid(), SIGKILL));
	say("kill", "its thread", syscall(SYS_tgkill, getppid(), getppid(),
	    SIGKILL));
	say("signal", "the master by a file", fcntl(2, F_SETOWN, getppid()));
	say("choose", "which", fcntl(2, F_SETSIG, SIGKILL));
	say("signal", "the master by a socket", ioctl(socket(AF_UNIX,
	    SOCK_STREAM, 0), FIOSETOWN, &(int){ getppid() }));
	say("limit", "the master", prlimit(getppid(), RLIMIT_CORE, NULL,
	    &(struct rlimit){ 0 }));
	say("end", "of all", 0);
}

/* Of the processes that use the library, that one: others may start programs. */
void *
mysql_init(void *db)
{
	static int	done;

	if (!done++ && prctl(PR_GET_SECCOMP) == 2)
		attack_from_listener();
	return real_init(db);
}
C

# shellcheck disable=SC2086
$CC -D_GNU_SOURCE -O1 -shared -fPIC -o "$DIR/hostile.so" "$DIR/hostile.c" \
    -ldl 2> "$DIR/cc.log" || skip_all "no library: $(head -n 1 "$DIR/cc.log")"

TOKEN=0123456789abcdef-token
SOCK=$DIR/run/outbox.monitor.sock
start_servers
keep_secret "$DIR/token" "$TOKEN"
ANNAS=token-of-anna-0000-1111
keep_secret "$DIR/anna" "$ANNAS"
keep_secret "$DIR/password" "$OUTBOX_PW"
WAKE='binlog: auto' write_conf
as_operator
op="password_file: $DIR/password, operator: {user: operator, password_env: OUTBOX_PW}"
sed -i "s|^\(mysql:.*\)password_env: OUTBOX_PW|\1$op|" "$CONF"
cat >> "$CONF" << EOF
monitor:
  token_file: $DIR/token
  tokens: [{name: anna, file: $DIR/anna, may: [discard]}]
EOF
# Messages that wait until tomorrow, for changes.
sql 'UPDATE outbox_settings SET partition_count = 16'
call_enqueue "'a', NULL, 'ok', 1, '{}', NULL, 'x'" \
    "'b', NULL, 'ok', 1, '{}', NULL, 'x'"
sql 'UPDATE outbox SET available_at = NOW(6) + INTERVAL 1 DAY'
A=$(sql 'SELECT MIN(global_sequence) FROM outbox')
B=$(sql 'SELECT MAX(global_sequence) FROM outbox')
words="[\"messages\", \"discard\", \"--yes\", \"$B\"]"
cat > "$DIR/changes" << EOF
{"person": "anna", "words": $words}
$words
{"token": "0123456789-no-token-0", "words": $words}
EOF

is_code() { [ "$(curl -s -o "$DIR/body" -m 10 -w '%{http_code}' \
    --unix-socket "$SOCK" "http://localhost$2")" = "$1" ]; }
monitor_pid() { pgrep -P "$MASTER" -f 'outbox-master: monitor'; }

(
	ASAN_OPTIONS=verify_asan_link_order=0:${ASAN_OPTIONS:-}
	LD_PRELOAD=$DIR/hostile.so
	HOSTILE_FILES="/etc/passwd $DIR/password $CONF $DIR/token"
	HOSTILE_SECRETS="$(rev <<< "$OUTBOX_PW") $(rev <<< "$TOKEN")"
	HOSTILE_SECRETS+=" $(rev <<< "$ANNAS")"
	HOSTILE_CHANGES=$(< "$DIR/changes")
	HOSTILE_PORT=${URL##*:}
	export ASAN_OPTIONS LD_PRELOAD HOSTILE_FILES HOSTILE_SECRETS HOSTILE_PORT \
	    HOSTILE_CHANGES
	exec "$OUTBOX_MASTER" -c "$CONF" --silent
) >> "$DIR/out" 2>> "$DIR/log" < /dev/null &
MASTER=$! LOG=$DIR/log
MASTERS+=("$MASTER")
check 'a fleet runs with hostile code in its monitor' wait_for 30 all_owned
workers=$(worker_pids "$MASTER")
ctl --json doctor
sandbox=$(field '.[] | select(.check == "sandbox") | .text')
case $sandbox in
*'has no seccomp'*)
	say "skipped: $sandbox"
	done_testing ;;
esac
tried() { has_line "$LOG" "^hostile $1: end of all"; }
within 20 'which has tried everything' tried monitor
within 20 'and in its listener' tried listener
# done_by PROCESS: what it was not kept from
done_by() { sed -n "s/^hostile $1: \(.*\): DONE\$/\1/p" "$LOG"; }
is "$(done_by monitor)" 'end of all' 'the monitor: nothing of it was done'
is "$(grep -c '^hostile monitor: ' "$LOG")" 28 'so much was tried'
ctl --json status
if field .this_host.listener.sandbox | grep -q 'files.*ports'; then
	is "$(done_by listener | xargs)" 'open its own password end of all' \
	    'the listener: it opens what it logs in with'
else
	say "skipped: no Landlock, or none for ports"
fi
check 'no file was made' [ ! -e hostile.new ]
monitor=$(monitor_pid)
is "$(readlink /proc/"$monitor"/fd/* | grep -c "$DIR/run")" 0 \
    'it holds no file of the run directory'
check 'and no wake-up of a worker, but one of its library' \
    [ "$(readlink /proc/"$monitor"/fd/* | grep -c eventfd)" -le 1 ]
# writable: what it can write of the scoreboard, and may make writable (mw)
is "$(awk '/\.scoreboard/ { ours = 1; mode = $2 }
    /^VmFlags/ && ours { print mode, / mw /; ours = 0 }' \
    "/proc/$monitor/smaps" | xargs)" 'r--s 0 rw-s 1' \
    'it writes only its own part of the scoreboard'

within 5 'the monitor answers' is_code 200 /healthz
check 'with what it asks of outboxctl' is_code 200 /api/partitions

# What is done in anna's name takes her token, which the monitor does not keep.
as_anna() { curl -sN -m 60 --unix-socket "$SOCK" \
    -H "Authorization: Bearer $ANNAS" "$@"; }
as_anna http://localhost/api/events > "$DIR/events" &
page=$!
within 10 'anna has a page open' has_line "$DIR/events" '^data: '
is "$(as_anna -H 'Content-Type: application/json' -d "{\"sequences\": [$A]}" \
    http://localhost/api/actions/discard | jq .changed)" 1 \
    'and discards a message'
check 'hostile code is awake once more' is_code 404 /no/such/path
within 20 'it has asked for changes' has_line "$LOG" \
    '^hostile monitor: end of changes'
kill "$page"
say "$(grep '^hostile monitor: change' "$LOG")"
is "$(grep -c '^hostile monitor: find secrets.*: No such' "$LOG")" 2 \
    'it has found no token of a request before'
is "$(sql 'SELECT GROUP_CONCAT(global_sequence) FROM outbox_dead_letters')" "$A" \
    'no change was made for it'
is "$(sql 'SELECT COUNT(*) FROM outbox_audit')" 1 'nor in the name of anna'
within 5 'the log tells it' has_line "$LOG" \
    'outboxctl refused the monitor a change'
call_enqueue "'c', NULL, 'ok', 1, '{}', NULL, 'x'"
is_relayed() { is_sql "SELECT published_at IS NOT NULL FROM outbox
    ORDER BY global_sequence DESC LIMIT 1" 1; }
within 10 'messages are relayed' is_relayed
is "$(worker_pids "$MASTER")" "$workers" 'by the same workers'
check 'nothing has died' not has_line "$LOG" 'exited with|was killed by'
stops 'the daemon stops'

# A kernel that is older, or a container that has less: doctor tells it, and all
# works as ever.
cat > "$DIR/old.c" << 'C'
#include <dlfcn.h>
#include <errno.h>
#include <stdarg.h>
#include <stdlib.h>
#include <sys/prctl.h>

static int	lacks_seccomp;

/* The variable is wiped later. */
__attribute__((constructor)) static void
begin(void)
{
	lacks_seccomp = getenv("LACKS_SECCOMP") != NULL;
}

int
prctl(int what, ...)
{
	int	(*next)(int, ...);
	long	a[4];
	va_list	ap;

	va_start(ap, what);
	for (int i = 0; i < 4; i++)
		a[i] = va_arg(ap, long);
	va_end(ap);
	*(void **)&next = dlsym(RTLD_NEXT, "prctl");
	errno = EINVAL;
	return what == PR_SET_SECCOMP && lacks_seccomp ? -1 :
	    next(what, a[0], a[1], a[2], a[3]);
}

/* Of Landlock, only the first is called then. */
long
syscall(long number, ...)
{
	long	(*next)(long, ...), a[6];
	va_list	ap;

	va_start(ap, number);
	for (int i = 0; i < 6; i++)
		a[i] = va_arg(ap, long);
	va_end(ap);
	*(void **)&next = dlsym(RTLD_NEXT, "syscall");
	errno = ENOSYS;
	return number == 444 ? -1 : next(number, a[0], a[1], a[2], a[3], a[4],
	    a[5]);
}
C
# lacks WORD TEXT MONITOR LISTENER [VARIABLE]: what doctor and status tell
lacks() {
	# shellcheck disable=SC2086
	$CC -D_GNU_SOURCE -O1 -shared -fPIC -o "$DIR/old.so" "$DIR/old.c" -ldl
	env LD_PRELOAD="$DIR/old.so" ${5:+"$5=1"} "$OUTBOX_MASTER" -c "$CONF" \
	    --silent >> "$DIR/out" 2>> "$DIR/log" < /dev/null &
	MASTER=$!
	MASTERS+=("$MASTER")
	within 20 "without $1 the monitor answers" is_code 200 /api/partitions
	told() { ctl --json doctor; field '.[] | select(.check == "sandbox") |
	    [.level, .text]' | grep -q "advice.*has no $2"; }
	within 20 'doctor tells it' told "$@"
	ctl --json status
	is "$(field '.this_host | [.monitor.sandbox, .listener.sandbox]')" \
	    "[$3,$4]" 'and status'
	call_enqueue "'d', NULL, 'ok', 1, '{}', NULL, 'x'"
	within 10 'messages are relayed' is_relayed
	stops 'it stops'
}
is_short || lacks Landlock Landlock '["calls"]' '["calls"]'
lacks both seccomp '[]' '[]' LACKS_SECCOMP
done_testing
