/*
 * http_request.c - one request: its start, its redirects and its end
 *
 * Connections and names are kept by the multi handle.  A handle of libcurl
 * takes one request only: before 8.1.1 one that is used again reads freed
 * memory, if the first header of an answer is a folded line.  A new one costs
 * half a microsecond.
 */

#include "http/http_impl.h"

#include <ctype.h>
#include <string.h>
#include <strings.h>
#include <stdlib.h>
#include <time.h>

#include "util/clock.h"
#include "util/printable.h"
#include "util/xalloc.h"

#define CONNECT_MS	3000
#define REACH_MS	2000L	/* as in pub.h */
#define LIFETIME_S	30L	/* of what may be another one by now: the server
				   behind a name, an authority in its file */
#define BODY_KEPT	(1024 * 1024)	/* larger memory is freed after use */

/*
 * Callbacks of libcurl
 */

/*
 * Which others are on its way on the same connection, as HTTP/2 allows?  One
 * that has answered others goes away for all as well, if only this one is on
 * it.
 */
static void
join(struct request *r, int port)
{
	struct http	*h = r->http;

	r->port = port;
	for (size_t i = 0; strncmp(r->endpoint, "https:", 6) == 0 &&
	    i < h->nrequests; i++) {
		struct request *other = h->requests[i];

		if (other != r && other->busy && other->port == port)
			other->together = r->together = true;
		r->together = r->together || other->shared_port == port;
	}
}

/* The connection is ready: the last moment to stop. */
static int
on_ready(void *arg, char *remote, char *local, int remote_port, int local_port)
{
	struct request	*r = arg;

	(void)remote;
	(void)local;
	(void)remote_port;
	if (clock_ms() >= r->http->until) {
		r->late = true;
		return CURL_PREREQFUNC_ABORT;
	}
	r->started = true;
	join(r, local_port);
	return CURL_PREREQFUNC_OK;
}

static bool
are_digits(const char *data, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (!isdigit((unsigned char)data[i]))
			return false;
	return true;
}

/*
 * "HTTP/1.1 200 ..." or "HTTP/2 200 ...".  libcurl takes other texts for a
 * status of 200, such as "HTTP/.1 503".
 */
static bool
is_status_line(const char *data, size_t n)
{
	bool	minor = n > 6 && data[6] == '.';
	size_t	at = minor ? 9 : 7;	/* of the status */

	if (n < at + 3 || memcmp(data, "HTTP/", 5) != 0 ||
	    data[at - 1] != ' ' || !are_digits(data + at, 3))
		return false;
	if (minor ? !are_digits(data + 5, 1) || !are_digits(data + 7, 1) :
	    data[5] != '2' && data[5] != '3')
		return false;
	return n == at + 3 || strchr(" \r\n", data[at + 3]) != NULL;
}

static size_t
on_head(char *data, size_t one, size_t n, void *arg)
{
	struct request	*r = arg;
	bool		 begins;

	(void)one;
	/* A status line begins the headers of another answer, too: 100, 200. */
	begins = n >= 5 && strncasecmp(data, "HTTP/", 5) == 0;
	if ((r->nhead == 0 || begins) && !is_status_line(data, n))
		return 0;
	if (begins)
		r->nbody = r->nsaid = 0;
	r->nhead += n;
	r->long_head = r->nhead > HTTP_HEAD_MAX;
	return r->long_head ? 0 : n;
}

static size_t
on_body(char *data, size_t one, size_t n, void *arg)
{
	struct request	*r = arg;
	size_t		 room = HTTP_SAID - r->nsaid, some = n < room ? n : room;

	(void)one;
	memcpy(r->said + r->nsaid, data, some);
	r->nsaid += some;
	r->nbody += n;
	r->long_body = r->nbody > HTTP_BODY_MAX;
	return r->long_body ? 0 : n;
}

/*
 * Handles
 */

/* A new handle, with all that is the same for each request. */
static void
renew_handle(struct request *r)
{
	const struct conf	*conf = r->http->conf;
	long			 verify = conf->http.tls.verify ? 1 : 0;
	CURL			*c;

	curl_easy_cleanup(r->easy);
	if ((r->easy = c = curl_easy_init()) == NULL)
		abort();
	curl_easy_setopt(c, CURLOPT_NOSIGNAL, 1L);
	curl_easy_setopt(c, CURLOPT_TIMEOUT_MS,
	    (long)conf->publish.timeout_ms);
	curl_easy_setopt(c, CURLOPT_CONNECTTIMEOUT_MS,
	    (long)sooner(CONNECT_MS, conf->publish.timeout_ms * 3 / 4));
#if LIBCURL_VERSION_NUM >= 0x075500
	curl_easy_setopt(c, CURLOPT_PROTOCOLS_STR, "http,https");
#else
	curl_easy_setopt(c, CURLOPT_PROTOCOLS,
	    (long)(CURLPROTO_HTTP | CURLPROTO_HTTPS));
#endif
	curl_easy_setopt(c, CURLOPT_PATH_AS_IS, 1L);
	/* "" also keeps it from reading variables such as http_proxy. */
	curl_easy_setopt(c, CURLOPT_PROXY, conf->http.proxy);
	curl_easy_setopt(c, CURLOPT_NOPROXY, "");

	curl_easy_setopt(c, CURLOPT_SSL_VERIFYPEER, verify);
	curl_easy_setopt(c, CURLOPT_SSL_VERIFYHOST, verify * 2);
	if (conf->http.tls.ca[0] != '\0')
		curl_easy_setopt(c, CURLOPT_CAINFO, conf->http.tls.ca);
	if (conf->http.tls.cert[0] != '\0')
		curl_easy_setopt(c, CURLOPT_SSLCERT, conf->http.tls.cert);
	if (conf->http.tls.key[0] != '\0')
		curl_easy_setopt(c, CURLOPT_SSLKEY, conf->http.tls.key);
	curl_easy_setopt(c, CURLOPT_HTTP_VERSION, (long)CURL_HTTP_VERSION_2TLS);
	curl_easy_setopt(c, CURLOPT_MAXLIFETIME_CONN, LIFETIME_S);
	curl_easy_setopt(c, CURLOPT_DNS_CACHE_TIMEOUT, LIFETIME_S);
#if LIBCURL_VERSION_NUM >= 0x075700
	curl_easy_setopt(c, CURLOPT_CA_CACHE_TIMEOUT, LIFETIME_S);
#endif

	curl_easy_setopt(c, CURLOPT_PRIVATE, r);
	curl_easy_setopt(c, CURLOPT_ERRORBUFFER, r->error);
	curl_easy_setopt(c, CURLOPT_PREREQFUNCTION, on_ready);
	curl_easy_setopt(c, CURLOPT_PREREQDATA, r);
	curl_easy_setopt(c, CURLOPT_HEADERFUNCTION, on_head);
	curl_easy_setopt(c, CURLOPT_HEADERDATA, r);
	curl_easy_setopt(c, CURLOPT_WRITEFUNCTION, on_body);
	curl_easy_setopt(c, CURLOPT_WRITEDATA, r);
	curl_easy_setopt(c, CURLOPT_OPENSOCKETFUNCTION, http_open_socket);
	curl_easy_setopt(c, CURLOPT_OPENSOCKETDATA, r);
	curl_easy_setopt(c, CURLOPT_POST, 1L);
	curl_easy_setopt(c, CURLOPT_USERAGENT,
	    PACKAGE_NAME "/" PACKAGE_VERSION);
}

static void
give_back(struct request *r)
{
	struct http	*h = r->http;

	curl_multi_remove_handle(h->multi, r->easy);
	curl_easy_cleanup(r->easy);
	r->easy = NULL;
	if (r->body.size > BODY_KEPT)
		buf_free(&r->body);
	r->busy = false;
	r->next_free = h->free;
	h->free = r;
}

void
http_requests_free(struct http *h)
{
	for (size_t i = 0; i < h->nrequests; i++) {
		struct request *r = h->requests[i];

		if (r->busy)
			curl_multi_remove_handle(h->multi, r->easy);
		curl_easy_cleanup(r->easy);
		curl_slist_free_all(r->headers);
		buf_free(&r->url);
		buf_free(&r->body);
		buf_free(&r->line);
		free(r);
	}
	free(h->requests);
	h->requests = NULL;
	h->free = NULL;
	h->nrequests = 0;
}

/*
 * Start
 */

/* For url and headers, which are new. */
static int
hand_over(struct request *r, struct err *e)
{
	CURLMcode	code;

	r->started = r->late = r->private = r->long_body = r->long_head = false;
	r->nhead = r->nbody = r->nsaid = 0;
	r->port = 0;
	r->together = false;
	r->error[0] = '\0';
	renew_handle(r);
	curl_easy_setopt(r->easy, CURLOPT_URL, r->url.data);
	curl_easy_setopt(r->easy, CURLOPT_HTTPHEADER, r->headers);
	/* Wait whether the first connection can have many requests. */
	curl_easy_setopt(r->easy, CURLOPT_PIPEWAIT,
	    strncmp(r->endpoint, "https:", 6) == 0 ? 1L : 0L);
	curl_easy_setopt(r->easy, CURLOPT_POSTFIELDSIZE_LARGE,
	    (curl_off_t)r->body.len);
	curl_easy_setopt(r->easy, CURLOPT_POSTFIELDS, r->body.data);
	code = curl_multi_add_handle(r->http->multi, r->easy);
	return code == CURLM_OK ? 0 :
	    err_set(e, "%s", curl_multi_strerror(code));
}

int
http_request_start(struct http *h, const struct envelope *v, uint32_t index,
    struct err *e)
{
	const char	*endpoint = v->endpoint, *path = envelope_subject(v);
	struct request	*r = h->free;

	if (r != NULL)
		h->free = r->next_free;
	else {
		r = xcalloc(1, sizeof(*r));
		r->http = h;
		h->requests = xreallocarray(h->requests, h->nrequests + 1,
		    sizeof(*h->requests));
		h->requests[h->nrequests++] = r;
	}
	r->busy = true;
	r->index = index;
	r->redirects = 0;
	r->foreign = false;
	r->endpoint = endpoint;
	buf_clear(&r->url);
	buf_str(&r->url, endpoint);
	if (path[0] != '\0' && endpoint[strlen(endpoint) - 1] != '/')
		buf_str(&r->url, "/");
	buf_str(&r->url, path);
	buf_clear(&r->body);
	buf_add(&r->body, v->payload.data == NULL ? "" : v->payload.data,
	    v->payload.len);
	http_headers_make(r, v);
	http_headers_sign(r, time(NULL));
	if (hand_over(r, e) == 0)
		return 0;
	give_back(r);
	return -1;
}

bool
http_reach(void *arg, const char *endpoint, struct err *e)
{
	struct request	r = { .http = arg, .endpoint = endpoint };
	CURLcode	code;

	renew_handle(&r);
	curl_easy_setopt(r.easy, CURLOPT_URL, endpoint);
	curl_easy_setopt(r.easy, CURLOPT_CONNECT_ONLY, 1L);
	curl_easy_setopt(r.easy, CURLOPT_TIMEOUT_MS, REACH_MS);
	curl_easy_setopt(r.easy, CURLOPT_PREREQFUNCTION, NULL);
	code = curl_easy_perform(r.easy);
	curl_easy_cleanup(r.easy);
	return code == CURLE_OK || err_set(e, "%s", curl_easy_strerror(code)) ==
	    0;
}

/*
 * End
 */

static char *
part_of(CURLU *u, CURLUPart part)
{
	char	*text = NULL;

	curl_url_get(u, part, &text, CURLU_DEFAULT_PORT);
	return text;
}

static bool
same_part(CURLU *a, CURLU *b, CURLUPart part)
{
	char	*one = part_of(a, part), *other = part_of(b, part);
	bool	 same = one != NULL && other != NULL && strcmp(one, other) == 0;

	curl_free(one);
	curl_free(other);
	return same;
}

/* Point the request at another place; false: it must not go there. */
static bool
turn_to(struct request *r, const char *url)
{
	CURLU	*from = curl_url(), *to = curl_url();
	char	*scheme = NULL, *user = NULL;
	bool	 may;

	/* Not from https to http, and without a login. */
	may = curl_url_set(from, CURLUPART_URL, r->url.data, 0) == CURLUE_OK &&
	    curl_url_set(to, CURLUPART_URL, url, 0) == CURLUE_OK &&
	    (user = part_of(to, CURLUPART_USER)) == NULL &&
	    (scheme = part_of(to, CURLUPART_SCHEME)) != NULL &&
	    (strcmp(scheme, "https") == 0 ||
	    same_part(from, to, CURLUPART_SCHEME));
	if (may && (!same_part(from, to, CURLUPART_SCHEME) ||
	    !same_part(from, to, CURLUPART_HOST) ||
	    !same_part(from, to, CURLUPART_PORT))) {
		r->foreign = true;
		http_headers_strip(r);
	}
	if (may) {
		buf_clear(&r->url);
		buf_str(&r->url, url);
		http_headers_sign(r, time(NULL));
	}
	curl_free(scheme);
	curl_free(user);
	curl_url_cleanup(from);
	curl_url_cleanup(to);
	return may;
}

/*
 * True: it is on its way again.  302 and 303 lead to another page, often that of
 * a login, which would say 200 to it.
 */
static bool
follows(struct request *r, long status)
{
	char		*url = NULL;
	struct err	 e;

	if (!r->http->conf->http.follow_redirects || status / 100 != 3 ||
	    status == 302 || status == 303 ||
	    r->redirects == HTTP_REDIRECTS_MAX)
		return false;
	curl_easy_getinfo(r->easy, CURLINFO_REDIRECT_URL, &url);
	if (url == NULL || !turn_to(r, url))
		return false;
	r->redirects++;
	curl_multi_remove_handle(r->http->multi, r->easy);
	return hand_over(r, &e) == 0;
}

static void
judge(struct request *r, struct outcome_of_request *o)
{
	struct pub_answer	a = { .index = r->index };
	curl_off_t		after = 0;
	long			error = 0;

	curl_easy_getinfo(r->easy, CURLINFO_RETRY_AFTER, &after);
	curl_easy_getinfo(r->easy, CURLINFO_OS_ERRNO, &error);
	while (r->nsaid > 0 && strchr(" \r\n\t", r->said[r->nsaid - 1]) != NULL)
		r->nsaid--;
	printable_text(o->said, r->said, r->nsaid);
	o->started = r->started;
	o->late = r->late;
	o->private = r->private;
	o->long_body = r->long_body;
	o->long_head = r->long_head;
	o->together = r->together;
	o->retry_after = after;
	o->os_error = (int)error;
	o->detail = r->error;
	o->endpoint = r->endpoint;
	r->http->refused = r->http->refused || o->status == 401 ||
	    o->status == 403 || o->status == 407;
	if (http_judge(o, &a))
		answer_queue_put(&r->http->answers, &a);
}

void
http_request_done(struct request *r, CURLcode code)
{
	struct outcome_of_request	o = { .code = code };
	long				version = 0;

	curl_easy_getinfo(r->easy, CURLINFO_HTTP_VERSION, &version);
	if (version >= CURL_HTTP_VERSION_2_0)
		r->shared_port = r->port;
	curl_easy_getinfo(r->easy, CURLINFO_RESPONSE_CODE, &o.status);
	if (code == CURLE_OK && follows(r, o.status))
		return;
	judge(r, &o);
	give_back(r);
}

void
http_request_abort(struct request *r)
{
	give_back(r);
}

void
http_request_give_up(struct request *r)
{
	struct outcome_of_request	o = { .code = CURLE_SEND_ERROR };
	curl_off_t			n = 0;

	curl_easy_getinfo(r->easy, CURLINFO_SIZE_UPLOAD_T, &n);
	if (r->started && (size_t)n >= r->body.len)	/* all is written */
		return;
	r->late = true;
	judge(r, &o);
	give_back(r);
}
