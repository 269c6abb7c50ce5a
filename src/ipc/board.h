/*
 * board.h - the scoreboard: what each process of this master is doing
 *
 * A mapped file in the run directory.  Each child writes only its own line,
 * any process reads.  Use it for display and to see signs of life only, never
 * to decide about data.
 */
#ifndef OUTBOX_BOARD_H
#define OUTBOX_BOARD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "conf/conf.h"
#include "util/err.h"
#include "common/ident.h"
#include "common/label_set.h"

#define BOARD_MAGIC	0x4f425834	/* "OBX4"; changes with the layout */
#define BOARD_LINES	(CONF_MAX_WORKERS + 8)
#define BOARD_DOORBELL	CONF_MAX_WORKERS	/* its line */
#define BOARD_JANITOR	(CONF_MAX_WORKERS + 1)	/* its line */

enum board_state {
	BOARD_FREE,
	BOARD_STARTING,
	BOARD_NO_DATABASE,	/* waits for it */
	BOARD_NO_BROKER,	/* waits for it */
	BOARD_PAUSED,		/* waits: the destination takes nothing */
	BOARD_RUNNING,		/* finished its first tick */
	BOARD_STOPPING
};

/* Where the partition counts are declared, once a worker has read it. */
enum board_counts {
	BOARD_COUNTS_UNKNOWN,
	BOARD_COUNTS_TABLE,	/* outbox_settings */
	BOARD_COUNTS_FILE	/* no such table: the file */
};

/* The master asks one worker at a time to apply the configured count. */
enum board_change {
	BOARD_CHANGE_NONE,
	BOARD_CHANGE_ASKED,
	BOARD_CHANGE_OVER	/* applied, or refused */
};

/*
 * served may be out of date for a moment after a lease has come or gone; a
 * worker scans a new partition by itself.  Labels are compared as bytes, so
 * one that equals the lease's only by its collation is not found.
 */
struct board_line {
	int32_t		 pid;
	uint32_t	 state;		/* enum board_state */
	int64_t		 started_at;	/* clock_ms() */
	int64_t		 alive_at;	/* clock_ms(), the last sign of life */
	uint64_t	 handling;	/* sequence being sent; 0: none */
	uint64_t	 ticks;
	uint64_t	 delivered, duplicates, failed, dead, fenced;
	uint64_t	 skipped;	/* metadata entries left out */
	uint64_t	 recovered;	/* lost by the stream: send again */
	uint32_t	 owned, desired, waiting;	/* partitions; lanes */
	uint32_t	 counts_in;	/* enum board_counts */
	uint32_t	 change;	/* enum board_change */
	uint32_t	 strangers;	/* live workers of other programs */
	uint64_t	 former_labels;	/* messages sent under a label that
					   their key has no longer */
	int64_t		 former_label_at;	/* seconds, UTC; 0: never */
	struct label_set served;	/* labels of the leases it holds */
	char		 id[IDENT_SIZE];
	char		 last_error[sizeof(struct err)];
};

struct board {
	uint32_t		 magic;
	int32_t			 master;	/* pid */
	uint32_t		 generation;	/* of the configuration */
	struct board_line	 lines[BOARD_LINES];
};

/*
 * Create the file anew and map it for this process and its children.  Returns
 * NULL with an error, and nothing stays mapped.
 */
struct board	*board_create(const char *path, struct err *);
void		 board_close(struct board *);

/*
 * Map another master's scoreboard read-only.  NULL: there is none, or it has
 * another version.  The master may be dead; see board_is_alive.
 */
struct board	*board_open(const char *path, struct err *);

/* True if a process with the pid of its master exists. */
bool		 board_is_alive(const struct board *);

/* "running", "no broker", ... */
const char	*board_state_word(uint32_t state);

#endif
