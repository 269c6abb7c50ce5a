/* totals.c - see totals.h */

#include "ipc/totals.h"

#include <assert.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

/*
 * The statements of the daemon, as the rooms mysql, store and recovery name
 * them; sorted bytewise.  Of outboxctl's only those that the daemon sends, too.
 */
static const char *const	statements[] = {
	"acquire", "backlog", "begin", "binlog", "block", "blocked", "bump",
	"bump own", "bury", "candidates", "claim", "commit", "compare dead",
	"compare events", "compare rows", "counts",
	"delivered", "fetch", "fetch away", "former label", "give back",
	"glance", "halt", "heartbeat", "history", "holes", "in doubt", "keep",
	"leases", "leave", "newest", "now", "park", "partitions",
	"prune", "purge", "reconcile", "register", "registry", "release",
	"renew", "repartition", "retention", "retry", "rollback", "rows found",
	"schedule", "scheduled", "schema", "scrub", "send again", "server",
	"session", "settings", "settle", "strays", "stream", "take over",
	"unblock", "unpark", "waiting", "watermark"
};

#define NAMED	(sizeof(statements) / sizeof(statements[0]))

static_assert(NAMED < TOTALS_STATEMENTS, "one is left for other names");

/* All counters are uint64_t, so that they are added as an array. */
#define NUMBERS	(sizeof(struct totals) / sizeof(uint64_t))

static_assert(sizeof(struct totals) % sizeof(uint64_t) == 0,
    "struct totals has uint64_t only");

static const char *const	roles[TOTALS_ROLES] = {
	[TOTALS_WORKER] = "worker", [TOTALS_LISTENER] = "listener",
	[TOTALS_JANITOR] = "janitor", [TOTALS_MONITOR] = "monitor"
};

static const char *const	ends[TOTALS_ENDS] = {
	[TOTALS_EXIT] = "exit", [TOTALS_SIGNAL] = "signal",
	[TOTALS_HANG] = "hang", [TOTALS_RELOAD] = "reload"
};

static const char *const	reasons[TOTALS_REASONS] = {
	[TOTALS_MESSAGE] = "message", [TOTALS_ATTEMPTS] = "attempts",
	[TOTALS_POISON] = "poison"
};

const char *
totals_role_word(enum totals_role role)
{
	return roles[role];
}

const char *
totals_end_word(enum totals_end end)
{
	return ends[end];
}

const char *
totals_reason_word(enum totals_reason reason)
{
	return reasons[reason];
}

enum totals_reason
totals_reason(const char *word)
{
	for (unsigned i = 0; i < TOTALS_REASONS; i++)
		if (word != NULL && strcmp(reasons[i], word) == 0)
			return (enum totals_reason)i;
	return TOTALS_MESSAGE;
}

static int
name_cmp(const void *name, const void *row)
{
	return strcmp(name, *(const char *const *)row);
}

void
totals_statement(void *arg, const char *name, int64_t us)
{
	struct totals		*t = arg;
	const char *const	*row = bsearch(name, statements, NAMED,
				    sizeof(statements[0]), name_cmp);
	size_t			 i = row == NULL ? NAMED :
				    (size_t)(row - statements);

	t->statements[i].count++;
	t->statements[i].us += us > 0 ? (uint64_t)us : 0;
}

const char *
totals_statement_name(unsigned i)
{
	return i < NAMED ? statements[i] : i == NAMED ? "other" : NULL;
}

void
totals_add(struct totals *sum, const struct totals *t)
{
	uint64_t	*to = (uint64_t *)sum;
	const uint64_t	*from = (const uint64_t *)t;

	for (size_t i = 0; i < NUMBERS; i++)
		to[i] += from[i];
}
