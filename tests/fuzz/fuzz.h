/*
 * fuzz.h - a fuzzer's target: a function that takes any bytes
 *
 * libFuzzer calls it millions of times; replay.c calls it once for each file of
 * the corpus.  It aborts where the code under test breaks its contract.
 */
#ifndef TESTS_FUZZ_H
#define TESTS_FUZZ_H

#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "common/msg.h"
#include "util/xalloc.h"

int	LLVMFuzzerTestOneInput(const uint8_t *, size_t);

#define MUST(condition)	do { if (!(condition)) abort(); } while (0)

/* The rest of the input. */
struct input {
	const uint8_t	*at;
	size_t		 left;
};

static inline unsigned
take_byte(struct input *in)
{
	if (in->left == 0)
		return 0;
	in->left--;
	return *in->at++;
}

/*
 * The next field: the bytes up to a 0xff, or the rest, in memory of their own,
 * so that a read beyond the end is seen; the caller frees.
 */
static inline char *
take_field(struct input *in, size_t *len)
{
	const uint8_t	*end = in->left == 0 ? NULL :
			    memchr(in->at, 0xff, in->left);
	size_t		 n = end == NULL ? in->left : (size_t)(end - in->at);
	char		*field = malloc(n == 0 ? 1 : n);

	MUST(field != NULL);
	if (n > 0)
		memcpy(field, in->at, n);
	*len = n;
	n += end != NULL;
	in->at += n;
	in->left -= n;
	return field;
}

/* The same as a text without NUL. */
static inline char *
take_text(struct input *in)
{
	size_t	 len;
	char	*field = take_field(in, &len);
	char	*text = xstrndup(field, len);

	free(field);
	return text;
}

#endif
