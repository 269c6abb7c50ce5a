/*
 * counts.h - the partition counts that producers may use
 *
 * A key's label has its CRC32 modulo the count.  Under the counts N and M
 * these are congruent modulo gcd(N, M).  So with several declared counts
 * labels form classes, as many as the gcd of all counts: the number in a label
 * gives its class, and all rows of a key are in one class.
 */
#ifndef OUTBOX_COUNTS_H
#define OUTBOX_COUNTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "util/err.h"

#define COUNTS_MAX	16	/* former counts */
#define COUNTS_TEXT	256	/* "16,48", with its NUL */
#define COUNTS_CLASS	64	/* most labels of a class, with the empty one */

struct counts {
	unsigned	count;		/* the present one; 0: not set yet */
	unsigned	former[COUNTS_MAX];	/* producers may still use them */
	size_t		nformer;
	bool		changed;	/* ever; rows of others may exist */
};

bool	counts_are_same(const struct counts *, const struct counts *);

/* The former counts as text; NULL and "" are none.  -1: malformed. */
int	counts_parse(struct counts *, const char *, struct err *);
void	counts_format(const struct counts *, char text[COUNTS_TEXT]);

/* Of all declared counts; one that is not set is taken as 1. */
unsigned counts_gcd(const struct counts *);
unsigned counts_max(const struct counts *);
bool	counts_have(const struct counts *, unsigned count);

/* The number of labels in the largest class. */
size_t	counts_class_size(const struct counts *);

/*
 * Make count the present count, and the present one a former one.  -1: the
 * classes would be too large, or there would be only one; the error says which
 * counts are possible, and nothing is changed.
 */
int	counts_repartition(struct counts *, unsigned count, struct err *);

/* 0 if workers can serve these counts; -1 as above. */
int	counts_check(const struct counts *, struct err *);

/*
 * The class of a label.  COUNTS_NONE: the label is a class by itself, because
 * it is not "p" and a number below the largest count.
 */
#define COUNTS_NONE	((unsigned)-1)
unsigned counts_class(const struct counts *, const char *label);

/*
 * True if the label is one that producers make from a key and a count: "p" and
 * at least two digits, as "p07".  False for "", a row without a label.
 */
bool	counts_is_label(const char *label);

/*
 * True if the key has another label under the present count.  False for a
 * label of the application's own, and if key is NULL.
 */
bool	counts_is_former(const struct counts *, const char *key,
	    size_t key_len, const char *label, size_t label_len);

/* The same for the number that the label is computed of, if it is no key's. */
bool	counts_is_former_hash(const struct counts *, uint32_t hash,
	    const char *label, size_t label_len);

#endif
