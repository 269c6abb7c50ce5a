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

#include "util/log.h"

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
};

#define COST_OF_IN_DOUBT_MARKS "a message waits until its claim is on disk"
#define COST_OF_AUDIT \
	"acknowledged messages that the broker loses are not found"

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
	[COL_LEASE_IN_DOUBT_SINCE] = { T_PARTITIONS, "in_doubt_since",
	  COST_OF_IN_DOUBT_MARKS, NULL },
	[COL_LEASE_IN_DOUBT_UPTO] = { T_PARTITIONS, "in_doubt_upto",
	  COST_OF_IN_DOUBT_MARKS, NULL },
	[COL_LEASE_IN_DOUBT_EPOCH] = { T_PARTITIONS, "in_doubt_epoch",
	  COST_OF_IN_DOUBT_MARKS, NULL },
	[COL_FORMER_LABEL_AT] = { T_PARTITIONS, "former_label_at",
	  "outboxctl partitions sync --finish cannot tell whether a producer "
	  "still uses a former count", NULL },
};

/* The cost of a missing table; NULL: it must not be missing. */
static const char *const costs[NTABLES] = {
	[T_SETTINGS] = "producers and hosts cannot share a partition count, "
	    "and message ids begin with the name of the database",
	[T_DEAD] = "messages that cannot be delivered are retried for ever",
	[T_BLOCKED] = "rows that wait behind a failed message are read again "
	    "on every tick",
	[T_STREAMS] = COST_OF_AUDIT,
	[T_AUDIT] = "changes made with outboxctl are not recorded",
};

const char *
store_cost_of_table(enum store_table t)
{
	return costs[t];
}

const char *
store_cost_of_column(enum store_table t, const char *name)
{
	for (size_t i = 0; columns[t][i] != NULL; i++)
		if (strcasecmp(columns[t][i], name) == 0)
			return NULL;
	for (size_t i = 0; i < NOPTIONAL; i++)
		if (extras[i].table == t && extras[i].cost != NULL &&
		    strcasecmp(extras[i].name, name) == 0)
			return extras[i].cost;
	return "";
}

static void
mark_extra(struct store *s, const char *table, const char *name)
{
	for (size_t i = 0; i < NOPTIONAL; i++)
		if (strcmp(s->tables[extras[i].table], table) == 0 &&
		    strcasecmp(name, extras[i].name) == 0)
			s->columns[i] = true;
}

static void
mark_needed(struct store *s, enum store_table t, const char *name,
    const char *precision, bool found[COLUMNS_MAX])
{
	s->exists[t] = true;
	for (size_t i = 0; columns[t][i] != NULL; i++) {
		if (strcasecmp(columns[t][i], name) != 0)
			continue;
		found[i] = true;
		/* One answer for all columns: Pillar's are all TIMESTAMP(0). */
		if (precision != NULL && precision[0] == '0' &&
		    t <= T_WORKERS && t != T_EVENTS)
			s->whole_seconds = true;
	}
}

static void
mark_column(struct store *s, const struct db_rows *rows,
    bool found[NTABLES][COLUMNS_MAX])
{
	const char	*table = db_text(rows, 0), *name = db_text(rows, 1);

	mark_extra(s, table, name);
	store_learn_fit(s, table, name, db_nullable(rows, 3), db_u64(rows, 4));
	for (enum store_table t = 0; t < NTABLES; t++)
		if (strcmp(s->tables[t], table) == 0)
			mark_needed(s, t, name, db_nullable(rows, 2), found[t]);
}

static int
check_columns(const struct store *s, bool found[NTABLES][COLUMNS_MAX],
    struct err *e)
{
	for (enum store_table t = 0; t < NTABLES; t++)
		if (!s->exists[t] && costs[t] == NULL)
			return err_set(e, "schema: table %s.%s is missing or "
			    "not granted: load sql/schema.sql and "
			    "sql/grants.sql", s->conf->mysql.database,
			    s->tables[t]);
	for (enum store_table t = 0; t < NTABLES; t++)
		for (size_t i = 0; s->exists[t] && columns[t][i] != NULL; i++)
			if (!found[t][i])
				return err_set(e, "schema: column %s.%s is "
				    "missing or not granted: see "
				    "sql/schema.sql and sql/grants.sql",
				    s->tables[t], columns[t][i]);
	return 0;
}

static int
learn_columns(struct store *s, struct err *e)
{
	bool		 found[NTABLES][COLUMNS_MAX] = { { false } };
	struct db_rows	*rows;

	for (enum store_table t = 0; t < NTABLES; t++)
		assert(columns[t][COLUMNS_MAX - 1] == NULL);
	store_sql(s, "SELECT table_name, column_name, datetime_precision, "
	    "character_set_name, character_maximum_length "
	    "FROM information_schema.columns "
	    "WHERE table_schema = DATABASE() AND table_name IN (");
	store_put_labels(s, s->tables, NTABLES);
	buf_str(&s->sql, ")");
	if ((rows = store_query(s, "schema", e)) == NULL)
		return -1;
	memset(s->exists, 0, sizeof(s->exists));
	memset(s->fits, 0, sizeof(s->fits));
	s->whole_seconds = false;
	memset(s->columns, 0, sizeof(s->columns));
	while (db_next(rows))
		mark_column(s, rows, found);
	db_rows_free(rows);
	return check_columns(s, found, e);
}

/*
 * The claim's index: an equality on (published_at, partition_key) in either
 * order, then global_sequence, which InnoDB appends if it is the key's end.
 */
static const char *const claim_indexes[] = {
	"published_at,partition_key,global_sequence",
	"partition_key,published_at,global_sequence",
	"published_at,partition_key", "partition_key,published_at",
};

#define NCLAIMS		(sizeof(claim_indexes) / sizeof(claim_indexes[0]))

bool
store_is_claim_index(const char *names)
{
	for (size_t i = 0; i < NCLAIMS; i++)
		if (strcasecmp(claim_indexes[i], names) == 0)
			return true;
	return false;
}

static int
learn_index(struct store *s, struct err *e)
{
	struct db_rows	*rows;

	store_sql(s, "SELECT index_name, GROUP_CONCAT(column_name "
	    "ORDER BY seq_in_index) AS cols FROM information_schema.statistics "
	    "WHERE table_schema = DATABASE() AND table_name = '");
	buf_printf(&s->sql, "%s' GROUP BY index_name HAVING cols IN (",
	    s->tables[T_OUTBOX]);
	store_put_labels(s, claim_indexes, NCLAIMS);
	buf_str(&s->sql, ") ORDER BY cols DESC LIMIT 1");
	if ((rows = store_query(s, "schema", e)) == NULL)
		return -1;
	s->index[0] = '\0';
	s->index_by_time = false;
	if (db_next(rows)) {
		strlcpy(s->index, db_text(rows, 0), sizeof(s->index));
		s->index_by_time = db_text(rows, 1)[1] == 'u';
	} else
		log_warn("%s: no index (published_at, partition_key, "
		    "global_sequence): every claim sorts the backlog; remedy: "
		    "ALTER TABLE %s ADD KEY outbox_claim (published_at, "
		    "partition_key, global_sequence)", s->tables[T_OUTBOX],
		    s->tables[T_OUTBOX]);
	db_rows_free(rows);
	return 0;
}

enum store_index
store_index(const struct store *s)
{
	if (s->index[0] == '\0')
		return INDEX_NONE;
	return s->index_by_time ? INDEX_BY_TIME : INDEX_BY_LABEL;
}

const char *
store_index_name(const struct store *s)
{
	return s->index;
}

static void
warn_of_extras(struct store *s)
{
	for (size_t i = 0; i < NOPTIONAL; i++) {
		const char *table = s->tables[extras[i].table];

		if (!s->columns[i] && extras[i].type != NULL)
			log_warn("%s: no column %s: %s; remedy: ALTER TABLE %s "
			    "ADD COLUMN %s %s", table, extras[i].name,
			    extras[i].cost, table, extras[i].name,
			    extras[i].type);
	}
}

static void
warn_of_table(struct store *s, enum store_table t)
{
	if (!s->exists[t])
		log_warn("%s: no such table: %s; load sql/schema.sql and "
		    "sql/grants.sql", s->tables[t], costs[t]);
}

int
store_learn(struct store *s, struct err *e)
{
	if (learn_columns(s, e) < 0 || learn_index(s, e) < 0)
		return -1;
	warn_of_extras(s);
	if (!s->exists[T_BLOCKED] && s->conf->retry.on_dead == DEAD_HALT)
		return err_set(e, "schema: retry.on_dead: halt needs the table "
		    "%s: load sql/schema.sql and sql/grants.sql",
		    s->tables[T_BLOCKED]);
	warn_of_table(s, T_DEAD);
	warn_of_table(s, T_BLOCKED);
	warn_of_table(s, T_STREAMS);
	return 0;
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
	if (store_view(s, NULL, NULL, &v, e) < 0)
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
		buf_printf(&s->sql, "('%s')", label);
		missing++;
	}
	store_view_free(&v);
	return missing == 0 ? 0 : store_exec(s, "partitions", NULL, e);
}
