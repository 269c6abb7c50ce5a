/*
 * binlog_event.h - which commits added rows to the outbox
 *
 * Decodes the events of a binlog as MariaDB and MySQL send them to replicas; no
 * I/O.  Only inserts count: claims and settles are updates of the same table,
 * and a worker that makes rows due again knows of them.  Rows that a transaction
 * inserts and deletes again are counted: no worker can see them.
 *
 * An event that cannot be read (a statement, a compressed or an unknown one)
 * counts as an insert, unless it is clear that it is about other tables.
 */
#ifndef OUTBOX_BINLOG_EVENT_H
#define OUTBOX_BINLOG_EVENT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "mysql/vanish.h"

#define BINLOG_COLUMNS		64	/* of the outbox; a wider one is not read */
#define BINLOG_LABELS		32	/* of one transaction */
#define BINLOG_LABEL_BYTES	255
#define BINLOG_NO_COLUMN	BINLOG_COLUMNS

/* The values of partition_key, each once; NULL is the empty label. */
struct binlog_labels {
	bool	all;		/* any label; ignore the list */
	size_t	n;
	struct {
		uint8_t	len;
		char	text[BINLOG_LABEL_BYTES];
	} list[BINLOG_LABELS];
};

struct binlog_column {
	uint8_t		type;
	uint16_t	meta;
};

struct binlog_watch {
	const char		*database, *table;	/* borrowed */
	unsigned		 column;	/* partition_key, from 0 */
	uint64_t		 keys;		/* columns of the primary key;
						   0: vanish is not filled */
	struct binlog_labels	 labels;	/* of the transaction so far */
	struct vanish		 vanish;	/* and its rows */

	bool			 open;		/* a commit will follow */
	bool			 told;		/* the labels were reported */
	uint8_t			 trailer;	/* bytes of checksum */
	bool			 mapped;	/* table_id is the outbox's */
	uint64_t		 table_id;
	unsigned		 ncolumns;	/* 0: cannot be read */
	struct binlog_column	 columns[BINLOG_COLUMNS];
};

enum binlog_news {
	BINLOG_NOTHING,
	BINLOG_COMMITTED,	/* rows with watch->labels were committed */
	BINLOG_DAMAGED		/* no event, or a part of one */
};

/*
 * Begin a stream.  column may be BINLOG_NO_COLUMN.  The caller sets keys, if the
 * primary key is known: bit i is column i, from 0.
 */
void	binlog_watch_init(struct binlog_watch *, const char *database,
	    const char *table, unsigned column);

/*
 * Read an event with its header, but without the protocol's status byte.  The
 * labels and vanish are valid until the next call.
 */
enum binlog_news binlog_event(struct binlog_watch *, const uint8_t *, size_t);

#endif
