/*
 * stream_audit.h - the stream audit: find lost messages and send them again
 *
 * A PubAck says that the server has the message, not that its disk has it:
 * after a crash of the machine the stream may be as it was minutes ago.  Each
 * delivered row stores its sequence in the stream.  One worker of the fleet
 * checks that the messages still exist, and makes rows of lost ones wait
 * again.  A message that a limit, a consumer or a purge removed is not lost.
 */
#ifndef OUTBOX_STREAM_AUDIT_H
#define OUTBOX_STREAM_AUDIT_H

#include <stdbool.h>
#include <stdint.h>

#include "conf/conf.h"
#include "driver/stored.h"
#include "util/err.h"
#include "publish/relay.h"
#include "store/store.h"

/* So many messages are looked at for one of another database. */
#define STREAM_AUDIT_SPREAD	50

struct stream_audit {
	const struct conf	*conf;
	struct store		*store;
	struct relay		*relay;		/* for publisher, ids, keep */

	bool			 ready;		/* messages may be sent */
	bool			 gone;		/* the stream does not exist */
	unsigned		 forbidden;	/* requests that were refused */
	int64_t			 nobody_since;	/* nothing answers requests,
						   clock_ms(); 0: it does */
	bool			 warned;	/* that audits are impossible */
	int64_t			 at;		/* the next audit, clock_ms() */
	unsigned		 failures;	/* of audits, in a row */
	int64_t			 renew_at;	/* of the audit under way */
	uint64_t		 emptied_at;	/* first, when found empty */
	uint64_t		 missed;	/* a sequence that the short
						   audit found lost; 0: none */
	uint64_t		 first_known;	/* the first sequence before the
						   store lost it; or 0 */

	/* To detect that the database went back in time or was replaced. */
	bool			 first_start;	/* no worker before us */
	bool			 reconnected;	/* and not examined since */
	bool			 compare;	/* the tail: see design.md */
	bool			 loaded;	/* the outbox, perhaps, from a dump
						   without the other tables */
	int64_t			 again_at;	/* clock_ms(): compare again and
						   move the tail; 0: no */
	struct db_server	 server;
	char			 opened_at[STORE_TIME];
	char			 tail_seen[STORE_TIME];	/* the latest tail_at */
	bool			 may_leave;	/* another host may be used;
						   the owner clears it */

	/* To find another database behind our outbox id: see design.md. */
	char			 origin[MESSAGE_ORIGIN];	/* of what we
						   publish; "": not known */
	uint64_t		 watched;	/* up to this message; 0: none */
	int64_t			 watch_at;	/* the next look, clock_ms() */
	struct stored_message	 foreign[STREAM_AUDIT_SPREAD];	/* messages
						   without an event here */
	size_t			 nforeign;
	int64_t			 foreign_at;	/* clock_ms() of the last look */

	/* Results; the owner clears them. */
	uint64_t		 recovered;	/* rows to be sent again */
	bool			 behind;	/* this host lacks events */
	struct err		 alarm;		/* "": none */
	struct err		 waits_for;	/* why audits fail; "": none */
};

/* The pointers are borrowed. */
void	stream_audit_init(struct stream_audit *, const struct conf *,
	    struct store *, struct relay *);

/* A new connection to the broker: nothing may be sent before an audit. */
void	stream_audit_connected(struct stream_audit *);

/*
 * A new connection to the database, which may be another one or have gone back
 * in time: nothing may be sent before an audit.  first_start: no worker watched
 * it before, so the tail is compared in any case, even if there is another
 * connection before the audit.
 */
void	stream_audit_database_opened(struct stream_audit *, bool first_start);

/*
 * The database refuses the audit: messages may be sent without, and it is tried
 * again at that clock_ms().
 */
void	stream_audit_pass(struct stream_audit *, int64_t at);

/* True if messages may be sent. */
bool	stream_audit_is_ready(const struct stream_audit *);

/* clock_ms() of the next round; first: we are the fleet's first worker. */
int64_t	stream_audit_next(const struct stream_audit *, bool first);

/*
 * Audit if it is time, between two batches.  Blocks while there is something to
 * read, but calls the relay's keep.  -1: the database failed.  If the broker
 * failed, stream_audit_is_ready() is false; if the stream does not exist, gone
 * is true.  -1 and behind, if may_leave: the stream's newest message has no
 * event here, which is not recorded, and another host may have it.
 */
int	stream_audit_round(struct stream_audit *, bool first, struct err *);

/*
 * The fate of a delivered row.  The message must be read before the state; what
 * was not answered tells nothing.  FATE_HOLE: nothing is there, between
 * messages that are: it was lost, or somebody has removed it.
 */
enum fate { FATE_UNKNOWN, FATE_THERE, FATE_LOST, FATE_REMOVED, FATE_HOLE };

enum fate stream_audit_judge(const struct stream_state *, const struct acked *,
	    const struct stored_message *);

/* An audit of rows that were delivered in a period: options and results. */
struct stream_audit_rows {
	uint64_t	 unknown_below;	/* rows below this, too, whose sequence
					   in the stream is unknown; 0: none */
	bool		 absent;	/* removed messages count as lost */
	bool		 dry;		/* count only */
	bool		 holes_lost;	/* a hole is no removal */
	bool		 steady;	/* all holes were told when it had */
	uint64_t	 gaps;		/* so many gaps: others are losses */
	bool		 new_ids;	/* if the broker knows the old */
	bool		 tell;		/* dry: tell lost ones like holes */
	bool		 heals;		/* holes may have been told */
	const char	*created;	/* of the stream; NULL: any */
	uint64_t	 there, lost, removed;
	uint64_t	 reset;		/* lost rows that wait again */
	uint64_t	 low, high;	/* sequences of the lost */
	uint64_t	 told;		/* holes that are recorded, for an
					   operator to decide; */
	uint64_t	 told_low, told_high;	/* sequences of them */
	uint64_t	 moved;		/* of there: at other places; */
	uint64_t	 first_moved;	/* the first place of one; 0: none */
	int64_t		 shift;		/* how far the last one has moved */
	bool		 empty;		/* the stream is empty */
	bool		 expires;	/* it may be empty by design */
	char		 known_ids[STORE_TIME];	/* the broker knows the ids of
					   messages stored after this */
};

/* What a state says of the history that was checked. */
enum suspicion {
	SUSPECT_NOTHING,
	SUSPECT_LOOK,		/* read all rows; holes may be on purpose */
	SUSPECT_CHANGE,		/* the same, and soon: others may be there */
	SUSPECT_LOST		/* read all rows; holes are losses */
};

enum suspicion stream_audit_suspect(const struct stream_row *,
	    const struct stream_state *);

/* How an audit ended; e says why it was not finished. */
enum audited {
	AUDIT_DONE,
	AUDIT_BROKEN,	/* the broker failed, or the owner wants to end */
	AUDIT_NO_DB
};

/*
 * Audit about max rows of the period, and move its beginning on; *n is how many
 * were read.
 */
enum audited stream_audit_slice(struct stream_audit *,
	    struct stream_audit_rows *, struct store_period *, size_t max,
	    size_t *n, struct err *);

/* Audit all of the period. */
enum audited stream_audit_rows(struct stream_audit *,
	    struct stream_audit_rows *, struct store_period *, struct err *);

#endif
