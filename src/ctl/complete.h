/* complete.h - the bash completion */
#ifndef OUTBOXCTL_COMPLETE_H
#define OUTBOXCTL_COMPLETE_H

#include "ctl/base/ctl.h"

/* Print it on standard output; a command without words ends the table. */
void	complete_print(const struct command *);

#endif
