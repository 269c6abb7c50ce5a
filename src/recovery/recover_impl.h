/* recover_impl.h - what the files of recover share; nobody else includes it */
#ifndef OUTBOX_RECOVER_IMPL_H
#define OUTBOX_RECOVER_IMPL_H

#include "recovery/recover.h"

/* What was found of rows, the older ones first. */
struct finding {
	bool	lost, there;
	bool	back;		/* one is lost and an older one there */
};

/* false: it could not be found out, or there is no stream (gone). */
bool	recover_state(struct recover *, struct stream_state *, struct err *);

/* Add what is found of these rows.  false: it could not be found out. */
bool	recover_find(struct recover *, const struct acked *, size_t n,
	    struct stream_state *, struct finding *, struct err *);

/* While the broker answers: stay alive, and stay the one who checks. */
bool	recover_go_on(void *recover);

/*
 * Hold the messages since the last good check against the events, and write
 * down that it was done, on r->server.  WALK_BROKEN: by the broker.
 */
enum walked recover_tail(struct recover *, const struct stream_row *,
	    const struct stream_state *, struct err *);

#endif
