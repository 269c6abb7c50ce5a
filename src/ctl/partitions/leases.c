/* leases.c - see leases.h */

#include "ctl/partitions/leases.h"

#include <string.h>

#include "mysql/db.h"
#include "ctl/base/filter.h"
#include "util/printable.h"
#include "ctl/state/state.h"

int
leases_blocked(struct ctl *c, const char *label, uint64_t *n, struct err *e)
{
	*n = 0;
	if (store_is_pillar(c->store))
		return 0;
	store_sql(c->store, "SELECT COUNT(*) FROM {blocked} "
	    "WHERE partition_key IN (:label)",
	    SQL_PUT("label", c->store, filter_put_label(c->store, label)));
	return store_query_number(c->store, "partitions", n, e);
}

/* The label is given as it is printed; labels of leases contain no NUL. */
static void
put_rows_of(struct store *s, const char *label)
{
	struct buf	 bytes = { 0 };
	const char	*labels[2] = { label, NULL };
	size_t		 n = 1;

	if (printable_parse_hex(&bytes, label)) {
		buf_add(&bytes, "", 1);
		labels[n++] = bytes.data;
	}
	store_put_rows_of(s, labels, n);
	buf_free(&bytes);
}

/*
 * Leave the labels that have neither rows nor blocked keys.  Their leases are
 * locked: no worker can claim under them or write records.
 */
static int
keep_unneeded(struct ctl *c, json_t *labels, struct err *e)
{
	uint64_t	blocked;
	bool		rows;

	for (size_t i = json_array_size(labels); i-- > 0; ) {
		const char *label = json_string_value(json_array_get(labels,
		    i));

		store_sql(c->store, "SELECT 1:rows LIMIT 1",
		    SQL_PUT("rows", c->store, put_rows_of(c->store, label)));
		if (store_query_any(c->store, "prune", &rows, e) < 0 ||
		    leases_blocked(c, label, &blocked, e) < 0)
			return -1;
		if (rows || blocked > 0)
			json_array_remove(labels, i);
	}
	return 0;
}

int
leases_remove_under(struct ctl *c, const struct counts *k, json_t *labels,
    struct err *e)
{
	struct db_rows	*rows;

	for (size_t i = json_array_size(labels); i-- > 0; )
		if (!state_is_obsolete(json_string_value(json_array_get(labels,
		    i)), k))
			json_array_remove(labels, i);
	if (json_array_size(labels) == 0)
		return 0;
	store_sql(c->store, "SELECT partition_key FROM {partitions} "
	    "WHERE COALESCE(lease_owner, '') <> '" STORE_PAUSED "' "
	    "AND partition_key IN (:labels) FOR UPDATE",
	    SQL_PUT("labels", c->store, filter_put_labels(c->store, labels)));
	if ((rows = store_query(c->store, "prune", e)) == NULL)
		return -1;
	json_array_clear(labels);
	while (db_next(rows))
		json_array_append_new(labels, bytes_json(db_text(rows, 0),
		    db_length(rows, 0)));
	db_rows_free(rows);
	if (keep_unneeded(c, labels, e) < 0)
		return -1;
	if (json_array_size(labels) == 0)
		return 0;
	store_sql(c->store, "DELETE FROM {partitions} "
	    "WHERE partition_key IN (:labels)",
	    SQL_PUT("labels", c->store, filter_put_labels(c->store, labels)));
	return store_exec(c->store, "prune", NULL, e);
}

static int
remove_leases(struct ctl *c, void *arg, struct err *e)
{
	json_t		*labels = arg;
	struct counts	 k;

	if (store_lock_counts(c->store, &k, e) < 0 ||
	    leases_remove_under(c, &k, labels, e) < 0)
		return -1;
	return json_array_size(labels) == 0 ? 0 :
	    audit_note(c, json_array_size(labels), e);
}

int
leases_remove(struct ctl *c, json_t *labels, struct err *e)
{
	if (json_array_size(labels) == 0)
		return 0;
	if (store_hurry(c->store, true, e) < 0)
		return -1;
	return ctl_transaction(c, remove_leases, labels, e);
}

bool
leases_is_empty(const json_t *o)
{
	return member_number(o, "waiting") == 0 &&
	    member_number(o, "blocked") == 0 &&
	    strcmp(member_text(o, "state"), STORE_PAUSED) != 0;
}
