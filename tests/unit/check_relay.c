/*
 * check_relay.c - from a batch of rows to the outcome of each
 *
 * The fake publisher, and what must be true of any batch; the tests are in
 * relay_outcome.c, relay_types.c and relay_answers.c.
 */

#include "unit/relay_test.h"

#include <inttypes.h>

#include <bsd/string.h>

#include "common/lane.h"
#include "nats/nats_verdict.h"
#include "util/clock.h"

/* Ours comes before the library's, which then stays out of the program. */
int64_t	now_ms;

int64_t
clock_ms(void)
{
	return now_ms;
}

int64_t
clock_us(void)
{
	return now_ms * 1000;
}

struct fake		fake;
char			fake_endpoint;
struct conf		*conf;
struct relay		relay;
struct suspect		suspects[SUSPECTS];
struct relay_result	res;
static uint64_t			handling;

static bool	is_renamed(size_t);

static bool
is_looked_at(size_t i)
{
	return fake.acts[i] != '\0' && strchr("OFVwWG", fake.acts[i]) != NULL;
}

/* What comes next: a letter, no digit. */
static char
act(size_t i)
{
	char	c = fake.acts[i];

	if (is_looked_at(i))
		return is_renamed(i) && c != 'V' ? 'A' : 'D';
	if (c == 'E' && fake.absent[i] > 0)
		return 'A';
	if (c < '0' || c > '9')
		return c;
	return fake.absent[i] < c - '0' ? 'N' : 'A';
}

static int
line_of(const void *arg)
{
	return arg != NULL;
}

static bool
is_out(size_t i)
{
	return fake.sent_at[i] != 0 && !fake.answered[i] &&
	    now_ms < fake.sent_at[i] + conf->publish.timeout_ms;
}

static size_t
nout(void)
{
	size_t	n = 0;

	/* What was given up on before its time has an error. */
	for (size_t i = 0; i < batch.n; i++)
		n += is_out(i) && msgs[i].error == NULL;
	return n;
}

static bool
same_lane(size_t i, size_t j)
{
	enum conf_ordering	o = (enum conf_ordering)conf->outbox.ordering;
	struct bytes		a, b;

	a = lane_of(o, msgs[i].key, msgs[i].partition, &msgs[i].sequence);
	b = lane_of(o, msgs[j].key, msgs[j].partition, &msgs[j].sequence);
	return a.len == b.len && memcmp(a.data, b.data, a.len) == 0;
}

static const char *
header_of(const struct envelope *v, const char *name)
{
	for (size_t k = 0; k < v->nheaders; k++)
		if (strcmp(envelope_name(v, k), name) == 0)
			return envelope_value(v, k);
	return NULL;
}

/* Does it go under our id, because its author's is another's? */
static bool
is_renamed(size_t i)
{
	return fake.author_id[i][0] != '\0';
}

static void
note_ids(const struct envelope *v, size_t i)
{
	const char	*id = header_of(v, "Nats-Msg-Id");
	const char	*author_id = header_of(v, "Outbox-Message-Id");

	strlcpy(fake.id[i], id == NULL ? "" : id, sizeof(fake.id[i]));
	strlcpy(fake.author_id[i], author_id == NULL ? "" : author_id,
	    sizeof(fake.author_id[i]));
}

/* The promises that hold at each send, whatever the script says. */
static void
check_send(const struct envelope *v, size_t i)
{
	char	sequence[24];
	int64_t	deadline = batch.claimed_at + conf->worker.claim_ttl -
		    conf->publish.timeout_ms - CONF_CLAIM_MARGIN_MS;

	ck_assert_uint_lt(i, batch.n);
	ck_assert_msg(!msgs[i].held, "%zu is held", i);
	ck_assert_msg(fake.sent_at[i] == 0 || ((fake.absent[i] > 0 ||
	    is_renamed(i)) && fake.answered[i]), "%zu was sent before", i);
	ck_assert_int_lt(now_ms, deadline);
	ck_assert_uint_lt(nout(), (size_t)conf->publish.window);
	for (size_t j = 0; j < i; j++)
		ck_assert_msg(msgs[j].held || !same_lane(i, j) ||
		    msgs[j].outcome == OUT_DELIVERED ||
		    msgs[j].outcome == OUT_DEAD, "%zu overtakes %zu", i, j);
	snprintf(sequence, sizeof(sequence), "%" PRIu64, msgs[i].sequence);
	if (header_of(v, "Outbox-Sequence") != NULL)
		ck_assert_str_eq(header_of(v, "Outbox-Sequence"), sequence);
	if (!fake.blind)
		ck_assert_uint_eq(handling, msgs[i].sequence);
}

static int
fake_open(void *arg, struct err *e)
{
	(void)arg;
	(void)e;
	fake.nopens++;
	return 0;
}

static void
fake_close(void *arg)
{
	(void)arg;
}

static bool
fake_is_open(void *arg)
{
	return (fake.open || fake.pretend) && !fake.gone[line_of(arg)];
}

static int64_t
fake_max_payload(void *arg)
{
	return line_of(arg) ? INT64_MAX : fake.max_payload > 0 ?
	    fake.max_payload : FAKE_MAX_PAYLOAD;
}

static int64_t
fake_capacity(void *arg)
{
	(void)arg;
	return fake.capacity > 0 ? fake.capacity : INT64_MAX;
}

static int64_t
fake_unread(void *arg)
{
	return line_of(arg) ? fake.unread_there : fake.unread;
}

static void
fake_begin(void *arg, int64_t until)
{
	fake.nbegins += !line_of(arg);
	/* Written before the claim's margin is half over. */
	ck_assert_int_eq(until, batch.claimed_at + conf->worker.claim_ttl -
	    conf->publish.timeout_ms - CONF_CLAIM_MARGIN_MS + 500);
}

static void
note_most_there(void)
{
	size_t	n = 0;

	for (size_t i = 0; i < batch.n; i++)
		n += is_out(i) && fake.line[i] == 1;
	if (n > fake.most_there)
		fake.most_there = n;
}

static enum pub_sent
fake_send(void *arg, const struct envelope *v, uint32_t slot, struct err *e)
{
	if (++fake.nsends == fake.lose_send)
		fake.open = false;
	if (!fake.open) {
		err_set(e, "not connected");
		return PUB_LOST;
	}
	note_ids(v, slot);
	check_send(v, slot);
	fake.answered[slot] = false;
	fake.line[slot] = line_of(arg);
	if (act(slot) == 'Y') {
		fake.gone[line_of(arg)] = true;
		err_set(e, "away");
		return PUB_LOST;
	}
	if (act(slot) == 'R') {
		err_set(e, "refused by the fake");
		return PUB_REFUSED;
	}
	fake.sent_at[slot] = fake.last_send = now_ms;
	fake.order[fake.nsent++] = slot;
	if (nout() > fake.most_out)
		fake.most_out = nout();
	note_most_there();
	return PUB_SENT;
}

static bool
has_answer(size_t i)
{
	return fake.sent_at[i] != 0 && !fake.answered[i] &&
	    fake.acts[i] != 's' && !fake.gone[fake.line[i]];
}

/* The message whose answer comes first; line -1: of both; batch.n: none. */
static size_t
first_answer(int line)
{
	size_t	first = batch.n;

	for (size_t i = 0; i < batch.n; i++)
		if ((line < 0 || fake.line[i] == line) &&
		    has_answer(i) && (first == batch.n ||
		    fake.sent_at[i] + fake.delay[i] <
		    fake.sent_at[first] + fake.delay[first]))
			first = i;
	return first;
}

/* The clock moves instead of the process, which does not wait. */
static void
fake_prepare(void *arg, struct pub_polls *p)
{
	size_t	i = first_answer(-1);
	int64_t	at = now_ms + p->timeout_ms;

	ck_assert_uint_eq(handling, 0);
	ck_assert_int_ge(p->timeout_ms, 0);
	ck_assert_int_le(p->timeout_ms, RELAY_KEEP_MS);
	p->timeout_ms = 0;
	ck_assert_uint_lt(++fake.nwaits, 100000);
	if (fake.nwaits == fake.lose_wait)
		fake.open = false;
	if (!fake_is_open(arg))
		return;
	if (i < batch.n && fake.sent_at[i] + fake.delay[i] < at)
		at = fake.sent_at[i] + fake.delay[i];
	if (at > now_ms)
		now_ms = at;
	if (i < batch.n && act(i) == 'Z' &&
	    now_ms >= fake.sent_at[i] + fake.delay[i])
		fake.gone[fake.line[i]] = true;
}

static void
fake_proceed(void *arg, const struct pollfd *fds, size_t n)
{
	(void)arg;
	(void)fds;
	ck_assert_uint_eq(n, 0);
}

/* With one stream, nats.stream, a PubAck does not tell which it was. */
static uint64_t
stream_of(size_t i)
{
	char	name[] = "?";

	if (fake.streams == NULL || i >= batch.n)
		return 0;
	name[0] = fake.streams[i];
	return text_hash(name);
}

/* The first acknowledgement of a message gives it its place. */
static uint64_t
give_ack(size_t i)
{
	if (fake.ack[i] == 0)
		fake.ack[i] = FIRST_ACK + fake.nacks++;
	return fake.ack[i];
}

static bool
fake_answer(void *arg, struct pub_answer *a)
{
	size_t	i = first_answer(line_of(arg));
	char	answered;

	*a = (struct pub_answer){ .verdict = VERDICT_STORED };
	if (!line_of(arg) && fake.nstrange > 0 && now_ms >= fake.strange_at) {
		a->index = fake.strange[--fake.nstrange];
		if (a->index < batch.n && fake.sent_at[a->index] != 0)
			fake.stored[a->index] = true;
		a->ack_sequence = a->index < MANY ?
		    give_ack(a->index) : FIRST_ACK;
		a->stream = stream_of(a->index);
		return true;
	}
	if (i == batch.n || now_ms < fake.sent_at[i] + fake.delay[i])
		return false;
	a->index = (uint32_t)i;
	fake.answered[i] = true;
	/* It is there from now on, but this answer is an older one. */
	answered = act(i);
	switch (answered) {
	case 'N':
		a->index = PUB_SOME_INDEX;
		/* FALLTHROUGH */
	case 'P':
		a->verdict = VERDICT_ABSENT;
		fake.absent[i]++;
		break;
	case 'D':
		a->verdict = VERDICT_DUPLICATE;
		break;
	case 'M':
		a->verdict = VERDICT_MESSAGE;
		break;
	case 'B':
		a->verdict = VERDICT_TOO_LARGE;
		break;
	case 'C':
		a->verdict = VERDICT_ADDRESS;
		break;
	case 'J':
		a->verdict = VERDICT_PENDING;
		break;
	case 't':
		a->class = CLASS_OVERLOAD;
		/* FALLTHROUGH */
	case 'T':
		a->verdict = VERDICT_TRANSIENT;
		break;
	case 'x':
		a->in_doubt = true;
		/* FALLTHROUGH */
	case 'X':
		a->verdict = VERDICT_DESTINATION;
		break;
	case 'E':
	case 'Q':
		a->verdict = VERDICT_ELSEWHERE;
		a->class = CLASS_WRONG_STREAM;
		fake.absent[i]++;
		fake.answered[i] = answered == 'Q';
		break;
	case 'L':
	case 'K':
		a->verdict = answered == 'K' ? VERDICT_LOST_TOGETHER :
		    VERDICT_LOST;
		a->class = CLASS_LOST;
		break;
	}
	a->retry_after_ms = fake.retry_after_ms;
	fake.stored[i] = strchr("AD", answered) != NULL;
	if (fake.stored[i]) {
		if (line_of(arg)) {
			a->ack_sequence = 7;	/* not the stream's */
			return true;
		}
		if (is_renamed(i))
			fake.ack[i] = 0;	/* that was the other one's */
		a->ack_sequence = give_ack(i);
		a->stream = stream_of(i);
		return true;
	}
	if (fake.text != NULL)
		strlcpy(a->text, fake.text, sizeof(a->text));
	else
		snprintf(a->text, sizeof(a->text), "answer %c", answered);
	return true;
}

/* What is there, by the letter of the message that was acknowledged so. */
static void
fill_stored(struct stored_message *p, size_t i)
{
	struct msg	other = msgs[i];

	p->what = strchr("FV", fake.acts[i]) != NULL ? STORED_OTHER :
	    fake.acts[i] == 'G' ? STORED_EMPTY : STORED_OURS;
	if (p->what != STORED_OURS)
		return;
	if (strchr("wW", fake.acts[i]) != NULL) {
		other.hashed = false;
		other.sequence += 1000;
		other.time = BYTES("2026-01-31 12:00:00.250000");
		strlcpy(p->time, other.time.data, sizeof(p->time));
	}
	if (fake.acts[i] == 'W')
		other.payload = BYTES("[]");
	p->id = msg_id(&other);
}

static int
fake_get_stored(void *arg, const char *prefix, struct stored_message *p,
    size_t n, const struct pub_go_on *go_on, struct err *e)
{
	(void)arg;
	ck_assert_str_eq(prefix, "shop");
	fake.nlooks++;
	fake.nlooked += n;
	ck_assert_uint_eq(nout(), 0);
	ck_assert_uint_gt(n, 0);
	for (size_t k = 0, i; k < n; k++) {
		now_ms += k > 0 ? fake.look_takes : 0;
		if (!go_on->ask(go_on->arg))
			return err_set(e, "interrupted");
		if (fake.look_loses) {
			fake.open = false;
			return err_set(e, "the connection was lost");
		}
		if (fake.look_fails && k >= fake.look_reads)
			return err_set(e, "no answer to the fake's question");
		for (i = 0; fake.ack[i] != p[k].sequence; i++)
			ck_assert_uint_lt(i, batch.n);
		fill_stored(&p[k], i);
	}
	now_ms++;
	return 0;
}

/* The stream as the broker tells it, when nobody took a message. */
static bool
fake_check(void *arg, struct stream_report *r, struct err *e)
{
	(void)arg;
	ck_assert_uint_eq(nout(), 0);
	memset(r, 0, sizeof(*r));
	if (fake.leaderless == MUTE || fake.leaderless == FORBIDDEN)
		return err_set(e, "no answer to the fake") == 0;
	r->late = fake.leaderless == LATE;
	r->unfit = fake.leaderless == SAID || fake.leaderless == UNFIT;
	r->class = fake.leaderless == UNFIT ? CLASS_SEALED : CLASS_OFFLINE;
	err_set(&r->why, "has no leader");
	return true;
}

static enum error_class
fake_complaint(void *arg, enum pub_about about, struct err *e)
{
	if (line_of(arg))
		return CLASS_NONE;
	if (about == PUB_FORBIDDEN && (fake.leaderless == FORBIDDEN ||
	    (fake.look_is_forbidden && fake.nlooks > 0))) {
		err_set(e, "Permissions Violation");
		return CLASS_PERMISSION;
	}
	if (fake.complaint == NULL || about != PUB_MESSAGES)
		return CLASS_NONE;
	err_set(e, "%s", fake.complaint);
	fake.complaint = NULL;
	return nats_verdict_class_of_complaint(e->text);
}

static void
fake_tell(void *arg, const char *subject, const char *text)
{
	(void)arg;
	ck_assert_str_eq(subject, conf->nats.advisory);
	holds(text, "\"outbox\":\"shop\"");
	fake.ntold++;
}

static enum keep
fake_keep(void *arg)
{
	(void)arg;
	ck_assert_int_le(now_ms - fake.kept_at, RELAY_KEEP_MS);
	fake.kept_at = now_ms;
	fake.nkeeps++;
	return fake.keep_at != 0 && fake.nkeeps >= fake.keep_at ?
	    fake.keep : KEEP_ON;
}

struct pub_ops	fake_ops = {
	.in_order = true,
	.names_streams = true,
	.max_headers = 4500,
	.can_ask = true,
	.check = fake_check,
	.get_stored = fake_get_stored,
	.open = fake_open,
	.close = fake_close,
	.is_open = fake_is_open,
	.max_payload = fake_max_payload,
	.capacity = fake_capacity,
	.unread = fake_unread,
	.begin = fake_begin,
	.send = fake_send,
	.prepare = fake_prepare,
	.proceed = fake_proceed,
	.answer = fake_answer,
	.complaint = fake_complaint,
	.tell = fake_tell,
};

void
relay_setup(void)
{
	now_ms = START_MS;
	conf = conf_with("publish: {timeout_ms: 100}\n");
	memset(&fake, 0, sizeof(fake));
	fake_ops.in_order = fake_ops.names_streams = true;
	fake.open = true;
	fake.kept_at = START_MS;
	relay = (struct relay){ .conf = conf, .pubs = { { &fake_ops, NULL } },
	    .form = { "events.{event_type}", "shop", "EVENTS" },
	    .has_dead = true, .keep = fake_keep, .handling = &handling,
	    .suspects = suspects, .watch = true };
	memset(suspects, 0, sizeof(suspects));
}

static void
free_errors(void)
{
	for (size_t i = 0; i < batch.n; i++)
		free(msgs[i].error);
	batch.n = 0;
}

void
relay_teardown(void)
{
	free_errors();
	envelope_free(&relay.envelope);
	type_breaker_free(&relay.breaker);
	conf_free(conf);
}

/* A member of so many bytes is one header. */
static struct bytes
wide_metadata(void)
{
	static char	json[4700];

	memset(json, 'x', sizeof(json));
	memcpy(json, "{\"a\":\"", 6);
	memcpy(json + sizeof(json) - 2, "\"}", 2);
	return (struct bytes){ json, sizeof(json) };
}

void
script(const char *keys, const char *acts)
{
	batch_of(keys);
	batch.claimed_at = now_ms;
	ck_assert_uint_eq(strlen(acts), batch.n);
	fake.acts = acts;
	for (size_t i = 0; i < batch.n; i++) {
		fake.delay[i] = 1;
		if (acts[i] == 'b')
			msgs[i].type = BYTES("not legal");
		msgs[i].has_event = acts[i] != 'e';
		msgs[i].away = acts[i] == 'o';
		if (msgs[i].away)
			msgs[i].payload = (struct bytes){ NULL, 6000 };
		if (acts[i] == 'l')
			msgs[i].metadata = (struct bytes){ "", 6000 };
		if (acts[i] == 'h')
			msgs[i].metadata = wide_metadata();
		if (acts[i] == 'm')
			msgs[i].metadata = (struct bytes){ NULL, 1048577 };
	}
}

void
next_script(const char *keys, const char *acts)
{
	size_t	nacks = fake.nacks;		/* the stream is the same */

	free_errors();
	memset(&fake, 0, sizeof(fake));
	fake_ops.in_order = fake_ops.names_streams = true;
	fake.open = true;
	fake.kept_at = now_ms;
	fake.nacks = nacks;
	script(keys, acts);
}

static char
letter_of(const struct msg *m)
{
	return "UDRFX?"[m->outcome];
}

static bool
has_failed(const struct msg *m)
{
	return m->outcome == OUT_RETRY || m->outcome == OUT_DEFER ||
	    m->outcome == OUT_DEAD;
}

/* Given up before its time, because a later one was answered long ago. */
static bool
is_overtaken(size_t i)
{
	if (type_breaker_is_blamed(&relay.breaker, &msgs[i]))
		return true;
	/* Sent again to a broker that was silent, or to one that is gone. */
	if (relay.trial.to[ROUTE_STREAM].silent || fake.gone[fake.line[i]])
		return true;
	/* With several streams also those that only seem to be. */
	if (fake.streams != NULL && msgs[i].outcome == OUT_DEFER)
		return true;
	if (msgs[i].outcome != OUT_RETRY && msgs[i].outcome != OUT_DEFER)
		return false;
	for (size_t j = 0; j < batch.n; j++)
		if (fake.stored[j] && fake.sent_at[j] >= fake.sent_at[i] &&
		    now_ms >= fake.sent_at[j] + 250)
			return true;
	return false;
}

/* What must be true of any batch afterwards. */
static void
check_outcomes(void)
{
	unsigned	delivered = 0, failed = 0, duplicates = 0;
	unsigned	deferred = 0;

	for (size_t i = 0; i < batch.n; i++) {
		const struct msg *m = &msgs[i];
		bool stored = fake.stored[i];

		delivered += m->outcome == OUT_DELIVERED;
		duplicates += m->outcome == OUT_DELIVERED &&
		    act(i) == 'D';
		failed += has_failed(m);
		deferred += m->outcome == OUT_DEFER;
		/* The place of another row's message is not its place. */
		if (fake.acts[i] != 'w' || m->ack_sequence != 0)
			ck_assert_uint_eq(m->ack_sequence,
			    m->outcome == OUT_DELIVERED ? fake.ack[i] : 0);
		/* Whose it is nobody has seen, or it is another's. */
		if (is_looked_at(i) && !is_renamed(i) &&
		    m->outcome != OUT_DELIVERED)
			stored = false;
		if (m->outcome == OUT_DELIVERED)
			ck_assert_msg(stored, "%zu has no ack", i);
		else if (m->outcome != OUT_DEAD)
			ck_assert_msg(!stored, "%zu was acked", i);
		/* Sent, and nobody knows. */
		ck_assert(m->in_doubt <= (fake.sent_at[i] != 0));
		if (fake.sent_at[i] != 0 && !fake.answered[i] &&
		    m->outcome != OUT_DELIVERED)
			ck_assert(m->in_doubt);
		/* With several streams silence never uses an attempt. */
		if (fake.streams != NULL && fake.acts[i] == 's')
			ck_assert(m->outcome != OUT_RETRY &&
			    m->outcome != OUT_DEAD);
		if (has_failed(m))
			ck_assert_str_ne(m->error, "");
		if (m->outcome == OUT_RETRY || m->outcome == OUT_DEFER)
			ck_assert_int_gt(m->delay_ms, 0);
		ck_assert((m->outcome == OUT_DEAD) == (m->reason != NULL));
		if (m->outcome == OUT_KEEP_CLAIM)
			ck_assert(fake.keep == KEEP_ABANDON &&
			    fake.sent_at[i] != 0 && (!fake.answered[i] ||
			    fake.absent[i] > 0 || is_looked_at(i)));
		else if (fake.open && !is_overtaken(i))
			ck_assert(!is_out(i));
	}
	ck_assert_uint_eq(res.delivered, delivered);
	ck_assert_uint_eq(res.duplicates, duplicates);
	/* If the route is down, no message has failed. */
	if (!res.down || delivered > 0)
		ck_assert_uint_eq(res.failed, failed);
	else if (relay.breaker.n == 0)
		ck_assert_uint_eq(res.failed, failed - deferred);
	ck_assert((res.failed > 0 || res.down) <= (res.why.text[0] != '\0'));
	ck_assert_uint_eq(handling, 0);
	ck_assert_uint_eq(fake.nbegins, 1 + fake.nlooks);
	ck_assert_uint_eq(fake.nopens, 0);
}

void
publish(void)
{
	/* What was in there before does not count. */
	memset(&res, 'x', sizeof(res));
	relay_publish(&relay, &batch, &res);
	check_outcomes();
}

void
expect(const char *outcomes)
{
	char	got[MANY + 1];
	size_t	i;

	for (i = 0; i < batch.n; i++)
		got[i] = letter_of(&msgs[i]);
	got[i] = '\0';
	ck_assert_str_eq(got, outcomes);
}

void
publish_as(const char *outcomes)
{
	publish();
	expect(outcomes);
}

void
expect_sent(const char *order)
{
	char	got[NROWS(fake.order) + 1];
	size_t	i;

	for (i = 0; i < fake.nsent; i++)
		got[i] = (char)('0' + fake.order[i]);
	got[i] = '\0';
	ck_assert_str_eq(got, order);
}

void
script_many(size_t n, char act)
{
	static char	acts[MANY + 1], keys[MANY + 1];

	memset(keys, '-', n);
	memset(acts, act, n);
	keys[n] = acts[n] = '\0';
	script(keys, acts);
}

void
name_rows(void)
{
	static char	ids[MANY][8];

	for (size_t i = 0; i < batch.n; i++) {
		snprintf(ids[i], sizeof(ids[i]), "m-%zu", i);
		msgs[i].id = (struct bytes){ ids[i], strlen(ids[i]) };
	}
}

void
types(const char *letters)
{
	for (size_t i = 0; i < batch.n; i++)
		msgs[i].type = (struct bytes){ letters + i, 1 };
}

static TCase *
relay_case(Suite *s, const char *name)
{
	TCase	*tc = add_case(s, name);

	tcase_set_timeout(tc, 60);	/* of a thousand messages */
	tcase_add_checked_fixture(tc, relay_setup, relay_teardown);
	return tc;
}

int
main(void)
{
	Suite	*s = suite_create("relay");

	add_outcomes(relay_case(s, "outcome"));
	add_types(relay_case(s, "types"));
	add_answers(relay_case(s, "answers"));
	add_advisories(relay_case(s, "advisory"));
	add_routes(relay_case(s, "routes"));
	add_drivers(relay_case(s, "drivers"));
	add_looks(relay_case(s, "looks"));
	add_trials(relay_case(s, "trial"));
	return run_suite(s);
}
