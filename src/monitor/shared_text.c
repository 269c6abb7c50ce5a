/* shared_text.c - see shared_text.h */

#include "monitor/shared_text.h"

#include <stdlib.h>
#include <string.h>

#include "util/xalloc.h"

#define FLAGS	(JSON_COMPACT | JSON_ENCODE_ANY)

bool
texts_are_full(const struct texts *t)
{
	return t->bytes > 0 && t->bytes >= t->max;
}

static struct shared_text *
allocate(struct texts *all, size_t len)
{
	struct shared_text	*s;

	/* A single text may be as large as an answer of outboxctl. */
	if (len > SHARED_TEXT_SMALL && all->bytes > 0 &&
	    (len > all->max || all->bytes > all->max - len))
		return NULL;
	s = xcalloc(1, sizeof(*s) + len);
	*s = (struct shared_text){ .all = all, .refs = 1, .len = len };
	all->bytes += len;
	return s;
}

struct shared_text *
shared_text_new(struct texts *all, const char *text, size_t len)
{
	struct shared_text	*s = allocate(all, len);

	if (s != NULL && len > 0)
		memcpy(s->data, text, len);
	return s;
}

struct shared_text *
shared_text_json(struct texts *all, const json_t *v)
{
	struct shared_text	*s;

	if (v == NULL)
		return shared_text_new(all, "null", 4);
	s = allocate(all, json_dumpb(v, NULL, 0, FLAGS));
	if (s != NULL)
		json_dumpb(v, s->data, s->len, FLAGS);
	return s;
}

struct shared_text *
shared_text_hold(struct shared_text *s)
{
	s->refs++;
	return s;
}

void
shared_text_release(struct shared_text *s)
{
	if (s == NULL || --s->refs > 0)
		return;
	s->all->bytes -= s->len;
	free(s);
}

void
shared_text_release_data(void *data)
{
	shared_text_release((struct shared_text *)(void *)((char *)data -
	    offsetof(struct shared_text, data)));
}
