/*
 * slot.h - one child's life: start, ask, kill, next start
 *
 * Knows processes and time, not what the child does.
 */
#ifndef OUTBOX_SLOT_H
#define OUTBOX_SLOT_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "util/backoff.h"
#include "ipc/board.h"
#include "ipc/heirs.h"
#include "common/ident.h"
#include "common/suspect.h"

#define SLOT_HEIRS	(HEIRS_PER_SLOT - 1)

/* How a child was asked to go. */
enum slot_ask { ASK_NONE, ASK_LEAVE, ASK_HANDOVER };

struct heir {
	char	id[IDENT_SIZE];
	int64_t	died_at;
};

struct slot {
	unsigned		 index;
	const char		*role;		/* "worker", "printer" */
	struct board_line	*line;
	pid_t			 pid;		/* 0: no child */
	uint32_t		 gen;		/* configuration it was born with */
	char			 id[IDENT_SIZE];
	int64_t			 started_at;
	enum slot_ask		 asked;
	int64_t			 kill_at;	/* INT64_MAX: no deadline */
	bool			 killed;	/* by us; it is as good as gone */
	bool			 handed_over;	/* the last one left its place */
	bool			 has_worked;	/* a child finished a tick */
	int64_t			 start_at;	/* INT64_MAX: never */
	struct backoff		 backoff;

	/* Dead workers whose place the next child takes, oldest first. */
	struct heir		 heirs[SLOT_HEIRS];
	size_t			 nheirs;

	/* What the last children were sending when they died. */
	struct suspect		 suspect;
};

void	slot_init(struct slot *, unsigned index, const char *role,
	    struct board_line *);

/* Is there something to start, and is it time? */
bool	slot_is_due(const struct slot *, int64_t now);

/* The child was forked (or could not be: pid -1 counts as a death). */
void	slot_started(struct slot *, pid_t, uint32_t gen, int64_t now);

/*
 * Ask once; the deadline only ever comes nearer.  Asking to leave overrules
 * asking to hand over.
 */
void	slot_ask(struct slot *, enum slot_ask, int64_t kill_at);

/* Past its deadline, or without a sign of life for hang_ms: kill. */
void	slot_check(struct slot *, int64_t hang_ms, int64_t now);

/* When slot_check has something to do; INT64_MAX: never. */
int64_t	slot_deadline(const struct slot *, int64_t hang_ms);

/*
 * The child is gone.  Writes the obituary, decides on the next start, and
 * remembers the id if its row and leases may still be there, and the message
 * that it was sending if that may have been its death.
 */
void	slot_exited(struct slot *, int status, int64_t now);

/* Add an id to take over from. */
void	slot_inherit(struct slot *, const char *id, int64_t now);

/* Forget heirs whose claims have run out and whose place is taken. */
void	slot_prune_heirs(struct slot *, int64_t claim_ttl, int64_t now);

/* Has the child shown that it works (or waits for a server)? */
bool	slot_is_ready(const struct slot *);

#endif
