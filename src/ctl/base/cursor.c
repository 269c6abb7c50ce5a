/* cursor.c - see cursor.h */

#include "ctl/base/cursor.h"

#include <stdlib.h>
#include <string.h>

#include "mysql/db.h"
#include "ctl/base/filter.h"
#include "ctl/base/kway_merge.h"
#include "util/xalloc.h"

#define CURSOR_PRIMARY	CURSOR_WAITING	/* without a merge */

struct cursor {
	struct ctl		*c;
	enum cursor_by		 by;
	struct kway_merge	*merge;		/* CURSOR_WAITING */
	uint64_t		 last;		/* sequence of the last row */

	/* CURSOR_DELIVERED, CURSOR_KEY: where that is in the index. */
	char			*at;		/* as text; NULL: nowhere yet */
	char			*label;		/* NULL: SQL NULL */
	size_t			 label_len;	/* there may be NUL in it */
};

/* How each list is read: up to the position, and in which order. */
static const struct {
	struct sql	select;
	struct sql	order;
} lists[] = {
	[CURSOR_PRIMARY] = { { "SELECT {o.global_sequence} FROM {outbox} AS o "
	    "{primary} WHERE {o.global_sequence} > :last" },
	    { "{o.global_sequence}" } },
	[CURSOR_DELIVERED] = { { "SELECT {o.global_sequence} "
	    "FROM {outbox} AS o {index} WHERE {o.published_at} IS NOT NULL"
	    ":since:until:behind" },
	    { "{o.published_at} DESC, {o.partition_key} DESC, "
	    "{o.global_sequence} DESC" } },
	[CURSOR_KEY] = { { "SELECT {e.sequence} FROM {events} AS e "
	    "WHERE:key:before" }, { "{e.stream_sequence} DESC" } },
	[CURSOR_DEAD] = { { "SELECT d.global_sequence FROM {dead} AS d "
	    "WHERE d.global_sequence > :last" }, { "d.global_sequence" } },
	[CURSOR_NEWEST_DEAD] = { { "SELECT d.global_sequence "
	    "FROM {dead} AS d WHERE d.global_sequence < :last" },
	    { "d.global_sequence DESC" } },
	[CURSOR_AUDIT] = { { "SELECT a.id FROM {audit} AS a "
	    "WHERE a.id < :last" }, { "a.id DESC" } },
};

static bool
has_position(const struct cursor *w)
{
	return w->by == CURSOR_DELIVERED || w->by == CURSOR_KEY;
}

/* Note where the last row is in the index; *found: it is there. */
static int
seek(struct cursor *w, bool *found, struct err *e)
{
	struct db_rows	*rows;

	store_sql(w->c->store, "SELECT :position",
	    SQL_EITHER("position", w->by == CURSOR_KEY,
	    "{stream_sequence}, NULL FROM {events} WHERE {sequence} = :last",
	    "{published_at}, {partition_key} FROM {outbox} "
	    "WHERE {global_sequence} = :last"), SQL_NUMBER("last", w->last));
	if ((rows = store_query(w->c->store, "rows", e)) == NULL)
		return -1;
	if ((*found = db_next(rows) && db_nullable(rows, 0) != NULL)) {
		free(w->at);
		w->at = xstrdup(db_text(rows, 0));
		free(w->label);
		w->label_len = db_length(rows, 1);
		w->label = db_nullable(rows, 1) == NULL ? NULL :
		    memcpy(xcalloc(w->label_len + 1, 1), db_text(rows, 1),
		    w->label_len);
	}
	db_rows_free(rows);
	return 0;
}

static int
read_page(struct cursor *w, uint64_t *out, size_t max, size_t *n, struct err *e)
{
	struct store		*s = w->c->store;
	const struct args	*a = &w->c->args;
	struct db_rows		*rows;
	bool			 found;

	/*
	 * After (time, label, sequence) come the rest of the label, those with
	 * a lower label or none, then all earlier times: as ranges of the
	 * index.  It is by time, so rows outside --since and --until are not
	 * read.
	 */
	store_sql(s, ":select ORDER BY :order LIMIT :max",
	    SQL_PART("select", lists[w->by].select),
	    SQL_PART("order", lists[w->by].order), SQL_NUMBER("max", max),
	    SQL_NUMBER("last", w->last), SQL_TEXT("at", w->at),
	    SQL_IF("since", a->since != NULL, " AND {o.published_at} >= :from"),
	    SQL_RAW("from", a->since),
	    SQL_IF("until", w->at == NULL && a->until != NULL,
	    " AND {o.published_at} < :end"), SQL_RAW("end", a->until),
	    SQL_IF("behind", w->at != NULL,
	    " AND ({o.published_at} < :at OR ({o.published_at} = :at AND "
	    "(({o.partition_key} :is :label AND {o.global_sequence} < :last)"
	    ":lower)))"), SQL_EITHER("is", w->label == NULL, "IS", "="),
	    SQL_IF("lower", w->label != NULL, " OR {o.partition_key} < :label "
	    "OR {o.partition_key} IS NULL"),
	    SQL_BYTES("label", w->label, w->label_len),
	    SQL_PUT_IF("key", w->by == CURSOR_KEY, s, filter_put_key(s,
	    SQL("{e.stream_id}"), a->key)),
	    SQL_IF("before", w->at != NULL, " AND {e.stream_sequence} < :seen"),
	    SQL_RAW("seen", w->at));
	if ((rows = store_query(s, "rows", e)) == NULL)
		return -1;
	for (*n = 0; db_next(rows); )
		out[(*n)++] = db_u64(rows, 0);
	db_rows_free(rows);
	if (*n == 0)
		return 0;
	w->last = out[*n - 1];
	return has_position(w) ? seek(w, &found, e) : 0;
}

/* A list that begins after a row of an index: that row must exist. */
static int
seek_first(struct cursor *w, struct err *e)
{
	bool	found = true;
	char	text[80];

	if (w->last == 0 || !has_position(w))
		return 0;
	if (seek(w, &found, e) < 0)
		return -1;
	if (found)
		return 0;
	snprintf(text, sizeof(text), "after: %llu: no such message to continue "
	    "after", (unsigned long long)w->last);
	outcome_field("value", "after", text);
	return err_set(e, "--%s", text);
}

struct cursor *
cursor_new(struct ctl *c, enum cursor_by by, struct err *e)
{
	struct cursor		*w = xcalloc(1, sizeof(*w));
	enum store_index	 index = store_index(c->store);

	w->c = c;
	w->by = by;
	w->last = c->args.after;
	if ((by == CURSOR_KEY && store_is_inline(c->store)) ||
	    (by == CURSOR_DELIVERED && index != INDEX_BY_TIME))
		w->by = CURSOR_PRIMARY;
	if ((by == CURSOR_NEWEST_DEAD || by == CURSOR_AUDIT) && w->last == 0)
		w->last = UINT64_MAX;
	if (seek_first(w, e) == 0 && (by != CURSOR_WAITING ||
	    index == INDEX_NONE || (w->merge = kway_merge_new(c, e)) != NULL))
		return w;
	cursor_free(w);
	return NULL;
}

void
cursor_free(struct cursor *w)
{
	if (w == NULL)
		return;
	kway_merge_free(w->merge);
	free(w->at);
	free(w->label);
	free(w);
}

struct sql
cursor_order(const struct cursor *w)
{
	return lists[w->by].order;
}

int
cursor_next(struct cursor *w, uint64_t *out, size_t max, size_t *n,
    struct err *e)
{
	if (max > CURSOR_PAGE)
		max = CURSOR_PAGE;
	return w->merge != NULL ? kway_merge_next(w->merge, out, max, n, e) :
	    read_page(w, out, max, n, e);
}
