/*
 * kafka_place.c - is each of these messages still where it was acknowledged?
 *
 * A look-up is for the messages of one call, and those that follow go on with
 * it.  Each partition is read from the lowest place that is asked for to the
 * highest.
 */

#include "kafka/kafka_impl.h"

#include <stdlib.h>

#include "util/clock.h"
#include "util/xalloc.h"

struct place_item {
	size_t			topic;
	uint64_t		place;
	bool			taken;	/* there is a record, */
	struct message_id	id;	/* of this one; 0: of none of ours */
};

void
kafka_place_end(struct kafka_place *k)
{
	kafka_read_close(&k->read);
	free(k->items);
	*k = (struct kafka_place){ .read = k->read };
}

static int
by_place(const void *a, const void *b)
{
	const struct place_item	*x = a, *y = b;

	if (x->topic != y->topic)
		return x->topic > y->topic ? 1 : -1;
	return x->place > y->place ? 1 : -(x->place < y->place);
}

static struct place_item *
find_item(const struct kafka_place *k, size_t topic, uint64_t place)
{
	const struct place_item	key = { .topic = topic, .place = place };

	return bsearch(&key, k->items, k->nitems, sizeof(key), by_place);
}

static rd_kafka_resp_err_t
start(void *arg, struct read_topic *t)
{
	struct kafka_place	*k = arg;

	for (size_t i = 0; i < t->nparts; i++)
		t->parts[i].start = t->parts[i].end;
	for (size_t i = 0; i < k->nitems; i++) {
		size_t	part = (size_t)msg_place_partition(k->items[i].place);
		int64_t	at = msg_place_offset(k->items[i].place);

		if (&k->read.topics[k->items[i].topic] != t ||
		    part >= t->nparts)
			continue;
		t->parts[part].start = sooner(t->parts[part].start, at);
		t->parts[part].upto = later(t->parts[part].upto, at + 1);
	}
	return RD_KAFKA_RESP_ERR_NO_ERROR;
}

static void
compare(void *arg, struct read_topic *t, const rd_kafka_message_t *m)
{
	struct kafka_place	*k = arg;
	struct place_item	*it = find_item(k,
				    (size_t)(t - k->read.topics),
				    msg_place(m->partition, m->offset));

	if (it != NULL)
		it->taken = true;
	if (it != NULL && !kafka_record_id(m, k->prefix, &it->id))
		it->id.sequence = 0;
}

static int
begin(struct kafka_place *k, const struct pub_sought *x, size_t n,
    struct err *e)
{
	static const struct kafka_reader by = { start, compare };

	if (kafka_read_open(&k->read, &by, k, e) < 0)
		return -1;
	k->items = xcalloc(n, sizeof(*k->items));
	k->nitems = n;
	for (size_t i = 0; i < n; i++)
		k->items[i] = (struct place_item){ .place = x[i].place,
		    .topic = kafka_read_topic(&k->read, x[i].where) };
	qsort(k->items, n, sizeof(*k->items), by_place);
	return 0;
}

/*
 * Where nothing is at its place, it was removed if the log goes on behind it.
 * true: ask again.
 */
static bool
tell(const struct kafka_place *k, struct pub_sought *x)
{
	size_t			 part = (size_t)msg_place_partition(x->place);
	size_t			 i = kafka_read_find(&k->read, x->where);
	const struct read_topic	*t = &k->read.topics[i];
	const struct place_item	*it = find_item(k, i, x->place);

	x->found = FOUND_LATER;
	x->again_ms = kafka_read_waits(&k->read) ? AGAIN_MS : 0;
	if (it == NULL)		/* of another look-up, which this ends */
		return false;
	if (it->taken)
		x->found = message_id_is(&x->id, &it->id) ? FOUND_THERE :
		    FOUND_ABSENT;
	else if (t->failed) {
		x->found = FOUND_UNKNOWN;
		x->why = t->why;
	} else if (t->final && kafka_read_is_read(t))
		x->found = part < t->nparts && msg_place_offset(x->place) <
		    t->parts[part].end ? FOUND_REMOVED : FOUND_ABSENT;
	return x->found == FOUND_LATER;
}

void
kafka_place_run(struct kafka_place *k, const char *prefix,
    struct pub_sought *x, size_t n, int64_t end,
    const struct pub_go_on *go_on)
{
	bool		later = false;
	struct err	e;

	if (k->read.rk == NULL && begin(k, x, n, &e) < 0) {
		kafka_not_found(x, n, &e);
		return;
	}
	k->prefix = prefix;
	kafka_read_run(&k->read, end, go_on);
	for (size_t i = 0; i < n; i++)
		later = tell(k, &x[i]) || later;
	if (!later)
		kafka_place_end(k);
}
