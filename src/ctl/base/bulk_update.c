/* bulk_update.c - see bulk_update.h */

#include "ctl/base/bulk_update.h"
#include "ctl/base/filter.h"

#include <stdlib.h>

#include "mysql/db.h"
#include "util/xalloc.h"

int
bulk_update_release(struct ctl *c, const uint64_t *list, size_t n,
    uint64_t *changed, struct err *e)
{
	store_sql(c->store, "UPDATE {blocked} SET reason = 'released' "
	    "WHERE reason = '" STORE_HALTED "' AND first_sequence");
	filter_put_rows(c->store, list, n);
	return store_exec(c->store, "release", changed, e);
}

int
bulk_update_select(struct ctl *c, uint64_t **list, size_t *n, struct err *e)
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
update_chunk(struct ctl *c, void *arg, const uint64_t *list, size_t n,
    uint64_t *changed, struct err *e)
{
	const struct bulk_change	*how = arg;
	uint64_t			*locked;
	int				 rc;

	/* Keys must not move to another partition while epochs are raised. */
	if (store_hold_counts(c->store, &c->counts, e) < 0)
		return -1;
	if (how->lock == NULL)
		return how->fn(c, list, n, changed, e);
	if (how->lock(c, list, n, &locked, &n, e) < 0)
		return -1;
	rc = n == 0 ? 0 : how->fn(c, locked, n, changed, e);
	free(locked);
	return rc;
}

int
bulk_update(struct ctl *c, const uint64_t *list, size_t n,
    const struct bulk_change *how, uint64_t *changed, struct err *e)
{
	struct ctl_refused	refused = { .n = 0 };

	*changed = 0;
	for (size_t i = 0, k; i < n; i += k) {
		k = n - i < BULK_UPDATE_CHUNK ? n - i : BULK_UPDATE_CHUNK;
		if (ctl_change_rows(c, list + i, k, update_chunk, (void *)how,
		    changed, &refused, e) < 0)
			return -1;
	}
	return ctl_check_refused(&refused, e);
}
