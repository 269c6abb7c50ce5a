/*
 * pause.c - pause partitions until they are resumed
 *
 * A pause is a lease whose owner is no worker, so no worker takes it, and the
 * new epoch fences the former owner.  Messages that the former owner has sent
 * are still settled.
 */

#include <stdlib.h>

#include "ctl/base/change.h"
#include "ctl/base/filter.h"
#include "ctl/state/state.h"
#include "mysql/db.h"
#include "util/xalloc.h"

struct pause {
	bool	 resume;
	json_t	*labels;	/* of whole classes; NULL: the named ones, or
				   all */
};

static void
put_labels(struct ctl *c, const struct pause *p)
{
	filter_put_labels(c->store, p->labels);
	for (int i = 0; p->labels == NULL && i < c->args.nrest; i++)
		filter_put_label(c->store, c->args.rest[i]);
}

/*
 * While several partition counts are declared, a worker serves a class as a
 * whole; so a class is also paused as a whole.  Lists the labels of the classes
 * that have a named label.
 */
static int
find_classes(struct ctl *c, struct pause *p, const struct counts *k,
    struct err *e)
{
	struct db_rows	*rows;
	bool		*named;
	unsigned	 class;

	json_decref(p->labels);
	p->labels = NULL;
	if (k->nformer == 0 || c->args.nrest == 0)
		return 0;
	store_sql(c->store, "SELECT partition_key, partition_key IN (:named) "
	    "FROM {partitions} ORDER BY CAST(partition_key AS BINARY)",
	    SQL_PUT("named", c->store, put_labels(c, p)));
	if ((rows = store_query(c->store, "partitions", e)) == NULL)
		return -1;
	named = xcalloc(counts_gcd(k), sizeof(*named));
	while (db_next(rows)) {
		class = state_class(c, k, db_text(rows, 0));
		if (class != COUNTS_NONE && db_u64(rows, 1) != 0)
			named[class] = true;
	}
	p->labels = json_array();
	db_rewind(rows);
	while (db_next(rows)) {
		class = state_class(c, k, db_text(rows, 0));
		if (class == COUNTS_NONE ? db_u64(rows, 1) != 0 : named[class])
			json_array_append_new(p->labels, bytes_json(
			    db_text(rows, 0), db_length(rows, 0)));
	}
	free(named);
	db_rows_free(rows);
	return 0;
}

/* Append a condition: the leases that are not yet in the wanted state. */
static void
put_to_pause(struct ctl *c, const struct pause *p)
{
	store_put(c->store, ":which AND :state",
	    SQL_EITHER("which", p->labels != NULL || c->args.nrest > 0,
	    "partition_key IN (:labels)", "TRUE"),
	    SQL_PUT("labels", c->store, put_labels(c, p)),
	    SQL_EITHER("state", p->resume, "lease_owner = '" STORE_PAUSED "'",
	    "(lease_owner IS NULL OR lease_owner <> '" STORE_PAUSED "')"));
}

static int
find_leases(struct chosen *r, struct err *e)
{
	struct ctl	*c = r->c;
	struct counts	 k;
	uint64_t	 n;

	for (int i = 0; i < c->args.nrest; i++) {
		store_sql(c->store, "SELECT COUNT(*) FROM {partitions} "
		    "WHERE partition_key IN (:label)",
		    SQL_PUT("label", c->store,
		    filter_put_label(c->store, c->args.rest[i])));
		if (store_query_number(c->store, "partitions", &n, e) < 0)
			return -1;
		if (n == 0)
			return err_set(e, "\"%s\": no such partition; "
			    "nothing was done", c->args.rest[i]);
	}
	if (store_read_counts(c->store, &k, e) < 0 ||
	    find_classes(c, r->own, &k, e) < 0)
		return -1;
	store_sql(c->store, "SELECT COUNT(*) FROM {partitions} WHERE :leases",
	    SQL_PUT("leases", c->store, put_to_pause(c, r->own)));
	return change_count(r, "partitions", e);
}

/* Without --yes, ask before nothing at all is sent any more. */
static int
ask_pause(struct chosen *r, bool *may, struct err *e)
{
	uint64_t	left;

	if (r->c->args.yes || r->c->args.dry_run)
		return 0;
	store_sql(r->c->store, "SELECT COUNT(*) FROM {partitions} WHERE "
	    "lease_owner IS NULL OR lease_owner <> '" STORE_PAUSED "'");
	if (store_query_number(r->c->store, "partitions", &left, e) < 0)
		return -1;
	if (r->n == 0 || r->n < left)
		*may = ctl_confirm(r->c, r->n, "partition", r->done);
	else
		*may = ctl_confirm_impact(r->c, "%s would be paused, and none "
		    "is left: no host sends anything until partitions resume",
		    COUNTED(r->n, "partition"));
	return 0;
}

static int
pause_leases(struct chosen *r, const uint64_t *list, size_t n,
    uint64_t *changed, struct err *e)
{
	struct store	*s = r->c->store;
	struct pause	*p = r->own;
	struct counts	 k;

	(void)list;
	(void)n;
	if (store_hold_counts(s, &k, e) < 0 || find_classes(r->c, p, &k, e) < 0)
		return -1;
	store_sql(s, "UPDATE {partitions} SET :state, " STORE_NEW_EPOCH
	    " WHERE :leases",
	    SQL_EITHER("state", p->resume,
	    "lease_owner = NULL, lease_until = NULL",
	    "lease_owner = '" STORE_PAUSED "', lease_until = '" STORE_FOR_EVER "'"),
	    SQL_PUT("leases", s, put_to_pause(r->c, p)));
	return store_exec(s, "partitions", changed, e);
}

static int
report_pause(struct chosen *r)
{
	const struct pause	*p = r->own;
	struct ctl		*c = r->c;
	const json_t		*l;
	struct buf		 text = { 0 };
	size_t			 i;

	if (p->labels != NULL && c->args.json) {
		print_object(c, json_pack("{s:I, s:b, s:O}", "changed",
		    (json_int_t)r->changed, "dry_run", c->args.dry_run,
		    "partitions", p->labels));
		return CTL_DONE;
	}
	buf_printf(&text, "%s %s%s", COUNTED(r->changed, "partition"),
	    c->args.dry_run ? "would be " : "", r->done);
	if (p->labels != NULL)
		buf_str(&text, "; a class as a whole, these are");
	json_array_foreach(p->labels, i, l)
		buf_printf(&text, " \"%s\"", json_string_value(l));
	print_done(c, r->changed, "%s", text.data);
	buf_free(&text);
	return CTL_DONE;
}

static int
check_pause(struct chosen *r)
{
	const struct args	*a = &r->c->args;

	if (a->all && a->nrest > 0)
		return ctl_misuse_of("choice", "labels", "give labels or all, "
		    "not both", "give LABEL... or --all, not both");
	if (!r->c->conf->worker.leasing)
		return ctl_error("worker.leasing is off: workers read no "
		    "leases, so partitions cannot be paused");
	return CTL_DONE;
}

static int
check_resume(struct chosen *r)
{
	((struct pause *)r->own)->resume = true;
	return check_pause(r);
}

static void
end_pause(struct chosen *r)
{
	json_decref(((struct pause *)r->own)->labels);
}

const struct change partitions_pause = {
	.thing = "partition", .done = "paused", .check = check_pause,
	.find = find_leases, .ask = ask_pause, .change = pause_leases,
	.apply = change_at_once, .report = report_pause, .end = end_pause,
	.own_size = sizeof(struct pause),
};

const struct change partitions_resume = {
	.thing = "partition", .done = "resumed", .check = check_resume,
	.find = find_leases, .change = pause_leases, .apply = change_at_once,
	.report = report_pause, .end = end_pause,
	.own_size = sizeof(struct pause),
};
