/*
 * bus_wake.c - wake-ups that come through the broker
 *
 * A core NATS subscription of each connection.  Its messages are taken after
 * each read, also while a batch is out, so that they do not pile up.  Only a
 * flag is kept.
 */

#include "nats/bus_impl.h"

natsStatus
bus_wake_subscribe(struct bus *b)
{
	natsStatus	s;

	if (b->conf->wake.subject[0] == '\0')
		return NATS_OK;
	s = natsConnection_SubscribeSync(&b->wake, b->nc,
	    b->conf->wake.subject);
	/* No limit: bus_wake_read empties it after each read. */
	if (s == NATS_OK)
		s = natsSubscription_SetPendingLimits(b->wake, -1, -1);
	return s;
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
