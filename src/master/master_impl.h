/*
 * master_impl.h - private to the master's files: its state, and who does what
 *
 * None of these functions blocks for longer than a write to a local file.
 */
#ifndef OUTBOX_MASTER_IMPL_H
#define OUTBOX_MASTER_IMPL_H

#include "ipc/scoreboard.h"
#include "ipc/wakeup.h"
#include "master/agents.h"
#include "master/master.h"
#include "master/notify.h"
#include "master/refused.h"
#include "master/slot.h"
#include "monitor/door.h"

#define REPLACE_WAIT_MS	10000	/* longest wait until a new worker is ready */

/* Helpers hold no leases: each may die or be killed at any moment. */
enum { LISTENER, JANITOR, MONITOR, NHELPERS };

/* Children by index: the workers, the helpers. */
#define NCHILDREN	(CONF_MAX_WORKERS + NHELPERS)

struct master {
	const struct master_args	*a;
	struct conf			*conf;
	struct conf			*born;		/* at the start */
	struct scoreboard		*scoreboard;
	struct scoreboard_line		*line;		/* its own */
	struct wakeup			 wakeup;
	struct slot			 slots[NCHILDREN];
	struct slot			*helpers;	/* of slots */
	uint32_t			 gen;
	int64_t				 reloaded_at;	/* began; clock_ms() */
	int64_t				 noted_at;	/* see usage.h */
	bool				 stopping;
	bool				 wound_up[CONF_MAX_WORKERS];
	int64_t				 stop_by;
	bool				 repartition;	/* is to be made */
	struct refused			 refused;	/* types */
	struct notify			 notify;
	char				*outboxctl;	/* its path */
	struct starter			 starter;
	struct agents			 agents;
	struct kept {
		unsigned		 log;		/* see log_opens() */
		uint64_t		 files;		/* see file_stamp() */
		int64_t			 seen_at;	/* that; clock_ms() */
	}				 kept[NHELPERS];	/* since their birth */
	struct door			 doors[NDOORS];	/* of the monitor */
	int				 scoreboard_fd;	/* has its lock */
	int				 predecessors_fd;
};

/* children.c: the processes of a master.  Set the slots up; none runs. */
void	children_init(struct master *);

/* Make the children match what is wanted.  Safe to call at any time. */
void	children_converge(struct master *, int64_t now);

/* The earliest time at which that has something to do, in clock_ms(). */
int64_t	children_deadline(const struct master *, int64_t now);

/* Note those that have ended. */
void	children_reap(struct master *, int64_t now);

/* Tell those that can open the log; the others are replaced. */
void	children_reopen_logs(const struct master *);

/* Does one run? */
bool	children_run(const struct master *);

/*
 * doors.c: open what the monitor of this configuration listens on.  It has what
 * was open at its start: true if this has changed, and another monitor is
 * needed.
 */
bool	doors_open(struct master *, int64_t now);
int64_t	doors_deadline(const struct master *);

/* Close all and remove their files; or only leave them to the master. */
void	doors_close(struct master *);
void	doors_leave(const struct master *);

/*
 * succession.c: the list of workers whose leases are to be taken over.  Save
 * the ids of a slot, if this master should be killed now; give those of a
 * former master to the slots; remove the list if no worker left anything.
 */
void	succession_note(struct master *, const struct slot *);
void	succession_inherit(struct master *);
void	succession_forget(struct master *);

/*
 * reload.c: read the configuration again, and take it or refuse it; note on the
 * scoreboard and in the log, once, that all workers have the last one.
 */
void	reload_now(struct master *);
void	reload_note_renewed(struct master *);

#endif
