/* health_database.c - the server, its tables, and rows that are not there */

#include "health/health_impl.h"

#include <stdio.h>
#include <string.h>

#include "util/display.h"
#include "util/duration.h"

/* The daemon sets a longer one for itself; other programs do not. */
#define WAIT_TIMEOUT_S	60

static void
judge_database(struct health *h)
{
	const json_t	*db = json_object_get(h->state, "database");
	const char	*error = health_text(db, "error");
	const char	*what = "a table of the database cannot be read, so the "
			    "state of the fleet is not known";
	struct buf	 remedy = { 0 };

	/* A table that is gone is a problem of its own. */
	if (!json_is_object(db) ||
	    json_array_size(json_object_get(h->state, "missing")) > 0)
		return;
	if (strstr(error, "read-only") != NULL ||
	    strstr(error, "read only") != NULL)
		what = "the database takes no changes, so the daemon cannot "
		    "use it, and the state of the fleet is not shown";
	else if (strncmp(error, "mysql ", 6) == 0 ||
	    strstr(error, "onnect") != NULL || strstr(error, "gone") != NULL)
		what = "the database cannot be read, so the state of the fleet "
		    "is not known";
	health_database_remedy(h, error, &remedy);
	health_add(h, HEALTH_DATABASE, (struct health_about){ 0 }, remedy.data,
	    "%s: %s", what, error);
	buf_free(&remedy);
}

/* Moments that were written before the clock was put back. */
static void
judge_clock(struct health *h)
{
	const json_t	*clock = json_object_get(h->state, "clock");
	long long	 rows = health_number(clock, "rows");
	long long	 first = health_number(clock, "first");
	long long	 leases = health_number(clock, "leases");
	char		 remedy[160] = "it ends by itself";

	if (rows == 0 && leases == 0)
		return;
	if (rows > 0)
		snprintf(remedy, sizeof(remedy), "correct the clock (NTP), or "
		    "wait; outboxctl messages retry %lld sends one that has "
		    "no claim at once, outboxctl messages retry --all all of "
		    "them", first);
	health_add(h, HEALTH_CLOCK_BACK, (struct health_about){ NULL,
	    json_pack("{s:I}", "sequence", (json_int_t)first) }, remedy,
	    "the clock of the database was put back, or a failover went to a "
	    "server whose clock is behind: messages that wait for a moment "
	    "written before: %lld, for up to %s; leases: %lld", rows,
	    duration_words(health_number(clock, "ahead_ms")).text, leases);
}

/* Events with a row in other outboxes, and none in this. */
static void
judge_filling(struct health *h, const json_t *o)
{
	const char	*name = health_text(o, "name");
	long long	 n = health_number(o, "unfilled");

	if (json_is_false(json_object_get(o, "registered")))
		health_add(h, HEALTH_NOT_FILLED, (struct health_about){ 0 },
		    "as an administrator, outboxctl schema install --admin "
		    "root registers it; then outboxctl reconcile for the "
		    "events until then",
		    "other outboxes take the events of %s, and outbox_enqueue "
		    "makes no rows in %s: it is not registered",
		    health_text(o, "events"), name);
	else if (n > 0)
		health_add(h, HEALTH_NOT_FILLED, (struct health_about){
		    NULL, json_pack("{s:O}", "sequence",
		    json_object_get(o, "unfilled_first")) },
		    "outboxctl schema check tells whether the procedure or a "
		    "trigger is missing, and outboxctl schema install --admin "
		    "root makes it, as an administrator; then outboxctl "
		    "reconcile makes the rows",
		    "newest events without a row in %s: %lld, the first is "
		    "%lld: what writes them makes no row in this outbox", name,
		    n, health_number(o, "unfilled_first"));
}

/* Events that wait, and no worker can see them. */
static void
judge_unsent(struct health *h, const json_t *o)
{
	struct buf	remedy = { 0 };

	/* An application's column may be a text, and an operator pastes it. */
	buf_str(&remedy, "outboxctl reconcile --since ");
	display_put_word(&remedy, health_text(o, "unfilled_since"));
	buf_str(&remedy, " makes the rows; leave them in the table, where "
	    "outboxctl prune or retention.days deletes those that were "
	    "delivered");
	health_add(h, HEALTH_NOT_FILLED, (struct health_about){
	    NULL, json_pack("{s:O}", "sequence",
	    json_object_get(o, "unfilled_first")) }, remedy.data,
	    "newest events without a row in %s: %lld, the first is %lld: "
	    "their messages were not sent, and no worker can see them: the "
	    "rows were deleted, or never inserted", health_text(o, "name"),
	    health_number(o, "unfilled"), health_number(o, "unfilled_first"));
	buf_free(&remedy);
}

/* Most likely delivered.  Only a stream can show that to reconcile. */
static void
judge_gone(struct health *h, const json_t *o)
{
	char	remedy[400];

	snprintf(remedy, sizeof(remedy), "UPDATE %s SET reconcile_watermark = "
	    "%lld WHERE id = 1, if they were delivered or are not to be sent; "
	    "else outboxctl reconcile makes the rows",
	    health_text(o, "settings"), health_number(o, "gone_last"));
	health_add(h, HEALTH_ROWS_GONE, (struct health_about){
	    NULL, json_pack("{s:O}", "sequence",
	    json_object_get(o, "gone_first")) }, remedy,
	    "newest events without a row in %s, whose messages were delivered, "
	    "or may have been: %lld, from %lld to %lld: the rows were "
	    "deleted, and reconcile sends again what no stream shows",
	    health_text(o, "name"), health_number(o, "gone"),
	    health_number(o, "gone_first"), health_number(o, "gone_last"));
}

/* Where the outbox is alone, it is known which rows are gone. */
static void
judge_missing_rows(struct health *h)
{
	const json_t	*outbox = json_object_get(h->state, "outbox");

	if (!json_is_integer(json_object_get(outbox, "gone"))) {
		judge_filling(h, outbox);
		return;
	}
	if (health_number(outbox, "unfilled") > 0)
		judge_unsent(h, outbox);
	if (health_number(outbox, "gone") > 0)
		judge_gone(h, outbox);
}

void
health_judge_database(struct health *h)
{
	const json_t	*schema, *o;
	long long	 newest, wait_s;
	size_t		 i;

	judge_database(h);
	/* Newer tables may mean something else, so no worker touches them. */
	schema = json_object_get(h->state, "schema");
	newest = health_number(schema, "newest");
	if (newest > 0)
		health_add(h, HEALTH_SCHEMA_NEWER, (struct health_about){ 0 },
		    "install a newer outbox-master on this host, and start it "
		    "again",
		    "the tables have schema version %s, and this program knows "
		    "%lld at most: it sends no message",
		    health_text(schema, "version"), newest);
	json_array_foreach(json_object_get(h->state, "rights"), i, o)
		health_add(h, json_is_false(json_object_get(o, "needed")) ?
		    HEALTH_OPTIONAL_RIGHTS : HEALTH_RIGHTS,
		    (struct health_about){ 0 },
		    health_text(o, "sql"), "%s: %s", health_text(o, "what"),
		    health_text(o, "cost"));
	json_array_foreach(json_object_get(h->state, "missing"), i, o)
		health_add(h, HEALTH_MISSING_TABLE, (struct health_about){
		    NULL, json_pack("{s:O}", "table",
		    json_object_get(o, "table")) },
		    "outboxctl setup --no-event creates it, then outboxctl "
		    "reload", "the table %s is missing, or this account may "
		    "not see it: %s", health_text(o, "table"),
		    health_text(o, "cost"));
	judge_missing_rows(h);
	judge_clock(h);
	/* It was dropped, or an application's table never had it. */
	if (json_is_null(json_object_get(h->state, "backlog")) &&
	    !health_has(h, HEALTH_DATABASE))
		health_add(h, HEALTH_MISSING_INDEX, (struct health_about){ 0 },
		    "as an administrator, outboxctl schema upgrade --admin "
		    "root adds it", "the table %s has no index that begins "
		    "with published_at: each claim sorts all that waits, which "
		    "is not counted", conf_outbox_table(h->conf));
	wait_s = health_number(json_object_get(h->state, "server"),
	    "wait_timeout");
	if (wait_s > 0 && wait_s < WAIT_TIMEOUT_S)
		health_add(h, HEALTH_WAIT_TIMEOUT, (struct health_about){ 0 },
		    "SET GLOBAL wait_timeout = 28800, and in my.cnf", "the "
		    "server closes connections that are idle for %lld s "
		    "(wait_timeout): those of the daemon set it higher, but "
		    "a proxy or a pool of producers may lose theirs", wait_s);
}
