/* help.h - help on all commands, on a group of them and on one */
#ifndef OUTBOXCTL_HELP_H
#define OUTBOXCTL_HELP_H

#include <stdio.h>

#include "ctl/base/ctl.h"

/* A command without words ends the table. */
void	help_all(const struct command *, FILE *);
void	help_command(const struct command *);

/* Print the commands that begin with these words; false: there are none. */
bool	help_group(const struct command *, int nwords, char **words);

#endif
