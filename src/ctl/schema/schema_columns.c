/* schema_columns.c - checks of columns: missing ones, types, labels, times */

#include "ctl/schema/schema_impl.h"

#include <string.h>

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
#define NNEEDED	(sizeof(needed) / sizeof(needed[0]))

static const char *
word_of(const struct check *k, enum store_table t, const char *name)
{
	return store_column_word(k->ctl->store, t, name);
}

/* A name in an ALTER: that of an application's own may be a word of SQL. */
static void
put_column(const struct check *k, enum store_table t, const char *name,
    struct buf *to)
{
	if (strcmp(word_of(k, t, name), name) == 0)
		buf_str(to, name);
	else
		db_name(to, name);
}

/* The cost of a missing column, and its level. */
static const char *
cost_of_column(const struct check *k, enum store_table t, const char *column,
    enum schema_level *level)
{
	const char	*cost = store_cost_of_column(k->ctl->store, t, column,
			    schema_is_pillar(k));

	*level = cost == NULL ? SCHEMA_FAIL : SCHEMA_WARN;
	if (cost == NULL) {
		for (size_t i = 0; t == T_OUTBOX && i < NNEEDED; i++)
			if (strcmp(needed[i].word,
			    word_of(k, t, column)) == 0)
				return needed[i].cost;
		return schema_cannot_run;
	}
	if (cost[0] != '\0')
		return cost;
	if (strcmp(column, "replay_no") == 0)
		return "outboxctl messages replay does not work";
	return strstr(column, "_at") != NULL ? "that time is not recorded" :
	    "outboxctl cannot record it";
}

void
schema_missing_columns(struct check *k, enum store_table t)
{
	const struct schema_table	*wanted = &k->wanted.tables[t];
	const struct schema_column	*c;
	enum schema_level		 level;
	struct schema_finding		*f;
	const char			*cost;
	bool				 order;

	for (c = wanted->columns; c < wanted->columns + wanted->ncolumns; c++) {
		if (schema_column_of(&k->live.tables[t], c->name) != NULL)
			continue;
		order = strstr(c->definition, "AUTO_INCREMENT") != NULL;
		cost = cost_of_column(k, t, c->name, &level);
		f = schema_find(k, t, level, cost, "no column %s", c->name);
		if (!order || t != T_OUTBOX) {
			schema_put(k, f, "ALTER TABLE {t} ADD COLUMN ", NULL);
			put_column(k, t, c->name, &f->sql);
			buf_printf(&f->sql, " %s%s", c->definition,
			    order ? " UNIQUE" : "");
			f->way = order ? ALTER_PLAIN : ALTER_INSTANT;
			f->by = order ? BY_HAND : BY_SQL;
			continue;
		}
		/* It numbers all rows, and takes a lock for that. */
		buf_str(&f->cost, "; ");
		schema_order(k, c->name, f);
		if (strncmp(f->sql.data, "LOCK ", 5) != 0)
			continue;
		f->by = BY_SQL;
		schema_put_sql(k, t, "UNLOCK TABLES; ALTER TABLE {t} DROP "
		    "COLUMN {n}", c->name, &f->undo);
	}
}

/*
 * Joins compare labels of these tables.  With different collations a join
 * cannot use the index; if neither is binary, the server refuses it.
 */
void
schema_labels(struct check *k, enum store_table t)
{
	const struct schema_model	*m = schema_has(k, t) ? &k->live :
					    &k->wanted;
	const struct schema_column	*outbox, *c;
	struct schema_finding		*f;
	bool				 binary;

	outbox = schema_outbox_column(k, "partition_key");
	c = schema_column_of(&m->tables[t], "partition_key");
	if (outbox == NULL || c == NULL ||
	    strcmp(outbox->collation, c->collation) == 0)
		return;
	binary = strstr(outbox->collation, "_bin") != NULL ||
	    strstr(c->collation, "_bin") != NULL;
	f = schema_find(k, t, binary ? SCHEMA_WARN : SCHEMA_FAIL, binary ?
	    "a join of the two reads and locks the whole table" :
	    "the server refuses to join the two",
	    "partition_key is %s, but that of %s is %s", c->collation,
	    schema_name(k, T_OUTBOX), outbox->collation);
	schema_put(k, f, "ALTER TABLE {t} ", NULL);
	buf_printf(&f->sql, "MODIFY partition_key VARCHAR(64) COLLATE %s "
	    "NOT NULL", outbox->collation);
	f->by = BY_SQL;
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
	return schema_is_moment(type) ? KIND_MOMENT : KIND_OTHER;
}

/* Two columns may be shorter than in the schema. */
static uint64_t
length_that_is_enough(const struct check *k, enum store_table t,
    const struct schema_column *wanted)
{
	const char	*word = word_of(k, t, wanted->name);

	if (t == T_OUTBOX && strcmp(word, "partition_key") == 0)
		return 21;	/* "!" and a sequence */
	if (t == T_WORKERS && strcmp(word, "hostname") == 0)
		return 64;	/* the maximum of Linux */
	return wanted->length;
}

static unsigned
size_of_number(const char *type)
{
	return strcmp(type, "bigint") == 0 ? 8 : strcmp(type, "int") == 0 ? 4 :
	    strcmp(type, "mediumint") == 0 ? 3 :
	    strcmp(type, "smallint") == 0 ? 2 : 1;
}

/* Nullable columns of the schema into which the daemon writes no NULL. */
static bool
may_be_not_null(const struct check *k, enum store_table t, const char *name)
{
	const char	*column = word_of(k, t, name);

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
	word = word_of(k, t, name);
	for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++)
		if (strcmp(words[i], word) == 0)
			return true;
	return false;
}

struct flaw {
	const char		*cost;		/* NULL: there is none */
	enum schema_level	 level;
};

/* May texts be lost in it, or come out as something else? */
static const char *
judge_text(const struct check *k, enum store_table t,
    const struct schema_column *wanted, const struct schema_column *c)
{
	if (strstr(wanted->type, "binary") != NULL)
		return c->collation[0] == '\0' ? NULL :
		    "bytes that are no text are stored as hex";
	return t != T_EVENTS && c->length != 0 &&
	    c->length < length_that_is_enough(k, t, wanted) ?
	    "texts that are too long for it are cut or refused" : NULL;
}

/* The first flaw of a live column. */
static struct flaw
judge_column(const struct check *k, enum store_table t,
    const struct schema_column *wanted, const struct schema_column *c)
{
	enum kind	 kind = kind_of(wanted->type);
	const char	*cost;

	if (kind_of(c->type) != kind)
		return (struct flaw){ "the daemon reads and writes values of "
		    "another type", SCHEMA_FAIL };
	if (kind == KIND_MOMENT && strcmp(c->type, wanted->type) != 0)
		return (struct flaw){ "the time zone of a session changes the "
		    "times that it writes", SCHEMA_WARN };
	if (kind == KIND_TEXT &&
	    (cost = judge_text(k, t, wanted, c)) != NULL)
		return (struct flaw){ cost, SCHEMA_WARN };
	if (kind == KIND_NUMBER &&
	    size_of_number(c->type) < size_of_number(wanted->type))
		return (struct flaw){ "numbers that are too large for it are "
		    "refused", SCHEMA_NOTE };
	if (!wanted->nullable && c->nullable && t != T_EVENTS)
		return (struct flaw){ "a row with NULL there is never found",
		    SCHEMA_NOTE };
	if (wanted->nullable && !c->nullable && !may_be_not_null(k, t, c->name))
		return (struct flaw){ "the daemon writes NULL there, which is "
		    "refused", SCHEMA_FAIL };
	return (struct flaw){ NULL, SCHEMA_NOTE };
}

/* Compare a live column with the wanted one. */
static void
check_column(struct check *k, enum store_table t,
    const struct schema_column *wanted, const struct schema_column *c)
{
	struct schema_finding	*f;
	struct flaw		 flaw;

	if (t == T_OUTBOX && schema_foreign(k, wanted, c))
		return;
	/* In mode inline producers write some columns of the outbox. */
	if (is_of_event(k, t, c->name))
		t = T_EVENTS;
	flaw = judge_column(k, t, wanted, c);
	if (flaw.cost == NULL)
		return;
	f = schema_find(k, t, flaw.level, flaw.cost, c->length == 0 ?
	    "%s is %s%.0llu %s, not %s" : "%s is %s(%llu) %s, not %s", c->name,
	    c->type, (unsigned long long)c->length, c->nullable ? "NULL" :
	    "NOT NULL", wanted->definition);
	schema_put(k, f, "ALTER TABLE {t} MODIFY ", NULL);
	put_column(k, t, c->name, &f->sql);
	buf_printf(&f->sql, " %s", wanted->definition);
	/* Only small tables of the daemon's own are altered by upgrade. */
	if (flaw.level == SCHEMA_WARN && (t == T_DEAD || t == T_BLOCKED))
		f->by = BY_SQL;
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

void
schema_copies(struct check *k)
{
	for (size_t i = 0; i < sizeof(copies) / sizeof(copies[0]); i++) {
		enum store_table		 t = copies[i].table;
		const struct schema_column	*event, *c, *w;
		struct schema_finding		*f;
		uint64_t			 wide, room;

		event = schema_column_of(&k->live.tables[schema_events(k)],
		    store_column_name(k->ctl->store, copies[i].event));
		c = schema_column_of(&k->live.tables[t], copies[i].column);
		if (event == NULL || c == NULL || c->length == 0)
			continue;
		/* For a text, the size that check_column() gives it. */
		w = schema_column_of(&k->wanted.tables[t], c->name);
		room = bytes_of(c->collation[0] == '\0' || w == NULL ? c : w);
		wide = bytes_of(event);
		if (room >= wide)
			continue;
		f = schema_find(k, t, SCHEMA_WARN, "longer values are cut, "
		    "and end with \"...\"", "%s has room for %llu bytes, and "
		    "%s of %s for %llu", c->name, (unsigned long long)room,
		    event->name, schema_name(k, T_EVENTS),
		    (unsigned long long)wide);
		schema_put(k, f, "ALTER TABLE {t} MODIFY ", NULL);
		buf_str(&f->sql, c->name);
		f->by = BY_SQL;
		if (wide > VARBINARY_MAX)
			buf_str(&f->sql, " LONGBLOB NULL");
		else
			buf_printf(&f->sql,
			    " VARBINARY(%llu) NULL DEFAULT NULL",
			    (unsigned long long)wide);
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
	const struct schema_column	*w, *c;
	struct schema_finding		*f = NULL;

	for (size_t i = 0; i < wanted->ncolumns; i++) {
		w = &wanted->columns[i];
		c = schema_column_of(&k->live.tables[t], w->name);
		if (c == NULL || !schema_is_moment(c->type) ||
		    c->length >= w->length)
			continue;
		if (f != NULL) {
			buf_printf(&f->what, ", %s", w->name);
			buf_str(&f->sql, ", MODIFY ");
		} else {
			f = schema_find(k, t, SCHEMA_NOTE, t == T_EVENTS ?
			    "the header with the time of an event is as "
			    "coarse" : "delays, leases and what is due are as "
			    "coarse, and the change rewrites the table", "%s",
			    w->name);
			schema_put(k, f, "ALTER TABLE {t} MODIFY ", NULL);
		}
		put_column(k, t, w->name, &f->sql);
		buf_printf(&f->sql, " %s", w->definition);
	}
	if (f != NULL)
		buf_str(&f->what, ": coarser than a microsecond");
}

/*
 * Unknown columns without a default, which make inserts fail: not of the tables
 * into which the daemon inserts nothing.
 */
void
schema_unknown_columns(struct check *k, enum store_table t)
{
	const struct schema_table	*live = &k->live.tables[t];

	if (t == T_EVENTS || t == T_OUTBOX)
		return;
	for (size_t i = 0; i < live->ncolumns; i++) {
		const struct schema_column	*c = &live->columns[i];
		struct schema_finding		*f;

		if (c->optional ||
		    schema_column_of(&k->wanted.tables[t], c->name) != NULL)
			continue;
		f = schema_find(k, t, SCHEMA_FAIL, "the daemon does not set "
		    "it, so its inserts are refused",
		    "column %s has no default", c->name);
		schema_put(k, f, kind_of(c->type) == KIND_NUMBER ?
		    "ALTER TABLE {t} ALTER {n} SET DEFAULT 0" :
		    "ALTER TABLE {t} ALTER {n} SET DEFAULT ''", c->name);
	}
}
