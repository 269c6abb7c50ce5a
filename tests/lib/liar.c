/*
 * liar.c - a proxy before a broker that answers instead of it; for tests
 *
 * usage: liar PORT TARGET FILE
 *
 * It takes connections at PORT of 127.0.0.1 and makes one to the port TARGET
 * for each, by a child of its own: who kills or stops a child cuts or stalls
 * one connection.  FILE has what is untrue now, a lie a line, and is read at
 * each message that a client publishes with a reply subject; no FILE, no lie.
 *
 *	SUBJECT HOW	messages to subjects that begin with SUBJECT are not
 *			passed on, and HOW is the answer
 *	deaf		nothing more comes from the broker: for a connection
 *			that is cut next
 *
 * HOW: nobody (no responders), silence, denied (permissions violation), empty,
 * garbage, cut (half of an answer), missing (no message found), or a number
 * CODE.ERR: an error of JetStream, as 503.10008.
 */
#include <arpa/inet.h>
#include <err.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <unistd.h>

#define BUFFER	(1 << 20)
#define MAXSUBS	64
#define MAXARGS	6

/* What the client has sent and is not passed on yet. */
static char	buffer[BUFFER];
static size_t	nbuffer;
static size_t	passing;	/* bytes of a payload, on their way */
static bool	dropping;	/* they are not passed on */
static const char	*lies_file;

/* The client's subscriptions: an answer needs the number of one. */
static struct {
	char	subject[256], sid[32];
} subs[MAXSUBS];
static size_t	nsubs;

static int
socket_at(const char *port, bool listening)
{
	struct sockaddr_in	sa = { .sin_family = AF_INET,
				    .sin_port = htons((uint16_t)atoi(port)),
				    .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	int			fd = socket(AF_INET, SOCK_STREAM, 0), on = 1;

	if (!listening)
		return connect(fd, (struct sockaddr *)&sa, sizeof(sa)) == 0 ?
		    fd : -1;
	setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
	if (bind(fd, (struct sockaddr *)&sa, sizeof(sa)) < 0 ||
	    listen(fd, 128) < 0)
		err(1, "port %s", port);
	return fd;
}

/* The end of one side is the end of the connection. */
static void
put(int fd, const char *data, size_t len)
{
	ssize_t	n;

	for (; len > 0; data += n, len -= (size_t)n)
		if ((n = send(fd, data, len, MSG_NOSIGNAL)) <= 0)
			_exit(0);
}

static void
put_text(int fd, const char *text)
{
	put(fd, text, strlen(text));
}

/* --- lies ------------------------------------------------------------------- */

/* Does the file have one for this subject?  Sets how to it. */
static bool
is_lie(const char *subject, char how[64])
{
	FILE	*f = fopen(lies_file, "r");
	char	 line[400], what[256];
	bool	 yes = false;

	if (f == NULL)
		return false;
	while (!yes && fgets(line, sizeof(line), f) != NULL)
		yes = sscanf(line, "%255s %63s", what, how) == 2 &&
		    strncmp(subject, what, strlen(what)) == 0;
	fclose(f);
	return yes;
}

static bool
is_deaf(void)
{
	FILE	*f = fopen(lies_file, "r");
	char	 line[400];
	bool	 yes = false;

	if (f == NULL)
		return false;
	while (!yes && fgets(line, sizeof(line), f) != NULL)
		yes = strcmp(line, "deaf\n") == 0;
	fclose(f);
	return yes;
}

/* The number of the subscription that takes this subject, or NULL. */
static const char *
sid_for(const char *subject)
{
	for (size_t i = 0; i < nsubs; i++) {
		size_t	n = strcspn(subs[i].subject, "*>");

		if (strncmp(subs[i].subject, subject, n) == 0 &&
		    (subs[i].subject[n] != '\0' || subject[n] == '\0'))
			return subs[i].sid;
	}
	return NULL;
}

static void
put_status(int client, const char *reply, const char *sid, const char *status)
{
	char	text[800], hdrs[100];
	int	n;

	n = snprintf(hdrs, sizeof(hdrs), "NATS/1.0 %s\r\n\r\n", status);
	snprintf(text, sizeof(text), "HMSG %s %s %d %d\r\n%s\r\n", reply, sid,
	    n, n, hdrs);
	put_text(client, text);
}

static void
put_body(int client, const char *reply, const char *sid, const char *body)
{
	char	text[1200];

	snprintf(text, sizeof(text), "MSG %s %s %zu\r\n%s\r\n", reply, sid,
	    strlen(body), body);
	put_text(client, text);
}

static void
lie(int client, const char *subject, const char *reply, const char *how)
{
	const char	*sid = sid_for(reply);
	char		 text[600];
	int		 code, number;

	if (strcmp(how, "denied") == 0) {
		snprintf(text, sizeof(text), "-ERR 'Permissions Violation for "
		    "Publish to \"%s\"'\r\n", subject);
		put_text(client, text);
	} else if (sid == NULL || strcmp(how, "silence") == 0) {
		return;
	} else if (strcmp(how, "nobody") == 0) {
		put_status(client, reply, sid, "503");
	} else if (strcmp(how, "missing") == 0) {
		put_body(client, reply, sid, "{\"error\":{\"code\":404,"
		    "\"err_code\":10037,\"description\":\"no message found\"}}");
	} else if (strcmp(how, "garbage") == 0) {
		put_body(client, reply, sid, "[\"?\", {}]");
	} else if (strcmp(how, "cut") == 0) {
		put_body(client, reply, sid, "{\"type\":\"io.nats.jetstream."
		    "api.v1.stream_info_response\",\"config\":{\"name\":\"EV");
	} else if (sscanf(how, "%d.%d", &code, &number) == 2) {
		snprintf(text, sizeof(text), "{\"type\":\"io.nats.jetstream."
		    "api.v1.error\",\"error\":{\"code\":%d,\"err_code\":%d,"
		    "\"description\":\"a lie\"}}", code, number);
		put_body(client, reply, sid, text);
	} else {
		put_body(client, reply, sid, "");
	}
}

/* --- what the client says ---------------------------------------------------- */

static void
note_sub(const char *subject, const char *sid)
{
	if (nsubs == MAXSUBS)
		return;
	snprintf(subs[nsubs].subject, sizeof(subs[nsubs].subject), "%s",
	    subject);
	snprintf(subs[nsubs++].sid, sizeof(subs[0].sid), "%s", sid);
}

/* One line of the protocol, without its end; false: not to be passed on. */
static bool
take_line(int client, const char *line)
{
	char	copy[2048], *args[MAXARGS] = { NULL }, *save = NULL, *p, how[64];
	int	n = 0;

	snprintf(copy, sizeof(copy), "%s", line);
	for (p = strtok_r(copy, " \t", &save); p != NULL && n < MAXARGS;
	    p = strtok_r(NULL, " \t", &save))
		args[n++] = p;
	if (n >= 3 && strcmp(args[0], "SUB") == 0)
		note_sub(args[1], args[n - 1]);
	if (n < 3 || (strcmp(args[0], "PUB") != 0 &&
	    strcmp(args[0], "HPUB") != 0))
		return true;
	passing = strtoul(args[n - 1], NULL, 10) + 2;
	dropping = false;
	/* PUB SUBJECT REPLY SIZE, HPUB SUBJECT REPLY SIZE SIZE */
	if (n != (args[0][0] == 'H' ? 5 : 4) || !is_lie(args[1], how))
		return true;
	dropping = true;
	lie(client, args[1], args[2], how);
	return false;
}

static void
forget(size_t n)
{
	nbuffer -= n;
	memmove(buffer, buffer + n, nbuffer);
}

static void
take_client(int client, int server)
{
	ssize_t	 got = recv(client, buffer + nbuffer, BUFFER - nbuffer, 0);
	char	*end;
	size_t	 n, at = 0;

	if (got <= 0)
		_exit(0);
	nbuffer += (size_t)got;
	while (at < nbuffer) {
		if (passing > 0) {
			n = nbuffer - at < passing ? nbuffer - at : passing;
			if (!dropping)
				put(server, buffer + at, n);
			passing -= n;
			at += n;
			continue;
		}
		end = memmem(buffer + at, nbuffer - at, "\r\n", 2);
		if (end == NULL)
			break;
		*end = '\0';
		n = strlen(buffer + at) + 2;
		if (take_line(client, buffer + at)) {
			*end = '\r';
			put(server, buffer + at, n);
		}
		at += n;
	}
	forget(at);
	if (nbuffer == BUFFER)
		errx(1, "a line of %d bytes", BUFFER);
}

static void
take_server(int client, int server)
{
	static char	data[65536];
	ssize_t		got = recv(server, data, sizeof(data), 0);

	if (got <= 0)
		_exit(0);
	if (!is_deaf())
		put(client, data, (size_t)got);
}

static void
serve(int client, const char *target)
{
	struct pollfd	fds[2] = { { .fd = client, .events = POLLIN },
			    { .events = POLLIN } };
	int		on = 1;

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if ((fds[1].fd = socket_at(target, false)) < 0)
		_exit(1);
	for (int i = 0; i < 2; i++)
		setsockopt(fds[i].fd, IPPROTO_TCP, TCP_NODELAY, &on,
		    sizeof(on));
	for (;;) {
		if (poll(fds, 2, -1) < 0)
			_exit(1);
		if (fds[0].revents != 0)
			take_client(client, fds[1].fd);
		if (fds[1].revents != 0)
			take_server(client, fds[1].fd);
	}
}

int
main(int argc, char **argv)
{
	int	listener, client;

	if (argc != 4)
		errx(2, "usage: liar PORT TARGET FILE");
	lies_file = argv[3];
	signal(SIGCHLD, SIG_IGN);
	listener = socket_at(argv[1], true);
	while ((client = accept(listener, NULL, NULL)) >= 0) {
		if (fork() == 0) {
			close(listener);
			serve(client, argv[2]);
		}
		close(client);
	}
	err(1, "accept");
}
