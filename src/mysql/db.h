/*
 * db.h - one connection to MySQL or MariaDB
 *
 * Only this room knows the client library, Oracle's or MariaDB's.  Every call
 * may block: each of its statements as long as the timeout of db_new at most,
 * a connect two seconds, or with several hosts one for each that is silent.
 */
#ifndef OUTBOX_DB_H
#define OUTBOX_DB_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "util/buf.h"
#include "conf/conf.h"
#include "util/err.h"

struct db;
struct db_rows;

/* The kind of failure of the last call; what heals sooner comes first. */
enum db_fault {
	DB_FINE,
	DB_BUSY,	/* nothing happened: deadlock, too long; try again */
	DB_LOST,	/* the connection is gone; the statement may have run */
	DB_CLOSED,	/* there was no connection; nothing was sent */
	DB_READONLY,	/* not a primary any more; connect to the next host */
	DB_WRONG	/* will not heal by itself: no table, no right, ... */
};

/*
 * conf is borrowed and must outlive the connection.  wait_ms is the timeout of
 * a statement, cut to whole seconds; at least two seconds are taken.
 */
struct db	*db_new(const struct conf *, int64_t wait_ms);
void		 db_free(struct db *);

/*
 * Tell the function of each statement: its name and the microseconds until its
 * whole answer was here, or it failed.
 */
void		 db_observe(struct db *, void (*)(void *arg, const char *what,
		    int64_t us), void *arg);

/*
 * Connect to a host of the list and prepare the session: whatever the server is
 * set to, a statement means and does the same in each (db_session.c); UTC, READ
 * COMMITTED, short lock waits.
 *
 * A call tries all hosts in turn, without a pause, until one passes.  It begins
 * with the one that was used last, or behind it if that one was left: it gave no
 * answer in time, became read-only, or db_leave() was called.  Refused is a
 * server that is read-only, that is no ready member of its Galera cluster, that
 * logs statements only, or that fails the test; a node of Galera that is not
 * Synced, or a host that db_demote() was called for, is used only if no other
 * host passes.
 *
 * On failure the error has the reason of each host, and the fault is the one of
 * them that heals soonest: DB_WRONG only if all say so.
 */
int		 db_open(struct db *, struct err *);

/* The longest pause between two calls of db_open: a failed one is no news. */
#define DB_PAUSE_MS	1000

/*
 * What else a server has to pass in db_open: statements on the session that is
 * being opened.  A session of ours that is left on this server, and may hold
 * locks that the test needs, is ended before.  With several hosts they wait for locks for a second at most,
 * and for an answer half as long as others.
 */
void		 db_set_test(struct db *, int (*)(void *arg, struct err *),
		    void *arg);

/*
 * Begin the next db_open with this host.  Others use it: it need not be Synced.
 * False: it is not in the list.
 */
bool		 db_prefer(struct db *, const char *peer);

/* Close, and begin the next db_open behind this host. */
void		 db_leave(struct db *);

/* db_leave(), and from now on use this host only if no other one passes. */
void		 db_demote(struct db *);
bool		 db_is_demoted(const struct db *);

/* The hosts that the last successful db_open passed over, and why; "": none. */
const char	*db_passed_over(const struct db *);
void		 db_close(struct db *);

/*
 * Check again that the server is a primary with our session, without the test
 * and Synced or not; if not, this returns -1 and closes the connection.
 */
int		 db_check(struct db *, struct err *);
bool		 db_is_open(const struct db *);

/* "127.0.0.1:3306": the server in use, or tried last. */
const char	*db_peer(const struct db *);
bool		 db_is_mariadb(const struct db *);

/*
 * Is it Vitess' vtgate, which passes statements on to the primary of a shard?
 * The connection outlives that server, and a connection id is not ours to kill.
 */
bool		 db_is_vtgate(const struct db *);

/* Does each connection of this configuration use TLS? */
bool		 db_uses_tls(const struct conf *);

/* The port of an item of mysql.hosts. */
unsigned	 db_port(const char *host);

/*
 * Run a statement; what names it in the error.  *matched, which may be NULL,
 * is the number of rows that satisfied the WHERE (for an INSERT: inserted).
 */
int		 db_exec(struct db *, const char *what, const struct buf *,
		    uint64_t *matched, struct err *);

/* Run a query and take the whole result.  NULL on error. */
struct db_rows	*db_query(struct db *, const char *what, const struct buf *,
		    struct err *);

/*
 * Wait for locks for a second at most (true), or as long as before.  On success
 * db_last_fault still tells the fault of the failure before.
 */
int		 db_hurry(struct db *, bool, struct err *);

/*
 * On a member of a group of MySQL: let each statement wait until what the group
 * has committed before is here, for a second at most (3797); or as before.
 * Without a group, or if the server refuses that, nothing changes.
 */
int		 db_catch_up(struct db *, bool on, struct err *);

/* Roll back; db_last_fault still tells the fault of the failure before. */
void		 db_rollback(struct db *);

/* Let db_open accept a server that takes no changes, to look at it. */
void		 db_take_any(struct db *);

/* The fault of the last failed db_exec, db_query or db_open. */
enum db_fault	 db_last_fault(const struct db *);

/*
 * In the error of a statement that had no answer within its timeout, which is
 * DB_LOST: the server may be well.
 */
#define DB_TOO_SLOW	"no answer within"

/* The error's number, of the server or the library; 0: it had none. */
unsigned	 db_last_code(const struct db *);

/*
 * Was the last fault DB_WRONG because of a value: too long, a duplicate, not
 * JSON, or refused by a constraint or a trigger?
 */
bool		 db_refused_value(const struct db *);

/*
 * Does the last fault say that what was learnt of the database is not so any
 * more: a table, a column, an index, a variable or a procedure is gone?
 */
bool		 db_learnt_wrong(const struct db *);

/*
 * Walk a result.  Texts are valid until db_rows_free.  A server or a proxy may
 * send fewer columns than were asked for, or NULL where the schema has none: a
 * column that is missing is NULL, and so are all of them without a row.
 */
bool		 db_next(struct db_rows *);
void		 db_rewind(struct db_rows *);	/* to before the first row */
size_t		 db_nrows(const struct db_rows *);
const char	*db_text(const struct db_rows *, unsigned col);	/* NULL: "" */
size_t		 db_length(const struct db_rows *, unsigned col); /* NULL: 0 */
uint64_t	 db_u64(const struct db_rows *, unsigned col);	/* NULL: 0 */
void		 db_rows_free(struct db_rows *);

/* The same as db_text, but NULL for SQL NULL. */
const char	*db_nullable(const struct db_rows *, unsigned col);

/* The column of that name; -1: there is none. */
int		 db_column(const struct db_rows *, const char *name);

/*
 * Append 'text' as a literal, x'...' if it is no UTF-8, or `name` as an
 * identifier.  No name becomes SQL in any other way, whether it was configured
 * or read from a table.
 */
void		 db_quote(struct db *, struct buf *, const char *, size_t);
void		 db_name(struct buf *, const char *);

/* Room for a name: 64 characters of up to four bytes, and the NUL. */
#define DB_NAME_SIZE	(64 * 4 + 1)

/* The same as a text of its own, which the caller frees. */
char		*db_named(const char *);

#endif
