/* db_impl.h - a connection from inside, for db.c and binlog.c only */
#ifndef OUTBOX_DB_IMPL_H
#define OUTBOX_DB_IMPL_H

#include "db.h"

#include <mysql.h>

struct db {
	const struct conf	*conf;
	MYSQL			*mysql;		/* NULL: not open */
	int64_t			 wait_ms;
	size_t			 next_host;
	char			 peer[300];
	enum db_fault		 fault;
	unsigned		 code;		/* behind the fault */
	char			 state[2];	/* the class of its SQLSTATE */
	bool			 mariadb;
	bool			 clustered;	/* another server may refuse a COMMIT */
	bool			 single;	/* a proxy wants one at a time */
	bool			 many;		/* it was told that more may come */
	bool			 committing;	/* COMMIT is under way, unanswered */
};

/*
 * Record what the library says went wrong; a connection in doubt is closed.
 * Returns -1.
 */
int		 db_fail(struct db *, const char *what, struct err *);

#endif
