/*
 * guard.c - who may ask what, see request.h
 *
 * A page of another site can make a browser ask us.  The Host header tells that
 * the browser thinks that we are that site (DNS rebinding): a name that is not
 * ours is refused; an address is no name that could lead elsewhere.  A change
 * needs a token and a type of body that such a page cannot send unasked.
 */

#include "monitor/client.h"
#include "monitor/monitor_impl.h"

#include <arpa/inet.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "util/secret.h"
#include "util/xalloc.h"

bool
guard_is_authorized(const struct request *r)
{
	static const char	 scheme[] = "Bearer ";
	const char		*token = r->monitor->token, *sent = r->token;

	if (token == NULL || sent == NULL ||
	    strncasecmp(sent, scheme, sizeof(scheme) - 1) != 0)
		return false;
	return secret_is(sent + sizeof(scheme) - 1, token);
}

static bool
is_address(const char *host, size_t n)
{
	unsigned char	to[sizeof(struct in6_addr)];
	char		text[64];

	if (*host == '[') {
		host++;
		n -= 2;
	}
	if (n >= sizeof(text))
		return false;
	memcpy(text, host, n);
	text[n] = '\0';
	return inet_pton(AF_INET, text, to) == 1 ||
	    inet_pton(AF_INET6, text, to) == 1;
}

static bool
is_same(const char *host, size_t n, const char *name)
{
	return strlen(name) == n && strncasecmp(host, name, n) == 0;
}

bool
guard_takes_host(const char *host, const struct conf_list *hosts,
    const char *own)
{
	const char	*end, *port;
	size_t		 n;

	if (host == NULL)
		return false;
	end = *host == '[' ? strchr(host, ']') : NULL;
	n = end != NULL ? (size_t)(end - host) + 1 : strcspn(host, ":");
	port = host + n;
	if (n == 0 || (*host == '[' && n < 3) || (*port != '\0' &&
	    (*port != ':' || port[1 + strspn(port + 1, "0123456789")] != '\0')))
		return false;
	if (is_address(host, n) || is_same(host, n, "localhost") ||
	    is_same(host, n, own))
		return true;
	for (size_t i = 0; i < hosts->n; i++)
		if (is_same(host, n, hosts->items[i]))
			return true;
	return false;
}

/* A request for signs of life comes from programs, and tells nothing. */
static bool
is_probe(const struct request *r)
{
	return strcmp(r->path, "/healthz") == 0 ||
	    strcmp(r->path, "/readyz") == 0;
}

/*
 * Was it sent by a page that this monitor has served, from http://HOST?  Who
 * sends no such header is no browser.
 */
static bool
is_own_origin(const struct request *r)
{
	const char	*name = r->origin == NULL ? NULL :
			    strstr(r->origin, "://");

	if (r->site != NULL && strcmp(r->site, "same-origin") != 0 &&
	    strcmp(r->site, "none") != 0)
		return false;
	return r->origin == NULL || (name != NULL && r->host != NULL &&
	    strcasecmp(name + 3, r->host) == 0);
}

static bool
asks_for_token(struct request *r, const char *error)
{
	static const char	what[] = "a client sent a wrong token to the "
				    "monitor";
	char			who[CLIENT_NAME_SIZE];
	char			*text;

	if (r->token != NULL) {
		/* Who it is: only the descriptor knows, see server_add(). */
		client_name(r->client, who);
		text = xasprintf("%s: %s", what, who);
		log_throttle_keyed(&r->monitor->wrong_token, what, text,
		    r->monitor->now);
		free(text);
	}
	answer_error_header(r, MHD_HTTP_UNAUTHORIZED, error, "send the token "
	    "of monitor.token_file: Authorization: Bearer TOKEN",
	    "WWW-Authenticate", "Bearer");
	return false;
}

static bool
admits_change(struct request *r)
{
	static const char	 json[] = "application/json";
	size_t			 n = sizeof(json) - 1;
	struct monitor		*m = r->monitor;

	if (!is_own_origin(r)) {
		answer_error(r, MHD_HTTP_FORBIDDEN, "the request comes from a "
		    "page of another site", NULL);
		return false;
	}
	if (m->bad_token.text[0] != '\0') {
		answer_error(r, MHD_HTTP_FORBIDDEN, m->bad_token.text,
		    "correct that file, or its rights; or use outboxctl");
		return false;
	}
	if (m->token == NULL) {
		answer_error(r, MHD_HTTP_FORBIDDEN, "this monitor only shows, "
		    "it changes nothing", "set monitor.token_file, or use "
		    "outboxctl");
		return false;
	}
	if (!guard_is_authorized(r))
		return asks_for_token(r, "a change needs the token");
	if (r->type == NULL || strncasecmp(r->type, json, n) != 0 ||
	    (r->type[n] != '\0' && r->type[n] != ';' && r->type[n] != ' ')) {
		answer_error(r, MHD_HTTP_UNSUPPORTED_MEDIA_TYPE, "the body is "
		    "not application/json", NULL);
		return false;
	}
	return true;
}

/* May this client read what /readyz knows?  It is answered in any case. */
bool
guard_may_read(const struct request *r)
{
	const struct monitor	*m = r->monitor;

	return (r->is_local || guard_takes_host(r->host,
	    &m->a->conf->monitor.hosts, m->host)) &&
	    (!m->a->conf->monitor.require_token || guard_is_authorized(r));
}

static bool
is_method(const struct request *r, const char *method)
{
	return strcmp(r->method, method) == 0;
}

bool
guard_admits(struct request *r)
{
	struct monitor	*m = r->monitor;
	bool		 changes = is_method(r, "POST");

	if (!changes && !is_method(r, "GET") && !is_method(r, "HEAD")) {
		answer_error_header(r, MHD_HTTP_METHOD_NOT_ALLOWED,
		    "this method is not known", NULL, "Allow",
		    "GET, HEAD, POST");
		return false;
	}
	if (!r->is_local && !is_probe(r) && !guard_takes_host(r->host,
	    &m->a->conf->monitor.hosts, m->host)) {
		answer_error(r, MHD_HTTP_MISDIRECTED_REQUEST, "the Host header "
		    "is no name of this monitor", "use its address, or add the "
		    "name to monitor.hosts");
		return false;
	}
	/* Other paths change nothing, whatever is sent with the request. */
	if (changes)
		return strncmp(r->path, "/api/actions/", 13) != 0 ||
		    admits_change(r);
	/* The page itself is shown, and asks for the token. */
	if (m->a->conf->monitor.require_token && !is_probe(r) &&
	    (strncmp(r->path, "/api/", 5) == 0 ||
	    strcmp(r->path, "/metrics") == 0) &&
	    strcmp(r->path, "/api/session") != 0 && !guard_is_authorized(r))
		return asks_for_token(r, "this monitor shows nothing without "
		    "its token");
	return true;
}
