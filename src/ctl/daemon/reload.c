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
#include <time.h>

#include "common/exits.h"
#include "ctl/base/screen.h"
#include "ctl/daemon/master.h"
#include "util/clock.h"
#include "util/display.h"
#include "util/duration.h"
#include "util/xalloc.h"

#define ANSWER_MS	10000	/* for the master to read the file */
#define SPARE_S		5	/* after its own latest time */

struct reload {
	const struct ctl		*ctl;
	pid_t				 master;
	const struct scoreboard		*board;
	const struct scoreboard_reload	*last;		/* of the board */
	int64_t				 sent_at;
	uint32_t			 result, generation;
	char				 why[sizeof(struct err)];
};

/* With the daemon's options, for they must fit the file as well. */
static int
check_file(const struct reload *r)
{
	struct conf_override	 options;
	char			*path = master_conf_path(r->master, &options);
	struct conf		*conf;
	struct err		 e;

	if (path == NULL)	/* main() has checked our own */
		return CTL_DONE;
	conf = conf_load(path, &options, &e);
	conf_free(conf);
	free(path);
	if (conf != NULL)
		return CTL_DONE;
	ctl_error("%s: the daemon was not told to reload, and keeps its "
	    "configuration", e.text);
	return EXIT_CONFIG;
}

static uint32_t
count_reloads(const struct reload *r)
{
	return __atomic_load_n(&r->last->count, __ATOMIC_ACQUIRE);
}

/*
 * Take the answer.  A reload that was under way when the signal was sent may
 * have read an older file: false.
 */
static bool
take_answer(struct reload *r, uint32_t before)
{
	uint32_t	count;

	do {
		count = count_reloads(r);
		if (count == before || r->last->began_at < r->sent_at)
			return false;
		r->result = r->last->result;
		r->generation = r->board->generation;
		memcpy(r->why, r->last->why, sizeof(r->why) - 1);
	} while (count_reloads(r) != count);
	return true;
}

/* A worker of a later reload is new, too. */
static unsigned
count_workers(const struct reload *r, bool new_only)
{
	unsigned	n = 0;

	for (unsigned i = 0; i < CONF_MAX_WORKERS; i++) {
		const struct scoreboard_line *l = &r->board->lines[i];

		n += l->state != SCOREBOARD_FREE &&
		    (!new_only || l->generation >= r->generation);
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

enum renewal { RENEWED, TIMED_OUT, ENDED };

/* If another reload is accepted meanwhile, for the workers of that one. */
static enum renewal
wait_for_renewal(const struct reload *r)
{
	int64_t	until = r->sent_at + r->ctl->args.seconds * 1000;

	while (r->last->renewed_at == 0) {
		if (!master_lives(r->ctl, r->master))
			return ENDED;
		if (r->ctl->args.seconds > 0 ? clock_ms() >= until :
		    (int64_t)time(NULL) >= r->last->renew_by + SPARE_S)
			return TIMED_OUT;
		ctl_sleep(MASTER_POLL_MS);
	}
	return RENEWED;
}

static int
report_end(const struct reload *r, const char *when)
{
	return ctl_error("outbox-master with pid %d has ended %s: see "
	    "outboxctl logs", (int)r->master, when);
}

static void
say_accepted(const struct reload *r)
{
	json_t	*by = moment_json(r->last->renew_by);
	char	*text = xasprintf("accepted: generation %u; its workers are "
		    "new by %s at the latest", r->generation,
		    json_string_value(by));

	screen_put_lines(r->ctl, 0, text);
	if (r->why[0] != '\0')
		screen_put_lines(r->ctl, 0, r->why);
	fflush(stdout);
	free(text);
	json_decref(by);
}

static void
print_renewal(const struct reload *r, bool renewed)
{
	print_object(r->ctl, json_pack("{s:b, s:I, s:o, s:b, s:I, s:I, s:o, "
	    "s:o}",
	    "accepted", true,
	    "generation", (json_int_t)r->generation,
	    "renew_by", moment_json(r->last->renew_by),
	    "renewed", renewed,
	    "workers", (json_int_t)count_workers(r, false),
	    "new_workers", (json_int_t)count_workers(r, true),
	    "took_ms", renewed ? json_integer(r->last->renewed_ms) :
	    json_null(),
	    "why", r->why[0] == '\0' ? json_null() : json_string(r->why)));
}

static int
follow_renewal(const struct reload *r)
{
	enum renewal	end;
	unsigned	n;

	if (!r->ctl->args.json)
		say_accepted(r);
	end = wait_for_renewal(r);
	n = count_workers(r, true);
	if (r->ctl->args.json)
		print_renewal(r, end == RENEWED);
	else if (end == RENEWED)
		display_print(stdout, n == 1 ? "%u worker is new after %s\n" :
		    "all %u workers are new after %s\n", n,
		    duration_words(r->last->renewed_ms).text);
	if (end == RENEWED)
		return CTL_DONE;
	if (end == ENDED)
		return report_end(r, "before all workers were new");
	return ctl_error("after %lld s only %u of %u workers are new, and the "
	    "daemon goes on with it: see outboxctl status and outboxctl logs",
	    (long long)(clock_ms() - r->sent_at) / 1000, n,
	    count_workers(r, false));
}

static int
send_reload(struct reload *r)
{
	uint32_t	before = count_reloads(r);

	r->sent_at = clock_ms();
	if (master_signal(r->master, SIGHUP) != CTL_DONE)
		return CTL_FAILED;
	while (!take_answer(r, before)) {
		if (!master_lives(r->ctl, r->master))
			return report_end(r, "without an answer");
		if (clock_ms() >= r->sent_at + ANSWER_MS)
			return ctl_error("outbox-master with pid %d did not "
			    "answer within %d s: see outboxctl logs",
			    (int)r->master, ANSWER_MS / 1000);
		ctl_sleep(MASTER_POLL_MS);
	}
	if (r->result == SCOREBOARD_RELOAD_ACCEPTED)
		return follow_renewal(r);
	if (r->ctl->args.json)
		print_object(r->ctl, json_pack("{s:b, s:I, s:s}", "accepted",
		    false, "generation", (json_int_t)r->generation,
		    "why", r->why));
	ctl_error("refused: %s; the daemon keeps its configuration "
	    "(generation %u)", r->why, r->generation);
	return r->result == SCOREBOARD_RELOAD_WRONG ? EXIT_CONFIG : CTL_FAILED;
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
