/*
 * stream_audit_tail.c - finds out whether the database went back in time
 *
 * After a failover or a restored backup it may lack its latest transactions.
 * Compares the tail, the messages since the last good audit, with the events.
 * A message without its event is a phantom: consumers know of an event that
 * does not exist any more.  A row that waits although its message is in the
 * stream becomes delivered: the database had lost that.
 */

#include "recovery/stream_audit_impl.h"

#include <stdlib.h>
#include <string.h>

#include "util/log.h"
#include "util/xalloc.h"

#define SLICE		1000	/* messages at a time */
#define LONG		100000	/* more of them take seconds */

struct slice {
	struct stored_message	*stored;
	struct acked		*ours;	/* messages with an id of ours */
	enum match		*matches;
	size_t			 n, nours;
};

static int
acked_cmp(const void *a, const void *b)
{
	const struct acked	*x = a, *y = b;

	if (x->id.sequence != y->id.sequence)
		return x->id.sequence < y->id.sequence ? -1 : 1;
	return x->ack < y->ack ? -1 : x->ack > y->ack;
}

static enum audited
audit_tail_slice(struct stream_audit *r, struct slice *s, struct tail *t,
    uint64_t *found, struct err *e)
{
	size_t		n = 0, kept = 0;
	uint64_t	changed;

	if (stream_audit_get_stored(r, s->stored, s->n, e) < 0)
		return AUDIT_BROKEN;
	for (size_t i = 0; i < s->n; i++)
		if (s->stored[i].what == STORED_OURS)
			s->ours[s->nours++] = (struct acked){
			    s->stored[i].id, s->stored[i].sequence };
	if (store_match(r->store, s->ours, s->nours, s->matches, e) < 0)
		return AUDIT_NO_DB;
	for (size_t i = 0; i < s->nours; i++) {
		if (s->matches[i] != MATCH_PHANTOM)
			continue;
		if (t->phantoms++ == 0)
			t->phantom_first = s->ours[i].ack;
		t->phantom_last = s->ours[i].ack;
	}
	/* Settle the rows that wait although their messages exist. */
	for (size_t i = 0; i < s->nours; i++)
		if (s->matches[i] == MATCH_WAITS)
			s->ours[n++] = s->ours[i];
	qsort(s->ours, n, sizeof(*s->ours), acked_cmp);
	for (size_t i = 0; i < n; i++)
		if (i == 0 || s->ours[i].id.sequence !=
		    s->ours[kept - 1].id.sequence)
			s->ours[kept++] = s->ours[i];
	if (kept == 0)
		return AUDIT_DONE;
	if (store_found(r->store, s->ours, kept, &changed, e) < 0)
		return AUDIT_NO_DB;
	*found += changed;
	return AUDIT_DONE;
}

/*
 * Compare from next to last, and save the progress after each slice: a long
 * tail is not read twice if the broker fails in between.
 */
static enum audited
audit_tail(struct stream_audit *r, uint64_t next, uint64_t last,
    struct tail *sum, uint64_t *found, struct err *e)
{
	enum audited	audited = AUDIT_DONE;

	while (audited == AUDIT_DONE && next <= last) {
		struct slice	s = { .n = last - next < SLICE ?
				    (size_t)(last - next) + 1 : SLICE };
		struct tail	t = { 0 };

		s.stored = xcalloc(s.n, sizeof(*s.stored));
		s.ours = xcalloc(s.n, sizeof(*s.ours));
		s.matches = xcalloc(s.n, sizeof(*s.matches));
		for (size_t i = 0; i < s.n; i++)
			s.stored[i].sequence = next++;
		audited = audit_tail_slice(r, &s, &t, found, e);
		free(s.stored);
		free(s.ours);
		free(s.matches);
		t.last = next - 1;
		if (audited == AUDIT_DONE && store_tail_save(r->store,
		    r->conf->nats.stream, NULL, &t, e) < 0)
			audited = AUDIT_NO_DB;
		if (audited != AUDIT_DONE || t.phantoms == 0)
			continue;
		if (sum->phantoms == 0)
			sum->phantom_first = t.phantom_first;
		sum->phantoms += t.phantoms;
		sum->phantom_last = t.phantom_last;
	}
	return audited;
}

enum audited
stream_audit_tail(struct stream_audit *r, const struct stream_row *row,
    const struct stream_state *st, struct err *e)
{
	const char		*stream = r->conf->nats.stream;
	const struct tail	done = { .last = st->last };
	struct tail		sum = { 0 };
	uint64_t		next = row->tail + 1, found = 0;
	enum audited		audited;

	/* Without a tail, or in another stream, nothing is to compare. */
	if (!row->has_tail || row->fresh ||
	    strcmp(row->created, st->created) != 0)
		next = st->last + 1;
	else if (next < st->first)
		next = st->first;
	if (next + LONG < st->last)
		log_info("stream %s: %llu messages are compared with the "
		    "events before anything is published", stream,
		    (unsigned long long)(st->last - next + 1));
	audited = audit_tail(r, next, st->last, &sum, &found, e);
	if (found > 0)
		/* After an outage as well: nothing was compared meanwhile. */
		log_warn("stream %s: %llu waiting rows are in the stream "
		    "already and count as delivered: their answers were lost, "
		    "or the database is an older copy", stream,
		    (unsigned long long)found);
	if (sum.phantoms > 0)
		log_error("stream %s: the database went back in time: %llu "
		    "messages in the stream have no event any more: phantoms, "
		    "stream sequences %llu to %llu: after a failover, a "
		    "restored backup or a TRUNCATE, consumers know of events "
		    "that do not exist; restore them from the former primary "
		    "or its binlog, or tell the consumers and delete the "
		    "messages; then: outboxctl phantoms forget", stream,
		    (unsigned long long)sum.phantoms,
		    (unsigned long long)sum.phantom_first,
		    (unsigned long long)sum.phantom_last);
	if (audited == AUDIT_DONE && store_tail_save(r->store, stream,
	    &r->server, &done, e) < 0)
		return AUDIT_NO_DB;
	return audited;
}
