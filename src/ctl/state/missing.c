/* missing.c - tables of ours that are gone */

#include "ctl/state/state_impl.h"
#include "mysql/db.h"
#include "store/store_sql.h"

/* Those that the daemon can do without, at a cost that its log tells. */
static const enum store_table	dispensable[] = { T_DEAD, T_BLOCKED,
				    T_STREAMS };
#define NDISPENSABLE	(sizeof(dispensable) / sizeof(dispensable[0]))

static void
put_table(const struct store *s, enum store_table t, json_t *list)
{
	if (!store_has(s, t))
		json_array_append_new(list, json_pack("{s:s, s:s}", "table",
		    store_table_name(s, t), "cost", store_cost_of_table(t)));
}

static json_t *
missing_json(const struct store *s)
{
	json_t	*list = json_array();

	put_table(s, T_SETTINGS, list);
	for (size_t i = 0; i < NDISPENSABLE; i++)
		put_table(s, dispensable[i], list);
	return list;
}

/*
 * Has somebody loaded our schema?  Without it an application may have made the
 * tables that it wants.  The registry knows of settings that are gone.
 */
static int
had_settings(struct ctl *c, bool *had, struct err *e)
{
	struct store	*s = c->store;
	uint64_t	 n = 0;

	*had = store_has(s, T_SETTINGS);
	if (*had || !store_has(s, T_REGISTRY))
		return 0;
	store_sql(s, "SELECT COUNT(*) FROM {registry} WHERE name = ");
	store_put_text(s, store_table_name(s, T_OUTBOX));
	store_put(s, " AND settings = ");
	store_put_text(s, store_table_name(s, T_SETTINGS));
	if (store_query_number(s, "registry", &n, e) < 0)
		return -1;
	*had = n > 0;
	return 0;
}

int
state_put_missing(struct ctl *c, json_t *state, struct err *e)
{
	json_t	*list;
	bool	 had;

	if (had_settings(c, &had, e) < 0)
		return -1;
	list = had ? missing_json(c->store) : json_array();

	/* One that is there again is seen at once. */
	if (json_array_size(list) > 0) {
		json_decref(list);
		if (store_learn(c->store, e) < 0)
			return -1;
		list = missing_json(c->store);
	}
	return json_object_set_new(state, "missing", list);
}
