/* report.c - see report.h */

#include "worker/report.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include <jansson.h>

#include "util/printable.h"

void
report_init(struct report *r, const struct report_form *form,
    const char *worker, int64_t now)
{
	*r = (struct report){ .form = *form, .worker = worker, .since = now };
}

void
report_free(struct report *r)
{
	buf_free(&r->line);
}

static void
add_tick(struct report *r, const struct fleet *f, const struct tick_result *t,
    int64_t duration_ms)
{
	r->ticks++;
	r->claimed += t->claimed;
	r->published += t->settled.delivered;
	r->failed += t->relay.failed;
	r->fenced += t->settled.fenced;
	r->purged += f->purged;
	r->duration_ms += duration_ms;
	r->beaten = r->beaten || f->beaten;
}

/* Labels may be of another program, with any bytes; JSON needs UTF-8. */
static void
append_label(json_t *list, const char *label)
{
	json_t	*text = json_string(label);
	char	 plain[PRINTABLE_SIZE];

	if (text == NULL) {
		printable_text(plain, label, strlen(label));
		text = json_string(plain);
	}
	json_array_append_new(list, text);
}

static json_t *
labels_json(char *const *labels, size_t n)
{
	json_t	*list = json_array();

	for (size_t i = 0; i < n; i++)
		append_label(list, labels[i]);
	return list;
}

static const char *
put_now(char text[40])
{
	struct timespec	ts;
	struct tm	tm;
	size_t		n;

	clock_gettime(CLOCK_REALTIME, &ts);
	gmtime_r(&ts.tv_sec, &tm);
	n = strftime(text, 40, "%Y-%m-%dT%H:%M:%S", &tm);
	snprintf(text + n, 40 - n, ".%06ldZ", ts.tv_nsec / 1000);
	return text;
}

static int
add_to_line(const char *text, size_t len, void *line)
{
	buf_add(line, text, len);
	return 0;
}

#define INT(x)	((json_int_t)(x))

static void
put_json(struct report *r, const struct fleet *f, int64_t backoff_ms)
{
	char	 now[40];
	json_t	*o;

	o = json_pack("{s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:b, s:I, s:I, s:I, "
	    "s:I, s:I, s:I, s:o, s:o, s:o, s:o, s:I, s:s, s:s}",
	    "claimed", INT(r->claimed), "published", INT(r->published),
	    "failed", INT(r->failed), "fenced", INT(r->fenced),
	    "ticks", INT(r->ticks), "duration_ms", INT(r->duration_ms),
	    "backoff_ms", INT(backoff_ms), "renewed_heartbeat", r->beaten,
	    "purged_stale", INT(r->purged), "active_workers", INT(f->active),
	    "desired_count", INT(f->ndesired), "owned_count", INT(f->nowned),
	    "leased_count", INT(f->nleased),
	    "released_count", INT(f->nreleased),
	    "desired_partitions", labels_json(f->desired, f->ndesired),
	    "owned_partitions", labels_json(f->owned, f->nowned),
	    "leased_partitions", labels_json(f->leased, f->nleased),
	    "released_partitions", labels_json(f->released, f->nreleased),
	    "lines_lost", INT(r->lost), "worker", r->worker,
	    "ts", put_now(now));
	json_dump_callback(o, add_to_line, &r->line, JSON_COMPACT);
	json_decref(o);
	buf_str(&r->line, "\n");
}

static void
put_text(struct report *r, const struct fleet *f, int64_t backoff_ms)
{
	struct buf	*b = &r->line;

	buf_printf(b, "%s claimed=%llu published=%llu failed=%llu", r->worker,
	    (unsigned long long)r->claimed, (unsigned long long)r->published,
	    (unsigned long long)r->failed);
	if (r->fenced > 0)
		buf_printf(b, " fenced=%llu", (unsigned long long)r->fenced);
	buf_printf(b, " desired=%zu owned=%zu", f->ndesired, f->nowned);
	if (f->nleased > 0 || f->nreleased > 0)
		buf_printf(b, " leased=%zu released=%zu", f->nleased,
		    f->nreleased);
	buf_printf(b, " workers=%zu dur=%lldms", f->active,
	    (long long)r->duration_ms);
	if (r->ticks > 1)
		buf_printf(b, " ticks=%llu", (unsigned long long)r->ticks);
	if (backoff_ms > 0)
		buf_printf(b, " backoff=%lldms", (long long)backoff_ms);
	buf_str(b, "\n");
}

static void
send_line(struct report *r)
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
	/* --once: no socket, and no other process writes to this output. */
	for (; left > 0; p += n, left -= (size_t)n)
		if ((n = write(r->form.fd, p, left)) < 0)
			return;
}

static void
reset_totals(struct report *r, int64_t now)
{
	r->since = now;
	r->ticks = r->claimed = r->published = r->failed = r->fenced = 0;
	r->purged = 0;
	r->duration_ms = 0;
	r->beaten = false;
}

void
report_tick(struct report *r, struct fleet *f, const struct tick_result *t,
    int64_t duration_ms, int64_t backoff_ms, int64_t now)
{
	add_tick(r, f, t, duration_ms);
	f->purged = 0;
	if (now - r->since < r->form.interval_ms)
		return;
	if (!r->form.silent) {
		buf_clear(&r->line);
		if (r->form.json)
			put_json(r, f, backoff_ms);
		else
			put_text(r, f, backoff_ms);
		send_line(r);
	}
	fleet_clear_report(f);
	reset_totals(r, now);
}
