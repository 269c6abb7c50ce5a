/*
 * phantoms.c - messages whose events this database does not have: a restored
 * one has lost them, or another one (a rival) publishes them
 *
 * The daemon finds them and reports them until an operator forgets them.
 */

#include "ctl/base/change.h"

static int
count_phantoms(struct chosen *r, struct err *e)
{
	store_sql(r->c->store, "SELECT COALESCE(SUM(phantoms), 0) "
	    "FROM {streams}");
	return change_count(r, "phantoms", e);
}

static int
forget(struct chosen *r, const uint64_t *list, size_t n, uint64_t *changed,
    struct err *e)
{
	(void)list;
	(void)n;
	store_sql(r->c->store, "UPDATE {streams} SET phantoms = 0, "
	    "phantom_first = NULL, phantom_last = NULL, phantom_at = NULL"
	    ":rival WHERE phantoms > 0",
	    SQL_IF("rival", store_is_full(r->c->store),
	    ", rival = NULL, rival_at = NULL"));
	return store_exec(r->c->store, "phantoms", changed, e);
}

/* The audit has the number of streams. */
static int
report_forgotten(struct chosen *r)
{
	print_changed(r->c, r->n, "phantom", r->done);
	return CTL_DONE;
}

const struct change phantoms_forget = {
	.thing = "phantom", .done = "forgotten",
	.find = count_phantoms, .change = forget, .apply = change_at_once,
	.report = report_forgotten,
};
