/* printable.c - see printable.h */

#include "util/printable.h"

#include <ctype.h>
#include <string.h>

#include <bsd/string.h>

#include "util/utf8.h"

bool
printable_is(const char *data, size_t len)
{
	for (size_t i = 0; i < len; i++)
		if ((unsigned char)data[i] < ' ' || data[i] == 0x7f)
			return false;
	if (len > 0 && (data[0] == ' ' || data[len - 1] == ' '))
		return false;
	return utf8_is_valid(data, len);
}

void
printable_put_hex(struct buf *b, const char *data, size_t len)
{
	static const char	 digits[] = "0123456789abcdef";
	char			*to;

	buf_str(b, "0x");
	to = buf_reserve(b, 2 * len + 1);
	for (size_t i = 0; i < len; i++) {
		to[2 * i] = digits[(unsigned char)data[i] >> 4];
		to[2 * i + 1] = digits[data[i] & 15];
	}
	to[2 * len] = '\0';
	b->len += 2 * len;
}

void
printable_put(struct buf *b, const char *data, size_t len)
{
	if (printable_is(data, len))
		buf_add(b, data, len);
	else
		printable_put_hex(b, data, len);
}

void
printable_text(char out[PRINTABLE_SIZE], const char *data, size_t len)
{
	static const char	mark[] = "...";
	struct buf		b = { 0 };
	size_t			n;

	printable_put(&b, data == NULL ? "" : data, data == NULL ? 0 : len);
	n = b.len < PRINTABLE_SIZE ? b.len : PRINTABLE_SIZE - sizeof(mark);
	/* Do not cut inside a character. */
	while (n < b.len && n > 0 && (b.data[n] & 0xc0) == 0x80)
		n--;
	if (n > 0)
		memcpy(out, b.data, n);
	strlcpy(out + n, n < b.len ? mark : "", PRINTABLE_SIZE - n);
	buf_free(&b);
}

static int
hex_digit(char c)
{
	return isdigit((unsigned char)c) ? c - '0' :
	    tolower((unsigned char)c) - 'a' + 10;
}

bool
printable_parse_hex(struct buf *b, const char *text)
{
	size_t	n = strlen(text);

	if (strncmp(text, "0x", 2) != 0 || n % 2 != 0 ||
	    strspn(text + 2, "0123456789abcdefABCDEF") != n - 2)
		return false;
	for (size_t i = 2; i < n; i += 2) {
		char byte = (char)(hex_digit(text[i]) << 4 |
		    hex_digit(text[i + 1]));

		buf_add(b, &byte, 1);
	}
	return true;
}
