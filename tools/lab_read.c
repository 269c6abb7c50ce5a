/*
 * lab_read.c - read a whole stream, fast
 *
 * It makes a push consumer by the plain protocol.  The library requires a
 * filter subject, which fails for streams of several subjects.  Flow control
 * bounds the memory for a large stream.
 */
#include <err.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lab.h"

#define SILENT_MS	10000	/* of the server before giving up */

struct place {
	uint64_t	seq;		/* in the stream */
	uint64_t	consumed;	/* by this consumer, so far */
	int64_t		when;		/* ns */
	uint64_t	pending;
};

/* $JS.ACK.[DOMAIN.ACCOUNT.]STREAM.CONSUMER.TRIES.SEQ.CONSUMED.TIME.PENDING */
static bool
place_of(natsMsg *m, struct place *pl)
{
	const char		*p = natsMsg_GetReply(m);
	unsigned long long	 seq, consumed, pending;
	long long		 when;
	int			 dots = 0;

	if (p == NULL || strncmp(p, "$JS.ACK.", 8) != 0)
		return false;
	for (const char *q = p; *q != '\0'; q++)
		dots += *q == '.';
	if (dots < 8)
		return false;
	for (dots = dots > 8 ? 7 : 5; dots > 0; dots--)
		p = strchr(p, '.') + 1;
	if (sscanf(p, "%llu.%llu.%lld.%llu", &seq, &consumed, &when,
	    &pending) != 4)
		return false;
	*pl = (struct place){ seq, consumed, when, pending };
	return true;
}

/* Returns the number of messages that the new consumer will deliver. */
static uint64_t
make_consumer(struct lab_bus *bus, const char *stream, const char *inbox)
{
	natsMsg		*m = NULL;
	natsStatus	 s;
	const char	*p;
	char		 subject[512], body[1024];
	uint64_t	 n = 0;

	snprintf(subject, sizeof(subject), "$JS.API.CONSUMER.CREATE.%s",
	    stream);
	snprintf(body, sizeof(body), "{\"stream_name\":\"%s\",\"config\":{"
	    "\"deliver_subject\":\"%s\",\"deliver_policy\":\"all\","
	    "\"ack_policy\":\"none\",\"replay_policy\":\"instant\","
	    "\"flow_control\":true,\"idle_heartbeat\":2000000000}}",
	    stream, inbox);
	s = natsConnection_RequestString(&m, bus->nc, subject, body,
	    SILENT_MS);
	if (s != NATS_OK)
		lab_bus_die("making a consumer", s);
	p = strstr(natsMsg_GetData(m), "\"num_pending\":");
	if (p != NULL)
		n = strtoull(strchr(p, ':') + 1, NULL, 10);
	else
		errx(1, "NATS: making a consumer: %s", natsMsg_GetData(m));
	natsMsg_Destroy(m);
	return n;
}

/* Is it a heartbeat or a flow control request?  Replies to the latter. */
static bool
is_control(struct lab_bus *bus, natsMsg *m)
{
	const char	*status = NULL, *stalled = NULL;

	if (natsMsg_GetDataLength(m) > 0 ||
	    natsMsgHeader_Get(m, "Status", &status) != NATS_OK ||
	    strcmp(status, "100") != 0)
		return false;
	natsMsgHeader_Get(m, "Nats-Consumer-Stalled", &stalled);
	if (natsMsg_GetReply(m) != NULL)
		stalled = natsMsg_GetReply(m);
	if (stalled != NULL)
		natsConnection_Publish(bus->nc, stalled, "", 0);
	return true;
}

static natsMsg *
next_message(struct lab_bus *bus, natsSubscription *sub)
{
	natsMsg		*m;
	natsStatus	 s;
	int64_t		 deadline = lab_now_ms() + SILENT_MS;

	for (;;) {
		s = natsSubscription_NextMsg(&m, sub, SILENT_MS);
		if (s != NATS_OK || lab_now_ms() > deadline)
			lab_bus_die("reading the stream",
			    s != NATS_OK ? s : NATS_TIMEOUT);
		if (!is_control(bus, m))
			return m;
		natsMsg_Destroy(m);
	}
}

void
lab_read_stream(struct lab_bus *bus, const char *stream,
    void (*each)(void *, natsMsg *, uint64_t, int64_t), void *arg)
{
	natsSubscription	*sub = NULL;
	natsInbox		*inbox = NULL;
	natsMsg			*m;
	natsStatus		 s;
	struct place		 pl;
	uint64_t		 left, consumed = 0;

	if ((s = natsInbox_Create(&inbox)) != NATS_OK ||
	    (s = natsConnection_SubscribeSync(&sub, bus->nc, inbox)) !=
	    NATS_OK || (s = natsSubscription_SetPendingLimits(sub, -1, -1))
	    != NATS_OK)
		lab_bus_die("subscribing", s);
	left = make_consumer(bus, stream, inbox);
	while (left > 0) {
		m = next_message(bus, sub);
		if (!place_of(m, &pl) || pl.consumed != ++consumed)
			errx(1, "NATS: a message was missed while reading "
			    "the stream; try again");
		left = pl.pending;
		each(arg, m, pl.seq, pl.when);
		natsMsg_Destroy(m);
	}
	natsSubscription_Destroy(sub);
	natsInbox_Destroy(inbox);
}
