/*
 * recover.h - find what the stream lost, and have it sent again
 *
 * A PubAck says that the server has the message, not that its disk has it:
 * after a crash of the machine the stream may be as it was minutes ago.
 * Delivered rows know their place in the stream, so one worker of the fleet
 * looks whether they are there, and those that are not become waiting rows
 * again.  What a limit, a consumer or a purge removed is not lost.
 */
#ifndef OUTBOX_RECOVER_H
#define OUTBOX_RECOVER_H

#include <stdbool.h>
#include <stdint.h>

#include "recovery/blind.h"
#include "conf/conf.h"
#include "util/err.h"
#include "publish/relay.h"
#include "store/store.h"

struct recover {
	const struct conf	*conf;
	struct store		*store;
	struct relay		*relay;		/* its publisher, ids and keep */

	bool			 ready;		/* this connection may be used */
	bool			 gone;		/* there is no such stream */
	struct blind		 blind;
	bool			 warned;	/* that nothing can be found out */
	int64_t			 at;		/* the next look, clock_ms() */
	int64_t			 renew_at;	/* of the check under way */
	uint64_t		 emptied_at;	/* first, when said to be empty */
	uint64_t		 missed;	/* a place that the short look found
						   lost; 0: none */
	uint64_t		 first_known;	/* what the stream began with when
						   its store lost that; or 0 */

	/* Is the database still the one whose events the stream tells of? */
	bool			 first_start;	/* see recover_database_opened() */
	bool			 reconnected;	/* not looked at since then */
	bool			 compare;	/* the tail must be: see design.md */
	int64_t			 again_at;	/* compare once more, clock_ms(), and
						   leave the tail until then; 0: no */
	struct db_server	 server;
	char			 opened_at[STORE_TIME];
	char			 tail_seen[STORE_TIME];	/* the latest tail_at */

	/* gone, and what happened since the owner cleared it. */
	uint64_t		 recovered;	/* rows to be sent again */
	struct err		 alarm;		/* "": none */
	struct err		 waits_for;	/* a look: why it fails; "" */
};

void	recover_init(struct recover *, const struct conf *, struct store *,
	    struct relay *);

/* A new connection to the broker: nothing is to be sent before a look. */
void	recover_connected(struct recover *);

/*
 * A new connection to the database, which may be another one than before, or
 * have gone back: nothing is to be sent before a look.  first_start: nobody
 * has watched it until now, so its messages are compared in any case, also if
 * another connection follows before the look.
 */
void	recover_database_opened(struct recover *, bool first_start);

/* May messages be sent? */
bool	recover_is_ready(const struct recover *);

/* When recover_round has something to do; first: of the fleet. */
int64_t	recover_next(const struct recover *, bool first);

/*
 * Look, with no batch out, if it is time.  Blocks as long as there is
 * something to read, but asks the relay's owner to keep on.  -1: the database
 * is in trouble; trouble with the broker shows in is_ready, and a
 * stream that is not there in gone.
 */
int	recover_round(struct recover *, bool first, struct err *);

/* What became of a delivered row, from its place and the state after it. */
enum fate { FATE_THERE, FATE_LOST, FATE_REMOVED };

enum fate recover_judge(const struct stream_state *, const struct acked *,
	    const struct place *);

/*
 * Walk over delivered rows that are later than from, and not later than until.
 */
struct recover_walk {
	bool		 all;		/* also rows whose place is not known */
	bool		 absent;	/* what was removed counts as lost, too */
	bool		 dry;		/* only count */
	const char	*created;	/* of the stream; NULL: any */
	uint64_t	 there, lost, removed;
	uint64_t	 reset;		/* of the lost, now waiting rows */
	uint64_t	 low, high;	/* places of the lost */
	bool		 empty;		/* the stream */
	bool		 expires;	/* and may be so by itself */
};

enum walked { WALK_DONE, WALK_BROKEN, WALK_NO_DB };

/* WALK_BROKEN: by the broker, or the owner wants to end; e says why. */
enum walked recover_walk(struct recover *, struct recover_walk *,
	    char from[STORE_TIME], const char *until, struct err *);

#endif
