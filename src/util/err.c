/*
 * err.c - an error text, built by the failing function and its callers
 *
 * A fixed buffer.  It does not allocate, log or decide, so that it works when
 * everything else fails.
 */
#include "util/err.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "util/utf8.h"

/* One more UTF-8 character than fits, to see whether the cut splits it. */
#define ONE_CHAR	4

/* At most size - 1 bytes, without half a UTF-8 character; one line. */
static void
copy_cut(char *to, size_t size, const char *from)
{
	size_t	n = strnlen(from, size);

	/* If the cut splits a character, go back to its first byte. */
	if (n == size)
		for (n--; n > 0 && ((unsigned char)from[n] & 0xc0) == 0x80; )
			n--;
	memcpy(to, from, n);
	to[n] = '\0';
	utf8_clean(to);
	for (to += strcspn(to, "\r\n"); *to != '\0'; to += strcspn(to, "\r\n"))
		*to = ' ';
}

int
err_set(struct err *e, const char *fmt, ...)
{
	char	text[sizeof(e->text) + ONE_CHAR];
	va_list	ap;

	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	copy_cut(e->text, sizeof(e->text), text);
	return -1;
}

int
err_in(struct err *e, const char *fmt, ...)
{
	char	where[sizeof(e->text) + ONE_CHAR];
	char	text[sizeof(where) + sizeof(e->text) + 2];
	va_list	ap;

	va_start(ap, fmt);
	vsnprintf(where, sizeof(where), fmt, ap);
	va_end(ap);
	snprintf(text, sizeof(text), "%s: %s", where, e->text);
	copy_cut(e->text, sizeof(e->text), text);
	return -1;
}
