/* cursor.c - see cursor.h */

#include "ctl/base/cursor.h"

#include <stdlib.h>
#include <string.h>

#include "mysql/db.h"
#include "ctl/base/filter.h"
#include "ctl/base/kway_merge.h"
#include "util/xalloc.h"

struct cursor {
	struct ctl		*c;
	enum cursor_by		 by;
	bool			 primary;	/* no index: reads all of the
						   outbox */
	uint64_t		 last;		/* sequence of the last row */

	struct kway_merge	*merge;		/* CURSOR_WAITING */

	/* As text, of the last row: CURSOR_DELIVERED, CURSOR_KEY. */
	char			*published_at, *stream_sequence;
	char			*partition;	/* NULL: SQL NULL */
	size_t			 partition_len;	/* there may be NUL in it */
};

static int
read_page(struct cursor *w, uint64_t *out, size_t max, size_t *n, struct err *e)
{
	struct db_rows	*rows;

	store_putf(w->c->store, " LIMIT %zu", max);
	if ((rows = store_query(w->c->store, "rows", e)) == NULL)
		return -1;
	for (*n = 0; db_next(rows); )
		out[(*n)++] = db_u64(rows, 0);
	db_rows_free(rows);
	if (*n > 0)
		w->last = out[*n - 1];
	return 0;
}

static int
next_primary(struct cursor *w, uint64_t *out, size_t max, size_t *n,
    struct err *e)
{
	bool	dead = w->by == CURSOR_DEAD;

	store_sql(w->c->store, dead ? "SELECT global_sequence FROM {dead} "
	    "WHERE global_sequence" : "SELECT {global_sequence} FROM {outbox} "
	    "{primary} WHERE {global_sequence}");
	store_putf(w->c->store, " > %llu ORDER BY ",
	    (unsigned long long)w->last);
	store_put(w->c->store, dead ? "global_sequence" : "{global_sequence}");
	return read_page(w, out, max, n, e);
}

/* The highest first. */
static int
next_highest(struct cursor *w, uint64_t *out, size_t max, size_t *n,
    struct err *e)
{
	bool		 dead = w->by == CURSOR_NEWEST_DEAD;
	const char	*column = dead ? "global_sequence" : "id";

	store_sql(w->c->store, dead ? "SELECT global_sequence FROM {dead}" :
	    "SELECT id FROM {audit}");
	if (w->last > 0)
		store_putf(w->c->store, " WHERE %s < %llu", column,
		    (unsigned long long)w->last);
	store_putf(w->c->store, " ORDER BY %s DESC", column);
	return read_page(w, out, max, n, e);
}

/* Keep the index position and the label of the last row; *found: it exists. */
static int
remember_position(struct cursor *w, const char *sql, char **position,
    bool *found, struct err *e)
{
	struct db_rows	*rows;

	store_sql(w->c->store, sql);
	store_putf(w->c->store, "%llu", (unsigned long long)w->last);
	if ((rows = store_query(w->c->store, "rows", e)) == NULL)
		return -1;
	if ((*found = db_next(rows) && db_nullable(rows, 0) != NULL)) {
		free(*position);
		*position = xstrdup(db_text(rows, 0));
		free(w->partition);
		w->partition_len = db_length(rows, 1);
		w->partition = db_nullable(rows, 1) == NULL ? NULL :
		    memcpy(xcalloc(w->partition_len + 1, 1), db_text(rows, 1),
		    w->partition_len);
	}
	db_rows_free(rows);
	return 0;
}

static int
seek_delivered(struct cursor *w, bool *found, struct err *e)
{
	return remember_position(w, "SELECT {published_at}, {partition_key} "
	    "FROM "
	    "{outbox} WHERE {global_sequence} = ", &w->published_at, found, e);
}

/*
 * After (time, label, sequence) come the rest of the label, the rest of the
 * time, then all earlier times.  One condition for all would make the server
 * scan and filter; so they are ranges, read one after the other.
 */
enum leg { OF_LABEL, OF_TIME, OF_TIME_NULL, EARLIER, NLEGS };

/* The index is by time, so rows outside --since and --until are not read. */
static void
put_earlier(struct cursor *w)
{
	struct store	*s = w->c->store;

	store_sql(s, "SELECT {global_sequence} FROM {outbox} {index} "
	    "WHERE {published_at} IS NOT NULL");
	if (w->published_at != NULL) {
		store_put(s, " AND {published_at} < ");
		store_put_text(s, w->published_at);
	} else if (w->c->args.until != NULL) {
		store_put(s, " AND {published_at} < ");
		store_put(s, w->c->args.until);
	}
	if (w->c->args.since != NULL) {
		store_put(s, " AND {published_at} >= ");
		store_put(s, w->c->args.since);
	}
}

/* Rows with the same time as the last one. */
static void
put_same_time(struct cursor *w, enum leg leg)
{
	struct store	*s = w->c->store;

	store_sql(s, "SELECT {global_sequence} FROM {outbox} {index} "
	    "WHERE {published_at} = ");
	store_put_text(s, w->published_at);
	if (leg == OF_TIME_NULL || w->partition == NULL) {
		store_put(s, " AND {partition_key} IS NULL");
	} else {
		store_put(s, leg == OF_LABEL ? " AND {partition_key} = " :
		    " AND {partition_key} < ");
		store_put_bytes(s, w->partition, w->partition_len);
	}
	if (leg == OF_LABEL)
		store_putf(s, " AND {global_sequence} < %llu",
		    (unsigned long long)w->last);
}

static int
next_delivered(struct cursor *w, uint64_t *out, size_t max, size_t *n,
    struct err *e)
{
	enum leg	leg = w->published_at == NULL ? EARLIER : OF_LABEL;
	size_t		more;
	bool		found;

	for (*n = 0; leg < NLEGS && *n < max; leg++) {
		/* NULL is the lowest value. */
		if ((leg == OF_TIME || leg == OF_TIME_NULL) &&
		    w->partition == NULL)
			continue;
		if (leg == EARLIER)
			put_earlier(w);
		else
			put_same_time(w, leg);
		store_put(w->c->store, " ORDER BY {published_at} DESC, "
		    "{partition_key} DESC, {global_sequence} DESC");
		if (read_page(w, out + *n, max - *n, &more, e) < 0)
			return -1;
		*n += more;
	}
	return seek_delivered(w, &found, e);
}

static int
seek_key(struct cursor *w, bool *found, struct err *e)
{
	return remember_position(w, "SELECT {stream_sequence}, NULL FROM "
	    "{events} WHERE {sequence} = ", &w->stream_sequence, found, e);
}

static int
next_of_key(struct cursor *w, uint64_t *out, size_t max, size_t *n,
    struct err *e)
{
	struct store	*s = w->c->store;
	bool		 found;

	store_sql(s, "SELECT {sequence} FROM {events} WHERE");
	filter_put_key(s, "{stream_id}", w->c->args.key);
	if (w->stream_sequence != NULL) {
		store_put(s, " AND {stream_sequence} < ");
		store_put(s, w->stream_sequence);
	}
	store_put(s, " ORDER BY {stream_sequence} DESC");
	if (read_page(w, out, max, n, e) < 0)
		return -1;
	return *n == 0 ? 0 : seek_key(w, &found, e);
}

/* A backward cursor begins after a row, which must exist. */
static int
seek_first(struct cursor *w, struct err *e)
{
	bool	found = true;
	char	text[80];

	if (w->last == 0 || w->primary)
		return 0;
	if (w->by == CURSOR_DELIVERED && seek_delivered(w, &found, e) < 0)
		return -1;
	if (w->by == CURSOR_KEY && seek_key(w, &found, e) < 0)
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
	struct cursor	*w = xcalloc(1, sizeof(*w));
	enum store_index index = store_index(c->store);

	w->c = c;
	w->by = by;
	w->last = c->args.after;
	w->primary = by == CURSOR_DEAD ||
	    (by == CURSOR_KEY && store_is_inline(c->store)) ||
	    (by == CURSOR_WAITING && index == INDEX_NONE) ||
	    (by == CURSOR_DELIVERED && index != INDEX_BY_TIME);
	if (seek_first(w, e) == 0 && (by != CURSOR_WAITING || w->primary ||
	    (w->merge = kway_merge_new(c, e)) != NULL))
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
	free(w->published_at);
	free(w->partition);
	free(w->stream_sequence);
	free(w);
}

const char *
cursor_order(const struct cursor *w)
{
	if (w->by == CURSOR_DEAD)
		return "d.global_sequence";
	if (w->by == CURSOR_NEWEST_DEAD)
		return "d.global_sequence DESC";
	if (w->by == CURSOR_AUDIT)
		return "a.id DESC";
	if (w->by == CURSOR_KEY && !w->primary)
		return "{e.stream_sequence} DESC";
	if (w->by == CURSOR_DELIVERED && !w->primary)
		return "{o.published_at} DESC, {o.partition_key} DESC, "
		    "{o.global_sequence} DESC";
	return "{o.global_sequence}";
}

int
cursor_next(struct cursor *w, uint64_t *out, size_t max, size_t *n,
    struct err *e)
{
	if (max > CURSOR_PAGE)
		max = CURSOR_PAGE;
	if (w->primary)
		return next_primary(w, out, max, n, e);
	switch (w->by) {
	case CURSOR_WAITING:
		return kway_merge_next(w->merge, out, max, n, e);
	case CURSOR_DELIVERED:
		return next_delivered(w, out, max, n, e);
	case CURSOR_AUDIT:
	case CURSOR_NEWEST_DEAD:
		return next_highest(w, out, max, n, e);
	default:
		return next_of_key(w, out, max, n, e);
	}
}
