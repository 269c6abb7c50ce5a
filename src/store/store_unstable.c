/*
 * store_unstable.c - columns of messages that change without a change of the
 * message
 *
 * A message id has a hash of its event.  In a table of an application's own a
 * column of the event may change with each write to its row, ours among them:
 * then the same message would have another id each time that it is sent, and
 * the stream would take it again.  Such a column is left out of the hash.
 */

#include "store/store_impl.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <bsd/string.h>

#include "util/log.h"
#include "util/xalloc.h"

static const char	on_update[] = "has ON UPDATE CURRENT_TIMESTAMP, so each "
			    "write to its row changes it";
static const char	computed[] = "is computed of what changes";
static const char	written[] = "is one that the daemon writes";

/* What a message id is made of. */
static const struct {
	const char	*word;
	unsigned	 part;
} hashed[] = {
	{ "stream_id", MSG_KEY },
	{ "stream_sequence", MSG_STREAM_SEQUENCE },
	{ "event_type", MSG_TYPE },
	{ "occurred_at", MSG_TIME },
	{ "event_data", MSG_PAYLOAD },
};

/* Columns of the outbox that the daemon writes. */
static const char *const ours[] = { "partition_key", "attempts",
	"available_at", "published_at", "claim_token", "last_error",
	"ack_sequence", "message_hash", "in_doubt_since", "replay_no" };

/* Functions that have another value each time, as both servers write them. */
static const char *const volatiles[] = { "now(", "current_timestamp",
	"sysdate(", "utc_timestamp", "curtime(", "curdate(", "rand(", "uuid(",
	"uuid_short(", "connection_id(", "user(", "row start", "row end" };

/* The names of columns that change by themselves. */
struct changing {
	char	(*names)[DB_NAME_SIZE];
	size_t	 n;
};

static bool
names(const char *expression, const char *column)
{
	char	*quoted = db_named(column);
	bool	 is = column[0] != '\0' &&
		    strcasestr(expression, quoted) != NULL;

	free(quoted);
	return is;
}

/* Does its value depend on the time, on what we write, or on what changes? */
static bool
is_volatile(const struct store *s, const char *expression, bool of_outbox,
    const struct changing *k)
{
	for (size_t i = 0; i < sizeof(volatiles) / sizeof(volatiles[0]); i++)
		if (strcasestr(expression, volatiles[i]) != NULL)
			return true;
	for (size_t i = 0; of_outbox && i < sizeof(ours) / sizeof(ours[0]); i++)
		if (names(expression, store_column_name(s, ours[i])))
			return true;
	for (size_t i = 0; i < k->n; i++)
		if (names(expression, k->names[i]))
			return true;
	return false;
}

/*
 * The expression of a column in a view, which servers show as "select EXPR AS
 * `a`,EXPR AS `b` from ..."; NULL: there is none.  The caller frees.
 */
static char *
of_view(const char *definition, const char *column)
{
	struct buf	 as = { 0 };
	const char	*end, *from = definition, *p;

	buf_str(&as, " AS ");
	db_name(&as, column);
	end = strcasestr(definition, as.data);
	buf_free(&as);
	if (end == NULL)
		return NULL;
	for (p = definition; (p = strcasestr(p, " AS `")) != NULL && p < end;
	    p++)
		from = p + 5;
	return xstrndup(from, (size_t)(end - from));
}

enum { U_TABLE, U_COLUMN, U_ON_UPDATE, U_EXPRESSION, U_VIEW };

static const char *
reason_of(const struct store *s, const struct db_rows *rows, bool of_outbox,
    const struct changing *k)
{
	const char	*view = db_nullable(rows, U_VIEW);
	char		*expression;
	bool		 is;

	if (db_u64(rows, U_ON_UPDATE) != 0)
		return on_update;
	for (size_t i = 0; of_outbox && i < sizeof(ours) / sizeof(ours[0]); i++)
		if (strcasecmp(store_column_name(s, ours[i]),
		    db_text(rows, U_COLUMN)) == 0)
			return written;
	if (view == NULL)
		return is_volatile(s, db_text(rows, U_EXPRESSION), of_outbox,
		    k) ? computed : NULL;
	expression = of_view(view, db_text(rows, U_COLUMN));
	is = expression != NULL && is_volatile(s, expression,
	    of_outbox || names(view, s->tables[T_OUTBOX]), k);
	free(expression);
	return is ? computed : NULL;
}

static void
judge_column(struct store *s, const struct db_rows *rows,
    const struct changing *k)
{
	const char	*table = db_text(rows, U_TABLE);
	bool		 of_outbox = strcmp(table, s->tables[T_OUTBOX]) == 0;
	const char	*why;

	if (of_outbox && db_u64(rows, U_ON_UPDATE) != 0 &&
	    strcasecmp(db_text(rows, U_COLUMN),
	    store_column_name(s, "published_at")) == 0)
		s->delivers_all = true;
	for (size_t i = 0; i < NHASHED; i++) {
		if (strcmp(table, s->tables[T_EVENTS]) != 0 || strcasecmp(
		    store_column_name(s, hashed[i].word),
		    db_text(rows, U_COLUMN)) != 0)
			continue;
		why = reason_of(s, rows, of_outbox, k);
		if (why == NULL)
			continue;
		s->unstable[i] = why;
		s->left_out |= hashed[i].part;
	}
}

/* Columns of outbox and events; or those with ON UPDATE of all tables. */
static struct db_rows *
query_columns(struct store *s, bool all, struct err *e)
{
	store_sql(s, "SELECT c.table_name, c.column_name, "
	    "LOWER(c.extra) LIKE '%on update%', "
	    "COALESCE(c.generation_expression, ''), v.view_definition "
	    "FROM information_schema.columns AS c "
	    "LEFT JOIN information_schema.views AS v "
	    "ON v.table_schema = c.table_schema "
	    "AND v.table_name = c.table_name "
	    "WHERE c.table_schema = DATABASE() AND :which",
	    SQL_EITHER("which", all, "LOWER(c.extra) LIKE '%on update%'",
	    "c.table_name IN (:outbox, :events)"),
	    SQL_TEXT("outbox", s->tables[T_OUTBOX]),
	    SQL_TEXT("events", s->tables[T_EVENTS]));
	return store_query(s, "schema", e);
}

int
store_find_unstable(struct store *s, struct err *e)
{
	struct db_rows	*rows, *all;
	struct changing	 k = { .n = 0 };
	bool		 view = false;

	memset(s->unstable, 0, sizeof(s->unstable));
	s->left_out = 0;
	s->delivers_all = false;
	if ((rows = query_columns(s, false, e)) == NULL)
		return -1;
	/* The tables of a view are not known; few have one. */
	while (db_next(rows))
		view = view || db_nullable(rows, U_VIEW) != NULL;
	db_rewind(rows);
	all = view ? query_columns(s, true, e) : rows;
	if (all == NULL) {
		db_rows_free(rows);
		return -1;
	}
	k.names = xcalloc(db_nrows(all) + 1, sizeof(*k.names));
	while (db_next(all))
		if (db_u64(all, U_ON_UPDATE) != 0)
			strlcpy(k.names[k.n++], db_text(all, U_COLUMN),
			    sizeof(k.names[0]));
	if (all != rows)
		db_rows_free(all);
	db_rewind(rows);
	while (db_next(rows))
		judge_column(s, rows, &k);
	free(k.names);
	db_rows_free(rows);
	return 0;
}

int
store_learn_unstable(struct store *s, struct err *e)
{
	if (store_find_unstable(s, e) < 0)
		return -1;
	return s->delivers_all ? err_set(e, "schema: column %s.%s has ON UPDATE "
	    "CURRENT_TIMESTAMP: each row would count as delivered when it is "
	    "claimed: run outboxctl schema check", s->tables[T_OUTBOX],
	    store_column_name(s, "published_at")) : 0;
}

const char *
store_unstable(const struct store *s, size_t i, const char **word)
{
	if (i >= NHASHED)
		return NULL;
	*word = hashed[i].word;
	return s->unstable[i] == NULL ? "" : s->unstable[i];
}

void
store_warn_of_unstable(const struct store *s)
{
	const char	*why, *word;

	for (size_t i = 0; (why = store_unstable(s, i, &word)) != NULL; i++)
		if (why[0] != '\0')
			log_warn("%s: column %s %s: message ids leave it out; "
			    "remedy: outboxctl schema check",
			    s->tables[T_EVENTS], store_column_name(s, word),
			    why);
}
