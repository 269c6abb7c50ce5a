/* history.c - see history.h */

#include "ctl/messages/history.h"

#include <stdlib.h>
#include <string.h>

#include "store/store.h"
#include "util/buf.h"
#include "util/xalloc.h"

#define STEPS	12	/* at most: one for each note below */

struct step {
	const char	*at;		/* NULL: unknown */
	const char	*order;		/* that of the step before, then */
	char		*what;
};

struct history {
	const json_t	*o;
	struct step	 steps[STEPS];
	size_t		 n;
};

/* Times are texts of one form, so their order is that of their bytes. */
static void
note(struct history *h, const char *at, char *what)
{
	const char	*before = h->n == 0 ? "" : h->steps[h->n - 1].order;
	struct step	 step = { at, at == NULL ? before : at, what };
	size_t		 i = h->n++;

	for (; i > 0 && strcmp(h->steps[i - 1].order, step.order) > 0; i--)
		h->steps[i] = h->steps[i - 1];
	h->steps[i] = step;
}

static bool
is_state(const struct history *h, const char *state)
{
	const char	*is = member_text(h->o, "state");

	return is != NULL && strcmp(is, state) == 0;
}

/* If the member is a time. */
static void
note_time(struct history *h, const char *name, const char *what)
{
	const char	*at = member_text(h->o, name);

	if (at != NULL)
		note(h, at, xstrdup(what));
}

static void
note_halt(struct history *h)
{
	const char	*since = member_text(h->o, "blocked_since");
	const char	*reason = member_text(h->o, "blocked");

	if (since != NULL && reason != NULL)
		note(h, since, xasprintf("its key was %s, by message %lld",
		    reason, member_number(h->o, "blocked_by")));
}

/*
 * The time of an attempt is stored nowhere.  People have the error in a line of
 * its own.
 */
static void
note_attempts(struct history *h, bool with_error)
{
	long long	 n = member_number(h->o, "attempts");
	const char	*error = member_text(h->o, "error");

	if (n == 0 && error == NULL)
		return;
	with_error = with_error && error != NULL;
	note(h, NULL, xasprintf("%s failed%s%s", COUNTED((uint64_t)n,
	    "attempt"), with_error ? ", the last one with: " : "",
	    with_error ? error : ""));
}

static void
note_claim(struct history *h)
{
	const char	*by = member_text(h->o, "claimed_by");

	if (is_state(h, "delivering"))
		note(h, NULL, xasprintf("claimed by %s", by == NULL ?
		    "a worker that is gone" : by));
}

static void
note_replays(struct history *h)
{
	long long	n = member_number(h->o, "replay_no");

	if (n > 0)
		note(h, NULL, xasprintf("sent again on purpose, %s",
		    COUNTED((uint64_t)n, "time")));
}

static void
note_delivery(struct history *h)
{
	const char	*at = member_text(h->o, "published_at");
	long long	 ack = member_number(h->o, "ack_sequence");

	if (at != NULL)
		note(h, at, ack == 0 ? xstrdup("delivered") :
		    xasprintf("delivered, with sequence %lld in the stream",
		    ack));
}

static void
note_death(struct history *h)
{
	const char	*at = member_text(h->o, "died_at");
	const char	*reason = member_text(h->o, "reason");

	if (at != NULL)
		note(h, at, xasprintf("given up: a dead letter (%s)",
		    reason == NULL ? "no reason" : reason));
}

static json_t *
as_array(const struct history *h)
{
	json_t	*list = json_array();

	for (size_t i = 0; i < h->n; i++)
		json_array_append_new(list, json_pack("{s:s?, s:s}", "at",
		    h->steps[i].at, "what", h->steps[i].what));
	return list;
}

static json_t *
as_text(const struct history *h)
{
	struct buf	 b = { 0 };
	json_t		*text;

	buf_str(&b, "");
	for (size_t i = 0; i < h->n; i++)
		buf_printf(&b, "%s%s%s%s", i == 0 ? "" : "; ",
		    h->steps[i].at == NULL ? "" : h->steps[i].at,
		    h->steps[i].at == NULL ? "" : " ", h->steps[i].what);
	text = json_string(b.data);
	buf_free(&b);
	return text;
}

/* Without times, the order is that of these notes. */
static void
note_all(struct history *h, bool with_error)
{
	note_time(h, "occurred_at", "its event occurred");
	note_time(h, "created_at", "its row was made");
	note_attempts(h, with_error);
	note_halt(h);
	note_replays(h);
	note_time(h, "in_doubt_since", "in doubt: it may be in the stream");
	note_claim(h);
	note_delivery(h);
	note_death(h);
	note_time(h, "scheduled_at", "scheduled for this time");
	if (is_state(h, "pending") && member_number(h->o, "due_in_ms") > 0)
		note_time(h, "available_at", "to be sent from this time on");
}

void
history_add(const struct ctl *c, json_t *o)
{
	struct history	h = { .o = o };

	note_all(&h, c->args.json);
	json_object_set_new(o, "history", c->args.json ? as_array(&h) :
	    as_text(&h));
	for (size_t i = 0; i < h.n; i++)
		free(h.steps[i].what);
}
