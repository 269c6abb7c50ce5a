/*
 * bus_core.c - nats.core: messages that nobody acknowledges
 *
 * A message is delivered when the kernel has taken it.  A server or connection
 * that ends before it has read it loses it.
 */

#include "nats/bus_impl.h"

bool
bus_core_caution(void *arg, struct err *e)
{
	(void)arg;
	err_set(e, "nats.core is true: messages are sent at most once, and are "
	    "lost without a trace if the broker or a connection fails, or if "
	    "nobody has subscribed");
	return true;
}

void
bus_core_begin(void *arg, int64_t until)
{
	struct bus	*b = arg;

	answer_queue_clear(&b->core);
	b->until = until;
}

bool
bus_core_answer(void *arg, struct pub_answer *a)
{
	struct bus	*b = arg;

	return bus_core_is_written(b) && answer_queue_take(&b->core, a);
}
