/* document.h - JSON documents on standard output, each a line */
#ifndef OUTBOXCTL_DOCUMENT_H
#define OUTBOXCTL_DOCUMENT_H

#include <stdbool.h>

#include <jansson.h>

#include "util/buf.h"

/*
 * Append it as a line, and free it.  false: it is no JSON, and the line is
 * empty.
 */
bool	document_line(struct buf *, json_t *);

/*
 * Print it, and free it.  Blocks while nobody reads; a signal then ends the
 * process, also where it only sets a flag of sig.h.
 */
void	document_print(json_t *);

/* Could one not be written? */
bool	document_is_lost(void);

#endif
