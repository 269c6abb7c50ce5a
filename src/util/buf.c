/* buf.c - append only; keeps its memory, so that a tick rarely allocates */

#include "util/buf.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "util/xalloc.h"

void
buf_clear(struct buf *b)
{
	b->len = 0;
	if (b->data != NULL)
		b->data[0] = '\0';
}

void
buf_free(struct buf *b)
{
	free(b->data);
	memset(b, 0, sizeof(*b));
}

char *
buf_reserve(struct buf *b, size_t n)
{
	size_t	want = b->len + n + 1;

	if (want > b->size) {
		b->size = want > b->size * 2 ? want : b->size * 2;
		b->data = xreallocarray(b->data, b->size, 1);
	}
	return b->data + b->len;
}

void
buf_add(struct buf *b, const void *data, size_t n)
{
	memcpy(buf_reserve(b, n), data, n);
	b->len += n;
	b->data[b->len] = '\0';
}

void
buf_str(struct buf *b, const char *s)
{
	buf_add(b, s, strlen(s));
}

void
buf_u64(struct buf *b, uint64_t n)
{
	char	digits[20];
	size_t	i = sizeof(digits);

	do
		digits[--i] = (char)('0' + n % 10);
	while ((n /= 10) != 0);
	buf_add(b, digits + i, sizeof(digits) - i);
}

void
buf_hex32(struct buf *b, uint32_t n)
{
	char	digits[8];

	for (size_t i = sizeof(digits); i-- > 0; n >>= 4)
		digits[i] = "0123456789abcdef"[n & 15];
	buf_add(b, digits, sizeof(digits));
}

void
buf_printf(struct buf *b, const char *fmt, ...)
{
	va_list	ap, again;
	int	n;

	va_start(ap, fmt);
	va_copy(again, ap);
	n = vsnprintf(NULL, 0, fmt, ap);
	va_end(ap);
	vsnprintf(buf_reserve(b, (size_t)n), (size_t)n + 1, fmt, again);
	va_end(again);
	b->len += (size_t)n;
}

void
buf_chop(struct buf *b, size_t n)
{
	b->len -= n;
	b->data[b->len] = '\0';
}
