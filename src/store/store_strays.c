/*
 * store_strays.c - labels of waiting rows that have no lease
 *
 * A label without a lease row gets one.  Rows under a label that cannot have a
 * lease get the label of their key, as a producer would make it.  Such labels
 * have a control character in them, are too long, or are those of parked rows:
 * '!' and the name of a record.  The latter are never leased, so parked rows
 * have one owner, that of the record.
 */

#include "store/store_impl.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <bsd/string.h>

#include "util/log.h"
#include "util/printable.h"
#include "util/xalloc.h"

/* Rows that get another label per transaction, and rounds, at most. */
#define MOVE_MAX	1000
#define ROUNDS		100

/* Labels found in one pass, at most: each costs a dive into the index. */
#define LABELS_MAX	5000

static bool
has_control(const char *label, size_t len)
{
	for (size_t i = 0; i < len; i++)
		if ((unsigned char)label[i] < ' ' || label[i] == 0x7f)
			return true;
	return false;
}

static bool
can_have_lease(const struct store *s, const char *label, size_t len)
{
	uint64_t	first;

	return len < STORE_LABEL && !has_control(label, len) &&
	    store_fits(s, FIT_LABEL, label, len) &&
	    !store_is_parked(s, label, len, &first);
}

/*
 * Rows that are given another label
 */

/* A label that cannot be served, and which of its rows are to move. */
struct stray {
	const char	*label;
	size_t		 len;
	uint64_t	 record;	/* 0: no label of parked rows */
	bool		 others;	/* only rows of another key */
};

/* Compared as bytes: to a collation different labels may be equal. */
static void
put_is_label(struct store *s, const struct stray *x)
{
	store_put(s, "{o.published_at} IS NULL AND {o.partition_key} = ");
	store_put_bytes(s, x->label, x->len);
	store_put(s, " AND " STORE_BYTES("{o.partition_key}") " = CAST(");
	store_put_bytes(s, x->label, x->len);
	buf_str(&s->sql, " AS BINARY)");
}

/*
 * MySQL refuses to read the table that a statement changes, except as a derived
 * table that is written out: for that is the LIMIT.
 */
static void
put_event_of(struct store *s, uint64_t record)
{
	if (store_is_inline(s))
		store_putf(s, " LEFT JOIN (SELECT {sequence}, {stream_id} "
		    "FROM {events} WHERE {sequence} = %" PRIu64 " LIMIT 1)",
		    record);
	else
		store_put(s, " LEFT JOIN {events}");
	store_put(s, " AS k ON {k.sequence} = b.first_sequence");
}

/* Rows with the key of their record are parked rightly: they stay. */
static void
put_is_stray(struct store *s, const struct stray *x)
{
	put_is_label(s, x);
	if (x->record == 0)
		return;
	store_put(s, x->others ? " AND EXISTS " : " AND NOT EXISTS ");
	store_put(s, "(SELECT 1 FROM {blocked} AS b");
	if (x->others)
		put_event_of(s, x->record);
	buf_printf(&s->sql, " WHERE b.first_sequence = %" PRIu64, x->record);
	if (x->others)
		store_put(s, " AND " STORE_BYTES("{e.stream_id}") " <> "
		    STORE_KEY_OF("{k.stream_id}", "b.order_key"));
	buf_str(&s->sql, ")");
}

/* Rows under the label, as many as one transaction moves. */
struct piece {
	uint64_t	*list;		/* sequences */
	size_t		 n;
};

/* lock: those that others have locked are left out. */
static int
list_rows(struct store *s, const struct stray *x, bool lock, struct piece *p,
    struct err *e)
{
	struct db_rows	*rows;

	store_sql(s, "SELECT {o.global_sequence} FROM {outbox} AS o {index} ");
	if (x->others)
		store_put(s, "LEFT JOIN {events} AS e "
		    "ON {e.sequence} = {o.global_sequence} ");
	store_put(s, "WHERE ");
	put_is_stray(s, x);
	store_putf(s, " ORDER BY {o.global_sequence} LIMIT %d%s", MOVE_MAX,
	    lock ? " FOR UPDATE SKIP LOCKED" : "");
	if ((rows = store_query(s, "strays", e)) == NULL)
		return -1;
	free(p->list);
	p->list = xcalloc(db_nrows(rows) + 1, sizeof(*p->list));
	for (p->n = 0; db_next(rows); )
		p->list[p->n++] = db_u64(rows, 0);
	db_rows_free(rows);
	return 0;
}

/* Keep those with which both lists begin.  Returns whether a has more. */
static bool
cut_to_common(const struct piece *a, struct piece *b)
{
	size_t	n = 0;

	while (n < a->n && n < b->n && a->list[n] == b->list[n])
		n++;
	b->n = n;
	return n < a->n;
}

/*
 * A row that others have locked may be so for long, and a wait for it would be
 * one for other labels, too.  Later rows of this label wait, since their key may
 * be the same.  *locked: there are such rows.  To lock what is joined takes
 * rights that we do not have.
 */
static int
find_rows(struct store *s, const struct stray *x, struct piece *p, bool *locked,
    struct err *e)
{
	struct piece	all = { .list = NULL };
	int		rc;

	*locked = false;
	if (x->others)
		return list_rows(s, x, false, p, e);
	rc = list_rows(s, x, false, &all, e);
	if (rc == 0 && all.n > 0 && (rc = list_rows(s, x, true, p, e)) == 0)
		*locked = cut_to_common(&all, p);
	free(all.list);
	return rc;
}

/* The label of the key, by the present count; the old one is not served. */
static int
relabel_strays(struct store *s, const struct stray *x, const struct piece *p,
    const struct counts *c, uint64_t *moved, struct err *e)
{
	store_sql(s, "UPDATE {outbox} AS o {primary} "
	    "LEFT JOIN {events} AS e ON {e.sequence} = {o.global_sequence} "
	    "SET {o.partition_key} = ");
	store_put_label(s, c, "e", "{e.stream_id}");
	if (store_has_in_doubt_marks(s))
		store_put(s, ", {o.in_doubt_since} = IF({o.claim_token} IS "
		    "NULL, "
		    "COALESCE({o.in_doubt_since}, (SELECT "
		    "MIN(IF(p.in_doubt_since "
		    "> NOW(6), '" STORE_EVER "', p.in_doubt_since)) "
		    "FROM {partitions} AS p)), {o.in_doubt_since})");
	store_put(s, " WHERE {o.global_sequence} IN (");
	store_put_list(s, p->list, p->n);
	buf_str(&s->sql, ") AND ");
	put_is_stray(s, x);
	if (store_exec(s, "strays", moved, e) < 0)
		return -1;
	store_sql(s, "SELECT DISTINCT COALESCE({partition_key}, '') "
	    "FROM {outbox} WHERE {global_sequence} IN (");
	store_put_list(s, p->list, p->n);
	buf_str(&s->sql, ")");
	return store_bump_selected(s, "strays", e);
}

static int
move_some(struct store *s, const struct stray *x, struct adopted *a,
    uint64_t *moved, struct err *e)
{
	struct counts	c;
	struct piece	p = { .list = NULL };
	bool		locked = false;
	int		rc;

	*moved = 0;
	if (store_begin_in_a_hurry(s, e) < 0)
		return -1;
	rc = store_hold_counts(s, &c, e);
	if (rc == 0)
		rc = find_rows(s, x, &p, &locked, e);
	a->locked = a->locked || locked;
	if (rc == 0 && p.n > 0)
		rc = relabel_strays(s, x, &p, &c, moved, e);
	free(p.list);
	if ((rc = store_end_in_a_hurry(s, rc, e)) < 0)
		*moved = 0;
	return rc;
}

/* A lock is in the way: no failure, but one wait of a second is enough. */
static int
note_busy(struct store *s, int rc, struct adopted *a, const struct err *e)
{
	if (rc == 0 || store_fault(s) != DB_BUSY)
		return rc;
	a->busy = true;
	a->why = *e;
	return 0;
}

/* A row that the database refuses is logged, and is no failure. */
static int
move_strays(struct store *s, struct stray *x, struct adopted *a,
    uint64_t *moved, struct err *e)
{
	char	name[PRINTABLE_SIZE];
	int	rc;

	*moved = 0;
	if (a->busy)
		return 0;
	if (!store_is_parked(s, x->label, x->len, &x->record))
		x->record = 0;
	printable_text(name, x->label, x->len);
	rc = note_busy(s, move_some(s, x, a, moved, e), a, e);
	if (rc < 0 && !store_refused_value(s))
		return -1;
	if (rc < 0)
		log_event(LOG_LVL_ERROR, LOG_FIELDS(LOG_TEXT("partition",
		    name), LOG_TEXT("error_class", "label")),
		    "rows wait under the label %s, which no worker can "
		    "lease, and the database refuses another label: %s; "
		    "change their partition_key by hand", name, e->text);
	else if (*moved > 0)
		log_event(LOG_LVL_ERROR, LOG_FIELDS(LOG_TEXT("partition",
		    name), LOG_NUMBER("rows", *moved),
		    LOG_TEXT("error_class", "label")),
		    "%" PRIu64 " row(s) waited under the label %s, which "
		    "%s: moved to the label of their key; correct the "
		    "labels that the producer writes", *moved, name,
		    x->record != 0 ? "is reserved for parked rows" :
		    "cannot have a lease (too long, a control character in "
		    "it, or more labels than one worker can serve together)");
	return 0;
}

/*
 * Leases for labels that have none
 */

/*
 * A gap between two known labels, in the order of the column's collation:
 * labels of waiting rows in it have no lease row.  A label whose rows stay
 * becomes the beginning, so that the next query finds others behind it.
 */
struct gap {
	struct buf	 from;
	struct buf	 to;	/* empty: no end */
	bool		 open;	/* there may be more in it */
};

struct gaps {
	struct gap	*items;
	size_t		 n;
	bool		 has_empty;	/* the empty label has its lease */
};

static int
read_gaps(struct store *s, struct gaps *g, struct err *e)
{
	struct db_rows	*known;

	store_sql(s, "SELECT partition_key FROM {partitions} "
	    "ORDER BY partition_key");
	if ((known = store_query(s, "strays", e)) == NULL)
		return -1;
	g->items = xcalloc(db_nrows(known) + 1, sizeof(*g->items));
	while (db_next(known)) {
		size_t len = db_length(known, 0);

		g->has_empty = g->has_empty || len == 0;
		if (len == 0)
			continue;
		buf_add(&g->items[g->n++].to, db_text(known, 0), len);
		buf_add(&g->items[g->n].from, db_text(known, 0), len);
	}
	g->n++;
	for (size_t i = 0; i < g->n; i++)
		g->items[i].open = true;
	db_rows_free(known);
	return 0;
}

static void
free_gaps(struct gaps *g)
{
	for (size_t i = 0; i < g->n; i++) {
		buf_free(&g->items[i].from);
		buf_free(&g->items[i].to);
	}
	free(g->items);
}

/* The first label in the gap; an empty gap costs one index dive. */
static void
put_gap(struct store *s, const struct gap *gap, size_t i)
{
	if (s->sql.len > 0)
		buf_str(&s->sql, " UNION ALL ");
	store_putf(s, "(SELECT {partition_key}, %zu", i);
	store_put(s, " FROM {outbox} {index} "
	    "WHERE {published_at} IS NULL AND {partition_key} > ");
	store_put_bytes(s, gap->from.len == 0 ? "" : gap->from.data,
	    gap->from.len);
	if (gap->to.len > 0) {
		store_put(s, " AND {partition_key} < ");
		store_put_bytes(s, gap->to.data, gap->to.len);
	}
	if (s->exists[T_BLOCKED])
		store_put(s, " AND NOT " PARKED_RANGE("{partition_key}"));
	store_put(s, " ORDER BY {partition_key} LIMIT 1)");
}

/* Rows of a label and its gap's number; the empty label has no gap: g->n. */
static struct db_rows *
query_strays(struct store *s, const struct gaps *g, struct err *e)
{
	buf_clear(&s->sql);
	for (size_t i = 0; i < g->n; i++)
		if (g->items[i].open)
			put_gap(s, &g->items[i], i);
	if (!g->has_empty) {
		buf_printf(&s->sql, " UNION ALL (SELECT '', %zu", g->n);
		store_put(s, " FROM {outbox} {index} WHERE "
		    "{published_at} IS NULL AND {partition_key} IS NULL LIMIT "
		    "1) ");
		buf_printf(&s->sql, "UNION ALL (SELECT '', %zu", g->n);
		store_put(s, " FROM {outbox} {index} WHERE "
		    "{published_at} IS NULL AND {partition_key} = '' LIMIT 1)");
	}
	return store_query(s, "strays", e);
}

/* The result of a pass: labels that are to have a lease. */
struct stray_scan {
	struct adopted		 *adopted;
	char			**labels;
	size_t			  n;
	unsigned		  nmoves;	/* calls of move_strays() */
	struct store_view	  view;		/* read for the first of them */
};

static void
free_stray_scan(struct stray_scan *w)
{
	for (size_t i = 0; i < w->n; i++)
		free(w->labels[i]);
	free(w->labels);
	store_view_free(&w->view);
}

/*
 * Is the class of this label full?  A label like p007 joins the class of the
 * labels that the declared counts make, COUNTS_CLASS at most.  All others
 * together are STORE_OWN_LABELS at most: a producer can write any label, and
 * each lease costs every worker time.
 */
static int
is_too_many(struct store *s, struct stray_scan *w, const char *label, bool *is,
    struct err *e)
{
	unsigned	class;
	size_t		n = 0;

	if (w->view.leases == NULL && store_view(s, NULL, NULL, &w->view,
	    e) < 0)
		return -1;
	class = counts_class(&w->view.counts, label);
	for (size_t i = 0; i < w->view.nleases; i++)
		n += counts_class(&w->view.counts,
		    w->view.leases[i].label) == class;
	for (size_t i = 0; i < w->n; i++)
		n += counts_class(&w->view.counts, w->labels[i]) == class;
	*is = n >= (class == COUNTS_NONE ? STORE_OWN_LABELS : COUNTS_CLASS);
	return 0;
}

/* Note the label of this row for a lease, or move its rows. */
static int
adopt_label(struct store *s, const struct db_rows *row, struct stray_scan *w,
    uint64_t *moved, struct err *e)
{
	struct stray	x = { .label = db_text(row, 0),
	    .len = db_length(row, 0) };
	bool		full = false;

	*moved = 0;
	if (can_have_lease(s, x.label, x.len) &&
	    is_too_many(s, w, x.label, &full, e) < 0)
		return -1;
	if (full || !can_have_lease(s, x.label, x.len)) {
		w->nmoves++;
		return move_strays(s, &x, w->adopted, moved, e);
	}
	w->labels = xreallocarray(w->labels, w->n + 1, sizeof(*w->labels));
	w->labels[w->n++] = xstrdup(x.label);
	return 0;
}

static bool
joins_a_class(const struct stray_scan *w, const struct counts *c,
    const char *label)
{
	unsigned	class = counts_class(c, label);

	for (size_t i = 0; class != COUNTS_NONE && i < w->n; i++)
		if (counts_class(c, w->labels[i]) == class)
			return true;
	return false;
}

/*
 * The owner of a class that a new label joins has to learn of it before its
 * next claim.
 */
static int
bump_classes(struct store *s, const struct stray_scan *w, struct err *e)
{
	struct store_view	 v;
	const char		**labels;
	size_t			 n = 0;
	int			 rc;

	if (store_view(s, NULL, NULL, &v, e) < 0)
		return -1;
	labels = xcalloc(v.nleases + 1, sizeof(*labels));
	for (size_t i = 0; i < v.nleases; i++)
		if (joins_a_class(w, &v.counts, v.leases[i].label))
			labels[n++] = v.leases[i].label;
	rc = store_bump_epochs(s, "strays", labels, n, e);
	free(labels);
	store_view_free(&v);
	return rc;
}

static int
add_leases(struct store *s, const struct stray_scan *w, uint64_t *added,
    struct err *e)
{
	store_sql(s, "INSERT IGNORE INTO {partitions} (partition_key) VALUES ");
	for (size_t i = 0; i < w->n; i++) {
		store_put_comma(s);
		buf_str(&s->sql, "(");
		store_put_text(s, w->labels[i]);
		buf_str(&s->sql, ")");
	}
	if (store_exec(s, "strays", added, e) < 0)
		return -1;
	return *added == 0 ? 0 : bump_classes(s, w, e);
}

/* A label for the log: if possible, one of an undeclared count. */
static void
tell_one(const struct stray_scan *w, char label[STORE_LABEL])
{
	const char	*one = w->labels[w->n - 1];

	for (size_t i = 0; i < w->n; i++)
		if (counts_is_label(w->labels[i]) && counts_class(
		    &w->view.counts, w->labels[i]) == COUNTS_NONE)
			one = w->labels[i];
	strlcpy(label, one, STORE_LABEL);
}

static int
make_leases(struct store *s, const struct stray_scan *w, struct err *e)
{
	uint64_t	added = 0;

	if (w->n == 0)
		return 0;
	if (store_begin_in_a_hurry(s, e) < 0)
		return -1;
	if (store_end_in_a_hurry(s, add_leases(s, w, &added, e), e) < 0)
		return note_busy(s, -1, w->adopted, e);
	w->adopted->n = (unsigned)added;
	tell_one(w, w->adopted->label);
	return 0;
}

/* A gap whose rows were moved may have more of them. */
static int
adopt_in_gaps(struct store *s, struct gaps *g, struct stray_scan *w, bool *more,
    struct err *e)
{
	struct db_rows	*rows = query_strays(s, g, e);
	uint64_t	 moved;
	int		 rc = 0;

	if (rows == NULL)
		return -1;
	for (size_t i = 0; i < g->n; i++)
		g->items[i].open = false;
	g->has_empty = true;
	*more = false;
	while (rc == 0 && db_next(rows)) {
		uint64_t i = db_u64(rows, 1);

		rc = adopt_label(s, rows, w, &moved, e);
		if (i >= g->n)
			continue;
		*more = g->items[i].open = true;
		if (moved > 0)
			continue;
		buf_clear(&g->items[i].from);
		buf_add(&g->items[i].from, db_text(rows, 0),
		    db_length(rows, 0));
	}
	db_rows_free(rows);
	return rc;
}

int
store_adopt_strays(struct store *s, struct adopted *a, struct err *e)
{
	struct gaps		g = { 0 };
	struct stray_scan	w = { .adopted = a };
	bool			more = true;
	int			rc;

	*a = (struct adopted){ .n = 0 };
	rc = read_gaps(s, &g, e);
	for (unsigned i = 0; rc == 0 && more && i < LABELS_MAX &&
	    w.nmoves < ROUNDS; i++)
		rc = adopt_in_gaps(s, &g, &w, &more, e);
	free_gaps(&g);
	if (rc == 0)
		rc = make_leases(s, &w, e);
	free_stray_scan(&w);
	return rc;
}

/*
 * Labels of records whose last parked row has another key: the daemon did not
 * park that row.  Reads one index entry per record, however many rows there
 * are.
 */
static struct db_rows *
query_others(struct store *s, struct err *e)
{
	store_sql(s, "SELECT " PARKED_LABEL("r.first_sequence") " FROM "
	    "(SELECT b.first_sequence, b.order_key, (SELECT "
	    "{o.global_sequence} "
	    "FROM {outbox} AS o {index} WHERE {o.published_at} IS NULL "
	    "AND {o.partition_key} = " PARKED_LABEL("b.first_sequence")
	    " ORDER BY {o.global_sequence} DESC LIMIT 1) AS newest "
	    "FROM {blocked} AS b) AS r "
	    "JOIN {events} AS e ON {e.sequence} = r.newest "
	    "LEFT JOIN {events} AS k ON {k.sequence} = r.first_sequence WHERE "
	    STORE_BYTES("{e.stream_id}") " <> "
	    STORE_KEY_OF("{k.stream_id}", "r.order_key"));
	return store_query(s, "strays", e);
}

static int
move_others(struct store *s, struct adopted *a, struct err *e)
{
	struct db_rows	*labels;
	uint64_t	 moved;
	int		 rc = 0;

	if (s->conf->outbox.ordering != ORDER_KEY)
		return 0;
	if ((labels = query_others(s, e)) == NULL)
		return -1;
	while (rc == 0 && db_next(labels)) {
		struct stray x = { .label = db_text(labels, 0),
		    .len = db_length(labels, 0), .others = true };

		rc = move_strays(s, &x, a, &moved, e);
	}
	db_rows_free(labels);
	return rc;
}

static struct db_rows *
query_parked(struct store *s, struct err *e)
{
	store_sql(s, "SELECT DISTINCT b.partition_key FROM {blocked} AS b "
	    "LEFT JOIN {partitions} AS p ON p.partition_key = b.partition_key "
	    "WHERE p.partition_key IS NULL UNION ALL "
	    "SELECT {o.partition_key} FROM (SELECT DISTINCT {published_at}, "
	    "{partition_key} FROM {outbox} {index} WHERE {published_at} IS "
	    "NULL "
	    "AND ");
	/* Scheduled rows have a label each: they must not be read. */
	store_put(s, store_can_schedule(s) ?
	    "(({partition_key} > '!' AND {partition_key} < '!@') OR "
	    "({partition_key} >= '!A' AND {partition_key} < '!a'))" :
	    PARKED_RANGE("{partition_key}"));
	store_put(s, ") AS o "
	    "LEFT JOIN {blocked} AS b ON b.first_sequence = "
	    PARKED_UNDER("{o.partition_key}") " LEFT JOIN {partitions} AS p "
	    "ON p.partition_key = {o.partition_key} "
	    "WHERE b.first_sequence IS NULL AND (p.partition_key IS NULL "
	    "OR " PARKED_IS("{o.partition_key}") ")");
	return store_query(s, "strays", e);
}

/* *more: rows were moved, and may have hidden others. */
static int
adopt_parked(struct store *s, struct stray_scan *w, bool *more, struct err *e)
{
	struct db_rows	*rows = query_parked(s, e);
	uint64_t	 moved;
	int		 rc = 0;

	if (rows == NULL)
		return -1;
	*more = false;
	while (rc == 0 && db_next(rows)) {
		rc = adopt_label(s, rows, w, &moved, e);
		*more = *more || moved > 0;
	}
	db_rows_free(rows);
	return rc;
}

int
store_adopt_parked(struct store *s, struct adopted *a, struct err *e)
{
	struct stray_scan	w = { .adopted = a };
	bool			more = s->exists[T_BLOCKED];
	int			rc = 0;

	*a = (struct adopted){ .n = 0 };
	for (unsigned i = 0; rc == 0 && more && i < ROUNDS; i++)
		rc = adopt_parked(s, &w, &more, e);
	if (rc == 0)
		rc = make_leases(s, &w, e);
	free_stray_scan(&w);
	if (rc == 0 && s->exists[T_BLOCKED])
		rc = move_others(s, a, e);
	return rc;
}
