/*
 * phantoms.c - messages whose events a restored database has lost
 *
 * The daemon finds them and reports them until an operator forgets them.
 */

#include "ctl/base/ctl.h"
#include "ctl/base/bulk_update.h"

static int
forget_all_phantoms(struct ctl *c, void *arg, struct err *e)
{
	uint64_t	*changed = arg;

	store_sql(c->store, "UPDATE {streams} SET phantoms = 0, "
	    "phantom_first = NULL, phantom_last = NULL, phantom_at = NULL "
	    "WHERE phantoms > 0");
	if (store_exec(c->store, "phantoms", changed, e) < 0)
		return -1;
	return *changed == 0 ? 0 : audit_note(c, *changed, e);
}

static int
count_phantoms(struct ctl *c, uint64_t *phantoms, struct err *e)
{
	store_sql(c->store, "SELECT COALESCE(SUM(phantoms), 0) FROM {streams}");
	return store_query_number(c->store, "phantoms", phantoms, e);
}

int
phantoms_forget(struct ctl *c)
{
	uint64_t	n, streams;
	struct err	e;

	if (!store_has(c->store, T_STREAMS))
		return ctl_no_table(c, T_STREAMS);
	if (count_phantoms(c, &n, &e) < 0)
		return ctl_fail(c, &e);
	if (!ctl_confirm(c, n, "phantom", "forgotten"))
		return CTL_FAILED;
	if (n > 0 && !c->args.dry_run &&
	    ctl_transaction(c, forget_all_phantoms, &streams, &e) < 0)
		return ctl_fail(c, &e);
	print_changed(c, n, "phantom", "forgotten");
	return CTL_DONE;
}
