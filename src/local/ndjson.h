/* ndjson.h - a message as one line of JSON */
#ifndef OUTBOX_NDJSON_H
#define OUTBOX_NDJSON_H

#include "driver/envelope.h"

/*
 * Append the line, with its line break.  The payload is a member "payload" with
 * the same tokens if it is JSON, else "payload_base64".
 */
void	ndjson_put(struct buf *, const struct envelope *);

#endif
