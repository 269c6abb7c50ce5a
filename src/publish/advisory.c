/* advisory.c - see advisory.h */

#include "publish/advisory.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <jansson.h>

#include "util/printable.h"
#include "util/utf8.h"
#include "util/xalloc.h"

/* A column may have bytes that are no UTF-8, which JSON needs. */
static json_t *
text_as_json(const char *text)
{
	char	*copy = xstrdup(text);
	json_t	*j;

	utf8_clean(copy);
	j = json_string(copy);
	free(copy);
	return j;
}

/* As in headers: see printable.h. */
static json_t *
plain_of(struct bytes b)
{
	struct buf	 text = { 0 };
	json_t		*j;

	if (b.data == NULL)
		return json_null();
	printable_put(&text, b.data, b.len);
	j = json_stringn(text.data, text.len);
	buf_free(&text);
	return j;
}

char *
advisory_text(const struct msg *m, const char *outbox, int64_t now)
{
	json_t		*j = json_object();
	time_t		 seconds = (time_t)(now / 1000);
	struct tm	 tm;
	char		 time[40], *text;
	size_t		 n;

	gmtime_r(&seconds, &tm);
	n = strftime(time, sizeof(time), "%Y-%m-%dT%H:%M:%S", &tm);
	snprintf(time + n, sizeof(time) - n, ".%03dZ", (int)(now % 1000));
	json_object_set_new(j, "outbox", text_as_json(outbox));
	json_object_set_new(j, "sequence",
	    json_integer((json_int_t)m->sequence));
	json_object_set_new(j, "partition", plain_of(m->partition));
	json_object_set_new(j, "key", plain_of(m->key));
	json_object_set_new(j, "type", plain_of(m->type));
	json_object_set_new(j, "reason", json_string(m->reason));
	/* transient: all attempts failed; message: its own fault */
	json_object_set_new(j, "class", json_string(
	    strcmp(m->reason, "attempts") == 0 ? "transient" : "message"));
	json_object_set_new(j, "attempts", json_integer(m->attempts + 1));
	json_object_set_new(j, "error", text_as_json(m->error));
	json_object_set_new(j, "time", json_string(time));
	text = json_dumps(j, JSON_COMPACT | JSON_PRESERVE_ORDER);
	json_decref(j);
	return text;
}

void
advisory_tell(struct relay *r, const struct batch *b, uint64_t buried)
{
	const struct pub	*p = relay_broker(r);
	uint64_t		 dead = 0;
	struct timespec		 ts;
	char			*text;

	if (r->conf->nats.advisory[0] == '\0' || p == NULL)
		return;
	clock_gettime(CLOCK_REALTIME, &ts);
	for (size_t i = 0; i < b->n; i++)
		dead += b->msgs[i].outcome == OUT_DEAD;
	for (size_t i = 0; i < b->n && dead == buried; i++) {
		if (b->msgs[i].outcome != OUT_DEAD)
			continue;
		text = advisory_text(&b->msgs[i], r->form.id_prefix,
		    (int64_t)ts.tv_sec * 1000 + ts.tv_nsec / 1000000);
		p->ops->tell(p->arg, r->conf->nats.advisory, text);
		free(text);
	}
}
