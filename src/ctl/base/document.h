/*
 * document.h - JSON documents on standard output, each as a whole
 *
 * A signal (SIGINT, SIGTERM, SIGHUP) that comes before the last document is
 * printed prints one of its own, which says so, and ends the process.  One that
 * comes while a document is printed lets that end first.  But if nobody reads
 * for a second, the signal ends the process: SIGKILL is never needed.
 */
#ifndef OUTBOXCTL_DOCUMENT_H
#define OUTBOXCTL_DOCUMENT_H

#include <stdbool.h>
#include <stdint.h>

#include <jansson.h>

#include "util/buf.h"

/* From now on a signal prints a document. */
void	document_begin(void);

/*
 * Append it as a line, and free it.  false: it is no JSON, and the line is
 * empty.
 */
bool	document_line(struct buf *, json_t *);

/*
 * Print it in a line, and free it.  If the caller handles or blocks the
 * signals, it gets the one that came meanwhile.
 */
void	document_print(json_t *);

/*
 * Print the last one; NULL: there is none.  A signal that comes later, or came
 * meanwhile, does not change the exit status.
 */
void	document_print_last(json_t *, int status);

/* Could one not be written? */
bool	document_is_lost(void);

/*
 * So many rows more are changed for certain; 0 before the first change.  The
 * document of a signal has the sum.
 */
void	document_changed(uint64_t n);

#endif
