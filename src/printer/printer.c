/* printer.c - see printer.h */

#include "printer/printer.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

#include "util/xalloc.h"

#define LINE_MAX_BYTES	(1024 * 1024)

static bool
write_all(const char *p, size_t left)
{
	ssize_t	n;

	for (; left > 0; p += n, left -= (size_t)n) {
		n = write(STDOUT_FILENO, p, left);
		if (n < 0 && errno == EINTR)
			n = 0;
		if (n < 0)
			return false;
	}
	return true;
}

int
printer_main(int fd)
{
	char	*line = xcalloc(1, LINE_MAX_BYTES);
	ssize_t	 n;
	bool	 reader = true;

	while ((n = recv(fd, line, LINE_MAX_BYTES, 0)) != 0) {
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			break;
		/* Without a reader, go on emptying the socket. */
		if (reader && !write_all(line, (size_t)n))
			reader = false;
	}
	free(line);
	return 0;
}
