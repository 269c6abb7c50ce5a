/*
 * conf_warn.c - what works but is not safe
 *
 * A secret that cannot be read is the business of conf_secrets.c.
 */
#include "conf/conf_impl.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "util/secret.h"

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

static void
warn_http(const struct warn *w)
{
	const char	*secrets = conf_http_secrets(w->conf);

	if (conf_uses_http(w->conf) && !w->conf->http.tls.verify)
		warn(w, "http", "http.tls.verify is false: whoever answers at "
		    "the address of an endpoint gets the messages%s%s",
		    secrets == NULL ? "" : ", and ",
		    secrets == NULL ? "" : secrets);
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

/* Whoever is on this host could say who it is. */
static void
warn_monitor(const struct warn *w)
{
	const struct conf_list	*proxies = &w->conf->monitor.proxies;

	for (size_t i = 0; i < proxies->n; i++)
		if (conf_is_loopback(proxies->items[i]))
			warn(w, "monitor.proxies", "%s: each user of this host "
			    "can connect from there, and say who it is: let the "
			    "proxy connect to monitor.socket, and name its user "
			    "here as uid:NUMBER", proxies->items[i]);
}

void
conf_warn(const struct conf *c, void (*tell)(void *, const char *,
    const char *), void *arg)
{
	struct warn	w = { c, tell, arg };

	warn_http(&w);
	warn_nats(&w);
	warn_kafka(&w);
	warn_monitor(&w);
}
