/*
 * report.c - see report.h
 *
 * A line that the output does not take now, because its reader is slow or
 * another worker is in the middle of a line, is tried again with the next one.
 */

#include "worker/report.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include <jansson.h>

#include "util/clock.h"
#include "util/log.h"
#include "util/printable.h"

#define WAITING_MAX	(256 * 1024)	/* bytes of lines */
#define END_MS		1000		/* for the reader, at the end */

void
report_init(struct report *r, const struct report_form *form,
    const char *worker, int64_t now)
{
	*r = (struct report){ .form = *form, .worker = worker, .since = now,
	    .out = { .fd = form->fd, .long_lines = !form->waits } };
}

/* Labels may be of another program, with any bytes; JSON needs UTF-8. */
static json_t *
labels_json(char *const *labels, size_t n)
{
	json_t	*list = json_array(), *text;
	char	 plain[PRINTABLE_SIZE];

	for (size_t i = 0; i < n; i++) {
		if ((text = json_string(labels[i])) == NULL) {
			printable_text(plain, labels[i], strlen(labels[i]));
			text = json_string(plain);
		}
		json_array_append_new(list, text);
	}
	return list;
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
	struct timespec	 ts;
	struct tm	 tm;
	char		 now[40];
	size_t		 n;
	json_t		*o;

	clock_gettime(CLOCK_REALTIME, &ts);
	gmtime_r(&ts.tv_sec, &tm);
	n = strftime(now, sizeof(now), "%Y-%m-%dT%H:%M:%S", &tm);
	snprintf(now + n, sizeof(now) - n, ".%06ldZ", ts.tv_nsec / 1000);
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
	    "ts", now);
	json_dump_callback(o, add_to_line, &r->waiting, JSON_COMPACT);
	json_decref(o);
	buf_str(&r->waiting, "\n");
}

static void
put_text(struct report *r, const struct fleet *f, int64_t backoff_ms)
{
	struct buf	*b = &r->waiting;

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

/* One line, or half a line of before; returns the bytes that are done with. */
static size_t
write_line(struct report *r, const char *line, int patience_ms)
{
	size_t	n = strcspn(line, "\n") + 1;

	if (line_output_write(&r->out, line, n, patience_ms) == 0) {
		if (r->refused > 0)
			log_event(LOG_LVL_INFO, LOG_FIELDS(LOG_NUMBER("lost",
			    r->refused)), "standard output works again: %llu "
			    "report(s) were lost",
			    (unsigned long long)r->refused);
		r->refused = 0;
		return n;
	}
	if (errno == EAGAIN)
		return 0;
	r->lost++;
	if (errno == EPIPE) {	/* a reader that is gone misses nothing */
		r->form.silent = true;
		line_output_forget(&r->out);
	} else if (r->refused++ == 0)
		log_error("reports are lost: standard output cannot be "
		    "written: %s", strerror(errno));
	return n;
}

/* Until this time, clock_ms(); at least once. */
static void
write_lines(struct report *r, int64_t until)
{
	struct buf	*b = &r->waiting;
	size_t		 at = 0, n;
	int64_t		 left;

	do {
		left = later(until - clock_ms(), 0);
		n = at == b->len ? 0 : write_line(r, b->data + at,
		    r->form.waits ? -1 : (int)left);
		at += n;
	} while (at < b->len && !r->form.silent && (n > 0 || left > 0));
	if (at > 0)
		memmove(b->data, b->data + at, b->len - at);
	buf_chop(b, at);
}

void
report_write(struct report *r)
{
	if (r->waiting.len > 0)
		write_lines(r, 0);
	else
		(void)line_output_finish(&r->out, 0);
}

void
report_free(struct report *r)
{
	int64_t	until = clock_ms() + END_MS;

	if (!r->form.silent && r->waiting.len > 0)
		write_lines(r, until);
	(void)line_output_finish(&r->out, (int)later(until - clock_ms(), 0));
	line_output_forget(&r->out);
	buf_free(&r->waiting);
}

void
report_tick(struct report *r, struct fleet *f, const struct tick_result *t,
    int64_t duration_ms, int64_t backoff_ms, int64_t now)
{
	size_t	before = r->waiting.len;

	r->ticks++;
	r->claimed += t->claimed;
	r->published += t->settled.delivered;
	r->failed += t->relay.failed;
	r->fenced += t->settled.fenced;
	r->purged += f->purged;
	r->duration_ms += duration_ms;
	r->beaten = r->beaten || f->beaten;
	f->purged = 0;
	if (now - r->since < r->form.interval_ms)
		return;
	if (!r->form.silent) {
		if (r->form.json)
			put_json(r, f, backoff_ms);
		else
			put_text(r, f, backoff_ms);
		if (before > 0 && r->waiting.len > WAITING_MAX) {
			buf_chop(&r->waiting, r->waiting.len - before);
			r->lost++;
		}
		report_write(r);
	}
	fleet_clear_report(f);
	r->since = now;
	r->ticks = r->claimed = r->published = r->failed = r->fenced = 0;
	r->purged = 0;
	r->duration_ms = 0;
	r->beaten = false;
}
