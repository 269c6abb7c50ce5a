/*
 * settle.h - writes the outcomes of published messages back
 *
 * The last stage of a tick.  A batch stays open until the database has
 * confirmed that the outcomes of its rows are written.
 */
#ifndef OUTBOX_SETTLE_H
#define OUTBOX_SETTLE_H

#include <stdbool.h>
#include <stdint.h>

#include "common/msg.h"
#include "store/store.h"
#include "util/err.h"

/* Zeroed but for the store, it is ready for use. */
struct settle {
	struct store	*store;
	struct batch	 batch;		/* published */
	struct settled	 counts;	/* of it, so far */
	bool		 open;		/* batch is to be written back */
};

/* Takes the batch, which is empty then.  None may be open. */
void	settle_open(struct settle *, struct batch *);

/* Is there a batch that is not written back? */
bool	settle_is_open(const struct settle *);

/* How many messages would be sent again if they are not written back. */
size_t	settle_nmessages(const struct settle *);

/*
 * Write the open batch back.  Then counts is complete, and the batch is there
 * until settle_close().  -1: the database failed; call it again.
 */
int	settle_write(struct settle *, struct err *);
void	settle_close(struct settle *);

#endif
