/* enqueue_message.c - the row of a message, for outbox.mode: inline */

#include "ctl/messages/enqueue_message.h"

#include <strings.h>

/* Has the table the column, for this alone?  Two names may stand for one. */
static bool
has_own(const struct store *s, const char *word)
{
	return store_has_word(s, word) && strcasecmp(store_column_name(s,
	    word), store_column_name(s, "event_type")) != 0;
}

int
enqueue_message(struct store *s, const struct event *ev,
    const struct counts *c, struct err *e)
{
	bool	key = has_own(s, "stream_id");
	bool	headers = has_own(s, "metadata");
	bool	content_type = has_own(s, "content_type");
	bool	time = has_own(s, "scheduled_at");
	bool	id = has_own(s, "message_id");

	/*
	 * The label of a message without a key is that of its id.  One without
	 * an id gets one: consumers and retries can tell it by that.
	 */
	store_sql(s, "INSERT INTO {outbox} ({event_type}, {event_data}"
	    ":stream_id:metadata:content_type:scheduled_at:message_id, "
	    "{partition_key}) SELECT :event_type, :event_data:key_value"
	    ":headers_value:content_type_value:time_value:id_value, :label "
	    "FROM (SELECT :names) AS x",
	    SQL_TEXT("event_type", ev->type),
	    SQL_EITHER("event_data", ev->base64, "FROM_BASE64(:payload)",
	    ":payload"),
	    SQL_BYTES("payload", ev->payload, ev->payload_len),
	    SQL_IF("stream_id", key, ", {stream_id}"),
	    SQL_IF("key_value", key, ", :key"), SQL_TEXT("key", ev->key),
	    SQL_IF("metadata", headers, ", {metadata}"),
	    SQL_IF("headers_value", headers, ", :headers"),
	    SQL_BYTES("headers", ev->metadata, ev->metadata_len),
	    SQL_IF("content_type", content_type, ", {content_type}"),
	    SQL_IF("content_type_value", content_type, ", :type"),
	    SQL_TEXT("type", ev->content_type),
	    SQL_IF("scheduled_at", time, ", {scheduled_at}"),
	    SQL_IF("time_value", time, ", :time"),
	    SQL_TEXT("time", ev->scheduled_at),
	    SQL_IF("message_id", id, ", {message_id}"),
	    SQL_IF("id_value", id, ", x.id"),
	    SQL_PUT("label", s, store_put_label(s, c, "x", SQL("x.name"))),
	    SQL_EITHER("names", ev->key != NULL, ":id AS id, :key AS name",
	    "y.id, y.id AS name FROM (SELECT :id AS id) AS y"),
	    SQL_EITHER("id", ev->id != NULL, ":own_id", "CAST(UUID() AS CHAR)"),
	    SQL_TEXT("own_id", ev->id));
	return store_exec(s, "enqueue", NULL, e);
}
