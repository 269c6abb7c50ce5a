/*
 * scrub.c - see scrub.h
 *
 * What a hole means depends on what the workers' checks have recorded, so the
 * scrub waits until they have seen the stream as it is now: see is_assessed().
 */

#include "recovery/scrub.h"

#include <stdio.h>
#include <string.h>

#include <bsd/stdlib.h>
#include <bsd/string.h>

#include "recovery/stream_audit_impl.h"
#include "util/clock.h"
#include "util/log.h"

#define SLICE_MAX	1000	/* rows at a time, */
#define SLICE_S		10	/* or what may be read in so long */
#define ROUND_MS	10000	/* the shortest one of routine */
#define POLL_MS		5000	/* to see a new suspicion */
#define TTL_MS		60000	/* of a scrubber that is gone */
#define TELL_MS		10000	/* between lines of log */
#define CEILING_MS	60000	/* of the backoff of a broker that refuses */

void
scrub_init(struct scrub *s, const struct conf *conf, struct store *store,
    struct pub pub, enum keep (*keep)(void *), void *keep_arg,
    struct outage *broker)
{
	*s = (struct scrub){ .conf = conf, .store = store };
	s->relay = (struct relay){ .conf = conf,
	    .pubs = { pub }, .keep = keep, .keep_arg = keep_arg };
	s->relay.form.id_prefix = s->prefix;
	stream_audit_init(&s->audit, conf, store, &s->relay);
	s->audit.renew_at = INT64_MAX;	/* it is no checker */
	snprintf(s->me, sizeof(s->me), "%08x%08x", arc4random(), arc4random());
	reconnect_init(&s->broker, "broker");
	s->broker.outage = broker;
	s->broker.follows = true;
	s->broker.backoff.ceiling_ms = CEILING_MS;
}

bool
scrub_is_wanted(const struct scrub *s)
{
	return relay_stream(&s->relay) != NULL &&
	    s->conf->nats.recover != RECOVER_OFF &&
	    s->conf->nats.stream[0] != '\0';
}

static void
hang_up(struct scrub *s)
{
	const struct pub	*p = relay_broker(&s->relay);

	p->ops->close(p->arg);
	s->opened_at[0] = '\0';
}

static void
broker_failed(struct scrub *s, struct err *why, int64_t *delay_ms)
{
	int64_t	now = clock_ms();

	err_in(why, "scrub of stream %s", s->conf->nats.stream);
	reconnect_failed(&s->broker, why->text, now);
	hang_up(s);
	*delay_ms = s->broker.try_at - now;
}

/* *opened: false if it failed, and *delay_ms is set. */
static int
open_broker(struct scrub *s, bool *opened, int64_t *delay_ms, struct err *e)
{
	const struct pub *p = relay_broker(&s->relay);
	struct err	 why;

	*opened = s->opened_at[0] != '\0' && p->ops->is_open(p->arg);
	if (*opened)
		return 0;
	hang_up(s);
	if (s->broker.try_at > clock_ms()) {
		*delay_ms = s->broker.try_at - clock_ms();
		return 0;
	}
	if (p->ops->open(p->arg, &why) < 0) {
		broker_failed(s, &why, delay_ms);
		return 0;
	}
	reconnect_opened(&s->broker, clock_ms());
	*opened = true;
	return store_now(s->store, s->opened_at, e);
}

/*
 * The workers have checked the stream since we connected, so a restart of the
 * server is known, and it has the leader and the damage of then.
 */
static bool
is_assessed(const struct scrub *s, const struct scrub_row *scrub,
    const struct stream_row *row, const struct stream_state *st)
{
	if (row->fresh || strcmp(row->created, st->created) != 0 ||
	    strcmp(scrub->checked_at, s->opened_at) <= 0)
		return false;
	return row->has_gaps && st->damage <= row->damage &&
	    strcmp(row->leader, st->leader) == 0;
}

/* Log what was found, seldom in a long round. */
static void
tell(struct scrub *s, bool at_last)
{
	struct stream_audit_rows	*f = &s->found;

	if (f->lost + f->told + f->moved == 0 ||
	    (!at_last && clock_ms() - s->told_at < TELL_MS))
		return;
	stream_audit_tell(&s->audit, f);
	*f = (struct stream_audit_rows){ .lost = 0 };
	s->told_at = clock_ms();
}

static void
add_to(uint64_t *n, uint64_t *low, uint64_t *high, uint64_t more,
    uint64_t more_low, uint64_t more_high)
{
	if (more == 0)
		return;
	if (*n == 0 || more_low < *low)
		*low = more_low;
	if (more_high > *high)
		*high = more_high;
	*n += more;
}

/* Until there is something to do by routine, or may be for a suspicion. */
static void
rest(struct scrub *s, int64_t *delay_ms)
{
	int64_t	left = s->next_at - clock_ms();

	*delay_ms = s->conf->nats.scrub > 0 && left < POLL_MS ?
	    (left > 0 ? left : 0) : POLL_MS;
	if (s->conf->nats.scrub == 0)	/* nobody would answer its pings */
		hang_up(s);
}

static int
read_slice(struct scrub *s, const struct scrub_row *scrub,
    const struct stream_row *row, int64_t *delay_ms, struct err *e)
{
	struct stream_audit_rows w = { .created = row->created,
		.heals = row->missing > 0,
		.dry = s->conf->nats.recover == RECOVER_REPORT,
		.holes_lost = strcmp(scrub->purpose, STORE_LOST) == 0,
		.steady = scrub->steady, .gaps = row->gaps };
	struct stream_audit_rows *f = &s->found;
	struct store_period	 p = { .until = scrub->until };
	int64_t			 most = s->conf->nats.scrub * SLICE_S;
	struct err		 why;
	size_t			 n = 0;

	w.tell = w.dry;
	w.new_ids = true;
	w.shift = s->shift;
	strlcpy(p.from, scrub->at, sizeof(p.from));
	if (scrub->purpose[0] != '\0' || most > SLICE_MAX)
		most = SLICE_MAX;
	switch (stream_audit_slice(&s->audit, &w, &p, (size_t)most, &n, &why)) {
	case AUDIT_NO_DB:
		*e = why;
		return -1;
	case AUDIT_BROKEN:
		broker_failed(s, &why, delay_ms);
		return 0;
	case AUDIT_DONE:
		break;
	}
	reconnect_works(&s->broker, clock_ms());
	add_to(&f->lost, &f->low, &f->high, w.lost, w.low, w.high);
	add_to(&f->told, &f->told_low, &f->told_high, w.told, w.told_low,
	    w.told_high);
	f->reset += w.reset;
	f->moved += w.moved;
	s->shift = w.shift;
	s->recovered += w.reset;
	s->audit.recovered = 0;
	tell(s, false);
	*delay_ms = 0;
	if (scrub->purpose[0] == '\0') {
		s->next_at = clock_ms() + (int64_t)n * 1000 /
		    s->conf->nats.scrub;
		rest(s, delay_ms);
	}
	return store_scrub_save(s->store, s->conf->nats.stream, s->me, p.from,
	    n, e);
}

/* A round is under way. */
static int
go_on(struct scrub *s, const struct scrub_row *scrub, int64_t *delay_ms,
    struct err *e)
{
	struct stream_state	st;
	struct stream_row	row;
	struct err		why;
	struct stream_identity	id;
	bool			opened;

	if (strcmp(scrub->at, scrub->until) >= 0) {
		tell(s, true);
		if (scrub->purpose[0] == '\0')
			s->next_at = later(s->next_at, clock_ms() + ROUND_MS -
			    scrub->began_ms);
		*delay_ms = 0;
		return store_scrub_end(s->store, s->conf->nats.stream, s->me,
		    e);
	}
	if (open_broker(s, &opened, delay_ms, e) < 0)
		return -1;
	if (!opened)
		return 0;
	if (!stream_audit_state(&s->audit, &st, &why)) {
		broker_failed(s, &why, delay_ms);
		return 0;
	}
	id = (struct stream_identity){ .name = s->conf->nats.stream,
	    .server = st.server, .created = st.created, .prefix = s->prefix };
	if (store_stream(s->store, &id, &row, e) < 0)
		return -1;
	if (is_assessed(s, scrub, &row, &st))
		return read_slice(s, scrub, &row, delay_ms, e);
	*delay_ms = POLL_MS / 5;
	return 0;
}

int
scrub_step(struct scrub *s, int64_t *delay_ms, struct err *e)
{
	const char		*stream = s->conf->nats.stream;
	struct scrub_row	 scrub;
	bool			 taken, suspect;

	s->urgent = false;
	*delay_ms = POLL_MS;
	if (!store_can_scrub(s->store))
		return 0;
	store_prefix(s->store, s->prefix);
	if (store_scrub_take(s->store, stream, s->me, TTL_MS, &taken, e) < 0)
		return -1;
	if (!taken) {
		hang_up(s);
		return 0;
	}
	if (store_scrub(s->store, stream, &scrub, e) < 0)
		return -1;
	/*
	 * A suspicion goes before a round of routine, and a loss before a look,
	 * which would tell of what is lost as if somebody had removed it.  A
	 * look is asked for as often as somebody removes a message, so it has
	 * to wait for its turn; a change, such as another leader, has not.
	 */
	if (strcmp(scrub.suspicion, STORE_LOST) == 0)
		suspect = strcmp(scrub.purpose, STORE_LOST) != 0;
	else
		suspect = scrub.suspicion[0] != '\0' &&
		    scrub.purpose[0] == '\0' && (scrub.may_look ||
		    strcmp(scrub.suspicion, STORE_LOOK) != 0);
	s->urgent = suspect || scrub.purpose[0] != '\0';
	if (!suspect && scrub.purpose[0] == '\0' &&
	    (s->conf->nats.scrub == 0 || clock_ms() < s->next_at)) {
		rest(s, delay_ms);
		return 0;
	}
	if (!suspect && scrub.under_way)
		return go_on(s, &scrub, delay_ms, e);
	*delay_ms = 0;
	return store_scrub_begin(s->store, stream, s->me, suspect, e);
}
