/* main.c - outboxctl: the table of commands, and the start and end of each */

#include "ctl/base/change.h"
#include "ctl/base/command.h"
#include "ctl/base/ctl.h"
#include "ctl/base/outcome.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>

#include "ctl/complete.h"
#include "ctl/help.h"
#include "util/display.h"
#include "util/environment.h"
#include "util/log.h"

static const struct command commands[] = {
	{ .words = "setup", .options = "database account account-host stream "
	  "admin admin-password-file duplicate-window partitions replicas "
	  "follow-binlog clear-password new-password no-event", .kind = COMMAND_CHANGES,
	  .needs = NEEDS_FILE, .prepare = setup_prepare, .run = setup_run,
	  .help = "make database, account, stream or topic; send an event" },
	{ .words = "status", .options = "since watch", .rest = "[SECONDS]",
	  .max = 1, .needs = NEEDS_STATE, .run = status_show,
	  .help = "overview; exits with 1 if something needs attention" },
	{ .words = "top", .options = "window", .rest = "[SECONDS]", .max = 1,
	  .kind = COMMAND_OTHER, .needs = NEEDS_STATE, .run = top_show,
	  .help = "live on a terminal: workers, partitions, problems" },
	{ .words = "doctor", .kind = COMMAND_OTHER, .needs = NEEDS_STATE,
	  .run = doctor_run,
	  .help = "check what the daemon needs; exits with 1 on a failure" },
	{ .words = "reload", .options = "seconds", .kind = COMMAND_OTHER,
	  .needs = NEEDS_FILE, .run = reload_run,
	  .help = "reload the daemon of this host; wait for new workers" },
	{ .words = "stop", .options = "seconds", .kind = COMMAND_OTHER,
	  .needs = NEEDS_HOST, .run = stop_run,
	  .help = "stop the daemon of this host; wait until it is gone" },
	{ .words = "logs", .options = "follow lines", .kind = COMMAND_OTHER,
	  .needs = NEEDS_HOST, .run = logs_show,
	  .help = "print the end of the log of this host, or where it is" },
	{ .words = "probe", .rest = "healthz|readyz [critical]", .min = 1,
	  .max = 2, .kind = COMMAND_OTHER, .needs = NEEDS_FILE,
	  .run = probe_run,
	  .help = "ask this host's monitor; exits with 1 if it says no" },
	{ .words = "workers forget", .options = "all", .rest = "[HOST...]",
	  .max = INT_MAX, .kind = COMMAND_CHANGES, .change = &workers_forget,
	  .help = "forget hosts that vanished, named or all" },
	{ .words = "workers", .run = workers_list,
	  .help = "list the workers of all hosts" },
	{ .words = "partitions list", .run = partitions_list,
	  .help = "list partitions: their leases and waiting rows" },
	{ .words = "partitions sync", .options = "prune finish force wait",
	  .kind = COMMAND_CHANGES, .run = partitions_sync,
	  .help = "change the number of partitions to the configured one" },
	{ .words = "partitions pause", .options = "all", .rest = "[LABEL...]",
	  .max = INT_MAX, .kind = COMMAND_CHANGES, .change = &partitions_pause,
	  .help = "stop sending from these partitions, or from all" },
	{ .words = "partitions resume", .options = "all", .rest = "[LABEL...]",
	  .max = INT_MAX, .kind = COMMAND_CHANGES, .change = &partitions_resume,
	  .help = "send from these partitions again, or from all" },
	{ .words = "messages list", .options = "state key type partition "
	  "since until after limit", .run = messages_list,
	  .help = "list messages, by default the pending ones" },
	{ .words = "messages show", .options = "payload raw",
	  .rest = "SEQUENCE", .min = 1, .max = 1, .run = messages_show,
	  .help = "show all details of a message" },
	{ .words = "messages retry", .options = "reset-attempts all key type "
	  "partition since until", .rest = "[SEQUENCE...]", .max = INT_MAX,
	  .kind = COMMAND_CHANGES, .change = &messages_retry,
	  .help = "make delayed messages due now" },
	{ .words = "messages discard", .options = "wait", .rest = "SEQUENCE...",
	  .min = 1, .max = INT_MAX, .kind = COMMAND_CHANGES,
	  .table = T_DEAD, .change = &messages_discard,
	  .help = "move waiting messages to the dead letters" },
	{ .words = "messages resolve", .options = "sent unsent all key type "
	  "partition since until", .rest = "[SEQUENCE...]", .max = INT_MAX,
	  .kind = COMMAND_CHANGES, .change = &messages_resolve,
	  .help = "say whether messages in doubt were sent" },
	{ .words = "messages replay", .options = "key type partition since "
	  "until all after rate", .rest = "[SEQUENCE...]", .max = INT_MAX,
	  .kind = COMMAND_CHANGES, .change = &messages_replay,
	  .help = "send delivered messages again" },
	{ .words = "dead groups", .options = "key type partition since until "
	  "limit", .table = T_DEAD, .run = dead_groups,
	  .help = "count dead letters by their error" },
	{ .words = "dead list", .options = "key type partition group since "
	  "until after limit", .table = T_DEAD, .run = dead_list,
	  .help = "list dead letters: messages that were given up" },
	{ .words = "dead show", .options = "payload raw", .rest = "SEQUENCE",
	  .min = 1, .max = 1, .table = T_DEAD, .run = dead_show,
	  .help = "show all details of a dead letter" },
	{ .words = "dead retry", .options = "all key type partition group "
	  "since until", .rest = "[SEQUENCE...]", .max = INT_MAX,
	  .kind = COMMAND_CHANGES, .table = T_DEAD, .change = &dead_retry,
	  .help = "put dead letters back into the outbox, in order" },
	{ .words = "dead purge", .options = "all key type partition group "
	  "since until release", .rest = "[SEQUENCE...]", .max = INT_MAX,
	  .kind = COMMAND_CHANGES, .table = T_DEAD, .change = &dead_purge,
	  .help = "delete dead letters; their events stay" },
	{ .words = "dead bury", .options = "all", .rest = "[KEY...]",
	  .max = INT_MAX, .kind = COMMAND_CHANGES, .table = T_BLOCKED,
	  .change = &keys_bury,
	  .help = "the same as keys bury" },
	{ .words = "keys blocked", .options = "after limit",
	  .table = T_BLOCKED, .run = keys_blocked,
	  .help = "list keys whose messages wait behind one that failed" },
	{ .words = "keys release", .rest = "KEY...", .min = 1, .max = INT_MAX,
	  .kind = COMMAND_CHANGES, .table = T_BLOCKED, .change = &keys_release,
	  .help = "release halted keys, so that their messages are sent" },
	{ .words = "keys bury", .options = "all", .rest = "[KEY...]",
	  .max = INT_MAX, .kind = COMMAND_CHANGES, .table = T_BLOCKED,
	  .change = &keys_bury,
	  .help = "make the messages that are held dead letters" },
	{ .words = "keys retry", .options = "all", .rest = "[KEY...]",
	  .max = INT_MAX, .kind = COMMAND_CHANGES, .table = T_BLOCKED,
	  .change = &keys_retry,
	  .help = "try the messages that are held again, now" },
	{ .words = "stream republish", .kind = COMMAND_CHANGES,
	  .needs = NEEDS_SERVERS, .run = stream_republish,
	  .help = "send delivered messages again that the stream lacks" },
	{ .words = "stream forget", .kind = COMMAND_CHANGES,
	  .table = T_STREAMS, .change = &stream_forget,
	  .help = "stop reporting what the stream has lost" },
	{ .words = "stream info", .kind = COMMAND_OTHER, .needs = NEEDS_SERVERS,
	  .run = stream_info,
	  .help = "show the stream; exits with 1 if it is not usable" },
	{ .words = "stream add", .options = "dry-run duplicate-window replicas",
	  .kind = COMMAND_ADDS, .needs = NEEDS_SERVERS, .run = stream_add,
	  .help = "create the stream nats.stream for nats.subject" },
	{ .words = "topic info", .rest = "TOPIC...", .min = 1,
	  .max = INT_MAX, .kind = COMMAND_OTHER, .needs = NEEDS_SERVERS,
	  .run = topic_info,
	  .help = "show topics of Kafka; exits with 1 if one is not fit" },
	{ .words = "topic add", .options = "dry-run partitions replicas",
	  .rest = "TOPIC...", .min = 1, .max = INT_MAX, .kind = COMMAND_ADDS,
	  .needs = NEEDS_SERVERS, .run = topic_add,
	  .help = "create topics of Kafka that are missing" },
	{ .words = "phantoms forget", .kind = COMMAND_CHANGES,
	  .table = T_STREAMS, .change = &phantoms_forget,
	  .help = "stop reporting stream messages without an event" },
	{ .words = "audit list", .options = "command user since until after "
	  "limit", .table = T_AUDIT, .run = audit_list,
	  .help = "list the changes made with this tool, newest first" },
	{ .words = "enqueue", .options = "dry-run batch skip-bad",
	  .rest = "[FILE]", .max = 1, .kind = COMMAND_ADDS, .run = enqueue,
	  .help = "add events from FILE, one JSON object per line" },
	{ .words = "prune", .options = "days older-than dead-days batch",
	  .kind = COMMAND_CHANGES, .change = &prune,
	  .help = "delete rows delivered long ago, and old dead letters" },
	{ .words = "reconcile", .options = "limit all since type",
	  .kind = COMMAND_CHANGES, .change = &reconcile,
	  .limit_help = "search the newest N events (1000)",
	  .help = "create missing outbox rows of events" },
	{ .words = "retry-plan", .kind = COMMAND_OTHER, .needs = NEEDS_FILE,
	  .run = plan_show,
	  .help = "show when a message that fails is tried again" },
	{ .words = "config", .kind = COMMAND_OTHER, .needs = NEEDS_FILE,
	  .run = plan_config,
	  .help = "print the effective configuration" },
	{ .words = "serve", .kind = COMMAND_OTHER, .needs = NEEDS_NOTHING,
	  .run = serve_run,
	  .help = "run commands from standard input, each a JSON array" },
	{ .words = "schema print", .options = "trigger grants",
	  .kind = COMMAND_OTHER, .needs = NEEDS_FILE, .run = schema_print,
	  .help = "print the SQL of the tables, with configured names" },
	{ .words = "schema install", .options = "trigger admin "
	  "admin-password-file",
	  .kind = COMMAND_CHANGES, .needs = NEEDS_DATABASE,
	  .run = schema_install,
	  .help = "create the tables that are missing" },
	{ .words = "schema check", .options = "trigger", .kind = COMMAND_OTHER,
	  .needs = NEEDS_DATABASE, .run = schema_check,
	  .help = "list how the tables differ from the needed schema" },
	{ .words = "schema upgrade", .options = "admin admin-password-file",
	  .kind = COMMAND_CHANGES,
	  .needs = NEEDS_DATABASE, .run = schema_upgrade,
	  .help = "correct the differences while the daemon runs" },
	{ .words = NULL }
};

/* Print the outcome as JSON, if asked; NULL: no command is known. */
static int
finish(const struct command *c, int status)
{
	if (status == CTL_USAGE)
		command_remedy(c);
	return outcome_end(status);
}

/* Options before the command: -c FILE, --json and --wide. */
static int
take_globals(int argc, char **argv, const char **path, bool *json, bool *wide)
{
	int	i = 1;

	for (; i < argc && argv[i][0] == '-'; i++) {
		if (command_is_help(argv[i])) {
			help_all(commands, stdout);
			exit(CTL_DONE);
		} else if (strcmp(argv[i], "-V") == 0 ||
		    strcmp(argv[i], "--version") == 0) {
			display_print(stdout, "%s\n", PACKAGE_STRING);
			exit(CTL_DONE);
		} else if (strcmp(argv[i], "--completions") == 0) {
			complete_print(commands);
			exit(CTL_DONE);
		} else if (strcmp(argv[i], "--values") == 0 &&
		    i + 1 < argc) {
			complete_values(*path, argv[i + 1]);
			exit(CTL_DONE);
		} else if (strcmp(argv[i], "--json") == 0)
			*json = true;
		else if (strcmp(argv[i], "--wide") == 0)
			*wide = true;
		else if (strcmp(argv[i], "-c") != 0 &&
		    strcmp(argv[i], "--config") != 0)
			exit(finish(NULL, ctl_misuse("%s: unknown option; see "
			    "outboxctl --help", argv[i])));
		else if ((*path = argv[++i]) == NULL)
			exit(finish(NULL, ctl_misuse("%s: its value is "
			    "missing", argv[i - 1])));
	}
	return i;
}

/* Print help on a command, a group of commands, or all. */
static int
help_on(int nwords, char **words)
{
	int			 n;
	const struct command	*c = command_find(commands, nwords, words, &n);

	if (nwords == 0)
		help_all(commands, stdout);
	else if (c != NULL && n == nwords)
		help_command(c);
	else if (!help_group(commands, nwords, words))
		return command_unknown(commands, words[0]);
	return CTL_DONE;
}

/* Is help asked for?  *nwords is then the number of words that it is about. */
static bool
asks_for_help(int argc, char **argv, int *nwords)
{
	for (int i = 0; i < argc && strcmp(argv[i], "--") != 0; i++)
		if (command_is_help(argv[i])) {
			if (command_find(commands, argc, argv, nwords) == NULL)
				*nwords = i;
			return true;
		}
	return false;
}

/* The arguments behind the command's words; the word before them is first. */
static int
parse_and_run(struct ctl *c, int argc, char **argv, bool json)
{
	const struct command	*command = c->command;
	bool			 wide = c->args.wide;
	struct buf		 line = { 0 };
	struct err		 e;
	int			 status;

	buf_str(&line, "");
	for (int i = 1; i < argc; i++)
		buf_printf(&line, "%s%s", i == 1 ? "" : " ", argv[i]);
	c->arguments = line.data;
	if (args_parse(&c->args, command, argc, argv) != CTL_DONE)
		return CTL_USAGE;
	c->args.json = c->args.json || json;
	c->args.wide = c->args.wide || wide;
	if (c->args.json)
		outcome_begin();
	if (c->args.watch)
		outcome_stream();

	ctl_use_file(c->path);
	if (command->prepare != NULL &&
	    (status = command->prepare(c)) != CTL_DONE)
		return status;
	if (command->needs != NEEDS_NOTHING &&
	    (status = ctl_need_conf(c)) != CTL_DONE)
		return status;
	if (log_open("stderr", LOG_LVL_ERROR, false, &e) < 0)
		return ctl_error("%s", e.text);
	if (command->needs <= NEEDS_DATABASE &&
	    (status = ctl_connect(c)) != CTL_DONE)
		return status;
	if ((status = ctl_check_table(c)) != CTL_DONE)
		return status;
	return command->change != NULL ? change_run(c) : command->run(c);
}

int
main(int argc, char **argv)
{
	const struct rlimit	 none = { 0, 0 };
	struct ctl		 c = { 0 };
	const char		*path = DEFAULT_CONF;
	bool			 json = false, wide = false;
	int			 at, nwords, status;

	environment_take();
	/* There would be passwords and payloads in a core dump, or a debugger. */
	if (setrlimit(RLIMIT_CORE, &none) < 0)
		ctl_error("setrlimit: %s", strerror(errno));
#ifndef __SANITIZE_ADDRESS__		/* it traces itself */
	prctl(PR_SET_DUMPABLE, 0, 0, 0, 0);
#endif
	/* Was JSON asked for?  Errors in the arguments are told in it, too. */
	for (int i = 1; i < argc && strcmp(argv[i], "--") != 0; i++)
		if (strcmp(argv[i], "--json") == 0)
			outcome_begin();
	at = take_globals(argc, argv, &path, &json, &wide);
	if (at == argc) {
		help_all(commands, stderr);
		outcome_error("no command was given", NULL);
		return finish(NULL, CTL_USAGE);
	}
	if (strcmp(argv[at], "help") == 0)
		return finish(NULL, help_on(argc - at - 1, argv + at + 1));
	if (asks_for_help(argc - at, argv + at, &nwords))
		return finish(NULL, help_on(nwords, argv + at));
	c.command = command_find(commands, argc - at, argv + at, &nwords);
	if (c.command == NULL)
		return finish(NULL, command_unknown(commands, argv[at]));
	at += nwords;
	c.table = commands;
	c.path = path;
	c.args.wide = wide;
	status = finish(c.command, parse_and_run(&c, argc - at + 1,
	    argv + at - 1, json));
	store_free(c.store);
	conf_free(c.conf);
	args_free(&c.args);
	free(c.arguments);
	return status;
}
