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
	struct ctl_refused	 refused;
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
make_missing_piece(struct ctl *c, void *arg, const uint64_t *piece, size_t n,
    uint64_t *made, struct err *e)
{
	struct reconcile_run	*r = arg;

	(void)c;
	return reconcile_make(&r->reconcile, piece, n, made, e);
}

static int
make_all(struct reconcile_run *r, struct err *e)
{
	const struct reconcile	*w = &r->reconcile;
	int			 rc = 0;

	for (size_t i = 0, n; rc == 0 && i < w->n; i += n) {
		n = w->n - i < RECONCILE_PIECE ? w->n - i : RECONCILE_PIECE;
		rc = ctl_change_rows(r->c, w->list + i, n, make_missing_piece,
		    r, &r->made, &r->refused, e);
		progress_show(&r->bar, i + n, w->n);
	}
	progress_end(&r->bar);
	if (rc == 0)
		rc = ctl_check_refused(&r->refused, e);
	return rc == 0 ? 0 : err_in(e, "after %s",
	    COUNTED(r->made, "outbox row"));
}

static int
reconcile_all(struct reconcile_run *r)
{
	struct reconcile	*w = &r->reconcile;
	const struct args	*a = &r->c->args;
	char			 text[RECONCILE_TEXT];
	struct err		 e;

	if (reconcile_begin(w, &e) < 0)
		return ctl_fail(r->c, &e);
	if (!w->watermark.known)
		return ctl_error("%s", e.text);
	if ((a->all ? search_all(r, &e) : reconcile_search_newest(w, a->limit ==
	    0 ? RECONCILE_LIMIT : (size_t)a->limit, &e)) < 0)
		return ctl_fail(r->c, &e);
	if (!ctl_confirm(r->c, w->n, "row", "created"))
		return CTL_FAILED;
	if (a->dry_run)
		r->made = w->n;
	else if (make_all(r, &e) < 0)
		return ctl_fail(r->c, &e);
	reconcile_tell(text, r->made, a->dry_run);
	print_done(r->c, r->made, "%s", text);
	return CTL_DONE;
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
