/*
 * reconcile.c - make the outbox rows that events lack
 *
 * The statements are in store/reconcile.c.
 */

#include "ctl/base/ctl.h"
#include "store/reconcile.h"
#include "util/display.h"

struct reconcile_run {
	struct ctl		*c;
	struct reconcile	 reconcile;
	uint64_t		 made;

	const uint64_t		*piece;	/* of the list, a transaction's */
	size_t			 npiece;
	uint64_t		 made_now;
	struct progress		 bar;
};

static int
search_all(struct reconcile_run *r, struct err *e)
{
	struct reconcile	*w = &r->reconcile;
	struct sweep_range	 left = { w->watermark.at, w->newest };
	size_t			 nread;

	do {
		if (reconcile_search(w, &left, false, RECONCILE_PIECE, &nread,
		    e) < 0)
			return -1;
		progress_show(&r->bar, left.low - w->watermark.at,
		    left.high - w->watermark.at);
	} while (nread == RECONCILE_PIECE);
	progress_end(&r->bar);
	return 0;
}

static int
search_missing(struct reconcile_run *r, struct err *e)
{
	const struct args	*a = &r->c->args;

	if (a->all)
		return search_all(r, e);
	return reconcile_search_newest(&r->reconcile, a->limit == 0 ?
	    RECONCILE_LIMIT : (size_t)a->limit, e);
}

static int
make_missing_piece(struct ctl *c, void *arg, struct err *e)
{
	struct reconcile_run	*r = arg;

	if (reconcile_make(&r->reconcile, r->piece, r->npiece, &r->made_now,
	    e) < 0)
		return -1;
	return audit_note(c, r->made_now, e);
}

static int
make_all(struct reconcile_run *r, struct err *e)
{
	const struct reconcile	*w = &r->reconcile;

	for (size_t i = 0; i < w->n; i += r->npiece) {
		r->piece = w->list + i;
		r->npiece = w->n - i < RECONCILE_PIECE ? w->n - i :
		    RECONCILE_PIECE;
		if (ctl_transaction(r->c, make_missing_piece, r, e) < 0) {
			progress_end(&r->bar);
			return err_in(e, "after %s",
			    COUNTED(r->made, "outbox row"));
		}
		r->made += r->made_now;
		progress_show(&r->bar, i + r->npiece, w->n);
	}
	progress_end(&r->bar);
	return 0;
}

static int
report_reconcile(const struct reconcile_run *r)
{
	char	text[RECONCILE_TEXT];

	reconcile_tell(text, r->made, r->c->args.dry_run);
	print_done(r->c, r->made, "%s", text);
	return CTL_DONE;
}

static int
reconcile_all(struct reconcile_run *r)
{
	struct reconcile	*w = &r->reconcile;
	struct err		 e;

	if (reconcile_begin(w, &e) < 0)
		return ctl_fail(r->c, &e);
	if (!w->watermark.known)
		return ctl_error("%s", e.text);
	if (search_missing(r, &e) < 0)
		return ctl_fail(r->c, &e);
	if (!ctl_confirm(r->c, w->n, "row", "created"))
		return CTL_FAILED;
	if (r->c->args.dry_run)
		r->made = w->n;
	else if (make_all(r, &e) < 0)
		return ctl_fail(r->c, &e);
	return report_reconcile(r);
}

int
reconcile(struct ctl *c)
{
	struct reconcile_run	r = { .c = c, .bar.what = "reconcile",
				    .reconcile = { .store = c->store,
				    .types = &c->conf->publish.types,
				    .type = c->args.type,
				    .since = c->args.since } };
	int			status;

	if (store_is_inline(c->store)) {
		if (!c->args.json)
			display_print(stdout, "Nothing to reconcile: with outbox.mode: inline "
			    "the message is the row.\n");
		else
			print_object(c, json_pack("{s:i, s:b}", "changed", 0,
			    "dry_run", c->args.dry_run));
		return CTL_DONE;
	}
	if (c->args.all && c->args.limit != 0)
		return ctl_misuse("give --all or --limit, not both");
	status = reconcile_all(&r);
	reconcile_free(&r.reconcile);
	return status;
}
