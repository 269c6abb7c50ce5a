/*
 * outcome.h - the one JSON document that a command with --json prints
 *
 * A result is kept until the command ends.  If that fails, an object gets the
 * members "error", "status" and "remedy"; without a result they are the whole
 * object.  So standard output holds one document, unless a signal ends the
 * process: then its exit status says so.
 */
#ifndef OUTBOXCTL_OUTCOME_H
#define OUTBOXCTL_OUTCOME_H

#include <stdbool.h>

#include <jansson.h>

#include "util/buf.h"

/*
 * Outcomes are JSON from now on.  Without this call all others but
 * outcome_put() do nothing.
 */
void	outcome_begin(void);

/* Print each document at once from now on, for --watch. */
void	outcome_stream(void);

/*
 * For a process that runs many commands: the document of the one that has
 * ended, in place of outcome_end(); the caller frees.  NULL: it has none.
 */
json_t	*outcome_take(int status);

/* The result of the command; frees it. */
void	outcome_put(json_t *);

/*
 * An error that was printed on standard error, and its remedy or NULL.  The
 * texts of several errors are joined; the remedy is the first that is given.
 */
void	outcome_error(const char *text, const char *remedy);

/*
 * What is wrong with one option or argument: the document gets the members
 * "code" ("missing", "value", or "choice" of those that exclude or need each
 * other), "field", its name in JSON ("key", "sequences"), and "text", the error
 * in such names.  The first one counts.
 */
void	outcome_field(const char *code, const char *field, const char *text);

/* The remedy, if no error had one. */
void	outcome_remedy(const char *);

/* With outcome_stream(): print the errors now; the command goes on. */
void	outcome_failed(int status);

/*
 * Append a document as a line, and free it.  false: it is no JSON, and the line
 * is empty.
 */
bool	outcome_line(struct buf *, json_t *);

/* Was all written so far?  No: the disk is full, for example. */
bool	outcome_is_written(void);

/* Does anybody read standard output?  False where a pipe's reader has ended. */
bool	outcome_has_reader(void);

/* Print what is left to print; returns the status. */
int	outcome_end(int status);

#endif
