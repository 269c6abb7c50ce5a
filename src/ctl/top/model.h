/*
 * model.h - what is known: the last round, and what this view has seen since
 * its start
 *
 * Lists are kept when the database is away.  Times are clock_ms().
 */
#ifndef OUTBOXCTL_MODEL_H
#define OUTBOXCTL_MODEL_H

#include <stdbool.h>
#include <stdint.h>

#include <jansson.h>

#define MODEL_RATES	600	/* seconds whose rate is kept */

/* Messages of this host. */
struct model_counts {
	int64_t	claimed, published, failed;
};

struct model_window {
	int64_t			begin, length;
	struct model_counts	now, last;
	bool			has_last;
};

/* A zeroed one with a length of the window is ready. */
struct model {
	int64_t			 round_at;	/* 0: there was none yet */
	int64_t			 lists_at;	/* when they were read */
	json_t			*status;	/* or NULL */
	json_t			*workers;	/* rows, see rows_of_workers() */
	json_t			*partitions;	/* rows */
	json_t			*destinations;	/* rows, of this host */
	json_t			*errors;	/* rows, the newest first */
	bool			 has_log;	/* they have lines of the log */
	json_t			*totals;	/* of the round before */
	json_t			*host;		/* this_host of that round */
	int64_t			 rates[MODEL_RATES];	/* a ring */
	uint64_t		 nrates;	/* ever taken */
	struct model_window	 window;
};

/* Take a document of the feed; frees it. */
void	model_take(struct model *, json_t *round, int64_t now);

/* A line that a process wrote to standard error. */
void	model_note(struct model *, const char *process, const char *text);

/* A line of the log of the daemon that shows the view. */
void	model_log(struct model *, const char *line);

/* A window that is over becomes the last one. */
void	model_tick(struct model *, int64_t now);

/* The member of the status; NULL: none yet. */
const json_t *model_part(const struct model *, const char *name);

void	model_free(struct model *);

#endif
