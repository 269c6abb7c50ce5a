/* args.c - see args.h */

#include "ctl/base/args.h"

#include <errno.h>
#include <getopt.h>
#include <limits.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <bsd/stdlib.h>

#include "ctl/base/ctl.h"
#include "util/xalloc.h"

#define NOPTIONS	(sizeof(options) / sizeof(options[0]))
#define SCALE_MAX	INT64_C(1000000)

enum value { FLAG, TEXT, NUMBER, TIME, SPAN };

#define AT(field)	offsetof(struct args, field)

static const struct option_row {
	const char	*name, *arg;
	enum value	 value;
	size_t		 at;		/* in struct args */
	int64_t		 min, max, dflt;	/* NUMBER; SPAN in seconds */
	const char	*help;
	const char	*values;		/* see args_values() */
} options[] = {
	{ "json", NULL, FLAG, AT(json), .help = "print JSON" },
	{ "wide", NULL, FLAG, AT(wide),
	  .help = "cut no text to the width of the terminal" },
	{ "dry-run", NULL, FLAG, AT(dry_run),
	  .help = "change nothing; print what would change" },
	{ "yes", NULL, FLAG, AT(yes), .help = "do not ask for confirmation" },
	{ "watch", NULL, FLAG, AT(watch),
	  .help = "repeat every SECONDS (2), until interrupted" },
	{ "window", "MINUTES", NUMBER, AT(window), 1, 1440, 5,
	  .help = "count messages in windows of so many minutes (5)" },
	{ "payload", NULL, FLAG, AT(payload),
	  .help = "also print subject, headers and payload, as they are sent" },
	{ "raw", NULL, FLAG, AT(raw),
	  .help = "with --payload: print nothing but its bytes" },
	{ "state", "STATE", TEXT, AT(state),
	  .help = "pending (default), delivering, delivered or dead",
	  .values = "pending delivering delivered dead" },
	{ "key", "KEY", TEXT, AT(key), .help = "only this order key" },
	{ "type", "TYPE", TEXT, AT(type),
	  .help = "only this event type; * matches any text",
	  .values = "@types" },
	{ "partition", "LABEL", TEXT, AT(partition),
	  .help = "only this partition", .values = "@labels" },
	{ "group", "ID", TEXT, AT(group),
	  .help = "only this group of outboxctl dead groups" },
	{ "command", "WORDS", TEXT, AT(command),
	  .help = "only this command or group; * matches any text" },
	{ "user", "NAME", TEXT, AT(user),
	  .help = "only this Unix user or database login" },
	{ "since", "TIME", TIME, AT(since),
	  .help = "from this time: 2026-01-31T12:00:00Z, or 90m, 2h, 7d ago" },
	{ "until", "TIME", TIME, AT(until), .help = "before this time" },
	{ "after", "SEQUENCE", NUMBER, AT(after), 0, INT64_MAX, 0,
	  .help = "continue after this sequence" },
	{ "limit", "N", NUMBER, AT(limit), 1, SCALE_MAX, 100,
	  .help = "print at most N rows (100)" },
	{ "all", NULL, FLAG, AT(all),
	  .help = "all, not only named ones or the newest N" },
	{ "release", NULL, FLAG, AT(release),
	  .help = "also release the keys that they halt" },
	{ "sent", NULL, FLAG, AT(sent),
	  .help = "they are in the stream, or were: send them no more" },
	{ "unsent", NULL, FLAG, AT(unsent),
	  .help = "they were never in the stream: send them" },
	{ "reset-attempts", NULL, FLAG, AT(reset_attempts),
	  .help = "start again with the first attempt" },
	{ "wait", "SECONDS", NUMBER, AT(wait), 0, 600, 5,
	  .help = "how long to wait for locks and rows being sent (5)" },
	{ "rate", "N", NUMBER, AT(rate), 1, SCALE_MAX, 500,
	  .help = "at most N rows a second (500)" },
	{ "batch", "N", NUMBER, AT(batch), 1, 100000, 1000,
	  .help = "N rows in one transaction (1000)" },
	{ "duplicate-window", "TIME", SPAN, AT(duplicate_window), 1,
	  366 * 86400, 30 * 60,
	  .help = "longer than outages: 30m (default), 2h, 1d" },
	{ "partitions", "N", NUMBER, AT(partitions), 1, 10000, -1,
	  .help = "of a topic (as the brokers do by default)" },
	{ "replicas", "N", NUMBER, AT(replicas), 1, 5, -1,
	  .help = "copies in a cluster (1; of a topic as the brokers do)" },
	{ "database", "NAME", TEXT, AT(database),
	  .help = "mysql.database; written into the configuration" },
	{ "account", "NAME", TEXT, AT(account),
	  .help = "mysql.user; written into the configuration" },
	{ "account-host", "HOST", TEXT, AT(account_host),
	  .help = "where that account logs in from, as the server sees it" },
	{ "stream", "NAME", TEXT, AT(stream),
	  .help = "nats.stream; written into the configuration" },
	{ "admin", "NAME", TEXT, AT(admin),
	  .help = "the account that may create all this (root)" },
	{ "admin-password-file", "FILE", TEXT, AT(admin_password_file),
	  .help = "its password; without: by the server's socket" },
	{ "follow-binlog", NULL, FLAG, AT(follow_binlog),
	  .help = "let the account follow the binlog, and read all in it" },
	{ "clear-password", NULL, FLAG, AT(clear_password),
	  .help = "send passwords in clear where no hash is taken" },
	{ "new-password", NULL, FLAG, AT(new_password),
	  .help = "accounts that exist get the passwords of the files" },
	{ "no-event", NULL, FLAG, AT(no_event),
	  .help = "send no event" },
	{ "seconds", "N", NUMBER, AT(seconds), 1, 86400, 0,
	  .help = "wait at most N seconds, not as long as it may take" },
	{ "follow", NULL, FLAG, AT(follow),
	  .help = "print new lines, until interrupted" },
	{ "lines", "N", NUMBER, AT(lines), 0, SCALE_MAX, 20,
	  .help = "the last N lines (20)" },
	{ "trigger", NULL, FLAG, AT(trigger),
	  .help = "the trigger on events, which enqueues publish.types" },
	{ "grants", NULL, FLAG, AT(grants),
	  .help = "the rights of the accounts, as GRANT statements" },
	{ "skip-bad", NULL, FLAG, AT(skip_bad),
	  .help = "skip invalid lines and count them" },
	{ "days", "N", NUMBER, AT(days), 0, 36500, -1,
	  .help = "rows delivered more than N days ago (7)" },
	{ "older-than", "TIME", TIME, AT(older_than),
	  .help = "in place of --days, a time: 2026-01-31, or 90m ago" },
	{ "prune", NULL, FLAG, AT(prune),
	  .help = "remove leases that are obsolete and empty" },
	{ "finish", NULL, FLAG, AT(finish),
	  .help = "end the change: no producer uses a former count" },
	{ "force", NULL, FLAG, AT(force),
	  .help = "finish although one did in the last ten minutes" },
	{ "dead-days", "N", NUMBER, AT(dead_days), 0, 36500, 30,
	  .help = "dead letters that died more than N days ago (30)" },
};

/* Is the name one of these words, which have blanks between them? */
static bool
is_word_among(const char *words, const char *name)
{
	size_t		 len = strlen(name), n;
	const char	*p = words;

	for (; *p != '\0'; p += n) {
		p += strspn(p, " ");
		n = strcspn(p, " ");
		if (n == len && memcmp(p, name, n) == 0)
			return true;
	}
	return false;
}

static bool
takes(const struct command *c, const struct option_row *o)
{
	if (o->at == AT(json) || o->at == AT(wide))
		return true;
	if (c->kind == COMMAND_CHANGES && (o->at == AT(dry_run) ||
	    o->at == AT(yes)))
		return true;
	return c->options != NULL && is_word_among(c->options, o->name);
}

/* "90m" in seconds; 0: not an age. */
static int64_t
parse_age(const char *text)
{
	static const struct {
		char	letter;
		int64_t	seconds;
	} units[] = { { 's', 1 }, { 'm', 60 }, { 'h', 3600 }, { 'd', 86400 } };
	char		*end;
	long long	 n = strtoll(text, &end, 10);

	if (end == text || n <= 0 || n > SCALE_MAX || end[0] == '\0' ||
	    end[1] != '\0')
		return 0;
	for (size_t i = 0; i < sizeof(units) / sizeof(units[0]); i++)
		if (units[i].letter == *end)
			return n * units[i].seconds;
	return 0;
}

/* Has the text a digit for each 0 of the form, and else the same characters? */
static bool
has_form(const char *text, const char *form)
{
	for (; *form != '\0'; text++, form++)
		if (*form == '0' ? *text < '0' || *text > '9' :
		    *form != *text && !(*form == 'T' && *text == ' '))
			return false;
	if (*text == '.')
		text += 1 + strspn(text + 1, "0123456789");
	return *text == '\0' || strcmp(text, "Z") == 0;
}

/*
 * A time as an SQL expression, in UTC as in all our sessions.  Only texts of
 * known forms are accepted, so nothing has to be quoted.
 */
static int
read_time(char **to, const struct option_row *o, const char *text)
{
	int64_t	age = parse_age(text);

	free(*to);
	*to = NULL;
	if (age > 0)
		*to = xasprintf("NOW(6) - INTERVAL %lld SECOND",
		    (long long)age);
	else if (has_form(text, "0000-00-00T00:00:00") ||
	    has_form(text, "0000-00-00"))
		*to = xasprintf("TIMESTAMP '%.10s %s%.*s'", text,
		    text[10] == '\0' ? "00:00:00" : "",
		    text[10] == '\0' ? 0 : (int)strcspn(text + 11, "Z"),
		    text[10] == '\0' ? "" : text + 11);
	else
		return ctl_misuse_value(o->name, "\"%s\" is neither a time "
		    "(UTC, 2026-01-31T12:00:00Z) nor an age (90m, 2h, 7d)",
		    text);
	return CTL_DONE;
}

static int
take_option_value(struct args *a, const struct option_row *o, const char *text)
{
	void		*at = (char *)a + o->at;
	const char	*error;
	int64_t		 n;

	switch (o->value) {
	case FLAG:
		*(bool *)at = true;
		break;
	case TEXT:
		*(const char **)at = text;
		break;
	case NUMBER:
		*(int64_t *)at = strtonum(text, o->min, o->max, &error);
		if (error != NULL)
			return ctl_misuse_value(o->name, "\"%s\" is not a "
			    "number from %lld to %lld", text,
			    (long long)o->min, (long long)o->max);
		break;
	case TIME:
		return read_time(at, o, text);
	case SPAN:
		*(int64_t *)at = n = parse_age(text);
		if (n < o->min || n > o->max)
			return ctl_misuse_value(o->name, "\"%s\" is not a "
			    "duration such as 90s, 30m, 2h or 7d, of %lld s "
			    "to %lld d", text, (long long)o->min,
			    (long long)o->max / 86400);
		break;
	}
	return CTL_DONE;
}

/* What the rest is in JSON. */
static const char *
list_name(const struct command *c)
{
	return strstr(c->rest, "SEQUENCE") != NULL ? "sequences" :
	    strstr(c->rest, "LABEL") != NULL ? "labels" :
	    strstr(c->rest, "TOPIC") != NULL ? "topics" : "keys";
}

/*
 * Name the option that getopt_long rejected.  It reorders argv and may have
 * skipped a value, so optind finds the word only for unknown names.
 */
static int
refuse_option(int opt, const struct command *c, char **argv)
{
	int	known = opt >= 256 ? opt : optopt;

	if (opt == ':')
		return ctl_misuse("--%s: its value is missing",
		    options[known - 256].name);
	if (known >= 256 && takes(c, &options[known - 256]))
		return ctl_misuse("--%s: it takes no value",
		    options[known - 256].name);
	if (known >= 256)
		return ctl_misuse("--%s: not an option of \"%s\"",
		    options[known - 256].name, c->words);
	if (known != 0)
		return ctl_misuse("-%c: not an option of \"%s\"", known,
		    c->words);
	return ctl_misuse("%s: not an option of \"%s\"", argv[optind - 1],
	    c->words);
}

int
args_parse(struct args *a, const struct command *c, int argc, char **argv)
{
	struct option	longs[NOPTIONS + 1];
	int		opt;
	char		text[80];
	bool		filters, chosen;

	memset(longs, 0, sizeof(longs));
	memset(a, 0, sizeof(*a));
	for (size_t k = 0; k < NOPTIONS; k++) {
		longs[k] = (struct option){ options[k].name,
		    options[k].value == FLAG ? no_argument :
		    required_argument, NULL, (int)k + 256 };
		if (options[k].value == NUMBER || options[k].value == SPAN)
			*(int64_t *)((char *)a + options[k].at) =
			    options[k].dflt;
	}
	if (c->limit_help != NULL)
		a->limit = 0;
	optind = 0;
	opterr = 0;
	while ((opt = getopt_long(argc, argv, ":", longs, NULL)) != -1) {
		if (opt < 256 || !takes(c, &options[opt - 256]))
			return refuse_option(opt, c, argv);
		if (take_option_value(a, &options[opt - 256], optarg) !=
		    CTL_DONE)
			return CTL_USAGE;
	}
	a->rest = argv + optind;
	a->nrest = argc - optind;
	chosen = a->nrest > 0 || a->all || a->key != NULL || a->type != NULL ||
	    a->partition != NULL || a->since != NULL;
	/* A script may have found an empty list: nothing is never all. */
	if (c->max == INT_MAX && c->min == 0 && !chosen) {
		filters = is_word_among(c->options, "key") &&
		    !is_word_among(c->options, "group");
		snprintf(text, sizeof(text), "give either %s%s or all",
		    list_name(c), filters ? ", key, type, partition, since" :
		    "");
		return ctl_misuse_of("missing", list_name(c), text, "give "
		    "either %.*s%s or --all", (int)strcspn(c->rest + 1, "]"),
		    c->rest + 1, filters ? ", --key, --type, --partition, "
		    "--since" : "");
	}
	if (a->nrest > c->max)
		return ctl_misuse("%s: unexpected argument", a->rest[c->max]);
	if (a->nrest >= c->min)
		return CTL_DONE;
	snprintf(text, sizeof(text), "%s is missing", list_name(c));
	return ctl_misuse_of("missing", list_name(c), text, "%s is missing; "
	    "usage: outboxctl %s %s", c->rest, c->words, c->rest);
}

void
args_free(struct args *a)
{
	free(a->since);
	free(a->until);
}

#define HELP_WIDTH	20	/* of an option and its value */

void
args_help(const struct command *c, FILE *to)
{
	char	text[40];

	for (size_t i = 0; i < NOPTIONS; i++) {
		const struct option_row *o = &options[i];

		if (!takes(c, o))
			continue;
		snprintf(text, sizeof(text), "--%s%s%s", o->name,
		    o->arg == NULL ? "" : " ", o->arg == NULL ? "" : o->arg);
		fprintf(to, "  %-*s", HELP_WIDTH, text);
		if (strlen(text) > HELP_WIDTH)
			fprintf(to, "\n  %*s", HELP_WIDTH, "");
		fprintf(to, "  %s\n", c->limit_help != NULL &&
		    o->at == AT(limit) ? c->limit_help : o->help);
	}
}

void
args_names(const struct command *c, FILE *to)
{
	for (size_t i = 0; i < NOPTIONS; i++)
		if (takes(c, &options[i]))
			fprintf(to, " --%s", options[i].name);
}

const char *
args_values(size_t *i, const char **name)
{
	const struct option_row	*o;

	while (*i < NOPTIONS) {
		o = &options[(*i)++];
		if (o->values != NULL) {
			*name = o->name;
			return o->values;
		}
	}
	return NULL;
}

uint64_t *
args_sequences(const struct args *a)
{
	uint64_t	*list = xcalloc((size_t)a->nrest + 1, sizeof(*list));

	for (int i = 0; i < a->nrest; i++) {
		char *end;

		errno = 0;
		list[i] = strtoull(a->rest[i], &end, 10);
		if (errno != 0 || *end != '\0' || a->rest[i][0] < '0' ||
		    a->rest[i][0] > '9') {
			ctl_error("\"%s\" is not a sequence number",
			    a->rest[i]);
			free(list);
			return NULL;
		}
	}
	return list;
}
