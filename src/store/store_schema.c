/*
 * store_schema.c - which profile the database has, and which columns
 *
 * What the profile needs and is missing is an error that names it.  A column
 * that only an application's own outbox lacks, or all that Pillar's tables
 * lack, is a warning with the remedy, once per connection.
 */

#include "store/store_impl.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>
#include <bsd/string.h>

#include "util/clock.h"
#include "util/log.h"

#define LEARN_AGAIN_MS	5000
#define COLUMNS_MAX	32	/* more than any list has */

/* Of tables that the daemon does without. */
#define OUTBOXCTL_ALONE	(PROFILE_FULL + 1)

/*
 * What statements need, since which profile.  Columns of the outbox and of the
 * events that are not here belong to the mapping: see store_columns.c.
 */
static const struct part {
	enum store_table	 table;
	unsigned		 since;
	enum { EITHER, POINTER, INLINE } mode;	/* of the outbox */
	const char		*columns[COLUMNS_MAX];	/* NULL ends them */
} parts[] = {
	{ T_OUTBOX, PROFILE_PILLAR, EITHER, {
		"global_sequence", "attempts", "available_at", "published_at",
		"partition_key", "claim_token", "last_error"
	} },
	{ T_EVENTS, PROFILE_PILLAR, POINTER, {
		"sequence", "stream_id", "stream_sequence", "correlation_id",
		"event_type", "event_version", "metadata", "event_data",
		"occurred_at"
	} },
	{ T_EVENTS, PROFILE_PILLAR, INLINE, {
		"sequence", "event_type", "event_data"
	} },
	{ T_PARTITIONS, PROFILE_PILLAR, EITHER, {
		"partition_key", "lease_owner", "lease_until", "lease_epoch",
		"updated_at"
	} },
	{ T_WORKERS, PROFILE_PILLAR, EITHER, {
		"id", "hostname", "pid", "started_at", "updated_at",
		"heartbeat_until"
	} },
	{ T_PARTITIONS, PROFILE_BEFORE, EITHER, { "former_label_at" } },
	{ T_SETTINGS, PROFILE_BEFORE, EITHER, {
		"schema_version", "outbox_id", "partition_count",
		"former_counts", "counts_since", "reconcile_watermark",
		"partition_by", "fan_out", "types"
	} },
	{ T_DEAD, PROFILE_BEFORE, EITHER, {
		"global_sequence", "partition_key", "order_key", "event_type",
		"attempts", "reason", "last_error", "created_at", "died_at",
		"replay_no"
	} },
	{ T_DEAD, PROFILE_BEFORE, INLINE, {
		"message_id", "headers", "payload", "content_type",
		"scheduled_at"
	} },
	{ T_BLOCKED, PROFILE_BEFORE, EITHER, {
		"first_sequence", "partition_key", "order_key", "reason",
		"head_sequence", "since"
	} },
	{ T_STREAMS, PROFILE_BEFORE, EITHER, {
		"name", "created", "prefix", "servers", "known_since",
		"checked_at", "checker", "checker_since", "checker_until",
		"database_server", "database_started", "tail_sequence",
		"tail_at", "first_sequence", "phantoms", "phantom_first",
		"phantom_last", "phantom_at", "lost", "lost_first",
		"lost_last", "lost_at", "alarm", "alarm_at"
	} },
	{ T_STREAMS, PROFILE_FULL, EITHER, {
		"leader", "gaps", "damage", "gaps_since", "suspicion",
		"suspected_at", "look_after", "scrubber", "scrubber_until",
		"scrub_for", "scrub_began", "scrub_at", "scrub_rows",
		"scrub_ended", "scrub_whole", "scrub_ms", "missing",
		"missing_at", "holes", "accepted"
	} },
	{ T_AUDIT, OUTBOXCTL_ALONE, EITHER, {
		"id", "at", "login", "unix_user", "command", "arguments",
		"changed"
	} },
	{ T_REGISTRY, OUTBOXCTL_ALONE, EITHER, {
		"name", "source", "settings", "destination"
	} },
};

#define NPARTS	(sizeof(parts) / sizeof(parts[0]))

/* The marks of a former version, in the leases: all of these or none. */
static const char *const	marks[] = {
	"in_doubt_since", "in_doubt_upto", "in_doubt_epoch"
};
#define NMARKS	(sizeof(marks) / sizeof(marks[0]))

#define COST_OF_AUDIT \
	"acknowledged messages that the broker loses are not found"

/*
 * The cost of a column that is missing.  Those with a type are warned of at
 * each connect, the others only when something needs them.
 */
static const struct cost {
	const char	*word, *cost, *type;
} column_costs[] = {
	{ "ack_sequence", COST_OF_AUDIT, "BIGINT UNSIGNED NULL DEFAULT NULL" },
	{ "message_hash", "a delivered row and its message are compared by "
	  "sequence alone, and after a failover or a restore sequences are "
	  "used again", "BIGINT UNSIGNED NULL DEFAULT NULL" },
	{ "in_doubt_since", "a message whose ack was lost is stored twice if "
	  "it is sent again later than the stream's duplicate window",
	  "TIMESTAMP(6) NULL DEFAULT NULL" },
	{ "former_label_at", "outboxctl partitions sync --finish cannot tell "
	  "whether a producer still uses a former count", NULL },
	{ "stream_id", "no message waits for another: there is no order",
	  NULL },
	{ "message_id", "messages have ids of the daemon, and nothing keeps an "
	  "INSERT from being repeated", NULL },
	{ "metadata", "messages have no headers of their own", NULL },
	{ "content_type", "messages have no Content-Type", NULL },
	{ "scheduled_at", "no message can be scheduled", NULL },
};
#define NCOSTS	(sizeof(column_costs) / sizeof(column_costs[0]))

/* The cost of a missing table; NULL: it must not be missing. */
static const char *const table_costs[NTABLES] = {
	[T_SETTINGS] = ("outbox_enqueue() fails, producers and hosts cannot "
	    "share a partition count, and message ids begin with the name of "
	    "the database"),
	[T_DEAD] = "messages that cannot be delivered are retried for ever",
	[T_BLOCKED] = ("rows that wait behind a failed message are read again "
	    "on every tick"),
	[T_STREAMS] = COST_OF_AUDIT,
	[T_AUDIT] = "changes made with outboxctl are not recorded",
	[T_REGISTRY] = "no other outbox can take the same events",
};

const char *
store_cost_of_table(enum store_table t, bool pillar)
{
	return pillar || t == T_AUDIT || t == T_REGISTRY ? table_costs[t] :
	    NULL;
}

/* Only the outbox and the events may have other names for columns. */
static const char *
name_of(const struct store *s, enum store_table t, const char *column)
{
	return t == T_OUTBOX || t == T_EVENTS ?
	    store_column_name(s, column) : column;
}

static bool
is_used(const struct store *s, const struct part *p)
{
	return p->mode == EITHER ||
	    (p->mode == INLINE) == store_is_inline(s);
}

/* Since when a column is needed; with outbox.mode: inline a table is two. */
static const struct part *
part_of(const struct store *s, enum store_table t, const char *word)
{
	for (const struct part *p = parts; p < parts + NPARTS; p++)
		if (strcmp(s->tables[p->table], s->tables[t]) == 0 &&
		    is_used(s, p))
			for (size_t i = 0; p->columns[i] != NULL; i++)
				if (strcasecmp(p->columns[i], word) == 0)
					return p;
	return NULL;
}

const char *
store_cost_of_column(const struct store *s, enum store_table t,
    const char *name, bool pillar)
{
	const char		*word = t == T_OUTBOX || t == T_EVENTS ?
				    store_column_word(s, t, name) : name;
	const struct part	*p = part_of(s, t, word);

	if (p != NULL && p->since == PROFILE_FULL)
		return "a history that was checked once is not read again, so "
		    "messages that the broker loses later are not found";
	if (p != NULL && (p->since != PROFILE_BEFORE || !pillar))
		return NULL;
	for (size_t i = 0; i < NCOSTS; i++)
		if (strcmp(column_costs[i].word, word) == 0)
			return column_costs[i].cost;
	return "";
}

/* Are these two written by the server, with how many digits? */
static void
mark_stamped(struct store *s, const struct db_rows *rows)
{
	static const char *const	words[] = { "available_at",
					    "created_at" };

	if (strcmp(s->tables[T_OUTBOX], db_text(rows, 0)) != 0 ||
	    strncasecmp(db_text(rows, 6), "current_timestamp", 17) != 0)
		return;
	for (size_t i = 0; i < 2; i++)
		if (strcasecmp(store_column_name(s, words[i]),
		    db_text(rows, 1)) == 0)
			s->stamped[i] = db_text(rows, 2)[0];
}

/* The needed columns of all tables, one after the other. */
struct needed {
	struct item {
		const struct part *part;
		const char	*name;
		bool		 found;
		bool		 order;		/* it must be a number */
		char		 odd_type[64];	/* and is this; "": it is one */
	} items[NPARTS * COLUMNS_MAX];
	size_t	n;
	size_t	nmarks;		/* that the leases have */
};

static void
need_all(struct needed *k, const struct store *s, const struct part *p)
{
	for (size_t i = 0; p->columns[i] != NULL; i++) {
		struct item	*x = &k->items[k->n++];

		assert(i + 1 < COLUMNS_MAX);
		*x = (struct item){ .part = p, .name = name_of(s, p->table,
		    p->columns[i]) };
		/* It stands without quotes, and texts equal several. */
		x->order = strcmp(p->columns[i], p->table == T_EVENTS ?
		    "sequence" : "global_sequence") == 0;
	}
}

/* A column that is needed. */
static void
mark_needed(struct store *s, const struct db_rows *rows, struct item *x)
{
	const char	*digits = db_nullable(rows, 2);

	x->found = true;
	if (x->order && db_u64(rows, 7) == 0)
		strlcpy(x->odd_type, db_text(rows, 5), sizeof(x->odd_type));
	/* One answer for all columns: Pillar's are all TIMESTAMP(0). */
	if (digits != NULL && digits[0] == '0' &&
	    x->part->since == PROFILE_PILLAR && x->part->table != T_EVENTS)
		s->whole_seconds = true;
}

static void
mark_column(struct store *s, const struct db_rows *rows, struct needed *k)
{
	const char	*table = db_text(rows, 0), *name = db_text(rows, 1);

	for (size_t i = 0; i < NMARKS; i++)
		if (strcmp(s->tables[T_PARTITIONS], table) == 0 &&
		    strcasecmp(marks[i], name) == 0)
			k->nmarks++;
	store_mark_there(s, table, name);
	/* Bytes that were kept elsewhere go back into it as what they were. */
	if (strcmp(s->tables[T_EVENTS], table) == 0 &&
	    strcasecmp(store_column_name(s, "event_data"), name) == 0)
		s->payload_is_text = db_nullable(rows, 3) != NULL ||
		    strcasecmp(db_text(rows, 5), "json") == 0;
	mark_stamped(s, rows);
	store_learn_fit(s, table, name, db_nullable(rows, 3), db_u64(rows, 4));
	for (enum store_table t = 0; t < NTABLES; t++)
		if (strcmp(s->tables[t], table) == 0)
			s->exists[t] = true;
	for (size_t i = 0; i < k->n; i++)
		if (strcmp(s->tables[k->items[i].part->table], table) == 0 &&
		    strcasecmp(k->items[i].name, name) == 0)
			mark_needed(s, rows, &k->items[i]);
}

/* Is something missing of what is there since this profile? */
static const struct item *
lacking(const struct needed *k, unsigned since)
{
	for (size_t i = 0; i < k->n; i++)
		if (k->items[i].part->since == since && !k->items[i].found)
			return &k->items[i];
	return NULL;
}

/* Without the first four nothing works, and they may be of others. */
static int
check_pillar(const struct store *s, const struct needed *k, struct err *e)
{
	const struct item	*x = lacking(k, PROFILE_PILLAR);

	for (enum store_table t = 0; t <= T_WORKERS; t++)
		if (!s->exists[t])
			return err_set(e, "schema: table %s.%s is missing or "
			    "not granted: outboxctl setup --no-event creates "
			    "and grants", s->conf->mysql.database,
			    s->tables[t]);
	if (x != NULL)
		return err_set(e, "schema: column %s.%s is missing or not "
		    "granted: run outboxctl schema check",
		    s->tables[x->part->table], x->name);
	for (x = k->items; x < k->items + k->n; x++)
		if (x->odd_type[0] != '\0')
			return err_set(e, "schema: column %s.%s is %s, and the "
			    "order needs a whole number: run outboxctl schema "
			    "check", s->tables[x->part->table], x->name,
			    x->odd_type);
	return 0;
}

static void
refuse(const struct store *s, const struct item *x, struct err *e)
{
	const char	*table = s->tables[x->part->table];

	if (s->exists[x->part->table])
		err_set(e, "schema: column %s.%s is missing or not granted: "
		    "run outboxctl schema upgrade", table, x->name);
	else
		err_set(e, "schema: table %s.%s is missing or not granted: "
		    "run outboxctl schema upgrade; outboxctl setup --no-event "
		    "also grants it", s->conf->mysql.database, table);
}

/*
 * A database with none of our tables is Pillar's.  One with some of them is or
 * was more, and has rows that the others explain.  What was no more than
 * Pillar's while it was served has no such rows yet; one that was refused may
 * have, as when rights are given one after the other.
 */
static int
learn_profile(struct store *s, const struct needed *k, struct err *e)
{
	const struct item	*x = lacking(k, PROFILE_BEFORE);

	s->profile = PROFILE_PILLAR;
	for (enum store_table t = T_SETTINGS; t <= T_STREAMS; t++)
		if (s->exists[t])
			s->profile = lacking(k, PROFILE_FULL) == NULL ?
			    PROFILE_FULL : PROFILE_BEFORE;
	if (check_pillar(s, k, e) < 0)
		return -1;
	if (store_is_pillar(s) || x == NULL) {
		s->was_pillar = store_is_pillar(s);
		return 0;
	}
	refuse(s, x, e);
	if (!s->was_pillar)
		return -1;
	s->profile = PROFILE_PILLAR;
	log_warn("%s", e->text);
	return 0;
}

int
store_learn_columns(struct store *s, struct err *e)
{
	struct needed	 needed = { .n = 0 };
	struct db_rows	*rows;

	for (const struct part *p = parts; p < parts + NPARTS; p++)
		if (is_used(s, p))
			need_all(&needed, s, p);
	store_sql(s, "SELECT table_name, column_name, datetime_precision, "
	    "character_set_name, character_maximum_length, data_type, "
	    "column_default, COALESCE(numeric_scale = 0, 0) "
	    "FROM information_schema.columns "
	    "WHERE table_schema = DATABASE() AND table_name IN (");
	store_put_labels(s, s->tables, NTABLES);
	buf_str(&s->sql, ")");
	if ((rows = store_query(s, "schema", e)) == NULL)
		return -1;
	memset(s->exists, 0, sizeof(s->exists));
	memset(s->fits, 0, sizeof(s->fits));
	s->whole_seconds = false;
	memset(s->stamped, 0, sizeof(s->stamped));
	store_forget_columns(s);
	while (db_next(rows))
		mark_column(s, rows, &needed);
	db_rows_free(rows);
	s->marked = needed.nmarks == NMARKS;
	return learn_profile(s, &needed, e);
}

static void
warn_of_column(const struct store *s, const struct cost *x)
{
	const char	*table = s->tables[T_OUTBOX];
	const char	*column = store_column_name(s, x->word);
	struct buf	 sql = { 0 };

	buf_str(&sql, "ALTER TABLE ");
	db_name(&sql, table);
	buf_str(&sql, " ADD COLUMN ");
	db_name(&sql, column);
	log_warn("%s: no column %s: %s; remedy: %s %s", table, column,
	    x->cost, sql.data, x->type);
	buf_free(&sql);
}

/* What is lost without it. */
static void
warn_of_missing(const struct store *s)
{
	for (size_t i = 0; i < NCOSTS; i++)
		if (column_costs[i].type != NULL &&
		    !store_has_word(s, column_costs[i].word))
			warn_of_column(s, &column_costs[i]);
	for (enum store_table t = T_DEAD; t <= T_STREAMS; t++)
		if (!s->exists[t])
			log_warn("%s: no such table: %s; outboxctl setup "
			    "--no-event creates it", s->tables[t],
			    table_costs[t]);
}

int
store_learn(struct store *s, struct err *e)
{
	if (store_learn_columns(s, e) < 0 || store_learn_unstable(s, e) < 0 ||
	    store_learn_indexes(s, e) < 0)
		return -1;
	if (store_is_pillar(s) && s->conf->retry.on_dead == DEAD_HALT)
		return err_set(e, "schema: retry.on_dead: halt needs the table "
		    "%s: outboxctl setup --no-event creates it",
		    s->tables[T_BLOCKED]);
	warn_of_missing(s);
	s->learned_at = clock_ms();
	return 0;
}

int
store_learn_again(struct store *s, struct err *e)
{
	return clock_ms() - s->learned_at < LEARN_AGAIN_MS ? 0 :
	    store_learn(s, e);
}

static bool
has_lease_label(const struct lease *leases, size_t n, const char *label)
{
	for (size_t i = 0; i < n; i++)
		if (strcmp(leases[i].label, label) == 0)
			return true;
	return false;
}

int
store_fill_declared(struct store *s, const struct counts *c, struct err *e)
{
	struct store_view	 v;
	unsigned		 missing = 0;
	char			 label[16];

	/* Read first: an INSERT, even an ignored one, waits for claims. */
	if (store_view(s, NULL, &v, e) < 0)
		return -1;
	store_sql(s, "INSERT IGNORE INTO {partitions} (partition_key) VALUES ");
	if (c->nformer > 0 && counts_have(c, 1) &&
	    !has_lease_label(v.leases, v.nleases, "")) {
		buf_str(&s->sql, "('')");
		missing++;
	}
	for (unsigned i = 0; i < counts_max(c); i++) {
		snprintf(label, sizeof(label), "p%02u", i);
		if (has_lease_label(v.leases, v.nleases, label))
			continue;
		store_put_comma(s);
		buf_str(&s->sql, "(");
		store_put_text(s, label);
		buf_str(&s->sql, ")");
		missing++;
	}
	store_view_free(&v);
	return missing == 0 ? 0 : store_exec(s, "partitions", NULL, e);
}
