/*
 * probe.c - probe: ask the monitor of this host whether the daemon lives, or is
 * ready
 *
 * For containers, which have no other program that speaks HTTP over a Unix
 * socket.  Needs no database, so it may be asked often.
 */

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/un.h>
#include <unistd.h>

#include <bsd/string.h>

#include "ctl/base/ctl.h"
#include "ipc/daemon.h"
#include "util/buf.h"
#include "util/display.h"

#define ANSWER_S	20	/* longer than /readyz waits for its answer */
#define ANSWER_MAX	65536

/* Connected, with time-outs.  -1: see errno. */
static int
connect_to(const char *path)
{
	struct sockaddr_un	a = { .sun_family = AF_UNIX };
	struct timeval		wait = { .tv_sec = ANSWER_S };
	int			fd;

	if (strlcpy(a.sun_path, path, sizeof(a.sun_path)) >=
	    sizeof(a.sun_path)) {
		errno = ENAMETOOLONG;
		return -1;
	}
	if ((fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0)) < 0)
		return -1;
	setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &wait, sizeof(wait));
	setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &wait, sizeof(wait));
	if (connect(fd, (struct sockaddr *)&a, sizeof(a)) < 0) {
		close(fd);
		return -1;
	}
	return fd;
}

/* HTTP/1.0: the answer ends with the connection. */
static int
get(int fd, const char *path, struct buf *answer)
{
	struct buf	request = { 0 };
	ssize_t		n;

	buf_printf(&request, "GET /%s HTTP/1.0\r\nHost: localhost\r\n\r\n",
	    path);
	n = send(fd, request.data, request.len, MSG_NOSIGNAL);
	buf_free(&request);
	while (n > 0 && answer->len < ANSWER_MAX) {
		n = recv(fd, buf_reserve(answer, 4096), 4095, 0);
		if (n > 0)
			answer->len += (size_t)n;
	}
	return n < 0 ? -1 : 0;
}

static int
report(const struct ctl *c, struct buf *answer)
{
	char	*body;
	long	 status = 0;

	*buf_reserve(answer, 1) = '\0';
	body = strstr(answer->data, "\r\n\r\n");
	if (strncmp(answer->data, "HTTP/1.", 7) == 0 && answer->len >= 12 &&
	    body != NULL)
		status = strtol(answer->data + 8, NULL, 10);
	if (status < 100 || status > 599)
		return ctl_error("the monitor gave no answer");
	body += 4;
	if (c->args.json)
		print_object(c, json_pack("{s:i, s:s}", "http", (int)status,
		    "text", body));
	else
		display_print(stdout, "%s", body);
	return status == 200 ? CTL_DONE : CTL_FAILED;
}

/* What is asked for; NULL: neither. */
static const char *
path_of(const struct args *a)
{
	bool	ready = strcmp(a->rest[0], "readyz") == 0;

	if (a->nrest == 1)
		return ready || strcmp(a->rest[0], "healthz") == 0 ?
		    a->rest[0] : NULL;
	return ready && strcmp(a->rest[1], "critical") == 0 ?
	    "readyz?severity=critical" : NULL;
}

int
probe_run(struct ctl *c)
{
	const char	*path = path_of(&c->args);
	struct buf	 answer = { 0 };
	char		*socket;
	int		 fd, status;

	if (path == NULL)
		return ctl_misuse("%s: healthz, readyz or readyz critical",
		    c->args.rest[0]);
	socket = daemon_monitor_socket(c->conf);
	if ((fd = connect_to(socket)) < 0 || get(fd, path, &answer) < 0)
		status = ctl_error("%s: %s: the monitor of this host does not "
		    "answer; is outbox-master running?", socket,
		    strerror(errno));
	else
		status = report(c, &answer);
	if (fd >= 0)
		close(fd);
	free(socket);
	buf_free(&answer);
	return status;
}
