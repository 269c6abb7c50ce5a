/* listing.c - see listing.h */

#include "ctl/base/listing.h"

#include <stdio.h>

#include "mysql/db.h"
#include "util/display.h"

/* Rows found so far, and the position reached. */
struct found {
	json_t		*rows;
	size_t		 limit, scanned;
	uint64_t	 last;		/* continue after it */
	bool		 ended;
};

/* Take up to --limit rows; the next list continues after the last one. */
static void
keep_listed(struct found *f, const struct listing *l, json_t *page,
    uint64_t last)
{
	size_t	i, room = f->limit - json_array_size(f->rows);
	json_t	*row;

	f->last = last;
	if (json_array_size(page) > room)
		f->ended = false;
	json_array_foreach(page, i, row) {
		if (i == room)
			break;
		json_array_append(f->rows, row);
	}
	if (i == room && room > 0) {
		row = json_array_get(page, room - 1);
		f->last = (uint64_t)member_number(row, l->columns[0].name);
		f->ended = f->ended && f->last == last;
	}
	json_decref(page);
}

static int
take_page(struct ctl *c, struct cursor *w, const struct listing *l,
    struct found *f, size_t max, struct err *e)
{
	uint64_t	 sequences[CURSOR_PAGE];
	struct db_rows	*rows;
	json_t		*page;
	size_t		 n;

	if (cursor_next(w, sequences, max, &n, e) < 0)
		return -1;
	f->scanned += n;
	f->ended = n < max;
	if (n == 0)
		return 0;
	l->select(c, sequences, n, cursor_order(w));
	if ((rows = store_query(c->store, "list", e)) == NULL)
		return -1;
	page = rows_json(rows, l->columns, l->ncolumns);
	/* A page may get empty by this, and then another one is read. */
	for (size_t i = json_array_size(page); l->passes != NULL && i-- > 0; )
		if (!l->passes(c, json_array_get(page, i)))
			json_array_remove(page, i);
	keep_listed(f, l, page, sequences[n - 1]);
	return 0;
}

int
listing_print(struct ctl *c, struct cursor *w, const struct listing *l,
    struct err *e)
{
	struct found	f = { .rows = json_array(),
			    .limit = (size_t)c->args.limit };
	size_t		max = f.limit + 1;
	bool		is_full;
	int		rc = w == NULL ? -1 : 0;

	/* Pages grow, as filters may pass few rows. */
	while (rc == 0 && !f.ended && f.scanned < CURSOR_BUDGET &&
	    json_array_size(f.rows) < f.limit) {
		if (max > CURSOR_PAGE)
			max = CURSOR_PAGE;
		if (max > CURSOR_BUDGET - f.scanned)
			max = CURSOR_BUDGET - f.scanned;
		rc = take_page(c, w, l, &f, max, e);
		max *= 2;
	}
	cursor_free(w);
	if (rc < 0) {
		json_decref(f.rows);
		return ctl_fail(c, e);
	}
	if (c->args.json) {
		print_object(c, json_pack("{s:o, s:I, s:o}", "rows", f.rows,
		    "looked_at", (json_int_t)f.scanned, "next", f.ended ?
		    json_null() : json_integer((json_int_t)f.last)));
		return CTL_DONE;
	}
	is_full = json_array_size(f.rows) == f.limit;
	print_list(c, l->shown, f.rows);
	if (!f.ended)
		display_print(stderr, "outboxctl: %s%sthere may be more; to "
		    "continue: --after %llu\n", is_full ? "" :
		    DISPLAY_NUMBER((int64_t)f.scanned), is_full ?
		    "" : " rows were searched, ", (unsigned long long)f.last);
	return CTL_DONE;
}
