/* feed.c - see feed.h */

#include "ctl/top/feed.h"

#include <sys/wait.h>

#include "ctl/state/state.h"
#include "util/clock.h"

#define AGAIN_MS	1000	/* after a failure */
#define PATIENCE_MS	60000	/* servers may be slow to be found away */

static const struct {
	const char	*name, *words;
} questions[] = {
	{ "status", "[\"status\"]" },
	{ "workers", "[\"workers\"]" },
	{ "partitions", "[\"partitions\",\"list\"]" },
};

#define NQUESTIONS	(sizeof(questions) / sizeof(questions[0]))

void
feed_begin(struct feed *f, struct ctl *c, int64_t pause_ms)
{
	*f = (struct feed){ .ctl = c, .pause_ms = pause_ms,
	    .agent = { .starter = { .program = "/proc/self/exe",
	    .conf_path = c->path }, .channel = -1, .patience_ms = PATIENCE_MS,
	    .in = -1, .out = -1, .errors = -1 } };
}

void
feed_end(struct feed *f)
{
	agent_stop(&f->agent);
	json_decref(f->round);
}

static json_t *
end_round(struct feed *f, int64_t now)
{
	struct ctl	*c = f->ctl;
	json_t		*round = f->round, *orphans = state_orphans(c), *w;
	size_t		 i;

	/* It may have been mended. */
	if (c->bad_file.text[0] != '\0')
		(void)ctl_load(c);
	json_array_foreach(json_object_get(round, "workers"), i, w)
		json_object_set_new(w, "gone",
		    json_boolean(state_is_gone(w, orphans)));
	json_decref(orphans);
	json_object_set_new(round, "totals", state_totals(c));
	member_set(round, "lease_ms", c->conf->worker.lease_ttl);
	f->round = NULL;
	f->asked = 0;
	f->ask_at = now + f->pause_ms;
	return round;
}

json_t *
feed_round(struct feed *f, int64_t now, struct err *e)
{
	struct buf	*b = &f->agent.answer;
	int		 rc = agent_turn(&f->agent, now, e);
	const json_t	*status;
	json_t		*answer, *result;

	while (waitpid(-1, NULL, WNOHANG) > 0)
		continue;
	if (rc < 0) {
		json_decref(f->round);
		f->round = NULL;
		f->asked = 0;
		f->ask_at = now + AGAIN_MS;
	}
	if (rc > 0) {
		answer = json_loadb(b->data, b->len, JSON_ALLOW_NUL, NULL);
		result = json_object_get(answer, "result");
		if (f->asked == 1 &&
		    json_object_get(result, "problems") == NULL)
			err_set(e, "%s", json_is_string(json_object_get(result,
			    "error")) ? member_text(result, "error") :
			    "no answer to status");
		/* Nothing of a database that fails between two questions. */
		else if (f->asked == 1 || json_is_array(result))
			json_object_set(f->round,
			    questions[f->asked - 1].name, result);
		json_decref(answer);
		buf_clear(b);
		status = json_object_get(f->round, "status");
		if (f->asked == NQUESTIONS ||
		    json_object_size(f->round) < f->asked ||
		    !json_is_null(json_object_get(status, "database")))
			return end_round(f, now);
	}
	if (f->agent.busy || (f->asked == 0 && now < f->ask_at))
		return NULL;
	if (f->round == NULL)
		f->round = json_object();
	if (agent_send(&f->agent, questions[f->asked].words, now, e) == 0)
		f->asked++;
	else
		f->ask_at = now + AGAIN_MS;
	return NULL;
}
