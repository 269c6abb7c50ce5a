/*
 * workers_forget.c - forget hosts that vanished
 *
 * The daemon keeps the last row of each, and status reports it.  Only rows
 * without a heartbeat are deleted, so a host that is alive loses nothing.
 */

#include "ctl/base/change.h"
#include "ctl/base/filter.h"

static int
check_forget(struct chosen *r)
{
	const struct args	*a = &r->c->args;

	if (a->all == (a->nrest > 0))
		return ctl_misuse_of("choice", "hosts", "give hosts or all",
		    "give either HOST... or --all");
	return CTL_DONE;
}

static void
put_hosts(struct ctl *c, int from, int to)
{
	for (int i = from; i < to; i++)
		filter_put_label(c->store, c->args.rest[i]);
}

/* The rows of the hosts from..to, or of all, as a condition. */
static void
put_vanished(struct ctl *c, int from, int to)
{
	store_put(c->store, "heartbeat_until <= NOW(6):these",
	    SQL_IF("these", !c->args.all, " AND hostname IN (:hosts)"),
	    SQL_PUT("hosts", c->store, put_hosts(c, from, to)));
}

static int
find_vanished(struct chosen *r, struct err *e)
{
	struct ctl	*c = r->c;
	uint64_t	 n;

	for (int i = 0; i < c->args.nrest; i++) {
		store_sql(c->store, "SELECT COUNT(*) FROM {workers} "
		    "WHERE :these", SQL_PUT("these", c->store,
		    put_vanished(c, i, i + 1)));
		if (store_query_number(c->store, "workers", &n, e) < 0)
			return -1;
		if (n == 0)
			return err_set(e, "\"%s\": no such host, or its "
			    "workers are alive; nothing was done",
			    c->args.rest[i]);
	}
	store_sql(c->store, "SELECT COUNT(*) FROM {workers} WHERE :these",
	    SQL_PUT("these", c->store, put_vanished(c, 0, c->args.nrest)));
	return change_count(r, "workers", e);
}

static int
forget(struct chosen *r, const uint64_t *list, size_t n, uint64_t *changed,
    struct err *e)
{
	struct ctl	*c = r->c;

	(void)list;
	(void)n;
	store_sql(c->store, "DELETE FROM {workers} WHERE :these",
	    SQL_PUT("these", c->store, put_vanished(c, 0, c->args.nrest)));
	return store_exec(c->store, "workers", changed, e);
}

const struct change workers_forget = {
	.thing = "worker", .done = "forgotten", .check = check_forget,
	.find = find_vanished, .change = forget, .apply = change_at_once,
};
