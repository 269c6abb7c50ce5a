/*
 * counts.h - the partition counts that producers may use, and what follows
 * for labels
 *
 * Under the counts N and M the labels of one key, CRC32 modulo each, are
 * congruent modulo gcd(N, M).  So the labels of all declared counts fall into
 * as many classes as the gcd of all of them, known from the number in the
 * label alone, and all rows of a key are in one class.
 */
#ifndef OUTBOX_COUNTS_H
#define OUTBOX_COUNTS_H

#include <stdbool.h>
#include <stddef.h>

#include "util/err.h"

#define COUNTS_MAX	16	/* former ones */
#define COUNTS_TEXT	256	/* "16,48", with its NUL */
#define COUNTS_CLASS	64	/* labels of a class, the empty one with them */

struct counts {
	unsigned	count;		/* the present one; 0: not set yet */
	unsigned	former[COUNTS_MAX];	/* producers may still use them */
	size_t		nformer;
	bool		changed;	/* ever: there may be rows of others */
};

bool	counts_are_same(const struct counts *, const struct counts *);

/* The former ones as text; NULL and "" are none.  -1: it is something else. */
int	counts_parse(struct counts *, const char *, struct err *);
void	counts_format(const struct counts *, char text[COUNTS_TEXT]);

/* Of all that are declared; a count that is not set counts as 1. */
unsigned counts_gcd(const struct counts *);
unsigned counts_max(const struct counts *);
bool	counts_have(const struct counts *, unsigned count);

/* How many labels the largest class has. */
size_t	counts_class_size(const struct counts *);

/*
 * Make this the present count, and the present one a former one.  -1: the
 * classes would be too large, or there would be one for all labels; the error
 * says which counts would do, and nothing is changed.
 */
int	counts_change(struct counts *, unsigned count, struct err *);

/* Can workers serve them?  -1 as above. */
int	counts_check(const struct counts *, struct err *);

/*
 * The class of a label, or COUNTS_NONE: it is a class by itself, because it is
 * not "p" and a number below the largest count.
 */
#define COUNTS_NONE	((unsigned)-1)
unsigned counts_class(const struct counts *, const char *label);

/*
 * Is this label one that a producer makes of a key and a count: "p" and two
 * digits or more, as "p07"?  A row without a label has "" or NULL.
 */
bool	counts_is_label(const char *label);

/*
 * Does this row have a label that its key does not have under the present
 * count?  No for a label of the application's own, and if key is NULL.
 */
bool	counts_is_former(const struct counts *, const char *key,
	    size_t key_len, const char *label, size_t label_len);

#endif
