/* utf8.c - see utf8.h; works in place and allocates nothing */

#include "util/utf8.h"

#include <string.h>

/* The length of a character by its first byte; 0: none begins so. */
static size_t
wanted(unsigned char first)
{
	if (first < 0x80)
		return 1;
	if (first >= 0xc2 && first < 0xe0)
		return 2;
	if (first >= 0xe0 && first < 0xf0)
		return 3;
	return first >= 0xf0 && first < 0xf5 ? 4 : 0;
}

/* Length of the character at p, with left bytes to the end; 0: malformed. */
static size_t
char_length(const unsigned char *p, size_t left)
{
	size_t	n = wanted(p[0]);

	if (n > left)
		return 0;
	for (size_t i = 1; i < n; i++)
		if ((p[i] & 0xc0) != 0x80)
			return 0;
	/* Overlong forms, surrogates and code points above U+10FFFF. */
	if (n > 2 && ((p[0] == 0xe0 && p[1] < 0xa0) ||
	    (p[0] == 0xed && p[1] > 0x9f) || (p[0] == 0xf0 && p[1] < 0x90) ||
	    (p[0] == 0xf4 && p[1] > 0x8f)))
		return 0;
	return n;
}

void
utf8_clean(char *text)
{
	unsigned char	*p = (unsigned char *)text;
	size_t		 left = strlen(text);

	while (left > 0) {
		size_t n = char_length(p, left);

		if (n == 0)
			*p = '?';
		n += n == 0;
		p += n;
		left -= n;
	}
}

bool
utf8_is_valid(const char *text, size_t len)
{
	size_t	n;

	for (size_t i = 0; i < len; i += n) {
		n = char_length((const unsigned char *)text + i, len - i);
		if (n == 0)
			return false;
	}
	return true;
}

bool
utf8_is_ascii(const char *text, size_t len)
{
	for (size_t i = 0; i < len; i++)
		if ((unsigned char)text[i] >= 0x80)
			return false;
	return true;
}

size_t
utf8_first(const char *text, size_t len, size_t max)
{
	size_t	i = 0;

	for (; i < len && max > 0; max--)
		i += wanted((unsigned char)text[i]);
	return i < len ? i : len;
}
