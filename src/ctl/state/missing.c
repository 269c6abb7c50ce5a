/* missing.c - tables of ours that are gone */

#include "ctl/state/state_impl.h"
#include "store/store_sql.h"

/* Those that the daemon can do without, at a cost that its log tells. */
static const enum store_table	dispensable[] = { T_DEAD, T_BLOCKED,
				    T_STREAMS };
#define NDISPENSABLE	(sizeof(dispensable) / sizeof(dispensable[0]))

static json_t *
missing_json(const struct store *s)
{
	json_t	*list = json_array();

	for (size_t i = 0; i < NDISPENSABLE; i++)
		if (!store_has(s, dispensable[i]))
			json_array_append_new(list, json_pack("{s:s, s:s}",
			    "table", store_table_name(s, dispensable[i]),
			    "cost", store_cost_of_table(dispensable[i])));
	return list;
}

/*
 * Without the settings nobody has loaded our schema: an application may have
 * made the tables that it wants.
 */
int
state_put_missing(struct ctl *c, json_t *state, struct err *e)
{
	json_t	*list = store_has(c->store, T_SETTINGS) ?
		    missing_json(c->store) : json_array();

	/* One that is there again is seen at once. */
	if (json_array_size(list) > 0) {
		json_decref(list);
		if (store_learn(c->store, e) < 0)
			return -1;
		list = missing_json(c->store);
	}
	return json_object_set_new(state, "missing", list);
}
