/*
 * pause.c - pause partitions until they are resumed
 *
 * A pause is a lease whose owner is no worker, so no worker takes it, and the
 * new epoch fences the former owner.  Messages that the former owner has sent
 * are still settled.
 */

#include <stdlib.h>

#include "ctl/base/ctl.h"
#include "mysql/db.h"
#include "ctl/base/filter.h"
#include "ctl/base/bulk_update.h"
#include "ctl/state/state.h"
#include "util/xalloc.h"

/* The last year of TIMESTAMP. */
#define FOR_EVER	"2038-01-01 00:00:00"

struct pause {
	bool		 resume;
	uint64_t	 changed;
	json_t		*labels;	/* of whole classes; NULL: the named
					   labels, or all */
};

static void
put_named(struct ctl *c)
{
	store_put(c->store, "partition_key IN (");
	for (int i = 0; i < c->args.nrest; i++)
		filter_put_label(c->store, c->args.rest[i]);
	store_put(c->store, ")");
}

/*
 * While several partition counts are declared, a worker serves a class as a
 * whole; so a class is also paused as a whole.
 */

static void
add_paused_label(json_t *list, const struct db_rows *rows)
{
	json_array_append_new(list, bytes_json(db_text(rows, 0),
	    db_length(rows, 0)));
}

/* List the labels to change.  Each row is a lease, and whether it is named. */
static void
list_lease_labels(struct ctl *c, const struct counts *k, struct db_rows *rows,
    json_t *list)
{
	bool		*named = xcalloc(counts_gcd(k), sizeof(*named));
	unsigned	 class;

	while (db_next(rows)) {
		class = state_class(c, k, db_text(rows, 0));
		if (class != COUNTS_NONE && db_u64(rows, 1) != 0)
			named[class] = true;
	}
	db_rewind(rows);
	while (db_next(rows)) {
		class = state_class(c, k, db_text(rows, 0));
		if (class == COUNTS_NONE ? db_u64(rows, 1) != 0 : named[class])
			add_paused_label(list, rows);
	}
	free(named);
}

static int
find_classes(struct ctl *c, struct pause *p, const struct counts *k,
    struct err *e)
{
	struct db_rows	*rows;

	json_decref(p->labels);
	p->labels = NULL;
	if (k->nformer == 0 || c->args.nrest == 0)
		return 0;
	store_sql(c->store, "SELECT partition_key, ");
	put_named(c);
	store_put(c->store, " FROM {partitions} "
	    "ORDER BY CAST(partition_key AS BINARY)");
	if ((rows = store_query(c->store, "partitions", e)) == NULL)
		return -1;
	p->labels = json_array();
	list_lease_labels(c, k, rows, p->labels);
	db_rows_free(rows);
	return 0;
}

/* Append a condition: the leases that are not yet in the wanted state. */
static void
put_to_pause(struct ctl *c, const struct pause *p)
{
	if (p->labels != NULL) {
		store_put(c->store, "partition_key");
		filter_put_in_labels(c->store, p->labels);
	} else if (c->args.nrest > 0)
		put_named(c);
	else
		store_put(c->store, "TRUE");
	store_put(c->store, p->resume ? " AND lease_owner = '" STORE_PAUSED
	    "'" : " AND (lease_owner IS NULL OR lease_owner <> '" STORE_PAUSED
	    "')");
}

static int
count_to_pause(struct ctl *c, const struct pause *p, uint64_t *n, struct err *e)
{
	store_sql(c->store, "SELECT COUNT(*) FROM {partitions} WHERE ");
	put_to_pause(c, p);
	return store_query_number(c->store, "partitions", n, e);
}

static int
find_unknown(struct ctl *c, const char **unknown, struct err *e)
{
	*unknown = NULL;
	for (int i = 0; i < c->args.nrest && *unknown == NULL; i++) {
		uint64_t n;

		store_sql(c->store, "SELECT COUNT(*) FROM {partitions} "
		    "WHERE partition_key");
		filter_put_in_label(c->store, c->args.rest[i]);
		if (store_query_number(c->store, "partitions", &n, e) < 0)
			return -1;
		if (n == 0)
			*unknown = c->args.rest[i];
	}
	return 0;
}

static int
pause_leases(struct ctl *c, void *arg, struct err *e)
{
	struct pause	*p = arg;
	struct counts	 k;

	p->changed = 0;
	if (store_hold_counts(c->store, &k, e) < 0 ||
	    find_classes(c, p, &k, e) < 0)
		return -1;
	store_sql(c->store, p->resume ? "UPDATE {partitions} SET lease_owner "
	    "= NULL, lease_until = NULL" : "UPDATE {partitions} SET "
	    "lease_owner = '" STORE_PAUSED "', lease_until = '" FOR_EVER "'");
	store_put(c->store, ", " STORE_NEW_EPOCH " WHERE ");
	put_to_pause(c, p);
	if (store_exec(c->store, "partitions", &p->changed, e) < 0)
		return -1;
	return p->changed == 0 ? 0 : audit_note(c, p->changed, e);
}

static void
report_pause(const struct ctl *c, const struct pause *p)
{
	const char	*what = p->resume ? "resumed" : "paused";
	const json_t	*l;
	struct buf	 text = { 0 };
	size_t		 i;

	if (p->labels != NULL && c->args.json) {
		print_object(c, json_pack("{s:I, s:b, s:O}", "changed",
		    (json_int_t)p->changed, "dry_run", c->args.dry_run,
		    "partitions", p->labels));
		return;
	}
	buf_printf(&text, "%s %s%s", COUNTED(p->changed, "partition"),
	    c->args.dry_run ? "would be " : "", what);
	if (p->labels != NULL)
		buf_str(&text, "; a class as a whole, these are");
	json_array_foreach(p->labels, i, l)
		buf_printf(&text, " \"%s\"", json_string_value(l));
	print_done(c, p->changed, "%s", text.data);
	buf_free(&text);
}

/* Without --yes, ask before nothing at all is sent any more. */
static int
confirm_pause(struct ctl *c, const struct pause *p, bool *may, struct err *e)
{
	uint64_t	left;

	*may = true;
	if (c->args.yes || c->args.dry_run)
		return 0;
	store_sql(c->store, "SELECT COUNT(*) FROM {partitions} WHERE "
	    "lease_owner IS NULL OR lease_owner <> '" STORE_PAUSED "'");
	if (store_query_number(c->store, "partitions", &left, e) < 0)
		return -1;
	if (p->resume || p->changed == 0 || p->changed < left)
		*may = ctl_confirm(c, p->changed, "partition", p->resume ?
		    "resumed" : "paused");
	else
		*may = ctl_confirm_impact(c, "%s would be paused, and none is "
		    "left: no host sends anything until partitions resume",
		    COUNTED(p->changed, "partition"));
	return 0;
}

static int
pause_or_resume(struct ctl *c, struct pause *p)
{
	const char	*unknown;
	struct counts	 k;
	struct err	 e;
	bool		 may;

	if (find_unknown(c, &unknown, &e) < 0)
		return ctl_fail(c, &e);
	if (unknown != NULL)
		return ctl_error("\"%s\": no such partition; nothing was "
		    "done", unknown);
	if (store_read_counts(c->store, &k, &e) < 0 ||
	    find_classes(c, p, &k, &e) < 0 ||
	    count_to_pause(c, p, &p->changed, &e) < 0 ||
	    confirm_pause(c, p, &may, &e) < 0)
		return ctl_fail(c, &e);
	if (!may)
		return CTL_FAILED;
	if (!c->args.dry_run && ctl_transaction(c, pause_leases, p, &e) < 0)
		return ctl_fail(c, &e);
	report_pause(c, p);
	return CTL_DONE;
}

static int
run_pause(struct ctl *c, bool resume)
{
	struct pause	p = { .resume = resume };
	int		status;

	if (c->args.all && c->args.nrest > 0)
		return ctl_misuse_of("choice", "labels", "give labels or all, "
		    "not both", "give LABEL... or --all, not both");
	if (!c->conf->worker.leasing)
		return ctl_error("worker.leasing is off: workers read no "
		    "leases, so partitions cannot be paused");
	status = pause_or_resume(c, &p);
	json_decref(p.labels);
	return status;
}

int
partitions_pause(struct ctl *c)
{
	return run_pause(c, false);
}

int
partitions_resume(struct ctl *c)
{
	return run_pause(c, true);
}
