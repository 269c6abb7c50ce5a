/* duration.h - a duration in words, for people */
#ifndef OUTBOX_DURATION_H
#define OUTBOX_DURATION_H

#include <stdint.h>

struct duration_words {
	char	text[32];
};

/*
 * "350 ms", "4.2 s", "3 min 5 s", "2 h 10 min" or "3 d 4 h"; rounded down.  A
 * negative one is "0 ms".
 */
struct duration_words duration_words(int64_t ms);

#endif
