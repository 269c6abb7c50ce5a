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

#include "ctl/top/layout.h"

#define MODEL_RATES	600	/* seconds whose rate is kept */

/* Messages of this host: claimed, published, failed. */
#define MODEL_COUNTS	3
extern const char *const	 model_counts[MODEL_COUNTS];

struct model_window {
	int64_t		begin, length;
	int64_t		now[MODEL_COUNTS], last[MODEL_COUNTS];
	bool		has_last;
};

/* A zeroed one with a length of the window is ready. */
struct model {
	int64_t			 round_at;	/* 0: there was none yet */
	json_t			*status;	/* or NULL */
	json_t			*rows[PANELS];	/* of lists, see rows.h;
						   errors: newest first */
	bool			 has_log;	/* errors have the log, too */
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
