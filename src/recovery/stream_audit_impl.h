/* stream_audit_impl.h - private to the stream_audit*.c files */
#ifndef OUTBOX_STREAM_AUDIT_IMPL_H
#define OUTBOX_STREAM_AUDIT_IMPL_H

#include "recovery/stream_audit.h"

/* The fates of several rows, older rows first. */
struct finding {
	bool	lost, hole, there;
	bool	back;		/* one is lost or a hole, an older one there */
};

/* Read the stream's state.  false: no answer, or no stream (gone). */
bool	stream_audit_state(struct stream_audit *, struct stream_state *,
	    struct err *);

/* Add the fates of these rows.  false: no answer. */
bool	stream_audit_find(struct stream_audit *, const struct acked_list *,
	    struct stream_state *, struct finding *, struct err *);

/*
 * In a stream with replicas: find the messages of these rows that have another
 * one at their place, and correct list, stored messages and rows.
 */
enum audited stream_audit_moved(struct stream_audit *,
	    struct stream_audit_rows *, struct acked_list *,
	    const struct stream_state *, struct stored_message *, struct err *);

/*
 * For pub_go_on: calls the relay's keep, and renews the right to audit.  An
 * error of the renewal shows in the next statement.
 */
bool	stream_audit_go_on(void *);

/* Log which holes were recorded, and what is sent again. */
void	stream_audit_tell(const struct stream_audit *,
	    const struct stream_audit_rows *);

/* True if this run of the server was audited and the stream is the same. */
bool	stream_audit_is_checked(const struct stream_row *,
	    const struct stream_state *);

/*
 * True if a stream with replicas has the history that was recorded, as far as
 * its state shows.  Then another server, or another leader, is no restart: what
 * was acknowledged is on most of them.
 */
bool	stream_audit_looks_the_same(const struct stream_row *,
	    const struct stream_state *);

/* What the scrub has to do, for the stream's row; NULL: nothing. */
const char *stream_audit_suspicion(const struct stream_row *,
	    const struct stream_state *);

/* Log that the scrub will read all rows, and why. */
void	stream_audit_tell_suspicion(const struct stream_audit *,
	    const struct stream_row *, const struct stream_state *);

/* A change explains the holes of this state: they are no deletes. */
bool	stream_audit_holes_are_lost(const struct stream_row *,
	    const struct stream_state *);

/*
 * After a new connection learn which server it is, and set r->compare if its
 * tail must be compared.  -1: the database failed.
 */
int	stream_audit_watch_database(struct stream_audit *,
	    const struct stream_row *, struct err *);

/*
 * A comparison by another worker since we connected counts as ours: what it has
 * found is not to be counted twice.  Clears r->compare then.  -1: the database
 * failed.
 */
int	stream_audit_count_others(struct stream_audit *,
	    const struct stream_row *, struct err *);

/* How our messages name the server of this connection, by the stream's row. */
void	stream_audit_put_origin(struct stream_audit *,
	    const struct stream_row *);

/* A new connection to the database: what was seen of rivals is over. */
void	stream_audit_forget_rivals(struct stream_audit *);

/*
 * Look whether another database publishes under our outbox id, and record it;
 * stops ours if it has to.  last: of the stream's state; in the database
 * something was written since.  -1: the database failed.
 */
int	stream_audit_watch_rivals(struct stream_audit *, uint64_t last,
	    struct err *);

/* get_stored of pub.h; meanwhile calls keep and renews the right to audit. */
int	stream_audit_get_stored(struct stream_audit *, struct stored_message *,
	    size_t n, struct err *);

/*
 * Compare the messages since the last good audit with the events, and record
 * that on r->server.  AUDIT_BROKEN: the broker failed.
 */
enum audited stream_audit_tail(struct stream_audit *, const struct stream_row *,
	    const struct stream_state *, struct err *);

#endif
