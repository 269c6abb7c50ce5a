/* ask.c - ask outboxctl, and answer with what it says, see monitor_impl.h */

#include "monitor/monitor_impl.h"

#include "common/exits.h"

#define QUERY_PATIENCE_MS	16000
#define ACTION_PATIENCE_MS	605000

/* A reader asks for something that is not there; a change is not possible. */
static unsigned
status_of(const struct question *q)
{
	switch (q->exit) {
	case 0:
		return MHD_HTTP_OK;
	case 1:
		return q->kind == QUESTION_ACTION ? MHD_HTTP_CONFLICT :
		    MHD_HTTP_NOT_FOUND;
	case 2:
		return MHD_HTTP_BAD_REQUEST;
	case EXIT_REFUSED:
		return MHD_HTTP_FORBIDDEN;
	default:
		return MHD_HTTP_SERVICE_UNAVAILABLE;
	}
}

void
ask_answer(struct request *r)
{
	const struct question	*q = r->question;
	unsigned		 status;
	json_t			*v, *text;

	if (q == NULL) {
		answer_error(r, MHD_HTTP_GATEWAY_TIMEOUT, "outboxctl gave no "
		    "answer in time", "see the log, and outboxctl status");
		return;
	}
	if (q->exit < 0) {
		answer_error(r, MHD_HTTP_BAD_GATEWAY, q->why.text,
		    "see the log of the daemon");
		return;
	}
	status = status_of(q);
	if (q->exit == 0 ||
	    json_string_length(json_object_get(q->result, "error")) == 0) {
		answer_question(r, status);
		return;
	}
	/*
	 * A refusal; its value is shared with others that asked the same.  Where
	 * a field is at fault, outboxctl has said so in names of the API.
	 */
	v = json_copy(q->result);
	text = json_object_get(v, "text");
	if (json_object_get(v, "field") == NULL)
		json_object_update_new(v, json_pack("{s:o, s:n}", "code",
		    answer_code(status), "field"));
	else if (text != NULL)
		json_object_set(v, "error", text);
	if (status == MHD_HTTP_BAD_REQUEST)
		json_object_set_new(v, "remedy",
		    json_string("see /openapi.json"));
	answer_value(r, status, v);
	json_decref(v);
}

void
ask_outboxctl(struct request *r, enum question_kind kind, json_t *words,
    void (*answer)(struct request *))
{
	struct question	*q = question_ask(&r->monitor->questions, kind, words,
			    r->monitor->now);

	wait_forget(r);
	if (q != NULL && kind == QUESTION_QUERY &&
	    texts_are_full(&r->monitor->texts)) {
		/* Its answer could be given to nobody. */
		question_release(q);
		q = NULL;
	}
	if (q == NULL)
		answer_error_header(r, MHD_HTTP_SERVICE_UNAVAILABLE, "too many "
		    "requests wait for outboxctl", NULL, "Retry-After", "1");
	else
		wait_for_answer(r, q, kind == QUESTION_ACTION ?
		    ACTION_PATIENCE_MS : QUERY_PATIENCE_MS, answer);
}
