/*
 * kafka_find.c - which of these messages does a topic hold already?
 *
 * A search is for the messages of one call, and for no others until it has
 * ended.  All partitions of their topics are read, from the first record that
 * is not older than the oldest of them to the end, by a consumer of no group.
 *
 * It is the end that needs care: what an earlier sender has written may still
 * be on its way into the log, or be there, but above the high watermark, where
 * no consumer sees it.  So the ends that count are asked for when the brokers
 * have answered for SETTLE_MS and, where a partition has replicas, LAG_MS after
 * the search began; or once a message that was sent meanwhile is acknowledged,
 * as all before it is then below the watermark.
 */

#include "kafka/kafka_impl.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <bsd/string.h>

#include "util/clock.h"
#include "util/log.h"
#include "util/xalloc.h"

#define ASK_MS		500	/* longest wait for one answer */
#define ROUND_MS	250	/* from one question for the ends to the next */
#define SETTLE_MS	1500	/* of what was written before */
#define LAG_MS		31000	/* replica.lag.time.max.ms is 30 s */
#define AGAIN_MS	1000	/* while nothing is to be done but wait */
#define SPARE_MS	60000	/* between the clocks of hosts */
#define KEPT_MS		3600000	/* no topic removes a record sooner */
#define TOLD_MS		5000	/* for all that was sought to be asked again */
#define IDLE_MS		60000	/* nobody has asked for so long: it is over */
#define READ_MS		50	/* for at most BATCH records */
#define BATCH		1000
#define PARTS		4	/* partitions at a time */

struct find_part {
	int64_t		low;		/* the first offset of the log */
	int64_t		start, next;	/* all between them is read */
	int64_t		end;		/* of the log, as it was told */
	int64_t		upto;		/* no more of it is to be read */
	bool		gaps;		/* offsets in between have no record */
	bool		cut;		/* records before the first that is
					   read were removed; */
	int64_t		first_at;	/* its time, ms since 1970; INT64_MAX:
					   none was read */
	int64_t		passed_at;	/* clock_ms(): a message sent later was
					   acknowledged; 0: none was */
	bool		replicated;
	bool		reads;		/* it is being consumed */
};

struct find_topic {
	char			*name;
	rd_kafka_topic_t	*rkt;
	struct find_part	*parts;		/* by number */
	size_t			 nparts;	/* 0: there is no such topic */
	int64_t			 from;		/* time of the oldest record that
						   can be sought, in ms */
	bool			 begun;		/* where to read is known */
	bool			 final;		/* the ends count */
	bool			 failed;	/* its search begins anew */
	struct err		 why;		/* it cannot be read; "": it can */
};

struct find_item {
	struct message_id	 id;
	size_t			 topic;
	int64_t			 doubt_at;	/* ms since 1970: when its doubt
						   began; 0: unknown */
	uint64_t		 place;		/* as in struct pub_sought */
	bool			 there, told;
	struct stored_message	 stored;
};

struct kafka_find {
	const struct conf	*conf;
	const char		*name;
	rd_kafka_t		*rk;		/* NULL: nothing is sought */
	rd_kafka_queue_t	*main, *queue;	/* for errors; for records */
	struct find_topic	*topics;
	size_t			 ntopics;
	struct find_item	*items;		/* by sequence */
	size_t			 nitems;
	int64_t			 began_at;	/* clock_ms() */
	int64_t			 steady_since;	/* the same: all was answered at
						   once since then; 0: never */
	int64_t			 asked_at;	/* the same: the last call */
	int64_t			 over_at;	/* the same: nothing is left to
						   read; 0: not yet */
	bool			 final;		/* those of all topics count */
	bool			 placed;	/* each item has its place */
	uint64_t		 nread;		/* records */
	struct err		 trouble;	/* the last one of the brokers */
	struct log_throttle	 log;
};

struct kafka_find *
kafka_find_new(const struct conf *c, const char *name)
{
	struct kafka_find	*f = xcalloc(1, sizeof(*f));

	f->conf = c;
	f->name = name;
	return f;
}

static void
close_topic(struct find_topic *t)
{
	for (size_t i = 0; i < t->nparts; i++)
		if (t->parts[i].reads)
			rd_kafka_consume_stop(t->rkt, (int32_t)i);
	if (t->rkt != NULL)
		rd_kafka_topic_destroy(t->rkt);
	free(t->parts);
	free(t->name);
}

/* The search is over. */
void
kafka_find_end(struct kafka_find *f)
{
	if (f->rk == NULL)
		return;
	for (size_t i = 0; i < f->ntopics; i++)
		close_topic(&f->topics[i]);
	free(f->topics);
	free(f->items);
	rd_kafka_queue_destroy(f->queue);
	rd_kafka_queue_destroy(f->main);
	kafka_client_free(f->rk);
	*f = (struct kafka_find){ .conf = f->conf, .name = f->name,
	    .log = f->log };
}

void
kafka_find_free(struct kafka_find *f)
{
	kafka_find_end(f);
	free(f);
}

void
kafka_find_passed(struct kafka_find *f, const char *topic, int32_t partition,
    int64_t sent_after)
{
	for (size_t i = 0; i < f->ntopics; i++)
		if (strcmp(f->topics[i].name, topic) == 0 &&
		    (size_t)partition < f->topics[i].nparts)
			f->topics[i].parts[partition].passed_at = sent_after;
}

static int
make_client(struct kafka_find *f, struct err *e)
{
	static const char *const	ours[][2] = {
		{ "isolation.level", "read_uncommitted" },
		{ "enable.partition.eof", "true" },
		{ "auto.offset.reset", "error" },
		{ "enable.auto.commit", "false" },
		{ "allow.auto.create.topics", "false" },
		{ "fetch.wait.max.ms", "100" },
		{ "queued.max.messages.kbytes", "16384" },	/* of each */
	};
	rd_kafka_conf_t			*rc;

	if ((rc = kafka_client_conf(f->conf, f->name, e)) == NULL)
		return -1;
	for (size_t i = 0; i < sizeof(ours) / sizeof(ours[0]); i++)
		if (kafka_client_set(rc, ours[i][0], ours[i][1], e) < 0) {
			rd_kafka_conf_destroy(rc);
			return -1;
		}
	rd_kafka_conf_set_events(rc, RD_KAFKA_EVENT_ERROR | RD_KAFKA_EVENT_LOG);
	if ((f->rk = kafka_client_new(RD_KAFKA_CONSUMER, rc, e)) == NULL)
		return -1;
	f->main = rd_kafka_queue_get_main(f->rk);
	f->queue = rd_kafka_queue_new(f->rk);
	return 0;
}

/* What brokers complain of, and the log. */
static void
serve(struct kafka_find *f)
{
	rd_kafka_event_t	*event;

	while ((event = rd_kafka_queue_poll(f->main, 0)) != NULL) {
		if (rd_kafka_event_type(event) == RD_KAFKA_EVENT_LOG)
			kafka_client_log(event, &f->log);
		else if (rd_kafka_event_type(event) == RD_KAFKA_EVENT_ERROR)
			err_set(&f->trouble, "%s",
			    rd_kafka_event_error_string(event));
		rd_kafka_event_destroy(event);
	}
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

static size_t
topic_of(struct kafka_find *f, const char *name)
{
	size_t	i = 0;

	while (i < f->ntopics && strcmp(f->topics[i].name, name) != 0)
		i++;
	if (i == f->ntopics) {
		f->topics = xreallocarray(f->topics, ++f->ntopics,
		    sizeof(*f->topics));
		f->topics[i] = (struct find_topic){ .name = xstrdup(name),
		    .from = INT64_MAX };
	}
	return i;
}

/*
 * The time of a record is that of its event or, if that was earlier or there is
 * none, of its sending; or, if the topic wants that, of its writing.  Where the
 * id is not known, neither is what the time was.
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

static int
begin(struct kafka_find *f, const struct pub_sought *x, size_t n,
    struct err *e)
{
	int64_t	now = clock_ms(), wall = (int64_t)time(NULL) * 1000;

	if (make_client(f, e) < 0)
		return -1;
	f->placed = x->place != 0;
	f->began_at = now;
	f->items = xcalloc(n, sizeof(*f->items));
	f->nitems = n;
	for (size_t i = 0; i < n; i++, x++) {
		int64_t	at = x->since == INT64_MIN ? 0 :
			    later(0, wall - (now - x->since));
		size_t	topic = topic_of(f, x->where);

		f->items[i] = (struct find_item){ .id = x->id, .topic = topic,
		    .doubt_at = at, .place = x->place };
		f->topics[topic].from = sooner(f->topics[topic].from,
		    oldest_time(x, at));
	}
	qsort(f->items, n, sizeof(*f->items), by_sequence);
	return 0;
}

/* Its partitions, and whether they have replicas. */
static rd_kafka_resp_err_t
ask_topic(struct kafka_find *f, struct find_topic *t)
{
	const struct rd_kafka_metadata	*md;
	const struct rd_kafka_metadata_topic *mt;
	rd_kafka_topic_conf_t		*conf;
	rd_kafka_resp_err_t		 err;

	if (t->rkt == NULL) {
		conf = rd_kafka_topic_conf_new();
		rd_kafka_topic_conf_set_opaque(conf, t);
		t->rkt = rd_kafka_topic_new(f->rk, t->name, conf);
		if (t->rkt == NULL) {	/* of no legal name */
			rd_kafka_topic_conf_destroy(conf);
			return RD_KAFKA_RESP_ERR_NO_ERROR;
		}
	}
	err = rd_kafka_metadata(f->rk, 0, t->rkt, &md, ASK_MS);
	if (err != RD_KAFKA_RESP_ERR_NO_ERROR)
		return err;
	mt = &md->topics[0];
	err = mt->err;
	if (err == RD_KAFKA_RESP_ERR_NO_ERROR) {
		t->nparts = (size_t)mt->partition_cnt;
		t->parts = xcalloc(t->nparts, sizeof(*t->parts));
	}
	for (int i = 0; i < mt->partition_cnt; i++)
		if ((size_t)mt->partitions[i].id < t->nparts)
			t->parts[mt->partitions[i].id].replicated =
			    mt->partitions[i].replica_cnt > 1;
	rd_kafka_metadata_destroy(md);
	/* What is not there, or cannot be, has no message. */
	return err == RD_KAFKA_RESP_ERR_UNKNOWN_TOPIC_OR_PART ||
	    err == RD_KAFKA_RESP_ERR_TOPIC_EXCEPTION ?
	    RD_KAFKA_RESP_ERR_NO_ERROR : err;
}

/*
 * Set the member at this place of each part: the offset of the first record of
 * that time or later, RD_KAFKA_OFFSET_END if there is none; or, for the special
 * offsets, where the partition begins or ends.
 */
static rd_kafka_resp_err_t
ask_offsets(struct kafka_find *f, struct find_topic *t, int64_t time, size_t at)
{
	rd_kafka_topic_partition_list_t	*list;
	rd_kafka_resp_err_t		 err;

	list = rd_kafka_topic_partition_list_new((int)t->nparts);
	for (size_t i = 0; i < t->nparts; i++)
		rd_kafka_topic_partition_list_add(list, t->name,
		    (int32_t)i)->offset = time;
	err = rd_kafka_offsets_for_times(f->rk, list, ASK_MS);
	for (size_t i = 0; i < t->nparts && err == RD_KAFKA_RESP_ERR_NO_ERROR;
	    i++) {
		const rd_kafka_topic_partition_t *x = &list->elems[i];

		err = x->err;
		*(int64_t *)((char *)&t->parts[x->partition] + at) = x->offset;
	}
	rd_kafka_topic_partition_list_destroy(list);
	return err;
}

/* From where, and up to where, are the partitions to be read? */
static rd_kafka_resp_err_t
choose_starts(struct kafka_find *f, struct find_topic *t)
{
	rd_kafka_resp_err_t	err;

	err = ask_offsets(f, t, RD_KAFKA_OFFSET_BEGINNING,
	    offsetof(struct find_part, low));
	if (err == RD_KAFKA_RESP_ERR_NO_ERROR && !f->placed)
		err = ask_offsets(f, t, t->from,
		    offsetof(struct find_part, start));
	for (size_t i = 0; i < t->nparts; i++) {
		struct find_part *p = &t->parts[i];

		p->upto = f->placed ? 0 : INT64_MAX;
		if (f->placed || p->start == RD_KAFKA_OFFSET_END)
			p->start = p->end;	/* of before it was asked */
	}
	for (size_t i = 0; f->placed && i < f->nitems; i++) {
		size_t	part = (size_t)msg_place_partition(f->items[i].place);
		int64_t	at = msg_place_offset(f->items[i].place);

		if (&f->topics[f->items[i].topic] != t || part >= t->nparts)
			continue;
		t->parts[part].start = sooner(t->parts[part].start, at);
		t->parts[part].upto = later(t->parts[part].upto, at + 1);
	}
	for (size_t i = 0; i < t->nparts; i++) {
		struct find_part *p = &t->parts[i];

		p->start = p->next = later(p->start, p->low);
		p->cut = p->low > 0 && p->start <= p->low;
		p->first_at = INT64_MAX;
	}
	return err;
}

/* Where do its partitions end, and, the first time, where do they begin? */
static rd_kafka_resp_err_t
ask(struct kafka_find *f, struct find_topic *t)
{
	rd_kafka_resp_err_t	err = RD_KAFKA_RESP_ERR_NO_ERROR;

	if (t->nparts == 0)
		err = ask_topic(f, t);
	if (err == RD_KAFKA_RESP_ERR_NO_ERROR && t->nparts > 0)
		err = ask_offsets(f, t, RD_KAFKA_OFFSET_END,
		    offsetof(struct find_part, end));
	if (err != RD_KAFKA_RESP_ERR_NO_ERROR || t->nparts == 0 || t->begun)
		return err;
	err = choose_starts(f, t);
	t->begun = err == RD_KAFKA_RESP_ERR_NO_ERROR;
	return err;
}

/*
 * Do the ends count that were asked for at this time?  A broker that has just
 * started may know less than the others, so that there is no such topic takes
 * as long.
 */
static bool
is_final(const struct kafka_find *f, const struct find_topic *t,
    int64_t asked_at)
{
	if (f->steady_since == 0 || asked_at < f->steady_since + SETTLE_MS)
		return false;
	if (t->nparts == 0)
		return asked_at >= f->steady_since + LAG_MS;
	if (asked_at >= f->began_at + LAG_MS)
		return true;
	for (size_t i = 0; i < t->nparts; i++)
		if (t->parts[i].replicated &&
		    t->parts[i].passed_at < f->began_at + SETTLE_MS)
			return false;
	return true;
}

/* A connection that is being made is no failure yet; false: give it up. */
static bool
goes_on(rd_kafka_resp_err_t err)
{
	return err == RD_KAFKA_RESP_ERR_NO_ERROR ||
	    err == RD_KAFKA_RESP_ERR__TIMED_OUT ||
	    err == RD_KAFKA_RESP_ERR__TRANSPORT;
}

static void
set_why(struct kafka_find *f, struct find_topic *t, rd_kafka_resp_err_t err)
{
	err_set(&t->why, "topic %.249s: %s%s%s", t->name, rd_kafka_err2str(err),
	    f->trouble.text[0] == '\0' ? "" : ": ", f->trouble.text);
	if (err == RD_KAFKA_RESP_ERR_TOPIC_AUTHORIZATION_FAILED)
		err_set(&t->why, "topic %.249s: the user may not read it: %s",
		    t->name, rd_kafka_err2str(err));
}

static void
ask_all(struct kafka_find *f, int64_t end, const struct pub_go_on *go_on)
{
	rd_kafka_resp_err_t	err;
	int64_t			asked_at;
	bool			final = true;

	for (size_t i = 0; i < f->ntopics; i++) {
		struct find_topic *t = &f->topics[i];

		if (t->failed || t->final)
			continue;
		asked_at = clock_ms();
		if (asked_at >= end || !go_on->ask(go_on->arg))
			return;
		err = ask(f, t);
		serve(f);
		t->why.text[0] = '\0';
		if (err != RD_KAFKA_RESP_ERR_NO_ERROR)
			set_why(f, t, err);
		t->failed = !goes_on(err);
		if (err != RD_KAFKA_RESP_ERR_NO_ERROR ||
		    clock_ms() - asked_at > ASK_MS)
			f->steady_since = 0;
		else if (f->steady_since == 0)
			f->steady_since = clock_ms();
		t->final = err == RD_KAFKA_RESP_ERR_NO_ERROR &&
		    is_final(f, t, asked_at);
		final = final && (t->failed || t->final);
	}
	f->final = final;
}

static void
compare(struct kafka_find *f, const char *prefix, const rd_kafka_message_t *m)
{
	rd_kafka_headers_t	*headers;
	struct message_id	 id;
	struct find_item	*it;
	const void		*text;
	size_t			 n;

	if (rd_kafka_message_headers(m, &headers) !=
	    RD_KAFKA_RESP_ERR_NO_ERROR ||
	    rd_kafka_header_get_last(headers, MESSAGE_ID_OWN_HEADER, &text,
	    &n) != RD_KAFKA_RESP_ERR_NO_ERROR || text == NULL ||
	    !message_id_read(&id, prefix, text))
		return;
	it = find_item(f, id.sequence);
	if (it == NULL || !message_id_is(&it->id, &id))
		return;
	it->there = true;
	it->stored = (struct stored_message){ .what = STORED_OURS, .id = id,
	    .sequence = msg_place(m->partition, m->offset) };
	if (rd_kafka_header_get_last(headers, MESSAGE_TIME_HEADER, &text,
	    &n) == RD_KAFKA_RESP_ERR_NO_ERROR && text != NULL)
		stored_read_time(&it->stored, text, n);
}

static void
take_record(struct kafka_find *f, const char *prefix,
    const rd_kafka_message_t *m)
{
	struct find_topic	*t = rd_kafka_topic_opaque(m->rkt);
	struct find_part	*p = &t->parts[m->partition];

	switch (m->err) {
	case RD_KAFKA_RESP_ERR_NO_ERROR:
		if (p->first_at == INT64_MAX)
			p->first_at = rd_kafka_message_timestamp(m, NULL);
		p->gaps = p->gaps || m->offset > p->next;
		compare(f, prefix, m);
		p->next = m->offset + 1;
		f->nread++;
		break;
	case RD_KAFKA_RESP_ERR__PARTITION_EOF:
		p->gaps = p->gaps || m->offset > p->next;
		p->next = later(p->next, m->offset);
		break;
	default:
		set_why(f, t, m->err);
		t->failed = true;
	}
}

/* The offset that ends what is to be read. */
static int64_t
stop_of(const struct find_part *p)
{
	return sooner(p->end, p->upto);
}

static bool
is_read(const struct find_topic *t)
{
	if (t->why.text[0] != '\0' || (t->nparts > 0 && !t->begun))
		return false;
	for (size_t i = 0; i < t->nparts; i++)
		if (t->parts[i].next < stop_of(&t->parts[i]))
			return false;
	return true;
}

/* Nothing is left but to wait, but for topics that cannot be read. */
static bool
all_is_read(const struct kafka_find *f)
{
	for (size_t i = 0; i < f->ntopics; i++)
		if (!f->topics[i].failed && !is_read(&f->topics[i]))
			return false;
	return true;
}

static bool
is_over(const struct kafka_find *f)
{
	for (size_t i = 0; i < f->ntopics; i++)
		if (!f->topics[i].failed && !(f->topics[i].final &&
		    is_read(&f->topics[i])))
			return false;
	return true;
}

/* Consume what is not read to its end; each partition takes memory. */
static void
start_parts(struct kafka_find *f)
{
	size_t	room = PARTS;

	for (size_t i = 0; i < f->ntopics; i++) {
		struct find_topic *t = &f->topics[i];

		for (size_t k = 0; k < t->nparts && t->begun; k++) {
			struct find_part	*p = &t->parts[k];
			bool			 wants = room > 0 &&
						    p->next < stop_of(p);

			room -= wants;
			if (p->reads && !wants)
				rd_kafka_consume_stop(t->rkt, (int32_t)k);
			else if (!p->reads && wants)
				rd_kafka_consume_start_queue(t->rkt,
				    (int32_t)k, p->next, f->queue);
			p->reads = wants;
		}
	}
}

/* Read up to the ends. */
static void
read_records(struct kafka_find *f, const char *prefix, int64_t until)
{
	rd_kafka_message_t	*list[BATCH];
	ssize_t			 n;

	do {
		start_parts(f);
		n = rd_kafka_consume_batch_queue(f->queue, READ_MS, list,
		    BATCH);
		for (ssize_t i = 0; i < n; i++) {
			take_record(f, prefix, list[i]);
			rd_kafka_message_destroy(list[i]);
		}
	} while (clock_ms() < until && !is_over(f));
}

static void
search(struct kafka_find *f, const char *prefix, int64_t end,
    const struct pub_go_on *go_on)
{
	do {
		if (!f->final)
			ask_all(f, end, go_on);
		read_records(f, prefix, sooner(end, clock_ms() + ROUND_MS));
		serve(f);
	} while (!all_is_read(f) && clock_ms() < end && go_on->ask(go_on->arg));
	/* What is not answered by now begins anew. */
	for (size_t i = 0; i < f->ntopics; i++)
		if (f->topics[i].why.text[0] != '\0')
			f->topics[i].failed = true;
}

/* It was acknowledged, and is not there: has it left the topic since? */
static bool
was_removed(const struct find_topic *t, const struct find_item *it)
{
	size_t			 i = (size_t)msg_place_partition(it->place);
	int64_t			 at = msg_place_offset(it->place);
	const struct find_part	*p = &t->parts[i];

	return it->place != 0 && i < t->nparts &&
	    (at < p->low || (at < p->end && p->gaps));
}

/* Records have left the topic in which it may have been. */
static bool
may_be_removed(const struct find_topic *t, const struct find_item *it)
{
	if (it->place != 0)
		return false;
	if (it->doubt_at > (int64_t)time(NULL) * 1000 - KEPT_MS)
		return false;
	for (size_t i = 0; i < t->nparts; i++)
		if (t->parts[i].cut && t->parts[i].first_at > it->doubt_at)
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
	const struct find_topic	*t = it == NULL ? NULL : &f->topics[it->topic];

	x->found = FOUND_LATER;
	x->again_ms = all_is_read(f) ? AGAIN_MS : 0;
	if (it == NULL || it->id.hash != x->id.hash ||
	    it->id.replay != x->id.replay || it->id.hashed != x->id.hashed ||
	    strcmp(t->name, x->where) != 0 || f->began_at < x->since)
		return;
	x->stored = it->stored;
	if (it->there && it->id.hashed)
		x->found = FOUND_THERE;
	else if (t->failed) {
		x->found = FOUND_UNKNOWN;
		x->why = t->why;
	} else if (!t->final || !is_read(t))
		return;
	else if (it->there)
		x->found = FOUND_THERE;
	else if (was_removed(t, it))
		x->found = FOUND_REMOVED;
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

	if (f->rk == NULL && begin(f, x, n, &e) < 0) {
		for (size_t i = 0; i < n; i++) {
			x[i].found = FOUND_UNKNOWN;
			x[i].why = e;
		}
		return;
	}
	search(f, prefix, end, go_on);
	for (size_t i = 0; i < n; i++)
		tell(f, &x[i]);
	f->asked_at = clock_ms();
	if (f->over_at == 0 && is_over(f))
		f->over_at = f->asked_at;
	if (!is_told(f))
		return;
	if (!f->placed)
		log_info("kafka: searched for %zu messages in doubt among "
		    "%" PRIu64 " records, for %" PRId64 " ms", f->nitems,
		    f->nread, f->asked_at - f->began_at);
	kafka_find_end(f);
}

void
kafka_find_rest(struct kafka_find *f)
{
	if (f->rk != NULL && clock_ms() - f->asked_at > IDLE_MS)
		kafka_find_end(f);
}
