/*
 * kafka_find.c - which of these messages does a topic hold already?
 *
 * A search is for the messages of one call, and for no others until it has
 * ended.  All partitions of their topics are read, from the first record that
 * is not older than the oldest of them to the end.
 */

#include "kafka/kafka_impl.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "util/clock.h"
#include "util/log.h"
#include "util/xalloc.h"

#define SPARE_MS	60000	/* between the clocks of hosts */
#define KEPT_MS		3600000	/* no topic removes a record sooner */
#define TOLD_MS		5000	/* for all that was sought to be asked again */
#define IDLE_MS		60000	/* nobody has asked for so long: it is over */

struct find_item {
	struct message_id	 id;
	size_t			 topic;
	int64_t			 doubt_at;	/* ms since 1970: when its doubt
						   began; 0: unknown */
	int64_t			 from;		/* the same: its record is not
						   older */
	bool			 there, told;
	struct stored_message	 stored;
};

void
kafka_find_end(struct kafka_find *f)
{
	kafka_read_close(&f->read);
	free(f->items);
	*f = (struct kafka_find){ .read = f->read };
}

void
kafka_find_passed(struct kafka_find *f, const char *topic, int32_t partition,
    int64_t sent_after)
{
	size_t	i = kafka_read_find(&f->read, topic);

	if (i < f->read.ntopics &&
	    (size_t)partition < f->read.topics[i].nparts)
		f->read.topics[i].parts[partition].passed_at = sent_after;
}

static int
by_sequence(const void *a, const void *b)
{
	const struct find_item	*x = a, *y = b;

	return x->id.sequence > y->id.sequence ? 1 :
	    -(x->id.sequence < y->id.sequence);
}

static struct find_item *
find_item(const struct kafka_find *f, uint64_t sequence)
{
	const struct find_item	key = { .id.sequence = sequence };

	return f->nitems == 0 ? NULL : bsearch(&key, f->items, f->nitems,
	    sizeof(key), by_sequence);
}

/*
 * The time of a record is that of its event, or of its sending; or, if the topic
 * wants that, of its writing.  Where the id is not known, neither is what the
 * time was.
 */
static int64_t
oldest_time(const struct pub_sought *x, int64_t doubt_at)
{
	int64_t	us;

	if (!x->id.hashed || doubt_at == 0)
		return 0;
	if (!message_time_read(x->time, &us) || us <= 0)
		us = INT64_MAX;
	return later(0, sooner(us / 1000, doubt_at - SPARE_MS));
}

/* From the time of the oldest record that is sought, to the end. */
static rd_kafka_resp_err_t
start(void *arg, struct read_topic *t)
{
	struct kafka_find	*f = arg;
	rd_kafka_resp_err_t	 err;
	int64_t			 from = INT64_MAX;

	for (size_t i = 0; i < f->nitems; i++)
		if (&f->read.topics[f->items[i].topic] == t)
			from = sooner(from, f->items[i].from);
	err = kafka_read_offsets(&f->read, t, from, &t->parts->start);
	for (size_t i = 0; i < t->nparts; i++) {
		struct read_part *p = &t->parts[i];

		if (p->start == RD_KAFKA_OFFSET_END)
			p->start = p->end;	/* of before it was asked */
		p->upto = p->first_at = INT64_MAX;
	}
	return err;
}

static void
compare(void *arg, struct read_topic *t, const rd_kafka_message_t *m)
{
	struct kafka_find	*f = arg;
	struct read_part	*p = &t->parts[m->partition];
	struct message_id	 id;
	struct find_item	*it;
	const char		*text;
	size_t			 len;

	if (p->first_at == INT64_MAX)
		p->first_at = rd_kafka_message_timestamp(m, NULL);
	if (!kafka_record_id(m, f->prefix, &id))
		return;
	it = find_item(f, id.sequence);
	if (it == NULL || !message_id_is(&it->id, &id))
		return;
	it->there = true;
	it->stored = (struct stored_message){ .what = STORED_OURS, .id = id,
	    .sequence = msg_place(m->partition, m->offset) };
	if ((text = kafka_record_header(m, MESSAGE_TIME_HEADER, &len)) !=
	    NULL)
		stored_read_time(&it->stored, text, len);
}

static int
begin(struct kafka_find *f, const struct pub_sought *x, size_t n,
    struct err *e)
{
	static const struct kafka_reader by = { start, compare };
	int64_t	wall = (int64_t)time(NULL) * 1000;

	if (kafka_read_open(&f->read, &by, f, e) < 0)
		return -1;
	f->items = xcalloc(n, sizeof(*f->items));
	f->nitems = n;
	for (size_t i = 0; i < n; i++, x++) {
		int64_t	at = x->since == INT64_MIN ? 0 :
			    later(0, wall - (f->read.began_at - x->since));

		f->items[i] = (struct find_item){ .id = x->id,
		    .topic = kafka_read_topic(&f->read, x->where),
		    .doubt_at = at, .from = oldest_time(x, at) };
	}
	qsort(f->items, n, sizeof(*f->items), by_sequence);
	return 0;
}

/* Records have left the topic in which it may have been. */
static bool
may_be_removed(const struct read_topic *t, const struct find_item *it)
{
	if (it->doubt_at > (int64_t)time(NULL) * 1000 - KEPT_MS)
		return false;
	for (size_t i = 0; i < t->nparts; i++)
		if (t->parts[i].low > 0 &&
		    t->parts[i].start <= t->parts[i].low &&
		    t->parts[i].first_at > it->doubt_at)
			return true;
	return false;
}

/*
 * Messages come in batches, in turns: what was found is kept until those that it
 * is about have come again, if they do.
 */
static bool
is_told(const struct kafka_find *f)
{
	for (size_t i = 0; i < f->nitems; i++)
		if (!f->items[i].told)
			return f->over_at != 0 &&
			    clock_ms() > f->over_at + TOLD_MS;
	return true;
}

/* One that was sent since the search began waits for the next. */
static void
tell(const struct kafka_find *f, struct pub_sought *x)
{
	struct find_item	*it = find_item(f, x->id.sequence);
	const struct read_topic	*t = it == NULL ? NULL :
				    &f->read.topics[it->topic];

	x->found = FOUND_LATER;
	x->again_ms = kafka_read_waits(&f->read) ? AGAIN_MS : 0;
	if (it == NULL || it->id.hash != x->id.hash ||
	    it->id.replay != x->id.replay || it->id.hashed != x->id.hashed ||
	    strcmp(t->name, x->where) != 0 || f->read.began_at < x->since)
		return;
	x->stored = it->stored;
	if (it->there && it->id.hashed)
		x->found = FOUND_THERE;
	else if (t->failed) {
		x->found = FOUND_UNKNOWN;
		x->why = t->why;
	} else if (!t->final || !kafka_read_is_read(t))
		return;
	else if (it->there)
		x->found = FOUND_THERE;
	else if (may_be_removed(t, it)) {
		x->found = FOUND_UNKNOWN;
		err_set(&x->why, "topic %.249s: records have left it before "
		    "they could be read", t->name);
	} else if (it->told)	/* and sent, since: that was not read */
		return;
	else
		x->found = FOUND_ABSENT;
	it->told = true;
}

void
kafka_find_run(struct kafka_find *f, const char *prefix, struct pub_sought *x,
    size_t n, int64_t end, const struct pub_go_on *go_on)
{
	struct err	e;

	if (f->read.rk == NULL && begin(f, x, n, &e) < 0) {
		kafka_not_found(x, n, &e);
		return;
	}
	f->prefix = prefix;
	kafka_read_run(&f->read, end, go_on);
	for (size_t i = 0; i < n; i++)
		tell(f, &x[i]);
	f->asked_at = clock_ms();
	if (f->over_at == 0 && kafka_read_is_over(&f->read))
		f->over_at = f->asked_at;
	if (!is_told(f))
		return;
	log_info("kafka: searched for %zu messages in doubt among %" PRIu64
	    " records, for %" PRId64 " ms", f->nitems, f->read.nread,
	    f->asked_at - f->read.began_at);
	kafka_find_end(f);
}

void
kafka_find_rest(struct kafka_find *f)
{
	if (f->read.rk != NULL && clock_ms() - f->asked_at > IDLE_MS)
		kafka_find_end(f);
}
