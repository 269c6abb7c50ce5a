/* keys.c - blocked and halted keys; see keys.h */

#include <stdlib.h>

#include "mysql/db.h"
#include "ctl/base/filter.h"
#include "ctl/messages/keys.h"
#include "ctl/base/bulk_update.h"
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

static void
put_blocked_filter(struct store *s, const struct args *a)
{
	bool	dead = store_has(s, T_DEAD);

	store_sql(s, "SELECT b.first_sequence, " STORE_KEY_OF("{k.stream_id}",
	    "b.order_key") ", b.partition_key, "
	    "b.reason, b.head_sequence, b.since, GREATEST(0, "
	    "TIMESTAMPDIFF(SECOND, b.since, NOW(6))), ");
	store_put(s, dead ? "d.global_sequence IS NOT NULL, "
	    "COALESCE(d.last_error, {o.last_error})" : "0, {o.last_error}");
	store_put(s, " FROM {blocked} AS b LEFT JOIN {outbox} AS o "
	    "ON {o.global_sequence} = b.head_sequence "
	    "LEFT JOIN {events} AS k ON {k.sequence} = b.first_sequence");
	if (dead)
		store_put(s, " LEFT JOIN {dead} AS d "
		    "ON d.global_sequence = b.head_sequence");
	store_putf(s, " WHERE b.first_sequence > %llu "
	    "ORDER BY b.first_sequence LIMIT %lld",
	    (unsigned long long)a->after, (long long)a->limit);
}

static void
put_count(struct store *s, const json_t *row, size_t i, bool first)
{
	store_putf(s, "%s(SELECT %zu, COUNT(*) FROM (SELECT 1 FROM ",
	    first ? "" : " UNION ALL ", i);
	store_put(s, "{outbox} {index} WHERE {published_at} IS NULL AND "
	    "{partition_key} = ");
	store_putf(s, "'!%lld' LIMIT %d) AS t)",
	    member_number(row, "record"), COUNT_MAX);
}

int
keys_add_parked(struct ctl *c, json_t *list, struct err *e)
{
	size_t	n = json_array_size(list);

	if (store_index(c->store) == INDEX_NONE)
		return 0;	/* no parking then */
	for (size_t i = 0; i < n; ) {
		struct db_rows *rows;

		store_sql(c->store, "");
		for (size_t k = 0; k < STORE_RANGES && i < n; k++, i++)
			put_count(c->store, json_array_get(list, i), i, k == 0);
		if ((rows = store_query(c->store, "parked", e)) == NULL)
			return -1;
		while (db_next(rows))
			json_object_set_new(json_array_get(list,
			    db_u64(rows, 0)), "parked",
			    json_integer((json_int_t)db_u64(rows, 1)));
		db_rows_free(rows);
	}
	return 0;
}

/* For people: a count that ended at its limit as "1,000+". */
static void
put_words(json_t *list)
{
	char	 number[DISPLAY_SIZE];
	json_t	*row;
	size_t	 i;

	json_array_foreach(list, i, row)
		if (member_number(row, "parked") >= COUNT_MAX)
			json_object_set_new(row, "parked", json_sprintf("%s+",
			    display_number(number, COUNT_MAX)));
}

int
keys_blocked(struct ctl *c)
{
	struct db_rows	*rows;
	struct err	 e;
	json_t		*list;

	if (!store_has(c->store, T_BLOCKED))
		return ctl_no_table(c, T_BLOCKED);
	put_blocked_filter(c->store, &c->args);
	if ((rows = store_query(c->store, "keys blocked", &e)) == NULL)
		return ctl_fail(c, &e);
	list = rows_json(rows, columns, sizeof(columns) / sizeof(columns[0]));
	if (keys_add_parked(c, list, &e) < 0) {
		json_decref(list);
		return ctl_fail(c, &e);
	}
	if (!c->args.json)
		put_words(list);
	print_list(c, shown, list);
	return CTL_DONE;
}

/* Release */

/* Find the records that halt a key. */
static int
find_halts(struct ctl *c, const char *key, uint64_t **list, size_t *n,
    struct err *e)
{
	store_sql(c->store, "SELECT b.first_sequence FROM {blocked} AS b "
	    "LEFT JOIN {events} AS k ON {k.sequence} = b.first_sequence "
	    "WHERE b.reason = '" STORE_HALTED "' AND");
	filter_put_key(c->store, STORE_KEY_OF("{k.stream_id}", "b.order_key"),
	    key);
	return bulk_update_select(c, list, n, e);
}

static int
release_halts(struct ctl *c, const uint64_t *list, size_t n, uint64_t *changed,
    struct err *e)
{
	if (bulk_update_release(c, list, n, changed, e) < 0)
		return -1;
	store_sql(c->store, "SELECT DISTINCT partition_key FROM {blocked} "
	    "WHERE first_sequence");
	filter_put_rows(c->store, list, n);
	return store_bump_selected(c->store, "bump", e);
}

static const struct bulk_change release = { NULL, release_halts };

/* Release a key; *released counts the keys that were halted. */
static int
release_key(struct ctl *c, const char *key, uint64_t *released, struct err *e)
{
	uint64_t	*list, changed;
	size_t		 n;
	int		 rc = 0;

	if (find_halts(c, key, &list, &n, e) < 0)
		return -1;
	if (n == 0)
		ctl_error("%s: this key is not halted", key);
	else
		++*released;
	if (n > 0 && !c->args.dry_run)
		rc = bulk_update(c, list, n, &release, &changed, e);
	free(list);
	return rc;
}

int
keys_release(struct ctl *c)
{
	uint64_t	released = 0;
	struct err	e;

	if (!store_has(c->store, T_BLOCKED))
		return ctl_no_table(c, T_BLOCKED);
	if (!ctl_confirm(c, (uint64_t)c->args.nrest, "key", "released"))
		return CTL_FAILED;
	for (int i = 0; i < c->args.nrest; i++)
		if (release_key(c, c->args.rest[i], &released, &e) < 0)
			return ctl_fail(c, &e);
	print_changed(c, released, "key", "released");
	return released == (uint64_t)c->args.nrest ? CTL_DONE : CTL_FAILED;
}
