/*
 * scoreboard.h - the scoreboard: what each process of this master is doing
 *
 * A mapped file in the run directory.  Each process writes only its own line,
 * the outages and the suspects, and the janitor the backlog; any process reads.
 * The monitor can write nothing but its line and what is behind it.
 * Use it for display, signs of life, and hints to processes of this master: who
 * wakes whom.  Never decide about data by it.
 *
 * A time with "clock_ms()" is in ms since the boot of the host, and can be
 * compared with clock_ms() of any process there.  Texts are UTF-8; a reader may
 * see one that is being written, with its NUL missing.
 */
#ifndef OUTBOX_SCOREBOARD_H
#define OUTBOX_SCOREBOARD_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "conf/conf.h"
#include "util/err.h"
#include "util/outage.h"
#include "ipc/backlog_ring.h"
#include "ipc/predecessors.h"
#include "ipc/totals.h"
#include "common/figures.h"
#include "common/ident.h"
#include "common/label_set.h"
#include "common/suspect.h"

#define SCOREBOARD_MAGIC	0x4f42584a	/* "OBXJ", of this layout */
#define SCOREBOARD_LINES	(CONF_MAX_WORKERS + 10)
#define SCOREBOARD_LISTENER	CONF_MAX_WORKERS	/* its line */
#define SCOREBOARD_JANITOR	(CONF_MAX_WORKERS + 1)	/* its line */
#define SCOREBOARD_MASTER	(CONF_MAX_WORKERS + 2)	/* its line */
#define SCOREBOARD_MONITOR	(SCOREBOARD_LINES - 1)	/* its line: those
					   before it are spare, so that no
					   other one is on its pages */

/* Longer than any call of the listener: after such a silence it hangs. */
#define LISTENER_SILENCE_MS	30000

enum scoreboard_state {
	SCOREBOARD_FREE,	/* no process */
	SCOREBOARD_STARTING,
	SCOREBOARD_NO_DATABASE,	/* waits for it */
	SCOREBOARD_NO_BROKER,	/* waits for it */
	SCOREBOARD_PAUSED,	/* waits: the destination takes nothing */
	SCOREBOARD_RUNNING,	/* finished its first tick */
	SCOREBOARD_STANDBY,	/* as running; others have all partitions */
	SCOREBOARD_STOPPING,
	SCOREBOARD_REFUSED,	/* listener, janitor: the database refuses what
				   it asks for, such as a missing right; tried
				   again each minute; monitor: it cannot
				   listen */
	SCOREBOARD_NO_BINLOG	/* listener with wake.binlog: auto: refused,
				   which is no fault: workers poll */
};

/* Where the partition counts are declared, once a worker has read it. */
enum scoreboard_counts {
	SCOREBOARD_COUNTS_UNKNOWN,
	SCOREBOARD_COUNTS_TABLE,	/* outbox_settings */
	SCOREBOARD_COUNTS_FILE	/* no such table: the file */
};

/* The master asks one worker at a time to apply the configured count. */
enum scoreboard_repartition {
	SCOREBOARD_REPARTITION_NONE,
	SCOREBOARD_REPARTITION_ASKED,
	SCOREBOARD_REPARTITION_OVER	/* applied, or refused */
};

#define SCOREBOARD_WORD	16	/* a word of few letters, with its NUL */

/* The worker holds its messages back: the destination takes none. */
struct scoreboard_pause {
	int64_t	since;				/* clock_ms(); 0: no pause */
	char	class[SCOREBOARD_WORD];		/* "no_stream", "full", ...: see
						   enum error_class in
						   driver/verdict.h */
	char	why[sizeof(struct err)];	/* the log's text */
};

/* An event type that this worker holds back while others are taken. */
struct scoreboard_refused {
	int64_t	since;				/* clock_ms() */
	char	class[SCOREBOARD_WORD];		/* as in scoreboard_pause */
	char	type[200];			/* printable, see printable.h */
	char	subject[256];			/* of the first one refused */
	char	why[160];			/* text of the last refusal */
};

#define SCOREBOARD_REFUSED_TYPES	8	/* shown by one worker */

/* Read with scoreboard_refused_read(), written as its comment says. */
struct scoreboard_refusals {
	uint32_t	version;	/* odd: being written */
	uint32_t	n;		/* types; list has the first ones */
	struct scoreboard_refused list[SCOREBOARD_REFUSED_TYPES];
};

/* A statement of this worker fails again and again, with its connection. */
struct scoreboard_wait {
	int64_t	since;				/* clock_ms(); 0: none does */
	char	why[sizeof(struct err)];	/* the log's text */
};

/* A row that the database refuses, or that another session has locked. */
struct scoreboard_row {
	uint64_t sequence;
	int64_t	 since;				/* clock_ms() */
	char	 why[256];			/* "cannot be claimed: ..." */
};

#define SCOREBOARD_ROWS	16	/* shown by one worker, the first ones */

#define SCOREBOARD_SERVER	300	/* host:port, or a socket */

/* Shorter waits are not told: others use the tables, too. */
#define SCOREBOARD_WAIT_MS	3000

/*
 * served may be out of date for a moment after a lease has come or gone; a
 * worker scans a new partition by itself.  Labels are compared as bytes, so
 * one that equals the lease's only by its collation is not found.
 */
struct scoreboard_line {
	int32_t		 pid;
	uint32_t	 state;		/* enum scoreboard_state */
	uint32_t	 generation;	/* of its configuration */
	uint32_t	 sandbox;	/* SANDBOX_...: what holds for it */
	int64_t		 state_since;	/* clock_ms() */
	int64_t		 started_at;	/* clock_ms() */
	int64_t		 alive_at;	/* clock_ms(), the last sign of life */
	uint64_t	 handling;	/* sequence being sent; 0: none */
	uint64_t	 ticks;
	uint64_t	 delivered, duplicates, failed, dead, fenced;
	uint64_t	 skipped;	/* metadata entries left out */
	uint64_t	 recovered;	/* lost by the stream: send again */
	uint32_t	 owned, desired, waiting;	/* partitions; lanes */
	uint32_t	 counts_in;	/* enum scoreboard_counts */
	uint32_t	 repartition;	/* enum scoreboard_repartition */
	uint32_t	 strangers;	/* live workers of other programs */
	uint64_t	 former_labels;	/* messages sent under a label that
					   their key has no longer */
	int64_t		 former_label_at;	/* seconds, UTC; 0: never */
	uint64_t	 vanished;	/* listener: rows that were inserted and
					   deleted in one transaction, since its
					   start; janitor: see vanishing.h */
	int64_t		 vanished_at;	/* seconds, UTC: the last one; of the
					   janitor: the first */
	uint32_t	 vanished_last;	/* listener: of the last rows that were */
	uint32_t	 inserted_last;	/* inserted; see vanishing.h */
	struct label_set served;	/* labels of the leases it holds */
	struct scoreboard_pause pause;
	struct scoreboard_refusals refused;
	struct scoreboard_wait wait;
	uint32_t	 nrows;
	struct scoreboard_row rows[SCOREBOARD_ROWS];
	double		 cpu_s, resident;	/* seconds on a processor, bytes
						   of memory; see usage.h */
	uint64_t	 log_lost;	/* lines of log lost since its start;
					   0 while the log can be written */
	char		 id[IDENT_SIZE];
	char		 server[SCOREBOARD_SERVER];	/* worker: the database
							   server; "": none */
	int64_t		 last_error_at;	/* seconds, UTC; 0: none yet */
	char		 last_error[sizeof(struct err)];
};

enum scoreboard_reload_result {
	SCOREBOARD_RELOAD_NONE,		/* since the start of the master */
	SCOREBOARD_RELOAD_ACCEPTED,
	SCOREBOARD_RELOAD_REFUSED,	/* the former configuration stays */
	SCOREBOARD_RELOAD_WRONG		/* the same: the file is in error */
};

/*
 * The last reload (SIGHUP).  count grows by one for each, as the last thing
 * that is written.  A reader that waits for its own reload waits for that, and
 * for one that began after it had sent the signal.  A reload that was accepted
 * replaces the workers one at a time; one that is refused does not stop that.
 */
struct scoreboard_reload {
	uint32_t	 count;		/* since the start of the master */
	uint32_t	 result;	/* enum scoreboard_reload_result */
	int64_t		 at;		/* seconds, UTC */
	int64_t		 began_at;	/* clock_ms(), before the file was
					   read */
	int64_t		 renew_by;	/* of the last one accepted, seconds,
					   UTC: all workers are new by then at
					   the latest, if none crashes at its
					   start; 0: none was accepted */
	int64_t		 renewed_at;	/* of that one, seconds, UTC: all were
					   new; 0: not yet */
	int64_t		 renewed_ms;	/* and how long that took, from its
					   began_at; written before
					   renewed_at */
	char		 why[sizeof(struct err)];	/* refused: the error;
					   accepted: keys that need a restart,
					   or "" */
};

/* Problems that processes of one master share: see util/outage.h. */
enum scoreboard_outage {
	SCOREBOARD_OUTAGE_DATABASE,
	SCOREBOARD_OUTAGE_BROKER,	/* and the other drivers, in order */
	SCOREBOARD_OUTAGE_PUBLISHING = SCOREBOARD_OUTAGE_BROKER + CONF_DRIVERS,
	SCOREBOARD_OUTAGES
};

struct scoreboard {
	uint32_t		 magic;
	int32_t			 master;	/* pid */
	char			 instance[17];	/* random: this start of it */
	uint32_t		 generation;	/* of the configuration: 1, and one
						   more for each accepted
						   reload */
	struct scoreboard_reload reload;
	char			 stderr_file[256];	/* path of the file
					   that is the master's standard error;
					   "": it is none */
	struct outage		 outages[SCOREBOARD_OUTAGES];
	struct suspect		 suspects[SUSPECTS];

	/* Dead workers of each slot; id "": none.  Their claims are void for
	   all workers of this master. */
	struct predecessor	 predecessors[CONF_MAX_WORKERS]
				     [SLOT_PREDECESSORS];
	struct backlog_ring	 backlog;	/* written by the janitor */

	/* Since the start of the master: see totals.h. */
	int64_t			 started_at;	/* seconds, UTC */
	struct totals		 totals[SCOREBOARD_LINES];
	struct figures_set	 figures[CONF_MAX_WORKERS];	/* destinations */
	uint64_t		 restarts[TOTALS_ROLES][TOTALS_ENDS];

	/* Written by the monitor: the last line, and what is behind it. */
	struct scoreboard_line	 lines[SCOREBOARD_LINES];
	struct throughput	 throughput;
};

/*
 * Create the file anew and map it for this process and its children.  The last
 * minutes of the master before are kept.  *fd stays open, for
 * scoreboard_live(); the caller closes it.  Returns NULL with an error, and
 * then nothing stays open or mapped.
 */
struct scoreboard	*scoreboard_create(const char *path, int *fd,
			    struct err *);
void			 scoreboard_close(struct scoreboard *);

/*
 * In the monitor: make all but its own part read-only, and close fd, so that
 * nothing makes it writable again.  -1: see err; fd stays open.
 */
int			 scoreboard_keep_own(struct scoreboard *, int fd,
			    struct err *);

/*
 * From now on the calling process is the living master: it locks the file.  The
 * lock belongs to this process alone.  A child does not inherit it, and the
 * kernel releases it when the process ends in any way.  Call it after the last
 * fork of the master itself (daemon(3)), and open the file no second time: to
 * close any descriptor of the file releases the lock.
 */
int			 scoreboard_live(struct scoreboard *, int fd,
			    struct err *);

/*
 * Map another master's scoreboard read-only.  NULL: there is none, or it has
 * another version.  *alive: its master lives, that is, it holds the lock; also
 * set if the version is another one.  No pid is looked at, so neither another
 * process that got the master's pid nor workers that outlive the master count.
 */
struct scoreboard	*scoreboard_open(const char *path, bool *alive,
			    struct err *);

/*
 * The same, and the pid of the master that holds the lock, in the caller's pid
 * namespace; 0: none lives, or it is in another one (a container) and not seen
 * here.  The pid on the scoreboard is that of the master's own namespace.
 */
struct scoreboard	*scoreboard_find(const char *path, bool *alive,
			    pid_t *pid, struct err *);

/* Set the state; state_since stays if it is the same. */
void			 scoreboard_state(struct scoreboard_line *,
			    enum scoreboard_state, int64_t now);

/* A sign of life, and whether the log of this process works. */
void			 scoreboard_alive(struct scoreboard_line *,
			    int64_t now);

/* Set the last error and its time. */
void			 scoreboard_error(struct scoreboard_line *,
			    const char *text);

/* Set the reason of a state that is no error: a last error without a time. */
void			 scoreboard_reason(struct scoreboard_line *,
			    const char *text);

/*
 * A worker rewrites its refused types between these two calls.  Nothing else
 * may happen between them: a reader waits.
 */
void			 scoreboard_refused_begin(struct scoreboard_line *);
void			 scoreboard_refused_end(struct scoreboard_line *);

/*
 * Copy the refused types of a line, as they were at one moment, and return how
 * many there are.  Blocks for some ms at most: 0 is also the answer if the
 * worker was stopped or killed between the two calls.
 */
size_t			 scoreboard_refused_read(const struct scoreboard_line *,
			    struct scoreboard_refused
			    to[SCOREBOARD_REFUSED_TYPES]);

/*
 * The database server that another process should use, too: present, if a worker
 * uses it, else the one of the first worker that has any.  False: none has.
 */
bool			 scoreboard_server(const struct scoreboard *,
			    const char *present, char server[SCOREBOARD_SERVER]);

/* "running", "no broker", ... */
const char		*scoreboard_state_word(uint32_t state);

#endif
