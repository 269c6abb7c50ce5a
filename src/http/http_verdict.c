/*
 * http_verdict.c - what the answer to a request means; pure
 *
 * Texts have no numbers that differ from try to try: the log throttle compares
 * them.
 */

#include "http/http_impl.h"

#include <stdio.h>
#include <string.h>

#include "util/clock.h"

/* First match wins. */
static const struct {
	long			 from, to;
	enum verdict		 verdict;
	enum error_class	 class;
} rows[] = {
	{ 200, 299, VERDICT_STORED, CLASS_NONE },
	/* A redirect or a wrong key must not bury a backlog. */
	{ 300, 399, VERDICT_DESTINATION, CLASS_PERMISSION },
	{ 401, 401, VERDICT_DESTINATION, CLASS_PERMISSION },
	{ 407, 407, VERDICT_DESTINATION, CLASS_PERMISSION },
	{ 408, 409, VERDICT_TRANSIENT, CLASS_OTHER },
	{ 425, 425, VERDICT_TRANSIENT, CLASS_OTHER },
	{ 429, 429, VERDICT_TRANSIENT, CLASS_OVERLOAD },
	/* What can be wrong with one message; trial.h tells whether it is. */
	{ 413, 413, VERDICT_TOO_LARGE, CLASS_TOO_LARGE },
	{ 400, 400, VERDICT_MESSAGE, CLASS_OTHER },
	{ 414, 417, VERDICT_MESSAGE, CLASS_OTHER },
	{ 422, 422, VERDICT_MESSAGE, CLASS_OTHER },
	{ 431, 431, VERDICT_MESSAGE, CLASS_OTHER },
	{ 451, 451, VERDICT_MESSAGE, CLASS_OTHER },
	{ 400, 499, VERDICT_ADDRESS, CLASS_OTHER },
	{ 0, 999, VERDICT_TRANSIENT, CLASS_OTHER },
};

#define DAY_S	(24 * 60 * 60)	/* the relay waits for less */

static bool
judge_status(const struct outcome_of_request *o, struct pub_answer *a)
{
	size_t	i = 0;

	while (o->status < rows[i].from || o->status > rows[i].to)
		i++;
	a->verdict = rows[i].verdict;
	a->class = rows[i].class;
	/* A date that is over is less than nothing. */
	if (a->verdict == VERDICT_TRANSIENT)
		a->retry_after_ms = later(0, sooner(o->retry_after, DAY_S)) *
		    1000;
	if (a->verdict != VERDICT_STORED)
		snprintf(a->text, sizeof(a->text), "HTTP %ld%s%s", o->status,
		    o->said[0] == '\0' ? "" : ": ", o->said);
	return true;
}

/* Not one byte of the request was written. */
static bool
judge_not_sent(const struct outcome_of_request *o, struct pub_answer *a)
{
	const char	*why = o->detail[0] != '\0' &&
			    o->code != CURLE_COULDNT_CONNECT &&
			    o->code != CURLE_OPERATION_TIMEDOUT ? o->detail :
			    curl_easy_strerror(o->code);

	a->verdict = VERDICT_DESTINATION;
	a->class = CLASS_OFFLINE;
	if (o->late) {
		a->class = CLASS_TIMEOUT;
		snprintf(a->text, sizeof(a->text), "not sent: the time to send "
		    "was over before the connection was ready");
	} else if (o->private) {
		a->class = CLASS_PERMISSION;
		snprintf(a->text, sizeof(a->text), "%.100s: its address is "
		    "private, and http.allow_private is false", o->endpoint);
	} else if (o->os_error != 0)
		snprintf(a->text, sizeof(a->text), "%.100s: %s: %s",
		    o->endpoint, why, strerror(o->os_error));
	else
		snprintf(a->text, sizeof(a->text), "%.100s: %s", o->endpoint,
		    why);
	return true;
}

bool
http_judge(const struct outcome_of_request *o, struct pub_answer *a)
{
	a->text[0] = '\0';
	a->ack_sequence = a->stream = 0;
	a->retry_after_ms = 0;
	/* The rest of a long body would not change the status. */
	if (o->code == CURLE_OK || o->long_body)
		return judge_status(o, a);
	if (!o->started)
		return judge_not_sent(o, a);
	if (o->code == CURLE_OPERATION_TIMEDOUT)
		return false;
	/*
	 * Whether it was processed is not known.  A server that goes away
	 * (GOAWAY) ends all requests of its connection; what the server has not
	 * begun libcurl sends again by itself, if the server told which.  An
	 * error of one stream is of one request.
	 */
	a->verdict = o->together && !o->long_head &&
	    o->code != CURLE_HTTP2_STREAM ? VERDICT_LOST_TOGETHER :
	    VERDICT_LOST;
	a->class = CLASS_LOST;
	snprintf(a->text, sizeof(a->text), "no complete answer: %s",
	    o->long_head ? "its headers are longer than 16 KiB" :
	    curl_easy_strerror(o->code));
	return true;
}
