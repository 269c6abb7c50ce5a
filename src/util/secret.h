/* secret.h - passwords and tokens from a file or the environment */
#ifndef OUTBOX_SECRET_H
#define OUTBOX_SECRET_H

#include <stdbool.h>

#include "util/err.h"

#define SECRET_MAX	4096

/*
 * Read a secret: the first line of file, or, if file is "", the variable env;
 * if both are "", the result is "".  The caller frees it with secret_free().
 * Returns NULL if it cannot be read, if its first line is empty, or if all
 * users of the host can read it; the error never shows the value.
 */
char	*secret_read(const char *file, const char *env, struct err *);

/*
 * For a file that a library reads by itself: -1 with an error if it cannot be
 * opened, or if all users of the host have access.
 */
int	 secret_check_file(const char *path, struct err *);

/*
 * Overwrites the memory before freeing it; the second one all of a block, for
 * libraries that take a free() of ours.  NULL is fine.
 */
void	 secret_free(char *);
void	 secret_wipe(void *);

#endif
