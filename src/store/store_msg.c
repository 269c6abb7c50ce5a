/*
 * store_msg.c - the columns of a message, and how they are read
 *
 * For the statements that select messages: the fetch, and the scan for
 * candidates that brings messages along.
 */

#include "store/store_impl.h"

#include <assert.h>
#include <stdlib.h>

#include "util/clock.h"

enum fetch_col {
	F_SEQUENCE, F_PARTITION, F_ATTEMPTS, F_EVENT, F_KEY, F_STREAM_SEQUENCE,
	F_TYPE, F_VERSION, F_CORRELATION, F_METADATA, F_PAYLOAD,
	F_METADATA_LEN, F_PAYLOAD_LEN, F_TIME, F_IN_DOUBT, F_REPLAY, F_ID,
	F_CONTENT_TYPE, F_LABEL_HASH, F_AGE, NFETCH
};

static_assert(NFETCH == STORE_MSG_COLUMNS, "STORE_MSG_COLUMNS is their number");

struct bytes
store_column(const struct db_rows *rows, unsigned i)
{
	struct bytes	b = { db_nullable(rows, i), 0 };

	if (b.data != NULL)
		b.len = db_length(rows, i);
	return b;
}

static void
free_rows(void *rows)
{
	db_rows_free(rows);
}

void
store_read_msg(const struct store *s, struct msg *m,
    const struct db_rows *rows, size_t max)
{
	uint64_t	 metadata = db_u64(rows, F_METADATA_LEN);
	uint64_t	 payload = db_u64(rows, F_PAYLOAD_LEN);
	const char	*doubt = db_nullable(rows, F_IN_DOUBT);
	const char	*age = db_nullable(rows, F_AGE);

	m->left_out = s->left_out;
	m->sequence = db_u64(rows, F_SEQUENCE);
	m->partition = store_column(rows, F_PARTITION);
	m->attempts = (unsigned)db_u64(rows, F_ATTEMPTS);
	m->replay = (unsigned)db_u64(rows, F_REPLAY);
	m->has_event = db_nullable(rows, F_EVENT) != NULL;
	m->key = store_column(rows, F_KEY);
	m->stream_sequence = store_column(rows, F_STREAM_SEQUENCE);
	m->type = store_column(rows, F_TYPE);
	m->version = store_column(rows, F_VERSION);
	m->correlation = store_column(rows, F_CORRELATION);
	m->time = store_column(rows, F_TIME);
	m->id = store_column(rows, F_ID);
	m->content_type = store_column(rows, F_CONTENT_TYPE);
	m->in_doubt_ms = doubt == NULL ? -1 : strtoll(doubt, NULL, 10);
	/* A time in the future was written before the clock was set back. */
	if (doubt != NULL && m->in_doubt_ms < 0)
		m->in_doubt_ms = INT64_MAX;
	m->has_label_hash = db_nullable(rows, F_LABEL_HASH) != NULL;
	m->label_hash = (uint32_t)db_u64(rows, F_LABEL_HASH);
	/* That of a row which is sent again on purpose tells nothing. */
	m->age_us = age == NULL || m->replay > 0 ? -1 :
	    later(strtoll(age, NULL, 10), 0);
	/* NULL is the column's value, or it was too long: see the lengths. */
	m->metadata = store_column(rows, F_METADATA);
	m->payload = store_column(rows, F_PAYLOAD);
	m->away = metadata + payload > max || metadata > MSG_METADATA_MAX;
	if (m->away)
		m->metadata = (struct bytes){ NULL, metadata };
	if (metadata + payload > max)
		m->payload = (struct bytes){ NULL, payload };
}

void
store_keep_rows(struct batch *b, struct db_rows *rows)
{
	b->rows = rows;
	b->free_rows = free_rows;
}

/*
 * The body comes if it is not too long, and its length.  The length of metadata
 * is expensive where JSON is binary, so it is asked for as seldom as possible:
 * a payload may come although the metadata does not.  A small max limits the
 * metadata as well.  The age is that since the insert, or since the time for
 * which the message is scheduled.
 */
void
store_put_msg(struct store *s, size_t max)
{
	store_put(s, "{o.global_sequence}, {o.partition_key}, {o.attempts}, "
	    "{e.sequence}, {e.stream_id}, {e.stream_sequence}, {e.event_type}, "
	    "{e.event_version}, {e.correlation_id}, "
	    "IF(COALESCE(OCTET_LENGTH({e.metadata}), 0) + "
	    "COALESCE(OCTET_LENGTH({e.event_data}), 0) <= :max:short, "
	    "{e.metadata}, NULL), "
	    "IF(OCTET_LENGTH({e.event_data}) <= :max, {e.event_data}, NULL), "
	    "OCTET_LENGTH({e.metadata}), OCTET_LENGTH({e.event_data}), "
	    "{e.occurred_at}, TIMESTAMPDIFF(MICROSECOND, {o.in_doubt_since}, "
	    "NOW(6)) DIV 1000, {o.replay_no}, {e.message_id}, "
	    "{e.content_type}, :label_hash, TIMESTAMPDIFF(MICROSECOND, "
	    "COALESCE({o.scheduled_at}, {o.created_at}), NOW(6))",
	    SQL_NUMBER("max", max),
	    SQL_IF("short", max > MSG_METADATA_MAX,
	    " AND OCTET_LENGTH({e.metadata}) <= :metadata_max"),
	    SQL_NUMBER("metadata_max", MSG_METADATA_MAX),
	    SQL_PUT("label_hash", s, conf_partitions_by_key(s->conf) ?
	    store_put(s, "NULL") :
	    store_put_hash(s, "e", SQL("{e.stream_id}"))));
}
