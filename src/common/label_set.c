/* label_set.c - see label_set.h */

#include "common/label_set.h"

#include <libdeflate.h>

void
label_set_add(struct label_set *s, const char *label, size_t len)
{
	unsigned	bit = libdeflate_crc32(0, label, len) % LABEL_BITS;

	s->bits[bit / 64] |= UINT64_C(1) << bit % 64;
}

bool
label_set_meets(const struct label_set *a, const struct label_set *b)
{
	for (size_t i = 0; i < LABEL_BITS / 64; i++)
		if ((a->bits[i] & b->bits[i]) != 0)
			return true;
	return false;
}
