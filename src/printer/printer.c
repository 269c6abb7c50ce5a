/* printer.c - see printer.h */

#include "printer/printer.h"

#include <errno.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "util/line_output.h"
#include "util/log.h"
#include "util/xalloc.h"

#define LINE_MAX_BYTES	(1024 * 1024)

struct printer {
	struct line_output	out;
	bool			gone;	/* the reader: drop the lines */
	uint64_t		lost;	/* lines, since the last good one */
};

static void
line_is_lost(struct printer *p)
{
	p->gone = errno == EPIPE;
	if (p->lost++ == 0 && !p->gone)
		log_error("reports are lost: standard output cannot be "
		    "written: %s", strerror(errno));
}

static void
print_line(struct printer *p, const char *line, size_t n)
{
	if (p->gone)
		return;
	if (line_output_write(&p->out, line, n, -1) < 0) {
		line_is_lost(p);
		return;
	}
	if (p->lost > 0)
		log_event(LOG_LVL_INFO, LOG_FIELDS(LOG_NUMBER("lost", p->lost)),
		    "standard output works again: %llu report(s) were lost",
		    (unsigned long long)p->lost);
	p->lost = 0;
}

int
printer_main(int fd)
{
	struct printer	 p = { .out = { .fd = STDOUT_FILENO } };
	char		*line = xcalloc(1, LINE_MAX_BYTES);
	ssize_t		 n;

	while ((n = recv(fd, line, LINE_MAX_BYTES, 0)) != 0) {
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			break;
		/* Without a reader, go on emptying the socket. */
		print_line(&p, line, (size_t)n);
	}
	line_output_end(&p.out);
	free(line);
	return 0;
}
