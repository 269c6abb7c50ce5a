/*
 * topics.c - topics of Kafka, as the brokers and the daemon see them
 *
 * Which topics there are only the rows tell, where their names have the type of
 * an event: a sample of those that wait, and the latest events.
 */

#include "ctl/state/state_impl.h"

#include <stdlib.h>
#include <string.h>

#include "driver/route.h"
#include "drivers/traits/traits.h"
#include "kafka/kafka_topic.h"
#include "mysql/db.h"
#include "util/xalloc.h"

#define SAMPLE	200	/* rows of each kind */
#define TOPICS	20	/* that are asked for */

/* Facts */

static void
put_finding(json_t *list, const char *level, const struct err *e)
{
	json_array_append_new(list, json_pack("{s:s, s:s}", "level", level,
	    "text", e->text));
}

static json_t *
limit_json(const struct kafka_topic *t, int64_t n)
{
	return t->described && n >= 0 ? json_integer(n) : json_null();
}

static json_t *
topic_json(const struct conf *c, const struct kafka_topic *t)
{
	json_t			*o = json_pack("{s:s, s:b}", "topic", t->name,
				    "exists", t->exists);
	json_t			*list = json_array();
	struct stream_report	 r;

	if (t->exists) {
		member_set(o, "partitions", t->partitions);
		member_set(o, "replicas", t->replicas);
		member_set(o, "without_leader", t->leaderless);
		member_set(o, "not_in_sync", t->behind);
		json_object_set_new(o, "min_insync_replicas",
		    limit_json(t, t->min_insync));
		json_object_set_new(o, "retention_ms",
		    limit_json(t, t->retention_ms));
		json_object_set_new(o, "retention_bytes",
		    limit_json(t, t->retention_bytes));
		json_object_set_new(o, "max_message_bytes",
		    limit_json(t, t->max_message_bytes));
	}
	kafka_topic_judge(c, t, &r);
	if (r.unfit)
		put_finding(list, "fail", &r.why);
	for (size_t i = 0; i < r.warnings.n; i++)
		put_finding(list, "warn", &r.warnings.list[i]);
	for (size_t i = 0; i < r.advice.n; i++)
		put_finding(list, "advice", &r.advice.list[i]);
	json_object_set_new(o, "findings", list);
	return o;
}

json_t *
state_topics(const struct conf *c, char *const *names, size_t n,
    struct err *e)
{
	struct kafka_asker	*a = kafka_asker_new(c, e);
	struct kafka_topic	*topics;
	json_t			*list = NULL;

	if (a == NULL)
		return NULL;
	topics = xcalloc(n + 1, sizeof(*topics));
	for (size_t i = 0; i < n; i++)
		topics[i].name = names[i];
	if (kafka_topics_ask(a, topics, n, e) == 0)
		list = json_array();
	for (size_t i = 0; i < n && list != NULL; i++)
		json_array_append_new(list, topic_json(c, &topics[i]));
	free(topics);
	kafka_asker_free(a);
	return list;
}

/* Names */

struct names {
	struct envelope_form	 form;		/* of what no route takes */
	struct route_set	 routes;
	bool			 has_rest;	/* that is sent */
	struct envelope		 env;
	char			*items[TOPICS];
	size_t			 n;
};

static struct names *
names_new(const struct conf *c)
{
	struct names	*x = xcalloc(1, sizeof(*x));

	x->form = envelope_form_of(c, "x");
	x->has_rest = c->publish.unmatched == UNMATCHED_DEFAULT;
	route_set_init(&x->routes, c, &x->form);
	return x;
}

static void
names_free(struct names *x)
{
	while (x->n > 0)
		free(x->items[--x->n]);
	envelope_free(&x->env);
	free(x);
}

/* The topic of a message by this form, if it is one, and its name is known. */
static void
add_name(struct names *x, const struct envelope_form *f, const struct msg *m)
{
	const struct driver_traits	*to = traits[f->driver];
	const char			*name;
	struct err			 e;

	if (!to->has_topics || x->n == TOPICS ||
	    strstr(f->subject, "{stream_id}") != NULL ||
	    strstr(f->subject, "{partition}") != NULL)
		return;
	name = envelope_subject_of(&x->env, f, m);
	if (to->check(name, strlen(name), &e) < 0)
		return;
	for (size_t i = 0; i < x->n; i++)
		if (strcmp(x->items[i], name) == 0)
			return;
	x->items[x->n++] = xstrdup(name);
}

static void
add_type(struct names *x, struct bytes type)
{
	struct msg		 m = { .type = type };
	const struct route	*r = route_of(&x->routes, &m);

	if (r->rule != NULL)
		add_name(x, &r->form, &m);
	else if (x->has_rest)
		add_name(x, &x->form, &m);
}

/* Names without a placeholder need no message. */
static void
add_fixed(struct names *x)
{
	static const struct msg	none;

	for (size_t i = 0; i <= x->routes.n; i++) {
		const struct envelope_form *f = i < x->routes.n ?
		    &x->routes.routes[i].form : &x->form;

		if ((i < x->routes.n || x->has_rest) &&
		    strchr(f->subject, '{') == NULL)
			add_name(x, f, &none);
	}
}

static int
add_types(struct ctl *c, struct names *x, struct err *e)
{
	struct db_rows	*rows;

	store_sql(c->store, "SELECT DISTINCT t.type FROM (:waiting"
	    "(SELECT {e.event_type} AS type FROM {events} AS e "
	    "{events_primary} ORDER BY {e.sequence} DESC LIMIT :max)) AS t "
	    "ORDER BY t.type", SQL_IF("waiting",
	    store_index(c->store) == INDEX_BY_TIME,
	    "(SELECT {e.event_type} AS type FROM (SELECT {global_sequence} AS "
	    "waiting FROM {outbox} {index} WHERE {published_at} IS NULL "
	    "LIMIT :max) AS w JOIN {events} AS e ON {e.sequence} = w.waiting) "
	    "UNION ALL "), SQL_NUMBER("max", SAMPLE));
	if ((rows = store_query(c->store, "topics", e)) == NULL)
		return -1;
	while (db_next(rows))
		if (db_nullable(rows, 0) != NULL)
			add_type(x, (struct bytes){ db_text(rows, 0),
			    db_length(rows, 0) });
	db_rows_free(rows);
	return 0;
}

int
state_put_topics(struct ctl *c, json_t *state, bool tables, struct err *e)
{
	struct names	*x;
	json_t		*list = NULL;
	int		 rc;

	if (!conf_uses_kafka(c->conf))
		return 0;
	x = names_new(c->conf);
	add_fixed(x);
	rc = tables ? add_types(c, x, e) : 0;
	if (rc == 0 && x->n > 0)
		list = state_topics(c->conf, x->items, x->n, e);
	json_object_set_new(state, "topics", list == NULL ? json_array() :
	    list);
	names_free(x);
	return rc;
}

char *
state_topic_of(const struct conf *c, const char *type)
{
	struct names	*x = names_new(c);
	char		*name;

	add_type(x, (struct bytes){ type, strlen(type) });
	name = x->n == 0 ? NULL : xstrdup(x->items[0]);
	names_free(x);
	return name;
}
