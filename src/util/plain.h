/*
 * plain.h - bytes of a row as a line of text: as they are, or as 0x and hex
 *
 * Order keys, event types and labels may be any bytes.  Headers, subjects,
 * logs and outboxctl all show them by one rule: what is plain text is shown as
 * it is, all else as 0x and two lower-case hex digits for each byte.
 */
#ifndef OUTBOX_PLAIN_H
#define OUTBOX_PLAIN_H

#include <stdbool.h>
#include <stddef.h>

#include "util/buf.h"

/*
 * Well-formed UTF-8 without control characters, and without a blank at
 * either end, which a reader of headers would strip.
 */
bool	plain_is(const char *, size_t);

/* Append "0x" and the digits. */
void	plain_put_hex(struct buf *, const char *, size_t);

/* Append it by the rule. */
void	plain_put(struct buf *, const char *, size_t);

/* The same as a string of at most PLAIN_SIZE - 1 bytes; "..." ends a cut. */
#define PLAIN_SIZE	200
void	plain_text(char out[PLAIN_SIZE], const char *, size_t);

/* Append the bytes that "0x..." stands for; false: it is not of that form. */
bool	plain_parse_hex(struct buf *, const char *text);

#endif
