/*
 * fake_mysql.h - a hostile database server, for what no real one does
 *
 * It speaks the protocol's clear text only, in a thread of the calling process,
 * and keeps all bytes that it receives.
 */
#ifndef TESTS_FAKE_MYSQL_H
#define TESTS_FAKE_MYSQL_H

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>

/* The answer to statements with a text in it. */
struct fake_answer {
	const char		*match;
	unsigned		 ncols, nrows;	/* ncols 0: no result */
	const char *const	*cells;		/* by rows; NULL: SQL NULL */
	const char		*file;		/* ask the client for it */
	unsigned		 error;		/* fail with this number */
};

struct fake {
	const char		*greeting;	/* its version; NULL: MariaDB's */
	const char		*plugin;	/* to log in with; NULL: any */
	const struct fake_answer *answers;	/* others are OK; NULL: none */
	size_t			 nanswers;

	/* private */
	pthread_t		 thread;
	pthread_mutex_t		 lock;
	int			 fd;
	char			 seen[65536];
	size_t			 nseen;
	unsigned		 nlogins;
};

/* Start it.  Returns its port on 127.0.0.1. */
int		 fake_start(struct fake *);

/* Did it receive these bytes? */
bool		 fake_saw(struct fake *, const char *);

/* How many clients got as far as to be let in. */
unsigned	 fake_logins(struct fake *);

#endif
