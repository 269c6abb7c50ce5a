/*
 * label_set.h - a set of partition labels that may have more than was put in
 *
 * Labels are hashed to so many bits, so that a set has one small size however
 * many there are: good for hints, where one partition too many costs a look.
 * Labels are compared as bytes.  That of a row without one is "", as a lease
 * has it; NULL with the length 0 is the same.
 */
#ifndef OUTBOX_LABEL_SET_H
#define OUTBOX_LABEL_SET_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define LABEL_BITS	256

/* Zeroed it is empty. */
struct label_set {
	uint64_t	bits[LABEL_BITS / 64];
};

void	label_set_add(struct label_set *, const char *label, size_t len);

/* From now on it has every label.  Has it? */
void	label_set_fill(struct label_set *);
bool	label_set_is_full(const struct label_set *);

bool	label_set_has(const struct label_set *, const char *label, size_t len);

/* Is there a label in both? */
bool	label_set_meets(const struct label_set *, const struct label_set *);

#endif
