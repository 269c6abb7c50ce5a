/* msg.c - rows as plain data; knows neither database nor broker */

#include "msg.h"

#include <stdlib.h>
#include <string.h>

#include <jansson.h>

#include "xalloc.h"

/*
 * An error text goes into a column: a strict server refuses the write-back
 * of the whole batch for one byte that is not UTF-8.
 */
static void
make_utf8(char *text)
{
	json_t	*judge = json_string(text);

	if (judge == NULL)
		for (; *text != '\0'; text++)
			if ((unsigned char)*text >= 0x80)
				*text = '?';
	json_decref(judge);
}

void
batch_free(struct batch *b)
{
	for (size_t i = 0; i < b->n; i++)
		free(b->msgs[i].error);
	free(b->msgs);
	if (b->rows != NULL)
		b->free_rows(b->rows);
	memset(b, 0, sizeof(*b));
}

void
msg_fail(struct msg *m, enum outcome outcome, const char *error)
{
	m->outcome = outcome;
	free(m->error);
	m->error = xstrdup(error);
	make_utf8(m->error);
}
