/* main.c - outboxctl: the table of commands, and the start and end of each */

#include "ctl/base/ctl.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sysexits.h>

#include "ctl/complete.h"
#include "util/buf.h"
#include "util/log.h"

static const struct command commands[] = {
	{ .words = "status", .options = "since watch", .rest = "[SECONDS]",
	  .max = 1, .help = "everything at a glance; 1 if it needs a human",
	  .run = status_show },
	{ .words = "doctor", .options = "", .rest = "", .offline = true,
	  .help = "what is wrong, and what mends it; 1 if something is",
	  .run = doctor_run },
	{ .words = "workers", .options = "", .rest = "",
	  .help = "who is at work", .run = workers_list },
	{ .words = "partitions list", .options = "", .rest = "",
	  .help = "leases, and what waits in each partition",
	  .run = partitions_list },
	{ .words = "partitions sync", .options = "prune finish force wait",
	  .rest = "",
	  .changes = true, .help = "make them as many as are configured",
	  .run = partitions_sync },
	{ .words = "partitions pause", .options = "", .rest = "[LABEL...]",
	  .max = INT_MAX, .changes = true,
	  .help = "send nothing of them, all if none is named",
	  .run = partitions_pause },
	{ .words = "partitions resume", .options = "", .rest = "[LABEL...]",
	  .max = INT_MAX, .changes = true, .help = "send again",
	  .run = partitions_resume },
	{ .words = "messages list", .options = "state key type partition since "
	  "until after limit", .rest = "",
	  .help = "messages that wait, or of another state",
	  .run = messages_list },
	{ .words = "messages show", .options = "", .rest = "SEQUENCE",
	  .min = 1, .max = 1, .help = "all about one message",
	  .run = messages_show },
	{ .words = "messages retry", .options = "reset-attempts",
	  .rest = "SEQUENCE...", .min = 1, .max = INT_MAX, .changes = true,
	  .help = "send delayed messages now", .run = messages_retry },
	{ .words = "messages discard", .options = "wait",
	  .rest = "SEQUENCE...", .min = 1, .max = INT_MAX, .changes = true,
	  .help = "give waiting messages up", .run = messages_discard },
	{ .words = "messages replay", .options = "key type partition since "
	  "until all after rate", .rest = "[SEQUENCE...]", .max = INT_MAX,
	  .changes = true, .help = "send delivered messages once more",
	  .run = messages_replay },
	{ .words = "dead list", .options = "key type partition since until "
	  "after limit", .rest = "",
	  .help = "messages that were given up", .run = dead_list },
	{ .words = "dead show", .options = "", .rest = "SEQUENCE",
	  .min = 1, .max = 1, .help = "all about one of them",
	  .run = dead_show },
	{ .words = "dead retry", .options = "all key type partition since "
	  "until", .rest = "[SEQUENCE...]", .max = INT_MAX, .changes = true,
	  .help = "put them back, each in its place", .run = dead_retry },
	{ .words = "dead purge", .options = "all key type partition since "
	  "until release", .rest = "[SEQUENCE...]", .max = INT_MAX,
	  .changes = true, .help = "forget them", .run = dead_purge },
	{ .words = "keys blocked", .options = "after limit", .rest = "",
	  .help = "keys that wait or are halted", .run = keys_blocked },
	{ .words = "keys release", .options = "", .rest = "KEY...",
	  .min = 1, .max = INT_MAX, .changes = true,
	  .help = "let halted keys go on", .run = keys_release },
	{ .words = "stream republish", .options = "", .rest = "",
	  .changes = true, .offline = true,
	  .help = "send again what the stream does not have",
	  .run = stream_republish },
	{ .words = "phantoms forget", .options = "", .rest = "",
	  .changes = true, .help = "messages without an event are dealt with",
	  .run = phantoms_forget },
	{ .words = "enqueue", .options = "dry-run batch skip-bad",
	  .rest = "[FILE]", .max = 1, .adds = true,
	  .help = "add events, a JSON object per line", .run = enqueue },
	{ .words = "prune", .options = "days older-than dead-days batch",
	  .rest = "", .changes = true,
	  .help = "delete what was delivered long ago", .run = prune },
	{ .words = "reconcile", .options = "limit all since type", .rest = "",
	  .changes = true, .own_limit = true,
	  .help = "make the outbox rows that events lack",
	  .run = reconcile },
	{ .words = "retry-plan", .options = "", .rest = "", .offline = true,
	  .help = "when a message that fails is tried again",
	  .run = plan_show },
	{ .words = "config", .options = "", .rest = "", .offline = true,
	  .help = "print the effective configuration", .run = plan_config },
	{ .words = "schema print", .options = "trigger", .rest = "", .offline = true,
	  .help = "print the SQL of the tables, under their names",
	  .run = schema_print },
	{ .words = "schema install", .options = "trigger", .rest = "", .bare = true,
	  .changes = true, .help = "make the tables that are missing",
	  .run = schema_install },
	{ .words = "schema check", .options = "trigger", .rest = "", .bare = true,
	  .help = "how the tables differ from what the daemon wants",
	  .run = schema_check },
	{ .words = "schema upgrade", .options = "", .rest = "", .bare = true,
	  .changes = true, .help = "mend that while the daemon runs",
	  .run = schema_upgrade },
	{ .words = NULL }
};

static void
print_ctl_usage(FILE *to)
{
	fputs("usage: outboxctl [-c FILE] [--json] COMMAND [option ...]\n\n",
	    to);
	for (const struct command *c = commands; c->words != NULL; c++)
		fprintf(to, "  %-22s  %s\n", c->words, c->help);
	fputs("\n  -c, --config FILE       configuration (" DEFAULT_CONF ")\n"
	    "      --json              print JSON\n"
	    "  -V, --version\n"
	    "  -h, --help              behind a command: its options\n", to);
}

static void
help(const struct command *c)
{
	printf("usage: outboxctl %s [option ...]%s%s\n\n%s\n\n", c->words,
	    c->rest[0] == '\0' ? "" : " ", c->rest, c->help);
	args_help(c, stdout);
}

/* How many arguments are the command's words; 0: another command. */
static int
words_met(const char *words, int argc, char **argv)
{
	int	n = 0;

	while (*words != '\0') {
		size_t len = strcspn(words, " ");

		if (n >= argc || strlen(argv[n]) != len ||
		    memcmp(argv[n], words, len) != 0)
			return 0;
		n++;
		words += len;
		words += strspn(words, " ");
	}
	return n;
}

static const struct command *
find_command(int argc, char **argv, int *nwords)
{
	for (const struct command *c = commands; c->words != NULL; c++)
		if ((*nwords = words_met(c->words, argc, argv)) > 0)
			return c;
	return NULL;
}

/* Report an unknown command; lists its group if the word names one. */
static int
unknown_command(const char *word)
{
	size_t		 n = strlen(word);
	const char	*lead = "; there is: ";

	fprintf(stderr, "outboxctl: %s: unknown command", word);
	for (const struct command *c = commands; c->words != NULL; c++)
		if (strncmp(c->words, word, n) == 0 && c->words[n] == ' ') {
			fprintf(stderr, "%s%s", lead, c->words);
			lead = ", ";
		}
	fputs(*lead == ';' ? "; see --help\n" : "\n", stderr);
	return CTL_USAGE;
}

static bool
is_help(const char *word)
{
	return strcmp(word, "--help") == 0 || strcmp(word, "-h") == 0;
}

static int
wrong(const char *what)
{
	fprintf(stderr, "outboxctl: %s\n", what);
	return CTL_USAGE;
}

/* Options before the command: -c FILE and --json. */
static int
take_globals(int argc, char **argv, const char **path, bool *json)
{
	int	i = 1;

	for (; i < argc && argv[i][0] == '-'; i++) {
		if (is_help(argv[i])) {
			print_ctl_usage(stdout);
			exit(CTL_DONE);
		} else if (strcmp(argv[i], "-V") == 0 ||
		    strcmp(argv[i], "--version") == 0) {
			puts(PACKAGE_STRING);
			exit(CTL_DONE);
		} else if (strcmp(argv[i], "--completions") == 0) {
			complete_print(commands);
			exit(CTL_DONE);
		} else if (strcmp(argv[i], "--json") == 0)
			*json = true;
		else if ((strcmp(argv[i], "-c") == 0 ||
		    strcmp(argv[i], "--config") == 0) && i + 1 < argc)
			*path = argv[++i];
		else
			exit(wrong("unknown option; see --help"));
	}
	return i;
}

/* The arguments as one text, for the audit. */
static char *
join(int argc, char **argv)
{
	struct buf	b = { 0 };

	buf_str(&b, "");
	for (int i = 0; i < argc; i++)
		buf_printf(&b, "%s%s", i == 0 ? "" : " ", argv[i]);
	return b.data;
}

static int
run_command(struct ctl *c, const char *path)
{
	struct err	e;
	int		status;

	if ((c->conf = conf_load(path, NULL, &e)) == NULL) {
		wrong(e.text);
		return EX_CONFIG;
	}
	if (log_open("stderr", LOG_LVL_ERROR, false, &e) < 0)
		return ctl_no_such(c, "%s", e.text);
	if (!c->command->offline && (status = ctl_connect(c)) != CTL_DONE)
		return status;
	return c->command->run(c);
}

int
main(int argc, char **argv)
{
	struct ctl	 c = { 0 };
	const char	*path = DEFAULT_CONF;
	bool		 json = false;
	int		 at = take_globals(argc, argv, &path, &json), nwords;
	struct err	 e;
	int		 status;

	if (at == argc) {
		print_ctl_usage(stderr);
		return CTL_USAGE;
	}
	c.command = find_command(argc - at, argv + at, &nwords);
	if (c.command == NULL)
		return unknown_command(argv[at]);
	at += nwords;
	if (at < argc && is_help(argv[at])) {
		help(c.command);
		return CTL_DONE;
	}
	c.arguments = join(argc - at, argv + at);
	if (args_parse(&c.args, c.command, argc - at + 1, argv + at - 1,
	    &e) < 0)
		status = wrong(e.text);
	else {
		c.args.json = c.args.json || json;
		status = run_command(&c, path);
	}
	store_free(c.store);
	conf_free(c.conf);
	args_free(&c.args);
	free(c.arguments);
	return status;
}
