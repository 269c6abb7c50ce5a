/* fault.c - see fault.h; in test builds only */

#include "util/fault.h"

#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include <bsd/string.h>

#include "util/log.h"

#define ORDER_MAX	128

static struct {
	char		text[ORDER_MAX];
	char		point[64];
	unsigned	nth;
	char		act[16];
	unsigned	hits;		/* of the point, by this process */
} order;

bool
fault_is_wanted(void)
{
	return getenv("OUTBOX_FAULT") != NULL;
}

/* Read the order; false: there is none.  A new order resets the count. */
static bool
read_order(const char *path)
{
	char	text[ORDER_MAX] = "";
	int	fd = open(path, O_RDONLY | O_CLOEXEC);

	if (fd < 0)
		return false;
	if (read(fd, text, sizeof(text) - 1) < 0)
		text[0] = '\0';
	close(fd);
	if (strcmp(text, order.text) == 0)
		return true;
	memset(&order, 0, sizeof(order));
	strlcpy(order.text, text, sizeof(order.text));
	if (sscanf(text, "%63[^:]:%u:%15s", order.point, &order.nth,
	    order.act) != 3)
		panic("fault point: \"%s\" is not POINT:NTH:ACT", text);
	return true;
}

/* True if an order tells this process to act at this point now. */
static bool
is_ordered(const char *what, const char *when)
{
	const char	*dir = getenv("OUTBOX_FAULT");
	char		 point[64], path[PATH_MAX], fired[PATH_MAX];
	int		 fd;

	if (dir == NULL)
		return false;
	snprintf(point, sizeof(point), "%s.%s", what, when);
	snprintf(path, sizeof(path), "%s/passed/%s", dir, point);
	fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0644);
	if (fd >= 0)
		close(fd);
	snprintf(path, sizeof(path), "%s/armed", dir);
	if (!read_order(path) || strcmp(order.point, point) != 0)
		return false;
	if (order.nth == 0)
		return true;
	snprintf(fired, sizeof(fired), "%s/armed.%ld", dir, (long)getpid());
	return ++order.hits == order.nth && rename(path, fired) == 0;
}

/*
 * As if the server had closed the connection.  shutdown() would not do: an answer
 * that has arrived already could still be read.
 */
static void
lose(int fd)
{
	int	pair[2];

	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) < 0 ||
	    dup3(pair[0], fd, O_CLOEXEC) < 0)
		panic("fault point: %s: cannot lose a connection", order.point);
	close(pair[0]);
	close(pair[1]);
}

void
fault_point(const char *what, const char *when, int fd)
{
	if (!is_ordered(what, when))
		return;
	if (strcmp(order.act, "kill") == 0)
		raise(SIGKILL);
	else if (strcmp(order.act, "stop") == 0)
		raise(SIGSTOP);
	else if (strcmp(order.act, "lost") == 0)
		lose(fd);
	else
		panic("fault point: %s: no act %s", order.point, order.act);
}

/* SIGNAL: the server raises the error, as it would a real one. */
void
fault_instead(const char *what, const char **sql, size_t *len)
{
	static char	text[160];

	if (!is_ordered(what, "instead"))
		return;
	*len = (size_t)snprintf(text, sizeof(text), "SIGNAL SQLSTATE 'HY000' "
	    "SET MYSQL_ERRNO = %s, MESSAGE_TEXT = 'as ordered'", order.act);
	*sql = text;
}
