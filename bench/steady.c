/*
 * steady.c - commit events at a fixed rate and measure when they arrive
 *
 * Each commit has a fixed time, independent of the duration of others.  A free
 * connection takes it; if all are busy it is late, and the rate reached is
 * lower.  For each event the times before COMMIT was sent and after it returned
 * are kept (CLOCK_REALTIME), and compared with the time at which the broker
 * stored the message, read from the stream at the end.
 *
 *   steady --socket PATH --rate N --seconds N [--nats URL] [--tell FD]
 *   steady --socket PATH --every MS --seconds N ...
 *
 * Two seconds before the seconds asked for, in which an idle fleet wakes up, do
 * not count.  Without --nats no relay is expected.  With --tell the sequence of
 * each event (8 bytes) is written to that descriptor when its COMMIT has
 * returned.  Prints lines of a name and a number, times in us.  Connects as
 * root to the database app.
 *
 * With --every the pauses are MS on the average and differ by up to a third of
 * it: the wait for a relay that polls depends on where in its pause the event
 * comes, and equal pauses would always meet the same place.
 *
 * The line "stored" comes when all messages are in the stream.  Then the program
 * waits for the end of standard input before it reads the stream, so that what
 * the load has cost can be measured without that.
 */
#include <err.h>
#include <getopt.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>
#include <libdeflate.h>

#include "../tools/lab.h"

#define CONNECTIONS	64
#define KEYS		32	/* of each connection */
#define PAYLOAD		200
#define ARRIVAL_MS	120000
#define SECOND		1000000000LL
#define WARM_UP		2	/* seconds */

struct event {
	uint64_t	id;
	int64_t		sent, done;	/* its COMMIT, ns */
};

struct producer {
	pthread_t	 thread;
	unsigned	 number;
	MYSQL		*db;
	uint64_t	 next[KEYS];	/* stream_sequence */
	struct event	*events;
	size_t		 n, size;
};

static struct lab_opts	 o = { .user = "root", .database = "app",
			    .stream = "EVENTS" };
static unsigned		 rate, every_ms, seconds, partitions;
static int		 tell = -1;
static int64_t		 start;
static _Atomic uint64_t	 ticket;

static int64_t
now_ns(void)
{
	struct timespec	ts;

	clock_gettime(CLOCK_REALTIME, &ts);
	return ts.tv_sec * SECOND + ts.tv_nsec;
}

static void
sleep_until(int64_t when)
{
	struct timespec	ts = { when / SECOND, when % SECOND };

	clock_nanosleep(CLOCK_REALTIME, TIMER_ABSTIME, &ts, NULL);
}

static void
run(MYSQL *db, const char *sql)
{
	MYSQL_RES	*res;

	if (mysql_query(db, sql) != 0)
		errx(1, "%s: %s", sql, mysql_error(db));
	do {
		if ((res = mysql_store_result(db)) != NULL)
			mysql_free_result(res);
	} while (mysql_next_result(db) == 0);
	if (mysql_errno(db) != 0)
		errx(1, "%s: %s", sql, mysql_error(db));
}

/* Returns the event's id; the transaction stays open. */
static uint64_t
insert(struct producer *p)
{
	char		key[32], sql[1024];
	size_t		k = p->n % KEYS;
	unsigned long	label;

	snprintf(key, sizeof(key), "s%u-%zu", p->number, k);
	label = libdeflate_crc32(0, key, strlen(key)) % partitions;
	snprintf(sql, sizeof(sql), "START TRANSACTION; "
	    "INSERT INTO events (stream_id, stream_sequence, event_type, "
	    "event_data) VALUES ('%s', %llu, 'lab.event', '%0*d'); "
	    "SET @id = LAST_INSERT_ID(); "
	    "INSERT INTO outbox (global_sequence, partition_key) "
	    "VALUES (@id, 'p%02lu')", key, (unsigned long long)++p->next[k],
	    PAYLOAD, 0, label);
	if (mysql_query(p->db, sql) != 0 || mysql_next_result(p->db) != 0)
		errx(1, "insert: %s", mysql_error(p->db));
	uint64_t id = mysql_insert_id(p->db);

	while (mysql_next_result(p->db) == 0)
		;
	if (mysql_errno(p->db) != 0)
		errx(1, "insert: %s", mysql_error(p->db));
	return id;
}

static void
commit(struct producer *p)
{
	struct event	*e;

	if (p->n == p->size) {
		p->size = p->size * 2 + 1024;
		p->events = lab_realloc(p->events, p->size, sizeof(*e));
	}
	e = &p->events[p->n];
	e->id = insert(p);
	e->sent = now_ns();
	run(p->db, "COMMIT");
	e->done = now_ns();
	if (tell >= 0 && write(tell, &e->id, sizeof(e->id)) < 0)
		err(1, "--tell");
	p->n++;
}

/* When the n-th commit is due, ns from the start. */
static int64_t
moment(uint64_t n)
{
	uint64_t	hash = (n + 1) * 0x9e3779b97f4a7c15u;

	if (rate > 0)
		return (int64_t)(n * SECOND / rate);
	hash = (hash ^ hash >> 30) * 0xbf58476d1ce4e5b9u;
	return (int64_t)(n * every_ms * 1000000 +
	    (hash >> 32) % 1000 * every_ms * 1000 / 3);
}

static void *
produce(void *arg)
{
	struct producer	*p = arg;
	int64_t		 due, end = start + (seconds + WARM_UP) * SECOND;

	mysql_thread_init();
	for (;;) {
		due = start + moment(ticket++);
		if (due >= end || now_ns() >= end)
			break;
		sleep_until(due);
		commit(p);
	}
	mysql_thread_end();
	return NULL;
}

static int
event_cmp(const void *a, const void *b)
{
	const struct event	*x = a, *y = b;

	return (x->id > y->id) - (x->id < y->id);
}

static int
time_cmp(const void *a, const void *b)
{
	int64_t	x = *(const int64_t *)a, y = *(const int64_t *)b;

	return (x > y) - (x < y);
}

/* Sorts the times. */
static void
print_percentiles(const char *name, int64_t *times, size_t n)
{
	static const struct {
		const char	*name;
		double		 part;
	} rows[] = {
		{ "p50", 0.5 }, { "p90", 0.9 }, { "p99", 0.99 },
		{ "p99.9", 0.999 }, { "max", 1 }
	};

	qsort(times, n, sizeof(*times), time_cmp);
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]) && n > 0; i++) {
		size_t	at = (size_t)(rows[i].part * (double)n);

		printf("%s_%s %lld\n", name, rows[i].name,
		    (long long)times[at < n ? at : n - 1] / 1000);
	}
}

/* All producers' events, sorted by id; the caller frees. */
static struct event *
gather(struct producer *p, size_t *n)
{
	struct event	*all;

	*n = 0;
	for (unsigned i = 0; i < CONNECTIONS; i++)
		*n += p[i].n;
	all = lab_realloc(NULL, *n + 1, sizeof(*all));
	*n = 0;
	for (unsigned i = 0; i < CONNECTIONS; i++) {
		memcpy(all + *n, p[i].events, p[i].n * sizeof(*all));
		*n += p[i].n;
	}
	qsort(all, *n, sizeof(*all), event_cmp);
	return all;
}

static bool
is_warm(const struct event *e)
{
	return e->sent >= start + WARM_UP * SECOND;
}

static void
print_commits(const struct event *all, size_t n)
{
	int64_t	*took = lab_realloc(NULL, n + 1, sizeof(*took)), last = 0;
	size_t	 warm = 0;

	for (size_t i = 0; i < n; i++) {
		if (is_warm(&all[i]))
			took[warm++] = all[i].done - all[i].sent;
		if (all[i].done > last)
			last = all[i].done;
	}
	printf("committed %zu\nreached %.0f\n", n, n == 0 ? 0 :
	    (double)n * 1e9 / (double)(last - start));
	print_percentiles("commit", took, warm);
	free(took);
}

struct arrivals {
	const struct event	*all;
	size_t			 nall;
	int64_t			*from_sent, *from_done;
	size_t			 n, nwarm;
};

static void
arrived(void *arg, natsMsg *m, uint64_t seq, int64_t when)
{
	struct arrivals		*a = arg;
	struct event		 probe = { 0 }, *e;
	const char		*text = "0";

	(void)seq;
	natsMsgHeader_Get(m, "Outbox-Sequence", &text);
	probe.id = strtoull(text, NULL, 10);
	e = bsearch(&probe, a->all, a->nall, sizeof(*e), event_cmp);
	if (e == NULL || a->n++ == a->nall)
		errx(1, "a message that nobody committed: %s", text);
	if (!is_warm(e))
		return;
	a->from_sent[a->nwarm] = when - e->sent;
	/* Stored before our COMMIT returned: counts as 0. */
	a->from_done[a->nwarm++] = when > e->done ? when - e->done : 0;
}

static void
wait_for_arrivals(struct lab_bus *bus, size_t n)
{
	int64_t	end = lab_now_ms() + ARRIVAL_MS;

	while (lab_stream_state(bus, o.stream, NULL) < n)
		if (lab_now_ms() > end)
			errx(1, "not all of %zu messages arrived", n);
		else
			lab_pause(50);
}

static void
print_arrivals(struct lab_bus *bus, const struct event *all, size_t n)
{
	struct arrivals	a = { .all = all, .nall = n };

	a.from_sent = lab_realloc(NULL, n + 1, sizeof(int64_t));
	a.from_done = lab_realloc(NULL, n + 1, sizeof(int64_t));
	lab_read_stream(bus, o.stream, arrived, &a);
	print_percentiles("latency", a.from_done, a.nwarm);
	print_percentiles("from_sent", a.from_sent, a.nwarm);
	free(a.from_sent);
	free(a.from_done);
}

/* Say that the load is over, and wait for the end of standard input. */
static void
rest(size_t stored)
{
	char	c;

	printf("stored %zu\n", stored);
	fflush(stdout);
	while (read(0, &c, 1) > 0)
		;
}

static void
report_arrivals(const struct event *all, size_t n)
{
	struct lab_bus	bus;

	lab_bus_open(&o, &bus);
	wait_for_arrivals(&bus, n);
	rest(n);
	print_arrivals(&bus, all, n);
	lab_bus_close(&bus);
}

static void
setup(struct producer *p, unsigned number)
{
	memset(p, 0, sizeof(*p));
	p->number = number;
	p->db = lab_db_open(&o);
	mysql_set_server_option(p->db, MYSQL_OPTION_MULTI_STATEMENTS_ON);
	partitions = (unsigned)lab_db_number(p->db,
	    "SELECT partition_count FROM outbox_settings");
}

static void
run_all(struct producer *p)
{
	for (unsigned i = 0; i < CONNECTIONS; i++)
		setup(&p[i], i);
	start = now_ns() + SECOND / 20;
	for (unsigned i = 0; i < CONNECTIONS; i++)
		if (pthread_create(&p[i].thread, NULL, produce, &p[i]) != 0)
			errx(1, "no thread");
	for (unsigned i = 0; i < CONNECTIONS; i++) {
		pthread_join(p[i].thread, NULL);
		mysql_close(p[i].db);
	}
}

static void
parse_options(int argc, char **argv)
{
	static const struct option	longs[] = {
		{ "socket", required_argument, NULL, 's' },
		{ "nats", required_argument, NULL, 'n' },
		{ "rate", required_argument, NULL, 'r' },
		{ "every", required_argument, NULL, 'e' },
		{ "seconds", required_argument, NULL, 't' },
		{ "tell", required_argument, NULL, 'f' },
		{ NULL, 0, NULL, 0 }
	};
	int	c;

	while ((c = getopt_long(argc, argv, "", longs, NULL)) != -1)
		switch (c) {
		case 's': o.socket = optarg; break;
		case 'n': o.nats = optarg; break;
		case 'r': rate = (unsigned)strtoul(optarg, NULL, 10); break;
		case 'e': every_ms = (unsigned)strtoul(optarg, NULL, 10); break;
		case 't': seconds = (unsigned)strtoul(optarg, NULL, 10); break;
		case 'f': tell = atoi(optarg); break;
		default: exit(2);
		}
	if (o.socket == NULL || (rate == 0) == (every_ms == 0) || seconds == 0)
		errx(2, "usage: steady --socket PATH --rate N|--every MS "
		    "--seconds N [--nats URL] [--tell FD]");
}

int
main(int argc, char **argv)
{
	static struct producer	producers[CONNECTIONS];
	struct event		*all;
	size_t			 n;

	parse_options(argc, argv);
	run_all(producers);
	all = gather(producers, &n);
	if (tell >= 0)
		close(tell);
	print_commits(all, n);
	if (o.nats != NULL)
		report_arrivals(all, n);
	else
		rest(0);
	for (unsigned i = 0; i < CONNECTIONS; i++)
		free(producers[i].events);
	free(all);
	mysql_library_end();
	nats_Close();
	return 0;
}
