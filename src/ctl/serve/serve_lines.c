/* serve_lines.c - lines from and to the process that asks */

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "ctl/serve/serve.h"

#define PIECE	65536

int
lines_take(struct lines *l, struct err *e)
{
	int	null = open("/dev/null", O_RDONLY | O_CLOEXEC);

	l->in = fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, STDERR_FILENO + 1);
	l->out = fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, STDERR_FILENO + 1);
	if (null < 0 || l->in < 0 || l->out < 0 ||
	    dup2(null, STDIN_FILENO) < 0 ||
	    dup2(STDERR_FILENO, STDOUT_FILENO) < 0)
		return err_set(e, "standard input and output: %s",
		    strerror(errno));
	close(null);
	return 0;
}

void
lines_free(struct lines *l)
{
	close(l->in);
	close(l->out);
	buf_free(&l->got);
}

/* 1: more bytes are there; 0: the end, or an error. */
static int
read_piece(struct lines *l)
{
	ssize_t	n;

	do
		n = read(l->in, buf_reserve(&l->got, PIECE), PIECE);
	while (n < 0 && errno == EINTR);
	if (n <= 0)
		return 0;
	l->got.len += (size_t)n;
	return 1;
}

bool
lines_next(struct lines *l, char **line, size_t *len)
{
	bool		 skipped = false;
	size_t		 seen = 0;
	char		*end = NULL;
	struct buf	 rest = { 0 };

	/* Remove the bytes of the line before, and give its memory back. */
	if (l->used < l->got.len)
		buf_add(&rest, l->got.data + l->used, l->got.len - l->used);
	buf_free(&l->got);
	l->got = rest;
	l->used = 0;
	while (l->got.len == seen || (end = memchr(l->got.data + seen, '\n',
	    l->got.len - seen)) == NULL) {
		seen = l->got.len;
		if (seen > SERVE_LINE_MAX) {
			skipped = true;
			buf_clear(&l->got);
			seen = 0;
		}
		if (!read_piece(l))
			break;
	}
	if (end == NULL && l->got.len == 0 && !skipped)
		return false;
	*len = end == NULL ? l->got.len : (size_t)(end - l->got.data);
	l->used = *len + (end != NULL);
	*line = skipped || *len > SERVE_LINE_MAX ? NULL : l->got.data;
	return true;
}

bool
lines_answer(struct lines *l, const struct buf *line)
{
	const char	*p = line->data;
	size_t		 left = line->len;

	while (left > 0) {
		ssize_t n = write(l->out, p, left);

		if (n < 0 && errno != EINTR)
			return false;
		if (n > 0) {
			p += n;
			left -= (size_t)n;
		}
	}
	return true;
}
