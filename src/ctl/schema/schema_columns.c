/* schema_columns.c - checks of columns: missing ones, types, labels, times */

#include "ctl/schema/schema_impl.h"

#include <stdlib.h>
#include <string.h>

#include "util/xalloc.h"

/* Tables of producers, into which the daemon inserts no rows. */
static bool
is_theirs(enum store_table t)
{
	return t == T_EVENTS || t == T_OUTBOX;
}

/* Text columns that may be shorter than in the schema. */
static const struct {
	enum store_table	 table;
	const char		*column;
	uint64_t		 length;
} enough[] = {
	{ T_OUTBOX, "partition_key", 21 },	/* "!" and a sequence */
	{ T_WORKERS, "hostname", 64 },		/* the maximum of Linux */
};

/* Columns that the daemon cannot do without, and the reason. */
static const struct {
	const char	*word, *cost;
} needed[] = {
	{ "global_sequence", "the daemon cannot run: messages have no order" },
	{ "claim_token", "the daemon cannot run: several workers would send "
	  "the same message" },
	{ "partition_key", "the daemon cannot run: workers cannot share the "
	  "messages" },
	{ "published_at", "the daemon cannot run: nothing says what was "
	  "delivered" },
	{ "available_at", "the daemon cannot run: nothing delays a message, "
	  "nor ends a claim" },
	{ "attempts", "the daemon cannot run: failed attempts are not "
	  "counted" },
	{ "last_error", "the daemon cannot run: nothing says why a message "
	  "waits" },
};

static struct schema_cost
cost_of_needed(const char *word)
{
	for (size_t i = 0; i < sizeof(needed) / sizeof(needed[0]); i++)
		if (strcmp(needed[i].word, word) == 0)
			return (struct schema_cost){ SCHEMA_FAIL,
			    needed[i].cost };
	return schema_cannot_run;
}

/* A name in an ALTER: that of an application's own may be a word of SQL. */
static char *
quoted(const struct check *k, enum store_table t, const char *name)
{
	bool	ours = strcmp(store_column_word(k->ctl->store, t, name),
		    name) == 0;

	return ours ? xstrdup(name) : db_named(name);
}

/* The cost of a missing column. */
static struct schema_cost
cost_of_column(const struct check *k, enum store_table t, const char *column)
{
	const char	*cost = store_cost_of_column(k->ctl->store, t, column);

	if (cost == NULL && t == T_OUTBOX)
		return cost_of_needed(store_column_word(k->ctl->store, t,
		    column));
	if (cost == NULL)
		return schema_cannot_run;
	if (cost[0] == '\0' && strcmp(column, "replay_no") == 0)
		cost = "outboxctl messages replay does not work";
	else if (cost[0] == '\0')
		cost = strstr(column, "_at") != NULL ?
		    "that time is not recorded" :
		    "outboxctl cannot record it";
	return (struct schema_cost){ SCHEMA_WARN, cost };
}

/* It numbers all rows, and takes a lock for that. */
static void
find_missing_order(struct check *k, const char *name)
{
	struct schema_cost	 cost = cost_of_column(k, T_OUTBOX, name);
	char			*how, *sql = schema_order(k, name, &how);
	char			*text = xasprintf("%s; %s", cost.text, how);
	char			*table = db_named(schema_name(k, T_OUTBOX));
	char			*column = db_named(name);
	struct schema_finding	*f;

	f = schema_find(k->report, T_OUTBOX, (struct schema_cost){ cost.level,
	    text }, sql, "%s: no column %s", schema_name(k, T_OUTBOX), name);
	f->by_hand = strncmp(sql, "LOCK ", 5) != 0;
	if (!f->by_hand)
		f->undo = xasprintf("UNLOCK TABLES; ALTER TABLE %s DROP "
		    "COLUMN %s", table, column);
	free(column);
	free(table);
	free(text);
	free(sql);
	free(how);
}

void
schema_missing_columns(struct check *k, enum store_table t)
{
	const struct schema_table	*wanted = &k->wanted.tables[t];

	for (size_t i = 0; i < wanted->ncolumns; i++) {
		const struct schema_column	*c = &wanted->columns[i];
		struct schema_finding		*f;
		char				*change, *name;
		bool				 order;

		if (schema_column_of(&k->live.tables[t], c->name) != NULL)
			continue;
		if (t == T_OUTBOX &&
		    strstr(c->definition, "AUTO_INCREMENT") != NULL) {
			find_missing_order(k, c->name);
			continue;
		}
		name = quoted(k, t, c->name);
		order = strstr(c->definition, "AUTO_INCREMENT") != NULL;
		change = xasprintf("ADD COLUMN %s %s%s", name, c->definition,
		    order ? " UNIQUE" : "");
		f = schema_alter(k, t, cost_of_column(k, t, c->name), change,
		    "no column %s", c->name);
		f->way = order ? ALTER_PLAIN : ALTER_INSTANT;
		f->by_hand = order;
		free(change);
		free(name);
	}
}

static const struct schema_cost slow_join = { SCHEMA_WARN,
	"a join of the two reads and locks the whole table" };
static const struct schema_cost no_join = { SCHEMA_FAIL,
	"the server refuses to join the two" };

/*
 * Joins compare labels of these tables.  With different collations a join
 * cannot use the index; if neither is binary, the server refuses it.
 */
void
schema_labels(struct check *k, enum store_table t)
{
	static const char		 key[] = "partition_key";
	const char			*theirs;
	const struct schema_model	*m = schema_has(k, t) ? &k->live :
	    &k->wanted;
	const struct schema_column	*outbox, *c;
	bool				 binary;
	char				*change;

	theirs = store_column_name(k->ctl->store, key);
	outbox = schema_column_of(&k->live.tables[T_OUTBOX], theirs);
	c = schema_column_of(&m->tables[t], key);
	if (outbox == NULL || c == NULL ||
	    strcmp(outbox->collation, c->collation) == 0)
		return;
	binary = strstr(outbox->collation, "_bin") != NULL ||
	    strstr(c->collation, "_bin") != NULL;
	change = xasprintf("MODIFY %s VARCHAR(64) COLLATE %s NOT NULL", key,
	    outbox->collation);
	schema_alter(k, t, binary ? slow_join : no_join, change,
	    "%s is %s, but that of %s is %s", key, c->collation,
	    schema_name(k, T_OUTBOX), outbox->collation);
	free(change);
}

enum kind { KIND_NUMBER, KIND_TEXT, KIND_MOMENT, KIND_OTHER };

static enum kind
kind_of(const char *type)
{
	if (schema_is_number(type))
		return KIND_NUMBER;
	if (strstr(type, "char") != NULL || strstr(type, "text") != NULL ||
	    strcmp(type, "enum") == 0 || strcmp(type, "uuid") == 0 ||
	    strstr(type, "blob") != NULL || strstr(type, "binary") != NULL ||
	    strcmp(type, "json") == 0)
		return KIND_TEXT;
	if (strcmp(type, "timestamp") == 0 || strcmp(type, "datetime") == 0)
		return KIND_MOMENT;
	return KIND_OTHER;
}

static uint64_t
length_that_is_enough(const struct check *k, enum store_table t,
    const struct schema_column *wanted)
{
	const char	*word = store_column_word(k->ctl->store, t,
			    wanted->name);

	for (size_t i = 0; i < sizeof(enough) / sizeof(enough[0]); i++)
		if (enough[i].table == t &&
		    strcmp(enough[i].column, word) == 0)
			return enough[i].length;
	return wanted->length;
}

static unsigned
size_of_number(const char *type)
{
	return strcmp(type, "bigint") == 0 ? 8 : strcmp(type, "int") == 0 ? 4 :
	    strcmp(type, "mediumint") == 0 ? 3 :
	    strcmp(type, "smallint") == 0 ? 2 : 1;
}

/* The problem of the type, with its *level; NULL: none. */
static const char *
judge_type(const struct check *k, enum store_table t,
    const struct schema_column *wanted, const struct schema_column *c,
    enum schema_level *level)
{
	enum kind	kind = kind_of(wanted->type);

	*level = SCHEMA_WARN;
	if (kind_of(c->type) != kind) {
		*level = SCHEMA_FAIL;
		return "the daemon reads and writes values of another type";
	}
	if (kind == KIND_MOMENT && strcmp(c->type, wanted->type) != 0)
		return "the time zone of a session changes the times that "
		    "it writes";
	if (kind == KIND_NUMBER &&
	    size_of_number(c->type) < size_of_number(wanted->type)) {
		*level = SCHEMA_NOTE;
		return "numbers that are too large for it are refused";
	}
	if (kind == KIND_TEXT && strstr(wanted->type, "binary") != NULL)
		return c->collation[0] == '\0' ? NULL :
		    "bytes that are no text are stored as hex";
	if (kind == KIND_TEXT && t != T_EVENTS && c->length != 0 &&
	    c->length < length_that_is_enough(k, t, wanted))
		return "texts that are too long for it are cut or refused";
	return NULL;
}

/* Nullable columns of the schema into which the daemon writes no NULL. */
static bool
may_be_not_null(const struct check *k, enum store_table t, const char *name)
{
	const char	*column = store_column_word(k->ctl->store, t, name);

	return t == T_EVENTS || t == T_WORKERS || t == T_AUDIT ||
	    strcmp(column, "partition_key") == 0 ||
	    strcmp(column, "created_at") == 0 ||
	    strcmp(column, "updated_at") == 0;
}

static bool
is_of_event(const struct check *k, enum store_table t, const char *name)
{
	static const char *const	 words[] = { "stream_id", "event_type",
	    "metadata", "event_data", "message_id", "content_type",
	    "scheduled_at" };
	const char			*word;

	if (t != T_OUTBOX || !store_is_inline(k->ctl->store))
		return false;
	word = store_column_word(k->ctl->store, t, name);
	for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++)
		if (strcmp(words[i], word) == 0)
			return true;
	return false;
}

/* Compare a live column with the wanted one. */
static void
check_column(struct check *k, enum store_table t,
    const struct schema_column *wanted, const struct schema_column *c)
{
	enum schema_level	 level = SCHEMA_FAIL;
	const char		*cost;
	char			*change, *name;

	if (t == T_OUTBOX && schema_foreign(k, wanted, c))
		return;
	/* In mode inline producers write some columns of the outbox. */
	if (is_of_event(k, t, c->name))
		t = T_EVENTS;
	cost = judge_type(k, t, wanted, c, &level);

	if (cost == NULL && wanted->nullable && !c->nullable &&
	    !may_be_not_null(k, t, c->name)) {
		level = SCHEMA_FAIL;
		cost = "the daemon writes NULL there, which is refused";
	} else if (cost == NULL && !wanted->nullable && c->nullable &&
	    t != T_EVENTS) {
		level = SCHEMA_NOTE;
		cost = "a row with NULL there is never found";
	}
	if (cost == NULL)
		return;
	name = quoted(k, t, c->name);
	change = xasprintf("MODIFY %s %s", name, wanted->definition);
	free(name);
	/* Only small tables of the daemon's own are altered by upgrade. */
	schema_alter(k, t, (struct schema_cost){ level, cost }, change,
	    c->length == 0 ? "%s is %s%.0llu %s, not %s" :
	    "%s is %s(%llu) %s, not %s", c->name, c->type,
	    (unsigned long long)c->length, c->nullable ? "NULL" : "NOT NULL",
	    wanted->definition)->by_hand = level != SCHEMA_WARN ||
	    (t != T_DEAD && t != T_BLOCKED);
	free(change);
}

/* Columns of an event that are copied to other tables. */
static const struct {
	const char		*event;
	enum store_table	 table;
	const char		*column;
} copies[] = {
	{ "stream_id", T_DEAD, "order_key" },
	{ "stream_id", T_BLOCKED, "order_key" },
	{ "event_type", T_DEAD, "event_type" },
};

#define VARBINARY_MAX	16000	/* leaves space for the other columns */

/*
 * The size of a column in bytes, at most UINT32_MAX.  A character has up to
 * four bytes; a column of bytes has no collation.
 */
static uint64_t
bytes_of(const struct schema_column *c)
{
	uint64_t	n = c->length * (c->collation[0] == '\0' ? 1 : 4);

	return n < UINT32_MAX ? n : UINT32_MAX;
}

/* The size; for a text column, that after check_column() has altered it. */
static uint64_t
room_of(const struct check *k, enum store_table t,
    const struct schema_column *c)
{
	const struct schema_column	*wanted;

	wanted = schema_column_of(&k->wanted.tables[t], c->name);
	return c->collation[0] == '\0' || wanted == NULL ? bytes_of(c) :
	    bytes_of(wanted);
}

static void
check_copy(struct check *k, enum store_table t, const struct schema_column *c,
    const struct schema_column *event)
{
	uint64_t	 wide = bytes_of(event), room = room_of(k, t, c);
	char		*change;

	if (room >= wide)
		return;
	change = wide > VARBINARY_MAX ?
	    xasprintf("MODIFY %s LONGBLOB NULL", c->name) :
	    xasprintf("MODIFY %s VARBINARY(%llu) NULL DEFAULT NULL", c->name,
	    (unsigned long long)wide);
	schema_alter(k, t, (struct schema_cost){ SCHEMA_WARN, "longer values "
	    "are cut, and end with \"...\"" }, change,
	    "%s has room for %llu bytes, and %s of %s for %llu", c->name,
	    (unsigned long long)room, event->name, schema_name(k, T_EVENTS),
	    (unsigned long long)wide)->by_hand = false;
	free(change);
}

void
schema_copies(struct check *k)
{
	for (size_t i = 0; i < sizeof(copies) / sizeof(copies[0]); i++) {
		const struct schema_column *event, *c;

		event = schema_column_of(&k->live.tables[
		    schema_is_used(k->ctl, T_EVENTS) ? T_EVENTS : T_OUTBOX],
		    store_column_name(k->ctl->store, copies[i].event));
		c = schema_column_of(&k->live.tables[copies[i].table],
		    copies[i].column);
		if (event != NULL && c != NULL && c->length != 0)
			check_copy(k, copies[i].table, c, event);
	}
}

void
schema_columns(struct check *k, enum store_table t)
{
	const struct schema_table	*wanted = &k->wanted.tables[t];
	const struct schema_column	*c;

	for (size_t i = 0; i < wanted->ncolumns; i++) {
		c = schema_column_of(&k->live.tables[t],
		    wanted->columns[i].name);
		if (c != NULL)
			check_column(k, t, &wanted->columns[i], c);
	}
}

/* All time columns in one change, because each change rewrites the table. */
void
schema_moments(struct check *k, enum store_table t)
{
	const struct schema_table	*wanted = &k->wanted.tables[t];
	const struct schema_column	*c;
	struct buf			 change = { 0 }, what = { 0 };
	char				*name;

	for (size_t i = 0; i < wanted->ncolumns; i++) {
		const struct schema_column *w = &wanted->columns[i];

		c = schema_column_of(&k->live.tables[t], w->name);
		if (c == NULL || kind_of(c->type) != KIND_MOMENT ||
		    c->length >= w->length)
			continue;
		name = quoted(k, t, w->name);
		buf_printf(&change, "%sMODIFY %s %s", change.len == 0 ? "" :
		    ", ", name, w->definition);
		free(name);
		buf_printf(&what, "%s%s", what.len == 0 ? "" : ", ", w->name);
	}
	if (what.len > 0) {
		buf_str(&what, ": coarser than a microsecond");
		schema_alter(k, t, (struct schema_cost){ SCHEMA_NOTE,
		    t == T_EVENTS ?
		    "the header with the time of an event is as coarse" :
		    "delays, leases and what is due are as coarse, and the "
		    "change rewrites the table" }, change.data, "%s",
		    what.data);
	}
	buf_free(&change);
	buf_free(&what);
}

/* Unknown columns without a default, which make inserts fail. */
void
schema_unknown_columns(struct check *k, enum store_table t)
{
	const struct schema_table	*live = &k->live.tables[t];

	for (size_t i = 0; i < live->ncolumns; i++) {
		const struct schema_column	*c = &live->columns[i];
		struct buf			 change = { 0 };

		if (is_theirs(t) || c->optional ||
		    schema_column_of(&k->wanted.tables[t], c->name) != NULL)
			continue;
		buf_str(&change, "ALTER ");
		db_name(&change, c->name);
		buf_printf(&change, " SET DEFAULT %s",
		    kind_of(c->type) == KIND_NUMBER ? "0" : "''");
		schema_alter(k, t, (struct schema_cost){ SCHEMA_FAIL,
		    "the daemon does not set it, so its inserts are "
		    "refused" }, change.data, "column %s has no default",
		    c->name)->by_hand = true;
		buf_free(&change);
	}
}
