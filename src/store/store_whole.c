/*
 * store_whole.c - dead letters of outbox.mode: inline, with all of a message
 *
 * In the other mode the event has what the message says.  Here the row had it,
 * and the row is gone.
 */

#include "store/store_impl.h"

#include <string.h>
#include <strings.h>

/* What a letter has of a message, and the column that it was in. */
static const struct {
	const char	*letter, *word;
	bool		 text;	/* a column of text or of JSON takes no bytes */
} parts[] = {
	{ "message_id", "message_id", true },
	{ "order_key", "stream_id", true },
	{ "event_type", "event_type", true },
	{ "headers", "metadata", true },
	{ "payload", "event_data", false },
	{ "content_type", "content_type", true },
	{ "scheduled_at", "scheduled_at", false },
};

#define NPARTS	(sizeof(parts) / sizeof(parts[0]))

/*
 * The key and the type are there already, cut to what their columns hold.  A
 * letter has the bytes that are sent, in whatever character set the row is.
 */
int
store_keep_whole(struct store *s, const uint64_t *sequences, size_t n,
    struct err *e)
{
	store_sql(s, "UPDATE {dead} AS d STRAIGHT_JOIN {outbox} AS o {primary} "
	    "ON {o.global_sequence} = d.global_sequence SET ");
	store_put(s, "d.message_id = " STORE_BYTES("{o.message_id}")
	    ", d.headers = " STORE_BYTES("{o.metadata}")
	    ", d.payload = " STORE_BYTES("{o.event_data}")
	    ", d.content_type = " STORE_BYTES("{o.content_type}")
	    ", d.scheduled_at = {o.scheduled_at} "
	    "WHERE d.global_sequence IN (");
	store_put_list(s, sequences, n);
	store_put(s, ")");
	return store_exec(s, "keep", NULL, e);
}

/* Two names may stand for one column of the table. */
static bool
is_part(const struct store *s, size_t i)
{
	const char	*name = store_column_name(s, parts[i].word);

	if (!store_has_word(s, parts[i].word))
		return false;
	for (size_t k = 0; k < i; k++)
		if (strcasecmp(store_column_name(s, parts[k].word), name) == 0)
			return false;
	return true;
}

void
store_put_whole_columns(struct store *s)
{
	for (size_t i = 0; i < NPARTS; i++)
		if (is_part(s, i))
			store_putf(s, ", {%s}", parts[i].word);
}

static void
put_value(struct store *s, size_t i)
{
	bool	payload = strcmp(parts[i].letter, "payload") == 0;

	store_putf(s, parts[i].text || (payload && s->payload_is_text) ?
	    "CONVERT(d.%s USING utf8mb4)" : "d.%s", parts[i].letter);
}

void
store_put_whole_values(struct store *s)
{
	for (size_t i = 0; i < NPARTS; i++) {
		if (!is_part(s, i))
			continue;
		store_put(s, ", ");
		put_value(s, i);
	}
}

void
store_put_whole_join(struct store *s, const char *on)
{
	store_put(s, " LEFT JOIN (SELECT global_sequence AS {sequence}");
	for (size_t i = 0; i < NPARTS; i++) {
		if (!is_part(s, i))
			continue;
		store_put(s, ", ");
		put_value(s, i);
		store_putf(s, " AS {%s}", parts[i].word);
	}
	if (store_has_word(s, "occurred_at"))
		store_put(s, ", d.created_at AS {occurred_at}");
	store_put(s, " FROM {dead} AS d) AS e ON ");
	store_put(s, on);
}
