/*
 * fuzz_serve.c - lines for "outboxctl serve"
 *
 * Commands do not run: what would be run is checked.  Each line has an answer,
 * a line with a status and a result.
 */

#include "fuzz/fuzz.h"

#include <limits.h>
#include <stdio.h>
#include <sys/mman.h>
#include <unistd.h>

#include <bsd/string.h>

#include "ctl/base/command.h"
#include "ctl/serve/serve.h"

#define OUTPUT_MAX	(16 * 1024 * 1024)

static int
run_nothing(struct ctl *c)
{
	(void)c;
	abort();
}

/* One of each kind. */
static const struct command table[] = {
	{ .words = "status", .options = "since watch", .rest = "[SECONDS]",
	  .max = 1, .needs = NEEDS_STATE, .run = run_nothing },
	{ .words = "messages list", .options = "state key type partition since "
	  "until after limit", .run = run_nothing },
	{ .words = "messages show", .options = "payload raw",
	  .rest = "SEQUENCE", .min = 1, .max = 1, .run = run_nothing },
	{ .words = "dead retry", .options = "all key type partition group "
	  "since until", .rest = "[SEQUENCE...]", .max = INT_MAX,
	  .kind = COMMAND_CHANGES, .run = run_nothing },
	{ .words = "partitions resume", .options = "all",
	  .rest = "[LABEL...]", .max = INT_MAX, .kind = COMMAND_CHANGES,
	  .run = run_nothing },
	{ .words = "logs", .options = "follow lines", .kind = COMMAND_OTHER,
	  .needs = NEEDS_HOST, .run = run_nothing },
	{ .words = "enqueue", .options = "dry-run batch skip-bad",
	  .rest = "[FILE]", .max = 1, .kind = COMMAND_ADDS, .run = run_nothing },
	{ .words = "reconcile", .options = "limit all since type",
	  .kind = COMMAND_CHANGES, .run = run_nothing,
	  .limit_help = "search the newest N events (1000)" },
	{ .words = "serve", .kind = COMMAND_OTHER, .needs = NEEDS_NOTHING,
	  .run = run_nothing },
	{ .words = NULL }
};

/* What it would do is what was asked for, and an end of it is in sight. */
static void
check_args(const struct command *c, const struct args *a)
{
	MUST(a->nrest >= c->min && a->nrest <= c->max);
	MUST(!a->watch && !a->follow && c->needs != NEEDS_NOTHING);
	MUST(c->max != INT_MAX || a->nrest > 0 || a->all || a->key != NULL ||
	    a->type != NULL || a->partition != NULL || a->since != NULL);
	MUST(a->limit >= 0 && a->limit <= 1000000);
}

int
here_run(struct here *h)
{
	MUST(h->c.command->kind == COMMAND_READS);
	check_args(h->c.command, &h->c.args);
	return CTL_DONE;
}

void
here_settle(struct here *h, int status, const json_t *result)
{
	(void)h;
	(void)status;
	(void)result;
}

void
here_free(struct here *h)
{
	(void)h;
}

/* All may ask for all. */
int
asker_judge(struct here *h)
{
	MUST(h->token == NULL || h->person == NULL);
	strlcpy(h->name, h->person == NULL ? "" : h->person, sizeof(h->name));
	return CTL_DONE;
}

int
child_run(const char *conf_path, int nwords, char **words, const char *person,
    json_t **result)
{
	MUST(person[0] == '\0' || conf_is_person(person));
	MUST(strcmp(conf_path, "/nowhere") == 0 && nwords > 0);
	MUST(words[nwords] == NULL && !command_is_help(words[0]));
	*result = json_pack("{s:i}", "changed", nwords);
	return CTL_DONE;
}

/* A file as standard input or output. */
static void
put_file(int fd, const uint8_t *data, size_t size)
{
	int	file = memfd_create("serve", 0);

	MUST(file >= 0 && write(file, data, size) == (ssize_t)size);
	MUST(lseek(file, 0, SEEK_SET) == 0 && dup2(file, fd) == fd);
	close(file);
}

static size_t
count_lines(const uint8_t *data, size_t size)
{
	size_t	n = size > 0 && data[size - 1] != '\n';

	for (size_t i = 0; i < size; i++)
		n += data[i] == '\n';
	return n;
}

/* Each line of the file is an answer; returns their number. */
static size_t
check_answers(int file)
{
	static char	 text[OUTPUT_MAX];
	ssize_t		 len = pread(file, text, sizeof(text) - 1, 0);
	size_t		 n = 0;
	char		*end;

	MUST(len >= 0 && (size_t)len < sizeof(text) - 1);
	text[len] = '\0';
	for (char *line = text; *line != '\0'; line = end + 1, n++) {
		MUST((end = strchr(line, '\n')) != NULL);
		json_t *v = json_loadb(line, (size_t)(end - line),
		    JSON_ALLOW_NUL, NULL);
		MUST(json_is_integer(json_object_get(v, "exit")));
		MUST(json_object_get(v, "result") != NULL);
		json_decref(v);
	}
	return n;
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct ctl	c = { .table = table, .path = "/nowhere" };
	int		out = dup(STDOUT_FILENO), answers;
	static FILE	*nowhere;

	if (nowhere == NULL) {
		/* What commands complain of. */
		MUST((nowhere = fopen("/dev/null", "we")) != NULL);
		stderr = nowhere;
	}
	put_file(STDIN_FILENO, data, size);
	put_file(STDOUT_FILENO, data, 0);
	answers = dup(STDOUT_FILENO);
	MUST(serve_run(&c) == CTL_DONE);
	MUST(check_answers(answers) == count_lines(data, size));
	close(answers);
	MUST(dup2(out, STDOUT_FILENO) == STDOUT_FILENO);
	close(out);
	return 0;
}
