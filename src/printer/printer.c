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
#include "util/sig.h"
#include "util/xalloc.h"

#define LINE_MAX_BYTES	(1024 * 1024)
#define RETRY_MS	1000	/* to tell of lost lines of the log */

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

/* Only sig_wait lets SIGUSR1 in, also while no line comes. */
static void
wait_for_line(int fd)
{
	struct pollfd	p = { .fd = fd, .events = POLLIN };
	struct err	e;

	sig_wait(&p, 1, log_works() ? -1 : RETRY_MS);
	if (sig_took(&got_usr1) && log_reopen(&e) < 0)
		log_error("cannot reopen the log: %s; still writing to the old "
		    "file", e.text);
	log_retry();
}

/* Returns its bytes; 0: all writers have closed the socket.  -1: it failed. */
static ssize_t
next_line(int fd, char *line)
{
	ssize_t	n;

	do {
		wait_for_line(fd);
		n = recv(fd, line, LINE_MAX_BYTES, MSG_DONTWAIT);
	} while (n < 0 && (errno == EINTR || errno == EAGAIN));
	return n;
}

int
printer_main(int fd, int to)
{
	struct printer	 p = { .out = { .fd = to } };
	char		*line = xcalloc(1, LINE_MAX_BYTES);
	ssize_t		 n;

	/* Without a reader, go on emptying the socket. */
	while ((n = next_line(fd, line)) > 0)
		print_line(&p, line, (size_t)n);
	line_output_end(&p.out);
	free(line);
	return 0;
}
