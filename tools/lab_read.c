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
#define MAX_TRIES	60	/* of a consumer on the stream's leader */
#define IDLE_BEATS	2	/* heartbeats in a row: there is no more */

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

/*
 * Of several replicas a consumer may read any, and a damaged one lacks what the
 * others have.  The leader's is the one that counts.
 */
static bool
is_on_leader(struct lab_bus *bus, const char *stream, const char *answer)
{
	jsStreamInfo	*si = NULL;
	jsErrCode	 code = 0;
	natsStatus	 s;
	char		 text[300];
	bool		 yes = true;

	s = js_GetStreamInfo(&si, bus->js, stream, NULL, &code);
	if (s != NATS_OK)
		return false;
	if (si->Cluster != NULL && si->Cluster->ReplicasLen > 0 &&
	    si->Cluster->Leader != NULL) {
		snprintf(text, sizeof(text), "\"leader\":\"%s\"",
		    si->Cluster->Leader);
		yes = strstr(answer, text) != NULL;
	}
	jsStreamInfo_Destroy(si);
	return yes;
}

/*
 * Sets *n to the number of messages that the new consumer will deliver.
 * Returns false if another one has to be made.
 */
static bool
make_consumer(struct lab_bus *bus, const char *stream, const char *inbox,
    uint64_t *n)
{
	natsMsg		*m = NULL;
	natsStatus	 s;
	const char	*p;
	char		 subject[512], body[1024];
	bool		 good;

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
		*n = strtoull(strchr(p, ':') + 1, NULL, 10);
	else
		errx(1, "NATS: making a consumer: %s", natsMsg_GetData(m));
	good = is_on_leader(bus, stream, natsMsg_GetData(m));
	natsMsg_Destroy(m);
	return good;
}

/*
 * Is it a heartbeat or a flow control request?  Replies to the latter, counts
 * the former.
 */
static bool
is_control(struct lab_bus *bus, natsMsg *m, int *beats)
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
	else
		++*beats;
	return true;
}

/*
 * NULL: the server has no more, though it counted more: a damaged store may
 * count messages that cannot be read.
 */
static natsMsg *
next_message(struct lab_bus *bus, natsSubscription *sub)
{
	natsMsg		*m;
	natsStatus	 s;
	int64_t		 deadline = lab_now_ms() + SILENT_MS;
	int		 beats = 0;

	while (beats < IDLE_BEATS) {
		s = natsSubscription_NextMsg(&m, sub, SILENT_MS);
		if (s != NATS_OK || lab_now_ms() > deadline)
			lab_bus_die("reading the stream",
			    s != NATS_OK ? s : NATS_TIMEOUT);
		if (!is_control(bus, m, &beats))
			return m;
		natsMsg_Destroy(m);
	}
	return NULL;
}

/* Returns the number of messages to come; sets *sub, to which they come. */
static uint64_t
subscribe(struct lab_bus *bus, const char *stream, natsSubscription **sub)
{
	natsInbox	*inbox;
	natsStatus	 s;
	uint64_t	 left;

	for (int i = 0; i < MAX_TRIES; i++) {
		inbox = NULL;
		*sub = NULL;
		if ((s = natsInbox_Create(&inbox)) != NATS_OK ||
		    (s = natsConnection_SubscribeSync(sub, bus->nc, inbox)) !=
		    NATS_OK ||
		    (s = natsSubscription_SetPendingLimits(*sub, -1, -1)) !=
		    NATS_OK)
			lab_bus_die("subscribing", s);
		if (make_consumer(bus, stream, inbox, &left)) {
			natsInbox_Destroy(inbox);
			return left;
		}
		natsSubscription_Destroy(*sub);
		natsInbox_Destroy(inbox);
		lab_pause(100);
	}
	errx(1, "NATS: no consumer of %s is on its leader", stream);
}

void
lab_read_stream(struct lab_bus *bus, const char *stream,
    void (*each)(void *, natsMsg *, uint64_t, int64_t), void *arg)
{
	natsSubscription	*sub = NULL;
	natsMsg			*m;
	struct place		 pl;
	uint64_t		 left, consumed = 0;

	left = subscribe(bus, stream, &sub);
	while (left > 0) {
		if ((m = next_message(bus, sub)) == NULL) {
			warnx("NATS: the stream should have %llu messages more",
			    (unsigned long long)left);
			break;
		}
		if (!place_of(m, &pl) || pl.consumed != ++consumed)
			errx(1, "NATS: a message was missed while reading "
			    "the stream; try again");
		left = pl.pending;
		each(arg, m, pl.seq, pl.when);
		natsMsg_Destroy(m);
	}
	natsSubscription_Destroy(sub);
}
