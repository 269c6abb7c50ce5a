/* recover_impl.h - shared by the files of recover, and private to them */
#ifndef OUTBOX_RECOVER_IMPL_H
#define OUTBOX_RECOVER_IMPL_H

#include "recovery/recover.h"

/* The fates of several rows, older rows first. */
struct finding {
	bool	lost, there;
	bool	back;		/* one is lost, an older one there */
};

/* Read the stream's state.  false: no answer, or no stream (gone). */
bool	recover_state(struct recover *, struct stream_state *, struct err *);

/* Add the fates of these rows.  false: no answer. */
bool	recover_find(struct recover *, const struct acked_list *,
	    struct stream_state *, struct finding *, struct err *);

/* As pub.h has it; meanwhile calls keep, and renews the right to audit. */
int	recover_look_up(struct recover *, struct place *, size_t n,
	    struct err *);

/*
 * Compare the messages since the last good audit with the events, and record
 * that on r->server.  WALK_BROKEN: the broker failed.
 */
enum walked recover_tail(struct recover *, const struct stream_row *,
	    const struct stream_state *, struct err *);

#endif
