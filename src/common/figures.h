/*
 * figures.h - what one destination has done: taken, failed, the last error
 *
 * Each route of publish.routes is a destination, and so is what no route takes.
 * A worker writes those of its slot, which are on the scoreboard; all views read
 * their sum (ipc/destinations.h).  No I/O; times are clock_ms().
 */
#ifndef OUTBOX_FIGURES_H
#define OUTBOX_FIGURES_H

#include <stdbool.h>
#include <stdint.h>

#include "conf/conf.h"

#define FIGURES_MAX	(CONF_ROUTES_MAX + 1)

#define FIGURES_NAME	40

/* The name of what no route takes; no route can have it. */
#define FIGURES_REST	"publish.driver"

/* A minute, in spans that end; the one that is under way is the last. */
#define FIGURES_SPANS	7
#define FIGURES_SPAN_MS	10000

struct figures_span {
	uint32_t	number;		/* of the span, since boot */
	uint32_t	taken, failed;
};

struct figures {
	char		name[FIGURES_NAME];	/* of the route; "": free */
	uint32_t	rank;		/* its place in the configuration */
	bool		used;		/* by the configuration of the slot */
	bool		tells;		/* of those that failed since the last
					   one taken: they are several, or one
					   failed by the destination's fault */
	uint32_t	in_row;		/* how many tries have */
	uint64_t	taken, failed;	/* tries, since the master began */
	struct figures_span spans[FIGURES_SPANS];
	int64_t		taken_at;	/* the last one; 0: none */
	int64_t		failing_since;	/* nothing was taken since; 0: no */
	int64_t		failed_at;	/* the last time */
	uint64_t	failed_message;	/* its sequence */
	int64_t		again_by;	/* what failed is tried again by then,
					   or it does not wait any more */
	int64_t		error_at;	/* seconds, UTC; 0: none yet */
	char		error[160];	/* printable, and may be cut */
};

/* Of one slot, by name. */
struct figures_set {
	bool		several;	/* one that is away stops no other */
	struct figures	list[FIGURES_MAX];
};

/*
 * For this configuration: a place for each destination, in which what was
 * counted stays.  figures_of() finds that of a route; rule NULL: of what no
 * route takes.  NULL: it has none, as no message can go there.
 */
void		 figures_begin(struct figures_set *, const struct conf *,
		    bool several);
struct figures	*figures_of(struct figures_set *, const struct conf *,
		    const struct conf_route *rule);

/* Of one batch, the failures first: what was taken shows that it works. */
struct figures_failure {
	uint64_t	 sequence;
	const char	*text;
	int64_t		 again_ms;	/* until the next try of the message */
	bool		 own;		/* by the message's own fault, which
					   tells nothing of its destination */
	bool		 sure;		/* by the destination's fault; neither:
					   other messages tell */
};
void		 figures_failed(struct figures *,
		    const struct figures_failure *, int64_t now);
void		 figures_took(struct figures *, uint64_t n, int64_t now);

/* Add those of another slot under the same name, or the first. */
void		 figures_add(struct figures *sum, const struct figures *,
		    int64_t now);

/*
 * Does it fail all that it is sent?  Since when; 0: no, or not known.  Where an
 * answer can be about one message, two of them tell, three tries of one, or one
 * try if nothing was ever taken.
 */
int64_t		 figures_fail_since(const struct figures *, int64_t now);

/* Of the last minute: tries that were taken, and that failed. */
void		 figures_of_minute(const struct figures *, int64_t now,
		    uint64_t *taken, uint64_t *failed);

#endif
