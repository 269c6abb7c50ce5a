/* document.c - see document.h */

#include "ctl/base/document.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "util/display.h"
#include "util/sig.h"

/* Few digits: a configuration has 0.2, not 0.20000000000000001. */
#define FLAGS		(JSON_COMPACT | JSON_PRESERVE_ORDER | \
			    JSON_REAL_PRECISION(9))
#define PATIENCE_MS	1000	/* with a reader, after a signal */

static bool	lost;

bool
document_line(struct buf *line, json_t *v)
{
	char	*text = json_dumps(v, FLAGS);
	bool	 is_json = text != NULL;

	json_decref(v);
	if (is_json)
		display_escape(line, text);
	buf_str(line, "\n");
	free(text);
	return is_json;
}

/* The status is the one that a shell reports of the signal. */
static void
wait_for_reader(void)
{
	struct pollfd	out = { .fd = STDOUT_FILENO, .events = POLLOUT };

	while (sig_wait(&out, 1, -1) == 0)
		if (poll(&out, 1, PATIENCE_MS) == 0)
			_exit(128 + (got_hup ? SIGHUP : SIGTERM));
}

/* In pieces that a pipe takes as a whole, once it takes anything. */
static bool
write_all(const char *p, size_t left)
{
	ssize_t	n;

	for (; left > 0; p += n, left -= (size_t)n) {
		wait_for_reader();
		n = write(STDOUT_FILENO, p, left < PIPE_BUF ? left : PIPE_BUF);
		if (n < 0 && errno != EAGAIN && errno != EINTR)
			return false;
		n = n < 0 ? 0 : n;
	}
	return true;
}

void
document_print(json_t *v)
{
	struct buf	line = { 0 };
	bool		is_json = document_line(&line, v);

	lost = !is_json || fflush(stdout) == EOF ||
	    !write_all(line.data, line.len) || lost;
	buf_free(&line);
}

bool
document_is_lost(void)
{
	return lost;
}
