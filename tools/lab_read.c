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

/* One stream, read from its leader. */
struct reading {
	struct lab_bus	*bus;
	const char	*stream;
	char		 leader[256];	/* "": it has no replicas */
	uint64_t	 next;		/* sequence to begin at */
	uint64_t	 last;		/* of the stream when it began; 0: it
					   was empty */
	uint64_t	 pending;	/* of the consumer */
};

/* Returns false if the server does not tell. */
static bool
look_at_stream(const struct reading *r, char *leader, size_t size,
    uint64_t *last)
{
	jsStreamInfo	*si = NULL;
	jsErrCode	 code = 0;

	if (js_GetStreamInfo(&si, r->bus->js, r->stream, NULL, &code) !=
	    NATS_OK)
		return false;
	*leader = '\0';
	if (si->Cluster != NULL && si->Cluster->ReplicasLen > 0 &&
	    si->Cluster->Leader != NULL)
		snprintf(leader, size, "%s", si->Cluster->Leader);
	*last = si->State.Msgs > 0 ? si->State.LastSeq : 0;
	jsStreamInfo_Destroy(si);
	return true;
}

/*
 * Of several replicas a consumer may read any, and a damaged one lacks what the
 * others have.  The leader's is the one that counts.
 */
static bool
is_on_leader(struct reading *r, const char *answer)
{
	char	 text[300];

	if (!look_at_stream(r, r->leader, sizeof(r->leader), &r->last))
		return false;
	snprintf(text, sizeof(text), "\"leader\":\"%s\"", r->leader);
	return r->leader[0] == '\0' || strstr(answer, text) != NULL;
}

/*
 * A consumer sends nothing before somebody listens to its inbox.  Returns false
 * if another one has to be made; the server ends this one.
 */
static bool
make_consumer(struct reading *r, const char *inbox)
{
	natsMsg		*m = NULL;
	natsStatus	 s;
	const char	*p;
	char		 subject[512], body[1024];
	bool		 good;

	snprintf(subject, sizeof(subject), "$JS.API.CONSUMER.CREATE.%s",
	    r->stream);
	snprintf(body, sizeof(body), "{\"stream_name\":\"%s\",\"config\":{"
	    "\"deliver_subject\":\"%s\","
	    "\"deliver_policy\":\"by_start_sequence\",\"opt_start_seq\":%llu,"
	    "\"ack_policy\":\"none\",\"replay_policy\":\"instant\","
	    "\"flow_control\":true,\"idle_heartbeat\":2000000000}}",
	    r->stream, inbox, (unsigned long long)r->next);
	s = natsConnection_RequestString(&m, r->bus->nc, subject, body,
	    SILENT_MS);
	if (s != NATS_OK)
		lab_bus_die("making a consumer", s);
	p = strstr(natsMsg_GetData(m), "\"num_pending\":");
	if (p != NULL)
		r->pending = strtoull(strchr(p, ':') + 1, NULL, 10);
	else
		errx(1, "NATS: making a consumer: %s", natsMsg_GetData(m));
	good = is_on_leader(r, natsMsg_GetData(m));
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

static natsSubscription *
subscribe(struct reading *r)
{
	natsSubscription	*sub = NULL;
	natsInbox		*inbox;
	natsStatus		 s;

	for (int i = 0; i < MAX_TRIES; i++) {
		inbox = NULL;
		if ((s = natsInbox_Create(&inbox)) != NATS_OK)
			lab_bus_die("subscribing", s);
		if (make_consumer(r, inbox)) {
			if ((s = natsConnection_SubscribeSync(&sub, r->bus->nc,
			    inbox)) != NATS_OK ||
			    (s = natsSubscription_SetPendingLimits(sub, -1,
			    -1)) != NATS_OK)
				lab_bus_die("subscribing", s);
			natsInbox_Destroy(inbox);
			lab_bus_keep(r->bus, sub);
			return sub;
		}
		natsInbox_Destroy(inbox);
		lab_pause(100);
	}
	errx(1, "NATS: no consumer of %s is on its leader", r->stream);
}

/* Read what a consumer sends, which need not be all. */
static void
read_consumer(struct reading *r,
    void (*each)(void *, natsMsg *, uint64_t, int64_t), void *arg)
{
	natsSubscription	*sub = subscribe(r);
	natsMsg			*m;
	struct place		 pl;
	uint64_t		 consumed = 0;

	while (r->pending > 0 && (m = next_message(r->bus, sub)) != NULL) {
		if (!place_of(m, &pl) || pl.consumed != ++consumed)
			errx(1, "NATS: a message was missed while reading "
			    "the stream; try again");
		r->pending = pl.pending;
		r->next = pl.seq + 1;
		each(arg, m, pl.seq, pl.when);
		natsMsg_Destroy(m);
	}
}

/* Is there a message at r->next or above it?  Moves it there. */
static bool
find_next(struct reading *r)
{
	natsMsg		*m;
	natsStatus	 s;
	jsErrCode	 code;

	for (; r->next <= r->last; r->next++) {
		m = NULL;
		code = 0;
		s = js_GetMsg(&m, r->bus->js, r->stream, r->next, NULL, &code);
		natsMsg_Destroy(m);
		if (s == NATS_OK)
			return true;
		if (s != NATS_NOT_FOUND)
			lab_bus_die("reading a message", s);
	}
	return false;
}

/*
 * A consumer stops at what it cannot read in a damaged store, and counts what
 * is not there.  So the end is where the leader has nothing more up to the last
 * sequence, asked for one by one.
 */
void
lab_read_stream(struct lab_bus *bus, const char *stream,
    void (*each)(void *, natsMsg *, uint64_t, int64_t), void *arg)
{
	struct reading	r = { .bus = bus, .stream = stream, .next = 1 };
	char		leader[sizeof(r.leader)] = "", now[sizeof(r.leader)];
	uint64_t	last;

	do {
		read_consumer(&r, each, arg);
		if (leader[0] == '\0')
			snprintf(leader, sizeof(leader), "%s", r.leader);
	} while (find_next(&r));
	if (r.pending > 0)
		warnx("NATS: the stream counts %llu messages that it does not "
		    "have", (unsigned long long)r.pending);
	if (!look_at_stream(&r, now, sizeof(now), &last) ||
	    strcmp(leader, now) != 0)
		errx(1, "NATS: %s got another leader while it was read; try "
		    "again", stream);
}
