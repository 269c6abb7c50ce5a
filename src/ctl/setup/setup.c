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

#include "common/command_file.h"
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

/* What is typed; NULL: nothing, so the value stays.  The caller frees. */
static char *
ask(const struct question *q)
{
	char	*line = NULL;
	size_t	 size = 0;

	display_print(stderr, "%s [%s]: ", q->text, q->now);
	if (getline(&line, &size, stdin) >= 0) {
		line[strcspn(line, "\r\n")] = '\0';
		if (line[0] != '\0')
			return line;
	}
	free(line);
	return NULL;
}

/* The new value of a key; NULL: it stays.  The caller frees. */
static char *
answer_to(const struct ctl *c, const struct question *q)
{
	char	*answer = NULL;

	if (q->given != NULL)
		answer = xstrdup(q->given);
	else if (!c->args.yes && !c->args.dry_run && isatty(STDIN_FILENO))
		answer = ask(q);
	if (answer == NULL || strcmp(answer, q->now) != 0)
		return answer;
	/* It counts, but is only in a variable: see setup_prepare(). */
	if (c->args.dry_run && conf_variable(q->key) != NULL)
		return answer;
	free(answer);
	return NULL;
}

static int
write_answers(struct setup *s, const struct conf_change *changes, size_t n)
{
	struct ctl	*c = s->ctl;
	struct conf	*conf;
	struct err	 e;

	if (n == 0)
		return CTL_DONE;
	/* In a dry run the file stays, and values count as if in it. */
	for (size_t i = 0; i < n && c->args.dry_run; i++) {
		conf_put_variable(&changes[i]);
		setup_step(s, "file", "%s would be written into %s: %s",
		    changes[i].name, c->path, changes[i].value);
	}
	if (!c->args.dry_run && conf_edit(c->path, changes, n, &e) < 0)
		return ctl_error("%s", e.text);
	if ((conf = conf_load(c->path, NULL, &e)) == NULL)
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
	if (conf != NULL || strstr(e.text, q.key) == NULL ||
	    (answer = answer_to(c, &q)) == NULL)
		return CTL_DONE;
	change.value = answer;
	if (c->args.dry_run)
		conf_put_variable(&change);
	else if (conf_edit(c->path, &change, 1, &e) < 0)
		status = ctl_error("%s", e.text);
	c->args.database = answer;	/* so it is not asked again */
	return status;
}

static int
choose_names(struct setup *s)
{
	struct ctl		*c = s->ctl;
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
	size_t			 n = 0, nnames = conf_goes_to_stream(c->conf) ?
				    NAMES : NAMES - 1;
	int			 status;

	/* The last one only if there is a stream. */
	for (size_t i = 0; i < nnames; i++)
		if ((answers[i] = answer_to(c, &questions[i])) != NULL)
			changes[n++] = (struct conf_change){ questions[i].key,
			    answers[i] };
	status = write_answers(s, changes, n);
	for (size_t i = 0; i < nnames; i++)
		free(answers[i]);
	return status;
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
		return setup_print_sql(s) == CTL_DONE &&
		    setup_print_topic(s) == CTL_DONE ? setup_print_stream(s) :
		    CTL_FAILED;
	if ((stream = setup_stream(s)) == CTL_DONE)
		stream = setup_topic(s);
	database = setup_database(s);
	if (database != CTL_DONE || stream != CTL_DONE)
		return database != CTL_DONE ? database : stream;
	return s->ctl->args.no_event ? CTL_DONE : setup_event(s);
}

static void
say_the_end(struct setup *s, int status)
{
	struct buf	next = { 0 };
	struct err	e;
	bool		runs = false;

	if (s->ctl->args.json)
		print_object(s->ctl, json_pack("{s:O}", "steps", s->steps));
	if (s->ctl->args.json || status != CTL_DONE || s->ctl->args.dry_run)
		return;
	/* Without an administrator's login it is not known. */
	if (s->admin.store != NULL && setup_has_daemon(s, &runs, &e) < 0)
		runs = false;
	command_file_put(&next, runs ? "a daemon runs for this "
	    "database; see outboxctl status" :
	    "start outbox-master, then outboxctl status", s->ctl->path);
	display_print(stdout, "Ready: %s.\n"
	    "The application enqueues with an account that has the "
	    "rights of outbox_producer in sql/grants.sql.\n", next.data);
	buf_free(&next);
}

int
setup_run(struct ctl *c)
{
	struct setup	s = { .ctl = c, .steps = json_array() };
	int		status = choose_names(&s);
	bool		stream = conf_goes_to_stream(c->conf), go_on;

	if (status != CTL_DONE) {
		json_decref(s.steps);
		return status;
	}
	s.admin = *c;
	s.admin.conf = NULL;
	s.account = setup_account_name(c, c->conf->mysql.user);
	s.operator = setup_account_name(c, setup_operator_user(c->conf));
	s.topic = setup_topic_name(c);
	go_on = ctl_confirm_impact(c, "Setup creates what is missing of "
	    "database %s, account %s%s%s%s", c->conf->mysql.database,
	    s.account, stream ? " and stream " : s.topic != NULL ?
	    " and topic " : "", stream ? c->conf->nats.stream :
	    s.topic != NULL ? s.topic : "", c->args.no_event ? "" :
	    ", and sends one event");
	status = CTL_FAILED;
	if (go_on) {
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
	free(s.topic);
	return status;
}
