/* moment.c - see moment.h */

#include "ctl/base/moment.h"

#include <stddef.h>
#include <time.h>

int64_t
moment_age_ms(const char *at)
{
	struct tm	tm = { 0 };

	if (at == NULL || strptime(at, "%Y-%m-%dT%H:%M:%S", &tm) == NULL)
		return -1;
	return ((int64_t)time(NULL) - (int64_t)timegm(&tm)) * 1000;
}
