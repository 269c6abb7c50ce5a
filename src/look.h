/*
 * look.h - which rows the next tick tries: what a scan saw, and due heads
 *
 * Rows come in sequence order, and what is not taken is cut off at the end:
 * a row that was not looked at may belong before one that was.
 */
#ifndef OUTBOX_LOOK_H
#define OUTBOX_LOOK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "conf.h"
#include "err.h"
#include "hold.h"
#include "member.h"
#include "store.h"

/* Rows to be claimed, sorted, and the partitions they are from. */
struct picks {
	struct pick	*items;
	size_t		 n;
	uint64_t	*sequences;	/* of the items */
	struct range	*ranges;
	size_t		 nranges;
};

struct look {
	const struct conf	*conf;
	struct store		*store;
	struct member		*member;
	struct hold		*hold;

	size_t			 rotate;	/* which partitions come first */
	size_t			 looked_at;	/* partitions, since work was found */
	bool			 idle;		/* the last one found nothing */
	int64_t			 heads_at;	/* no head is tried before */
};

void	look_init(struct look *, const struct conf *, struct store *,
	    struct member *, struct hold *);

/* At most limit rows; the caller frees what is in picks, also after -1. */
int	look_for_rows(struct look *, struct picks *, size_t limit,
	    struct err *);
void	picks_free(struct picks *);

/* The partition of a row that was picked, NULL for others. */
struct part *picks_part(const struct picks *, uint64_t sequence);

/* What came of it: was anything claimed?  Are there partitions left? */
bool	look_is_over(struct look *, bool claimed);

/* When a head that waits can be tried; INT64_MAX: nothing waits. */
int64_t	look_next_due(struct look *);

#endif
