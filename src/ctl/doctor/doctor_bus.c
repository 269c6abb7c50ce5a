/* doctor_bus.c - the broker and its stream */

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
			doctor_say(d, DOCTOR_WARN, "broker tls", "%s: messages "
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
			doctor_say(d, DOCTOR_WARN, "broker", "%s", e.text);
	}
	return false;
}

/* A stream that is unfit or unsafe is a problem, see doctor_problems.c. */
static void
check_nats_stream(struct doctor *d)
{
	struct stream_report	r;
	struct err		e;

	if (d->ctl->conf->nats.stream[0] == '\0')
		doctor_say(d, DOCTOR_WARN, "stream", "not checked, and "
		    "messages that it loses are not found: set nats.stream");
	else if (d->bus.ops->check(d->bus.arg, &r, &e) && !r.unfit &&
	    !r.full && r.nwarnings == 0)
		doctor_say(d, DOCTOR_OK, "stream", "%s stores nats.subject, "
		    "and its duplicate window is long enough",
		    d->ctl->conf->nats.stream);
}

void
doctor_broker(struct doctor *d)
{
	check_nats_tls(d);
	if (connect_bus(d))
		check_nats_stream(d);
}
