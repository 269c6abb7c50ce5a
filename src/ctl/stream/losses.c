/* losses.c - messages that the stream has lost and that were only reported */

#include "ctl/base/ctl.h"
#include "ctl/base/bulk_update.h"
#include "ctl/stream/losses.h"

int
losses_clear(struct ctl *c, const char *stream, uint64_t *streams,
    struct err *e)
{
	store_sql(c->store, "UPDATE {streams} SET lost = 0, lost_first = NULL, "
	    "lost_last = NULL, lost_at = NULL WHERE lost > 0");
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
count_losses(struct ctl *c, uint64_t *lost, struct err *e)
{
	store_sql(c->store, "SELECT COALESCE(SUM(lost), 0) FROM {streams}");
	return store_query_number(c->store, "losses", lost, e);
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
	if (!ctl_confirm(c, n, "forgotten"))
		return CTL_FAILED;
	if (n > 0 && !c->args.dry_run &&
	    ctl_transaction(c, forget_all_losses, &streams, &e) < 0)
		return ctl_fail(c, &e);
	print_changed(c, n, "lost message", "forgotten");
	return CTL_DONE;
}
