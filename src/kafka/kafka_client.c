/*
 * kafka_client.c - a client of librdkafka: its properties, its log, its end
 */

#include "kafka/kafka_impl.h"

#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "util/buf.h"
#include "util/clock.h"
#include "util/secret.h"

#define END_MS	500	/* longest wait for the threads of a client */

static int
set(rd_kafka_conf_t *rc, const char *name, const char *value,
    struct err *e)
{
	char	why[200];

	return rd_kafka_conf_set(rc, name, value, why, sizeof(why)) ==
	    RD_KAFKA_CONF_OK ? 0 : err_set(e, "%s: %s", name, why);
}

static int
set_brokers(rd_kafka_conf_t *rc, const struct conf_list *brokers,
    struct err *e)
{
	struct buf	b = { 0 };
	int		rc_set;

	for (size_t i = 0; i < brokers->n; i++)
		buf_printf(&b, "%s%s", i == 0 ? "" : ",", brokers->items[i]);
	rc_set = set(rc, "bootstrap.servers", b.data, e);
	buf_free(&b);
	return rc_set;
}

/* The library's error would show the secret. */
static int
set_secret(rd_kafka_conf_t *rc, const char *name, const char *file,
    const char *env, struct err *e)
{
	char			*secret = secret_read(file, env, e);
	rd_kafka_conf_res_t	 res;

	if (secret == NULL)
		return err_in(e, "%s", name);
	res = rd_kafka_conf_set(rc, name, secret, NULL, 0);
	secret_free(secret);
	if (res == RD_KAFKA_CONF_OK)
		return 0;
	return err_set(e, "%s: %s", name, res == RD_KAFKA_CONF_UNKNOWN ?
	    "librdkafka has no such property" : "its value is refused");
}

/* Those of kafka.client, or of kafka.client_files. */
static int
set_own(rd_kafka_conf_t *rc, const struct conf *c, const char *key,
    const struct conf_map *own, bool files, struct err *e)
{
	for (size_t i = 0; i < own->n; i++) {
		const struct conf_pair *p = &own->items[i];

		if ((files ? set_secret(rc, p->name, p->value, "", e) :
		    set(rc, p->name, p->value, e)) < 0)
			return err_in(e, "%s: line %u: %s", c->path, p->line,
			    key);
	}
	return 0;
}

static int
set_security(rd_kafka_conf_t *rc, const struct conf *c, struct err *e)
{
	static const char *const	protocols[2][2] = {
		{ "plaintext", "ssl" }, { "sasl_plaintext", "sasl_ssl" }
	};
	enum conf_tls	mode = conf_kafka_tls(c);
	bool		sasl = c->kafka.sasl.mechanism[0] != '\0';
	const struct {
		const char	*name, *value;
	} files[] = {
		{ "ssl.ca.location", c->kafka.tls.ca },
		{ "ssl.certificate.location", c->kafka.tls.cert },
		{ "ssl.key.location", c->kafka.tls.key },
		{ "sasl.mechanism", c->kafka.sasl.mechanism },
		{ "sasl.username", c->kafka.sasl.user },
	};

	if (set(rc, "security.protocol",
	    protocols[sasl][mode != TLS_DISABLE], e) < 0 ||
	    set(rc, "enable.ssl.certificate.verification",
	    mode == TLS_REQUIRE ? "false" : "true", e) < 0 ||
	    set(rc, "ssl.endpoint.identification.algorithm",
	    mode == TLS_REQUIRE ? "none" : "https", e) < 0)
		return -1;
	for (size_t i = 0; i < sizeof(files) / sizeof(files[0]); i++)
		if (files[i].value[0] != '\0' && set(rc,
		    files[i].name, files[i].value, e) < 0)
			return -1;
	if (c->kafka.tls.key[0] != '\0' &&
	    secret_check_file(c->kafka.tls.key, e) < 0)
		return -1;
	return !sasl ? 0 : set_secret(rc, "sasl.password",
	    c->kafka.sasl.password_file, c->kafka.sasl.password_env, e);
}

static int
set_all(rd_kafka_conf_t *rc, const char *const (*list)[2], size_t n,
    struct err *e)
{
	for (size_t i = 0; i < n; i++)
		if (set(rc, list[i][0], list[i][1], e) < 0)
			return -1;
	return 0;
}

rd_kafka_conf_t *
kafka_client_conf(const struct conf *c, const char *name,
    const char *const (*ours)[2], size_t n, struct err *e)
{
	/* kafka.client may have others. */
	static const char *const	defaults[][2] = {
		{ "socket.nagle.disable", "true" },
		{ "socket.connection.setup.timeout.ms", "3000" },
		{ "reconnect.backoff.max.ms", "1000" },
		{ "linger.ms", "1" },
		/* A topic that is refused is not asked for before that. */
		{ "topic.metadata.refresh.interval.ms", "10000" },
	};
	rd_kafka_conf_t		*rc = rd_kafka_conf_new();

	if (set(rc, "client.id", name, e) == 0 &&
	    set_all(rc, defaults, sizeof(defaults) / sizeof(defaults[0]), e) ==
	    0 && set_own(rc, c, "kafka.client", &c->kafka.client, false, e) ==
	    0 && set_own(rc, c, "kafka.client_files", &c->kafka.client_files,
	    true, e) == 0 && set_brokers(rc, &c->kafka.brokers, e) == 0 &&
	    set_security(rc, c, e) == 0 &&
	    set(rc, "log.queue", "true", e) == 0 &&
	    set_all(rc, ours, n, e) == 0) {
		rd_kafka_conf_set_events(rc, RD_KAFKA_EVENT_DR |
		    RD_KAFKA_EVENT_ERROR | RD_KAFKA_EVENT_LOG);
		return rc;
	}
	rd_kafka_conf_destroy(rc);
	return NULL;
}

rd_kafka_t *
kafka_client_new(rd_kafka_type_t type, rd_kafka_conf_t *rc, struct err *e)
{
	char		 why[200];
	rd_kafka_t	*rk = rd_kafka_new(type, rc, why, sizeof(why));

	if (rk == NULL) {
		rd_kafka_conf_destroy(rc);
		err_set(e, "%s", why);
		return NULL;
	}
	rd_kafka_set_log_queue(rk, NULL);
	return rk;
}

void
kafka_client_log(rd_kafka_event_t *event, struct log_throttle *t)
{
	const char	*facility, *text;
	char		 line[400];
	int		 level;

	if (rd_kafka_event_log(event, &facility, &text, &level) < 0)
		return;
	snprintf(line, sizeof(line), "kafka: %s: %s", facility, text);
	/* CONFWARN: a property is not of this type of client. */
	if (level <= 4 && strcmp(facility, "CONFWARN") != 0)	/* warning */
		log_throttle_keyed(t, facility, line, clock_ms());
	else
		log_debug("%s", line);
}

void
kafka_client_trouble(rd_kafka_event_t *event, struct err *e)
{
	/* Why they are down has been told before. */
	if (e->text[0] == '\0' || rd_kafka_event_error(event) !=
	    RD_KAFKA_RESP_ERR__ALL_BROKERS_DOWN)
		err_set(e, "%s", rd_kafka_event_error_string(event));
}

rd_kafka_t *
kafka_client_consumer(const struct conf *c, const char *name, struct err *e)
{
	static const char *const	ours[][2] = {
		{ "isolation.level", "read_uncommitted" },
		{ "enable.partition.eof", "true" },
		{ "auto.offset.reset", "error" },
		{ "enable.auto.commit", "false" },
		{ "allow.auto.create.topics", "false" },
		{ "fetch.wait.max.ms", "50" },
		{ "queued.max.messages.kbytes", "16384" },	/* of each */
	};
	rd_kafka_conf_t			*rc;

	rc = kafka_client_conf(c, name, ours, sizeof(ours) / sizeof(ours[0]),
	    e);
	return rc == NULL ? NULL : kafka_client_new(RD_KAFKA_CONSUMER, rc, e);
}

unsigned
kafka_client_serve(rd_kafka_t *rk, struct log_throttle *log, struct err *e)
{
	rd_kafka_queue_t	*queue = rd_kafka_queue_get_main(rk);
	rd_kafka_event_t	*event;
	unsigned		 n = 0;

	while ((event = rd_kafka_queue_poll(queue, 0)) != NULL) {
		if (rd_kafka_event_type(event) == RD_KAFKA_EVENT_LOG)
			kafka_client_log(event, log);
		else if (rd_kafka_event_type(event) == RD_KAFKA_EVENT_ERROR) {
			kafka_client_trouble(event, e);
			n++;
		}
		rd_kafka_event_destroy(event);
	}
	rd_kafka_queue_destroy(queue);
	return n;
}

rd_kafka_resp_err_t
kafka_client_offsets(rd_kafka_t *rk, const char *topic, int64_t time,
    int64_t *first, size_t stride, size_t n)
{
	rd_kafka_topic_partition_list_t	*list;
	rd_kafka_resp_err_t		 err;

	list = rd_kafka_topic_partition_list_new((int)n);
	for (size_t i = 0; i < n; i++)
		rd_kafka_topic_partition_list_add(list, topic,
		    (int32_t)i)->offset = time;
	err = n == 0 ? RD_KAFKA_RESP_ERR_NO_ERROR :
	    rd_kafka_offsets_for_times(rk, list, KAFKA_ASK_MS);
	for (size_t i = 0; i < n && err == RD_KAFKA_RESP_ERR_NO_ERROR; i++) {
		const rd_kafka_topic_partition_t *x = &list->elems[i];

		err = x->err;
		*(int64_t *)((char *)first + (size_t)x->partition * stride) =
		    x->offset;
	}
	rd_kafka_topic_partition_list_destroy(list);
	return err;
}

static void *
destroy(void *rk)
{
	rd_kafka_destroy(rk);
	return NULL;
}

void
kafka_client_free(rd_kafka_t *rk)
{
	struct timespec	until;
	pthread_t	thread;

	if (rk == NULL)
		return;
	if (pthread_create(&thread, NULL, destroy, rk) != 0) {
		rd_kafka_destroy(rk);
		return;
	}
	clock_gettime(CLOCK_REALTIME, &until);
	until.tv_nsec += END_MS * 1000000L;
	until.tv_sec += until.tv_nsec / 1000000000L;
	until.tv_nsec %= 1000000000L;
	if (pthread_timedjoin_np(thread, NULL, &until) != 0)
		pthread_detach(thread);
}
