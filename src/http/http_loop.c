/*
 * http_loop.c - all requests in our own loop
 *
 * libcurl tells which sockets it wants to read or write, and when it wants to
 * be called without one.  It must wait in pub_wait() only, where signals are
 * taken.
 */

#include "http/http_impl.h"

#include <stdlib.h>
#include <string.h>

#include "util/clock.h"
#include "util/xalloc.h"

/* Rounds without a wait, while libcurl wants to be called at once. */
#define ROUNDS		10

static int
on_socket(CURL *easy, curl_socket_t fd, int what, void *arg, void *unused)
{
	struct http	*h = arg;
	size_t		 n = (size_t)fd + 1;

	(void)easy;
	(void)unused;
	if (n > h->nevents) {
		h->events = xreallocarray(h->events, n, sizeof(*h->events));
		memset(h->events + h->nevents, 0,
		    (n - h->nevents) * sizeof(*h->events));
		h->nevents = n;
	}
	h->events[fd] = (short)((what & CURL_POLL_IN && what != CURL_POLL_REMOVE
	    ? POLLIN : 0) | (what & CURL_POLL_OUT && what != CURL_POLL_REMOVE ?
	    POLLOUT : 0));
	return 0;
}

static int
on_timer(CURLM *multi, long ms, void *arg)
{
	struct http	*h = arg;

	(void)multi;
	h->timer_at = ms < 0 ? INT64_MAX : clock_ms() + ms;
	return 0;
}

int
http_loop_open(struct http *h, struct err *e)
{
	long	n = (long)h->conf->http.concurrency;

	h->timer_at = INT64_MAX;
	if ((h->multi = curl_multi_init()) == NULL)
		return err_set(e, "libcurl cannot be used");
	curl_multi_setopt(h->multi, CURLMOPT_SOCKETFUNCTION, on_socket);
	curl_multi_setopt(h->multi, CURLMOPT_SOCKETDATA, h);
	curl_multi_setopt(h->multi, CURLMOPT_TIMERFUNCTION, on_timer);
	curl_multi_setopt(h->multi, CURLMOPT_TIMERDATA, h);
	curl_multi_setopt(h->multi, CURLMOPT_MAXCONNECTS, n);
	curl_multi_setopt(h->multi, CURLMOPT_MAX_HOST_CONNECTIONS, n);
	curl_multi_setopt(h->multi, CURLMOPT_PIPELINING,
	    (long)CURLPIPE_MULTIPLEX);
	return 0;
}

void
http_loop_close(struct http *h)
{
	http_requests_free(h);
	curl_multi_cleanup(h->multi);
	h->multi = NULL;
	free(h->events);
	h->events = NULL;
	h->nevents = 0;
}

static void
take_the_done(struct http *h)
{
	CURLMsg	*m;
	int	 left;

	while ((m = curl_multi_info_read(h->multi, &left)) != NULL) {
		struct request *r = NULL;

		curl_easy_getinfo(m->easy_handle, CURLINFO_PRIVATE, &r);
		http_request_done(r, m->data.result);
	}
}

/* A request that is not written by now must not be written any more. */
static void
stop_the_late(struct http *h)
{
	if (clock_ms() < h->until)
		return;
	for (size_t i = 0; i < h->nrequests; i++)
		if (h->requests[i]->busy)
			http_request_give_up(h->requests[i]);
}

static void
run_timers(struct http *h)
{
	int	running;

	for (int i = 0; i < ROUNDS && h->timer_at <= clock_ms(); i++) {
		h->timer_at = INT64_MAX;
		curl_multi_socket_action(h->multi, CURL_SOCKET_TIMEOUT, 0,
		    &running);
		take_the_done(h);
	}
}

void
http_prepare(void *arg, struct pub_polls *p)
{
	struct http	*h = arg;

	if (!h->open)
		return;
	stop_the_late(h);
	run_timers(h);
	for (size_t fd = 0; fd < h->nevents; fd++)
		if (h->events[fd] != 0)
			pub_watch(p, (int)fd, h->events[fd]);
	if (answer_queue_has(&h->answers))
		p->timeout_ms = 0;
	else if (h->timer_at != INT64_MAX)
		p->timeout_ms = sooner(p->timeout_ms,
		    later(h->timer_at - clock_ms(), 0));
}

void
http_proceed(void *arg, const struct pollfd *fds, size_t n)
{
	struct http	*h = arg;
	int		 running;

	if (!h->open)
		return;
	stop_the_late(h);
	for (size_t i = 0; i < n; i++) {
		int what = (fds[i].revents & (POLLIN | POLLHUP) ?
		    CURL_CSELECT_IN : 0) | (fds[i].revents & POLLOUT ?
		    CURL_CSELECT_OUT : 0) | (fds[i].revents & POLLERR ?
		    CURL_CSELECT_ERR : 0);

		if (fds[i].revents & POLLNVAL)	/* closed: do not spin */
			h->events[fds[i].fd] = 0;
		if (what != 0)
			curl_multi_socket_action(h->multi, fds[i].fd, what,
			    &running);
	}
	take_the_done(h);
	run_timers(h);
}
