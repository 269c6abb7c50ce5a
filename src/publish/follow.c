/* follow.c - see follow.h */

#include "publish/follow.h"

#include <bsd/string.h>

#include "util/clock.h"
#include "util/log.h"
#include "util/printable.h"

#define PAUSE_US	1000000

static const char *const	outcomes[] = {
	[OUT_UNSENT] = "given back", [OUT_DELIVERED] = "delivered",
	[OUT_RETRY] = "to be tried again", [OUT_DEFER] = "deferred",
	[OUT_DEAD] = "dead", [OUT_IN_DOUBT] = "in doubt"
};

/* The first message that may be sent now. */
static const struct msg *
choose(const struct batch *b)
{
	for (size_t i = 0; i < b->n; i++)
		if (!b->msgs[i].held && b->msgs[i].has_event)
			return &b->msgs[i];
	return NULL;
}

static bool
is_followed(const struct follow *f, const struct msg *m)
{
	return f->on && m->sequence == f->sequence;
}

static int64_t
since(const struct follow *f)
{
	return clock_us() - f->began_us;
}

void
follow_claimed(struct follow *f, const struct batch *b, int64_t began)
{
	char			 key[PRINTABLE_SIZE], type[PRINTABLE_SIZE];
	const struct msg	*m;

	if (!log_has(LOG_LVL_DEBUG) || began < f->next_us ||
	    (m = choose(b)) == NULL)
		return;
	*f = (struct follow){ .on = true, .sequence = m->sequence,
	    .began_us = began, .next_us = began + PAUSE_US };
	printable_text(key, m->key.data, m->key.len);
	printable_text(type, m->type.data, m->type.len);
	log_event(LOG_LVL_DEBUG, LOG_FIELDS(LOG_NUMBER("sequence",
	    m->sequence), LOG_TEXT("key", key), LOG_TEXT("type", type),
	    LOG_TEXT("partition", b->labels[m->range]),
	    LOG_NUMBER("attempts", m->attempts),
	    LOG_NUMBER("after_us", since(f))),
	    "message %llu: claimed with %zu messages",
	    (unsigned long long)m->sequence, b->n);
}

void
follow_sent(const struct follow *f, struct msg *m, const char *id_prefix,
    const char *subject)
{
	struct buf		id = { 0 };
	struct message_id	of;

	if (!is_followed(f, m))
		return;
	of = msg_id(m);
	message_id_put(&id, id_prefix, &of);
	log_event(LOG_LVL_DEBUG, LOG_FIELDS(LOG_NUMBER("sequence",
	    m->sequence), LOG_TEXT("event_id", id.data),
	    LOG_TEXT("subject", subject), LOG_NUMBER("bytes", msg_size(m)),
	    LOG_NUMBER("after_us", since(f))), "message %llu: sent",
	    (unsigned long long)m->sequence);
	buf_free(&id);
}

void
follow_acked(const struct follow *f, const struct msg *m, bool duplicate)
{
	if (!is_followed(f, m))
		return;
	log_event(LOG_LVL_DEBUG, LOG_FIELDS(LOG_NUMBER("sequence",
	    m->sequence), LOG_NUMBER("stream_sequence", m->ack_sequence),
	    LOG_NUMBER("after_us", since(f))), "message %llu: acknowledged%s",
	    (unsigned long long)m->sequence,
	    duplicate ? ", was in the stream already" : "");
}

void
follow_published(struct follow *f, const struct batch *b)
{
	const struct msg	*m = f->on ? batch_msg(b, f->sequence) : NULL;

	if (m == NULL)
		return;
	f->outcome = m->outcome;
	strlcpy(f->error, m->error == NULL ? "" : m->error, sizeof(f->error));
}

void
follow_settled(struct follow *f)
{
	if (!f->on)
		return;
	f->on = false;
	log_event(LOG_LVL_DEBUG, LOG_FIELDS(LOG_NUMBER("sequence",
	    f->sequence), LOG_TEXT("outcome", outcomes[f->outcome]),
	    LOG_TEXT("error", f->error[0] == '\0' ? NULL : f->error),
	    LOG_NUMBER("after_us", since(f))), "message %llu: settled",
	    (unsigned long long)f->sequence);
}
