/*
 * json_text.h - JSON that is checked and written, but never parsed
 *
 * A text that is only embedded must not be parsed and printed again: that
 * would change large numbers, the order of names and blanks.
 */
#ifndef OUTBOX_JSON_TEXT_H
#define OUTBOX_JSON_TEXT_H

#include <stdbool.h>
#include <stddef.h>

#include "util/buf.h"

/*
 * Arrays and objects in each other, at most.  PHP reads 512 by default, and
 * others about 1,000; the text may be embedded in another one.
 */
#define JSON_TEXT_DEEPEST	500

/*
 * True if the bytes are one JSON value of RFC 8259 that any reader takes: in
 * UTF-8, no half of a surrogate pair in an escape, not nested too deeply.
 * Numbers of any length are all right.
 */
bool	json_text_is_valid(const char *, size_t);

/* Append well-formed UTF-8 as a string in quotes. */
void	json_text_put(struct buf *, const char *, size_t);

/* Append bytes in base64, with padding and without line breaks. */
void	json_text_put_base64(struct buf *, const void *, size_t);

#endif
