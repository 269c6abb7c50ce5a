/* db_impl.h - a connection from inside, for the files of this room only */
#ifndef OUTBOX_DB_IMPL_H
#define OUTBOX_DB_IMPL_H

#include "mysql/db.h"

#include <mysql.h>

/* A session on a server, see db_abandoned.c. */
struct db_session {
	uint64_t		 id;		/* 0: not known */
	int64_t			 since;		/* clock_ms(): the server's start */
	char			 server[1024];
};

struct db {
	const struct conf	*conf;
	MYSQL			*mysql;		/* NULL: not open */
	int64_t			 wait_ms;
	size_t			 host;		/* the last one tried */
	size_t			 first;		/* a round begins with it */
	bool			 preferred;	/* others use that one */
	char			 peer[300];	/* its name */
	struct err		 passed_over;	/* hosts before it, with why */
	bool			 unsynced;	/* a node of Galera, not Synced */
	bool			*demoted;	/* of each host */
	int			(*test)(void *, struct err *);
	void			*test_arg;
	bool			 trial;		/* the test is being made */
	enum db_fault		 fault;
	unsigned		 code;		/* error number of the fault */
	struct db_session	 session;	/* with a test: the present one */
	struct db_session	*abandoned;	/* the last one of each host */
	int64_t			 asked_at;	/* clock_ms(), a statement without its
						   answer; 0: none */
	char			 state[2];	/* the class of its SQLSTATE */
	bool			 mariadb;
	bool			 any;		/* take one that is read-only */
	bool			 vtgate;	/* Vitess: not a server itself */
	unsigned		 version;	/* 100611, 90700: see db_open.c */
	void			(*observe)(void *, const char *, int64_t);
	void			*observe_arg;
};

/*
 * Record the library's last error.  Closes the connection if the fault is
 * DB_LOST or DB_READONLY.  Returns -1.
 */
int		 db_fail(struct db *, const char *what, struct err *);

/*
 * db_tls.c: encryption, and the ways to log in that are safe with it.  host is
 * NULL for a socket.
 */
enum conf_tls	 db_tls(const struct conf *, const char *host);
int		 db_set_tls(struct db *, const char *host, struct err *);

/* Add the remedy to the error of a login that db_set_tls forbids.  -1. */
int		 db_explain_login(const struct db *, const char *host,
		    struct err *);

/*
 * db_abandoned.c: learn what the new session is, and end the one before it on
 * this host if that was closed without its answer.
 */
void		 db_end_abandoned(struct db *);

/* db_session.c: a variable that each session sets. */
struct db_variable {
	const char	*name;
	const char	*value;		/* in SQL */
	const char	*shown;		/* by SHOW; NULL: statements change it */
	const char	*since;		/* servers that have it */
	const char	*reason;	/* what would happen without */
};
#define DB_WAIT		"?"	/* value: as long as a lock is waited for */
#define DB_IF_SHOWN	"?"	/* since: only by asking */

const struct db_variable *db_variables(size_t *n);

/* Set all that the server is known to have: one statement. */
int		 db_set_session(struct db *, struct err *);

/* Append their names to the list of a SHOW VARIABLES. */
void		 db_put_variables(struct buf *);

/* Set those of its rows again that have another value; *mended: there were. */
int		 db_mend_session(struct db *, struct db_rows *, bool *mended,
		    struct err *);

/* Has each of its rows the value that was set? */
int		 db_check_session(struct db *, struct db_rows *,
		    struct err *);

#endif
