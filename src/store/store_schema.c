/*
 * store_schema.c - which tables, columns and indexes the database has
 *
 * The tables may be an application's own.  A missing part that the protocol
 * needs is an error that names it.  An optional one is a warning with the
 * remedy, once per connection.
 */

#include "store/store_impl.h"

#include <stdio.h>
#include <string.h>
#include <strings.h>
#include <bsd/string.h>

#include "util/log.h"

/* Columns that the statements need. */
static const struct column {
	enum store_table	 table;
	const char		*name;
} columns[] = {
	{ T_OUTBOX, "global_sequence" },
	{ T_OUTBOX, "attempts" },
	{ T_OUTBOX, "available_at" },
	{ T_OUTBOX, "published_at" },
	{ T_OUTBOX, "partition_key" },
	{ T_OUTBOX, "claim_token" },
	{ T_OUTBOX, "last_error" },
	{ T_EVENTS, "sequence" },
	{ T_EVENTS, "stream_id" },
	{ T_EVENTS, "stream_sequence" },
	{ T_EVENTS, "correlation_id" },
	{ T_EVENTS, "event_type" },
	{ T_EVENTS, "event_version" },
	{ T_EVENTS, "metadata" },
	{ T_EVENTS, "event_data" },
	{ T_EVENTS, "occurred_at" },
	{ T_PARTITIONS, "partition_key" },
	{ T_PARTITIONS, "lease_owner" },
	{ T_PARTITIONS, "lease_until" },
	{ T_PARTITIONS, "lease_epoch" },
	{ T_PARTITIONS, "updated_at" },
	{ T_WORKERS, "id" },
	{ T_WORKERS, "hostname" },
	{ T_WORKERS, "pid" },
	{ T_WORKERS, "started_at" },
	{ T_WORKERS, "updated_at" },
	{ T_WORKERS, "heartbeat_until" },
	{ T_SETTINGS, "schema_version" },
	{ T_SETTINGS, "outbox_id" },
	{ T_SETTINGS, "partition_count" },
	{ T_SETTINGS, "former_counts" },
	{ T_SETTINGS, "counts_since" },
	{ T_SETTINGS, "reconcile_watermark" },
	{ T_DEAD, "global_sequence" },
	{ T_DEAD, "partition_key" },
	{ T_DEAD, "order_key" },
	{ T_DEAD, "event_type" },
	{ T_DEAD, "attempts" },
	{ T_DEAD, "reason" },
	{ T_DEAD, "last_error" },
	{ T_DEAD, "created_at" },
	{ T_DEAD, "died_at" },
	{ T_DEAD, "replay_no" },
	{ T_BLOCKED, "first_sequence" },
	{ T_BLOCKED, "partition_key" },
	{ T_BLOCKED, "order_key" },
	{ T_BLOCKED, "reason" },
	{ T_BLOCKED, "head_sequence" },
	{ T_BLOCKED, "since" },
	{ T_STREAMS, "name" },
	{ T_STREAMS, "created" },
	{ T_STREAMS, "prefix" },
	{ T_STREAMS, "servers" },
	{ T_STREAMS, "known_since" },
	{ T_STREAMS, "checked_at" },
	{ T_STREAMS, "checker" },
	{ T_STREAMS, "checker_since" },
	{ T_STREAMS, "checker_until" },
	{ T_STREAMS, "database_server" },
	{ T_STREAMS, "database_started" },
	{ T_STREAMS, "tail_sequence" },
	{ T_STREAMS, "tail_at" },
	{ T_STREAMS, "first_sequence" },
	{ T_STREAMS, "phantoms" },
	{ T_STREAMS, "phantom_first" },
	{ T_STREAMS, "phantom_last" },
	{ T_STREAMS, "phantom_at" },
	{ T_AUDIT, "id" },
	{ T_AUDIT, "at" },
	{ T_AUDIT, "login" },
	{ T_AUDIT, "unix_user" },
	{ T_AUDIT, "command" },
	{ T_AUDIT, "arguments" },
	{ T_AUDIT, "changed" },
};

#define NCOLUMNS	(sizeof(columns) / sizeof(columns[0]))

#define COST_OF_IN_DOUBT_MARKS "a message waits until its claim is on disk"
#define COST_OF_AUDIT \
	"acknowledged messages that the broker loses are not found"

/*
 * Optional columns: those that an application's own tables may lack.  Those with
 * a type are warned of at each connect, the others only when something needs
 * them.
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
	for (size_t i = 0; i < NCOLUMNS; i++)
		if (columns[i].table == t &&
		    strcasecmp(columns[i].name, name) == 0)
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
mark_column(struct store *s, const struct db_rows *rows, bool found[NCOLUMNS])
{
	const char	*table = db_text(rows, 0), *name = db_text(rows, 1);
	const char	*precision = db_text(rows, 2);

	mark_extra(s, table, name);
	store_learn_fit(s, table, name, db_text(rows, 3), db_u64(rows, 4));
	for (size_t i = 0; i < NCOLUMNS; i++) {
		if (strcmp(s->tables[columns[i].table], table) != 0)
			continue;
		s->exists[columns[i].table] = true;
		if (strcasecmp(columns[i].name, name) != 0)
			continue;
		found[i] = true;
		/* One answer for all columns: Pillar's are all TIMESTAMP(0). */
		if (precision != NULL && precision[0] == '0' &&
		    columns[i].table <= T_WORKERS &&
		    columns[i].table != T_EVENTS)
			s->whole_seconds = true;
	}
}

static int
check_columns(const struct store *s, const bool found[NCOLUMNS], struct err *e)
{
	for (enum store_table t = 0; t < NTABLES; t++)
		if (!s->exists[t] && costs[t] == NULL)
			return err_set(e, "schema: table %s.%s is missing or "
			    "not granted: load sql/schema.sql and "
			    "sql/grants.sql", s->conf->mysql.database,
			    s->tables[t]);
	for (size_t i = 0; i < NCOLUMNS; i++)
		if (!found[i] && s->exists[columns[i].table])
			return err_set(e, "schema: column %s.%s is missing or "
			    "not granted: see sql/schema.sql and "
			    "sql/grants.sql", s->tables[columns[i].table],
			    columns[i].name);
	return 0;
}

static int
learn_columns(struct store *s, struct err *e)
{
	bool		 found[NCOLUMNS] = { false };
	struct db_rows	*rows;

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

bool
store_has_dead(const struct store *s)
{
	return s->exists[T_DEAD];
}

static bool
has_lease_label(const struct lease *leases, size_t n, const char *label)
{
	for (size_t i = 0; i < n; i++)
		if (strcmp(leases[i].label, label) == 0)
			return true;
	return false;
}

/* empty: the lease "" of rows without a label, too. */
static int
fill(struct store *s, unsigned count, bool empty, struct err *e)
{
	struct store_view	 v;
	unsigned		 missing = 0;
	char			 label[16];

	/* Read first: an INSERT, even an ignored one, waits for claims. */
	if (store_view(s, NULL, NULL, &v, e) < 0)
		return -1;
	store_sql(s, "INSERT IGNORE INTO {partitions} (partition_key) VALUES ");
	if (empty && !has_lease_label(v.leases, v.nleases, "")) {
		buf_str(&s->sql, "('')");
		missing++;
	}
	for (unsigned i = 0; i < count; i++) {
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

int
store_fill_partitions(struct store *s, unsigned count, struct err *e)
{
	return fill(s, count, false, e);
}

int
store_fill_declared(struct store *s, const struct counts *c, struct err *e)
{
	return fill(s, counts_max(c), c->nformer > 0 && counts_have(c, 1), e);
}
