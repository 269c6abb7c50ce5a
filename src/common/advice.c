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

void
advice_put(const struct advice *advice, const char *error,
    const char *servers, const struct conf_list *list, const char *key,
    struct buf *b)
{
	const char	*known = advice_find(advice, error);

	if (known != NULL) {
		buf_str(b, known);
		return;
	}
	buf_printf(b, "start the %s at ", servers);
	conf_put_list(b, list, " or ");
	buf_printf(b, ", or correct %s", key);
}
