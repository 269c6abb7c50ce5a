/*
 * partition_by.h - what the partition of a message is computed of
 *
 * Producers, the trigger and the daemon must compute the same number: the
 * procedure in sql/schema.sql does it in SQL of its own, all others by this
 * text.
 */
#ifndef OUTBOX_PARTITION_BY_H
#define OUTBOX_PARTITION_BY_H

#include "conf/conf.h"
#include "util/buf.h"

/*
 * Append, as SQL, the number whose remainder by the count is the partition:
 * the CRC32 of outbox.partition_by, of the row with this prefix ("e.", "NEW.")
 * and this metadata; or of the key, if that value is NULL or missing, or the
 * key is what it names.
 */
void	partition_put_hash(const struct conf *, const char *prefix,
	    const char *metadata, const char *key, struct buf *);

#endif
