/* serve.h - shared by the files of serve */
#ifndef OUTBOXCTL_SERVE_H
#define OUTBOXCTL_SERVE_H

#include <stdbool.h>
#include <stdint.h>

#include <sys/stat.h>

#include "ctl/base/ctl.h"
#include "driver/pub.h"
#include "util/buf.h"

/* serve_lines.c */

#define SERVE_LINE_MAX	((size_t)1 << 20)

struct lines {
	int		in, out;
	struct buf	got;		/* read, and no line yet */
	size_t		used;		/* of got: lines that were returned */
};

/*
 * Take standard input and output for the lines.  What reads or writes those
 * from now on finds nothing, and writes to standard error.  -1: see err.
 */
int	lines_take(struct lines *, struct err *);
void	lines_free(struct lines *);

/*
 * The next line without its end, valid until the next call; blocks.  A longer
 * one than SERVE_LINE_MAX is skipped: *line is NULL.  false: no more.
 */
bool	lines_next(struct lines *, char **line, size_t *len);

/* Write it, a line with its end; blocks.  false: nobody reads. */
bool	lines_answer(struct lines *, const struct buf *line);

/* serve_here.c - commands in this process */

struct here {
	struct ctl	c;		/* of the running command */
	const char	*token, *person;	/* who asks for it, one of them;
					   or NULL */
	char		 name[CONF_PERSON_SIZE];	/* see asker_judge() */
	bool		 is_forged;	/* nobody's token, or name */
	bool		loaded;		/* c.conf is of the file as in stat */
	struct stat	stat;
	struct pub	bus;		/* if loaded */
	int64_t		opened_at;	/* the connection to the database */
};

/* Run the command of h->c, whose arguments are known; returns its status. */
int	here_run(struct here *);

/* After it, with its document: let go of what cannot be trusted any more. */
void	here_settle(struct here *, int status, const json_t *result);
void	here_free(struct here *);

/* serve_asker.c */

/*
 * May who asks make the change of the command?  Sets name, for the audit; ""
 * is none.  If not: the status, after an error; is_forged, if that is nobody.
 */
int	asker_judge(struct here *);

/* serve_child.c */

/*
 * Run outboxctl with these words in a process that ends with this one; blocks.
 * The audit gets the person, if that is not "".  *result is its document, or
 * NULL.  Returns its exit status.
 */
int	child_run(const char *conf_path, int nwords, char **words,
	    const char *person, json_t **result);

#endif
