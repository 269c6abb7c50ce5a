/* report.c - see report.h */

#include "worker/report.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "util/log.h"

void
report_init(struct report *r, const struct report_form *form,
    const char *worker, int64_t now)
{
	memset(r, 0, sizeof(*r));
	r->form = *form;
	r->worker = worker;
	r->since = now;
}

void
report_free(struct report *r)
{
	buf_free(&r->line);
}

static void
count(struct report *r, const struct fleet *m, const struct tick_result *t,
    int64_t duration_ms)
{
	r->ticks++;
	r->claimed += t->claimed;
	r->published += t->settled.delivered;
	r->failed += t->relay.failed;
	r->fenced += t->settled.fenced;
	r->purged += m->purged;
	r->duration_ms += duration_ms;
	r->beaten = r->beaten || m->beaten;
}

static void
put_field(struct buf *b, const char *name, uint64_t value)
{
	buf_printf(b, "\"%s\":", name);
	buf_u64(b, value);
	buf_str(b, ",");
}

/* Labels come from a table that may be somebody else's: escape them. */
static void
put_label(struct buf *b, const char *label)
{
	buf_str(b, "\"");
	for (; *label != '\0'; label++) {
		if ((unsigned char)*label < 0x20) {
			buf_printf(b, "\\u%04x", (unsigned)*label);
			continue;
		}
		if (*label == '"' || *label == '\\')
			buf_str(b, "\\");
		buf_add(b, label, 1);
	}
	buf_str(b, "\",");
}

static void
put_labels(struct buf *b, const char *name, char *const *labels, size_t n)
{
	buf_printf(b, "\"%s\":[", name);
	for (size_t i = 0; i < n; i++)
		put_label(b, labels[i]);
	if (n > 0)
		buf_chop(b, 1);
	buf_str(b, "],");
}

static void
put_owned(struct buf *b, const struct fleet *m)
{
	buf_str(b, "\"owned_partitions\":[");
	for (size_t i = 0; i < m->nowned; i++)
		put_label(b, m->owned[i].label);
	if (m->nowned > 0)
		buf_chop(b, 1);
	buf_str(b, "],");
}

static void
put_now(struct buf *b)
{
	struct timespec	ts;
	struct tm	tm;
	char		text[40];

	clock_gettime(CLOCK_REALTIME, &ts);
	gmtime_r(&ts.tv_sec, &tm);
	strftime(text, sizeof(text), "%Y-%m-%dT%H:%M:%S", &tm);
	buf_printf(b, "\"ts\":\"%s.%06ldZ\"", text, ts.tv_nsec / 1000);
}

static void
put_json(struct report *r, const struct fleet *m, int64_t backoff_ms)
{
	struct buf	*b = &r->line;

	buf_str(b, "{");
	put_field(b, "claimed", r->claimed);
	put_field(b, "published", r->published);
	put_field(b, "failed", r->failed);
	put_field(b, "fenced", r->fenced);
	put_field(b, "ticks", r->ticks);
	put_field(b, "duration_ms", (uint64_t)r->duration_ms);
	put_field(b, "backoff_ms", (uint64_t)backoff_ms);
	buf_printf(b, "\"renewed_heartbeat\":%s,",
	    r->beaten ? "true" : "false");
	put_field(b, "purged_stale", r->purged);
	put_field(b, "active_workers", m->active);
	put_field(b, "desired_count", m->ndesired);
	put_field(b, "owned_count", m->nowned);
	put_field(b, "leased_count", m->nleased);
	put_field(b, "released_count", m->nreleased);
	put_labels(b, "desired_partitions", m->desired, m->ndesired);
	put_owned(b, m);
	put_labels(b, "leased_partitions", m->leased, m->nleased);
	put_labels(b, "released_partitions", m->released, m->nreleased);
	put_field(b, "lines_lost", r->lost);
	buf_printf(b, "\"worker\":\"%s\",", r->worker);
	put_now(b);
	buf_str(b, "}\n");
}

static void
put_text(struct report *r, const struct fleet *m, int64_t backoff_ms)
{
	struct buf	*b = &r->line;

	buf_printf(b, "%s claimed=%llu published=%llu failed=%llu", r->worker,
	    (unsigned long long)r->claimed, (unsigned long long)r->published,
	    (unsigned long long)r->failed);
	if (r->fenced > 0)
		buf_printf(b, " fenced=%llu", (unsigned long long)r->fenced);
	buf_printf(b, " desired=%zu owned=%zu", m->ndesired, m->nowned);
	if (m->nleased > 0 || m->nreleased > 0)
		buf_printf(b, " leased=%zu released=%zu", m->nleased,
		    m->nreleased);
	buf_printf(b, " workers=%zu dur=%lldms", m->active,
	    (long long)r->duration_ms);
	if (r->ticks > 1)
		buf_printf(b, " ticks=%llu", (unsigned long long)r->ticks);
	if (backoff_ms > 0)
		buf_printf(b, " backoff=%lldms", (long long)backoff_ms);
	buf_str(b, "\n");
}

static void
deliver(struct report *r)
{
	const char	*p = r->line.data;
	size_t		 left = r->line.len;
	ssize_t		 n;

	if (send(r->form.fd, p, left, MSG_DONTWAIT | MSG_NOSIGNAL) >= 0)
		return;
	if (errno != ENOTSOCK) {
		r->lost++;
		return;
	}
	/* Our own standard output: --once, nobody else writes to it. */
	for (; left > 0; p += n, left -= (size_t)n)
		if ((n = write(r->form.fd, p, left)) < 0)
			return;
}

static void
reset(struct report *r, int64_t now)
{
	r->since = now;
	r->ticks = r->claimed = r->published = r->failed = r->fenced = 0;
	r->purged = 0;
	r->duration_ms = 0;
	r->beaten = false;
}

void
report_tick(struct report *r, struct fleet *m, const struct tick_result *t,
    int64_t duration_ms, int64_t backoff_ms, int64_t now)
{
	count(r, m, t, duration_ms);
	m->purged = 0;
	if (now - r->since < r->form.window_ms)
		return;
	if (!r->form.silent) {
		buf_clear(&r->line);
		if (r->form.json)
			put_json(r, m, backoff_ms);
		else
			put_text(r, m, backoff_ms);
		deliver(r);
	}
	fleet_clear_report(m);
	reset(r, now);
}
