/* enqueue_message.c - the row of a message, for outbox.mode: inline */

#include "ctl/messages/enqueue_message.h"

#include <string.h>
#include <strings.h>

/* Has the table the column, for this alone?  Two names may stand for one. */
static bool
has_own(const struct store *s, const char *word)
{
	return store_has_word(s, word) && strcasecmp(store_column_name(s,
	    word), store_column_name(s, "event_type")) != 0;
}

/* A column with its value, if the table has it. */
static void
put_name(struct store *s, const char *word)
{
	if (has_own(s, word))
		store_putf(s, ", {%s}", word);
}

static void
put_text(struct store *s, const char *word, const char *text)
{
	if (!has_own(s, word))
		return;
	store_put(s, ", ");
	store_put_text(s, text);
}

static void
put_payload(struct store *s, const struct event *ev)
{
	store_put(s, ev->base64 ? ", FROM_BASE64(" : ", ");
	store_put_bytes(s, ev->payload, ev->payload_len);
	store_put(s, ev->base64 ? ")" : "");
}

/* One without an id gets one: consumers and retries can tell it by that. */
static void
put_id(struct store *s, const struct event *ev)
{
	if (ev->id != NULL)
		store_put_text(s, ev->id);
	else
		store_put(s, "CAST(UUID() AS CHAR)");
}

static void
put_values(struct store *s, const struct event *ev, const struct counts *c)
{
	store_put(s, ") SELECT ");
	store_put_text(s, ev->type);
	put_payload(s, ev);
	put_text(s, "stream_id", ev->key);
	if (store_has_word(s, "metadata")) {
		store_put(s, ", ");
		store_put_bytes(s, ev->metadata, ev->metadata_len);
	}
	put_text(s, "content_type", ev->content_type);
	put_text(s, "scheduled_at", ev->scheduled_at);
	store_put(s, store_has_word(s, "message_id") ? ", x.id, " : ", ");
	store_put_label(s, c, "x", "x.name");
	store_put(s, " FROM (SELECT ");
	/* The label of a message without a key is that of its id. */
	if (ev->key != NULL) {
		put_id(s, ev);
		store_put(s, " AS id, ");
		store_put_text(s, ev->key);
		store_put(s, " AS name");
	} else {
		store_put(s, "y.id, y.id AS name FROM (SELECT ");
		put_id(s, ev);
		store_put(s, " AS id) AS y");
	}
	store_put(s, ") AS x");
}

int
enqueue_message(struct store *s, const struct event *ev,
    const struct counts *c, struct err *e)
{
	store_sql(s, "INSERT INTO {outbox} ({event_type}, {event_data}");
	put_name(s, "stream_id");
	put_name(s, "metadata");
	put_name(s, "content_type");
	put_name(s, "scheduled_at");
	put_name(s, "message_id");
	store_put(s, ", {partition_key}");
	put_values(s, ev, c);
	return store_exec(s, "enqueue", NULL, e);
}
