/*
 * conf_check.c - relations between keys
 *
 * Each value is valid by itself when this runs; here they must fit each other.
 * An error names a key that the file or an option sets, because a default has
 * no line to point at.  Nothing is changed here.
 */
#include "conf/conf_impl.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "conf/counts.h"

/* Two durations: how the small one must relate to the big one. */
enum how { BELOW, NOT_ABOVE, BELOW_HALF, BELOW_BY_MARGIN };

static const struct {
	const char	*small, *big;
} says[] = {
	[BELOW] = { "must be less than", "must be more than" },
	[NOT_ABOVE] = { "must not be more than", "must not be less than" },
	[BELOW_HALF] = { "must be less than half of",
	    "must be more than twice" },
	[BELOW_BY_MARGIN] = { "must be more than 2s below",
	    "must be more than 2s above" },
};

_Static_assert(CONF_CLAIM_MARGIN_MS == 2000, "says[] names the margin");

static const struct lengths {
	const char	*small;
	enum how	 how;
	const char	*big;
	bool		 blame_big;	/* where both are set */
	bool		 zero_is_off;	/* for the big one */
} lengths[] = {
	/* One renewal may be late or lost without a lease changing hands. */
	{ .small = "worker.lease_renew", .how = BELOW_HALF,
	  .big = "worker.lease_ttl" },
	{ .small = "worker.lease_renew", .how = BELOW_HALF,
	  .big = "worker.heartbeat_ttl" },
	/* A dead worker must not count any more once its leases are free. */
	{ .small = "worker.heartbeat_ttl", .how = NOT_ABOVE,
	  .big = "worker.lease_ttl" },
	/* The claim on a row must still hold when the outcome is known. */
	{ .small = "publish.timeout_ms", .how = BELOW_BY_MARGIN,
	  .big = "worker.claim_ttl", .blame_big = true },
	{ .small = "retry.backoff", .how = NOT_ABOVE,
	  .big = "retry.max_backoff", .blame_big = true },
	/* A worker that waits for its leases or for acks must not look hung. */
	{ .small = "worker.lease_ttl", .how = BELOW,
	  .big = "master.hang_timeout", .blame_big = true,
	  .zero_is_off = true },
	{ .small = "publish.timeout_ms", .how = BELOW,
	  .big = "master.hang_timeout", .blame_big = true,
	  .zero_is_off = true },
	/* A stopping worker must have time to wait for its last acks. */
	{ .small = "publish.timeout_ms", .how = BELOW,
	  .big = "master.stop_timeout", .blame_big = true },
};

/* Keys that exclude each other. */
static const char *const either[][2] = {
	{ "mysql.socket", "mysql.hosts" },
	{ "mysql.password_env", "mysql.password_file" },
	{ "mysql.operator.password_env", "mysql.operator.password_file" },
	{ "nats.password_env", "nats.password_file" },
	{ "nats.token_env", "nats.token_file" },
	{ "nats.token_file", "nats.user" },
	{ "nats.token_env", "nats.user" },
	{ "nats.credentials_file", "nats.user" },
	{ "nats.credentials_file", "nats.token_file" },
	{ "nats.credentials_file", "nats.token_env" },
	{ "nats.nkey_file", "nats.user" },
	{ "nats.nkey_file", "nats.token_file" },
	{ "nats.nkey_file", "nats.token_env" },
	{ "nats.nkey_file", "nats.credentials_file" },
	{ "http.token_env", "http.token_file" },
	{ "kafka.sasl.password_env", "kafka.sasl.password_file" },
};

/* Keys that need another key. */
static const char *const needs[][2] = {
	{ "nats.password_file", "nats.user" },
	{ "nats.password_env", "nats.user" },
	{ "mysql.operator.password_file", "mysql.operator.user" },
	{ "mysql.operator.password_env", "mysql.operator.user" },
	{ "nats.nkey", "nats.nkey_file" },
	{ "nats.nkey_file", "nats.nkey" },
	{ "mysql.tls.cert", "mysql.tls.key" },
	{ "mysql.tls.key", "mysql.tls.cert" },
	{ "nats.tls.cert", "nats.tls.key" },
	{ "nats.tls.key", "nats.tls.cert" },
	{ "http.tls.cert", "http.tls.key" },
	{ "http.tls.key", "http.tls.cert" },
	{ "kafka.sasl.password_file", "kafka.sasl.user" },
	{ "kafka.sasl.password_env", "kafka.sasl.user" },
	{ "kafka.sasl.user", "kafka.sasl.mechanism" },
	{ "kafka.tls.cert", "kafka.tls.key" },
	{ "kafka.tls.key", "kafka.tls.cert" },
};

static const struct conf_key *
key(const char *name)
{
	const struct conf_key	*k = conf_key(name);

	/* A table above names an unknown key: a bug, which tests find. */
	if (k == NULL)
		abort();
	return k;
}

static const struct conf_source *
source(const struct conf_draft *d, const char *name)
{
	return &d->from[key(name) - conf_table];
}

static bool
is_set(const struct conf_draft *d, const char *name)
{
	const struct conf_source	*from = source(d, name);

	return from->line != 0 || from->option != NULL;
}

static bool
is_key_empty(const struct conf_draft *d, const char *name)
{
	return conf_is_empty(d->conf, key(name));
}

int
conf_blame(const struct conf_draft *d, const char *name, struct err *e,
    const char *fmt, ...)
{
	const struct conf_source	*from = source(d, name);
	char				 text[2 * sizeof(e->text)];
	va_list				 ap;

	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	err_set(e, "%s", text);
	return from->option != NULL ? err_in(e, "%s", from->option) :
	    conf_in(d, from->line, name, e);
}

static int64_t
milliseconds(const struct conf_draft *d, const char *name)
{
	return *(const int64_t *)conf_field(d->conf, key(name));
}

static bool
holds(enum how how, int64_t small, int64_t big)
{
	switch (how) {
	case BELOW:
		return small < big;
	case NOT_ABOVE:
		return small <= big;
	case BELOW_HALF:
		return 2 * small < big;
	case BELOW_BY_MARGIN:
		return small + CONF_CLAIM_MARGIN_MS < big;
	}
	return false;
}

static int
check_lengths(const struct conf_draft *d, struct err *e)
{
	for (size_t i = 0; i < sizeof(lengths) / sizeof(lengths[0]); i++) {
		const struct lengths	*l = &lengths[i];
		int64_t			 most = milliseconds(d, l->big);
		const char		*name, *other;
		char			*value, *limit;
		bool			 big;

		if ((l->zero_is_off && most == 0) ||
		    holds(l->how, milliseconds(d, l->small), most))
			continue;
		big = is_set(d, l->small) && is_set(d, l->big) ?
		    l->blame_big : is_set(d, l->big);
		name = big ? l->big : l->small;
		other = big ? l->small : l->big;
		value = conf_text(d->conf, key(name));
		limit = conf_text(d->conf, key(other));
		conf_blame(d, name, e, "%s %s %s (%s)", value,
		    big ? says[l->how].big : says[l->how].small, other, limit);
		free(value);
		free(limit);
		return -1;
	}
	return 0;
}

/* Which keys may, must or need not be set together. */
static int
check_pairs(const struct conf_draft *d, struct err *e)
{
	const char	*a, *b;

	for (size_t i = 0; i < sizeof(either) / sizeof(either[0]); i++) {
		a = either[i][0];
		b = either[i][1];
		if (!is_key_empty(d, a) && !is_key_empty(d, b))
			return conf_blame(d, a, e, "cannot be set together "
			    "with %s of line %u: remove one of them", b,
			    source(d, b)->line);
	}
	for (size_t i = 0; i < sizeof(needs) / sizeof(needs[0]); i++) {
		a = needs[i][0];
		b = needs[i][1];
		if (!is_key_empty(d, a) && is_key_empty(d, b))
			return conf_blame(d, a, e,
			    "needs %s: set both or none", b);
	}
	if (is_key_empty(d, "mysql.hosts") && is_key_empty(d, "mysql.socket"))
		return conf_blame(d, "mysql.socket", e, "is empty, and so is "
		    "mysql.hosts: set one of them");
	return 0;
}

/* An address of tls:// asks for what the mode forbids. */
static int
check_nats_tls(const struct conf_draft *d, struct err *e)
{
	const struct conf_list	*servers = &d->conf->nats.servers;

	if (d->conf->nats.tls.mode != TLS_DISABLE)
		return 0;
	if (d->conf->nats.tls.first)
		return conf_blame(d, "nats.tls.mode", e,
		    "disable contradicts nats.tls.first");
	for (size_t i = 0; i < servers->n; i++)
		if (strncmp(servers->items[i], "tls://", 6) == 0)
			return conf_blame(d, "nats.tls.mode", e,
			    "disable contradicts %s of nats.servers",
			    servers->items[i]);
	return 0;
}

static int
check_tables(const struct conf_draft *d, struct err *e)
{
	static const char	section[] = "outbox.tables.";
	const struct conf_key	*k, *o, *blamed;
	const char		*table;
	char			*text;

	for (k = conf_table; k->name != NULL; k++) {
		if (strncmp(k->name, section, strlen(section)) != 0)
			continue;
		table = *(char *const *)conf_field(d->conf, k);
		for (o = k + 1; o->name != NULL && strncmp(o->name, section,
		    strlen(section)) == 0; o++) {
			if (strcmp(table, *(char *const *)conf_field(d->conf,
			    o)) != 0)
				continue;
			/* Of two with one name, blame one that was set. */
			blamed = is_set(d, o->name) ? o : k;
			text = conf_text(d->conf, blamed);
			conf_blame(d, blamed->name, e, "%s is also the name "
			    "of %s: each table needs its own name", text,
			    blamed == o ? k->name : o->name);
			free(text);
			return -1;
		}
	}
	return 0;
}

/*
 * Without leases two workers may send messages of one key at once.  Halted keys
 * are recorded in a table, and leases protect the record.
 */
static int
check_leasing(const struct conf_draft *d, struct err *e)
{
	const struct conf	*c = d->conf;
	bool			 ordered = c->outbox.ordering != ORDER_NONE;

	if (!c->worker.leasing && ordered && c->master.workers != 1)
		return conf_blame(d, "worker.leasing", e, "false needs "
		    "outbox.ordering: none, or master.workers: 1 (it is %"
		    PRId64 "): without leases workers break the order",
		    c->master.workers);
	if (c->retry.on_dead != DEAD_HALT)
		return 0;
	if (!ordered)
		return conf_blame(d, "retry.on_dead", e, "halt needs "
		    "outbox.ordering: key or partition: with none, no message "
		    "waits for a dead one");
	if (!c->worker.leasing)
		return conf_blame(d, "retry.on_dead", e, "halt needs "
		    "worker.leasing: true, because leases protect the record "
		    "of halted keys");
	return 0;
}

/* With inline the message is its row, and has a topic. */
static int
check_mode(const struct conf_draft *d, struct err *e)
{
	const struct conf	*c = d->conf;
	bool			 inlined = c->outbox.mode == MODE_INLINE;

	if (inlined && c->reconcile.at_start == AT_START_ON)
		return conf_blame(d, "reconcile.at_start", e, "on needs "
		    "outbox.mode: pointer; with inline no message can lack "
		    "its row");
	if (!inlined && strstr(c->nats.subject, "{topic}") != NULL)
		return conf_blame(d, "nats.subject", e, "{topic} needs "
		    "outbox.mode: inline; rows of mode pointer have no topic");
	return 0;
}

/* A person has a token, or is named by a proxy. */
static int
check_people(const struct conf_draft *d, struct err *e)
{
	const struct conf		*c = d->conf;
	const struct conf_person	*p = c->monitor.tokens.items;
	bool	named = c->monitor.user_header[0] != '\0';

	if (named && c->monitor.proxies.n == 0)
		return conf_blame(d, "monitor.user_header", e, "needs "
		    "monitor.proxies: whoever may send it");
	if (named && c->monitor.tokens.n == 0)
		return conf_blame(d, "monitor.user_header", e, "needs "
		    "monitor.tokens: what the people may do whom it names");
	if (!named && c->monitor.proxies.n > 0)
		return conf_blame(d, "monitor.proxies", e, "needs "
		    "monitor.user_header");
	for (size_t i = 0; i < c->monitor.tokens.n; i++, p++) {
		bool	any = strcmp(p->name, CONF_ANYBODY) == 0;

		if (p->file[0] == '\0' && !named)
			return conf_fail(d, p->line, "monitor.tokens", e,
			    "%s needs the field file, or monitor.user_header",
			    p->name);
		if (p->file[0] != '\0' && any)
			return conf_fail(d, p->line, "monitor.tokens", e, "%s "
			    "is each person whom monitor.user_header names, "
			    "and has no file", p->name);
	}
	return 0;
}

/* Whoever can connect reads the messages. */
static int
check_monitor(const struct conf_draft *d, struct err *e)
{
	const struct conf	*c = d->conf;
	char			 host[CONF_HOST];

	if (check_people(d, e) < 0)
		return -1;
	if (c->monitor.require_token && c->monitor.token_file[0] == '\0' &&
	    c->monitor.tokens.n == 0)
		return conf_blame(d, "monitor.require_token", e,
		    "true needs monitor.token_file or monitor.tokens");
	conf_url_host(c->monitor.listen, host);
	if (c->monitor.listen[0] == '\0' || c->monitor.require_token ||
	    c->monitor.allow_remote || conf_is_loopback(host))
		return 0;
	return conf_blame(d, "monitor.listen", e, "other hosts could read all "
	    "messages: set monitor.require_token: true, or "
	    "monitor.allow_remote: true if something else protects this "
	    "address");
}

/* One worker serves all labels that a key has under the declared counts. */
static int
check_partition_counts(const struct conf_draft *d, struct err *e)
{
	size_t		n = d->conf->outbox.former_counts.n;
	struct counts	c;
	struct err	why;

	conf_counts(d->conf, &c);
	if (n > COUNTS_MAX)
		return conf_blame(d, "outbox.former_counts", e, "has %zu "
		    "counts, but at most %d are possible: remove those that "
		    "no producer uses", n, COUNTS_MAX);
	return counts_check(&c, &why) == 0 ? 0 :
	    conf_blame(d, "outbox.former_counts", e, "%s", why.text);
}

int
conf_check(const struct conf_draft *d, struct err *e)
{
	static int	(*const checks[])(const struct conf_draft *,
			    struct err *) = {
		check_lengths, check_pairs, check_nats_tls, check_tables,
		check_leasing, check_mode, check_monitor,
		check_partition_counts,
	};

	for (size_t i = 0; i < sizeof(checks) / sizeof(checks[0]); i++)
		if (checks[i](d, e) < 0)
			return -1;
	return 0;
}
