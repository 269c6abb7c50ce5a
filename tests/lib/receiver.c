/*
 * receiver.c - an HTTP server that does as it is told; for tests
 *
 * usage: receiver DIRECTORY [PORT]
 *
 * Listens on 127.0.0.1 and writes its port to DIRECTORY/port.  Each request is
 * a line of DIRECTORY/log: status, path, Idempotency-Key, X-Outbox-Key and
 * Outbox-Sequence, with tabs; "overlap" if another request with the same key had
 * no answer yet, or nothing; and the time.  DIRECTORY/last has the last request
 * as it came, DIRECTORY/most the highest number of requests without an answer.
 *
 * DIRECTORY/orders is read for each request, one order in a line, first match
 * wins, and 200 without one:
 *
 *	PREFIX TIMES ANSWER [ARGUMENT]
 *
 * PREFIX of the path, or *TEXT of the body; TIMES 0: always, N%: of a hundred so
 * many, by chance; a file that has changed counts anew.  ANSWER is a status,
 * with an argument "Name:value" as a header, or
 *
 *	hang		no answer
 *	close		close without an answer
 *	cut		close in the middle of the answer
 *	slow MS		200 after a while
 *	long N		200 with N bytes of body
 *	head N		200 with N bytes of headers
 */
#include <arpa/inet.h>
#include <err.h>
#include <netinet/in.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#define MANY		1100
#define ORDERS		64

struct conn {
	int	 fd;		/* -1: free */
	char	*in;
	size_t	 n;
	bool	 out;		/* a request has no answer yet */
	bool	 hung;
	int64_t	 reply_at;	/* 0: not slow */
	char	 key[300];
};

static struct conn	conns[MANY];
static unsigned		used[ORDERS];
static struct timespec	orders_time;
static off_t		orders_size;
static unsigned		most;

static int64_t
now_ms(void)
{
	struct timespec	ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (int64_t)ts.tv_sec * 1000 + ts.tv_nsec / 1000000;
}

static void
hang_up(struct conn *c)
{
	close(c->fd);
	free(c->in);
	*c = (struct conn){ .fd = -1 };
}

/* The value of a header; "-": it is not there. */
static const char *
header(const char *head, const char *name, char value[300])
{
	const char	*p = strcasestr(head, name);

	snprintf(value, 300, "-");
	if (p != NULL)
		snprintf(value, 300, "%.*s",
		    (int)strcspn(p + strlen(name) + 2, "\r\n"),
		    p + strlen(name) + 2);
	return value;
}

struct order {
	char	prefix[200], answer[40], argument[400];
};

static bool
is_meant(const struct order *o, const char *path, const char *body, size_t n)
{
	const char	*text = o->prefix + 1;

	if (o->prefix[0] == '*')
		return memmem(body, n, text, strlen(text)) != NULL;
	return strncmp(path, o->prefix, strlen(o->prefix)) == 0;
}

/* The order for this request; an empty answer: none. */
static struct order
find_order(const char *path, const char *body, size_t n)
{
	struct order	 o, none = { .answer = "" };
	FILE		*f = fopen("orders", "r");
	struct stat	 st;
	char		 line[800], often[16], *end;
	unsigned long	 times;
	bool		 found = false;

	if (f == NULL)
		return none;
	if (fstat(fileno(f), &st) == 0 && (st.st_size != orders_size ||
	    st.st_mtim.tv_nsec != orders_time.tv_nsec ||
	    st.st_mtim.tv_sec != orders_time.tv_sec)) {
		memset(used, 0, sizeof(used));
		orders_time = st.st_mtim;
		orders_size = st.st_size;
	}
	for (int i = 0; !found && i < ORDERS &&
	    fgets(line, sizeof(line), f) != NULL; i++) {
		o = none;
		if (sscanf(line, "%199s %15s %39s %399[^\n]", o.prefix, often,
		    o.answer, o.argument) < 3 || !is_meant(&o, path, body, n))
			continue;
		times = strtoul(often, &end, 10);
		if (*end == '%' ? (unsigned long)random() % 100 >= times :
		    times > 0 && used[i] >= times)
			continue;
		used[i]++;
		found = true;
	}
	fclose(f);
	return found ? o : none;
}

static void
send_all(struct conn *c, const char *text, size_t n)
{
	while (n > 0) {
		ssize_t some = send(c->fd, text, n, MSG_NOSIGNAL);

		if (some <= 0)
			return;
		text += some;
		n -= (size_t)some;
	}
}

static void
reply(struct conn *c, int status, const char *extra, size_t padding,
    size_t length, size_t sent)
{
	char	*text = calloc(1, padding + sent + 1000);
	int	 n;

	n = sprintf(text, "HTTP/1.1 %d X\r\nContent-Length: %zu\r\n%s%s",
	    status, length, extra, extra[0] == '\0' ? "" : "\r\n");
	if (padding > 0) {
		n += sprintf(text + n, "X-Padding: ");
		memset(text + n, 'x', padding);
		n += (int)padding;
		n += sprintf(text + n, "\r\n");
	}
	n += sprintf(text + n, "\r\n");
	memset(text + n, 'b', sent);
	send_all(c, text, (size_t)n + sent);
	free(text);
	c->out = false;
}

static void
obey(struct conn *c, const struct order *o)
{
	size_t	number = (size_t)strtoul(o->argument, NULL, 10);
	int	status = atoi(o->answer);

	if (strcmp(o->answer, "hang") == 0)
		c->hung = true;
	else if (strcmp(o->answer, "close") == 0)
		hang_up(c);
	else if (strcmp(o->answer, "cut") == 0) {
		reply(c, 200, "", 0, 100, 50);
		hang_up(c);
	} else if (strcmp(o->answer, "slow") == 0)
		c->reply_at = now_ms() + (int64_t)number;
	else if (strcmp(o->answer, "long") == 0)
		reply(c, 200, "", 0, number, number);
	else if (strcmp(o->answer, "head") == 0)
		reply(c, 200, "", number, 2, 2);
	else
		reply(c, status == 0 ? 200 : status, o->argument, 0, 2, 2);
}

static void
note(const struct conn *c, const struct order *o, const char *path,
    const char *head)
{
	struct timespec	ts;
	char	 id[300], sequence[300];
	FILE	*f = fopen("log", "a");
	bool	 overlap = false;
	unsigned n = 0;

	for (size_t i = 0; i < MANY; i++) {
		n += conns[i].fd >= 0 && conns[i].out;
		overlap = overlap || (&conns[i] != c && conns[i].fd >= 0 &&
		    conns[i].out && strcmp(conns[i].key, c->key) == 0);
	}
	clock_gettime(CLOCK_REALTIME, &ts);
	fprintf(f, "%s\t%s\t%s\t%s\t%s\t%s\t%lld.%06ld\n", o->answer[0] == '\0' ? "200" :
	    o->answer, path, header(head, "\nIdempotency-Key", id), c->key,
	    header(head, "\nOutbox-Sequence", sequence),
	    overlap ? "overlap" : "", (long long)ts.tv_sec, ts.tv_nsec / 1000);
	fclose(f);
	if (n > most && (most = n) > 0 && (f = fopen("most", "w")) != NULL) {
		fprintf(f, "%u\n", n);
		fclose(f);
	}
}

static void
serve(struct conn *c, size_t head, size_t body)
{
	char		 path[4000] = "";
	struct order	 o;
	FILE		*f = fopen("last", "w");

	fwrite(c->in, 1, head + body, f);
	fclose(f);
	c->in[head - 1] = '\0';
	sscanf(c->in, "POST %3999s", path);
	c->out = true;
	header(c->in, "\nX-Outbox-Key", c->key);
	o = find_order(path, c->in + head, body);
	note(c, &o, path, c->in);
	c->n -= head + body;
	memmove(c->in, c->in + head + body, c->n);
	obey(c, &o);
}

/* True: it had a whole request. */
static bool
parse(struct conn *c)
{
	char	*end, value[300];
	size_t	 head, body;

	if (c->n == 0)
		return false;
	c->in[c->n] = '\0';
	if ((end = strstr(c->in, "\r\n\r\n")) == NULL)
		return false;
	head = (size_t)(end - c->in) + 4;
	body = (size_t)strtoul(header(c->in, "\nContent-Length", value), NULL,
	    10);
	if (c->n < head + body)
		return false;
	serve(c, head, body);
	return true;
}

static void
take(struct conn *c)
{
	ssize_t	n;

	c->in = realloc(c->in, c->n + 65537);
	n = recv(c->fd, c->in + c->n, 65536, 0);
	if (n <= 0) {
		hang_up(c);
		return;
	}
	c->n += (size_t)n;
	while (c->fd >= 0 && !c->out && parse(c))
		;
}

static void
accept_one(int server)
{
	int	fd = accept(server, NULL, NULL);

	for (size_t i = 0; fd >= 0 && i < MANY; i++)
		if (conns[i].fd < 0) {
			conns[i].fd = fd;
			return;
		}
	if (fd >= 0)
		close(fd);
}

static int
listen_on(int port)
{
	int			fd = socket(AF_INET, SOCK_STREAM, 0), on = 1;
	struct sockaddr_in	in = { .sin_family = AF_INET,
				    .sin_port = htons((uint16_t)port) };
	socklen_t		len = sizeof(in);
	FILE			*f;

	in.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
	if (bind(fd, (struct sockaddr *)&in, sizeof(in)) < 0 ||
	    listen(fd, 512) < 0 ||
	    getsockname(fd, (struct sockaddr *)&in, &len) < 0)
		err(1, "port %d", port);
	if ((f = fopen("port.new", "w")) == NULL)
		err(1, "port.new");
	fprintf(f, "%d\n", ntohs(in.sin_port));
	fclose(f);
	rename("port.new", "port");
	return fd;
}

/* The ms until the next slow answer; -1: there is none. */
static int
answer_slow_ones(void)
{
	int64_t	now = now_ms(), next = -1;

	for (size_t i = 0; i < MANY; i++) {
		struct conn *c = &conns[i];

		if (c->fd < 0 || c->reply_at == 0)
			continue;
		if (c->reply_at <= now) {
			c->reply_at = 0;
			reply(c, 200, "", 0, 2, 2);
			while (c->fd >= 0 && !c->out && parse(c))
				;
		} else if (next < 0 || c->reply_at - now < next)
			next = c->reply_at - now;
	}
	return (int)next;
}

int
main(int argc, char **argv)
{
	static struct pollfd	fds[MANY + 1];
	int			server;

	if (argc < 2 || chdir(argv[1]) < 0)
		errx(1, "usage: receiver DIRECTORY [PORT]");
	signal(SIGPIPE, SIG_IGN);
	for (size_t i = 0; i < MANY; i++)
		conns[i].fd = -1;
	server = listen_on(argc > 2 ? atoi(argv[2]) : 0);
	for (;;) {
		for (size_t i = 0; i < MANY; i++)
			fds[i] = (struct pollfd){ conns[i].fd, POLLIN, 0 };
		fds[MANY] = (struct pollfd){ server, POLLIN, 0 };
		poll(fds, MANY + 1, answer_slow_ones());
		if (fds[MANY].revents != 0)
			accept_one(server);
		for (size_t i = 0; i < MANY; i++)
			if (conns[i].fd >= 0 && fds[i].fd == conns[i].fd &&
			    fds[i].revents != 0)
				take(&conns[i]);
	}
}
