/*
 * kafka_watch.c - may a topic have lost acknowledged records just now?
 *
 * Within the term of a leader a log only grows.  So what tells of a loss is
 * another leader, a broker that broke off (it may be back with an older disk),
 * an end that went back, or no answer.
 *
 * The client is a consumer: as a producer, to ask about a topic could make it.
 */

#include "kafka/kafka_impl.h"

#include <stdlib.h>
#include <string.h>

#include "util/xalloc.h"

#define ASK_MS	1000
#define NOBODY	(-1)	/* as a leader: there is none */

struct watched_part {
	int32_t		leader;
	int64_t		end;
};

struct watched_topic {
	rd_kafka_topic_t	*rkt;
	struct watched_part	*parts;
	size_t			 nparts;
};

struct kafka_watch {
	const struct conf	*conf;
	const char		*name;
	rd_kafka_t		*rk;		/* NULL: not yet */
	rd_kafka_queue_t	*main;		/* for errors */
	struct watched_topic	*topics;
	size_t			 n;
	uint64_t		 setbacks;
	struct log_throttle	 log;
};

struct kafka_watch *
kafka_watch_new(const struct conf *c, const char *name)
{
	struct kafka_watch	*w = xcalloc(1, sizeof(*w));

	w->conf = c;
	w->name = name;
	return w;
}

void
kafka_watch_free(struct kafka_watch *w)
{
	for (size_t i = 0; i < w->n; i++) {
		rd_kafka_topic_destroy(w->topics[i].rkt);
		free(w->topics[i].parts);
	}
	free(w->topics);
	if (w->rk != NULL) {
		rd_kafka_queue_destroy(w->main);
		kafka_client_free(w->rk);
	}
	free(w);
}

static int
make_client(struct kafka_watch *w, struct err *e)
{
	rd_kafka_conf_t	*rc = kafka_client_conf(w->conf, w->name, e);

	if (rc == NULL)
		return -1;
	if (kafka_client_set(rc, "allow.auto.create.topics", "false", e) < 0) {
		rd_kafka_conf_destroy(rc);
		return -1;
	}
	rd_kafka_conf_set_events(rc, RD_KAFKA_EVENT_ERROR | RD_KAFKA_EVENT_LOG);
	if ((w->rk = kafka_client_new(RD_KAFKA_CONSUMER, rc, e)) == NULL)
		return -1;
	w->main = rd_kafka_queue_get_main(w->rk);
	return 0;
}

int
kafka_watch_topic(struct kafka_watch *w, const char *topic, struct err *e)
{
	rd_kafka_topic_t	*rkt;

	for (size_t i = 0; i < w->n; i++)
		if (strcmp(rd_kafka_topic_name(w->topics[i].rkt), topic) == 0)
			return 0;
	if (w->rk == NULL && make_client(w, e) < 0)
		return -1;
	if ((rkt = rd_kafka_topic_new(w->rk, topic, NULL)) == NULL)
		return 0;	/* of no legal name: it has nothing */
	w->topics = xreallocarray(w->topics, w->n + 1, sizeof(*w->topics));
	w->topics[w->n++] = (struct watched_topic){ .rkt = rkt };
	return 0;
}

/* A broker that breaks off is told as an error. */
static void
serve(struct kafka_watch *w, struct err *e)
{
	rd_kafka_event_t	*event;

	while ((event = rd_kafka_queue_poll(w->main, 0)) != NULL) {
		if (rd_kafka_event_type(event) == RD_KAFKA_EVENT_LOG)
			kafka_client_log(event, &w->log);
		else if (rd_kafka_event_type(event) == RD_KAFKA_EVENT_ERROR) {
			err_set(e, "%s", rd_kafka_event_error_string(event));
			w->setbacks++;
		}
		rd_kafka_event_destroy(event);
	}
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
		t->parts = xreallocarray(t->parts, n, sizeof(*t->parts));
		for (size_t i = t->nparts; i < n; i++)
			t->parts[i] = (struct watched_part){ NOBODY, 0 };
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
		    ASK_MS);
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
	rd_kafka_topic_partition_list_t	*list;
	rd_kafka_resp_err_t		 err = RD_KAFKA_RESP_ERR_NO_ERROR;
	int				 n = 0;

	list = rd_kafka_topic_partition_list_new(8);
	for (size_t i = 0; i < w->n; i++)
		for (size_t k = 0; k < w->topics[i].nparts; k++)
			rd_kafka_topic_partition_list_add(list,
			    rd_kafka_topic_name(w->topics[i].rkt),
			    (int32_t)k)->offset = RD_KAFKA_OFFSET_END;
	if (list->cnt > 0)
		err = rd_kafka_offsets_for_times(w->rk, list, ASK_MS);
	for (size_t i = 0; i < w->n; i++)
		for (size_t k = 0; err == RD_KAFKA_RESP_ERR_NO_ERROR &&
		    k < w->topics[i].nparts; k++, n++) {
			struct watched_part	*p = &w->topics[i].parts[k];

			err = list->elems[n].err;
			w->setbacks += list->elems[n].offset < p->end;
			p->end = list->elems[n].offset;
		}
	rd_kafka_topic_partition_list_destroy(list);
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
	if (w->rk != NULL)
		serve(w, e);
	w->setbacks += err != RD_KAFKA_RESP_ERR_NO_ERROR;
	*setbacks = w->setbacks;
	return err == RD_KAFKA_RESP_ERR_NO_ERROR;
}
