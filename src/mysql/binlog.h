/*
 * binlog.h - follow a server's binlog from now on, as a replica does
 *
 * One connection for the stream and, where mysql.hosts has several servers,
 * a second one that watches whether it is still the right one.  No position
 * is kept: who lost the stream begins at the end again.
 */
#ifndef OUTBOX_BINLOG_H
#define OUTBOX_BINLOG_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "conf/conf.h"
#include "mysql/db.h"
#include "util/err.h"

struct binlog;

/* conf is borrowed. */
struct binlog	*binlog_new(const struct conf *);
void		 binlog_free(struct binlog *);

/*
 * Connect, to the server that a worker would take, and ask for every event
 * that is committed from now on.  One host a call, as db_open.  A right that
 * is missing may show in the first binlog_next only.
 */
int		 binlog_open(struct binlog *, struct err *);
void		 binlog_close(struct binlog *);

/*
 * Wait for the next event, which is valid until the next call: binlog_event()
 * takes it.  An idle server sends a heartbeat, an event too, each second; a
 * connection that is silent for ten has failed.  -1 closes the stream.
 */
int		 binlog_next(struct binlog *, const uint8_t **, size_t *,
		    struct err *);

/* Have the workers gone to another server?  Asks this one. */
bool		 binlog_has_moved(struct binlog *);

/* What kind of trouble the last failure was; the server. */
enum db_fault	 binlog_fault(const struct binlog *);
const char	*binlog_peer(const struct binlog *);

/* Where partition_key stands in the outbox, from 0; or BINLOG_NO_COLUMN. */
unsigned	 binlog_column(const struct binlog *);

#endif
