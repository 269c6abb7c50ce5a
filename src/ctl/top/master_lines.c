/* master_lines.c - see master_lines.h */

#include "ctl/top/master_lines.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <bsd/stdlib.h>

#include "util/sig.h"
#include "util/xalloc.h"

#define CHUNK		65536
#define HELD_MAX	(256 * 1024)	/* bytes of the log */

static int
take_pipe(const char *variable)
{
	const char	*text = getenv(variable);
	int		 fd = text == NULL ? 0 : (int)strtonum(text, 3, 1024,
			    NULL);

	if (fd == 0 || fcntl(fd, F_SETFL, O_NONBLOCK) < 0)
		return -1;
	fcntl(fd, F_SETFD, FD_CLOEXEC);
	return fd;
}

bool
master_lines_take(struct master_lines *l)
{
	*l = (struct master_lines){ .log = take_pipe("OUTBOX_TOP_LOG"),
	    .reports = take_pipe("OUTBOX_TOP_REPORTS") };
	return l->reports >= 0;
}

/* What is there; 0: nothing, or *fd is closed now. */
static size_t
read_some(int *fd, char data[CHUNK])
{
	ssize_t	n = *fd < 0 ? -1 : read(*fd, data, CHUNK);

	if (n == 0) {
		close(*fd);
		*fd = -1;
	}
	return n < 0 ? 0 : (size_t)n;
}

void
master_lines_drop_reports(struct master_lines *l)
{
	char	data[CHUNK];

	read_some(&l->reports, data);
}

char *
master_lines_next(struct master_lines *l)
{
	char		 data[CHUNK], *line, *end;
	struct buf	*b = &l->held;
	size_t		 cut;

	buf_add(b, data, read_some(&l->log, data));
	if (b->len > HELD_MAX) {
		/* Forget the oldest lines. */
		cut = b->len - HELD_MAX / 2;
		end = memchr(b->data + cut, '\n', b->len - cut);
		if (end != NULL)
			cut = (size_t)(end + 1 - b->data);
		memmove(b->data, b->data + cut, b->len - cut);
		buf_chop(b, cut);
		l->forgotten += cut;
		l->shown = l->shown > cut ? l->shown - cut : 0;
	}
	if (l->shown == b->len)
		return NULL;
	line = b->data + l->shown;
	end = memchr(line, '\n', b->len - l->shown);
	if (end == NULL)
		return NULL;
	l->shown += (size_t)(end + 1 - line);
	return xstrndup(line, (size_t)(end - line));
}

/* false: the terminal is gone. */
static bool
print(int fd, const char *data, size_t n)
{
	ssize_t	done;

	for (; n > 0; data += done, n -= (size_t)done)
		if ((done = write(fd, data, n)) <= 0)
			return false;
	return true;
}

/* 1: some was there, and is printed; -1: the terminal is gone. */
static int
copy_both(struct master_lines *l)
{
	char	data[CHUNK];
	size_t	log = read_some(&l->log, data), reports;

	if (!print(STDERR_FILENO, data, log))
		return -1;
	reports = read_some(&l->reports, data);
	return !print(STDOUT_FILENO, data, reports) ? -1 : log + reports > 0;
}

void
master_lines_print(struct master_lines *l)
{
	struct pollfd	fds[2];

	if (l->forgotten > 0)
		fprintf(stderr, "outbox-master: %llu bytes of earlier lines "
		    "were not kept\n", (unsigned long long)l->forgotten);
	if (!print(STDERR_FILENO, l->held.data, l->held.len))
		return;
	buf_free(&l->held);
	while (got_term == 0 && (l->log >= 0 || l->reports >= 0)) {
		fds[0] = (struct pollfd){ l->log, POLLIN, 0 };
		fds[1] = (struct pollfd){ l->reports, POLLIN, 0 };
		sig_wait(fds, 2, -1);
		if (copy_both(l) < 0)
			return;
	}
	while (copy_both(l) > 0)
		continue;
}
