/* usage.h - time on a processor and memory of the processes of one master */
#ifndef OUTBOX_USAGE_H
#define OUTBOX_USAGE_H

#include "ipc/scoreboard.h"

/*
 * Note those of all processes on their lines, from /proc: the monitor shows
 * them, and can open no file.
 */
void	usage_note(struct scoreboard *);

#endif
