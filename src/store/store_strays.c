/*
 * store_strays.c - labels of waiting rows that have no lease
 *
 * A label gets a lease if a worker can serve it.  What waits under another one
 * is never sent: status tells it, with the statement that gives these rows the
 * label of their key.
 */

#include "store/store_impl.h"

#include <stdlib.h>
#include <string.h>
#include <bsd/string.h>

#include "util/printable.h"
#include "util/xalloc.h"

/* Labels found in one pass: each costs a dive into the index. */
#define STRAYS_MAX	1000

/* Rows that are looked at for labels that begin with '!'. */
#define PARKED_MAX	10000

/* Labels that a statement names; it finds more than these by itself. */
#define NAMED_MAX	10

void
store_strays_free(struct strays *l)
{
	for (size_t i = 0; i < l->n; i++)
		free(l->items[i].label);
	free(l->items);
	*l = (struct strays){ .n = 0 };
}

/*
 * Labels between those that are known
 */

/*
 * A gap between two known labels, in the order of the column's collation:
 * labels of waiting rows in it have no lease row.  A label that is found
 * becomes the beginning, so that the next query finds others behind it.
 */
struct gap {
	const char	*from, *to;	/* no bytes: the first, the last gap */
	size_t		 from_len, to_len;
	bool		 open;		/* there may be more in it */
};

struct gaps {
	struct gap	*items;
	size_t		 n;
	struct db_rows	*known;		/* has the bytes */
	bool		 has_empty;	/* the empty label has its lease */
	bool		 any_open;
};

static int
read_gaps(struct store *s, struct gaps *g, struct err *e)
{
	store_sql(s, "SELECT partition_key FROM {partitions} "
	    "ORDER BY partition_key");
	if ((g->known = store_query(s, "strays", e)) == NULL)
		return -1;
	g->items = xcalloc(db_nrows(g->known) + 1, sizeof(*g->items));
	g->items[g->n++].open = true;
	while (db_next(g->known)) {
		const char	*label = db_text(g->known, 0);
		size_t		 len = db_length(g->known, 0);

		g->has_empty = g->has_empty || len == 0;
		if (len == 0)
			continue;
		g->items[g->n - 1].to = label;
		g->items[g->n - 1].to_len = len;
		g->items[g->n++] = (struct gap){ .from = label,
		    .from_len = len, .open = true };
	}
	return 0;
}

/* Send the query, and note the labels; each begins the rest of its gap. */
static int
take_labels(struct store *s, struct gaps *g, struct strays *l, struct err *e)
{
	struct db_rows	*rows = store_query(s, "strays", e);
	struct stray	*x;

	if (rows == NULL)
		return -1;
	for (size_t i = 0; i < g->n; i++)
		g->items[i].open = false;
	g->any_open = false;
	l->items = xreallocarray(l->items, l->n + db_nrows(rows) + 1,
	    sizeof(*l->items));
	while (db_next(rows)) {
		size_t		len = db_length(rows, 0);
		uint64_t	i = db_u64(rows, 1);

		x = &l->items[l->n++];
		*x = (struct stray){ .label = xcalloc(len + 1, 1), .len = len };
		memcpy(x->label, db_text(rows, 0), len);
		if (i >= g->n)
			continue;
		g->items[i].from = x->label;
		g->items[i].from_len = len;
		g->items[i].open = g->any_open = true;
	}
	db_rows_free(rows);
	return 0;
}

/* The first label of each gap; an empty gap costs one index dive. */
static int
find_in_gaps(struct store *s, struct strays *l, struct err *e)
{
	struct gaps	 g = { .any_open = true };
	bool		 parks = !store_is_pillar(s);
	int		 rc = read_gaps(s, &g, e);

	while (rc == 0 && g.any_open && l->n < STRAYS_MAX) {
		buf_clear(&s->sql);
		for (size_t i = 0; i < g.n; i++) {
			const struct gap *gap = &g.items[i];

			if (!gap->open)
				continue;
			store_put(s, ":union(SELECT {partition_key}, :gap "
			    "FROM {outbox} {index} "
			    "WHERE {published_at} IS NULL "
			    "AND {partition_key} > :from:to:parked "
			    "ORDER BY {partition_key} LIMIT 1)",
			    SQL_IF("union", s->sql.len > 0, " UNION ALL "),
			    SQL_NUMBER("gap", i), SQL_BYTES("from",
			    gap->from_len == 0 ? "" : gap->from, gap->from_len),
			    SQL_IF("to", gap->to_len > 0,
			    " AND {partition_key} < :end"),
			    SQL_BYTES("end", gap->to, gap->to_len),
			    SQL_IF("parked", parks,
			    " AND NOT " PARKED_RANGE("{partition_key}")));
		}
		/* The empty label is in no gap. */
		for (int i = 0; !g.has_empty && i < 2; i++)
			store_put(s, " UNION ALL (SELECT '', :gap FROM "
			    "{outbox} {index} WHERE {published_at} IS NULL AND "
			    "{partition_key} :is LIMIT 1)",
			    SQL_NUMBER("gap", g.n),
			    SQL_EITHER("is", i == 0, "IS NULL", "= ''"));
		g.has_empty = true;
		rc = take_labels(s, &g, l, e);
	}
	free(g.items);
	db_rows_free(g.known);
	return rc;
}

/* reserved: also labels that the daemon alone may give to rows. */
static int
find_labels(struct store *s, bool reserved, struct strays *l, struct err *e)
{
	struct gaps	none = { .n = 0 };

	if (find_in_gaps(s, l, e) < 0)
		return -1;
	if (store_is_pillar(s))
		return 0;
	/* Partitions that only records of blocked keys name. */
	store_sql(s, "SELECT b.partition_key FROM (SELECT DISTINCT "
	    "partition_key FROM {blocked}) AS b WHERE NOT EXISTS (SELECT 1 "
	    "FROM {partitions} AS p WHERE p.partition_key = b.partition_key)");
	if (take_labels(s, &none, l, e) < 0)
		return -1;
	if (!reserved)
		return 0;
	/*
	 * Labels like those of parked rows, without a record.  Scheduled rows
	 * have such labels, too, one for each.
	 */
	store_sql(s, "SELECT DISTINCT r.label FROM (SELECT {partition_key} AS "
	    "label FROM {outbox} {index} WHERE {published_at} IS NULL "
	    "AND :reserved LIMIT :max) AS r LEFT JOIN {blocked} AS b "
	    "ON b.first_sequence = " PARKED_UNDER("r.label")
	    " LEFT JOIN {partitions} AS p ON p.partition_key = r.label "
	    "WHERE b.first_sequence IS NULL AND (p.partition_key IS NULL OR "
	    PARKED_IS("r.label") ")",
	    SQL_EITHER("reserved", store_can_schedule(s),
	    "(({partition_key} > '!' AND {partition_key} < '!@') OR "
	    "({partition_key} >= '!A' AND {partition_key} < '!a'))",
	    PARKED_RANGE("{partition_key}")),
	    SQL_NUMBER("max", PARKED_MAX));
	return take_labels(s, &none, l, e);
}

/*
 * Which of them can have a lease
 */

/*
 * Is the class of label i full?  A label like p007 joins the class of the
 * labels that the declared counts make, COUNTS_CLASS at most.  All others
 * together are STORE_OWN_LABELS at most: a producer can write any label, and
 * each lease costs every worker time.
 */
static bool
is_full(const struct store_view *v, const struct strays *l, size_t i)
{
	unsigned	class = counts_class(&v->counts, l->items[i].label);
	size_t		n = 0;

	for (size_t k = 0; k < v->nleases; k++)
		n += counts_class(&v->counts, v->leases[k].label) == class;
	for (size_t k = 0; k < i; k++)
		n += l->items[k].why == NULL &&
		    counts_class(&v->counts, l->items[k].label) == class;
	return n >= (class == COUNTS_NONE ? STORE_OWN_LABELS : COUNTS_CLASS);
}

/* reserved: as in find_labels().  The counts are set if there are labels. */
static int
find_strays(struct store *s, bool reserved, struct strays *l, struct counts *c,
    struct err *e)
{
	bool			parks = !store_is_pillar(s);
	struct store_view	v;

	if (find_labels(s, reserved, l, e) < 0)
		return -1;
	if (l->n == 0)
		return 0;
	if (store_view(s, &v, e) < 0)
		return -1;
	for (size_t i = 0; i < l->n; i++) {
		struct stray	*x = &l->items[i];
		bool		 control = false;

		for (size_t k = 0; k < x->len; k++)
			control |= (unsigned char)x->label[k] < ' ' ||
			    x->label[k] == 0x7f;
		if (parks && x->label[0] == '!')
			x->why = "the daemon parks rows under labels that "
			    "begin with !";
		else if (x->len >= STORE_LABEL || control ||
		    !store_fits(s, FIT_LABEL, x->label, x->len))
			x->why = "it is too long, or has a character that the "
			    "label of a lease cannot have";
		else if (is_full(&v, l, i))
			x->why = "there are as many labels as workers can "
			    "serve";
	}
	*c = v.counts;
	store_view_free(&v);
	return 0;
}

/*
 * The owner of a class that a new label joins has to learn of it before its
 * next claim.
 */
static int
bump_classes(struct store *s, const struct strays *l, struct err *e)
{
	struct store_view	  v;
	const char		**labels;
	size_t			  n = 0;
	int			  rc;

	if (store_view(s, &v, e) < 0)
		return -1;
	labels = xcalloc(v.nleases + 1, sizeof(*labels));
	for (size_t i = 0; i < v.nleases; i++) {
		unsigned class = counts_class(&v.counts, v.leases[i].label);
		bool	 joined = false;

		for (size_t k = 0; !joined && k < l->n; k++)
			joined = l->items[k].why == NULL && counts_class(
			    &v.counts, l->items[k].label) == class;
		if (joined && class != COUNTS_NONE)
			labels[n++] = v.leases[i].label;
	}
	rc = store_bump_epochs(s, "strays", labels, n, e);
	free(labels);
	store_view_free(&v);
	return rc;
}

/* In a transaction.  The log names a label of an undeclared count, if any. */
static int
add_leases(struct store *s, const struct strays *l, const struct counts *c,
    struct adopted *a, struct err *e)
{
	uint64_t	added;
	size_t		n = 0;

	store_sql(s, "INSERT IGNORE INTO {partitions} (partition_key) VALUES ");
	for (size_t i = 0; i < l->n; i++) {
		const char *label = l->items[i].label;

		if (l->items[i].why != NULL)
			continue;
		store_put_comma(s);
		store_put(s, "(:label)", SQL_TEXT("label", label));
		if (n++ == 0 || (counts_is_label(label) &&
		    counts_class(c, label) == COUNTS_NONE))
			strlcpy(a->label, label, sizeof(a->label));
	}
	if (store_exec(s, "strays", &added, e) < 0)
		return -1;
	a->n = (unsigned)added;
	return added == 0 ? 0 : bump_classes(s, l, e);
}

int
store_adopt_strays(struct store *s, struct adopted *a, struct err *e)
{
	struct strays	l = { .n = 0 };
	struct counts	c;
	size_t		nleft = 0;
	int		rc = find_strays(s, false, &l, &c, e);

	for (size_t i = 0; rc == 0 && i < l.n; i++)
		nleft += l.items[i].why != NULL;
	*a = (struct adopted){ .left = nleft > 0 };
	if (rc == 0 && nleft < l.n && (rc = store_begin_in_a_hurry(s, e)) == 0)
		rc = store_end_in_a_hurry(s, add_leases(s, &l, &c, a, e), e);
	store_strays_free(&l);
	if (rc == 0 || store_fault(s) != DB_BUSY)
		return rc;
	*a = (struct adopted){ .busy = true, .why = *e };
	return 0;
}

/*
 * What is left
 */

/*
 * A producer has written it, and an operator pastes the statement into a session
 * of any sql_mode: with NO_BACKSLASH_ESCAPES a quote behind a backslash would be
 * the end of the text.  So no byte of it stands as it is.
 */
static void
put_named(struct store *s, const struct strays *l)
{
	for (size_t i = 0; i < l->n; i++) {
		const struct stray *x = &l->items[i];

		store_put_comma(s);
		if (printable_is(x->label, x->len))
			store_put(s, "_utf8mb4 ");	/* or no index is used */
		printable_put_hex(&s->sql, x->label, x->len);
	}
}

int
store_strays(struct store *s, struct strays *l, char **sql, struct err *e)
{
	struct counts	c = { .count = 0 };
	size_t		n = 0;

	*l = (struct strays){ .n = 0 };
	*sql = NULL;
	if (find_strays(s, true, l, &c, e) < 0) {
		store_strays_free(l);
		return -1;
	}
	/* The labels that cannot have a lease, alone. */
	for (size_t i = 0; i < l->n; i++)
		if (l->items[i].why != NULL)
			l->items[n++] = l->items[i];
		else
			free(l->items[i].label);
	l->n = n;
	if (l->n == 0)
		return 0;
	if (c.count == 0)
		c.count = (unsigned)s->conf->outbox.partition_count;
	/* Rows under these labels; of very many: under any not served. */
	store_sql(s, "UPDATE {outbox} AS o LEFT JOIN {events} AS e "
	    "ON {e.sequence} = {o.global_sequence} "
	    "SET {o.partition_key} = :label "
	    "WHERE {o.published_at} IS NULL AND :strays",
	    SQL_PUT("label", s, store_put_label(s, &c, "e",
	    SQL("{e.stream_id}"))),
	    SQL_EITHER("strays", l->n <= NAMED_MAX,
	    "{o.partition_key} IN (:named)",
	    "(NOT EXISTS (SELECT 1 FROM {partitions} AS p "
	    "WHERE p.partition_key = COALESCE({o.partition_key}, '')):parked)"
	    ":scheduled"),
	    SQL_PUT("named", s, put_named(s, l)),
	    SQL_IF("parked", !store_is_pillar(s),
	    " OR " PARKED_IS("{o.partition_key}") ") AND NOT "
	    "EXISTS (SELECT 1 FROM {blocked} AS b WHERE "
	    "b.first_sequence = " PARKED_UNDER("{o.partition_key}")),
	    SQL_IF("scheduled", store_can_schedule(s),
	    " AND {o.partition_key} NOT LIKE '!@%'"));
	*sql = xstrdup(s->sql.data);
	return 0;
}
