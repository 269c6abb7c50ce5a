/* pipe_lines.h - lines that another process writes to a pipe */
#ifndef OUTBOXCTL_PIPE_LINES_H
#define OUTBOXCTL_PIPE_LINES_H

#include <stdbool.h>

#include "util/buf.h"

struct pipe_lines {
	int		fd;	/* that does not block; -1: there is none */
	struct buf	in;
};

/*
 * The next whole line, without its newline, for the caller to free; or NULL.
 * *ended: the writer has closed the pipe, and fd was closed and is -1.
 */
char	*pipe_lines_next(struct pipe_lines *, bool *ended);

/* Close it, and forget what is left. */
void	 pipe_lines_end(struct pipe_lines *);

#endif
