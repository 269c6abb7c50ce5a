/*
 * stream_audit_rival.c - does another database publish under our outbox id?
 *
 * Two servers that take writes for one outbox are two histories (split brain):
 * an old primary that is back, or a copy that was started beside the original.
 * Each sees messages of the other come that it has no event for.
 *
 * A message says which server its sender used.  One with our own source is
 * ours, whatever became of its event.  The source of another is no rival as
 * long as its events come here: it is a member of our cluster, or was the
 * primary before.  So the first worker looks at some of the latest messages,
 * and waits a while for the events that it misses; on a member of a group until
 * all that the others have committed is here.
 */

#include "recovery/stream_audit_impl.h"

#include <stdlib.h>
#include <string.h>

#include <bsd/stdlib.h>
#include <bsd/string.h>

#include "util/clock.h"
#include "util/log.h"

#define GRACE_MS	20000	/* an event may be so late */
#define REST		100	/* times as long as a look took */
#define LATE_MS		60000	/* what came before may be deleted by now */

/* The part of a source behind the server's name. */
static uint64_t
since_of(const char *origin)
{
	const char	*slash = strrchr(origin, '/');

	return slash == NULL ? 0 : strtoull(slash + 1, NULL, 10);
}

void
stream_audit_put_origin(struct stream_audit *r, const struct stream_row *row)
{
	char	before[MESSAGE_ORIGIN];

	strlcpy(before, r->origin, sizeof(before));
	r->origin[0] = '\0';
	if (row->has_since && r->server.name[0] != '\0')
		snprintf(r->origin, sizeof(r->origin), "%s/%llu",
		    r->server.name, (unsigned long long)row->server_since);
	/* A dump was loaded: messages of before have lost their events. */
	if (strcmp(r->origin, before) != 0)
		stream_audit_forget_rivals(r);
}

void
stream_audit_forget_rivals(struct stream_audit *r)
{
	r->nforeign = 0;
	r->watched = 0;
	/*
	 * What was claimed on a server that died may be sent for so long: only
	 * what comes later is sent by somebody who goes on.
	 */
	r->watch_at = clock_ms() + r->conf->worker.claim_ttl;
}

/* Keep those whose events are still missing. */
static int
match_foreign(struct stream_audit *r, struct err *e)
{
	struct acked	list[STREAM_AUDIT_SPREAD];
	enum match	matches[STREAM_AUDIT_SPREAD];
	size_t		n = 0;

	for (size_t i = 0; i < r->nforeign; i++)
		list[i] = (struct acked){ r->foreign[i].id,
		    r->foreign[i].sequence };
	if (store_match(r->store, list, r->nforeign, matches, e) < 0)
		return -1;
	for (size_t i = 0; i < r->nforeign; i++)
		if (matches[i] == MATCH_PHANTOM)
			r->foreign[n++] = r->foreign[i];
	r->nforeign = n;
	return 0;
}

/* One message of each of some equal parts of what came since the last look. */
static int
look_for_foreign(struct stream_audit *r, uint64_t last)
{
	struct stored_message	*some = r->foreign;
	uint64_t		 span = last - r->watched;
	size_t			 n = span < STREAM_AUDIT_SPREAD ?
				    (size_t)span : STREAM_AUDIT_SPREAD;
	int64_t			 began = clock_ms();
	struct err		 why;

	memset(some, 0, sizeof(r->foreign));
	for (size_t i = 0; i < n; i++) {
		uint64_t from = span * i / n, to = span * (i + 1) / n;

		some[i].sequence = r->watched + 1 + from +
		    arc4random_uniform((uint32_t)(to - from));
	}
	/* Whether the broker answers is for others to tell. */
	if (n > 0 && stream_audit_get_stored(r, some, n, &why) < 0)
		return -1;
	for (size_t i = 0; i < n; i++)
		if (some[i].what == STORED_OURS && some[i].origin[0] != '\0' &&
		    strcmp(some[i].origin, r->origin) != 0)
			some[r->nforeign++] = some[i];
	r->watched = last;
	r->foreign_at = clock_ms();
	r->watch_at = r->foreign_at + REST * (r->foreign_at - began);
	return 0;
}

/*
 * There is a rival.  Who came into use later stops, because the other was
 * publishing then: an old primary that is back, or a copy.  Nothing tells what
 * is right if that cannot be said, and this one stops, too.
 */
static int
tell_of_rival(struct stream_audit *r, struct err *e)
{
	const struct stored_message	*first = &r->foreign[0],
					*last = &r->foreign[r->nforeign - 1];
	bool		later = since_of(last->origin) <= since_of(r->origin);
	bool		stop = later && r->conf->worker.leasing;
	struct tail	t = { 0, r->nforeign, first->sequence, last->sequence };
	char		rival[MESSAGE_ORIGIN];
	bool		news;

	strlcpy(rival, last->origin, strcspn(last->origin, "/") + 1);
	r->nforeign = 0;
	if (store_rival_save(r->store, r->conf->nats.stream, rival, first->at,
	    &t, stop, &news, e) < 0)
		return -1;
	if (!news)
		return 0;
	err_set(&r->alarm, "split brain: %s publishes under the same outbox "
	    "id, and its events are not in this database, %s; %s", rival,
	    r->server.name, stop ? "all partitions are paused here" : !later ?
	    "this one was in use before, and goes on" :
	    "without leases this one cannot be paused");
	log_error("stream %s: %s: make one of them a replica of the other",
	    r->conf->nats.stream, r->alarm.text);
	return 0;
}

int
stream_audit_watch_rivals(struct stream_audit *r, uint64_t last, struct err *e)
{
	if (r->origin[0] == '\0' || clock_ms() < r->watch_at)
		return 0;
	/* Another stream, the first time, or another worker did it meanwhile. */
	if (r->watched == 0 || r->watched > last ||
	    clock_ms() - r->watch_at >= LATE_MS) {
		r->watched = last;
		r->nforeign = 0;
	}
	if (r->nforeign == 0 && look_for_foreign(r, last) < 0) {
		r->nforeign = 0;
		return 0;
	}
	if (match_foreign(r, e) < 0)
		return -1;
	if (r->nforeign == 0 || clock_ms() - r->foreign_at < GRACE_MS)
		return 0;
	if (store_catch_up(r->store, e) < 0 || match_foreign(r, e) < 0)
		return -1;
	return r->nforeign > 0 ? tell_of_rival(r, e) : 0;
}
