/*
 * check_report.c - the report lines of several workers on one output: whole,
 * and in nobody's way
 */
#include "lib/check.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdatomic.h>
#include <sys/mman.h>
#include <sys/wait.h>

#include <jansson.h>

#include "util/clock.h"
#include "worker/report.h"

#define WORKERS		8
#define LABELS		1024
#define SHARE		(LABELS / WORKERS)
#define LINES_SHORT	3000
#define LINES_LONG	100000
#define PIECE		16384	/* that the slow reader takes at once, */
#define NAP_US		500	/* and how long it sleeps after that */

static char	 names[LABELS][16], *labels[LABELS];
static char	 ids[WORKERS][8];
static int	 output[2];	/* a pipe */

/* Of the workers, in memory that all share. */
static struct shared {
	atomic_bool	stop;
	uint64_t	ticks[WORKERS], lost[WORKERS];
} *shared;

static void
begin(void)
{
	for (int i = 0; i < LABELS; i++) {
		snprintf(names[i], sizeof(names[i]), "p%04d", i);
		labels[i] = names[i];
	}
	for (int i = 0; i < WORKERS; i++)
		snprintf(ids[i], sizeof(ids[i]), "w%d", i);
	shared = mmap(NULL, sizeof(*shared), PROT_READ | PROT_WRITE,
	    MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	ck_assert_ptr_ne(shared, MAP_FAILED);
	signal(SIGPIPE, SIG_IGN);
	ck_assert_int_eq(pipe2(output, O_CLOEXEC), 0);
	ck_assert_int_eq(fcntl(output[1], F_SETFL, O_NONBLOCK), 0);
	log_to_file(LOG_LVL_INFO, false);
}

static struct report
report_to(int fd, const char *worker)
{
	struct report_form	form = { .json = true, .fd = fd };
	struct report		r;

	report_init(&r, &form, worker, 0);
	return r;
}

/* A tick of a worker that has so many labels. */
static void
tick(struct report *r, char **first, size_t n)
{
	struct tick_result	t = { 0 };
	struct fleet		f = { .desired = first, .ndesired = n,
				    .owned = first, .nowned = n };

	report_tick(r, &f, &t, 1, 0, 1);
}

/*
 * Eight workers
 */

/* The first has the labels of all now and then, as one that gathers. */
static void
work(int i)
{
	struct report	r = report_to(output[1], ids[i]);

	for (; !shared->stop; shared->ticks[i]++) {
		if (i == 0 && shared->ticks[i] % 8 == 0)
			tick(&r, labels, LABELS);
		else
			tick(&r, labels + (size_t)i * SHARE, SHARE);
		usleep(500);
		report_write(&r);
	}
	/* However slow the machine is. */
	for (; r.waiting.len > 0 || r.out.nrest > 0; usleep(500))
		report_write(&r);
	report_free(&r);
	shared->lost[i] = r.lost;
	_exit(0);
}

/* Parse it; returns the number of its worker. */
static int
worker_of(const char *line, size_t len)
{
	json_error_t	 e;
	json_t		*o = json_loadb(line, len, 0, &e);
	const char	*id = json_string_value(json_object_get(o, "worker"));
	size_t		 n = json_array_size(json_object_get(o,
			    "owned_partitions"));
	int		 i;

	ck_assert_msg(id != NULL, "%s: %.200s", e.text, line);
	ck_assert(n == SHARE || n == LABELS);
	i = id[1] - '0';
	json_decref(o);
	return i;
}

/* Take the whole lines out of the buffer; returns their number. */
static uint64_t
take_lines(struct buf *b, uint64_t of[WORKERS])
{
	const char	*line = b->data, *end = b->data + b->len, *next;
	uint64_t	 n = 0;

	for (; (next = memchr(line, '\n', (size_t)(end - line))) != NULL;
	    line = next + 1, n++)
		of[worker_of(line, (size_t)(next - line))]++;
	memmove(b->data, line, (size_t)(end - line));
	buf_chop(b, (size_t)(line - b->data));
	return n;
}

static void
lines_of_eight_workers(uint64_t wanted)
{
	struct buf	b = { 0 };
	uint64_t	got[WORKERS] = { 0 }, lost = 0, n = 0;
	int		status;
	ssize_t		some;

	for (int i = 0; i < WORKERS; i++)
		if (fork() == 0) {
			alarm(100);
			work(i);
		}
	close(output[1]);
	while ((some = read(output[0], buf_reserve(&b, PIECE), PIECE)) > 0) {
		b.len += (size_t)some;
		n += take_lines(&b, got);
		if (n < wanted)
			usleep(NAP_US);
		else
			shared->stop = true;
	}
	ck_assert_uint_eq(b.len, 0);
	for (int i = 0; i < WORKERS; i++) {
		ck_assert_int_gt(wait(&status), 0);
		ck_assert_int_eq(status, 0);
	}
	for (int i = 0; i < WORKERS; i++) {
		ck_assert_uint_eq(got[i] + shared->lost[i], shared->ticks[i]);
		ck_assert_uint_gt(got[i], 0);
		lost += shared->lost[i];
	}
	/* Else it was not slow. */
	ck_assert_uint_gt(lost, 0);
	buf_free(&b);
}

START_TEST(some_lines_of_eight_workers_are_whole)
{
	lines_of_eight_workers(LINES_SHORT);
}
END_TEST

START_TEST(many_lines_of_eight_workers_are_whole)
{
	lines_of_eight_workers(LINES_LONG);
}
END_TEST

/*
 * One worker
 */

/* What is in the pipe now; the caller frees. */
static struct buf
drain(void)
{
	struct buf	b = { 0 };
	ssize_t		n;

	ck_assert_int_eq(fcntl(output[0], F_SETFL, O_NONBLOCK), 0);
	buf_str(&b, "");
	while ((n = read(output[0], buf_reserve(&b, PIECE), PIECE)) > 0)
		b.len += (size_t)n;
	buf_add(&b, "", 1);
	return b;
}

/* A write that waited would never end. */
START_TEST(a_reader_that_stops_holds_up_no_tick)
{
	struct report	r = report_to(output[1], ids[0]);
	struct buf	all = { 0 }, b;
	char		last[80];

	for (int i = 0; i < 1000; i++)
		tick(&r, labels, LABELS);
	ck_assert_uint_gt(r.lost, 900);
	for (int i = 0; i < 100; i++) {
		b = drain();
		buf_str(&all, b.data);
		buf_free(&b);
		report_write(&r);
	}
	/* What is reported next has the number of those that were lost. */
	snprintf(last, sizeof(last), "\"lines_lost\":%llu,",
	    (unsigned long long)r.lost);
	tick(&r, labels, 1);
	b = drain();
	ck_assert_int_eq(count_lines(b.data), 1);
	holds(b.data, last);
	ck_assert_uint_eq((uint64_t)count_lines(all.data) + r.lost, 1000);
	ck_assert_int_eq(all.data[strlen(all.data) - 1], '\n');
	report_free(&r);
	buf_free(&all);
	buf_free(&b);
	ck_assert_int_eq(nlogged(), 0);
}
END_TEST

START_TEST(a_reader_that_is_gone_is_no_fault)
{
	struct report	r = report_to(output[1], ids[0]);

	close(output[0]);
	for (int i = 0; i < 10; i++)
		tick(&r, labels, LABELS);
	report_free(&r);
	ck_assert_int_eq(nlogged(), 0);
}
END_TEST

/* Said once, and that it is over. */
START_TEST(a_full_disk_is_said)
{
	struct report	r = report_to(open("/dev/full", O_WRONLY), ids[0]);

	for (int i = 0; i < 10; i++)
		tick(&r, labels, LABELS);
	ck_assert_int_eq(nlogged(), 1);
	holds(logged(), "reports are lost: standard output cannot be written");
	r.out.fd = output[1];
	tick(&r, labels, 1);
	holds(logged(), "standard output works again: 10 report(s) were lost");
	report_free(&r);
}
END_TEST

/* Another worker is in the middle of a line, and goes on with it. */
START_TEST(a_line_waits_for_that_of_another_worker)
{
	struct report	r = report_to(output[1], ids[0]);
	struct flock	all = { .l_type = F_WRLCK };
	int		told[2];
	struct buf	b;
	pid_t		pid;
	char		c;

	ck_assert_int_eq(pipe(told), 0);
	if ((pid = fork()) == 0) {
		fcntl(output[1], F_SETLK, &all);
		(void)!write(told[1], "", 1);
		pause();
	}
	ck_assert_int_eq(read(told[0], &c, 1), 1);
	tick(&r, labels, 1);
	b = drain();
	ck_assert_str_eq(b.data, "");
	buf_free(&b);
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
	tick(&r, labels, 1);
	b = drain();
	ck_assert_int_eq(count_lines(b.data), 2);
	ck_assert_uint_eq(r.lost, 0);
	buf_free(&b);
	report_free(&r);
}
END_TEST

int
main(void)
{
	Suite	*s = suite_create("report");
	TCase	*tc = add_case(s, "report");

	tcase_add_checked_fixture(tc, begin, NULL);
	tcase_set_timeout(tc, 60);
	tcase_add_test(tc, some_lines_of_eight_workers_are_whole);
	tcase_add_test(tc, a_reader_that_stops_holds_up_no_tick);
	tcase_add_test(tc, a_reader_that_is_gone_is_no_fault);
	tcase_add_test(tc, a_full_disk_is_said);
	tcase_add_test(tc, a_line_waits_for_that_of_another_worker);
	tc = add_case(s, "many");
	tcase_set_tags(tc, "long");
	tcase_add_checked_fixture(tc, begin, NULL);
	tcase_set_timeout(tc, 120);
	tcase_add_test(tc, many_lines_of_eight_workers_are_whole);
	return run_suite(s);
}
