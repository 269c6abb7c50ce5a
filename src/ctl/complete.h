/* complete.h - the bash completion */
#ifndef OUTBOXCTL_COMPLETE_H
#define OUTBOXCTL_COMPLETE_H

#include "ctl/base/ctl.h"

/* Print it on standard output; a command without words ends the table. */
void	complete_print(const struct command *);

/*
 * Print "labels" or "types", one a line: those of the configuration at once,
 * and those of the database if it answers within a second.  Says nothing about
 * errors.  Values that a shell would expand are left out.
 */
void	complete_values(const char *path, const char *what);

#endif
