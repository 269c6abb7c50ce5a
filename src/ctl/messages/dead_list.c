/* dead_list.c - dead list, and the details of one dead letter */

#include "ctl/messages/dead.h"

#include "ctl/base/filter.h"
#include "ctl/base/listing.h"
#include "ctl/messages/dead_group.h"
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

void
dead_put_filter(struct ctl *c)
{
	static const struct filter	f = { .key = { DEAD_KEY },
	    .type = { "d.event_type" },
	    .partition = { "COALESCE(d.partition_key, '')" },
	    .time = { "d.died_at" } };

	filter_put(c, &f);
}

static void
select_letters(struct ctl *c, const uint64_t *list, size_t n, struct sql order)
{
	store_sql(c->store, "SELECT d.global_sequence, d.partition_key, "
	    DEAD_KEY ", d.event_type, d.attempts, d.reason, d.last_error, "
	    "d.created_at, d.died_at " DEAD_ROWS
	    "WHERE d.reason NOT IN " DEAD_MARKS
	    " AND d.global_sequence IN (:rows):filter ORDER BY :order",
	    SQL_LIST("rows", list, n),
	    SQL_PUT("filter", c->store, dead_put_filter(c)),
	    SQL_PART("order", order));
}

int
dead_list(struct ctl *c)
{
	static const struct listing	l = { columns, NCOLUMNS, shown,
	    select_letters, dead_group_passes };
	struct err			e;

	if (dead_group_check(c) != CTL_DONE)
		return CTL_USAGE;
	return listing_print(c, cursor_new(c, CURSOR_DEAD, &e), &l, &e);
}

int
dead_add(struct ctl *c, uint64_t sequence, json_t **o, struct err *e)
{
	json_t	*letter;

	if (store_is_pillar(c->store))
		return 0;
	select_letters(c, &sequence, 1, SQL("d.global_sequence"));
	if (rows_one(c, "show", columns, NCOLUMNS, &letter, e) < 0)
		return -1;
	if (letter != NULL) {
		if (*o == NULL)
			*o = json_object();
		json_object_update(*o, letter);
		json_object_set_new(*o, "state", json_string("dead"));
	}
	json_decref(letter);
	return 0;
}
