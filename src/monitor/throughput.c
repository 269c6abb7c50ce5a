/* throughput.c - see throughput.h */

#include "monitor/throughput.h"

#include <string.h>
#include <time.h>

#include "ipc/destinations.h"
#include "util/clock.h"

#define SHOWN	60	/* one more is kept: it may be cleared meanwhile */

static void
add(struct throughput_minute *m, const struct throughput_minute *other)
{
	m->claimed += other->claimed;
	m->published += other->published;
	m->failed += other->failed;
	histogram_merge(&m->commit_to_ack, &other->commit_to_ack);
}

/* That of the name, or a free one, or one that is not in use any more. */
static struct throughput_destination *
find_destination(struct throughput *t, const struct destination *list,
    size_t n, const char *name)
{
	struct throughput_destination	*unused = NULL;

	for (size_t i = 0; i < FIGURES_MAX; i++) {
		struct throughput_destination	*d = &t->destinations[i];
		size_t				 k = 0;

		if (strncmp(d->name, name, sizeof(d->name)) == 0)
			return d;
		while (k < n && strncmp(d->name, list[k].sum.name,
		    sizeof(d->name)) != 0)
			k++;
		if (k == n && (unused == NULL || d->name[0] == '\0'))
			unused = d;
	}
	if (unused != NULL) {
		memset(unused, 0, sizeof(*unused));
		memcpy(unused->name, name, sizeof(unused->name));
	}
	return unused;
}

/* A route that went and has come back counts from 0. */
static uint32_t
grown(uint64_t now, uint64_t before)
{
	return (uint32_t)(now < before ? now : now - before);
}

static void
sample_destinations(struct scoreboard *s, int64_t minute)
{
	static struct destination	list[FIGURES_MAX];
	size_t				n = destinations_read(s, clock_ms(),
					    list);

	for (size_t i = 0; i < n; i++) {
		const struct figures		*f = &list[i].sum;
		struct throughput_destination	*d = find_destination(
						    &s->throughput, list, n,
						    f->name);
		unsigned			 k = minute %
						    THROUGHPUT_MINUTES;

		if (d == NULL)
			continue;
		if (d->minutes[k].minute != minute) {
			memset(&d->minutes[k], 0, sizeof(d->minutes[k]));
			d->minutes[k].minute = minute;
		}
		d->minutes[k].taken += grown(f->taken, d->taken);
		d->minutes[k].failed += grown(f->failed, d->failed);
		d->taken = f->taken;
		d->failed = f->failed;
	}
}

void
throughput_sample(struct scoreboard *s, int64_t now)
{
	struct throughput		*t = &s->throughput;
	int64_t				 minute = now / 60;
	struct throughput_minute	*m = &t->minutes[minute %
					    THROUGHPUT_MINUTES];
	struct throughput_minute	 sum = { 0 }, grown;

	for (unsigned i = 0; i < SCOREBOARD_LINES; i++) {
		const struct totals	*of = &s->totals[i];

		sum.claimed += of->claimed;
		sum.published += of->published;
		sum.failed += of->failed_message + of->failed_transient;
		for (unsigned k = 0; k < TOTALS_CLASSES; k++)
			sum.failed += of->refused[k];
		histogram_merge(&sum.commit_to_ack, &of->commit_to_ack);
	}
	grown = sum;
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
	sample_destinations(s, minute);
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
time_json(int64_t seconds)
{
	time_t		at = (time_t)seconds;
	char		text[32];
	struct tm	tm;

	gmtime_r(&at, &tm);
	strftime(text, sizeof(text), "%Y-%m-%dT%H:%M:%SZ", &tm);
	return json_string(text);
}

static json_t *
destination_json(const struct throughput_destination *d, int64_t last)
{
	json_t	*list = json_array();

	for (int64_t minute = last - SHOWN + 1; minute <= last; minute++) {
		unsigned	k = minute % THROUGHPUT_MINUTES;
		bool		known = d->minutes[k].minute == minute;

		json_array_append_new(list, json_pack("{s:I, s:I}",
		    "taken", known ? (json_int_t)d->minutes[k].taken : 0,
		    "failed", known ? (json_int_t)d->minutes[k].failed : 0));
	}
	return json_pack("{s:o, s:o}", "destination", json_stringn(d->name,
	    strnlen(d->name, sizeof(d->name))), "minutes", list);
}

json_t *
throughput_json(const struct scoreboard *s, int64_t now)
{
	struct throughput_minute	 sum = { 0 };
	json_t				*list = json_array(), *all;
	json_t				*destinations = json_array();

	for (int64_t minute = now / 60 - SHOWN + 1; minute <= now / 60;
	    minute++) {
		struct throughput_minute	 m = s->throughput.minutes[
						    minute %
						    THROUGHPUT_MINUTES];
		json_t				*o;

		if (m.minute != minute)
			m = (struct throughput_minute){ 0 };
		o = minute_json(&m);
		json_object_set_new(o, "at", time_json(minute * 60));
		json_array_append_new(list, o);
		add(&sum, &m);
	}
	for (size_t i = 0; i < FIGURES_MAX; i++)
		if (s->throughput.destinations[i].name[0] != '\0')
			json_array_append_new(destinations, destination_json(
			    &s->throughput.destinations[i], now / 60));
	all = minute_json(&sum);
	json_object_set_new(all, "since", time_json(s->throughput.since));
	json_object_set_new(all, "minutes", list);
	json_object_set_new(all, "destinations", destinations);
	return all;
}
