/* xalloc.h - allocate or end the process with status 1 */
#ifndef OUTBOX_XALLOC_H
#define OUTBOX_XALLOC_H

#include <stddef.h>
#include <stdio.h>

/* None returns NULL.  The caller frees the result with free(3). */
void	*xcalloc(size_t, size_t);
void	*xreallocarray(void *, size_t, size_t);
char	*xstrdup(const char *);
char	*xstrndup(const char *, size_t);
/* As open_memstream(3): text and size are there after fclose(3). */
FILE	*xopen_memstream(char **text, size_t *size);
char	*xasprintf(const char *, ...) __attribute__((format(printf, 1, 2)));

#endif
