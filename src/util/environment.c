/* environment.c - see environment.h */

#include "util/environment.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <bsd/stdlib.h>

#include "util/xalloc.h"

#define NAME	"OUTBOX_ENVIRONMENT"	/* the file's descriptor */

/* What the loader and libraries read before main(). */
static bool
is_early(const char *variable)
{
	static const char *const	names[] = { "LD_", "ASAN_", "LSAN_",
	    "UBSAN_", "GCOV_", "GLIBC_", "MALLOC_" };

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		if (strncmp(variable, names[i], strlen(names[i])) == 0)
			return true;
	return false;
}

/* With its NUL. */
int
environment_add(int fd, const char *variable)
{
	const char	*p = variable;
	size_t		 left = strlen(p) + 1;

	while (left > 0) {
		ssize_t n = write(fd, p, left);

		if (n < 0 && errno != EINTR)
			return -1;
		if (n > 0) {
			p += n;
			left -= (size_t)n;
		}
	}
	return 0;
}

static int
write_all(int fd, char **from)
{
	for (; *from != NULL; from++)
		if (environment_add(fd, *from) < 0)
			return -1;
	return 0;
}

char **
environment_hand_over(int *fd)
{
	/* In one block with the text, so that free() is enough. */
	enum { ROOM = 32 };
	size_t	 n = 0, used = 0;
	char	**to, *text;

	if ((*fd = memfd_create("environment", MFD_CLOEXEC)) < 0)
		return NULL;
	if (write_all(*fd, environ) < 0) {
		close(*fd);
		return NULL;
	}
	while (environ[n] != NULL)
		n++;
	to = xcalloc((n + 2) * sizeof(*to) + ROOM, 1);
	text = (char *)(to + n + 2);
	snprintf(text, ROOM, NAME "=%d", *fd);
	to[used++] = text;
	for (size_t i = 0; i < n; i++)
		if (is_early(environ[i]))
			to[used++] = environ[i];
	return to;
}

int
environment_keep(int fd)
{
	return fcntl(fd, F_SETFD, 0);
}

/* The whole file, and a NUL; NULL: it is none of ours. */
static char *
read_all(int fd, size_t *size)
{
	struct stat	 st;
	char		*text;

	if (fstat(fd, &st) < 0 || !S_ISREG(st.st_mode))
		return NULL;
	*size = (size_t)st.st_size;
	text = xcalloc(*size + 1, 1);
	if (pread(fd, text, *size, 0) == st.st_size)
		return text;
	free(text);
	return NULL;
}

void
environment_wipe(void)
{
	for (char **p = environ; p != NULL && *p != NULL; p++)
		explicit_bzero(*p, strlen(*p));
	clearenv();
}

void
environment_take(void)
{
	const char	*number = getenv(NAME);
	int		 fd;
	size_t		 size = 0;
	char		*text, *value;

	if (number == NULL)
		return;
	fd = (int)strtonum(number, STDERR_FILENO + 1, INT_MAX, NULL);
	if (fd == 0 || (text = read_all(fd, &size)) == NULL)
		return;
	prctl(PR_SET_DUMPABLE, 0, 0, 0, 0);
	close(fd);
	unsetenv(NAME);
	for (char *p = text; p < text + size; p = value + strlen(value) + 1) {
		if ((value = strchr(p, '=')) == NULL)
			break;
		*value++ = '\0';
		setenv(p, value, 1);
	}
	explicit_bzero(text, size);
	free(text);
}
