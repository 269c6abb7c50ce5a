/*
 * worker_impl.h - private to the worker*.c files
 *
 * worker.c has the loop, worker_database.c and worker_reconnect.c the
 * connections, worker_reach.c what they reach, worker_stream.c the checks of the
 * stream, worker_tick.c the ticks, worker_wakeup.c the wake-ups.
 */
#ifndef OUTBOX_WORKER_IMPL_H
#define OUTBOX_WORKER_IMPL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/away.h"
#include "util/err.h"
#include "util/reconnect.h"
#include "worker/absence.h"
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
	struct totals			 no_totals;
	struct totals			*totals;
	struct figures_set		 no_figures;

	/* route is the destination: the stream that takes our messages. */
	struct reconnect		 db, lines[CONF_DRIVERS], route;
	struct log_throttle		 failures;	/* of single messages */
	struct log_throttle		 renamed;	/* another's id */
	struct log_throttle		 unread;	/* duplicates */
	struct log_throttle		 busy;	/* deadlocks, lock waits */
	struct log_throttle		 partial;	/* a destination of several */
	struct log_throttle		 advisory;	/* not permitted */
	struct log_throttle		 unaudited_why;
	struct log_throttle		 refusal;	/* of wake.subject */
	bool				 deaf;	/* wake.subject was refused */
	bool				 fleet_waits;	/* line->wait is of the
							   fleet, not the tick */
	/* What is away, and what all were told of that: see worker_reach.c. */
	struct absence			 absences[ROUTE_DESTINATIONS];
	char				 away[AWAY_SIZE];
	int64_t				 away_told_at, try_at;
	size_t				 tried;	/* the last route */
	bool				 stood_back;	/* it was logged */
	int64_t				 asked_at;	/* when the statements
							   under way began */
	int64_t				 check_at;	/* next stream check */
	bool				 unfit;	/* the last check paused it */
	bool				 unaudited;	/* the audit did */
	int64_t				 audit_busy_since;	/* it waits for
							   a lock; 0: not */
	char				 told[sizeof(struct err)];
	bool				 opened_db;	/* at least once */
	char				 server[SCOREBOARD_SERVER];	/* logged */
	char				 cluster[SERVER_TEXT];	/* what it is,
							   as was logged */
	int64_t				 server_at;	/* next look at it */
	bool				 announced;	/* taken over or registered */
	int64_t				 voided_at;	/* clock_ms() */
	bool				 changed_count;	/* was asked for */
	bool				 warned_count;
	char				 prefix[STORE_PREFIX];	/* of message ids */
	struct poll_interval		 poll;		/* between ticks */
	unsigned			 types_shown;	/* the relay's changes */
	unsigned			 version_seen;	/* of fleet.parts */
	bool				 clean;	/* no failure in the last tick */
	size_t				 failures_seen;	/* of connections */
	unsigned			 ticks;
};

/*
 * worker_reconnect.c.  A connection that failed is tried again after a backoff;
 * no function here waits for that.
 */

/* Log the reason, show it on the scoreboard, and set the next try. */
void	worker_is_away(struct worker *, struct reconnect *, const char *text,
	    enum scoreboard_state);

/*
 * The destination takes no messages: as worker_is_away, for the route.  The log
 * tells of texts with the same key as of one pause.
 */
void	worker_pause(struct worker *, enum error_class, const char *key,
	    const char *text);

/* It takes messages, or it is not known any more that it takes none. */
void	worker_unpause(struct worker *);

/* Leave the broker's server for the next one of nats.servers, if any. */
void	worker_change_server(struct worker *);

/* Open a destination if it is time, or note that it is lost. */
void	worker_keep_line(struct worker *, enum conf_driver);

/* Log errors of the broker that name no message. */
void	worker_pass_on_complaints(struct worker *);

/*
 * worker_database.c, worker_server.c
 */

/* A statement failed.  Closes the connection unless the server was busy. */
void	worker_db_failed(struct worker *, struct err *e);

/* Statements of the fleet, or of the tick, work: they wait for no lock. */
void	worker_not_busy(struct worker *, bool fleet);

void	worker_open_db(struct worker *);

/* The test of db_set_test(): learns the tables, and registers the worker. */
int	worker_test_server(void *worker, struct err *);

/* From now on the claims of dead workers of this master are void. */
void	worker_void_claims(struct worker *);

/*
 * The server in use is an old primary that is back, as why says: use another
 * one, if there is one.  What this worker had taken here expires.
 */
void	worker_leave_behind(struct worker *, struct err *why);

/* worker_server.c: at server_at, log what the server is if that is news. */
int	worker_look_at_server(struct worker *, struct err *);

/*
 * worker_stream.c
 */

/*
 * Check the stream's settings: after each connect, and every CHECK_MS.  While
 * they are unfit, the destination is paused and no message is sent.
 */
void	worker_check_stream(struct worker *);

/* Check, if it is time, whether the stream has lost acknowledged messages. */
void	worker_audit_stream(struct worker *);

/*
 * worker_reach.c
 */

/* Before the first connection. */
void	worker_begin_reach(struct worker *);

/* Note which destinations are reached; all workers are told of a change. */
void	worker_note_reach(struct worker *);

/* Log that this worker stands back, or not any more; try what is away. */
void	worker_stand_back(struct worker *);

/* worker_tick.c */

void	worker_tick(struct worker *);

/* Show how many leases it has, and log a change. */
void	worker_show_leases(struct worker *);

/* Write back outcomes that the last tick could not. */
void	worker_settle(struct worker *);

/* worker_wakeup.c */

/*
 * Does a commit wake this worker now?  Either by wake.subject, unless the broker
 * refuses it, or because the listener hears the binlog.
 */
bool	worker_expects_wakeups(const struct worker *);

/* Plan pauses by that. */
void	worker_follow_listener(struct worker *);

/*
 * Take the wake-ups since the last call: before each scan, so that one during a
 * scan causes another.  True if there was one.
 */
bool	worker_take_wakeups(struct worker *);

/* Show our partitions on the scoreboard, where wake-ups look for a worker. */
void	worker_show_labels(struct worker *);

/* The descriptor to poll beside the broker's; -1: none. */
int	worker_wakeup_fd(const struct worker *);

#endif
