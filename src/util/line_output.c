/*
 * line_output.c - see line_output.h
 *
 * Several processes append to one file, so a line is one write(2), under a lock
 * of fcntl(2), which excludes only processes that do the same.  If the disk is
 * full in the middle of a line, the half line is taken out of the file again.
 * The lock keeps others from appending meanwhile: their line would be cut off.
 * Without the lock the half line stays, and the next line begins on a new one.
 *
 * On a pipe, socket or terminal the rest of a half line goes before the next
 * line.
 */

#include "util/line_output.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "util/clock.h"
#include "util/xalloc.h"

/* Longest wait for the lock: another process may be stopped while it has it. */
#define LOCK_MS		100

/* False: the reader is too slow, errno EAGAIN.  A write finds other errors. */
static bool
takes_bytes(int fd, int patience_ms)
{
	struct pollfd	p = { .fd = fd, .events = POLLOUT };
	int64_t		until = clock_ms() + patience_ms;
	int		n;

	while ((n = poll(&p, 1, patience_ms)) < 0 && errno == EINTR)
		if (patience_ms > 0)
			patience_ms = (int)later(until - clock_ms(), 0);
	if (n != 0)
		return true;
	errno = EAGAIN;
	return false;
}

/* Returns the bytes written; fewer than n: errno says why. */
static size_t
write_most(int fd, const char *p, size_t n, int patience_ms)
{
	struct stat	st;
	bool		socket = fstat(fd, &st) == 0 && S_ISSOCK(st.st_mode);
	size_t		done = 0;
	ssize_t		some;

	while (done < n) {
		some = socket ? send(fd, p + done, n - done, MSG_DONTWAIT |
		    MSG_NOSIGNAL) : write(fd, p + done, n - done);
		if (some > 0)
			done += (size_t)some;
		else if (some == 0 || (errno != EINTR && (errno != EAGAIN ||
		    !takes_bytes(fd, patience_ms))))
			break;
	}
	return done;
}

/* False: another process keeps the lock, or the file system has none. */
static bool
lock_file(int fd, int patience_ms)
{
	struct flock	whole = { .l_type = F_WRLCK, .l_whence = SEEK_SET };
	int64_t		until = clock_ms() + (patience_ms < 0 ? LOCK_MS :
			    sooner(patience_ms, LOCK_MS));

	while (fcntl(fd, F_SETLK, &whole) < 0) {
		if ((errno != EACCES && errno != EAGAIN) || clock_ms() >= until)
			return false;
		poll(NULL, 0, 1);
	}
	return true;
}

static void
unlock_file(int fd)
{
	struct flock	whole = { .l_type = F_UNLCK, .l_whence = SEEK_SET };

	fcntl(fd, F_SETLK, &whole);
}

/* False if a process without the lock has written meanwhile. */
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

static void
release(struct line_output *o)
{
	if (o->locked)
		unlock_file(o->fd);
	o->locked = false;
}

int
line_output_finish(struct line_output *o, int patience_ms)
{
	size_t	n;

	if (o->nrest == 0)
		return 0;
	n = write_most(o->fd, o->rest, o->nrest, patience_ms);

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
	release(o);
}

void
line_output_end(struct line_output *o)
{
	line_output_finish(o, 0);
	line_output_forget(o);
}

static void
keep_rest(struct line_output *o, const char *rest, size_t n)
{
	o->nrest = n;
	o->rest = xcalloc(1, n);
	memcpy(o->rest, rest, n);
}

static int
write_to_file(struct line_output *o, const char *line, size_t n,
    int patience_ms)
{
	bool		locked = lock_file(o->fd, patience_ms);
	struct stat	before;
	size_t		done = 0;
	int		error;

	/* Half of it, for want of room, could not be taken back. */
	if (!locked && o->long_lines) {
		if (errno == EACCES)
			errno = EAGAIN;
		return -1;
	}
	if (fstat(o->fd, &before) == 0)
		done = write_most(o->fd, line, n, patience_ms);
	error = errno;
	if (done > 0 && done < n &&
	    (!locked || !take_back(o->fd, &before, done)))
		keep_rest(o, "\n", 1);
	if (locked)
		unlock_file(o->fd);
	errno = error;
	return done == n ? 0 : -1;
}

int
line_output_write(struct line_output *o, const char *line, size_t n,
    int patience_ms)
{
	struct stat	st;
	size_t		done;
	int		error;

	if (line_output_finish(o, patience_ms) < 0)
		return -1;
	if (fstat(o->fd, &st) == 0 && S_ISREG(st.st_mode))
		return write_to_file(o, line, n, patience_ms);
	/* A write to a descriptor that blocks could wait for ever. */
	if (!takes_bytes(o->fd, patience_ms))
		return -1;
	if (o->long_lines && !(o->locked = lock_file(o->fd, patience_ms))) {
		errno = EAGAIN;
		return -1;
	}
	done = write_most(o->fd, line, n, patience_ms);
	if (done > 0 && done < n) {
		/* Not lost: the rest comes before the next line. */
		keep_rest(o, line + done, n - done);
		return 0;
	}
	error = errno;
	release(o);
	errno = error;
	return done == 0 ? -1 : 0;
}

int
line_output_own(int fd)
{
	char		path[40];
	struct stat	st;
	int		own;

	if (fstat(fd, &st) < 0 || (!S_ISFIFO(st.st_mode) && !isatty(fd)))
		return fd;
	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	own = open(path, O_WRONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
	return own < 0 ? fd : own;
}
