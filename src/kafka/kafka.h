/*
 * kafka.h - topics of Apache Kafka as a publisher
 *
 * Only this room uses librdkafka, which starts threads: create it only in a
 * process that will not fork any more.
 */
#ifndef OUTBOX_KAFKA_H
#define OUTBOX_KAFKA_H

#include "conf/conf.h"
#include "driver/pub.h"

/* conf is borrowed; name is the client.id, unless kafka.client has one. */
struct pub	kafka_new(const struct conf *, const char *name);

/* As drivers_check(). */
int		kafka_check(const struct conf *, struct err *);

#endif
