/* workers.c - workers of all hosts */

#include <stdlib.h>

#include "mysql/db.h"
#include "ctl/state/state.h"

static const struct rows_column columns[] = {
	{ "id", ROWS_TEXT }, { "host", ROWS_TEXT }, { "pid", ROWS_NUMBER },
	{ "started_at", ROWS_TIME }, { "heartbeat_until", ROWS_TIME },
	{ "ttl_ms", ROWS_NUMBER }, { "live", ROWS_BOOL },
	{ "away", ROWS_TEXT }, { "instance", ROWS_TEXT },
	{ "server", ROWS_TEXT },
};

/* Workers of other programs have ids of another form. */
static json_t *
slot_of(const char *id)
{
	return ident_is_valid(id) ? json_integer(ident_slot(id)) : json_null();
}

/* Put the slot of each worker and the number of its live leases. */
static int
add_held(struct ctl *c, json_t *workers, struct err *e)
{
	json_t		*owners, *w, *n;
	struct db_rows	*rows;
	size_t		 i;

	store_sql(c->store, "SELECT lease_owner, COUNT(*) FROM {partitions} "
	    "WHERE lease_until > NOW(6) AND lease_owner IS NOT NULL "
	    "GROUP BY lease_owner");
	if ((rows = store_query(c->store, "workers", e)) == NULL)
		return -1;
	owners = json_object();
	while (db_next(rows))
		member_set(owners, db_text(rows, 0),
		    (json_int_t)db_u64(rows, 1));
	db_rows_free(rows);
	json_array_foreach(workers, i, w) {
		const char *id = member_text(w, "id");

		n = json_object_get(owners, id);
		json_object_set_new(w, "slot", slot_of(id));
		json_object_set_new(w, "partitions",
		    n == NULL ? json_integer(0) : json_incref(n));
	}
	json_decref(owners);
	return 0;
}

json_t *
state_workers(struct ctl *c, struct err *e)
{
	struct db_rows	*rows;

	store_sql(c->store, "SELECT id, hostname, pid, started_at, "
	    "heartbeat_until, TIMESTAMPDIFF(MICROSECOND, NOW(6), "
	    "heartbeat_until) DIV 1000, heartbeat_until > NOW(6), :said "
	    "FROM {workers} ORDER BY CAST(id AS BINARY)",
	    SQL_EITHER("said", store_is_full(c->store),
	    "away, instance, server", "NULL, NULL, NULL"));
	if ((rows = store_query(c->store, "workers", e)) == NULL)
		return NULL;
	return rows_json(rows, columns, sizeof(columns) / sizeof(columns[0]));
}

int
workers_list(struct ctl *c)
{
	static const char *const	 shown[] = { "id", "host", "pid",
	    "slot", "live", "ttl_ms", "partitions", "away", "server",
	    "instance", "started_at", NULL };
	struct err			 e;
	json_t				*workers = state_workers(c, &e);

	if (workers == NULL || add_held(c, workers, &e) < 0) {
		json_decref(workers);
		return ctl_fail(c, &e);
	}
	print_list(c, shown, workers);
	return CTL_DONE;
}
