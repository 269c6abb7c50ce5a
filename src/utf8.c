/* utf8.c - see utf8.h; works in place and allocates nothing */

#include "utf8.h"

#include <stdbool.h>
#include <stddef.h>

/* How many bytes a character that starts so has; 0: none starts so. */
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

/* Overlong forms, surrogates and what lies above U+10FFFF. */
static bool
is_excluded(unsigned char first, unsigned char second)
{
	return (first == 0xe0 && second < 0xa0) ||
	    (first == 0xed && second > 0x9f) ||
	    (first == 0xf0 && second < 0x90) ||
	    (first == 0xf4 && second > 0x8f);
}

static size_t
char_length(const unsigned char *p)
{
	size_t	n = wanted(p[0]);

	for (size_t i = 1; i < n; i++)
		if ((p[i] & 0xc0) != 0x80)
			return 0;
	return n > 2 && is_excluded(p[0], p[1]) ? 0 : n;
}

void
utf8_clean(char *text)
{
	unsigned char	*p = (unsigned char *)text;

	while (*p != '\0') {
		size_t n = char_length(p);

		if (n == 0)
			*p = '?';
		p += n == 0 ? 1 : n;
	}
}
