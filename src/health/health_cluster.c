/* health_cluster.c - what of a database cluster is unsafe, though it works */

#include "health/health_impl.h"

#include <string.h>

/* How many database servers the hosts use. */
static size_t
count_servers(const struct health *h)
{
	json_t	*servers = json_object(), *host, *s;
	size_t	 i, k, n;

	json_array_foreach(json_object_get(h->state, "hosts"), i, host)
		json_array_foreach(json_object_get(host, "servers"), k, s)
			json_object_set_new(servers, json_string_value(s),
			    json_true());
	n = json_object_size(servers);
	json_decref(servers);
	return n;
}

/*
 * The sequence of a row is given before it commits, and another node's is known
 * only after it was applied: so producers that write one key on two nodes may
 * get sequences that are not in the order of their commits.
 */
static void
judge_writers(struct health *h, const json_t *cluster, const char *kind)
{
	const char	*consistency = health_text(cluster, "consistency");

	if (strcmp(kind, "galera") == 0 && count_servers(h) > 1 &&
	    json_is_integer(json_object_get(cluster, "wsrep_sync_wait")) &&
	    health_number(cluster, "wsrep_sync_wait") == 0)
		health_add(h, HEALTH_SEVERAL_WRITERS, (struct health_about){
		    0 }, "SET GLOBAL wsrep_sync_wait = 7 on each node, and in "
		    "my.cnf, or let all that write events use one node",
		    "hosts use several nodes of the Galera cluster, and "
		    "wsrep_sync_wait is 0: if producers do so too, the events "
		    "of a key can be sent in another order than they were "
		    "committed in");
	if (json_is_true(json_object_get(cluster, "multi_primary")) &&
	    (strcmp(consistency, "EVENTUAL") == 0 ||
	    strcmp(consistency, "BEFORE_ON_PRIMARY_FAILOVER") == 0))
		health_add(h, HEALTH_SEVERAL_WRITERS, (struct health_about){
		    0 }, "SELECT group_replication_switch_to_single_primary_"
		    "mode(), or SET GLOBAL group_replication_consistency = "
		    "'BEFORE_AND_AFTER' on each member, and in my.cnf",
		    "the group is multi-primary, and "
		    "group_replication_consistency is %s: the events of a key "
		    "that is written on several members can be sent in "
		    "another order than they were committed in", consistency);
}

/*
 * With semi-sync the commit of a claim is acknowledged before its messages are
 * sent, and so is the commit of their events, which is before it in the binlog.
 */
static void
judge_replication(struct health *h, const json_t *cluster, const char *kind)
{
	if (strcmp(kind, "primary") == 0 &&
	    health_text(cluster, "semi_sync")[0] == '\0')
		health_add(h, HEALTH_ASYNCHRONOUS, (struct health_about){ 0 },
		    "enable semi-synchronous replication: outbox-clusters(7) "
		    "has an example",
		    "replication is asynchronous, or semi-sync has timed out: "
		    "messages are sent whose events no replica has yet, and "
		    "after a failover those events are missing");
}

void
health_judge_cluster(struct health *h)
{
	const json_t	*cluster = json_object_get(h->state, "cluster");
	const char	*kind = health_text(cluster, "kind");

	judge_writers(h, cluster, kind);
	judge_replication(h, cluster, kind);
}
