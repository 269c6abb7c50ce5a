/* xalloc.h - allocate or exit: out of memory is a death like any other */
#ifndef OUTBOX_XALLOC_H
#define OUTBOX_XALLOC_H

#include <stddef.h>

/* None of these returns NULL; what they return is the caller's to free(). */
void	*xcalloc(size_t, size_t);
void	*xreallocarray(void *, size_t, size_t);
char	*xstrdup(const char *);
char	*xstrndup(const char *, size_t);
char	*xasprintf(const char *, ...) __attribute__((format(printf, 1, 2)));

#endif
