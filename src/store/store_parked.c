/* store_parked.c - the labels of parked rows, see store.h and store_sql.h */

#include "store/store_impl.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void
store_parked_label(char label[STORE_PARKED], uint64_t first)
{
	snprintf(label, STORE_PARKED, "!%" PRIu64, first);
}

bool
store_is_parked(const struct store *s, const char *label, size_t len,
    uint64_t *first)
{
	char	name[STORE_PARKED];

	if (store_is_pillar(s) || len < 2 || label[0] != '!' ||
	    len >= sizeof(name))
		return false;
	*first = strtoull(label + 1, NULL, 10);
	store_parked_label(name, *first);
	return strlen(name) == len && memcmp(name, label, len) == 0;
}
