/*
 * clients.c - HTTP clients that behave badly, many at a time; for tests
 *
 * usage: clients KIND COUNT SOCKET [PATH]
 *
 * SOCKET is the path of a Unix socket, or a port of 127.0.0.1.  KIND:
 *
 *	slow	begin a request, and send a byte of it each second; those that
 *		are cut off connect again.  "ready" is printed when so many have
 *		been connected.
 *	hold	ask for PATH, print the status of each answer, and read on,
 *		until we are killed.
 *	deaf	ask for PATH again and again and read nothing; "dropped" is
 *		printed when all have been cut off, and that is the end.
 */
#include <arpa/inet.h>
#include <err.h>
#include <errno.h>
#include <netinet/in.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#define MANY	2000

static struct pollfd	fds[MANY];
static bool		answered[MANY];
static char		request[2048];
static size_t		request_len;

static int
connect_unix(const char *path)
{
	struct sockaddr_un	to = { .sun_family = AF_UNIX };
	int			fd = socket(AF_UNIX, SOCK_STREAM, 0);

	snprintf(to.sun_path, sizeof(to.sun_path), "%s", path);
	if (fd >= 0 && connect(fd, (struct sockaddr *)&to, sizeof(to)) == 0)
		return fd;
	close(fd);
	return -1;
}

static int
connect_tcp(const char *port)
{
	struct sockaddr_in	to = { .sin_family = AF_INET,
				    .sin_port = htons((uint16_t)atoi(port)),
				    .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	int			fd = socket(AF_INET, SOCK_STREAM, 0);

	if (fd >= 0 && connect(fd, (struct sockaddr *)&to, sizeof(to)) == 0)
		return fd;
	close(fd);
	return -1;
}

/* Blocks until the server has room for it in its queue. */
static int
join(const char *where)
{
	return *where == '/' ? connect_unix(where) : connect_tcp(where);
}

static void
send_text(int fd, const char *text, size_t len)
{
	send(fd, text, len, MSG_NOSIGNAL | MSG_DONTWAIT);
}

/* --- slow ------------------------------------------------------------------- */

static bool
is_cut(int fd)
{
	struct pollfd	p = { .fd = fd, .events = POLLIN };

	return poll(&p, 1, 0) > 0;
}

static void
keep_slow(unsigned i, const char *where)
{
	if (fds[i].fd >= 0 && is_cut(fds[i].fd)) {
		close(fds[i].fd);
		fds[i].fd = -1;
	}
	if (fds[i].fd >= 0) {
		send_text(fds[i].fd, "a", 1);
		return;
	}
	if ((fds[i].fd = join(where)) >= 0)
		send_text(fds[i].fd, request, request_len - 2);
}

static void
be_slow(unsigned n, const char *where)
{
	for (unsigned i = 0; i < n; i++)
		fds[i].fd = -1;
	for (unsigned round = 0;; round++) {
		for (unsigned i = 0; i < n; i++)
			keep_slow(i, where);
		if (round == 0) {
			puts("ready");
			fflush(stdout);
		}
		poll(NULL, 0, 1000);
	}
}

/* --- hold, deaf ------------------------------------------------------------- */

static void
join_all(unsigned n, const char *where, short events)
{
	for (unsigned i = 0; i < n; i++) {
		fds[i] = (struct pollfd){ .fd = join(where), .events = events };
		if (fds[i].fd < 0)
			err(1, "%s", where);
		send_text(fds[i].fd, request, request_len);
	}
}

/* "HTTP/1.1 200 OK" */
static void
read_answer(unsigned i)
{
	char	text[65536];
	ssize_t	n = recv(fds[i].fd, text, sizeof(text) - 1, 0);

	if (n <= 0) {
		printf("closed\n");
		fds[i].fd = -1;
	} else if (!answered[i]) {
		text[n] = '\0';
		printf("%.3s\n", n > 12 ? text + 9 : "?");
		answered[i] = true;
	}
	fflush(stdout);
}

static void
hold(unsigned n)
{
	for (;;) {
		poll(fds, n, -1);
		for (unsigned i = 0; i < n; i++)
			if (fds[i].revents != 0)
				read_answer(i);
	}
}

static void
be_deaf(unsigned n)
{
	unsigned	done = 0;

	while (done < n) {
		poll(fds, n, 100);
		for (unsigned i = 0; i < n; i++)
			if (fds[i].revents & (POLLHUP | POLLRDHUP | POLLERR)) {
				fds[i].fd = -1;
				fds[i].revents = 0;
				done++;
			} else if (fds[i].fd >= 0)
				send_text(fds[i].fd, request, request_len);
	}
	puts("dropped");
}

int
main(int argc, char **argv)
{
	struct rlimit	files;
	unsigned	n = argc > 2 ? (unsigned)atoi(argv[2]) : 0;

	if (argc < 4 || n == 0 || n > MANY)
		errx(2, "usage: clients slow|hold|deaf COUNT SOCKET [PATH]");
	getrlimit(RLIMIT_NOFILE, &files);
	files.rlim_cur = files.rlim_max;
	setrlimit(RLIMIT_NOFILE, &files);
	request_len = (size_t)snprintf(request, sizeof(request),
	    "GET %s HTTP/1.1\r\nHost: localhost\r\n\r\n",
	    argc > 4 ? argv[4] : "/");
	if (strcmp(argv[1], "slow") == 0)
		be_slow(n, argv[3]);
	join_all(n, argv[3], strcmp(argv[1], "hold") == 0 ? POLLIN : POLLRDHUP);
	if (strcmp(argv[1], "hold") == 0)
		hold(n);
	be_deaf(n);
	return 0;
}
