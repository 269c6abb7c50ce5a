/*
 * doubt.h - look before sending again what may be stored already
 *
 * A message that was sent and not answered, or claimed by somebody who died,
 * may be in the stream.  While the stream remembers its id that does no harm:
 * sent again, it is a duplicate.  Later it is looked for first.
 */
#ifndef OUTBOX_DOUBT_H
#define OUTBOX_DOUBT_H

#include <stdint.h>

#include "recovery/blind.h"
#include "conf/conf.h"
#include "util/err.h"
#include "common/msg.h"
#include "publish/relay.h"
#include "recovery/search.h"
#include "store/store.h"

struct doubt {
	const struct conf	*conf;
	struct store		*store;
	struct relay		*relay;		/* its publisher, ids and keep */
	struct search		 search;
	struct blind		 blind;
	int64_t			 blind_until;	/* sent without a look */
};

void	doubt_init(struct doubt *, const struct conf *, struct store *,
	    struct relay *);
void	doubt_free(struct doubt *);

/* Is what is in doubt looked for?  Not if nobody knows where, or may ask. */
bool	doubt_can_look(const struct doubt *);

/*
 * Look for the messages of a batch that are in doubt for longer than the
 * stream remembers ids; those that are held are left out.  What is found is
 * OUT_DELIVERED, what is still looked for OUT_DEFER, and neither is to be
 * sent; *found is how many.  Takes a part of the time the claim has.  -1: the
 * database is in trouble.
 */
int	doubt_resolve(struct doubt *, struct batch *, unsigned *found,
	    struct err *);

#endif
