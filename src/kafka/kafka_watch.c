/*
 * kafka_watch.c - may a topic have lost acknowledged records just now?
 *
 * Within the term of a leader a log only grows.  So what tells of a loss is
 * another leader, a broker that broke off (it may be back with an older disk),
 * an end that went back, or no answer.
 */

#include "kafka/kafka_impl.h"

#include <stdlib.h>
#include <string.h>

#include "util/log.h"
#include "util/xalloc.h"

#define NOBODY	(-1)	/* as a leader: there is none */

struct watched_part {
	int32_t		leader;
	int64_t		end, before;
};

struct watched_topic {
	rd_kafka_topic_t	*rkt;
	struct watched_part	*parts;
	size_t			 nparts;
};

void
kafka_watch_end(struct kafka_watch *w)
{
	for (size_t i = 0; i < w->n; i++) {
		rd_kafka_topic_destroy(w->topics[i].rkt);
		free(w->topics[i].parts);
	}
	free(w->topics);
	kafka_client_free(w->rk);
}

int
kafka_watch_topic(struct kafka_watch *w, const char *topic, struct err *e)
{
	rd_kafka_topic_t	*rkt;

	for (size_t i = 0; i < w->n; i++)
		if (strcmp(rd_kafka_topic_name(w->topics[i].rkt), topic) == 0)
			return 0;
	if (w->rk == NULL &&
	    (w->rk = kafka_client_consumer(w->conf, w->name, e)) == NULL)
		return -1;
	if ((rkt = rd_kafka_topic_new(w->rk, topic, NULL)) == NULL)
		return 0;	/* of no legal name: it has nothing */
	w->topics = xreallocarray(w->topics, w->n + 1, sizeof(*w->topics));
	w->topics[w->n++] = (struct watched_topic){ .rkt = rkt };
	return 0;
}

/* Its messages in doubt are searched for in all of them. */
static void
tell_growth(const struct watched_topic *t, size_t n)
{
	if (t->nparts > 0)
		log_warn("topic %s has %zu partitions now, %zu before: keys go "
		    "to others than before, so a message may be read before "
		    "an earlier one of its key",
		    rd_kafka_topic_name(t->rkt), n, t->nparts);
}

/* The leaders of this topic, and how many partitions it has: 0 if it is gone. */
static void
note_leaders(struct kafka_watch *w, struct watched_topic *t,
    const struct rd_kafka_metadata_topic *mt)
{
	size_t	n = mt->err == RD_KAFKA_RESP_ERR_NO_ERROR ?
		    (size_t)mt->partition_cnt : 0;

	w->setbacks += n < t->nparts;
	if (n > t->nparts) {
		tell_growth(t, n);
		t->parts = xreallocarray(t->parts, n, sizeof(*t->parts));
		for (size_t i = t->nparts; i < n; i++)
			t->parts[i] = (struct watched_part){ NOBODY, 0, 0 };
	}
	for (size_t i = 0; i < n; i++) {
		size_t	id = (size_t)mt->partitions[i].id;

		if (id >= n || t->parts[id].leader == mt->partitions[i].leader)
			continue;
		w->setbacks += id < t->nparts;
		t->parts[id].leader = mt->partitions[i].leader;
	}
	t->nparts = n;
}

static rd_kafka_resp_err_t
ask_leaders(struct kafka_watch *w)
{
	const struct rd_kafka_metadata	*md;
	rd_kafka_resp_err_t		 err;

	for (size_t i = 0; i < w->n; i++) {
		err = rd_kafka_metadata(w->rk, 0, w->topics[i].rkt, &md,
		    KAFKA_ASK_MS);
		if (err != RD_KAFKA_RESP_ERR_NO_ERROR)
			return err;
		note_leaders(w, &w->topics[i], &md->topics[0]);
		rd_kafka_metadata_destroy(md);
	}
	return RD_KAFKA_RESP_ERR_NO_ERROR;
}

/* Where do all logs end? */
static rd_kafka_resp_err_t
ask_ends(struct kafka_watch *w)
{
	rd_kafka_resp_err_t	err = RD_KAFKA_RESP_ERR_NO_ERROR;

	for (size_t i = 0; i < w->n && err == RD_KAFKA_RESP_ERR_NO_ERROR; i++) {
		struct watched_topic	*t = &w->topics[i];

		err = kafka_client_offsets(w->rk, rd_kafka_topic_name(t->rkt),
		    RD_KAFKA_OFFSET_END, &t->parts->end, sizeof(*t->parts),
		    t->nparts);
		for (size_t k = 0; err == RD_KAFKA_RESP_ERR_NO_ERROR &&
		    k < t->nparts; k++) {
			w->setbacks += t->parts[k].end < t->parts[k].before;
			t->parts[k].before = t->parts[k].end;
		}
	}
	return err;
}

bool
kafka_watch_look(struct kafka_watch *w, uint64_t *setbacks, struct err *e)
{
	rd_kafka_resp_err_t	err = RD_KAFKA_RESP_ERR_NO_ERROR;

	if (w->rk != NULL)
		err = ask_leaders(w);
	if (w->rk != NULL && err == RD_KAFKA_RESP_ERR_NO_ERROR)
		err = ask_ends(w);
	err_set(e, "%s", rd_kafka_err2str(err));
	/* A broker that breaks off is told as an error. */
	if (w->rk != NULL)
		w->setbacks += kafka_client_serve(w->rk, &w->log, e);
	w->setbacks += err != RD_KAFKA_RESP_ERR_NO_ERROR;
	*setbacks = w->setbacks;
	return err == RD_KAFKA_RESP_ERR_NO_ERROR;
}
