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
	if (!store_has(c->store, T_BLOCKED))
		return 0;
	store_sql(c->store, "SELECT COUNT(*) FROM {blocked} "
	    "WHERE partition_key");
	filter_put_in_label(c->store, label);
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

static int
is_needed(struct ctl *c, const char *label, bool *needed, struct err *e)
{
	struct db_rows	*rows;
	uint64_t	 blocked;

	store_sql(c->store, "SELECT 1");
	put_rows_of(c->store, label);
	store_put(c->store, " LIMIT 1");
	if ((rows = store_query(c->store, "prune", e)) == NULL)
		return -1;
	*needed = db_nrows(rows) > 0;
	db_rows_free(rows);
	if (leases_blocked(c, label, &blocked, e) < 0)
		return -1;
	*needed = *needed || blocked > 0;
	return 0;
}

/* The leases are locked: no worker can claim under them or write records. */
static int
keep_needed(struct ctl *c, json_t *labels, struct err *e)
{
	bool	needed;

	for (size_t i = json_array_size(labels); i-- > 0; ) {
		if (is_needed(c, json_string_value(json_array_get(labels, i)),
		    &needed, e) < 0)
			return -1;
		if (needed)
			json_array_remove(labels, i);
	}
	return 0;
}

static int
lock_listed_leases(struct ctl *c, json_t *labels, struct err *e)
{
	struct db_rows	*rows;

	store_sql(c->store, "SELECT partition_key FROM {partitions} "
	    "WHERE COALESCE(lease_owner, '') <> '" STORE_PAUSED "' "
	    "AND partition_key");
	filter_put_in_labels(c->store, labels);
	store_put(c->store, " FOR UPDATE");
	if ((rows = store_query(c->store, "prune", e)) == NULL)
		return -1;
	json_array_clear(labels);
	while (db_next(rows))
		json_array_append_new(labels, bytes_json(db_text(rows, 0),
		    db_length(rows, 0)));
	db_rows_free(rows);
	return 0;
}

/* Keep the leases that a declared count makes. */
static void
keep_declared(json_t *labels, const struct counts *k)
{
	for (size_t i = json_array_size(labels); i-- > 0; )
		if (!state_is_obsolete(json_string_value(json_array_get(labels,
		    i)), k))
			json_array_remove(labels, i);
}

int
leases_remove_under(struct ctl *c, const struct counts *k, json_t *labels,
    struct err *e)
{
	keep_declared(labels, k);
	if (json_array_size(labels) == 0)
		return 0;
	if (lock_listed_leases(c, labels, e) < 0 ||
	    keep_needed(c, labels, e) < 0)
		return -1;
	if (json_array_size(labels) == 0)
		return 0;
	store_sql(c->store, "DELETE FROM {partitions} WHERE partition_key");
	filter_put_in_labels(c->store, labels);
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
