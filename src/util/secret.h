/* secret.h - passwords and tokens, from a file or from the environment */
#ifndef OUTBOX_SECRET_H
#define OUTBOX_SECRET_H

#include "util/err.h"

#define SECRET_MAX	4096

/*
 * Read a secret anew: the first line of file, or the variable env, whichever
 * is not empty; both empty gives "".  The caller frees it with secret_free().
 * NULL when it cannot be read; the error names the place, never the value.
 */
char	*secret_read(const char *file, const char *env, struct err *);

/* Overwrites before freeing.  NULL is fine. */
void	 secret_free(char *);

#endif
