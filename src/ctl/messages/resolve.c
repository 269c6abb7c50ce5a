/*
 * resolve.c - what an operator knows of messages in doubt
 *
 * The daemon sends no message again that may be stored already, as long as the
 * stream does not show whether it is.  Here an operator says so.
 */

#include "ctl/base/bulk_update.h"
#include "ctl/base/filter.h"
#include "ctl/base/selection.h"
#include "ctl/messages/messages.h"

/* A claim that has ended is a doubt, too; the next claim would note it. */
static void
select_in_doubt(struct ctl *c)
{
	store_sql(c->store, "SELECT {o.global_sequence}");
	message_put_from(c->store);
	store_put(c->store, " WHERE {o.published_at} IS NULL AND "
	    "({o.in_doubt_since} IS NOT NULL OR {o.claim_token} IS NOT NULL) "
	    "AND {o.global_sequence}");
}

static void
put_in_doubt_filter(struct ctl *c)
{
	static const struct filter	f = { .key = "{e.stream_id}",
	    .type = "{e.event_type}", .time = "{e.occurred_at}" };

	if (c->args.nrest == 0)		/* those named are told of */
		store_put(c->store, " AND " MESSAGE_FREE);
	filter_put(c, &f);
	message_put_partition_filter(c);
}

static int
lock_in_doubt(struct ctl *c, const uint64_t *list, size_t n, uint64_t **locked,
    size_t *nlocked, struct err *e)
{
	store_sql(c->store, "SELECT {o.global_sequence} FROM {outbox} AS o "
	    "{primary} WHERE {o.global_sequence}");
	filter_put_rows(c->store, list, n);
	store_put(c->store, " AND " MESSAGE_FREE " AND ({o.in_doubt_since} IS "
	    "NOT NULL OR {o.claim_token} IS NOT NULL) FOR UPDATE");
	return bulk_update_select(c, locked, nlocked, e);
}

/* A lease's mark that covers them would set the doubt again, for longer. */
static int
resolve_locked(struct ctl *c, const uint64_t *list, size_t n,
    uint64_t *changed, struct err *e)
{
	struct store	*s = c->store;

	if (message_bump_epochs(c, list, n, e) < 0)
		return -1;
	store_sql(s, "UPDATE {outbox} {primary} SET ");
	if (c->args.sent)
		store_put(s, "{published_at} = {now}");
	else {
		store_put(s, "{in_doubt_since} = ");
		store_put_doubt_ended(s);
		store_put(s, ", {available_at} = ");
		store_put_at_once(s);
	}
	store_put(s, ", {claim_token} = NULL "
	    "WHERE {published_at} IS NULL AND {global_sequence}");
	filter_put_rows(s, list, n);
	return store_exec(s, "resolve", changed, e);
}

static const struct bulk_change resolve = { lock_in_doubt, resolve_locked };

static int
resolve_selection(struct ctl *c, struct selection *ch)
{
	const char	*done = c->args.sent ? "taken for sent" :
			    "taken for unsent";
	uint64_t	 changed;
	struct err	 e;

	if (selection_make(c, ch, &e) < 0)
		return ctl_fail(c, &e);
	changed = ch->n;
	if (!ctl_confirm(c, ch->n, "message", done))
		return CTL_FAILED;
	if (!c->args.dry_run && bulk_update(c, ch->list, ch->n, &resolve,
	    &changed, &e) < 0)
		return ctl_fail(c, &e);
	print_changed(c, changed, "message", done);
	if (changed < ch->n)
		ctl_error("%llu skipped: a worker has them; repeat it",
		    (unsigned long long)(ch->n - changed));
	return ch->all_there && changed == ch->n ? CTL_DONE : CTL_FAILED;
}

int
messages_resolve(struct ctl *c)
{
	struct selection	ch = { .select = select_in_doubt,
				    .finish = put_in_doubt_filter,
				    .by = c->args.key != NULL ? CURSOR_KEY :
				    CURSOR_WAITING, .missing = "no such "
				    "message, or it is not in doubt" };
	int			status;

	if (c->args.sent == c->args.unsent)
		return ctl_misuse("give --sent or --unsent");
	status = selection_check(c, &ch);
	if (status == CTL_DONE && !store_can_resolve_in_doubt(c->store))
		status = ctl_refuse("run outboxctl schema upgrade",
		    "messages resolve needs the column in_doubt_since of %s",
		    store_table_name(c->store, T_OUTBOX));
	else if (status == CTL_DONE)
		status = resolve_selection(c, &ch);
	selection_free(&ch);
	return status;
}
