/* outboxes.c - this outbox, and others over the same events */

#include "ctl/state/state_impl.h"

#include "mysql/db.h"
#include "store/reconcile.h"

/* The newest events of this outbox's types that have no row in it. */
static int
put_unfilled(struct ctl *c, json_t *outbox, struct err *e)
{
	struct reconcile	w = { .store = c->store,
				    .types = &c->conf->publish.types };
	uint64_t		first = 0;
	int			rc = reconcile_begin(&w, e);

	if (rc == 0 && w.watermark.known)
		rc = reconcile_search_newest(&w, RECONCILE_LIMIT, e);
	for (size_t i = 0; i < w.n; i++)
		if (first == 0 || w.list[i] < first)
			first = w.list[i];
	if (rc == 0) {
		member_set(outbox, "unfilled", (json_int_t)w.n);
		json_object_set_new(outbox, "unfilled_first", first == 0 ?
		    json_null() : json_integer((json_int_t)first));
	}
	reconcile_free(&w);
	return rc;
}

int
state_put_outboxes(struct ctl *c, json_t *state, struct err *e)
{
	static const struct rows_column	 columns[] = {
	    { "name", ROWS_TEXT }, { "destination", ROWS_TEXT } };
	const char	*name = store_table_name(c->store, T_OUTBOX);
	const char	*events = store_table_name(c->store, T_EVENTS);
	char		 destination[CONF_DESTINATION];
	char		 unregistered[DB_NAME_SIZE];
	struct db_rows	*rows;
	json_t		*outbox, *others;
	uint64_t	 n;

	outbox = json_pack("{s:s, s:s, s:s, s:[], s:n, s:n, s:n, s:n}",
	    "name", name, "events", events,
	    "destination", conf_destination(c->conf, destination),
	    "others", "registered", "unfilled", "unfilled_first", "gone");
	json_object_set_new(state, "outbox", outbox);
	if (store_is_inline(c->store) || store_is_pillar(c->store))
		return 0;

	store_sql(c->store, "SELECT name, destination FROM {registry} "
	    "WHERE source = :events AND name <> :outbox "
	    "ORDER BY name LIMIT 100",
	    SQL_TEXT("events", events), SQL_TEXT("outbox", name));
	if ((rows = store_query(c->store, "registry", e)) == NULL)
		return -1;
	others = rows_json(rows, columns, 2);
	json_object_set_new(outbox, "others", others);
	if (json_array_size(others) == 0) {
		if (store_unregistered(c->store, unregistered, e) < 0)
			return -1;
		return unregistered[0] == '\0' ? 0 :
		    put_unfilled(c, outbox, e);
	}

	/* Does outbox_enqueue know of it?  The flag is in its settings. */
	store_sql(c->store, "SELECT COUNT(*) FROM {settings} JOIN {registry} "
	    "WHERE id = 1 AND fan_out = 1 AND name = :outbox",
	    SQL_TEXT("outbox", name));
	if (store_query_number(c->store, "registry", &n, e) < 0)
		return -1;
	json_object_set_new(outbox, "registered", json_boolean(n > 0));
	return put_unfilled(c, outbox, e);
}
