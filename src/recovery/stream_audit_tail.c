/*
 * stream_audit_tail.c - finds out whether the database went back in time
 *
 * After a failover or a restored backup it may lack its latest transactions.
 * Compares the tail, the messages since the last good audit, with the events.
 * A message without its event is a phantom: consumers know of an event that
 * does not exist any more.  A row that waits although its message is in the
 * stream becomes delivered: the database had lost that.
 *
 * Before all that a worker that starts asks whether the newest message has an
 * event here: without it this host is behind, and another may be in use.
 */

#include "recovery/stream_audit_impl.h"

#include <stdlib.h>
#include <string.h>

#include "util/log.h"
#include "util/xalloc.h"

#define SLICE		1000	/* messages at a time */
#define LONG		100000	/* more of them take seconds */
#define SOME		50	/* delivered rows, of which one is the latest */

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

/* Read the n messages from there on, and compare them. */
static enum audited
read_slice(struct stream_audit *r, struct slice *s, uint64_t from, size_t n,
    struct err *e)
{
	*s = (struct slice){ .n = n };
	s->stored = xcalloc(n, sizeof(*s->stored));
	s->ours = xcalloc(n, sizeof(*s->ours));
	s->matches = xcalloc(n, sizeof(*s->matches));
	for (size_t i = 0; i < n; i++)
		s->stored[i].sequence = from + i;
	if (stream_audit_get_stored(r, s->stored, s->n, e) < 0)
		return AUDIT_BROKEN;
	for (size_t i = 0; i < s->n; i++)
		if (s->stored[i].what == STORED_OURS)
			s->ours[s->nours++] = (struct acked){
			    s->stored[i].id, s->stored[i].sequence };
	return store_match(r->store, s->ours, s->nours, s->matches, e) < 0 ?
	    AUDIT_NO_DB : AUDIT_DONE;
}

static void
free_slice(struct slice *s)
{
	free(s->stored);
	free(s->ours);
	free(s->matches);
}

/*
 * Only the newest of our messages tells: others may be phantoms of a failover
 * after which this host went on.  Nothing is recorded here, so that each worker
 * finds the same.
 */
static enum audited
look_if_behind(struct stream_audit *r, uint64_t next, uint64_t last,
    struct err *e)
{
	uint64_t	from = last - next < SLICE ? next : last - SLICE + 1;
	struct slice	s;
	enum audited	audited;

	audited = read_slice(r, &s, from, (size_t)(last - from) + 1, e);
	if (audited == AUDIT_DONE && s.nours > 0 &&
	    s.matches[s.nours - 1] == MATCH_PHANTOM) {
		audited = AUDIT_NO_DB;
		if (store_check_drop(r->store, r->conf->nats.stream, e) == 0) {
			r->behind = true;
			err_set(e, "lacks the event of message %llu, the "
			    "newest in stream %s: another one of mysql.hosts "
			    "is used if it can be", (unsigned long long)
			    s.ours[s.nours - 1].ack, r->conf->nats.stream);
		}
	}
	free_slice(&s);
	return audited;
}

/* Where a comparison begins before the tail, what is known is met again. */
static bool
is_known_phantom(const struct stream_audit *r, const struct stream_row *row,
    uint64_t ack)
{
	return r->loaded && ack >= row->phantom_first &&
	    ack <= row->phantom_last;
}

static enum audited
audit_tail_slice(struct stream_audit *r, const struct stream_row *row,
    struct slice *s, struct tail *t, uint64_t *found, struct err *e)
{
	size_t		n = 0, kept = 0;
	uint64_t	changed;

	for (size_t i = 0; i < s->nours; i++) {
		if (s->matches[i] != MATCH_PHANTOM ||
		    is_known_phantom(r, row, s->ours[i].ack))
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
audit_tail(struct stream_audit *r, const struct stream_row *row, uint64_t next,
    uint64_t last, struct tail *sum, uint64_t *found, struct err *e)
{
	enum audited	audited = AUDIT_DONE;

	while (audited == AUDIT_DONE && next <= last) {
		size_t		n = last - next < SLICE ?
				    (size_t)(last - next) + 1 : SLICE;
		struct slice	s;
		struct tail	t = { .last = next + n - 1 };

		audited = read_slice(r, &s, next, n, e);
		if (audited == AUDIT_DONE)
			audited = audit_tail_slice(r, row, &s, &t, found, e);
		free_slice(&s);
		next += n;
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

/*
 * The table of the outbox is newer than the tail, or lacks what we delivered, so
 * it may have been loaded from a backup, without the others.  All that it knows
 * to be delivered was sent before what it has waiting.
 */
static int
start_at_rows(struct stream_audit *r, uint64_t *next, struct err *e)
{
	struct acked_list	l;
	uint64_t		top = 0;

	if (store_some_acked(r->store, STORE_EVER, true, SOME, &l, e) < 0)
		return -1;
	for (size_t i = 0; i < l.n; i++)
		if (l.rows[i].ack > top)
			top = l.rows[i].ack;
	free(l.rows);
	if (top != 0 && top < *next)
		*next = top + 1;
	return 0;
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
	else if (r->loaded && start_at_rows(r, &next, e) < 0)
		return AUDIT_NO_DB;
	if (next < st->first)
		next = st->first;
	if (next + LONG < st->last)
		log_info("stream %s: %llu messages are compared with the "
		    "events before anything is published", stream,
		    (unsigned long long)(st->last - next + 1));
	if (next <= st->last && store_catch_up(r->store, e) < 0)
		return AUDIT_NO_DB;
	if (r->may_leave && next <= st->last &&
	    (audited = look_if_behind(r, next, st->last, e)) != AUDIT_DONE)
		return audited;
	audited = audit_tail(r, row, next, st->last, &sum, &found, e);
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
	r->loaded = r->loaded && audited != AUDIT_DONE;
	return audited;
}
