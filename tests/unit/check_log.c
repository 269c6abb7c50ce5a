/*
 * check_log.c - fields of log lines, lines that are lost, shared outages
 *
 * A full disk is a limit on the size of files (setrlimit), which cuts a write
 * in the middle of a line in the same way.
 */
#include "lib/check.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <sys/un.h>
#include <sys/wait.h>

#include <jansson.h>

#include "util/clock.h"
#include "util/duration.h"
#include "util/line_output.h"
#include "util/reconnect.h"

static json_t *
json_line(const char *line)
{
	json_error_t	 e;
	json_t		*j = json_loads(line, JSON_REJECT_DUPLICATES, &e);

	ck_assert_msg(j != NULL, "%s: %s", e.text, line);
	return j;
}

static const char *
member(json_t *j, const char *name)
{
	const char	*text = json_string_value(json_object_get(j, name));

	ck_assert_msg(text != NULL, "no text %s", name);
	return text;
}

static json_int_t
number(json_t *j, const char *name)
{
	json_t	*n = json_object_get(j, name);

	ck_assert_msg(json_is_integer(n), "no number %s", name);
	return json_integer_value(n);
}

/*
 * fields
 */

#define EIGHT(s)	s s s s s s s s

/* What a key may be, its text form, and its value in JSON. */
static const struct {
	const char	*value, *text, *json;
} fields[] = {
	{ "order-1", "key=order-1", "order-1" },
	{ "", "key=\"\"", "" },
	{ "two words", "key=\"two words\"", "two words" },
	{ "a=b", "key=\"a=b\"", "a=b" },
	{ "a]", "key=\"a]\"", "a]" },
	{ "\"quoted\\", "key=\"\\\"quoted\\\\\"", "\"quoted\\" },
	{ "line\nfeed\x1b", "key=\"line feed \"", "line feed " },
	{ "\xc3\xb6", "key=\xc3\xb6", "\xc3\xb6" },
	{ "\xff", "key=?", "?" },
	{ "\xc2\x9b" "2J", "key=?2J", "?2J" },		/* CSI of 8 bits */
	{ "a\xe2\x80\xae" "b", "key=a?b", "a?b" },	/* turns the text */
	{ "a\xe2\x81\xa6" "b", "key=a?b", "a?b" },
};

START_TEST(text_has_fields)
{
	log_to_file(LOG_LVL_INFO, false);
	log_event(LOG_LVL_WARN, LOG_FIELDS(LOG_NUMBER("sequence", 17),
	    LOG_TEXT("none", NULL), LOG_TEXT("key", fields[_i].value)),
	    "not %s", "stored");
	holds(logged(), "]: not stored [sequence=17 ");
	holds(logged(), fields[_i].text);
	ck_assert_str_eq(logged() + strlen(logged()) - 2, "]\n");
	ck_assert_ptr_null(strstr(logged(), "none"));
}
END_TEST

START_TEST(json_has_fields)
{
	json_t	*j;

	log_to_file(LOG_LVL_INFO, true);
	log_worker(3);
	log_event(LOG_LVL_WARN, LOG_FIELDS(LOG_NUMBER("sequence", -17),
	    LOG_TEXT("none", NULL), LOG_TEXT("key", fields[_i].value)),
	    "not stored");
	j = json_line(logged());
	ck_assert_str_eq(member(j, "msg"), "not stored");
	ck_assert_str_eq(member(j, "key"), fields[_i].json);
	ck_assert_str_eq(member(j, "role"), "worker 3");
	ck_assert_int_eq(number(j, "worker"), 3);
	ck_assert_int_eq(number(j, "sequence"), -17);
	ck_assert_ptr_null(json_object_get(j, "none"));
	json_decref(j);
}
END_TEST

/* A field that has no room is left out; the line stays whole. */
START_TEST(long_fields_leave_json)
{
	static const char	big[] = EIGHT(EIGHT(EIGHT("\"")));
	json_t			*j;

	log_to_file(LOG_LVL_INFO, _i == 1);
	log_event(LOG_LVL_WARN, LOG_FIELDS(LOG_TEXT("a", big),
	    LOG_TEXT("b", big), LOG_TEXT("c", big), LOG_TEXT("d", big),
	    LOG_NUMBER("sequence", 17)), "%s", big);
	ck_assert_int_eq(nlogged(), 1);
	ck_assert_uint_lt(strlen(logged()), LINE_OUTPUT_ATOMIC);
	holds(logged(), _i == 1 ? "\"sequence\":17}\n" : " sequence=17]\n");
	if (_i == 0)
		return;
	j = json_line(logged());
	ck_assert_uint_gt(strlen(member(j, "a")), 100);
	json_decref(j);
}
END_TEST

START_TEST(line_without_fields_has_no_brackets)
{
	log_to_file(LOG_LVL_INFO, false);
	log_event(LOG_LVL_INFO, NULL, "one");
	log_event(LOG_LVL_INFO, LOG_FIELDS(LOG_TEXT("none", NULL)), "one");
	log_event(LOG_LVL_DEBUG, NULL, "two");
	ck_assert_int_eq(nlogged(), 2);
	holds(logged(), "]: one\n");
	ck_assert_ptr_null(strstr(logged(), "one ["));
	ck_assert(log_has(LOG_LVL_INFO) && !log_has(LOG_LVL_DEBUG));
}
END_TEST

START_TEST(head_is_logged_at_each_level)
{
	log_to_file(LOG_LVL_ERROR, false);
	log_head(LOG_FIELDS(LOG_TEXT("version", "1.0")), "started");
	holds(logged(), " info ");
	holds(logged(), "]: started [version=1.0]\n");
}
END_TEST

/*
 * priorities for the journal
 */

static const struct {
	void		(*log)(const char *, ...);
	const char	*starts;
} priorities[] = {
	{ log_error, "<3>" }, { log_warn, "<4>" }, { log_info, "<6>" },
	{ log_debug, "<7>" },
};

/* Make standard error a file, and the journal if its inode is off by 0. */
static void
stderr_to_file(ino_t off)
{
	int		fd = open(in_dir("log").text, O_RDWR | O_CREAT | O_TRUNC,
			    0600);
	char		stream[80];
	struct stat	st;
	struct err	e;

	ck_assert_int_eq(dup2(fd, STDERR_FILENO), STDERR_FILENO);
	ck_assert_int_eq(fstat(fd, &st), 0);
	snprintf(stream, sizeof(stream), "%llu:%llu",
	    (unsigned long long)st.st_dev,
	    (unsigned long long)(st.st_ino + off));
	setenv("JOURNAL_STREAM", stream, 1);
	ck_assert_int_eq(log_open("stderr", LOG_LVL_DEBUG, off == 0, &e), 0);
}

START_TEST(journal_gets_priorities)
{
	stderr_to_file(0);
	priorities[_i].log("one");
	starts(logged(), priorities[_i].starts);
	starts(logged() + 3, "{\"ts\"");
}
END_TEST

START_TEST(other_streams_get_none)
{
	struct err	e;

	stderr_to_file(1);
	log_error("one");
	starts(logged(), "2");
	stderr_to_file(0);
	ck_assert_int_eq(log_open(in_dir("log").text, LOG_LVL_INFO, false,
	    &e), 0);
	log_error("one");
	starts(logged(), "2");
}
END_TEST

/*
 * lines that are lost
 */

static void
limit_files(rlim_t size)
{
	struct rlimit	r;

	signal(SIGXFSZ, SIG_IGN);
	ck_assert_int_eq(getrlimit(RLIMIT_FSIZE, &r), 0);
	r.rlim_cur = size;
	ck_assert_int_eq(setrlimit(RLIMIT_FSIZE, &r), 0);
}

static rlim_t
log_size(void)
{
	struct stat	st;

	ck_assert_int_eq(stat(in_dir("log").text, &st), 0);
	return (rlim_t)st.st_size;
}

static const char *
second_line(void)
{
	static char	line[LINE_OUTPUT_ATOMIC];
	const char	*text = strchr(logged(), '\n') + 1;

	snprintf(line, sizeof(line), "%.*s", (int)strcspn(text, "\n"), text);
	return line;
}

/* Every cut of a line: nothing of it is left, and the loss is told. */
START_TEST(full_disk_tears_no_line)
{
	bool	json = _i % 2 == 1;
	json_t	*j;

	log_to_file(LOG_LVL_INFO, json);
	log_role("master");
	log_info("one");
	limit_files(log_size() + (rlim_t)_i / 2);
	ck_assert(log_works());
	log_info("two");
	log_info("three");
	log_retry();
	ck_assert_int_eq(nlogged(), 1);
	ck_assert(!log_works());
	ck_assert_uint_eq(log_lost(), 2);
	limit_files(1 << 20);
	log_info("four");
	ck_assert(log_works());
	ck_assert_uint_eq(log_lost(), 2);
	ck_assert_int_eq(nlogged(), 3);
	holds(logged(), " lines lost since ");
	holds(logged(), strerror(EFBIG));
	holds(logged(), "four");
	if (!json)
		return;
	j = json_line(second_line());
	ck_assert_int_eq(number(j, "lost"), 2);
	ck_assert_str_eq(member(j, "level"), "warn");
	json_decref(j);
}
END_TEST

START_TEST(lost_lines_are_told_without_another)
{
	log_to_file(LOG_LVL_ERROR, false);
	log_role("master");
	limit_files(0);
	log_error("one");
	limit_files(1 << 20);
	log_retry();
	log_retry();
	ck_assert_int_eq(nlogged(), 1);
	holds(logged(), ": 1 line lost since 20");
	/* A child starts anew. */
	log_role("worker 1");
	ck_assert_uint_eq(log_lost(), 0);
}
END_TEST

/* The pipe of a reader that sleeps: no line waits for it, none is torn. */
START_TEST(full_pipe_stops_nobody)
{
	static char	text[1 << 17];
	int		fds[2];
	size_t		n = 0;
	ssize_t		some;
	uint64_t	lost;
	int64_t		began = clock_ms();
	struct err	e;

	ck_assert_int_eq(pipe(fds), 0);
	ck_assert_int_eq(dup2(fds[1], STDERR_FILENO), STDERR_FILENO);
	ck_assert_int_eq(log_open("stderr", LOG_LVL_INFO, true, &e), 0);
	for (int i = 0; i < 2000; i++)
		log_info("%0100d", i);
	ck_assert_int_lt(clock_ms() - began, 3000);
	lost = log_lost();
	ck_assert_uint_gt(lost, 0);
	fcntl(fds[0], F_SETFL, O_NONBLOCK);
	while ((some = read(fds[0], text + n, sizeof(text) - n - 1)) > 0)
		n += (size_t)some;
	ck_assert_uint_eq((uint64_t)count_lines(text), 2000 - lost);
	ck_assert_int_eq(text[n - 1], '\n');
	log_retry();
	ck_assert(log_works());
}
END_TEST

/* Where nothing can be taken back, the rest comes before the next line. */
START_TEST(rest_of_a_line_is_not_forgotten)
{
	struct line_output	 o = { .fd = -1 };
	static char		 big[300000], text[2 * sizeof(big)];
	int			 fds[2];
	size_t			 n = 0;
	ssize_t			 some;

	ck_assert_int_eq(pipe2(fds, O_NONBLOCK), 0);
	o.fd = fds[1];
	memset(big, 'x', sizeof(big) - 1);
	big[sizeof(big) - 1] = '\n';
	ck_assert_int_eq(line_output_write(&o, big, sizeof(big), 0), 0);
	ck_assert_uint_gt(o.nrest, 0);
	ck_assert_int_eq(line_output_write(&o, "two\n", 4, 0), -1);
	ck_assert_int_eq(errno, EAGAIN);
	for (int i = 0; i < 20; i++) {
		while ((some = read(fds[0], text + n, sizeof(text) - n)) > 0)
			n += (size_t)some;
		if (line_output_write(&o, "two\n", 4, 0) == 0)
			break;
	}
	n += (size_t)read(fds[0], text + n, sizeof(text) - n);
	ck_assert_uint_eq(n, sizeof(big) + 4);
	ck_assert_int_eq(memcmp(text + sizeof(big), "two\n", 4), 0);
}
END_TEST

/*
 * the system's log
 */

static int	syslogd;	/* its socket */

/* A system's log that listens but reads nothing. */
static void
start_syslogd(int type)
{
	struct sockaddr_un	a = { .sun_family = AF_UNIX };
	struct path		path = in_dir("dev-log");

	unlink(path.text);
	memcpy(a.sun_path, path.text, strlen(path.text));
	syslogd = socket(AF_UNIX, type | SOCK_NONBLOCK, 0);
	ck_assert_int_eq(bind(syslogd, (struct sockaddr *)&a, sizeof(a)), 0);
	if (type == SOCK_STREAM)
		ck_assert_int_eq(listen(syslogd, 1), 0);
}

static void
log_to_syslog(int type)
{
	char		target[400];
	struct err	e;

	start_syslogd(type);
	snprintf(target, sizeof(target), "syslog:%s", in_dir("dev-log").text);
	ck_assert_int_eq(log_open(target, LOG_LVL_DEBUG, true, &e), 0);
	log_role("worker 2");
}

/* The next datagram, or what a stream has; "": none. */
static const char *
next_datagram(int fd)
{
	static char	text[LINE_OUTPUT_ATOMIC + 1];
	ssize_t		n = recv(fd, text, sizeof(text) - 1, 0);

	text[n > 0 ? n : 0] = '\0';
	return text;
}

static const struct {
	void		(*log)(const char *, ...);
	const char	*starts;
} daemon_priorities[] = {
	{ log_error, "<27>" }, { log_warn, "<28>" }, { log_info, "<30>" },
	{ log_debug, "<31>" },
};

START_TEST(syslog_gets_lines_of_rfc_3164)
{
	const char	*line;
	char		 tag[80], month[4], time[9];
	int		 day, n;

	log_to_syslog(SOCK_DGRAM);
	daemon_priorities[_i].log("one\ntwo");
	line = next_datagram(syslogd);
	starts(line, daemon_priorities[_i].starts);
	ck_assert_int_eq(sscanf(line + 4, "%3s %d %8s%n", month, &day, time,
	    &n), 3);
	ck_assert_int_eq(n, 15);
	snprintf(tag, sizeof(tag), " outbox-master[%d]: worker 2: one two",
	    (int)getpid());
	ck_assert_str_eq(line + 4 + n, tag);
	log_event(LOG_LVL_INFO, LOG_FIELDS(LOG_NUMBER("sequence", 7)), "x");
	holds(next_datagram(syslogd), "worker 2: x [sequence=7]");
}
END_TEST

/* It is stopped: lines are lost, counted, and told when it goes on. */
START_TEST(hung_syslog_stops_nobody)
{
	int64_t		began = clock_ms();
	uint64_t	nlost;
	int		n = 0;
	char		told[80];

	log_to_syslog(SOCK_DGRAM);
	for (int i = 0; i < 3000; i++)
		log_info("%d", i);
	ck_assert_int_lt(clock_ms() - began, 2000);
	ck_assert(!log_works());
	nlost = log_lost();
	ck_assert_uint_gt(nlost, 0);
	while (next_datagram(syslogd)[0] != '\0')
		n++;
	ck_assert_uint_eq((uint64_t)n + nlost, 3000);
	log_retry();
	ck_assert(log_works());
	snprintf(told, sizeof(told), ": %llu lines lost since ",
	    (unsigned long long)nlost);
	holds(next_datagram(syslogd), told);
}
END_TEST

START_TEST(restarted_syslog_is_found)
{
	log_to_syslog(SOCK_DGRAM);
	log_info("one");
	holds(next_datagram(syslogd), "one");
	close(syslogd);
	start_syslogd(SOCK_DGRAM);
	log_info("two");
	holds(next_datagram(syslogd), "two");
	close(syslogd);
	log_info("three");
	unlink(in_dir("dev-log").text);
	log_info("four");
	ck_assert(!log_works());
	start_syslogd(SOCK_DGRAM);
	log_info("five");
	ck_assert(log_works());
	holds(next_datagram(syslogd), ": 2 lines lost since ");
	holds(next_datagram(syslogd), "five");
	close(syslogd);
}
END_TEST

START_TEST(syslog_may_be_a_stream)
{
	int	fd;

	log_to_syslog(SOCK_STREAM);
	log_info("one");
	ck_assert(log_works());
	fd = accept(syslogd, NULL, NULL);
	holds(next_datagram(fd), "worker 2: one");
	log_info("two");
	log_info("three");
	holds(next_datagram(fd), "worker 2: two");
	close(fd);
	/* It goes away: a new connection is made at once. */
	log_info("four");
	ck_assert(log_works());
	fd = accept(syslogd, NULL, NULL);
	holds(next_datagram(fd), "worker 2: four");
	close(fd);
}
END_TEST

/*
 * several writers
 */

#define ROUNDS	100
#define WRITERS	3

static _Atomic int	*begun;		/* shared: a barrier */

/* Wait for the others, without sleeping: all go on at the same moment. */
static void
meet(int n)
{
	(*begun)++;
	while (*begun < n)
		;
}

static void
share_barrier(void)
{
	begun = mmap(NULL, sizeof(*begun), PROT_READ | PROT_WRITE,
	    MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	ck_assert_ptr_ne(begun, MAP_FAILED);
}

/* A child that never returns ends by the alarm. */
static pid_t
fork_writer(void)
{
	pid_t	pid = fork();

	ck_assert_int_ge(pid, 0);
	if (pid == 0)
		alarm(5);
	return pid;
}

static void
reap_writers(int n)
{
	int	status;

	for (int i = 0; i < n; i++) {
		ck_assert_int_gt(wait(&status), 0);
		ck_assert_int_eq(status, 0);
	}
}

/* A pipe has room for one line, all see that, and nobody reads. */
START_TEST(writers_of_a_pipe_do_not_wait)
{
	char			line[3000];
	struct line_output	o;
	int			fds[2];

	share_barrier();
	memset(line, 'x', sizeof(line));
	for (int round = 0; round < ROUNDS; round++) {
		ck_assert_int_eq(pipe(fds), 0);
		ck_assert_int_ge(fcntl(fds[1], F_SETPIPE_SZ, 4096), 4096);
		o = (struct line_output){ .fd = line_output_own(fds[1]) };
		ck_assert_int_ne(o.fd, fds[1]);
		*begun = 0;
		for (int i = 0; i < WRITERS; i++)
			if (fork_writer() == 0) {
				meet(WRITERS);
				line_output_write(&o, line, sizeof(line), 0);
				_exit(0);
			}
		reap_writers(WRITERS);
		/* The flag is not one of other programs' descriptors. */
		ck_assert_int_eq(fcntl(fds[1], F_GETFL) & O_NONBLOCK, 0);
		close(o.fd);
		close(fds[0]);
		close(fds[1]);
	}
}
END_TEST

static void
on_alarm(int signo)
{
	(void)signo;
}

/* A signal does not make a full pipe writable. */
START_TEST(signal_ends_no_wait)
{
	struct sigaction	sa = { .sa_handler = on_alarm };
	struct itimerval	soon = { .it_value = { .tv_usec = 20000 } };
	struct line_output	o;
	static char		full[4096];
	int			fds[2];
	int64_t			began;

	ck_assert_int_eq(pipe(fds), 0);
	ck_assert_int_ge(fcntl(fds[1], F_SETPIPE_SZ, 4096), 4096);
	ck_assert_int_eq(write(fds[1], full, sizeof(full)), sizeof(full));
	o = (struct line_output){ .fd = fds[1] };
	sigaction(SIGALRM, &sa, NULL);
	began = clock_ms();
	setitimer(ITIMER_REAL, &soon, NULL);
	ck_assert_int_eq(line_output_write(&o, "one\n", 4, 100), -1);
	ck_assert_int_eq(errno, EAGAIN);
	ck_assert_int_ge(clock_ms() - began, 99);
}
END_TEST

/* A reader that is a socket, such as the journal. */
START_TEST(full_socket_stops_nobody)
{
	struct line_output	o;
	static char		line[4000];
	int			fds[2], n = 0;

	ck_assert_int_eq(socketpair(AF_UNIX, SOCK_STREAM, 0, fds), 0);
	o = (struct line_output){ .fd = fds[1] };
	while (n < 1000 && line_output_write(&o, line, sizeof(line), 0) == 0)
		n++;
	ck_assert_int_gt(n, 0);
	ck_assert_int_lt(n, 1000);
	ck_assert_int_eq(errno, EAGAIN);
	close(fds[0]);
	o.nrest = 0;
	ck_assert_int_eq(line_output_write(&o, line, sizeof(line), 0), -1);
	ck_assert_int_eq(errno, EPIPE);
}
END_TEST

/* One writer's disk is full after half a line; the other's line stays whole. */
START_TEST(half_line_is_taken_back_alone)
{
	static const char	cut[] = "a line that does not fit\n";
	static const char	whole[] = "another one\n";
	struct line_output	o;
	int			fd;

	share_barrier();
	log_to_file(LOG_LVL_INFO, false);
	fd = open(in_dir("log").text, O_WRONLY | O_APPEND);
	o = (struct line_output){ .fd = fd };
	for (int round = 0; round < ROUNDS; round++) {
		ck_assert_int_eq(ftruncate(fd, 0), 0);
		*begun = 0;
		if (fork_writer() == 0) {
			limit_files(10);
			meet(2);
			line_output_write(&o, cut, strlen(cut), 100);
			_exit(o.nrest == 0 ? 0 : 1);
		}
		if (fork_writer() == 0) {
			meet(2);
			_exit(line_output_write(&o, whole, strlen(whole),
			    100) == 0 ? 0 : 1);
		}
		reap_writers(2);
		ck_assert_str_eq(logged(), whole);
	}
	close(fd);
}
END_TEST

/* Lines that must not be lost wait for the lock: half of one is taken back. */
START_TEST(long_line_waits_for_the_lock)
{
	struct line_output	o;
	struct flock		all = { .l_type = F_WRLCK };
	pid_t			pid;
	int			fd;

	share_barrier();
	log_to_file(LOG_LVL_INFO, false);
	fd = open(in_dir("log").text, O_WRONLY | O_APPEND);
	o = (struct line_output){ .fd = fd, .long_lines = true };
	if ((pid = fork_writer()) == 0) {
		fcntl(fd, F_SETLK, &all);
		meet(2);
		pause();
	}
	meet(2);
	ck_assert_int_eq(line_output_write(&o, "one line\n", 9, 0), -1);
	ck_assert_int_eq(errno, EAGAIN);
	ck_assert_str_eq(logged(), "");
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
	limit_files(6);
	ck_assert_int_eq(line_output_write(&o, "one line\n", 9, 10), -1);
	ck_assert_int_eq(errno, EFBIG);
	ck_assert_str_eq(logged(), "");
	limit_files(1 << 20);
	ck_assert_int_eq(line_output_write(&o, "three\n", 6, 10), 0);
	ck_assert_str_eq(logged(), "three\n");
	close(fd);
}
END_TEST

/* Without the lock half a line stays, and spoils none of the others. */
START_TEST(half_line_without_a_lock_stays_alone)
{
	struct line_output	o;
	struct flock		all = { .l_type = F_WRLCK };
	pid_t			pid;
	int			fd;

	share_barrier();
	log_to_file(LOG_LVL_INFO, false);
	fd = open(in_dir("log").text, O_WRONLY | O_APPEND);
	o = (struct line_output){ .fd = fd };
	if ((pid = fork_writer()) == 0) {
		fcntl(fd, F_SETLK, &all);
		meet(2);
		pause();
	}
	meet(2);
	limit_files(6);
	ck_assert_int_eq(line_output_write(&o, "one line\n", 9, 10), -1);
	ck_assert_int_eq(errno, EFBIG);
	ck_assert_str_eq(logged(), "one li");
	ck_assert_int_eq(line_output_write(&o, "two\n", 4, 10), -1);
	limit_files(1 << 20);
	ck_assert_int_eq(line_output_write(&o, "three\n", 6, 10), 0);
	ck_assert_str_eq(logged(), "one li\nthree\n");
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
	close(fd);
}
END_TEST

/*
 * outages
 */

static struct outage	*shared;

static void
share(void)
{
	shared = mmap(NULL, sizeof(*shared), PROT_READ | PROT_WRITE,
	    MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	ck_assert_ptr_ne(shared, MAP_FAILED);
	log_to_file(LOG_LVL_INFO, false);
}

/* In a process of its own: is the outage its to tell?  It ends then. */
static bool
is_other_process_s(const char *text, bool each_text, int64_t now)
{
	int	status;
	pid_t	pid = fork();

	if (pid == 0)
		_exit(outage_is_ours(shared, text, each_text, now));
	ck_assert_int_eq(waitpid(pid, &status, 0), pid);
	return WEXITSTATUS(status) == 1;
}

START_TEST(one_process_tells_an_outage)
{
	ck_assert(outage_is_ours(shared, "gone", false, 1000));
	ck_assert(outage_is_ours(shared, "gone for long", false, 1500));
	ck_assert(!is_other_process_s("gone", false, 2000));
	ck_assert(!is_other_process_s("other", false, 2000));
	/* Other texts are news where each text counts. */
	ck_assert(!is_other_process_s("gone for long", true, 2000));
	ck_assert(is_other_process_s("other", true, 2000));
	ck_assert(outage_is_ours(shared, "gone", false, 2500));
	/* It is over for us, not for the others. */
	outage_over(shared);
	ck_assert(is_other_process_s("gone", false, 3000));
	/* That process has ended: nobody tells it any more. */
	ck_assert(outage_is_ours(shared, "gone", false, 3500));
	/* We have not met it for so long: somebody else is to tell it. */
	ck_assert(is_other_process_s("gone", false, 3500 + 60000));
}
END_TEST

/* A process that tells the outage "gone", until it is killed. */
static pid_t
fork_teller(void)
{
	pid_t	pid = fork();

	if (pid == 0) {
		outage_is_ours(shared, "gone", false, 1000);
		for (;;)
			pause();
	}
	while (shared->teller == 0)	/* the test's timeout ends it */
		usleep(1000);
	return pid;
}

/* Another process tells it: only level debug has our lines. */
START_TEST(outage_of_another_process_is_silent)
{
	struct reconnect	l;
	pid_t			pid = fork_teller();

	reconnect_init(&l, "broker");
	l.outage = shared;
	reconnect_failed(&l, "gone", 1000);
	reconnect_lost(&l, 1500);
	ck_assert(l.throttle.active);
	ck_assert_int_eq(nlogged(), 0);
	reconnect_opened(&l, 2000);
	reconnect_works(&l, 2500);
	ck_assert(!l.throttle.active);
	ck_assert_int_eq(nlogged(), 0);
	/* The teller dies during the next one, which we tell from now on. */
	reconnect_failed(&l, "gone", 3000);
	ck_assert_int_eq(nlogged(), 0);
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
	reconnect_failed(&l, "gone", 3100);
	ck_assert_int_eq(nlogged(), 1);
	reconnect_works(&l, 200000);
	ck_assert_int_eq(nlogged(), 2);
	holds(logged(), "broker: works again after 3 min 17 s "
	    "[error_class=broker duration_ms=197000]\n");
}
END_TEST

/* A listener or janitor leaves it to the workers, also if it is over there. */
START_TEST(follower_is_silent_while_others_tell)
{
	struct reconnect	l;
	pid_t			pid = fork_teller();

	reconnect_init(&l, "binlog");
	l.outage = shared;
	l.follows = true;
	reconnect_failed(&l, "gone", 1000);
	reconnect_failed(&l, "gone", 40000);
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
	reconnect_failed(&l, "gone", 60000);
	reconnect_works(&l, 61000);
	ck_assert_int_eq(nlogged(), 0);
	ck_assert(!l.throttle.active);
}
END_TEST

START_TEST(follower_tells_what_nobody_else_meets)
{
	struct reconnect	l;

	reconnect_init(&l, "binlog");
	l.outage = shared;
	l.follows = true;
	reconnect_failed(&l, "gone", 1000);
	reconnect_failed(&l, "gone", 30999);
	ck_assert_int_eq(nlogged(), 0);
	reconnect_failed(&l, "gone", 31000);
	ck_assert_int_eq(nlogged(), 1);
	/* It does not keep a worker from telling it. */
	ck_assert_int_eq(shared->teller, 0);
	reconnect_works(&l, 32000);
	holds(logged(), "binlog: works again after 31 s ");
	/* The next one is a new one. */
	reconnect_failed(&l, "gone", 50000);
	ck_assert_int_eq(nlogged(), 2);
}
END_TEST

START_TEST(lost_connection_is_an_outage)
{
	struct reconnect	l;

	reconnect_init(&l, "broker");
	l.outage = shared;
	reconnect_lost(&l, 1000);
	holds(logged(), " info ");
	holds(logged(), "broker: connection lost; reconnecting");
	reconnect_failed(&l, "refused", 1100);
	holds(logged(), "refused");
	reconnect_opened(&l, 5000);
	reconnect_works(&l, 5200);
	ck_assert_int_eq(nlogged(), 3);
	holds(logged(), "works again after 4.2 s");
	ck_assert_int_eq(shared->teller, 0);
}
END_TEST

/*
 * durations
 */

static const struct {
	int64_t		 ms;
	const char	*words;
} durations[] = {
	{ -1, "0 ms" }, { 0, "0 ms" }, { 999, "999 ms" }, { 1000, "1 s" },
	{ 1099, "1 s" }, { 1100, "1.1 s" }, { 9999, "9.9 s" },
	{ 10999, "10 s" }, { 59999, "59 s" }, { 60000, "1 min" },
	{ 95000, "1 min 35 s" }, { 3599999, "59 min 59 s" },
	{ 3600000, "1 h" }, { 7800000, "2 h 10 min" }, { 86400000, "1 d" },
	{ 273600000, "3 d 4 h" }, { INT64_MAX, NULL },
};

START_TEST(duration_has_words)
{
	struct duration_words	w = duration_words(durations[_i].ms);

	if (durations[_i].words != NULL)
		ck_assert_str_eq(w.text, durations[_i].words);
	else
		holds(w.text, " d");
}
END_TEST

int
main(void)
{
	Suite	*s = suite_create("log");
	TCase	*tc;

	tc = add_case(s, "fields");
	tcase_add_loop_test(tc, text_has_fields, 0, NROWS(fields));
	tcase_add_loop_test(tc, json_has_fields, 0, NROWS(fields));
	tcase_add_loop_test(tc, long_fields_leave_json, 0, 2);
	tcase_add_test(tc, line_without_fields_has_no_brackets);
	tcase_add_test(tc, head_is_logged_at_each_level);
	tcase_add_loop_test(tc, journal_gets_priorities, 0, NROWS(priorities));
	tcase_add_test(tc, other_streams_get_none);

	tc = add_case(s, "lost");
	tcase_add_loop_test(tc, full_disk_tears_no_line, 0, 60);
	tcase_add_test(tc, lost_lines_are_told_without_another);
	tcase_add_test(tc, full_pipe_stops_nobody);
	tcase_add_test(tc, rest_of_a_line_is_not_forgotten);

	tc = add_case(s, "syslog");
	tcase_add_loop_test(tc, syslog_gets_lines_of_rfc_3164, 0,
	    NROWS(daemon_priorities));
	tcase_add_test(tc, hung_syslog_stops_nobody);
	tcase_add_test(tc, restarted_syslog_is_found);
	tcase_add_test(tc, syslog_may_be_a_stream);

	tc = add_case(s, "writers");
	tcase_add_test(tc, writers_of_a_pipe_do_not_wait);
	tcase_add_test(tc, signal_ends_no_wait);
	tcase_add_test(tc, full_socket_stops_nobody);
	tcase_add_test(tc, half_line_is_taken_back_alone);
	tcase_add_test(tc, long_line_waits_for_the_lock);
	tcase_add_test(tc, half_line_without_a_lock_stays_alone);

	tc = add_case(s, "outage");
	tcase_add_checked_fixture(tc, share, NULL);
	tcase_add_test(tc, one_process_tells_an_outage);
	tcase_add_test(tc, outage_of_another_process_is_silent);
	tcase_add_test(tc, follower_is_silent_while_others_tell);
	tcase_add_test(tc, follower_tells_what_nobody_else_meets);
	tcase_add_test(tc, lost_connection_is_an_outage);

	tc = add_case(s, "durations");
	tcase_add_loop_test(tc, duration_has_words, 0, NROWS(durations));
	return run_suite(s);
}
