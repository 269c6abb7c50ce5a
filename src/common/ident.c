/* ident.c - worker ids; no I/O but the kernel's random numbers */

#include "common/ident.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <bsd/stdlib.h>

void
ident_new(char id[IDENT_SIZE], const char *host, unsigned slot)
{
	uint64_t	nonce;
	char		safe[15];
	size_t		i;

	/* The id is part of SQL texts and log lines: plain characters only. */
	for (i = 0; i < sizeof(safe) - 1 && host[i] != '\0'; i++)
		safe[i] = isalnum((unsigned char)host[i]) ||
		    host[i] == '-' || host[i] == '.' ? host[i] : '_';
	safe[i] = '\0';
	arc4random_buf(&nonce, sizeof(nonce));
	snprintf(id, IDENT_SIZE, "%s:%02u:%016llx", safe, slot % 1000,
	    (unsigned long long)nonce);
}

const char *
ident_nonce(const char *id)
{
	size_t	n = strlen(id);

	return n < IDENT_NONCE ? NULL : id + n - (IDENT_NONCE - 1);
}

bool
ident_is_valid(const char *id)
{
	const char	*nonce = ident_nonce(id), *end, *p;

	if (nonce == NULL || strlen(id) >= IDENT_SIZE || nonce == id ||
	    nonce[-1] != ':')
		return false;
	/* ":SLOT:" before the nonce, as ident_new writes it. */
	end = p = nonce - 1;
	while (p > id && isdigit((unsigned char)p[-1]))
		p--;
	if (p == end || p == id || p[-1] != ':')
		return false;
	if (strspn(nonce, "0123456789abcdef") != IDENT_NONCE - 1)
		return false;
	for (p = id; *p != '\0'; p++)
		if (!isalnum((unsigned char)*p) && strchr("-._:", *p) == NULL)
			return false;
	return true;
}

unsigned
ident_slot(const char *id)
{
	const char	*p = ident_nonce(id) - 2;

	while (p > id && p[-1] != ':')
		p--;
	return (unsigned)strtoul(p, NULL, 10);
}

bool
ident_precedes(const char *a, const char *b, bool by_slot)
{
	unsigned	one = by_slot ? ident_slot(a) : 0;
	unsigned	other = by_slot ? ident_slot(b) : 0;

	return one != other ? one < other : strcmp(a, b) < 0;
}
