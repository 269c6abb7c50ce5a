/*
 * worker_impl.h - what the parts of a worker share
 *
 * worker.c has the loop, worker_reconnect.c what it depends on, worker_tick.c
 * what it does, worker_wakeup.c who wakes it.
 */
#ifndef OUTBOX_WORKER_IMPL_H
#define OUTBOX_WORKER_IMPL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "util/err.h"
#include "util/reconnect.h"
#include "worker/fleet.h"
#include "worker/poll_interval.h"
#include "recovery/stream_audit.h"
#include "publish/relay.h"
#include "worker/report.h"
#include "store/store.h"
#include "worker/tick.h"
#include "worker/worker.h"

struct worker {
	const struct worker_args	*a;
	const struct conf		*conf;
	struct store			*store;
	struct fleet			 fleet;
	struct relay			 relay;
	struct tick			 tick;
	struct stream_audit		 audit;
	struct report			 report;
	struct scoreboard_line		 no_line;
	struct scoreboard_line		*line;

	struct reconnect		 db, broker, route;
	struct log_throttle		 failures;	/* of single messages */
	struct log_throttle		 busy;	/* statements that wait */
	struct log_throttle		 advisory;	/* is forbidden */
	struct log_throttle		 deaf;		/* wake.subject is */
	int64_t				 busy_since;	/* 0: they do not */
	int64_t				 check_at;	/* the stream, again */
	char				 warned[sizeof(struct err)];
	bool				 opened_db;	/* once at least */
	bool				 announced;	/* taken over or registered */
	bool				 changed_count;
	bool				 warned_count;
	const char			*late;	/* said last: why messages wait
						   for commits; or NULL */
	char				 prefix[STORE_PREFIX];	/* of message ids */
	struct poll_interval		 poll;		/* of ticks */
	int64_t				 woken_at_us;	/* the last time */
	int64_t				 wakeup_gap_us;	/* lately, in the
							   mean */
	unsigned			 version_seen;	/* of what is ours */
	bool				 clean;		/* the last tick was */
	size_t				 failures_seen;	/* of links */
	unsigned			 ticks;
};

/*
 * worker_reconnect.c.  A link that fails is tried again at its time; nothing
 * here waits for that.
 */

void	worker_set_state(struct worker *, enum scoreboard_state);

/* Say why, show it, and try again later. */
void	worker_is_away(struct worker *, struct reconnect *, const char *text,
	    enum scoreboard_state);

/* A statement failed; e tells which and how.  May close the connection. */
void	worker_db_failed(struct worker *, struct err *e);
void	worker_db_works(struct worker *);

void	worker_open_db(struct worker *);

/* Say whether messages wait for the commit of their claim, if it is news. */
void	worker_tell_late(struct worker *);

void	worker_open_broker(struct worker *);
void	worker_lost_broker(struct worker *);

/*
 * Look at the stream, after each connect and now and then.  What cannot work
 * keeps the route paused, and no message is tried.
 */
void	worker_check_stream(struct worker *);

/* Look whether the stream has lost what it acknowledged. */
void	worker_audit_stream(struct worker *);

/* What the broker complained of meanwhile goes to the log. */
void	worker_pass_on_complaints(struct worker *);

/* worker_tick.c */

void	worker_tick(struct worker *);

/* A look that began then is over and found that: plan the next. */
void	worker_looked(struct worker *, enum poll_found, int64_t began);

/* Write back what a tick has left unsettled. */
void	worker_settle(struct worker *);

/* worker_wakeup.c */

/*
 * Take note of rings, before each look: one during a look means another.  Has
 * somebody rung since the last time?
 */
bool	worker_hear(struct worker *);

/* The same for the tick, and it waits for that: see tick.h. */
bool	worker_wait_wakeup(void *worker);

/* Show who rings what is served here, if that has changed. */
void	worker_show_served(struct worker *);

/* What to wait for beside the broker; -1: nothing. */
int	worker_wakeup_fd(const struct worker *);

/* Will somebody say when there is work? */
bool	worker_expects_wakeups(const struct conf *);

#endif
