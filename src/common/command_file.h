/* command_file.h - commands in texts for people, with the file they need */
#ifndef OUTBOX_COMMAND_FILE_H
#define OUTBOX_COMMAND_FILE_H

#include "util/buf.h"

/*
 * Append the text with "-c FILE" in each command of outboxctl, and of
 * outbox-master with options, that has none: it is copied as it stands.  The
 * default file, "" and NULL need not be named.
 */
void	command_file_put(struct buf *, const char *text, const char *file);

/* Append the command that starts the daemon of this file. */
void	command_file_start(struct buf *, const char *file);

#endif
