/*
 * line_output.c - see line_output.h
 *
 * Several processes append to one file, so a line is one write(2).  If the disk
 * gets full in the middle of a line, the half line is taken out of the file
 * again.  Where that is impossible its rest goes before the next line.
 */

#include "util/line_output.h"

#include <errno.h>
#include <poll.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "util/xalloc.h"

/* False: the reader is too slow, errno EAGAIN.  A write finds other errors. */
static bool
takes_bytes(int fd, int patience_ms)
{
	struct pollfd	p = { .fd = fd, .events = POLLOUT };

	if (poll(&p, 1, patience_ms) != 0)
		return true;
	errno = EAGAIN;
	return false;
}

/* Returns the bytes written; fewer than n: errno says why. */
static size_t
write_most(int fd, const char *p, size_t n, int patience_ms)
{
	size_t	done = 0;
	ssize_t	some;

	while (done < n) {
		some = write(fd, p + done, n - done);
		if (some > 0)
			done += (size_t)some;
		else if (some == 0 || (errno != EINTR && (errno != EAGAIN ||
		    !takes_bytes(fd, patience_ms))))
			break;
	}
	return done;
}

/* False if another process has written meanwhile. */
static bool
take_back(int fd, const struct stat *before, size_t n)
{
	struct stat	now;

	if (fstat(fd, &now) < 0 ||
	    now.st_size != before->st_size + (off_t)n ||
	    ftruncate(fd, before->st_size) < 0)
		return false;
	/* For a descriptor without O_APPEND. */
	return lseek(fd, before->st_size, SEEK_SET) >= 0;
}

static int
finish(struct line_output *o, int patience_ms)
{
	size_t	n = write_most(o->fd, o->rest, o->nrest, patience_ms);

	o->nrest -= n;
	memmove(o->rest, o->rest + n, o->nrest);
	if (o->nrest > 0)
		return -1;
	line_output_forget(o);
	return 0;
}

void
line_output_forget(struct line_output *o)
{
	free(o->rest);
	o->rest = NULL;
	o->nrest = 0;
}

void
line_output_end(struct line_output *o)
{
	if (o->nrest > 0)
		finish(o, 0);
	line_output_forget(o);
}

int
line_output_write(struct line_output *o, const char *line, size_t n,
    int patience_ms)
{
	struct stat	st;
	bool		file;
	size_t		done;
	int		error;

	if (o->nrest > 0 && finish(o, patience_ms) < 0)
		return -1;
	file = fstat(o->fd, &st) == 0 && S_ISREG(st.st_mode);
	/* A write to a descriptor that blocks could wait for ever. */
	if (!file && !takes_bytes(o->fd, patience_ms))
		return -1;
	if ((done = write_most(o->fd, line, n, patience_ms)) == n)
		return 0;
	error = errno;
	if (done > 0 && (!file || !take_back(o->fd, &st, done))) {
		/* Not lost: the rest comes before the next line. */
		o->nrest = n - done;
		o->rest = xcalloc(1, o->nrest);
		memcpy(o->rest, line + done, o->nrest);
		return 0;
	}
	errno = error;
	return -1;
}
