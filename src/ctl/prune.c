/*
 * prune.c - what was delivered long ago goes, a little at a time
 *
 * All that is to go is counted first, in slices of the index, because the
 * horizon has to rise before the first row goes: from then on nobody can tell
 * a row that went from one that was never made.
 */

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <bsd/string.h>

#include "clock.h"
#include "ctl.h"
#include "db.h"
#include "xalloc.h"

#define THE_BEGINNING	"1970-01-01 00:00:01.000000"
#define SLICE		50000	/* index entries counted by a statement */
#define HISTORY		1000000	/* longer: the server is behind with purge */
#define PATIENCE	10	/* seconds to wait for it, per batch */

struct prune {
	struct ctl	*c;
	char		 until[STORE_TIME];	/* rows up to it go */
	char		 dead_until[STORE_TIME];
	bool		 needed;	/* by checks: what is later */

	uint64_t	 total, highest;	/* of the rows; a sequence */
	uint64_t	 done, dead_done;
	uint64_t	 changed;	/* by the last transaction */

	uint64_t	*list;		/* a batch of rows; all the dead */
	size_t		 n;
	uint64_t	*dead;
	size_t		 ndead;

	bool		 blind;		/* the history is not ours to see */
	struct progress	 bar;
};

static void
put_cutoff(struct ctl *c)
{
	const struct args	*a = &c->args;

	if (a->older_than != NULL)
		store_put(c->store, a->older_than);
	else
		store_putf(c->store, "NOW(6) - INTERVAL %lld DAY",
		    a->days < 0 ? 7LL : (long long)a->days);
}

static int
find_limits(struct prune *p, struct err *e)
{
	struct store	*s = p->c->store;
	struct db_rows	*rows;
	char		 needed[STORE_TIME];

	if (store_needed_since(s, needed, e) < 0)
		return -1;
	store_sql(s, "SELECT CAST(");
	put_cutoff(p->c);
	store_putf(s, " AS DATETIME(6)), CAST(NOW(6) - INTERVAL %lld DAY "
	    "AS DATETIME(6))", (long long)p->c->args.dead_days);
	if ((rows = store_query(s, "prune", e)) == NULL)
		return -1;
	db_next(rows);
	strlcpy(p->until, db_text(rows, 0), STORE_TIME);
	strlcpy(p->dead_until, db_text(rows, 1), STORE_TIME);
	db_rows_free(rows);
	p->needed = strcmp(needed, p->until) < 0;
	if (p->needed)
		strlcpy(p->until, needed, STORE_TIME);
	return 0;
}

/* The moment of the last entry of the slice that begins behind from. */
static int
find_end(struct prune *p, const char *from, char end[STORE_TIME],
    struct err *e)
{
	struct store	*s = p->c->store;
	struct db_rows	*rows;

	store_sql(s, "SELECT published_at");
	store_put_delivered(s, from, p->until);
	store_putf(s, " ORDER BY published_at LIMIT %d, 1", SLICE - 1);
	if ((rows = store_query(s, "prune", e)) == NULL)
		return -1;
	strlcpy(end, db_next(rows) ? db_text(rows, 0) : p->until, STORE_TIME);
	db_rows_free(rows);
	return 0;
}

static int
count_slice(struct prune *p, char from[STORE_TIME], struct err *e)
{
	struct store	*s = p->c->store;
	struct db_rows	*rows;
	char		 end[STORE_TIME];

	if (find_end(p, from, end, e) < 0)
		return -1;
	store_sql(s, "SELECT COUNT(*), MAX(global_sequence)");
	store_put_delivered(s, from, end);
	if ((rows = store_query(s, "prune", e)) == NULL)
		return -1;
	db_next(rows);
	p->total += db_u64(rows, 0);
	if (db_u64(rows, 1) > p->highest)
		p->highest = db_u64(rows, 1);
	db_rows_free(rows);
	strlcpy(from, end, STORE_TIME);
	return 0;
}

static int
count_rows(struct prune *p, struct err *e)
{
	char	from[STORE_TIME] = THE_BEGINNING;

	while (strcmp(from, p->until) < 0)
		if (count_slice(p, from, e) < 0)
			return -1;
	return 0;
}

/*
 * Dead letters have no index but their sequence, and are few: all are looked
 * at, a page at a time.  One that was purged goes as soon as the horizon, as
 * it will be, has passed it.
 */
static int
find_dead_behind(struct prune *p, uint64_t horizon, uint64_t *after,
    bool *more, struct err *e)
{
	struct store	*s = p->c->store;
	struct db_rows	*rows;

	store_sql(s, "SELECT global_sequence, IF(reason = '" DEAD_PURGED "', "
	    "global_sequence <= ");
	store_putf(s, "%llu, died_at <= '%s')", (unsigned long long)horizon,
	    p->dead_until);
	store_put(s, " FROM {dead} WHERE global_sequence > ");
	store_putf(s, "%llu ORDER BY global_sequence LIMIT 1000",
	    (unsigned long long)*after);
	if ((rows = store_query(s, "prune", e)) == NULL)
		return -1;
	p->dead = xreallocarray(p->dead, p->ndead + db_nrows(rows) + 1,
	    sizeof(*p->dead));
	*more = db_nrows(rows) > 0;
	while (db_next(rows)) {
		*after = db_u64(rows, 0);
		if (db_u64(rows, 1) != 0)
			p->dead[p->ndead++] = *after;
	}
	db_rows_free(rows);
	return 0;
}

static int
find_dead(struct prune *p, struct err *e)
{
	struct horizon	h;
	uint64_t	after = 0;
	bool		more = store_has(p->c->store, T_DEAD);

	if (horizon_read(p->c, &h, e) < 0)
		return -1;
	if (!h.known)
		h.at = UINT64_MAX;
	else if (h.at < p->highest)
		h.at = p->highest;
	while (more)
		if (find_dead_behind(p, h.at, &after, &more, e) < 0)
			return -1;
	return 0;
}

static int
raise_horizon(struct ctl *c, void *arg, struct err *e)
{
	const struct prune	*p = arg;

	if (horizon_raise(c, p->highest, e) < 0)
		return -1;
	return audit_note(c, 0, e);
}

/* The first rows there are; from moves on to just before the last of them. */
static int
find_batch(struct prune *p, char from[STORE_TIME], struct err *e)
{
	struct store	*s = p->c->store;
	struct db_rows	*rows;

	store_sql(s, "SELECT global_sequence, "
	    "CAST(published_at - INTERVAL 1 MICROSECOND AS DATETIME(6))");
	store_put_delivered(s, from, p->until);
	store_putf(s, " ORDER BY published_at LIMIT %lld",
	    (long long)p->c->args.batch);
	if ((rows = store_query(s, "prune", e)) == NULL)
		return -1;
	for (p->n = 0; db_next(rows); p->n++) {
		p->list[p->n] = db_u64(rows, 0);
		strlcpy(from, db_text(rows, 1), STORE_TIME);
	}
	db_rows_free(rows);
	return 0;
}

/* One that is to be sent again since we looked is not delivered any more. */
static int
delete_rows(struct ctl *c, void *arg, struct err *e)
{
	struct prune	*p = arg;

	store_sql(c->store, "DELETE FROM {outbox} WHERE global_sequence IN (");
	store_put_list(c->store, p->list, p->n);
	store_putf(c->store, ") AND published_at <= '%s'", p->until);
	if (store_exec(c->store, "prune", &p->changed, e) < 0)
		return -1;
	return audit_note(c, p->changed, e);
}

/* How many old versions of rows the server still keeps; 0: not to be seen. */
static uint64_t
history_length(struct prune *p)
{
	struct db_rows	*rows;
	struct err	 e;
	uint64_t	 n;

	if (p->blind)
		return 0;
	store_sql(p->c->store, "SELECT count FROM "
	    "information_schema.innodb_metrics "
	    "WHERE name = 'trx_rseg_history_len'");
	p->blind = (rows = store_query(p->c->store, "history", &e)) == NULL;
	n = !p->blind && db_next(rows) ? db_u64(rows, 0) : 0;
	db_rows_free(rows);
	return n;
}

/*
 * Leave the server at least half of its time, and where old versions pile up
 * all of it.
 */
static void
rest(struct prune *p, int64_t busy_ms)
{
	ctl_sleep(busy_ms);
	for (int i = 0; i < PATIENCE && history_length(p) > HISTORY; i++)
		ctl_sleep(1000);
}

static int
delete_all(struct prune *p, struct err *e)
{
	char	from[STORE_TIME] = THE_BEGINNING;
	int64_t	began;

	do {
		began = clock_ms();
		p->changed = 0;
		if (find_batch(p, from, e) < 0 || (p->n > 0 &&
		    ctl_transaction(p->c, delete_rows, p, e) < 0))
			return -1;
		p->done += p->changed;
		progress_show(&p->bar, p->done, p->total);
		if (p->n == (size_t)p->c->args.batch)
			rest(p, clock_ms() - began);
	} while (p->n == (size_t)p->c->args.batch);
	return 0;
}

static int
purge_dead(struct ctl *c, void *arg, struct err *e)
{
	struct prune	*p = arg;

	if (horizon_purge(c, p->list, p->n, &p->changed, e) < 0)
		return -1;
	return audit_note(c, p->changed, e);
}

static int
purge_all_dead(struct prune *p, struct err *e)
{
	size_t	batch = (size_t)p->c->args.batch;

	for (size_t i = 0; i < p->ndead; i += p->n) {
		p->n = p->ndead - i < batch ? p->ndead - i : batch;
		memcpy(p->list, p->dead + i, p->n * sizeof(*p->list));
		if (ctl_transaction(p->c, purge_dead, p, e) < 0)
			return -1;
		p->dead_done += p->changed;
	}
	return 0;
}

static int
delete_both(struct prune *p, struct err *e)
{
	if (p->total > 0 && (ctl_transaction(p->c, raise_horizon, p, e) < 0 ||
	    delete_all(p, e) < 0))
		return -1;
	return purge_all_dead(p, e);
}

static void
print_text(const struct prune *p)
{
	if (p->done + p->dead_done == 0)
		puts("Nothing to prune.");
	else
		printf("%s %llu delivered row(s) and %llu dead letter(s).\n",
		    p->c->args.dry_run ? "Would delete" : "Deleted",
		    (unsigned long long)p->done,
		    (unsigned long long)p->dead_done);
	if (p->needed)
		printf("What was delivered after %.19sZ stays: a check of the "
		    "stream may need it.\n", p->until);
}

static void
summary(const struct prune *p)
{
	char	until[STORE_TIME + 1];

	if (!p->c->args.json) {
		print_text(p);
		return;
	}
	snprintf(until, sizeof(until), "%sZ", p->until);
	until[10] = 'T';
	print_object(p->c, json_pack("{s:I, s:I, s:I, s:s, s:b, s:b}",
	    "changed", (json_int_t)(p->done + p->dead_done),
	    "rows", (json_int_t)p->done,
	    "dead_letters", (json_int_t)p->dead_done, "until", until,
	    "later_needed", p->needed, "dry_run", p->c->args.dry_run));
}

static int
give_up(struct prune *p, const struct err *e)
{
	int	status;

	progress_end(&p->bar);
	status = ctl_fail(p->c, e);
	fprintf(stderr, "outboxctl: %llu rows and %llu dead letters were "
	    "deleted before that\n", (unsigned long long)p->done,
	    (unsigned long long)p->dead_done);
	return status;
}

static int
run(struct prune *p)
{
	struct err	e;

	if (find_limits(p, &e) < 0 || count_rows(p, &e) < 0 ||
	    find_dead(p, &e) < 0)
		return ctl_fail(p->c, &e);
	if (!ctl_confirm(p->c, p->total + p->ndead, "prune"))
		return CTL_FAILED;
	if (p->c->args.dry_run) {
		p->done = p->total;
		p->dead_done = p->ndead;
	} else if (delete_both(p, &e) < 0)
		return give_up(p, &e);
	progress_end(&p->bar);
	summary(p);
	return CTL_DONE;
}

int
prune(struct ctl *c)
{
	struct prune	p = { .c = c, .bar.what = "prune" };
	int		status;

	if (c->args.days >= 0 && c->args.older_than != NULL) {
		ctl_no_such(c, "--days and --older-than: one of them");
		return CTL_USAGE;
	}
	p.list = xcalloc((size_t)c->args.batch, sizeof(*p.list));
	status = run(&p);
	free(p.list);
	free(p.dead);
	return status;
}
