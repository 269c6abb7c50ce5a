/*
 * prune.c - delete rows delivered long ago, in small batches
 *
 * All rows to delete are counted first, in slices of the index, because the
 * reconcile watermark must rise before the first row is deleted: below it a
 * deleted row cannot be told from one that was never made.
 */

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ctl/base/change.h"
#include "store/prune.h"
#include "store/watermark.h"
#include "util/clock.h"
#include "util/display.h"
#include "util/xalloc.h"

#define DEAD_PAGE	1000	/* dead letters scanned by a statement */
#define PATIENCE	10	/* seconds to wait for the purge, per batch */

/* Rows of the outbox, dead letters, or marks of former ones. */
struct part {
	uint64_t	*list;		/* not of rows */
	size_t		 n;		/* to delete */
	uint64_t	 done;
};

struct prune {
	struct prune_limits	 limits;
	uint64_t		 highest;	/* of the rows */
	struct part		 rows, dead, marks;
	bool			 no_history;	/* no right to read it */
};

static uint64_t
size_of(const struct part *part, bool planned)
{
	return planned ? part->n : part->done;
}

/* "3 delivered rows and 1 dead letter", and marks if there are any. */
#define SUM_SIZE	(4 * COUNT_SIZE)

static const char *
sum_text(char to[SUM_SIZE], const struct prune *p, bool planned)
{
	uint64_t	marks = size_of(&p->marks, planned);

	snprintf(to, SUM_SIZE, "%s%s%s",
	    COUNTED(size_of(&p->rows, planned), "delivered row"),
	    marks == 0 ? " and " : ", ",
	    COUNTED(size_of(&p->dead, planned), "dead letter"));
	if (marks > 0)
		snprintf(to + strlen(to), SUM_SIZE - strlen(to), " and %s of "
		    "former ones", COUNTED(marks, "mark"));
	return to;
}

static int
check_prune(struct chosen *r)
{
	const struct args	*a = &r->c->args;

	return a->days >= 0 && a->older_than != NULL ?
	    ctl_misuse("give --days or --older-than, not both") : CTL_DONE;
}

/* Search */

/* Space for a page. */
static uint64_t *
more_space(struct part *part)
{
	part->list = xreallocarray(part->list, part->n + DEAD_PAGE,
	    sizeof(*part->list));
	return part->list + part->n;
}

static int
find_prunable(struct chosen *r, struct err *e)
{
	const struct args	*a = &r->c->args;
	struct prune		*p = r->own;
	struct store_period	 left = { PRUNE_BEGINNING, p->limits.until };
	struct watermark	 below;
	struct prune_page	 page = { .max = DEAD_PAGE };
	bool			 more = !store_is_pillar(r->c->store);
	uint64_t		 n, highest;
	char			 days[64];

	snprintf(days, sizeof(days), "NOW(6) - INTERVAL %lld DAY",
	    a->days < 0 ? 7LL : (long long)a->days);
	if (prune_limits(r->c->store, a->older_than != NULL ? a->older_than :
	    days, a->dead_days, &p->limits, e) < 0)
		return -1;
	while (strcmp(left.from, left.until) < 0) {
		if (prune_slice(r->c->store, &left, &n, &highest, e) < 0)
			return -1;
		p->rows.n += n;
		if (highest > p->highest)
			p->highest = highest;
	}
	/* The dead letters; their marks go if below the future watermark. */
	if (watermark_read(r->c->store, &below, e) < 0)
		return -1;
	if (!below.known)
		below.at = UINT64_MAX;
	else if (below.at < p->highest)
		below.at = p->highest;
	for (; more; more = page.nread > 0) {
		page.list = more_space(&p->dead);
		page.marks = more_space(&p->marks);
		if (prune_find_dead(r->c->store, below.at,
		    p->limits.dead_until, &page, e) < 0)
			return -1;
		p->dead.n += page.n;
		p->marks.n += page.nmarks;
	}
	r->n = p->rows.n + p->dead.n + p->marks.n;
	return 0;
}

static int
ask_prune(struct chosen *r, bool *may, struct err *e)
{
	const struct prune	*p = r->own;
	char			 kept[64] = "", sum[SUM_SIZE];

	(void)e;
	if (p->limits.needed)
		snprintf(kept, sizeof(kept), ", those delivered after "
		    "%.10sT%.8sZ are kept", p->limits.until,
		    p->limits.until + strlen("2026-01-31 "));
	*may = r->n <= CTL_MANY || ctl_confirm_impact(r->c,
	    "%s would be deleted%s", sum_text(sum, p, true), kept);
	return 0;
}

/* Delete */

static int
raise_watermark(struct ctl *c, void *arg, struct err *e)
{
	const struct prune	*p = arg;

	if (watermark_raise(c->store, p->highest, e) < 0)
		return -1;
	return audit_note(c, 0, e);
}

static int
delete_rows(struct chosen *r, const uint64_t *list, size_t n, uint64_t *changed,
    struct err *e)
{
	const struct prune	*p = r->own;

	return prune_delete(r->c->store, list, n, p->limits.until, changed, e);
}

static int
purge(struct chosen *r, const uint64_t *list, size_t n, uint64_t *changed,
    struct err *e)
{
	return watermark_purge(r->c->store, list, n, changed, e);
}

static const struct change of_letters = { .change = purge };

static int
purge_all(struct chosen *r, struct part *part, size_t batch, struct err *e)
{
	for (size_t i = 0, n; i < part->n; i += n) {
		n = part->n - i < batch ? part->n - i : batch;
		if (change_rows(r, &of_letters, part->list + i, n, &part->done,
		    e) < 0)
			return -1;
	}
	return 0;
}

static int
prune_all(struct chosen *r, struct err *e)
{
	struct prune		*p = r->own;
	struct store_period	 left = { PRUNE_BEGINNING, p->limits.until };
	struct prune_skip	 skip = { .list = r->refused };
	size_t			 batch = (size_t)r->c->args.batch;
	int64_t			 began;

	if (p->rows.n > 0 &&
	    ctl_transaction(r->c, raise_watermark, p, e) < 0)
		return -1;
	r->list = xcalloc(batch, sizeof(*r->list));
	while (p->rows.n > 0) {
		began = clock_ms();
		skip.n = r->nrefused;
		if (prune_find(r->c->store, &left, &skip, batch, r->list,
		    &r->n, e) < 0 || change_rows(r, r->how, r->list, r->n,
		    &p->rows.done, e) < 0)
			return -1;
		progress_show(&r->bar, p->rows.done, p->rows.n);
		if (r->n < batch)
			break;
		/*
		 * Pause as long as the batch took; wait longer while the server
		 * has too many old row versions to purge.
		 */
		ctl_sleep(clock_ms() - began);
		for (int i = 0; i < PATIENCE && prune_history(r->c->store,
		    &p->no_history) > PRUNE_HISTORY; i++)
			ctl_sleep(1000);
	}
	return purge_all(r, &p->dead, batch, e) < 0 ||
	    purge_all(r, &p->marks, batch, e) < 0 ? -1 :
	    change_check_refused(r, e);
}

/* Report */

static int
report_pruned(struct chosen *r)
{
	const struct prune	*p = r->own;
	bool			 dry = r->c->args.dry_run;
	json_int_t		 rows = (json_int_t)size_of(&p->rows, dry);
	json_int_t		 dead = (json_int_t)size_of(&p->dead, dry);
	json_int_t		 marks = (json_int_t)size_of(&p->marks, dry);
	char			 until[STORE_TIME + 1], sum[SUM_SIZE];

	snprintf(until, sizeof(until), "%sZ", p->limits.until);
	until[10] = 'T';
	if (r->c->args.json) {
		print_object(r->c, json_pack("{s:I, s:I, s:I, s:I, s:s, s:b, "
		    "s:b}", "changed", rows + dead + marks, "rows", rows,
		    "dead_letters", dead, "marks", marks, "until", until,
		    "later_needed", p->limits.needed, "dry_run", dry));
		return CTL_DONE;
	}
	if (rows + dead + marks == 0)
		display_print(stdout, "Nothing to prune.\n");
	else
		display_print(stdout, "%s %s.\n", dry ? "Would delete" :
		    "Deleted", sum_text(sum, p, dry));
	if (p->limits.needed)
		display_print(stdout, "Rows delivered after %.19sZ are kept: a "
		    "stream check needs them.\n", until);
	return CTL_DONE;
}

static void
tell_deleted(struct chosen *r)
{
	char	sum[SUM_SIZE];

	ctl_error("%s were deleted", sum_text(sum, r->own, false));
	if (r->c->args.json)
		report_pruned(r);
}

static void
end_prune(struct chosen *r)
{
	struct prune	*p = r->own;

	free(p->dead.list);
	free(p->marks.list);
}

const struct change prune = {
	.check = check_prune, .find = find_prunable, .ask = ask_prune,
	.change = delete_rows, .apply = prune_all, .bar = "prune",
	.report = report_pruned, .failed = tell_deleted, .end = end_prune,
	.own_size = sizeof(struct prune),
};
