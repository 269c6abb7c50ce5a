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

#include "util/clock.h"
#include "ctl/base/ctl.h"
#include "store/watermark.h"
#include "store/prune.h"
#include "util/display.h"
#include "util/xalloc.h"

#define DEAD_PAGE	1000	/* dead letters scanned by a statement */
#define PATIENCE	10	/* seconds to wait for the purge, per batch */

/* Dead letters, or marks of former ones. */
struct letters {
	uint64_t	*list;
	size_t		 n;
	uint64_t	 done;
};

struct prune {
	struct ctl		*c;
	struct prune_limits	 limits;

	uint64_t	 total, highest;	/* of the rows to delete */
	uint64_t	 done;

	uint64_t	*list;		/* a batch of rows */
	size_t		 n;
	struct letters	 dead, marks;
	struct ctl_refused refused;

	bool		 no_history;	/* no right to read the history */
	struct progress	 bar;
};

static int
count_prunable(struct prune *p, struct err *e)
{
	struct store_period	left = { PRUNE_BEGINNING, p->limits.until };
	uint64_t		n, highest;

	while (strcmp(left.from, left.until) < 0) {
		if (prune_slice(p->c->store, &left, &n, &highest, e) < 0)
			return -1;
		p->total += n;
		if (highest > p->highest)
			p->highest = highest;
	}
	return 0;
}

/* Space for a page. */
static uint64_t *
more_space(struct letters *l)
{
	l->list = xreallocarray(l->list, l->n + DEAD_PAGE, sizeof(*l->list));
	return l->list + l->n;
}

/* Find the dead letters to delete; marks go if below the future watermark. */
static int
find_dead(struct prune *p, struct err *e)
{
	struct watermark	h;
	struct prune_page	page = { .max = DEAD_PAGE };
	bool			more = store_has(p->c->store, T_DEAD);

	if (watermark_read(p->c->store, &h, e) < 0)
		return -1;
	if (!h.known)
		h.at = UINT64_MAX;
	else if (h.at < p->highest)
		h.at = p->highest;
	for (; more; more = page.nread > 0) {
		page.list = more_space(&p->dead);
		page.marks = more_space(&p->marks);
		if (prune_find_dead(p->c->store, h.at, p->limits.dead_until,
		    &page, e) < 0)
			return -1;
		p->dead.n += page.n;
		p->marks.n += page.nmarks;
	}
	return 0;
}

static int
raise_watermark(struct ctl *c, void *arg, struct err *e)
{
	const struct prune	*p = arg;

	if (watermark_raise(c->store, p->highest, e) < 0)
		return -1;
	return audit_note(c, 0, e);
}

static int
delete_pruned_rows(struct ctl *c, void *arg, const uint64_t *list, size_t n,
    uint64_t *changed, struct err *e)
{
	const struct prune	*p = arg;

	return prune_delete(c->store, list, n, p->limits.until, changed, e);
}

/*
 * Pause as long as the batch took; wait longer while the server has too many
 * old row versions to purge.
 */
static void
rest(struct prune *p, int64_t busy_ms)
{
	ctl_sleep(busy_ms);
	for (int i = 0; i < PATIENCE &&
	    prune_history(p->c->store, &p->no_history) > PRUNE_HISTORY; i++)
		ctl_sleep(1000);
}

static int
delete_all(struct prune *p, struct err *e)
{
	struct store_period	left = { PRUNE_BEGINNING, p->limits.until };
	int64_t			began;

	do {
		began = clock_ms();
		if (prune_find(p->c->store, &left, &(struct prune_skip){
		    p->refused.list, p->refused.n },
		    (size_t)p->c->args.batch, p->list, &p->n, e) < 0 ||
		    ctl_change_rows(p->c, p->list, p->n, delete_pruned_rows, p,
		    &p->done, &p->refused, e) < 0)
			return -1;
		progress_show(&p->bar, p->done, p->total);
		if (p->n == (size_t)p->c->args.batch)
			rest(p, clock_ms() - began);
	} while (p->n == (size_t)p->c->args.batch);
	return 0;
}

static int
purge_pruned_dead(struct ctl *c, void *arg, const uint64_t *list, size_t n,
    uint64_t *changed, struct err *e)
{
	(void)arg;
	return watermark_purge(c->store, list, n, changed, e);
}

static int
purge_letters(struct prune *p, struct letters *l, struct err *e)
{
	size_t	batch = (size_t)p->c->args.batch;

	for (size_t i = 0, n; i < l->n; i += n) {
		n = l->n - i < batch ? l->n - i : batch;
		if (ctl_change_rows(p->c, l->list + i, n, purge_pruned_dead, p,
		    &l->done, &p->refused, e) < 0)
			return -1;
	}
	return 0;
}

/* "3 delivered rows and 1 dead letter", and marks if there are any. */
#define SUM_SIZE	(4 * COUNT_SIZE)

static const char *
sum_text(char to[SUM_SIZE], uint64_t rows, uint64_t dead, uint64_t marks)
{
	snprintf(to, SUM_SIZE, "%s%s%s", COUNTED(rows, "delivered row"),
	    marks == 0 ? " and " : ", ", COUNTED(dead, "dead letter"));
	if (marks > 0)
		snprintf(to + strlen(to), SUM_SIZE - strlen(to), " and %s of "
		    "former ones", COUNTED(marks, "mark"));
	return to;
}

static void
prune_summary(const struct prune *p)
{
	uint64_t	changed = p->done + p->dead.done + p->marks.done;
	char		until[STORE_TIME + 1], sum[SUM_SIZE];

	snprintf(until, sizeof(until), "%sZ", p->limits.until);
	until[10] = 'T';
	if (p->c->args.json) {
		print_object(p->c, json_pack("{s:I, s:I, s:I, s:I, s:s, s:b, "
		    "s:b}", "changed", (json_int_t)changed,
		    "rows", (json_int_t)p->done,
		    "dead_letters", (json_int_t)p->dead.done,
		    "marks", (json_int_t)p->marks.done, "until", until,
		    "later_needed", p->limits.needed,
		    "dry_run", p->c->args.dry_run));
		return;
	}
	if (changed == 0)
		display_print(stdout, "Nothing to prune.\n");
	else
		display_print(stdout, "%s %s.\n",
		    p->c->args.dry_run ? "Would delete" : "Deleted",
		    sum_text(sum, p->done, p->dead.done, p->marks.done));
	if (p->limits.needed)
		display_print(stdout, "Rows delivered after %.19sZ are kept: a "
		    "stream check needs them.\n", until);
}

static int
prune_give_up(struct prune *p, const struct err *e)
{
	char	sum[SUM_SIZE];
	int	status;

	progress_end(&p->bar);
	status = ctl_fail(p->c, e);
	ctl_error("%s were deleted",
	    sum_text(sum, p->done, p->dead.done, p->marks.done));
	if (p->c->args.json)
		prune_summary(p);
	return status;
}

static int
prune_run(struct prune *p)
{
	const struct args	*a = &p->c->args;
	char			 days[64], kept[64] = "", sum[SUM_SIZE];
	struct err		 e;

	snprintf(days, sizeof(days), "NOW(6) - INTERVAL %lld DAY",
	    a->days < 0 ? 7LL : (long long)a->days);
	if (prune_limits(p->c->store, a->older_than != NULL ? a->older_than :
	    days, a->dead_days, &p->limits, &e) < 0 ||
	    count_prunable(p, &e) < 0 || find_dead(p, &e) < 0)
		return ctl_fail(p->c, &e);
	if (p->limits.needed)
		snprintf(kept, sizeof(kept), ", those delivered after "
		    "%.10sT%.8sZ are kept", p->limits.until,
		    p->limits.until + strlen("2026-01-31 "));
	if (p->total + p->dead.n + p->marks.n > CTL_MANY &&
	    !ctl_confirm_impact(p->c, "%s would be deleted%s",
	    sum_text(sum, p->total, p->dead.n, p->marks.n), kept))
		return CTL_FAILED;
	if (a->dry_run) {
		p->done = p->total;
		p->dead.done = p->dead.n;
		p->marks.done = p->marks.n;
	} else if ((p->total > 0 && (ctl_transaction(p->c, raise_watermark, p,
	    &e) < 0 || delete_all(p, &e) < 0)) ||
	    purge_letters(p, &p->dead, &e) < 0 ||
	    purge_letters(p, &p->marks, &e) < 0 ||
	    ctl_check_refused(&p->refused, &e) < 0)
		return prune_give_up(p, &e);
	progress_end(&p->bar);
	prune_summary(p);
	return CTL_DONE;
}

int
prune(struct ctl *c)
{
	struct prune	p = { .c = c, .bar.what = "prune" };
	int		status;

	if (c->args.days >= 0 && c->args.older_than != NULL)
		return ctl_misuse("give --days or --older-than, not both");
	p.list = xcalloc((size_t)c->args.batch, sizeof(*p.list));
	status = prune_run(&p);
	free(p.list);
	free(p.dead.list);
	free(p.marks.list);
	return status;
}
