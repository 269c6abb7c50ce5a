/*
 * schema_unstable.c - columns that change without a change of the message
 *
 * See store_unstable.c.  What a trigger assigns can only be told here: the
 * daemon may not see triggers.
 */

#include "ctl/schema/schema_impl.h"

#include <ctype.h>
#include <string.h>
#include <strings.h>

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

/* Does it say "SET ... NEW.column ="?  A comparison may seem one. */
static bool
assigns(const char *statement, const char *column)
{
	size_t	n = strlen(column);

	for (const char *p = statement; (p = strcasestr(p, "NEW.")) != NULL;
	    p++) {
		const char *before = p, *name = p + strlen("NEW.");

		name += *name == '`';
		if (strncasecmp(name, column, n) != 0)
			continue;
		name += n;
		name += *name == '`';
		/* A longer name begins with this one. */
		if (isalnum((unsigned char)*name) || *name == '_' ||
		    *name == '$' || *name == '`')
			continue;
		name += strspn(name, " \t\r\n:");
		while (before > statement && strchr(" \t\r\n", before[-1]))
			before--;
		if (*name == '=' && before - statement >= 3 &&
		    (before[-1] == ',' || strncasecmp(before - 3, "SET",
		    3) == 0))
			return true;
	}
	return false;
}

static int
find_triggers(struct check *k, struct err *e)
{
	struct store	*s = k->ctl->store;
	enum store_table t = schema_events(k);
	struct db_rows	*rows;
	const char	*word;

	store_sql(s, "SELECT trigger_name, action_statement "
	    "FROM information_schema.triggers WHERE event_object_schema = "
	    "DATABASE() AND action_timing = 'BEFORE' "
	    "AND event_manipulation = 'UPDATE' AND event_object_table = :table",
	    SQL_TEXT("table", schema_name(k, t)));
	if ((rows = store_query(s, k->ctl->command->words, e)) == NULL)
		return -1;
	while (db_next(rows))
		for (size_t i = 0; store_unstable(s, i, &word) != NULL; i++) {
			const char *name = store_column_name(s, word);

			if (name[0] != '\0' && assigns(db_text(rows, 1), name))
				schema_find(k, t, SCHEMA_FAIL, "a message "
				    "that is sent again has another id, and "
				    "is in the stream twice: let the trigger "
				    "leave the column as it is", "trigger %s "
				    "changes %s with each write to the row",
				    db_text(rows, 0), name);
		}
	db_rows_free(rows);
	return 0;
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
	return find_triggers(k, e);
}
