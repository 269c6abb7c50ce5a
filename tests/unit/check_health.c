/*
 * check_health.c - which state is which problem
 */

#include "lib/check.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "health/health.h"
#include "util/buf.h"
#include "util/xalloc.h"

static struct conf	conf;

static void
begin(void)
{
	static char	stream[] = "EVENTS", socket[] = "/run/db.sock";
	static char	empty[] = "";
	static char	pidfile[] = "/run/x.pid";
	static char	a[] = "nats://a:1", b[] = "nats://b:2";
	static char	*servers[] = { a, b };
	static char	hooks[] = "hooks", endpoint[] = "http://hooks.example";
	static struct conf_route route = { .name = hooks,
			    .driver = DRIVER_HTTP, .endpoint = endpoint };

	conf.worker.leasing = true;
	conf.health.max_age = 60000;
	conf.publish.routes = (struct conf_records){ .items = &route, .n = 1 };
	conf.nats.stream = stream;
	conf.nats.domain = conf.nats.api_prefix = empty;
	conf.nats.servers = (struct conf_list){ servers, 2 };
	conf.mysql.socket = socket;
	conf.master.pidfile = pidfile;
}

static json_t *
member_of(const char *state, const char *name)
{
	json_error_t	 je;
	json_t		*s = json_loads(state, 0, &je), *list;

	ck_assert_msg(s != NULL, "%s: %s", state, je.text);
	health_judge(&conf, s);
	list = json_incref(json_object_get(s, name));
	json_decref(s);
	return list;
}

static json_t *
judge(const char *state)
{
	return member_of(state, "problems");
}

/* "id id ", as listed. */
static char *
ids(const json_t *problems)
{
	struct buf	b = { 0 };
	json_t		*p;
	size_t		 i;

	buf_str(&b, "");
	json_array_foreach(problems, i, p)
		buf_printf(&b, "%s ", json_string_value(json_object_get(p,
		    "id")));
	return b.data;
}

#define ALIVE "\"workers\": {\"live\": 1}, "
#define HERE(members) "{" ALIVE "\"this_host\": {" members "}}"
#define WORKER(members) HERE("\"workers\": [{\"id\": \"h:00:1\", " members "}]")

/*
 * The state, its problems and then its advice, the exit status, and a part of
 * the first text.
 */
static const struct {
	const char	*state, *ids;
	int		 status;
	const char	*text;
} states[] = {
	{ "{" ALIVE "\"this_host\": {}}", "", 0, NULL },
	{ "{\"database\": {\"error\": \"Can't connect\"}}", "database ", 3,
	  "Can't connect: start the database server at /run/db.sock, or correct "
	  "mysql.socket" },
	{ "{\"database\": {\"error\": \"Access denied\"}}", "database ", 3,
	  "correct mysql.user and its password; outboxctl setup --no-event "
	  "--new-password" },
	{ "{\"database\": {\"error\": \"mysql db1: the server is read-only: not "
	  "a primary\"}}", "database ", 3, "the database takes no changes, so "
	  "the daemon cannot use it" },
	{ "{\"database\": {\"error\": \"outbox: SELECT command denied (1142)"
	  "\"}}", "database ", 3, "a table of the database cannot be read" },
	{ "{\"database\": {\"error\": \"odd\"}}", "database ", 3,
	  "odd: the error log of the database server tells more" },
	/* A server that refuses, or waits, need not be started. */
	{ "{\"database\": {\"error\": \"connect: Too many connections "
	  "(1040)\"}}", "database ", 3, "(1040): the server runs: as an "
	  "administrator, for whom it keeps one, see in SHOW PROCESSLIST" },
	{ "{\"database\": {\"error\": \"connect: User x already has more "
	  "than 'max_user_connections' active connections (1203)\"}}",
	  "database ", 3, "end other connections of this account" },
	{ "{\"database\": {\"error\": \"connect: Host 'x' is blocked because "
	  "of many connection errors (1129)\"}}", "database ", 3,
	  "FLUSH HOSTS" },
	{ "{\"database\": {\"error\": \"connect: Host 'x' is not allowed to "
	  "connect to this MariaDB server (1130)\"}}", "database ", 3,
	  "create the account for this host" },
	{ "{\"database\": {\"error\": \"workers: no answer within 5 s "
	  "(2013)\"}}", "database ", 3, "the server runs, and is slow" },
	{ "{\"database\": {\"error\": \"schema: column outbox.claim_token is "
	  "missing or not granted: run outboxctl schema check\"}}",
	  "database ", 3, "as an administrator, outboxctl schema upgrade "
	  "--admin root adds it" },
	{ "{" ALIVE "\"this_host\": {}, \"broker\": {\"error\": \"nats: "
	  "maximum connections exceeded\"}}", "broker ", 1, "raise max_connections" },
	{ "{" ALIVE "\"this_host\": {}, \"broker\": {\"error\": "
	  "\"Authorization Violation\"}}", "broker ", 1,
	  "correct the login in the section nats" },
	{ "{" ALIVE "\"this_host\": {\"refused\": [{\"why\": \"x\"}]}, "
	  "\"blocked\": [{\"reason\": \"refused\", \"keys\": 2}]}",
	  "refused_subject ", 1, "x: outboxctl keys blocked" },
	{ WORKER("\"state\": \"no broker\", \"why\": \"gone\""),
	  "waiting_worker ", 1, "no broker: gone: start the NATS server at" },
	{ "{\"workers\": {\"live\": 0}}", "no_worker ", 1,
	  "no worker is alive: service outbox-master start; if nobody has "
	  "stopped it, outboxctl logs" },
	{ "{\"workers\": {\"live\": 0}, \"oldest\": {\"age_ms\": 1}, "
	  "\"backlog\": {\"waiting\": 7, \"exact\": true}}", "no_worker ", 1,
	  "no worker is alive and 7 rows wait" },
	{ "{\"workers\": {\"live\": 0}, \"this_host\": {\"workers\": "
	  "[{\"state\": \"no database\", \"why\": \"gone\"}]}}",
	  "no_worker waiting_worker ", 1,
	  "no worker is alive: correct what the workers of this host wait for" },
	{ WORKER("\"state\": \"running\", \"why\": \"claim: Lock wait (1205)\""),
	  "waiting_worker ", 1, "a statement waits: claim: Lock wait (1205): an "
	  "administrator of the server sees who holds the lock" },
	{ WORKER("\"state\": \"no database\", \"why\": \"register: no answer "
	  "within 5 s (2013)\""), "waiting_worker ", 1, "(2013): the server "
	  "runs, and is slow or waits: make room on "
	  "the disk of the server's data, and of its binlog, if it is full; if "
	  "not, an administrator sees what COMMIT waits for" },
	{ "{" ALIVE "\"server\": {\"datadir\": \"/d/\", \"log_bin_basename\": "
	  "\"/b/log\"}, \"this_host\": {\"workers\": [{\"state\": "
	  "\"no database\", \"why\": \"no answer within 5 s (2013)\"}]}}",
	  "waiting_worker ", 1, "make room on the disk of the server's data, "
	  "/d/, and of its binlog, /b/log, if" },
	{ WORKER("\"rows\": [{\"sequence\": 9, \"why\": \"cannot be claimed: "
	  "x\"}, {\"sequence\": 8, \"why\": \"cannot be claimed: another "
	  "session has locked the row\"}]"), "refused_row ", 1, "message 8 "
	  "cannot be claimed: another session has locked the row; more such rows: 1; "
	  "it and its key wait: an administrator" },
	{ "{" ALIVE "\"oldest\": {\"sequence\": 9, \"age_ms\": 90000}, "
	  "\"this_host\": {\"workers\": [{\"rows\": [{\"sequence\": 9, \"why\": "
	  "\"cannot be claimed: x\"}]}]}}", "refused_row ", 1, "message 9 cannot "
	  "be claimed: x; it and its key wait: repair the row or the table "
	  "(outboxctl schema check), or give it up: outboxctl messages discard "
	  "9" },
	{ "{\"workers\": {\"live\": 0}, \"schema\": {\"version\": \"99\", "
	  "\"newest\": 1}, \"this_host\": {\"workers\": [{\"state\": "
	  "\"no database\", \"why\": \"version 99\"}]}}", "schema_newer ", 1,
	  "schema version 99, and this program knows 1 at most" },
	{ "{" ALIVE "\"oldest\": {\"sequence\": 5, \"partition\": \"p00\", "
	  "\"at\": null, \"age_ms\": 60001}, \"this_host\": {}}", "oldest ", 1,
	  "has waited for 1 min (health.max_age: 1 min): outboxctl messages "
	  "show 5" },
	{ "{" ALIVE "\"oldest\": {\"age_ms\": 60000}, \"this_host\": {}}", "",
	  0, NULL },
	{ "{" ALIVE "\"oldest\": {\"age_ms\": 60001}, \"backlog\": "
	  "{\"drained_in_ms\": 40000}, \"this_host\": {}}", "oldest ", 1,
	  "at this rate empty in 40 s" },
	{ "{" ALIVE "\"backlog\": {\"waiting\": 51000, \"exact\": false, "
	  "\"growth_per_second\": 1210, \"growing_for_ms\": 200000, "
	  "\"growing_since\": \"2026-11-23T15:00:00Z\"}, \"this_host\": {}}",
	  "backlog_growing ", 1, "has grown for 3 min 20 s, since "
	  "2026-11-23T15:00:00Z: about 51,000 rows wait, and about 1,210 more "
	  "each second: " },
	{ "{" ALIVE "\"backlog\": {\"waiting\": 9, \"exact\": true, "
	  "\"growth_per_second\": 2, \"growing_for_ms\": null}, "
	  "\"this_host\": {}}", "", 0, NULL },
	{ "{" ALIVE "\"this_host\": {}, \"partitions\": {\"paused\": 2, "
	  "\"paused_names\": \"p01, p02\"}}", "paused_partitions ", 1,
	  "2 (p01, p02): nothing is sent from them: outboxctl audit "
	  "list tells who has paused them; outboxctl partitions resume --all" },
	{ "{" ALIVE "\"this_host\": {}, \"partitions\": {\"expired\": 3, "
	  "\"expired_ms\": 15001}}", "unowned_partitions ", 1, "3, for up to" },
	{ "{\"workers\": {\"live\": 2, \"back\": [{\"host\": \"b\", "
	  "\"workers\": 2, \"away\": \"NATS, hooks\"}]}, \"this_host\": {}}",
	  "host_stands_back ", 1, "b does not reach NATS, hooks, and others "
	  "do: 2 of its workers stand back, and the partitions are theirs: "
	  "on that host outboxctl logs tells why" },
	{ "{\"workers\": {\"live\": 2, \"vanished\": [{\"host\": \"b\", "
	  "\"workers\": 2, \"since\": \"2026-11-28T02:00:00Z\"}]}, "
	  "\"this_host\": {}}", "host_vanished ", 1, "b vanished: no worker "
	  "there is alive any more, and nobody has stopped them: start the "
	  "daemon there again; or, if it is not to come back, outboxctl "
	  "workers forget b" },
	{ "{\"workers\": {\"live\": 2, \"vanished\": [{\"host\": \"b\"}, "
	  "{\"host\": \"c\"}, {\"host\": \"d\"}, {\"host\": \"e\"}, "
	  "{\"host\": \"f\"}]}, \"this_host\": {}}", "host_vanished ", 1,
	  "b, c, d, e and 1 more vanished" },
	{ "{\"workers\": {\"live\": 0, \"vanished\": [{\"host\": \"b\"}]}}",
	  "no_worker ", 1, NULL },
	{ "{\"workers\": {\"live\": 0}, \"partitions\": {\"expired\": 3, "
	  "\"expired_ms\": 15001}}", "no_worker ", 1, NULL },
	{ "{" ALIVE "\"this_host\": {}, \"blocked\": [{\"reason\": \"failed\", "
	  "\"keys\": 2}, {\"reason\": \"halted\", \"keys\": 4, \"key\": "
	  "\"order 7\", \"head\": 9}]}", "halted_keys ", 1, "key order 7 is "
	  "halted behind dead letter 9; 3 more, see outboxctl keys blocked: "
	  "outboxctl dead show 9 tells why; then outboxctl dead retry 9 sends "
	  "it again, or outboxctl dead purge 9 --release gives it up" },
	{ "{" ALIVE "\"this_host\": {}, \"dead\": {\"new\": 1}, \"blocked\": "
	  "[{\"reason\": \"halted\", \"keys\": 1, \"new\": 1, \"key\": "
	  "\"order-7\", \"head\": 9, \"purged\": true}]}", "halted_keys ", 1,
	  "keys release order-7" },
	{ "{" ALIVE "\"this_host\": {}, \"blocked\": "
	  "[{\"reason\": \"halted\", \"keys\": 1, \"key\": "
	  "\"-o 'x\", \"head\": 9, \"purged\": true}]}", "halted_keys ", 1,
	  ": outboxctl keys release -- '-o '\\''x'" },
	{ "{" ALIVE "\"oldest\": {\"sequence\": 5, \"age_ms\": 90000, "
	  "\"paused\": true}, \"this_host\": {}, \"partitions\": {\"paused\": "
	  "1, \"paused_names\": \"p01\"}}", "paused_partitions ", 1, NULL },
	{ "{" ALIVE "\"oldest\": {\"sequence\": 5, \"age_ms\": 90000}, "
	  "\"this_host\": {}, \"broker\": {\"error\": \"gone\"}}", "broker ",
	  1, NULL },
	{ "{" ALIVE "\"this_host\": {}, \"outbox\": {\"name\": \"hooks\", "
	  "\"registered\": false, \"unfilled\": 3}}", "not_filled ", 1,
	  "no rows in hooks: it is not registered" },
	{ "{" ALIVE "\"this_host\": {}, \"outbox\": {\"name\": \"hooks\", "
	  "\"registered\": true, \"unfilled\": 3, \"unfilled_first\": 9}}",
	  "not_filled ", 1, "without a row in hooks: 3, the first is 9" },
	{ "{" ALIVE "\"this_host\": {}, \"outbox\": {\"name\": \"outbox\", "
	  "\"registered\": null, \"unfilled\": null}}", "", 0, NULL },
	{ "{" ALIVE "\"this_host\": {}, \"outbox\": {\"name\": \"outbox\", "
	  "\"registered\": null, \"unfilled\": 3, \"unfilled_first\": 9, "
	  "\"unfilled_since\": \"2026-11-23T15:00:00Z\", \"gone\": 0}}",
	  "not_filled ", 1, "without a row in outbox: 3, the first is 9: their "
	  "messages were not sent, and no worker can see them: the rows were "
	  "deleted, or never inserted: outboxctl reconcile --since "
	  "2026-11-23T15:00:00Z makes the rows" },
	{ "{" ALIVE "\"this_host\": {}, \"outbox\": {\"name\": \"outbox\", "
	  "\"unfilled\": 3, \"unfilled_first\": 9, \"gone\": 0, "
	  "\"unfilled_since\": \"2037;T$(id)Z\"}}", "not_filled ", 1,
	  "outboxctl reconcile --since '2037;T$(id)Z' makes the rows" },
	{ "{" ALIVE "\"this_host\": {}, \"outbox\": {\"name\": \"outbox\", "
	  "\"unfilled\": 0, \"settings\": \"s\", \"gone\": 4, \"gone_first\": 6, "
	  "\"gone_last\": 9}}", "rows_gone ", 0, "4, from 6 to 9: the rows were "
	  "deleted, and reconcile sends again what no stream shows: UPDATE "
	  "s SET reconcile_watermark = 9 WHERE id = 1, if" },
	{ "{" ALIVE "\"this_host\": {}, \"outbox\": {\"name\": \"outbox\", "
	  "\"unfilled\": 0, \"gone\": 0}}", "", 0, NULL },
	{ "{\"workers\": {\"live\": 0}, \"daemon_died\": 77}", "no_worker ",
	  1, "no worker is alive; the daemon of this host has died (pid 77): "
	  "service outbox-master start; outboxctl logs" },
	{ "{" ALIVE "\"this_host\": {}, \"dead\": {\"new\": 1, \"last\": 8}}",
	  "dead_letters ", 1, "outboxctl dead retry 8 sends it again, or "
	  "outboxctl dead purge 8 gives it up" },
	{ "{" ALIVE "\"this_host\": {}, \"dead\": {\"new\": 1, \"last\": 8, "
	  "\"new_wrong\": 1}}", "dead_letters ", 1, "enqueue it anew without "
	  "that, and outboxctl dead purge 8 gives it up" },
	{ "{" ALIVE "\"this_host\": {}, \"dead\": {\"new\": 2, \"last\": 8, "
	  "\"new_wrong\": 1}}", "dead_letters ", 1, "outboxctl dead groups "
	  "tells why; enqueue those anew that are wrong themselves" },
	{ "{" ALIVE "\"this_host\": {}, \"blocked\": [{\"reason\": "
	  "\"halted\", \"keys\": 1, \"key\": \"k\", \"head\": 8, "
	  "\"died_of\": \"message\"}]}", "halted_keys ", 1, "enqueue it anew "
	  "without that, and outboxctl dead purge 8 --release gives it up" },
	{ "{" ALIVE "\"this_host\": {}, \"dead\": {\"new\": 2}, \"blocked\": "
	  "[{\"reason\": \"halted\", \"keys\": 4, \"new\": 1, \"key\": null}]}",
	  "halted_keys dead_letters ", 1, "a key that is not known is halted" },
	{ "{" ALIVE "\"this_host\": {}, \"blocked\": [{\"reason\": "
	  "\"refused\", \"keys\": 2}]}", "refused_subject ", 1,
	  "no stream takes: 2" },
	{ "{" ALIVE "\"this_host\": {}, \"blocked\": [{\"reason\": "
	  "\"refused\", \"keys\": 2, \"error\": \"no stream takes subject x"
	  "\"}]}", "refused_subject ", 1, "add their subjects to a stream" },
	/* A full disk, as servers of today and of before tell it, and one that
	   stores nothing and tells nothing; and a limit. */
	{ "{" ALIVE "\"this_host\": {}, \"blocked\": [{\"reason\": "
	  "\"refused\", \"keys\": 2, \"error\": \"write 1.blk: no space left "
	  "on device (10077)\"}]}", "refused_subject ", 1, "keys whose first "
	  "message the destination refuses: 2: write 1.blk: no space left on "
	  "device (10077): make room on the disk of the broker" },
	{ "{" ALIVE "\"this_host\": {\"workers\": [{\"id\": \"h:00:1\", "
	  "\"state\": \"paused\", \"why\": \"no answer within 5000 ms\"}]}, "
	  "\"blocked\": [{\"reason\": \"refused\", \"keys\": 2, \"error\": "
	  "\"not sent: other messages got no answer\"}]}",
	  "publishing_paused ", 1, "its disk may be full" },
	{ WORKER("\"state\": \"paused\", \"why\": \"write 1.blk: no space "
	  "left on device (10077)\""), "publishing_paused ", 1,
	  "make room on the disk of the broker" },
	{ WORKER("\"state\": \"paused\", \"why\": \"insufficient resources "
	  "(10023)\""), "publishing_paused ", 1, "raise max_file" },
	{ WORKER("\"state\": \"paused\", \"why\": \"insufficient storage "
	  "resources available (10047)\""), "publishing_paused ", 1,
	  "raise max_file" },
	{ "{" ALIVE "\"this_host\": {}, \"blocked\": [{\"reason\": "
	  "\"failed\", \"keys\": 9}], \"held\": {\"messages\": 9, \"since\": "
	  "\"2026-01-31T12:00:00.000000Z\", \"first\": 7, \"error\": \"held: "
	  "more than 3 of its type were to be dead letters: HTTP 400\"}}",
	  "held_messages ", 1, "to be dead letters: 9; the first is 7: more "
	  "than 3 of its type were to be dead letters: HTTP 400: correct what "
	  "refuses them, then outboxctl keys retry --all" },
	{ "{" ALIVE "\"this_host\": {}, \"held\": null}", "", 0, NULL },
	{ "{" ALIVE "\"this_host\": {}, \"server\": {\"wait_timeout\": 5}}",
	  "wait_timeout ", 0, "idle for 5 s (wait_timeout)" },
	/* Nodes that are written without waiting for one another. */
#define GALERA(sync, other) "{" ALIVE "\"this_host\": {}, \"cluster\": " \
	"{\"kind\": \"galera\", \"wsrep_sync_wait\": " sync "}, " \
	"\"hosts\": [{\"host\": \"A\", \"servers\": [\"n1\"]}, " \
	"{\"host\": \"B\", \"servers\": [\"" other "\"]}]}"
	{ GALERA("0", "n2"), "several_writers ", 0, "wsrep_sync_wait is 0: if "
	  "producers do so too" },
	{ GALERA("0", "n1"), "", 0, NULL },
	{ GALERA("7", "n2"), "", 0, NULL },
	{ GALERA("null", "n2"), "", 0, NULL },
#define GROUP(several, consistency) "{" ALIVE "\"this_host\": {}, " \
	"\"cluster\": {\"kind\": \"group\", \"multi_primary\": " several \
	", \"consistency\": " consistency "}}"
	{ GROUP("true", "\"EVENTUAL\""), "several_writers ", 0,
	  "SELECT group_replication_switch_to_single_primary_mode(), or" },
	{ GROUP("true", "\"BEFORE_ON_PRIMARY_FAILOVER\""),
	  "several_writers ", 0, NULL },
	{ GROUP("true", "\"BEFORE_AND_AFTER\""), "", 0, NULL },
	{ GROUP("true", "null"), "", 0, NULL },
	{ GROUP("false", "\"EVENTUAL\""), "", 0, NULL },
#define PRIMARY(point) "{" ALIVE "\"this_host\": {}, \"cluster\": " \
	"{\"kind\": \"primary\", \"online\": 2, \"semi_sync\": " point "}}"
	{ PRIMARY("null"), "asynchronous ", 0, "replication is asynchronous" },
	{ PRIMARY("\"AFTER_COMMIT\""), "", 0, NULL },
	{ PRIMARY("\"AFTER_SYNC\""), "", 0, NULL },
	{ "{" ALIVE "\"this_host\": {}, \"backlog\": null}", "missing_index ", 0,
	  "outboxctl schema upgrade --admin root adds it" },
	{ "{\"database\": {\"error\": \"odd\"}, \"backlog\": null}",
	  "database ", 3, NULL },
	{ "{" ALIVE "\"this_host\": {}, \"server\": {\"wait_timeout\": 600}}",
	  "", 0, NULL },
	{ "{" ALIVE "\"this_host\": {}, \"blocked\": [{\"reason\": "
	  "\"in doubt\", \"keys\": 3, \"head\": 8, \"doubt_ms\": 600000}]}",
	  "in_doubt ", 1, "it has been in doubt for 10 min, and its key waits; "
	  "2 more keys" },
	{ "{" ALIVE "\"this_host\": {}, \"blocked\": [{\"reason\": "
	  "\"in doubt\", \"keys\": 1, \"head\": 8, \"doubt_ms\": null}]}",
	  "in_doubt ", 1, "in doubt, and its key waits: outboxctl messages "
	  "show 8 tells why" },
	/* Why, which right to grant, and the operator's own decision. */
	{ "{" ALIVE "\"this_host\": {}, \"blocked\": [{\"reason\": "
	  "\"in doubt\", \"keys\": 1, \"head\": 8, \"doubt_ms\": 600000, "
	  "\"error\": \"may be stored already, and the stream cannot be "
	  "searched for it: Permissions Violation for Publish to "
	  "'$JS.API.STREAM.MSG.GET.EVENTS': the user in the section nats "
	  "lacks this right\"}]}", "in_doubt ", 1, "its key waits: "
	  "Permissions Violation for Publish to '$JS.API.STREAM.MSG.GET." },
	{ "{" ALIVE "\"this_host\": {}, \"blocked\": [{\"reason\": "
	  "\"in doubt\", \"keys\": 1, \"head\": 8, \"error\": \"the stream "
	  "cannot be searched for it: Permissions Violation for Publish to "
	  "'x'\"}]}", "in_doubt ", 1, "'x': allow the user in the section "
	  "nats to publish to $JS.API.STREAM.INFO.EVENTS and "
	  "$JS.API.STREAM.MSG.GET.EVENTS; it goes on by itself then; if you "
	  "know whether it is in the stream, outboxctl messages resolve "
	  "--sent 8, or --unsent 8" },
	{ "{" ALIVE "\"this_host\": {}, \"blocked\": [{\"reason\": "
	  "\"in doubt\", \"keys\": 1, \"head\": 8, \"error\": \"the stream "
	  "cannot be searched for it: JetStream does not answer: it is off, "
	  "or the account has none\"}]}", "in_doubt ", 1, "the account has "
	  "none: turn on JetStream" },
	/* Of another destination than NATS, in words of its own. */
	{ "{" ALIVE "\"this_host\": {}, \"blocked\": [{\"reason\": "
	  "\"in doubt\", \"keys\": 1, \"head\": 8, \"error\": \"the topic "
	  "cannot be searched for it: topic t: the user may not read it\"}]}",
	  "in_doubt ", 1, "its key waits: topic t: the user may not read it: "
	  "if you know whether it is in the topic, outboxctl messages resolve "
	  "--sent 8, or --unsent 8" },
	{ "{" ALIVE "\"this_host\": {}, \"missing\": [{\"table\": \"t\", "
	  "\"cost\": \"c\"}]}", "missing_table ", 1, "the table t is missing, "
	  "or this account may not see it: c: outboxctl setup --no-event" },
	{ "{" ALIVE "\"this_host\": {}, \"clock\": {\"rows\": 2, \"first\": "
	  "7, \"ahead_ms\": 3600000, \"leases\": 1}}", "clock_back ", 1,
	  "written before: 2, for up to 1 h; leases: 1: correct the clock "
	  "(NTP), or wait; outboxctl messages retry 7 " },
	{ "{" ALIVE "\"this_host\": {}, \"dead\": {\"new\": 3}}",
	  "dead_letters ", 1, "outboxctl dead list" },
	{ "{" ALIVE "\"this_host\": {}, \"streams\": [{\"name\": \"EVENTS\", "
	  "\"phantoms\": 9}]}", "phantoms ", 1, "by a failover, a "
	  "restored backup or a TRUNCATE, stream sequences" },
	{ "{" ALIVE "\"this_host\": {}, \"partitions\": {\"paused\": 4, "
	  "\"total\": 4}, \"streams\": [{\"name\": \"EVENTS\", \"phantoms\": 9, "
	  "\"rival\": \"db2:3306\"}]}", "split_brain ", 1, "split brain: "
	  "db2:3306 publishes under the outbox id of this database, too: at "
	  "least 9 messages, stream EVENTS, sequences 0 to 0, have no event "
	  "here; all partitions are paused here: make one server a replica of "
	  "the other, or stop the daemons of the wrong one; if this one is "
	  "right, outboxctl phantoms forget " },
	{ "{" ALIVE "\"this_host\": {}, \"streams\": [{\"name\": \"EVENTS\", "
	  "\"phantoms\": 9, \"rival\": \"db2:3306\"}]}", "split_brain ", 1,
	  "this one was in use before, and goes on: make one server" },
	{ "{" ALIVE "\"this_host\": {}, \"streams\": [{\"name\": \"EVENTS\", "
	  "\"lost\": 3, \"lost_first\": 7, \"lost_last\": 9, \"lost_at\": "
	  "\"2026-11-23T15:00:00Z\"}]}", "lost_messages ", 1, "stream EVENTS "
	  "lost 3 messages that were acknowledged, sequences 7 to 9, and with "
	  "nats.recover: report nothing is sent again: outboxctl stream "
	  "republish " },
	{ "{" ALIVE "\"this_host\": {}, \"streams\": [{\"name\": "
	  "\"topics of Kafka\", \"lost\": 3, \"lost_first\": 7, "
	  "\"lost_last\": 9}]}", "lost_messages ", 1, "topics of Kafka lost 3 "
	  "messages that were acknowledged, rows 7 to 9, and with "
	  "kafka.recover: report nothing is sent again: outboxctl stream "
	  "republish " },
	{ "{" ALIVE "\"this_host\": {}, \"streams\": [{\"name\": "
	  "\"topics of Kafka\", \"alarm\": \"topic x lacks all\"}]}",
	  "stream_alarm ", 1, "topics of Kafka: topic x lacks all: outboxctl "
	  "stream republish " },
	{ "{" ALIVE "\"this_host\": {}, \"streams\": [{\"name\": \"EVENTS\", "
	  "\"missing\": 3, \"holes\": \"7-8,15\"}]}", "missing_messages ", 1,
	  "stream EVENTS lacks 3 messages that it had acknowledged, sequences "
	  "7-8,15, and they are not sent again by themselves: if they were "
	  "removed on purpose, outboxctl stream forget accepts that for good; "
	  "if not, outboxctl stream republish " },
	{ "{" ALIVE "\"this_host\": {}, \"streams\": [{\"name\": \"EVENTS\", "
	  "\"alarm\": \"was emptied\", \"alarm_at\": "
	  "\"2026-11-23T15:00:00Z\"}]}", "stream_alarm ", 1,
	  "stream EVENTS was emptied: outboxctl stream republish " },
	{ "{" ALIVE "\"this_host\": {}, \"strays\": {\"labels\": 3, "
	  "\"first\": \"0x6101\", \"why\": \"too long\", \"sql\": "
	  "\"UPDATE x\"}}", "stray_labels ", 1, "under the label 0x6101, "
	  "which no worker can lease: too long; so do rows under 2 more such "
	  "labels: correct the labels that the producer writes; this gives "
	  "the rows the label of their key: UPDATE x" },
	{ "{" ALIVE "\"this_host\": {}, \"undeclared\": \"a producer\"}",
	  "undeclared_count ", 1, "a producer" },
	{ "{" ALIVE "\"this_host\": {}, \"counts\": {\"present\": 48}}",
	  "count_change ", 0, "changed to 48" },
	{ "{" ALIVE "\"this_host\": {}, \"counts\": {\"present\": 48, "
	  "\"finish_ms\": 60000}}", "count_change ", 0, ": in 1 min at the "
	  "earliest: outboxctl partitions sync --finish" },
	{ "{" ALIVE "\"this_host\": {}, \"rights\": [{\"what\": \"outbox\", "
	  "\"cost\": \"nothing is sent\", \"sql\": \"GRANT x\"}]}", "rights ",
	  1, "outbox: nothing is sent: GRANT x" },
	{ "{" ALIVE "\"this_host\": {}, \"rights\": [{\"what\": \"outbox\", "
	  "\"cost\": \"nothing is deleted\", \"sql\": \"GRANT x\", "
	  "\"needed\": false}]}", "optional_rights ", 1, "GRANT x" },
	{ "{" ALIVE "\"this_host\": {}, \"broker\": {\"unheard\": "
	  "\"has no consumer\"}}", "no_consumer ", 1, "stream EVENTS has no "
	  "consumer: make the consumers" },
	{ "{" ALIVE "\"this_host\": {}, \"broker\": {\"advice\": "
	  "[\"has a short window\"]}}", "stream_advice ", 0,
	  "stream EVENTS has a short window: outboxctl stream info" },
	{ "{" ALIVE "\"this_host\": {}, \"topics\": [{\"topic\": \"a\", "
	  "\"findings\": [{\"level\": \"advice\", \"text\": \"has one: give "
	  "it three\"}]}, {\"topic\": \"b\", \"findings\": [{\"level\": "
	  "\"advice\", \"text\": \"has one: give it three\"}]}]}",
	  "stream_advice ", 0, "topic a (and 1 more) has one: give it three" },
	{ "{" ALIVE "\"this_host\": {}, \"topics\": [{\"topic\": \"a\", "
	  "\"findings\": [{\"level\": \"fail\", \"text\": \"cannot be used: "
	  "denied: allow it\"}, {\"level\": \"warn\", \"text\": \"is odd: "
	  "mend it\"}]}], \"blocked\": [{\"reason\": \"refused\", \"keys\": 1, "
	  "\"error\": \"topic a: denied\"}]}",
	  "stream_unfit stream_settings ", 1,
	  "topic a cannot be used: denied: allow it" },
	{ "{" ALIVE "\"this_host\": null, \"dead\": {\"new\": 3}}",
	  "dead_letters no_daemon ", 1, NULL },
	{ "{" ALIVE "\"this_host\": {}, \"broker\": {\"error\": \"gone\"}}",
	  "broker ", 1, "the broker cannot be used: gone: start the NATS server at "
	  "nats://a:1 or nats://b:2, or correct nats.servers" },
	{ "{" ALIVE "\"this_host\": {}, \"broker\": {\"unfit\": \"is sealed\""
	  ", \"warnings\": [\"is odd\"]}}", "stream_unfit stream_settings ", 1,
	  "stream EVENTS is sealed" },
	{ "{" ALIVE "\"this_host\": {\"workers\": [{\"state\": \"paused\", "
	  "\"why\": \"publishing paused: x\"}]}, \"broker\": {\"full\": "
	  "\"is full, 20 of 20 messages\"}}", "stream_full ", 1,
	  "stream EVENTS is full, 20 of 20 messages: raise this limit" },
	{ WORKER("\"silent_ms\": 6001, \"pid\": 7"), "silent_worker ", 1,
	  "pid 7, has been silent for 6 s: ps -o stat,wchan -p 7" },
	{ WORKER("\"silent_ms\": 6001, \"pid\": 7, \"kernel_state\": \"T\""),
	  "silent_worker ", 1, "pid 7, stopped by a signal, has been silent for 6 s: "
	  "kill -CONT 7" },
	{ WORKER("\"silent_ms\": 6000"), "", 0, NULL },
	{ WORKER("\"state\": \"no database\", \"why\": \"refused\""),
	  "waiting_worker ", 1, "no database: refused: the error log" },
	{ HERE("\"listener\": {\"state\": \"refused\", \"why\": \"binlog: no "
	  "right\", \"state_ms\": 10000}"), "waiting_worker ", 1, "no right: "
	  "outboxctl setup --no-event --follow-binlog grants what it lacks" },
	{ HERE("\"janitor\": {\"state\": \"refused\", \"why\": \"DELETE "
	  "command denied\", \"state_ms\": 10000}"), "waiting_worker ", 1,
	  "denied: outboxctl setup --no-event grants" },
	{ HERE("\"workers\": [{\"id\": \"a\", \"state\": \"paused\", "
	  "\"why\": \"full\"}, {\"id\": \"b\", \"state\": \"paused\", "
	  "\"why\": \"full\"}]"), "publishing_paused ", 1, "paused: full" },
	{ "{" ALIVE "\"broker\": {\"error\": \"gone\"}, \"this_host\": "
	  "{\"workers\": [{\"state\": \"no broker\", \"why\": \"gone\"}]}}",
	  "broker ", 1, "cannot be used: gone" },
	{ WORKER("\"state\": \"paused\", \"why\": \"publishing paused: x\""),
	  "publishing_paused ", 1, "publishing paused: x: correct the stream" },
	{ "{\"workers\": {\"live\": 2}, \"this_host\": null}", "no_daemon ", 0,
	  "no daemon runs on this host" },
	{ "{" ALIVE "\"daemon_died\": 77}", "daemon_died ", 1, "pid 77" },
	{ "{" ALIVE "\"files_lost\": 77}", "run_files ", 1, "runs (pid 77), and "
	  "its files are gone, which were beside /run/x.pid: nothing can be "
	  "told of it, nor does its monitor answer there: kill 77, and when "
	  "it has ended, service outbox-master start" },
	{ HERE("\"reload\": {\"accepted\": false, \"why\": \"line 3\"}"),
	  "reload_refused ", 1, "line 3" },
	{ HERE("\"pid\": 7, \"reload\": {\"accepted\": false, \"why\": "
	  "\"line 2: mysql.password_env: PW: not set\"}"), "reload_refused ", 1,
	  "start it again: kill 7, then service outbox-master start" },
	{ "{\"configuration\": {\"error\": \"f: line 3\"}, \"this_host\": "
	  "{\"reload\": {\"accepted\": false, \"why\": \"line 3\"}}}",
	  "configuration ", 78, "in error, and the daemon of this host goes on "
	  "with its former one: f: line 3: correct it" },
	{ "{\"configuration\": {\"error\": \"f: line 3\"}, \"this_host\": "
	  "{\"workers\": [{\"state\": \"running\"}]}}", "wrong_file ", 78,
	  "and the daemon of this host goes on" },
	{ "{\"configuration\": {\"error\": \"f: line 3\"}, \"this_host\": "
	  "{\"workers\": [{\"state\": \"no database\", \"why\": \"x\"}]}}",
	  "configuration waiting_worker ", 78, NULL },
	{ "{\"configuration\": {\"error\": \"f: line 3\"}}", "configuration ",
	  78, "so that no daemon can start: f: line 3" },
	{ "{\"configuration\": {\"error\": \"pw: denied\", \"secret\": true}, "
	  "\"this_host\": {\"reload\": {\"accepted\": false}}}",
	  "configuration reload_refused ", 78, "cannot read a secret, so the "
	  "state of the fleet is not known: pw: denied: run this command as" },
	{ HERE("\"reload\": {\"accepted\": true}"), "", 0, NULL },
	{ HERE("\"refused\": [{\"subject\": \"e.x\", \"type\": \"x\", "
	  "\"why\": \"no stream takes it\"}]"), "refused_subject ", 1,
	  "no stream takes it" },
	{ "{" ALIVE "\"broker\": {\"subjects\": \"e.y\"}, \"this_host\": "
	  "{\"refused\": [{\"subject\": \"e.x\", \"type\": \"x\", \"class\": "
	  "\"no_stream\", \"why\": \"w\"}]}}", "refused_subject ", 1,
	  "no stream takes subject \"e.x\" (type x): add it to the subjects of "
	  "stream EVENTS, which are e.y" },
	{ HERE("\"destinations\": [{\"destination\": \"hooks\", \"to\": "
	  "\"http://h\", \"state\": \"fails\", \"for_ms\": 3000, "
	  "\"why\": \"HTTP 500\"}, {\"destination\": \"b\", \"state\": "
	  "\"works\"}], \"refused\": [{\"type\": \"route hooks, type x\", "
	  "\"why\": \"HTTP 500\"}]"), "destination_fails ", 1,
	  "route hooks (http://h) takes no messages: HTTP 500: the log of the "
	  "server at http://hooks.example tells why" },
	{ HERE("\"destinations\": [{\"destination\": \"hooks\", \"state\": "
	  "\"fails\", \"for_ms\": 2999, \"why\": \"HTTP 500\"}]"), "", 0,
	  NULL },
	{ "{" ALIVE "\"backlog\": {\"waiting\": 0, \"exact\": true}, "
	  "\"this_host\": {\"destinations\": [{\"destination\": \"hooks\", "
	  "\"state\": \"fails\", \"for_ms\": 9000, \"why\": \"x\"}]}}", "",
	  0, NULL },
	{ HERE("\"destinations\": [{\"destination\": \"publish.driver\", "
	  "\"to\": \"nats stream EVENTS\", \"state\": \"fails\", "
	  "\"for_ms\": 9000, \"why\": \"no answer\"}]"),
	  "destination_fails ", 1, "the destination (nats stream EVENTS) takes "
	  "no messages: no answer" },
	{ HERE("\"destinations\": [{\"destination\": \"publish.driver\", "
	  "\"state\": \"fails\", \"for_ms\": 9000, \"why\": \"x\"}], "
	  "\"refused\": [{\"type\": \"x\", \"why\": \"no stream\"}]"),
	  "refused_subject ", 1, "no stream" },
	{ WORKER("\"recovered\": 1200"), "sent_again ", 0, "messages that the "
	  "stream had lost were sent again: 1,200: outboxctl logs" },
	{ HERE("\"workers\": [{\"log_lost\": 1}], \"master\": "
	  "{\"log_lost\": 2}"), "log_lost ", 1, "lost: 3: see why nobody "
	  "reads standard error" },
	{ HERE("\"listener\": {\"state\": \"refused\", \"why\": "
	  "\"no right\", \"state_ms\": 10000}"), "waiting_worker ", 1,
	  "listener: refused: no right" },
	{ HERE("\"listener\": {\"state\": \"refused\", \"why\": "
	  "\"no right\", \"state_ms\": 9999}"), "", 0, NULL },
	{ HERE("\"listener\": {\"state\": \"no binlog\", \"why\": "
	  "\"no right\", \"state_ms\": 99999}"), "", 0, NULL },
	{ HERE("\"listener\": {\"vanished\": 1200, \"vanished_ms\": 600000, "
	  "\"vanished_last\": 51, \"inserted_last\": 100, "
	  "\"vanished_at\": \"2026-11-23T15:00:00Z\"}"), "rows_vanish ", 1,
	  "in one transaction: 1,200, 51 of the last 100 rows, the last one at "
	  "2026-11-23T15:00:00Z: no worker can see them, so their messages are "
	  "not sent: let the " },
	{ HERE("\"listener\": {\"vanished\": 1200, \"vanished_ms\": 600000, "
	  "\"vanished_last\": 50, \"inserted_last\": 100}"), "rows_unseen ",
	  0, "some rows of the outbox are inserted and deleted" },
	{ HERE("\"listener\": {\"vanished\": 19, \"vanished_ms\": 1, "
	  "\"vanished_last\": 19, \"inserted_last\": 19}"), "", 0, NULL },
	{ HERE("\"janitor\": {\"vanished\": 100, "
	  "\"vanished_at\": \"2026-11-23T15:00:00Z\"}"), "rows_unseen ", 0,
	  "100 numbers of events were given since 2026-11-23T15:00:00Z, and "
	  "not one of them has a row in the outbox to be seen: all is well if "
	  "these events have none by design" },
	{ HERE("\"janitor\": {\"vanished\": 100}, \"listener\": {\"vanished\": "
	  "20, \"vanished_last\": 20, \"inserted_last\": 20, "
	  "\"vanished_ms\": 1}"), "rows_vanish ", 1, "one transaction: 20, " },
	{ HERE("\"listener\": {\"vanished\": 99, \"vanished_last\": 99, "
	  "\"inserted_last\": 99, \"vanished_ms\": 600001}"), "", 0, NULL },
	{ HERE("\"monitor\": null, \"monitor_gone_ms\": 3000"), "monitor ", 1,
	  "the monitor has not run for 3 s: outboxctl logs" },
	{ HERE("\"monitor\": null, \"monitor_gone_ms\": 2999"), "", 0, NULL },
	{ HERE("\"monitor\": {\"why\": \"cannot listen on x: in use\"}"),
	  "monitor ", 1, "the monitor: cannot listen on x: in use: end what "
	  "uses the address" },
	{ HERE("\"monitor\": {\"why\": \"monitor.token_file: t\"}"),
	  "monitor ", 1, "monitor.token_file: t: correct the file" },
	{ HERE("\"monitor\": {\"log_lost\": 1}"), "log_lost ", 1,
	  "lost: 1" },
	{ HERE("\"workers\": [{\"id\": \"a\", \"state\": \"no database\", "
	  "\"why\": \"gone\"}], \"janitor\": {\"state\": \"no database\", "
	  "\"why\": \"gone\"}"), "waiting_worker ", 1, "no database: gone" },
	{ "{\"workers\": {\"live\": 0}, \"dead\": {\"new\": 1}, "
	  "\"broker\": {\"error\": \"gone\"}}",
	  "no_worker broker dead_letters ", 1, "no worker is alive" },
};

static void
each_has_a_remedy(const json_t *problems)
{
	json_t	*p;
	size_t	 i;

	json_array_foreach(problems, i, p)
		ck_assert_msg(*json_string_value(json_object_get(p,
		    "remedy")) != '\0', "no remedy: %s", json_string_value(
		    json_object_get(p, "text")));
}

/* Does it name a command of ours that has no file? */
static bool
lacks_file(const char *text)
{
	const char	*at = text;

	while ((at = strstr(at, "outboxctl ")) != NULL) {
		at += strlen("outboxctl ");
		if (strncmp(at, "-c '/tmp/my file' ", 18) != 0)
			return true;
	}
	return strstr(text, "service outbox-master") != NULL ||
	    strstr(text, "outbox-master -t") != NULL;
}

/* All commands are those of the file in use, and no remedy leads to itself. */
START_TEST(remedy_names_the_file)
{
	static char	 path[] = "/tmp/my file";
	json_t		*problems, *p;
	const char	*remedy, *id;
	size_t		 i;

	conf.path = path;
	problems = judge(states[_i].state);
	json_array_foreach(problems, i, p) {
		remedy = json_string_value(json_object_get(p, "remedy"));
		id = json_string_value(json_object_get(p, "id"));
		ck_assert_msg(!lacks_file(remedy), "%s: %s", id, remedy);
		ck_assert_msg(strstr(remedy, "' doctor") == NULL &&
		    strstr(remedy, "' status") == NULL, "%s: %s", id, remedy);
	}
	json_decref(problems);
	conf.path = NULL;
}
END_TEST

/* The remedy of log_lost is by where the log goes. */
START_TEST(lost_lines_have_the_remedy_of_their_target)
{
	static const char *const	 remedies[][2] = {
		{ "stderr", "nobody reads standard error" },
		{ "syslog", "restart the syslog daemon" },
		{ "/var/log/x", "make room for /var/log/x, or" } };
	json_t				*problems;
	const char			*remedy;
	char				 target[16];

	conf.log.target = strcpy(target, remedies[_i][0]);
	problems = judge(HERE("\"workers\": [{\"log_lost\": 1}]"));
	remedy = json_string_value(json_object_get(json_array_get(problems, 0),
	    "remedy"));
	ck_assert_msg(strstr(remedy, remedies[_i][1]) != NULL, "%s", remedy);
	json_decref(problems);
	conf.log.target = NULL;
}
END_TEST

/* One cause is one problem, whatever a worker calls it. */
START_TEST(reason_is_told_once)
{
	json_t	*problems = judge("{" ALIVE "\"broker\": {\"error\": "
		    "\"gone\"}, \"this_host\": {\"workers\": "
		    "[{\"state\": \"no broker\", \"why\": \"other\"}], "
		    "\"janitor\": {\"state\": \"x\", \"why\": "
		    "\"gone\", \"state_ms\": 20000}}}");

	ck_assert_uint_eq(json_array_size(problems), 1);
	json_decref(problems);
}
END_TEST

START_TEST(state_has_its_problems)
{
	json_t		*problems = judge(states[_i].state);
	json_t		*all = member_of(states[_i].state, "advice");
	const char	*text;
	char		*found;

	ck_assert_int_eq(health_exit(problems), states[_i].status);
	ck_assert((json_array_size(problems) > 0) == (states[_i].status > 0));
	json_array_extend(problems, all);
	found = ids(problems);
	text = json_string_value(json_object_get(json_array_get(problems, 0),
	    "text"));
	ck_assert_str_eq(found, states[_i].ids);
	if (text != NULL)
		each_has_a_remedy(problems);
	if (states[_i].text != NULL)
		ck_assert_msg(strstr(text, states[_i].text) != NULL, "%s",
		    text);
	free(found);
	json_decref(problems);
	json_decref(all);
}
END_TEST

/* Without leases workers do not register. */
START_TEST(worker_without_leases_is_not_missed)
{
	json_t	*problems;

	conf.worker.leasing = false;
	problems = judge("{\"workers\": {\"live\": 0}}");
	ck_assert_uint_eq(json_array_size(problems), 0);
	json_decref(problems);
}
END_TEST

/* The entry of a kind in the manual, with its blanks as one; NULL: none. */
static char *
entry_of(const char *id)
{
	const char	*srcdir = getenv("srcdir"), *end, *last;
	char		 path[4096], begin[64], *text, *entry, *to;

	snprintf(path, sizeof(path), "%s/man/outboxctl.1",
	    srcdir == NULL ? "." : srcdir);
	snprintf(begin, sizeof(begin), "\n.It Cm %s\n", id);
	text = strstr(read_file(path), begin);
	if (text == NULL)
		return NULL;
	end = strstr(text + 1, "\n.It Cm ");
	last = strstr(text + 1, "\n.El");
	if (end == NULL || (last != NULL && last < end))
		end = last;
	entry = to = xstrndup(text, (size_t)(end - text));
	for (const char *from = entry; *from != '\0'; from++)
		if (*from != '\n')
			*to++ = *from;
		else if (to == entry || to[-1] != ' ')
			*to++ = ' ';
	*to = '\0';
	return entry;
}

/* Every kind is found by a state above, and the manual has cause and remedy. */
START_TEST(kind_is_found_and_explained)
{
	size_t				 n;
	const struct health_kind	*kinds = health_kinds(&n);
	const char			*id = kinds[_i].id;
	char				*entry = entry_of(id);
	bool				 found = false;

	ck_assert_uint_gt(n, (size_t)_i);
	for (size_t i = 0; i < NROWS(states); i++)
		found = found || strstr(states[i].ids, id) != NULL;
	ck_assert_msg(found, "no state has the problem %s", id);
	ck_assert_msg(entry != NULL, "PROBLEMS in outboxctl(1) lacks %s", id);
	ck_assert_msg(strstr(entry, " Remedy: ") != NULL, "PROBLEMS in "
	    "outboxctl(1): %s has no line that begins with Remedy:", id);
	free(entry);
}
END_TEST

/* The index above the entries has all ids, in the order of status. */
START_TEST(index_is_that_of_the_code)
{
	size_t				 n;
	const struct health_kind	*kinds = health_kinds(&n);
	const char			*srcdir = getenv("srcdir");
	char				 path[4096];
	struct buf			 index = { 0 };

	for (size_t i = 0; i < n; i++)
		if (i == 0 || kinds[i].severity != kinds[i - 1].severity)
			buf_printf(&index, "%s.It %s\n.Cm %s", i == 0 ? "" :
			    "\n", health_severity_word(kinds[i].severity),
			    kinds[i].id);
		else
			buf_printf(&index, " ,\n.Cm %s", kinds[i].id);
	buf_str(&index, "\n.El\n");
	snprintf(path, sizeof(path), "%s/man/outboxctl.1",
	    srcdir == NULL ? "." : srcdir);
	ck_assert_msg(strstr(read_file(path), index.data) != NULL,
	    "the index of PROBLEMS in outboxctl(1) has to be:\n%s",
	    index.data);
	buf_free(&index);
}
END_TEST

/* What keeps all messages of a host back is no mere warning. */
START_TEST(what_stops_all_is_critical)
{
	static const char *const	ids[] = { "configuration", "database",
					    "no_worker", "broker",
					    "missing_table" };
	size_t				n, found = 0;
	const struct health_kind	*kinds = health_kinds(&n);

	for (size_t i = 0; i < n; i++)
		for (size_t k = 0; k < NROWS(ids); k++)
			found += strcmp(kinds[i].id, ids[k]) == 0 &&
			    kinds[i].severity == HEALTH_CRITICAL;
	ck_assert_uint_eq(found, NROWS(ids));
}
END_TEST

/* "outboxctl dead retry 9 sends" as "dead retry"; its end, or NULL. */
static const char *
next_command(const char *text, char words[64])
{
	static const char	groups[] = " messages dead keys partitions "
				    "schema stream phantoms audit ";
	char			first[32], second[32], group[40];
	int			n = 0;

	text = strstr(text, "outboxctl ");
	if (text == NULL)
		return NULL;
	text += strlen("outboxctl ");
	if (strncmp(text, "-c ", 3) == 0) {
		text += 3;
		text += strcspn(text, " ");
		text += strspn(text, " ");
	}
	first[0] = second[0] = words[0] = '\0';
	first[sizeof(first) - 1] = second[sizeof(second) - 1] = '\0';
	strncpy(first, text, sizeof(first) - 1);
	n = (int)strspn(first, "abcdefghijklmnopqrstuvwxyz-");
	first[n] = '\0';
	snprintf(group, sizeof(group), " %s ", first);
	if (strstr(groups, group) == NULL)
		snprintf(words, 64, "%s", first);
	else {
		strncpy(second, text + n + (text[n] == ' '),
		    sizeof(second) - 1);
		second[strspn(second, "abcdefghijklmnopqrstuvwxyz-")] = '\0';
		snprintf(words, 64, "%s %s", first, second);
	}
	return text;
}

/* The manual names the commands of the remedies that status prints. */
START_TEST(manual_has_the_commands_of_remedies)
{
	json_t	*problems = judge(states[_i].state);
	json_t	*advice = member_of(states[_i].state, "advice");
	json_t	*p;
	size_t	 i;

	json_array_extend(problems, advice);
	json_decref(advice);
	json_array_foreach(problems, i, p) {
		const char	*id = json_string_value(json_object_get(p,
				    "id"));
		const char	*at = json_string_value(json_object_get(p,
				    "remedy"));
		char		*entry = entry_of(id), command[64];

		ck_assert_ptr_nonnull(entry);
		while ((at = next_command(at, command)) != NULL)
			ck_assert_msg(strstr(entry, command) != NULL, "PROBLEMS "
			    "in outboxctl(1): %s: its remedy does not name: "
			    "outboxctl %s", id, command);
		free(entry);
	}
	json_decref(problems);
}
END_TEST

int
main(void)
{
	Suite	*s = suite_create("health");
	TCase	*tc = tcase_create("health");
	size_t	 n;

	health_kinds(&n);
	tcase_add_checked_fixture(tc, begin, NULL);
	tcase_add_loop_test(tc, state_has_its_problems, 0, NROWS(states));
	tcase_add_loop_test(tc, remedy_names_the_file, 0, NROWS(states));
	tcase_add_loop_test(tc, lost_lines_have_the_remedy_of_their_target, 0,
	    3);
	tcase_add_test(tc, reason_is_told_once);
	tcase_add_test(tc, worker_without_leases_is_not_missed);
	tcase_add_loop_test(tc, kind_is_found_and_explained, 0, (int)n);
	tcase_add_test(tc, index_is_that_of_the_code);
	tcase_add_test(tc, what_stops_all_is_critical);
	tcase_add_loop_test(tc, manual_has_the_commands_of_remedies, 0,
	    NROWS(states));
	suite_add_tcase(s, tc);
	return run_suite(s);
}
