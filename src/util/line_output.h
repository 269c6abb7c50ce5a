/* line_output.h - lines to a descriptor, each of them whole or not at all */
#ifndef OUTBOX_LINE_OUTPUT_H
#define OUTBOX_LINE_OUTPUT_H

#include <stdbool.h>
#include <stddef.h>

/* A pipe takes so many bytes at once or none of them (PIPE_BUF). */
#define LINE_OUTPUT_ATOMIC	4096

/* Zeroed but for fd and long_lines. */
struct line_output {
	int	 fd;
	char	*rest;		/* of a line that was cut; or NULL */
	size_t	 nrest;

	/*
	 * Several processes write lines longer than LINE_OUTPUT_ATOMIC: also on
	 * a pipe, socket or terminal each takes the lock for a line, and keeps
	 * it until the rest of that is written.  Nothing is written without the
	 * lock: EAGAIN if another process has it.
	 */
	bool	 long_lines;
	bool	 locked;
};

/*
 * Write a line.  Waits so many ms for the slow reader of a pipe, socket or
 * terminal; -1: without limit.  Returns -1 with errno if the line is lost, and
 * then the descriptor has nothing of it; but the half of it that fit on a full
 * disk, if the file could not be locked or a program without the lock wrote to
 * it at that moment.
 */
int	line_output_write(struct line_output *, const char *line, size_t,
	    int patience_ms);

/* Write the rest of a line that was cut.  -1 with errno: some is left. */
int	line_output_finish(struct line_output *, int patience_ms);

/*
 * Write the rest of a line that was cut, or drop it.  Every write begins with
 * that; call it yourself before fd is closed.
 */
void	line_output_end(struct line_output *);

/*
 * Open a pipe or terminal a second time, so as not to block: of several
 * processes that find room for one line in a pipe, each but the first would
 * wait for the reader.  Other programs that have the pipe do not notice it, as
 * they would a flag on fd.  Returns fd itself if it is neither, or may not be
 * opened: a pipe of root, after root was given up.
 */
int	line_output_own(int fd);

/* Forget the rest: another process writes it. */
void	line_output_forget(struct line_output *);

#endif
