/* advice.c - see advice.h */

#include "common/advice.h"

#include <stddef.h>
#include <string.h>

const char *
advice_find(const struct advice *a, const char *error)
{
	while (a->part != NULL && strstr(error, a->part) == NULL)
		a++;
	return a->remedy;
}
