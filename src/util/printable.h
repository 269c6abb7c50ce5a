/*
 * printable.h - bytes of a row as printable text, or as 0x and hex digits
 *
 * Order keys, event types and labels may be any bytes.  Headers, subjects,
 * logs and outboxctl show them by one rule: plain text as it is, anything else
 * as 0x and two lower-case hex digits for each byte.
 */
#ifndef OUTBOX_PRINTABLE_H
#define OUTBOX_PRINTABLE_H

#include <stdbool.h>
#include <stddef.h>

#include "util/buf.h"

/*
 * True for well-formed UTF-8 without control characters and without a blank at
 * either end, which parsers of headers would strip.
 */
bool	printable_is(const char *, size_t);

/* Append "0x" and the digits. */
void	printable_put_hex(struct buf *, const char *, size_t);

/* Append the bytes by the rule above. */
void	printable_put(struct buf *, const char *, size_t);

/* The same into out, NUL-terminated; a text that was cut ends in "...". */
#define PRINTABLE_SIZE	200
void	printable_text(char out[PRINTABLE_SIZE], const char *, size_t);

/* Append the bytes that "0x..." encodes; false: not of that form. */
bool	printable_parse_hex(struct buf *, const char *text);

#endif
