/* pipe_lines.c - see pipe_lines.h */

#include "ctl/top/pipe_lines.h"

#include <string.h>
#include <unistd.h>

#include "util/xalloc.h"

#define CHUNK	65536

static char *
take_line(struct pipe_lines *l)
{
	char	*end = l->in.len == 0 ? NULL : memchr(l->in.data, '\n',
		    l->in.len), *line;
	size_t	 n;

	if (end == NULL)
		return NULL;
	n = (size_t)(end - l->in.data);
	line = xstrndup(l->in.data, n);
	memmove(l->in.data, end + 1, l->in.len - n - 1);
	buf_chop(&l->in, n + 1);
	return line;
}

char *
pipe_lines_next(struct pipe_lines *l, bool *ended)
{
	char	*line;
	ssize_t	 n;

	*ended = false;
	while ((line = take_line(l)) == NULL && l->fd >= 0) {
		n = read(l->fd, buf_reserve(&l->in, CHUNK), CHUNK);
		if (n < 0)
			return NULL;
		if (n == 0) {
			*ended = true;
			pipe_lines_end(l);
			return NULL;
		}
		l->in.len += (size_t)n;
		l->in.data[l->in.len] = '\0';
	}
	return line;
}

void
pipe_lines_end(struct pipe_lines *l)
{
	if (l->fd >= 0)
		close(l->fd);
	l->fd = -1;
	buf_free(&l->in);
}
