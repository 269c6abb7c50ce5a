/* cluster.c - what the database server is, and which one each host uses */

#include "ctl/state/state_impl.h"

#include <string.h>

#include "mysql/server.h"

static json_t *
known(int n)
{
	return n == SERVER_UNKNOWN ? json_null() : json_integer(n);
}

/* A text of the server may be of any bytes. */
static json_t *
said(const char *text)
{
	return text[0] == '\0' ? json_null() : bytes_json(text, strlen(text));
}

static json_t *
cluster_json(const struct server *s)
{
	static const char *const	kinds[] = { "single", "primary",
					    "galera", "group" };
	char				text[SERVER_TEXT];

	server_text(s, text);
	return json_pack("{s:s, s:o, s:o, s:o, s:o, s:o, s:b, s:o, s:o, s:o, "
	    "s:b, s:o, s:o, s:o, s:o, s:b, s:o, s:o, s:o, s:o, s:I}",
	    "kind", kinds[s->kind], "text", said(text), "name", said(s->name),
	    "version", said(s->version), "identity", said(s->identity),
	    "source", said(s->source), "read_only", s->read_only,
	    "online", known(s->online), "size", known(s->size),
	    "state", said(s->state), "multi_primary", s->several_primaries,
	    "primary", said(s->primary), "semi_sync", said(s->semi_sync),
	    "consistency", said(s->consistency),
	    "wsrep_sync_wait", known(s->sync_wait), "binlog", s->has_binlog,
	    "sync_binlog", known(s->sync_binlog),
	    "innodb_flush_log_at_trx_commit", known(s->flush_at_commit),
	    "auto_increment_increment", known(s->increment),
	    "auto_increment_offset", known(s->offset),
	    "ahead_ms", (json_int_t)(s->ahead_us / 1000));
}

int
state_put_cluster(struct ctl *c, json_t *state, struct err *e)
{
	struct server	s;

	if (store_cluster(c->store, &s, e) < 0)
		return -1;
	return json_object_set_new(state, "cluster", cluster_json(&s));
}

static bool
is_same(const json_t *a, const json_t *b, const char *member)
{
	return json_equal(json_object_get(a, member),
	    json_object_get(b, member));
}

void
state_count_host(json_t *hosts, const json_t *worker)
{
	json_t		*server = json_object_get(worker, "server"), *o;
	json_t		*servers;
	json_t		*h = NULL;
	size_t		 i;

	json_array_foreach(hosts, i, h)
		if (is_same(h, worker, "host") &&
		    is_same(h, worker, "instance"))
			break;
	if (i == json_array_size(hosts))
		json_array_append_new(hosts, h = json_pack(
		    "{s:O, s:O, s:i, s:[]}",
		    "host", json_object_get(worker, "host"),
		    "instance", json_object_get(worker, "instance"),
		    "workers", 0, "servers"));
	member_add(h, "workers", 1);
	/* For a moment workers of one host may use several. */
	servers = json_object_get(h, "servers");
	json_array_foreach(servers, i, o)
		if (json_equal(o, server))
			return;
	if (json_is_string(server))
		json_array_append(servers, server);
}
