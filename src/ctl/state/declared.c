/* declared.c - the declared partition counts and their classes */

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "util/buf.h"
#include "mysql/db.h"
#include "ctl/state/state.h"
#include "util/xalloc.h"

/* Rows that tell whether producers use the declared count. */
#define NEWEST	100
#define ENOUGH	20

int
state_counts(struct ctl *c, struct counts *k, struct err *e)
{
	if (store_read_counts(c->store, k, e) < 0)
		return -1;
	if (k->count == 0)
		k->count = (unsigned)c->conf->outbox.partition_count;
	return 0;
}

unsigned
state_class(const struct ctl *c, const struct counts *k, const char *label)
{
	return k->nformer == 0 || c->conf->outbox.ordering == ORDER_NONE ?
	    COUNTS_NONE : counts_class(k, label);
}

bool
state_is_obsolete(const char *label, const struct counts *k)
{
	char		 expected[STORE_LABEL];
	unsigned long	 n;

	if (label[0] == '\0')
		return false;
	if (label[0] != 'p')
		return true;
	n = strtoul(label + 1, NULL, 10);
	snprintf(expected, sizeof(expected), "p%02lu", n);
	return n >= counts_max(k) || strcmp(expected, label) != 0;
}

json_t *
state_former_json(const struct counts *k)
{
	json_t	*list = json_array();

	for (size_t i = 0; i < k->nformer; i++)
		json_array_append_new(list, json_integer(k->former[i]));
	return list;
}

char *
state_counts_text(const struct counts *k)
{
	struct buf	b = { 0 };

	buf_printf(&b, "%u", k->count);
	for (size_t i = 0; i < k->nformer; i++)
		buf_printf(&b, "%s%u", i == 0 ? ", formerly " : " and ",
		    k->former[i]);
	if (k->nformer > 0)
		buf_printf(&b, ": %u %s of up to %zu labels; until the change "
		    "is finished, at most %u %s can share the work",
		    counts_gcd(k), counts_gcd(k) == 1 ? "class" : "classes",
		    counts_class_size(k), counts_gcd(k),
		    counts_gcd(k) == 1 ? "worker" : "workers");
	return b.data;
}

int
state_former_use(struct ctl *c, struct former_use *u, struct err *e)
{
	struct store	*s = c->store;
	struct db_rows	*rows;

	memset(u, 0, sizeof(*u));
	u->noted = !store_is_pillar(s);
	store_sql(s, "SELECT since, last, COALESCE(GREATEST(0, :quiet - "
	    "TIMESTAMPDIFF(MICROSECOND, GREATEST("
	    "COALESCE(since, last), COALESCE(last, since)), NOW(6)) "
	    "DIV 1000), 0), COALESCE(last > since, last IS NOT NULL) "
	    "FROM (SELECT :times) AS t", SQL_NUMBER("quiet", STATE_QUIET_MS),
	    SQL_EITHER("times", !u->noted,
	    "NULL AS since, NULL AS last",
	    "(SELECT counts_since FROM {settings} WHERE id = 1) AS since, "
	    "(SELECT MAX(former_label_at) FROM {partitions}) AS last"));
	if ((rows = store_query(s, "counts", e)) == NULL)
		return -1;
	if (db_next(rows)) {
		if (db_nullable(rows, 0) != NULL)
			rows_time(u->since, db_text(rows, 0));
		if (db_nullable(rows, 1) != NULL)
			rows_time(u->last, db_text(rows, 1));
		u->wait_ms = (int64_t)db_u64(rows, 2);
		u->is_after = db_u64(rows, 3) != 0;
	}
	db_rows_free(rows);
	return 0;
}

/* List some labels "p<digits>" that no declared count makes. */
static int
list_unknown(struct ctl *c, const struct counts *k, struct buf *to,
    struct err *e)
{
	struct db_rows	*rows;
	unsigned	 n = 0;

	store_sql(c->store, "SELECT partition_key FROM {partitions} "
	    "WHERE partition_key LIKE 'p%' ORDER BY partition_key");
	if ((rows = store_query(c->store, "partitions", e)) == NULL)
		return -1;
	while (db_next(rows) && n < 5)
		if (counts_is_label(db_text(rows, 0)) &&
		    counts_class(k, db_text(rows, 0)) == COUNTS_NONE)
			buf_printf(to, "%s%s", n++ == 0 ? " (labels of no "
			    "declared count: " : ", ", db_text(rows, 0));
	buf_str(to, n > 0 ? ")" : "");
	db_rows_free(rows);
	return 0;
}

/*
 * Is the producer corrected?  So it is if of the newest rows enough were made
 * after the last such message, and all of them have the label of their key.
 */
static int
ask_corrected(struct ctl *c, const struct counts *k, bool *corrected,
    struct err *e)
{
	struct store	*s = c->store;
	struct db_rows	*rows;

	*corrected = false;
	if (k->nformer > 0)
		return 0;
	store_sql(s, "SELECT COUNT(*), COALESCE(SUM(o.label <> :label), 0) "
	    "FROM (SELECT {global_sequence} AS sequence, "
	    "{partition_key} AS label, {created_at} AS made FROM {outbox} "
	    "{primary} ORDER BY {global_sequence} DESC LIMIT :max) AS o "
	    "STRAIGHT_JOIN {events} AS e ON {e.sequence} = o.sequence "
	    "WHERE o.label NOT LIKE '!%' AND o.made > "
	    "(SELECT MAX(former_label_at) FROM {partitions})",
	    SQL_PUT("label", s, store_put_label(s, k, "e",
	    SQL("{e.stream_id}"))),
	    SQL_NUMBER("max", NEWEST));
	if ((rows = store_query(s, "counts", e)) == NULL)
		return -1;
	*corrected = db_next(rows) && db_u64(rows, 0) >= ENOUGH &&
	    db_u64(rows, 1) == 0;
	db_rows_free(rows);
	return 0;
}

int
state_straggler(struct ctl *c, const struct counts *k,
    const struct former_use *u, char **text, struct err *e)
{
	struct buf	unknown = { 0 };
	bool		corrected;
	int		rc = 0;

	*text = NULL;
	if (u->wait_ms == 0 || !u->is_after)
		return 0;
	if (ask_corrected(c, k, &corrected, e) < 0)
		return -1;
	if (corrected)
		return 0;
	rc = list_unknown(c, k, &unknown, e);
	/*
	 * Declared former counts may be used.  If the count was never changed,
	 * the labels may be the application's own.
	 */
	if (rc == 0 && (unknown.len > 0 ||
	    (k->nformer == 0 && u->since[0] != '\0')))
		*text = xasprintf("a producer uses a partition count that is "
		    "not declared: at %s a message was sent under a label that "
		    "its key does not have with %u partitions%s: its keys may "
		    "be out of order", u->last, k->count,
		    unknown.len > 0 ? unknown.data : "");
	buf_free(&unknown);
	return rc;
}
