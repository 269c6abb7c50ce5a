/*
 * finish_check.c - see finish.h
 *
 * Rows are read by label and sequence, up to PIECE in a statement.  If the
 * present count does not make a label, all of its rows are in the way; for the
 * other labels the key of each row is checked.
 */

#include "ctl/partitions/finish.h"

#include <stdio.h>
#include <stdlib.h>

#include "mysql/db.h"
#include "ctl/messages/keys.h"
#include "ctl/state/state.h"

#define PIECE		10000	/* rows or records in one statement */
#define LISTED		40	/* keys listed at most */

#define RECORD_KEY	STORE_KEY_OF("{e.stream_id}", "b.order_key")

static const struct rows_column row_columns[] = {
	{ "partition", ROWS_BYTES }, { "key", ROWS_BYTES },
	{ "rows", ROWS_NUMBER },
};

static const struct rows_column record_columns[] = {
	{ "partition", ROWS_BYTES }, { "key", ROWS_BYTES },
	{ "record", ROWS_NUMBER }, { "reason", ROWS_TEXT },
};

struct finish_check {
	struct ctl		*c;
	struct finish_ways	*ways;
	struct progress		 bar;
	uint64_t		 scanned;
};

/* Add the rows to the entry of the same label and key, if there is one. */
static bool
add_to(json_t *list, const json_t *way)
{
	json_t	*o, *rows = json_object_get(way, "rows");
	size_t	 i;

	json_array_foreach(list, i, o) {
		if (rows == NULL || json_object_get(o, "rows") == NULL ||
		    !json_equal(json_object_get(o, "key"),
		    json_object_get(way, "key")) ||
		    !json_equal(json_object_get(o, "partition"),
		    json_object_get(way, "partition")))
			continue;
		member_add(o, "rows", json_integer_value(rows));
		return true;
	}
	return false;
}

/* Send the prepared SELECT, and add its rows to the list. */
static int
take_ways(struct finish_check *l, const struct rows_column *columns, size_t n,
    struct err *e)
{
	json_t		*list = l->ways->list, *found, *way;
	struct db_rows	*rows;
	size_t		 i;

	if ((rows = store_query(l->c->store, "finish", e)) == NULL)
		return -1;
	found = rows_json(rows, columns, n);
	json_array_foreach(found, i, way)
		if (add_to(list, way))
			continue;
		else if (json_array_size(list) < LISTED)
			json_array_append(list, way);
		else
			l->ways->more = true;
	json_decref(found);
	return 0;
}

/*
 * Send the prepared SELECT of the last row of a piece: *end is its sequence, or
 * UINT64_MAX if there are fewer rows.
 */
static int
find_end(struct finish_check *l, uint64_t *end, struct err *e)
{
	struct db_rows	*rows;

	if ((rows = store_query(l->c->store, "finish", e)) == NULL)
		return -1;
	*end = db_next(rows) ? db_u64(rows, 0) : UINT64_MAX;
	db_rows_free(rows);
	l->scanned += PIECE;
	progress_show(&l->bar, l->scanned, 0);
	return 0;
}

static int
check_blocked(struct finish_check *l, struct err *e)
{
	struct store		*s = l->c->store;
	const struct counts	*k = &l->ways->counts;
	uint64_t		 after = 0, end = 0;

	json_array_clear(l->ways->list);
	if (store_is_pillar(s))
		return 0;
	for (; end != UINT64_MAX && !l->ways->more; after = end) {
		store_sql(s, "SELECT first_sequence FROM {blocked} "
		    "WHERE first_sequence > :after "
		    "ORDER BY first_sequence LIMIT :skip, 1",
		    SQL_NUMBER("after", after), SQL_NUMBER("skip", PIECE - 1));
		if (find_end(l, &end, e) < 0)
			return -1;
		store_sql(s, "SELECT b.partition_key, " RECORD_KEY
		    ", b.first_sequence, b.reason FROM {blocked} AS b "
		    "LEFT JOIN {events} AS e "
		    "ON {e.sequence} = b.first_sequence "
		    "WHERE b.first_sequence > :after "
		    "AND b.first_sequence <= :end AND :is_counted "
		    "AND :label <> b.partition_key:one LIMIT :max",
		    SQL_NUMBER("after", after), SQL_NUMBER("end", end),
		    SQL_PUT("is_counted", s,
		    store_put_is_counted(s, k, SQL("b.partition_key"))),
		    SQL_PUT("label", s,
		    store_put_label(s, k, "e", SQL(RECORD_KEY))),
		    /* A count of 1 makes the label '', too. */
		    SQL_IF("one", k->count == 1, " AND b.partition_key <> ''"),
		    SQL_NUMBER("max", LISTED + 1));
		if (take_ways(l, record_columns, 4, e) < 0)
			return -1;
	}
	return keys_add_parked(l->c, l->ways->list, e);
}

#define OF_LABEL " WHERE {o.published_at} IS NULL " \
		 "AND {o.partition_key} :is AND {o.global_sequence} > :after"

/*
 * Waiting rows of this label (NULL: SQL NULL) are in the way, but for those
 * whose key has the label right today; "": no key has it.
 */
static int
check_label(struct finish_check *l, const char *label, const char *right,
    struct err *e)
{
	struct store	*s = l->c->store;
	uint64_t	 after = 0, end = 0;

	for (; end != UINT64_MAX && !l->ways->more; after = end) {
		store_sql(s, "SELECT {o.global_sequence} "
		    "FROM {outbox} AS o {index}" OF_LABEL
		    " ORDER BY {o.global_sequence} LIMIT :skip, 1",
		    SQL_EITHER("is", label == NULL, "IS NULL", "= :label"),
		    SQL_TEXT("label", label), SQL_NUMBER("after", after),
		    SQL_NUMBER("skip", PIECE - 1));
		if (find_end(l, &end, e) < 0)
			return -1;
		store_sql(s, "SELECT :shown, " STORE_BYTES("{e.stream_id}")
		    ", COUNT(*) FROM {outbox} AS o {index} STRAIGHT_JOIN "
		    "{events} AS e {events_primary} "
		    "ON {e.sequence} = {o.global_sequence}" OF_LABEL
		    " AND {o.global_sequence} <= :end:wrong "
		    "GROUP BY 2 LIMIT :max",
		    SQL_TEXT("shown", label == NULL ? "" : label),
		    SQL_EITHER("is", label == NULL, "IS NULL", "= :label"),
		    SQL_TEXT("label", label), SQL_NUMBER("after", after),
		    SQL_NUMBER("end", end),
		    SQL_IF("wrong", right[0] != '\0', " AND :made <> :right"),
		    SQL_PUT("made", s, store_put_label(s, &l->ways->counts,
		    "e", SQL("{e.stream_id}"))), SQL_TEXT("right", right),
		    SQL_NUMBER("max", LISTED + 1));
		if (take_ways(l, row_columns, 3, e) < 0)
			return -1;
	}
	return 0;
}

static int
check_labels(struct finish_check *l, struct err *e)
{
	json_t		*leases = state_partitions(l->c, 0, e), *p;
	unsigned long	 number;
	size_t		 i;
	int		 rc = leases == NULL ? -1 : 0;

	json_array_foreach(leases, i, p) {
		const char	*label = member_text(p, "partition");
		char		 right[16] = "";

		if (rc < 0 || !counts_is_label(label) ||
		    !member_true(p, "waiting"))
			continue;
		number = strtoul(label + 1, NULL, 10);
		if (number < l->ways->counts.count)
			snprintf(right, sizeof(right), "p%02lu", number);
		rc = check_label(l, label, right, e);
	}
	json_decref(leases);
	return rc;
}

int
finish_check_blocked(struct ctl *c, struct finish_ways *ways, struct err *e)
{
	struct finish_check	l = { .c = c, .ways = ways };

	return check_blocked(&l, e);
}

int
finish_check(struct ctl *c, struct finish_ways *ways, struct err *e)
{
	struct finish_check	l = { .c = c, .ways = ways,
				    .bar.what = "rows read" };
	int			rc = check_blocked(&l, e);

	/* Rows without a label, if a count of 1 is a former one. */
	if (rc == 0 && ways->counts.count != 1 && counts_have(&ways->counts, 1))
		rc = check_label(&l, NULL, "", e) < 0 ? -1 :
		    check_label(&l, "", "", e);
	if (rc == 0)
		rc = check_labels(&l, e);
	progress_end(&l.bar);
	return rc;
}
