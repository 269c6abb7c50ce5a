/* recover_impl.h - what the files of recover share; nobody else includes it */
#ifndef OUTBOX_RECOVER_IMPL_H
#define OUTBOX_RECOVER_IMPL_H

#include "recover.h"

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

#endif
