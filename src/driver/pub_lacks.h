/*
 * pub_lacks.h - for drivers: what a destination has not
 *
 * A driver names these functions in its struct pub_ops, so that callers never
 * have to ask whether it has one.
 */
#ifndef OUTBOX_PUB_LACKS_H
#define OUTBOX_PUB_LACKS_H

#include "driver/pub.h"

/* It has no endpoints: whether it is open tells. */
bool		 pub_reaches(void *, const char *endpoint, struct err *);

bool		 pub_no_caution(void *, struct err *);

/* There is nothing to check: it is fit. */
bool		 pub_no_check(void *, struct stream_report *, struct err *);

/*
 * It keeps no messages that could be looked up: can_ask is false, and finds_in
 * NULL.
 */
bool		 pub_no_state(void *, struct stream_state *, struct err *);
int		 pub_no_stored(void *, const char *prefix,
		    struct stored_message *, size_t n, const struct pub_go_on *,
		    struct err *);
void		 pub_no_find(void *, const char *prefix, struct pub_sought *,
		    size_t n, int64_t end, const struct pub_go_on *);
bool		 pub_no_removed(void *, struct stream_removed *, struct err *);

/* No limit of its own: of a payload, of messages that are out. */
int64_t		 pub_no_limit(void *);

/* It waits for no descriptor. */
void		 pub_no_proceed(void *, const struct pollfd *, size_t n);

int64_t		 pub_none_unread(void *);
bool		 pub_no_wakeup(void *);
enum error_class pub_no_complaint(void *, enum pub_about, struct err *);
void		 pub_no_tell(void *, const char *subject, const char *text);

#endif
