/*
 * http.c - the publisher: a request for each message, many at a time
 *
 * Opening it makes no connection: the first requests show whether the endpoint
 * answers, and messages of a type may have a path of their own.
 */

#include "http/http_impl.h"

#include <stdlib.h>

#include "driver/pub_lacks.h"
#include "util/secret.h"
#include "util/xalloc.h"

static void
http_close(void *arg)
{
	struct http	*h = arg;

	if (h->multi != NULL)
		http_loop_close(h);
	http_secrets_forget(h);
	answer_queue_clear(&h->answers);
	h->open = false;
}

static int
http_open(void *arg, struct err *e)
{
	struct http		*h = arg;
	const struct conf	*c = h->conf;

	http_close(h);
	h->refused = false;
	if ((c->http.tls.key[0] != '\0' &&
	    secret_check_file(c->http.tls.key, e) < 0) ||
	    http_secrets_read(h, e) < 0 || http_loop_open(h, e) < 0) {
		http_close(h);
		return err_in(e, "http");
	}
	h->open = true;
	return 0;
}

static bool
http_is_open(void *arg)
{
	return ((struct http *)arg)->open;
}

static int64_t
http_capacity(void *arg)
{
	return ((struct http *)arg)->conf->http.concurrency;
}

/*
 * A login was refused: its files may have another token or key by now.  If one
 * cannot be read the worker opens all anew, and tells why.
 */
static void
http_begin(void *arg, int64_t until)
{
	struct http	*h = arg;
	struct err	 e;

	for (size_t i = 0; i < h->nrequests; i++)
		if (h->requests[i]->busy)
			http_request_abort(h->requests[i]);
	answer_queue_clear(&h->answers);
	if (h->open && h->refused && http_secrets_read(h, &e) < 0)
		http_close(h);
	h->refused = false;
	h->until = until;
}

static enum pub_sent
http_send(void *arg, const struct envelope *v, uint32_t index, struct err *e)
{
	struct http	*h = arg;

	if (!h->open) {
		err_set(e, "not open");
		return PUB_LOST;
	}
	return http_request_start(h, v, index, e) == 0 ? PUB_SENT : PUB_LOST;
}

static bool
http_answer(void *arg, struct pub_answer *a)
{
	return answer_queue_take(&((struct http *)arg)->answers, a);
}

static void
http_free(void *arg)
{
	struct http	*h = arg;

	http_close(h);
	answer_queue_free(&h->answers);
	free(h);
	curl_global_cleanup();
}

static const struct pub_ops ops = {
	.name = "http",
	.peer = "endpoint",
	.free = http_free,
	.open = http_open,
	.close = http_close,
	.is_open = http_is_open,
	.reach = http_reach,
	.caution = pub_no_caution,
	.check = pub_no_check,
	.state = pub_no_state,
	.get_stored = pub_no_stored,
	.find = pub_no_find,
	.removed = pub_no_removed,
	.max_payload = pub_no_limit,
	.capacity = http_capacity,
	.unread = pub_none_unread,
	.begin = http_begin,
	.send = http_send,
	.prepare = http_prepare,
	.proceed = http_proceed,
	.woken = pub_no_wakeup,
	.answer = http_answer,
	.complaint = pub_no_complaint,
	.tell = pub_no_tell,
};

struct pub
http_new(const struct conf *c, const char *name)
{
	struct http	*h = xcalloc(1, sizeof(*h));

	(void)name;
	curl_global_init(CURL_GLOBAL_DEFAULT);
	h->conf = c;
	return (struct pub){ &ops, h };
}
