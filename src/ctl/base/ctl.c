/*
 * ctl.c - the connection to the database, errors of commands, and the question
 * before a change
 */

#include "ctl/base/ctl.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/command_file.h"
#include "ctl/base/outcome.h"
#include "ipc/daemon.h"
#include "ipc/scoreboard.h"
#include "util/display.h"
#include "util/xalloc.h"

/* A day, for ALTER TABLE. */
#define PATIENCE_MS	(INT64_C(24) * 3600 * 1000)

static const char	*file;		/* NULL: not known yet */

void
ctl_use_file(const char *path)
{
	file = path;
}

int
ctl_refuse(const char *remedy, const char *fmt, ...)
{
	struct buf	 why = { 0 }, cure = { 0 };
	char		*text, *line;
	va_list		 ap;

	va_start(ap, fmt);
	if (vasprintf(&text, fmt, ap) < 0)
		text = xstrdup(fmt);
	va_end(ap);
	command_file_put(&why, text, file);
	command_file_put(&cure, remedy == NULL ? "" : remedy, file);
	outcome_error(why.data, remedy == NULL ? NULL : cure.data);
	line = xasprintf("outboxctl: %s%s%s", why.data, remedy == NULL ? "" :
	    ": ", cure.data);
	display_clean(line);	/* a value begins no line of its own */
	display_print(stderr, "%s\n", line);
	free(line);
	free(text);
	buf_free(&why);
	buf_free(&cure);
	return CTL_FAILED;
}

int
ctl_misuse_value(const char *option, const char *fmt, ...)
{
	char	text[1024];
	int	n = snprintf(text, sizeof(text), "%s: ", option);
	va_list	ap;

	va_start(ap, fmt);
	vsnprintf(text + n, sizeof(text) - (size_t)n, fmt, ap);
	va_end(ap);
	return ctl_misuse_of("value", option, text, "--%s", text);
}

/* Not those of schema, nor setup. */
static bool
has_tables(const struct ctl *c)
{
	return c->command->needs != NEEDS_DATABASE &&
	    c->command->needs != NEEDS_FILE;
}

/* What helps against an error of the database; NULL: its text says it. */
static const char *
remedy_of(const struct ctl *c, const struct err *e)
{
	if (strstr(e->text, "command denied") != NULL)
		return has_tables(c) ? "sql/operator.sql grants it" :
		    "a missing table or right: outboxctl setup --no-event; "
		    "else run it as an administrator, with --admin root, and "
		    "--admin-password-file FILE if it has a password";
	if (c->in_doubt)
		return NULL;
	if (strstr(e->text, "(1146)") != NULL)
		return "outboxctl setup --no-event creates it";
	switch (store_fault(c->store)) {
	case DB_LOST:
	case DB_CLOSED:
		/* A server that runs may refuse, or wait. */
		return strstr(e->text, "(1040)") != NULL ||
		    strstr(e->text, "no answer within") != NULL ?
		    "outboxctl status has the remedy" : "start the server, or "
		    "correct the section mysql of the configuration";
	case DB_READONLY:
		return "name the primary in the section mysql of the "
		    "configuration";
	default:
		return NULL;
	}
}

int
ctl_fail(const struct ctl *c, const struct err *e)
{
	enum db_fault	fault = store_fault(c->store);
	int		status = CTL_FAILED;

	if (fault == DB_LOST || fault == DB_CLOSED || fault == DB_READONLY)
		status = CTL_UNREACHABLE;
	ctl_refuse(remedy_of(c, e), "%s", e->text);
	outcome_failed(status);
	return status;
}

/* By default JetStream keeps its streams below /tmp. */
#define TURN_ON	"add to the configuration of the NATS server " \
		"jetstream {store_dir: \"/var/lib/nats\"}, a directory of the " \
		"server's user and not below /tmp, and restart the server; " \
		"README.Debian has the commands"

int
ctl_no_broker(const struct err *e)
{
	ctl_refuse(strstr(e->text, "JetStream does not answer") != NULL ?
	    TURN_ON : "start the server, or correct the section nats of the "
	    "configuration", "%s", e->text);
	return CTL_UNREACHABLE;
}

bool
ctl_confirm_impact(const struct ctl *c, const char *impact, ...)
{
	char	text[1024], answer[16] = "";
	va_list	ap;

	if (c->args.yes || c->args.dry_run)
		return true;
	va_start(ap, impact);
	vsnprintf(text, sizeof(text), impact, ap);
	va_end(ap);
	if (!isatty(STDIN_FILENO)) {
		ctl_refuse("confirm it with --yes", "%s; nothing was done",
		    text);
		return false;
	}
	display_clean(text);	/* a value begins no line of its own */
	display_print(stderr, "%s. Continue? [y/N] ", text);
	if (fgets(answer, sizeof(answer), stdin) != NULL &&
	    (answer[0] == 'y' || answer[0] == 'Y'))
		return true;
	ctl_error("nothing was done");
	return false;
}

bool
ctl_confirm(const struct ctl *c, uint64_t n, const char *thing,
    const char *done)
{
	return n <= CTL_MANY || ctl_confirm_impact(c, "%s would be %s",
	    COUNTED(n, thing), done);
}

void
ctl_follow_workers(struct ctl *c)
{
	const char		*peer = store_is_open(c->store) ?
				    store_peer(c->store) : "";
	char			*prefix, *path, server[SCOREBOARD_SERVER];
	struct scoreboard	*b;
	struct err		 e;
	bool			 alive;

	if (c->conf->mysql.hosts.n < 2)
		return;
	prefix = daemon_run_prefix(c->conf->master.pidfile);
	path = xasprintf("%s.scoreboard", prefix);
	b = scoreboard_open(path, &alive, &e);
	if (b != NULL && alive && scoreboard_server(b, peer, server) &&
	    db_prefer(store_db(c->store), server) && strcmp(server, peer) != 0)
		store_close(c->store);
	scoreboard_close(b);
	free(path);
	free(prefix);
}

int
ctl_open(struct ctl *c, struct err *e)
{
	if (c->store == NULL) {
		/* The daemon's account may not write the audit. */
		if (c->args.admin != NULL ||
		    c->args.admin_password_file != NULL)
			ctl_use_admin(c, c->conf);
		else if (c->command->kind >= COMMAND_CHANGES)
			conf_use_operator(c->conf);
		c->store = store_new(c->conf, "outboxctl", has_tables(c) ?
		    c->conf->worker.lease_renew : PATIENCE_MS);
	}
	ctl_follow_workers(c);
	return store_open(c->store, e) == 0 && version_guard(c, e) == 0 &&
	    (!has_tables(c) || store_learn(c->store, e) == 0) ? 0 : -1;
}

int
ctl_connect(struct ctl *c)
{
	struct err	e;

	return ctl_open(c, &e) == 0 ? CTL_DONE : ctl_fail(c, &e);
}

int
ctl_check_table(const struct ctl *c)
{
	if (c->command->table == 0 || !store_is_pillar(c->store))
		return CTL_DONE;
	return ctl_refuse("outboxctl setup --no-event creates it",
	    "%s: no such table, or no right to see it",
	    store_table_name(c->store, c->command->table));
}
