/* batch.h - a batch of rows, written as a row of letters */
#ifndef TESTS_BATCH_H
#define TESTS_BATCH_H

#include "lib/check.h"

#define MANY			1000
#define FAKE_MAX_PAYLOAD	5000

extern struct msg	msgs[MANY];
extern struct batch	batch;		/* of them */

/* One message for each letter; '-' has no key, an upper case one is held. */
void	batch_of(const char *keys);

/* Mostly lower case letters, of the first n of the alphabet. */
void	draw_keys(char *keys, size_t len, int n, int one_held_in);

#endif
