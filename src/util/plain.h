/*
 * plain.h - bytes of a row as printable text, or as 0x and hex digits
 *
 * Order keys, event types and labels may be any bytes.  Headers, subjects,
 * logs and outboxctl show them by one rule: plain text as it is, anything else
 * as 0x and two lower-case hex digits for each byte.
 */
#ifndef OUTBOX_PLAIN_H
#define OUTBOX_PLAIN_H

#include <stdbool.h>
#include <stddef.h>

#include "util/buf.h"

/*
 * True for well-formed UTF-8 without control characters and without a blank at
 * either end, which parsers of headers would strip.
 */
bool	plain_is(const char *, size_t);

/* Append "0x" and the digits. */
void	plain_put_hex(struct buf *, const char *, size_t);

/* Append the bytes by the rule above. */
void	plain_put(struct buf *, const char *, size_t);

/* The same into out, NUL-terminated; a text that was cut ends in "...". */
#define PLAIN_SIZE	200
void	plain_text(char out[PLAIN_SIZE], const char *, size_t);

/* Append the bytes that "0x..." encodes; false: not of that form. */
bool	plain_parse_hex(struct buf *, const char *text);

#endif
