/* topic_audit.c - see topic_audit.h */

#include "recovery/topic_audit.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <bsd/stdlib.h>
#include <bsd/string.h>

#include "util/clock.h"
#include "util/log.h"
#include "util/xalloc.h"

#define LOOK_MS		5000
#define TTL_MS		20000	/* of an auditor that is gone */
#define ASK_MS		500	/* of one step */
#define LOOK_ROWS	1000
#define SLICE_MIN	4000	/* rows; each slice has twice as many, */
#define SLICE_MAX	16000	/* up to so many */
#define RESET		1000	/* rows of one transaction */
#define CEILING_MS	60000	/* of the backoff of brokers that refuse */

struct audited_topic {
	char	*name;
	uint64_t nlost;		/* in the audit under way */
	int64_t	 lost_at;	/* us since 1970: the last of them was settled */
	bool	 older;		/* one that was acknowledged before that one is
				   there, or was removed: it is the same topic */
};

struct lost {
	struct acked	row;
	size_t		topic;
};

void
topic_audit_init(struct topic_audit *t, const struct conf *conf,
    struct store *store, const struct pub pubs[CONF_DRIVERS],
    enum keep (*keep)(void *), void *keep_arg, struct outage *brokers)
{
	const struct conf_route	*routes = conf->publish.routes.items;
	size_t			 driver = 0;

	*t = (struct topic_audit){ .conf = conf, .store = store };
	t->relay = (struct relay){ .conf = conf, .keep = keep,
	    .keep_arg = keep_arg };
	memcpy(t->relay.pubs, pubs, sizeof(t->relay.pubs));
	t->relay.form = envelope_form_of(conf, t->prefix);
	route_set_init(&t->relay.routes, conf, &t->relay.form);
	for (size_t i = 0; i < conf->publish.routes.n; i++)
		t->headers = t->headers || routes[i].header[0] != '\0';
	snprintf(t->me, sizeof(t->me), "%08x%08x", arc4random(), arc4random());
	reconnect_init(&t->broker, "kafka");
	if (pub_next(t->relay.pubs, &driver) != NULL)
		t->broker.outage = &brokers[driver];
	t->broker.follows = true;
	t->broker.backoff.ceiling_ms = CEILING_MS;
}

static const struct pub *
publisher(const struct topic_audit *t)
{
	size_t	i = 0;

	return pub_next(t->relay.pubs, &i);
}

bool
topic_audit_is_wanted(const struct topic_audit *t)
{
	return publisher(t) != NULL && t->conf->kafka.recover != RECOVER_OFF;
}

static bool
go_on(void *arg)
{
	struct topic_audit	*t = arg;

	return t->relay.keep(t->relay.keep_arg) == KEEP_ON;
}

/* All that decides where a row goes, and under which id. */
static void
name_conf(const struct topic_audit *t, char name[17])
{
	const struct conf	*c = t->conf;
	const struct conf_route	*r = c->publish.routes.items;
	struct buf		 b = { 0 };

	buf_printf(&b, "%s %d %s ", t->prefix, c->publish.driver,
	    c->kafka.topic);
	conf_put_list(&b, &c->kafka.brokers, " ");
	for (size_t i = 0; i < c->publish.routes.n; i++)
		buf_printf(&b, "\n%s\n%s\n%s\n%d %s", r[i].type, r[i].topic,
		    r[i].header, r[i].driver, r[i].subject);
	snprintf(name, 17, "%016" PRIx64, text_hash(b.data));
	buf_free(&b);
}

static void
drop_slice(struct topic_audit *t)
{
	for (size_t i = 0; t->sought != NULL && i < t->nsought; i++)
		free((char *)t->sought[i].where);
	free(t->sought);
	t->sought = NULL;
	t->nsought = 0;
	store_placed_free(&t->rows);
}

/* What was found is found again, when it begins anew. */
static void
drop_audit(struct topic_audit *t)
{
	drop_slice(t);
	free(t->lost);
	t->lost = NULL;
	t->nlost = 0;
	t->under_way = t->looked = false;
}

static void
hang_up(struct topic_audit *t)
{
	const struct pub	*p = publisher(t);

	drop_audit(t);
	p->ops->close(p->arg);
}

static void
broker_failed(struct topic_audit *t, struct err *why, int64_t *delay_ms)
{
	err_in(why, "audit of topics");
	t->trouble = *why;
	reconnect_failed(&t->broker, why->text, clock_ms());
	hang_up(t);
	*delay_ms = later(0, t->broker.try_at - clock_ms());
}

static bool
is_open(struct topic_audit *t, int64_t *delay_ms)
{
	const struct pub	*p = publisher(t);
	struct err		 why;

	if (p->ops->is_open(p->arg))
		return true;
	drop_audit(t);
	if (p->ops->open(p->arg, &why) < 0) {
		broker_failed(t, &why, delay_ms);
		return false;
	}
	reconnect_opened(&t->broker, clock_ms());
	return true;
}

/* *known: it was met before. */
static size_t
topic_of(struct topic_audit *t, const char *name, bool *known)
{
	size_t	i = 0;

	while (i < t->ntopics && strcmp(t->topics[i].name, name) != 0)
		i++;
	*known = i < t->ntopics;
	if (!*known) {
		t->topics = xreallocarray(t->topics, ++t->ntopics,
		    sizeof(*t->topics));
		t->topics[i] = (struct audited_topic){ .name = xstrdup(name) };
	}
	return i;
}

/* Where this configuration would send it; NULL: not to a topic. */
static const char *
subject_of(struct topic_audit *t, const struct msg *m)
{
	const struct route	*way;

	if (t->headers && m->away)
		return NULL;
	way = route_of(&t->relay.routes, m);
	return t->relay.pubs[way->driver].ops == NULL ? NULL :
	    envelope_subject_of(&t->relay.envelope, way->rule == NULL ?
	    &t->relay.form : &way->form, m);
}

/*
 * Read the rows before upto, which moves back.  *news: one went to a topic that
 * was not met before.
 */
static int
read_slice(struct topic_audit *t, const char *since, char upto[STORE_TIME],
    size_t max, bool *news, struct err *e)
{
	const char	*where;
	bool		 known;

	drop_slice(t);
	if (store_placed(t->store, since, upto, max, t->headers, &t->rows,
	    e) < 0)
		return -1;
	t->sought = xcalloc(t->rows.rows.n + 1, sizeof(*t->sought));
	for (size_t i = 0; i < t->rows.rows.n; i++) {
		struct msg	*m = &t->rows.rows.msgs[i];

		if ((where = subject_of(t, m)) == NULL)
			continue;
		topic_of(t, where, &known);
		*news = *news || !known;
		t->rows.times[t->nsought] = t->rows.times[i];
		t->sought[t->nsought++] = (struct pub_sought){ .id = msg_id(m),
		    .where = xstrdup(where), .time = m->time,
		    .since = INT64_MIN, .place = t->rows.places[i] };
	}
	return 0;
}

/*
 * *suspect: the brokers, or a topic that was not met before, give a reason to
 * look at the rows.  -1: the database failed.  false in *answered: a broker.
 */
static int
look(struct topic_audit *t, bool *answered, bool *suspect, struct err *why,
    struct err *e)
{
	const struct pub	*p = publisher(t);
	struct stream_state	 st;
	char			 upto[STORE_TIME];
	bool			 news = false;
	int			 rc;

	*answered = p->ops->state(p->arg, &st, why);
	*suspect = !*answered || !t->looked || t->row.refill ||
	    st.setbacks != t->setbacks;
	if (*answered)
		t->setbacks = st.setbacks;
	if (*suspect)
		return 0;
	strlcpy(upto, t->row.now, sizeof(upto));
	rc = read_slice(t, t->row.since, upto, LOOK_ROWS, &news, e);
	drop_slice(t);
	*suspect = news;
	return rc;
}

static void
begin(struct topic_audit *t)
{
	drop_audit(t);
	t->under_way = true;
	t->slice = SLICE_MIN;
	strlcpy(t->upto, t->row.now, sizeof(t->upto));
	for (size_t i = 0; i < t->ntopics; i++) {
		t->topics[i].nlost = 0;
		t->topics[i].older = false;
	}
}

/*
 * All of the slice is told: note what is lost.  A row is settled within the time
 * of its claim after it was acknowledged, so an older one is that much older.
 */
static uint64_t
judge_slice(struct topic_audit *t)
{
	const int64_t	spare_us = t->conf->worker.claim_ttl * 1000;
	uint64_t	n = 0;
	int64_t		at = 0;
	bool		known;

	for (size_t i = 0; i < t->nsought; i++) {
		const struct pub_sought	*x = &t->sought[i];
		struct audited_topic	*a;
		size_t			 k;

		k = topic_of(t, x->where, &known);
		a = &t->topics[k];
		message_time_read((struct bytes){ t->rows.times[i],
		    strlen(t->rows.times[i]) }, &at);
		if (x->found != FOUND_ABSENT) {
			a->older = a->older || (a->nlost > 0 &&
			    at + spare_us < a->lost_at);
			continue;
		}
		n++;
		if (a->nlost++ == 0)
			a->lost_at = at;
		t->lost = xreallocarray(t->lost, t->nlost + 1,
		    sizeof(*t->lost));
		t->lost[t->nlost++] = (struct lost){ { x->id, x->place }, k };
	}
	return n;
}

/* Does any topic seem to have lost all that is known of it? */
static bool
misses_older(const struct topic_audit *t)
{
	for (size_t i = 0; i < t->ntopics; i++)
		if (t->topics[i].nlost > 0 && !t->topics[i].older)
			return true;
	return false;
}

static int
by_sequence(const void *a, const void *b)
{
	const struct lost	*x = a, *y = b;

	return x->row.id.sequence > y->row.id.sequence ? 1 :
	    -(x->row.id.sequence < y->row.id.sequence);
}

/*
 * Send the lost ones again, in the order of their keys; with the same ids, as
 * Kafka remembers none, and consumers may.  One that was sent again meanwhile,
 * by this or another janitor, may have its former place.
 */
static int
reset_lost(struct topic_audit *t, uint64_t *reset, struct err *e)
{
	struct acked	*rows = xcalloc(t->nlost + 1, sizeof(*rows));
	uint64_t	 changed;
	size_t		 n = 0;
	int		 rc = 0;

	for (size_t i = 0; i < t->nlost; i++)
		if (t->row.refill || t->topics[t->lost[i].topic].older)
			rows[n++] = t->lost[i].row;
	for (size_t i = 0; rc == 0 && i < n; i += RESET) {
		rc = store_reset(t->store, rows + i, n - i < RESET ? n - i :
		    RESET, t->row.now, NULL, &changed, e);
		*reset += rc == 0 ? changed : 0;
	}
	free(rows);
	return rc;
}

static void
tell(const struct topic_audit *t, bool again, struct store_loss *loss,
    struct err *alarm)
{
	for (size_t i = 0; i < t->ntopics; i++) {
		const struct audited_topic *x = &t->topics[i];

		if (x->nlost == 0)
			continue;
		if (!x->older && !t->row.refill) {
			err_set(alarm, "topic %.120s lacks all %" PRIu64
			    " messages known of it: it was made anew, emptied "
			    "or deleted", x->name, x->nlost);
			loss->alarm = alarm->text;
			log_error("%s; to send them again: outboxctl stream "
			    "republish", alarm->text);
		} else
			log_event(LOG_LVL_WARN, LOG_FIELDS(LOG_TEXT("topic",
			    x->name), LOG_NUMBER("lost", x->nlost)),
			    "topic %s: lost %" PRIu64 " acknowledged messages"
			    "%s", x->name, x->nlost, again ?
			    ": they are sent again" : "; kafka.recover is "
			    "\"report\": to send them again: outboxctl stream "
			    "republish");
	}
}

/*
 * All slices are judged: what is lost goes again, or is told.  If that fails
 * halfway, all begins anew.
 */
static int
finish(struct topic_audit *t, struct err *e)
{
	struct store_loss	loss = { .messages = 0 };
	struct err		alarm;
	bool			again = t->row.refill ||
				    t->conf->kafka.recover == RECOVER_LOST;
	int			rc;

	if (t->nlost > 0)
		qsort(t->lost, t->nlost, sizeof(*t->lost), by_sequence);
	rc = again ? reset_lost(t, &t->recovered, e) : 0;
	if (rc == 0) {
		tell(t, again, &loss, &alarm);
		if (!again && t->nlost > 0)
			loss = (struct store_loss){ t->nlost,
			    t->lost[0].row.id.sequence,
			    t->lost[t->nlost - 1].row.id.sequence,
			    loss.alarm };
		rc = store_topics_checked(t->store, t->me, &t->row,
		    loss.alarm != NULL || loss.messages > 0, &loss, e);
	}
	drop_audit(t);
	t->looked = rc == 0;
	return rc;
}

/* Ask for the slice; *later: not all is told yet. */
static int
ask(struct topic_audit *t, int64_t *delay_ms, bool *later, struct err *why)
{
	const struct pub	*p = publisher(t);
	const struct pub_go_on	 keep_on = { go_on, t };
	int			 rc = 0;

	if (t->nsought > 0)
		p->ops->find(p->arg, t->prefix, t->sought, t->nsought,
		    clock_ms() + ASK_MS, &keep_on);
	*later = false;
	for (size_t i = 0; i < t->nsought; i++) {
		const struct pub_sought *x = &t->sought[i];

		if (x->found == FOUND_LATER)
			*delay_ms = x->again_ms;
		*later = *later || x->found == FOUND_LATER;
		if (x->found == FOUND_UNKNOWN)
			rc = err_set(why, "%s", x->why.text);
	}
	return rc;
}

/* A slice is read, asked for and judged, the latest rows first. */
static int
audit(struct topic_audit *t, int64_t *delay_ms, struct err *e)
{
	const char	*since = t->row.refill ? STORE_EVER :
			    t->row.known_since;
	struct err	 why;
	bool		 later, news = false;
	uint64_t	 nlost;

	*delay_ms = 0;
	if (t->sought == NULL && read_slice(t, since, t->upto, t->slice, &news,
	    e) < 0)
		return -1;
	if (ask(t, delay_ms, &later, &why) < 0) {
		broker_failed(t, &why, delay_ms);
		return 0;
	}
	if (later)
		return 0;
	reconnect_works(&t->broker, clock_ms());
	t->trouble.text[0] = '\0';
	nlost = judge_slice(t);
	drop_slice(t);
	if (t->slice < SLICE_MAX)
		t->slice *= 2;
	*delay_ms = 0;
	/* It is over where there are no more, or a stretch is whole. */
	if (t->upto[0] == '\0' || (nlost == 0 && !t->row.refill &&
	    strcmp(t->upto, t->row.since) <= 0 && !misses_older(t)))
		return finish(t, e);
	return 0;
}

int
topic_audit_step(struct topic_audit *t, int64_t *delay_ms, struct err *e)
{
	const struct store_loss	none = { .messages = 0 };
	struct topics_row	row;
	char			conf[17];
	struct err		why;
	bool			answered, suspect;

	*delay_ms = LOOK_MS;
	if (!store_can_audit_topics(t->store))
		return 0;
	store_prefix(t->store, t->prefix);
	name_conf(t, conf);
	if (store_topics_take(t->store, t->me, TTL_MS, conf, &row, e) < 0)
		return -1;
	if (!row.taken) {
		t->trouble.text[0] = '\0';
		hang_up(t);
		return 0;
	}
	if (!is_open(t, delay_ms))
		return 0;
	if (t->under_way)
		return audit(t, delay_ms, e);
	t->row = row;
	if (look(t, &answered, &suspect, &why, e) < 0)
		return -1;
	if (!answered)
		broker_failed(t, &why, delay_ms);
	else if (!suspect)
		return store_topics_checked(t->store, t->me, &t->row, false,
		    &none, e);
	else {
		begin(t);
		*delay_ms = 0;
	}
	return 0;
}
