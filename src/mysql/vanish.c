/* vanish.c - see vanish.h */

#include "mysql/vanish.h"

void
vanish_reset(struct vanish *v)
{
	v->n = v->gone = v->next = 0;
}

/* Rows are mostly deleted in the order in which they were inserted. */
static struct vanish_row *
find(struct vanish *v, uint64_t key)
{
	for (size_t i = 0; i < v->n; i++) {
		size_t	at = (v->next + i) % v->n;

		if (v->rows[at].key == key) {
			v->next = at + 1;
			return &v->rows[at];
		}
	}
	return NULL;
}

/* A REPLACE deletes a row and inserts it again: then it is there. */
void
vanish_insert(struct vanish *v, uint64_t key)
{
	struct vanish_row	*row = v->gone > 0 ? find(v, key) : NULL;

	if (row != NULL && row->gone) {
		row->gone = false;
		v->gone--;
	} else if (v->n < VANISH_ROWS)
		v->rows[v->n++] = (struct vanish_row){ key, false };
}

void
vanish_delete(struct vanish *v, uint64_t key)
{
	struct vanish_row	*row = find(v, key);

	if (row == NULL || row->gone)
		return;
	row->gone = true;
	v->gone++;
}

/* FNV-1a, with the length, so that columns do not run into each other. */
uint64_t
vanish_hash(uint64_t hash, const uint8_t *bytes, size_t len)
{
	static const uint64_t	prime = UINT64_C(0x100000001b3);

	for (size_t i = 0; i < len; i++)
		hash = (hash ^ bytes[i]) * prime;
	return (hash ^ len) * prime;
}
