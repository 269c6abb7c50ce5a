/*
 * stdout.c - lines of JSON on standard output, see local.h
 *
 * A line is written when the relay waits.  If the reader is slow, or another
 * worker is in the middle of a line, lines stay in memory and are tried again
 * every RETRY_MS; the relay's time-out ends that.  Any other error is the
 * destination's: the messages were not sent.
 */

#include "local/local.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "driver/answer_queue.h"
#include "driver/pub_lacks.h"
#include "local/ndjson.h"
#include "util/clock.h"
#include "util/line_output.h"
#include "util/xalloc.h"

#define RETRY_MS	5

struct line {
	uint32_t	index;
	size_t		start, len;	/* in text */
};

struct out {
	struct line_output	 output;
	bool			 open;
	struct buf		 text;		/* of the waiting lines */
	struct line		*lines;
	size_t			 n, at, size;	/* at: the first that waits */
	bool			 half;		/* lines[at] is written in part */
	int64_t			 until;
	struct answer_queue	 answers;
};

static bool
out_caution(void *arg, struct err *e)
{
	struct stat	st;

	(void)arg;
	if (fstat(STDOUT_FILENO, &st) < 0 || !S_ISCHR(st.st_mode) ||
	    st.st_rdev != makedev(1, 3))
		return false;
	err_set(e, "publish.driver is stdout, and standard output is "
	    "/dev/null, as in a daemon: messages go nowhere, and their rows "
	    "count as delivered");
	return true;
}

/* A half line is finished before anything else, also in the next batch. */
static void
drop_lines(struct out *o)
{
	o->n = o->at = 0;
	o->half = false;
	buf_clear(&o->text);
}

static int
out_open(void *arg, struct err *e)
{
	struct out	*o = arg;
	struct stat	 st;

	if (fstat(STDOUT_FILENO, &st) < 0)
		return err_set(e, "standard output: %s", strerror(errno));
	o->output = (struct line_output){ .long_lines = true,
	    .fd = line_output_own(STDOUT_FILENO) };
	o->open = true;
	return 0;
}

static void
out_close(void *arg)
{
	struct out	*o = arg;

	drop_lines(o);
	answer_queue_clear(&o->answers);
	if (!o->open)
		return;
	line_output_end(&o->output);
	if (o->output.fd != STDOUT_FILENO)
		close(o->output.fd);
	o->open = false;
}

static bool
out_is_open(void *arg)
{
	return ((struct out *)arg)->open;
}

static int64_t
out_unread(void *arg)
{
	return (int64_t)((struct out *)arg)->output.nrest;
}

static void
out_begin(void *arg, int64_t until)
{
	struct out	*o = arg;

	drop_lines(o);
	answer_queue_clear(&o->answers);
	o->until = until;
}

static enum pub_sent
out_send(void *arg, const struct envelope *v, uint32_t index, struct err *e)
{
	struct out	*o = arg;
	size_t		 start = o->text.len;

	if (!o->open) {
		err_set(e, "standard output is not open");
		return PUB_LOST;
	}
	if (o->n == o->size) {
		o->size = o->size * 2 + 32;
		o->lines = xreallocarray(o->lines, o->size, sizeof(*o->lines));
	}
	ndjson_put(&o->text, v);
	o->lines[o->n++] = (struct line){ index, start, o->text.len - start };
	return PUB_SENT;
}

/* None of the waiting lines is sent; half of the first one may be. */
static void
refuse_lines(struct out *o, enum error_class class, const char *why)
{
	struct pub_answer	a = { .verdict = VERDICT_DESTINATION,
				    .class = class };

	snprintf(a.text, sizeof(a.text), "standard output: %s", why);
	for (; o->at < o->n; o->at++) {
		a.index = o->lines[o->at].index;
		answer_queue_put(&o->answers, &a);
	}
	drop_lines(o);
}

static void
write_lines(struct out *o)
{
	while (o->at < o->n) {
		const struct line *l = &o->lines[o->at];

		if (!o->half && clock_ms() >= o->until) {
			refuse_lines(o, CLASS_TIMEOUT, "the time to send was "
			    "over before the reader took the line");
			return;
		}
		if (!o->half && line_output_write(&o->output,
		    o->text.data + l->start, l->len, 0) < 0)
			break;
		o->half = o->output.nrest > 0;
		if (o->half && line_output_finish(&o->output, 0) < 0)
			break;
		o->half = false;
		answer_queue_put_stored(&o->answers, l->index);
		o->at++;
	}
	/* If some are left, errno is of the write that ended the loop. */
	if (o->at == o->n)
		drop_lines(o);
	else if (errno != EAGAIN)
		refuse_lines(o, errno == ENOSPC || errno == EDQUOT ||
		    errno == EFBIG ? CLASS_FULL : CLASS_OFFLINE,
		    strerror(errno));
}

static void
out_prepare(void *arg, struct pub_polls *p)
{
	struct out	*o = arg;

	if (!o->open)
		return;
	/*
	 * Half a line that nobody reads any more is no work.  With any other
	 * error its end must come before the next line.
	 */
	if (o->n == 0 && line_output_finish(&o->output, 0) < 0 &&
	    errno == EPIPE)
		line_output_forget(&o->output);
	write_lines(o);
	if (answer_queue_has(&o->answers))
		p->timeout_ms = 0;
	else if (o->n > 0 || o->output.nrest > 0)
		p->timeout_ms = sooner(p->timeout_ms, RETRY_MS);
}

static bool
out_answer(void *arg, struct pub_answer *a)
{
	return answer_queue_take(&((struct out *)arg)->answers, a);
}

static void
out_free(void *arg)
{
	struct out	*o = arg;

	out_close(o);
	answer_queue_free(&o->answers);
	buf_free(&o->text);
	free(o->lines);
	free(o);
}

static const struct pub_ops ops = {
	.name = "stdout",
	.peer = "standard output",
	.in_order = true,
	.free = out_free,
	.open = out_open,
	.close = out_close,
	.is_open = out_is_open,
	.reach = pub_reaches,
	.caution = out_caution,
	.check = pub_no_check,
	.state = pub_no_state,
	.get_stored = pub_no_stored,
	.find = pub_no_find,
	.removed = pub_no_removed,
	.max_payload = pub_no_limit,
	.capacity = pub_no_limit,
	.unread = out_unread,
	.begin = out_begin,
	.send = out_send,
	.prepare = out_prepare,
	.proceed = pub_no_proceed,
	.woken = pub_no_wakeup,
	.answer = out_answer,
	.complaint = pub_no_complaint,
	.tell = pub_no_tell,
};

struct pub
stdout_new(const struct conf *c, const char *name)
{
	(void)c;
	(void)name;
	return (struct pub){ &ops, xcalloc(1, sizeof(struct out)) };
}
