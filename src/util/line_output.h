/* line_output.h - lines to a descriptor, each of them whole or not at all */
#ifndef OUTBOX_LINE_OUTPUT_H
#define OUTBOX_LINE_OUTPUT_H

#include <stddef.h>

/* A pipe takes so many bytes at once or none of them (PIPE_BUF). */
#define LINE_OUTPUT_ATOMIC	4096

/* Zeroed but for fd. */
struct line_output {
	int	 fd;
	char	*rest;		/* of a line that was cut; or NULL */
	size_t	 nrest;
};

/*
 * Write a line.  Waits so many ms for the slow reader of a pipe, socket or
 * terminal; -1: without limit.  Returns -1 with errno if the line is lost, and
 * then the descriptor has nothing of it.
 */
int	line_output_write(struct line_output *, const char *line, size_t,
	    int patience_ms);

/*
 * Write the rest of a line that was cut, or drop it.  Every write begins with
 * that; call it yourself before fd is closed.
 */
void	line_output_end(struct line_output *);

/* Forget the rest: another process writes it. */
void	line_output_forget(struct line_output *);

#endif
