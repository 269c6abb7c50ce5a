/*
 * gtid.c - see gtid.h
 *
 * All numbers are eight bytes, little-endian.  The set is the number of
 * servers; each server is its 16 bytes and its number of intervals; each
 * interval is its first transaction and the one after its last.
 */

#include "mysql/gtid.h"

#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define UUID_BYTES	16
#define NUMBER_BYTES	8

static void
put(char *at, uint64_t n)
{
	for (int i = 0; i < NUMBER_BYTES; i++)
		at[i] = (char)(n >> 8 * i);
}

static void
gtid_add(struct buf *b, uint64_t n)
{
	char	bytes[NUMBER_BYTES];

	put(bytes, n);
	buf_add(b, bytes, sizeof(bytes));
}

static int
gtid_digit(char c)
{
	return isdigit((unsigned char)c) ? c - '0' :
	    isxdigit((unsigned char)c) ? tolower((unsigned char)c) - 'a' + 10 :
	    -1;
}

/* Each of these moves *p past the text that it has read. */

static int
uuid(const char **p, struct buf *b)
{
	char	byte;
	int	high, low;

	for (int i = 0; i < UUID_BYTES; i++) {
		if (**p == '-')
			(*p)++;
		if ((high = gtid_digit((*p)[0])) < 0 ||
		    (low = gtid_digit((*p)[1])) < 0)
			return -1;
		byte = (char)(high << 4 | low);
		buf_add(b, &byte, 1);
		*p += 2;
	}
	return 0;
}

static int
gtid_number(const char **p, uint64_t *n)
{
	char	*end;

	if (!isdigit((unsigned char)**p))
		return -1;
	errno = 0;
	*n = strtoull(*p, &end, 10);
	*p = end;
	return errno != 0 || *n == 0 || *n >= INT64_MAX ? -1 : 0;
}

static int
interval(const char **p, struct buf *b)
{
	uint64_t	first, last;

	if (gtid_number(p, &first) < 0)
		return -1;
	last = first;
	if (**p == '-') {
		(*p)++;
		if (gtid_number(p, &last) < 0)
			return -1;
	}
	gtid_add(b, first);
	gtid_add(b, last + 1);
	return 0;
}

static int
server(const char **p, struct buf *b)
{
	uint64_t	n = 0;
	size_t		at;

	if (uuid(p, b) < 0)
		return -1;
	at = b->len;
	gtid_add(b, 0);
	for (; **p == ':'; n++) {
		(*p)++;
		if (interval(p, b) < 0)
			return -1;
	}
	put(b->data + at, n);
	return n == 0 ? -1 : 0;
}

int
gtid_encode(const char *text, struct buf *b)
{
	const char	*p = text;
	uint64_t	 n = 0;
	size_t		 at = b->len;

	gtid_add(b, 0);
	for (p += strspn(p, " \n"); *p != '\0'; n++) {
		if (server(&p, b) < 0)
			return -1;
		if (strchr(", \n", *p) == NULL)	/* matches the end, too */
			return -1;
		p += strspn(p, ", \n");
	}
	put(b->data + at, n);
	return 0;
}
