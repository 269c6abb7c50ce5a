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

#include <string.h>
#include <strings.h>

#include "util/log.h"

static const char	on_update[] = "has ON UPDATE CURRENT_TIMESTAMP, so each "
			    "write to its row changes it";
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

int
store_find_unstable(struct store *s, struct err *e)
{
	struct db_rows	*rows;

	memset(s->unstable, 0, sizeof(s->unstable));
	s->left_out = 0;
	s->delivers_all = false;
	store_sql(s, "SELECT table_name, column_name, "
	    "LOWER(extra) LIKE '%on update%' FROM information_schema.columns "
	    "WHERE table_schema = DATABASE() "
	    "AND table_name IN (:outbox, :events)",
	    SQL_TEXT("outbox", s->tables[T_OUTBOX]),
	    SQL_TEXT("events", s->tables[T_EVENTS]));
	if ((rows = store_query(s, "schema", e)) == NULL)
		return -1;
	while (db_next(rows)) {
		const char	*table = db_text(rows, 0);
		const char	*column = db_text(rows, 1), *why;
		bool		 of_outbox = strcmp(table,
				    s->tables[T_OUTBOX]) == 0;

		why = db_u64(rows, 2) != 0 ? on_update :
		    of_outbox && strcasecmp(column, store_column_name(s,
		    "partition_key")) == 0 ? written : NULL;
		if (of_outbox && why == on_update && strcasecmp(column,
		    store_column_name(s, "published_at")) == 0)
			s->delivers_all = true;
		for (size_t i = 0; i < NHASHED && why != NULL; i++)
			if (strcmp(table, s->tables[T_EVENTS]) == 0 &&
			    strcasecmp(store_column_name(s, hashed[i].word),
			    column) == 0) {
				s->unstable[i] = why;
				s->left_out |= hashed[i].part;
			}
	}
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
