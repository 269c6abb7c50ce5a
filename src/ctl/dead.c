/* dead.c - dead letters */

#include "ctl.h"

static const struct rows_column columns[] = {
	{ "sequence", ROWS_NUMBER }, { "partition", ROWS_TEXT },
	{ "key", ROWS_TEXT }, { "type", ROWS_TEXT },
	{ "attempts", ROWS_NUMBER }, { "reason", ROWS_TEXT },
	{ "error", ROWS_TEXT }, { "created_at", ROWS_TIME },
	{ "died_at", ROWS_TIME },
};

int
dead_list(struct ctl *c)
{
	static const char *const	 shown[] = { "sequence", "key",
	    "type", "attempts", "reason", "died_at", "error", NULL };
	struct db_rows			*rows;
	struct err			 e;

	store_sql(c->store, "SELECT global_sequence, partition_key, order_key, "
	    "event_type, attempts, reason, last_error, created_at, died_at "
	    "FROM {dead} WHERE global_sequence > ");
	store_putf(c->store, "%llu ORDER BY global_sequence LIMIT %lld",
	    (unsigned long long)c->args.after, (long long)c->args.limit);
	if ((rows = store_query(c->store, "dead list", &e)) == NULL)
		return ctl_fail(c, &e);
	print_rows(c, shown, rows_json(rows, columns,
	    sizeof(columns) / sizeof(columns[0])));
	return CTL_DONE;
}
