/*
 * retry.c - messages retry: make delayed messages due now
 *
 * Those named are reported one by one.  With filters, the delayed ones are
 * found first, and then changed; what is sent meanwhile is left out.
 */

#include <stdio.h>

#include "ctl/base/bulk_update.h"
#include "ctl/base/filter.h"
#include "ctl/base/selection.h"
#include "ctl/messages/impact.h"
#include "ctl/messages/messages.h"
#include "util/display.h"

static void
select_delayed(struct ctl *c)
{
	store_sql(c->store, "SELECT {o.global_sequence}");
	message_put_from(c->store);
	store_put(c->store, " WHERE {o.global_sequence}");
}

static void
put_delayed_filter(struct ctl *c)
{
	static const struct filter	f = { .key = "{e.stream_id}",
	    .type = "{e.event_type}", .time = "{e.occurred_at}" };

	store_put(c->store, " AND " MESSAGE_FREE
	    " AND ({o.available_at} > NOW(6)");
	store_put(c->store, c->args.reset_attempts ? " OR {o.attempts} > 0)" :
	    ")");
	filter_put(c, &f);
	message_put_partition_filter(c);
}

static int
retry_selection(struct ctl *c, struct selection *ch)
{
	struct err	 e;
	uint64_t	 changed;
	json_t		*halts;

	if (selection_make(c, ch, &e) < 0)
		return ctl_fail(c, &e);
	changed = ch->n;
	if (!ctl_confirm(c, ch->n, "message", "due now"))
		return CTL_FAILED;
	if ((!c->args.dry_run && bulk_update(c, ch->list, ch->n,
	    &message_retry_change, &changed, &e) < 0) ||
	    (halts = impact_halts(c, ch->list, ch->n, &e)) == NULL)
		return ctl_fail(c, &e);
	impact_report(c, changed, "message", "due now", halts);
	if (changed < ch->n)
		display_print(stderr, "outboxctl: %llu skipped: a worker sends them, "
		    "or they are not pending any more\n",
		    (unsigned long long)(ch->n - changed));
	return CTL_DONE;
}

int
messages_retry(struct ctl *c)
{
	struct selection	ch = { .select = select_delayed,
				    .finish = put_delayed_filter,
				    .by = c->args.key != NULL ? CURSOR_KEY :
				    CURSOR_WAITING };
	int			status = selection_check(c, &ch);

	if (status == CTL_DONE)
		status = c->args.nrest > 0 ? message_retry_named(c) :
		    retry_selection(c, &ch);
	selection_free(&ch);
	return status;
}
