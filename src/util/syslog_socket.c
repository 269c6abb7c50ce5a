/*
 * syslog_socket.c - see syslog_socket.h
 *
 * syslog(3) waits in send(2) for as long as the system's log reads nothing, and
 * a worker must not wait with it.
 */

#include "util/syslog_socket.h"

#include <errno.h>
#include <stdio.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <syslog.h>
#include <time.h>
#include <unistd.h>

#include <bsd/string.h>

static int
connect_as(int type, const char *path)
{
	struct sockaddr_un	a = { .sun_family = AF_UNIX };
	int			fd, error;

	if (strlcpy(a.sun_path, path, sizeof(a.sun_path)) >=
	    sizeof(a.sun_path)) {
		errno = ENAMETOOLONG;
		return -1;
	}
	fd = socket(AF_UNIX, type | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (fd < 0 ||
	    connect(fd, (const struct sockaddr *)&a, sizeof(a)) == 0)
		return fd;
	error = errno;
	close(fd);
	errno = error;
	return -1;
}

int
syslog_socket_open(const char *path, bool *stream)
{
	int	fd = connect_as(SOCK_DGRAM, path);

	*stream = fd < 0 && errno == EPROTOTYPE;
	return *stream ? connect_as(SOCK_STREAM, path) : fd;
}

size_t
syslog_socket_head(char *p, size_t size, int priority)
{
	time_t		now = time(NULL);
	char		when[32];
	struct tm	tm;

	localtime_r(&now, &tm);
	strftime(when, sizeof(when), "%b %e %H:%M:%S", &tm);
	return (size_t)snprintf(p, size, "<%d>%s outbox-master[%d]: ",
	    LOG_DAEMON | priority, when, (int)getpid());
}
