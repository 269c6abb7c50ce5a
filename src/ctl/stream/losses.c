/* losses.c - what streams have lost, and operators have to deal with */

#include "ctl/base/change.h"
#include "ctl/stream/losses.h"

/* A condition: there is something to report. */
static struct sql
reported(const struct ctl *c)
{
	return store_is_full(c->store) ?
	    SQL("(lost > 0 OR alarm IS NOT NULL OR missing > 0)") :
	    SQL("(lost > 0 OR alarm IS NOT NULL)");
}

int
losses_clear(struct ctl *c, const char *stream, uint64_t *streams,
    struct err *e)
{
	bool		 full = store_is_full(c->store);
	struct db_rows	*rows;
	int		 rc = 0;

	store_sql(c->store, "UPDATE {streams} SET :accepted:found lost = 0, "
	    "lost_first = NULL, lost_last = NULL, lost_at = NULL, "
	    "alarm = NULL, alarm_at = NULL WHERE :reported:named",
	    /* Or the next worker finds it again. */
	    SQL_IF("accepted", stream == NULL, "known_since = "
	    "GREATEST(known_since, COALESCE(alarm_at, known_since)), "
	    "first_sequence = IF(alarm IS NULL, first_sequence, NULL),"),
	    SQL_IF("found", stream != NULL && full,
	    "missing = 0, missing_at = NULL, holes = NULL,"),
	    SQL_PART("reported", reported(c)),
	    SQL_IF("named", stream != NULL, " AND name = :name"),
	    SQL_TEXT("name", stream));
	if (store_exec(c->store, "losses", streams, e) < 0)
		return -1;
	if (stream != NULL || !full)
		return 0;
	/* The next worker, or the scrub, would find the holes again. */
	store_sql(c->store, "SELECT name FROM {streams} WHERE missing > 0");
	if ((rows = store_query(c->store, "losses", e)) == NULL)
		return -1;
	while (rc == 0 && db_next(rows))
		rc = store_holes_accept(c->store, db_text(rows, 0), e);
	db_rows_free(rows);
	return rc;
}

static int
count_losses(struct chosen *r, struct err *e)
{
	store_sql(r->c->store, "SELECT COUNT(*) FROM {streams} WHERE :reported",
	    SQL_PART("reported", reported(r->c)));
	return change_count(r, "losses", e);
}

static int
forget(struct chosen *r, const uint64_t *list, size_t n, uint64_t *changed,
    struct err *e)
{
	(void)list;
	(void)n;
	return losses_clear(r->c, NULL, changed, e);
}

const struct change stream_forget = {
	.thing = "stream report", .done = "forgotten",
	.find = count_losses, .change = forget, .apply = change_at_once,
};
