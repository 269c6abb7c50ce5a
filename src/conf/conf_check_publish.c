/*
 * conf_check_publish.c - relations between the keys of destinations and columns
 *
 * See conf_check.c.  An error of an item names the item's line.
 */
#include "conf/conf_impl.h"

#include <inttypes.h>
#include <string.h>
#include <strings.h>

#include "util/buf.h"
#include "util/type_words.h"

/*
 * Two names may mean one column that is only read.  One that the daemon writes
 * has no other use: that would read what was written.
 */
static int
check_columns(const struct conf_draft *d, struct err *e)
{
	const struct conf_pair	*p = d->conf->outbox.columns.items;
	bool		inlined = d->conf->outbox.mode == MODE_INLINE;
	unsigned	used = inlined ? CONF_IN_MESSAGES :
			    CONF_IN_OUTBOX | CONF_IN_EVENTS;

	for (size_t i = 0; i < d->conf->outbox.columns.n; i++, p++) {
		const struct conf_column *a = conf_columns, *b = conf_columns;

		while (a->name != NULL && strcmp(a->name, p->name) != 0)
			a++;
		if ((a->tables & used) == 0)
			return conf_fail(d, p->line, "outbox.columns", e,
			    "%s is not a column of outbox.mode: %s", p->name,
			    inlined ? "inline" : "pointer");
		for (; b->name != NULL; b++)
			if (a != b && (a->tables & b->tables) != 0 &&
			    (a->written || b->written) &&
			    (b->tables & used) != 0 && strcasecmp(p->value,
			    conf_column(d->conf, b->name)) == 0)
				return conf_fail(d, p->line, "outbox.columns",
				    e, "%s: %s is also the column of %s, and "
				    "the daemon writes it: each needs its own",
				    p->name, p->value, b->name);
	}
	return 0;
}

const char *
conf_http_secrets(const struct conf *c)
{
	const struct conf_header	*h = c->http.headers.items;
	bool	token = c->http.token_file[0] != '\0' ||
		    c->http.token_env[0] != '\0', header = false;

	for (size_t i = 0; i < c->http.headers.n; i++)
		header = header || conf_header_is_secret(&h[i]);
	return token && header ? "the token and secret headers" :
	    token ? "the token" : header ? "secret headers" : NULL;
}

/* Secrets go where others on the network can read them only if that is meant. */
static int
check_endpoint(const struct conf *c, const char *endpoint, struct err *e)
{
	const struct conf_list	*allowed = &c->http.allow_clear;
	const char		*secrets = conf_http_secrets(c);
	char			 host[CONF_HOST], proxy[CONF_HOST];

	conf_url_host(endpoint, host);
	conf_url_host(c->http.proxy, proxy);
	if (secrets == NULL || strncmp(endpoint, "http:", 5) != 0 ||
	    (conf_is_loopback(host) &&
	    (proxy[0] == '\0' || conf_is_loopback(proxy))))
		return 0;
	for (size_t i = 0; i < allowed->n; i++)
		if (strcasecmp(allowed->items[i], host) == 0)
			return 0;
	return err_set(e, "%.150s gets %s without TLS%s, which others on the "
	    "network can read: write https://, or allow it by "
	    "http.allow_clear: [%s]", endpoint, secrets,
	    proxy[0] == '\0' ? "" : " by http.proxy", host);
}

static int
check_route(const struct conf *c, const struct conf_route *r, struct err *e)
{
	int64_t	first = r->backoff == CONF_INHERIT ? c->retry.backoff :
		    r->backoff;
	int64_t	longest = r->max_backoff == CONF_INHERIT ?
		    c->retry.max_backoff : r->max_backoff;
	bool	inlined = c->outbox.mode == MODE_INLINE;

	if (r->type[0] == '\0' && r->topic[0] == '\0' && r->header[0] == '\0')
		return err_set(e, "needs type, topic or header to match");
	if (!inlined && r->topic[0] != '\0')
		return err_set(e, "topic needs outbox.mode: inline; rows of "
		    "mode pointer have no topic");
	if (!inlined && (strstr(r->subject, "{topic}") != NULL ||
	    strstr(r->path, "{topic}") != NULL))
		return err_set(e, "{topic} needs outbox.mode: inline; rows of "
		    "mode pointer have no topic");

	/* Fields that only one driver reads. */
	if (r->subject[0] != '\0' && r->driver != DRIVER_NATS &&
	    r->driver != DRIVER_KAFKA)
		return err_set(e, "subject is for driver: nats or kafka");
	if (r->subject[0] != '\0' && r->driver == DRIVER_KAFKA &&
	    conf_form_topic(r->subject, e) < 0)
		return err_in(e, "subject");
	if (r->endpoint[0] != '\0' && r->driver != DRIVER_HTTP)
		return err_set(e, "endpoint is for driver: http");
	if (r->path[0] != '\0' && r->driver != DRIVER_HTTP)
		return err_set(e, "path is for driver: http");
	if (r->driver == DRIVER_HTTP && r->endpoint[0] == '\0' &&
	    c->http.endpoint[0] == '\0')
		return err_set(e, "driver: http needs an endpoint, here or as "
		    "http.endpoint");
	if (check_endpoint(c, r->endpoint, e) < 0)
		return -1;

	return first <= longest ? 0 : err_set(e, "backoff (%" PRId64 "ms) must "
	    "not be more than max_backoff (%" PRId64 "ms)", first, longest);
}

static int
check_routes(const struct conf_draft *d, struct err *e)
{
	const struct conf	*c = d->conf;
	const struct conf_route	*r = c->publish.routes.items;

	for (size_t i = 0; i < c->publish.routes.n; i++, r++) {
		if (check_route(c, r, e) == 0)
			continue;
		err_in(e, "%s", r->name);
		return conf_in(d, r->line, "publish.routes", e);
	}
	if (c->publish.unmatched != UNMATCHED_DEFAULT &&
	    c->publish.routes.n == 0)
		return conf_blame(d, "publish.unmatched", e,
		    "needs publish.routes: without routes nothing matches");
	return 0;
}

static int
same_subject(const struct conf_draft *d, const struct conf_pair *p,
    const struct conf_pair *other, const char *why, struct err *e)
{
	return conf_fail(d, p->line, "publish.type_aliases", e,
	    "%s: %s is also %s %s of line %u: each type needs its own",
	    conf_show(p->name).text, conf_show(p->value).text, why,
	    conf_show(other->name).text, other->line);
}

/*
 * No other alias may be that of this type, or what it was before it had one:
 * consumers could not tell the types apart, and nothing later would say so.
 */
static int
check_alias(const struct conf_draft *d, const struct conf_pair *type,
    struct err *e)
{
	const struct conf_map	*map = &d->conf->publish.type_aliases;
	const struct conf_pair	*p = map->items, *end = p + map->n;
	int			 rule = d->conf->publish.type_case;
	struct buf		 own = { 0 };
	int			 rc = 0;

	buf_str(&own, "");
	if (rule == CASE_NONE)
		buf_str(&own, type->name);
	else
		type_words_put(&own, type->name, strlen(type->name),
		    rule == CASE_KEBAB ? '-' : '_');
	for (; p < end && rc == 0; p++) {
		if (p > type && strcmp(p->value, type->value) == 0)
			rc = same_subject(d, p, type, "the alias of", e);
		else if (p != type && strcmp(p->value, own.data) == 0)
			rc = same_subject(d, p, type, "what publish.type_case "
			    "makes of", e);
	}
	buf_free(&own);
	return rc;
}

/* How the API is reached of JetStream where nats.stream is. */
static int
check_api(const struct conf_draft *d, struct err *e)
{
	const struct conf	*c = d->conf;
	bool			 domain = c->nats.domain[0] != '\0';
	bool			 prefix = c->nats.api_prefix[0] != '\0';

	if (domain && prefix)
		return conf_blame(d, "nats.api_prefix", e, "contradicts "
		    "nats.domain, which stands for $JS.%s.API: set one of them",
		    c->nats.domain);
	if (domain && c->nats.stream[0] == '\0')
		return conf_blame(d, "nats.domain", e, "tells where "
		    "nats.stream is, and that is empty: name the stream");
	return 0;
}

static int
check_drivers(const struct conf_draft *d, struct err *e)
{
	const struct conf	*c = d->conf;
	struct err		 why;

	if (c->publish.driver == DRIVER_HTTP && c->http.endpoint[0] == '\0' &&
	    c->publish.unmatched == UNMATCHED_DEFAULT)
		return conf_blame(d, "publish.driver", e,
		    "http needs http.endpoint");
	if (c->outbox.mode != MODE_INLINE &&
	    strstr(c->http.path, "{topic}") != NULL)
		return conf_blame(d, "http.path", e, "{topic} needs "
		    "outbox.mode: inline; rows of mode pointer have no topic");
	if (c->outbox.mode != MODE_INLINE &&
	    strstr(c->kafka.topic, "{topic}") != NULL)
		return conf_blame(d, "kafka.topic", e, "{topic} needs "
		    "outbox.mode: inline; rows of mode pointer have no topic");
	for (size_t i = 0; i < c->kafka.client_files.n; i++)
		for (size_t k = 0; k < c->kafka.client.n; k++)
			if (strcmp(c->kafka.client_files.items[i].name,
			    c->kafka.client.items[k].name) == 0)
				return conf_fail(d,
				    c->kafka.client_files.items[i].line,
				    "kafka.client_files", e, "%s is in "
				    "kafka.client, too", conf_show(
				    c->kafka.client.items[k].name).text);
	if (conf_uses_http(c) && check_endpoint(c, c->http.endpoint, &why) < 0)
		return conf_blame(d, "http.endpoint", e, "%s", why.text);
	if (!c->http.allow_private && c->http.proxy[0] != '\0')
		return conf_blame(d, "http.allow_private", e, "false "
		    "contradicts http.proxy: it is the proxy that connects to "
		    "the endpoint");
	if (c->nats.core && c->nats.stream[0] != '\0')
		return conf_blame(d, "nats.core", e, "true cannot be checked "
		    "against a stream: set nats.stream: \"\"");
	if (check_api(d, e) < 0)
		return -1;
	/* Keys that need a broker. */
	if (conf_uses_nats(c))
		return 0;
	if (c->wake.subject[0] != '\0')
		return conf_blame(d, "wake.subject", e,
		    "needs publish.driver: nats");
	if (c->nats.advisory[0] != '\0')
		return conf_blame(d, "nats.advisory", e,
		    "needs publish.driver: nats");
	return 0;
}

int
conf_check_publish(const struct conf_draft *d, struct err *e)
{
	const struct conf_map		*types = &d->conf->publish.type_aliases;
	const struct conf_header	*h = d->conf->http.headers.items;

	if (check_columns(d, e) < 0 || check_routes(d, e) < 0)
		return -1;
	for (size_t i = 0; i < types->n; i++)
		if (check_alias(d, &types->items[i], e) < 0)
			return -1;
	for (size_t i = 0; i < d->conf->http.headers.n; i++, h++)
		if ((h->value[0] == '\0') == (h->file[0] == '\0'))
			return conf_fail(d, h->line, "http.headers", e, "%s: "
			    "needs a value or a file, one of them", h->name);
	return check_drivers(d, e);
}
