/*
 * reconcile.c - make the outbox rows that events lack
 *
 * The statements are in sweep.c; this file selects events and reports.
 */

#include "ctl/base/ctl.h"
#include "store/sweep.h"

struct reconcile {
	struct ctl	*c;
	struct sweep	 sweep;
	uint64_t	 made;

	const uint64_t	*piece;		/* of the list, a transaction's */
	size_t		 npiece;
	uint64_t	 made_now;
	struct progress	 bar;
};

static int
search_all(struct reconcile *r, struct err *e)
{
	struct sweep		*w = &r->sweep;
	struct sweep_range	 left = { w->horizon.at, w->newest };
	size_t			 looked;

	do {
		if (sweep_search(w, &left, false, SWEEP_PIECE, &looked, e) < 0)
			return -1;
		progress_show(&r->bar, left.low - w->horizon.at,
		    left.high - w->horizon.at);
	} while (looked == SWEEP_PIECE);
	progress_end(&r->bar);
	return 0;
}

static int
search(struct reconcile *r, struct err *e)
{
	const struct args	*a = &r->c->args;

	if (a->all)
		return search_all(r, e);
	return sweep_search_newest(&r->sweep, a->limit == 0 ? SWEEP_LIMIT :
	    (size_t)a->limit, e);
}

static int
make_piece(struct ctl *c, void *arg, struct err *e)
{
	struct reconcile	*r = arg;

	if (sweep_make(&r->sweep, r->piece, r->npiece, &r->made_now, e) < 0)
		return -1;
	return audit_note(c, r->made_now, e);
}

static int
make_all(struct reconcile *r, struct err *e)
{
	const struct sweep	*w = &r->sweep;

	for (size_t i = 0; i < w->n; i += r->npiece) {
		r->piece = w->list + i;
		r->npiece = w->n - i < SWEEP_PIECE ? w->n - i : SWEEP_PIECE;
		if (ctl_transaction(r->c, make_piece, r, e) < 0) {
			progress_end(&r->bar);
			return err_in(e, "after %llu outbox row(s)",
			    (unsigned long long)r->made);
		}
		r->made += r->made_now;
		progress_show(&r->bar, i + r->npiece, w->n);
	}
	progress_end(&r->bar);
	return 0;
}

static int
report(const struct reconcile *r)
{
	char	text[SWEEP_TEXT];

	sweep_tell(text, r->made, r->c->args.dry_run);
	print_done(r->c, r->made, "%s", text);
	return CTL_DONE;
}

static int
run(struct reconcile *r)
{
	struct sweep	*w = &r->sweep;
	struct err	 e;

	if (sweep_begin(w, &e) < 0)
		return ctl_fail(r->c, &e);
	if (!w->horizon.known)
		return ctl_no_such(r->c, "%s", e.text);
	if (search(r, &e) < 0)
		return ctl_fail(r->c, &e);
	if (!ctl_confirm(r->c, w->n, "reconcile"))
		return CTL_FAILED;
	if (r->c->args.dry_run)
		r->made = w->n;
	else if (make_all(r, &e) < 0)
		return ctl_fail(r->c, &e);
	return report(r);
}

int
reconcile(struct ctl *c)
{
	struct reconcile	r = { .c = c, .bar.what = "reconcile",
				    .sweep = { .store = c->store,
				    .types = &c->conf->publish.types,
				    .type = c->args.type,
				    .since = c->args.since } };
	int			status;

	if (c->args.all && c->args.limit != 0) {
		ctl_no_such(c, "--all and --limit: one of them");
		return CTL_USAGE;
	}
	status = run(&r);
	sweep_free(&r.sweep);
	return status;
}
