/* losses.c - what streams have lost, and operators have to deal with */

#include "ctl/base/ctl.h"
#include "ctl/base/bulk_update.h"
#include "ctl/stream/losses.h"

static const char *
reported(const struct ctl *c)
{
	return store_has_column(c->store, COL_SCRUB) ?
	    "(lost > 0 OR alarm IS NOT NULL OR missing > 0)" :
	    "(lost > 0 OR alarm IS NOT NULL)";
}

/* The next worker, or the scrub, would find them again. */
static int
accept_holes(struct ctl *c, struct err *e)
{
	struct db_rows	*rows;
	int		 rc = 0;

	if (!store_has_column(c->store, COL_SCRUB))
		return 0;
	store_sql(c->store, "SELECT name FROM {streams} WHERE missing > 0");
	if ((rows = store_query(c->store, "losses", e)) == NULL)
		return -1;
	while (rc == 0 && db_next(rows))
		rc = store_holes_accept(c->store, db_text(rows, 0), e);
	db_rows_free(rows);
	return rc;
}

int
losses_clear(struct ctl *c, const char *stream, uint64_t *streams,
    struct err *e)
{
	store_sql(c->store, "UPDATE {streams} SET ");
	if (stream == NULL)	/* or the next worker finds it again */
		store_put(c->store, "known_since = GREATEST(known_since, "
		    "COALESCE(alarm_at, known_since)), first_sequence = "
		    "IF(alarm IS NULL, first_sequence, NULL), ");
	else if (store_has_column(c->store, COL_SCRUB))
		store_put(c->store, "missing = 0, missing_at = NULL, "
		    "holes = NULL, ");
	store_put(c->store, "lost = 0, lost_first = NULL, "
	    "lost_last = NULL, lost_at = NULL, alarm = NULL, alarm_at = NULL "
	    "WHERE ");
	store_put(c->store, reported(c));
	if (stream != NULL) {
		store_put(c->store, " AND name = ");
		store_put_text(c->store, stream);
	}
	if (store_exec(c->store, "losses", streams, e) < 0)
		return -1;
	return stream == NULL ? accept_holes(c, e) : 0;
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
	store_sql(c->store, "SELECT COUNT(*) FROM {streams} WHERE ");
	store_put(c->store, reported(c));
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
