/* tail.c - see tail.h */

#include "ctl/daemon/tail.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "util/utf8.h"

#define BLOCK	65536

/* Where the last lines begin. */
static off_t
find_start(int fd, off_t size, int64_t lines)
{
	char	block[BLOCK];

	if (lines == 0)
		return size;
	for (off_t end = size; end > 0; ) {
		off_t	begin = end > BLOCK ? end - BLOCK : 0;
		ssize_t	n = pread(fd, block, (size_t)(end - begin), begin);

		if (n < end - begin)
			return begin;
		for (; n > 0; n--)	/* the last byte ends the last line */
			if (block[n - 1] == '\n' && begin + n != size &&
			    --lines == 0)
				return begin + n;
		end = begin;
	}
	return 0;
}

/* Never waits: the daemon's user may have put a FIFO there. */
static int
open_log(const char *path)
{
	return open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
}

void
tail_close(struct log_tail *t)
{
	if (t->fd >= 0)
		close(t->fd);
	t->fd = -1;
	buf_free(&t->rest);
}

int
tail_open(struct log_tail *t, const char *path, int64_t lines,
    void (*line)(void *, char *), void *arg, struct err *e)
{
	struct stat	st;

	memset(t, 0, sizeof(*t));
	t->path = path;
	t->line = line;
	t->arg = arg;
	if ((t->fd = open_log(path)) < 0)
		return err_set(e, "%s: %s%s", path, strerror(errno),
		    errno == EACCES ? ": run this command as root, or as the "
		    "daemon's user" : "");
	if (fstat(t->fd, &st) < 0 || !S_ISREG(st.st_mode)) {
		tail_close(t);
		return err_set(e, "%s: is not a regular file", path);
	}
	t->at = find_start(t->fd, st.st_size, lines);
	return 0;
}

static void
give_line(struct log_tail *t, char *text)
{
	utf8_clean(text);
	t->line(t->arg, text);
}

void
tail_read(struct log_tail *t)
{
	char	 block[BLOCK], *begin, *end;
	size_t	 left;
	ssize_t	 n;

	while ((n = pread(t->fd, block, sizeof(block), t->at)) > 0) {
		t->at += n;
		buf_add(&t->rest, block, (size_t)n);
		/* Give away the whole lines, and keep the rest. */
		begin = t->rest.data;
		left = t->rest.len;
		while ((end = memchr(begin, '\n', left)) != NULL) {
			*end = '\0';
			give_line(t, begin);
			left -= (size_t)(end + 1 - begin);
			begin = end + 1;
		}
		memmove(t->rest.data, begin, left);
		buf_chop(&t->rest, t->rest.len - left);
	}
}

void
tail_read_rest(struct log_tail *t)
{
	if (t->rest.len > 0)
		give_line(t, t->rest.data);
	buf_clear(&t->rest);
}

void
tail_rotate(struct log_tail *t)
{
	struct stat	was, is;
	int		fd;

	if (fstat(t->fd, &was) < 0)
		return;
	if (was.st_size < t->at)
		t->at = 0;
	if (stat(t->path, &is) < 0 ||	/* the new one comes later */
	    (is.st_dev == was.st_dev && is.st_ino == was.st_ino))
		return;
	if ((fd = open_log(t->path)) < 0)
		return;
	tail_read(t);
	tail_read_rest(t);
	close(t->fd);
	t->fd = fd;
	t->at = 0;
}
