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

/* Without times, the order is that of these notes. */
static void
note_all(struct history *h, bool json)
{
	const char	*error = member_text(h->o, "error");
	const char	*by = member_text(h->o, "claimed_by");
	const char	*halted = member_text(h->o, "blocked");
	const char	*since = member_text(h->o, "blocked_since");
	const char	*sent = member_text(h->o, "published_at");
	const char	*died = member_text(h->o, "died_at");
	const char	*reason = member_text(h->o, "reason");
	long long	 attempts = member_number(h->o, "attempts");
	long long	 replays = member_number(h->o, "replay_no");
	long long	 ack = member_number(h->o, "ack_sequence");

	note_time(h, "occurred_at", "its event occurred");
	note_time(h, "created_at", "its row was made");
	/* The time of an attempt is stored nowhere. */
	if (attempts > 0 || error != NULL) {
		if (!json)	/* people have the error in its own line */
			error = NULL;
		note(h, NULL, xasprintf("%s failed%s%s", COUNTED(
		    (uint64_t)attempts, "attempt"), error != NULL ?
		    ", the last one with: " : "", error != NULL ? error : ""));
	}
	if (since != NULL && halted != NULL)
		note(h, since, xasprintf("its key was %s, by message %lld",
		    halted, member_number(h->o, "blocked_by")));
	if (replays > 0)
		note(h, NULL, xasprintf("sent again on purpose, %s",
		    COUNTED((uint64_t)replays, "time")));
	note_time(h, "in_doubt_since", "in doubt: it may be in the stream");
	if (is_state(h, "delivering"))
		note(h, NULL, xasprintf("claimed by %s", by == NULL ?
		    "a worker that is gone" : by));
	if (sent != NULL)
		note(h, sent, ack == 0 ? xstrdup("delivered") :
		    (uint64_t)ack >= MSG_PLACES ? xasprintf("delivered, to "
		    "partition %d of its topic, offset %lld",
		    msg_place_partition((uint64_t)ack),
		    (long long)msg_place_offset((uint64_t)ack)) :
		    xasprintf("delivered, with sequence %lld in the stream",
		    ack));
	if (died != NULL)
		note(h, died, xasprintf("given up: a dead letter (%s)",
		    reason == NULL ? "no reason" : reason));
	note_time(h, "scheduled_at", "scheduled for this time");
	if (is_state(h, "pending") && member_number(h->o, "due_in_ms") > 0)
		note_time(h, "available_at", "to be sent from this time on");
}

void
history_add(const struct ctl *c, json_t *o)
{
	struct history	 h = { .o = o };
	struct buf	 text = { 0 };
	json_t		*list = json_array();

	note_all(&h, c->args.json);
	buf_str(&text, "");
	for (size_t i = 0; i < h.n; i++) {
		const struct step	*s = &h.steps[i];

		json_array_append_new(list, json_pack("{s:s?, s:s}", "at",
		    s->at, "what", s->what));
		buf_printf(&text, "%s%s%s%s", i == 0 ? "" : "; ",
		    s->at == NULL ? "" : s->at, s->at == NULL ? "" : " ",
		    s->what);
	}
	json_object_set_new(o, "history", c->args.json ? json_incref(list) :
	    json_string(text.data));
	json_decref(list);
	buf_free(&text);
	for (size_t i = 0; i < h.n; i++)
		free(h.steps[i].what);
}
