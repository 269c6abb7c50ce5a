/* ctl.c - errors of commands, and the question before a change */

#include "ctl/base/ctl.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* A day, for ALTER TABLE. */
#define PATIENCE_MS	(INT64_C(24) * 3600 * 1000)

/* To change more rows than these needs a confirmation. */
#define MANY	100

int
ctl_fail(const struct ctl *c, const struct err *e)
{
	const char	*remedy = "";

	if (strstr(e->text, "command denied") != NULL)
		remedy = c->command->bare ? ": -c with an account that may" :
		    ": sql/operator.sql grants it";
	fprintf(stderr, "outboxctl: %s%s\n", e->text, remedy);
	switch (store_fault(c->store)) {
	case DB_LOST:
	case DB_CLOSED:
	case DB_READONLY:
		return CTL_UNREACHABLE;
	default:
		return CTL_FAILED;
	}
}

static void
print_error(const char *fmt, va_list ap)
{
	fputs("outboxctl: ", stderr);
	vfprintf(stderr, fmt, ap);
	fputc('\n', stderr);
}

int
ctl_error(const char *fmt, ...)
{
	va_list	ap;

	va_start(ap, fmt);
	print_error(fmt, ap);
	va_end(ap);
	return CTL_FAILED;
}

int
ctl_misuse(const char *fmt, ...)
{
	va_list	ap;

	va_start(ap, fmt);
	print_error(fmt, ap);
	va_end(ap);
	return CTL_USAGE;
}

int
ctl_no_broker(const struct err *e)
{
	ctl_error("%s", e->text);
	return CTL_UNREACHABLE;
}

int
ctl_no_table(const struct ctl *c, enum store_table t)
{
	return ctl_error("%s: no such table, or no right to see it: load "
	    "sql/schema.sql and sql/operator.sql",
	    store_table_name(c->store, t));
}

bool
ctl_confirm(const struct ctl *c, uint64_t n, const char *done)
{
	char	answer[16] = "";

	if (c->args.yes || c->args.dry_run || n <= MANY)
		return true;
	if (!isatty(STDIN_FILENO)) {
		ctl_error("%llu rows would be %s, and nothing was done: "
		    "confirm it with --yes", (unsigned long long)n, done);
		return false;
	}
	fprintf(stderr, "%llu rows would be %s. Continue? [y/N] ",
	    (unsigned long long)n, done);
	if (fgets(answer, sizeof(answer), stdin) != NULL &&
	    (answer[0] == 'y' || answer[0] == 'Y'))
		return true;
	ctl_error("nothing was done");
	return false;
}

int
ctl_open(struct ctl *c, struct err *e)
{
	if (c->store == NULL)
		c->store = store_new(c->conf, "outboxctl", c->command->bare ?
		    PATIENCE_MS : c->conf->worker.lease_renew);
	return store_open(c->store, e) == 0 && version_guard(c, e) == 0 &&
	    (c->command->bare || store_learn(c->store, e) == 0) ? 0 : -1;
}

int
ctl_connect(struct ctl *c)
{
	struct err	e;

	return ctl_open(c, &e) == 0 ? CTL_DONE : ctl_fail(c, &e);
}
