/*
 * check_ipc.c - what the processes of one master share
 *
 * predecessors, scoreboard, wake-up, requests of the monitor for outboxctl, and
 * the samples of the backlog.
 */
#include "lib/check.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>

#include <bsd/string.h>

#include "ipc/backlog_ring.h"
#include "ipc/vanishing.h"
#include "ipc/wakeup.h"
#include "ipc/scoreboard.h"
#include "ipc/starter.h"
#include "util/xalloc.h"
#include "ipc/predecessors.h"
#include "util/clock.h"

#define ID	"host:07:0123456789abcdef"
#define ID2	"host:200:fedcba9876543210"

/*
 * predecessors
 */

static int
open_predecessors(void)
{
	struct err	e = { "" };
	int		fd = predecessors_open(in_dir("predecessors").text, &e);

	ck_assert_msg(fd >= 0, "%s", e.text);
	return fd;
}

/* What is read back, one after the other with a comma behind each. */
static const char *
predecessors_of(int fd)
{
	static char	text[CONF_MAX_WORKERS * PREDECESSORS_PER_SLOT *
	    IDENT_SIZE];
	size_t		n;
	char		(*ids)[IDENT_SIZE] = predecessors_read(fd, &n);

	text[0] = '\0';
	for (size_t i = 0; i < n; i++) {
		strlcat(text, ids[i], sizeof(text));
		strlcat(text, ",", sizeof(text));
	}
	free(ids);
	return text;
}

/* The first n of two ids. */
static void
write_predecessors(int fd, unsigned slot, size_t n)
{
	static const char	both[2][IDENT_SIZE] = { ID, ID2 };
	struct err		e = { "" };

	ck_assert_msg(predecessors_write(fd, slot, both, n, &e) == 0, "%s",
	    e.text);
}

static int
open_new_predecessors(void)
{
	unlink(in_dir("predecessors").text);
	return open_predecessors();
}

START_TEST(predecessors_are_read_back)
{
	int	fd = open_new_predecessors();

	ck_assert_str_eq(predecessors_of(fd), "");
	write_predecessors(fd, 3, 1);
	ck_assert_str_eq(predecessors_of(fd), ID ",");
	write_predecessors(fd, CONF_MAX_WORKERS - 1, 2);
	write_predecessors(fd, 0, 2);
	close(fd);
	fd = open_predecessors();
	ck_assert_str_eq(predecessors_of(fd),
	    ID "," ID2 "," ID "," ID "," ID2 ",");
	write_predecessors(fd, 0, 1);
	ck_assert_str_eq(predecessors_of(fd), ID "," ID "," ID "," ID2 ",");
	write_predecessors(fd, 3, 0);
	write_predecessors(fd, 0, 0);
	ck_assert_str_eq(predecessors_of(fd), ID "," ID2 ",");
	close(fd);
}
END_TEST

START_TEST(predecessors_are_cut_off)
{
	int	fd = open_new_predecessors();

	write_predecessors(fd, 0, 1);
	write_predecessors(fd, 2, 2);
	write_predecessors(fd, 5, 2);
	predecessors_cut(fd, 3);
	ck_assert_str_eq(predecessors_of(fd), ID "," ID "," ID2 ",");
	predecessors_cut(fd, 2);
	ck_assert_str_eq(predecessors_of(fd), ID ",");
	predecessors_cut(fd, CONF_MAX_WORKERS);
	ck_assert_str_eq(predecessors_of(fd), ID ",");
	predecessors_cut(fd, 0);
	ck_assert_str_eq(predecessors_of(fd), "");
	close(fd);
}
END_TEST

/* As many and as long as can be, in every place there is. */
START_TEST(predecessors_have_room)
{
	char		ids[PREDECESSORS_PER_SLOT][IDENT_SIZE];
	struct err	e = { "" };
	int		fd = open_new_predecessors();
	char		(*back)[IDENT_SIZE];
	size_t		n;

	for (size_t i = 0; i < PREDECESSORS_PER_SLOT; i++)
		ident_new(ids[i], "a-very-long-host", 999);
	for (unsigned i = CONF_MAX_WORKERS; i-- > 0; )
		ck_assert_int_eq(predecessors_write(fd, i,
		    (const char (*)[IDENT_SIZE])ids, PREDECESSORS_PER_SLOT, &e),
		    0);
	back = predecessors_read(fd, &n);
	ck_assert_uint_eq(n, CONF_MAX_WORKERS * PREDECESSORS_PER_SLOT);
	for (size_t i = 0; i < n; i++)
		ck_assert_str_eq(back[i], ids[i % PREDECESSORS_PER_SLOT]);
	free(back);
	close(fd);
}
END_TEST

/* Records, as put_record has them, and plain text. */
static const struct {
	const char	*file, *read;
} files[] = {
	{ "garbage", "" },
	{ "%1%2", ID "," ID2 "," },
	{ "%1%g%2", ID "," ID2 "," },
	{ "%g%1", ID "," },
	{ "%0%1", ID "," },			/* NULs: a hole */
	{ "%1%2%t", ID "," ID2 "," },		/* torn */
	{ "%t", "" },
	{ "%1%c", ID "," },
	{ "%c%2", ID2 "," },
};

/* 40 bytes: an id with blanks, NULs, garbage of two kinds; or a torn one. */
static void
put_record(FILE *f, char kind)
{
	char	record[41];

	memset(record, kind == '0' ? '\0' : kind == 'g' ? '#' : ' ', 40);
	if (kind == '1' || kind == 't')
		memcpy(record, ID, strlen(ID));
	else if (kind == '2')
		memcpy(record, ID2, strlen(ID2));
	else if (kind == 'c')
		memcpy(record, ":0123456789abcdef", 17);
	if (kind != '0')
		record[39] = '\n';
	ck_assert_uint_ge(fwrite(record, 1, kind == 't' ? 30 : 40, f), 30);
}

START_TEST(garbage_is_no_predecessor)
{
	FILE	*f = fopen(in_dir("predecessors").text, "w");
	int	 fd;

	ck_assert_ptr_nonnull(f);
	for (const char *p = files[_i].file; *p != '\0'; p++)
		if (*p == '%')
			put_record(f, *++p);
		else
			putc(*p, f);
	fclose(f);
	fd = open_predecessors();
	ck_assert_str_eq(predecessors_of(fd), files[_i].read);
	close(fd);
}
END_TEST

START_TEST(predecessors_file_that_cannot_be)
{
	struct err	e = { "" };
	int		fd;

	ck_assert_int_eq(predecessors_open(in_dir("no/predecessors").text, &e),
	    -1);
	holds(e.text, in_dir("no/predecessors").text);
	fd = open("/dev/null", O_RDONLY | O_CLOEXEC);
	ck_assert_int_eq(predecessors_write(fd, 0, NULL, 0, &e), -1);
	holds(e.text, strerror(EBADF));
	close(fd);
}
END_TEST

static const struct {
	const char	*id;
	unsigned	 slot;
} slots[] = {
	{ ID, 7 },
	{ ID2, 200 },
	{ "a:b:31:0123456789abcdef", 31 },
	{ ":00:0123456789abcdef", 0 },
	{ "host:999:0123456789abcdef", 999 },
	{ "9:08:0123456789abcdef", 8 },
};

START_TEST(slot_of_an_id)
{
	ck_assert_uint_eq(ident_slot(slots[_i].id), slots[_i].slot);
}
END_TEST

/*
 * scoreboard
 */

START_TEST(board_is_read_by_others)
{
	const char		*path = in_dir("scoreboard").text;
	struct err		 e = { "" };
	struct scoreboard	*ours, *theirs;
	bool			 alive;
	int			 fd;

	ck_assert_ptr_null(scoreboard_open(path, &alive, &e));
	holds(e.text, "No such file");
	ck_assert_ptr_nonnull(ours = scoreboard_create(path, &fd, &e));
	ck_assert_ptr_nonnull(theirs = scoreboard_open(path, &alive, &e));
	ours->lines[3].delivered = 7;
	ck_assert_uint_eq(theirs->lines[3].delivered, 7);
	scoreboard_close(theirs);
	ours->magic++;
	ck_assert_ptr_null(scoreboard_open(path, &alive, &e));
	holds(e.text, "by another version");
	ours->magic--;
	scoreboard_close(ours);
	close(fd);
	ck_assert_int_eq(truncate(path, sizeof(struct scoreboard) - 1), 0);
	ck_assert_ptr_null(scoreboard_open(path, &alive, &e));
	holds(e.text, "by another version");
	remove(path);
}
END_TEST

/* The next master goes on with its minutes, and counts from 0. */
START_TEST(minutes_outlive_the_master)
{
	const char		*path = in_dir("scoreboard").text;
	struct err		 e = { "" };
	struct scoreboard	*b;
	struct throughput	*t;
	int			 fd;

	unlink(path);
	ck_assert_ptr_nonnull(b = scoreboard_create(path, &fd, &e));
	t = &b->throughput;
	ck_assert_int_eq(t->since, b->started_at);
	t->since = 60;
	t->before.published = 9;
	t->minutes[3] = (struct throughput_minute){ .minute = 3,
	    .published = 7 };
	strcpy(t->destinations[1].name, "hooks");
	t->destinations[1].failed = 5;
	t->destinations[1].minutes[3].failed = 4;
	b->totals[0].published = 9;
	scoreboard_close(b);
	close(fd);
	ck_assert_ptr_nonnull(b = scoreboard_create(path, &fd, &e));
	t = &b->throughput;
	ck_assert_int_eq(t->since, 60);
	ck_assert_uint_eq(t->minutes[3].published, 7);
	ck_assert_uint_eq(t->before.published, 0);
	ck_assert_uint_eq(b->totals[0].published, 0);
	ck_assert_uint_eq(t->destinations[1].failed, 0);
	ck_assert_uint_eq(t->destinations[1].minutes[3].failed, 4);
	scoreboard_close(b);
	close(fd);
	remove(path);
}
END_TEST

/* A text of a server, cut and without what moves a cursor. */
/* The server that workers use; one that is in use stays. */
START_TEST(server_of_the_workers_is_found)
{
	struct scoreboard	*b = xcalloc(1, sizeof(*b));
	char			 server[SCOREBOARD_SERVER];

	ck_assert(!scoreboard_server(b, "a:1", server));
	strlcpy(b->lines[0].server, "gone:1", SCOREBOARD_SERVER);
	b->lines[1].state = b->lines[2].state = b->lines[3].state =
	    SCOREBOARD_RUNNING;
	ck_assert(!scoreboard_server(b, "gone:1", server));
	strlcpy(b->lines[2].server, "b:1", SCOREBOARD_SERVER);
	strlcpy(b->lines[3].server, "c:1", SCOREBOARD_SERVER);
	ck_assert(scoreboard_server(b, "", server));
	ck_assert_str_eq(server, "b:1");
	ck_assert(scoreboard_server(b, "a:1", server));
	ck_assert_str_eq(server, "b:1");
	ck_assert(scoreboard_server(b, "c:1", server));
	ck_assert_str_eq(server, "c:1");
	/* One that is being written may lack its end. */
	memset(b->lines[2].server, 'x', SCOREBOARD_SERVER);
	ck_assert(scoreboard_server(b, "a:1", server));
	ck_assert_uint_eq(strlen(server), SCOREBOARD_SERVER - 1);
	free(b);
}
END_TEST

START_TEST(error_on_the_board_is_clean)
{
	struct scoreboard_line	l = { 0 };
	char			text[2 * sizeof(l.last_error)];

	scoreboard_error(&l, "a\x1b[2J\xc2\x9b" "1mb\xe2\x80\xae\xff\xc3\xb6");
	ck_assert_str_eq(l.last_error, "a?[2J?1mb??\xc3\xb6");
	for (size_t i = 0; i + 2 < sizeof(text); i += 2)
		memcpy(text + i, "\xc3\xb6", 3);
	scoreboard_error(&l, text);
	ck_assert_uint_gt(strlen(l.last_error), sizeof(l.last_error) - 3);
}
END_TEST

/* Is the master of this scoreboard alive, as seen by another process? */
static bool
is_alive(const char *path)
{
	struct err		 e;
	bool			 alive;
	struct scoreboard	*b = scoreboard_open(path, &alive, &e);

	scoreboard_close(b);
	return alive;
}

/* Its pid: that of the lock's holder, and not the one on the scoreboard. */
static pid_t
holder(const char *path)
{
	struct err		 e;
	bool			 alive;
	pid_t			 pid;
	struct scoreboard	*b = scoreboard_find(path, &alive, &pid, &e);

	ck_assert_int_eq(alive, pid != 0);
	scoreboard_close(b);
	return pid;
}

/* A master with a child that outlives it; it tells its child's pid. */
static void
be_a_master(const char *path, int to)
{
	struct err		 e;
	int			 fd;
	struct scoreboard	*b = scoreboard_create(path, &fd, &e);
	pid_t			 child;

	if (b == NULL || scoreboard_live(b, fd, &e) < 0)
		_exit(1);
	if ((child = fork()) != 0 &&
	    write(to, &child, sizeof(child)) != sizeof(child))
		_exit(1);
	for (;;)
		pause();
}

/*
 * The master is killed.  Its child lives and has the file open, and a process
 * with the master's pid exists, the dead master that was not waited for:
 * neither is taken for a living master.
 */
START_TEST(board_of_a_dead_master_is_dead)
{
	const char	*path = in_dir("scoreboard").text;
	int		 fds[2];
	siginfo_t	 info;
	pid_t		 master, child;

	ck_assert_int_eq(pipe(fds), 0);
	if ((master = fork()) == 0)
		be_a_master(path, fds[1]);
	ck_assert_int_eq(read(fds[0], &child, sizeof(child)), sizeof(child));
	ck_assert(is_alive(path));
	ck_assert_int_eq(holder(path), master);
	kill(master, SIGSTOP);
	ck_assert(is_alive(path));
	kill(master, SIGKILL);
	ck_assert_int_eq(waitid(P_PID, (id_t)master, &info,
	    WEXITED | WNOWAIT), 0);
	ck_assert_int_eq(kill(master, 0), 0);
	ck_assert_int_eq(kill(child, 0), 0);
	ck_assert(!is_alive(path));
	kill(child, SIGKILL);
	ck_assert_int_eq(waitpid(master, NULL, 0), master);
	ck_assert(!is_alive(path));
	remove(path);
}
END_TEST

/* A board that says nothing but the pid of a living process: ours. */
START_TEST(board_with_a_reused_pid_is_dead)
{
	const char		*path = in_dir("scoreboard").text;
	struct err		 e;
	struct scoreboard	*b;
	int			 fd;

	ck_assert_ptr_nonnull(b = scoreboard_create(path, &fd, &e));
	b->master = (int32_t)getppid();
	ck_assert(!is_alive(path));
	scoreboard_close(b);
	close(fd);
	remove(path);
}
END_TEST

/* Write entries that all tell of the same number, again and again. */
static void
rewrite_refused(struct scoreboard_line *l)
{
	for (unsigned i = 0;; i++) {
		scoreboard_refused_begin(l);
		l->refused.n = SCOREBOARD_REFUSED_TYPES;
		for (size_t k = 0; k < SCOREBOARD_REFUSED_TYPES; k++) {
			struct scoreboard_refused *r = &l->refused.list[k];

			r->since = i;
			snprintf(r->class, sizeof(r->class), "%u", i);
			memset(r->type, 'a' + (int)(i % 26), sizeof(r->type));
			snprintf(r->subject, sizeof(r->subject), "%u", i);
			snprintf(r->why, sizeof(r->why), "%u", i);
		}
		scoreboard_refused_end(l);
		usleep(50);
	}
}

/* Is it one entry, whole, of the same moment as the first? */
static bool
is_one_entry(const struct scoreboard_refused *r,
    const struct scoreboard_refused *first)
{
	char	number[16], type[sizeof(r->type)];

	snprintf(number, sizeof(number), "%u", (unsigned)first->since);
	memset(type, 'a' + (int)(first->since % 26), sizeof(type) - 1);
	type[sizeof(type) - 1] = '\0';
	return strcmp(r->class, number) == 0 && strcmp(r->why, number) == 0 &&
	    strcmp(r->subject, number) == 0 && strcmp(r->type, type) == 0;
}

static struct scoreboard *
new_board(void)
{
	const char		*path = in_dir("scoreboard").text;
	struct err		 e;
	int			 fd;
	struct scoreboard	*b = scoreboard_create(path, &fd, &e);

	ck_assert_ptr_nonnull(b);
	close(fd);
	remove(path);
	return b;
}

START_TEST(refused_types_are_read_as_a_whole)
{
	struct scoreboard		*b = new_board();
	struct scoreboard_refused	 types[SCOREBOARD_REFUSED_TYPES];
	int64_t				 until = clock_ms() + 1000;
	unsigned			 read = 0, mixed = 0;
	pid_t				 writer = fork();
	int				 status;

	if (writer == 0)
		rewrite_refused(&b->lines[0]);
	while (clock_ms() < until) {
		size_t n = scoreboard_refused_read(&b->lines[0], types);

		read += n > 0;
		for (size_t i = 0; i < n; i++)
			mixed += !is_one_entry(&types[i], &types[0]);
	}
	kill(writer, SIGKILL);
	ck_assert_int_eq(waitpid(writer, &status, 0), writer);
	ck_assert_uint_eq(mixed, 0);
	ck_assert_uint_gt(read, 100);
	scoreboard_close(b);
}
END_TEST

START_TEST(half_written_refused_types_are_not_read)
{
	struct scoreboard		*b = new_board();
	struct scoreboard_line		*l = &b->lines[0];
	struct scoreboard_refused	 types[SCOREBOARD_REFUSED_TYPES];
	int64_t				 began = clock_ms();

	ck_assert_uint_eq(scoreboard_refused_read(l, types), 0);
	scoreboard_refused_begin(l);
	l->refused.n = 1;
	ck_assert_uint_eq(scoreboard_refused_read(l, types), 0);
	ck_assert_int_lt(clock_ms() - began, 500);
	scoreboard_refused_end(l);
	ck_assert_uint_eq(scoreboard_refused_read(l, types), 1);
	scoreboard_refused_begin(l);		/* and it was killed there */
	scoreboard_refused_begin(l);
	l->refused.n = 1000;
	scoreboard_refused_end(l);
	ck_assert_uint_eq(scoreboard_refused_read(l, types),
	    SCOREBOARD_REFUSED_TYPES);
	scoreboard_close(b);
}
END_TEST

/*
 * wake-up
 */

static bool
can_hear(const struct wakeup *b, unsigned slot)
{
	struct pollfd	p = { wakeup_fd(b, slot), POLLIN, 0 };

	return poll(&p, 1, 0) == 1;
}

START_TEST(bell_is_heard_once)
{
	struct wakeup	b;
	struct err	e;

	ck_assert_int_eq(wakeup_open(&b, &e), 0);
	ck_assert(!can_hear(&b, 5) && !wakeup_take(&b, 5));
	for (int i = 0; i < 3; i++)
		wakeup_notify(&b, 5);
	ck_assert(can_hear(&b, 5));
	ck_assert(!can_hear(&b, 4) && !wakeup_take(&b, 4));
	ck_assert_uint_eq(wakeup_take(&b, 5), 3);
	ck_assert(!can_hear(&b, 5) && !wakeup_take(&b, 5));
	wakeup_notify(&b, 5);
	ck_assert(wakeup_take(&b, 5));
	wakeup_close(&b);
}
END_TEST

/* Rung in one process, heard in another; not handed to what is executed. */
START_TEST(bell_is_inherited)
{
	unsigned		last = CONF_MAX_WORKERS - 1;
	struct wakeup		b;
	struct err		e;
	int			status;
	pid_t			pid;

	ck_assert_int_eq(wakeup_open(&b, &e), 0);
	if ((pid = fork()) == 0) {
		wakeup_notify(&b, last);
		_exit(0);
	}
	ck_assert_int_eq(waitpid(pid, &status, 0), pid);
	ck_assert(wakeup_take(&b, last));
	ck_assert(fcntl(wakeup_fd(&b, last), F_GETFD) & FD_CLOEXEC);
	wakeup_close(&b);
}
END_TEST

START_TEST(bell_leaves_nothing_open)
{
	struct rlimit	all, few;
	struct wakeup	b;
	struct err	e;
	int		before = open("/dev/null", O_RDONLY), after;

	close(before);
	ck_assert_int_eq(getrlimit(RLIMIT_NOFILE, &all), 0);
	few = (struct rlimit){ 64, all.rlim_max };
	ck_assert_int_eq(setrlimit(RLIMIT_NOFILE, &few), 0);
	ck_assert_int_eq(wakeup_open(&b, &e), -1);
	ck_assert_int_eq(setrlimit(RLIMIT_NOFILE, &all), 0);
	ck_assert_str_ne(e.text, "");
	after = open("/dev/null", O_RDONLY);
	ck_assert_int_eq(after, before);
	close(after);
}
END_TEST

/*
 * samples of the backlog: stories of the number of waiting rows, by second
 */

static int64_t	wobble_state;

/* Up to n more or less, the same in each run. */
static int64_t
wobble(int64_t n)
{
	wobble_state = (wobble_state * 1103515245 + 12345) % 2147483648;
	return wobble_state % (2 * n + 1) - n;
}

static int64_t
from_120(int64_t t, int64_t rate)
{
	return t < 120 ? 0 : (t - 120) * rate;
}

static int64_t
steady(int64_t t)
{
	return from_120(t, 210);
}

/* As fast as the workers' batches let it look. */
static int64_t
noisy(int64_t t)
{
	return 3000 + from_120(t, 100) + wobble(400);
}

static int64_t
by_batches(int64_t t)
{
	return from_120(t / 10 * 10, 200);
}

static int64_t
too_slow(int64_t t)
{
	return 500 + from_120(t, 4);
}

static int64_t
no_tenth(int64_t t)
{
	return 90000 + from_120(t, 30);
}

static int64_t
busy(int64_t t)
{
	return 4000 + t % 30 * 50 + wobble(3500);
}

static int64_t
one_burst(int64_t t)
{
	int64_t	left = 20000 - (t - 150) * 100;

	return t < 120 ? 0 : t < 150 ? (t - 120) * 700 : left > 0 ? left : 0;
}

static int64_t
wobbles(int64_t t)
{
	(void)t;
	return 1000000 + wobble(400000);
}

/* An estimate that drifts with the size of the table. */
static int64_t
drifts(int64_t t)
{
	return 1000000 + t * 1000;
}

static const struct story {
	const char	*name;
	int64_t		(*waiting)(int64_t t);
	bool		 estimated;
	int		 from, until;	/* told all the time, or never */
} stories[] = {
	{ "steady", steady, false, 305, 600 },
	{ "steady, of estimates", steady, true, 305, 600 },
	{ "noisy", noisy, false, 310, 600 },
	{ "by batches", by_batches, false, 310, 600 },
	{ "too slow", too_slow, false, 0, 0 },
	{ "no tenth", no_tenth, false, 0, 0 },
	{ "busy", busy, false, 0, 0 },
	{ "one burst", one_burst, false, 0, 0 },
	{ "an estimate wobbles", wobbles, true, 0, 0 },
	{ "an estimate drifts", drifts, true, 0, 0 },
};

/* clock_ms() of a second of the story. */
static int64_t
clock_of(int t)
{
	return 77000 + (int64_t)t * 1000;
}

static struct backlog_growth
growth_at(struct backlog_ring *r, const struct story *s, int t)
{
	struct backlog_sample	sample = { clock_of(t),
				    (uint64_t)s->waiting(t), !s->estimated };
	struct backlog_growth	g = backlog_ring_growth(r, &sample);

	backlog_ring_add(r, &sample);
	ck_assert_int_eq(r->growing_since, g.growing_since);
	return g;
}

START_TEST(backlog_grows_or_not)
{
	const struct story	*s = &stories[_i];
	struct backlog_ring	 r = { 0 };

	wobble_state = 1;
	for (int t = 0; t < 600; t += 5) {
		int64_t since = growth_at(&r, s, t).growing_since;

		/* In the half minute before it may be told or not. */
		if (t >= s->from && t < s->until)
			ck_assert_msg(since != 0, "%s: not at %d", s->name, t);
		else if (s->until == 0 || t < s->from - 30)
			ck_assert_msg(since == 0, "%s: at %d", s->name, t);
	}
}
END_TEST

/* From when on, and at which rate; also by a reader between two samples. */
START_TEST(backlog_growth_is_measured)
{
	struct backlog_ring	r = { 0 };
	struct backlog_sample	now = { clock_of(392), 272 * 210, 1 };
	struct backlog_growth	g;

	ck_assert(!backlog_ring_growth(&r, &now).known);
	for (int t = 0; t < 392; t += 5)
		growth_at(&r, &stories[0], t);
	g = backlog_ring_growth(&r, &now);
	ck_assert(g.known);
	ck_assert_int_eq(g.per_second, 210);
	ck_assert_int_eq(g.drained_ms, 0);
	ck_assert_int_ge(g.growing_since, clock_of(115));
	ck_assert_int_le(g.growing_since, clock_of(125));
}
END_TEST

/* By so many rows each second after 400 s of growth. */
static const int64_t ends[] = { 0, -10, -3000 };

/* What a sample has: next number, highest row, rows handled. */
static const struct vanishing_story {
	const char	*name;
	unsigned	 s[12][3];	/* four seconds apart; {0}: the end */
	unsigned	 gone;		/* at the end */
} vanishing[] = {
	{ "one burst", { { 1, 0, 0 }, { 101, 0, 0 }, { 101, 0, 0 },
	  { 101, 0, 0 }, { 101, 0, 0 } }, 100 },
	{ "now and then a few", { { 1, 0, 0 }, { 11, 0, 0 }, { 11, 0, 0 },
	  { 11, 0, 0 }, { 21, 0, 0 } }, 20 },
	{ "not for long enough", { { 1, 0, 0 }, { 101, 0, 0 },
	  { 201, 0, 0 }, { 301, 0, 0 } }, 0 },
	{ "few numbers", { { 1, 0, 0 }, { 5, 0, 0 }, { 10, 0, 0 },
	  { 15, 0, 0 }, { 20, 0, 0 } }, 0 },
	{ "rows after a burst", { { 9, 8, 8 }, { 59, 8, 8 }, { 109, 8, 8 },
	  { 111, 110, 8 }, { 161, 110, 8 }, { 211, 110, 9 },
	  { 261, 110, 9 } }, 0 },
	{ "rows of before", { { 500, 499, 7 }, { 560, 499, 7 },
	  { 565, 499, 7 }, { 568, 499, 7 }, { 570, 120, 7 } }, 70 },
	{ "rows that come", { { 1, 0, 0 }, { 101, 0, 0 }, { 201, 200, 0 },
	  { 201, 200, 0 }, { 201, 200, 0 }, { 201, 200, 0 } }, 0 },
	{ "a row, and then none", { { 1, 0, 0 }, { 101, 100, 0 },
	  { 201, 100, 0 }, { 201, 100, 0 }, { 231, 100, 0 },
	  { 261, 100, 0 } }, 160 },
	{ "rows that are deleted once they are delivered", { { 1, 0, 0 },
	  { 101, 0, 60 }, { 201, 0, 100 }, { 301, 0, 200 }, { 401, 0, 300 },
	  { 501, 0, 400 } }, 0 },
	{ "a table that is emptied", { { 900, 899, 0 }, { 1, 0, 0 },
	  { 1, 0, 0 }, { 1, 0, 0 }, { 1, 0, 0 } }, 0 },
	{ "a start with rows that vanished before", { { 101, 0, 0 },
	  { 101, 0, 0 }, { 101, 0, 0 }, { 101, 0, 0 } }, 0 },
};

START_TEST(numbers_without_rows_are_told)
{
	const struct vanishing_story	*t = &vanishing[_i];
	struct vanishing		 v = { 0 };
	struct vanishing_sample		 s = { .at = 1000 };
	uint64_t			 gone = 0;

	for (int i = 0; i < 12 && t->s[i][0] > 0; i++, s.at += 4000) {
		s.next = t->s[i][0];
		s.row = t->s[i][1];
		s.handled = t->s[i][2];
		gone = vanishing_add(&v, &s);
	}
	ck_assert_msg(gone == t->gone, "%s: %llu", t->name,
	    (unsigned long long)gone);
	if (gone == 0)
		return;
	/* It ends by itself, and with the first row. */
	s.at += VANISHING_LASTS_MS - 20000;
	ck_assert_uint_eq(vanishing_add(&v, &s), t->gone);
	s.at += 30000;
	ck_assert_uint_eq(vanishing_add(&v, &s), 0);
}
END_TEST

/* Transactions: how often, with how many rows, and how many of them vanish. */
static const struct {
	const char	*name;
	struct {
		unsigned	times, rows, gone;
	} t[4];
	unsigned	 gone;		/* of the last rows */
	bool		 most;
} shares[] = {
	{ "Debezium", { { 100, 1, 1 } }, 100, true },
	{ "the same at once", { { 1, 100, 100 } }, 100, true },
	{ "in more rows than are kept", { { 1, 1000, 1000 } }, 100, true },
	{ "its first 20", { { 20, 1, 1 } }, 20, true },
	{ "its first 19", { { 19, 1, 1 } }, 19, false },
	{ "after rows that stay", { { 20, 50, 0 }, { 51, 1, 1 } }, 51, true },
	{ "half of them", { { 200, 2, 1 } }, 50, false },
	{ "a message that is taken back", { { 1, 1, 1 } }, 1, false },
	{ "one of ten is taken back", { { 30, 10, 1 } }, 10, false },
	{ "many at once, and a fleet at work", { { 100, 1, 0 },
	  { 1, 40, 40 } }, 40, false },
	{ "a large share of a large transaction", { { 1, 1000, 600 } }, 60,
	  true },
	{ "an application that was corrected", { { 100, 1, 1 },
	  { 50, 1, 0 } }, 50, false },
	{ "and later", { { 100, 1, 1 }, { 1, 100, 0 } }, 0, false },
	{ "no rows", { { 5, 0, 0 } }, 0, false },
};

START_TEST(rows_that_vanish_count_by_their_share)
{
	struct vanishing_share	v = { 0 };
	bool			most = false;

	for (size_t i = 0; i < 4; i++)
		for (unsigned k = 0; k < shares[_i].t[i].times; k++)
			most = vanishing_share_add(&v, shares[_i].t[i].rows,
			    shares[_i].t[i].gone);
	ck_assert_msg(v.gone == shares[_i].gone, "%s: %u", shares[_i].name,
	    v.gone);
	ck_assert_msg(most == shares[_i].most, "%s", shares[_i].name);
}
END_TEST

/* 10,000 rows at once, at 100 s and at 130 s, which 80 a second leave. */
static int64_t
two_jumps(int64_t t)
{
	return (t < 100 ? 0 : 10000 - (t - 100) * 80) + (t < 130 ? 0 : 10000);
}

static int64_t
jump_and_stand(int64_t t)
{
	return t < 100 ? 3 : 10003;
}

/* An outage ends at 200 s. */
static int64_t
outage(int64_t t)
{
	return t < 200 ? t * 50 : 10000 - (t - 200) * 70 + wobble(20);
}

/* Every twelve seconds 1,000 rows at once, of which 900 are sent. */
static int64_t
teeth(int64_t t)
{
	return t / 12 * 100 + 900 - t % 12 * 75;
}

/* Nobody took samples in the meantime. */
static int64_t
gap(int64_t t)
{
	return t > 130 && t < 165 ? -1 : two_jumps(t - 20);
}

static const struct {
	const char	*name;
	int64_t		(*waiting)(int64_t t);
	int		 from, until;
	int64_t		 low, high;	/* rows in ten seconds */
} trends[] = {
	{ "a jump", two_jumps, 112, 130, -850, -750 },
	{ "another one", two_jumps, 142, 280, -850, -750 },
	{ "a jump and nothing", jump_and_stand, 112, 300, 0, 0 },
	{ "an outage", outage, 100, 200, 490, 510 },
	{ "the end of an outage", outage, 212, 300, -1000, -400 },
	{ "bursts", teeth, 100, 300, 0, 250 },
	{ "a busy fleet", busy, 100, 300, -1500, 1500 },
	{ "a gap", gap, 177, 280, -850, -750 },
};

/* Also by a reader between two samples. */
START_TEST(backlog_trend_is_that_of_now)
{
	struct backlog_ring	r = { 0 };

	wobble_state = 1;
	for (int t = 0; t < trends[_i].until; t++) {
		int64_t			n = trends[_i].waiting(t);
		struct backlog_sample	now = { clock_of(t), (uint64_t)n, 1 };
		struct backlog_growth	g = backlog_ring_growth(&r, &now);
		int64_t			ms = g.drained_ms * -g.per_second;

		if (n < 0)
			continue;
		if (t % 4 == 0)
			backlog_ring_add(&r, &now);
		if (t < trends[_i].from)
			continue;
		ck_assert_msg(g.known && g.per_second * 10 >= trends[_i].low &&
		    g.per_second * 10 <= trends[_i].high, "%s: %lld at %d",
		    trends[_i].name, (long long)g.per_second, t);
		if (trends[_i].high < 0)
			ck_assert_int_le(llabs(ms - n * 1000), -g.per_second);
	}
}
END_TEST

START_TEST(backlog_stops_to_grow)
{
	struct backlog_ring	r = { 0 };
	struct backlog_growth	g;
	struct backlog_sample	now;
	int			t;

	for (t = 0; t <= 400; t += 5)
		growth_at(&r, &stories[0], t);
	ck_assert(r.growing_since != 0);
	for (; t <= 410; t += 5) {
		now = (struct backlog_sample){ clock_of(t), (uint64_t)(
		    steady(400) + (t - 400) * ends[_i]), 1 };
		g = backlog_ring_growth(&r, &now);
		backlog_ring_add(&r, &now);
	}
	ck_assert_int_eq(g.growing_since, 0);
	ck_assert_int_eq(r.growing_since, 0);
}
END_TEST

START_TEST(backlog_is_drained)
{
	struct backlog_ring	r = { 0 };
	struct backlog_growth	g;
	struct backlog_sample	now;

	for (int t = 0; t <= 60; t += 5) {
		now = (struct backlog_sample){ clock_of(t),
		    (uint64_t)(231000 - t * 3000), 1 };
		g = backlog_ring_growth(&r, &now);
		backlog_ring_add(&r, &now);
	}
	ck_assert_int_eq(g.per_second, -3000);
	ck_assert_int_eq(g.drained_ms, 17000);
	ck_assert_int_eq(g.growing_since, 0);
}
END_TEST

/* From a count to an estimate, which is twice as much: no rate at first. */
START_TEST(backlog_of_estimates_is_not_compared)
{
	struct backlog_ring	r = { 0 };
	struct backlog_sample	now;

	for (int t = 0; t <= 60; t += 5) {
		bool	exact = t < 50;

		now = (struct backlog_sample){ clock_of(t),
		    (uint64_t)(exact ? 9000 + t : 18000 + 2 * t), exact };
		ck_assert_int_le(backlog_ring_growth(&r, &now).per_second, 2);
		ck_assert(backlog_ring_growth(&r, &now).known ==
		    ((t >= 10 && t < 50) || t == 60));
		backlog_ring_add(&r, &now);
	}
}
END_TEST

/* Samples of more than a minute ago tell nothing. */
START_TEST(backlog_without_samples_is_unknown)
{
	struct backlog_ring	r = { 0 };
	struct backlog_sample	now = { clock_of(500), 999999, 1 };
	struct backlog_growth	g;

	for (int t = 0; t <= 400; t += 5)
		growth_at(&r, &stories[0], t);
	g = backlog_ring_growth(&r, &now);
	ck_assert(!g.known);
	ck_assert_int_eq(g.growing_since, 0);
}
END_TEST

/*
 * requests of the monitor
 */

static int	channel[2];

static void
open_channel(void)
{
	struct err	e;

	ck_assert_int_eq(starter_channel(channel, &e), 0);
}

START_TEST(request_has_pipes)
{
	enum starter_kind	kind;
	struct err		e;
	int			fds[3], in[2], out[2];
	char			byte = 0;

	open_channel();
	ck_assert_int_eq(starter_hear(channel[0], &kind, fds),
	    STARTER_NOTHING);
	ck_assert_int_eq(pipe(in) | pipe(out), 0);
	ck_assert_int_eq(starter_ask(channel[1], STARTER_ACTION,
	    (const int[]){ in[0], out[1], out[1] }, &e), 0);
	starter_ask_end(channel[1], STARTER_QUERY);
	ck_assert_int_eq(starter_hear(channel[0], &kind, fds), STARTER_START);
	ck_assert_int_eq(kind, STARTER_ACTION);
	ck_assert_int_eq(write(fds[2], "x", 1), 1);
	ck_assert_int_eq(read(out[0], &byte, 1), 1);
	ck_assert_int_eq(fcntl(fds[0], F_GETFD), FD_CLOEXEC);
	ck_assert_int_eq(starter_hear(channel[0], &kind, fds), STARTER_END);
	ck_assert_int_eq(kind, STARTER_QUERY);
	close(channel[1]);
	ck_assert_int_eq(starter_hear(channel[0], &kind, fds), STARTER_GONE);
}
END_TEST

/* What hostile code may send, and that makes no sense. */
static const struct {
	const char	*text;
	int		 n;		/* descriptors */
	bool		 files;		/* or pipes */
} requests[] = {
	{ "\3", 3, false }, { "\377", 0, false }, { "\1\1", 0, false },
	{ "\1", 1, false }, { "\1", 2, false }, { "\1", 3, true },
};

static int
count_descriptors(void)
{
	int	n = 0;

	for (int fd = 0; fd < 256; fd++)
		n += fcntl(fd, F_GETFD) >= 0;
	return n;
}

START_TEST(hostile_request_is_the_last)
{
	union {
		struct cmsghdr	head;
		char		space[CMSG_SPACE(3 * sizeof(int))];
	} control = { .head = { .cmsg_level = SOL_SOCKET,
	    .cmsg_type = SCM_RIGHTS, .cmsg_len = CMSG_LEN(
	    (size_t)requests[_i].n * sizeof(int)) } };
	char			bytes[8];
	struct iovec		text = { bytes, strlen(requests[_i].text) };
	struct msghdr		m = { .msg_iov = &text, .msg_iovlen = 1 };
	enum starter_kind	kind;
	int			fds[3], two[2], before;

	open_channel();
	ck_assert_int_eq(pipe(two), 0);
	if (requests[_i].files)
		two[0] = open("/dev/null", O_RDWR);
	memcpy(bytes, requests[_i].text, text.iov_len);
	for (int i = 0; i < requests[_i].n; i++)
		memcpy(CMSG_DATA(&control.head) + (size_t)i * sizeof(int),
		    &two[0], sizeof(int));
	if (requests[_i].n > 0) {
		m.msg_control = &control;
		m.msg_controllen = CMSG_SPACE(
		    (size_t)requests[_i].n * sizeof(int));
	}
	before = count_descriptors();
	ck_assert_int_eq(sendmsg(channel[1], &m, 0), text.iov_len);
	ck_assert_int_eq(starter_hear(channel[0], &kind, fds), STARTER_GONE);
	ck_assert_int_eq(count_descriptors(), before);
}
END_TEST

int
main(void)
{
	Suite	*s = suite_create("ipc");
	TCase	*tc;

	tc = add_case(s, "predecessors");
	tcase_add_test(tc, predecessors_are_read_back);
	tcase_add_test(tc, predecessors_are_cut_off);
	tcase_add_test(tc, predecessors_have_room);
	tcase_add_loop_test(tc, garbage_is_no_predecessor, 0, NROWS(files));
	tcase_add_test(tc, predecessors_file_that_cannot_be);
	tcase_add_loop_test(tc, slot_of_an_id, 0, NROWS(slots));

	tc = add_case(s, "scoreboard");
	tcase_add_test(tc, board_is_read_by_others);
	tcase_add_test(tc, minutes_outlive_the_master);
	tcase_add_test(tc, server_of_the_workers_is_found);
	tcase_add_test(tc, error_on_the_board_is_clean);
	tcase_add_test(tc, board_of_a_dead_master_is_dead);
	tcase_add_test(tc, board_with_a_reused_pid_is_dead);
	tcase_add_test(tc, refused_types_are_read_as_a_whole);
	tcase_add_test(tc, half_written_refused_types_are_not_read);

	tc = add_case(s, "wakeup");
	tcase_add_test(tc, bell_is_heard_once);
	tcase_add_test(tc, bell_is_inherited);
	tcase_add_test(tc, bell_leaves_nothing_open);

	tc = add_case(s, "requests");
	tcase_add_test(tc, request_has_pipes);
	tcase_add_loop_test(tc, hostile_request_is_the_last, 0,
	    NROWS(requests));

	tc = add_case(s, "backlog");
	tcase_add_loop_test(tc, backlog_grows_or_not, 0, NROWS(stories));
	tcase_add_test(tc, backlog_growth_is_measured);
	tcase_add_loop_test(tc, backlog_stops_to_grow, 0, NROWS(ends));
	tcase_add_loop_test(tc, backlog_trend_is_that_of_now, 0, NROWS(trends));
	tcase_add_test(tc, backlog_is_drained);
	tcase_add_test(tc, backlog_of_estimates_is_not_compared);
	tcase_add_test(tc, backlog_without_samples_is_unknown);
	tcase_add_loop_test(tc, numbers_without_rows_are_told, 0,
	    NROWS(vanishing));
	tcase_add_loop_test(tc, rows_that_vanish_count_by_their_share, 0,
	    NROWS(shares));
	return run_suite(s);
}
