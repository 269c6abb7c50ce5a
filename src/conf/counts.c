/* counts.c - see counts.h; no I/O */

#include "conf/counts.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <bsd/string.h>
#include <libdeflate.h>

bool
counts_are_same(const struct counts *a, const struct counts *b)
{
	return a->count == b->count && a->nformer == b->nformer &&
	    memcmp(a->former, b->former, a->nformer * sizeof(*a->former)) == 0;
}

static bool
add_former(struct counts *c, unsigned count)
{
	if (c->nformer == COUNTS_MAX)
		return false;
	c->former[c->nformer++] = count;
	return true;
}

int
counts_parse(struct counts *c, const char *text, struct err *e)
{
	char		*end;
	unsigned long	 n;

	c->nformer = 0;
	if (text == NULL || *text == '\0')
		return 0;
	for (;; text = end + 1) {
		n = strtoul(text, &end, 10);
		/* strtoul would also take a sign or a blank. */
		if (*text < '0' || *text > '9' || n == 0 || n > INT32_MAX ||
		    (*end != ',' && *end != '\0') ||
		    !add_former(c, (unsigned)n))
			return err_set(e, "former_counts: \"%s\" is not a "
			    "list of at most %d numbers with commas between "
			    "them", text, COUNTS_MAX);
		if (*end == '\0')
			return 0;
	}
}

void
counts_format(const struct counts *c, char text[COUNTS_TEXT])
{
	char	number[16];

	text[0] = '\0';
	for (size_t i = 0; i < c->nformer; i++) {
		snprintf(number, sizeof(number), "%s%u", i == 0 ? "" : ",",
		    c->former[i]);
		strlcat(text, number, COUNTS_TEXT);
	}
}

static unsigned
present(const struct counts *c)
{
	return c->count == 0 ? 1 : c->count;
}

unsigned
counts_gcd(const struct counts *c)
{
	unsigned	g = present(c), n, rest;

	for (size_t i = 0; i < c->nformer; i++)
		for (n = c->former[i]; n != 0; n = rest) {
			rest = g % n;
			g = n;
		}
	return g;
}

unsigned
counts_max(const struct counts *c)
{
	unsigned	max = present(c);

	for (size_t i = 0; i < c->nformer; i++)
		if (c->former[i] > max)
			max = c->former[i];
	return max;
}

bool
counts_have(const struct counts *c, unsigned count)
{
	bool	have = present(c) == count;

	for (size_t i = 0; i < c->nformer; i++)
		have = have || c->former[i] == count;
	return have;
}

/* Under a count of 1 rows have the empty label. */
size_t
counts_class_size(const struct counts *c)
{
	return counts_max(c) / counts_gcd(c) + counts_have(c, 1);
}

int
counts_check(const struct counts *c, struct err *e)
{
	size_t	size = counts_class_size(c);

	if (c->nformer == 0)
		return 0;
	if (size > COUNTS_CLASS)
		return err_set(e, "under these counts one worker would have "
		    "to own %zu labels together, and it can own at most %d: "
		    "take a multiple or a divisor of the former count that is "
		    "nearer to it, and finish that change first", size,
		    COUNTS_CLASS);
	if (counts_gcd(c) == 1 && !counts_have(c, 1))
		return err_set(e, "the present and the former counts have no "
		    "common divisor, so one worker would do all the work: "
		    "take a multiple or a divisor of the former count");
	return 0;
}

int
counts_repartition(struct counts *c, unsigned count, struct err *e)
{
	struct counts	to = *c;

	to.nformer = 0;
	for (size_t i = 0; i < c->nformer; i++)
		if (c->former[i] != count)
			to.former[to.nformer++] = c->former[i];
	if (!add_former(&to, present(c)))
		return err_set(e, "%d former counts are declared already: end "
		    "those that no producer uses any more: outboxctl "
		    "partitions sync --finish", COUNTS_MAX);
	to.count = count;
	to.changed = true;
	if (counts_check(&to, e) < 0)
		return -1;
	*c = to;
	return 0;
}

/* The number after the "p"; NO_NUMBER: the label has another form. */
#define NO_NUMBER	UINT64_MAX

static uint64_t
number_of(const char *label, size_t len)
{
	uint64_t	n = 0;

	if (len < 2 || label[0] != 'p')
		return NO_NUMBER;
	for (size_t i = 1; i < len; i++) {
		if (label[i] < '0' || label[i] > '9' || n > INT32_MAX)
			return NO_NUMBER;
		n = 10 * n + (uint64_t)(label[i] - '0');
	}
	return n;
}

unsigned
counts_class(const struct counts *c, const char *label)
{
	uint64_t	n;

	if (label[0] == '\0')
		return counts_have(c, 1) ? 0 : COUNTS_NONE;
	n = number_of(label, strlen(label));
	return n < counts_max(c) ? (unsigned)(n % counts_gcd(c)) :
	    COUNTS_NONE;
}

bool
counts_is_label(const char *label)
{
	size_t	len = strlen(label);

	return len > 2 && number_of(label, len) != NO_NUMBER;
}

/* Without a count of 1, rows without a label are a partition of their own. */
bool
counts_is_former_hash(const struct counts *c, uint32_t hash,
    const char *label, size_t label_len)
{
	uint64_t	n;

	if (c->count == 0)
		return false;
	if (label_len == 0)
		return c->count != 1 && counts_have(c, 1);
	n = label_len > 2 ? number_of(label, label_len) : NO_NUMBER;
	return n != NO_NUMBER && n != hash % c->count;
}

bool
counts_is_former(const struct counts *c, const char *key, size_t key_len,
    const char *label, size_t label_len)
{
	return key != NULL && counts_is_former_hash(c,
	    libdeflate_crc32(0, key, key_len), label, label_len);
}
