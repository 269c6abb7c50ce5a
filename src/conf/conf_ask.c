/* conf_ask.c - questions about the configuration, see conf.h */
#include "conf/conf_impl.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include <bsd/stdlib.h>
#include <bsd/string.h>

#include "util/buf.h"

bool
conf_has_items(const struct conf_key *k)
{
	return k->type == CONF_LIST || k->type == CONF_MAP ||
	    k->type == CONF_RECORDS;
}

bool
conf_is_empty(const void *base, const struct conf_key *k)
{
	const void	*at = conf_field(base, k);
	const char	*text;

	switch (k->type) {
	case CONF_STRING:
		text = *(char *const *)at;
		return text == NULL || *text == '\0';
	case CONF_LIST:
		return ((const struct conf_list *)at)->n == 0;
	case CONF_MAP:
		return ((const struct conf_map *)at)->n == 0;
	case CONF_RECORDS:
		return ((const struct conf_records *)at)->n == 0;
	case CONF_ENUM:
		return k->inherits && *(const int *)at == CONF_INHERIT;
	default:
		return k->inherits && *(const int64_t *)at == CONF_INHERIT;
	}
}

bool
conf_is_hidden(const void *record, const struct conf_key *field)
{
	return field->hides != NULL && field->hides(record);
}

const char *
conf_id_prefix(const struct conf *c, const char *outbox_id)
{
	if (c->nats.msg_id_prefix[0] != '\0')
		return c->nats.msg_id_prefix;
	return outbox_id[0] != '\0' ? outbox_id : c->mysql.database;
}

const char *
conf_outbox_table(const struct conf *c)
{
	return c->outbox.mode == MODE_INLINE ? c->outbox.tables.messages :
	    c->outbox.tables.outbox;
}

const char *
conf_events_table(const struct conf *c)
{
	return c->outbox.mode == MODE_INLINE ? c->outbox.tables.messages :
	    c->outbox.tables.events;
}

const char *
conf_column(const struct conf *c, const char *ours)
{
	const struct conf_map	*map = &c->outbox.columns;

	for (size_t i = 0; i < map->n; i++)
		if (strcmp(map->items[i].name, ours) == 0)
			return map->items[i].value;
	return ours;
}

/* Of a URL: scheme, host and port. */
static void
put_host(char text[CONF_DESTINATION], const char *url)
{
	const char	*host = strstr(url, "://"), *at;
	size_t		 n;

	host = host == NULL ? url : host + 3;
	n = strcspn(host, "/?#");
	at = memrchr(host, '@', n);
	snprintf(text, CONF_DESTINATION, "%.*s%.*s", (int)(host - url), url,
	    (int)(at == NULL ? n : n - (size_t)(at + 1 - host)),
	    at == NULL ? host : at + 1);
}

static const char *
own_or(const char *own, const char *shared)
{
	return own[0] != '\0' ? own : shared;
}

const char *
conf_route_destination(const struct conf *c, const struct conf_route *r,
    char text[CONF_DESTINATION])
{
	int	driver = r == NULL ? c->publish.driver : r->driver;

	if (driver == DRIVER_HTTP)
		put_host(text, own_or(r == NULL ? "" : r->endpoint,
		    c->http.endpoint));
	else if (driver == DRIVER_STDOUT)
		strlcpy(text, "standard output", CONF_DESTINATION);
	else if (driver == DRIVER_DISCARD)
		strlcpy(text, "nowhere (discard)", CONF_DESTINATION);
	else if (driver == DRIVER_KAFKA)
		snprintf(text, CONF_DESTINATION, "kafka topic %s",
		    own_or(r == NULL ? "" : r->subject, c->kafka.topic));
	else if (c->nats.stream[0] != '\0')
		snprintf(text, CONF_DESTINATION, "nats stream %s",
		    c->nats.stream);
	else
		snprintf(text, CONF_DESTINATION, "nats subject %s",
		    own_or(r == NULL ? "" : r->subject, c->nats.subject));
	return text;
}

const struct conf_route *
conf_route(const struct conf *c, const char *name)
{
	const struct conf_route	*r = c->publish.routes.items;

	for (size_t i = 0; i < c->publish.routes.n; i++)
		if (strcmp(r[i].name, name) == 0)
			return &r[i];
	return NULL;
}

/* "2 routes: hooks, chosen"; what does not fit becomes an ellipsis. */
const char *
conf_destination(const struct conf *c, char text[CONF_DESTINATION])
{
	static const char	 more[] = ", ...";
	const struct conf_route	*r = c->publish.routes.items;
	size_t			 n = c->publish.routes.n, len;
	size_t			 room = CONF_DESTINATION - sizeof(more);

	text[0] = '\0';
	if (c->publish.unmatched == UNMATCHED_DEFAULT)
		conf_route_destination(c, NULL, text);
	if (n == 0)
		return text;
	len = strlen(text);
	snprintf(text + len, CONF_DESTINATION - len, "%s%zu route%s",
	    len > 0 ? ", and " : "", n, n == 1 ? "" : "s");
	for (size_t i = 0; i < n; i++) {
		len = strlen(text);
		if (len + 2 + strlen(r[i].name) > room) {
			strlcat(text, more, CONF_DESTINATION);
			break;
		}
		snprintf(text + len, CONF_DESTINATION - len, "%s%s",
		    i == 0 ? ": " : ", ", r[i].name);
	}
	return text;
}

static void
exchange(char **a, char **b)
{
	char	*was = *a;

	*a = *b;
	*b = was;
}

void
conf_use_operator(struct conf *c)
{
	if (c->mysql.operator.user[0] == '\0')
		return;
	exchange(&c->mysql.user, &c->mysql.operator.user);
	exchange(&c->mysql.password_file, &c->mysql.operator.password_file);
	exchange(&c->mysql.password_env, &c->mysql.operator.password_env);
}

bool
conf_partitions_by_key(const struct conf *c)
{
	return c->outbox.partition_by[0] == '\0' ||
	    strcmp(c->outbox.partition_by, c->outbox.mode == MODE_INLINE ?
	    "order_key" : "stream_id") == 0;
}

void
conf_counts(const struct conf *c, struct counts *k)
{
	const struct conf_list	*former = &c->outbox.former_counts;

	*k = (struct counts){ .count = (unsigned)c->outbox.partition_count };
	while (k->nformer < former->n && k->nformer < COUNTS_MAX) {
		k->former[k->nformer] = (unsigned)strtonum(
		    former->items[k->nformer], 1, CONF_MAX_PARTITIONS, NULL);
		k->nformer++;
	}
}

bool
conf_uses_driver(const struct conf *c, enum conf_driver driver)
{
	const struct conf_route	*r = c->publish.routes.items;

	for (size_t i = 0; i < c->publish.routes.n; i++)
		if (r[i].driver == (int)driver)
			return true;
	return c->publish.driver == (int)driver;
}

bool
conf_goes_elsewhere(const struct conf *c)
{
	for (int i = 0; i < CONF_DRIVERS; i++)
		if (i != DRIVER_NATS &&
		    conf_uses_driver(c, (enum conf_driver)i))
			return true;
	return false;
}

bool
conf_uses_nats(const struct conf *c)
{
	return conf_uses_driver(c, DRIVER_NATS);
}

bool
conf_uses_http(const struct conf *c)
{
	return conf_uses_driver(c, DRIVER_HTTP);
}

bool
conf_uses_kafka(const struct conf *c)
{
	return conf_uses_driver(c, DRIVER_KAFKA);
}

bool
conf_goes_to_stream(const struct conf *c)
{
	return c->publish.driver == DRIVER_NATS && !c->nats.core;
}

const char *
conf_stream(const struct conf *c)
{
	return conf_uses_nats(c) && !c->nats.core ? c->nats.stream : "";
}

void
conf_put_list(struct buf *b, const struct conf_list *l, const char *between)
{
	for (size_t i = 0; i < l->n; i++)
		buf_printf(b, "%s%s", i == 0 ? "" : between, l->items[i]);
}

const char *
conf_api(const struct conf *c, const char *request, const char *stream,
    char subject[CONF_API])
{
	const char	*domain = c->nats.domain, *prefix = c->nats.api_prefix;

	if (prefix[0] != '\0')
		snprintf(subject, CONF_API, "%s.%s%s", prefix, request, stream);
	else
		snprintf(subject, CONF_API, "$JS%s%s.API.%s%s",
		    domain[0] == '\0' ? "" : ".", domain, request, stream);
	return subject;
}

bool
conf_is_loopback(const char *host)
{
	struct in_addr	in;
	struct in6_addr	in6;

	if (inet_pton(AF_INET, host, &in) == 1)
		return ntohl(in.s_addr) >> 24 == 127;
	if (inet_pton(AF_INET6, host, &in6) == 1)
		return IN6_IS_ADDR_LOOPBACK(&in6) ||
		    (IN6_IS_ADDR_V4MAPPED(&in6) && in6.s6_addr[12] == 127);
	return strcasecmp(host, "localhost") == 0;
}

bool
conf_wants_reconcile(const struct conf *c)
{
	if (c->outbox.mode == MODE_INLINE)
		return false;	/* the message is the row */
	if (c->reconcile.at_start == AT_START_AUTO)
		return c->publish.types.n > 0;
	return c->reconcile.at_start == AT_START_ON;
}

bool
conf_wants_retention(const struct conf *c)
{
	return c->retention.days > 0 || c->retention.dead_days > 0;
}

/* "X-Routing-Key": a key that is no secret has one of these before it. */
static bool
is_plain_key(const char *name, const char *key)
{
	static const char *const	kinds[] = { "cache", "idempotency",
		"message", "order", "partition", "public", "routing", "shard",
		"sort", "surrogate" };
	size_t	n = (size_t)(key - name), len;

	if (n > 0 && strchr("-_", name[n - 1]) != NULL)
		n--;
	for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++) {
		len = strlen(kinds[i]);
		if (n >= len &&
		    strncasecmp(name + n - len, kinds[i], len) == 0)
			return true;
	}
	return false;
}

bool
conf_header_is_secret(const struct conf_header *h)
{
	static const char *const	words[] = { "auth", "cookie",
		"credential", "jwt", "passw", "pwd", "secret", "session",
		"signature", "token" };

	for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++)
		if (strcasestr(h->name, words[i]) != NULL)
			return true;
	for (const char *p = h->name; (p = strcasestr(p, "key")) != NULL; p++)
		if (!is_plain_key(h->name, p))
			return true;
	return h->file[0] != '\0' || strncasecmp(h->value, "Bearer ", 7) == 0 ||
	    strncasecmp(h->value, "Basic ", 6) == 0;
}

void
conf_url_host(const char *url, char host[CONF_HOST])
{
	const char	*p = strstr(url, "://");
	size_t		 n;

	p = p == NULL ? url : p + 3;
	n = *p == '[' ? strcspn(++p, "]") : strcspn(p, ":/?#");
	if (n >= CONF_HOST)
		n = CONF_HOST - 1;
	memcpy(host, p, n);
	host[n] = '\0';
}

enum conf_tls
conf_nats_tls(const struct conf *c, const char *server)
{
	char	host[CONF_HOST];

	if (c->nats.tls.mode != TLS_AUTO)
		return (enum conf_tls)c->nats.tls.mode;
	conf_url_host(server, host);
	if (strncmp(server, "tls://", 6) == 0 || c->nats.tls.first ||
	    c->nats.tls.ca[0] != '\0' || c->nats.tls.cert[0] != '\0' ||
	    !conf_is_loopback(host))
		return TLS_VERIFY;
	return TLS_DISABLE;
}

enum conf_tls
conf_kafka_tls(const struct conf *c)
{
	char	host[CONF_HOST];

	if (c->kafka.tls.mode != TLS_AUTO)
		return (enum conf_tls)c->kafka.tls.mode;
	if (c->kafka.tls.ca[0] != '\0' || c->kafka.tls.cert[0] != '\0')
		return TLS_VERIFY;
	for (size_t i = 0; i < c->kafka.brokers.n; i++) {
		conf_url_host(c->kafka.brokers.items[i], host);
		if (!conf_is_loopback(host))
			return TLS_VERIFY;
	}
	return TLS_DISABLE;
}
