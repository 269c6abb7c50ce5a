/*
 * resolve.c - what an operator knows of messages in doubt
 *
 * The daemon sends no message again that may be stored already, as long as the
 * stream does not show whether it is.  Here an operator says so.
 */

#include "ctl/base/change.h"
#include "ctl/messages/messages.h"

static int
check_resolve(struct chosen *r)
{
	struct ctl	*c = r->c;
	int		 status;

	if (c->args.sent == c->args.unsent)
		return ctl_misuse("give --sent or --unsent");
	r->done = c->args.sent ? "taken for sent" : "taken for unsent";
	status = change_check_filter(r);
	if (status == CTL_DONE && !store_can_resolve_in_doubt(c->store))
		status = ctl_refuse("run outboxctl schema upgrade",
		    "messages resolve needs the column in_doubt_since of %s",
		    store_table_name(c->store, T_OUTBOX));
	return status;
}

/* A claim that has ended is a doubt, too; the next claim would note it. */
#define IN_DOUBT "({o.in_doubt_since} IS NOT NULL OR " \
	"{o.claim_token} IS NOT NULL)"

static void
select_in_doubt(struct ctl *c, const uint64_t *list, size_t n)
{
	store_sql(c->store, "SELECT {o.global_sequence}" MESSAGE_FROM
	    " WHERE {o.published_at} IS NULL AND " IN_DOUBT ":free:filter "
	    "AND {o.global_sequence} IN (:rows)",
	    MESSAGE_PARTS(c->store), SQL_LIST("rows", list, n),
	    /* A named message that a worker has is told of as skipped. */
	    SQL_IF("free", c->args.nrest == 0, " AND " MESSAGE_FREE),
	    SQL_PUT("filter", c->store,
	    message_put_filter(c, SQL("{e.occurred_at}"))));
}

static int
resolve(struct chosen *r, const uint64_t *list, size_t n, uint64_t *changed,
    struct err *e)
{
	struct store	*s = r->c->store;

	store_sql(s, "UPDATE {outbox} {primary} SET :outcome, "
	    "{claim_token} = NULL WHERE {published_at} IS NULL "
	    "AND {global_sequence} IN (:rows)",
	    SQL_EITHER("outcome", r->c->args.sent, "{published_at} = {now}",
	    "{in_doubt_since} = NULL, {available_at} = :at_once"),
	    SQL_PUT("at_once", s, store_put_at_once(s)),
	    SQL_LIST("rows", list, n));
	return store_exec(s, "resolve", changed, e);
}

const struct change messages_resolve = {
	.thing = "message", .check = check_resolve, .select = select_in_doubt,
	.by = CURSOR_WAITING, .by_key = CURSOR_KEY,
	.missing = "no such message, or it is not in doubt",
	.lock = { "SELECT {o.global_sequence} FROM {outbox} AS o {primary} "
	    "WHERE " MESSAGE_FREE " AND " IN_DOUBT " AND {o.global_sequence}" },
	.epochs = message_put_epochs, .change = resolve,
	.skipped = "a worker has them; repeat it",
};
