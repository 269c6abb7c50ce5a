/* doctor_bus.c - the destination: a broker and its stream, or an endpoint */

#include "ctl/doctor/doctor.h"

#include <string.h>

#include "drivers/traits/traits.h"
#include "util/display.h"

static void
check_nats_tls(struct doctor *d)
{
	const struct conf	*c = d->ctl->conf;
	char			 host[CONF_HOST];

	for (size_t i = 0; i < c->nats.servers.n; i++) {
		const char *server = c->nats.servers.items[i];

		conf_url_host(server, host);
		if (conf_nats_tls(c, server) != TLS_DISABLE)
			doctor_say(d, DOCTOR_OK, "broker tls", "%s", server);
		else if (conf_is_loopback(host))
			doctor_say(d, DOCTOR_OK, "broker tls", "not needed on "
			    "this host");
		else
			doctor_say(d, DOCTOR_ADVICE, "broker tls", "%s: messages "
			    "can be read on the network: set nats.tls.mode: "
			    "verify", server);
	}
}

/*
 * Try the servers of the list until one answers, as the daemon does.  If none
 * does, that is a problem, see doctor_problems.c.
 */
static bool
connect_bus(struct doctor *d)
{
	size_t		n = d->ctl->conf->nats.servers.n;
	struct err	e;

	for (size_t i = 0; i < n; i++) {
		if (d->bus.ops->open(d->bus.arg, &e) == 0) {
			doctor_say(d, DOCTOR_OK, "broker", "connected; it "
			    "accepts messages of up to %s bytes",
			    DISPLAY_NUMBER(d->bus.ops->max_payload(
			    d->bus.arg)));
			return true;
		}
		if (i + 1 < n)
			doctor_say(d, DOCTOR_ADVICE, "broker", "%s", e.text);
	}
	return false;
}

static bool
keep_on(void *arg)
{
	(void)arg;
	return true;
}

/*
 * May the account ask what is in the stream?  Without that the daemon works
 * until the first answer is lost; that message then waits for an operator.
 */
static void
check_nats_rights(struct doctor *d)
{
	const struct conf	*c = d->ctl->conf;
	const struct pub_ops	*ops = d->bus.ops;
	const struct pub_go_on	 go_on = { keep_on, d };
	struct stored_message	 first = { .sequence = 1 };
	struct stream_state	 st;
	struct err		 e;
	char			 info[CONF_API], get[CONF_API];
	bool			 told = false;

	if (c->nats.stream[0] == '\0' || c->nats.recover == RECOVER_OFF)
		return;
	if (ops->state(d->bus.arg, &st, &e)) {
		if (st.answer != STREAM_THERE)	/* a problem of its own */
			return;
		told = ops->get_stored(d->bus.arg, "", &first, 1, &go_on, &e) ==
		    0;
	}
	if (told) {
		doctor_say(d, DOCTOR_OK, "broker rights", "the account may ask "
		    "what is in the stream");
		return;
	}
	ops->complaint(d->bus.arg, PUB_FORBIDDEN, &e);
	doctor_say(d, DOCTOR_WARN, "broker rights", "it cannot be asked what "
	    "is in the stream, so each message whose answer is lost waits for "
	    "an operator: %s: allow the user in the section nats to publish to "
	    "%s and %s", e.text,
	    conf_api(c, "STREAM.INFO.", c->nats.stream, info),
	    conf_api(c, "STREAM.MSG.GET.", c->nats.stream, get));
}

static void
check_nats(struct doctor *d)
{
	const struct conf	*c = d->ctl->conf;
	struct stream_report	 r = { 0 };
	struct err		 e;
	char			 host[CONF_HOST];

	if (!connect_bus(d) || c->nats.core)
		return;
	/* An unfit or lossy one is a problem, see doctor_problems.c. */
	if (c->nats.stream[0] == '\0')
		doctor_say(d, DOCTOR_ADVICE, "stream", "not checked, and "
		    "messages that it loses are not found: set nats.stream");
	else if (d->bus.ops->check(d->bus.arg, &r, &e) && !r.unfit &&
	    !r.full && r.unheard.text[0] == '\0' && r.warnings.n == 0)
		doctor_say(d, DOCTOR_OK, "stream", "%s stores nats.subject",
		    c->nats.stream);
	if (r.replicas.text[0] != '\0')
		doctor_say(d, DOCTOR_OK, "stream replicas", "%s",
		    r.replicas.text);
	check_nats_rights(d);
	doctor_say(d, DOCTOR_OK, "broker sync", "a machine that stops may lose "
	    "what it acknowledged since its last sync, which is sent again; "
	    "no client sees how often it syncs: see sync_interval in "
	    "outbox-clusters(7)");
	/* The server of another domain may be on another host. */
	for (size_t i = 0; i < c->nats.servers.n; i++) {
		conf_url_host(c->nats.servers.items[i], host);
		if (conf_is_loopback(host) && c->nats.domain[0] == '\0')
			doctor_store(d, c->nats.servers.items[i]);
	}
}

static void
check_endpoint_tls(struct doctor *d, const char *endpoint)
{
	char	host[CONF_HOST];

	conf_url_host(endpoint, host);
	if (strncmp(endpoint, "http:", 5) == 0 && !conf_is_loopback(host))
		doctor_say(d, DOCTOR_ADVICE, "endpoint tls", "%s: messages can "
		    "be read on the network: write https://", endpoint);
}

static void
check_http(struct doctor *d)
{
	const struct conf	*c = d->ctl->conf;
	const struct conf_route	*r = c->publish.routes.items;

	check_endpoint_tls(d, c->http.endpoint);
	for (size_t i = 0; i < c->publish.routes.n; i++)
		check_endpoint_tls(d, r[i].endpoint);
	if (c->http.signing_keys.n == 0)
		doctor_say(d, DOCTOR_ADVICE, "endpoint", "requests are not "
		    "signed, so the receiver cannot tell who sent them: set "
		    "http.signing_keys");
}

static void
say_warning(void *arg, const char *key, const char *text)
{
	doctor_say(arg, DOCTOR_WARN, key, "%s", text);
}

/* If it cannot be opened, that is a problem, see doctor_problems.c. */
static void
check_another(struct doctor *d)
{
	const struct conf	*c = d->ctl->conf;
	struct err		 e;

	if (d->bus.ops->open(d->bus.arg, &e) < 0)
		return;
	if (c->publish.routes.n > 0)
		doctor_say(d, DOCTOR_OK, d->bus.ops->peer, "the first messages "
		    "to each show whether it takes them");
	else
		doctor_say(d, DOCTOR_OK, d->bus.ops->peer, "driver %s%s%s; the "
		    "first messages show whether it takes them",
		    d->bus.ops->name, conf_uses_http(c) ? ", " : "",
		    conf_uses_http(c) ? c->http.endpoint : "");
}

void
doctor_broker(struct doctor *d)
{
	const struct pub	*p = &d->bus;
	const struct conf	*c = d->ctl->conf;
	char			 where[CONF_DESTINATION];
	struct err		 e;

	if (c->publish.routes.n > 0)
		doctor_say(d, DOCTOR_OK, "routes", "messages go to %s",
		    conf_destination(c, where));
	if (p->ops->caution(p->arg, &e))
		doctor_say(d, DOCTOR_ADVICE, p->ops->peer, "%s", e.text);
	conf_warn(c, say_warning, d);
	if (conf_uses_nats(c))
		check_nats_tls(d);
	if (conf_uses_http(c))
		check_http(d);
	if (conf_uses_kafka(c))
		doctor_kafka(d);
	if (traits_of(c, NULL)->has_stream)
		check_nats(d);
	else
		check_another(d);
}
