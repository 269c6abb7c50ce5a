/* args.h - arguments of a command, and the one table of all options */
#ifndef OUTBOXCTL_ARGS_H
#define OUTBOXCTL_ARGS_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "util/err.h"

/* Zero, false or NULL: not given, except for options with a default. */
struct args {
	bool		 json, wide, dry_run, yes, watch;

	const char	*state, *key, *type, *partition, *group;
	const char	*command, *user;
	const char	*database, *account, *account_host, *stream;
	const char	*admin, *admin_password_file;
	bool		 no_event, follow_binlog, clear_password, new_password;
	char		*since, *until;		/* SQL */
	uint64_t	 after;
	int64_t		 limit;
	bool		 prune, finish, force;
	bool		 all, release, reset_attempts;
	bool		 sent, unsent;
	int64_t		 wait;			/* seconds */
	int64_t		 rate;			/* rows a second */

	int64_t		 batch;			/* rows of a transaction */
	int64_t		 duplicate_window;	/* seconds */
	int64_t		 partitions, replicas;	/* -1: not given */
	bool		 skip_bad, trigger, grants;
	bool		 payload, raw;
	int64_t		 days, dead_days;	/* days: -1: not given */
	int64_t		 seconds;		/* 0: not given */
	int64_t		 lines;
	int64_t		 window;		/* minutes */
	bool		 follow;
	const char	*older_than;		/* SQL */

	char		**rest;			/* words that are no options */
	int		 nrest;
};

struct command;

/*
 * Parse the arguments after the command's words.  Returns an exit status; an
 * error was printed.
 */
int	args_parse(struct args *, const struct command *, int argc,
	    char **argv);
void	args_free(struct args *);

/* Print the command's options, one a line. */
void	args_help(const struct command *, FILE *);

/* Print only their names, " --json --limit ...". */
void	args_names(const struct command *, FILE *);

/*
 * The values of the next option that has a list of them, from *i, which is 0 at
 * first: words with blanks between them, or "@labels" or "@types", which the
 * database has.  NULL: no more.
 */
const char *args_values(size_t *i, const char **name);

/* args.rest as sequence numbers; the caller frees.  NULL: an error was printed. */
uint64_t *args_sequences(const struct args *);

#endif
