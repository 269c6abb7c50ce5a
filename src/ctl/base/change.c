/* change.c - see change.h */

#include "ctl/base/change.h"

#include <stdlib.h>
#include <string.h>

#include "mysql/db.h"
#include "util/xalloc.h"

/* Choose */

int
change_add(struct ctl *c, uint64_t **list, size_t *n, struct err *e)
{
	struct db_rows	*rows = store_query(c->store, "select", e);

	if (rows == NULL)
		return -1;
	*list = xreallocarray(*list, *n + db_nrows(rows) + 1, sizeof(**list));
	while (db_next(rows))
		(*list)[(*n)++] = db_u64(rows, 0);
	db_rows_free(rows);
	return 0;
}

int
change_count(struct chosen *r, const char *what, struct err *e)
{
	uint64_t	n = 0;
	int		rc = store_query_number(r->c->store, what, &n, e);

	r->n = (size_t)n;
	return rc;
}

/* Append the rows of a page that exist and pass the filters. */
static int
choose_page(struct chosen *r, const uint64_t *page, size_t n, struct err *e)
{
	struct ctl	*c = r->c;
	size_t		 before = r->n, found, k;

	r->how->select(c, page, n);
	if (change_add(c, &r->list, &r->n, e) < 0)
		return -1;
	found = r->n - before;
	if (r->how->keep != NULL &&
	    r->how->keep(c, r->list + before, &found, e) < 0)
		return -1;
	r->n = before + found;
	for (size_t i = 0; c->args.nrest > 0 && i < n; i++) {
		for (k = before; k < r->n && r->list[k] != page[i]; k++)
			;
		r->missing += k == r->n;
		if (k == r->n && r->how->missing != NULL)
			ctl_error("%llu: %s", (unsigned long long)page[i],
			    r->how->missing);
	}
	return 0;
}

static int
choose_filtered(struct chosen *r, struct err *e)
{
	struct cursor	*w = cursor_new(r->c, r->c->args.key != NULL ?
			    r->how->by_key : r->how->by, e);
	uint64_t	 page[CURSOR_PAGE];
	size_t		 n = 0;
	int		 rc = w == NULL ? -1 : 0;

	do {
		if (rc == 0)
			rc = cursor_next(w, page, CURSOR_PAGE, &n, e);
		if (rc == 0 && n > 0)
			rc = choose_page(r, page, n, e);
	} while (rc == 0 && n == CURSOR_PAGE);
	cursor_free(w);
	return rc;
}

/* Each key once; rest ends with NULL: that stands for all. */
static int
choose_keys(struct chosen *r, struct err *e)
{
	const struct args	*a = &r->c->args;
	size_t			 before;
	int			 i = 0, k;

	do {
		k = 0;
		while (a->rest[i] != NULL && a->rest[k] != NULL &&
		    strcmp(a->rest[k], a->rest[i]) != 0)
			k++;
		if (k < i)
			continue;
		before = r->n;
		r->nkeys++;
		r->how->select_key(r->c, a->rest[i]);
		if (change_add(r->c, &r->list, &r->n, e) < 0)
			return -1;
		if (a->rest[i] != NULL && r->n == before) {
			r->missing++;
			ctl_error("%s: %s", a->rest[i], r->how->missing);
		}
	} while (++i < a->nrest);
	return 0;
}

static int
sequence_cmp(const void *a, const void *b)
{
	uint64_t	x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return x < y ? -1 : x > y;
}

int
change_choose(struct chosen *r, struct err *e)
{
	size_t	named = (size_t)r->c->args.nrest, n = r->at;
	int	rc = 0;

	if (r->how->select_key != NULL)
		rc = choose_keys(r, e);
	else if (named == 0)
		rc = choose_filtered(r, e);
	else
		for (size_t i = 0; rc == 0 && i < named; i += CHANGE_CHUNK)
			rc = choose_page(r, r->named + i,
			    change_piece(named - i), e);
	if (rc < 0)
		return -1;
	/* In order, each once. */
	if (r->n > r->at)
		qsort(r->list + r->at, r->n - r->at, sizeof(*r->list),
		    sequence_cmp);
	for (size_t i = r->at; i < r->n; i++)
		if (n == r->at || r->list[i] != r->list[n - 1])
			r->list[n++] = r->list[i];
	r->n = n;
	return 0;
}

/* Change */

struct chunk {
	struct chosen		*chosen;
	const struct change	*how;
	const uint64_t		*list;
	size_t			 n;
	uint64_t		 changed;
};

/* A transaction. */
static int
change_chunk(struct ctl *c, void *arg, struct err *e)
{
	struct chunk		*k = arg;
	const struct change	*how = k->how;
	const uint64_t		*list = k->list;
	uint64_t		*locked = NULL;
	size_t			 n = k->n;
	int			 rc = 0;

	k->changed = 0;
	/* Keys must not move to another partition while epochs are raised. */
	if (how->epochs != NULL &&
	    store_hold_counts(c->store, &c->counts, e) < 0)
		return -1;
	if (how->lock.text != NULL) {
		store_sql(c->store, ":lock IN (:rows) FOR UPDATE",
		    SQL_PART("lock", how->lock), SQL_LIST("rows", list, n));
		n = 0;
		rc = change_add(c, &locked, &n, e);
		list = locked;
	}
	if (rc == 0 && n > 0 && how->epochs != NULL && how->epochs(c, list, n))
		rc = store_bump_selected(c->store, "bump", e);
	if (rc == 0 && n > 0)
		rc = how->change(k->chosen, list, n, &k->changed, e);
	free(locked);
	return rc < 0 || k->changed == 0 ? rc : audit_note(c, k->changed, e);
}

int
change_check_refused(const struct chosen *r, struct err *e)
{
	if (r->nrefused == 0)
		return 0;
	return err_set(e, "the database refuses to change %zu row%s%s, which "
	    "stay as before; the first is sequence %llu: %s", r->nrefused,
	    r->nrefused == 1 ? "" : "s", r->nrefused == CHANGE_REFUSED ?
	    " at least" : "", (unsigned long long)r->refused[0], r->why.text);
}

int
change_rows(struct chosen *r, const struct change *how, const uint64_t *list,
    size_t n, uint64_t *changed, struct err *e)
{
	struct isolate	i = isolate_rows(n, 0);

	while (isolate_next(&i)) {
		struct chunk	k = { r, how, list + i.from, i.n, 0 };
		int		rc = ctl_transaction(r->c, change_chunk, &k, e);

		if (rc == 0)
			*changed += k.changed;
		if (!store_isolate(r->c->store, &i, rc))
			continue;
		if (r->nrefused == 0)
			r->why = *e;
		r->refused[r->nrefused++] = list[i.from];
		if (r->nrefused == CHANGE_REFUSED)
			return change_check_refused(r, e);
	}
	return i.rc;
}

int
change_next(struct chosen *r, size_t n, struct err *e)
{
	if (n > r->n - r->at)
		n = r->n - r->at;
	if (change_rows(r, r->how, r->list + r->at, n, &r->changed, e) < 0)
		return -1;
	r->at += n;
	if (r->bar.what != NULL)
		progress_show(&r->bar, r->at, r->n);
	return 0;
}

int
change_all(struct chosen *r, struct err *e)
{
	while (r->at < r->n)
		if (change_next(r, r->how->chunk == 0 ? CHANGE_CHUNK :
		    r->how->chunk, e) < 0)
			return -1;
	return change_check_refused(r, e);
}

int
change_at_once(struct chosen *r, struct err *e)
{
	struct chunk	k = { .chosen = r, .how = r->how, .n = r->n };

	if (r->n > 0 && ctl_transaction(r->c, change_chunk, &k, e) < 0)
		return -1;
	r->changed = k.changed;
	return 0;
}

/* Report */

int
change_status(const struct chosen *r)
{
	bool	skipped = r->how->skipped != NULL && r->changed < r->n;

	if (skipped)
		ctl_error("%llu skipped: %s",
		    (unsigned long long)(r->n - r->changed), r->how->skipped);
	return skipped || r->missing > 0 ? CTL_FAILED : CTL_DONE;
}

int
change_report(struct chosen *r)
{
	print_changed(r->c, r->changed, r->how->thing, r->done);
	return change_status(r);
}

/* The command */

bool
change_is_filtered(const struct args *a)
{
	return a->key != NULL || a->type != NULL || a->partition != NULL ||
	    a->group != NULL || a->since != NULL || a->until != NULL;
}

int
change_check_filter(struct chosen *r)
{
	const struct args	*a = &r->c->args;

	if (a->nrest > 0 && (change_is_filtered(a) || a->all || a->after != 0))
		return ctl_misuse_of("choice", "sequences", "give sequences "
		    "or a filter, not both", "give SEQUENCE... or a filter, "
		    "not both");
	return CTL_DONE;
}

static int
run(struct chosen *r)
{
	const struct change	*how = r->how;
	struct err		 e;
	bool			 may = true;
	int			 rc, status;

	if ((how->find != NULL ? how->find(r, &e) : change_choose(r, &e)) < 0 ||
	    (how->ask != NULL && how->ask(r, &may, &e) < 0))
		return ctl_fail(r->c, &e);
	if (how->ask == NULL)
		may = ctl_confirm(r->c, r->n, how->thing, r->done);
	if (!may)
		return CTL_FAILED;
	if (r->c->args.dry_run) {
		r->changed = r->n;
		rc = 0;
	} else
		rc = how->apply != NULL ? how->apply(r, &e) :
		    change_all(r, &e);
	progress_end(&r->bar);
	if (rc == 0)
		return how->report != NULL ? how->report(r) :
		    change_report(r);
	status = ctl_fail(r->c, &e);
	if (how->failed != NULL)
		how->failed(r);
	return status;
}

int
change_run(struct ctl *c)
{
	const struct change	*how = c->command->change;
	struct chosen		 r = { .c = c, .how = how, .done = how->done,
				    .bar.what = how->bar,
				    .own = xcalloc(1, how->own_size + 1) };
	int			 status = how->check == NULL ? CTL_DONE :
				    how->check(&r);

	if (status == CTL_DONE && how->select != NULL &&
	    (r.named = args_sequences(&c->args)) == NULL)
		status = CTL_USAGE;
	if (status == CTL_DONE)
		status = run(&r);
	if (how->end != NULL)
		how->end(&r);
	free(r.own);
	free(r.named);
	free(r.list);
	return status;
}
