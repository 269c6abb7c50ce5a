/* question.c - see question.h */

#include "monitor/question.h"

#include <stdlib.h>
#include <string.h>

#include "util/secret.h"
#include "util/xalloc.h"

#define SECOND_MS	1000

void
questions_init(struct questions *t, const struct starter *starter, int channel)
{
	static const int64_t	patience[QUESTION_KINDS] = {
		[QUESTION_STATE] = 15 * SECOND_MS,
		[QUESTION_QUERY] = 15 * SECOND_MS,
		[QUESTION_ACTION] = 600 * SECOND_MS,
	};

	*t = (struct questions){ 0 };
	for (int i = 0; i < QUESTION_KINDS; i++)
		t->agents[i] = (struct agent){ .starter = *starter,
		    .channel = channel, .kind = (enum starter_kind)i,
		    .finishes = i == QUESTION_ACTION,
		    .patience_ms = patience[i], .in = -1, .out = -1,
		    .errors = -1 };
}

/* May this answer be given to another who asks the same? */
static bool
is_shared(const struct question *q, int64_t now)
{
	return q->kind != QUESTION_ACTION &&
	    (!q->done || now - q->at < QUESTION_FRESH_MS);
}

struct question *
question_ask(struct questions *t, enum question_kind kind, json_t *words,
    int64_t now)
{
	char		 *text = json_dumps(words, JSON_COMPACT);
	struct question	**at = &t->list, *q;
	size_t		  n = 0;

	json_decref(words);
	for (; (q = *at) != NULL; at = &q->next) {
		n += q->kind == kind && !q->done;
		if (q->kind == kind && is_shared(q, now) &&
		    strcmp(q->words, text) == 0)
			break;
	}
	if (q != NULL || n >= QUESTIONS_MAX) {
		secret_wipe(text);
		if (q != NULL)
			q->waiting++;
		return q;
	}
	q = xcalloc(1, sizeof(*q));
	*q = (struct question){ .kind = kind, .words = text, .exit = -1,
	    .waiting = 1 };
	*at = q;
	return q;
}

void
question_release(struct question *q)
{
	q->waiting--;
}

/* Is it done, and kept only for those who may ask the same? */
static bool
is_kept(const struct question *q, int64_t now)
{
	return q->waiting == 0 && q->done && is_shared(q, now);
}

/*
 * Those that nobody waits for, and that nobody would be given; of the others
 * the oldest, if their answers are too large.
 */
static void
drop_old(struct questions *t, int64_t now)
{
	struct question	**at = &t->list;
	size_t		  kept = 0;

	for (const struct question *q = t->list; q != NULL; q = q->next)
		kept += is_kept(q, now) ? q->size : 0;
	while (*at != NULL) {
		struct question	*q = *at;

		if (q->waiting > 0 || (q->asked && !q->done) ||
		    (is_kept(q, now) && kept <= QUESTION_KEPT_MAX)) {
			at = &q->next;
			continue;
		}
		kept -= is_kept(q, now) ? q->size : 0;
		*at = q->next;
		secret_wipe(q->words);
		json_decref(q->result);
		shared_text_release(q->text);
		free(q);
	}
}

static void
take_snapshot(struct snapshot *s, const struct question *q, int64_t now)
{
	if (!json_is_array(json_object_get(q->result, "problems"))) {
		s->why = q->why;
		if (s->why.text[0] == '\0')
			err_set(&s->why, "outboxctl gave no status");
		s->failed_at = now;
		return;
	}
	json_decref(s->document);
	shared_text_release(s->text);
	shared_text_release(s->event);
	s->text = s->event = NULL;
	s->document = json_incref(q->result);
	s->version++;
	s->at = now;
	s->why = (struct err){ 0 };
}

static void
is_done(struct questions *t, enum question_kind kind, int64_t now)
{
	struct question	*q = t->current[kind];

	q->done = true;
	q->at = now;
	t->current[kind] = NULL;
	if (kind == QUESTION_STATE)
		take_snapshot(&t->state, q, now);
}

/* Is the answer there?  If it failed, that is one, too. */
static bool
hear(struct questions *t, enum question_kind kind, int64_t now)
{
	struct agent	*a = &t->agents[kind];
	struct question	*q = t->current[kind];
	struct err	 e;
	json_error_t	 error;
	json_t		*v;
	int		 rc = agent_turn(a, now, &e);

	if (rc == 0 || q == NULL)
		return false;
	if (rc < 0)
		q->why = e;
	else {
		/* {"exit": 0, "result": ...} */
		v = json_loadb(a->answer.data, a->answer.len, JSON_ALLOW_NUL,
		    &error);
		if (json_is_integer(json_object_get(v, "exit"))) {
			q->size = a->answer.len;
			q->exit = (int)json_integer_value(
			    json_object_get(v, "exit"));
			q->result = json_incref(json_object_get(v, "result"));
		} else
			err_set(&q->why, "outboxctl gave an answer that cannot "
			    "be read: %s", error.text);
		json_decref(v);
		buf_free(&a->answer);
	}
	is_done(t, kind, now);
	return true;
}

static bool
send_next(struct questions *t, enum question_kind kind, int64_t now)
{
	struct question	*q = t->list;
	int		 rc;

	while (q != NULL && (q->kind != kind || q->asked))
		q = q->next;
	if (q == NULL || t->current[kind] != NULL)
		return false;
	q->asked = true;
	t->current[kind] = q;
	rc = agent_send(&t->agents[kind], q->words, now, &q->why);
	/* A change takes minutes, and its token is with the agent. */
	if (kind == QUESTION_ACTION)
		explicit_bzero(q->words, strlen(q->words));
	if (rc == 0)
		return false;
	is_done(t, kind, now);
	return true;
}

bool
questions_turn(struct questions *t, int64_t now)
{
	bool	done = false;

	for (int i = 0; i < QUESTION_KINDS; i++) {
		done = hear(t, i, now) || done;
		done = send_next(t, i, now) || done;
		/* Write the command now, as the pipe is empty. */
		done = hear(t, i, now) || done;
	}
	drop_old(t, now);
	return done;
}

int64_t
questions_deadline(const struct questions *t)
{
	int64_t	next = INT64_MAX;

	for (int i = 0; i < QUESTION_KINDS; i++) {
		int64_t	at = agent_deadline(&t->agents[i]);

		if (at < next)
			next = at;
	}
	return next;
}

bool
snapshot_is_fresh(const struct snapshot *s, int64_t now, int64_t ms)
{
	return s->document != NULL && now - s->at < ms;
}

void
questions_stop(struct questions *t)
{
	for (int i = 0; i < QUESTION_KINDS; i++)
		agent_stop(&t->agents[i]);
}
