/*
 * schema_unstable.c - columns that change without a change of the message
 *
 * See store_unstable.c.
 */

#include "ctl/schema/schema_impl.h"

#define NEW_IDS	"a message that is sent again would have another id, and be " \
		"in the stream twice: ids leave the column out"

#define MOVED	"claims, delays and marks write to the row, and move this time"

/* Columns of the outbox that only the daemon, or their author, may change. */
static const struct {
	const char	*word;
	bool		 starts_now;
	const char	*cost;
} times[] = {
	{ "published_at", false, "the daemon refuses to run: each row would "
	  "count as delivered when it is claimed" },
	{ "available_at", true, MOVED },
	{ "in_doubt_since", false, MOVED },
	{ "scheduled_at", false, MOVED },
};

/* "MODIFY `at` TIMESTAMP(6) NULL DEFAULT CURRENT_TIMESTAMP(6)", as it is */
static void
find_on_update(struct check *k, enum store_table t,
    const struct schema_column *c, const char *cost, bool starts_now)
{
	struct schema_finding	*f;

	f = schema_find(k, t, SCHEMA_FAIL, cost, "%s has ON UPDATE "
	    "CURRENT_TIMESTAMP, so each write to its row changes it", c->name);
	schema_put(k, f, "ALTER TABLE {t} MODIFY {n} ", c->name);
	schema_put_type(&f->sql, c);
	if (!starts_now) {
		buf_str(&f->sql, " NULL DEFAULT NULL");
		return;
	}
	buf_printf(&f->sql, " %sNULL DEFAULT CURRENT_TIMESTAMP",
	    c->nullable ? "" : "NOT ");
	if (c->length > 0)
		buf_printf(&f->sql, "(%u)", (unsigned)c->length);
}

int
schema_find_unstable(struct check *k, struct err *e)
{
	struct store		*s = k->ctl->store;
	enum store_table	 t = schema_events(k);
	const struct schema_column *c;
	const char		*why, *word;

	if (!schema_has(k, t))
		return 0;
	if (store_find_unstable(s, e) < 0)
		return -1;

	for (size_t i = 0; i < sizeof(times) / sizeof(times[0]); i++) {
		c = schema_outbox_column(k, times[i].word);
		if (c != NULL && c->on_update)
			find_on_update(k, T_OUTBOX, c, times[i].cost,
			    times[i].starts_now);
	}

	for (size_t i = 0; (why = store_unstable(s, i, &word)) != NULL; i++) {
		c = schema_column_of(&k->live.tables[t],
		    store_column_name(s, word));
		if (why[0] == '\0' || c == NULL)
			continue;
		if (c->on_update)
			find_on_update(k, t, c, NEW_IDS ", and its value in "
			    "messages is any", true);
		else
			schema_find(k, t, SCHEMA_FAIL, NEW_IDS "; name "
			    "another one in outbox.columns", "%s %s", c->name,
			    why);
	}
	return 0;
}
