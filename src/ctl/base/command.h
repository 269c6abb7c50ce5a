/* command.h - commands by their words */
#ifndef OUTBOXCTL_COMMAND_H
#define OUTBOXCTL_COMMAND_H

#include <stdbool.h>

#include "ctl/base/ctl.h"

/* *nwords arguments are its words.  NULL: there is no such command. */
const struct command *command_find(const struct command *table, int argc,
	    char **argv, int *nwords);

/* Report an unknown command; lists its group if the word names one. */
int	command_unknown(const struct command *table, const char *word);

bool	command_is_help(const char *word);

/* After wrong usage the remedy is help; NULL: no command is known. */
void	command_remedy(const struct command *);

#endif
