/*
 * store_schema.c - which tables, columns and indexes the database has
 *
 * The tables may be an application's own.  A missing part that the protocol
 * needs is an error that names it.  An optional one is a warning with the
 * remedy, once per connection.
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

/* Columns that the statements need, by table; NULL ends a list. */
#define COLUMNS_MAX	32	/* more than any list has */

static const char *const columns[NTABLES][COLUMNS_MAX] = {
	[T_OUTBOX] = {
		"global_sequence", "attempts", "available_at", "published_at",
		"partition_key", "claim_token", "last_error"
	},
	[T_EVENTS] = {
		"sequence", "stream_id", "stream_sequence", "correlation_id",
		"event_type", "event_version", "metadata", "event_data",
		"occurred_at"
	},
	[T_PARTITIONS] = {
		"partition_key", "lease_owner", "lease_until", "lease_epoch",
		"updated_at"
	},
	[T_WORKERS] = {
		"id", "hostname", "pid", "started_at", "updated_at",
		"heartbeat_until"
	},
	[T_SETTINGS] = {
		"schema_version", "outbox_id", "partition_count",
		"former_counts", "counts_since", "reconcile_watermark"
	},
	[T_DEAD] = {
		"global_sequence", "partition_key", "order_key", "event_type",
		"attempts", "reason", "last_error", "created_at", "died_at",
		"replay_no"
	},
	[T_BLOCKED] = {
		"first_sequence", "partition_key", "order_key", "reason",
		"head_sequence", "since"
	},
	[T_STREAMS] = {
		"name", "created", "prefix", "servers", "known_since",
		"checked_at", "checker", "checker_since", "checker_until",
		"database_server", "database_started", "tail_sequence",
		"tail_at", "first_sequence", "phantoms", "phantom_first",
		"phantom_last", "phantom_at", "lost", "lost_first",
		"lost_last", "lost_at", "alarm", "alarm_at"
	},
	[T_AUDIT] = {
		"id", "at", "login", "unix_user", "command", "arguments",
		"changed"
	},
	[T_REGISTRY] = { "name", "source", "settings", "destination" },
};

/* What a table of mode inline must have besides: the rest may be NULL. */
static const char *const needed_inline[] = {
	"sequence", "event_type", "event_data", NULL
};

/* Dead letters of mode inline have all of a message. */
static const char *const whole_letter[] = {
	"message_id", "headers", "payload", "content_type", "scheduled_at",
	NULL
};

/* The cost if a table of mode inline lacks one of the others. */
static const struct {
	const char	*word, *cost;
} costs_inline[] = {
	{ "stream_id", "no message waits for another: there is no order" },
	{ "message_id", "messages have ids of the daemon, and nothing keeps an "
	  "INSERT from being repeated" },
	{ "metadata", "messages have no headers of their own" },
	{ "content_type", "messages have no Content-Type" },
	{ "scheduled_at", "no message can be scheduled" },
};

#define COST_OF_AUDIT \
	"acknowledged messages that the broker loses are not found"
#define COST_OF_FAN_OUT "no other outbox can take the same events"

/*
 * Optional columns: those that an application's own tables may lack.  Those
 * with a type are warned of at each connect, the others only when something
 * needs them.
 */
static const struct extra {
	enum store_table table;
	const char	*name;
	const char	*cost;		/* of its absence; NULL: none */
	const char	*type;
} extras[NOPTIONAL] = {
	[COL_CREATED_AT] = { T_OUTBOX, "created_at", NULL, NULL },
	[COL_ACK_SEQUENCE] = { T_OUTBOX, "ack_sequence",
	  COST_OF_AUDIT, "BIGINT UNSIGNED NULL DEFAULT NULL" },
	[COL_MESSAGE_HASH] = { T_OUTBOX, "message_hash",
	  "a delivered row and its message are compared by sequence alone, "
	  "and after a failover or a restore sequences are used again",
	  "BIGINT UNSIGNED NULL DEFAULT NULL" },
	[COL_REPLAY_NO] = { T_OUTBOX, "replay_no", NULL, NULL },
	[COL_IN_DOUBT_SINCE] = { T_OUTBOX, "in_doubt_since",
	  "a message whose ack was lost is stored twice if it is sent again "
	  "later than the stream's duplicate window",
	  "TIMESTAMP(6) NULL DEFAULT NULL" },
	/* Only tables of a former version have these three. */
	[COL_LEASE_IN_DOUBT_SINCE] = { T_PARTITIONS, "in_doubt_since",
	  NULL, NULL },
	[COL_LEASE_IN_DOUBT_UPTO] = { T_PARTITIONS, "in_doubt_upto",
	  NULL, NULL },
	[COL_LEASE_IN_DOUBT_EPOCH] = { T_PARTITIONS, "in_doubt_epoch",
	  NULL, NULL },
	[COL_FORMER_LABEL_AT] = { T_PARTITIONS, "former_label_at",
	  "outboxctl partitions sync --finish cannot tell whether a producer "
	  "still uses a former count", NULL },
	[COL_SCRUB] = { T_STREAMS, "accepted",
	  "a history that was checked once is not read again, so messages that "
	  "the broker loses later are not found", NULL },
	[COL_PARTITION_BY] = { T_SETTINGS, "partition_by",
	  "outbox.partition_by cannot be used", NULL },
	[COL_FAN_OUT] = { T_SETTINGS, "fan_out", COST_OF_FAN_OUT, NULL },
	[COL_TYPES] = { T_SETTINGS, "types", COST_OF_FAN_OUT, NULL },
};

/* The cost of a missing table; NULL: it must not be missing. */
static const char *const costs[NTABLES] = {
	[T_SETTINGS] = ("outbox_enqueue() fails, producers and hosts cannot "
	    "share a partition count, and message ids begin with the name of "
	    "the database"),
	[T_DEAD] = "messages that cannot be delivered are retried for ever",
	[T_BLOCKED] = ("rows that wait behind a failed message are read again "
	    "on every tick"),
	[T_STREAMS] = COST_OF_AUDIT,
	[T_AUDIT] = "changes made with outboxctl are not recorded",
	[T_REGISTRY] = COST_OF_FAN_OUT,
};

const char *
store_cost_of_table(enum store_table t)
{
	return costs[t];
}

/* Only the outbox and the events may have other names for columns. */
static const char *
name_of(const struct store *s, enum store_table t, const char *column)
{
	return t == T_OUTBOX || t == T_EVENTS ?
	    store_column_name(s, column) : column;
}

static bool
is_one_of(const char *const *list, const char *name)
{
	for (; *list != NULL; list++)
		if (strcasecmp(*list, name) == 0)
			return true;
	return false;
}

/* Must the table have this column? */
static bool
is_needed(const struct store *s, enum store_table t, const char *word)
{
	if (!store_is_inline(s))
		return is_one_of(columns[t], word);
	if (t == T_DEAD && is_one_of(whole_letter, word))
		return true;
	/* One table is both. */
	if (t == T_OUTBOX && is_one_of(needed_inline, word))
		return true;
	return t == T_EVENTS ? is_one_of(needed_inline, word) :
	    is_one_of(columns[t], word);
}

const char *
store_cost_of_column(const struct store *s, enum store_table t,
    const char *name)
{
	const char	*word = t == T_OUTBOX || t == T_EVENTS ?
			    store_column_word(s, t, name) : name;

	if (is_needed(s, t, word))
		return NULL;
	for (size_t i = 0; i < NOPTIONAL; i++)
		if (extras[i].table == t && extras[i].cost != NULL &&
		    strcasecmp(extras[i].name, word) == 0)
			return extras[i].cost;
	for (size_t i = 0; store_is_inline(s) &&
	    i < sizeof(costs_inline) / sizeof(costs_inline[0]); i++)
		if (strcmp(costs_inline[i].word, word) == 0)
			return costs_inline[i].cost;
	return "";
}

/* One answer for all columns: Pillar's are all TIMESTAMP(0). */
static void
mark_precision(struct store *s, enum store_table t, const char *name,
    const char *precision)
{
	if (precision == NULL || precision[0] != '0' || t > T_WORKERS ||
	    t == T_EVENTS)
		return;
	for (size_t i = 0; columns[t][i] != NULL; i++)
		if (strcasecmp(name_of(s, t, columns[t][i]), name) == 0)
			s->whole_seconds = true;
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
	struct {
		enum store_table table;
		const char	*name;
		bool		 found;
		bool		 order;		/* it must be a number */
		char		 odd_type[64];	/* and is this; "": it is one */
	} items[NTABLES * COLUMNS_MAX];
	size_t	n;
};

static void
need_all(struct needed *k, const struct store *s, enum store_table t,
    const char *const *list)
{
	for (; *list != NULL; list++) {
		if (!is_needed(s, t, *list))
			continue;
		k->items[k->n].table = t;
		k->items[k->n].found = false;
		/* It stands without quotes, and texts equal several. */
		k->items[k->n].order = strcmp(*list, t == T_EVENTS ?
		    "sequence" : "global_sequence") == 0;
		k->items[k->n].odd_type[0] = '\0';
		k->items[k->n++].name = name_of(s, t, *list);
	}
}

static void
mark_column(struct store *s, const struct db_rows *rows, struct needed *k)
{
	const char	*table = db_text(rows, 0), *name = db_text(rows, 1);

	for (size_t i = 0; i < NOPTIONAL; i++)
		if (strcmp(s->tables[extras[i].table], table) == 0 &&
		    strcasecmp(name, name_of(s, extras[i].table,
		    extras[i].name)) == 0)
			s->columns[i] = true;
	store_mark_there(s, table, name);
	/* Bytes that were kept elsewhere go back into it as what they were. */
	if (strcmp(s->tables[T_EVENTS], table) == 0 &&
	    strcasecmp(store_column_name(s, "event_data"), name) == 0)
		s->payload_is_text = db_nullable(rows, 3) != NULL ||
		    strcasecmp(db_text(rows, 5), "json") == 0;
	mark_stamped(s, rows);
	store_learn_fit(s, table, name, db_nullable(rows, 3), db_u64(rows, 4));
	for (enum store_table t = 0; t < NTABLES; t++) {
		if (strcmp(s->tables[t], table) != 0)
			continue;
		s->exists[t] = true;
		mark_precision(s, t, name, db_nullable(rows, 2));
	}
	for (size_t i = 0; i < k->n; i++)
		if (strcmp(s->tables[k->items[i].table], table) == 0 &&
		    strcasecmp(k->items[i].name, name) == 0) {
			k->items[i].found = true;
			if (k->items[i].order && db_u64(rows, 7) == 0)
				strlcpy(k->items[i].odd_type, db_text(rows, 5),
				    sizeof(k->items[i].odd_type));
		}
}

static int
check_columns(const struct store *s, const struct needed *k, struct err *e)
{
	for (enum store_table t = 0; t < NTABLES; t++)
		if (!s->exists[t] && costs[t] == NULL)
			return err_set(e, "schema: table %s.%s is missing or "
			    "not granted: outboxctl setup --no-event creates "
			    "and grants", s->conf->mysql.database,
			    s->tables[t]);
	for (size_t i = 0; i < k->n; i++) {
		const char *table = s->tables[k->items[i].table];

		if (s->exists[k->items[i].table] && !k->items[i].found)
			return err_set(e, "schema: column %s.%s is "
			    "missing or not granted: run outboxctl schema "
			    "check", table, k->items[i].name);
		if (k->items[i].odd_type[0] != '\0')
			return err_set(e, "schema: column %s.%s is %s, and the "
			    "order needs a whole number: run outboxctl schema "
			    "check", table, k->items[i].name,
			    k->items[i].odd_type);
	}
	return 0;
}

static int
learn_columns(struct store *s, struct err *e)
{
	struct needed	 needed;
	struct db_rows	*rows;

	needed.n = 0;
	for (enum store_table t = 0; t < NTABLES; t++) {
		assert(columns[t][COLUMNS_MAX - 1] == NULL);
		need_all(&needed, s, t, columns[t]);
	}
	if (store_is_inline(s))
		need_all(&needed, s, T_DEAD, whole_letter);
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
	memset(s->columns, 0, sizeof(s->columns));
	store_forget_columns(s);
	while (db_next(rows))
		mark_column(s, rows, &needed);
	db_rows_free(rows);
	return check_columns(s, &needed, e);
}

static void
warn_of_extra(const struct store *s, const struct extra *x)
{
	const char	*table = s->tables[x->table];
	const char	*column = name_of(s, x->table, x->name);
	struct buf	 sql = { 0 };

	buf_str(&sql, "ALTER TABLE ");
	db_name(&sql, table);
	buf_str(&sql, " ADD COLUMN ");
	db_name(&sql, column);
	log_warn("%s: no column %s: %s; remedy: %s %s", table, column,
	    x->cost, sql.data, x->type);
	buf_free(&sql);
}

static void
warn_of_table(struct store *s, enum store_table t)
{
	if (!s->exists[t])
		log_warn("%s: no such table: %s; outboxctl setup --no-event "
		    "creates it", s->tables[t], costs[t]);
}

int
store_learn(struct store *s, struct err *e)
{
	if (learn_columns(s, e) < 0 || store_learn_unstable(s, e) < 0 ||
	    store_learn_indexes(s, e) < 0)
		return -1;
	for (size_t i = 0; i < NOPTIONAL; i++)
		if (!s->columns[i] && extras[i].type != NULL)
			warn_of_extra(s, &extras[i]);
	if (!s->exists[T_BLOCKED] && s->conf->retry.on_dead == DEAD_HALT)
		return err_set(e, "schema: retry.on_dead: halt needs the table "
		    "%s: outboxctl setup --no-event creates it",
		    s->tables[T_BLOCKED]);
	warn_of_table(s, T_DEAD);
	warn_of_table(s, T_BLOCKED);
	warn_of_table(s, T_STREAMS);
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
