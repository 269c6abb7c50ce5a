/*
 * outcome.c - see outcome.h
 *
 * Errors are reported far below main(), so what they say is kept here, for the
 * process.
 */

#include "ctl/base/outcome.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "ctl/base/ctl.h"
#include "util/display.h"
#include "util/sig.h"
#include "util/utf8.h"
#include "util/xalloc.h"

/* Longer texts are cut, as one command may report thousands of messages. */
#define ERRORS_MAX	4096

/* Few digits: a configuration has 0.2, not 0.20000000000000001. */
#define FLAGS		(JSON_COMPACT | JSON_PRESERVE_ORDER | \
			    JSON_REAL_PRECISION(9))
#define PATIENCE_MS	1000	/* with a reader, after a signal */

static struct {
	bool		 json, stream;
	bool		 lost;		/* a document was not written */
	bool		 told;		/* a document was printed */
	json_t		*result;
	struct buf	 errors;	/* joined by "; " */
	char		*remedy;
	json_t		*field;		/* members of the document, or NULL */
} outcome;

bool
outcome_line(struct buf *line, json_t *v)
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

/*
 * In pieces that a pipe takes as a whole, once it takes anything.  After a
 * signal it waits for a reader no longer, and ends with the status that a shell
 * reports of the signal.
 */
static bool
write_all(const char *p, size_t left)
{
	struct pollfd	out = { .fd = STDOUT_FILENO, .events = POLLOUT };
	ssize_t		n;

	for (; left > 0; p += n, left -= (size_t)n) {
		while (sig_wait(&out, 1, -1) == 0)
			if (poll(&out, 1, PATIENCE_MS) == 0)
				_exit(128 + (got_hup ? SIGHUP : SIGTERM));
		n = write(STDOUT_FILENO, p, left < PIPE_BUF ? left : PIPE_BUF);
		if (n < 0 && errno != EAGAIN && errno != EINTR)
			return false;
		n = n < 0 ? 0 : n;
	}
	return true;
}

void
outcome_begin(void)
{
	outcome.json = true;
}

void
outcome_stream(void)
{
	outcome.stream = true;
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
	member_set(o, "status", status);
	json_object_set_new(o, "remedy", outcome.remedy == NULL ?
	    json_null() : json_string(outcome.remedy));
	json_object_update(o, outcome.field);
	return o;
}

static void
forget_errors(void)
{
	buf_clear(&outcome.errors);
	free(outcome.remedy);
	outcome.remedy = NULL;
	json_decref(outcome.field);
	outcome.field = NULL;
}

/* Print a document, which tells of all errors so far. */
static void
print_document(json_t *v)
{
	struct buf	line = { 0 };
	bool		is_json = outcome_line(&line, v);

	outcome.lost = !is_json || fflush(stdout) == EOF ||
	    !write_all(line.data, line.len) || outcome.lost;
	buf_free(&line);
	outcome.told = true;
	forget_errors();
}

void
outcome_put(json_t *v)
{
	if (!outcome.stream && outcome.result == NULL) {
		outcome.result = v;
		return;
	}
	print_document(v);
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
outcome_field(const char *code, const char *field, const char *text)
{
	char	*clean = xstrdup(text);

	utf8_clean(clean);
	if (outcome.json && outcome.field == NULL)
		outcome.field = json_pack("{s:s, s:s, s:s}", "code", code,
		    "field", field, "text", clean);
	free(clean);
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
}

/*
 * What is left to print; NULL: nothing.  The errors of a command that succeeded
 * are warnings.
 */
static json_t *
last_document(int status)
{
	bool	 failed = status != 0 && outcome.errors.len > 0;
	json_t	*result = outcome.result;

	outcome.result = NULL;
	if (result != NULL)
		return failed && json_is_object(result) ?
		    with_error(result, status) : result;
	return failed || (status != 0 && !outcome.told) ?
	    with_error(json_object(), status) : NULL;
}

json_t *
outcome_take(int status)
{
	json_t	*last = last_document(status);

	forget_errors();
	outcome.told = false;
	return last;
}

bool
outcome_is_written(void)
{
	return fflush(stdout) != EOF && !ferror(stdout) &&
	    !outcome.lost;
}

bool
outcome_has_reader(void)
{
	struct pollfd	out = { .fd = STDOUT_FILENO };

	return poll(&out, 1, 0) <= 0 || (out.revents & POLLERR) == 0;
}

int
outcome_end(int status)
{
	json_t	*last;

	if (outcome.json) {
		if ((last = last_document(status)) != NULL)
			print_document(last);
		forget_errors();
		buf_free(&outcome.errors);
	}
	/* A full disk, for example: what was printed is not complete. */
	if (!outcome_is_written() && status == CTL_DONE) {
		if (!outcome_has_reader())
			return CTL_NO_READER;
		fputs("outboxctl: standard output cannot be written\n", stderr);
		return CTL_FAILED;
	}
	return status;
}
