/*
 * document.c - see document.h
 *
 * Libraries have threads, and a signal may run its handler in any of them.  So
 * the handler and the printing code agree by one atomic variable on which of
 * the two prints.
 */

#include "ctl/base/document.h"

#include <errno.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "util/display.h"

/* Few digits: a configuration has 0.2, not 0.20000000000000001. */
#define FLAGS		(JSON_COMPACT | JSON_PRESERVE_ORDER | \
			    JSON_REAL_PRECISION(9))
#define PATIENCE_MS	1000	/* with a reader that takes nothing */

enum phase {
	IDLE,		/* no document is printed: a signal prints its own */
	PRINTING,
	INTERRUPTED,	/* a handler prints, and ends the process */
	ENDED		/* the last document was printed */
};

static atomic_int	phase;
static atomic_int	signalled;	/* a signal came while PRINTING */
static atomic_int	end_status;	/* if ENDED */
static atomic_llong	changed = -1;	/* rows; -1: no change was begun */
static bool		lost;

/* The status is the one that a shell reports. */
static const struct interrupt {
	int		 signo;
	const char	*text;
} interrupts[] = {
	{ SIGINT, "{\"error\":\"interrupted by SIGINT\",\"status\":130" },
	{ SIGTERM, "{\"error\":\"interrupted by SIGTERM\",\"status\":143" },
	{ SIGHUP, "{\"error\":\"interrupted by SIGHUP\",\"status\":129" },
};

#define NINTERRUPTS	(sizeof(interrupts) / sizeof(interrupts[0]))

/* Signal handlers; what they call is safe there. */

/* Does somebody read, or can the write fail? */
static bool
can_write(void)
{
	struct pollfd	out = { .fd = STDOUT_FILENO, .events = POLLOUT };

	return poll(&out, 1, PATIENCE_MS) > 0;
}

/* In a handler the signal is blocked until that returns. */
static void
end_by(int signo)
{
	signal(signo, SIG_DFL);
	raise(signo);
}

/* Append the number; returns the new length. */
static size_t
put_number(char *to, size_t len, long long n)
{
	char	digits[24];
	size_t	used = 0;

	do
		digits[used++] = (char)('0' + n % 10);
	while ((n /= 10) > 0);
	while (used > 0)
		to[len++] = digits[--used];
	return len;
}

static size_t
put_text(char *to, size_t len, const char *text)
{
	size_t	n = strlen(text);

	/* The caller keeps the length. */
	memcpy(to + len, text, n); /* NOLINT(bugprone-not-null-terminated-result) */
	return len + n;
}

/* A pipe takes it whole or not at all: it is shorter than PIPE_BUF. */
static void
print_interrupt(const char *text)
{
	char		doc[400];
	size_t		len = put_text(doc, 0, text);
	long long	n = atomic_load(&changed);
	ssize_t		written = -1;

	len = put_text(doc, len, ",\"remedy\":\"look at what was done before "
	    "you repeat it\"");
	if (n >= 0) {
		len = put_text(doc, len, ",\"changed\":");
		len = put_number(doc, len, n);
	}
	len = put_text(doc, len, "}\n");
	if (can_write())
		written = write(STDOUT_FILENO, doc, len);
	(void)written;		/* the process ends in any case */
}

static void
on_interrupt(int signo)
{
	int	was = IDLE, error = errno;

	if (atomic_compare_exchange_strong(&phase, &was, INTERRUPTED)) {
		for (size_t i = 0; i < NINTERRUPTS; i++)
			if (interrupts[i].signo == signo)
				print_interrupt(interrupts[i].text);
		end_by(signo);
	} else if (was == PRINTING) {
		atomic_store(&signalled, signo);
		if (!can_write())
			end_by(signo);
	} else if (was == ENDED)
		_exit(atomic_load(&end_status));
	errno = error;
}

/*
 * Handle the signals, but for those that are ignored, as nohup(1) sets them.
 * The former actions are stored in old.
 */
static void
handle_signals(struct sigaction old[NINTERRUPTS])
{
	struct sigaction	sa;

	memset(&sa, 0, sizeof(sa));
	sa.sa_handler = on_interrupt;
	sigfillset(&sa.sa_mask);
	for (size_t i = 0; i < NINTERRUPTS; i++)
		if (sigaction(interrupts[i].signo, NULL, &old[i]) == 0 &&
		    old[i].sa_handler != SIG_IGN)
			sigaction(interrupts[i].signo, &sa, NULL);
}

/* Printing */

/* Unless a handler does: then wait for the end. */
static void
begin_printing(void)
{
	int	was = IDLE;

	if (!atomic_compare_exchange_strong(&phase, &was, PRINTING))
		while (was == INTERRUPTED)
			pause();
}

/*
 * In pieces that a pipe takes as a whole, once it takes anything: so a write
 * blocks only before a signal came, and the signal ends it.
 */
static bool
write_all(const char *p, size_t left)
{
	while (left > 0) {
		ssize_t n = write(STDOUT_FILENO, p, left < PIPE_BUF ? left :
		    PIPE_BUF);

		if (n < 0 && errno == EAGAIN)	/* others share it */
			can_write();
		else if (n < 0 && errno != EINTR)
			return false;
		if (n > 0) {
			p += n;
			left -= (size_t)n;
		}
		if (left > 0 && atomic_load(&signalled) != 0 && !can_write())
			end_by(atomic_load(&signalled));
	}
	return true;
}

/* With our handlers, and no signal blocked. */
static bool
write_with_signals(const char *text, size_t len)
{
	struct sigaction	old[NINTERRUPTS];
	sigset_t		wanted, mask;
	bool			written;

	sigemptyset(&wanted);
	for (size_t i = 0; i < NINTERRUPTS; i++)
		sigaddset(&wanted, interrupts[i].signo);
	handle_signals(old);
	pthread_sigmask(SIG_UNBLOCK, &wanted, &mask);
	written = write_all(text, len);
	pthread_sigmask(SIG_SETMASK, &mask, NULL);
	for (size_t i = 0; i < NINTERRUPTS; i++)
		sigaction(interrupts[i].signo, &old[i], NULL);
	return written;
}

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

static void
print_text(json_t *v)
{
	struct buf	line = { 0 };
	bool		is_json = document_line(&line, v);

	lost = !is_json || fflush(stdout) == EOF ||
	    !write_with_signals(line.data, line.len) || lost;
	buf_free(&line);
}

void
document_print(json_t *v)
{
	begin_printing();
	print_text(v);
	atomic_store(&phase, IDLE);
	if (atomic_load(&signalled) != 0)
		raise(atomic_exchange(&signalled, 0));
}

void
document_print_last(json_t *v, int status)
{
	begin_printing();
	if (v != NULL)
		print_text(v);
	atomic_store(&end_status, lost && status == 0 ? 1 : status);
	atomic_store(&phase, ENDED);
}

bool
document_is_lost(void)
{
	return lost;
}

void
document_changed(uint64_t n)
{
	long long	before = atomic_load(&changed);

	atomic_store(&changed, (before < 0 ? 0 : before) + (long long)n);
}

void
document_begin(void)
{
	struct sigaction	old[NINTERRUPTS];

	handle_signals(old);
}
