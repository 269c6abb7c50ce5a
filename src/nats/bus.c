/*
 * bus.c - JetStream through nats.c, driven by our own loop
 *
 * One thread: the library's event-loop callbacks tell us the descriptor and
 * whether it wants to write; with SendAsap it asks instead of waiting for its
 * flusher, and we write once per round.  Answers come to one synchronous
 * subscription on an inbox of ours, matched by the end of the reply subject.
 * AllowReconnect is off: a reconnecting library sends behind our back what we
 * have already given up on.
 */

#include "nats/bus_impl.h"

#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include <jansson.h>
#include <nats/nats.h>
#include <bsd/stdlib.h>

#include "util/clock.h"
#include "util/fault.h"
#include "util/sig.h"
#include "nats/streams.h"
#include "util/xalloc.h"

#define CLOSE_TIMEOUT_MS	500
#define HANG_UP_READS		100
#define SPENT_MAX_BYTES		(1024 * 1024)

natsStatus
bus_on_attach(void **user, void *loop, natsConnection *nc, natsSock fd)
{
	struct bus	*b = loop;

	(void)nc;
	*user = b;
	b->fd = fd;
	b->want_read = true;
	return NATS_OK;
}

natsStatus
bus_on_read(void *user, bool add)
{
	((struct bus *)user)->want_read = add;
	return NATS_OK;
}

natsStatus
bus_on_write(void *user, bool add)
{
	((struct bus *)user)->want_write = add;
	return NATS_OK;
}

natsStatus
bus_on_detach(void *user)
{
	struct bus	*b = user;

	b->want_read = b->want_write = false;
	b->fd = -1;
	return NATS_OK;
}

/* No permission for another subject says nothing about messages. */
static enum pub_about
about(const struct bus *b, const char *text)
{
	char	quoted[300];

	if (strstr(text, "Publish to \"$JS.API.") != NULL)
		return PUB_FORBIDDEN;
	if (bus_wake_is_meant(b, text))
		return PUB_WAKE;
	snprintf(quoted, sizeof(quoted), "Publish to \"%s\"",
	    b->conf->nats.advisory);
	return strstr(text, quoted) != NULL ? PUB_TOLD : PUB_MESSAGES;
}

void
bus_note_complaint(struct bus *b, enum pub_about about, const char *text)
{
	pthread_mutex_lock(&b->lock);
	snprintf(b->complaints[about], sizeof(b->complaints[about]), "%s",
	    text);
	pthread_mutex_unlock(&b->lock);
}

void
bus_on_error(natsConnection *nc, natsSubscription *sub, natsStatus s, void *arg)
{
	struct bus	*b = arg;
	const char	*text = NULL;

	(void)sub;
	natsConnection_GetLastError(nc, &text);
	if (text == NULL || text[0] == '\0')
		text = natsStatus_GetText(s);
	bus_note_complaint(b, about(b, text), text);
}

static bool
bus_complaint(void *arg, enum pub_about about, struct err *e)
{
	struct bus	*b = arg;
	char		*complaint = b->complaints[about];
	bool		 any;

	pthread_mutex_lock(&b->lock);
	any = complaint[0] != '\0';
	if (any)
		err_set(e, "%s", complaint);
	complaint[0] = '\0';
	pthread_mutex_unlock(&b->lock);
	return any;
}

static int
subscribe(struct bus *b, struct err *e)
{
	natsInbox	*inbox = NULL;
	char		 subject[128];
	natsStatus	 s;

	s = natsInbox_Create(&inbox);
	if (s == NATS_OK) {
		b->inbox_len = (size_t)snprintf(subject, sizeof(subject),
		    "%s.", inbox);
		b->inbox = xstrdup(subject);
		snprintf(subject, sizeof(subject), "%s*", b->inbox);
		s = natsConnection_SubscribeSync(&b->sub, b->nc, subject);
	}
	if (s == NATS_OK)
		s = natsSubscription_SetPendingLimits(b->sub, -1, -1);
	if (s == NATS_OK)
		s = bus_wake_subscribe(b);
	natsInbox_Destroy(inbox);
	if (s != NATS_OK)
		bus_describe(s, e);
	return s == NATS_OK ? 0 : -1;
}

bool
bus_is_open(void *arg)
{
	struct bus	*b = arg;

	return b->nc != NULL && !natsConnection_IsClosed(b->nc);
}

static void
free_spent(struct bus *b)
{
	while (b->nspent > 0)
		natsMsg_Destroy(b->spent[--b->nspent]);
	b->spent_bytes = 0;
}

/*
 * Nothing is written any more, also of what the library has collected.  Its
 * own close would wait half a second for a PONG that only our loop could read.
 */
static void
hang_up(struct bus *b)
{
	if (b->nc != NULL && b->fd >= 0)
		shutdown(b->fd, SHUT_RDWR);
	/* What had arrived is read first, then the end. */
	for (int i = 0; i < HANG_UP_READS && bus_is_open(b); i++)
		natsConnection_ProcessReadEvent(b->nc);
}

static void
bus_close(void *arg)
{
	struct bus	*b = arg;

	free_spent(b);
	hang_up(b);
	bus_wake_close(b);
	natsSubscription_Destroy(b->sub);
	b->sub = NULL;
	natsConnection_Destroy(b->nc);
	b->nc = NULL;
	free(b->inbox);
	b->inbox = NULL;
	b->fd = -1;
	b->want_read = b->want_write = false;
	b->sent = b->answered = b->refused = b->stale = 0;
	b->write_until = INT64_MAX;
}

static int
bus_open(void *arg, struct err *e)
{
	struct bus		*b = arg;
	const struct conf_list	*servers = &b->conf->nats.servers;
	const char		*server;

	bus_close(b);
	server = servers->items[b->next_server++ % servers->n];
	if (bus_connect_to(b, server, e) < 0 || subscribe(b, e) < 0) {
		bus_close(b);
		return err_in(e, "nats %s", server);
	}
	b->max_payload = natsConnection_GetMaxPayload(b->nc);
	return 0;
}

/*
 * So many of the batch may still be refused.  Not those that were sent before
 * one that is answered, for a server takes what we write in turn and refuses
 * at once; and each was refused already that a refusal was counted for, be it
 * for another.  What is older than this batch has had its time.
 */
static size_t
unrefused(const struct bus *b)
{
	size_t	open = b->sent - b->answered;

	return open > b->refused ? open - b->refused : 0;
}

void
bus_begin(void *arg, int64_t until)
{
	struct bus	*b = arg;
	natsMsg		*m = NULL;
	natsStatus	 s = NATS_OK;

	b->generation++;
	b->until = until;
	b->stale = unrefused(b);
	b->sent = b->answered = b->refused = 0;
	/* What came too late, above all a refusal that names nobody. */
	while (b->sub != NULL && (s == NATS_OK || s == NATS_NO_RESPONDERS)) {
		s = natsSubscription_NextMsg(&m, b->sub, 0);
		if (s == NATS_OK)
			natsMsg_Destroy(m);
		if (b->stale > 0 && (s == NATS_OK || s == NATS_NO_RESPONDERS))
			b->stale--;
	}
}

static int64_t
bus_max_payload(void *arg)
{
	return ((struct bus *)arg)->max_payload;
}

/* Less what the kernel took. */
static int64_t
bus_unread(void *arg)
{
	struct bus	*b = arg;
	int		 n = b->nc == NULL ? 0 : natsConnection_Buffered(b->nc);

	return n > 0 ? n : 0;
}

/*
 * The library hands each message to a thread of its own to free it. One at a
 * time that is two context switches a message; in heaps, and with a thread
 * that does not cut in (see open_library), it is next to none.
 */
void
bus_spend(struct bus *b, natsMsg *m)
{
	if (m == NULL)
		return;
	b->spent[b->nspent++] = m;
	b->spent_bytes += (size_t)natsMsg_GetDataLength(m);
	if (b->nspent == SPENT_MAX || b->spent_bytes >= SPENT_MAX_BYTES)
		free_spent(b);
}

/* Eight digits each: printf would take a twentieth of a message's time. */
static void
put_reply(struct bus *b, uint32_t slot)
{
	buf_clear(&b->reply);
	buf_add(&b->reply, b->inbox, b->inbox_len);
	buf_hex32(&b->reply, b->generation);
	buf_str(&b->reply, "_");
	buf_hex32(&b->reply, slot);
}

static natsStatus
build(struct bus *b, natsMsg **m, const struct envelope *v, uint32_t slot)
{
	natsStatus	s;

	put_reply(b, slot);
	s = natsMsg_Create(m, envelope_subject(v), b->reply.data,
	    v->payload.data, (int)v->payload.len);
	for (size_t i = 0; s == NATS_OK && i < v->nheaders; i++)
		s = natsMsgHeader_Set(*m, envelope_name(v, i),
		    envelope_value(v, i));
	return s;
}

/*
 * The library's thread would free them one by one, and both threads wait for
 * the allocator: here they are warm, and the next message has them again.
 */
static void
drop_headers(natsMsg *m, const struct envelope *v)
{
	for (size_t i = 0; m != NULL && i < v->nheaders; i++)
		natsMsgHeader_Delete(m, envelope_name(v, i));
}

static void
note_sent(struct bus *b, uint32_t slot)
{
	if (slot >= b->nplaces) {
		b->places = xreallocarray(b->places, (size_t)slot * 2 + 64,
		    sizeof(*b->places));
		b->nplaces = (size_t)slot * 2 + 64;
	}
	b->places[slot] = b->sent++;
	if (b->until < b->write_until)
		b->write_until = b->until;
}

static enum pub_sent
bus_send(void *arg, const struct envelope *v, uint32_t slot, struct err *e)
{
	struct bus	*b = arg;
	natsMsg		*m = NULL;
	natsStatus	 s;

	if (!bus_is_open(b)) {
		err_set(e, "not connected");
		return PUB_LOST;
	}
	if ((int64_t)v->size > b->max_payload) {
		err_set(e, "%zu bytes are more than the server's max_payload "
		    "of %lld", v->size, (long long)b->max_payload);
		return PUB_REFUSED;
	}
	fault_point("send", "before", b->fd);
	s = build(b, &m, v, slot);
	if (s == NATS_OK)
		s = natsConnection_PublishMsg(b->nc, m);
	fault_point("send", "after", b->fd);
	drop_headers(m, v);
	bus_spend(b, m);
	if (s == NATS_OK) {
		note_sent(b, slot);
		return PUB_SENT;
	}
	bus_describe(s, e);
	return verdict_of_status((int)s) == VERDICT_MESSAGE ? PUB_REFUSED :
	    PUB_LOST;
}

static bool
is_too_late(struct bus *b)
{
	return clock_ms() >= b->write_until &&
	    natsConnection_Buffered(b->nc) > 0;
}

/*
 * The only place that writes after the connection was made.  When a message
 * was handed to the library there was time to send it; if the machine stood
 * still since then, or the server did not read, there is none now, and somebody
 * else may have sent it and what follows it.  The library cannot take it back.
 * What is written between two batches has no such time: by then nothing of a
 * batch is left in the buffer, or it has to go as well.
 */
static void
write_out(struct bus *b)
{
	if (is_too_late(b)) {
		bus_note_complaint(b, PUB_MESSAGES, "the time to send was over "
		    "before all messages were written (the machine stood "
		    "still, or the server did not read): the connection was "
		    "closed to hold them back");
		hang_up(b);
		return;
	}
	natsConnection_ProcessWriteEvent(b->nc);
	if (natsConnection_Buffered(b->nc) == 0)
		b->write_until = INT64_MAX;
}

static void
flush(struct bus *b)
{
	if (b->nc == NULL || !b->want_write)
		return;
	fault_point("flush", "before", b->fd);
	write_out(b);
	fault_point("flush", "after", b->fd);
}

/* Written at once as far as it goes: the process may be about to end. */
static void
bus_tell(void *arg, const char *subject, const char *text)
{
	struct bus	*b = arg;

	if (bus_is_open(b) && natsConnection_PublishString(b->nc, subject,
	    text) == NATS_OK)
		flush(b);
}

static void
bus_idle(void *arg, int fd, int64_t timeout_ms)
{
	struct bus	*b = arg;
	struct pollfd	 p[] = { { -1, 0, 0 }, { fd, POLLIN, 0 } };
	bool		 open = bus_is_open(b);

	if (open) {
		flush(b);
		if (!bus_is_open(b))	/* lost just now: that is news */
			return;
		p[0].fd = b->fd;
		p[0].events = (short)((b->want_read ? POLLIN : 0) |
		    (b->want_write ? POLLOUT : 0));
	}
	if (sig_wait(p, 2, timeout_ms) == 0 || !open)
		return;
	if (p[0].revents & POLLOUT)
		write_out(b);
	if (p[0].revents & (POLLIN | POLLHUP | POLLERR))
		natsConnection_ProcessReadEvent(b->nc);
	bus_wake_read(b);
}

void
bus_wait(void *arg, int64_t timeout_ms)
{
	bus_idle(arg, -1, timeout_ms);
}

static void
read_error(json_t *error, struct pub_answer *a)
{
	int		 code = (int)json_integer_value(
			    json_object_get(error, "err_code"));
	const char	*text = json_string_value(
			    json_object_get(error, "description"));

	if (text == NULL)
		text = "error without a description";
	a->verdict = verdict_of_error(code, text);
	snprintf(a->text, sizeof(a->text), "%s (%d)", text, code);
}

static void
read_stored(json_t *ack, const char *stream, struct pub_answer *a)
{
	const char	*from;

	from = json_string_value(json_object_get(ack, "stream"));
	a->stream_sequence = (uint64_t)json_integer_value(
	    json_object_get(ack, "seq"));
	if (from != NULL && stream[0] == '\0')
		a->stream = streams_hash(from);
	if (from == NULL || a->stream_sequence == 0) {
		/* A duplicate of what was never stored, or no PubAck at all. */
		a->verdict = VERDICT_TRANSIENT;
		snprintf(a->text, sizeof(a->text),
		    "the answer names no stored message");
	} else if (stream[0] != '\0' && strcmp(stream, from) != 0) {
		a->verdict = VERDICT_DESTINATION;
		snprintf(a->text, sizeof(a->text), "stored in stream %.100s, "
		    "but nats.stream is %.100s", from, stream);
	} else if (json_is_true(json_object_get(ack, "duplicate")))
		a->verdict = VERDICT_DUPLICATE;
	else
		a->verdict = VERDICT_STORED;
}

static bool
skip(const char **at, const char *end, const char *text)
{
	size_t	n = strlen(text);

	if ((size_t)(end - *at) < n || memcmp(*at, text, n) != 0)
		return false;
	*at += n;
	return true;
}

/*
 * {"stream":"NAME", "seq":1}, which all but a few are: a tenth of the time of
 * a JSON parser, and whatever looks otherwise goes there.
 */
static bool
read_plain(const char *at, const char *end, const char *stream,
    struct pub_answer *a)
{
	uint64_t	sequence = 0;

	if (!skip(&at, end, "{\"stream\":\"") || !skip(&at, end, stream) ||
	    !skip(&at, end, "\","))
		return false;
	skip(&at, end, " ");		/* as servers write it */
	if (!skip(&at, end, "\"seq\":") || end - at > 18 || at == end ||
	    *at == '0')
		return false;
	for (; at < end && *at >= '0' && *at <= '9'; at++)
		sequence = sequence * 10 + (uint64_t)(*at - '0');
	if (sequence == 0 || !skip(&at, end, "}") || at != end)
		return false;
	a->verdict = VERDICT_STORED;
	a->stream_sequence = sequence;
	return true;
}

void
bus_read_ack(const char *body, int len, const char *stream,
    struct pub_answer *a)
{
	json_t	*ack, *error;

	a->text[0] = '\0';
	a->stream_sequence = a->stream = 0;
	if (stream[0] != '\0' && read_plain(body, body + len, stream, a))
		return;
	ack = json_loadb(body, (size_t)len, 0, NULL);
	if (!json_is_object(ack)) {
		a->verdict = VERDICT_DESTINATION;
		snprintf(a->text, sizeof(a->text), "the answer is not a "
		    "PubAck: somebody else answers on the subject");
	} else if ((error = json_object_get(ack, "error")) != NULL)
		read_error(error, a);	/* "seq":0 comes with it */
	else
		read_stored(ack, stream, a);
	json_decref(ack);
}

/* "<inbox><generation>_<slot>"; an older generation was given up on. */
bool
bus_read_slot(const struct bus *b, const char *subject, uint32_t *slot)
{
	char	*end;

	subject += b->inbox_len;
	if (strtoul(subject, &end, 16) != b->generation || *end != '_')
		return false;
	*slot = (uint32_t)strtoul(end + 1, NULL, 16);
	return true;
}

/*
 * The library keeps the "no responders" message to itself and returns only
 * the status, so which message it answers is lost.
 */
static bool
no_responders(struct pub_answer *a)
{
	a->slot = PUB_SOME_SLOT;
	a->verdict = verdict_of_status(NATS_NO_RESPONDERS);
	snprintf(a->text, sizeof(a->text), "no stream takes this subject (no "
	    "responders): create the stream, or JetStream is off");
	return true;
}

/* All that was sent before it, also in older generations, has its refusal. */
static void
note_answered(struct bus *b, uint32_t slot)
{
	if (slot < b->nplaces && b->places[slot] < b->sent &&
	    b->places[slot] >= b->answered)
		b->answered = b->places[slot] + 1;
	b->stale = 0;
}

/*
 * One more answer: to the messages that are out, or to those that were given
 * up on.  A refusal that names nobody belongs to the latter while there are
 * any; should that be wrong, its message times out.
 */
static bool
is_current(struct bus *b, natsStatus s, natsMsg *m, struct pub_answer *a)
{
	if (s == NATS_OK && bus_read_slot(b, natsMsg_GetSubject(m), &a->slot)) {
		note_answered(b, a->slot);
		return true;
	}
	if (s != NATS_OK) {
		b->refused++;
		if (b->stale == 0)
			return true;
	}
	if (b->stale > 0)
		b->stale--;
	return false;
}

static bool
bus_answer(void *arg, struct pub_answer *a)
{
	struct bus	*b = arg;

	while (b->sub != NULL) {
		natsMsg *m = NULL;
		natsStatus s = natsSubscription_NextMsg(&m, b->sub, 0);

		if (s != NATS_OK && s != NATS_NO_RESPONDERS)
			return false;
		if (!is_current(b, s, m, a)) {
			bus_spend(b, m);
			continue;
		}
		if (s == NATS_NO_RESPONDERS)
			return no_responders(a);
		fault_point("answer", "before", b->fd);
		bus_read_ack(natsMsg_GetData(m), natsMsg_GetDataLength(m),
		    b->conf->nats.stream, a);
		bus_spend(b, m);
		fault_point("answer", "after", b->fd);
		return true;
	}
	return false;
}

static const struct pub_ops ops = {
	.open = bus_open,
	.close = bus_close,
	.is_open = bus_is_open,
	.check = bus_check,
	.state = bus_state,
	.look_up = bus_look_up,
	.max_payload = bus_max_payload,
	.unread = bus_unread,
	.begin = bus_begin,
	.send = bus_send,
	.wait = bus_wait,
	.idle = bus_idle,
	.woken = bus_woken,
	.answer = bus_answer,
	.complaint = bus_complaint,
	.tell = bus_tell,
};

/*
 * The library's threads inherit our policy, and none of them is in a hurry:
 * under SCHED_BATCH they do not take the processor from us when we wake them.
 * Any other policy than the usual is somebody's wish, and is left alone.
 */
static void
open_library(void)
{
	struct sched_param	param = { 0 };
	bool			usual = sched_getscheduler(0) == SCHED_OTHER;

	if (usual)
		sched_setscheduler(0, SCHED_BATCH, &param);
	nats_Open(-1);
	if (usual)
		sched_setscheduler(0, SCHED_OTHER, &param);
}

struct pub
bus_new(const struct conf *conf, const char *name)
{
	struct bus	*b = xcalloc(1, sizeof(*b));
	struct pub	 p = { &ops, b };

	open_library();
	b->conf = conf;
	b->name = xstrdup(name);
	b->fd = -1;
	b->write_until = INT64_MAX;
	/* Many workers, many servers: do not all start with the first. */
	b->next_server = arc4random_uniform(
	    (uint32_t)conf->nats.servers.n);
	pthread_mutex_init(&b->lock, NULL);
	return p;
}

void
bus_free(struct pub *p)
{
	struct bus	*b = p->arg;

	bus_close(b);
	pthread_mutex_destroy(&b->lock);
	buf_free(&b->reply);
	free(b->places);
	free(b->name);
	free(b);
	/* Its threads may not be gone yet, and then it cannot be opened anew. */
	nats_CloseAndWait(CLOSE_TIMEOUT_MS);
}
