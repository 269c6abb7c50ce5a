/* change.c - see change.h */

#include "change.h"

#include "clock.h"
#include "log.h"

#define LOOK_MS		100	/* between two looks whether it is over */
#define COSTLY		20	/* a look may take so small a part of the time */
#define BUSY_MS		2000	/* producers go on meanwhile */
#define PAUSED_MS	10000	/* resume begins it by itself */

int
change_learn(struct change_duty *d, struct err *e)
{
	return store_read_counts(d->store, &d->counts, e);
}

bool
change_is_on(const struct change_duty *d)
{
	return d->counts.boundary != 0;
}

static void
tell(struct change_duty *d, const struct change *ch)
{
	const struct counts	*c = &ch->counts;

	if (ch->begun)
		log_info("partition count changed from %u to %u%s", c->former,
		    c->count, ch->over ? "" : ": what waits under the former "
		    "one goes first");
	else if (ch->over)
		log_info("partition count: all that waited under the former "
		    "one is on its way");
	if ((ch->busy || ch->paused) && !d->told)
		log_warn("partition count: the change %s", ch->busy ?
		    "waits for an open transaction that has enqueued" :
		    "cannot begin while a partition is paused: outboxctl "
		    "partitions resume");
	d->told = ch->busy || ch->paused;
}

static int
proceed(struct change_duty *d, int64_t now, bool *moved, struct err *e)
{
	struct change	ch;

	if (store_change(d->store, d->wish, &ch, e) < 0)
		return -1;
	tell(d, &ch);
	d->next_at = now + (ch.busy ? BUSY_MS : ch.paused ? PAUSED_MS :
	    LOOK_MS);
	if (ch.busy)
		return 0;
	d->wish = 0;
	d->counts = ch.counts;
	*moved = *moved || ch.begun || ch.over;
	return 0;
}

int
change_round(struct change_duty *d, bool first, int64_t now, bool *moved,
    struct err *e)
{
	size_t	left = 0;

	if (now < d->next_at || (d->wish == 0 && (!first ||
	    (!change_is_on(d) && d->counts.wanted == 0))))
		return 0;
	if (d->wish == 0 && store_change_left(d->store, STORE_MOVABLE + 1,
	    &left, e) < 0)
		return -1;
	d->next_at = now + LOOK_MS + (clock_ms() - now) * COSTLY;
	return left > store_movable(d->store) ? 0 : proceed(d, now, moved, e);
}
