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

/* What to do if none is alive. */
static void
put_workers_remedy(const struct health *h, struct buf *b)
{
	const json_t	*here = json_object_get(h->state, "this_host");

	if (json_array_size(json_object_get(here, "workers")) > 0) {
		buf_str(b, "correct what the workers of this host wait for, "
		    "which another problem or outboxctl logs tells");
		return;
	}
	command_file_start(b, h->conf->path);
	buf_str(b, health_number(h->state, "daemon_died") > 0 ?
	    "; outboxctl logs tells why it ended" :
	    "; if nobody has stopped it, outboxctl logs tells why it ended");
}

/* Without leases workers do not register. */
static void
judge_workers(struct health *h)
{
	const json_t	*workers = json_object_get(h->state, "workers");
	const json_t	*backlog = json_object_get(h->state, "backlog");
	int64_t		 n = later(1, health_number(backlog, "waiting"));
	long long	 pid = health_number(h->state, "daemon_died");
	char		 died[80] = "";
	struct buf	 remedy = { 0 };

	if (!json_is_object(workers) || !h->conf->worker.leasing ||
	    health_number(workers, "live") > 0 ||
	    health_has(h, HEALTH_SCHEMA_NEWER))
		return;
	put_workers_remedy(h, &remedy);
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

/* Does a worker of this host wait, or is it this row that it cannot write? */
static bool
is_refused_here(const struct health *h, json_int_t sequence)
{
	const json_t	*here = json_object_get(h->state, "this_host");
	json_t		*w, *row;
	size_t		 i, k;

	json_array_foreach(json_object_get(here, "workers"), i, w) {
		if (health_text(w, "why")[0] != '\0')
			return true;
		json_array_foreach(json_object_get(w, "rows"), k, row)
			if (health_number(row, "sequence") == sequence)
				return true;
	}
	return false;
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

	for (size_t i = 0; i < sizeof(causes) / sizeof(causes[0]); i++)
		if (health_has(h, causes[i]))
			return true;
	return json_is_true(json_object_get(oldest, "paused")) ||
	    is_refused_here(h, health_number(oldest, "sequence"));
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

static void
judge_growth(struct health *h)
{
	const json_t	*backlog = json_object_get(h->state, "backlog");
	json_int_t	 growing_ms = health_number(backlog, "growing_for_ms");
	bool		 exact = !json_is_false(json_object_get(backlog,
			    "exact"));

	if (growing_ms > 0)
		health_add(h, HEALTH_BACKLOG_GROWING, (struct health_about){
		    health_member(backlog, "growing_since"), json_pack(
		    "{s:O}", "waiting", json_object_get(backlog, "waiting")) },
		    "correct the other problems first; if there are none, "
		    "raise master.workers, then outboxctl reload",
		    "the backlog has grown for %s, since %s: %s%s rows wait, "
		    "and about %s more each second",
		    duration_words(growing_ms).text,
		    health_text(backlog, "growing_since"), exact ? "" :
		    "about ", DISPLAY_NUMBER(health_number(backlog,
		    "waiting")), DISPLAY_NUMBER(health_number(backlog,
		    "growth_per_second")));
}

static void
judge_partitions(struct health *h)
{
	const json_t	*p = json_object_get(h->state, "partitions");
	json_int_t	 paused = health_number(p, "paused");
	const char	*names = health_text(p, "paused_names");

	if (paused > 0)
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
		    (long long)health_number(p, "expired"),
		    duration_words(health_number(p, "expired_ms")).text);
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

static void
judge_lost(struct health *h, const json_t *stream)
{
	if (health_number(stream, "lost") == 0)
		return;
	health_add(h, HEALTH_LOST_MESSAGES, (struct health_about){
	    health_member(stream, "lost_at"), json_pack("{s:O, s:O, s:O}",
	    "stream", json_object_get(stream, "name"),
	    "first", json_object_get(stream, "lost_first"),
	    "last", json_object_get(stream, "lost_last")) },
	    "outboxctl stream republish sends them again (--dry-run counts), "
	    "outboxctl stream forget accepts the loss", "stream %s has lost "
	    "%lld messages that it had acknowledged, sequences %lld to %lld, "
	    "and with nats.recover: report nothing is sent again",
	    health_text(stream, "name"),
	    (long long)health_number(stream, "lost"),
	    (long long)health_number(stream, "lost_first"),
	    (long long)health_number(stream, "lost_last"));
}

/* Who removed them on purpose has to say so: it may be damage, too. */
static void
judge_missing_messages(struct health *h, const json_t *stream)
{
	if (health_number(stream, "missing") == 0)
		return;
	health_add(h, HEALTH_MISSING_MESSAGES, (struct health_about){
	    health_member(stream, "missing_at"), json_pack("{s:O, s:O}",
	    "stream", json_object_get(stream, "name"),
	    "holes", json_object_get(stream, "holes")) },
	    "if they were removed on purpose, outboxctl stream forget accepts "
	    "that for good; if not, outboxctl stream republish sends them "
	    "again (--dry-run counts)", "stream %s lacks %lld messages that it "
	    "had acknowledged, sequences %s, and they are not sent again by "
	    "themselves", health_text(stream, "name"),
	    (long long)health_number(stream, "missing"),
	    health_text(stream, "holes"));
}

static void
judge_alarm(struct health *h, const json_t *stream)
{
	if (health_text(stream, "alarm")[0] != '\0')
		health_add(h, HEALTH_STREAM_ALARM, (struct health_about){
		    health_member(stream, "alarm_at"), json_pack("{s:O}",
		    "stream", json_object_get(stream, "name")) },
		    "outboxctl stream republish sends what it lacks "
		    "(--dry-run counts), outboxctl stream forget accepts "
		    "it",
		    "stream %s %s", health_text(stream, "name"),
		    health_text(stream, "alarm"));
}

static void
judge_streams(struct health *h)
{
	json_t	*s;
	size_t	 i;

	json_array_foreach(json_object_get(h->state, "streams"), i, s) {
		judge_lost(h, s);
		judge_missing_messages(h, s);
		judge_alarm(h, s);
		if (health_number(s, "phantoms") > 0)
			health_add(h, HEALTH_PHANTOMS, (struct health_about){
			    health_member(s, "phantom_at"), json_pack("{s:O}",
			    "stream", json_object_get(s, "name")) },
			    "restore the events from the former primary, or "
			    "inform the consumers and delete the messages; "
			    "then outboxctl phantoms forget",
			    "stream %s: %lld phantoms, messages whose events "
			    "this database has lost, by a failover, a restored "
			    "backup or a TRUNCATE, stream sequences %lld to "
			    "%lld", health_text(s, "name"),
			    (long long)health_number(s, "phantoms"),
			    (long long)health_number(s, "phantom_first"),
			    (long long)health_number(s, "phantom_last"));
	}
}

static void
judge_change(struct health *h, const json_t *counts)
{
	int64_t	wait_ms = health_number(counts, "finish_ms");
	char	remedy[160], in[80] = "";

	if (wait_ms > 0)
		snprintf(in, sizeof(in), "in %s at the earliest: ",
		    duration_words(wait_ms).text);
	snprintf(remedy, sizeof(remedy), "%soutboxctl partitions sync "
	    "--finish, when all producers use the new count", in);
	health_add(h, HEALTH_COUNT_CHANGE, (struct health_about){
	    .since = health_member(counts, "since") }, remedy,
	    "the partition count is changed to %lld, and labels of the former "
	    "count are still served", (long long)health_number(counts,
	    "present"));
}

static void
judge_counts(struct health *h)
{
	const json_t	*counts = json_object_get(h->state, "counts");
	const char	*undeclared = health_text(h->state, "undeclared");

	if (undeclared[0] != '\0')
		health_add(h, HEALTH_UNDECLARED_COUNT,
		    (struct health_about){ 0 }, "correct the producer, or "
		    "declare its count: write it into "
		    "outbox.partition_count and run outboxctl partitions "
		    "sync, then do both with the present one", "%s",
		    undeclared);
	if (json_is_object(counts))
		judge_change(h, counts);
}

void
health_judge_fleet(struct health *h)
{
	judge_workers(h);
	judge_partitions(h);
	judge_strays(h);
	judge_streams(h);
	judge_counts(h);
}

void
health_judge_backlog(struct health *h)
{
	judge_oldest(h);
	judge_growth(h);
}
