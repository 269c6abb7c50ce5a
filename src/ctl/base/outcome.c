/*
 * outcome.c - see outcome.h
 *
 * Errors are reported far below main(), so what they say is kept here, for the
 * process.
 */

#include "ctl/base/outcome.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "ctl/base/ctl.h"
#include "util/buf.h"
#include "util/utf8.h"
#include "util/xalloc.h"

/* Longer texts are cut, as one command may report thousands of messages. */
#define ERRORS_MAX	4096

#define FLAGS	(JSON_COMPACT | JSON_PRESERVE_ORDER)

static struct {
	bool		 json, stream;
	bool		 told;		/* documents were printed */
	json_t		*result;
	struct buf	 errors;	/* joined by "; " */
	char		*remedy;
} outcome;

/* What a signal prints.  The status is the one that a shell reports. */
static const struct {
	int		 signo;
	const char	*text;
} interrupts[] = {
	{ SIGINT, "{\"error\":\"interrupted by SIGINT\",\"status\":130,"
	  "\"remedy\":\"look at what was done before you repeat it\"}\n" },
	{ SIGTERM, "{\"error\":\"interrupted by SIGTERM\",\"status\":143,"
	  "\"remedy\":\"look at what was done before you repeat it\"}\n" },
	{ SIGHUP, "{\"error\":\"interrupted by SIGHUP\",\"status\":129,"
	  "\"remedy\":\"look at what was done before you repeat it\"}\n" },
};

#define NINTERRUPTS	(sizeof(interrupts) / sizeof(interrupts[0]))

/* The handler is removed before it runs, so the signal ends the process. */
static void
on_interrupt(int signo)
{
	for (size_t i = 0; i < NINTERRUPTS; i++)
		if (interrupts[i].signo == signo &&
		    write(STDOUT_FILENO, interrupts[i].text,
		    strlen(interrupts[i].text)) < 0)
			_exit(1);
	raise(signo);
}

void
outcome_begin(void)
{
	struct sigaction	sa, old;

	if (outcome.json)
		return;
	outcome.json = true;
	memset(&sa, 0, sizeof(sa));
	sa.sa_handler = on_interrupt;
	sa.sa_flags = (int)SA_RESETHAND;
	sigfillset(&sa.sa_mask);
	for (size_t i = 0; i < NINTERRUPTS; i++)
		if (sigaction(interrupts[i].signo, NULL, &old) == 0 &&
		    old.sa_handler != SIG_IGN)	/* as nohup(1) sets it */
			sigaction(interrupts[i].signo, &sa, NULL);
}

void
outcome_stream(void)
{
	outcome.stream = true;
}

static void
print_document(json_t *v)
{
	json_dumpf(v, stdout, FLAGS);
	putchar('\n');
	json_decref(v);
	outcome.told = true;
}

/*
 * An object with these members and those of the error.  A message has an
 * "error" of its own, which stays.
 */
static json_t *
with_error(json_t *o, int status)
{
	if (json_object_get(o, "error") == NULL)
		json_object_set_new(o, "error", outcome.errors.len == 0 ?
		    json_null() : json_stringn(outcome.errors.data,
		    outcome.errors.len));
	json_object_set_new(o, "status", json_integer(status));
	json_object_set_new(o, "remedy", outcome.remedy == NULL ?
	    json_null() : json_string(outcome.remedy));
	return o;
}

static void
forget_errors(void)
{
	buf_clear(&outcome.errors);
	free(outcome.remedy);
	outcome.remedy = NULL;
}

void
outcome_put(json_t *v)
{
	if (!outcome.stream && outcome.result == NULL) {
		outcome.result = v;
		return;
	}
	print_document(v);
	forget_errors();
}

void
outcome_error(const char *text, const char *remedy)
{
	if (!outcome.json)
		return;
	if (outcome.errors.len < ERRORS_MAX)
		buf_printf(&outcome.errors, "%s%.*s",
		    outcome.errors.len == 0 ? "" : "; ", ERRORS_MAX, text);
	utf8_clean(outcome.errors.data);
	outcome_remedy(remedy);
}

void
outcome_remedy(const char *text)
{
	if (!outcome.json || outcome.remedy != NULL || text == NULL)
		return;
	outcome.remedy = xstrdup(text);
	utf8_clean(outcome.remedy);
}

void
outcome_failed(int status)
{
	if (!outcome.json || !outcome.stream)
		return;
	print_document(with_error(json_object(), status));
	fflush(stdout);
	forget_errors();
}

/* The errors of a command that succeeded are warnings. */
static void
print_last(int status)
{
	bool	failed = status != 0 && outcome.errors.len > 0;

	if (outcome.result != NULL)
		print_document(failed && json_is_object(outcome.result) ?
		    with_error(outcome.result, status) : outcome.result);
	else if (failed || (status != 0 && !outcome.told))
		print_document(with_error(json_object(), status));
	outcome.result = NULL;
}

int
outcome_end(int status)
{
	sigset_t	all;

	if (outcome.json) {
		sigfillset(&all);
		sigprocmask(SIG_BLOCK, &all, NULL);
		print_last(status);
		fflush(stdout);
		forget_errors();
		buf_free(&outcome.errors);
	}
	/* A full disk, for example: what was printed is not complete. */
	if ((fflush(stdout) == EOF || ferror(stdout)) && status == CTL_DONE) {
		fputs("outboxctl: standard output cannot be written\n", stderr);
		return CTL_FAILED;
	}
	return status;
}
