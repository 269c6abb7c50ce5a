/* secret.h - passwords and tokens from a file or the environment */
#ifndef OUTBOX_SECRET_H
#define OUTBOX_SECRET_H

#include "util/err.h"

#define SECRET_MAX	4096

/*
 * Read a secret: the first line of file, or, if file is "", the variable env;
 * if both are "", the result is "".  The caller frees it with secret_free().
 * Returns NULL if it cannot be read, or if the first line is empty; the error
 * never shows the value.
 */
char	*secret_read(const char *file, const char *env, struct err *);

/* Overwrites the memory before freeing it.  NULL is fine. */
void	 secret_free(char *);

#endif
