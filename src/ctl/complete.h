/* complete.h - the bash completion */
#ifndef OUTBOXCTL_COMPLETE_H
#define OUTBOXCTL_COMPLETE_H

#include "ctl/base/ctl.h"

/* On standard output; the table is ended by a command without words. */
void	complete_print(const struct command *);

#endif
