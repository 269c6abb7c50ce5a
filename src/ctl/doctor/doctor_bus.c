/* doctor_bus.c - the destination: a broker and its stream, or an endpoint */

#include "ctl/doctor/doctor.h"

#include <string.h>

#include "util/display.h"

/* Is the server on this host, so that TLS is not needed? */
static bool
is_local(const char *server)
{
	const char	*host = strstr(server, "://");

	host = host == NULL ? server : host + 3;
	if (strchr(host, '@') != NULL)
		host = strchr(host, '@') + 1;
	return strncmp(host, "127.", 4) == 0 ||
	    strncmp(host, "[::1]", 5) == 0 ||
	    strncmp(host, "localhost", 9) == 0;
}

static void
check_nats_tls(struct doctor *d)
{
	const struct conf	*c = d->ctl->conf;
	bool			 always = c->nats.tls.ca[0] != '\0' ||
				    c->nats.tls.cert[0] != '\0';

	for (size_t i = 0; i < c->nats.servers.n; i++) {
		const char *server = c->nats.servers.items[i];

		if (always || strncmp(server, "tls://", 6) == 0)
			doctor_say(d, DOCTOR_OK, "broker tls", "%s", server);
		else if (is_local(server))
			doctor_say(d, DOCTOR_OK, "broker tls", "not needed on "
			    "this host");
		else
			doctor_say(d, DOCTOR_ADVICE, "broker tls", "%s: messages "
			    "and passwords can be read on the network, unless "
			    "the server requires TLS: write tls://", server);
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
	char		bytes[DISPLAY_SIZE];

	for (size_t i = 0; i < n; i++) {
		if (d->bus.ops->open(d->bus.arg, &e) == 0) {
			doctor_say(d, DOCTOR_OK, "broker", "connected; it "
			    "accepts messages of up to %s bytes",
			    display_number(bytes,
			    d->bus.ops->max_payload(d->bus.arg)));
			return true;
		}
		if (i + 1 < n)
			doctor_say(d, DOCTOR_ADVICE, "broker", "%s", e.text);
	}
	return false;
}

/* One that is unfit or loses messages is a problem, see doctor_problems.c. */
static void
check_nats_stream(struct doctor *d)
{
	struct stream_report	r;
	struct err		e;

	if (d->ctl->conf->nats.stream[0] == '\0')
		doctor_say(d, DOCTOR_ADVICE, "stream", "not checked, and "
		    "messages that it loses are not found: set nats.stream");
	else if (d->bus.ops->check(d->bus.arg, &r, &e) && !r.unfit &&
	    !r.full && r.unheard.text[0] == '\0' && r.warnings.n == 0)
		doctor_say(d, DOCTOR_OK, "stream", "%s stores nats.subject",
		    d->ctl->conf->nats.stream);
}

static void
check_nats(struct doctor *d)
{
	check_nats_tls(d);
	if (connect_bus(d) && !d->ctl->conf->nats.core)
		check_nats_stream(d);
}

static void
check_http(struct doctor *d)
{
	const struct conf	*c = d->ctl->conf;
	const char		*host = strstr(c->http.endpoint, "://") + 3;

	if (strncmp(c->http.endpoint, "https:", 6) != 0 && !is_local(host))
		doctor_say(d, DOCTOR_ADVICE, "endpoint tls", "%s: messages and "
		    "the token can be read on the network: write https://",
		    c->http.endpoint);
	if (c->http.signing_keys.n == 0)
		doctor_say(d, DOCTOR_ADVICE, "endpoint", "requests are not "
		    "signed, so the receiver cannot tell who sent them: set "
		    "http.signing_keys");
}

/* If it cannot be opened, that is a problem, see doctor_problems.c. */
static void
check_another(struct doctor *d)
{
	const struct conf	*c = d->ctl->conf;
	struct err		 e;

	if (c->publish.driver == DRIVER_HTTP)
		check_http(d);
	if (d->bus.ops->open(d->bus.arg, &e) < 0)
		return;
	if (c->publish.routes.n > 0)
		doctor_say(d, DOCTOR_OK, d->bus.ops->peer, "the first messages "
		    "to each show whether it takes them");
	else
		doctor_say(d, DOCTOR_OK, d->bus.ops->peer, "driver %s%s%s; the "
		    "first messages show whether it takes them",
		    d->bus.ops->name, c->publish.driver == DRIVER_HTTP ?
		    ", " : "", c->publish.driver == DRIVER_HTTP ?
		    c->http.endpoint : "");
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
	if (c->publish.driver == DRIVER_NATS)
		check_nats(d);
	else
		check_another(d);
}
