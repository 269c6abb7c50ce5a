/*
 * setup.c - setup: from servers to the first event
 *
 * Three names may be asked for or given as options, and are written into the
 * configuration.  Then each step makes what is missing.
 */

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "ctl/setup/setup.h"
#include "nats/bus.h"
#include "util/display.h"
#include "util/xalloc.h"

#define NAMES	3

/* A name that setup asks for, and its key. */
struct question {
	const char	*text, *key;
	const char	*now;		/* the configuration's value */
	const char	*given;		/* by an option, or NULL */
};

/* An empty answer keeps the value; the caller frees. */
static char *
ask(const struct question *q)
{
	char	*line = NULL;
	size_t	 size = 0;

	display_print(stderr, "%s [%s]: ", q->text, q->now);
	if (getline(&line, &size, stdin) < 0) {
		free(line);
		return NULL;
	}
	line[strcspn(line, "\r\n")] = '\0';
	if (line[0] != '\0')
		return line;
	free(line);
	return NULL;
}

/* The new value of a key; NULL: it stays.  The caller frees. */
static char *
answer_to(const struct ctl *c, const struct question *q)
{
	char	*answer = q->given != NULL ? xstrdup(q->given) : NULL;

	if (answer == NULL && !c->args.yes && !c->args.dry_run &&
	    isatty(STDIN_FILENO))
		answer = ask(q);
	if (answer != NULL && strcmp(answer, q->now) == 0) {
		free(answer);
		answer = NULL;
	}
	return answer;
}

static int
write_answers(struct ctl *c, const struct conf_change *changes, size_t n)
{
	struct conf	*conf;
	struct err	 e;

	if (n == 0)
		return CTL_DONE;
	if (c->args.dry_run)
		return ctl_refuse("change the file, or leave out --dry-run",
		    "%s would have to be changed first", c->path);
	if (conf_edit(c->path, changes, n, &e) < 0 ||
	    (conf = conf_load(c->path, NULL, &e)) == NULL)
		return ctl_error("%s", e.text);
	conf_free(c->conf);
	c->conf = conf;
	return CTL_DONE;
}

/*
 * The file of a package names no database, so it is no configuration yet.
 * Other errors are left to whoever loads it next.
 */
int
setup_prepare(struct ctl *c)
{
	const struct question	 q = { "Database of the application",
				    "mysql.database", "", c->args.database };
	struct conf_change	 change = { .name = q.key };
	struct err		 e;
	struct conf		*conf = conf_load(c->path, NULL, &e);
	char			*answer;
	int			 status = CTL_DONE;

	conf_free(conf);
	if (conf != NULL || c->args.dry_run || strstr(e.text, q.key) == NULL ||
	    (answer = answer_to(c, &q)) == NULL)
		return CTL_DONE;
	change.value = answer;
	if (conf_edit(c->path, &change, 1, &e) < 0)
		status = ctl_error("%s", e.text);
	c->args.database = answer;	/* so it is not asked again */
	return status;
}

static int
choose_names(struct ctl *c)
{
	const struct question	questions[NAMES] = {
		{ "Database of the application", "mysql.database",
		  c->conf->mysql.database, c->args.database },
		{ "Account of the daemon", "mysql.user",
		  c->conf->mysql.user, c->args.account },
		{ "JetStream stream", "nats.stream",
		  c->conf->nats.stream, c->args.stream },
	};
	struct conf_change	changes[NAMES];
	char			*answers[NAMES];
	size_t			 n = 0, nnames = setup_has_stream(c) ? NAMES :
				    NAMES - 1;
	int			 status;

	/* The last one only if there is a stream. */
	for (size_t i = 0; i < nnames; i++)
		if ((answers[i] = answer_to(c, &questions[i])) != NULL)
			changes[n++] = (struct conf_change){ questions[i].key,
			    answers[i] };
	status = write_answers(c, changes, n);
	for (size_t i = 0; i < nnames; i++)
		free(answers[i]);
	return status;
}

static int
confirm(const struct ctl *c, const struct setup *s)
{
	bool	stream = setup_has_stream(c);

	return ctl_confirm_impact(c, "Setup creates what is missing of "
	    "database %s, account %s%s%s%s", c->conf->mysql.database,
	    s->account, stream ? " and stream " : "",
	    stream ? c->conf->nats.stream : "", c->args.no_event ? "" :
	    ", and sends one event") ? CTL_DONE : CTL_FAILED;
}

/*
 * The stream comes first, because of the libraries, see bus.h.  The database is
 * prepared also where the stream needs an administrator.
 */
static int
run_steps(struct setup *s)
{
	int	database, stream;

	if (s->ctl->args.dry_run)
		return setup_print_sql(s) == CTL_DONE ? setup_print_stream(s) :
		    CTL_FAILED;
	stream = setup_stream(s);
	database = setup_database(s);
	if (database != CTL_DONE || stream != CTL_DONE)
		return database != CTL_DONE ? database : stream;
	return s->ctl->args.no_event ? CTL_DONE : setup_event(s);
}

/* Without an administrator's login it is not known. */
static bool
runs_already(struct setup *s)
{
	bool		runs = false;
	struct err	e;

	return s->admin.store != NULL && setup_has_daemon(s, &runs, &e) == 0 &&
	    runs;
}

static void
say_the_end(struct setup *s, int status)
{
	if (s->ctl->args.json)
		print_object(s->ctl, json_pack("{s:O}", "steps", s->steps));
	else if (status == CTL_DONE && !s->ctl->args.dry_run)
		display_print(stdout, "Ready: %soutboxctl status.\n"
		    "The application enqueues with an account that has the "
		    "rights of outbox_producer in sql/grants.sql.\n",
		    runs_already(s) ? "a daemon runs for this database; see " :
		    "start outbox-master, then ");
}

int
setup_run(struct ctl *c)
{
	struct setup	s = { .ctl = c, .admin = *c };
	int		status = choose_names(c);

	if (status != CTL_DONE)
		return status;
	s.admin.conf = NULL;
	s.steps = json_array();
	s.account = setup_account_name(c, c->conf->mysql.user);
	s.operator = setup_account_name(c, setup_operator_user(c->conf));
	if ((status = confirm(c, &s)) == CTL_DONE) {
		status = run_steps(&s);
		say_the_end(&s, status);
		if (s.bus.arg != NULL)
			pub_free(&s.bus);
	}
	store_free(s.admin.store);
	conf_free(s.admin.conf);
	json_decref(s.steps);
	free(s.account);
	free(s.operator);
	return status;
}
