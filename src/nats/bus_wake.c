/*
 * bus_wake.c - rings that come through the broker
 *
 * A plain subscription of each connection.  What arrives is taken out after
 * each read, in a batch or not, so that nothing piles up; one flag is all
 * that is kept of it.
 */

#include "nats/bus_impl.h"

#include <stdio.h>
#include <string.h>

natsStatus
bus_wake_subscribe(struct bus *b)
{
	natsStatus	s;

	if (b->conf->wake.subject[0] == '\0')
		return NATS_OK;
	s = natsConnection_SubscribeSync(&b->wake, b->nc,
	    b->conf->wake.subject);
	/* We are as fast as we read: there is no slow consumer. */
	if (s == NATS_OK)
		s = natsSubscription_SetPendingLimits(b->wake, -1, -1);
	return s;
}

void
bus_wake_close(struct bus *b)
{
	natsSubscription_Destroy(b->wake);
	b->wake = NULL;
}

void
bus_wake_read(struct bus *b)
{
	natsMsg		*m = NULL;
	natsStatus	 s = NATS_OK;

	while (b->wake != NULL && (s == NATS_OK || s == NATS_NO_RESPONDERS)) {
		s = natsSubscription_NextMsg(&m, b->wake, 0);
		if (s == NATS_OK) {
			b->woken = true;
			bus_spend(b, m);
		}
	}
}

bool
bus_woken(void *arg)
{
	struct bus	*b = arg;
	bool		 was = b->woken;

	b->woken = false;
	return was;
}

bool
bus_wake_is_meant(const struct bus *b, const char *text)
{
	char	quoted[300];

	snprintf(quoted, sizeof(quoted), "Subscription to \"%s\"",
	    b->conf->wake.subject);
	return strstr(text, quoted) != NULL;
}
