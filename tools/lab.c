/*
 * lab.c - options and commands of the laboratory
 *
 * One table of options serves the parser and the help; a command accepts only
 * the options that it uses.
 */
#include <err.h>
#include <errno.h>
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lab.h"

#define STREAM	1u
#define PUBLISH	2u
#define PURGE	4u
#define DELETE	8u
#define SHOW	16u
#define PRODUCE	32u
#define COUNT	64u
#define CHECK	128u
#define LIST	256u
#define PLAIN	512u
#define TOPIC	1024u
#define RECREATE 2048u
#define KAFKA	(TOPIC | RECREATE | LIST | PUBLISH | SHOW | COUNT | CHECK)
#define BUS	(LIST | STREAM | PUBLISH | PURGE | DELETE | SHOW | COUNT | CHECK)
#define DB	(PRODUCE | COUNT | CHECK | PLAIN)

#define USAGE	2
#define MARGIN	"                            "	/* of the help */

enum kind { IS_FLAG, IS_NUMBER, IS_TEXT, IS_LIST };

struct option_row {
	const char	*name;
	enum kind	 kind;
	size_t		 at;
	unsigned	 commands;
	int64_t		 min, max;
	const char	*arg;
	const char	*help;
};

#define AT(field)	offsetof(struct lab_opts, field)
#define BIG		INT64_MAX

static const struct option_row rows[] = {
	{ "socket", IS_TEXT, AT(socket), DB, 0, 0, "PATH",
	    "the database's socket" },
	{ "host", IS_TEXT, AT(host), DB, 0, 0, "HOST[:PORT],...",
	    "or its address; of several the first that takes writes" },
	{ "user", IS_TEXT, AT(user), DB, 0, 0, "NAME",
	    "database account (root)" },
	{ "password-env", IS_TEXT, AT(password_env), DB, 0, 0, "VARIABLE",
	    "where its password is" },
	{ "database", IS_TEXT, AT(database), DB, 0, 0, "NAME",
	    "the database" },
	{ "timeout", IS_NUMBER, AT(timeout), PRODUCE | PLAIN, 1, 3600,
	    "SECONDS", "longest wait for an answer (none; plain: 5)" },
	{ "nats", IS_TEXT, AT(nats), BUS | PLAIN, 0, 0, "URL",
	    "the NATS server; plain: of several, with commas, and no database" },
	{ "creds", IS_TEXT, AT(creds), BUS, 0, 0, "FILE",
	    "NATS credentials file" },
	{ "nats-ca", IS_TEXT, AT(nats_ca), BUS, 0, 0, "FILE",
	    "use TLS and trust this CA" },
	{ "kafka", IS_TEXT, AT(kafka), KAFKA, 0, 0, "HOST:PORT,...",
	    "or brokers of Kafka, without password" },
	{ "topic", IS_TEXT, AT(topic), KAFKA, 0, 0, "NAME,...",
	    "its topics; in a shell's pattern, where they are read" },
	{ "partitions", IS_NUMBER, AT(partitions), TOPIC, 1, 10000, "N",
	    "how many it has, or gets (1)" },
	{ "config", IS_LIST, AT(headers), TOPIC | RECREATE, 0, 0, "KEY=VALUE",
	    "a setting of the topic; all others get their defaults" },
	{ "partition", IS_NUMBER, AT(partition), PUBLISH | SHOW, 0, 10000,
	    "N", "of the record (0)" },
	{ "key", IS_TEXT, AT(key), PUBLISH, 0, 0, "TEXT", "of the record" },
	{ "stream", IS_TEXT, AT(stream), BUS ^ PUBLISH, 0, 0, "NAME",
	    "the stream" },
	{ "name", IS_TEXT, AT(stream), STREAM, 0, 0, "NAME",
	    "the same" },
	{ "subjects", IS_TEXT, AT(subjects), STREAM, 0, 0, "LIST",
	    "what it takes, with commas between" },
	{ "dup-window", IS_NUMBER, AT(dup_window), STREAM, 1, 86400, "SECONDS",
	    "duplicate window (120)" },
	{ "max-msg-size", IS_NUMBER, AT(max_msg_size), STREAM, 1, 1 << 30, "N",
	    "largest message" },
	{ "max-msgs", IS_NUMBER, AT(max_msgs), STREAM, 1, BIG, "N",
	    "most messages" },
	{ "discard-new", IS_FLAG, AT(discard_new), STREAM, 0, 0, NULL,
	    "when full refuse, rather than drop the oldest" },
	{ "work-queue", IS_FLAG, AT(work_queue), STREAM, 0, 0, NULL,
	    "consumed messages go" },
	{ "memory", IS_FLAG, AT(memory), STREAM, 0, 0, NULL,
	    "not on file" },
	{ "no-ack", IS_FLAG, AT(no_ack), STREAM, 0, 0, NULL,
	    "store messages without an answer" },
	{ "into", IS_TEXT, AT(into), PURGE | RECREATE, 0, 0, "NAME",
	    "copy what is purged into this stream, which takes NAME.>;\n"
	    MARGIN "what was there before into NAME.TOPIC: gone.1, gone.2" },
	{ "replicas", IS_NUMBER, AT(replicas), STREAM | TOPIC | RECREATE, 1, 5,
	    "N", "replicas (1)" },
	{ "delete", IS_FLAG, AT(delete), STREAM | TOPIC, 0, 0, NULL,
	    "delete it, if it is there" },
	{ "subject", IS_TEXT, AT(subject), PUBLISH | PLAIN, 0, 0, "SUBJECT",
	    "where to" },
	{ "every", IS_NUMBER, AT(every), PLAIN, 0, 60000, "MS",
	    "pause after a success (20)" },
	{ "seconds", IS_NUMBER, AT(seconds), PLAIN, 0, 86400, "N",
	    "for so long (until a signal)" },
	{ "id", IS_TEXT, AT(id), PUBLISH, 0, 0, "ID",
	    "Nats-Msg-Id, or Outbox-Id" },
	{ "header", IS_LIST, AT(headers), PUBLISH, 0, 0, "KEY=VALUE",
	    "a header; as often as needed" },
	{ "data", IS_TEXT, AT(data), PUBLISH, 0, 0, "TEXT",
	    "the payload (standard input)" },
	{ "seq", IS_NUMBER, AT(seq), DELETE | SHOW, 0, BIG, "N",
	    "the message's number in the stream, or its offset" },
	{ "last", IS_FLAG, AT(last), SHOW, 0, 0, NULL,
	    "the last message" },
	{ "events", IS_NUMBER, AT(events), PRODUCE, 0, BIG, "N",
	    "how many to commit (1000)" },
	{ "forever", IS_FLAG, AT(forever), PRODUCE, 0, 0, NULL,
	    "until a signal" },
	{ "keys", IS_NUMBER, AT(keys), PRODUCE, 1, 10000000, "N",
	    "different keys (100)" },
	{ "key-prefix", IS_TEXT, AT(key_prefix), PRODUCE, 0, 0, "TEXT",
	    "what they begin with (k)" },
	{ "type", IS_TEXT, AT(type), PRODUCE, 0, 0, "TEXT",
	    "event types (lab.event), in turns, with commas between" },
	{ "payload", IS_NUMBER, AT(payload), PRODUCE, 0, 16 << 20, "BYTES",
	    "about so large (200)" },
	{ "shape", IS_TEXT, AT(shape), DB, 0, 0, "NAME",
	    "messages are rows of one table: inline, or a mapped one:\n"
	    MARGIN "laravel, debezium" },
	{ "same", IS_FLAG, AT(same), PRODUCE, 0, 0, NULL,
	    "the same payload always: only the key tells events apart" },
	{ "producers", IS_NUMBER, AT(producers), PRODUCE, 1, 256, "N",
	    "connections at work (1)" },
	{ "per-txn", IS_NUMBER, AT(per_txn), PRODUCE, 1, 1000000, "N",
	    "events a transaction (1; with --bulk 5000)" },
	{ "rate", IS_NUMBER, AT(rate), PRODUCE, 0, 10000000, "N",
	    "events a second in all (0: no limit)" },
	{ "rollback", IS_NUMBER, AT(rollback), PRODUCE, 0, 99, "PERCENT",
	    "transactions rolled back besides (0)" },
	{ "bulk", IS_FLAG, AT(bulk), PRODUCE, 0, 0, NULL,
	    "many rows an INSERT, without the procedure: late:0" },
	{ "producers-by", IS_TEXT, AT(producers_by), PRODUCE, 0, 0, "LIST",
	    "kinds of them, in turns, with commas between: procedure,\n"
	    MARGIN "trigger, mixed (both in one session);\n"
	    MARGIN "fixed:COUNT, plain INSERTs always by this count;\n"
	    MARGIN "late:SECONDS (10), by one that is at most so old" },
	{ "count-file", IS_TEXT, AT(count_file), PRODUCE, 0, 0, "FILE",
	    "where late ones look for the count (outbox_settings)" },
	{ "since", IS_NUMBER, AT(since), CHECK | COUNT, 0, BIG, "SEQUENCE",
	    "leave out events up to this one" },
	{ "wait", IS_NUMBER, AT(wait), CHECK, 0, 86400, "SECONDS",
	    "first wait until all have arrived, at most so long" },
	{ "expect-dead", IS_NUMBER, AT(expect_dead), CHECK, 0, BIG, "N",
	    "so many dead letters are right" },
	{ "allow-phantoms", IS_FLAG, AT(allow_phantoms), CHECK, 0, 0, NULL,
	    "messages of events that the database lost are right" },
	{ "max-phantoms", IS_NUMBER, AT(max_phantoms), CHECK, 0, BIG, "N",
	    "so many of them are (0)" },
	{ "outbox-id", IS_TEXT, AT(outbox_id), CHECK, 0, 0, "ID",
	    "leave out messages whose ids do not begin with it" },
	{ "recovered", IS_TEXT, AT(recovered), CHECK, 0, 0, "FILE",
	    "messages that the stream lost, a line each: sequence, number\n"
	    MARGIN "of the loss, last place in the stream before it, and 1\n"
	    MARGIN "if it was in doubt then, or 0. They may come again above\n"
	    MARGIN "that, in order among those of the same losses; one in\n"
	    MARGIN "doubt also in its turn" },
	{ "moved", IS_FLAG, AT(moved), CHECK, 0, 0, NULL,
	    "a key may be in several partitions of a topic" },
	{ "json", IS_FLAG, AT(json), CHECK, 0, 0, NULL,
	    "one JSON object instead of the table" },
};

#define NROWS	(sizeof(rows) / sizeof(rows[0]))

static const struct command {
	const char	*name;
	unsigned	 bit;
	int		(*run)(const struct lab_opts *);
	const char	*help;
} commands[] = {
	{ "stream", STREAM, lab_stream, "create, update or delete a stream" },
	{ "produce", PRODUCE, lab_produce, "commit events" },
	{ "check", CHECK, lab_check, "compare the events with the stream" },
	{ "count", COUNT, lab_count, "one line of progress" },
	{ "plain", PLAIN, lab_plain,
	    "a plain client: the longest pause between two successes" },
	{ "list", LIST, lab_list,
	    "a line a message: its number, its event's, its time (ns)" },
	{ "show", SHOW, lab_show, "print a stored message" },
	{ "publish", PUBLISH, lab_publish, "publish a message" },
	{ "purge", PURGE, lab_purge, "empty the stream" },
	{ "delete-msg", DELETE, lab_delete_msg, "delete one message" },
	{ "topic", TOPIC, lab_topic, "create, change or delete a topic" },
	{ "recreate", RECREATE, lab_recreate,
	    "delete topics and make them anew" },
};

#define NCOMMANDS	(sizeof(commands) / sizeof(commands[0]))

static void
help_commands(FILE *f)
{
	fprintf(f, "usage: lab COMMAND OPTIONS; lab COMMAND --help\n");
	for (size_t i = 0; i < NCOMMANDS; i++)
		fprintf(f, "  %-12s%s\n", commands[i].name, commands[i].help);
}

static void
help_options(const struct command *c)
{
	char	name[64];

	printf("lab %s - %s\n", c->name, c->help);
	for (size_t i = 0; i < NROWS; i++) {
		if (!(rows[i].commands & c->bit))
			continue;
		snprintf(name, sizeof(name), "--%s%s%s", rows[i].name,
		    rows[i].arg != NULL ? " " : "",
		    rows[i].arg != NULL ? rows[i].arg : "");
		printf("  %-26s%s\n", name, rows[i].help);
	}
}

static int64_t
number(const struct option_row *r, const char *text)
{
	char		*end;
	long long	 n;

	errno = 0;
	n = strtoll(text, &end, 10);
	if (end == text || *end != '\0' || errno != 0 || n < r->min ||
	    n > r->max)
		errx(USAGE, "--%s: %s is not a number from %lld to %lld",
		    r->name, text, (long long)r->min, (long long)r->max);
	return n;
}

static void
set(struct lab_opts *o, const struct option_row *r, const char *text)
{
	char	*field = (char *)o + r->at;

	switch (r->kind) {
	case IS_FLAG:
		*(bool *)(void *)field = true;
		break;
	case IS_NUMBER:
		*(int64_t *)(void *)field = number(r, text);
		break;
	case IS_TEXT:
		*(const char **)(void *)field = text;
		break;
	case IS_LIST:
		if (o->nheaders == LAB_MAX_HEADERS)
			errx(USAGE, "--%s: too many", r->name);
		o->headers[o->nheaders++] = text;
		break;
	}
}

static void
parse(int argc, char **argv, const struct command *c, struct lab_opts *o)
{
	struct option	 longs[NROWS + 2] = { 0 };
	size_t		 index[NROWS + 1] = { 0 };
	int		 n = 0, at;

	for (size_t i = 0; i < NROWS; i++) {
		if (!(rows[i].commands & c->bit))
			continue;
		index[n] = i;
		longs[n].name = rows[i].name;
		longs[n++].has_arg = rows[i].kind == IS_FLAG ? no_argument :
		    required_argument;
	}
	longs[n].name = "help";
	longs[n].val = 'h';
	for (;;) {
		switch (getopt_long(argc, argv, "", longs, &at)) {
		case 0:
			set(o, &rows[index[at]], optarg);
			continue;
		case -1:
			if (optind < argc)
				errx(USAGE, "%s: unexpected argument",
				    argv[optind]);
			return;
		case 'h':
			help_options(c);
			exit(0);
		default:
			exit(USAGE);
		}
	}
}

static void
require(const struct command *c, unsigned who, const char *name,
    const char *value)
{
	if ((c->bit & who) && value == NULL)
		errx(USAGE, "%s: --%s is missing", c->name, name);
}

static void
check(const struct command *c, const struct lab_opts *o)
{
	if (c->bit & (TOPIC | RECREATE))
		require(c, KAFKA, "kafka", o->kafka);
	if (o->kafka != NULL) {
		require(c, KAFKA, "topic", o->topic);
		require(c, RECREATE, "into", o->into);
		require(c, PUBLISH, "data", o->data);
	} else {
		require(c, BUS, "nats or --kafka", o->nats);
		require(c, BUS ^ PUBLISH, "stream", o->stream);
		require(c, PUBLISH, "subject", o->subject);
	}
	if (c->bit == PLAIN && o->nats != NULL) {
		require(c, PLAIN, "subject", o->subject);
		return;
	}
	require(c, DB, "database", o->database);
	require(c, DB, "socket or --host",
	    o->socket != NULL ? o->socket : o->host);
	if (c->bit == STREAM && !o->delete)
		require(c, STREAM, "subjects", o->subjects);
	if (c->bit == DELETE && o->seq == 0)
		errx(USAGE, "%s: --seq is missing", c->name);
	if (c->bit == SHOW && o->seq == 0 && !o->last && o->kafka == NULL)
		errx(USAGE, "%s: --seq or --last is missing", c->name);
}

int
main(int argc, char **argv)
{
	const struct command	*c = NULL;
	struct lab_opts		 o = {
		.user = "root", .dup_window = 120, .max_msgs = -1,
		.max_msg_size = -1, .replicas = 1, .events = 1000,
		.keys = 100, .key_prefix = "k", .type = "lab.event",
		.payload = 200, .producers = 1, .expect_dead = -1,
		.every = 20, .partitions = 1
	};

	for (size_t i = 0; argc > 1 && i < NCOMMANDS; i++)
		if (strcmp(argv[1], commands[i].name) == 0)
			c = &commands[i];
	if (c == NULL) {
		help_commands(stderr);
		return USAGE;
	}
	/* Pass the rest on as a command line of its own. */
	argv[1] = argv[0];
	if (c->bit == PLAIN)
		o.timeout = 5;
	parse(argc - 1, argv + 1, c, &o);
	check(c, &o);
	return c->run(&o);
}
