/*
 * xalloc.c - allocate or end the process
 *
 * Running out of memory is a crash: the next process repairs what this one
 * left half done.  Nothing here may allocate on the way out, and no caller
 * gets NULL.
 */
#include "util/xalloc.h"

#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/*
 * write and _exit: fprintf and exit may allocate, and exit would run handlers
 * and flush buffers that may be copies of the parent's.  The master takes
 * status 1 for a crash and starts the child again.
 */
static void __attribute__((noreturn))
out_of_memory(void)
{
	static const char	text[] = "out of memory\n";
	ssize_t			n;

	n = write(STDERR_FILENO, text, sizeof(text) - 1);
	(void)n;
	_exit(1);
}

void *
xcalloc(size_t n, size_t size)
{
	void	*p;

	/* calloc(3) may return NULL for 0 bytes. */
	if (n == 0 || size == 0)
		n = size = 1;
	if ((p = calloc(n, size)) == NULL)
		out_of_memory();
	return p;
}

void *
xreallocarray(void *old, size_t n, size_t size)
{
	void	*p;

	if (n == 0 || size == 0)
		n = size = 1;
	if (n > SIZE_MAX / size || (p = realloc(old, n * size)) == NULL)
		out_of_memory();
	return p;
}

char *
xstrdup(const char *text)
{
	return xstrndup(text, strlen(text));
}

char *
xstrndup(const char *text, size_t max)
{
	size_t	 n = strnlen(text, max);
	char	*copy = xcalloc(n + 1, 1);

	memcpy(copy, text, n);
	return copy;
}

char *
xasprintf(const char *fmt, ...)
{
	char	*text;
	va_list	 ap;
	int	 n;

	va_start(ap, fmt);
	n = vasprintf(&text, fmt, ap);
	va_end(ap);
	if (n < 0)
		out_of_memory();
	return text;
}

FILE *
xopen_memstream(char **text, size_t *size)
{
	FILE	*f;

	if ((f = open_memstream(text, size)) == NULL)
		out_of_memory();
	return f;
}
