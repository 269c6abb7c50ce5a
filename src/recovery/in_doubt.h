/*
 * in_doubt.h - check the destination before sending a message in doubt again
 *
 * A message that was sent and not answered, or claimed by a worker that died,
 * may be stored: it is in doubt.  Within the duplicate window of a stream it is
 * just sent again, as the stream drops duplicates; later it is looked up first.
 * A destination that remembers no id has no such window (pub_ops.finds_in).
 * Without an answer, for whatever reason and however long, a message stays in
 * doubt: only the destination or an operator ends that.
 */
#ifndef OUTBOX_IN_DOUBT_H
#define OUTBOX_IN_DOUBT_H

#include <stdint.h>

#include "conf/conf.h"
#include "util/err.h"
#include "common/msg.h"
#include "publish/relay.h"
#include "recovery/search.h"
#include "store/store.h"

struct in_doubt {
	const struct conf	*conf;
	struct store		*store;
	struct relay		*relay;		/* for publisher, ids, keep */
	struct search		 search;
	struct in_doubt_failure {
		int64_t	since;			/* clock_ms(); 0: they work */
		int64_t	at;			/* the last one */
	} failures[CONF_DRIVERS];		/* as relay.pubs */
};

/* The pointers are borrowed until in_doubt_free(). */
void	in_doubt_init(struct in_doubt *, const struct conf *, struct store *,
	    struct relay *);
void	in_doubt_free(struct in_doubt *);

/*
 * Look up messages of a batch that have been in doubt for longer than the
 * duplicate window, if there is one; held ones are left out.  Those found become OUT_DELIVERED,
 * *found is their number; those not decided yet become OUT_DEFER, and are
 * unsolved if the broker did not tell or what it tells is not enough.  Neither
 * is to be sent.  Blocks for a part of the claim's time.  -1: the database
 * failed.
 */
int	in_doubt_resolve(struct in_doubt *, struct batch *, unsigned *found,
	    struct err *);

#endif
