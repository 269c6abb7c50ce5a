/*
 * isolate.h - which rows of a list are refused
 *
 * A statement about many rows may be refused because of one.  Then it is sent
 * for each half of them, and so on down to that row:
 *
 *	struct isolate i = isolate_rows(n, 0);
 *
 *	while (isolate_next(&i))
 *		if (store_isolate(s, &i, write(rows + i.from, i.n, e)))
 *			...		rows[i.from] is refused, e says why
 *	return i.rc;			-1: it failed, and not because of a row
 *
 * The rows are written in their order, each in one write that succeeds or
 * refuses it.  n rows take 2n - 1 writes at most, and one if none is refused.
 */
#ifndef OUTBOX_ISOLATE_H
#define OUTBOX_ISOLATE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct isolate {
	size_t		from, n;	/* the rows to write now */
	uint64_t	changed;	/* for the write; 0 if it fails */
	bool		halved;		/* refused, and more than one row */
	int		rc;
	size_t		nrefused, max;
	size_t		ends[8 * sizeof(size_t) + 1];	/* private: of parts */
	unsigned	depth;
};

/* Behind max refused rows the rest is left out; 0: never. */
struct isolate	isolate_rows(size_t n, size_t max);
bool		isolate_next(struct isolate *);

/* Was the write refused, and only one row?  of_row: because of a row. */
bool		isolate_judge(struct isolate *, int rc, bool of_row);

#endif
