/*
 * store_whole.c - dead letters of outbox.mode: inline, with all of a message
 *
 * In the other mode the event has what the message says.  Here the row had it,
 * and the row is gone.
 */

#include "store/store_impl.h"

#include <stdio.h>
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
	    "ON {o.global_sequence} = d.global_sequence "
	    "SET d.message_id = " STORE_BYTES("{o.message_id}")
	    ", d.headers = " STORE_BYTES("{o.metadata}")
	    ", d.payload = " STORE_BYTES("{o.event_data}")
	    ", d.content_type = " STORE_BYTES("{o.content_type}")
	    ", d.scheduled_at = {o.scheduled_at} "
	    "WHERE d.global_sequence IN (:rows)",
	    SQL_LIST("rows", sequences, n));
	return store_exec(s, "keep", NULL, e);
}

/* Such a word, and its value in a letter; a comma stands before each. */
static void
put_parts(struct store *s, struct sql item)
{
	char	word[64];

	for (size_t i = 0; i < NPARTS; i++) {
		const char	*name = store_column_name(s, parts[i].word);
		bool		 first = store_has_word(s, parts[i].word);

		/* Two names may stand for one column of the table. */
		for (size_t k = 0; first && k < i; k++)
			first = strcasecmp(store_column_name(s, parts[k].word),
			    name) != 0;
		if (!first)
			continue;
		snprintf(word, sizeof(word), "{%s}", parts[i].word);
		store_put(s, ", :item", SQL_PART("item", item),
		    SQL_PUT("word", s, store_put_sql(s, word)),
		    SQL_EITHER("value", parts[i].text || (s->payload_is_text &&
		    strcmp(parts[i].letter, "payload") == 0),
		    "CONVERT(d.:letter USING utf8mb4)", "d.:letter"),
		    SQL_RAW("letter", parts[i].letter));
	}
}

void
store_put_whole_columns(struct store *s)
{
	put_parts(s, SQL(":word"));
}

void
store_put_whole_values(struct store *s)
{
	put_parts(s, SQL(":value"));
}

void
store_put_whole(struct store *s)
{
	store_put(s, "(SELECT global_sequence AS {sequence}:parts, "
	    "d.created_at {as occurred_at} FROM {dead} AS d) AS e",
	    SQL_PUT("parts", s, put_parts(s, SQL(":value AS :word"))));
}
