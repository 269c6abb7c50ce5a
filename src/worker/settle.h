/*
 * settle.h - what is published and not yet written back
 *
 * The last stage of a tick.  A batch stays open here until the database has
 * said that it knows what became of its rows.
 */
#ifndef OUTBOX_SETTLE_H
#define OUTBOX_SETTLE_H

#include <stdbool.h>
#include <stdint.h>

#include "common/msg.h"
#include "store/store.h"
#include "util/err.h"

struct settle {
	struct store	*store;
	struct batch	 batch;		/* published */
	struct settled	 counts;	/* of it, so far */
	bool		 open;		/* there is one */

	/*
	 * What was written back with the claim of the next batch, whose COMMIT
	 * nobody has heard of yet.
	 */
	struct batch	 done;
	struct settled	 done_as;
};

void	settle_init(struct settle *, struct store *);
void	settle_free(struct settle *);

/* Takes the batch, which is empty then.  None may be open. */
void	settle_open(struct settle *, struct batch *);

/* Is there something to write back? */
bool	settle_is_open(const struct settle *);

/* So many messages would be sent again if nobody wrote them back. */
size_t	settle_nmessages(const struct settle *);

/*
 * Write it back.  The counts are complete then, and the batch is there until
 * settle_close().  -1: the database is in trouble; to be repeated.
 */
int	settle_write(struct settle *, struct err *);
void	settle_close(struct settle *);

/* Perhaps it was written back just now: a second time counts nothing. */
void	settle_is_in_doubt(struct settle *);

/*
 * The open batch was written back with the claim of the next one; committed
 * says whether that is known already, else settle_confirmed() does.
 */
void	settle_turned(struct settle *, uint64_t written, bool committed);
void	settle_confirmed(struct settle *);

#endif
