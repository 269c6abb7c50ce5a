/* ctl.c - errors of commands, and the question before a change */

#include "ctl/base/ctl.h"

#include <stdarg.h>
#include <stdio.h>
#include <sysexits.h>
#include <unistd.h>

/* A day, for ALTER TABLE. */
#define PATIENCE_MS	(INT64_C(24) * 3600 * 1000)

/* To change more rows than these needs a confirmation. */
#define MANY	100

int
ctl_fail(const struct ctl *c, const struct err *e)
{
	fprintf(stderr, "outboxctl: %s\n", e->text);
	switch (store_fault(c->store)) {
	case DB_LOST:
	case DB_CLOSED:
	case DB_READONLY:
		return EX_UNAVAILABLE;
	default:
		return CTL_FAILED;
	}
}

int
ctl_no_such(const struct ctl *c, const char *fmt, ...)
{
	va_list	ap;

	(void)c;
	fputs("outboxctl: ", stderr);
	va_start(ap, fmt);
	vfprintf(stderr, fmt, ap);
	va_end(ap);
	fputc('\n', stderr);
	return CTL_FAILED;
}

int
ctl_no_table(const struct ctl *c, enum store_table t)
{
	return ctl_no_such(c, "%s: no such table, or no right to see it: load "
	    "sql/schema.sql and sql/operator.sql",
	    store_table_name(c->store, t));
}

bool
ctl_confirm(const struct ctl *c, uint64_t n, const char *what)
{
	char	answer[16] = "";

	if (c->args.yes || c->args.dry_run || n <= MANY)
		return true;
	if (!isatty(STDIN_FILENO)) {
		fprintf(stderr, "outboxctl: %s: %llu rows: say --yes\n", what,
		    (unsigned long long)n);
		return false;
	}
	fprintf(stderr, "%s: %llu rows. Go on? [y/N] ", what,
	    (unsigned long long)n);
	return fgets(answer, sizeof(answer), stdin) != NULL &&
	    (answer[0] == 'y' || answer[0] == 'Y');
}

int
ctl_connect(struct ctl *c)
{
	struct err	e;

	c->store = c->command->bare ?
	    store_new_patient(c->conf, "outboxctl", PATIENCE_MS) :
	    store_new(c->conf, "outboxctl");
	if (store_open(c->store, &e) == 0 && version_guard(c, &e) == 0 &&
	    (c->command->bare || store_learn(c->store, &e) == 0))
		return CTL_DONE;
	return ctl_fail(c, &e);
}
