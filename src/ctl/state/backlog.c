/*
 * backlog.c - the number of waiting rows, and whether it grows; what the last
 * hour delivered
 *
 * The daemon of this host takes samples of it; the latest one is our own.
 */

#include <stdio.h>

#include "ctl/state/state_impl.h"

#include "store/store.h"
#include "util/clock.h"
#include "util/display.h"

static json_t *
positive_or_null(int64_t n)
{
	return n > 0 ? json_integer(n) : json_null();
}

int
state_put_backlog(struct ctl *c, json_t *state, struct err *e)
{
	struct store_backlog	b;
	struct backlog_ring	ring;
	struct backlog_sample	latest;
	struct backlog_growth	g;
	json_t			*backlog;

	if (store_backlog(c->store, &b, e) < 0)
		return -1;
	if (!b.known)
		return json_object_set_new(state, "backlog", json_null());
	state_backlog_ring(c, &ring);
	latest = (struct backlog_sample){ clock_ms(), b.waiting, b.exact };
	g = backlog_ring_growth(&ring, &latest);
	/* Those that are parked stay. */
	if (b.parked > 0 && b.waiting > 0)
		g.drained_ms = b.parked >= b.waiting ? 0 :
		    (int64_t)((double)g.drained_ms *
		    (double)(b.waiting - b.parked) / (double)b.waiting);

	backlog = json_pack("{s:I, s:b, s:I, s:b}", "waiting",
	    (json_int_t)b.waiting, "exact", b.exact, "parked",
	    (json_int_t)b.parked, "parked_least", b.parked_least);
	json_object_set_new(backlog, "growth_per_second", g.known ?
	    json_integer(g.per_second) : json_null());
	json_object_set_new(backlog, "drained_in_ms",
	    positive_or_null(g.drained_ms));
	json_object_set_new(backlog, "growing_for_ms", positive_or_null(
	    g.growing_since == 0 ? 0 : latest.at - g.growing_since));
	json_object_set_new(backlog, "growing_since", g.growing_since == 0 ?
	    json_null() : state_since(g.growing_since, latest.at));
	return json_object_set_new(state, "backlog", backlog);
}

const char *
state_parked_text(char text[STATE_PARKED_SIZE], const json_t *backlog)
{
	json_int_t	n = member_number(backlog, "parked");
	bool		least = member_true(backlog, "parked_least");

	snprintf(text, STATE_PARKED_SIZE, "%s%s%s", n == 0 || least ||
	    member_true(backlog, "exact") ? "" : "about ",
	    DISPLAY_NUMBER(n), n > 0 && least ? " or more" : "");
	return text;
}

int
state_put_delivered(struct ctl *c, json_t *state, struct err *e)
{
	struct store_backlog	b;

	if (store_delivered(c->store, &b, e) < 0)
		return -1;
	return json_object_set_new(state, "delivered", !b.known ?
	    json_null() : json_pack("{s:I, s:b}", "last_hour",
	    (json_int_t)b.waiting, "exact", b.exact));
}
