/* health_fleet.c - workers, partitions, backlog and streams, by the tables */

#include "health/health_impl.h"

#include <stdio.h>
#include <string.h>

#include "common/command_file.h"
#include "util/clock.h"
#include "util/display.h"
#include "util/duration.h"

/* Workers take over a lease that has expired within a few seconds. */
#define EXPIRED_MS	15000

/* Without leases workers do not register. */
static void
judge_workers(struct health *h)
{
	const json_t	*workers = json_object_get(h->state, "workers");
	const json_t	*backlog = json_object_get(h->state, "backlog");
	const json_t	*here = json_object_get(h->state, "this_host");
	int64_t		 n = later(1, health_number(backlog, "waiting"));
	long long	 pid = health_number(h->state, "daemon_died");
	char		 died[80] = "";
	struct buf	 remedy = { 0 };

	if (!json_is_object(workers) || !h->conf->worker.leasing ||
	    health_number(workers, "live") > 0 ||
	    health_has(h, HEALTH_SCHEMA_NEWER))
		return;
	if (json_array_size(json_object_get(here, "workers")) > 0)
		buf_str(&remedy, "correct what the workers of this host wait "
		    "for, which another problem or outboxctl logs tells");
	else {
		command_file_start(&remedy, h->conf->path);
		buf_str(&remedy, pid > 0 ? "; outboxctl logs tells why it "
		    "ended" : "; if nobody has stopped it, outboxctl logs "
		    "tells why it ended");
	}
	if (pid > 0)
		snprintf(died, sizeof(died), "; the daemon of this host has "
		    "died (pid %lld)", pid);
	if (json_is_object(json_object_get(h->state, "oldest")))
		health_add(h, HEALTH_NO_WORKER, (struct health_about){ 0 },
		    remedy.data, "no worker is alive and %s%s %s%s",
		    json_is_false(json_object_get(backlog, "exact")) ?
		    "about " : "", DISPLAY_NUMBER(n), n == 1 ?
		    "row waits" : "rows wait", died);
	else
		health_add(h, HEALTH_NO_WORKER, (struct health_about){ 0 },
		    remedy.data, "no worker is alive%s", died);
	buf_free(&remedy);
}

#define NAMES	4	/* of hosts; more are counted */

/* If no worker is alive, there is a worse problem. */
static void
judge_vanished(struct health *h, const json_t *hosts)
{
	size_t		 n = json_array_size(hosts), i;
	json_t		*host, *since = NULL;
	struct buf	 names = { 0 }, remedy = { 0 };

	if (n == 0 || health_has(h, HEALTH_NO_WORKER))
		return;
	json_array_foreach(hosts, i, host) {
		if (i < NAMES)
			buf_printf(&names, "%s%s", i > 0 ? ", " : "",
			    health_text(host, "host"));
		if (since == NULL || strcmp(health_text(host, "since"),
		    json_string_value(since)) < 0)
			since = json_object_get(host, "since");
	}
	if (n > NAMES)
		buf_printf(&names, " and %zu more", n - NAMES);
	buf_printf(&remedy, "start the daemon there again; or, if %s not to "
	    "come back, outboxctl workers forget %s", n == 1 ? "it is" :
	    "they are", n == 1 ? names.data : "--all");
	health_add(h, HEALTH_HOST_VANISHED, (struct health_about){
	    json_incref(since), json_pack("{s:s}", "hosts", names.data) },
	    remedy.data, "%s vanished: no worker there is alive any more, and "
	    "nobody has stopped them", names.data);
	buf_free(&names);
	buf_free(&remedy);
}

/* Does another problem say why nothing, or not this message, is sent? */
static bool
is_wait_explained(const struct health *h, const json_t *oldest)
{
	static const enum health_id	causes[] = { HEALTH_NO_WORKER,
					    HEALTH_SCHEMA_NEWER, HEALTH_BROKER,
					    HEALTH_STREAM_UNFIT,
					    HEALTH_STREAM_FULL,
					    HEALTH_PAUSED_PUBLISHING };
	const json_t	*here = json_object_get(h->state, "this_host");
	json_t		*w, *row;
	size_t		 i, k;

	for (i = 0; i < sizeof(causes) / sizeof(causes[0]); i++)
		if (health_has(h, causes[i]))
			return true;
	if (json_is_true(json_object_get(oldest, "paused")))
		return true;
	/* A worker of this host waits, or it is this row that it cannot write. */
	json_array_foreach(json_object_get(here, "workers"), i, w) {
		if (health_text(w, "why")[0] != '\0')
			return true;
		json_array_foreach(json_object_get(w, "rows"), k, row)
			if (health_number(row, "sequence") ==
			    health_number(oldest, "sequence"))
				return true;
	}
	return false;
}

static void
judge_oldest(struct health *h)
{
	const json_t	*oldest = json_object_get(h->state, "oldest");
	json_int_t	 sequence = health_number(oldest, "sequence");
	json_int_t	 age_ms = health_number(oldest, "age_ms");
	json_int_t	 drained_ms = health_number(json_object_get(h->state,
			    "backlog"), "drained_in_ms");
	char		 remedy[64], drained[100] = "";

	if (age_ms <= h->conf->health.max_age || is_wait_explained(h, oldest))
		return;
	if (drained_ms > 0)
		snprintf(drained, sizeof(drained), "; the backlog shrinks, at "
		    "this rate empty in %s", duration_words(drained_ms).text);
	snprintf(remedy, sizeof(remedy), "outboxctl messages show %lld",
	    (long long)sequence);
	health_add(h, HEALTH_OLDEST, (struct health_about){
	    NULL, json_pack("{s:I, s:O, s:O}", "sequence", sequence,
	    "partition", json_object_get(oldest, "partition"),
	    "at", json_object_get(oldest, "at")) }, remedy,
	    "the oldest waiting message has waited for %s (health.max_age: "
	    "%s)%s", duration_words(age_ms).text,
	    duration_words(h->conf->health.max_age).text, drained);
}

/* Their rows wait for ever. */
static void
judge_strays(struct health *h)
{
	const json_t	*strays = json_object_get(h->state, "strays");
	long long	 n = health_number(strays, "labels");
	char		 more[80] = "";
	struct buf	 remedy = { 0 };

	if (n == 0)
		return;
	if (n > 1)
		snprintf(more, sizeof(more), "; so do rows under %lld more "
		    "such labels", n - 1);
	buf_printf(&remedy, "correct the labels that the producer writes; this "
	    "gives the rows the label of their key: %s",
	    health_text(strays, "sql"));
	health_add(h, HEALTH_STRAY_LABELS, (struct health_about){
	    NULL, json_pack("{s:O}", "partition",
	    json_object_get(strays, "first")) }, remedy.data,
	    "rows wait under the label %s, which no worker can lease: %s%s",
	    health_text(strays, "first"), health_text(strays, "why"), more);
	buf_free(&remedy);
}

static bool
are_all_paused(const struct health *h)
{
	const json_t	*p = json_object_get(h->state, "partitions");

	return health_number(p, "paused") > 0 &&
	    health_number(p, "paused") == health_number(p, "total");
}

/* The messages of the other are good ones to somebody: none is to be deleted. */
static void
judge_rival(struct health *h, const json_t *s)
{
	bool	paused = are_all_paused(h);

	health_add(h, HEALTH_SPLIT_BRAIN, (struct health_about){
	    health_member(s, "rival_at"), json_pack("{s:O, s:O}", "stream",
	    json_object_get(s, "name"), "rival", json_object_get(s, "rival")) },
	    paused ? "make one server a replica of the other, or stop the "
	    "daemons of the wrong one; if this one is right, outboxctl "
	    "phantoms forget and outboxctl partitions resume --all" :
	    "make one server a replica of the other, or stop the daemons of "
	    "the wrong one; then outboxctl phantoms forget",
	    "split brain: %s publishes under the outbox id of this database, "
	    "too: at least %lld messages, stream %s, sequences %lld to %lld, "
	    "have no event here; %s", health_text(s, "rival"),
	    health_number(s, "phantoms"), health_text(s, "name"),
	    health_number(s, "phantom_first"),
	    health_number(s, "phantom_last"), paused ?
	    "all partitions are paused here" :
	    "this one was in use before, and goes on");
}

static void
judge_stream(struct health *h, const json_t *s)
{
	const char	*name = health_text(s, "name");
	json_t		*stream = json_object_get(s, "name");
	const struct driver_traits	*to = traits_of_audit(name);

	if (health_number(s, "lost") > 0)
		health_add(h, HEALTH_LOST_MESSAGES, (struct health_about){
		    health_member(s, "lost_at"), json_pack("{s:O, s:O, s:O}",
		    "stream", stream,
		    "first", json_object_get(s, "lost_first"),
		    "last", json_object_get(s, "lost_last")) },
		    "outboxctl stream republish sends them again (--dry-run "
		    "counts), outboxctl stream forget accepts the loss",
		    "%s%s lost %lld messages that were acknowledged, %s %lld "
		    "to %lld, and with %s: report nothing is sent again",
		    to->audit.before, name, health_number(s, "lost"),
		    to->audit.numbers, health_number(s, "lost_first"),
		    health_number(s, "lost_last"), to->audit.recover);
	/* Who removed them on purpose has to say so: it may be damage, too. */
	if (health_number(s, "missing") > 0)
		health_add(h, HEALTH_MISSING_MESSAGES, (struct health_about){
		    health_member(s, "missing_at"), json_pack("{s:O, s:O}",
		    "stream", stream, "holes", json_object_get(s, "holes")) },
		    "if they were removed on purpose, outboxctl stream forget "
		    "accepts that for good; if not, outboxctl stream republish "
		    "sends them again (--dry-run counts)", "stream %s lacks "
		    "%lld messages that it had acknowledged, sequences %s, and "
		    "they are not sent again by themselves", name,
		    health_number(s, "missing"), health_text(s, "holes"));
	if (health_text(s, "alarm")[0] != '\0')
		health_add(h, HEALTH_STREAM_ALARM, (struct health_about){
		    health_member(s, "alarm_at"), json_pack("{s:O}", "stream",
		    stream) }, "outboxctl stream republish sends what it lacks "
		    "(--dry-run counts), outboxctl stream forget accepts it",
		    "%s%s%s %s", to->audit.before, name, to->audit.behind,
		    health_text(s, "alarm"));
	if (health_text(s, "rival")[0] != '\0')
		judge_rival(h, s);
	else if (health_number(s, "phantoms") > 0)
		health_add(h, HEALTH_PHANTOMS, (struct health_about){
		    health_member(s, "phantom_at"), json_pack("{s:O}", "stream",
		    stream) }, "restore the events from the former primary, or "
		    "inform the consumers and delete the messages; then "
		    "outboxctl phantoms forget", "stream %s: %lld phantoms, "
		    "messages whose events this database has lost, by a "
		    "failover, a restored backup or a TRUNCATE, stream "
		    "sequences %lld to %lld", name,
		    health_number(s, "phantoms"),
		    health_number(s, "phantom_first"),
		    health_number(s, "phantom_last"));
}

static void
judge_counts(struct health *h)
{
	const json_t	*counts = json_object_get(h->state, "counts");
	const char	*undeclared = health_text(h->state, "undeclared");
	int64_t		 wait_ms = health_number(counts, "finish_ms");
	char		 remedy[160], in[80] = "";

	if (undeclared[0] != '\0')
		health_add(h, HEALTH_UNDECLARED_COUNT,
		    (struct health_about){ 0 }, "correct the producer, or "
		    "declare its count: write it into "
		    "outbox.partition_count and run outboxctl partitions "
		    "sync, then do both with the present one", "%s",
		    undeclared);
	if (!json_is_object(counts))
		return;
	if (wait_ms > 0)
		snprintf(in, sizeof(in), "in %s at the earliest: ",
		    duration_words(wait_ms).text);
	snprintf(remedy, sizeof(remedy), "%soutboxctl partitions sync "
	    "--finish, when all producers use the new count", in);
	health_add(h, HEALTH_COUNT_CHANGE, (struct health_about){
	    .since = health_member(counts, "since") }, remedy,
	    "the partition count is changed to %lld, and labels of the former "
	    "count are still served", health_number(counts,
	    "present"));
}

void
health_judge_fleet(struct health *h)
{
	const json_t	*p = json_object_get(h->state, "partitions");
	json_int_t	 paused = health_number(p, "paused");
	const char	*names = health_text(p, "paused_names");
	const json_t	*workers = json_object_get(h->state, "workers");
	json_t		*stream, *host;
	size_t		 i;

	judge_workers(h);
	json_array_foreach(json_object_get(h->state, "streams"), i, stream)
		judge_stream(h, stream);
	if (paused > 0 && !(health_has(h, HEALTH_SPLIT_BRAIN) &&
	    are_all_paused(h)))
		health_add(h, HEALTH_PAUSED_PARTITIONS, (struct health_about){
		    NULL, json_pack("{s:s}", "partitions", names) },
		    "outboxctl audit list tells who has paused them; outboxctl "
		    "partitions resume --all sends from all again",
		    "paused partitions: %lld (%s): nothing is sent from them",
		    (long long)paused, names);
	if (health_number(p, "expired_ms") > EXPIRED_MS && health_number(
	    json_object_get(h->state, "workers"), "live") > 0)
		health_add(h, HEALTH_UNOWNED_PARTITIONS,
		    (struct health_about){ 0 }, "outboxctl workers names the "
		    "hosts; there outboxctl logs tells what holds their "
		    "workers up",
		    "partitions have no worker: %lld, for up to %s",
		    health_number(p, "expired"),
		    duration_words(health_number(p, "expired_ms")).text);
	json_array_foreach(json_object_get(workers, "back"), i, host) {
		const char	*name = health_text(host, "host");
		long long	 n = health_number(host, "workers");

		health_add(h, HEALTH_HOST_STANDS_BACK, (struct health_about){
		    NULL, json_pack("{s:s}", "host", name) }, "on that host "
		    "outboxctl logs tells why", "%s does not reach %s, and "
		    "others do: %lld of its workers %s, and the partitions are "
		    "theirs", name, health_text(host, "away"), n, n == 1 ?
		    "stands back" : "stand back");
	}
	judge_vanished(h, json_object_get(workers, "vanished"));
	judge_strays(h);
	judge_counts(h);
}

void
health_judge_backlog(struct health *h)
{
	const json_t	*backlog = json_object_get(h->state, "backlog");
	json_int_t	 growing_ms = health_number(backlog, "growing_for_ms");

	judge_oldest(h);
	if (growing_ms > 0)
		health_add(h, HEALTH_BACKLOG_GROWING, (struct health_about){
		    health_member(backlog, "growing_since"), json_pack(
		    "{s:O}", "waiting", json_object_get(backlog, "waiting")) },
		    "correct the other problems first; if there are none, "
		    "raise master.workers, then outboxctl reload",
		    "the backlog has grown for %s, since %s: %s%s rows wait, "
		    "and about %s more each second",
		    duration_words(growing_ms).text,
		    health_text(backlog, "growing_since"),
		    json_is_false(json_object_get(backlog, "exact")) ?
		    "about " : "", DISPLAY_NUMBER(health_number(backlog,
		    "waiting")), DISPLAY_NUMBER(health_number(backlog,
		    "growth_per_second")));
}
