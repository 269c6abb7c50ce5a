/*
 * bus.c - JetStream through nats.c, driven by our own loop
 *
 * One thread: bus_loop.c reads and writes, bus_answer.c takes the answers.
 * AllowReconnect is off: after a reconnect the library would send messages
 * that we have given up on.
 */

#include "nats/bus_impl.h"

#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <nats/nats.h>
#include <bsd/stdlib.h>

#include "driver/pub_lacks.h"
#include "util/clock.h"
#include "util/fault.h"
#include "util/xalloc.h"

#define CLOSE_TIMEOUT_MS	500
#define LIMIT_MS		500	/* until an account's limit is told */

static int
subscribe(struct bus *b, struct err *e)
{
	natsStatus	s = NATS_OK;
	char		subject[128];

	if (!b->conf->nats.core) {
		/*
		 * Who can publish to the inbox can forge acknowledgements.  It
		 * cannot be guessed, and a prefix of its own lets the server
		 * keep others from it.
		 */
		b->inbox = xasprintf("%s.%08x%08x%08x%08x.",
		    b->conf->nats.inbox_prefix, arc4random(), arc4random(),
		    arc4random(), arc4random());
		b->inbox_len = strlen(b->inbox);
		snprintf(subject, sizeof(subject), "%s*", b->inbox);
		s = natsConnection_SubscribeSync(&b->sub, b->nc, subject);
		if (s == NATS_OK)
			s = natsSubscription_SetPendingLimits(b->sub, -1, -1);
	}
	if (s == NATS_OK)
		s = bus_wake_subscribe(b);
	if (s != NATS_OK)
		bus_describe(s, e);
	return s == NATS_OK ? 0 : -1;
}

static void
bus_close(void *arg)
{
	struct bus	*b = arg;

	bus_free_spent(b);
	bus_hang_up(b);
	natsSubscription_Destroy(b->wake);
	natsSubscription_Destroy(b->sub);
	b->wake = b->sub = NULL;
	natsConnection_Destroy(b->nc);
	b->nc = NULL;
	free(b->inbox);
	free(b->domain);
	b->inbox = b->domain = NULL;
	b->fd = -1;
	b->want_read = b->want_write = b->told_elsewhere = false;
	b->sent = b->answered = b->refused = b->stale = 0;
	answer_queue_clear(&b->core);
	b->write_until = INT64_MAX;
	b->silent_ms = 0;
}

/* The server tells an account's limit once it knows who has connected. */
static int64_t
bus_max_payload(void *arg)
{
	struct bus	*b = arg;

	if (b->nc != NULL)
		b->max_payload = natsConnection_GetMaxPayload(b->nc);
	return b->max_payload;
}

/*
 * The server has closed the connection because a message was too long: its
 * limit, or the account's, was lowered.  The account's is told right after the
 * connect; without it the same message would go again, and so on.
 */
static void
wait_for_limit(struct bus *b, int64_t before)
{
	int64_t	until = clock_ms() + LIMIT_MS;

	while (b->too_long && bus_is_open(b) && bus_max_payload(b) >= before &&
	    clock_ms() < until)
		bus_wait(b, until - clock_ms());
	b->too_long = false;
}

/*
 * The connection before had no inbox.  Has this one?  The server tells only if
 * the user may not subscribe to it.
 */
static int
wait_for_inbox(struct bus *b, struct err *e)
{
	int64_t		until = clock_ms() + LIMIT_MS;
	struct err	said;

	if (!b->deaf)
		return 0;
	b->deaf = false;
	while (!b->deaf && bus_is_open(b) && clock_ms() < until)
		bus_wait(b, until - clock_ms());
	if (!b->deaf)
		return 0;
	bus_complaint(b, PUB_MESSAGES, &said);
	return err_set(e, "no answer can be read: this user may "
	    "not subscribe to %s.> (nats.inbox_prefix)",
	    b->conf->nats.inbox_prefix);
}

static int
bus_open(void *arg, struct err *e)
{
	struct bus		*b = arg;
	const struct conf_list	*servers = &b->conf->nats.servers;
	const char		*server;
	int64_t			 before = b->max_payload;

	bus_close(b);
	b->server = b->next_server++ % servers->n;
	server = servers->items[b->server];
	if (bus_connect_to(b, server, e) < 0 || subscribe(b, e) < 0 ||
	    wait_for_inbox(b, e) < 0) {
		bus_close(b);
		b->failed_at[b->server] = clock_ms();
		return err_in(e, "nats %s", server);
	}
	b->failed_at[b->server] = 0;
	if (b->conf->nats.domain[0] != '\0')
		b->domain = xstrdup(b->conf->nats.domain);
	bus_max_payload(b);
	wait_for_limit(b, before);
	return 0;
}

/* The bytes that the kernel has not taken yet. */
static int64_t
bus_unread(void *arg)
{
	struct bus	*b = arg;
	int		 n = b->nc == NULL ? 0 : natsConnection_Buffered(b->nc);

	return n > 0 ? n : 0;
}

static natsStatus
build(struct bus *b, natsMsg **m, const struct envelope *v, uint32_t index)
{
	bool		core = b->conf->nats.core;
	natsStatus	s;

	if (!core) {
		/* Fixed hex digits: printf would take 5 % of its time. */
		buf_clear(&b->reply);
		buf_add(&b->reply, b->inbox, b->inbox_len);
		buf_hex32(&b->reply, b->generation);
		buf_str(&b->reply, "_");
		buf_hex32(&b->reply, index);
	}
	s = natsMsg_Create(m, envelope_subject(v), core ? NULL : b->reply.data,
	    v->payload.data, (int)v->payload.len);
	for (size_t i = 0; s == NATS_OK && i < v->nheaders; i++)
		s = natsMsgHeader_Set(*m, envelope_name(v, i),
		    envelope_value(v, i));
	return s;
}

/* A row must not reach JetStream's API; see traits_nats.c for $JS. */
static bool
is_api(const struct bus *b, const char *subject)
{
	const char	*prefix = b->conf->nats.api_prefix;
	size_t		 n = strlen(prefix);

	return n > 0 && strncmp(subject, prefix, n) == 0 && subject[n] == '.';
}

static enum pub_sent
bus_send(void *arg, const struct envelope *v, uint32_t index, struct err *e)
{
	struct bus	*b = arg;
	natsMsg		*m = NULL;
	natsStatus	 s;

	if (!bus_is_open(b)) {
		err_set(e, "not connected to the broker");
		return PUB_LOST;
	}
	if ((int64_t)v->size > b->max_payload) {
		err_set(e, "%zu bytes are more than the server's max_payload "
		    "of %lld", v->size, (long long)b->max_payload);
		return PUB_REFUSED;
	}
	if (is_api(b, envelope_subject(v))) {
		err_set(e, "subject \"%s\" is not legal: it is one of "
		    "nats.api_prefix", envelope_subject(v));
		return PUB_REFUSED;
	}
	fault_point("send", "before", b->fd);
	s = build(b, &m, v, index);
	if (s == NATS_OK)
		s = natsConnection_PublishMsg(b->nc, m);
	fault_point("send", "after", b->fd);
	/*
	 * Free the headers here.  The library's thread would compete with this
	 * one for the allocator, and the next message reuses the warm memory.
	 */
	for (size_t i = 0; m != NULL && i < v->nheaders; i++)
		natsMsgHeader_Delete(m, envelope_name(v, i));
	bus_spend(b, m);
	if (s != NATS_OK) {
		bus_describe(s, e);
		return nats_verdict_of_status((int)s) == VERDICT_MESSAGE ?
		    PUB_REFUSED : PUB_LOST;
	}
	if (index >= b->nordinals) {
		b->ordinals = xreallocarray(b->ordinals, (size_t)index * 2 + 64,
		    sizeof(*b->ordinals));
		b->nordinals = (size_t)index * 2 + 64;
	}
	b->ordinals[index] = b->sent++;
	if (b->conf->nats.core)
		answer_queue_put_stored(&b->core, index);
	if (b->until < b->write_until)
		b->write_until = b->until;
	return PUB_SENT;
}

/* Write at once all that the socket takes: the process may be about to end. */
static void
bus_tell(void *arg, const char *subject, const char *text)
{
	struct bus	*b = arg;

	if (bus_is_open(b) && natsConnection_PublishString(b->nc, subject,
	    text) == NATS_OK)
		bus_flush(b);
}

static void
bus_free(void *arg)
{
	struct bus	*b = arg;

	bus_close(b);
	pthread_mutex_destroy(&b->lock);
	buf_free(&b->reply);
	answer_queue_free(&b->core);
	free(b->ordinals);
	free(b->failed_at);
	free(b->name);
	free(b);
	/* Wait for its threads: until they end it cannot be opened again. */
	nats_CloseAndWait(CLOSE_TIMEOUT_MS);
}

static const struct pub_ops ops = {
	.name = "nats",
	.peer = "broker",
	.in_order = true,
	.can_ask = true,
	.names_streams = true,
	.max_headers = 65535,		/* code 10097: in each stream */
	.free = bus_free,
	.open = bus_open,
	.close = bus_close,
	.is_open = bus_is_open,
	.reach = pub_reaches,
	.caution = pub_no_caution,
	.check = bus_check,
	.state = bus_state,
	.get_stored = bus_get_stored,
	.find = pub_no_find,
	.removed = bus_removed,
	.max_payload = bus_max_payload,
	.capacity = pub_no_limit,
	.unread = bus_unread,
	.begin = bus_begin,
	.send = bus_send,
	.prepare = bus_prepare,
	.proceed = bus_proceed,
	.woken = bus_woken,
	.answer = bus_answer,
	.complaint = bus_complaint,
	.tell = bus_tell,
};

/* The same without what JetStream adds. */
static const struct pub_ops core_ops = {
	.name = "nats",
	.peer = "broker",
	.in_order = true,
	.free = bus_free,
	.open = bus_open,
	.close = bus_close,
	.is_open = bus_is_open,
	.reach = pub_reaches,
	.caution = bus_core_caution,
	.check = pub_no_check,
	.state = pub_no_state,
	.get_stored = pub_no_stored,
	.find = pub_no_find,
	.removed = pub_no_removed,
	.max_payload = bus_max_payload,
	.capacity = pub_no_limit,
	.unread = bus_unread,
	.begin = bus_core_begin,
	.send = bus_send,
	.prepare = bus_prepare,
	.proceed = bus_proceed,
	.woken = bus_woken,
	.answer = bus_core_answer,
	.complaint = bus_complaint,
	.tell = bus_tell,
};

struct pub
bus_new(const struct conf *conf, const char *name)
{
	struct bus	*b = xcalloc(1, sizeof(*b));
	struct pub	 p = { conf->nats.core ? &core_ops : &ops, b };
	struct sched_param param = { 0 };
	bool		 usual = sched_getscheduler(0) == SCHED_OTHER;

	/*
	 * Start the library's threads under SCHED_BATCH, so that they do not
	 * preempt this thread when it wakes them.  A policy other than
	 * SCHED_OTHER was set by an operator and stays.
	 */
	if (usual)
		sched_setscheduler(0, SCHED_BATCH, &param);
	nats_Open(-1);
	if (usual)
		sched_setscheduler(0, SCHED_OTHER, &param);
	b->conf = conf;
	b->ops = p.ops;
	b->name = xstrdup(name);
	b->fd = -1;
	b->write_until = INT64_MAX;
	b->failed_at = xcalloc(conf->nats.servers.n, sizeof(*b->failed_at));
	/* Start with a random server: workers spread over all of them. */
	b->next_server = arc4random_uniform(
	    (uint32_t)conf->nats.servers.n);
	pthread_mutex_init(&b->lock, NULL);
	return p;
}
