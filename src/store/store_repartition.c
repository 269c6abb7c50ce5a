/*
 * store_repartition.c - change the partition count, with every key in order
 *
 * One transaction declares the new count, keeps the old one as a former one,
 * makes the leases of the new labels and raises all epochs.  A worker claims
 * under epochs that it has read together with the counts.  So after the commit
 * every claim is made by a worker that knows the new count and owns whole
 * classes of the labels of all declared counts (see counts.h).  Producers take
 * no part: they read the count without a lock, and the labels of every declared
 * count are served in order.
 */

#include "store/store_impl.h"

int
store_write_counts(struct store *s, const struct counts *c, struct err *e)
{
	char	former[COUNTS_TEXT];

	counts_format(c, former);
	store_sql(s, "UPDATE {settings} SET updated_at = {now}, "
	    "counts_since = {now}, partition_count = :count, "
	    "former_counts = NULLIF(:former, '') WHERE id = 1",
	    SQL_NUMBER("count", c->count), SQL_TEXT("former", former));
	if (store_exec(s, "repartition", NULL, e) < 0 ||
	    store_fill_declared(s, c, e) < 0)
		return -1;
	store_sql(s, "UPDATE {partitions} SET " STORE_NEW_EPOCH);
	return store_exec(s, "repartition", NULL, e);
}

/*
 * What a change would do, from the counts as they are.  Another program leases
 * labels, not classes: it would reorder keys.
 */
static int
decide(struct store *s, unsigned count, struct repartition *r, struct err *e)
{
	struct store_view	v;

	r->before = r->counts;
	if (r->counts.count == 0 || r->counts.count == count)
		return 0;
	r->refused = counts_repartition(&r->counts, count, &r->why) < 0;
	if (!r->refused) {
		if (store_view(s, &v, e) < 0)
			return -1;
		for (size_t i = 0; i < v.nworkers && !r->refused; i++)
			if (!ident_is_valid(v.workers[i].id)) {
				r->refused = true;
				err_set(&r->why, "worker %s of another program "
				    "shares the tables, and under two counts "
				    "it would break the order of keys: stop it "
				    "first", v.workers[i].id);
			}
		store_view_free(&v);
	}
	r->changed = !r->refused;
	if (r->refused)
		r->counts = r->before;
	return 0;
}

int
store_repartition(struct store *s, unsigned count, struct repartition *r,
    struct err *e)
{
	int	rc;

	*r = (struct repartition){ 0 };
	if (store_is_pillar(s))
		return 0;
	if ((rc = store_begin_in_a_hurry(s, e)) == 0) {
		if (store_lock_counts(s, &r->counts, e) < 0 ||
		    decide(s, count, r, e) < 0 ||
		    (r->changed && store_write_counts(s, &r->counts, e) < 0))
			rc = -1;
		rc = store_end_in_a_hurry(s, rc, e);
	}
	if (rc == 0)
		return 0;
	*r = (struct repartition){ .busy = store_fault(s) == DB_BUSY,
	    .refused = store_fault(s) == DB_WRONG, .why = *e,
	    .counts = r->before };
	return r->busy || r->refused ? 0 : -1;
}

int
store_plan_repartition(struct store *s, unsigned count, struct repartition *r,
    struct err *e)
{
	*r = (struct repartition){ 0 };
	if (store_read_counts(s, &r->counts, e) < 0)
		return -1;
	r->before = r->counts;
	return store_is_pillar(s) ? 0 : decide(s, count, r, e);
}
