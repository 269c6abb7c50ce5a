/* moment.h - times as text, and how long ago they were */
#ifndef OUTBOXCTL_MOMENT_H
#define OUTBOXCTL_MOMENT_H

#include <stdint.h>

/*
 * Milliseconds from a time of RFC 3339 until now; negative: in the future, or
 * it is NULL or no such time.
 */
int64_t	moment_age_ms(const char *at);

#endif
