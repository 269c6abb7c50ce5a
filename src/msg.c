/* msg.c - rows as plain data; knows neither database nor broker */

#include "msg.h"

#include <stdlib.h>
#include <string.h>

#include "err.h"
#include "xalloc.h"

void
batch_free(struct batch *b)
{
	for (size_t i = 0; i < b->n; i++)
		free(b->msgs[i].error);
	free(b->msgs);
	free(b->labels);
	if (b->rows != NULL)
		b->free_rows(b->rows);
	memset(b, 0, sizeof(*b));
}

void
msg_fail(struct msg *m, enum outcome outcome, const char *error)
{
	struct err	text;		/* fits the column and is UTF-8 */

	m->outcome = outcome;
	free(m->error);
	err_set(&text, "%s", error);
	m->error = xstrdup(text.text);
}
