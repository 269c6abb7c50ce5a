/* door.c - see door.h */

#include "monitor/door.h"

#include <errno.h>
#include <netdb.h>
#include <netinet/in.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <bsd/string.h>

#define BACKLOG	1024

static int
new_socket(int family)
{
	return socket(family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
}

/* Remove what a monitor that was killed has left; nothing but a socket. */
static int
remove_old(const struct sockaddr_un *at, struct err *e)
{
	struct stat	st;
	int		fd;
	bool		in_use;

	if (lstat(at->sun_path, &st) < 0)
		return 0;
	if (!S_ISSOCK(st.st_mode))
		return err_set(e, "it exists and is no socket");
	fd = new_socket(AF_UNIX);
	in_use = fd < 0 ||
	    connect(fd, (const struct sockaddr *)at, sizeof(*at)) == 0 ||
	    (errno != ECONNREFUSED && errno != ENOENT);
	if (fd >= 0)
		close(fd);
	if (in_use)
		return err_set(e, "another process listens on it");
	return unlink(at->sun_path) < 0 && errno != ENOENT ?
	    err_set(e, "%s", strerror(errno)) : 0;
}

static int
listen_unix(const char *path, struct err *e)
{
	struct sockaddr_un	at = { .sun_family = AF_UNIX };
	mode_t			mask;
	int			fd, rc;

	if (strlcpy(at.sun_path, path, sizeof(at.sun_path)) >=
	    sizeof(at.sun_path))
		return err_set(e, "the path is too long: set monitor.socket");
	if (remove_old(&at, e) < 0)
		return -1;
	if ((fd = new_socket(AF_UNIX)) < 0)
		return err_set(e, "%s", strerror(errno));
	/* bind() makes the file with the rights that the umask allows. */
	mask = umask(0117);
	rc = bind(fd, (const struct sockaddr *)&at, sizeof(at));
	umask(mask);
	if (rc == 0 && listen(fd, BACKLOG) == 0)
		return fd;
	err_set(e, "%s", strerror(errno));
	close(fd);
	return -1;
}

/*
 * "[::1]:9180" or "127.0.0.1:9180", as the configuration has checked it; a name
 * is one of this host: no name server is asked.
 */
static int
listen_tcp(const char *address, struct err *e)
{
	struct addrinfo	 hints = { .ai_socktype = SOCK_STREAM,
			     .ai_flags = AI_PASSIVE | AI_NUMERICSERV };
	struct addrinfo	*list;
	const char	*colon = strrchr(address, ':');
	char		 host[256];
	int		 rc, fd, on = 1;

	if (*address == '[')
		snprintf(host, sizeof(host), "%.*s",
		    (int)(colon - address - 2), address + 1);
	else
		snprintf(host, sizeof(host), "%.*s", (int)(colon - address),
		    address);
	hints.ai_flags |= strcmp(host, "localhost") == 0 ? 0 : AI_NUMERICHOST;
	if ((rc = getaddrinfo(host, colon + 1, &hints, &list)) != 0)
		return err_set(e, "%s", gai_strerror(rc));
	fd = new_socket(list->ai_family);
	if (fd < 0 ||
	    setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on)) < 0 ||
	    bind(fd, list->ai_addr, list->ai_addrlen) < 0 ||
	    listen(fd, BACKLOG) < 0) {
		err_set(e, "%s", strerror(errno));
		if (fd >= 0)
			close(fd);
		fd = -1;
	}
	freeaddrinfo(list);
	return fd;
}

bool
door_open(struct door *d, int64_t now)
{
	struct err	before = d->why, e = { 0 };

	if (d->fd >= 0 || d->name[0] == '\0' || now < d->try_at)
		return false;
	d->fd = d->is_tcp ? listen_tcp(d->name, &e) : listen_unix(d->name, &e);
	d->try_at = now + DOOR_RETRY_MS;
	d->why = (struct err){ 0 };
	if (d->fd < 0)
		err_set(&d->why, "cannot listen on %s: %s", d->name, e.text);
	return d->fd >= 0 || strcmp(before.text, d->why.text) != 0;
}

int
door_accept(const struct door *d)
{
	return d->fd < 0 ? -1 : accept4(d->fd, NULL, NULL,
	    SOCK_CLOEXEC | SOCK_NONBLOCK);
}

void
door_close(struct door *d)
{
	if (d->fd < 0)
		return;
	if (!d->is_tcp)
		unlink(d->name);
	close(d->fd);
	d->fd = -1;
}
