/*
 * stream_audit_database.c - is this the database that the stream was compared
 * with, and does it know as much as then?
 *
 * If not, the tail is compared: see stream_audit_tail.c.
 */

#include "recovery/stream_audit_impl.h"

#include <string.h>

#include <bsd/string.h>

#include "util/clock.h"

/* Which server this is, and whether the tail must be compared. */
static int
learn_database(struct stream_audit *r, const struct stream_row *row,
    struct err *e)
{
	char	before[STORE_SERVER];
	bool	known;

	strlcpy(before, r->server.identity, sizeof(before));
	if (store_server(r->store, &r->server, e) < 0 ||
	    store_now(r->store, r->opened_at, e) < 0 ||
	    store_server_is_known(r->store, r->conf->nats.stream, &r->server,
	    &known, e) < 0 || (row->has_tail &&
	    store_outbox_is_newer(r->store, row->tail_at, &r->loaded, e) < 0))
		return -1;
	r->compare = r->compare || r->first_start || !known || r->loaded;
	/*
	 * A worker that had a batch when the former server failed may send it
	 * until its claim expires.
	 */
	if (!known || (before[0] != '\0' &&
	    strcmp(before, r->server.identity) != 0))
		r->again_at = clock_ms() + r->conf->worker.claim_ttl;
	r->reconnected = r->first_start = false;
	stream_audit_forget_rivals(r);
	return 0;
}

int
stream_audit_count_others(struct stream_audit *r, const struct stream_row *row,
    struct err *e)
{
	bool	known;

	if (!r->compare || strcmp(row->tail_at, r->opened_at) <= 0)
		return 0;
	if (store_server_is_known(r->store, r->conf->nats.stream, &r->server,
	    &known, e) < 0)
		return -1;
	r->compare = !known;
	r->loaded = r->loaded && !known;
	return 0;
}

int
stream_audit_watch_database(struct stream_audit *r, const struct stream_row *row,
    struct err *e)
{
	bool	less, known;

	if ((r->reconnected && learn_database(r, row, e) < 0) ||
	    stream_audit_count_others(r, row, e) < 0)
		return -1;
	/*
	 * A database knows less than before if a dump was loaded: it lacks the
	 * last comparison or, if the dump is newer than that, our latest
	 * message.
	 */
	less = strcmp(row->tail_at, r->tail_seen) < 0;
	strlcpy(r->tail_seen, row->tail_at, sizeof(r->tail_seen));
	known = true;
	if (r->relay->top.ack != 0 && r->server.identity[0] != '\0' &&
	    store_is_acked(r->store, &r->relay->top, &known, e) < 0)
		return -1;
	if (!known) {	/* ask about it only once */
		memset(&r->relay->top, 0, sizeof(r->relay->top));
		r->loaded = less = true;
	}
	if (r->again_at != 0 && clock_ms() >= r->again_at) {
		r->again_at = 0;
		less = true;
	}
	if (!less)
		return 0;
	r->compare = true;	/* an older one does not count */
	return store_now(r->store, r->opened_at, e);
}
