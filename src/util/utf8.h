/* utf8.h - texts that come from outside, made fit for logs and columns */
#ifndef OUTBOX_UTF8_H
#define OUTBOX_UTF8_H

#include <stdbool.h>
#include <stddef.h>

/*
 * Replace each byte that is not part of well-formed UTF-8 by a question
 * mark.  A strict server refuses a whole write-back for one such byte.
 */
void	utf8_clean(char *);

/* Well-formed, with NUL and control characters allowed? */
bool	utf8_is_valid(const char *, size_t);

/* Nothing but bytes below 128? */
bool	utf8_is_ascii(const char *, size_t);

/*
 * So many bytes of a well-formed text are its first max characters, and all
 * of them if it has no more.
 */
size_t	utf8_first(const char *, size_t len, size_t max);

#endif
