/* dead_list.c - dead list, and the details of one dead letter */

#include "ctl/messages/dead.h"

#include "ctl/base/filter.h"
#include "ctl/base/listing.h"
#include "mysql/db.h"
#include "store/watermark.h"

static const struct rows_column columns[] = {
	{ "sequence", ROWS_NUMBER }, { "partition", ROWS_BYTES },
	{ "key", ROWS_BYTES }, { "type", ROWS_BYTES },
	{ "attempts", ROWS_NUMBER }, { "reason", ROWS_TEXT },
	{ "error", ROWS_TEXT }, { "created_at", ROWS_TIME },
	{ "died_at", ROWS_TIME },
};

#define NCOLUMNS	(sizeof(columns) / sizeof(columns[0]))

static const char *const shown[] = { "sequence", "key", "type", "attempts",
	"reason", "died_at", "error", NULL };

static void
select_letters(struct ctl *c)
{
	store_sql(c->store, "SELECT d.global_sequence, d.partition_key, "
	    DEAD_KEY ", d.event_type, d.attempts, d.reason, d.last_error, "
	    "d.created_at, d.died_at " DEAD_ROWS
	    "WHERE d.reason NOT IN " DEAD_MARKS " AND d.global_sequence IN (");
}

void
dead_put_filter(struct ctl *c)
{
	static const struct filter	f = { .key = DEAD_KEY,
	    .type = "d.event_type", .partition =
	    "COALESCE(d.partition_key, '')", .time = "d.died_at" };

	filter_put(c, &f);
}

int
dead_list(struct ctl *c)
{
	static const struct listing	l = { columns, NCOLUMNS, shown,
	    select_letters, dead_put_filter };
	struct err			e;

	if (!store_has(c->store, T_DEAD))
		return ctl_no_table(c, T_DEAD);
	return listing_print(c, cursor_new(c, CURSOR_DEAD, &e), &l, &e);
}

int
dead_add(struct ctl *c, uint64_t sequence, json_t **o, struct err *e)
{
	struct db_rows	*rows;
	json_t		*list, *letter;

	if (!store_has(c->store, T_DEAD))
		return 0;
	select_letters(c);
	store_put_list(c->store, &sequence, 1);
	store_put(c->store, ")");
	if ((rows = store_query(c->store, "show", e)) == NULL)
		return -1;
	list = rows_json(rows, columns, NCOLUMNS);
	if ((letter = json_array_get(list, 0)) != NULL) {
		if (*o == NULL)
			*o = json_object();
		json_object_update(*o, letter);
		json_object_set_new(*o, "state", json_string("dead"));
	}
	json_decref(list);
	return 0;
}
