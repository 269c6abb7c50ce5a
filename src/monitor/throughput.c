/* throughput.c - see throughput.h */

#include "monitor/throughput.h"

#include <string.h>
#include <time.h>

#define SHOWN	60	/* one more is kept: it may be cleared meanwhile */

/* All failures of sends, whosever fault they were. */
static uint64_t
failures(const struct totals *t)
{
	uint64_t	n = t->failed_message + t->failed_transient;

	for (unsigned i = 0; i < TOTALS_CLASSES; i++)
		n += t->refused[i];
	return n;
}

static struct throughput_minute
sum_up(const struct scoreboard *s)
{
	struct throughput_minute	sum = { 0 };

	for (unsigned i = 0; i < SCOREBOARD_LINES; i++) {
		const struct totals	*t = &s->totals[i];

		sum.claimed += t->claimed;
		sum.published += t->published;
		sum.failed += failures(t);
		histogram_merge(&sum.commit_to_ack, &t->commit_to_ack);
	}
	return sum;
}

static void
add(struct throughput_minute *m, const struct throughput_minute *other)
{
	m->claimed += other->claimed;
	m->published += other->published;
	m->failed += other->failed;
	histogram_merge(&m->commit_to_ack, &other->commit_to_ack);
}

void
throughput_sample(struct scoreboard *s, int64_t now)
{
	struct throughput		*t = &s->throughput;
	int64_t				 minute = now / 60;
	struct throughput_minute	*m = &t->minutes[minute %
					    THROUGHPUT_MINUTES];
	struct throughput_minute	 sum = sum_up(s), grown = sum;

	grown.claimed -= t->before.claimed;
	grown.published -= t->before.published;
	grown.failed -= t->before.failed;
	histogram_subtract(&grown.commit_to_ack, &t->before.commit_to_ack);
	if (m->minute != minute) {
		memset(m, 0, sizeof(*m));
		m->minute = minute;
	}
	t->before = sum;
	add(m, &grown);
}

static json_t *
quantile(const struct histogram *h, double share)
{
	double	us = histogram_quantile(h, histogram_us, share);

	return us < 0 ? json_null() : json_real(us / 1000);
}

static json_t *
minute_json(const struct throughput_minute *m)
{
	return json_pack("{s:I, s:I, s:I, s:o, s:o}",
	    "claimed", (json_int_t)m->claimed,
	    "published", (json_int_t)m->published,
	    "failed", (json_int_t)m->failed,
	    "p50_ms", quantile(&m->commit_to_ack, 0.5),
	    "p99_ms", quantile(&m->commit_to_ack, 0.99));
}

static json_t *
time_json(int64_t minute)
{
	time_t		at = (time_t)(minute * 60);
	char		text[32];
	struct tm	tm;

	gmtime_r(&at, &tm);
	strftime(text, sizeof(text), "%Y-%m-%dT%H:%M:%SZ", &tm);
	return json_string(text);
}

json_t *
throughput_json(const struct scoreboard *s, int64_t now)
{
	struct throughput_minute	 sum = { 0 };
	json_t				*list = json_array(), *all;

	for (int64_t minute = now / 60 - SHOWN + 1; minute <= now / 60;
	    minute++) {
		struct throughput_minute	 m = s->throughput.minutes[
						    minute %
						    THROUGHPUT_MINUTES];
		json_t				*o;

		if (m.minute != minute)
			m = (struct throughput_minute){ 0 };
		o = minute_json(&m);
		json_object_set_new(o, "at", time_json(minute));
		json_array_append_new(list, o);
		add(&sum, &m);
	}
	all = minute_json(&sum);
	json_object_set_new(all, "minutes", list);
	return all;
}
