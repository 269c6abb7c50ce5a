/*
 * label_set.h - a set of partition labels with false positives
 *
 * Labels are hashed to LABEL_BITS bits, so the size of a set is fixed.  Used
 * for hints, where a false positive costs one needless scan.  Labels are
 * compared as bytes.  The label of a row without one is "", as in leases, or
 * NULL with the length 0.
 */
#ifndef OUTBOX_LABEL_SET_H
#define OUTBOX_LABEL_SET_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define LABEL_BITS	256

/* Zeroed: empty. */
struct label_set {
	uint64_t	bits[LABEL_BITS / 64];
};

void	label_set_add(struct label_set *, const char *label, size_t len);

/* True if both have a label in common; false positives are possible. */
bool	label_set_meets(const struct label_set *, const struct label_set *);

#endif
