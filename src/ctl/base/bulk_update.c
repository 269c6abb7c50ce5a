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

struct chunk {
	const uint64_t			*list;
	size_t				 n;
	const struct bulk_change	*how;
	uint64_t			 changed;
};

static int
change_locked(struct ctl *c, struct chunk *k, struct err *e)
{
	uint64_t	*locked;
	size_t		 n;
	int		 rc;

	if (k->how->lock == NULL)
		return k->how->fn(c, k->list, k->n, &k->changed, e);
	if (k->how->lock(c, k->list, k->n, &locked, &n, e) < 0)
		return -1;
	rc = n == 0 ? 0 : k->how->fn(c, locked, n, &k->changed, e);
	free(locked);
	return rc;
}

static int
update_chunk(struct ctl *c, void *arg, struct err *e)
{
	struct chunk	*k = arg;

	k->changed = 0;
	/* Keys must not move to another partition while epochs are raised. */
	if (store_hold_counts(c->store, &c->counts, e) < 0)
		return -1;
	if (change_locked(c, k, e) < 0)
		return -1;
	return k->changed == 0 ? 0 : audit_note(c, k->changed, e);
}

int
bulk_update(struct ctl *c, const uint64_t *list, size_t n,
    const struct bulk_change *how, uint64_t *changed, struct err *e)
{
	struct chunk	k = { .how = how };

	*changed = 0;
	for (size_t i = 0; i < n; i += k.n) {
		k.list = list + i;
		k.n = n - i < BULK_UPDATE_CHUNK ? n - i : BULK_UPDATE_CHUNK;
		if (ctl_transaction(c, update_chunk, &k, e) < 0)
			return -1;
		*changed += k.changed;
	}
	return 0;
}
