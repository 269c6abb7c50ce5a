/* partitions.c - leases, and the rows that wait under each label */

#include <stdlib.h>
#include <string.h>

#include "mysql/db.h"
#include "ctl/base/filter.h"
#include "ctl/state/state.h"
#include "util/xalloc.h"

/* Labels in one statement; one of them may have two ranges. */
#define CHUNK	64

/* Rows read to find the oldest without the claim's index, about. */
#define NEAR	100

/* Results for n labels of the array, beginning at from. */
struct partition_scan {
	struct ctl	*ctl;
	json_t		*rows;
	size_t		 from, n;
	uint64_t	 limit;
	unsigned	 asked;		/* ranges in the statement */
	uint64_t	 waiting[CHUNK], oldest[CHUNK];
	bool		 exact[CHUNK];
};

static const char *
label_of(const struct partition_scan *l, size_t i)
{
	return member_text(json_array_get(l->rows, l->from + i), "partition");
}

#define OF_LABEL " WHERE {published_at} IS NULL AND {partition_key}:label"

static void
put_is(struct store *s, const char *label)
{
	if (label == NULL)
		store_put(s, " IS NULL");
	else
		store_put(s, " IN (:label)", SQL_PUT("label", s,
		    filter_put_label(s, label)));
}

/*
 * The first rows of one range in the order of the index; with the claim's index
 * the first is the oldest.  ORDER BY would read the whole range.
 */
static void
put_first(struct partition_scan *l, size_t i, const char *label)
{
	struct store	*s = l->ctl->store;

	store_put(s, ":union(SELECT :i, {global_sequence} "
	    "FROM {outbox} {index}" OF_LABEL " LIMIT :limit)",
	    SQL_IF("union", l->asked++ > 0, " UNION ALL "),
	    SQL_NUMBER("i", i), SQL_PUT("label", s, put_is(s, label)),
	    SQL_NUMBER("limit", l->limit));
}

static int
count_waiting_rows(struct partition_scan *l, struct err *e)
{
	struct db_rows	*rows;

	store_sql(l->ctl->store, "");
	l->asked = 0;
	for (size_t i = 0; i < l->n; i++) {
		put_first(l, i, label_of(l, i));
		if (label_of(l, i)[0] == '\0')
			put_first(l, i, NULL);
	}
	if ((rows = store_query(l->ctl->store, "partitions", e)) == NULL)
		return -1;
	while (db_next(rows)) {
		uint64_t i = db_u64(rows, 0), row = db_u64(rows, 1);

		l->waiting[i]++;
		if (l->oldest[i] == 0 || row < l->oldest[i])
			l->oldest[i] = row;
	}
	db_rows_free(rows);
	return 0;
}

/* All of one range; with FORCE INDEX MySQL would not read it to estimate. */
static void
put_all(struct partition_scan *l, const char *label)
{
	struct store	*s = l->ctl->store;

	store_put(s, ":union" "SELECT {global_sequence} "
	    "FROM {outbox}:index" OF_LABEL,
	    SQL_IF("union", l->asked++ > 0, " UNION ALL "),
	    SQL_IF("index", store_index(s) != INDEX_NONE, " USE INDEX (:name)"),
	    SQL_NAME("name", store_index_name(s)),
	    SQL_PUT("label", s, put_is(s, label)));
}

/* For labels not fully counted, take the optimizer's estimate. */
static int
estimate_rows(struct partition_scan *l, struct err *e)
{
	size_t		 at[CHUNK + 1];
	uint64_t	 n[CHUNK] = { 0 };
	struct db_rows	*rows;
	int		 col;

	store_sql(l->ctl->store, "EXPLAIN FORMAT=TRADITIONAL ");
	l->asked = 0;
	for (size_t i = 0; i < l->n; i++) {
		l->exact[i] = l->waiting[i] < l->limit;
		if (l->exact[i])
			continue;
		at[l->asked] = i;
		put_all(l, label_of(l, i));
		if (label_of(l, i)[0] != '\0')
			continue;
		at[l->asked] = i;
		put_all(l, NULL);
	}
	if (l->asked == 0)
		return 0;
	if ((rows = store_query(l->ctl->store, "partitions", e)) == NULL)
		return -1;
	col = db_column(rows, "rows");
	for (unsigned k = 0; k < l->asked && col >= 0 && db_next(rows); k++)
		n[at[k]] += db_u64(rows, (unsigned)col);
	db_rows_free(rows);
	for (size_t i = 0; i < l->n; i++)
		if (l->waiting[i] < n[i])
			l->waiting[i] = n[i];
	return 0;
}

/* When the oldest rows were made; rows of Pillar have it in their events. */
static struct db_rows *
query_ages(struct partition_scan *l, struct err *e)
{
	struct store	*s = l->ctl->store;
	bool		 own = store_has_word(s, "created_at");
	size_t		 n = 0;
	uint64_t	 list[CHUNK];

	for (size_t i = 0; i < l->n; i++)
		if (l->oldest[i] > 0)
			list[n++] = l->oldest[i];
	if (n == 0)
		list[n++] = 0;
	store_sql(s, "SELECT :oldest IN (:list)", SQL_EITHER("oldest", own,
	    "{global_sequence}, {created_at}, "
	    "TIMESTAMPDIFF(MICROSECOND, {created_at}, NOW(6)) DIV 1000 "
	    "FROM {outbox} {primary} WHERE {global_sequence}",
	    "{sequence}, {occurred_at}, "
	    "TIMESTAMPDIFF(MICROSECOND, {occurred_at}, NOW(6)) DIV 1000 "
	    "FROM {events} {events_primary} WHERE {sequence}"),
	    SQL_LIST("list", list, n));
	return store_query(s, "partitions", e);
}

/* Set what is known of the rows of these labels. */
static int
scan_rows(struct partition_scan *l, bool counted, struct err *e)
{
	static const struct rows_column	 ages[] = { { "oldest", ROWS_NUMBER },
	    { "oldest_at", ROWS_TIME }, { "oldest_ms", ROWS_NUMBER } };
	struct db_rows			*rows;
	json_t				*found, *age, *row;
	size_t				 k;

	memset(l->waiting, 0, sizeof(l->waiting));
	memset(l->oldest, 0, sizeof(l->oldest));
	if (count_waiting_rows(l, e) < 0 ||
	    (counted && estimate_rows(l, e) < 0) ||
	    (rows = query_ages(l, e)) == NULL)
		return -1;
	found = rows_json(rows, ages, sizeof(ages) / sizeof(ages[0]));
	for (size_t i = 0; i < l->n; i++) {
		json_int_t	oldest = (json_int_t)l->oldest[i];

		row = json_array_get(l->rows, l->from + i);
		json_object_set_new(row, "waiting", counted ?
		    json_integer((json_int_t)l->waiting[i]) :
		    json_boolean(l->waiting[i] > 0));
		if (counted)
			json_object_set_new(row, "exact",
			    json_boolean(l->exact[i]));
		json_object_set_new(row, "oldest", oldest == 0 ?
		    json_null() : json_integer(oldest));
		json_object_set_new(row, "oldest_at", json_null());
		json_object_set_new(row, "oldest_ms", json_null());
		json_array_foreach(found, k, age)
			if (member_number(age, "oldest") == oldest)
				json_object_update(row, age);
	}
	json_decref(found);
	return 0;
}

/* Put "class" and "obsolete", by the declared counts. */
static void
put_label_counts(const struct ctl *c, const struct counts *k, json_t *list)
{
	unsigned	 class, gcd = counts_gcd(k);
	const char	*label;
	json_t		**first = xcalloc(gcd, sizeof(json_t *)), *row;
	size_t		*n = xcalloc(gcd, sizeof(*n)), i;

	json_array_foreach(list, i, row) {
		label = member_text(row, "partition");
		json_object_set_new(row, "obsolete",
		    json_boolean(state_is_obsolete(label, k)));
		json_object_set_new(row, "class", json_null());
		if ((class = state_class(c, k, label)) == COUNTS_NONE)
			continue;
		if (n[class]++ == 0)
			first[class] = row;
		json_object_set(row, "class", json_object_get(first[class],
		    "partition"));
	}
	for (class = 0; class < gcd; class++)
		if (n[class] == 1)
			json_object_set_new(first[class], "class", json_null());
	free(first);
	free(n);
}

json_t *
state_partitions(struct ctl *c, uint64_t count, struct err *e)
{
	static const struct rows_column	 columns[] = {
	    { "partition", ROWS_BYTES }, { "state", ROWS_TEXT },
	    { "owner", ROWS_TEXT }, { "ttl_ms", ROWS_NUMBER },
	    { "epoch", ROWS_NUMBER }, { "ahead", ROWS_BOOL } };
	struct partition_scan	 l = { .ctl = c };
	struct counts		 k;
	struct db_rows		*rows;
	size_t			 total;

	if (state_counts(c, &k, e) < 0)
		return NULL;
	store_sql(c->store, "SELECT partition_key, "
	    "CASE WHEN lease_owner = '" STORE_PAUSED "' THEN 'paused' "
	    "WHEN lease_owner IS NULL OR lease_until IS NULL THEN 'free' "
	    "WHEN lease_until > NOW(6) THEN 'owned' ELSE 'expired' END, "
	    "lease_owner, TIMESTAMPDIFF(MICROSECOND, NOW(6), lease_until) "
	    "DIV 1000, lease_epoch, COALESCE(lease_owner <> '" STORE_PAUSED "' "
	    "AND lease_until > NOW(6) AND updated_at > " STATE_AHEAD ", 0) "
	    "FROM {partitions} "
	    "ORDER BY CAST(partition_key AS BINARY)");
	if ((rows = store_query(c->store, "partitions", e)) == NULL)
		return NULL;
	l.rows = rows_json(rows, columns, sizeof(columns) / sizeof(columns[0]));
	put_label_counts(c, &k, l.rows);
	total = json_array_size(l.rows);
	l.limit = count > 0 ? 2 + count / (total + 1) :
	    store_index(c->store) != INDEX_NONE ? 1 : NEAR;
	for (; l.from < total; l.from += CHUNK) {
		l.n = total - l.from < CHUNK ? total - l.from : CHUNK;
		if (scan_rows(&l, count > 0, e) < 0) {
			json_decref(l.rows);
			return NULL;
		}
	}
	return l.rows;
}
