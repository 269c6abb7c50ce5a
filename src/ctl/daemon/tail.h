/* tail.h - the end of a log file, and what is appended to it */
#ifndef OUTBOXCTL_TAIL_H
#define OUTBOXCTL_TAIL_H

#include <stdint.h>
#include <sys/types.h>

#include "util/buf.h"
#include "util/err.h"

struct log_tail {
	const char	*path;
	int		 fd;
	off_t		 at;		/* read up to here */
	struct buf	 rest;		/* a line without its end */
	void		(*line)(void *, char *);
	void		*arg;
};

/*
 * Open the file and go back this many lines.  line gets each line that is read,
 * as UTF-8, with its control characters.  -1: see err.
 */
int	tail_open(struct log_tail *, const char *path, int64_t lines,
	    void (*line)(void *, char *), void *arg, struct err *);
void	tail_close(struct log_tail *);

/* Read the lines up to the end of the file; never waits for more. */
void	tail_read(struct log_tail *);

/* The line at the end of the file that has no end yet. */
void	tail_read_rest(struct log_tail *);

/*
 * If there is another file with this path, read the old one to its end and
 * open the new one; if the file became shorter, begin again.
 */
void	tail_rotate(struct log_tail *);

#endif
