/*
 * pause.c - partitions that nobody serves until they are resumed
 *
 * A pause is a lease that belongs to nobody alive: whoever keeps the rules of
 * leases leaves it alone, and the new epoch fences who had it.  What he has
 * sent already is still written back.
 */

#include <stdlib.h>

#include "ctl.h"
#include "db.h"
#include "filter.h"
#include "mend.h"

/* As far ahead as a TIMESTAMP can be: it ends in 2038. */
#define FOR_EVER	"2038-01-01 00:00:00"

struct pause {
	bool		 resume;
	uint64_t	 changed;
	bool		 changing;	/* the partition count is */
};

/* "partition_key IN (...)", or all. */
static void
put_named(struct ctl *c)
{
	if (c->args.nrest == 0) {
		store_put(c->store, "TRUE");
		return;
	}
	store_put(c->store, "partition_key IN (");
	for (int i = 0; i < c->args.nrest; i++) {
		store_put(c->store, i == 0 ? "" : ", ");
		filter_put_label(c->store, c->args.rest[i]);
	}
	store_put(c->store, ")");
}

/* Those that are not yet as they are wanted. */
static void
put_which(struct ctl *c, const struct pause *p)
{
	put_named(c);
	store_put(c->store, p->resume ? " AND lease_owner = '" STORE_PAUSED
	    "'" : " AND (lease_owner IS NULL OR lease_owner <> '" STORE_PAUSED
	    "')");
}

static int
ask_number(struct ctl *c, uint64_t *n, struct err *e)
{
	struct db_rows	*rows = store_query(c->store, "partitions", e);

	if (rows == NULL)
		return -1;
	*n = db_next(rows) ? db_u64(rows, 0) : 0;
	db_rows_free(rows);
	return 0;
}

static int
count(struct ctl *c, const struct pause *p, uint64_t *n, struct err *e)
{
	store_sql(c->store, "SELECT COUNT(*) FROM {partitions} WHERE ");
	put_which(c, p);
	return ask_number(c, n, e);
}

static int
find_unknown(struct ctl *c, const char **unknown, struct err *e)
{
	*unknown = NULL;
	for (int i = 0; i < c->args.nrest && *unknown == NULL; i++) {
		uint64_t n;

		store_sql(c->store, "SELECT COUNT(*) FROM {partitions} "
		    "WHERE partition_key IN (");
		filter_put_label(c->store, c->args.rest[i]);
		store_put(c->store, ")");
		if (ask_number(c, &n, e) < 0)
			return -1;
		if (n == 0)
			*unknown = c->args.rest[i];
	}
	return 0;
}

/* A change of the count would wait for a pause for ever: never both. */
static int
look_at_counts(struct ctl *c, struct pause *p, struct err *e)
{
	struct counts	counts;

	if (store_hold_counts(c->store, &counts, e) < 0)
		return -1;
	p->changing = !p->resume && (counts.boundary != 0 ||
	    counts.wanted != 0);
	return 0;
}

static int
change(struct ctl *c, void *arg, struct err *e)
{
	struct pause	*p = arg;

	p->changed = 0;
	if (look_at_counts(c, p, e) < 0)
		return -1;
	if (p->changing)
		return 0;
	store_sql(c->store, p->resume ? "UPDATE {partitions} SET lease_owner "
	    "= NULL, lease_until = NULL" : "UPDATE {partitions} SET "
	    "lease_owner = '" STORE_PAUSED "', lease_until = '" FOR_EVER "'");
	store_put(c->store, ", lease_epoch = lease_epoch + 1, "
	    "updated_at = {now} WHERE ");
	put_which(c, p);
	if (store_exec(c->store, "partitions", &p->changed, e) < 0)
		return -1;
	return p->changed == 0 ? 0 : audit_note(c, p->changed, e);
}

/* It may have waited for the pause to end; a running daemon does it too. */
static int
begin_change(struct ctl *c, struct err *e)
{
	struct counts	counts;
	struct change	ch;

	if (store_read_counts(c->store, &counts, e) < 0)
		return -1;
	return counts.wanted == 0 || counts.boundary != 0 ? 0 :
	    store_change(c->store, 0, &ch, e);
}

static int
do_it(struct ctl *c, struct pause *p, struct err *e)
{
	if (ctl_transaction(c, change, p, e) < 0)
		return -1;
	return p->resume ? begin_change(c, e) : 0;
}

static int
run(struct ctl *c, bool resume)
{
	struct pause	 p = { .resume = resume };
	const char	*what = resume ? "resumed" : "paused", *unknown;
	struct err	 e;

	if (!c->conf->worker.leasing)
		return ctl_no_such(c, "worker.leasing is off: nobody looks at "
		    "leases, and nothing can be paused");
	if (find_unknown(c, &unknown, &e) < 0 ||
	    look_at_counts(c, &p, &e) < 0 || count(c, &p, &p.changed, &e) < 0)
		return ctl_fail(c, &e);
	if (unknown != NULL)
		return ctl_no_such(c, "\"%s\": no such partition; nothing was "
		    "done", unknown);
	if (!p.changing && !ctl_confirm(c, p.changed, what))
		return CTL_FAILED;
	if (!p.changing && !c->args.dry_run && do_it(c, &p, &e) < 0)
		return mend_fail(c, &e);
	if (p.changing)
		return ctl_no_such(c, "a change of the partition count is "
		    "under way, which a pause would keep from ending: see "
		    "outboxctl partitions sync; nothing was done");
	print_done(c, p.changed, "%s%llu partition(s) %s",
	    c->args.dry_run ? "would be: " : "",
	    (unsigned long long)p.changed, what);
	return CTL_DONE;
}

int
partitions_pause(struct ctl *c)
{
	return run(c, false);
}

int
partitions_resume(struct ctl *c)
{
	return run(c, true);
}
