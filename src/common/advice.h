/* advice.h - what to do about an error, by a part of its text */
#ifndef OUTBOX_ADVICE_H
#define OUTBOX_ADVICE_H

/* A list ends with NULL. */
struct advice {
	const char	*part, *remedy;
};

/* The remedy of the first one that fits; NULL: none. */
const char	*advice_find(const struct advice *, const char *error);

#endif
