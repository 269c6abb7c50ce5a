/*
 * dead_groups.c - dead groups: how many dead letters have which error
 *
 * The newest are read first, and a bounded number of them.
 */

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ctl/base/cursor.h"
#include "ctl/messages/dead.h"
#include "ctl/messages/dead_group.h"
#include "store/watermark.h"
#include "util/display.h"
#include "util/xalloc.h"

#define ROWS_MAX	100000	/* as many as status looks at */
#define GROUPS_MAX	1000	/* letters of further groups are left out */

static const struct rows_column columns[] = {
	{ "sequence", ROWS_NUMBER }, { "key", ROWS_BYTES },
	{ "type", ROWS_BYTES }, { "error", ROWS_TEXT },
	{ "reason", ROWS_TEXT }, { "died_at", ROWS_TIME },
};

#define NCOLUMNS	(sizeof(columns) / sizeof(columns[0]))

struct groups {
	json_t	*by_id;		/* an object per group, named by its id */
	size_t	 looked_at;
	bool	 ended;		/* all dead letters were read */
	bool	 more;		/* there are more groups */
};

/* The first row of a group is its newest letter. */
static void
count_letter(struct groups *s, const json_t *row)
{
	const char	*error = member_text(row, "error");
	const char	*died = member_text(row, "died_at");
	json_t		*at = json_object_get(row, "died_at"), *g;
	char		 id[DEAD_GROUP_SIZE];
	struct buf	 text = { 0 };

	dead_group_of(id, row);
	g = json_object_get(s->by_id, id);
	if (g == NULL && json_object_size(s->by_id) >= GROUPS_MAX) {
		s->more = true;
		return;
	}
	if (g == NULL) {
		dead_group_text(&text, error == NULL ? "" : error);
		g = json_pack("{s:s, s:O, s:s, s:i, s:b, s:O, s:O, s:{s:O, "
		    "s:O, s:O, s:O}}", "group", id,
		    "reason", json_object_get(row, "reason"),
		    "error", text.data, "count", 0, "exact", 0,
		    "first", at, "last", at, "sample",
		    "sequence", json_object_get(row, "sequence"),
		    "key", json_object_get(row, "key"),
		    "type", json_object_get(row, "type"),
		    "error", json_object_get(row, "error"));
		buf_free(&text);
		json_object_set_new(s->by_id, id, g);
	}
	member_add(g, "count", 1);
	/* Times are texts of one form: their order is that of their bytes. */
	if (died != NULL && (member_text(g, "first") == NULL ||
	    strcmp(died, member_text(g, "first")) < 0))
		json_object_set(g, "first", at);
	if (died != NULL && (member_text(g, "last") == NULL ||
	    strcmp(died, member_text(g, "last")) > 0))
		json_object_set(g, "last", at);
}

static int
count_all(struct ctl *c, struct groups *s, struct err *e)
{
	struct cursor	*w = cursor_new(c, CURSOR_NEWEST_DEAD, e);
	uint64_t	 page[CURSOR_PAGE];
	struct db_rows	*rows = NULL;
	json_t		*list, *row;
	size_t		 n = 0, i;
	int		 rc = w == NULL ? -1 : 0;

	while (rc == 0 && !s->ended && s->looked_at < ROWS_MAX) {
		rc = cursor_next(w, page, CURSOR_PAGE, &n, e);
		s->ended = n < CURSOR_PAGE;
		s->looked_at += n;
		if (rc < 0 || n == 0)
			break;
		store_sql(c->store, "SELECT d.global_sequence, " DEAD_KEY ", "
		    "d.event_type, d.last_error, d.reason, d.died_at "
		    DEAD_ROWS "WHERE d.reason NOT IN " DEAD_MARKS
		    " AND d.global_sequence IN (:rows):filter "
		    "ORDER BY d.global_sequence DESC",
		    SQL_LIST("rows", page, n),
		    SQL_PUT("filter", c->store, dead_put_filter(c)));
		if ((rows = store_query(c->store, "groups", e)) == NULL) {
			rc = -1;
			break;
		}
		list = rows_json(rows, columns, NCOLUMNS);
		json_array_foreach(list, i, row)
			count_letter(s, row);
		json_decref(list);
	}
	cursor_free(w);
	return rc;
}

/* The largest first; of equal ones that of the latest letter. */
static int
group_cmp(const void *a, const void *b)
{
	const json_t	*x = *(const json_t *const *)a;
	const json_t	*y = *(const json_t *const *)b;
	long long	 nx = member_number(x, "count");
	long long	 ny = member_number(y, "count");
	const char	*tx = member_text(x, "last"), *ty = member_text(y, "last");

	if (nx != ny)
		return nx > ny ? -1 : 1;
	return strcmp(ty == NULL ? "" : ty, tx == NULL ? "" : tx);
}

int
dead_groups(struct ctl *c)
{
	static const char *const	shown[] = { "count", "group", "reason",
					    "last", "error", NULL };
	struct groups			s = { .by_id = json_object() };
	struct err			e;
	json_t				*rows, *g, **list;
	const char			*id;
	size_t				n = 0;
	char				number[DISPLAY_SIZE];

	if (count_all(c, &s, &e) < 0) {
		json_decref(s.by_id);
		return ctl_fail(c, &e);
	}
	list = xcalloc(json_object_size(s.by_id) + 1, sizeof(*list));
	json_object_foreach(s.by_id, id, g) {
		json_object_set_new(g, "exact", json_boolean(s.ended));
		list[n++] = g;
	}
	qsort(list, n, sizeof(*list), group_cmp);
	rows = json_array();
	for (size_t i = 0; i < n && i < (size_t)c->args.limit; i++)
		json_array_append(rows, list[i]);
	s.more = s.more || n > (size_t)c->args.limit;
	free(list);
	json_decref(s.by_id);
	if (c->args.json) {
		print_object(c, json_pack("{s:o, s:I, s:b, s:b}", "rows", rows,
		    "looked_at", (json_int_t)s.looked_at, "exact", s.ended,
		    "more", s.more));
		return CTL_DONE;
	}
	print_list(c, shown, rows);
	if (!s.ended)
		display_print(stderr, "outboxctl: only the newest %s rows were "
		    "counted\n", display_number(number,
		    (int64_t)s.looked_at));
	if (s.more)
		fputs("outboxctl: there are more groups\n", stderr);
	return CTL_DONE;
}
