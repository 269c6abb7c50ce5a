/* losses.c - what streams have lost, and operators have to deal with */

#include "ctl/base/ctl.h"
#include "ctl/base/bulk_update.h"
#include "ctl/stream/losses.h"

int
losses_clear(struct ctl *c, const char *stream, uint64_t *streams,
    struct err *e)
{
	store_sql(c->store, "UPDATE {streams} SET ");
	if (stream == NULL)	/* or the next worker finds it again */
		store_put(c->store, "known_since = GREATEST(known_since, "
		    "COALESCE(alarm_at, known_since)), ");
	store_put(c->store, "lost = 0, lost_first = NULL, "
	    "lost_last = NULL, lost_at = NULL, alarm = NULL, alarm_at = NULL "
	    "WHERE (lost > 0 OR alarm IS NOT NULL)");
	if (stream != NULL) {
		store_put(c->store, " AND name = ");
		store_put_text(c->store, stream);
	}
	return store_exec(c->store, "losses", streams, e);
}

static int
forget_all_losses(struct ctl *c, void *arg, struct err *e)
{
	uint64_t	*streams = arg;

	if (losses_clear(c, NULL, streams, e) < 0)
		return -1;
	return *streams == 0 ? 0 : audit_note(c, *streams, e);
}

static int
count_losses(struct ctl *c, uint64_t *streams, struct err *e)
{
	store_sql(c->store, "SELECT COUNT(*) FROM {streams} "
	    "WHERE lost > 0 OR alarm IS NOT NULL");
	return store_query_number(c->store, "losses", streams, e);
}

int
stream_forget(struct ctl *c)
{
	uint64_t	n, streams;
	struct err	e;

	if (!store_has(c->store, T_STREAMS))
		return ctl_no_table(c, T_STREAMS);
	if (count_losses(c, &n, &e) < 0)
		return ctl_fail(c, &e);
	if (!ctl_confirm(c, n, "stream report", "forgotten"))
		return CTL_FAILED;
	if (n > 0 && !c->args.dry_run &&
	    ctl_transaction(c, forget_all_losses, &streams, &e) < 0)
		return ctl_fail(c, &e);
	print_changed(c, n, "stream report", "forgotten");
	return CTL_DONE;
}
