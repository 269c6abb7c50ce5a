/* keys.c - blocked and halted keys; see keys.h */

#include "ctl/messages/keys.h"

#include "ctl/base/change.h"
#include "ctl/base/filter.h"
#include "mysql/db.h"
#include "util/display.h"

/* Limit for counting the parked rows of a key. */
#define COUNT_MAX	1000

static const struct rows_column columns[] = {
	{ "record", ROWS_NUMBER }, { "key", ROWS_BYTES },
	{ "partition", ROWS_BYTES }, { "reason", ROWS_TEXT },
	{ "head", ROWS_NUMBER }, { "since", ROWS_TIME },
	{ "age_s", ROWS_NUMBER }, { "dead", ROWS_BOOL },
	{ "error", ROWS_TEXT },
};

static const char *const shown[] = { "key", "reason", "head", "age_s",
	"parked", "dead", "error", NULL };

int
keys_add_parked(struct ctl *c, json_t *list, struct err *e)
{
	struct store	*s = c->store;
	size_t		 n = json_array_size(list);
	struct db_rows	*rows;

	if (store_index(s) == INDEX_NONE)
		return 0;	/* no parking then */
	for (size_t i = 0; i < n; ) {
		store_sql(s, "");
		for (size_t k = 0; k < STORE_RANGES && i < n; k++, i++)
			store_put(s, ":union(SELECT :i, COUNT(*) FROM "
			    "(SELECT 1 FROM {outbox} {index} WHERE "
			    "{published_at} IS NULL AND {partition_key} = "
			    "'!:record' LIMIT :max) AS t)",
			    SQL_IF("union", k > 0, " UNION ALL "),
			    SQL_NUMBER("i", i), SQL_NUMBER("record",
			    (uint64_t)member_number(json_array_get(list, i),
			    "record")), SQL_NUMBER("max", COUNT_MAX));
		if ((rows = store_query(s, "parked", e)) == NULL)
			return -1;
		while (db_next(rows))
			member_set(json_array_get(list, db_u64(rows, 0)),
			    "parked", (json_int_t)db_u64(rows, 1));
		db_rows_free(rows);
	}
	return 0;
}

int
keys_blocked(struct ctl *c)
{
	struct store	*s = c->store;
	struct err	 e;
	struct db_rows	*rows;
	json_t		*list = NULL, *row;
	char		 number[DISPLAY_SIZE];
	size_t		 i;

	store_sql(s, "SELECT b.first_sequence, " STORE_KEY_OF("{k.stream_id}",
	    "b.order_key") ", b.partition_key, b.reason, b.head_sequence, "
	    "b.since, GREATEST(0, TIMESTAMPDIFF(SECOND, b.since, NOW(6))), "
	    "d.global_sequence IS NOT NULL, "
	    "COALESCE(d.last_error, {o.last_error}) "
	    "FROM {blocked} AS b LEFT JOIN {outbox} AS o "
	    "ON {o.global_sequence} = b.head_sequence "
	    "LEFT JOIN {events} AS k ON {k.sequence} = b.first_sequence "
	    "LEFT JOIN {dead} AS d ON d.global_sequence = b.head_sequence "
	    "WHERE b.first_sequence > :after "
	    "ORDER BY b.first_sequence LIMIT :max",
	    SQL_NUMBER("after", c->args.after),
	    SQL_NUMBER("max", (uint64_t)c->args.limit));
	if ((rows = store_query(s, "keys blocked", &e)) != NULL)
		list = rows_json(rows, columns,
		    sizeof(columns) / sizeof(columns[0]));
	if (list == NULL || keys_add_parked(c, list, &e) < 0) {
		json_decref(list);
		return ctl_fail(c, &e);
	}
	/* For people: a count that ended at its limit as "1,000+". */
	json_array_foreach(list, i, row)
		if (!c->args.json && member_number(row, "parked") >= COUNT_MAX)
			json_object_set_new(row, "parked", json_sprintf("%s+",
			    display_number(number, COUNT_MAX)));
	print_list(c, shown, list);
	return CTL_DONE;
}

/* Release */

/* The records that halt a key. */
static void
select_halts(struct ctl *c, const char *key)
{
	store_sql(c->store, "SELECT b.first_sequence FROM {blocked} AS b "
	    "LEFT JOIN {events} AS k ON {k.sequence} = b.first_sequence "
	    "WHERE b.reason = '" STORE_HALTED "' AND:key",
	    SQL_PUT("key", c->store, filter_put_key(c->store,
	    SQL(STORE_KEY_OF("{k.stream_id}", "b.order_key")), key)));
}

static bool
put_halt_epochs(struct ctl *c, const uint64_t *list, size_t n)
{
	store_sql(c->store, "SELECT DISTINCT partition_key FROM {blocked} "
	    "WHERE first_sequence IN (:rows)", SQL_LIST("rows", list, n));
	return true;
}

int
keys_release_halted(struct ctl *c, const uint64_t *list, size_t n,
    uint64_t *changed, struct err *e)
{
	store_sql(c->store, "UPDATE {blocked} SET reason = 'released' WHERE "
	    "reason = '" STORE_HALTED "' AND first_sequence IN (:rows)",
	    SQL_LIST("rows", list, n));
	return store_exec(c->store, "release", changed, e);
}

static int
release(struct chosen *r, const uint64_t *list, size_t n, uint64_t *changed,
    struct err *e)
{
	return keys_release_halted(r->c, list, n, changed, e);
}

/* A key may have several records. */
static int
report_released(struct chosen *r)
{
	print_changed(r->c, r->nkeys - r->missing, "key", r->done);
	return change_status(r);
}

const struct change keys_release = {
	.thing = "key", .done = "released",
	.select_key = select_halts, .missing = "this key is not halted",
	.epochs = put_halt_epochs, .change = release,
	.report = report_released,
};
