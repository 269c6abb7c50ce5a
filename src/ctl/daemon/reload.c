/*
 * reload.c - reload: the daemon reads its configuration again
 *
 * The file is checked before the daemon is told, so that one in error cannot
 * be taken for a reload that was made.  The daemon may refuse it nevertheless.
 */

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sysexits.h>
#include <time.h>

#include "ctl/daemon/master.h"
#include "util/clock.h"

#define ANSWER_MS	10000	/* for the master to read the file */
#define SPARE_S		5	/* after its own latest time */

struct reload {
	const struct ctl		*ctl;
	pid_t				 master;
	const struct scoreboard		*board;
	const struct scoreboard_reload	*last;		/* of the board */
	int64_t				 sent_at;
	char				 why[sizeof(struct err)];
};

static int
check_file(const struct reload *r)
{
	char		*path = master_conf_path(r->master);
	struct conf	*conf;
	struct err	 e;

	if (path == NULL)	/* main() has checked our own */
		return CTL_DONE;
	conf = conf_load(path, NULL, &e);
	conf_free(conf);
	free(path);
	if (conf != NULL)
		return CTL_DONE;
	ctl_error("%s: the daemon was not told to reload, and keeps its "
	    "configuration", e.text);
	return EX_CONFIG;
}

/* Has there been another reload since this count? */
static bool
is_answered(struct reload *r, uint32_t count)
{
	int64_t	until = r->sent_at + ANSWER_MS;

	while (__atomic_load_n(&r->last->count, __ATOMIC_ACQUIRE) == count) {
		if (clock_ms() >= until)
			return false;
		ctl_sleep(MASTER_POLL_MS);
	}
	memcpy(r->why, r->last->why, sizeof(r->why) - 1);
	return true;
}

static unsigned
count_workers(const struct scoreboard *b, bool new_only)
{
	unsigned	n = 0;

	for (unsigned i = 0; i < CONF_MAX_WORKERS; i++) {
		const struct scoreboard_line *l = &b->lines[i];

		n += l->state != SCOREBOARD_FREE &&
		    (!new_only || l->generation == b->generation);
	}
	return n;
}

static json_t *
moment_json(int64_t seconds)
{
	time_t		t = (time_t)seconds;
	struct tm	tm;
	char		text[ROWS_TIME_SIZE];

	gmtime_r(&t, &tm);
	strftime(text, sizeof(text), "%Y-%m-%dT%H:%M:%SZ", &tm);
	return json_string(text);
}

static void
say_accepted(const struct reload *r)
{
	json_t	*by = moment_json(r->last->renew_by);

	if (!r->ctl->args.json) {
		printf("accepted: generation %u; the workers are replaced one "
		    "at a time, by %s at the latest\n", r->board->generation,
		    json_string_value(by));
		if (r->why[0] != '\0')
			printf("%s\n", r->why);
		fflush(stdout);
	}
	json_decref(by);
}

static bool
wait_for_renewal(const struct reload *r)
{
	int64_t	until = r->sent_at + r->ctl->args.seconds * 1000;
	int64_t	latest = r->last->renew_by + SPARE_S;

	while (r->last->renewed_at == 0) {
		if (r->ctl->args.seconds > 0 ? clock_ms() >= until :
		    (int64_t)time(NULL) >= latest)
			return false;
		ctl_sleep(MASTER_POLL_MS);
	}
	return true;
}

static void
report_renewal(const struct reload *r, bool renewed)
{
	int64_t	 took = clock_ms() - r->sent_at;
	json_t	*span = span_json(took);

	if (r->ctl->args.json)
		print_object(r->ctl, json_pack("{s:b, s:I, s:o, s:b, s:I, "
		    "s:I, s:o, s:o}", "accepted", true, "generation",
		    (json_int_t)r->board->generation, "renew_by",
		    moment_json(r->last->renew_by), "renewed", renewed,
		    "workers", (json_int_t)count_workers(r->board, false),
		    "new_workers", (json_int_t)count_workers(r->board, true),
		    "took_ms", renewed ? json_integer(took) : json_null(),
		    "why", r->why[0] == '\0' ? json_null() :
		    json_string(r->why)));
	else if (renewed)
		printf("all %u workers are new after %s\n",
		    count_workers(r->board, true), json_string_value(span));
	json_decref(span);
}

static int
follow_renewal(const struct reload *r)
{
	bool	renewed;

	say_accepted(r);
	renewed = wait_for_renewal(r);
	report_renewal(r, renewed);
	if (renewed)
		return CTL_DONE;
	return ctl_error("after %lld s only %u of %u workers are new, and the "
	    "daemon goes on with it: see outboxctl status and outboxctl logs",
	    (long long)(clock_ms() - r->sent_at) / 1000,
	    count_workers(r->board, true), count_workers(r->board, false));
}

static int
report_refusal(const struct reload *r)
{
	if (r->ctl->args.json)
		print_object(r->ctl, json_pack("{s:b, s:I, s:s}", "accepted",
		    false, "generation", (json_int_t)r->board->generation,
		    "why", r->why));
	return ctl_error("refused: %s; the daemon keeps its configuration "
	    "(generation %u)", r->why, r->board->generation);
}

static int
send_reload(struct reload *r)
{
	uint32_t	count = r->last->count;

	r->sent_at = clock_ms();
	if (master_signal(r->master, SIGHUP) != CTL_DONE)
		return CTL_FAILED;
	if (!is_answered(r, count))
		return ctl_error("outbox-master with pid %d did not answer "
		    "within %d s: see outboxctl logs", (int)r->master,
		    ANSWER_MS / 1000);
	return r->last->result == SCOREBOARD_RELOAD_ACCEPTED ?
	    follow_renewal(r) : report_refusal(r);
}

int
reload_run(struct ctl *c)
{
	struct master_here	m;
	struct reload		r = { .ctl = c };
	int			status;

	master_find(c, &m);
	if (m.pid == 0)
		status = master_missing(&m);
	else if (m.board == NULL)
		status = ctl_error("%s: the daemon that runs is of another "
		    "version: restart it instead", m.why.text);
	else {
		r.master = m.pid;
		r.board = m.board;
		r.last = &m.board->reload;
		if ((status = check_file(&r)) == CTL_DONE)
			status = send_reload(&r);
	}
	master_release(&m);
	return status;
}
