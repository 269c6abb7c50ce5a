/* mend.c - see mend.h */

#include "mend.h"

#include <poll.h>
#include <stdlib.h>
#include <string.h>

#include "db.h"
#include "xalloc.h"

/* Deadlocks with claims are part of the game. */
#define TRIES		10
#define PAUSE_MS	50

int
mend_ring(struct ctl *c, struct err *e)
{
	struct store	*s = c->store;
	struct db_rows	*labels = store_query(s, "labels", e);
	const char	*comma = "";

	if (labels == NULL)
		return -1;
	store_sql(s, "UPDATE {partitions} SET lease_epoch = lease_epoch + 1, "
	    "updated_at = {now} WHERE partition_key IN (");
	for (; db_next(labels); comma = ",") {
		store_put(s, comma);
		store_put_text(s, db_text(labels, 0));
	}
	store_put(s, *comma == '\0' ? "NULL)" : ")");
	db_rows_free(labels);
	return store_exec(s, "ring", NULL, e);
}

int
mend_select(struct ctl *c, uint64_t **list, size_t *n, struct err *e)
{
	struct db_rows	*rows = store_query(c->store, "select", e);

	if (rows == NULL)
		return -1;
	*list = xcalloc(db_nrows(rows) + 1, sizeof(**list));
	for (*n = 0; db_next(rows); )
		(*list)[(*n)++] = db_u64(rows, 0);
	db_rows_free(rows);
	return 0;
}

static int
change(struct ctl *c, const uint64_t *list, size_t n, mend_fn *fn,
    uint64_t *changed, struct err *e)
{
	*changed = 0;
	if (store_begin(c->store, e) < 0)
		return -1;
	if (fn(c, list, n, changed, e) == 0 &&
	    (*changed == 0 || audit_note(c, *changed, e) == 0) &&
	    store_commit(c->store, e) == 0)
		return 0;
	store_rollback(c->store);
	return -1;
}

static int
change_chunk(struct ctl *c, const uint64_t *list, size_t n, mend_fn *fn,
    uint64_t *changed, struct err *e)
{
	uint64_t	audit = c->audit;

	for (int i = 1; change(c, list, n, fn, changed, e) < 0; i++) {
		c->audit = audit;	/* its row was rolled back as well */
		*changed = 0;
		if (store_fault(c->store) != DB_BUSY || i == TRIES)
			return -1;
		poll(NULL, 0, i * PAUSE_MS);
	}
	return 0;
}

int
mend(struct ctl *c, const uint64_t *list, size_t n, mend_fn *fn,
    uint64_t *changed, struct err *e)
{
	uint64_t	more;

	*changed = 0;
	for (size_t i = 0; i < n; i += MEND_CHUNK) {
		size_t left = n - i;

		if (change_chunk(c, list + i,
		    left < MEND_CHUNK ? left : MEND_CHUNK, fn, &more, e) < 0)
			return -1;
		*changed += more;
	}
	return 0;
}

int
mend_fail(struct ctl *c, struct err *e)
{
	struct err	why = *e;

	if (strstr(why.text, "command denied") != NULL)
		err_set(e, "%.400s: sql/operator.sql grants it", why.text);
	return ctl_fail(c, e);
}
