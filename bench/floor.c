/*
 * floor.c - the least possible work for N messages, as a yardstick
 *
 * FROZEN.  The relay is measured against this program: do not tune it to the
 * relay, and do not bring code of the relay here.  It shares no code with src/
 * and tools/, and promises nothing: no order, no leases, no second worker, no
 * recovery from a failure.
 *
 *   floor sql      per 1000 rows: read candidates, claim, fetch with their
 *                  events, settle; four statements, each by primary key,
 *                  two of them commits
 *   floor publish  N messages with a Nats-Msg-Id by the plain protocol, up
 *                  to 512 of them without an answer
 *
 * Both connect, wait for the end of standard input, so that two can start at
 * once, and print when they began and ended (ns, CLOCK_REALTIME).
 *
 *   floor follow   claim, fetch and publish those whose sequences come on
 *                  standard input (8 bytes each), as many at once as are
 *                  there, and pass the sequences on to standard output when
 *                  all of them are acknowledged
 *   floor settle   settle those that come on standard input
 *
 * With --linger MS these begin no sooner than MS after their last beginning,
 * unless a whole batch is there; 0, the default, is at once.
 *
 * These two get the sequences at no cost, and end with their input.  A relay
 * that learns of a message after its commit, and claims it before it sends it,
 * cannot be much faster on the same machine.
 */
#include <err.h>
#include <getopt.h>
#include <netdb.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include <mysql.h>

#define CLAIM	"UPDATE outbox SET claim_token = '0123456789abcdef-1', " \
		"available_at = NOW(6) + INTERVAL 30 SECOND " \
		"WHERE global_sequence IN"
#define SETTLE	"UPDATE outbox SET published_at = NOW(6), " \
		"claim_token = NULL WHERE global_sequence IN"
#define BATCH	1000
#define WINDOW	512

struct opts {
	const char	*socket, *database, *nats, *subject;
	size_t		 rows, payload;
	long long	 linger;	/* ns */
};

struct text {
	char	*data;
	size_t	 len, size;
};

static void
reserve(struct text *t, size_t n)
{
	if (t->size - t->len >= n)
		return;
	t->size = (t->len + n) * 2;
	if ((t->data = realloc(t->data, t->size)) == NULL)
		err(1, NULL);
}

static void
add(struct text *t, const void *data, size_t n)
{
	reserve(t, n);
	memcpy(t->data + t->len, data, n);
	t->len += n;
}

static void __attribute__((format(printf, 2, 3)))
put(struct text *t, const char *fmt, ...)
{
	va_list	ap;
	char	buf[512];
	int	n;

	va_start(ap, fmt);
	n = vsnprintf(buf, sizeof(buf), fmt, ap);
	va_end(ap);
	add(t, buf, (size_t)n);
}

static long long
now_ns(void)
{
	struct timespec	ts;

	clock_gettime(CLOCK_REALTIME, &ts);
	return ts.tv_sec * 1000000000LL + ts.tv_nsec;
}

static void
wait_for_start(void)
{
	char	c;

	while (read(0, &c, 1) > 0)
		;
}

/* --- the database ------------------------------------------------------- */

static MYSQL_RES *
run(MYSQL *db, const struct text *sql)
{
	if (mysql_real_query(db, sql->data, (unsigned long)sql->len) != 0)
		errx(1, "%s", mysql_error(db));
	return mysql_store_result(db);
}

static MYSQL *
db_open(const struct opts *o)
{
	MYSQL		*db = mysql_init(NULL);
	struct text	 sql = { 0 };

	mysql_options(db, MYSQL_SET_CHARSET_NAME, "utf8mb4");
	if (mysql_real_connect(db, NULL, "root", NULL, o->database, 0,
	    o->socket, 0) == NULL)
		errx(1, "%s", mysql_error(db));
	put(&sql, "SET SESSION TRANSACTION ISOLATION LEVEL READ COMMITTED");
	run(db, &sql);
	free(sql.data);
	return db;
}

/* Sequences after the last one; published_at is not checked. */
static size_t
candidates(MYSQL *db, char **last, struct text *list)
{
	struct text	 sql = { 0 };
	MYSQL_RES	*res;
	MYSQL_ROW	 row;
	size_t		 n = 0;

	put(&sql, "SELECT global_sequence FROM outbox WHERE "
	    "global_sequence > %s AND published_at IS NULL "
	    "ORDER BY global_sequence LIMIT %d", *last, BATCH);
	res = run(db, &sql);
	list->len = 0;
	for (; (row = mysql_fetch_row(res)) != NULL; n++) {
		put(list, n == 0 ? "%s" : ",%s", row[0]);
		snprintf(*last, 24, "%s", row[0]);
	}
	mysql_free_result(res);
	free(sql.data);
	return n;
}

static void
by_key(MYSQL *db, const char *head, const struct text *list)
{
	struct text	 sql = { 0 };
	MYSQL_RES	*res;

	put(&sql, "%s (", head);
	add(&sql, list->data, list->len);
	add(&sql, ")", 1);
	if ((res = run(db, &sql)) != NULL) {
		while (mysql_fetch_row(res) != NULL)
			;
		mysql_free_result(res);
	}
	free(sql.data);
}

static void
deliver(MYSQL *db, const struct text *list)
{
	by_key(db, CLAIM, list);
	by_key(db, "SELECT o.global_sequence, o.partition_key, o.attempts, "
	    "e.stream_id, e.stream_sequence, e.event_type, e.event_version, "
	    "e.correlation_id, e.metadata, e.event_data, e.occurred_at "
	    "FROM outbox o JOIN events e ON e.sequence = o.global_sequence "
	    "WHERE o.global_sequence IN", list);
	by_key(db, SETTLE, list);
}

static size_t
do_sql(const struct opts *o, long long *start)
{
	MYSQL		*db = db_open(o);
	struct text	 list = { 0 };
	char		 first[24] = "0", *last = first;
	size_t		 n, done = 0;

	wait_for_start();
	*start = now_ns();
	while (done < o->rows && (n = candidates(db, &last, &list)) > 0) {
		deliver(db, &list);
		done += n;
	}
	free(list.data);
	mysql_close(db);
	return done;
}

/* --- the broker --------------------------------------------------------- */

static int
bus_open(const struct opts *o)
{
	char		 host[256], port[16];
	struct addrinfo	*ai;
	int		 fd, rc;

	if (sscanf(o->nats, "nats://%255[^:]:%15[0-9]", host, port) != 2)
		errx(2, "%s: not nats://HOST:PORT", o->nats);
	if ((rc = getaddrinfo(host, port, NULL, &ai)) != 0)
		errx(1, "%s: %s", o->nats, gai_strerror(rc));
	if ((fd = socket(ai->ai_family, SOCK_STREAM, 0)) < 0 ||
	    connect(fd, ai->ai_addr, ai->ai_addrlen) < 0)
		err(1, "%s", o->nats);
	freeaddrinfo(ai);
	return fd;
}

static void
bus_write(int fd, struct text *out)
{
	ssize_t	n;

	for (size_t i = 0; i < out->len; i += (size_t)n)
		if ((n = write(fd, out->data + i, out->len - i)) < 0)
			err(1, "nats");
	out->len = 0;
}

static void
bus_greet(int fd, struct text *out)
{
	put(out, "CONNECT {\"verbose\":false,\"headers\":true,"
	    "\"no_responders\":true}\r\nSUB _INBOX.floor 1\r\n");
	bus_write(fd, out);
}

static void
put_message(struct text *out, const struct opts *o, size_t i,
    const char *payload)
{
	char	header[96];
	int	len = snprintf(header, sizeof(header), "NATS/1.0\r\n"
		    "Nats-Msg-Id: floor-%d-%zu\r\n\r\n", (int)getpid(), i);

	put(out, "HPUB %s _INBOX.floor %d %zu\r\n%s", o->subject, len,
	    (size_t)len + o->payload, header);
	add(out, payload, o->payload);
	add(out, "\r\n", 2);
}

/*
 * Parse a line of the server, or an answer with its payload.  Returns its
 * length in bytes, 0 if it is incomplete; *acks counts answers.
 */
static size_t
parse(const char *p, size_t len, size_t *acks, bool *ping)
{
	const char	*end = memmem(p, len, "\r\n", 2);
	size_t		 line, size;

	if (end == NULL)
		return 0;
	line = (size_t)(end - p) + 2;
	if (strncmp(p, "-ERR", 4) == 0 || strncmp(p, "HMSG", 4) == 0)
		errx(1, "nats: %.*s", (int)line - 2, p);
	*ping = *ping || strncmp(p, "PING", 4) == 0;
	if (strncmp(p, "MSG ", 4) != 0)
		return line;
	while (end[-1] != ' ')
		end--;
	size = strtoul(end, NULL, 10);
	if (len < line + size + 2)
		return 0;
	if (memmem(p + line, size, "\"error\"", 7) != NULL ||
	    memmem(p + line, size, "\"seq\"", 5) == NULL)
		errx(1, "nats: %.*s", (int)size, p + line);
	++*acks;
	return line + size + 2;
}

/* Wait for input; returns the number of answers. */
static size_t
bus_read(int fd, struct text *in, struct text *out)
{
	size_t	acks = 0, at = 0, used;
	bool	ping = false;
	ssize_t	n;

	reserve(in, 65536);
	if ((n = read(fd, in->data + in->len, in->size - in->len)) <= 0)
		err(1, "nats");
	in->len += (size_t)n;
	while ((used = parse(in->data + at, in->len - at, &acks, &ping)) > 0)
		at += used;
	memmove(in->data, in->data + at, in->len -= at);
	if (ping)
		put(out, "PONG\r\n");
	return acks;
}

static size_t
do_publish(const struct opts *o, long long *start)
{
	struct text	 in = { 0 }, out = { 0 };
	char		*payload = malloc(o->payload + 1);
	size_t		 sent = 0, acked = 0;
	int		 fd = bus_open(o);

	memset(payload, 'x', o->payload);
	bus_greet(fd, &out);
	wait_for_start();
	*start = now_ns();
	while (acked < o->rows) {
		for (; sent < o->rows && sent - acked < WINDOW; sent++)
			put_message(&out, o, sent, payload);
		bus_write(fd, &out);
		acked += bus_read(fd, &in, &out);
	}
	close(fd);
	free(in.data);
	free(out.data);
	free(payload);
	return acked;
}

/* --- one at a time ------------------------------------------------------ */

/* Sleep until this time, unless a batch is waiting. */
static void
linger_until(long long when)
{
	struct timespec	ts = { when / 1000000000, when % 1000000000 };
	int		bytes;

	if (ioctl(0, FIONREAD, &bytes) < 0)
		err(1, "standard input");
	if ((size_t)bytes < BATCH * sizeof(uint64_t))
		clock_nanosleep(CLOCK_REALTIME, TIMER_ABSTIME, &ts, NULL);
}

/*
 * Read the sequences available, at most BATCH; 0: end of input.  *began is when
 * that was done last, and is set anew.
 */
static size_t
hear(const struct opts *o, uint64_t *list, long long *began)
{
	ssize_t	n;

	if (o->linger > 0)
		linger_until(*began + o->linger);
	n = read(0, list, BATCH * sizeof(*list));
	if (n < 0 || n % (ssize_t)sizeof(*list) != 0)
		err(1, "standard input");
	*began = now_ns();
	return (size_t)n / sizeof(*list);
}

static void
list_them(const uint64_t *list, size_t n, struct text *text)
{
	text->len = 0;
	for (size_t i = 0; i < n; i++)
		put(text, i == 0 ? "%llu" : ",%llu",
		    (unsigned long long)list[i]);
}

static void
put_row(struct text *out, const struct opts *o, const char *sequence,
    const char *payload, unsigned long size)
{
	char	header[128];
	int	len = snprintf(header, sizeof(header), "NATS/1.0\r\n"
		    "Nats-Msg-Id: floor-%s\r\nOutbox-Sequence: %s\r\n\r\n",
		    sequence, sequence);

	put(out, "HPUB %s _INBOX.floor %d %lu\r\n%s", o->subject, len,
	    (unsigned long)len + size, header);
	add(out, payload, size);
	add(out, "\r\n", 2);
}

static void
put_rows(MYSQL *db, const struct opts *o, const struct text *list,
    struct text *out)
{
	struct text	 sql = { 0 };
	MYSQL_RES	*res;
	MYSQL_ROW	 row;

	put(&sql, "SELECT sequence, event_data FROM events WHERE sequence IN (");
	add(&sql, list->data, list->len);
	add(&sql, ")", 1);
	res = run(db, &sql);
	while ((row = mysql_fetch_row(res)) != NULL)
		put_row(out, o, row[0], row[1], mysql_fetch_lengths(res)[1]);
	mysql_free_result(res);
	free(sql.data);
}

static void
do_follow(const struct opts *o)
{
	MYSQL		*db = db_open(o);
	struct text	 in = { 0 }, out = { 0 }, list = { 0 };
	uint64_t	 told[BATCH];
	long long	 began = 0;
	size_t		 n, acked;
	int		 fd = bus_open(o);

	bus_greet(fd, &out);
	while ((n = hear(o, told, &began)) > 0) {
		list_them(told, n, &list);
		by_key(db, CLAIM, &list);
		put_rows(db, o, &list, &out);
		bus_write(fd, &out);
		for (acked = 0; acked < n; bus_write(fd, &out))
			acked += bus_read(fd, &in, &out);
		if (write(1, told, n * sizeof(*told)) < 0)
			err(1, "standard output");
	}
}

static void
do_settle(const struct opts *o)
{
	MYSQL		*db = db_open(o);
	struct text	 list = { 0 };
	uint64_t	 told[BATCH];
	long long	 began = 0;
	size_t		 n;

	while ((n = hear(o, told, &began)) > 0) {
		list_them(told, n, &list);
		by_key(db, SETTLE, &list);
	}
}

static void
usage(void)
{
	fprintf(stderr, "usage: floor sql --socket PATH --database NAME "
	    "--rows N\n       floor publish --nats URL --subject SUBJECT "
	    "--rows N --payload BYTES\n"
	    "       floor follow --socket PATH --database NAME --nats URL "
	    "--subject SUBJECT [--linger MS]\n"
	    "       floor settle --socket PATH --database NAME "
	    "[--linger MS]\n");
	exit(2);
}

static void
parse_options(int argc, char **argv, struct opts *o)
{
	static const struct option	longs[] = {
		{ "socket", required_argument, NULL, 's' },
		{ "database", required_argument, NULL, 'd' },
		{ "nats", required_argument, NULL, 'n' },
		{ "subject", required_argument, NULL, 'j' },
		{ "rows", required_argument, NULL, 'r' },
		{ "payload", required_argument, NULL, 'p' },
		{ "linger", required_argument, NULL, 'l' },
		{ NULL, 0, NULL, 0 }
	};
	int	c;

	while ((c = getopt_long(argc, argv, "", longs, NULL)) != -1)
		switch (c) {
		case 's': o->socket = optarg; break;
		case 'd': o->database = optarg; break;
		case 'n': o->nats = optarg; break;
		case 'j': o->subject = optarg; break;
		case 'r': o->rows = strtoul(optarg, NULL, 10); break;
		case 'p': o->payload = strtoul(optarg, NULL, 10); break;
		case 'l': o->linger = atoll(optarg) * 1000000; break;
		default: usage();
		}
}

int
main(int argc, char **argv)
{
	struct opts	o = { 0 };
	long long	start = 0;
	size_t		done = 0;

	if (argc < 2)
		usage();
	parse_options(argc - 1, argv + 1, &o);
	if (strcmp(argv[1], "follow") == 0 && o.socket != NULL &&
	    o.nats != NULL && o.subject != NULL) {
		do_follow(&o);
		return 0;
	}
	if (strcmp(argv[1], "settle") == 0 && o.socket != NULL) {
		do_settle(&o);
		return 0;
	}
	if (strcmp(argv[1], "sql") == 0 && o.socket != NULL)
		done = do_sql(&o, &start);
	else if (strcmp(argv[1], "publish") == 0 && o.nats != NULL &&
	    o.subject != NULL)
		done = do_publish(&o, &start);
	else
		usage();
	printf("%lld %lld %zu\n", start, now_ns(), done);
	return done == o.rows ? 0 : 1;
}
