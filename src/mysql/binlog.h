/*
 * binlog.h - follow a server's binlog from now on, as a replica does
 *
 * No position is kept: after a lost stream the next one begins at the binlog's
 * end.
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

/* A stream's server id is random from here on, far from those of servers. */
#define BINLOG_SERVER_ID_MIN	4000000000u

/* conf is borrowed. */
struct binlog	*binlog_new(const struct conf *);
void		 binlog_free(struct binlog *);

/* Its connection: for which server it takes, and what became of it. */
struct db	*binlog_db(const struct binlog *);

/*
 * Connect to a server as db_open does, and request every event that is
 * committed from now on.  A missing privilege may show only in the first
 * binlog_next.
 */
int		 binlog_open(struct binlog *, struct err *);
void		 binlog_close(struct binlog *);

/*
 * Wait for the next event, for binlog_event(); it is valid until the next call.
 * An idle server sends a heartbeat, an event too, each second; ten seconds of
 * silence are a failure.  -1: the stream is closed.
 */
int		 binlog_next(struct binlog *, const uint8_t **, size_t *,
		    struct err *);

/* The index of partition_key in the outbox, from 0; or BINLOG_NO_COLUMN. */
unsigned	 binlog_column(const struct binlog *);

/* The columns of its primary key, as binlog_watch has them; 0: not known. */
uint64_t	 binlog_keys(const struct binlog *);

#endif
