/*
 * vanish.h - rows that a transaction inserts and deletes again
 *
 * Nobody but the transaction can have seen them.  Rows are told apart by a hash
 * of their primary key; of a transaction with very many the first ones count.
 */
#ifndef OUTBOX_VANISH_H
#define OUTBOX_VANISH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define VANISH_ROWS	1024	/* of one transaction */

/* Zeroed: a transaction without rows. */
struct vanish {
	size_t	n;		/* rows inserted */
	size_t	gone;		/* of them, deleted again */
	size_t	next;		/* where the next one is looked for first */
	struct vanish_row {
		uint64_t	key;
		bool		gone;
	} rows[VANISH_ROWS];
};

void	vanish_reset(struct vanish *);
void	vanish_insert(struct vanish *, uint64_t key);
void	vanish_delete(struct vanish *, uint64_t key);

/* The hash of a primary key: begin with VANISH_HASH, add its columns. */
#define VANISH_HASH	UINT64_C(0xcbf29ce484222325)
uint64_t vanish_hash(uint64_t hash, const uint8_t *, size_t len);

#endif
