/* values.c - values of the scoreboard as JSON, and finding them again */

#include <string.h>
#include <time.h>

#include "ctl/state/state_impl.h"

/* Other processes write it while we read, so a NUL may be missing. */
json_t *
state_text(const char *text, size_t size)
{
	json_t	*v = json_stringn(text, strnlen(text, size));

	return v == NULL ? json_string("(being written)") : v;
}

json_t *
state_find(const json_t *list, const char *member, const char *text)
{
	json_t	*o;
	size_t	 i;

	json_array_foreach(list, i, o)
		if (strcmp(member_text(o, member), text) == 0)
			return o;
	return NULL;
}

json_t *
state_moment(int64_t seconds)
{
	time_t		t = (time_t)seconds;
	struct tm	tm;
	char		text[40];

	if (seconds == 0 || gmtime_r(&t, &tm) == NULL)
		return json_null();
	strftime(text, sizeof(text), "%Y-%m-%dT%H:%M:%SZ", &tm);
	return json_string(text);
}

json_t *
state_since(int64_t since, int64_t now)
{
	struct timespec	ts;

	clock_gettime(CLOCK_REALTIME, &ts);
	return state_moment(((int64_t)ts.tv_sec * 1000 + ts.tv_nsec / 1000000 -
	    (now - since)) / 1000);
}
