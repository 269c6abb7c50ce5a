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
		"missing_at", "holes", "accepted", "server_since",
		"rival", "rival_at"
	} },
	{ T_WORKERS, PROFILE_FULL, EITHER, { "instance", "server", "away" } },
	{ T_AUDIT, OUTBOXCTL_ALONE, EITHER, {
		"id", "at", "login", "unix_user", "command", "arguments",
		"changed"
	} },
	{ T_REGISTRY, OUTBOXCTL_ALONE, EITHER, {
		"name", "source", "settings", "destination"
	} },
};

#define NPARTS	(sizeof(parts) / sizeof(parts[0]))

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

static bool
is_used(const struct store *s, const struct part *p)
{
	return p->mode == EITHER ||
	    (p->mode == INLINE) == store_is_inline(s);
}

const char *
store_cost_of_column(const struct store *s, enum store_table t,
    const char *name, bool pillar)
{
	const char		*word = t == T_OUTBOX || t == T_EVENTS ?
				    store_column_word(s, t, name) : name;
	const struct part	*p = NULL;

	/* Since when is it needed?  With outbox.mode: inline a table is two. */
	for (const struct part *x = parts; x < parts + NPARTS && p == NULL;
	    x++) {
		if (strcmp(s->tables[x->table], s->tables[t]) != 0 ||
		    !is_used(s, x))
			continue;
		for (size_t i = 0; x->columns[i] != NULL; i++)
			if (strcasecmp(x->columns[i], word) == 0)
				p = x;
	}
	if (p != NULL && p->since == PROFILE_FULL && t == T_WORKERS)
		return "a worker that reaches no destination keeps its "
		    "partitions, and hosts do not say which server they use";
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
};

/* A column that there is. */
static void
mark_column(struct store *s, const struct db_rows *rows, struct needed *k)
{
	static const char *const	 times[] = { "available_at",
					    "created_at" };
	const char			*table = db_text(rows, 0);
	const char			*name = db_text(rows, 1);
	const char			*digits = db_nullable(rows, 2);
	bool				 stamped;

	store_mark_there(s, table, name);
	store_learn_fit(s, table, name, db_nullable(rows, 3), db_u64(rows, 4));
	for (enum store_table t = 0; t < NTABLES; t++)
		if (strcmp(s->tables[t], table) == 0)
			s->exists[t] = true;

	/* Bytes that were kept elsewhere go back into it as what they were. */
	if (strcmp(s->tables[T_EVENTS], table) == 0 &&
	    strcasecmp(store_column_name(s, "event_data"), name) == 0)
		s->payload_is_text = db_nullable(rows, 3) != NULL ||
		    strcasecmp(db_text(rows, 5), "json") == 0;
	if (strcmp(s->tables[T_EVENTS], table) == 0 &&
	    strcasecmp(store_column_name(s, "occurred_at"), name) == 0)
		s->has_local_times = strcasecmp(db_text(rows, 5),
		    "datetime") == 0;

	/* Does the server write it, with how many digits? */
	stamped = strcmp(s->tables[T_OUTBOX], table) == 0 &&
	    strncasecmp(db_text(rows, 6), "current_timestamp", 17) == 0;
	for (size_t i = 0; stamped && i < 2; i++)
		if (strcasecmp(store_column_name(s, times[i]), name) == 0)
			s->stamped[i] = db_text(rows, 2)[0];

	for (struct item *x = k->items; x < k->items + k->n; x++) {
		if (strcmp(s->tables[x->part->table], table) != 0 ||
		    strcasecmp(x->name, name) != 0)
			continue;
		x->found = true;
		if (x->order && db_u64(rows, 7) == 0)
			strlcpy(x->odd_type, db_text(rows, 5),
			    sizeof(x->odd_type));
		/* One answer for all columns: Pillar's are TIMESTAMP(0). */
		if (digits != NULL && digits[0] == '0' &&
		    x->part->since == PROFILE_PILLAR &&
		    x->part->table != T_EVENTS)
			s->whole_seconds = true;
	}
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

/*
 * A database with none of our tables is Pillar's.  If some are there, or if all
 * were when this store connected before, it may have rows that only the missing
 * tables explain: it is refused.  A store that has served it as Pillar's goes on
 * while the tables are made, as no such row can be there yet.  A store that was
 * refused has served nothing, as when rights are given one after the other.
 */
static int
learn_profile(struct store *s, const struct needed *k, struct err *e)
{
	const struct item	*x = lacking(k, PROFILE_BEFORE);
	bool			 ours = s->served == SERVED_ALL;
	const char		*table;

	for (enum store_table t = T_SETTINGS; t <= T_STREAMS; t++)
		ours = ours || s->exists[t];
	s->profile = !ours ? PROFILE_PILLAR :
	    lacking(k, PROFILE_FULL) == NULL ? PROFILE_FULL : PROFILE_BEFORE;
	if (check_pillar(s, k, e) < 0)
		return -1;
	if (!ours || x == NULL)
		return 0;
	table = s->tables[x->part->table];
	if (s->exists[x->part->table])
		err_set(e, "schema: column %s.%s is missing or not granted: "
		    "run outboxctl schema upgrade", table, x->name);
	else
		err_set(e, "schema: table %s.%s is missing or not granted: "
		    "run outboxctl schema upgrade; outboxctl setup --no-event "
		    "also grants it", s->conf->mysql.database, table);
	if (s->learnt != SERVED_PILLAR)
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
		for (size_t i = 0; is_used(s, p) && p->columns[i] != NULL;
		    i++) {
			const char	*word = p->columns[i];
			struct item	*x = &needed.items[needed.n++];

			assert(i + 1 < COLUMNS_MAX);
			/* Only these two may have other names for columns. */
			*x = (struct item){ .part = p, .name =
			    p->table == T_OUTBOX || p->table == T_EVENTS ?
			    store_column_name(s, word) : word };
			/* It stands without quotes, and texts equal several. */
			x->order = strcmp(word, p->table == T_EVENTS ?
			    "sequence" : "global_sequence") == 0;
		}
	store_sql(s, "SELECT table_name, column_name, datetime_precision, "
	    "character_set_name, character_maximum_length, data_type, "
	    "column_default, COALESCE(numeric_scale = 0, 0) "
	    "FROM information_schema.columns "
	    "WHERE table_schema = DATABASE() AND table_name IN (:tables)",
	    SQL_LABELS("tables", s->tables, NTABLES));
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
	return learn_profile(s, &needed, e);
}

/*
 * Pillar parks no row, and none waits there for its own time: where rows have
 * such labels, our tables were there, and know what these rows wait for.
 */
static int
refuse_parked(struct store *s, struct err *e)
{
	char	label[STORE_LABEL];

	store_sql(s, "SELECT {partition_key} FROM {outbox} {index} "
	    "WHERE {published_at} IS NULL AND " PARKED_RANGE("{partition_key}")
	    " AND (" PARKED_IS("{partition_key}")
	    " OR {partition_key} LIKE '!@%') LIMIT 1");
	if (store_query_text(s, "schema", label, sizeof(label), e) < 0)
		return -1;
	if (label[0] == '\0')
		return 0;
	s->profile = PROFILE_BEFORE;
	return err_set(e, "schema: table %s.%s is missing or not granted, and "
	    "rows of %s wait under labels such as %s, which rows get where it "
	    "is: restore it, or run outboxctl schema upgrade; outboxctl setup "
	    "--no-event also grants it", s->conf->mysql.database,
	    s->tables[T_BLOCKED], s->tables[T_OUTBOX], label);
}

int
store_learn(struct store *s, struct err *e)
{
	const char	*table = s->tables[T_OUTBOX], *column;
	struct buf	 sql = { 0 };
	bool		 pillar;

	if (store_learn_columns(s, e) < 0 || store_learn_unstable(s, e) < 0 ||
	    store_learn_indexes(s, e) < 0)
		return -1;
	pillar = store_is_pillar(s);
	if (pillar && s->conf->retry.on_dead == DEAD_HALT)
		return err_set(e, "schema: retry.on_dead: halt needs the table "
		    "%s: outboxctl setup --no-event creates it",
		    s->tables[T_BLOCKED]);
	if (pillar && refuse_parked(s, e) < 0)
		return -1;
	/* What is lost without a column or a table. */
	for (const struct cost *x = column_costs; x < column_costs + NCOSTS;
	    x++) {
		if (x->type == NULL || store_has_word(s, x->word))
			continue;
		column = store_column_name(s, x->word);
		buf_clear(&sql);
		buf_str(&sql, "ALTER TABLE ");
		db_name(&sql, table);
		buf_str(&sql, " ADD COLUMN ");
		db_name(&sql, column);
		log_warn("%s: no column %s: %s; remedy: %s %s", table, column,
		    x->cost, sql.data, x->type);
	}
	buf_free(&sql);
	for (enum store_table t = T_DEAD; t <= T_STREAMS; t++)
		if (!s->exists[t])
			log_warn("%s: no such table: %s; outboxctl setup "
			    "--no-event creates it", s->tables[t],
			    table_costs[t]);
	s->learnt = pillar ? SERVED_PILLAR : SERVED_ALL;
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
	if (store_view(s, &v, e) < 0)
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
