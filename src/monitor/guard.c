/*
 * guard.c - who may ask what, see request.h
 *
 * A person is known by a token, or by what a proxy says who has logged them in:
 * that counts only if the connection is the proxy's.  What is changed, is
 * changed by outboxctl with mysql.operator: if its password cannot be read by
 * this user, no change is possible, and that is told before anybody tries.
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

#include <bsd/string.h>

#include "util/secret.h"
#include "util/xalloc.h"

void
guard_read_tokens(struct monitor *m)
{
	const struct conf	*conf = m->a->conf;
	char			*secret;

	(void)people_read(&m->people, conf, &m->bad_token);
	if (!people_may_act(&m->people) ||
	    conf->mysql.operator.user[0] == '\0')
		return;
	/* Could outboxctl log in as the operator? */
	secret = secret_read(conf->mysql.operator.password_file,
	    conf->mysql.operator.password_env, &m->bad_operator);
	if (secret == NULL)
		err_in(&m->bad_operator, "monitor.tokens and "
		    "monitor.token_file allow changes, but mysql.operator "
		    "cannot be used");
	secret_free(secret);
}

bool
guard_may_change(const struct monitor *m)
{
	return people_may_act(&m->people) && m->bad_operator.text[0] == '\0';
}

void
guard_tell(struct request *r, int why, const char *what)
{
	char	 client[CLIENT_NAME_SIZE];
	char	*text;

	client_name(r->client, client);
	text = xasprintf("%s: %s", what, client);
	log_throttle_keyed(&r->monitor->refused[why], what, text,
	    r->monitor->now);
	free(text);
}

/* Does a proxy say who it is?  Of others that is nothing. */
static bool
is_named(struct request *r)
{
	const struct conf_list	*proxies = &r->monitor->a->conf->monitor.proxies;

	if (r->user == NULL || r->user[0] == '\0')
		return false;
	for (size_t i = 0; i < proxies->n; i++)
		if (client_is(r->client, proxies->items[i]))
			return true;
	guard_tell(r, REFUSED_NAME, "a client that is not in monitor.proxies "
	    "said who it is");
	return false;
}

/* Who has sent it?  False: that has two answers, or is no name. */
static bool
identify(struct request *r)
{
	static const char	 scheme[] = "Bearer ";
	size_t			 n = sizeof(scheme) - 1;
	const struct people	*people = &r->monitor->people;
	const struct person	*p = NULL;
	const char		*token = r->token != NULL &&
				    strncasecmp(r->token, scheme, n) == 0 ?
				    r->token + n : NULL;

	r->by_proxy = is_named(r);
	if (r->by_proxy && (token != NULL || !conf_is_person(r->user))) {
		answer_error(r, MHD_HTTP_BAD_REQUEST, token != NULL ?
		    "a token, and a user whom a proxy has logged in: who is it?"
		    : "the proxy names a user whose name is not possible",
		    "see monitor.user_header in outbox.yml(5)");
		return false;
	}
	if (r->by_proxy)
		p = people_named(people, r->user);
	else if (token != NULL)
		p = people_find(people, token);
	r->is_known = p != NULL;
	if (p != NULL)
		r->who = *p;
	else if (!r->by_proxy && r->token != NULL && people->n > 0)
		guard_tell(r, REFUSED_TOKEN, "a client sent a wrong token to "
		    "the monitor");
	if (r->by_proxy)
		strlcpy(r->who.name, r->user, sizeof(r->who.name));
	r->token = token;
	return true;
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
	struct err	stranger;

	if (r->by_proxy) {
		err_set(&stranger, "%s is not in monitor.tokens", r->who.name);
		guard_tell(r, REFUSED_RIGHT, stranger.text);
		answer_error(r, MHD_HTTP_FORBIDDEN, stranger.text, "add a row "
		    "of this name, or one of the name *");
		return false;
	}
	answer_error_header(r, MHD_HTTP_UNAUTHORIZED, error, "send a token of "
	    "monitor.tokens or monitor.token_file: Authorization: Bearer TOKEN",
	    "WWW-Authenticate", "Bearer");
	return false;
}

/* Known people are let through: outboxctl decides what each may change. */
static bool
admits_change(struct request *r)
{
	static const char	 json[] = "application/json";
	size_t			 n = sizeof(json) - 1;
	const struct monitor	*m = r->monitor;
	const char		*why;

	if (!is_own_origin(r)) {
		answer_error(r, MHD_HTTP_FORBIDDEN, "the request comes from a "
		    "page of another site", NULL);
		return false;
	}
	if (!guard_may_change(m)) {
		why = m->bad_operator.text[0] != '\0' ? m->bad_operator.text :
		    m->bad_token.text;
		if (*why != '\0')
			answer_error(r, MHD_HTTP_FORBIDDEN, why, "correct that "
			    "file, or its rights; or use outboxctl");
		else
			answer_error(r, MHD_HTTP_FORBIDDEN, "this monitor only "
			    "shows, it changes nothing", "set monitor.tokens, "
			    "or use outboxctl");
		return false;
	}
	if (!r->is_known)
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
	    (!m->a->conf->monitor.require_token || r->is_known);
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
	if (!identify(r))
		return false;
	/* Other paths change nothing, whatever is sent with the request. */
	if (changes)
		return strncmp(r->path, "/api/actions/", 13) != 0 ||
		    admits_change(r);
	/* The page itself is shown, and asks for the token. */
	if (m->a->conf->monitor.require_token && !is_probe(r) &&
	    (strncmp(r->path, "/api/", 5) == 0 ||
	    strcmp(r->path, "/metrics") == 0) &&
	    strcmp(r->path, "/api/session") != 0 && !r->is_known)
		return asks_for_token(r, "this monitor shows nothing without "
		    "its token");
	return true;
}
