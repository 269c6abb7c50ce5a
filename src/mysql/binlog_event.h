/*
 * binlog_event.h - which commits added rows to the outbox
 *
 * Out of the events of a binlog as MariaDB and MySQL send them to replicas;
 * no I/O.  Only inserts count: claims and settles are updates of the same
 * table, and whoever makes rows due again is a worker himself.
 *
 * What cannot be read (statements, compressed or unknown events) counts as
 * an insert somewhere, unless it is clear that it is about other tables.
 */
#ifndef OUTBOX_BINLOG_EVENT_H
#define OUTBOX_BINLOG_EVENT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define BINLOG_COLUMNS		64	/* of the outbox; a wider one is not read */
#define BINLOG_LABELS		32	/* of one transaction */
#define BINLOG_LABEL_BYTES	255
#define BINLOG_NO_COLUMN	BINLOG_COLUMNS

/* The values of partition_key, each once; NULL is the empty label. */
struct binlog_labels {
	bool	all;		/* it may be any; the list does not count */
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
	struct binlog_labels	 labels;	/* of the transaction so far */

	bool			 open;		/* a commit will follow */
	bool			 told;		/* the labels are old */
	uint8_t			 trailer;	/* bytes of checksum */
	bool			 mapped;	/* the outbox has a number: */
	uint64_t		 table_id;
	unsigned		 ncolumns;	/* 0: cannot be read */
	struct binlog_column	 columns[BINLOG_COLUMNS];
};

enum binlog_news {
	BINLOG_NOTHING,
	BINLOG_COMMITTED,	/* rows with watch->labels were committed */
	BINLOG_DAMAGED		/* no event, or a part of one */
};

/* Begin a stream.  column may be BINLOG_NO_COLUMN. */
void	binlog_watch_init(struct binlog_watch *, const char *database,
	    const char *table, unsigned column);

/*
 * The next event, header and all, without the status byte of the protocol.
 * The labels are valid until the next call.
 */
enum binlog_news binlog_event(struct binlog_watch *, const uint8_t *, size_t);

#endif
