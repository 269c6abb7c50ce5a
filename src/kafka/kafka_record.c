/*
 * kafka_record.c - a message as a record: key, time, headers, value
 *
 * The order key is the record's key as it is, so that the partitioner chooses
 * the partition that other producers choose for it, too.
 */

#include "kafka/kafka_impl.h"

#include <stdio.h>
#include <string.h>
#include <time.h>

uint64_t
kafka_place_hash(const char *topic, int32_t partition)
{
	char	place[300];

	snprintf(place, sizeof(place), "%.249s/%d", topic, (int)partition);
	return text_hash(place);
}

/* Half a day; a topic that keeps records for less than a day is warned of. */
#define LATE_MS	43200000

/*
 * The time of the event in ms; 0: that of sending.  A broker refuses what lies
 * far ahead.  Retention counts from this time: the record of an old event would
 * be gone before it is read.
 */
static int64_t
record_time(const struct envelope *v)
{
	int64_t	us, now = (int64_t)time(NULL) * 1000;

	if (!message_time_read(v->time, &us) || us / 1000 >= now ||
	    us / 1000 < now - LATE_MS)
		return 0;
	return us / 1000;
}

/*
 * The headers as on NATS, but Outbox-Id is always ours and Outbox-Message-Id
 * the author's, as Kafka has no header of its own for an id.
 */
static rd_kafka_headers_t *
make_headers(const struct envelope *v)
{
	rd_kafka_headers_t	*h = rd_kafka_headers_new(v->nheaders);
	bool			 own = false;

	for (size_t i = 0; i < v->nheaders; i++)
		own = own || strcmp(envelope_name(v, i),
		    MESSAGE_ID_OWN_HEADER) == 0;
	for (size_t i = 0; i < v->nheaders; i++) {
		const char *name = envelope_name(v, i);

		if (strcmp(name, MESSAGE_ID_HEADER) == 0)
			name = own ? MESSAGE_ID_AUTHOR_HEADER :
			    MESSAGE_ID_OWN_HEADER;
		rd_kafka_header_add(h, name, -1, envelope_value(v, i), -1);
	}
	return h;
}

rd_kafka_resp_err_t
kafka_produce(rd_kafka_t *rk, const struct envelope *v, void *opaque)
{
	static char		 nothing[] = "";
	rd_kafka_headers_t	*h = make_headers(v);
	rd_kafka_resp_err_t	 err;

	/* A value of NULL would be a tombstone. */
	err = rd_kafka_producev(rk, RD_KAFKA_V_TOPIC(envelope_subject(v)),
	    RD_KAFKA_V_PARTITION(RD_KAFKA_PARTITION_UA),
	    RD_KAFKA_V_MSGFLAGS(RD_KAFKA_MSG_F_COPY),
	    RD_KAFKA_V_KEY(v->key.data, v->key.len),
	    RD_KAFKA_V_VALUE(v->payload.data == NULL ? nothing :
	    (void *)(uintptr_t)	/* NOLINT(performance-no-int-to-ptr) */
	    v->payload.data, v->payload.len),
	    RD_KAFKA_V_TIMESTAMP(record_time(v)), RD_KAFKA_V_HEADERS(h),
	    RD_KAFKA_V_OPAQUE(opaque), RD_KAFKA_V_END);
	if (err != RD_KAFKA_RESP_ERR_NO_ERROR)
		rd_kafka_headers_destroy(h);
	return err;
}

const char *
kafka_record_header(const rd_kafka_message_t *m, const char *name, size_t *n)
{
	rd_kafka_headers_t	*headers;
	const void		*text = NULL;

	if (rd_kafka_message_headers(m, &headers) !=
	    RD_KAFKA_RESP_ERR_NO_ERROR || rd_kafka_header_get_last(headers,
	    name, &text, n) != RD_KAFKA_RESP_ERR_NO_ERROR)
		return NULL;
	return text;
}

bool
kafka_record_id(const rd_kafka_message_t *m, const char *prefix,
    struct message_id *id)
{
	const char	*text;
	size_t		 n;

	text = kafka_record_header(m, MESSAGE_ID_OWN_HEADER, &n);
	return text != NULL && message_id_read(id, prefix, text);
}
