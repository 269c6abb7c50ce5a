/*
 * totals.h - what each process of this master has done since its start
 *
 * The counters of a slot are part of the scoreboard.  They outlive the process:
 * its successor in the slot goes on counting.  So they only grow for the life
 * of the master, and their sum over all slots does, too.  Each is written by
 * the process of the slot alone, as an aligned number.
 */
#ifndef OUTBOX_TOTALS_H
#define OUTBOX_TOTALS_H

#include <stdint.h>

#include "common/figures.h"
#include "util/histogram.h"

#define TOTALS_STATEMENTS	80	/* names, and one for all others */
#define TOTALS_CLASSES		24	/* at least CLASSES of verdict.h */

/* Servers that a process connects to. */
enum totals_peer { TOTALS_DATABASE, TOTALS_BROKER, TOTALS_PEERS };

/* What tells a worker of new rows. */
enum totals_wakeup {
	TOTALS_BY_BINLOG,	/* the listener */
	TOTALS_BY_SUBJECT,	/* wake.subject */
	TOTALS_WAKEUPS
};

/* Why a message became a dead letter; see msg.h. */
enum totals_reason {
	TOTALS_MESSAGE, TOTALS_ATTEMPTS, TOTALS_POISON, TOTALS_REASONS
};

struct totals_statement {
	uint64_t	count;
	uint64_t	us;	/* until the rows were here */
};

struct totals {
	/* Rows: claimed, and their outcomes that were written back. */
	uint64_t	claimed, published, retried, deferred, returned, fenced;
	uint64_t	dead[TOTALS_REASONS];

	/* Messages: acknowledged as duplicates, and lost by the stream. */
	uint64_t	duplicates, recovered;
	uint64_t	renamed;	/* sent under our id: another's message
					   has their author's */
	uint64_t	unread;		/* duplicates that could not be read */
	uint64_t	skipped;	/* metadata entries left out */
	uint64_t	former_labels;	/* labels of a former count */

	/* Sends that failed: by the message's own fault, or for a time, or by
	   the destination's fault, by its enum error_class. */
	uint64_t	failed_message, failed_transient;
	uint64_t	refused[TOTALS_CLASSES];

	uint64_t	leases_taken, leases_released, leases_lost;
	uint64_t	wakeups[TOTALS_WAKEUPS];
	uint64_t	connects[TOTALS_PEERS];		/* that succeeded */
	uint64_t	connects_failed[TOTALS_PEERS];

	struct histogram commit_to_ack;	/* us: created_at, acknowledged */
	struct histogram publish_to_ack;	/* us */
	struct histogram tick;			/* us */
	struct histogram batch;			/* rows claimed at once */

	struct totals_statement	statements[TOTALS_STATEMENTS];
};

/*
 * What was done in each of the last minutes.  The monitor writes it, from the
 * totals; the minute that is under way is the last one.
 */
#define THROUGHPUT_MINUTES	61

struct throughput_minute {
	int64_t		 minute;	/* since 1970; 0: unused */
	uint64_t	 claimed, published, failed;
	struct histogram commit_to_ack;
};

/* Tries of one destination. */
struct throughput_destination {
	char		name[FIGURES_NAME];	/* "": free */
	uint64_t	taken, failed;		/* sums at the last sample */
	struct {
		int64_t	 minute;
		uint32_t taken, failed;
	} minutes[THROUGHPUT_MINUTES];
};

struct throughput {
	int64_t		since;		/* seconds, UTC: nothing before that */
	struct throughput_minute before;	/* sums at the last sample */
	struct throughput_minute minutes[THROUGHPUT_MINUTES];
	struct throughput_destination destinations[FIGURES_MAX];
};

/* The processes that a master starts. */
enum totals_role {
	TOTALS_WORKER, TOTALS_LISTENER, TOTALS_JANITOR, TOTALS_MONITOR,
	TOTALS_ROLES
};

/* Why a process was replaced by another one. */
enum totals_end {
	TOTALS_EXIT,	/* it exited unasked */
	TOTALS_SIGNAL,	/* a signal killed it */
	TOTALS_HANG,	/* the master killed it: no sign of life */
	TOTALS_RELOAD,	/* for a new configuration */
	TOTALS_ENDS
};

/* "worker", "listener", ...; "exit", "signal", ... */
const char	*totals_role_word(enum totals_role);
const char	*totals_end_word(enum totals_end);

/* "message", "attempts", "poison"; and the other way round. */
const char		*totals_reason_word(enum totals_reason);
enum totals_reason	 totals_reason(const char *word);

/* Count a statement of this name; totals is a struct totals. */
void	totals_statement(void *totals, const char *name, int64_t us);

/* The i-th name; "other": of all that have no row; NULL: there are no more. */
const char	*totals_statement_name(unsigned i);

/* Add all of another one. */
void	totals_add(struct totals *sum, const struct totals *);

#endif
