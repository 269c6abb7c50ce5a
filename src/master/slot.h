/*
 * slot.h - one child of the master: start, ask to stop, kill, restart
 *
 * Independent of the child's work.  Times are clock_ms(); nothing blocks.
 */
#ifndef OUTBOX_SLOT_H
#define OUTBOX_SLOT_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "util/backoff.h"
#include "ipc/scoreboard.h"
#include "ipc/predecessors.h"
#include "common/ident.h"
#include "common/suspect.h"


/* How a child was asked to end. */
enum slot_ask { ASK_NONE, ASK_LEAVE, ASK_HANDOVER };

struct slot {
	unsigned		 index;
	const char		*role;		/* "worker", "janitor" */
	struct scoreboard_line	*line;
	pid_t			 pid;		/* 0: no child */
	uint32_t		 gen;		/* of its configuration */
	char			 id[IDENT_SIZE];
	int64_t			 started_at;
	enum slot_ask		 asked;
	int64_t			 kill_at;	/* INT64_MAX: no deadline */
	bool			 killed;	/* SIGKILL sent */
	bool			 handed_over;	/* the last child did */
	struct err		 died;		/* how the last child ended; "":
						   as it was asked to, or with
						   nothing left to do */
	bool			 has_worked;	/* has finished a tick */
	int64_t			 start_at;	/* INT64_MAX: never */
	struct backoff		 backoff;

	/* Dead workers whose leases the next child takes over, oldest first. */
	struct predecessor	 predecessors[SLOT_PREDECESSORS];
	size_t			 npredecessors;

	/* Of all slots, SUSPECTS; NULL: it sends nothing. */
	struct suspect		*suspects;
};

void	slot_init(struct slot *, unsigned index, const char *role,
	    struct scoreboard_line *);

/* Is there no child, and has the time of the next start come? */
bool	slot_is_due(const struct slot *, int64_t now);

/* The child was forked; pid -1: fork failed, which counts as a death. */
void	slot_started(struct slot *, pid_t, uint32_t gen, int64_t now);

/*
 * Signal the child to end, once; kill_at can only become earlier.  ASK_LEAVE
 * overrules ASK_HANDOVER.
 */
void	slot_ask(struct slot *, enum slot_ask, int64_t kill_at);

/* Kill the child after kill_at or hang_ms of silence; hang_ms 0: never. */
void	slot_check(struct slot *, int64_t hang_ms, int64_t now);

/* When slot_check() has something to do; INT64_MAX: never. */
int64_t	slot_deadline(const struct slot *, int64_t hang_ms);

/*
 * The child has ended.  Logs it and sets the time of the next start.  Keeps the
 * id if the row and leases may still exist, and the message that the child was
 * sending if that may have killed it.
 */
void	slot_exited(struct slot *, int status, int64_t now);

/* Add a dead worker whose leases the next child takes over. */
void	slot_inherit(struct slot *, const char *id, int64_t now);

/* Forget predecessors that died claim_ttl ms ago, once the child is ready. */
void	slot_prune_predecessors(struct slot *, int64_t claim_ttl, int64_t now);

/* Has the child finished a tick, or does it wait for a server? */
bool	slot_is_ready(const struct slot *);

#endif
