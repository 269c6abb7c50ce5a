/*
 * shared_text.h - the text of an answer, which several clients may be reading
 *
 * It stays until the last of them has read it, however slow; so how much of
 * them there may be at a time has a bound.
 */
#ifndef OUTBOX_MONITOR_SHARED_TEXT_H
#define OUTBOX_MONITOR_SHARED_TEXT_H

#include <stdbool.h>
#include <stddef.h>

#include <jansson.h>

#define SHARED_TEXT_SMALL	(16 * 1024)	/* there is always room for it */

/* Those that are in memory. */
struct texts {
	size_t	bytes, max;
};

struct shared_text {
	struct texts	*all;
	unsigned	 refs;
	size_t		 len;
	char		 data[];
};

/* Is there no room for anything but small ones? */
bool	texts_are_full(const struct texts *);

/*
 * A copy, or a value as JSON; NULL is null.  The caller holds it until
 * shared_text_release().  NULL: there is no room.
 */
struct shared_text *shared_text_new(struct texts *, const char *, size_t);
struct shared_text *shared_text_json(struct texts *, const json_t *);

struct shared_text *shared_text_hold(struct shared_text *);
void	shared_text_release(struct shared_text *);	/* NULL: nothing */

/* The same, given its data. */
void	shared_text_release_data(void *data);

#endif
