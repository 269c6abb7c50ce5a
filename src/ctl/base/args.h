/* args.h - what may stand behind a command: one table of options for all */
#ifndef OUTBOXCTL_ARGS_H
#define OUTBOXCTL_ARGS_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "util/err.h"

/* Zero, false or NULL: not given, but for those that have a default. */
struct args {
	bool		 json, dry_run, yes, watch;

	const char	*state, *key, *type, *partition;
	char		*since, *until;		/* SQL */
	uint64_t	 after;
	int64_t		 limit;
	bool		 prune, finish, force;
	bool		 all, release, reset_attempts;
	int64_t		 wait;			/* seconds */
	int64_t		 rate;			/* rows a second */

	int64_t		 batch;			/* rows of a transaction */
	bool		 skip_bad, trigger;
	int64_t		 days, dead_days;	/* days: -1: not given */
	const char	*older_than;		/* SQL */

	char		**rest;			/* what is no option */
	int		 nrest;
};

struct command;

/*
 * Parse what follows the command's words.  -1: see err; that is a wrong use.
 */
int	args_parse(struct args *, const struct command *, int argc,
	    char **argv, struct err *);
void	args_free(struct args *);

/* The command's options, a line each. */
void	args_help(const struct command *, FILE *);

/* Their names alone, " --json --limit ...". */
void	args_names(const struct command *, FILE *);

/* Sequence numbers among the rest; the caller frees.  NULL: see err. */
uint64_t *args_sequences(const struct args *, struct err *);

#endif
