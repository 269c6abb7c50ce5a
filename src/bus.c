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

#include "bus.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include <jansson.h>
#include <nats/nats.h>
#include <bsd/stdlib.h>

#include "clock.h"
#include "fault.h"
#include "secret.h"
#include "sig.h"
#include "xalloc.h"

#define CONNECT_TIMEOUT_MS	2000
#define PING_INTERVAL_MS	10000
#define MAX_PINGS_OUT		2
#define IO_BUFFER		(256 * 1024)
#define CHECK_TIMEOUT_MS	1000
#define LOOK_UP_WINDOW		256	/* requests out */
#define LOOK_UP_BYTES		(8 * 1024 * 1024)	/* of their answers */
#define LOOK_UP_TIMEOUT_MS	3000	/* without any answer */
#define LOOK_UP_WAIT_MS		200
#define CLOSE_TIMEOUT_MS	500
#define HANG_UP_READS		100
#define SPENT_MAX		256
#define SPENT_MAX_BYTES		(1024 * 1024)

struct bus {
	const struct conf	*conf;
	char			*name;
	natsConnection		*nc;
	natsSubscription	*sub;
	char			*inbox;		/* prefix of reply subjects */
	size_t			 inbox_len;
	uint32_t		 generation;
	size_t			 out;		/* of this generation, no answer yet */
	size_t			 stale;		/* the same of older ones */
	size_t			 next_server;
	int64_t			 max_payload;
	natsMsg			*spent[SPENT_MAX];	/* to be freed */
	size_t			 nspent, spent_bytes;

	/* Written by callbacks, some of them in the library's threads. */
	int			 fd;
	volatile bool		 want_read, want_write;
	pthread_mutex_t		 lock;
	char			 complaints[PUB_ABOUTS][256];
};

static natsStatus
on_attach(void **user, void *loop, natsConnection *nc, natsSock fd)
{
	struct bus	*b = loop;

	(void)nc;
	*user = b;
	b->fd = fd;
	b->want_read = true;
	return NATS_OK;
}

static natsStatus
on_read(void *user, bool add)
{
	((struct bus *)user)->want_read = add;
	return NATS_OK;
}

static natsStatus
on_write(void *user, bool add)
{
	((struct bus *)user)->want_write = add;
	return NATS_OK;
}

static natsStatus
on_detach(void *user)
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
	snprintf(quoted, sizeof(quoted), "Publish to \"%s\"",
	    b->conf->nats.advisory);
	return strstr(text, quoted) != NULL ? PUB_TOLD : PUB_MESSAGES;
}

static void
note_complaint(struct bus *b, enum pub_about about, const char *text)
{
	pthread_mutex_lock(&b->lock);
	snprintf(b->complaints[about], sizeof(b->complaints[about]), "%s",
	    text);
	pthread_mutex_unlock(&b->lock);
}

static void
on_error(natsConnection *nc, natsSubscription *sub, natsStatus s, void *arg)
{
	struct bus	*b = arg;
	const char	*text = NULL;

	(void)sub;
	natsConnection_GetLastError(nc, &text);
	if (text == NULL || text[0] == '\0')
		text = natsStatus_GetText(s);
	note_complaint(b, about(b, text), text);
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

/* NULL with an error that says which secret it was. */
static char *
read_secret(const char *what, const char *file, const char *env,
    struct err *e)
{
	char	*secret = secret_read(file, env, e);

	if (secret == NULL)
		err_in(e, "nats %s", what);
	return secret;
}

static natsStatus
set_user(struct bus *b, natsOptions *o, struct err *e)
{
	const struct conf	*c = b->conf;
	natsStatus		 s = NATS_ERR;
	char			*secret;

	secret = read_secret("password", c->nats.password_file,
	    c->nats.password_env, e);
	if (secret != NULL)
		s = natsOptions_SetUserInfo(o, c->nats.user, secret);
	secret_free(secret);
	return s;
}

static natsStatus
set_token(struct bus *b, natsOptions *o, struct err *e)
{
	const struct conf	*c = b->conf;
	natsStatus		 s = NATS_ERR;
	char			*secret;

	secret = read_secret("token", c->nats.token_file, c->nats.token_env,
	    e);
	if (secret != NULL)
		s = natsOptions_SetToken(o, secret);
	secret_free(secret);
	return s;
}

static natsStatus
set_identity(struct bus *b, natsOptions *o, struct err *e)
{
	const struct conf	*c = b->conf;

	if (c->nats.credentials_file[0] != '\0')
		return natsOptions_SetUserCredentialsFromFiles(o,
		    c->nats.credentials_file, NULL);
	if (c->nats.user[0] != '\0')
		return set_user(b, o, e);
	if (c->nats.token_file[0] != '\0' || c->nats.token_env[0] != '\0')
		return set_token(b, o, e);
	return NATS_OK;
}

static natsStatus
set_tls(struct bus *b, natsOptions *o, const char *server)
{
	const struct conf	*c = b->conf;
	natsStatus		 s = NATS_OK;

	/* The library itself would go on in clear text. */
	if (strncmp(server, "tls://", 6) == 0)
		s = natsOptions_SetSecure(o, true);
	if (s == NATS_OK && c->nats.tls.ca[0] != '\0') {
		s = natsOptions_LoadCATrustedCertificates(o, c->nats.tls.ca);
		if (s == NATS_OK)
			s = natsOptions_SetSecure(o, true);
	}
	if (s == NATS_OK && c->nats.tls.cert[0] != '\0')
		s = natsOptions_SetSecure(o, true);
	if (s == NATS_OK && c->nats.tls.cert[0] != '\0')
		s = natsOptions_LoadCertificatesChain(o, c->nats.tls.cert,
		    c->nats.tls.key);
	return s;
}

/* No wait may outlive the next renewal of the leases. */
static int64_t
connect_timeout(const struct bus *b)
{
	int64_t	renew = b->conf->worker.lease_renew;

	return renew < CONNECT_TIMEOUT_MS ? renew : CONNECT_TIMEOUT_MS;
}

static natsStatus
set_manner(struct bus *b, natsOptions *o, const char *server)
{
	natsStatus	s;

	s = natsOptions_SetURL(o, server);
	if (s == NATS_OK)
		s = natsOptions_SetName(o, b->name);
	if (s == NATS_OK)
		s = natsOptions_SetTimeout(o, connect_timeout(b));
	if (s == NATS_OK)
		s = natsOptions_SetAllowReconnect(o, false);
	if (s == NATS_OK)
		s = natsOptions_SetPingInterval(o, PING_INTERVAL_MS);
	if (s == NATS_OK)
		s = natsOptions_SetMaxPingsOut(o, MAX_PINGS_OUT);
	if (s == NATS_OK)
		s = natsOptions_SetIOBufSize(o, IO_BUFFER);
	if (s == NATS_OK)
		s = natsOptions_SetSendAsap(o, true);
	if (s == NATS_OK)
		s = natsOptions_SetErrorHandler(o, on_error, b);
	if (s == NATS_OK)
		s = natsOptions_SetEventLoop(o, b, on_attach, on_read,
		    on_write, on_detach);
	return s;
}

static void
describe(natsStatus s, struct err *e)
{
	natsStatus	 last;
	const char	*text = nats_GetLastError(&last);

	if (text == NULL || text[0] == '\0' || last != s)
		text = natsStatus_GetText(s);
	/* The library puts its own "(file.c:line): " before it. */
	if (text[0] == '(' && strstr(text, "): ") != NULL)
		text = strstr(text, "): ") + 3;
	err_set(e, "%s", text);
}

static int
connect_to(struct bus *b, const char *server, struct err *e)
{
	natsOptions	*o = NULL;
	natsStatus	 s;

	e->text[0] = '\0';
	s = natsOptions_Create(&o);
	if (s == NATS_OK)
		s = set_manner(b, o, server);
	if (s == NATS_OK)
		s = set_identity(b, o, e);
	if (s == NATS_OK)
		s = set_tls(b, o, server);
	if (s == NATS_OK)
		s = natsConnection_Connect(&b->nc, o);
	natsOptions_Destroy(o);
	if (s != NATS_OK && e->text[0] == '\0')
		describe(s, e);
	return s == NATS_OK ? 0 : -1;
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
	natsInbox_Destroy(inbox);
	if (s != NATS_OK)
		describe(s, e);
	return s == NATS_OK ? 0 : -1;
}

static bool
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

static void
bus_close(void *arg)
{
	struct bus	*b = arg;

	free_spent(b);
	/*
	 * The library's close would wait half a second for a PONG that only
	 * our loop could read: hang up first, as a lost connection.
	 */
	if (b->nc != NULL && b->fd >= 0)
		shutdown(b->fd, SHUT_RDWR);
	/* What had arrived is read first, then the end. */
	for (int i = 0; i < HANG_UP_READS && bus_is_open(b); i++)
		natsConnection_ProcessReadEvent(b->nc);
	natsSubscription_Destroy(b->sub);
	b->sub = NULL;
	natsConnection_Destroy(b->nc);
	b->nc = NULL;
	free(b->inbox);
	b->inbox = NULL;
	b->fd = -1;
	b->want_read = b->want_write = false;
	b->out = b->stale = 0;
}

static int
bus_open(void *arg, struct err *e)
{
	struct bus		*b = arg;
	const struct conf_list	*servers = &b->conf->nats.servers;
	const char		*server;

	bus_close(b);
	server = servers->items[b->next_server++ % servers->n];
	if (connect_to(b, server, e) < 0 || subscribe(b, e) < 0) {
		bus_close(b);
		return err_in(e, "nats %s", server);
	}
	b->max_payload = natsConnection_GetMaxPayload(b->nc);
	return 0;
}

static void
bus_begin(void *arg)
{
	struct bus	*b = arg;
	natsMsg		*m = NULL;
	natsStatus	 s = NATS_OK;

	b->generation++;
	/* Those of the last batch; what is older has had its time. */
	b->stale = b->out;
	b->out = 0;
	/* What came too late, above all a refusal that names nobody. */
	while (b->sub != NULL && (s == NATS_OK || s == NATS_NO_RESPONDERS)) {
		s = natsSubscription_NextMsg(&m, b->sub, 0);
		if (s == NATS_OK)
			natsMsg_Destroy(m);
		if (b->stale > 0 && (s == NATS_OK || s == NATS_NO_RESPONDERS))
			b->stale--;
	}
}

/*
 * The library hands each message to a thread of its own to free it. One at a
 * time that is two context switches a message; in heaps it is next to none.
 */
static void
spend(struct bus *b, natsMsg *m)
{
	if (m == NULL)
		return;
	b->spent[b->nspent++] = m;
	b->spent_bytes += (size_t)natsMsg_GetDataLength(m);
	if (b->nspent == SPENT_MAX || b->spent_bytes >= SPENT_MAX_BYTES)
		free_spent(b);
}

static natsStatus
build(struct bus *b, natsMsg **m, const struct envelope *v, uint32_t slot)
{
	char		reply[160];
	natsStatus	s;

	snprintf(reply, sizeof(reply), "%s%x_%x", b->inbox, b->generation,
	    slot);
	s = natsMsg_Create(m, envelope_subject(v), reply, v->payload.data,
	    (int)v->payload.len);
	for (size_t i = 0; s == NATS_OK && i < v->nheaders; i++)
		s = natsMsgHeader_Set(*m, envelope_name(v, i),
		    envelope_value(v, i));
	return s;
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
	spend(b, m);
	if (s == NATS_OK) {
		b->out++;
		return PUB_SENT;
	}
	describe(s, e);
	return verdict_of_status((int)s) == VERDICT_MESSAGE ? PUB_REFUSED :
	    PUB_LOST;
}

static void
flush(struct bus *b)
{
	if (b->nc == NULL || !b->want_write)
		return;
	fault_point("flush", "before", b->fd);
	natsConnection_ProcessWriteEvent(b->nc);
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
bus_wait(void *arg, int64_t timeout_ms)
{
	struct bus	*b = arg;
	struct pollfd	 p = { -1, 0, 0 };
	bool		 open = bus_is_open(b);

	if (open) {
		flush(b);
		if (!bus_is_open(b))	/* lost just now: that is news */
			return;
		p.fd = b->fd;
		p.events = (short)((b->want_read ? POLLIN : 0) |
		    (b->want_write ? POLLOUT : 0));
	}
	if (sig_wait(&p, 1, timeout_ms) == 0 || !open)
		return;
	if (p.revents & POLLOUT)
		natsConnection_ProcessWriteEvent(b->nc);
	if (p.revents & (POLLIN | POLLHUP | POLLERR))
		natsConnection_ProcessReadEvent(b->nc);
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

void
bus_read_ack(const char *body, int len, const char *stream,
    struct pub_answer *a)
{
	json_t	*ack, *error;

	a->text[0] = '\0';
	a->stream_sequence = 0;
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
static bool
read_slot(const struct bus *b, const char *subject, uint32_t *slot)
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

/*
 * One more answer: to the messages that are out, or to those that were given
 * up on.  A refusal that names nobody belongs to the latter while there are
 * any; should that be wrong, its message times out.
 */
static bool
is_current(struct bus *b, natsStatus s, natsMsg *m, struct pub_answer *a)
{
	bool	current = s == NATS_OK ?
		    read_slot(b, natsMsg_GetSubject(m), &a->slot) :
		    b->stale == 0;
	size_t	*count = current ? &b->out : &b->stale;

	if (*count > 0)
		(*count)--;
	return current;
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
			spend(b, m);
			continue;
		}
		if (s == NATS_NO_RESPONDERS)
			return no_responders(a);
		fault_point("answer", "before", b->fd);
		bus_read_ack(natsMsg_GetData(m), natsMsg_GetDataLength(m),
		    b->conf->nats.stream, a);
		spend(b, m);
		fault_point("answer", "after", b->fd);
		return true;
	}
	return false;
}

/* The answer to a request of ours, by its reply subject; others are old. */
static bool
take_reply(struct bus *b, const char *reply, natsMsg **m, bool *nobody)
{
	natsStatus	s;

	while ((s = natsSubscription_NextMsg(m, b->sub, 0)) == NATS_OK) {
		if (strcmp(natsMsg_GetSubject(*m), reply) == 0)
			return true;
		natsMsg_Destroy(*m);
	}
	*nobody = s == NATS_NO_RESPONDERS;
	return *nobody;
}

static natsMsg *
request(struct bus *b, const char *subject, struct err *e)
{
	int64_t		 until = clock_ms() + CHECK_TIMEOUT_MS, left;
	char		 reply[160];
	natsMsg		*m = NULL;
	bool		 nobody = false;

	/* No slot: an answer that comes late is nobody's. */
	snprintf(reply, sizeof(reply), "%s%x_check", b->inbox,
	    ++b->generation);
	if (natsConnection_PublishRequest(b->nc, subject, reply, "", 0) !=
	    NATS_OK)
		until = 0;
	while (!take_reply(b, reply, &m, &nobody) && bus_is_open(b) &&
	    (left = until - clock_ms()) > 0)
		bus_wait(b, left);
	if (nobody)
		note_complaint(b, PUB_NOBODY, "nobody answers");
	if (m == NULL)
		err_set(e, nobody ? "nobody answers for JetStream: it is off, "
		    "or the account has none" : "no answer to %s: no "
		    "permission, or the broker is busy", subject);
	return m;
}

static natsMsg *
ask_for_stream(struct bus *b, struct err *e)
{
	char	subject[300];

	snprintf(subject, sizeof(subject), "$JS.API.STREAM.INFO.%s",
	    b->conf->nats.stream);
	return request(b, subject, e);
}

static bool
bus_check(void *arg, struct stream_report *r, struct err *e)
{
	struct bus	*b = arg;
	natsMsg		*m;

	memset(r, 0, sizeof(*r));
	if (b->conf->nats.stream[0] == '\0')
		return true;
	if ((m = ask_for_stream(b, e)) == NULL)
		return false;
	stream_judge(r, b->conf, natsMsg_GetData(m),
	    (size_t)natsMsg_GetDataLength(m));
	natsMsg_Destroy(m);
	return true;
}

static bool
bus_state(void *arg, struct stream_state *st, struct err *e)
{
	struct bus	*b = arg;
	natsMsg		*m;
	natsStatus	 s;

	if (!bus_is_open(b)) {
		err_set(e, "not connected");
		return false;
	}
	if ((m = ask_for_stream(b, e)) == NULL)
		return false;
	stream_read_state(st, natsMsg_GetData(m),
	    (size_t)natsMsg_GetDataLength(m));
	natsMsg_Destroy(m);
	s = natsConnection_GetConnectedServerId(b->nc, st->server,
	    sizeof(st->server));
	if (s != NATS_OK)
		describe(s, e);
	return s == NATS_OK;
}

/* Many requests for single messages, under way. */
struct look_up {
	struct bus	*b;
	const char	*prefix;
	struct place	*places;
	size_t		 n, asked, answered;
	size_t		 window;
	int64_t		 heard_at;
};

static bool
ask_for_place(struct look_up *l, const struct place *p)
{
	struct bus	*b = l->b;
	char		 subject[300], reply[160], body[40];

	snprintf(subject, sizeof(subject), "$JS.API.STREAM.MSG.GET.%s",
	    b->conf->nats.stream);
	snprintf(reply, sizeof(reply), "%s%x_%zx", b->inbox, b->generation,
	    (size_t)(p - l->places));
	snprintf(body, sizeof(body), "{\"seq\":%llu}",
	    (unsigned long long)p->sequence);
	return natsConnection_PublishRequest(b->nc, subject, reply, body,
	    (int)strlen(body)) == NATS_OK;
}

/* Never blocks; what cannot be sent shows as a lost connection. */
static void
ask_for_places(struct look_up *l)
{
	for (; l->asked < l->n && l->asked - l->answered < l->window;
	    l->asked++) {
		struct place *p = &l->places[l->asked];

		if (p->sequence == 0) {
			p->what = PLACE_EMPTY;
			l->answered++;
		} else if (!ask_for_place(l, p))
			return;
	}
}

/* Answers carry whole messages: fewer at a time where they are large. */
static void
fit_window(struct look_up *l, size_t size)
{
	size_t	fit = LOOK_UP_BYTES / (size + 1);

	if (l->window < LOOK_UP_WINDOW)
		l->window++;
	if (l->window > fit)
		l->window = fit > 0 ? fit : 1;
}

static int
take_place(struct look_up *l, natsMsg *m, struct err *e)
{
	size_t		 size = (size_t)natsMsg_GetDataLength(m);
	uint32_t	 slot;
	struct place	*p;

	if (!read_slot(l->b, natsMsg_GetSubject(m), &slot) ||
	    slot >= l->asked || l->places[slot].what != PLACE_UNKNOWN)
		return 0;
	p = &l->places[slot];
	if (place_read(p, l->prefix, natsMsg_GetData(m), size, e) < 0)
		return -1;
	l->answered++;
	l->heard_at = clock_ms();
	fit_window(l, size);
	return 0;
}

static int
take_places(struct look_up *l, struct err *e)
{
	natsMsg		*m = NULL;
	natsStatus	 s;
	int		 rc = 0;

	do {
		s = natsSubscription_NextMsg(&m, l->b->sub, 0);
		if (s != NATS_OK)	/* refusals name nobody: silence */
			continue;
		rc = take_place(l, m, e);
		spend(l->b, m);
	} while (rc == 0 && (s == NATS_OK || s == NATS_NO_RESPONDERS));
	return rc;
}

static int
look_up_all(struct look_up *l, bool (*go_on)(void *), void *arg,
    struct err *e)
{
	while (l->answered < l->n) {
		if (!go_on(arg))
			return err_set(e, "broken off");
		ask_for_places(l);
		bus_wait(l->b, l->answered < l->asked ? LOOK_UP_WAIT_MS : 0);
		if (take_places(l, e) < 0)
			return -1;
		if (!bus_is_open(l->b))
			return err_set(e, "the connection was lost");
		if (clock_ms() - l->heard_at > LOOK_UP_TIMEOUT_MS)
			return err_set(e, "no answer to "
			    "$JS.API.STREAM.MSG.GET.%s: no permission, or the "
			    "broker is busy", l->b->conf->nats.stream);
	}
	return 0;
}

static int
bus_look_up(void *arg, const char *prefix, struct place *places, size_t n,
    bool (*go_on)(void *), void *go_on_arg, struct err *e)
{
	struct bus	*b = arg;
	struct look_up	 l = { .b = b, .prefix = prefix, .places = places,
			    .n = n, .window = 16, .heard_at = clock_ms() };

	if (!bus_is_open(b))
		return err_set(e, "not connected");
	for (size_t i = 0; i < n; i++)
		places[i].what = PLACE_UNKNOWN;
	bus_begin(b);	/* an answer that comes late is nobody's */
	return look_up_all(&l, go_on, go_on_arg, e);
}

static const struct pub_ops ops = {
	.open = bus_open,
	.close = bus_close,
	.is_open = bus_is_open,
	.check = bus_check,
	.state = bus_state,
	.look_up = bus_look_up,
	.begin = bus_begin,
	.send = bus_send,
	.wait = bus_wait,
	.answer = bus_answer,
	.complaint = bus_complaint,
	.tell = bus_tell,
};

struct pub
bus_new(const struct conf *conf, const char *name)
{
	struct bus	*b = xcalloc(1, sizeof(*b));
	struct pub	 p = { &ops, b };

	nats_Open(-1);
	b->conf = conf;
	b->name = xstrdup(name);
	b->fd = -1;
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
	free(b->name);
	free(b);
	/* Its threads may not be gone yet, and then it cannot be opened anew. */
	nats_CloseAndWait(CLOSE_TIMEOUT_MS);
}
