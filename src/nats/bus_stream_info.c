/*
 * bus_stream_info.c - requests about the stream, answered to the same inbox
 *
 * The library's own calls would block for an answer that only our loop reads.
 */

#include "nats/bus_impl.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <jansson.h>

#include "nats/stored_message.h"
#include "nats/stream.h"
#include "util/clock.h"
#include "util/xalloc.h"

#define CHECK_TIMEOUT_MS	1000
#define AGAIN_MS		250
#define REMOVED_TIMEOUT_MS	5000	/* for a long list */
#define GET_MAX_IN_FLIGHT	256	/* requests out */
#define GET_BYTES		(8 * 1024 * 1024)	/* of their answers */
#define GET_TIMEOUT_MS		3000	/* without any answer */
#define GET_WAIT_MS		200

static int
no_answer(const char *subject, struct err *e)
{
	return err_set(e, "no answer to %s: no permission, or the broker is "
	    "busy or has no leader", subject);
}

static void
nobody_answers(const struct bus *b, struct err *e)
{
	const struct conf	*c = b->conf;

	if (c->nats.domain[0] != '\0')
		err_set(e, "JetStream domain %s does not answer: no server of "
		    "that domain is connected", c->nats.domain);
	else if (c->nats.api_prefix[0] != '\0')
		err_set(e, "JetStream behind %s does not answer: the account "
		    "does not import it, or it is off", c->nats.api_prefix);
	else
		err_set(e, "JetStream does not answer: it is off, or the "
		    "account has none");
}

/* "the stream has no leader: 1 of 3 servers answer", as far as is known. */
static void
count_servers(const struct bus *b, struct err *e)
{
	size_t		all = b->conf->nats.servers.n, failed = bus_nfailed(b);
	struct err	text = *e;

	if (failed > 0 && strstr(e->text, "no leader") != NULL)
		err_set(e, "%s: %zu of %zu servers answer", text.text,
		    all - failed, all);
}

/* Find the answer to a request by its reply subject; drop older answers. */
static bool
take_reply(struct bus *b, const char *reply, natsMsg **m, bool *nobody)
{
	natsStatus	s;

	while ((s = natsSubscription_NextMsg(m, b->sub, 0)) == NATS_OK) {
		if (strcmp(natsMsg_GetSubject(*m), reply) == 0)
			return true;
		natsMsg_Destroy(*m);
		*m = NULL;	/* the library leaves the old pointer in it */
	}
	*nobody = s == NATS_NO_RESPONDERS;
	return *nobody;
}

/* again_ms: ask again so often, as nobody keeps a question for a new leader. */
static natsMsg *
request(struct bus *b, const char *subject, const char *body,
    int64_t timeout_ms, int64_t again_ms, struct err *e)
{
	int64_t		 until = clock_ms() + timeout_ms, ask_at = 0, left;
	char		 reply[160];
	natsMsg		*m = NULL;
	bool		 nobody = false;

	bus_note_complaint(b, PUB_FORBIDDEN, "");	/* no older one */
	/* Without an index: a late answer matches no message. */
	snprintf(reply, sizeof(reply), "%s%x_check", b->inbox,
	    ++b->generation);
	while (!take_reply(b, reply, &m, &nobody) && bus_is_open(b) &&
	    (left = until - clock_ms()) > 0 && !bus_is_forbidden(b, subject)) {
		if (clock_ms() >= ask_at) {
			ask_at = clock_ms() + again_ms;
			if (natsConnection_PublishRequest(b->nc, subject,
			    reply, body, (int)strlen(body)) != NATS_OK)
				break;
		}
		bus_wait(b, sooner(left, GET_WAIT_MS));
	}
	if (nobody)
		bus_note_complaint(b, PUB_NOBODY, "no responders");
	if (m == NULL && nobody)
		nobody_answers(b, e);
	else if (m == NULL) {
		no_answer(subject, e);
		count_servers(b, e);
	}
	return m;
}

static natsMsg *
ask_for_stream(struct bus *b, const char *body, int64_t timeout_ms,
    struct err *e)
{
	char		 subject[CONF_API];
	const char	*domain;
	json_t		*info;
	natsMsg		*m;

	conf_api(b->conf, "STREAM.INFO.", b->conf->nats.stream, subject);
	if ((m = request(b, subject, body, timeout_ms, AGAIN_MS, e)) == NULL)
		return NULL;
	/* PubAcks have to come from the domain that answers our questions. */
	info = json_loadb(natsMsg_GetData(m), (size_t)natsMsg_GetDataLength(m),
	    0, NULL);
	domain = json_string_value(json_object_get(info, "domain"));
	if (json_object_get(info, "config") != NULL) {
		free(b->domain);
		b->domain = xstrdup(domain == NULL ? "" : domain);
	}
	json_decref(info);
	return m;
}

int
bus_ask_stream(struct pub *p, const char *what, const char *body,
    int64_t timeout_ms, struct buf *answer, struct err *e)
{
	struct bus	*b = p->arg;
	bool		 all = strcmp(what, "NAMES") == 0;
	char		 subject[CONF_API], request_of[32];
	natsMsg		*m;

	if (!bus_is_open(b))
		return err_set(e, "not connected to the broker");
	snprintf(request_of, sizeof(request_of), "STREAM.%s%s", what,
	    all ? "" : ".");
	conf_api(b->conf, request_of, all ? "" : b->conf->nats.stream, subject);
	if ((m = request(b, subject, body, timeout_ms, timeout_ms, e)) == NULL)
		return -1;
	buf_add(answer, natsMsg_GetData(m), (size_t)natsMsg_GetDataLength(m));
	natsMsg_Destroy(m);
	return 0;
}

bool
bus_check(void *arg, struct stream_report *r, struct err *e)
{
	struct bus	*b = arg;
	natsMsg		*m;
	int64_t		 asked_at = clock_ms();

	memset(r, 0, sizeof(*r));
	if (b->conf->nats.stream[0] == '\0')
		return true;
	if ((m = ask_for_stream(b, "", CHECK_TIMEOUT_MS, e)) == NULL)
		return false;
	stream_judge(r, b->conf, natsMsg_GetData(m),
	    (size_t)natsMsg_GetDataLength(m));
	count_servers(b, &r->why);
	r->late = clock_ms() - asked_at >= AGAIN_MS;
	natsMsg_Destroy(m);
	return true;
}

bool
bus_state(void *arg, struct stream_state *st, struct err *e)
{
	struct bus	*b = arg;
	natsMsg		*m;
	natsStatus	 s;
	int		 rc;

	st->answer = STREAM_UNKNOWN;
	if (!bus_is_open(b)) {
		err_set(e, "not connected to the broker");
		return false;
	}
	if ((m = ask_for_stream(b, "", CHECK_TIMEOUT_MS, e)) == NULL)
		return false;
	rc = stream_read_state(st, natsMsg_GetData(m),
	    (size_t)natsMsg_GetDataLength(m), e);
	natsMsg_Destroy(m);
	if (rc < 0) {
		count_servers(b, e);
		return false;
	}
	s = natsConnection_GetConnectedServerId(b->nc, st->server,
	    sizeof(st->server));
	if (s == NATS_OK)
		return true;
	st->answer = STREAM_UNKNOWN;
	bus_describe(s, e);
	return false;
}

bool
bus_removed(void *arg, struct stream_removed *r, struct err *e)
{
	struct bus	*b = arg;
	natsMsg		*m;
	int		 rc;

	memset(r, 0, sizeof(*r));
	if (!bus_is_open(b)) {
		err_set(e, "not connected to the broker");
		return false;
	}
	if ((m = ask_for_stream(b, "{\"deleted_details\":true}",
	    REMOVED_TIMEOUT_MS, e)) == NULL)
		return false;
	rc = stream_read_removed(r, natsMsg_GetData(m),
	    (size_t)natsMsg_GetDataLength(m), e);
	natsMsg_Destroy(m);
	return rc == 0 && r->state.answer == STREAM_THERE;
}

/* A look-up under way: many requests for single messages. */
struct get_stored {
	struct bus		*b;
	const char		*prefix;
	struct stored_message	*stored;
	size_t			 n, asked, answered;
	size_t			 max_in_flight;
	int64_t			 heard_at;
};

/* Never blocks; if a request cannot be sent, the connection is lost. */
static void
request_more(struct get_stored *l)
{
	struct bus	*b = l->b;
	char		 subject[CONF_API], reply[160], body[40];

	for (; l->asked < l->n && l->asked - l->answered < l->max_in_flight;
	    l->asked++) {
		struct stored_message *p = &l->stored[l->asked];

		if (p->sequence == 0) {
			p->what = STORED_EMPTY;
			l->answered++;
			continue;
		}
		if (p->where != NULL)
			snprintf(subject, sizeof(subject), "%s", p->where);
		else
			conf_api(b->conf, "STREAM.MSG.GET.",
			    b->conf->nats.stream, subject);
		snprintf(reply, sizeof(reply), "%s%x_%zx", b->inbox,
		    b->generation, l->asked);
		snprintf(body, sizeof(body), "{\"seq\":%llu}",
		    (unsigned long long)p->sequence);
		if (natsConnection_PublishRequest(b->nc, subject, reply, body,
		    (int)strlen(body)) != NATS_OK)
			return;
	}
}

/* Answers contain whole messages: fewer requests at a time for large ones. */
static void
fit_max_in_flight(struct get_stored *l)
{
	size_t	fit = GET_BYTES / (l->b->get_size + 1);

	if (l->max_in_flight > l->b->get_max)
		l->max_in_flight = l->b->get_max;
	if (l->max_in_flight > fit)
		l->max_in_flight = fit > 0 ? fit : 1;
}

/*
 * A server buffers only so many bytes for us and then closes the connection.
 * The next try has fewer requests out.
 */
static void
learn_max(struct get_stored *l, bool lost)
{
	struct bus	*b = l->b;

	b->get_max = lost ? (l->max_in_flight + 3) / 4 : b->get_max * 2;
	if (b->get_max > GET_MAX_IN_FLIGHT)
		b->get_max = GET_MAX_IN_FLIGHT;
}

static int
take_stored(struct get_stored *l, natsMsg *m, struct err *e)
{
	struct bus		*b = l->b;
	size_t			 size = (size_t)natsMsg_GetDataLength(m);
	uint32_t		 index;
	struct stored_message	*p;

	if (!bus_read_index(b, natsMsg_GetSubject(m), &index) ||
	    index >= l->asked || l->stored[index].what != STORED_UNKNOWN)
		return 0;
	p = &l->stored[index];
	if (stored_message_read(p, l->prefix, natsMsg_GetData(m), size, e) < 0)
		return -1;
	l->answered++;
	l->heard_at = clock_ms();
	/* Remember a large size for a while: large messages come in groups. */
	b->get_size -= b->get_size / 64;
	if (b->get_size < size)
		b->get_size = size;
	l->max_in_flight++;
	fit_max_in_flight(l);
	return 0;
}

static int
take_all_stored(struct get_stored *l, struct err *e)
{
	natsMsg		*m = NULL;
	natsStatus	 s;
	int		 rc = 0;

	do {
		s = natsSubscription_NextMsg(&m, l->b->sub, 0);
		if (s != NATS_OK)	/* a refusal has no index: ignore */
			continue;
		rc = take_stored(l, m, e);
		bus_spend(l->b, m);
	} while (rc == 0 && (s == NATS_OK || s == NATS_NO_RESPONDERS));
	return rc;
}

int
bus_get_stored(void *arg, const char *prefix, struct stored_message *stored,
    size_t n, const struct pub_go_on *go_on, struct err *e)
{
	struct bus		*b = arg;
	struct get_stored	 l = { .b = b, .prefix = prefix,
				    .stored = stored, .n = n,
				    .max_in_flight = 16,
				    .heard_at = clock_ms() };
	char			 subject[CONF_API];

	if (!bus_is_open(b))
		return err_set(e, "not connected to the broker");
	for (size_t i = 0; i < n; i++)
		stored[i].what = STORED_UNKNOWN;
	bus_note_complaint(b, PUB_FORBIDDEN, "");	/* no older one */
	if (b->get_max == 0)
		b->get_max = GET_MAX_IN_FLIGHT;
	fit_max_in_flight(&l);
	bus_begin(b, INT64_MAX);	/* ignores late answers */
	conf_api(b->conf, "STREAM.MSG.GET.", b->conf->nats.stream, subject);
	while (l.answered < n) {
		if (!go_on->ask(go_on->arg))
			return err_set(e, "interrupted");
		if (bus_is_forbidden(b, subject))
			return no_answer(subject, e);
		request_more(&l);
		bus_wait(b, l.answered < l.asked ? GET_WAIT_MS : 0);
		if (take_all_stored(&l, e) < 0)
			return -1;
		if (!bus_is_open(b)) {
			learn_max(&l, true);
			return err_set(e, "the connection was lost");
		}
		if (clock_ms() - l.heard_at > GET_TIMEOUT_MS)
			return no_answer(subject, e);
	}
	learn_max(&l, false);
	return 0;
}
