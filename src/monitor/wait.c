/* wait.c - requests that wait for outboxctl, see monitor_impl.h */

#include "monitor/monitor_impl.h"

#include <stddef.h>

#define STATE_PATIENCE_MS	8000

void
wait_for_answer(struct request *r, struct question *q, int64_t patience_ms,
    void (*answer)(struct request *))
{
	struct monitor	*m = r->monitor;

	r->question = q;
	r->answer = answer;
	r->wait_until = m->now + patience_ms;
	if (q->done) {
		answer(r);
		return;
	}
	r->next = m->waiting;
	m->waiting = r;
	r->suspended = true;
	MHD_suspend_connection(r->connection);
}

void
wait_for_state(struct request *r, void (*answer)(struct request *))
{
	struct monitor	*m = r->monitor;
	struct question	*q;

	if (snapshot_is_fresh(&m->questions.state, m->now,
	    QUESTION_FRESH_MS)) {
		answer(r);
		return;
	}
	q = question_ask(&m->questions, QUESTION_STATE,
	    json_pack("[s]", "status"), m->now);
	if (q == NULL)
		answer(r);
	else
		wait_for_answer(r, q, STATE_PATIENCE_MS, answer);
}

static void
forget_question(struct request *r)
{
	if (r->question != NULL)
		question_release(r->question);
	r->question = NULL;
}

int64_t
wait_turn(struct monitor *m)
{
	struct request	**at = &m->waiting;
	int64_t		  next = INT64_MAX;

	while (*at != NULL) {
		struct request	*r = *at;

		if (!r->question->done && m->now < r->wait_until) {
			if (r->wait_until < next)
				next = r->wait_until;
			at = &r->next;
			continue;
		}
		*at = r->next;
		if (!r->question->done)
			forget_question(r);
		r->again = true;
		if (r->suspended)
			MHD_resume_connection(r->connection);
		r->suspended = false;
	}
	return next;
}

void
wait_forget(struct request *r)
{
	for (struct request **at = &r->monitor->waiting; *at != NULL;
	    at = &(*at)->next)
		if (*at == r) {
			*at = r->next;
			break;
		}
	forget_question(r);
}
