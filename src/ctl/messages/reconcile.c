/*
 * reconcile.c - make the outbox rows that events lack
 *
 * The statements are in store/reconcile.c.
 */

#include "ctl/base/change.h"
#include "store/reconcile.h"

static int
check_reconcile(struct chosen *r)
{
	const struct args	*a = &r->c->args;

	return a->all && a->limit != 0 && !store_is_inline(r->c->store) ?
	    ctl_misuse("give --all or --limit, not both") : CTL_DONE;
}

static int
find_events(struct chosen *r, struct err *e)
{
	const struct args	*a = &r->c->args;
	struct reconcile	*w = r->own;
	struct sweep_range	 left;
	size_t			 nread = RECONCILE_PIECE;

	if (store_is_inline(r->c->store))
		return 0;
	*w = (struct reconcile){ .store = r->c->store,
	    .types = &r->c->conf->publish.types, .type = a->type,
	    .since = a->since };
	if (reconcile_begin(w, e) < 0 || !w->watermark.known)
		return -1;
	if (!a->all && reconcile_search_newest(w, a->limit == 0 ?
	    RECONCILE_LIMIT : (size_t)a->limit, e) < 0)
		return -1;
	left = (struct sweep_range){ w->watermark.at, w->newest };
	while (a->all && nread == RECONCILE_PIECE) {
		if (reconcile_search(w, &left, false, RECONCILE_PIECE, &nread,
		    e) < 0)
			return -1;
		progress_show(&r->bar, left.low - w->watermark.at,
		    left.high - w->watermark.at);
	}
	progress_end(&r->bar);
	r->list = w->list;
	r->n = w->n;
	w->list = NULL;
	return 0;
}

static int
make_rows(struct chosen *r, const uint64_t *list, size_t n, uint64_t *changed,
    struct err *e)
{
	return reconcile_make(r->own, list, n, changed, e);
}

static int
make_all(struct chosen *r, struct err *e)
{
	return change_all(r, e) == 0 ? 0 : err_in(e, "after %s",
	    COUNTED(r->changed, "outbox row"));
}

static int
report_made(struct chosen *r)
{
	char	text[RECONCILE_TEXT];

	reconcile_tell(text, r->changed, r->c->args.dry_run);
	print_done(r->c, r->changed, "%s", store_is_inline(r->c->store) ?
	    "Nothing to reconcile: with outbox.mode: inline the message is "
	    "the row." : text);
	return CTL_DONE;
}

static void
end_search(struct chosen *r)
{
	reconcile_free(r->own);
}

const struct change reconcile = {
	.thing = "row", .done = "created", .check = check_reconcile,
	.find = find_events, .change = make_rows, .chunk = RECONCILE_PIECE,
	.apply = make_all, .bar = "reconcile", .report = report_made,
	.end = end_search, .own_size = sizeof(struct reconcile),
};
