/*
 * conf_warn.c - what works today but is not safe, and keys that do nothing
 *
 * What version 1.0 will refuse is told here before: files of today go on
 * working.  A secret that cannot be read is the business of conf_secrets.c.
 */
#include "conf/conf_impl.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "util/secret.h"

#define SOON	"; version 1.0 refuses it"

struct warn {
	const struct conf	*conf;
	void			(*tell)(void *, const char *, const char *);
	void			*arg;
};

static void __attribute__((format(printf, 3, 4)))
warn(const struct warn *w, const char *key, const char *fmt, ...)
{
	struct err	text;
	va_list		ap;

	va_start(ap, fmt);
	vsnprintf(text.text, sizeof(text.text), fmt, ap);
	va_end(ap);
	w->tell(w->arg, key, text.text);
}

/* What is secret in requests, in words; NULL: nothing. */
static const char *
secrets_of(const struct conf *c)
{
	const struct conf_header	*h = c->http.headers.items;
	bool	token = c->http.token_file[0] != '\0' ||
		    c->http.token_env[0] != '\0', header = false;

	for (size_t i = 0; i < c->http.headers.n; i++)
		header = header || conf_header_is_secret(&h[i]);
	return token && header ? "the token and secret headers" :
	    token ? "the token" : header ? "secret headers" : NULL;
}

/* Do secrets go where others on the network can read them? */
static void
warn_endpoint(const struct warn *w, const char *key, const char *route,
    const char *endpoint)
{
	const struct conf_list	*allowed = &w->conf->http.allow_clear;
	const char		*secrets = secrets_of(w->conf);
	char			 host[CONF_HOST], proxy[CONF_HOST];

	conf_url_host(endpoint, host);
	conf_url_host(w->conf->http.proxy, proxy);
	if (secrets == NULL || strncmp(endpoint, "http:", 5) != 0 ||
	    (conf_is_loopback(host) &&
	    (proxy[0] == '\0' || conf_is_loopback(proxy))))
		return;
	for (size_t i = 0; i < allowed->n; i++)
		if (strcasecmp(allowed->items[i], host) == 0)
			return;
	warn(w, key, "%s%s%.150s gets %s without TLS%s, which others on the "
	    "network can read: write https://, or allow it by "
	    "http.allow_clear: [%s]" SOON, route, route[0] == '\0' ? "" : ": ",
	    endpoint, secrets, proxy[0] == '\0' ? "" : " by http.proxy",
	    host);
}

static void
warn_http(const struct warn *w)
{
	const struct conf		*c = w->conf;
	const struct conf_route		*r = c->publish.routes.items;
	const struct conf_signing_key	*k = c->http.signing_keys.items;
	const char			*secrets = secrets_of(c);
	struct err			 e;

	if (!conf_uses_http(c))
		return;
	if (!c->http.tls.verify)
		warn(w, "http", "http.tls.verify is false: whoever answers at "
		    "the address of an endpoint gets the messages%s%s",
		    secrets == NULL ? "" : ", and ",
		    secrets == NULL ? "" : secrets);
	warn_endpoint(w, "http.endpoint", "", c->http.endpoint);
	for (size_t i = 0; i < c->publish.routes.n; i++)
		warn_endpoint(w, "publish.routes", r[i].name, r[i].endpoint);
	for (size_t i = 0; i < c->http.signing_keys.n; i++, k++) {
		char	*key = secret_read(k->file, "", &e);

		if (key != NULL && strlen(key) < CONF_KEY_MIN)
			warn(w, "http.signing_keys", "%s: the key in %.150s is "
			    "shorter than %d bytes and might be guessed: make "
			    "another, as by openssl rand -hex 32" SOON, k->id,
			    k->file, CONF_KEY_MIN);
		secret_free(key);
	}
}

static void
warn_nats(const struct warn *w)
{
	const struct conf	*c = w->conf;
	bool			 token = c->nats.token_file[0] != '\0' ||
				    c->nats.token_env[0] != '\0';
	bool			 password = c->nats.password_file[0] != '\0' ||
				    c->nats.password_env[0] != '\0';
	char			 host[CONF_HOST];

	if (!conf_uses_nats(c) || (!token && !password))
		return;
	for (size_t i = 0; i < c->nats.servers.n; i++) {
		const char *server = c->nats.servers.items[i];

		conf_url_host(server, host);
		if (conf_nats_tls(c, server) != TLS_DISABLE ||
		    conf_is_loopback(host))
			continue;
		warn(w, "nats.tls.mode", "disable: %.150s gets the %s without "
		    "TLS, so others on the network can read it: set verify, or "
		    "use nats.nkey_file", server, token ? "token" : "password");
		return;
	}
}

static void
warn_kafka(const struct warn *w)
{
	const struct conf	*c = w->conf;
	char			 host[CONF_HOST];

	if (!conf_uses_driver(c, DRIVER_KAFKA) ||
	    conf_kafka_tls(c) != TLS_DISABLE ||
	    strcmp(c->kafka.sasl.mechanism, "PLAIN") != 0)
		return;
	for (size_t i = 0; i < c->kafka.brokers.n; i++) {
		conf_url_host(c->kafka.brokers.items[i], host);
		if (conf_is_loopback(host))
			continue;
		warn(w, "kafka.tls.mode", "disable: %.150s gets the password "
		    "without TLS, so others on the network can read it: set "
		    "verify, or use kafka.sasl.mechanism: SCRAM-SHA-512",
		    c->kafka.brokers.items[i]);
		return;
	}
}

void
conf_warn(const struct conf *c, void (*tell)(void *, const char *,
    const char *), void *arg)
{
	struct warn	w = { c, tell, arg };

	for (unsigned i = 0; conf_retired[i].name != NULL; i++)
		if ((c->retired & 1U << i) != 0)
			warn(&w, conf_retired[i].name, "%s: take it out" SOON,
			    conf_retired[i].text);
	warn_http(&w);
	warn_nats(&w);
	warn_kafka(&w);
}
