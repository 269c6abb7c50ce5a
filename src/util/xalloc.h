/* xalloc.h - allocate or end the process with status 1 */
#ifndef OUTBOX_XALLOC_H
#define OUTBOX_XALLOC_H

#include <stddef.h>

/* None returns NULL.  The caller frees the result with free(3). */
void	*xcalloc(size_t, size_t);
void	*xreallocarray(void *, size_t, size_t);
char	*xstrdup(const char *);
char	*xstrndup(const char *, size_t);
char	*xasprintf(const char *, ...) __attribute__((format(printf, 1, 2)));

#endif
