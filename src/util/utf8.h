/* utf8.h - check and repair text that comes from outside */
#ifndef OUTBOX_UTF8_H
#define OUTBOX_UTF8_H

#include <stdbool.h>
#include <stddef.h>

/*
 * Replace each byte that is not part of well-formed UTF-8 by a question mark.
 * In strict mode the server rejects a whole write-back for one.
 */
void	utf8_clean(char *);

/* True if well-formed; NUL and control characters are allowed. */
bool	utf8_is_valid(const char *, size_t);

/* True if every byte is below 128. */
bool	utf8_is_ascii(const char *, size_t);

/*
 * Returns the bytes that the first max characters of a well-formed text take,
 * or len if it has fewer.
 */
size_t	utf8_first(const char *, size_t len, size_t max);

#endif
