/* discard.c - see local.h */

#include "local/local.h"

#include <stdlib.h>

#include "driver/answer_queue.h"
#include "driver/pub_lacks.h"
#include "util/xalloc.h"

struct discard {
	struct answer_queue	answers;
	bool			open;
};

static int
discard_open(void *arg, struct err *e)
{
	struct discard	*d = arg;

	(void)e;
	d->open = true;
	return 0;
}

static void
discard_close(void *arg)
{
	struct discard	*d = arg;

	answer_queue_clear(&d->answers);
	d->open = false;
}

static bool
discard_is_open(void *arg)
{
	return ((struct discard *)arg)->open;
}

static bool
discard_caution(void *arg, struct err *e)
{
	(void)arg;
	err_set(e, "publish.driver is discard: messages go nowhere, and their "
	    "rows count as delivered");
	return true;
}

static void
discard_begin(void *arg, int64_t until)
{
	struct discard	*d = arg;

	(void)until;
	answer_queue_clear(&d->answers);
}

static enum pub_sent
discard_send(void *arg, const struct envelope *v, uint32_t index, struct err *e)
{
	struct discard	*d = arg;

	(void)v;
	if (!d->open) {
		err_set(e, "not open");
		return PUB_LOST;
	}
	answer_queue_put_stored(&d->answers, index);
	return PUB_SENT;
}

static void
discard_prepare(void *arg, struct pub_polls *p)
{
	if (answer_queue_has(&((struct discard *)arg)->answers))
		p->timeout_ms = 0;
}

static bool
discard_answer(void *arg, struct pub_answer *a)
{
	return answer_queue_take(&((struct discard *)arg)->answers, a);
}

static void
discard_free(void *arg)
{
	struct discard	*d = arg;

	answer_queue_free(&d->answers);
	free(d);
}

static const struct pub_ops ops = {
	.name = "discard",
	.peer = "discard",
	.in_order = true,
	.free = discard_free,
	.open = discard_open,
	.close = discard_close,
	.is_open = discard_is_open,
	.reach = pub_reaches,
	.caution = discard_caution,
	.check = pub_no_check,
	.state = pub_no_state,
	.get_stored = pub_no_stored,
	.find = pub_no_find,
	.removed = pub_no_removed,
	.max_payload = pub_no_limit,
	.capacity = pub_no_limit,
	.unread = pub_none_unread,
	.begin = discard_begin,
	.send = discard_send,
	.prepare = discard_prepare,
	.proceed = pub_no_proceed,
	.woken = pub_no_wakeup,
	.answer = discard_answer,
	.complaint = pub_no_complaint,
	.tell = pub_no_tell,
};

struct pub
discard_new(const struct conf *c, const char *name)
{
	(void)c;
	(void)name;
	return (struct pub){ &ops, xcalloc(1, sizeof(struct discard)) };
}
