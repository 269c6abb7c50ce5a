/*
 * store_columns.c - the columns of the outbox and the events, by the names that
 * statements have for them
 *
 * Statements name the columns of the pointer layout.  Here each gets its name in
 * the table, which is another one with outbox.mode: inline, or in a table of an
 * application's own (outbox.columns).  A column that the table does not have is
 * NULL in every statement.
 */

#include "store/store_impl.h"

#include <assert.h>
#include <string.h>
#include <strings.h>

static const struct {
	enum store_table	 table;
	const char		*word;		/* in statements */
	const char		*pointer;	/* in our tables; "": none */
	const char		*inlined;
} columns[NCOLUMNS] = {
	{ T_OUTBOX, "global_sequence", "global_sequence", "id" },
	{ T_OUTBOX, "partition_key", "partition_key", "partition_key" },
	{ T_OUTBOX, "attempts", "attempts", "attempts" },
	{ T_OUTBOX, "available_at", "available_at", "available_at" },
	{ T_OUTBOX, "published_at", "published_at", "published_at" },
	{ T_OUTBOX, "claim_token", "claim_token", "claim_token" },
	{ T_OUTBOX, "last_error", "last_error", "last_error" },
	{ T_OUTBOX, "ack_sequence", "ack_sequence", "ack_sequence" },
	{ T_OUTBOX, "message_hash", "message_hash", "message_hash" },
	{ T_OUTBOX, "in_doubt_since", "in_doubt_since", "in_doubt_since" },
	{ T_OUTBOX, "replay_no", "replay_no", "replay_no" },
	{ T_OUTBOX, "created_at", "created_at", "created_at" },
	{ T_EVENTS, "sequence", "sequence", "id" },
	{ T_EVENTS, "stream_id", "stream_id", "order_key" },
	{ T_EVENTS, "stream_sequence", "stream_sequence", "" },
	{ T_EVENTS, "event_type", "event_type", "topic" },
	{ T_EVENTS, "event_version", "event_version", "" },
	{ T_EVENTS, "correlation_id", "correlation_id", "" },
	{ T_EVENTS, "metadata", "metadata", "headers" },
	{ T_EVENTS, "event_data", "event_data", "payload" },
	{ T_EVENTS, "occurred_at", "occurred_at", "created_at" },
	{ T_EVENTS, "message_id", "", "message_id" },
	{ T_EVENTS, "content_type", "", "content_type" },
	{ T_OUTBOX, "scheduled_at", "", "scheduled_at" },
};

bool
store_is_inline(const struct store *s)
{
	return s->conf->outbox.mode == MODE_INLINE;
}

void
store_name_columns(struct store *s)
{
	for (size_t i = 0; i < NCOLUMNS; i++) {
		s->names[i] = conf_column(s->conf,
		    store_is_inline(s) ?
		    columns[i].inlined : columns[i].pointer);
		s->there[i] = s->names[i][0] != '\0';
	}
}

static int
find_column(const char *word, size_t len)
{
	for (size_t i = 0; i < NCOLUMNS; i++)
		if (strlen(columns[i].word) == len &&
		    memcmp(columns[i].word, word, len) == 0)
			return (int)i;
	return -1;
}

const char *
store_column_name(const struct store *s, const char *word)
{
	int	i = find_column(word, strlen(word));

	return i < 0 ? word : s->names[i];
}

const char *
store_column_word(const struct store *s, enum store_table t, const char *name)
{
	for (size_t i = 0; i < NCOLUMNS; i++)
		if (strcmp(s->tables[columns[i].table], s->tables[t]) == 0 &&
		    strcasecmp(s->names[i], name) == 0)
			return columns[i].word;
	return name;
}

bool
store_has_word(const struct store *s, const char *word)
{
	return s->there[find_column(word, strlen(word))];
}

void
store_forget_columns(struct store *s)
{
	memset(s->there, 0, sizeof(s->there));
}

void
store_mark_there(struct store *s, const char *table, const char *name)
{
	for (size_t i = 0; i < NCOLUMNS; i++)
		if (strcmp(s->tables[columns[i].table], table) == 0 &&
		    strcasecmp(s->names[i], name) == 0)
			s->there[i] = true;
}

bool
store_put_column(struct store *s, const char *word, size_t len)
{
	const char	*dot = memchr(word, '.', len);
	size_t		 alias = dot == NULL ? 0 : (size_t)(dot - word) + 1;
	int		 i = find_column(word + alias, len - alias);

	if (i < 0)
		return false;
	if (!s->there[i]) {
		buf_str(&s->sql, "NULL");
		return true;
	}
	if (alias == 7 && memcmp(word, "outbox.", 7) == 0) {
		db_name(&s->sql, s->tables[T_OUTBOX]);
		buf_str(&s->sql, ".");
	} else
		buf_add(&s->sql, word, alias);
	/* A name that is not our own may be a word of SQL. */
	if (strcmp(s->names[i], columns[i].word) == 0)
		buf_str(&s->sql, s->names[i]);
	else
		db_name(&s->sql, s->names[i]);
	return true;
}

void
store_put_verb(struct store *s, const char *word, size_t len)
{
	const char	*verb = word, *name;
	int		 i;

	word = (const char *)memchr(word, ' ', len) + 1;
	len -= (size_t)(word - verb);
	name = memchr(word, '.', len);
	name = name == NULL ? word : name + 1;
	i = find_column(name, len - (size_t)(name - word));
	assert(i >= 0);
	if (verb[0] == 'a') {
		buf_str(&s->sql, "AS ");
		db_name(&s->sql, s->names[i][0] != '\0' ? s->names[i] :
		    columns[i].word);
	} else if (s->there[i]) {
		buf_str(&s->sql, ", ");
		store_put_column(s, word, len);
		buf_str(&s->sql, " = NULL");
	}
}
