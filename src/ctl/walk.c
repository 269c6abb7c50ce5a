/*
 * walk.c - see walk.h
 *
 * Waiting rows lie in the claim's index by label, and parked ones have a label
 * of their own: each label is read as one equality range in sequence order,
 * a few entries at a time, and the ranges are merged here.
 */

#include "walk.h"

#include <stdlib.h>
#include <string.h>

#include <bsd/string.h>

#include "db.h"
#include "filter.h"
#include "xalloc.h"

/* How many entries of a range are read at first; then twice as many. */
#define FIRST_FEW	1

/* The waiting rows of one label. */
struct part {
	char		*label;		/* NULL: SQL NULL */
	uint64_t	*rows;
	size_t		 n, at, per;
	uint64_t	 last;		/* read up to here */
	bool		 ended;
};

struct walk {
	struct ctl	*c;
	enum walk_by	 by;
	bool		 primary;	/* no index: all of the outbox */
	uint64_t	 last;		/* sequence of the last one */

	struct part	*parts;		/* WALK_WAITING */
	size_t		 nparts;

	/* Of the last one, as text: WALK_DELIVERED, WALK_KEY. */
	char		*published_at, *partition, *stream_sequence;
};

static void
add_part(struct walk *w, const char *label)
{
	w->parts = xreallocarray(w->parts, w->nparts + 1, sizeof(*w->parts));
	w->parts[w->nparts++] = (struct part){ .last = w->last,
	    .label = label == NULL ? NULL : xstrdup(label) };
}

/* Where the index has labels first, a jump over one would read all of it. */
static void
put_known_labels(struct store *s)
{
	store_sql(s, "SELECT partition_key FROM {partitions} "
	    "WHERE partition_key <> ''");
	if (store_has(s, T_BLOCKED))
		store_put(s, " UNION ALL SELECT CONCAT('!', first_sequence) "
		    "FROM {blocked}");
}

/* The labels of one partition: its own, and those of what it has parked. */
static void
put_labels_of(struct store *s, const char *partition)
{
	store_sql(s, "SELECT ");
	store_put_text(s, partition);
	if (partition[0] == '\0')
		store_put(s, " UNION ALL SELECT NULL");
	if (!store_has(s, T_BLOCKED))
		return;
	store_put(s, " UNION ALL SELECT CONCAT('!', first_sequence) "
	    "FROM {blocked} WHERE partition_key = ");
	store_put_text(s, partition);
}

/* The statement that was begun selects labels. */
static int
add_parts(struct walk *w, struct err *e)
{
	struct db_rows	*rows = store_query(w->c->store, "labels", e);

	if (rows == NULL)
		return -1;
	while (db_next(rows))
		add_part(w, db_text(rows, 0));
	db_rows_free(rows);
	return 0;
}

/*
 * The labels of the next few waiting rows behind a label; *n is how many rows
 * these were.
 */
static int
jump(struct walk *w, const char *behind, size_t few, size_t *n, struct err *e)
{
	struct store	*s = w->c->store;
	struct db_rows	*rows;

	store_sql(s, "SELECT partition_key, COUNT(*) FROM "
	    "(SELECT partition_key FROM {outbox} {index} "
	    "WHERE published_at IS NULL AND partition_key > ");
	store_put_text(s, behind);
	store_putf(s, " ORDER BY partition_key LIMIT %zu) AS t "
	    "GROUP BY partition_key ORDER BY partition_key", few);
	if ((rows = store_query(s, "labels", e)) == NULL)
		return -1;
	for (*n = 0; db_next(rows); *n += db_u64(rows, 1))
		add_part(w, db_text(rows, 0));
	db_rows_free(rows);
	return 0;
}

/*
 * Labels that rows wait under, whether anybody knows them or not, from one to
 * the next.  SELECT DISTINCT would do, but MariaDB then reads all that waits
 * where it finds that the rows of a label are few.
 */
static int
jump_all(struct walk *w, struct err *e)
{
	size_t	few = FIRST_FEW, n, before;

	for (;;) {
		before = w->nparts;
		if (jump(w, w->parts[before - 1].label, few, &n, e) < 0)
			return -1;
		if (n < few)
			return 0;
		/* Where each has its own label, as parked heads have. */
		few = w->nparts - before < n ? FIRST_FEW :
		    few > WALK_PAGE / 2 ? WALK_PAGE : 2 * few;
	}
}

static int
find_parts(struct walk *w, struct err *e)
{
	struct store	*s = w->c->store;

	if (w->c->args.partition != NULL) {
		put_labels_of(s, w->c->args.partition);
		return add_parts(w, e);
	}
	add_part(w, NULL);
	add_part(w, "");
	if (store_index(s) == INDEX_BY_TIME)
		return jump_all(w, e);
	put_known_labels(s);
	return add_parts(w, e);
}

/* Where a list ends soon, few of each label are enough. */
static void
set_share(struct walk *w)
{
	size_t	share = w->nparts == 0 ? 0 :
	    2 * (size_t)w->c->args.limit / w->nparts;

	if (share < FIRST_FEW)
		share = FIRST_FEW;
	for (size_t i = 0; i < w->nparts; i++)
		w->parts[i].per = share < WALK_PAGE ? share : WALK_PAGE;
}

static void
put_part(struct store *s, const struct part *p, size_t i, bool first)
{
	store_putf(s, "%s(SELECT %zu, global_sequence FROM ",
	    first ? "" : " UNION ALL ", i);
	store_put(s, "{outbox} {index} WHERE published_at IS NULL AND ");
	if (p->label == NULL)
		store_put(s, "partition_key IS NULL");
	else {
		store_put(s, "partition_key = ");
		store_put_text(s, p->label);
	}
	store_putf(s, " AND global_sequence > %llu ORDER BY global_sequence "
	    "LIMIT %zu)", (unsigned long long)p->last, p->per);
}

static int
sequence_cmp(const void *a, const void *b)
{
	uint64_t	x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return x < y ? -1 : x > y;
}

static bool
is_empty(const struct part *p)
{
	return p->at == p->n && !p->ended;
}

static void
take_rows(struct walk *w, struct db_rows *rows)
{
	while (db_next(rows)) {
		struct part *p = &w->parts[db_u64(rows, 0)];

		if (p->at == p->n) {
			p->at = p->n = 0;
			p->rows = xreallocarray(p->rows, p->per,
			    sizeof(*p->rows));
		}
		p->rows[p->n++] = db_u64(rows, 1);
	}
}

/* What came from these parts is all there is, or as much as they were asked. */
static void
end_refill(struct part *const *parts, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		struct part *p = parts[i];

		if (p->at == p->n)
			p->at = p->n = 0;
		p->ended = p->n < p->per;
		if (p->n == 0)
			continue;
		qsort(p->rows, p->n, sizeof(*p->rows), sequence_cmp);
		p->last = p->rows[p->n - 1];
		p->per = p->per > WALK_PAGE / 2 ? WALK_PAGE : 2 * p->per;
	}
}

static int
refill(struct walk *w, struct err *e)
{
	struct part	*asked[STORE_RANGES];
	struct db_rows	*rows;
	size_t		 i = 0, n;

	while (i < w->nparts) {
		store_sql(w->c->store, "");
		for (n = 0; i < w->nparts && n < STORE_RANGES; i++)
			if (is_empty(&w->parts[i])) {
				put_part(w->c->store, &w->parts[i], i, n == 0);
				asked[n++] = &w->parts[i];
			}
		if (n == 0)
			break;
		rows = store_query(w->c->store, "waiting", e);
		if (rows == NULL)
			return -1;
		take_rows(w, rows);
		db_rows_free(rows);
		end_refill(asked, n);
	}
	return 0;
}

/* The part with the lowest sequence; *unknown: one has to be read first. */
static struct part *
lowest(struct walk *w, bool *unknown)
{
	struct part	*best = NULL;

	for (size_t i = 0; i < w->nparts; i++) {
		struct part *p = &w->parts[i];

		if ((*unknown = is_empty(p)))
			return NULL;
		if (p->at < p->n && (best == NULL ||
		    p->rows[p->at] < best->rows[best->at]))
			best = p;
	}
	return best;
}

static int
next_waiting(struct walk *w, uint64_t *out, size_t max, size_t *n,
    struct err *e)
{
	struct part	*p;
	bool		 unknown = false;

	for (*n = 0; *n < max; ) {
		if ((p = lowest(w, &unknown)) != NULL)
			out[(*n)++] = p->rows[p->at++];
		else if (!unknown)
			break;
		else if (refill(w, e) < 0)
			return -1;
	}
	return 0;
}

static int
read_page(struct walk *w, uint64_t *out, size_t max, size_t *n,
    struct err *e)
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
next_primary(struct walk *w, uint64_t *out, size_t max, size_t *n,
    struct err *e)
{
	store_sql(w->c->store, w->by == WALK_DEAD ?
	    "SELECT global_sequence FROM {dead}" :
	    "SELECT global_sequence FROM {outbox} FORCE INDEX (PRIMARY)");
	store_putf(w->c->store, " WHERE global_sequence > %llu "
	    "ORDER BY global_sequence", (unsigned long long)w->last);
	return read_page(w, out, max, n, e);
}

/* Keep where the last one stands; *found: it is there. */
static int
remember(struct walk *w, const char *sql, char **a, char **b, bool *found,
    struct err *e)
{
	struct db_rows	*rows;

	store_sql(w->c->store, sql);
	store_putf(w->c->store, "%llu", (unsigned long long)w->last);
	if ((rows = store_query(w->c->store, "rows", e)) == NULL)
		return -1;
	if ((*found = db_next(rows) && db_text(rows, 0) != NULL)) {
		free(*a);
		free(*b);
		*a = xstrdup(db_text(rows, 0));
		*b = db_text(rows, 1) == NULL ? NULL :
		    xstrdup(db_text(rows, 1));
	}
	db_rows_free(rows);
	return 0;
}

static int
place_delivered(struct walk *w, bool *found, struct err *e)
{
	return remember(w, "SELECT published_at, partition_key FROM {outbox} "
	    "WHERE global_sequence = ", &w->published_at, &w->partition,
	    found, e);
}

/*
 * Behind (time, label, sequence) stands the rest of the label, then the rest
 * of the time, then all earlier times.  As one condition that would be a scan
 * with a filter; so they are ranges, read one after the other.
 */
enum leg { OF_LABEL, OF_TIME, OF_TIME_NULL, EARLIER, NLEGS };

/* The index is by time: what --since and --until leave out is not read. */
static void
put_earlier(struct walk *w)
{
	struct store	*s = w->c->store;

	store_sql(s, "SELECT global_sequence FROM {outbox} {index} "
	    "WHERE published_at IS NOT NULL");
	if (w->published_at != NULL) {
		store_put(s, " AND published_at < ");
		store_put_text(s, w->published_at);
	} else if (w->c->args.until != NULL) {
		store_put(s, " AND published_at < ");
		store_put(s, w->c->args.until);
	}
	if (w->c->args.since != NULL) {
		store_put(s, " AND published_at >= ");
		store_put(s, w->c->args.since);
	}
}

/* The rest of the moment of the last one. */
static void
put_same_time(struct walk *w, enum leg leg)
{
	struct store	*s = w->c->store;

	store_sql(s, "SELECT global_sequence FROM {outbox} {index} "
	    "WHERE published_at = ");
	store_put_text(s, w->published_at);
	if (leg == OF_TIME_NULL || w->partition == NULL) {
		store_put(s, " AND partition_key IS NULL");
	} else {
		store_put(s, leg == OF_LABEL ? " AND partition_key = " :
		    " AND partition_key < ");
		store_put_text(s, w->partition);
	}
	if (leg == OF_LABEL)
		store_putf(s, " AND global_sequence < %llu",
		    (unsigned long long)w->last);
}

static int
next_delivered(struct walk *w, uint64_t *out, size_t max, size_t *n,
    struct err *e)
{
	enum leg	leg = w->published_at == NULL ? EARLIER : OF_LABEL;
	size_t		more;
	bool		found;

	for (*n = 0; leg < NLEGS && *n < max; leg++) {
		/* Nothing is lower than NULL. */
		if ((leg == OF_TIME || leg == OF_TIME_NULL) &&
		    w->partition == NULL)
			continue;
		if (leg == EARLIER)
			put_earlier(w);
		else
			put_same_time(w, leg);
		store_put(w->c->store, " ORDER BY published_at DESC, "
		    "partition_key DESC, global_sequence DESC");
		if (read_page(w, out + *n, max - *n, &more, e) < 0)
			return -1;
		*n += more;
	}
	return place_delivered(w, &found, e);
}

static int
place_key(struct walk *w, bool *found, struct err *e)
{
	return remember(w, "SELECT stream_sequence, NULL FROM {events} "
	    "WHERE sequence = ", &w->stream_sequence, &w->partition, found, e);
}

static int
next_of_key(struct walk *w, uint64_t *out, size_t max, size_t *n,
    struct err *e)
{
	struct store	*s = w->c->store;
	bool		 found;

	store_sql(s, "SELECT sequence FROM {events} WHERE");
	filter_put_key(s, "stream_id", w->c->args.key);
	if (w->stream_sequence != NULL) {
		store_put(s, " AND stream_sequence < ");
		store_put(s, w->stream_sequence);
	}
	store_put(s, " ORDER BY stream_sequence DESC");
	if (read_page(w, out, max, n, e) < 0)
		return -1;
	return *n == 0 ? 0 : place_key(w, &found, e);
}

/* Walks that run backwards begin behind a row that must be there. */
static int
place_first(struct walk *w, struct err *e)
{
	bool	found = true;

	if (w->last == 0 || w->primary)
		return 0;
	if (w->by == WALK_DELIVERED && place_delivered(w, &found, e) < 0)
		return -1;
	if (w->by == WALK_KEY && place_key(w, &found, e) < 0)
		return -1;
	return found ? 0 : err_set(e, "--after: %llu: no such message to go "
	    "on behind", (unsigned long long)w->last);
}

struct walk *
walk_new(struct ctl *c, enum walk_by by, struct err *e)
{
	struct walk	*w = xcalloc(1, sizeof(*w));
	enum store_index index = store_index(c->store);

	w->c = c;
	w->by = by;
	w->last = c->args.after;
	w->primary = by == WALK_DEAD ||
	    (by == WALK_WAITING && index == INDEX_NONE) ||
	    (by == WALK_DELIVERED && index != INDEX_BY_TIME);
	if (place_first(w, e) == 0 && (by != WALK_WAITING || w->primary ||
	    find_parts(w, e) == 0)) {
		set_share(w);
		return w;
	}
	walk_free(w);
	return NULL;
}

void
walk_free(struct walk *w)
{
	if (w == NULL)
		return;
	for (size_t i = 0; i < w->nparts; i++) {
		free(w->parts[i].label);
		free(w->parts[i].rows);
	}
	free(w->parts);
	free(w->published_at);
	free(w->partition);
	free(w->stream_sequence);
	free(w);
}

const char *
walk_order(const struct walk *w)
{
	if (w->by == WALK_DEAD)
		return "d.global_sequence";
	if (w->by == WALK_KEY)
		return "e.stream_sequence DESC";
	if (w->by == WALK_DELIVERED && !w->primary)
		return "o.published_at DESC, o.partition_key DESC, "
		    "o.global_sequence DESC";
	return "o.global_sequence";
}

int
walk_next(struct walk *w, uint64_t *out, size_t max, size_t *n,
    struct err *e)
{
	if (max > WALK_PAGE)
		max = WALK_PAGE;
	if (w->primary)
		return next_primary(w, out, max, n, e);
	switch (w->by) {
	case WALK_WAITING:
		return next_waiting(w, out, max, n, e);
	case WALK_DELIVERED:
		return next_delivered(w, out, max, n, e);
	default:
		return next_of_key(w, out, max, n, e);
	}
}
