/*
 * kafka_verdict.c - what the report of a message means; pure
 *
 * Only what surely was not stored has a row.  The library tells by the status of
 * a message that it may have been written; that, and an error without a row,
 * leaves it in doubt.
 */

#include "kafka/kafka_impl.h"

#include <stdio.h>

#define E(name)	RD_KAFKA_RESP_ERR_##name

static const struct {
	rd_kafka_resp_err_t	 err;
	enum verdict		 verdict;
	enum error_class	 class;
} rows[] = {
	/* The broker, or the library, has looked at this message. */
	{ E(MSG_SIZE_TOO_LARGE), VERDICT_TOO_LARGE, CLASS_TOO_LARGE },
	{ E(INVALID_RECORD), VERDICT_MESSAGE, CLASS_OTHER },
	{ E(INVALID_TIMESTAMP), VERDICT_MESSAGE, CLASS_OTHER },
	{ E(INVALID_MSG), VERDICT_MESSAGE, CLASS_OTHER },
	/* The topic. */
	{ E(UNKNOWN_TOPIC_OR_PART), VERDICT_ADDRESS, CLASS_NO_STREAM },
	{ E(_UNKNOWN_TOPIC), VERDICT_ADDRESS, CLASS_NO_STREAM },
	{ E(_UNKNOWN_PARTITION), VERDICT_ADDRESS, CLASS_NO_STREAM },
	{ E(TOPIC_EXCEPTION), VERDICT_ADDRESS, CLASS_NO_STREAM },
	{ E(POLICY_VIOLATION), VERDICT_ADDRESS, CLASS_UNFIT },
	{ E(TOPIC_AUTHORIZATION_FAILED), VERDICT_ADDRESS, CLASS_PERMISSION },
	/* The cluster. */
	{ E(CLUSTER_AUTHORIZATION_FAILED), VERDICT_DESTINATION,
	    CLASS_PERMISSION },
	{ E(SASL_AUTHENTICATION_FAILED), VERDICT_DESTINATION,
	    CLASS_PERMISSION },
	{ E(_AUTHENTICATION), VERDICT_DESTINATION, CLASS_PERMISSION },
	{ E(NOT_ENOUGH_REPLICAS), VERDICT_DESTINATION, CLASS_OFFLINE },
	{ E(INVALID_REQUIRED_ACKS), VERDICT_DESTINATION, CLASS_UNFIT },
	{ E(UNSUPPORTED_VERSION), VERDICT_DESTINATION, CLASS_UNFIT },
	{ E(UNSUPPORTED_FOR_MESSAGE_FORMAT), VERDICT_DESTINATION, CLASS_UNFIT },
	{ E(UNSUPPORTED_COMPRESSION_TYPE), VERDICT_DESTINATION, CLASS_UNFIT },
	{ E(_UNSUPPORTED_FEATURE), VERDICT_DESTINATION, CLASS_UNFIT },
	{ E(THROTTLING_QUOTA_EXCEEDED), VERDICT_TRANSIENT, CLASS_OVERLOAD },
	{ E(NOT_LEADER_FOR_PARTITION), VERDICT_DESTINATION, CLASS_OFFLINE },
	{ E(LEADER_NOT_AVAILABLE), VERDICT_DESTINATION, CLASS_OFFLINE },
	{ E(REPLICA_NOT_AVAILABLE), VERDICT_DESTINATION, CLASS_OFFLINE },
	{ E(BROKER_NOT_AVAILABLE), VERDICT_DESTINATION, CLASS_OFFLINE },
	{ E(KAFKA_STORAGE_ERROR), VERDICT_DESTINATION, CLASS_OFFLINE },
	/* It left the library's queue unsent. */
	{ E(_MSG_TIMED_OUT), VERDICT_DESTINATION, CLASS_OFFLINE },
	{ E(_PURGE_QUEUE), VERDICT_DESTINATION, CLASS_OFFLINE },
	{ E(_QUEUE_FULL), VERDICT_DESTINATION, CLASS_OVERLOAD },
};

#define NROWS	(sizeof(rows) / sizeof(rows[0]))

void
kafka_judge(rd_kafka_resp_err_t err, rd_kafka_msg_status_t status,
    const char *topic, struct pub_answer *a)
{
	size_t	i = 0;

	while (i < NROWS && rows[i].err != err)
		i++;
	a->text[0] = '\0';
	a->class = CLASS_NONE;
	a->retry_after_ms = 0;
	if (err == E(NO_ERROR) || status == RD_KAFKA_MSG_STATUS_PERSISTED) {
		a->verdict = VERDICT_STORED;
		return;
	}
	if (i == NROWS || status == RD_KAFKA_MSG_STATUS_POSSIBLY_PERSISTED) {
		/* Others were on the connection, or in its request. */
		a->verdict = VERDICT_LOST_TOGETHER;
		a->class = CLASS_LOST;
	} else {
		a->verdict = rows[i].verdict;
		a->class = rows[i].class;
	}
	snprintf(a->text, sizeof(a->text), "topic %.100s: %s%.100s", topic,
	    a->class == CLASS_LOST ? "no answer: " : "", rd_kafka_err2str(err));
}
