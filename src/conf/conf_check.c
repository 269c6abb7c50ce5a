/*
 * conf_check.c - relations between keys
 *
 * Each value is valid by itself when this runs; here they must fit each other.
 * An error names a key that the file or an option sets, because a default has
 * no line to point at.  Nothing is changed here.
 */
#include "conf/conf_impl.h"

#include <inttypes.h>
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
};

static const struct conf_key *
key(const char *name)
{
	size_t			 n;
	const struct conf_key	*keys = conf_keys(&n);
	int			 i = conf_key_find(name);

	/* A table above names an unknown key: a bug, which tests find. */
	if (i < 0)
		abort();
	return &keys[i];
}

static const struct conf_source *
source(const struct conf_draft *d, const char *name)
{
	size_t	n;

	return &d->from[key(name) - conf_keys(&n)];
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
conf_blame(const struct conf_draft *d, const char *name, struct err *e)
{
	const struct conf_source	*from = source(d, name);

	if (from->option != NULL)
		return err_in(e, "%s", from->option);
	return conf_in(d, from->line, name, e);
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
bad_lengths(const struct conf_draft *d, const struct lengths *l,
    struct err *e)
{
	bool		 big = is_set(d, l->small) && is_set(d, l->big) ?
			    l->blame_big : is_set(d, l->big);
	const char	*name = big ? l->big : l->small;
	const char	*other = big ? l->small : l->big;
	char		*value = conf_text(d->conf, key(name));
	char		*limit = conf_text(d->conf, key(other));

	err_set(e, "%s %s %s (%s)", value,
	    big ? says[l->how].big : says[l->how].small, other, limit);
	free(value);
	free(limit);
	return conf_blame(d, name, e);
}

static int
check_lengths(const struct conf_draft *d, struct err *e)
{
	for (size_t i = 0; i < sizeof(lengths) / sizeof(lengths[0]); i++) {
		const struct lengths	*l = &lengths[i];
		int64_t			 big = milliseconds(d, l->big);

		if (l->zero_is_off && big == 0)
			continue;
		if (!holds(l->how, milliseconds(d, l->small), big))
			return bad_lengths(d, l, e);
	}
	return 0;
}

static int
check_either(const struct conf_draft *d, struct err *e)
{
	for (size_t i = 0; i < sizeof(either) / sizeof(either[0]); i++) {
		const char	*a = either[i][0], *b = either[i][1];

		if (is_key_empty(d, a) || is_key_empty(d, b))
			continue;
		err_set(e, "cannot be set together with %s of line %u: "
		    "remove one of them", b, source(d, b)->line);
		return conf_blame(d, a, e);
	}
	return 0;
}

static int
check_needs(const struct conf_draft *d, struct err *e)
{
	for (size_t i = 0; i < sizeof(needs) / sizeof(needs[0]); i++) {
		const char	*a = needs[i][0], *b = needs[i][1];

		if (is_key_empty(d, a) || !is_key_empty(d, b))
			continue;
		err_set(e, "needs %s: set both or none", b);
		return conf_blame(d, a, e);
	}
	return 0;
}

static int
check_servers(const struct conf_draft *d, struct err *e)
{
	if (!is_key_empty(d, "mysql.hosts") || !is_key_empty(d, "mysql.socket"))
		return 0;
	err_set(e, "is empty, and so is mysql.hosts: set one of them");
	return conf_blame(d, "mysql.socket", e);
}

/* An address of tls:// asks for what the mode forbids. */
static int
check_nats_tls(const struct conf_draft *d, struct err *e)
{
	const struct conf_list	*servers = &d->conf->nats.servers;

	if (d->conf->nats.tls.mode != TLS_DISABLE)
		return 0;
	if (d->conf->nats.tls.first) {
		err_set(e, "disable contradicts nats.tls.first");
		return conf_blame(d, "nats.tls.mode", e);
	}
	for (size_t i = 0; i < servers->n; i++)
		if (strncmp(servers->items[i], "tls://", 6) == 0) {
			err_set(e, "disable contradicts %s of nats.servers",
			    servers->items[i]);
			return conf_blame(d, "nats.tls.mode", e);
		}
	return 0;
}

/* Of two tables with one name, blame one that was set. */
static int
same_table(const struct conf_draft *d, const char *a, const char *b,
    struct err *e)
{
	const char	*name = is_set(d, b) ? b : a;
	const char	*other = is_set(d, b) ? a : b;
	char		*table = conf_text(d->conf, key(name));

	err_set(e, "%s is also the name of %s: each table needs its own name",
	    table, other);
	free(table);
	return conf_blame(d, name, e);
}

static int
check_tables(const struct conf_draft *d, struct err *e)
{
	size_t			 n;
	const struct conf_key	*k = conf_keys(&n), *end = k + n;

	for (; k < end; k++) {
		const char	*name;

		if (strncmp(k->name, "outbox.tables.", 14) != 0)
			continue;
		name = *(char *const *)conf_field(d->conf, k);
		for (const struct conf_key *o = k + 1; o < end &&
		    strncmp(o->name, "outbox.tables.", 14) == 0; o++)
			if (strcmp(name,
			    *(char *const *)conf_field(d->conf, o)) == 0)
				return same_table(d, k->name, o->name, e);
	}
	return 0;
}

/* Without leases two workers may send messages of one key at once. */
static int
check_leasing(const struct conf_draft *d, struct err *e)
{
	const struct conf	*c = d->conf;

	if (c->worker.leasing || c->outbox.ordering == ORDER_NONE ||
	    c->master.workers == 1)
		return 0;
	err_set(e, "false needs outbox.ordering: none, or master.workers: 1 "
	    "(it is %" PRId64 "): without leases workers break the order",
	    c->master.workers);
	return conf_blame(d, "worker.leasing", e);
}

/* Halted keys are recorded in a table, and leases protect the record. */
static int
check_halt(const struct conf_draft *d, struct err *e)
{
	const struct conf	*c = d->conf;

	if (c->retry.on_dead != DEAD_HALT)
		return 0;
	if (c->outbox.ordering == ORDER_NONE)
		err_set(e, "halt needs outbox.ordering: key or partition: with "
		    "none, no message waits for a dead one");
	else if (!c->worker.leasing)
		err_set(e, "halt needs worker.leasing: true, because leases "
		    "protect the record of halted keys");
	else
		return 0;
	return conf_blame(d, "retry.on_dead", e);
}

/* There is nothing to make: the message is the row. */
static int
check_reconcile(const struct conf_draft *d, struct err *e)
{
	if (d->conf->outbox.mode != MODE_INLINE ||
	    d->conf->reconcile.at_start != AT_START_ON)
		return 0;
	err_set(e, "on needs outbox.mode: pointer; with inline no message "
	    "can lack its row");
	return conf_blame(d, "reconcile.at_start", e);
}

static int
check_nats_subject(const struct conf_draft *d, struct err *e)
{
	if (d->conf->outbox.mode == MODE_INLINE ||
	    strstr(d->conf->nats.subject, "{topic}") == NULL)
		return 0;
	err_set(e, "{topic} needs outbox.mode: inline; rows of mode pointer "
	    "have no topic");
	return conf_blame(d, "nats.subject", e);
}

/* The address of monitor.listen without its port and brackets. */
static bool
is_local_address(const char *listen)
{
	char	host[256];
	size_t	n = (size_t)(strrchr(listen, ':') - listen);

	if (*listen == '[') {
		listen++;
		n -= 2;
	}
	memcpy(host, listen, n);
	host[n] = '\0';
	return conf_is_loopback(host);
}

/* Whoever can connect reads the messages. */
static int
check_monitor(const struct conf_draft *d, struct err *e)
{
	const struct conf	*c = d->conf;

	if (c->monitor.require_token && c->monitor.token_file[0] == '\0') {
		err_set(e, "true needs monitor.token_file");
		return conf_blame(d, "monitor.require_token", e);
	}
	if (c->monitor.listen[0] == '\0' || c->monitor.require_token ||
	    c->monitor.allow_remote || is_local_address(c->monitor.listen))
		return 0;
	err_set(e, "other hosts could read all messages: set "
	    "monitor.require_token: true, or monitor.allow_remote: true if "
	    "something else protects this address");
	return conf_blame(d, "monitor.listen", e);
}

/* One worker serves all labels that a key has under the declared counts. */
static int
check_partition_counts(const struct conf_draft *d, struct err *e)
{
	size_t		n = d->conf->outbox.former_counts.n;
	struct counts	c;

	conf_counts(d->conf, &c);
	if (n > COUNTS_MAX)
		err_set(e, "has %zu counts, but at most %d are possible: "
		    "remove those that no producer uses", n, COUNTS_MAX);
	else if (counts_check(&c, e) == 0)
		return 0;
	return conf_blame(d, "outbox.former_counts", e);
}

int
conf_check(const struct conf_draft *d, struct err *e)
{
	static int	(*const checks[])(const struct conf_draft *,
			    struct err *) = {
		check_lengths, check_either, check_needs, check_servers,
		check_nats_tls, check_tables, check_leasing, check_halt,
		check_reconcile, check_nats_subject, check_monitor,
		check_partition_counts,
	};

	for (size_t i = 0; i < sizeof(checks) / sizeof(checks[0]); i++)
		if (checks[i](d, e) < 0)
			return -1;
	return 0;
}
