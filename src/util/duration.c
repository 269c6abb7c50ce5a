/* duration.c - see duration.h */

#include "util/duration.h"

#include <stdio.h>

#define SECOND_MS	INT64_C(1000)
#define MINUTE_MS	(60 * SECOND_MS)
#define HOUR_MS		(60 * MINUTE_MS)
#define DAY_MS		(24 * HOUR_MS)

/* "3 min 5 s", or "3 min" without a rest. */
static void
put_two(struct duration_words *w, int64_t n, int64_t per, const char *big,
    const char *small)
{
	if (n % per == 0)
		snprintf(w->text, sizeof(w->text), "%lld %s",
		    (long long)(n / per), big);
	else
		snprintf(w->text, sizeof(w->text), "%lld %s %lld %s",
		    (long long)(n / per), big, (long long)(n % per), small);
}

struct duration_words
duration_words(int64_t ms)
{
	struct duration_words	w;

	if (ms < SECOND_MS)
		snprintf(w.text, sizeof(w.text), "%lld ms",
		    (long long)(ms < 0 ? 0 : ms));
	else if (ms < 10 * SECOND_MS && ms % SECOND_MS >= 100)
		snprintf(w.text, sizeof(w.text), "%lld.%lld s",
		    (long long)(ms / SECOND_MS),
		    (long long)(ms % SECOND_MS / 100));
	else if (ms < MINUTE_MS)
		snprintf(w.text, sizeof(w.text), "%lld s",
		    (long long)(ms / SECOND_MS));
	else if (ms < HOUR_MS)
		put_two(&w, ms / SECOND_MS, 60, "min", "s");
	else if (ms < DAY_MS)
		put_two(&w, ms / MINUTE_MS, 60, "h", "min");
	else
		put_two(&w, ms / HOUR_MS, 24, "d", "h");
	return w;
}
